/* SPDX-License-Identifier: MIT
 *
 * Static filters: what they promise beside what all do. All keys are found, with their values;
 * rates, sizes and working memory are as the header says; nothing changes them; the same keys
 * give the same bytes for any number of threads and on every tier; hostile files are refused.
 */
#include <math.h>

#include "base/bits.h"
#include "family/family.h"
#include "ribbon/ribbon.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"

#define SEED 4711
#define FIRST_ABSENT (UINT64_C(1) << 40)
#define ODDS 1e-9

static nidus_options static_options(double fpr)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.features = NIDUS_STATIC;
	options.fpr = fpr;
	options.seed = SEED;
	return options;
}

static uint64_t *numbers(uint64_t from, size_t n)
{
	uint64_t *keys = check_alloc((n + 1) * sizeof *keys);
	for (size_t i = 0; i < n; i++)
		keys[i] = from + i;
	return keys;
}

static nidus_filter *built(const nidus_options *options, size_t n, unsigned threads)
{
	nidus_filter *filter;
	uint64_t *keys = numbers(0, n);
	expect_ok(nidus_build_u64(options, keys, n, threads, &filter));
	free(keys);
	return filter;
}

/* The hashes of integers under SEED. */
static uint64_t *hashes_of(uint64_t from, size_t n)
{
	nidus_options options = static_options(0.01);
	options.capacity = 1;
	nidus_filter *filter = filter_create(&options);
	uint64_t *hashes = numbers(from, n);
	nidus_hash_u64_batch(filter, hashes, n, hashes);
	nidus_free(filter);
	return hashes;
}

static uint64_t value_of(uint64_t key, unsigned bits)
{
	return (key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & bits_low(bits);
}

static uint64_t strangers_found(const nidus_filter *filter, uint64_t trials)
{
	uint64_t found = 0;
	for (uint64_t i = 0; i < trials; i++)
		found += nidus_contains_u64(filter, FIRST_ABSENT + i);
	return found;
}

/* --------------------------------------------------------------------- keys and rates -- */

static void all_keys_are_found_and_strangers_at_the_rate(void **state)
{
	(void)state;
	static const size_t sizes[] = {
		0, 1, 2, 63, 64, 65, 1000, 2048, 2049, 8192, 70001, 140000
	};
	static const double bits[] = { 1, 1.01, 1.5,  2,  3.7, 4,  5,    7, 7.99,
		                       8, 9,    12.5, 16, 17,  24, 31.5, 32 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes - check_small(); i++) {
		for (size_t j = 0; j < sizeof bits / sizeof *bits; j++) {
			nidus_options options = static_options(exp2(-bits[j]));
			nidus_filter *filter = built(&options, sizes[i], 1);
			nidus_info info = info_of(filter);
			check_note("%zu keys, 2^-%g", sizes[i], bits[j]);
			expect_keys(filter, 0, sizes[i]);
			expect_equal(info.count, sizes[i]);
			expect_equal(info.family, NIDUS_RIBBON);
			expect_equal(info.features, NIDUS_STATIC);
			expect_ok(nidus_verify(filter, NULL));
			uint64_t trials = check_small() ? 1 << 13 : 1 << 15;
			uint64_t found = strangers_found(filter, trials);
			expect(info.fpr_now <= options.fpr * (1 + 1e-9));
			expect(found <= chance_most(trials, options.fpr, ODDS));
			if (sizes[i] == 0)
				expect_equal(found, 0);
			else
				expect(found >= chance_least(trials, info.fpr_now * 0.999, ODDS));
			nidus_free(filter);
		}
	}
}

static void batches_and_prefetches_agree_with_single_calls(void **state)
{
	(void)state;
	static const unsigned value_bits[] = { 0, 1, 7, 8, 9, 32 };
	for (unsigned v = 0; v < 6; v++) {
		nidus_options options = static_options(0.03);
		size_t n = 5000, asked = 8000;
		uint64_t *hashes = hashes_of(0, n), *all = hashes_of(0, asked), first[97];
		uint64_t *values = check_alloc(n * sizeof *values);
		uint32_t found[97];
		uint8_t yes[97];
		nidus_filter *filter;
		for (size_t i = 0; i < n; i++)
			values[i] = value_of(i, value_bits[v]);
		options.value_bits = value_bits[v];
		if (value_bits[v] > 0)
			expect_ok(nidus_build_values(&options, hashes, values, n, 1, &filter));
		else
			expect_ok(nidus_build_hashes(&options, hashes, n, 1, &filter));
		for (size_t i = 0; i + 97 <= asked; i += 97) {
			nidus_contains_batch(filter, all + i, 97, yes);
			nidus_find_batch(filter, all + i, 97, first, found);
			for (size_t j = 0; j < 97; j++) {
				uint64_t value = 0;
				check_note("values of %u bits, key %zu", value_bits[v], i + j);
				nidus_prefetch_hash(filter, all[i + j]);
				expect_equal(yes[j], nidus_contains_hash(filter, all[i + j]));
				expect_equal(found[j],
				             nidus_find_hash(filter, all[i + j], &value, 1));
				expect_equal(found[j], yes[j]);
				expect_equal(found[j], nidus_count_key_hash(filter, all[i + j]));
				expect_equal(first[j], value);
				if (i + j < n)
					expect_equal(value, value_of(i + j, value_bits[v]));
			}
		}
		nidus_free(filter);
		free(hashes);
		free(values);
		free(all);
	}
}

static void every_width_of_values_is_kept(void **state)
{
	(void)state;
	for (unsigned bits = 1; bits <= 32; bits++) {
		static const double prints[] = { 1, 4.4, 8, 23.2, 32 };
		nidus_options options = static_options(exp2(-prints[bits % 5]));
		size_t n = bits % 2 ? 3000 : 300;
		uint64_t *hashes = hashes_of(0, n), *values = check_alloc(n * sizeof *values);
		nidus_filter *filter;
		check_note("values of %u bits", bits);
		for (size_t i = 0; i < n; i++)
			values[i] = value_of(i, bits);
		options.value_bits = bits;
		expect_ok(nidus_build_values(&options, hashes, values, n, 2, &filter));
		expect_equal(info_of(filter).value_bits, bits);
		for (size_t i = 0; i < n; i++) {
			uint64_t value = ~value_of(i, bits);
			expect_equal(nidus_find_u64(filter, i, &value, 1), 1);
			expect_equal(value, value_of(i, bits));
			expect_equal(nidus_get_count_u64(filter, i), value);
		}
		nidus_free(filter);
		free(hashes);
		free(values);
	}
}

static void one_key_has_one_value(void **state)
{
	(void)state;
	nidus_options options = static_options(0.01);
	uint64_t hashes[] = { 7, 5, 9, 5 }, values[] = { 1, 2, 3, 2 };
	nidus_filter *filter;
	options.value_bits = 2;
	expect_ok(nidus_build_values(&options, hashes, values, 4, 1, &filter));
	expect_equal(info_of(filter).count, 3);
	nidus_free(filter);
	uint64_t again[] = { 7, 5, 9, 5 }, others[] = { 1, 2, 3, 1 };
	expect_status(nidus_build_values(&options, again, others, 4, 1, &filter), NIDUS_E_ARG);
	expect(filter == NULL);
	expect(strstr(nidus_reason(), "keys 0 and 1") != NULL);
	expect(strstr(nidus_reason(), "1 and 2") != NULL);
}

/* -------------------------------------------------------------------------- sizes -- */

static double bits_per_key(uint64_t n, double bits, unsigned value_bits)
{
	nidus_options options = static_options(exp2(-bits));
	options.capacity = n;
	options.value_bits = value_bits;
	options.family = NIDUS_RIBBON;
	nidus_plan_row rows[FAMILIES];
	size_t count;
	expect_ok(nidus_plan(&options, rows, FAMILIES, &count));
	check_note("%llu keys, %g bits, values of %u", (unsigned long long)n, bits, value_bits);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].family == NIDUS_RIBBON) {
			expect_ok(rows[i].status);
			return rows[i].bits_per_key;
		}
	}
	return INFINITY;
}

/* What the last layer bumps comes to it, which is next to nothing: see below. */
static void plans_are_as_small_as_the_header_says(void **state)
{
	(void)state;
	for (uint64_t n = 1000000; n < UINT64_C(500000000); n += n / 3 + 12345) {
		for (unsigned k = 4; k <= 32; k++) {
			expect(bits_per_key(n, k, 0) <= (k < 8 ? 1.015 : 1.012) * k);
			if (k < 32)
				expect(bits_per_key(n, k + 0.37, 0) <=
				       (k < 8 ? 1.015 : 1.012) * (k + 0.37) + 0.09);
		}
		for (unsigned v = 1; v <= 32; v += 3)
			expect(bits_per_key(n, 8, v) - bits_per_key(n, 8, 0) <= 1.02 * v);
	}
}

static void files_are_as_small_as_the_header_says(void **state)
{
	(void)state;
	for (unsigned k = 4; k <= 32; k += 4) {
		nidus_options options = static_options(exp2(-(int)k));
		nidus_filter *filter = built(&options, 8192, 1);
		check_note("8192 keys, 2^-%u: %zu bytes", k, nidus_saved_size(filter));
		expect((double)nidus_saved_size(filter) <= 1.05 * k * 8192 / 8 + 512);
		nidus_free(filter);
	}
	size_t n = check_small() ? 200000 : 1000000;
	nidus_options options = static_options(0x1p-8);
	nidus_filter *filter = built(&options, n, 2);
	check_note("%zu keys: %zu bytes, %llu listed", n, nidus_saved_size(filter),
	           (unsigned long long)info_of(filter).stashed);
	expect((double)nidus_saved_size(filter) <= 1.012 * (double)n + 512);
	expect(info_of(filter).stashed < 40);
	nidus_free(filter);
}

/* -------------------------------------------------------------------- the same bytes -- */

static void threads_and_tiers_give_the_same_bytes(void **state)
{
	(void)state;
	static const double bits[] = { 1, 6.3, 8, 19 };
	for (unsigned i = 0; i < 4; i++) {
		size_t n = i % 2 ? 3000 : 400000 >> 2 * check_small();
		nidus_options options = static_options(exp2(-bits[i]));
		nidus_filter *one = built(&options, n, 1);
		check_note("%zu keys, %g bits", n, bits[i]);
		for (unsigned threads = 2; threads < 6; threads++) {
			nidus_filter *many = built(&options, n, threads);
			expect(filters_equal(one, many));
			nidus_free(many);
		}
		const char *tier = nidus_isa();
		expect_ok(nidus_set_isa("scalar"));
		nidus_filter *plain = built(&options, n, 1);
		expect_ok(nidus_set_isa(tier));
		expect(filters_equal(one, plain));
		for (uint64_t key = 0; key < 30000; key++)
			expect_equal(nidus_contains_u64(one, FIRST_ABSENT + key),
			             nidus_contains_u64(plain, FIRST_ABSENT + key));
		nidus_free(plain);
		nidus_free(one);
	}
}

static void the_order_of_keys_does_not_matter(void **state)
{
	(void)state;
	nidus_options options = static_options(0.01);
	size_t n = 5000;
	uint64_t *up = numbers(0, n), *down = numbers(0, n);
	nidus_filter *a, *b;
	for (size_t i = 0; i < n; i++)
		down[i] = n - 1 - i;
	expect_ok(nidus_build_u64(&options, up, n, 1, &a));
	expect_ok(nidus_build_u64(&options, down, n, 1, &b));
	expect(filters_equal(a, b));
	nidus_free(a);
	nidus_free(b);
	/* Equal keys count once. */
	for (size_t i = 0; i < n; i++)
		up[i] = i / 5;
	expect_ok(nidus_build_u64(&options, up, n, 1, &a));
	expect_equal(info_of(a).count, n / 5);
	nidus_free(a);
	free(up);
	free(down);
}

/* ------------------------------------------------------------------- what it refuses -- */

static void nothing_changes_it(void **state)
{
	(void)state;
	nidus_options options = static_options(0.01);
	options.value_bits = 4;
	uint64_t hashes[] = { 1, 2, 3 }, values[] = { 1, 2, 3 };
	nidus_filter *filter, *merged;
	size_t done = 9;
	nidus_entry entry = { 0 };
	nidus_cursor cursor = { 0 };
	expect_ok(nidus_build_values(&options, hashes, values, 3, 1, &filter));
	struct bytes before = bytes_save(filter);
	expect_status(nidus_insert(filter, "a", 1), NIDUS_E_UNSUPPORTED);
	expect(strstr(nidus_reason(), "build") != NULL);
	expect_status(nidus_insert_u64(filter, 1), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_insert_hash(filter, 4), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_insert_value_hash(filter, 4, 0), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_insert_value_hash(filter, 4, 1), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_insert_batch(filter, hashes, 3, &done), NIDUS_E_UNSUPPORTED);
	expect_equal(done, 0);
	expect_status(nidus_insert_value_batch(filter, hashes, values, 3, &done),
	              NIDUS_E_UNSUPPORTED);
	expect_status(nidus_replace_value_hash(filter, 1, 1, 2), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_remove_value_hash(filter, 1, 1), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_add_count_hash(filter, 1, 1), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_remove_hash(filter, 1), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_remove_batch(filter, hashes, 3, &done), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_grow(filter, 100), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_grow_relaxed(filter, 100), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_shrink(filter, 0), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_merge(filter, filter, &merged), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_insert_entry(filter, &entry), NIDUS_E_UNSUPPORTED);
	expect(!nidus_next(filter, &cursor, &entry));
	expect(bytes_match(&before, filter));
	expect_status(nidus_insert_new_hash(filter, UINT64_C(1) << 50), NIDUS_E_UNSUPPORTED);
	bytes_free(&before);
	expect_ok(nidus_clear(filter));
	expect(!nidus_contains_hash(filter, 1));
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

static nidus_status build_three(const nidus_options *options)
{
	static const uint64_t keys[] = { 1, 2, 3 };
	nidus_filter *filter;
	nidus_status status = nidus_build_u64(options, keys, 3, 1, &filter);
	nidus_free(filter);
	return status;
}

static void options_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	static const uint32_t features[] = { NIDUS_DELETE, NIDUS_ENUMERATE,  NIDUS_MERGE,
		                             NIDUS_GROW,   NIDUS_CONCURRENT, NIDUS_MULTISET,
		                             NIDUS_COMPACT };
	nidus_options options = static_options(0.01);
	for (unsigned i = 0; i < 7; i++) {
		options.features = NIDUS_STATIC | features[i];
		check_note("feature %u", i);
		expect_status(build_three(&options), NIDUS_E_UNSUPPORTED);
	}
	options.features = NIDUS_STATIC | NIDUS_NO_DELETE | NIDUS_FAST;
	expect_ok(build_three(&options));
	options = static_options(0x1p-33);
	expect_status(build_three(&options), NIDUS_E_RANGE);
	expect(strstr(nidus_reason(), "2^-32") != NULL);
	options = static_options(0.9);
	expect_ok(build_three(&options));
	for (int family = NIDUS_CUCKOO; family < NIDUS_RIBBON; family++) {
		options = static_options(0.01);
		options.family = (nidus_family)family;
		expect_status(build_three(&options), NIDUS_E_UNSUPPORTED);
		expect(strstr(nidus_reason(), "ribbon") != NULL);
	}
	options = static_options(0.01);
	options.max_capacity = 100;
	expect_status(build_three(&options), NIDUS_E_UNSUPPORTED);
	options = static_options(0.01);
	options.slots = 4;
	expect_status(build_three(&options), NIDUS_E_RANGE);
	options = static_options(0.01);
	options.capacity = 2;
	expect_status(build_three(&options), NIDUS_FULL);
	options.capacity = 3000;
	expect_ok(build_three(&options));
}

static void auto_takes_it_only_if_it_is_asked_for(void **state)
{
	(void)state;
	nidus_plan_row rows[FAMILIES];
	size_t n;
	for (unsigned asked = 0; asked < 2; asked++) {
		nidus_options options = static_options(0.01);
		options.features = asked ? NIDUS_STATIC : 0;
		options.capacity = 1000000;
		expect_ok(nidus_plan(&options, rows, FAMILIES, &n));
		for (size_t i = 0; i < n; i++) {
			if (rows[i].chosen)
				expect_equal(rows[i].family == NIDUS_RIBBON, asked);
			if (rows[i].family != NIDUS_RIBBON && asked)
				expect_status(rows[i].status, NIDUS_E_UNSUPPORTED);
			if (rows[i].family == NIDUS_RIBBON)
				expect_ok(rows[i].status);
		}
	}
	/* Of rates as low as its lowest, those that cannot have them are out of range. */
	nidus_options options = static_options(0x1p-30);
	options.features = 0;
	options.family = NIDUS_RIBBON;
	options.capacity = 1000;
	expect_ok(nidus_plan(&options, rows, FAMILIES, &n));
	for (size_t i = 0; i < n; i++) {
		bool high = rows[i].family == NIDUS_BLOOM ||
		            rows[i].family == NIDUS_BLOCKED_BLOOM ||
		            rows[i].family == NIDUS_BREADCRUMB;
		expect_status(rows[i].status, high ? NIDUS_E_RANGE : NIDUS_OK);
	}
}

/* ------------------------------------------------------------------- odd collections -- */

/* Numbers that are no hashes crowd a few buckets: the list takes what the layers cannot. */
static void hashes_that_are_none_are_found_too(void **state)
{
	(void)state;
	for (unsigned shift = 0; shift < 54; shift += 9) {
		nidus_options options = static_options(0x1p-5);
		size_t n = 1000;
		uint64_t *hashes = check_alloc(n * sizeof *hashes);
		nidus_filter *filter, *loaded;
		for (size_t i = 0; i < n; i++)
			hashes[i] = (uint64_t)i << shift;
		expect_ok(nidus_build_hashes(&options, hashes, n, 2, &filter));
		check_note("multiples of 2^%u: %llu listed", shift,
		           (unsigned long long)info_of(filter).stashed);
		expect_ok(nidus_verify(filter, NULL));
		for (size_t i = 0; i < n; i++)
			expect(nidus_contains_hash(filter, (uint64_t)i << shift));
		struct bytes bytes = bytes_save(filter);
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
		expect(filters_equal(filter, loaded));
		bytes_free(&bytes);
		nidus_free(loaded);
		nidus_free(filter);
		free(hashes);
	}
}

static void like_and_clone_make_others(void **state)
{
	(void)state;
	nidus_options options = static_options(0.01);
	nidus_filter *filter = built(&options, 3000, 1), *other, *copy;
	uint64_t *hashes = hashes_of(0, 6000);
	/* Both halves, the first twice. */
	memcpy(hashes, hashes + 3000, 1000 * sizeof *hashes);
	expect_ok(nidus_build_like(filter, hashes, NULL, 2000, true, 1, NULL, &other));
	expect_keys(other, 3000, 4000);
	expect_keys(other, 1000, 2000);
	expect_equal(info_of(other).count, 2000);
	expect_ok(nidus_clone(other, &copy));
	expect(filters_equal(other, copy));
	nidus_free(copy);
	nidus_free(other);
	nidus_free(filter);
	free(hashes);
}

/* ------------------------------------------------------------------- exact on two lists -- */

struct lists {
	uint64_t *in, *out;
	size_t n, m;
};

static struct lists lists_of(size_t n, size_t m)
{
	return (struct lists){ hashes_of(0, n), hashes_of(FIRST_ABSENT, m), n, m };
}

static nidus_filter *excluding(const nidus_options *options, struct lists *lists, unsigned threads)
{
	nidus_filter *filter;
	expect_ok(nidus_build_exclude(options, lists->in, lists->n, lists->out, lists->m, threads,
	                              &filter));
	return filter;
}

static void lists_free(struct lists *lists)
{
	free(lists->in);
	free(lists->out);
}

static void keys_of_neither_list_are_wrong(void **state)
{
	(void)state;
	static const size_t sizes[][2] = { { 0, 0 },         { 0, 100 },      { 1, 0 },
		                           { 1, 1 },         { 1, 3000 },     { 3000, 1 },
		                           { 500, 500 },     { 3000, 90000 }, { 1000, 200000 },
		                           { 100000, 20000 } };
	static const double rates[] = { 0, 0.3, 0.01, 0x1p-20 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (unsigned j = 0; j < 4; j++) {
			size_t n = sizes[i][0], m = sizes[i][1];
			nidus_options options = static_options(rates[j]);
			struct lists lists = lists_of(n, m);
			nidus_filter *filter = excluding(&options, &lists, 1 + j % 2);
			nidus_info info = info_of(filter);
			check_note("%zu in, %zu out, fpr %g", n, m, rates[j]);
			expect_keys(filter, 0, n);
			if (m > 0)
				expect_equal(strangers_found(filter, m), 0);
			expect_equal(info.count, n);
			expect_equal(info.judged >= n && info.judged > 0, n > 0 && m > 0);
			expect_ok(nidus_verify(filter, NULL));
			if (rates[j] > 0)
				expect(info.fpr_target <= rates[j] && info.fpr_now <= rates[j]);
			uint64_t trials = 1 << 14, found = 0;
			for (uint64_t key = 0; key < trials; key++)
				found += nidus_contains_u64(filter, FIRST_ABSENT * 2 + key);
			expect(found <= chance_most(trials, info.fpr_now, ODDS));
			struct bytes bytes = bytes_save(filter);
			nidus_filter *loaded;
			expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
			expect_keys(loaded, 0, n);
			if (m > 0)
				expect_equal(strangers_found(loaded, m), 0);
			expect(filters_equal(filter, loaded));
			nidus_free(loaded);
			bytes_free(&bytes);
			nidus_free(filter);
			lists_free(&lists);
		}
	}
}

static void exact_filters_are_near_the_bound(void **state)
{
	(void)state;
	if (check_small())
		return;
	nidus_options options = static_options(0);
	size_t n = 100000, m = 1125000;
	struct lists lists = lists_of(n, m);
	nidus_filter *filter = excluding(&options, &lists, 2);
	double share = (double)n / (double)(n + m);
	double bound = -(log2(share) * share + log2(1 - share) * (1 - share)) / share;
	check_note("%g bits per key, %g is the bound", info_of(filter).bits_per_key, bound);
	expect(info_of(filter).bits_per_key <= 1.11 * bound);
	nidus_free(filter);
	lists_free(&lists);
}

static void exact_filters_do_not_depend_on_threads_or_order(void **state)
{
	(void)state;
	nidus_options options = static_options(0);
	struct lists lists = lists_of(30000, 200000);
	nidus_filter *one = excluding(&options, &lists, 1);
	lists_free(&lists);
	lists = lists_of(30000, 200000);
	for (size_t i = 0; i < lists.m / 2; i++) {
		uint64_t hash = lists.out[i];
		lists.out[i] = lists.out[lists.m - 1 - i];
		lists.out[lists.m - 1 - i] = hash;
	}
	nidus_filter *two = excluding(&options, &lists, 3);
	expect(filters_equal(one, two));
	nidus_free(one);
	nidus_free(two);
	lists_free(&lists);
}

static void keys_in_both_lists_are_refused(void **state)
{
	(void)state;
	nidus_options options = static_options(0);
	struct lists lists = lists_of(500, 500);
	uint64_t both = lists.in[77];
	nidus_filter *filter;
	char number[32];
	lists.out[3] = both;
	snprintf(number, sizeof number, "%llu", (unsigned long long)both);
	expect_status(nidus_build_exclude(&options, lists.in, 500, lists.out, 500, 1, &filter),
	              NIDUS_E_ARG);
	expect(filter == NULL);
	expect(strstr(nidus_reason(), number) != NULL);
	lists_free(&lists);
}

static void excluding_takes_a_seed_a_static_family_and_no_values(void **state)
{
	(void)state;
	uint64_t in[] = { 1 }, out[] = { 2 };
	nidus_filter *filter;
	nidus_options options = static_options(0.01);
	expect_status(nidus_build_exclude(NULL, in, 1, out, 1, 1, &filter), NIDUS_E_ARG);
	expect_status(nidus_build_exclude(&options, NULL, 1, out, 1, 1, &filter), NIDUS_E_ARG);
	expect_status(nidus_build_exclude(&options, in, 1, NULL, 1, 1, &filter), NIDUS_E_ARG);
	expect_status(nidus_build_exclude(&options, in, 1, out, 1, 1, NULL), NIDUS_E_ARG);
	options.seed = 0;
	expect_status(nidus_build_exclude(&options, in, 1, out, 1, 1, &filter), NIDUS_E_ARG);
	options = static_options(0.01);
	options.value_bits = 3;
	expect_status(nidus_build_exclude(&options, in, 1, out, 1, 1, &filter),
	              NIDUS_E_UNSUPPORTED);
	options = static_options(0.01);
	options.features = 0;
	options.family = NIDUS_CUCKOO;
	expect_status(nidus_build_exclude(&options, in, 1, out, 1, 1, &filter),
	              NIDUS_E_UNSUPPORTED);
	options.family = NIDUS_AUTO; /* there is but one */
	expect_ok(nidus_build_exclude(&options, in, 1, out, 1, 1, &filter));
	nidus_free(filter);
	options.capacity = 1;
	uint64_t two[] = { 1, 3 };
	expect_status(nidus_build_exclude(&options, two, 2, out, 1, 1, &filter), NIDUS_FULL);
}

/* ----------------------------------------------------------------- memory and files -- */

/* A build that gets no memory leaves none behind. */
static void builds_survive_every_refused_request(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		nidus_status status = NIDUS_E_NOMEM;
		for (uint64_t at = 1; status == NIDUS_E_NOMEM; at++) {
			struct ledger ledger = { .fail_at = at };
			nidus_options options = static_options(0.01);
			nidus_filter *filter;
			struct lists lists = lists_of(5000, 9000);
			options.allocator = ledger_allocator(&ledger);
			check_note("kind %u, request %llu", kind, (unsigned long long)at);
			if (kind == 0) {
				status = nidus_build_hashes(&options, lists.in, 5000, 2, &filter);
			} else if (kind == 1) {
				options.value_bits = 20;
				for (size_t i = 0; i < 5000; i++)
					lists.out[i] = i;
				status = nidus_build_values(&options, lists.in, lists.out, 5000, 2,
				                            &filter);
			} else {
				status = nidus_build_exclude(&options, lists.in, 5000, lists.out,
				                             9000, 2, &filter);
			}
			expect(status == NIDUS_OK || status == NIDUS_E_NOMEM);
			if (status == NIDUS_OK && kind != 1)
				expect_keys(filter, 0, 5000);
			nidus_free(filter);
			expect_equal(ledger.blocks, 0);
			lists_free(&lists);
		}
	}
}

static bool stop_at(void *context, double share)
{
	expect(share >= 0 && share <= 1);
	return share >= *(double *)context;
}

/* A build that is stopped, at any moment, keeps nothing. */
static void builds_can_be_stopped(void **state)
{
	(void)state;
	for (double at = 0; at < 1; at += 0.15) {
		for (unsigned kind = 0; kind < 2; kind++) {
			struct ledger ledger = { 0 };
			nidus_options options = static_options(0.01);
			struct lists lists = lists_of(300000, 400000);
			nidus_filter *filter;
			options.progress = (nidus_progress){ stop_at, &at };
			options.allocator = ledger_allocator(&ledger);
			check_note("kind %u, stopped at %g", kind, at);
			nidus_status status =
				kind ? nidus_build_exclude(&options, lists.in, lists.n, lists.out,
			                                   lists.m, 2, &filter)
				     : nidus_build_hashes(&options, lists.in, lists.n, 2, &filter);
			expect(status == NIDUS_STOPPED || (at > 0.8 && status == NIDUS_OK));
			nidus_free(filter);
			expect_equal(ledger.blocks, 0);
			lists_free(&lists);
		}
	}
}

struct high {
	uint64_t now, most;
};

static void *high_alloc(void *context, size_t size)
{
	struct high *high = context;
	high->now += size;
	high->most = high->now > high->most ? high->now : high->most;
	return malloc(size);
}

static void high_free(void *context, void *memory, size_t size)
{
	((struct high *)context)->now -= size;
	free(memory);
}

static void builds_take_little_memory(void **state)
{
	(void)state;
	size_t n = check_small() ? 200000 : 1000000;
	for (unsigned values = 0; values < 2; values++) {
		struct high high = { 0 };
		nidus_options options = static_options(0x1p-8);
		nidus_filter *filter;
		options.allocator = (nidus_allocator){ high_alloc, high_free, NULL, &high };
		options.value_bits = values ? 32 : 0;
		uint64_t *keys = hashes_of(0, n), *beside = numbers(0, n);
		if (values)
			expect_ok(nidus_build_values(&options, keys, beside, n, 1, &filter));
		else
			expect_ok(nidus_build_u64(&options, keys, n, 1, &filter));
		uint64_t working = high.most - info_of(filter).bytes;
		check_note("%llu bytes for %zu keys", (unsigned long long)working, n);
		/* The rows of a shard, and at most 24 bytes per key. */
		expect(working <= (UINT64_C(3) << 20) + 24 * (uint64_t)n);
		if (!values)
			expect(working <= (UINT64_C(3) << 20) + 10 * (uint64_t)n);
		nidus_free(filter);
		free(keys);
		free(beside);
	}
}

/* A filter with a list, a fraction of a bit, several layers; or one that excludes. */
static nidus_filter *sample(unsigned kind)
{
	nidus_options options = static_options(kind == 1 ? 0.013 : 0x1p-6);
	nidus_filter *filter;
	if (kind == 2) {
		struct lists lists = lists_of(3000, 30000);
		filter = excluding(&options, &lists, 1);
		lists_free(&lists);
		return filter;
	}
	uint64_t *hashes = hashes_of(0, 3000), *values = numbers(0, 3000);
	for (size_t i = 0; i < 300; i++)
		hashes[i] = i; /* neighbours: some are listed */
	options.value_bits = 12;
	expect_ok(nidus_build_values(&options, hashes, values, 3000, 1, &filter));
	expect(info_of(filter).stashed > 0);
	free(hashes);
	free(values);
	return filter;
}

static void ask_all(const nidus_filter *filter)
{
	for (uint64_t key = 0; key < 3000; key++) {
		uint64_t values[2];
		(void)nidus_contains_u64(filter, key);
		(void)nidus_find_hash(filter, key * UINT64_C(0x9e3779b97f4a7c15), values, 2);
	}
}

/* Bytes of table and list, with all checksums right: refused, or read without harm. */
static void damaged_tables_are_harmless(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned kind = 0; kind < 3; kind++) {
		nidus_filter *filter = sample(kind), *loaded;
		struct bytes good = bytes_save(filter);
		unsigned rounds = check_small() ? 300 : 2000;
		for (unsigned round = 0; round < rounds; round++) {
			unsigned char kept[8];
			size_t at = 256 + chance_below(&chance, good.size - 256 - 8);
			memcpy(kept, good.data + at, 8);
			store64(good.data + at, chance_next(&chance) >> chance_below(&chance, 64));
			bytes_seal(&good);
			check_note("kind %u, byte %zu", kind, at);
			nidus_status status =
				nidus_load_buffer(good.data, good.size, NULL, &loaded);
			expect(status == NIDUS_OK || status == NIDUS_E_CORRUPT);
			if (status == NIDUS_OK) {
				ask_all(loaded);
				expect_ok(nidus_verify(loaded, NULL));
				expect(bytes_match(&good, loaded));
			}
			nidus_free(loaded);
			if (nidus_open_buffer(good.data, good.size, 0, &loaded) == NIDUS_OK)
				ask_all(loaded);
			nidus_free(loaded);
			memcpy(good.data + at, kept, 8);
		}
		bytes_free(&good);
		nidus_free(filter);
	}
}

#define AT_FEATURES 20
#define AT_CAPACITY 32
#define AT_MAX_CAPACITY 40
#define AT_CORE_BITS 60
#define AT_CHUNKS 72
#define AT_RESERVE 88
#define AT_COUNT 104
#define AT_VALUE_BITS 192
#define AT_JUDGED 200

static void expect_refused(struct bytes *bytes, unsigned at, uint64_t value, unsigned size)
{
	unsigned char kept[8];
	nidus_filter *filter;
	memcpy(kept, bytes->data + at, 8);
	if (size == 8)
		store64(bytes->data + at, value);
	else
		store32(bytes->data + at, (uint32_t)value);
	bytes_seal(bytes);
	check_note("byte %u is %llu", at, (unsigned long long)value);
	nidus_status status = nidus_load_buffer(bytes->data, bytes->size, NULL, &filter);
	expect(status == NIDUS_E_FORMAT || status == NIDUS_E_CORRUPT ||
	       status == NIDUS_E_TRUNCATED);
	expect(filter == NULL);
	memcpy(bytes->data + at, kept, 8);
	bytes_seal(bytes);
}

static void forged_headers_are_refused(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 3; kind++) {
		nidus_filter *filter = sample(kind);
		struct bytes bytes = bytes_save(filter);
		static const uint64_t numbers_[] = { 0,
			                             1,
			                             2999,
			                             4096,
			                             5000,
			                             UINT64_C(1) << 40,
			                             UINT64_C(1) << 45,
			                             UINT64_C(1) << 63,
			                             UINT64_MAX };
		for (unsigned i = 0; i < sizeof numbers_ / sizeof *numbers_; i++) {
			expect_refused(&bytes, AT_CAPACITY, numbers_[i], 8);
			expect_refused(&bytes, AT_MAX_CAPACITY, numbers_[i], 8);
			/* Sizes of about 4,000 keys are alike. */
			if (kind == 2 ? numbers_[i] < 3000 || numbers_[i] > 5000 : numbers_[i] > 0)
				expect_refused(&bytes, AT_JUDGED, numbers_[i], 8);
			if (numbers_[i] > 3000)
				expect_refused(&bytes, AT_COUNT, numbers_[i], 8);
			if (numbers_[i] != 1)
				expect_refused(&bytes, AT_CHUNKS, numbers_[i], 8);
		}
		for (unsigned i = 0; i < 80; i++) {
			if (i != load32(bytes.data + AT_CORE_BITS))
				expect_refused(&bytes, AT_CORE_BITS, i, 4);
			if (i != load32(bytes.data + AT_VALUE_BITS))
				expect_refused(&bytes, AT_VALUE_BITS, i, 4);
		}
		expect_refused(&bytes, AT_RESERVE, 65536, 4);
		expect_refused(&bytes, AT_RESERVE, UINT32_MAX, 4);
		for (unsigned bit = 0; bit < 32; bit++) {
			if (bit != 5 && bit != 7) /* a wish, and a promise that is kept anyway */
				expect_refused(&bytes, AT_FEATURES,
				               (UINT64_C(1) << bit) ^ NIDUS_STATIC, 4);
		}
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

/* Entries out of order, too large, twice, or where no lookup comes to. */
static void forged_lists_are_refused(void **state)
{
	(void)state;
	nidus_filter *filter = sample(0);
	struct bytes bytes = bytes_save(filter);
	uint64_t list = load64(bytes.data + 160 + 8), n = info_of(filter).stashed;
	expect(n >= 2);
	expect_refused(&bytes, (unsigned)list, load64(bytes.data + list + 16), 8);
	expect_refused(&bytes, (unsigned)list, UINT64_MAX, 8);
	expect_refused(&bytes, (unsigned)list + 8, 4096, 8);
	/* The last may be any higher hash, but it has to be one that all layers bump. */
	unsigned last = (unsigned)(list + 16 * (n - 1));
	uint64_t last_word = load64(bytes.data + last);
	for (unsigned i = 0; i < 50; i++)
		expect_refused(&bytes, last, last_word + (UINT64_C(1) << 58) + i, 8);
	bytes_free(&bytes);
	nidus_free(filter);
}

/* The drawing in ribbon.h: blocks, shards and the blocks that are one column wider. */
static void layouts_hold_what_they_must(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < UINT64_C(1) << 44; n += n / 2 + 1) {
		for (unsigned share = 0; share < 65536; share += 9362) {
			struct ribbon_matrix matrix;
			ribbon_lay_out(&matrix, n, 9, share);
			check_note("%llu keys, share %u", (unsigned long long)n, share);
			expect(matrix.layers >= 1 && matrix.layers <= RIBBON_LAYERS);
			for (unsigned i = 0; i < matrix.layers; i++) {
				const struct ribbon_layer *layer = &matrix.layer[i];
				uint64_t blocks = ribbon_blocks(layer);
				uint64_t last = ribbon_block(layer->windows - 1);
				expect_equal(layer->windows % 64, 0);
				expect(last + 1 == blocks - 1 && layer->split <= blocks);
				expect((double)ribbon_windows_before(layer) * 65536 >=
				       (double)share * (double)layer->windows);
				expect_equal(ribbon_words(layer, 9, blocks),
				             9 * blocks + layer->split);
			}
		}
	}
	struct chance chance = { chance_seed() };
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t hash = chance_next(&chance);
		expect_equal(ribbon_previous(ribbon_next(hash)), hash);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_keys_are_found_and_strangers_at_the_rate),
		cmocka_unit_test(batches_and_prefetches_agree_with_single_calls),
		cmocka_unit_test(every_width_of_values_is_kept),
		cmocka_unit_test(one_key_has_one_value),
		cmocka_unit_test(plans_are_as_small_as_the_header_says),
		cmocka_unit_test(files_are_as_small_as_the_header_says),
		cmocka_unit_test(threads_and_tiers_give_the_same_bytes),
		cmocka_unit_test(the_order_of_keys_does_not_matter),
		cmocka_unit_test(nothing_changes_it),
		cmocka_unit_test(options_that_make_no_sense_are_refused),
		cmocka_unit_test(auto_takes_it_only_if_it_is_asked_for),
		cmocka_unit_test(hashes_that_are_none_are_found_too),
		cmocka_unit_test(like_and_clone_make_others),
		cmocka_unit_test(keys_of_neither_list_are_wrong),
		cmocka_unit_test(exact_filters_are_near_the_bound),
		cmocka_unit_test(exact_filters_do_not_depend_on_threads_or_order),
		cmocka_unit_test(keys_in_both_lists_are_refused),
		cmocka_unit_test(excluding_takes_a_seed_a_static_family_and_no_values),
		cmocka_unit_test(builds_survive_every_refused_request),
		cmocka_unit_test(builds_can_be_stopped),
		cmocka_unit_test(builds_take_little_memory),
		cmocka_unit_test(damaged_tables_are_harmless),
		cmocka_unit_test(forged_headers_are_refused),
		cmocka_unit_test(forged_lists_are_refused),
		cmocka_unit_test(layouts_hold_what_they_must),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

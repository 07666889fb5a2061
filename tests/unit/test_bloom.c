/* SPDX-License-Identifier: MIT
 *
 * Tests of the two Bloom families: what they say they cannot do, merging by
 * "or", rates of every size, and the drawing of their tables.
 */
#include <math.h>

#include "store/image.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

static const nidus_family blooms[] = { NIDUS_BLOOM, NIDUS_BLOCKED_BLOOM };

#define BLOOMS (sizeof blooms / sizeof *blooms)
#define AT_GROUPS 80 /* in a header, */
#define AT_COUNT 104 /* and so is this */

static nidus_options bloom_options(nidus_family family, uint64_t capacity, double fpr,
                                   uint64_t seed)
{
	nidus_options options = filter_options(capacity, fpr, seed);
	options.family = family;
	check_note("%s, %llu keys, fpr %g, seed %llu", nidus_family_name(family),
	           (unsigned long long)capacity, fpr, (unsigned long long)seed);
	return options;
}

static nidus_filter *make(nidus_family family, uint64_t capacity, double fpr, uint64_t seed)
{
	nidus_options options = bloom_options(family, capacity, fpr, seed);
	return filter_create(&options);
}

static void insert_range(nidus_filter *filter, uint64_t from, uint64_t to)
{
	for (uint64_t key = from; key < to; key++)
		expect_ok(nidus_insert_u64(filter, key));
}

static void expect_range(const nidus_filter *filter, uint64_t from, uint64_t to)
{
	for (uint64_t key = from; key < to; key++)
		expect(nidus_contains_u64(filter, key));
}

static void expect_reason(const char *word)
{
	if (strstr(nidus_reason(), word) == NULL)
		assert_string_equal(nidus_reason(), word);
}

/* ------------------------------------------------------------------ what they lack -- */

static void what_bits_cannot_do_is_unsupported_and_changes_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < BLOOMS; i++) {
		nidus_filter *filter = make(blooms[i], 100, 0.01, 3);
		nidus_entry entry = { 0 };
		nidus_cursor cursor = { 0 };
		uint64_t hash = nidus_hash_u64(filter, 1);
		size_t done = 7;
		insert_range(filter, 0, 50);
		struct bytes before = bytes_save(filter);
		expect_status(nidus_remove_u64(filter, 1), NIDUS_E_UNSUPPORTED);
		expect_reason("cannot remove");
		expect_status(nidus_remove_batch(filter, &hash, 1, &done), NIDUS_E_UNSUPPORTED);
		expect_equal(done, 0);
		expect_status(nidus_grow(filter, 1000), NIDUS_E_UNSUPPORTED);
		expect_reason("cannot grow");
		expect_status(nidus_insert_entry(filter, &entry), NIDUS_E_UNSUPPORTED);
		expect_reason("no entries");
		expect(!nidus_next(filter, &cursor, &entry));
		expect(bytes_match(&before, filter));
		expect_equal(nidus_family_features(blooms[i]), NIDUS_MERGE | NIDUS_CONCURRENT);
		expect_equal(info_of(filter).features, NIDUS_MERGE | NIDUS_CONCURRENT);
		bytes_free(&before);
		nidus_free(filter);
	}
}

static void copies_are_one_and_are_counted_as_inserts(void **state)
{
	(void)state;
	for (size_t i = 0; i < BLOOMS; i++) {
		nidus_filter *filter = make(blooms[i], 100, 0x1p-20, 3);
		expect_equal(nidus_count_key_u64(filter, 5), 0);
		for (unsigned copy = 1; copy <= 1000; copy++) {
			expect_ok(nidus_insert_u64(filter, 5));
			expect_equal(nidus_count_key_u64(filter, 5), 1);
			expect_equal(info_of(filter).count, copy);
		}
		expect_status(nidus_insert_new_u64(filter, 5), NIDUS_PRESENT);
		expect_equal(info_of(filter).count, 1000);
		/* The rate comes from the bits, not from the count. */
		expect(info_of(filter).fpr_now < 0x1p-20);
		nidus_free(filter);
	}
}

static void inserts_beyond_the_capacity_go_on_and_the_rate_rises(void **state)
{
	(void)state;
	for (size_t i = 0; i < BLOOMS; i++) {
		nidus_filter *filter = make(blooms[i], 1000, 0x1p-8, 3);
		double rate = 0;
		for (uint64_t from = 0; from < 8000; from += 1000) {
			insert_range(filter, from, from + 1000);
			expect(info_of(filter).fpr_now > rate);
			rate = info_of(filter).fpr_now;
			expect_equal(info_of(filter).fpr_target <= 0x1p-8, 1);
		}
		expect(rate > 0x1p-8);
		expect_range(filter, 0, 8000);
		expect_ok(nidus_verify(filter, NULL));
		nidus_free(filter);
	}
}

/* ----------------------------------------------------------------------- batches -- */

#define BATCH 200 /* more keys than any batch has under way */

/* Of the keys of a batch all are in the filter, or none (every = 1), or every second one is not. */
static void expect_batches_like_single_calls(const nidus_options *options, unsigned every)
{
	nidus_filter *batch = filter_create(options), *singly = filter_create(options);
	uint64_t hashes[BATCH], asked[BATCH];
	uint8_t yes[BATCH + 1];
	size_t done;
	for (uint64_t i = 0; i < BATCH; i++) {
		hashes[i] = nidus_hash_u64(batch, i);
		asked[i] =
			every > 0 && i % every == 0 ? nidus_hash_u64(batch, BATCH + i) : hashes[i];
	}
	for (size_t n = 0; n <= BATCH; n += n < 40 ? 1 : 53) {
		expect_ok(nidus_insert_batch(batch, hashes, n, &done));
		expect_equal(done, n);
		for (size_t i = 0; i < n; i++)
			expect_ok(nidus_insert_hash(singly, hashes[i]));
		yes[n] = 0xa5;
		nidus_contains_batch(batch, asked, n, yes);
		for (size_t i = 0; i < n; i++)
			expect_equal(yes[i], nidus_contains_hash(singly, asked[i]));
		expect_equal(yes[n], 0xa5);
	}
	struct bytes bytes = bytes_save(singly);
	expect(bytes_match(&bytes, batch));
	bytes_free(&bytes);
	nidus_free(batch);
	nidus_free(singly);
}

static void batches_do_what_single_calls_do(void **state)
{
	(void)state;
	for (unsigned k = 4; k <= 24; k++) {
		for (size_t i = 0; i < 2 * BLOOMS; i++) {
			nidus_options options =
				bloom_options(blooms[i % BLOOMS], 4 * BATCH, ldexp(1, -(int)k), k);
			options.features = i < BLOOMS ? 0 : NIDUS_CONCURRENT;
			for (unsigned every = 0; every < 3; every++)
				expect_batches_like_single_calls(&options, every);
		}
	}
}

/* ----------------------------------------------------------------------- merging -- */

static void a_merge_is_the_filter_of_all_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < BLOOMS; i++) {
		for (unsigned k = 4; k <= 24; k += 4) {
			double fpr = ldexp(1, -(int)k);
			nidus_filter *a = make(blooms[i], 1000, fpr, 3), *merged;
			nidus_filter *b = make(blooms[i], 1000, fpr, 3);
			nidus_filter *all = make(blooms[i], 1000, fpr, 3);
			insert_range(a, 0, 500);
			insert_range(b, 500, 1000);
			insert_range(all, 0, 1000);
			expect_ok(nidus_merge(a, b, &merged));
			/* Same bits, count, capacity and target: both fit. */
			expect(filters_equal(merged, all));
			nidus_free(merged);
			nidus_free(a);
			nidus_free(b);
			nidus_free(all);
		}
	}
}

static void a_merge_beyond_the_capacity_says_what_rate_it_has(void **state)
{
	(void)state;
	for (size_t i = 0; i < BLOOMS; i++) {
		for (unsigned k = 4; k <= 24; k += 5) {
			nidus_filter *a = make(blooms[i], 2000, ldexp(1, -(int)k), 3), *merged;
			nidus_filter *b = make(blooms[i], 2000, ldexp(1, -(int)k), 3);
			insert_range(a, 0, 2000);
			insert_range(b, 2000, 3500);
			expect_ok(nidus_merge(a, b, &merged));
			nidus_info info = info_of(merged);
			expect_equal(info.count, 3500);
			expect_equal(info.capacity, 3500);
			expect_equal(info.bytes, info_of(a).bytes);
			expect(info.fpr_target > ldexp(1, -(int)k));
			expect(info.fpr_now <= info.fpr_target);
			expect(info.fpr_now > info.fpr_target / 4); /* no idle bound */
			nidus_free(merged);
			nidus_free(a);
			nidus_free(b);
		}
	}
}

static void what_does_not_match_is_named(void **state)
{
	(void)state;
	nidus_filter *other[2], *merged;
	for (size_t i = 0; i < BLOOMS; i++) {
		nidus_filter *filter = make(blooms[i], 1000, 0.01, 3);
		const struct {
			nidus_filter *filter;
			const char *word;
		} others[] = {
			{ make(blooms[1 - i], 1000, 0.01, 3), "families" },
			{ make(NIDUS_WINDOWED, 1000, 0.01, 3), "families" },
			{ make(blooms[i], 1000, 0.01, 4), "seeds" },
			{ make(blooms[i], 1200, 0.01, 3), "sizes" },
			{ make(blooms[i], 1000, 0.0085, 3), "sizes" },
			{ make(blooms[i], 1000, 1e-6, 3), "same rate" },
		};
		for (size_t j = 0; j < sizeof others / sizeof *others; j++) {
			expect_status(nidus_merge(filter, others[j].filter, &merged),
			              NIDUS_E_MISMATCH);
			expect(merged == NULL);
			expect_reason(others[j].word);
			nidus_free(others[j].filter);
		}
		other[i] = filter;
	}
	nidus_free(other[0]);
	nidus_free(other[1]);
}

/* ------------------------------------------------------------------------- rates -- */

/*
 * nidus_info.fpr_now is exact for the bits there are, so the mean over many
 * tables can be compared with the target without any trials. Seeds are fixed.
 */
static void every_size_and_rate_is_kept(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 1, 2, 3, 7, 10, 33, 100, 257, 1000, 4096 };
	const unsigned tables = check_small() ? 3 : 12;
	unsigned above = 0, all = 0;
	for (size_t i = 0; i < BLOOMS; i++) {
		for (unsigned k = 4; k <= 24; k++) {
			for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
				double target = ldexp(1, -(int)k), sum = 0;
				for (unsigned seed = 1; seed <= tables; seed++) {
					nidus_filter *filter =
						make(blooms[i], sizes[s], target, seed);
					insert_range(filter, 0, sizes[s]);
					double rate = info_of(filter).fpr_now;
					sum += rate;
					above += rate > target;
					all++;
					nidus_free(filter);
				}
				expect(sum <= target * tables);
			}
		}
	}
	check_note("%u of %u tables above their target", above, all);
	expect(above * 1000 <= all);
}

/*
 * A key's bits must be as good as independent of each other, or fpr_now is wrong: where all bits
 * come from few bits of the hash, in the smallest tables with the most bits per key, it would show
 * first. Overfull, for rates that can be counted; more than six deviations either way fail.
 */
static void absent_keys_are_found_as_often_as_the_bits_say(void **state)
{
	(void)state;
	const uint64_t trials = check_small() ? 20000 : 200000;
	for (unsigned i = 0; i < 2 * 24; i++) {
		unsigned k = 1 + i / 2;
		nidus_filter *filter = make(blooms[i % 2], 1 + k % 3, ldexp(1, -(int)k), 5);
		uint64_t key = 0, found = 0;
		while (info_of(filter).fpr_now < 0.01)
			expect_ok(nidus_insert_u64(filter, key++));
		double mean = info_of(filter).fpr_now * (double)trials;
		for (uint64_t j = 0; j < trials; j++)
			found += nidus_contains_u64(filter, UINT64_C(1) << 40 | j);
		expect(fabs((double)found - mean) <= 6 * sqrt(mean));
		nidus_free(filter);
	}
}

/* Twelve bits per key, as the sizes that others publish: 0.31 % and 0.54 %. */
static void twelve_bits_per_key_are_well_spent(void **state)
{
	(void)state;
	nidus_plan_row rows[16];
	size_t n;
	nidus_options options = filter_options(100000000, 0.00316, 1);
	expect_ok(nidus_plan(&options, rows, 16, &n));
	for (size_t i = 0; i < n; i++)
		expect(rows[i].family != NIDUS_BLOOM || rows[i].bits_per_key < 12.0);
	options.fpr = 0.0043;
	expect_ok(nidus_plan(&options, rows, 16, &n));
	for (size_t i = 0; i < n; i++)
		expect(rows[i].family != NIDUS_BLOCKED_BLOOM || rows[i].bits_per_key < 12.0);
}

static void neither_is_chosen_unasked(void **state)
{
	(void)state;
	static const uint32_t wishes[] = { 0, NIDUS_FAST, NIDUS_MERGE, NIDUS_FAST | NIDUS_MERGE };
	for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
		for (unsigned k = 4; k <= 24; k++) {
			nidus_options options = filter_options(1000, ldexp(1, -(int)k), 1);
			options.features = wishes[i];
			nidus_filter *filter = filter_create(&options);
			expect(info_of(filter).features & NIDUS_DELETE);
			nidus_free(filter);
		}
	}
}

/* -------------------------------------------------------------- the tables' drawing -- */

/* docs/format.md, written down a second time: which bits a hash sets. */
static void draw(nidus_family family, uint64_t groups, unsigned probes, uint64_t hash,
                 unsigned char *table)
{
	__extension__ typedef unsigned __int128 wide;
	static const uint32_t factors[] = {
		0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d,
		0xfd7046c5, 0xb55a4f09, 0x5851f42d, 0x4c957f2d, 0x14057b7f, 0xda3e39cb,
		0x94d049bb, 0xbf58476d, 0x6c078965, 0x7feb352d,
	};
	uint64_t block = (uint64_t)(((wide)hash * groups) >> 64), rest = hash * groups;
	for (unsigned i = 0; i < probes; i++) {
		uint64_t bit;
		if (family == NIDUS_BLOOM) {
			rest = hash * groups;
			bit = (uint64_t)(((wide)hash * groups) >> 64) * 64 + (rest >> 58);
			hash = rest << 6 | rest >> 58;
		} else {
			uint32_t x = (uint32_t)rest * factors[i] + (uint32_t)(rest >> 32);
			uint64_t in = (uint64_t)x * (512 / probes) >> 32;
			if (probes == 4)
				bit = block * 512 + (in < 64 ? 64 * i : 64 * i + 192) + in;
			else
				bit = block * 512 + i * (512 / probes) + in;
		}
		table[bit / 8] |= (unsigned char)(1u << bit % 8);
	}
}

static void tables_are_as_drawn(void **state)
{
	(void)state;
	for (size_t i = 0; i < BLOOMS; i++) {
		for (unsigned k = 4; k <= 24; k++) {
			nidus_filter *filter = make(blooms[i], 300, ldexp(1, -(int)k), k);
			nidus_info info = info_of(filter);
			unsigned char *table = check_alloc(info.bytes);
			memset(table, 0, info.bytes);
			uint64_t groups = info.bytes / (blooms[i] == NIDUS_BLOOM ? 8 : 64);
			for (uint64_t key = 0; key < 300; key++) {
				draw(blooms[i], groups, info.fingerprint_bits,
				     nidus_hash_u64(filter, key), table);
				expect_ok(nidus_insert_u64(filter, key));
			}
			struct bytes bytes = bytes_save(filter);
			expect(memcmp(bytes.data + IMAGE_HEADER, table, info.bytes) == 0);
			bytes_free(&bytes);
			free(table);
			nidus_free(filter);
		}
	}
}

/* ------------------------------------------------------------------ hostile files -- */

static void expect_corrupt(struct bytes *bytes)
{
	nidus_filter *filter;
	bytes_seal(bytes);
	expect_status(nidus_load_buffer(bytes->data, bytes->size, NULL, &filter), NIDUS_E_CORRUPT);
	expect(filter == NULL);
}

static void counts_that_the_bits_deny_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < BLOOMS; i++) {
		nidus_filter *filter = make(blooms[i], 100, 0.01, 3), *loaded;
		struct bytes empty = bytes_save(filter);
		store64(empty.data + AT_COUNT, 1); /* but no bit is set */
		expect_corrupt(&empty);
		insert_range(filter, 0, 50);
		struct bytes bytes = bytes_save(filter);
		static const uint64_t counts[] = { 0, 1, 20, UINT64_MAX };
		for (size_t j = 0; j < sizeof counts / sizeof *counts; j++) {
			store64(bytes.data + AT_COUNT, counts[j]);
			expect_corrupt(&bytes);
		}
		store64(bytes.data + AT_COUNT, 51); /* a copy more: nobody can tell */
		bytes_seal(&bytes);
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
		expect_equal(info_of(loaded).count, 51);
		nidus_free(loaded);
		bytes_free(&empty);
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

/* Steps from bit to bit would lose something of the hash. */
static void even_numbers_of_groups_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < BLOOMS; i++) {
		nidus_filter *filter = make(blooms[i], 100, 0.01, 3), *loaded;
		struct bytes bytes = bytes_save(filter);
		store64(bytes.data + AT_GROUPS, load64(bytes.data + AT_GROUPS) + 1);
		bytes_seal(&bytes);
		expect_status(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded),
		              NIDUS_E_FORMAT);
		expect_reason("odd");
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

static void half_a_mask_in_a_block_is_refused(void **state)
{
	(void)state;
	for (unsigned k = 4; k <= 24; k += 5) {
		nidus_filter *filter = make(NIDUS_BLOCKED_BLOOM, 100, ldexp(1, -(int)k), 3);
		insert_range(filter, 0, 100);
		struct bytes bytes = bytes_save(filter);
		unsigned sector = 64 / info_of(filter).fingerprint_bits; /* bytes */
		memset(bytes.data + IMAGE_HEADER, 0, sector);
		if (sector == 16) { /* two words, four apart */
			memset(bytes.data + IMAGE_HEADER, 0, 8);
			memset(bytes.data + IMAGE_HEADER + 32, 0, 8);
		}
		expect_corrupt(&bytes);
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_bits_cannot_do_is_unsupported_and_changes_nothing),
		cmocka_unit_test(copies_are_one_and_are_counted_as_inserts),
		cmocka_unit_test(inserts_beyond_the_capacity_go_on_and_the_rate_rises),
		cmocka_unit_test(batches_do_what_single_calls_do),
		cmocka_unit_test(a_merge_is_the_filter_of_all_keys),
		cmocka_unit_test(a_merge_beyond_the_capacity_says_what_rate_it_has),
		cmocka_unit_test(what_does_not_match_is_named),
		cmocka_unit_test(every_size_and_rate_is_kept),
		cmocka_unit_test(absent_keys_are_found_as_often_as_the_bits_say),
		cmocka_unit_test(twelve_bits_per_key_are_well_spent),
		cmocka_unit_test(neither_is_chosen_unasked),
		cmocka_unit_test(tables_are_as_drawn),
		cmocka_unit_test(counts_that_the_bits_deny_are_refused),
		cmocka_unit_test(even_numbers_of_groups_are_refused),
		cmocka_unit_test(half_a_mask_in_a_block_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

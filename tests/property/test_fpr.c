/* SPDX-License-Identifier: MIT
 *
 * The rate promise: measured at full capacity, the fpr is at most the target.
 *
 * What is filled, an absent key is found with a probability p that the table
 * decides; for the families of this library p is at most the target in every
 * table, because p counts different identities and their number is at most the
 * number of keys. Foreign keys are independent, so the count of found ones is
 * binomial, and Chernoff's bound gives a limit that chance passes with odds of
 * ODDS. There are fewer than two thousand comparisons: a run raises a false alarm
 * with odds below 1e-6.
 */
#include <math.h>

#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/nests.h"

#define ODDS 1e-10

/* Fills a filter with `n` keys that later trials do not meet. */
static void fill(nidus_filter *filter, uint64_t n, uint64_t first)
{
	for (uint64_t i = 0; i < n; i++) {
		nidus_status status = nidus_insert_u64(filter, first + i);
		if (status != NIDUS_OK)
			expect_status(status, NIDUS_OK);
	}
}

/* How many of `trials` absent keys are found. */
static uint64_t strangers_found(const nidus_filter *filter, uint64_t trials, uint64_t first)
{
	enum { BATCH = 1024 };
	uint64_t keys[BATCH], hashes[BATCH], found = 0;
	uint8_t yes[BATCH];
	for (uint64_t at = 0; at < trials; at += BATCH) {
		size_t n = trials - at < BATCH ? trials - at : BATCH;
		for (size_t i = 0; i < n; i++)
			keys[i] = first - 1 - at - i;
		nidus_hash_u64_batch(filter, keys, n, hashes);
		nidus_contains_batch(filter, hashes, n, yes);
		for (size_t i = 0; i < n; i++)
			found += yes[i];
	}
	return found;
}

static uint64_t trials_for(unsigned k)
{
	uint64_t trials = UINT64_C(64) << k;
	uint64_t least = UINT64_C(1) << 18, most = UINT64_C(1) << 22;
	if (check_small())
		least = most = UINT64_C(1) << 17;
	return trials < least ? least : trials > most ? most : trials;
}

static void measure(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	uint64_t first = UINT64_C(1) << 60, asked = check_small() ? 2777 : 27777;
	nidus_filter *filter = shape_create(shape, asked, 1 + chance_next(chance) / 2);
	double target = ldexp(1, -(int)shape->k);
	uint64_t capacity = info_of(filter).capacity;
	fill(filter, capacity, first);
	nidus_info info = info_of(filter);
	expect(info.fpr_target <= target);
	expect(info.fpr_now <= target * (1 + 1e-12));
	uint64_t trials = trials_for(shape->k);
	uint64_t found = strangers_found(filter, trials, first);
	uint64_t most = chance_most(trials, target, ODDS);
	check_note("%s, slots %u, fpr 2^-%u, %llu keys: %llu of %llu found, at most %llu",
	           shape->family->name, shape->slots, shape->k, (unsigned long long)capacity,
	           (unsigned long long)found, (unsigned long long)trials, (unsigned long long)most);
	expect(found <= most);
	/* And what it says of itself is true: neither more nor less than it tells. */
	expect(found <= chance_most(trials, info.fpr_now * 1.02, ODDS));
	expect(found >= chance_least(trials, info.fpr_now * 0.9, ODDS));
	nidus_free(filter);
}

static void at_capacity_the_rate_is_at_most_the_target(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 24, measure, &chance);
}

/*
 * Small filters: the edges of a table weigh more here. Many filters of n keys,
 * a few trials in each.
 */
static void measure_small(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 7, 10, 16, 25, 40, 100 };
	unsigned filters = check_small() ? 40 : 400;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t first = UINT64_C(1) << 60, found = 0, each = 512, n = 0;
		for (unsigned j = 0; j < filters; j++) {
			nidus_filter *filter =
				shape_create(shape, sizes[i], 1 + chance_next(chance) / 2);
			n = info_of(filter).capacity;
			fill(filter, n, first);
			found += strangers_found(filter, each, first);
			nidus_free(filter);
		}
		double target = ldexp(1, -(int)shape->k);
		uint64_t trials = each * filters, most = chance_most(trials, target, ODDS);
		check_note(
			"%s, slots %u, fpr 2^-%u, filters of %llu keys: %llu of %llu found, at most %llu",
			shape->family->name, shape->slots, shape->k, (unsigned long long)n,
			(unsigned long long)found, (unsigned long long)trials,
			(unsigned long long)most);
		expect(found <= most);
	}
}

static void small_filters_keep_the_rate_too(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 1 };
	each_layout(4, 9, measure_small, &chance);
}

/*
 * The same at 2^-(k + 3/4), where tables are made thinner instead of slots wider. A chunk has fewer
 * windows than slots, which shows in tables of a few dozen slots.
 */
static void measure_thin(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	static const uint64_t sizes[] = { 8, 10, 12, 14, 15, 20 };
	unsigned filters = check_small() ? 100 : 1000;
	double target = ldexp(exp2(-0.75), -(int)shape->k);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t first = UINT64_C(1) << 60, found = 0, each = 2048;
		for (unsigned j = 0; j < filters; j++) {
			nidus_options options =
				shape_options(shape, sizes[i], 1 + chance_next(chance) / 2);
			options.fpr = target;
			nidus_filter *filter = filter_create(&options);
			fill(filter, info_of(filter).capacity, first);
			expect(info_of(filter).fpr_now <= target * (1 + 1e-12));
			found += strangers_found(filter, each, first);
			nidus_free(filter);
		}
		uint64_t trials = each * filters, most = chance_most(trials, target, ODDS);
		check_note("%s, slots %u, fpr %g, for %llu keys: %llu of %llu found, at most %llu",
		           shape->family->name, shape->slots, target, (unsigned long long)sizes[i],
		           (unsigned long long)found, (unsigned long long)trials,
		           (unsigned long long)most);
		expect(found <= most);
	}
}

static void small_filters_keep_rates_between_powers_of_two(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 2 };
	each_layout(4, 4, measure_thin, &chance);
}

/* ------------------------------------------------------------------- the cuckoo paper -- */

static uint64_t distinct_entries(const nidus_filter *filter)
{
	uint64_t n = 0, distinct = 0, count = info_of(filter).count;
	nidus_entry *entries = check_alloc((count + 1) * sizeof *entries);
	nidus_cursor cursor = { 0 };
	while (n < count && nidus_next(filter, &cursor, &entries[n]))
		n++;
	entries_sort(entries, n);
	for (uint64_t i = 0; i < n; i++)
		distinct += i == 0 || entries[i].home != entries[i - 1].home ||
		            entries[i].fingerprint != entries[i - 1].fingerprint;
	free(entries);
	return distinct;
}

/*
 * The paper's 2b * load / 2^f, from both sides. Exactly, an absent key is found
 * if its pair of buckets and fingerprint is one of those stored, out of
 * (2^f - 1) * buckets / 2; that this is the paper's formula but for the
 * reserved value and for twins is checked apart.
 */
static void the_cuckoo_family_has_the_papers_rate(void **state)
{
	(void)state;
	if (family_find(NIDUS_CUCKOO) == NULL)
		skip();
	struct chance chance = { chance_seed() + 2 };
	for (unsigned k = 4; k <= 16; k++) {
		for (unsigned slots = 2; slots <= 8; slots *= 2) {
			struct shape shape = { family_find(NIDUS_CUCKOO), slots, k, 0 };
			nidus_filter *filter =
				shape_create(&shape, 50000, 1 + chance_next(&chance) / 2);
			uint64_t first = UINT64_C(1) << 60, trials = trials_for(k);
			fill(filter, 50000, first);
			nidus_info info = info_of(filter);
			double values = ldexp(1, (int)info.fingerprint_bits);
			double pairs = (double)info.total_slots / slots / 2;
			uint64_t distinct = distinct_entries(filter),
				 couples = info.count * (info.count - 1) / 2;
			double exact = (double)distinct / (pairs * (values - 1));
			double paper = 2.0 * slots *
			               ((double)info.count / (double)info.total_slots) / values;
			expect(fabs(exact / paper - values / (values - 1)) <
			       2.0 * (double)(info.count - distinct) / (double)info.count + 1e-9);
			expect(info.count - distinct <=
			       chance_most(couples, 1 / (pairs * (values - 1)), ODDS));
			uint64_t found = strangers_found(filter, trials, first);
			check_note("b = %u, f = %u: %llu of %llu found, %.0f expected", slots,
			           info.fingerprint_bits, (unsigned long long)found,
			           (unsigned long long)trials, exact * (double)trials);
			expect(found <= chance_most(trials, exact, ODDS));
			expect(found >= chance_least(trials, exact, ODDS));
			nidus_free(filter);
		}
	}
}

/* ---------------------------------------------------------------------------- planning -- */

static void every_plan_keeps_the_rate(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 1, 10, 1000, 123457, 10000019, UINT64_C(3000000019) };
	for (unsigned k = 4; k <= 24; k++) {
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			nidus_options options = filter_options(sizes[i], ldexp(1, -(int)k), 1);
			nidus_plan_row rows[16];
			size_t n;
			expect_ok(nidus_plan(&options, rows, 16, &n));
			for (size_t row = 0; row < n; row++) {
				check_note("%s, fpr 2^-%u, %llu keys: %g",
				           nidus_family_name(rows[row].family), k,
				           (unsigned long long)sizes[i], rows[row].fpr);
				expect_ok(rows[row].status);
				expect(rows[row].fpr <= options.fpr * (1 + 1e-12));
				expect(rows[row].capacity >= sizes[i]);
			}
		}
	}
}

static void a_rate_between_powers_of_two_is_kept(void **state)
{
	(void)state;
	static const double rates[] = { 0.06, 0.05, 0.03, 0.01, 0.001, 0.0007, 1e-6, 6e-8 };
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
		for (const struct family *const *family = families; *family != NULL; family++) {
			nidus_options options = filter_options(10007, rates[i], 3);
			options.family = (*family)->id;
			nidus_filter *filter = filter_create(&options);
			uint64_t capacity = info_of(filter).capacity;
			nidus_free(filter);
			filter = filter_of_keys(&options, 0, capacity);
			uint64_t trials = trials_for(12),
				 found = strangers_found(filter, trials, 0);
			check_note("%s, fpr %g: %llu found", (*family)->name, rates[i],
			           (unsigned long long)found);
			expect(info_of(filter).fpr_target <= rates[i]);
			expect(info_of(filter).fpr_now <= rates[i] * (1 + 1e-12));
			expect(found <= chance_most(trials, rates[i], ODDS));
			nidus_free(filter);
		}
	}
}

/* -------------------------------------------------------------- entries of lists -- */

/* A filter with more entries than slots: those in its lists are found as often as others. */
static void measure_overfull(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	uint64_t first = UINT64_C(1) << 60, asked = 3000, key = 0, trials = UINT64_C(1) << 20;
	nidus_options options = shape_options(shape, asked, 1 + chance_next(chance) / 2);
	if (!shape->family->searches)
		return;
	options.stash = 1 << 20;
	nidus_filter *filter = filter_create(&options);
	while (nidus_insert_u64(filter, first + key) == NIDUS_OK)
		key++;
	nidus_info info = info_of(filter);
	uint64_t found = strangers_found(filter, trials, first);
	check_note("%s, slots %u, fpr 2^-%u: %llu keys in %llu slots, rate %g, %llu found",
	           shape->family->name, shape->slots, shape->k, (unsigned long long)info.count,
	           (unsigned long long)info.total_slots, info.fpr_now, (unsigned long long)found);
	expect(info.count > info.total_slots);
	expect(found <= chance_most(trials, info.fpr_now * 1.02, ODDS));
	expect(found >= chance_least(trials, info.fpr_now * 0.9, ODDS));
	nidus_free(filter);
}

static void the_rate_now_is_that_of_lists_too(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(8, 9, measure_overfull, &chance);
}

static void copies_do_not_raise_the_rate_now(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned grows = 0; grows < 2; grows++) {
			nidus_options options = filter_options(1000, 0.001, 7);
			options.family = (*family)->id;
			options.max_capacity = grows ? 100000 : 0;
			if (!counts_copies(&options))
				continue;
			nidus_filter *filter = filter_create(&options);
			for (unsigned i = 0; i < 50000; i++)
				expect_ok(nidus_insert_u64(filter, 7));
			check_note("%s, %s", (*family)->name, grows ? "growing" : "fixed");
			expect(info_of(filter).fpr_now < 0.001 / 20);
			nidus_free(filter);
		}
	}
}

/* ---------------------------------------------------------------- regular keys -- */

/* Key number i of a kind. */
static uint64_t sequential(uint64_t i)
{
	return i;
}

static uint64_t multiples_of_2_32(uint64_t i)
{
	return i << 32;
}

/* Each differs from the one before in one bit. */
static uint64_t gray_code(uint64_t i)
{
	return i ^ i >> 1;
}

/*
 * Fills a filter of many chunks with regular keys and asks for their successors.
 * Unevenness over chunks would show too: the capacity would not be reached.
 */
static void measure_regular(const struct shape *shape, void *context)
{
	static uint64_t (*const kinds[])(uint64_t) = { sequential, multiples_of_2_32, gray_code };
	struct chance *chance = context;
	uint64_t n = check_small() ? 30000 : 150000, trials = UINT64_C(1) << 18;
	double target = ldexp(1, -(int)shape->k);
	for (unsigned kind = 0; kind < 3; kind++) {
		nidus_filter *filter = shape_create(shape, n, 1 + chance_next(chance) / 2);
		uint64_t found = 0;
		for (uint64_t i = 0; i < n; i++)
			expect_ok(nidus_insert_u64(filter, kinds[kind](i)));
		for (uint64_t i = n; i < n + trials; i++)
			found += nidus_contains_u64(filter, kinds[kind](i));
		check_note("%s, slots %u, fpr 2^-%u, regular keys of kind %u: %llu found",
		           shape->family->name, shape->slots, shape->k, kind,
		           (unsigned long long)found);
		expect(found <= chance_most(trials, target, ODDS));
		nidus_free(filter);
	}
}

static void regular_keys_keep_the_rate(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(8, 8, measure_regular, &chance);
	each_layout(12, 12, measure_regular, &chance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_capacity_the_rate_is_at_most_the_target),
		cmocka_unit_test(small_filters_keep_the_rate_too),
		cmocka_unit_test(small_filters_keep_rates_between_powers_of_two),
		cmocka_unit_test(the_cuckoo_family_has_the_papers_rate),
		cmocka_unit_test(every_plan_keeps_the_rate),
		cmocka_unit_test(a_rate_between_powers_of_two_is_kept),
		cmocka_unit_test(the_rate_now_is_that_of_lists_too),
		cmocka_unit_test(copies_do_not_raise_the_rate_now),
		cmocka_unit_test(regular_keys_keep_the_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Tests of what NIDUS_AUTO takes, and of merges at their limits.
 */
#include "family/family.h"
#include "nidus.h"
#include "support/check.h"
#include "support/filters.h"

static nidus_filter *make(nidus_family family, uint64_t capacity, double fpr, uint64_t most)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	options.family = family;
	options.capacity = capacity;
	options.max_capacity = most;
	options.fpr = fpr;
	options.seed = 3;
	check_note("%s", nidus_family_name(family));
	expect_ok(nidus_create(&options, &filter));
	return filter;
}

static void insert_range(nidus_filter *filter, uint64_t from, uint64_t to)
{
	for (uint64_t key = from; key < to; key++)
		expect_ok(nidus_insert_u64(filter, key));
}

static nidus_family chosen(uint32_t features, unsigned reserve)
{
	nidus_plan_row rows[16];
	size_t n;
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = 100000;
	options.features = features;
	options.reserve = reserve;
	expect_ok(nidus_plan(&options, rows, 16, &n));
	for (size_t i = 0; i < n; i++) {
		if (rows[i].chosen)
			return rows[i].family;
	}
	return NIDUS_AUTO;
}

/* Whether NIDUS_AUTO may take the family of a row. */
static bool may_be_taken(const nidus_plan_row *row)
{
	return row->status == NIDUS_OK && row->features & NIDUS_DELETE;
}

/* The row that the rule gives: the smallest of the fastest class among those within 3 %. */
static const nidus_plan_row *by_the_rule(const nidus_plan_row *rows, size_t n)
{
	const nidus_plan_row *best = NULL;
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		least = may_be_taken(&rows[i]) && rows[i].bytes < least ? rows[i].bytes : least;
	for (size_t i = 0; i < n; i++) {
		if (!may_be_taken(&rows[i]) || (double)rows[i].bytes >= 1.03 * (double)least)
			continue;
		if (best == NULL || rows[i].speed > best->speed ||
		    (rows[i].speed == best->speed && rows[i].bytes < best->bytes))
			best = &rows[i];
	}
	return best;
}

static void auto_takes_the_smallest_or_what_is_faster_and_hardly_larger(void **state)
{
	(void)state;
	static const uint64_t capacities[] = { 1, 100, 31000, 100000, 1000000, 15000000 };
	unsigned smallest = 0, faster = 0;
	for (unsigned k = 4; k <= 24; k++) {
		for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
			nidus_options options = NIDUS_OPTIONS_INIT;
			nidus_plan_row rows[16];
			size_t n;
			options.capacity = capacities[c];
			options.fpr = 1.0 / (double)(UINT64_C(1) << k);
			expect_ok(nidus_plan(&options, rows, 16, &n));
			const nidus_plan_row *best = by_the_rule(rows, n);
			check_note("%llu keys, 2^-%u", (unsigned long long)capacities[c], k);
			expect(best->chosen);
			smallest += strstr(best->why, "the smallest") == best->why;
			faster += strstr(best->why, "clearly faster than ") == best->why;
		}
	}
	expect(smallest > 0 && faster > 0); /* the sizes above give both */
}

static void fast_takes_the_quickest(void **state)
{
	(void)state;
	const struct family *quick = family_find(chosen(NIDUS_FAST, 0));
	for (const struct family *const *family = families; *family != NULL; family++)
		expect(quick->pace <= (*family)->pace || !((*family)->features & NIDUS_DELETE));
	expect_equal(chosen(0, 1), NIDUS_CHUNKED); /* the only one that reserves */
}

static void every_family_has_a_class_of_speed_that_fits_its_pace(void **state)
{
	(void)state;
	for (const struct family *const *a = families; *a != NULL; a++) {
		expect(nidus_speed_name((*a)->speed) != NULL);
		for (const struct family *const *b = families; *b != NULL; b++)
			expect((*a)->speed <= (*b)->speed || (*a)->pace < (*b)->pace);
	}
	expect(nidus_speed_name((nidus_speed)0) == NULL);
	expect(nidus_speed_name((nidus_speed)99) == NULL);
}

static void filters_that_overlap_merge_too(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_MERGE))
			continue;
		nidus_filter *a = make((*family)->id, 1000, 0x1p-8, 0), *merged;
		nidus_filter *b = make((*family)->id, 1000, 0x1p-8, 0);
		insert_range(a, 0, 1000);
		insert_range(b, 300, 1300);
		expect_ok(nidus_merge(a, b, &merged));
		bool copies = (*family)->features & NIDUS_MULTISET;
		for (uint64_t key = 0; key < 1300; key++)
			expect(nidus_count_key_u64(merged, key) >=
			       (copies && key >= 300 && key < 1000 ? 2u : 1u));
		expect_equal(info_of(merged).count, 2000);
		expect_ok(nidus_verify(merged, NULL));
		nidus_free(merged);
		nidus_free(a);
		nidus_free(b);
	}
}

/* Merges a filter with full ones again and again: the rate rises, but not beyond one half. */
static void no_merge_promises_a_rate_above_one_half(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_MERGE))
			continue;
		nidus_filter *sum = make((*family)->id, 500, 0x1p-4, 0), *next;
		nidus_filter *full = make((*family)->id, 500, 0x1p-4, 0);
		nidus_status status = NIDUS_OK;
		for (unsigned i = 0; i < 400 && status == NIDUS_OK; i++) {
			expect_ok(nidus_clear(full));
			insert_range(full, 500 * i, 500 * i + 500);
			status = nidus_merge(sum, full, &next);
			if (status != NIDUS_OK)
				break;
			nidus_free(sum);
			sum = next;
			expect(info_of(sum).fpr_target <= 0.5);
			size_t size = nidus_saved_size(sum);
			void *bytes = check_alloc(size);
			expect_ok(nidus_save_buffer(sum, bytes, size, NULL));
			expect_ok(
				nidus_load_buffer(bytes, size, NULL, &next)); /* can be read back */
			nidus_free(next);
			free(bytes);
		}
		expect_status(status, NIDUS_E_RANGE);
		nidus_free(sum);
		nidus_free(full);
	}
}

static void a_key_again_and_again_grows_nothing_even_when_full(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_GROW))
			continue;
		nidus_filter *filter = make((*family)->id, 100, 0x1p-8, 1600);
		uint64_t copies = 0;
		while (copies < 8 && nidus_insert_u64(filter, 1) == NIDUS_OK)
			copies++;
		uint64_t capacity = info_of(filter).capacity;
		insert_range(filter, 2, capacity - copies + 2);
		nidus_status status = NIDUS_OK;
		for (unsigned i = 0; i < 100 && status == NIDUS_OK; i++)
			status = nidus_insert_u64(filter, 1);
		expect(status == NIDUS_OK || status == NIDUS_COPIES);
		expect_equal(info_of(filter).capacity, capacity);
		nidus_free(filter);
	}
}

static void entries_grow_a_filter_that_may_grow(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_GROW))
			continue;
		nidus_filter *from = make((*family)->id, 100, 0x1p-8, 3000);
		nidus_filter *to = make((*family)->id, 100, 0x1p-8, 3000);
		insert_range(from, 0, 3000);
		nidus_cursor cursor = { 0 };
		nidus_entry entry;
		while (nidus_next(from, &cursor, &entry))
			expect_ok(nidus_insert_entry(to, &entry));
		for (uint64_t key = 0; key < 3000; key++)
			expect(nidus_contains_u64(to, key));
		nidus_free(from);
		nidus_free(to);
	}
}

static void filters_of_other_cores_do_not_merge(void **state)
{
	(void)state;
	/* The same width in all, but other bits of it are the core. */
	nidus_filter *a = make(NIDUS_CUCKOO, 1000, 0x1p-8, 0), *merged;
	nidus_filter *b = make(NIDUS_CUCKOO, 1000, 0x1p-6, 5000);
	expect_equal(info_of(a).slots, info_of(b).slots);
	expect_status(nidus_merge(a, b, &merged), NIDUS_E_MISMATCH);
	nidus_free(a);
	nidus_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(auto_takes_the_smallest_or_what_is_faster_and_hardly_larger),
		cmocka_unit_test(fast_takes_the_quickest),
		cmocka_unit_test(every_family_has_a_class_of_speed_that_fits_its_pace),
		cmocka_unit_test(filters_that_overlap_merge_too),
		cmocka_unit_test(no_merge_promises_a_rate_above_one_half),
		cmocka_unit_test(a_key_again_and_again_grows_nothing_even_when_full),
		cmocka_unit_test(entries_grow_a_filter_that_may_grow),
		cmocka_unit_test(filters_of_other_cores_do_not_merge),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

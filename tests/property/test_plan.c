/* SPDX-License-Identifier: MIT
 *
 * The planner's figures are the real ones: the filter of each row is made, filled
 * with the keys that were planned for, and measured.
 *
 * Rates are compared in both directions with odds of ODDS per comparison; there are
 * fewer than 300.
 */
#include <math.h>

#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#define ODDS 1e-9
#define ROWS 16
#define FIRST_ABSENT (UINT64_C(1) << 60)

/* Cache lines of two groups of so many bits, if they begin anywhere. */
static double lines_of_groups(uint64_t bits, uint64_t stride)
{
	double sum = 0;
	for (uint64_t group = 0; group < 4096; group++) {
		uint64_t first = group * stride, last = first + bits - 1;
		sum += (double)(last / 512 - first / 512 + 1);
	}
	return 2 * sum / 4096;
}

static void check_lines(const nidus_plan_row *row, const nidus_info *info)
{
	expect(row->lines_per_lookup >= 1 && row->lines_per_lookup < 4.1);
	if (row->family == NIDUS_BREADCRUMB) /* test_yard.c counts them */
		expect(row->lines_per_lookup <= 1.13);
	uint64_t bits = (uint64_t)info->slots * info->slot_bits;
	if (row->family >= NIDUS_CUCKOO && row->family <= NIDUS_WINDOWED)
		expect(fabs(row->lines_per_lookup -
		            lines_of_groups(bits, row->family == NIDUS_WINDOWED ? info->slot_bits
		                                                                : bits)) < 0.06);
}

static void check_rate(const nidus_plan_row *row, const nidus_filter *filter)
{
	uint64_t trials = check_small() ? 1 << 15 : 1 << 19, found = 0;
	for (uint64_t i = 0; i < trials; i++)
		found += nidus_contains_u64(filter, FIRST_ABSENT + i);
	/* The figure is an expectation: what the keys really hit varies a little. */
	expect(found <= chance_most(trials, 1.05 * row->fpr, ODDS));
	if (row->fpr * (double)trials > 200)
		expect(found >= chance_least(trials, 0.93 * row->fpr, ODDS));
}

static void check_row(const nidus_options *options, const nidus_plan_row *row)
{
	nidus_options made = *options;
	made.family = row->family;
	check_note("%s, %llu keys, fpr %g, max %llu", nidus_family_name(row->family),
	           (unsigned long long)options->capacity, options->fpr,
	           (unsigned long long)options->max_capacity);
	nidus_filter *filter = filter_create(&made);
	bool grows = options->max_capacity > options->capacity;
	expect(grows || info_of(filter).bytes == row->bytes);
	nidus_free(filter);
	filter = filter_of_keys(&made, 0, options->capacity);
	nidus_info info = info_of(filter);
	double keys = (double)options->capacity;
	expect(grows ? info.capacity >= row->capacity : info.capacity == row->capacity);
	expect_equal(info.slots, row->slots);
	expect_equal(info.features, row->features);
	expect_equal(info.fingerprint_bits, row->fingerprint_bits);
	expect(row->fpr <= options->fpr);
	expect(fabs(row->bits_per_key - 8 * (double)row->bytes / keys) < 1e-9);
	expect(fabs(row->overhead * log2(1 / options->fpr) - row->bits_per_key) < 1e-6);
	expect(info.bits_per_key <= 1.02 * row->bits_per_key + 8); /* a stash may come to it */
	if (info.total_slots > 0 && (row->features & NIDUS_ENUMERATE) && !grows)
		expect(fabs(info.load + (double)info.stashed / (double)info.total_slots -
		            row->load) < 1e-9);
	check_lines(row, &info);
	check_rate(row, filter);
	nidus_free(filter);
}

static void check_options(uint64_t capacity, double fpr, uint64_t max_capacity)
{
	nidus_options options = filter_options(capacity, fpr, 99);
	options.max_capacity = max_capacity;
	nidus_plan_row rows[ROWS];
	size_t n, checked = 0;
	expect_ok(nidus_plan(&options, rows, ROWS, &n));
	for (size_t i = 0; i < n; i++) {
		if (rows[i].status == NIDUS_OK) {
			check_row(&options, &rows[i]);
			checked++;
		} else {
			expect(rows[i].why_not[0] != '\0');
		}
	}
	expect(checked >= 3);
}

static void every_row_is_what_its_filter_measures(void **state)
{
	(void)state;
	uint64_t large = check_small() ? 20000 : 300000;
	check_options(1000, 0.01, 0);
	check_options(5003, 0.001, 0);
	check_options(large, 1.0 / 256, 0);
	check_options(large, 1.0 / 16, 0);
	check_options(large, 1.0 / 256, 4 * large);
}

static void the_choice_is_explained(void **state)
{
	(void)state;
	nidus_options options = filter_options(1500000, 0.001, 1);
	nidus_plan_row rows[ROWS];
	static const struct {
		nidus_family family;
		uint32_t features;
		const char *why;
	} cases[] = {
		{ NIDUS_AUTO, 0, "the smallest of " },
		{ NIDUS_AUTO, NIDUS_FAST, "the quickest" },
		{ NIDUS_CHUNKED, 0, "it was asked for" },
	};
	for (size_t i = 0; i < 3; i++) {
		size_t n, explained = 0;
		options.family = cases[i].family;
		options.features = cases[i].features;
		expect_ok(nidus_plan(&options, rows, ROWS, &n));
		for (size_t j = 0; j < n; j++) {
			expect_equal(rows[j].chosen, rows[j].why[0] != '\0');
			if (rows[j].chosen)
				expect(strncmp(rows[j].why, cases[i].why, strlen(cases[i].why)) ==
				       0);
			if (rows[j].chosen && i == 0)
				for (size_t k = 0; k < n; k++)
					expect(rows[k].bytes >= rows[j].bytes ||
					       !(rows[k].features & NIDUS_DELETE));
			explained += rows[j].chosen;
		}
		expect_equal(explained, 1);
	}
}

static uint64_t bytes_of(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	expect_ok(nidus_get_info(filter, &info));
	return info.bytes;
}

/* The most memory of a filter while keys come in up to its max_capacity. */
static uint64_t most_bytes(nidus_options options, nidus_family family)
{
	options.family = family;
	nidus_filter *filter = filter_create(&options);
	uint64_t most = 0;
	for (uint64_t key = 0; key < options.max_capacity; key++) {
		expect_ok(nidus_insert_u64(filter, key));
		uint64_t bytes = key % 64 == 0 ? bytes_of(filter) : 0;
		most = bytes > most ? bytes : most;
	}
	nidus_free(filter);
	return most;
}

static void bytes_growing_is_the_most_that_growth_takes(void **state)
{
	(void)state;
	nidus_options options = filter_options(1000, 0.004, 1);
	nidus_plan_row rows[ROWS];
	size_t n;
	options.max_capacity = 50000;
	expect_ok(nidus_plan(&options, rows, ROWS, &n));
	for (size_t i = 0; i < n; i++) {
		if (rows[i].status != NIDUS_OK)
			continue;
		check_note("%s", nidus_family_name(rows[i].family));
		uint64_t most = most_bytes(options, rows[i].family);
		/* Lists come and go, and some leaves have more keys than others. */
		expect(most >= rows[i].bytes_growing * 0.9 && most <= rows[i].bytes_growing * 1.1);
	}
}

/* The promise of NIDUS_COMPACT, at odd sizes. */
static void compact_filters_take_at_most_1_045_times_k_plus_2_bits(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned i = 0; i < 2000; i++) {
		unsigned k = 5 + i % 20;
		uint64_t most = UINT64_C(1) << (21 + chance_below(&chance, 12));
		nidus_options options =
			filter_options(1000001 + chance_below(&chance, most), ldexp(1, -(int)k), 1);
		nidus_plan_row row = { 0 };
		size_t rows;
		options.family = NIDUS_BUCKETED;
		options.features = NIDUS_COMPACT;
		check_note("%llu keys, k = %u", (unsigned long long)options.capacity, k);
		nidus_plan_row all[ROWS];
		expect_ok(nidus_plan(&options, all, ROWS, &rows));
		for (size_t at = 0; at < rows; at++)
			row = all[at].family == NIDUS_BUCKETED ? all[at] : row;
		expect_ok(row.status);
		expect(row.bits_per_key <= 1.045 * (k + 2));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_what_its_filter_measures),
		cmocka_unit_test(the_choice_is_explained),
		cmocka_unit_test(bytes_growing_is_the_most_that_growth_takes),
		cmocka_unit_test(compact_filters_take_at_most_1_045_times_k_plus_2_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

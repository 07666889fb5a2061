/* SPDX-License-Identifier: MIT
 *
 * Filters that become smaller again, and filters that grow beyond their reserve.
 */
#include <math.h>

#include "api/filter.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"

#define ODDS 1e-9 /* of a false alarm per measured rate; there are fewer than 100 */
#define BASE UINT64_C(1500)
#define FIRST_ABSENT (UINT64_C(1) << 60)

typedef void (*shrink_visitor)(nidus_options options);

static void each_growing_family(shrink_visitor visit)
{
	static const unsigned rates[] = { 6, 10 };
	unsigned visited = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (size_t i = 0; i < 2 && (*family)->features & NIDUS_GROW; i++) {
			nidus_options options =
				filter_options(BASE, ldexp(1, -(int)rates[i]), 77 + i);
			options.family = (*family)->id;
			check_note("%s, fpr 2^-%u", (*family)->name, rates[i]);
			visit(options);
			visited++;
		}
	}
	expect(visited >= 10);
}

static void expect_exactly(const nidus_filter *filter, uint64_t from, uint64_t to)
{
	expect_keys(filter, from, to);
	expect_equal(info_of(filter).count, to - from);
	expect_ok(nidus_verify(filter, NULL));
}

static void expect_rate(const nidus_filter *filter, double rate)
{
	uint64_t trials = check_small() ? 1 << 14 : 1 << 16, found = 0;
	for (uint64_t i = 0; i < trials; i++)
		found += nidus_contains_u64(filter, FIRST_ABSENT + i);
	expect(found <= chance_most(trials, rate, ODDS));
}

static void shrink_and_grow_again(nidus_options options)
{
	options.max_capacity = 8 * BASE;
	nidus_filter *filter = filter_create(&options);
	insert_keys(filter, 0, 8 * BASE);
	uint64_t large = info_of(filter).bytes;
	remove_keys(filter, 0, 5 * BASE);
	expect_ok(nidus_shrink(filter, 8 * BASE)); /* no smaller table has room for these */
	expect_exactly(filter, 5 * BASE, 8 * BASE);
	expect_ok(nidus_shrink(filter, 0));
	nidus_info info = info_of(filter);
	expect(info.bytes < large && info.capacity >= 3 * BASE && info.capacity < 8 * BASE);
	expect_exactly(filter, 5 * BASE, 8 * BASE);
	expect_rate(filter, options.fpr);
	struct bytes bytes = bytes_save(filter);
	expect_status(nidus_shrink(filter, 3 * BASE - 1), NIDUS_E_RANGE);
	expect(bytes_match(&bytes, filter));
	nidus_filter *loaded;
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	nidus_free(loaded);
	bytes_free(&bytes);
	remove_keys(filter, 5 * BASE, 8 * BASE - 100);
	expect_ok(nidus_shrink(filter, 0));
	expect(info_of(filter).bytes < large / 2);
	expect_exactly(filter, 8 * BASE - 100, 8 * BASE);
	insert_keys(filter, 8 * BASE, 15 * BASE); /* it has not forgotten how to grow */
	expect_exactly(filter, 8 * BASE - 100, 15 * BASE);
	expect_rate(filter, options.fpr);
	nidus_free(filter);
}

static void what_grew_shrinks_and_grows_again(void **state)
{
	(void)state;
	each_growing_family(shrink_and_grow_again);
}

static void shrink_what_has_just_grown(nidus_options options)
{
	options.max_capacity = 4 * BASE;
	nidus_filter *filter = filter_create(&options);
	uint64_t keys = 0;
	while (!has_segments(filter) || keys < BASE)
		expect_ok(nidus_insert_u64(filter, keys++));
	remove_keys(filter, 0, 100);
	expect_ok(nidus_shrink(filter, 0));
	expect_exactly(filter, 100, keys);
	nidus_free(filter);
}

static void what_has_just_left_its_list_shrinks(void **state)
{
	(void)state;
	each_growing_family(shrink_what_has_just_grown);
}

static void shrink_what_never_grew(nidus_options options)
{
	nidus_filter *filter = filter_create(&options);
	insert_keys(filter, 0, 10);
	struct bytes bytes = bytes_save(filter);
	expect_ok(nidus_shrink(filter, 0));
	expect(bytes_match(&bytes, filter));
	bytes_free(&bytes);
	nidus_free(filter);
}

static void a_filter_of_fixed_size_stays_as_it_is(void **state)
{
	(void)state;
	each_growing_family(shrink_what_never_grew);
}

static void shrink_without_memory(nidus_options options)
{
	struct ledger ledger = { 0 };
	options.max_capacity = 4 * BASE;
	options.allocator = ledger_allocator(&ledger);
	nidus_filter *filter = filter_create(&options);
	insert_keys(filter, 0, 4 * BASE);
	remove_keys(filter, 100, 4 * BASE);
	struct bytes bytes = bytes_save(filter);
	ledger.fail_at = ledger.requests + 1;
	expect_status(nidus_shrink(filter, 0), NIDUS_E_NOMEM);
	ledger.fail_at = ledger.requests + 2;
	expect_status(nidus_shrink(filter, 0), NIDUS_E_NOMEM);
	ledger.fail_at = 0;
	expect(bytes_match(&bytes, filter));
	bytes_free(&bytes);
	expect_ok(nidus_shrink(filter, 0));
	expect_exactly(filter, 0, 100);
	nidus_free(filter);
	expect_equal(ledger.blocks, 0);
}

static void shrinking_without_memory_changes_nothing(void **state)
{
	(void)state;
	each_growing_family(shrink_without_memory);
}

/* -------------------------------------------------------------- relaxed growth -- */

static void grow_beyond_the_reserve(nidus_options options)
{
	nidus_filter *filter = filter_create(&options);
	uint64_t had = info_of(filter).capacity;
	double target = info_of(filter).fpr_target;
	insert_keys(filter, 0, had);
	expect_status(nidus_grow(filter, 3 * had), NIDUS_E_RANGE);
	expect_ok(nidus_grow_relaxed(filter, 3 * had));
	nidus_info info = info_of(filter);
	expect(info.capacity >= 3 * had);
	/* A filter whose rate was far below its target keeps that. */
	expect(info.fpr_target >= target && info.fpr_target <= 4 * target);
	insert_keys(filter, had, 3 * had);
	expect_exactly(filter, 0, 3 * had);
	expect_rate(filter, info.fpr_target);
	struct bytes bytes = bytes_save(filter);
	expect_status(nidus_grow_relaxed(filter, UINT64_C(1) << 43), NIDUS_E_RANGE);
	expect(bytes_match(&bytes, filter));
	nidus_filter *loaded;
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	nidus_free(loaded);
	bytes_free(&bytes);
	remove_keys(filter, had / 2, 3 * had);
	expect_ok(nidus_shrink(filter, 0));
	expect(info_of(filter).capacity < 3 * had);
	expect_exactly(filter, 0, had / 2);
	nidus_free(filter);
}

static void relaxed_growth_doubles_the_rate_and_says_so(void **state)
{
	(void)state;
	each_growing_family(grow_beyond_the_reserve);
}

static void families_without_growth_refuse(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if ((*family)->features & NIDUS_GROW)
			continue;
		nidus_options options = filter_options(BASE, 0.01, 3);
		options.family = (*family)->id;
		nidus_filter *filter = filter_create(&options);
		expect_status(nidus_grow(filter, 2 * BASE), NIDUS_E_UNSUPPORTED);
		expect_status(nidus_grow_relaxed(filter, 2 * BASE), NIDUS_E_UNSUPPORTED);
		expect_status(nidus_shrink(filter, 0), NIDUS_E_UNSUPPORTED);
		nidus_free(filter);
	}
	expect_status(nidus_shrink(NULL, 0), NIDUS_E_ARG);
	expect_status(nidus_grow_relaxed(NULL, 1), NIDUS_E_ARG);
}

int main(void)
{
	take_small_segments(256);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_grew_shrinks_and_grows_again),
		cmocka_unit_test(what_has_just_left_its_list_shrinks),
		cmocka_unit_test(a_filter_of_fixed_size_stays_as_it_is),
		cmocka_unit_test(shrinking_without_memory_changes_nothing),
		cmocka_unit_test(relaxed_growth_doubles_the_rate_and_says_so),
		cmocka_unit_test(families_without_growth_refuse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

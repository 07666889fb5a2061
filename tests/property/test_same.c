/* SPDX-License-Identifier: MIT
 *
 * nidus_same: equal contents are the same in any order and size, and every difference is seen.
 */
#include "support/check.h"
#include "support/filters.h"

#define SEED 77
#define KEYS 3000

static nidus_filter *filled(const nidus_options *options, bool backwards)
{
	nidus_filter *filter = filter_create(options);
	for (uint64_t i = 0; i < KEYS; i++)
		expect_ok(nidus_insert_u64(filter, backwards ? KEYS - 1 - i : i));
	return filter;
}

static void expect_same(const nidus_filter *a, const nidus_filter *b, bool same)
{
	expect_equal(nidus_same(a, b), same);
	expect_equal(nidus_same(b, a), same);
}

static void compare_orders(const struct shape *shape, void *context)
{
	(void)context;
	nidus_options options = shape_options(shape, KEYS, SEED);
	nidus_filter *forward = filled(&options, false), *backward = filled(&options, true), *copy;
	bool entries = info_of(forward).features & NIDUS_ENUMERATE;
	expect_same(forward, backward, true);
	expect_ok(nidus_clone(forward, &copy));
	expect_same(copy, backward, true);
	/* One entry more, a copy of a key, is a difference where copies are kept. */
	nidus_status status = nidus_insert_u64(copy, 7);
	if (status == NIDUS_OK)
		expect_same(copy, forward, !entries);
	if (entries && status == NIDUS_OK) {
		expect_ok(nidus_remove_u64(copy, 8)); /* as many entries, but others */
		expect_same(copy, forward, false);
		expect_ok(nidus_remove_u64(copy, 7));
		expect_ok(nidus_insert_u64(copy, 8));
		expect_same(copy, forward, true);
	}
	nidus_free(forward);
	nidus_free(backward);
	nidus_free(copy);
}

static void the_order_of_inserts_does_not_matter(void **state)
{
	(void)state;
	each_layout(10, 10, compare_orders, NULL);
}

static void compare_sizes(const struct shape *shape, void *context)
{
	(void)context;
	nidus_options options = shape_options(shape, 200, SEED);
	options.max_capacity = 8 * KEYS;
	if (!(nidus_family_features(options.family) & NIDUS_GROW))
		return;
	nidus_filter *grown = filled(&options, false), *larger = filled(&options, true);
	expect_ok(nidus_grow(larger, 4 * KEYS));
	expect(info_of(larger).total_slots > info_of(grown).total_slots);
	expect_same(grown, larger, true);
	expect_ok(nidus_remove_u64(larger, 5));
	expect_same(grown, larger, false);
	nidus_free(grown);
	nidus_free(larger);
}

static void how_far_filters_have_grown_does_not_matter(void **state)
{
	(void)state;
	each_layout(12, 12, compare_sizes, NULL);
}

static void values_are_part_of_the_contents(void **state)
{
	(void)state;
	nidus_options options = filter_options(100, 0.001, SEED);
	options.value_bits = 8;
	nidus_filter *a = filter_create(&options), *b = filter_create(&options);
	expect_ok(nidus_insert_value_u64(a, 1, 5));
	expect_ok(nidus_insert_value_u64(b, 1, 6));
	expect_same(a, b, false);
	expect_ok(nidus_replace_value_u64(b, 1, 6, 5));
	expect_same(a, b, true);
	nidus_free(a);
	nidus_free(b);
}

static void only_empty_filters_of_different_seeds_are_the_same(void **state)
{
	(void)state;
	nidus_options options = filter_options(100, 0.001, SEED),
		      other = filter_options(100, 0.001, 8);
	nidus_filter *a = filter_create(&options), *b = filter_create(&other);
	options.capacity = 5000;
	nidus_filter *larger = filter_create(&options);
	expect_same(a, b, true);
	expect_same(a, larger, true);
	expect_ok(nidus_insert_u64(a, 1));
	expect_same(a, b, false);
	expect_ok(nidus_insert_u64(b, 1));
	expect_ok(nidus_insert_u64(larger, 1));
	expect_same(a, b, false);
	expect_same(a, larger, false);
	nidus_free(a);
	nidus_free(b);
	nidus_free(larger);
}

static void what_is_no_filter_is_never_the_same(void **state)
{
	(void)state;
	nidus_options options = filter_options(100, 0.001, SEED);
	nidus_filter *filter = filter_create(&options);
	expect_same(filter, NULL, false);
	expect(!nidus_same(NULL, NULL));
	expect(nidus_same(filter, filter));
	nidus_free(filter);
}

static void shared_and_saved_filters_are_compared_too(void **state)
{
	(void)state;
	nidus_options options = filter_options(KEYS, 0.001, SEED);
	nidus_filter *alone = filled(&options, false), *opened;
	options.features = NIDUS_CONCURRENT;
	nidus_filter *shared = filled(&options, true);
	struct bytes bytes = bytes_save(alone);
	expect_ok(nidus_open_buffer(bytes.data, bytes.size, 0, &opened));
	expect_same(alone, opened, true);
	if (info_of(shared).family == info_of(alone).family)
		expect_same(alone, shared, true);
	expect(nidus_same(shared, shared));
	nidus_free(opened);
	nidus_free(alone);
	nidus_free(shared);
	bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_inserts_does_not_matter),
		cmocka_unit_test(how_far_filters_have_grown_does_not_matter),
		cmocka_unit_test(values_are_part_of_the_contents),
		cmocka_unit_test(only_empty_filters_of_different_seeds_are_the_same),
		cmocka_unit_test(what_is_no_filter_is_never_the_same),
		cmocka_unit_test(shared_and_saved_filters_are_compared_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

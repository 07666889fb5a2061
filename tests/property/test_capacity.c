/* SPDX-License-Identifier: MIT
 *
 * The capacity promise: n distinct keys go into a filter made for n, for every n.
 *
 * One filter may break it with odds of 1e-6, and this makes thousands: a failure with
 * a random seed is no proof of a fault. soak_capacity looks at how likely it is.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

static uint64_t base_seed;

/* All of n keys go in and are found; info tells the truth about it. */
static void expect_capacity(const struct shape *shape, uint64_t n)
{
	struct chance chance = { base_seed + 1000003 * n + 31 * shape->k + shape->slots };
	nidus_filter *filter = shape_create(shape, n, 1 + chance_next(&chance) / 2);
	uint64_t first = chance_next(&chance);
	nidus_info info = info_of(filter);
	expect(info.capacity >= n);
	expect(info.max_capacity >= info.capacity);
	for (uint64_t i = 0; i < n; i++) {
		nidus_status status = nidus_insert_u64(filter, first + i);
		if (status != NIDUS_OK)
			expect_status(status, NIDUS_OK);
	}
	uint64_t found = 0;
	for (uint64_t i = 0; i < n; i++)
		found += nidus_contains_u64(filter, first + i);
	expect_equal(found, n);
	info = info_of(filter);
	expect_equal(info.count, n);
	expect(info.load > 0 && info.load <= 1);
	expect(info.headroom >= 0 && info.headroom < 1);
	expect(info.bits_per_key > 0 && info.fpr_target > 0);
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

static void every_small(const struct shape *shape, void *context)
{
	uint64_t step = *(const uint64_t *)context;
	for (uint64_t n = 1; n <= 300; n += n < 20 ? 1 : step)
		expect_capacity(shape, n);
}

static void every_n_to_300_fits(void **state)
{
	(void)state;
	uint64_t step = check_small() ? 13 : 1;
	static const unsigned rates[] = { 4, 5, 8, 13, 24 };
	for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
		each_shape(rates[i], rates[i], every_small, &step);
}

static void spread(const struct shape *shape, void *context)
{
	uint64_t most = *(const uint64_t *)context;
	/* Odd sizes that grow by a half, so that powers of two are met from both sides. */
	for (uint64_t n = 301; n < most; n += n / 2 | 1)
		expect_capacity(shape, n);
}

static void odd_sizes_fit_at_every_rate(void **state)
{
	(void)state;
	uint64_t most = check_small() ? 2000 : 20000;
	each_layout(4, 24, spread, &most);
}

/* Where a power-of-two table or a chunk is filled to its last promised key. */
static void brim(const struct shape *shape, void *context)
{
	uint64_t most = *(const uint64_t *)context;
	for (uint64_t ask = 100; ask < most; ask *= 7) {
		nidus_filter *filter = shape_create(shape, ask, 1);
		uint64_t capacity = info_of(filter).capacity;
		nidus_free(filter);
		expect_capacity(shape, capacity);
	}
}

static void all_that_info_promises_fits(void **state)
{
	(void)state;
	uint64_t most = check_small() ? 2000 : 40000;
	each_layout(4, 8, brim, &most);
	each_layout(16, 16, brim, &most);
}

static void large(const struct shape *shape, void *context)
{
	const uint64_t *sizes = context;
	for (; *sizes != 0; sizes++)
		expect_capacity(shape, *sizes);
}

static void large_odd_sizes_fit(void **state)
{
	(void)state;
	uint64_t sizes[] = { 100003, 262147, 1000003, 2000003, 0 };
	if (check_small())
		sizes[1] = 0;
	each_layout(8, 8, large, sizes);
	sizes[2] = 0;
	each_layout(4, 5, large, sizes);
	each_layout(20, 20, large, sizes);
}

/* Building sorts the keys, which must not matter. */
static void built(const struct shape *shape, void *context)
{
	(void)context;
	uint64_t n = check_small() ? 5003 : 50021;
	uint64_t *keys = check_alloc(n * sizeof *keys);
	nidus_options options = shape_options(shape, 0, base_seed + 7);
	nidus_filter *filter;
	for (uint64_t i = 0; i < n; i++)
		keys[i] = i * i;
	expect_ok(nidus_build_u64(&options, keys, n, 1, &filter));
	expect_equal(info_of(filter).count, n);
	expect(info_of(filter).capacity >= n);
	for (uint64_t i = 0; i < n; i++)
		expect(nidus_contains_u64(filter, keys[i]));
	nidus_free(filter);
	free(keys);
}

static void a_build_holds_all_its_keys(void **state)
{
	(void)state;
	each_layout(4, 24, built, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_n_to_300_fits),
		cmocka_unit_test(odd_sizes_fit_at_every_rate),
		cmocka_unit_test(all_that_info_promises_fits),
		cmocka_unit_test(large_odd_sizes_fit),
		cmocka_unit_test(a_build_holds_all_its_keys),
	};
	base_seed = chance_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

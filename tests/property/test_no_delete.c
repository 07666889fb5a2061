/* SPDX-License-Identifier: MIT
 *
 * Tests of NIDUS_NO_DELETE: nothing is removed, everything else works, and the denser
 * shape of the breadcrumb family keeps its capacity.
 */
#include "api/filter.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/yards.h"

/* Entries are as before, and all keys from 0 on are found. */
static void expect_whole(const nidus_filter *filter, uint64_t n)
{
	expect_keys(filter, 0, n);
	expect_equal(info_of(filter).count, n);
	expect_ok(nidus_verify(filter, NULL));
}

static void put_keys(nidus_filter *filter, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		expect_ok(nidus_insert_u64(filter, i));
}

static void expect_no_remove(nidus_filter *filter, uint64_t n)
{
	uint64_t hash = nidus_hash_u64(filter, 1);
	size_t done = 7;
	expect_status(nidus_remove_u64(filter, 1), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_remove(filter, "1", 1), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_remove_hash(filter, hash), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_remove_batch(filter, &hash, 1, &done), NIDUS_E_UNSUPPORTED);
	expect_equal(done, 0);
	expect(!(info_of(filter).features & NIDUS_DELETE));
	expect_whole(filter, n);
}

static void nothing_is_removed_from_any_family(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned shared = 0; shared < 2; shared++) {
			nidus_options options = filter_options(300, 0.01, 5);
			options.family = (*family)->id;
			options.features = NIDUS_NO_DELETE;
			if (shared)
				options.features |= (*family)->features & NIDUS_CONCURRENT;
			check_note("%s, %s", (*family)->name, shared ? "shared" : "plain");
			nidus_filter *filter = filter_of_keys(&options, 0, 300);
			expect_no_remove(filter, 300);
			nidus_free(filter);
		}
	}
}

static void a_filter_cannot_be_for_removing_and_for_not_removing(void **state)
{
	(void)state;
	nidus_options options = filter_options(300, 0.01, 5);
	nidus_filter *filter;
	options.features = NIDUS_NO_DELETE | NIDUS_DELETE;
	expect_status(nidus_create(&options, &filter), NIDUS_E_ARG);
}

static nidus_options dense_options(unsigned slots, uint64_t capacity, uint64_t seed)
{
	nidus_options options = yard_options(slots, capacity, seed);
	options.features = NIDUS_NO_DELETE;
	return options;
}

/* Fills a filter to its capacity, one by one, and another at once. */
static void expect_capacity(unsigned slots, uint64_t capacity, uint64_t seed)
{
	nidus_options options = dense_options(slots, capacity, seed);
	nidus_filter *filter = filter_create(&options), *built;
	uint64_t n = info_of(filter).capacity, *keys = check_alloc(n * sizeof *keys);
	check_note("%u slots, %llu keys", slots, (unsigned long long)n);
	for (uint64_t i = 0; i < n; i++)
		keys[i] = i;
	put_keys(filter, 0, n);
	expect_whole(filter, n);
	expect_ok(nidus_build_u64(&options, keys, n, 1, &built));
	expect_whole(built, n);
	options.features = 0;
	nidus_filter *plain = filter_create(&options);
	expect(info_of(filter).bytes <= info_of(plain).bytes);
	nidus_free(plain);
	nidus_free(built);
	nidus_free(filter);
	free(keys);
}

static void the_denser_shape_keeps_its_capacity_at_every_width(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 1, 2, 17, 50, 100, 333, 700, 1000, 1500, 3000, 20000 };
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			for (uint64_t seed = 1; seed <= 3; seed++)
				expect_capacity(yard_shapes[w], sizes[i], seed);
		}
		if (!check_small())
			expect_capacity(yard_shapes[w], 400000, 1);
	}
}

static double bits_per_key(uint64_t n, uint32_t features)
{
	nidus_options options = yard_options(51, n, 1);
	nidus_plan_row rows[32];
	size_t count;
	options.fpr = 0x1p-8;
	options.features = features;
	expect_ok(nidus_plan(&options, rows, 32, &count));
	for (size_t i = 0; i < count; i++) {
		if (rows[i].family == NIDUS_BREADCRUMB)
			return rows[i].status == NIDUS_OK ? rows[i].bits_per_key : 1e9;
	}
	return 1e9;
}

static void a_million_keys_and_more_take_few_bits_each(void **state)
{
	(void)state;
	for (uint64_t n = 1000000; n <= UINT64_C(20000000000); n += n / 7) {
		check_note("%llu keys", (unsigned long long)n);
		/* More lines are filled less, so that the odds stay what is promised. */
		expect(bits_per_key(n, 0) <= (n < 800000000 ? 11.35 : 11.45));
		expect(bits_per_key(n, NIDUS_NO_DELETE) <= (n < 26000000 ? 11.2 : 11.4));
	}
}

static void the_promise_survives_files_and_growth(void **state)
{
	(void)state;
	for (unsigned w = 1; w < YARD_SHAPES - 1; w++) { /* 8 bits leave none to grow with */
		nidus_options options = dense_options(yard_shapes[w], 1000, 3);
		nidus_filter *filter, *copy;
		check_note("%u slots", yard_shapes[w]);
		options.max_capacity = 4000;
		filter = filter_create(&options);
		put_keys(filter, 0, 4000);
		expect_no_remove(filter, 4000);
		expect_ok(nidus_clone(filter, &copy));
		expect_no_remove(copy, 4000);
		size_t size = nidus_saved_size(filter), written;
		unsigned char *bytes = check_alloc(size);
		nidus_filter *loaded;
		expect_ok(nidus_save_buffer(filter, bytes, size, &written));
		expect_ok(nidus_load_buffer(bytes, written, NULL, &loaded));
		expect_no_remove(loaded, 4000);
		expect_ok(nidus_shrink(loaded, 0));
		expect_no_remove(loaded, 4000);
		expect_ok(nidus_clear(loaded));
		put_keys(loaded, 0, 100);
		expect_ok(nidus_shrink(loaded, 0));
		expect_no_remove(loaded, 100);
		free(bytes);
		nidus_free(loaded);
		nidus_free(copy);
		nidus_free(filter);
	}
}

static void what_is_merged_with_a_filter_that_keeps_all_keeps_all(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 2; first++) {
		nidus_options options = yard_options(36, 1000, 3);
		nidus_filter *part[2], *merged;
		options.features = NIDUS_DELETE;
		part[first] = filter_create(&options);
		/* The capacity that the same geometry has without removing. */
		uint64_t fronts = ((struct yard *)(void *)part[first]->body)->fronts;
		options.features = NIDUS_NO_DELETE;
		do {
			options.capacity++;
			part[!first] = filter_create(&options);
			if (((struct yard *)(void *)part[!first]->body)->fronts == fronts)
				break;
			nidus_free(part[!first]);
		} while (options.capacity < 2000);
		expect(options.capacity < 2000);
		put_keys(part[0], 0, 700);
		put_keys(part[1], 700, 1000);
		expect_ok(nidus_merge(part[0], part[1], &merged));
		expect_no_remove(merged, 1000);
		expect_ok(nidus_remove_u64(part[first], first == 0 ? 1 : 701));
		for (unsigned i = 0; i < 2; i++)
			nidus_free(part[i]);
		nidus_free(merged);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_removed_from_any_family),
		cmocka_unit_test(a_filter_cannot_be_for_removing_and_for_not_removing),
		cmocka_unit_test(the_denser_shape_keeps_its_capacity_at_every_width),
		cmocka_unit_test(a_million_keys_and_more_take_few_bits_each),
		cmocka_unit_test(the_promise_survives_files_and_growth),
		cmocka_unit_test(what_is_merged_with_a_filter_that_keeps_all_keeps_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

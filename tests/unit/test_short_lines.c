/* SPDX-License-Identifier: MIT
 *
 * Tests of the breadcrumb family's 32-byte lines, which NIDUS_FAST takes.
 */
#include "nidus.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#define SHORT_SLOTS 25

static nidus_filter *make(uint64_t capacity, double fpr)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	options.family = NIDUS_BREADCRUMB;
	options.capacity = capacity;
	options.fpr = fpr;
	options.seed = 11;
	options.features = NIDUS_FAST;
	expect_ok(nidus_create(&options, &filter));
	return filter;
}

/* Fills to capacity and churns: keys [old, old + capacity) are in at the end. */
static void fill_and_churn(nidus_filter *filter, uint64_t capacity, uint64_t rounds)
{
	uint64_t old = 0, next = 0;
	for (; next < capacity; next++)
		expect_ok(nidus_insert_u64(filter, next));
	for (uint64_t i = 0; i < rounds * capacity; i++, old++, next++) {
		expect_ok(nidus_remove_u64(filter, old));
		expect_ok(nidus_insert_u64(filter, next));
	}
	for (uint64_t key = old; key < next; key++)
		expect(nidus_contains_u64(filter, key));
	expect_equal(info_of(filter).count, capacity);
}

static void fast_takes_short_lines_where_they_will_do(void **state)
{
	(void)state;
	nidus_filter *loose = make(1000, 0x1p-8), *tight = make(1000, 0x1p-9);
	expect_equal(info_of(loose).slots, SHORT_SLOTS);
	expect(info_of(tight).slots != SHORT_SLOTS);
	nidus_free(loose);
	nidus_free(tight);
}

static void short_lines_keep_every_key_through_churn(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 1, 2, 3, 10, 22, 23, 50, 300, 355, 711, 5000, 40001 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const char *why;
		nidus_filter *filter = make(sizes[i], 0x1p-8);
		check_note("%llu keys", (unsigned long long)sizes[i]);
		fill_and_churn(filter, sizes[i], 20);
		expect_ok(nidus_verify(filter, &why));
		nidus_free(filter);
	}
}

static void short_lines_keep_the_rate(void **state)
{
	(void)state;
	const uint64_t keys = 100000, absent = 2000000;
	nidus_filter *filter = make(keys, 0x1p-8);
	fill_and_churn(filter, keys, 1);
	uint64_t passed = 0;
	for (uint64_t i = 0; i < absent; i++)
		passed += nidus_contains_u64(filter, i + (UINT64_C(1) << 40));
	/* 2,000,000 / 256 = 7812 at the target, spread 88: six of them are odds of 1e-9. */
	check_note("%llu absent keys passed", (unsigned long long)passed);
	expect(passed < 7812 + 6 * 88);
	nidus_free(filter);
}

static void every_tier_leaves_the_same_bytes(void **state)
{
	(void)state;
	if (strcmp(nidus_isa(), "scalar") == 0)
		skip();
	const char *best = nidus_isa();
	nidus_filter *fast = make(3000, 0x1p-8);
	expect_ok(nidus_set_isa("scalar"));
	nidus_filter *plain = make(3000, 0x1p-8);
	expect_ok(nidus_set_isa(best));
	fill_and_churn(fast, 3000, 5);
	fill_and_churn(plain, 3000, 5);
	size_t size = nidus_saved_size(fast);
	expect_equal(nidus_saved_size(plain), size);
	unsigned char *a = check_alloc(size), *b = check_alloc(size);
	expect_ok(nidus_save_buffer(fast, a, size, NULL));
	expect_ok(nidus_save_buffer(plain, b, size, NULL));
	expect(memcmp(a, b, size) == 0);
	nidus_filter *loaded;
	expect_ok(nidus_load_buffer(a, size, NULL, &loaded));
	expect_ok(nidus_verify(loaded, NULL));
	nidus_free(loaded);
	free(a);
	free(b);
	nidus_free(fast);
	nidus_free(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fast_takes_short_lines_where_they_will_do),
		cmocka_unit_test(short_lines_keep_every_key_through_churn),
		cmocka_unit_test(short_lines_keep_the_rate),
		cmocka_unit_test(every_tier_leaves_the_same_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

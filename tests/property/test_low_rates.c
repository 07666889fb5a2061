/* SPDX-License-Identifier: MIT
 *
 * Tests of rates below 2^-24, which are too low to be measured: that so many bits of a hash
 * decide, that everything else works as at higher rates, and where a 64-bit hash ends.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family/registry.h"
#include "support/check.h"
#include "support/filters.h"

#define KEYS 700

/* Families with two groups of slots per key: their fingerprints may have any length. */
static bool has_slots(const struct family *family)
{
	return family->searches;
}

/* Bits of a hash that, turned over alone, make a key absent. */
static unsigned deciding_bits(const nidus_filter *filter, uint64_t hash)
{
	unsigned bits = 0;
	for (unsigned i = 0; i < 64; i++)
		bits += !nidus_contains_hash(filter, hash ^ UINT64_C(1) << i);
	return bits;
}

static nidus_options low_options(const struct family *family, unsigned bits, uint64_t capacity)
{
	nidus_options options = filter_options(capacity, ldexp(1, -(int)bits), bits);
	options.family = family->id;
	check_note("%s, 2^-%u, %llu keys", family->name, bits, (unsigned long long)capacity);
	return options;
}

static void expect_low_rate(const nidus_filter *filter, unsigned bits)
{
	expect(info_of(filter).fpr_target <= ldexp(1, -(int)bits));
	expect(info_of(filter).fpr_now <= ldexp(1, -(int)bits));
	expect(deciding_bits(filter, nidus_hash_u64(filter, 0)) >= bits);
	for (uint64_t key = KEYS; key < 20 * KEYS; key++)
		expect(!nidus_contains_u64(filter, key));
}

static void as_many_bits_decide_as_the_rate_needs(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 1, 2, 33, KEYS };
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned i = 0; has_slots(*family) && i < 4 * 8; i++) {
			nidus_options options = low_options(*family, 25 + i / 4, sizes[i % 4]);
			nidus_filter *filter = filter_of_keys(&options, 0, sizes[i % 4]);
			expect_keys(filter, 0, sizes[i % 4]);
			expect_low_rate(filter, 25 + i / 4);
			nidus_free(filter);
		}
	}
}

static void filters_of_low_rates_grow_and_keep_values(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!has_slots(*family))
			continue;
		nidus_options options = low_options(*family, 30, 10);
		options.max_capacity = KEYS;
		options.value_bits = 5;
		nidus_filter *filter = filter_create(&options);
		for (uint64_t key = 0; key < KEYS; key++)
			expect_ok(nidus_insert_value_u64(filter, key, key % 32));
		for (uint64_t key = 0; key < KEYS; key++) {
			uint64_t value;
			expect(nidus_find_u64(filter, key, &value, 1) == 1 && value == key % 32);
		}
		expect_low_rate(filter, 30);
		expect_ok(nidus_verify(filter, NULL));
		nidus_free(filter);
	}
}

static void removes_are_exact_and_files_come_back(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!has_slots(*family))
			continue;
		nidus_options options = low_options(*family, 32, KEYS);
		nidus_filter *filter = filter_of_keys(&options, 0, KEYS);
		struct bytes bytes = bytes_save(filter);
		nidus_filter *again;
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &again));
		for (uint64_t key = 0; key < KEYS; key += 2)
			expect_ok(nidus_remove_u64(again, key));
		for (uint64_t key = 0; key < KEYS; key++)
			expect(nidus_contains_u64(again, key) == (key % 2 == 1));
		expect_keys(filter, 0, KEYS);
		bytes_free(&bytes);
		nidus_free(again);
		nidus_free(filter);
	}
}

/* The number in "... : N are the most". */
static uint64_t advised(void)
{
	const char *colon = strrchr(nidus_reason(), ':');
	expect(colon != NULL && strstr(colon, "are the most") != NULL);
	return strtoull(colon + 1, NULL, 10);
}

static void where_a_hash_is_too_short_the_most_keys_are_named(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned grows = 0; has_slots(*family) && grows < 2; grows++) {
			nidus_options options = low_options(*family, 32, UINT64_C(1) << 40);
			nidus_plan_row rows[32];
			size_t n;
			if (grows) {
				options.capacity = 100;
				options.max_capacity = UINT64_C(1) << 40;
			}
			nidus_filter *filter;
			expect_status(nidus_create(&options, &filter), NIDUS_E_RANGE);
			uint64_t most = advised();
			expect(most > 1000000 && most < UINT64_C(1) << 40);
			*(grows ? &options.max_capacity : &options.capacity) = most;
			expect_ok(nidus_plan(&options, rows, 32, &n));
			for (size_t i = 0; i < n; i++)
				expect(rows[i].family != (*family)->id ||
				       rows[i].status == NIDUS_OK);
		}
	}
}

static void filters_without_a_size_and_bloom_filters_end_at_2_to_the_minus_24(void **state)
{
	(void)state;
	nidus_filter *filter;
	nidus_options options = filter_options(0, 0x1p-25, 1);
	options.max_capacity = NIDUS_UNLIMITED;
	expect_status(nidus_create(&options, &filter), NIDUS_E_RANGE);
	expect(strstr(nidus_reason(), "how many keys") != NULL);
	options.fpr = 0x1p-24;
	expect_ok(nidus_create(&options, &filter));
	nidus_free(filter);
	options = filter_options(100, 0x1p-25, 1);
	options.family = NIDUS_BLOOM;
	expect_status(nidus_create(&options, &filter), NIDUS_E_RANGE);
	options.family = NIDUS_BLOCKED_BLOOM;
	expect_status(nidus_create(&options, &filter), NIDUS_E_RANGE);
	expect(strstr(nidus_reason(), "2^-24") != NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_bits_decide_as_the_rate_needs),
		cmocka_unit_test(filters_of_low_rates_grow_and_keep_values),
		cmocka_unit_test(removes_are_exact_and_files_come_back),
		cmocka_unit_test(where_a_hash_is_too_short_the_most_keys_are_named),
		cmocka_unit_test(filters_without_a_size_and_bloom_filters_end_at_2_to_the_minus_24),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

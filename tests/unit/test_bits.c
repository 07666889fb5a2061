/* SPDX-License-Identifier: MIT
 *
 * Tests of base/bits: byte order, wide products, powers of two, checked sizes.
 */
#include "base/bits.h"
#include "support/chance.h"
#include "support/check.h"

static void words_are_little_endian_at_any_address(void **state)
{
	(void)state;
	unsigned char bytes[32];
	for (unsigned at = 0; at < 16; at++) {
		memset(bytes, 0xee, sizeof bytes);
		store64(bytes + at, UINT64_C(0x0807060504030201));
		for (unsigned i = 0; i < 8; i++)
			expect_equal(bytes[at + i], i + 1);
		expect_equal(bytes[at + 8], 0xee);
		expect_equal(load64(bytes + at), UINT64_C(0x0807060504030201));
		store32(bytes + at, UINT32_C(0xfcfdfeff));
		expect_equal(bytes[at], 0xff);
		expect_equal(bytes[at + 3], 0xfc);
		expect_equal(bytes[at + 4], 5);
		expect_equal(load32(bytes + at), UINT32_C(0xfcfdfeff));
	}
}

static void bits_low_sets_exactly_that_many(void **state)
{
	(void)state;
	for (unsigned count = 0; count <= 64; count++) {
		expect_equal(__builtin_popcountll(bits_low(count)), count);
		expect(count == 64 || bits_low(count) >> count == 0);
	}
}

/* The schoolbook product, by halves and carries, to compare with. */
static void multiply_slowly(uint64_t a, uint64_t b, uint64_t *high, uint64_t *low)
{
	*high = *low = 0;
	for (int bit = 63; bit >= 0; bit--) {
		*high = *high << 1 | *low >> 63;
		*low <<= 1;
		if (b >> bit & 1)
			*high += add_overflows(*low, a, low);
	}
}

static void wide_products_are_exact(void **state)
{
	(void)state;
	static const uint64_t corners[] = {
		0,         1, 2, UINT32_MAX, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX - 1,
		UINT64_MAX
	};
	struct chance chance = { chance_seed() };
	for (unsigned i = 0; i < 4096; i++) {
		uint64_t a = i < 64 ? corners[i / 8] : chance_next(&chance);
		uint64_t b =
			i < 64 ? corners[i % 8] : chance_next(&chance) >> chance_below(&chance, 64);
		uint64_t high, low, got_low;
		multiply_slowly(a, b, &high, &low);
		expect_equal(multiply_wide(a, b, &got_low), high);
		expect_equal(got_low, low);
		expect_equal(multiply_high(a, b), high);
	}
}

static void powers_of_two_are_known(void **state)
{
	(void)state;
	expect(!is_power_of_two(0));
	expect_equal(power_of_two_from(1), 1);
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t power = UINT64_C(1) << bit;
		expect(is_power_of_two(power));
		expect_equal(power_of_two_from(power), power);
		expect_equal(log2_floor(power), bit);
		if (bit < 2)
			continue;
		expect(!is_power_of_two(power - 1) && !is_power_of_two(power + 1));
		expect_equal(power_of_two_from(power - 1), power);
		expect_equal(log2_floor(power - 1), bit - 1);
		expect(bit == 63 || power_of_two_from(power + 1) == 2 * power);
	}
}

static void divide_up_never_overflows(void **state)
{
	(void)state;
	expect_equal(divide_up(0, 8), 0);
	expect_equal(divide_up(1, 8), 1);
	expect_equal(divide_up(8, 8), 1);
	expect_equal(divide_up(9, 8), 2);
	expect_equal(divide_up(UINT64_MAX, 8), UINT64_C(1) << 61);
	expect_equal(divide_up(UINT64_MAX, UINT64_MAX), 1);
}

static void overflow_is_told_exactly_at_its_edge(void **state)
{
	(void)state;
	uint64_t result;
	expect(!add_overflows(UINT64_MAX - 1, 1, &result) && result == UINT64_MAX);
	expect(add_overflows(UINT64_MAX, 1, &result));
	expect(!multiply_overflows(UINT64_C(1) << 32, UINT32_MAX, &result));
	expect_equal(result, (uint64_t)UINT32_MAX << 32);
	expect(multiply_overflows(UINT64_C(1) << 32, UINT64_C(1) << 32, &result));
	expect(!multiply_overflows(0, UINT64_MAX, &result) && result == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_little_endian_at_any_address),
		cmocka_unit_test(bits_low_sets_exactly_that_many),
		cmocka_unit_test(wide_products_are_exact),
		cmocka_unit_test(powers_of_two_are_known),
		cmocka_unit_test(divide_up_never_overflows),
		cmocka_unit_test(overflow_is_told_exactly_at_its_edge),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Tests of base/slots: every width, neighbours, exact zero fields, far indices.
 */
#include "base/slots.h"

#include <sys/mman.h>

#include "support/chance.h"
#include "support/check.h"

#define SLOTS 67

static void setting_a_slot_leaves_its_neighbours_alone(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned width = SLOTS_WIDTH_MIN; width <= SLOTS_WIDTH_MAX; width++) {
		unsigned char array[SLOTS * 7 + SLOTS_PADDING] = { 0 };
		uint64_t model[SLOTS] = { 0 };
		for (unsigned step = 0; step < 4000; step++) {
			uint64_t at = chance_below(&chance, SLOTS);
			const uint64_t values[] = { 0, 1, bits_low(width),
				                    UINT64_C(1) << (width - 1),
				                    chance_next(&chance) & bits_low(width) };
			model[at] = values[chance_below(&chance, 5)];
			slot_set(array, width, at, model[at]);
			uint64_t look = step % SLOTS;
			check_note("width %u, set %llu, looked at %llu", width,
			           (unsigned long long)at, (unsigned long long)look);
			expect_equal(slot_get(array, width, look), model[look]);
		}
		for (uint64_t i = 0; i < SLOTS; i++)
			expect_equal(slot_get(array, width, i), model[i]);
	}
}

static void a_slot_lies_at_its_bits_and_nowhere_else(void **state)
{
	(void)state;
	for (unsigned width = SLOTS_WIDTH_MIN; width <= SLOTS_WIDTH_MAX; width++) {
		for (unsigned at = 0; at < 9; at++) {
			unsigned char array[9 * 7 + SLOTS_PADDING] = { 0 };
			slot_set(array, width, at, bits_low(width));
			check_note("width %u, slot %u", width, at);
			for (unsigned bit = 0; bit < sizeof array * 8; bit++) {
				bool inside = bit >= at * width && bit < (at + 1) * width;
				expect_equal(array[bit >> 3] >> (bit & 7) & 1, inside);
			}
			/* And the opposite: a hole in ones. */
			memset(array, 0xff, sizeof array);
			slot_set(array, width, at, 0);
			for (unsigned bit = 0; bit < sizeof array * 8; bit++) {
				bool inside = bit >= at * width && bit < (at + 1) * width;
				expect_equal(array[bit >> 3] >> (bit & 7) & 1, !inside);
			}
		}
	}
}

/* One by one, to compare with. */
static uint64_t zero_fields_slowly(uint64_t word, unsigned width, unsigned count)
{
	uint64_t zeros = 0;
	for (unsigned i = 0; i < count; i++) {
		if ((word >> (i * width) & bits_low(width)) == 0)
			zeros |= UINT64_C(1) << (i * width + width - 1);
	}
	return zeros;
}

static void zero_fields_are_found_exactly(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned width = SLOTS_WIDTH_MIN; width <= SLOTS_WIDTH_MAX; width++) {
		for (unsigned count = 1; count <= 8 && count * width <= 64; count++) {
			uint64_t ones = fields_ones(width, count), highs = ones << (width - 1);
			expect_equal(__builtin_popcountll(ones), count);
			for (unsigned step = 0; step < 2000; step++) {
				uint64_t word = chance_next(&chance); /* bits above stay random */
				for (unsigned i = 0; i < count; i++) {
					const uint64_t values[] = { 0,
						                    0,
						                    1,
						                    bits_low(width),
						                    UINT64_C(1) << (width - 1),
						                    chance_next(&chance) };
					uint64_t value =
						values[chance_below(&chance, 6)] & bits_low(width);
					word &= ~(bits_low(width) << (i * width));
					word |= value << (i * width);
				}
				check_note("width %u, %u fields, %#llx", width, count,
				           (unsigned long long)word);
				uint64_t zero = zero_fields_slowly(word, width, count);
				expect_equal(fields_zero_in(word, highs - ones, highs), zero);
			}
		}
	}
}

/* What a borrow gets wrong: x - 1 of an empty field makes the 1 above it look empty. */
static void a_one_above_an_empty_slot_is_not_empty(void **state)
{
	(void)state;
	for (unsigned width = SLOTS_WIDTH_MIN; width <= 32; width++) {
		uint64_t ones = fields_ones(width, 2), highs = ones << (width - 1);
		check_note("width %u", width);
		expect_equal(fields_zero_in(UINT64_C(1) << width, highs - ones, highs),
		             UINT64_C(1) << (width - 1));
	}
}

static void bytes_are_counted_without_overflow(void **state)
{
	(void)state;
	uint64_t bytes;
	expect(!slots_bytes_overflow(0, 56, &bytes) && bytes == SLOTS_PADDING);
	expect(!slots_bytes_overflow(1, 2, &bytes) && bytes == 1 + SLOTS_PADDING);
	expect(!slots_bytes_overflow(5, 13, &bytes) && bytes == 9 + SLOTS_PADDING);
	expect(!slots_bytes_overflow(UINT64_C(1) << 40, 12, &bytes));
	expect_equal(bytes, (UINT64_C(12) << 37) + SLOTS_PADDING);
	expect(!slots_bytes_overflow(UINT64_MAX / 56, 56, &bytes));
	expect(slots_bytes_overflow(UINT64_MAX / 56 + 1, 56, &bytes));
	expect(slots_bytes_overflow(UINT64_MAX, 2, &bytes));
}

/* Address space costs nothing where it is not touched. */
static unsigned char *reserve(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void indices_go_beyond_2_32(void **state)
{
	(void)state;
	static const unsigned widths[] = { 2, 5, 12, 13, 31, 32, 33, 55, 56 };
	for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++) {
		unsigned width = widths[i];
		uint64_t slots = (UINT64_C(1) << 32) + 100, bytes;
		expect(!slots_bytes_overflow(slots, width, &bytes));
		unsigned char *array = reserve(bytes);
		if (array == NULL)
			skip(); /* a machine that limits address space */
		check_note("width %u", width);
		/* Where a 32-bit slot index, bit index or byte index would wrap. */
		const uint64_t edges[] = { UINT64_C(1) << 32, (UINT64_C(1) << 32) / width,
			                   (UINT64_C(1) << 31) / width, (UINT64_C(1) << 35) / width,
			                   slots };
		for (unsigned e = 0; e < 5; e++) {
			uint64_t edge = edges[e] < slots ? edges[e] : slots - 3;
			for (uint64_t at = edge - 2; at < edge + 3; at++)
				slot_set(array, width, at, at & bits_low(width));
			for (uint64_t at = edge - 2; at < edge + 3; at++)
				expect_equal(slot_get(array, width, at), at & bits_low(width));
		}
		for (uint64_t at = 0; at < 5; at++)
			expect_equal(slot_get(array, width, at), 0);
		munmap(array, bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(setting_a_slot_leaves_its_neighbours_alone),
		cmocka_unit_test(a_slot_lies_at_its_bits_and_nowhere_else),
		cmocka_unit_test(zero_fields_are_found_exactly),
		cmocka_unit_test(a_one_above_an_empty_slot_is_not_empty),
		cmocka_unit_test(bytes_are_counted_without_overflow),
		cmocka_unit_test(indices_go_beyond_2_32),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Tests of nest/coded: sorted buckets against plain ones, at every width.
 */
#include "nest/coded.h"

#include "support/chance.h"
#include "support/check.h"

#define BUCKETS 9

static int setup(void **state)
{
	(void)state;
	coded_prepare();
	return 0;
}

static void every_code_is_an_ascending_tuple_of_its_own(void **state)
{
	(void)state;
	static unsigned char seen[65536];
	for (unsigned code = 0; code < CODED_CODES; code++) {
		uint16_t n = coded_nibbles[code];
		check_note("code %u: %04x", code, n);
		expect((n & 15) <= (n >> 4 & 15) && (n >> 4 & 15) <= (n >> 8 & 15));
		expect((n >> 8 & 15) <= n >> 12);
		expect(!seen[n]);
		seen[n] = 1;
	}
	for (unsigned code = CODED_CODES; code < 4096; code++)
		expect_equal(coded_nibbles[code], 0);
	expect_equal(coded_nibbles[0], 0);
	/* The worked example of the header: nibbles 0, 3, 3, b. */
	expect_equal(coded_nibbles[1017], 0xb330);
}

/* Any order of four nibbles becomes the code of their ascending order, and back. */
static void every_code_round_trips(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned code = 0; code < CODED_CODES; code++) {
		unsigned width = CODED_CORE_MIN + code % (SLOTS_WIDTH_MAX - CODED_CORE_MIN + 1);
		unsigned char array[28 + SLOTS_PADDING] = { 0 };
		unsigned turn = (unsigned)chance_below(&chance, CODED_SLOTS);
		check_note("code %u, width %u", code, width);
		/* All rests are 1, so that no value is 0 and the first slot is always the old 0. */
		for (unsigned i = 0; i < CODED_SLOTS; i++) {
			unsigned at = (i + turn) % CODED_SLOTS;
			coded_set(array, width, 0, (coded_nibbles[code] >> 4 * at & 15) | 16);
		}
		expect_equal(coded_bits_at(array, 0, 12), code);
		expect(coded_valid(array, width, 0));
		for (unsigned at = 0; at < CODED_SLOTS; at++)
			expect_equal(coded_get(array, width, at),
			             (coded_nibbles[code] >> 4 * at & 15) | 16);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return (x > y) - (x < y);
}

/* A bucket's values in ascending order, whatever order it keeps them in. */
static void read_bucket(const unsigned char *array, unsigned width, uint64_t bucket,
                        uint64_t *values)
{
	for (unsigned i = 0; i < CODED_SLOTS; i++)
		values[i] = coded_get(array, width, bucket * CODED_SLOTS + i);
	qsort(values, CODED_SLOTS, sizeof *values, compare);
}

static void expect_bucket(const unsigned char *array, unsigned width, uint64_t bucket,
                          const uint64_t *model)
{
	uint64_t wanted[CODED_SLOTS], got[CODED_SLOTS];
	memcpy(wanted, model, sizeof wanted);
	qsort(wanted, CODED_SLOTS, sizeof *wanted, compare);
	read_bucket(array, width, bucket, got);
	for (unsigned i = 0; i < CODED_SLOTS; i++)
		expect_equal(got[i], wanted[i]);
	expect(coded_valid(array, width, bucket));
	for (unsigned first = 0; first < CODED_SLOTS && 2 * width <= 64; first += 2) {
		uint64_t fields = coded_fields(array, width, bucket * CODED_BITS(width), first, 2);
		uint64_t slot = bucket * CODED_SLOTS + first;
		expect_equal(fields & bits_low(width), coded_get(array, width, slot));
		expect_equal(fields >> width & bits_low(width), coded_get(array, width, slot + 1));
	}
}

/* What is worked on in a word is what coded_get and coded_set do. */
static void expect_word(const unsigned char *array, unsigned width, uint64_t bucket,
                        unsigned compared, uint64_t value)
{
	const struct coded_masks masks = coded_masks_of(width, compared);
	uint64_t bits = coded_load(array, bucket * CODED_BITS(width));
	uint64_t fields = coded_fields_in(&masks, bits), misses = 0;
	for (unsigned at = 0; at < CODED_SLOTS; at++) {
		uint64_t held = coded_get(array, width, bucket * CODED_SLOTS + at);
		bool other = ((held ^ value) & bits_low(compared)) != 0;
		expect_equal(coded_get_in(&masks, bits, at), held);
		expect_equal(fields >> at * width & bits_low(width), held);
		misses |= (uint64_t)other << (at * (width - 4) + compared - 5);
	}
	expect_equal(coded_misses(&masks, bits, coded_want(&masks, value)) & masks.highs, misses);
	expect_equal(coded_first_empty(&masks, coded_parts_in(&masks, bits)),
	             coded_get(array, width, bucket * CODED_SLOTS) == 0);
}

static void buckets_in_a_word_are_the_same(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned width = CODED_CORE_MIN; width <= CODED_WORD_WIDTH; width++) {
		unsigned char array[BUCKETS * 28 + SLOTS_PADDING] = { 0 }, again[sizeof array];
		const struct coded_masks masks = coded_masks_of(width, width);
		for (unsigned step = 0; step < 3000; step++) {
			uint64_t bucket = chance_below(&chance, BUCKETS);
			unsigned at = (unsigned)chance_below(&chance, CODED_SLOTS);
			unsigned compared =
				CODED_CORE_MIN + (unsigned)chance_below(&chance, width - 4);
			uint64_t value = chance_next(&chance) & bits_low(width);
			uint64_t bit = bucket * CODED_BITS(width);
			if (step % 4 == 0)
				value = step % 8 == 0 ? 0 : coded_get(array, width, step % 16);
			check_note("width %u, step %u, %u bits compared", width, step, compared);
			expect_word(array, width, bucket, compared, value & bits_low(compared));
			memcpy(again, array, sizeof array);
			coded_set(array, width, bucket * CODED_SLOTS + at, value);
			coded_store(&masks, again, bit,
			            coded_changed(&masks, coded_load(again, bit), at, value));
			expect(memcmp(array, again, sizeof array) == 0);
		}
	}
}

static void a_bucket_holds_what_was_put_in(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned width = CODED_CORE_MIN; width <= SLOTS_WIDTH_MAX; width++) {
		unsigned char array[BUCKETS * 28 + SLOTS_PADDING] = { 0 };
		uint64_t model[BUCKETS][CODED_SLOTS] = { { 0 } };
		for (unsigned step = 0; step < 1500; step++) {
			uint64_t bucket = chance_below(&chance, BUCKETS);
			unsigned at = (unsigned)chance_below(&chance, CODED_SLOTS);
			uint64_t slot = bucket * CODED_SLOTS + at;
			uint64_t old = coded_get(array, width, slot);
			const uint64_t values[] = { 0,
				                    1,
				                    16,
				                    bits_low(width),
				                    chance_next(&chance) & 31,
				                    chance_next(&chance) & bits_low(width) };
			uint64_t value = values[chance_below(&chance, 6)] & bits_low(width);
			check_note("width %u, step %u", width, step);
			coded_set(array, width, slot, value);
			unsigned i = 0;
			while (model[bucket][i] != old)
				expect(++i < CODED_SLOTS);
			model[bucket][i] = value;
			expect_bucket(array, width, bucket, model[bucket]);
			uint64_t other = step % BUCKETS;
			expect_bucket(array, width, other, model[other]);
		}
	}
}

static void the_same_values_always_have_the_same_bits(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned width = CODED_CORE_MIN; width <= SLOTS_WIDTH_MAX; width++) {
		unsigned char up[28 + SLOTS_PADDING] = { 0 }, down[28 + SLOTS_PADDING] = { 0 };
		uint64_t values[CODED_SLOTS];
		for (unsigned i = 0; i < CODED_SLOTS; i++)
			values[i] = 1 + (chance_next(&chance) & bits_low(width) & 0x31);
		/* The first slot is the smallest: empty, as long as one is. */
		for (unsigned i = 0; i < CODED_SLOTS; i++) {
			coded_set(up, width, 0, values[i]);
			coded_set(down, width, 0, values[CODED_SLOTS - 1 - i]);
		}
		check_note("width %u", width);
		expect(memcmp(up, down, sizeof up) == 0);
	}
}

/* Of all spellings of a bucket only the one that coded_set leaves is valid. */
static void any_other_spelling_is_refused(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	unsigned refused = 0;
	for (unsigned i = 0; i < 100000; i++) {
		unsigned char array[28 + SLOTS_PADDING] = { 0 }, again[28 + SLOTS_PADDING] = { 0 };
		unsigned width = CODED_CORE_MIN + i % 8;
		uint64_t bits = CODED_BITS(width);
		uint64_t word =
			chance_next(&chance) & chance_next(&chance) & bits_low((unsigned)bits);
		store64(array, word);
		bool valid = coded_valid(array, width, 0);
		for (unsigned at = 0; at < CODED_SLOTS; at++)
			coded_set(again, width, 0, coded_get(array, width, at));
		check_note("width %u, bits %#llx", width, (unsigned long long)word);
		expect_equal(valid, memcmp(array, again, sizeof array) == 0);
		refused += !valid;
	}
	expect(refused > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_is_an_ascending_tuple_of_its_own),
		cmocka_unit_test(every_code_round_trips),
		cmocka_unit_test(a_bucket_holds_what_was_put_in),
		cmocka_unit_test(buckets_in_a_word_are_the_same),
		cmocka_unit_test(the_same_values_always_have_the_same_bits),
		cmocka_unit_test(any_other_spelling_is_refused),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}

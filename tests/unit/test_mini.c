/* SPDX-License-Identifier: MIT
 *
 * Tests of yard/mini: mini-filters of all shapes against a sorted list,
 * and select against a loop and against the processor's own.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/yards.h"
#include "yard/mini.h"
#include "yard/tiers.h"

#define GUARD 64 /* bytes before and behind a line, which nobody may touch */

#define SHAPES (2 * YARD_SHAPES)

static struct mini_shape shape_number(size_t i)
{
	const struct yard_shape *both = &yard_scalar(yard_shapes[i / 2])->shape;
	struct mini_shape shape = i % 2 == 0 ? both->front : both->back;
	check_note("%u mini-buckets, %u slots of %u bits%s, %u bytes", shape.buckets, shape.slots,
	           shape.width, shape.crumbs ? " with crumbs" : "", mini_line(shape));
	return shape;
}

/* A line, and the list that it should stand for. */
struct pair {
	struct mini_shape shape;
	unsigned char bytes[GUARD + MINI_LINE + GUARD];
	unsigned char *line;
	struct {
		unsigned m, crumb;
		uint64_t remainder;
	} entry[MINI_SLOTS_MOST];
	unsigned count;
};

static void pair_begin(struct pair *pair, struct mini_shape shape)
{
	*pair = (struct pair){ .shape = shape };
	memset(pair->bytes, 0xa5, sizeof pair->bytes);
	pair->line = pair->bytes + GUARD;
	mini_clear(shape, pair->line);
}

static void pair_insert(struct pair *pair, unsigned m, uint64_t remainder, unsigned crumb)
{
	unsigned at = 0;
	while (at < pair->count && pair->entry[at].m <= m)
		at++;
	memmove(&pair->entry[at + 1], &pair->entry[at], (pair->count - at) * sizeof *pair->entry);
	pair->entry[at].m = m;
	pair->entry[at].remainder = remainder;
	pair->entry[at].crumb = crumb;
	pair->count++;
	mini_insert(pair->shape, pair->line, m, remainder, crumb);
}

static void pair_remove(struct pair *pair, unsigned slot)
{
	mini_remove(pair->shape, pair->line, pair->entry[slot].m, slot);
	pair->count--;
	memmove(&pair->entry[slot], &pair->entry[slot + 1],
	        (pair->count - slot) * sizeof *pair->entry);
}

/* One out, another in behind all, in a full line. */
static void pair_take_over(struct pair *pair, unsigned slot, struct chance *chance)
{
	unsigned last = pair->count - 1, m = pair->entry[slot].m;
	uint64_t remainder = chance_next(chance) & bits_low(pair->shape.width);
	memmove(&pair->entry[slot], &pair->entry[slot + 1], (last - slot) * sizeof *pair->entry);
	unsigned above = last > 0 ? pair->entry[last - 1].m : 0;
	pair->entry[last].m = above + (unsigned)chance_below(chance, pair->shape.buckets - above);
	pair->entry[last].remainder = remainder;
	mini_remove(pair->shape, pair->line, m, slot);
	mini_append(pair->shape, pair->line, pair->entry[last].m, remainder);
}

/* A random entry. `spread` mini-buckets from the first or the last on are used. */
static void pair_insert_any(struct pair *pair, struct chance *chance, unsigned spread)
{
	unsigned m = (unsigned)chance_below(chance, spread);
	if (chance_percent(chance, 50))
		m = pair->shape.buckets - 1 - m;
	/* Few different remainders, so that equal ones meet; the extremes among them. */
	uint64_t remainder = chance_next(chance) & bits_low(pair->shape.width);
	if (chance_percent(chance, 50))
		remainder = chance_percent(chance, 50) ? 0 : bits_low(pair->shape.width);
	pair_insert(pair, m, remainder, (unsigned)chance_below(chance, 16));
}

/* ------------------------------------------------------------------- comparing -- */

static void expect_same_entries(const struct pair *pair, struct mini_sizes sizes)
{
	for (unsigned i = 0; i < pair->count; i++) {
		expect_equal(mini_remainder(pair->shape, pair->line, i), pair->entry[i].remainder);
		expect_equal(mini_bucket_of(pair->shape, sizes, i), pair->entry[i].m);
		if (pair->shape.crumbs)
			expect_equal(mini_crumb(pair->shape, pair->line, i), pair->entry[i].crumb);
	}
}

static uint64_t slots_between(unsigned start, unsigned end)
{
	return bits_low(end) & ~bits_low(start);
}

static void expect_same_ranges(const struct pair *pair)
{
	unsigned at = 0;
	for (unsigned m = 0; m < pair->shape.buckets; m++) {
		unsigned first = at;
		while (at < pair->count && pair->entry[at].m == m)
			at++;
		struct mini_run run = mini_find(pair->shape, pair->line, m);
		expect_equal(run.end, at);
		expect_equal(run.slots, slots_between(first, at));
		struct mini_run slow = mini_find_slowly(pair->shape, pair->line, m);
		expect(slow.end == run.end && slow.slots == run.slots);
	}
}

static void expect_same_matches(const struct pair *pair, unsigned start, unsigned end,
                                uint64_t remainder)
{
	uint64_t hits = 0, slots = slots_between(start, end);
	for (unsigned i = start; i < end; i++)
		hits |= (uint64_t)(pair->entry[i].remainder == remainder) << i;
	expect_equal(mini_match(pair->shape, pair->line, slots, remainder), hits);
}

static void expect_guards_untouched(const struct pair *pair)
{
	const unsigned char *end = pair->line + mini_line(pair->shape);
	for (unsigned i = 0; i < GUARD; i++)
		expect(pair->bytes[i] == 0xa5 && end[i] == 0xa5);
}

static void expect_same(const struct pair *pair, struct chance *chance)
{
	struct mini_sizes sizes = mini_sizes_of(pair->shape, pair->line);
	bool full = pair->count == pair->shape.slots;
	expect(mini_valid(pair->shape, pair->line));
	expect_equal(mini_count(pair->shape, sizes), pair->count);
	expect_equal(mini_full(pair->shape, pair->line), full);
	if (full)
		expect_equal(mini_last_bucket(pair->shape, sizes), pair->entry[pair->count - 1].m);
	expect_same_entries(pair, sizes);
	for (unsigned slot = pair->count; slot <= pair->shape.slots; slot++)
		expect_equal(mini_ones_before(pair->shape, sizes, slot), pair->shape.buckets);
	expect_same_ranges(pair);
	unsigned end = (unsigned)chance_below(chance, pair->count + 1);
	unsigned start = (unsigned)chance_below(chance, end + 1);
	expect_same_matches(pair, start, end, 0);
	expect_same_matches(pair, start, end, bits_low(pair->shape.width));
	if (pair->count > 0)
		expect_same_matches(pair, 0, pair->count, pair->entry[pair->count / 2].remainder);
	expect_guards_untouched(pair);
}

/* ----------------------------------------------------------------------- tests -- */

static void every_shape_fills_its_line_and_no_more(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		struct mini_shape shape = shape_number(i);
		unsigned each = shape.width + (shape.crumbs ? MINI_CRUMB : 0);
		unsigned bits = mini_remainder_at(shape, shape.slots);
		if (shape.crumbs)
			bits = mini_crumb_at(shape, shape.slots);
		expect(shape.slots <= MINI_SLOTS_MOST - 1);
		expect(bits <= mini_line(shape) * 8);
		expect_equal(shape.crumbs, i % 2 == 1);
		/* One slot more would not fit, or not into the words of mini_sizes. */
		struct mini_shape more = shape;
		more.slots++;
		expect(mini_size_bits(shape) < 128 && shape.buckets < 1 << YARD_BUCKET_BITS);
		expect(mini_size_bits(more) == 128 ||
		       mini_size_bytes(more) * 8 + more.slots * each > mini_line(shape) * 8);
	}
}

/* Tides from empty to full and back, with narrow and wide use of the mini-buckets. */
static void any_edits_agree_with_a_sorted_list(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (size_t i = 0; i < SHAPES; i++) {
		struct pair pair;
		pair_begin(&pair, shape_number(i));
		unsigned spread = pair.shape.buckets, percent = 70;
		for (unsigned step = 0; step < (check_small() ? 2000 : 20000); step++) {
			if (step % 200 == 0) {
				percent = step / 200 % 2 == 0 ? 85 : 25;
				spread = chance_percent(&chance, 40)
				                 ? 1 + (unsigned)chance_below(&chance, 3)
				                 : pair.shape.buckets;
			}
			if (chance_percent(&chance, percent) && pair.count < pair.shape.slots)
				pair_insert_any(&pair, &chance, spread);
			else if (pair.count == pair.shape.slots && !pair.shape.crumbs &&
			         chance_percent(&chance, 50))
				pair_take_over(&pair, (unsigned)chance_below(&chance, pair.count),
				               &chance);
			else if (pair.count > 0)
				pair_remove(&pair, (unsigned)chance_below(&chance, pair.count));
			expect_same(&pair, &chance);
		}
	}
}

/* All entries in one mini-bucket, for each one: the sizes' longest runs of zeros. */
static void one_mini_bucket_can_take_the_whole_line(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 1 };
	for (size_t i = 0; i < SHAPES; i++) {
		struct mini_shape shape = shape_number(i);
		for (unsigned m = 0; m < shape.buckets; m++) {
			struct pair pair;
			pair_begin(&pair, shape);
			while (pair.count < shape.slots) {
				pair_insert(&pair, m, chance_next(&chance) & bits_low(shape.width),
				            pair.count % 16);
			}
			expect_same(&pair, &chance);
			while (pair.count > 0)
				pair_remove(&pair, (unsigned)chance_below(&chance, pair.count));
			expect_same(&pair, &chance);
		}
	}
}

static bool bit_in_use(const struct pair *pair, unsigned bit)
{
	struct mini_shape shape = pair->shape;
	return (bit >= mini_remainder_at(shape, 0) &&
	        bit < mini_remainder_at(shape, pair->count)) ||
	       (shape.crumbs && bit >= mini_crumb_at(shape, 0) &&
	        bit < mini_crumb_at(shape, pair->count));
}

/* Sizes need their exact number of ones, and what is not used is zero. */
static void a_flipped_bit_outside_the_entries_is_noticed(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 2 };
	for (size_t i = 0; i < SHAPES; i++) {
		for (unsigned count = 0; count <= shape_number(i).slots; count++) {
			struct pair pair;
			pair_begin(&pair, shape_number(i));
			while (pair.count < count)
				pair_insert_any(&pair, &chance, pair.shape.buckets);
			for (unsigned bit = 0; bit < mini_line(pair.shape) * 8; bit++) {
				pair.line[bit / 8] ^= (unsigned char)(1u << bit % 8);
				expect_equal(mini_valid(pair.shape, pair.line),
				             bit_in_use(&pair, bit));
				pair.line[bit / 8] ^= (unsigned char)(1u << bit % 8);
			}
		}
	}
}

/* A line from outside that nobody checked may answer nonsense, but within bounds. */
static void any_bytes_are_safe_to_look_at(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 3 };
	for (size_t i = 0; i < SHAPES; i++) {
		struct mini_shape shape = shape_number(i);
		for (unsigned round = 0; round < (check_small() ? 300 : 3000); round++) {
			unsigned char line[MINI_LINE];
			/* All zeros, all ones, and whatever. */
			for (unsigned at = 0; at < MINI_LINE; at++)
				line[at] = round == 0   ? 0
				           : round == 1 ? 255
				                        : (unsigned char)chance_next(&chance);
			struct mini_sizes sizes = mini_sizes_of(shape, line);
			expect(mini_count(shape, sizes) <= shape.slots);
			expect(mini_last_bucket(shape, sizes) <= shape.buckets);
			for (unsigned m = 0; m < shape.buckets; m++) {
				struct mini_run run = mini_find(shape, line, m);
				expect(run.end <= shape.slots);
				expect((run.slots & ~bits_low(shape.slots)) == 0);
				(void)mini_match(shape, line, run.slots, m);
			}
			for (unsigned slot = 0; slot < shape.slots; slot++)
				expect(mini_bucket_of(shape, sizes, slot) < shape.buckets);
		}
	}
}

/* ---------------------------------------------------------------------- select -- */

static unsigned select_by_loop(uint64_t word, unsigned n)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		if ((word >> bit & 1) != 0 && n-- == 0)
			return bit;
	}
	return 64;
}

/* Words with few, many, and clustered ones. */
static uint64_t any_word(struct chance *chance)
{
	uint64_t word = chance_next(chance);
	switch (chance_below(chance, 5)) {
	case 0:
		return word & chance_next(chance) & chance_next(chance);
	case 1:
		return word | chance_next(chance) | chance_next(chance);
	case 2:
		return UINT64_MAX << (word & 63);
	case 3:
		return UINT64_MAX >> (word & 63);
	default:
		return word;
	}
}

static void select_finds_every_one(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 4 };
	for (unsigned round = 0; round < 20000; round++) {
		uint64_t word = round == 0 ? 0 : round == 1 ? UINT64_MAX : any_word(&chance);
		unsigned ones = (unsigned)__builtin_popcountll(word);
		check_note("word %llx", (unsigned long long)word);
		expect_equal(POPCOUNT64(word), ones);
		for (unsigned n = 0; n < 64; n++) {
			unsigned place = select_by_loop(word, n);
			expect_equal(SELECT64(word, n), place);
			expect_equal(SELECT_BIT64(word, n), place < 64 ? UINT64_C(1) << place : 0);
		}
	}
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

__attribute__((target("bmi,bmi2"))) static unsigned select_by_processor(uint64_t word, unsigned n)
{
	uint64_t one = _pdep_u64(UINT64_C(1) << n, word);
	return one != 0 ? (unsigned)__builtin_ctzll(one) : 64;
}

static void select_agrees_with_the_processors_own(void **state)
{
	(void)state;
	if (!__builtin_cpu_supports("bmi2"))
		skip();
	struct chance chance = { chance_seed() + 5 };
	for (unsigned round = 0; round < 20000; round++) {
		uint64_t word = any_word(&chance);
		check_note("word %llx", (unsigned long long)word);
		for (unsigned n = 0; n < 64; n++)
			expect_equal(SELECT64(word, n), select_by_processor(word, n));
	}
}
#else
static void select_agrees_with_the_processors_own(void **state)
{
	(void)state;
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_shape_fills_its_line_and_no_more),
		cmocka_unit_test(any_edits_agree_with_a_sorted_list),
		cmocka_unit_test(one_mini_bucket_can_take_the_whole_line),
		cmocka_unit_test(a_flipped_bit_outside_the_entries_is_noticed),
		cmocka_unit_test(any_bytes_are_safe_to_look_at),
		cmocka_unit_test(select_finds_every_one),
		cmocka_unit_test(select_agrees_with_the_processors_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

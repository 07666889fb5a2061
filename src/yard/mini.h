/* SPDX-License-Identifier: MIT
 *
 * mini: mini-filters, the cache lines of the breadcrumb family.
 *
 * A mini-filter is one line of 64 bytes, or half of one. It holds up to `slots` remainders, each
 * in one of `buckets` mini-buckets, in mini-bucket order:
 *
 *     | sizes, buckets + slots bits | remainders, width bits each | crumbs |
 *
 * The sizes are unary: for each mini-bucket as many zeros as it has remainders,
 * then a one. With 3 mini-buckets of 2, 0 and 1 remainders: 001 1 01 (lowest bit
 * first), then zeros. So the ones are as many as there are mini-buckets, the
 * zeros before the last one are as many as there are remainders, and when the
 * line is full the very last bit is a one: a test of one bit tells.
 *
 * In memory the first `buckets` bits of the sizes are turned over. So the sizes of an empty
 * line are zeros, as all of it is, and fresh memory needs no writing to become a table.
 *
 *     remainders of mini-bucket m: from (place of the one before) - (m - 1)
 *                                  to   (place of its own one)    - m
 *
 * Crumbs (4 bits per remainder, only in backyard lines) say which of 16 front
 * buckets an entry comes from; see yard.h. The first of them begins at the next whole nibble.
 *
 * Every function takes the line's shape as a value. Where it is known at compile time, as it is
 * in hot code, they fold to a few instructions; elsewhere the larger ones are called. Reads and
 * writes stay in the line.
 */
#ifndef NIDUS_YARD_MINI_H
#define NIDUS_YARD_MINI_H

#include "base/bits.h"
#include "base/slots.h"
#include "simd/select.h"
#include "simd/shift.h"
#include "yard/match.h"

#define MINI_LINE 64 /* bytes */
#define MINI_CRUMB 4 /* bits */
#define MINI_SLOTS_MOST 64
#define MINI_WIDTH_MOST 24

struct mini_shape {
	unsigned buckets, slots, width;
	bool crumbs;
	bool half; /* 32 bytes instead of 64 */
};

/* Whether a shape is known at compile time. */
#define MINI_KNOWN(shape) __builtin_constant_p((shape).slots)

/* Bytes of a line. */
ALWAYS_INLINE unsigned mini_line(struct mini_shape shape)
{
	return shape.half ? MINI_LINE / 2 : MINI_LINE;
}

/* A copy of a line, in pieces of constant size whether the shape is one or not. */
ALWAYS_INLINE void mini_copy(struct mini_shape shape, unsigned char *to, const unsigned char *from)
{
	memcpy(to, from, MINI_LINE / 2);
	if (!shape.half)
		memcpy(to + MINI_LINE / 2, from + MINI_LINE / 2, MINI_LINE / 2);
}

ALWAYS_INLINE unsigned mini_size_bits(struct mini_shape shape)
{
	return shape.buckets + shape.slots;
}

ALWAYS_INLINE unsigned mini_size_bytes(struct mini_shape shape)
{
	return (mini_size_bits(shape) + 7) / 8;
}

/* Of sizes of more than 64 bits: those before the last 64. */
ALWAYS_INLINE unsigned mini_size_skip(struct mini_shape shape)
{
	return mini_size_bytes(shape) * 8 - 64;
}

/* Where remainder `slot` starts, in bits. */
ALWAYS_INLINE unsigned mini_remainder_at(struct mini_shape shape, unsigned slot)
{
	return mini_size_bytes(shape) * 8 + slot * shape.width;
}

/* The same in bytes, where remainders consist of those. */
ALWAYS_INLINE unsigned mini_byte_at(struct mini_shape shape, unsigned slot)
{
	return mini_size_bytes(shape) + slot * (shape.width / 8);
}

ALWAYS_INLINE unsigned mini_crumb_at(struct mini_shape shape, unsigned slot)
{
	unsigned first = (mini_remainder_at(shape, shape.slots) + MINI_CRUMB - 1) / MINI_CRUMB;
	return (first + slot) * MINI_CRUMB;
}

/* ----------------------------------------------------------- bits of a line -- */

/* `count` bits, at most 56, from a bit on; the load never leaves the line. */
ALWAYS_INLINE uint64_t line_get(struct mini_shape shape, const unsigned char *line, unsigned bit,
                                unsigned count)
{
	unsigned last = mini_line(shape) - 8, byte = bit / 8 < last ? bit / 8 : last;
	return load64(line + byte) >> (bit - byte * 8) & bits_low(count);
}

ALWAYS_INLINE void line_set(struct mini_shape shape, unsigned char *line, unsigned bit,
                            unsigned count, uint64_t value)
{
	unsigned last = mini_line(shape) - 8, byte = bit / 8 < last ? bit / 8 : last;
	unsigned shift = bit - byte * 8;
	uint64_t word = load64(line + byte) & ~(bits_low(count) << shift);
	store64(line + byte, word | value << shift);
}

/* Moves the bits [from, to) up by `by` bits; those left free keep what they had. */
ALWAYS_INLINE void line_move_up(struct mini_shape shape, unsigned char *line, unsigned from,
                                unsigned to, unsigned by)
{
	if (from % 8 == 0 && to % 8 == 0 && by % 8 == 0) {
		memmove(line + (from + by) / 8, line + from / 8, (to - from) / 8);
		return;
	}
	while (to > from) {
		unsigned some = to - from < 56 ? to - from : 56;
		to -= some;
		line_set(shape, line, to + by, some, line_get(shape, line, to, some));
	}
}

/* Moves the bits [from, to) down by `by` bits and zeroes the last `by`. */
ALWAYS_INLINE void line_move_down(struct mini_shape shape, unsigned char *line, unsigned from,
                                  unsigned to, unsigned by)
{
	unsigned end = to;
	if (from % 8 == 0 && to % 8 == 0 && by % 8 == 0) {
		memmove(line + (from - by) / 8, line + from / 8, (to - from) / 8);
	} else {
		while (from < to) {
			unsigned some = to - from < 56 ? to - from : 56;
			line_set(shape, line, from - by, some, line_get(shape, line, from, some));
			from += some;
		}
	}
	line_set(shape, line, end - by, by, 0);
}

/* ------------------------------------------------------------------- sizes -- */

struct mini_sizes {
	uint64_t low, high;
};

/* 64 bits of an empty line's sizes from a bit on; memory has turned over what is one in them. */
ALWAYS_INLINE uint64_t mini_no_sizes_from(struct mini_shape shape, unsigned bit)
{
	return shape.buckets > bit ? bits_low(shape.buckets - bit) : 0;
}

/* The first of them. */
ALWAYS_INLINE uint64_t mini_no_sizes(struct mini_shape shape)
{
	return mini_no_sizes_from(shape, 0);
}

/*
 * The same, made anew: it takes no register from where it was needed first. Removes gain from
 * that, inserts lose.
 */
ALWAYS_INLINE uint64_t mini_no_sizes_again(struct mini_shape shape)
{
	uint64_t ones = ~UINT64_C(0);
	OPAQUE64(ones);
	return shape.buckets < 64 ? ones >> (64 - shape.buckets) : ones;
}

/* Sizes as they stand in memory, and back. */
ALWAYS_INLINE struct mini_sizes mini_turned(struct mini_shape shape, struct mini_sizes sizes)
{
	return (struct mini_sizes){ sizes.low ^ mini_no_sizes(shape),
		                    sizes.high ^ mini_no_sizes_from(shape, 64) };
}

/* The first 64 bits of a line's sizes, and the last 64, if there are more. */
ALWAYS_INLINE uint64_t mini_first_window(struct mini_shape shape, const unsigned char *line)
{
	return load64(line) ^ mini_no_sizes(shape);
}

ALWAYS_INLINE uint64_t mini_last_window(struct mini_shape shape, const unsigned char *line)
{
	unsigned skip = mini_size_skip(shape);
	return load64(line + skip / 8) ^ mini_no_sizes_from(shape, skip);
}

ALWAYS_INLINE struct mini_sizes mini_sizes_of(struct mini_shape shape, const unsigned char *line)
{
	unsigned bits = mini_size_bits(shape);
	struct mini_sizes sizes = { mini_first_window(shape, line), 0 };
	if (bits < 64)
		sizes.low &= bits_low(bits);
	if (bits > 64)
		sizes.high =
			(load64(line + 8) ^ mini_no_sizes_from(shape, 64)) & bits_low(bits - 64);
	return sizes;
}

/* 64 bits of sizes from a bit on, 1 to 64. */
ALWAYS_INLINE uint64_t mini_from_bit(struct mini_sizes sizes, unsigned bit)
{
	return sizes.low >> 1 >> (bit - 1) | sizes.high << (64 - bit);
}

ALWAYS_INLINE void mini_store_sizes(struct mini_shape shape, unsigned char *line,
                                    struct mini_sizes sizes)
{
	unsigned bits = mini_size_bits(shape);
	sizes = mini_turned(shape, sizes);
	if (bits <= 56) {
		line_set(shape, line, 0, bits, sizes.low);
	} else if (bits <= 64) {
		store64(line,
		        bits == 64 ? sizes.low : sizes.low | (load64(line) & ~bits_low(bits & 63)));
	} else {
		unsigned skip = mini_size_skip(shape);
		store64(line, sizes.low);
		store64(line + skip / 8, mini_from_bit(sizes, skip));
	}
}

/* The same with zeros for ones, and only ones behind the sizes. */
ALWAYS_INLINE struct mini_sizes mini_zeros_of(struct mini_shape shape, const unsigned char *line)
{
	struct mini_sizes sizes = mini_sizes_of(shape, line);
	return (struct mini_sizes){ ~sizes.low, ~sizes.high };
}

/* The place of one number `index`, counted from 0. There are more than `index`. */
ALWAYS_INLINE unsigned mini_select(struct mini_shape shape, struct mini_sizes sizes, unsigned index)
{
	if (mini_size_bits(shape) <= 64)
		return SELECT64(sizes.low, index);
	uint64_t word = sizes.low, before = POPCOUNT64(word), number = index + UINT64_C(1);
	uint64_t skipped = 0;
	replace_if_above(&number, before, number - before, &word, sizes.high, &skipped, 64);
	return (unsigned)skipped + SELECT64(word, (unsigned)number - 1);
}

/* The place of the zero of a slot, which is given as a bit; of the sizes' end if it is the last one's. */
ALWAYS_INLINE unsigned mini_zero_place(struct mini_shape shape, const unsigned char *line,
                                       uint64_t slot)
{
#ifdef __BMI2__
	if (mini_size_bits(shape) > 64 && mini_size_bits(shape) % 8 == 0) {
		unsigned skip = mini_size_skip(shape);
		uint64_t first = ~mini_first_window(shape, line);
		uint64_t last = ~mini_last_window(shape, line);
		uint64_t before = POPCOUNT64(first << (64 - skip));
		uint64_t other = PLACE64(_pdep_u64(slot >> (before & 63), last)) + skip;
		return (unsigned)place64_or(_pdep_u64(slot, first), other);
	}
#endif
	return mini_select(shape, mini_zeros_of(shape, line), (unsigned)__builtin_ctzll(slot));
}

/* A mini-bucket's slots as bits, and the number of the slot behind them. */
struct mini_run {
	uint64_t slots;
	unsigned end;
};

/* mini_find for any line: bit by bit, the definition. */
NEVER_INLINE struct mini_run mini_find_slowly(struct mini_shape shape, const unsigned char *line,
                                              unsigned m)
{
	struct mini_run run = { 0, 0 };
	unsigned bucket = 0;
	for (unsigned bit = 0; bit < mini_size_bits(shape) && bucket <= m; bit++) {
		if ((line[bit / 8] >> (bit % 8) & 1) != (bit < shape.buckets)) {
			bucket++;
		} else if (run.end < shape.slots) {
			run.slots |= (uint64_t)(bucket == m) << run.end;
			run.end++;
		}
	}
	return run;
}

/*
 * A mini-bucket as a window of 64 bits of the sizes shows it: these bits, its own one, the bit
 * behind the one before it, and how far slot numbers are below places there.
 */
struct mini_view {
	uint64_t word, own, behind;
	unsigned turn;
};

/*
 * Sizes of more than 64 bits are looked at through one of two windows, the first and
 * the last 64 of them: the last if it shows the one before. `own` is 0 if the
 * mini-bucket reaches beyond the first, with more entries than hash functions give.
 */
ALWAYS_INLINE struct mini_view mini_view_in(struct mini_shape shape, uint64_t word, uint64_t last,
                                            unsigned m)
{
	uint64_t index = m, turn = m;
	if (mini_size_bits(shape) > 64) {
		/* Memory has turned over all that is before the last window: ones are zeros. */
		unsigned skip = mini_size_skip(shape);
		index = POPCOUNT64((word ^ mini_no_sizes(shape)) << (64 - skip));
		turn -= skip;
		add_or_take(&index, &turn, m, &word, last);
		if (shape.buckets > 64) /* in what is no mini-filter */
			index &= 63;
	}
	struct mini_view view = {
		.word = word,
		.own = SELECT_BIT64(word, index),
		.behind = SELECT_BEHIND64(word, index),
		.turn = (unsigned)turn,
	};
	return view;
}

ALWAYS_INLINE struct mini_view mini_view_of(struct mini_shape shape, const unsigned char *line,
                                            unsigned m)
{
	uint64_t last = mini_size_bits(shape) > 64 ? mini_last_window(shape, line) : 0;
	return mini_view_in(shape, mini_first_window(shape, line), last, m);
}

/*
 * Whether a view shows less than the whole mini-bucket. The zeros of one that it shows, those from
 * `behind` to below its own one, never take the highest bit; without that one they do.
 */
ALWAYS_INLINE bool mini_unseen(struct mini_view view)
{
	return (int64_t)(view.own - view.behind) < 0;
}

/*
 * Whether a mini-bucket has `many` entries or more, or a view does not show it whole: there is no
 * one among as many bits before its own. If fewer bits are before that, it is its own that is found.
 */
ALWAYS_INLINE bool mini_crowded(struct mini_view view, unsigned many)
{
	return (view.word & (view.own - (view.own >> many))) == 0;
}

/* The place of the sizes' last bit. */
ALWAYS_INLINE unsigned mini_last_place(struct mini_shape shape, struct mini_view view)
{
	return (view.turn + shape.slots) & 63;
}

/*
 * Whether a look at the front line alone settles the question: not if the mini-bucket
 * was not seen, and not if it is the line's last one and there is no hit in it.
 */
ALWAYS_INLINE bool mini_unsure(struct mini_shape shape, struct mini_view view, bool hit)
{
	/* 1 if its own one is that last bit, 0 if there is none. */
	return rotate_right(view.own, mini_last_place(shape, view)) + hit <= 1;
}

/*
 * Finds mini-bucket m. Sizes that are no mini-filter's may lead to any slots, but of
 * this line.
 */
ALWAYS_INLINE struct mini_run mini_find_inline(struct mini_shape shape, const unsigned char *line,
                                               unsigned m)
{
	struct mini_view view = mini_view_of(shape, line, m);
	if (UNLIKELY(view.own == 0))
		return mini_find_slowly(shape, line, m);
	/* The zeros between the one before and its own. */
	unsigned end = PLACE64(view.own) - view.turn;
	struct mini_run run = {
		.slots = rotate_right(view.own - view.behind, view.turn & 63) &
		         bits_low(shape.slots),
		.end = end < shape.slots ? end : shape.slots,
	};
	return run;
}

NEVER_INLINE struct mini_run mini_find_called(struct mini_shape shape, const unsigned char *line,
                                              unsigned m)
{
	return mini_find_inline(shape, line, m);
}

ALWAYS_INLINE struct mini_run mini_find(struct mini_shape shape, const unsigned char *line,
                                        unsigned m)
{
	return MINI_KNOWN(shape) ? mini_find_inline(shape, line, m)
	                         : mini_find_called(shape, line, m);
}

ALWAYS_INLINE bool mini_full(struct mini_shape shape, const unsigned char *line)
{
	unsigned last = mini_size_bits(shape) - 1;
	if (MINI_KNOWN(shape) && last >= 64) /* as others look at that word, too */
		return mini_last_window(shape, line) >> (last - mini_size_skip(shape)) & 1;
	return line[last / 8] >> (last % 8) & 1;
}

/* Remainders in the line. */
ALWAYS_INLINE unsigned mini_count(struct mini_shape shape, struct mini_sizes sizes)
{
	unsigned last = sizes.high != 0  ? 127 - (unsigned)__builtin_clzll(sizes.high)
	                : sizes.low != 0 ? 63 - (unsigned)__builtin_clzll(sizes.low)
	                                 : 0;
	unsigned count = last + 1 > shape.buckets ? last + 1 - shape.buckets : 0;
	return count < shape.slots ? count : shape.slots;
}

/* The mini-bucket of a full line's last remainder: ones from the top end there. */
ALWAYS_INLINE unsigned mini_last_bucket(struct mini_shape shape, struct mini_sizes sizes)
{
	unsigned bits = mini_size_bits(shape), ones;
	if (bits > 64) {
		uint64_t high = ~(sizes.high << (128 - bits));
		ones = (unsigned)__builtin_clzll(high | 1);
		if (ones >= bits - 64)
			ones = bits - 64 + (unsigned)__builtin_clzll(~sizes.low | 1);
	} else {
		ones = (unsigned)__builtin_clzll(~(sizes.low << (64 - bits)) | 1);
	}
	return ones < shape.buckets ? shape.buckets - ones : 0;
}

/*
 * The ones before zero number `slot`: its mini-bucket, or all of them (if the line is a
 * mini-filter) where no remainder is.
 */
ALWAYS_INLINE unsigned mini_ones_before(struct mini_shape shape, struct mini_sizes sizes,
                                        unsigned slot)
{
	struct mini_sizes zeros = { ~sizes.low, ~sizes.high };
	return mini_select(shape, zeros, slot) - slot;
}

/* The mini-bucket of remainder number `slot`, which is there. */
ALWAYS_INLINE unsigned mini_bucket_of(struct mini_shape shape, struct mini_sizes sizes,
                                      unsigned slot)
{
	unsigned m = mini_ones_before(shape, sizes, slot);
	return m < shape.buckets ? m : shape.buckets - 1;
}

/* ----------------------------------------------------------------- entries -- */

ALWAYS_INLINE uint64_t mini_remainder(struct mini_shape shape, const unsigned char *line,
                                      unsigned slot)
{
	return shape.width == 8
	               ? line[mini_byte_at(shape, slot)]
	               : line_get(shape, line, mini_remainder_at(shape, slot), shape.width);
}

ALWAYS_INLINE unsigned mini_crumb(struct mini_shape shape, const unsigned char *line, unsigned slot)
{
	return (unsigned)line_get(shape, line, mini_crumb_at(shape, slot), MINI_CRUMB);
}

#if defined(MATCH_LINES) && defined(__BMI2__)
#define MINI_FIELD_BITS 56 /* that a word holds from any bit on */

/* A one in the lowest bit of each remainder in a word, by their width. */
#define MINI_ONES(width)                                              \
	(((UINT64_C(1) << MINI_FIELD_BITS / (width) * (width)) - 1) / \
	 ((UINT64_C(1) << (width)) - 1))
static const uint64_t mini_ones[MINI_WIDTH_MOST + 1] = {
	[6] = MINI_ONES(6),   [7] = MINI_ONES(7),   [8] = MINI_ONES(8),   [9] = MINI_ONES(9),
	[10] = MINI_ONES(10), [11] = MINI_ONES(11), [12] = MINI_ONES(12), [14] = MINI_ONES(14),
	[16] = MINI_ONES(16), [24] = MINI_ONES(24),
};

/*
 * mini_match of as many remainders at a time as a word holds. A mini-bucket hardly ever has more,
 * so no branch depends on how many there are.
 */
ALWAYS_INLINE uint64_t mini_match_words(struct mini_shape shape, const unsigned char *line,
                                        uint64_t slots, uint64_t remainder)
{
	const uint64_t ones = mini_ones[shape.width], highs = ones << (shape.width - 1);
	uint64_t hits = 0;
	do {
		unsigned first = PLACE64(slots) & 63;
		uint64_t word =
			line_get(shape, line, mini_remainder_at(shape, first), MINI_FIELD_BITS);
		uint64_t same = fields_zero_in(word ^ remainder * ones, highs - ones, highs);
		hits |= _pext_u64(same, highs) << first & slots;
		slots &= ~(_pext_u64(highs, highs) << first);
	} while (UNLIKELY(slots != 0));
	return hits;
}
#endif

/*
 * Those of some slots whose remainder this is, as bits. With MATCH_LINES the whole
 * line is compared, which needs no branch on how many there are.
 */
ALWAYS_INLINE uint64_t mini_match_inline(struct mini_shape shape, const unsigned char *line,
                                         uint64_t slots, uint64_t remainder)
{
#ifdef MATCH_LINES
	unsigned first = mini_size_bytes(shape);
	if (shape.width == 8 && shape.half)
		return match_half(line, match_spread((uint8_t)remainder)) >> first & slots;
	if (shape.width == 8)
		return match_bytes(line, match_spread((uint8_t)remainder)) >> first & slots;
	if (shape.width == 16 && first % 2 == 0)
		return match_words(line, (uint16_t)remainder) >> first / 2 & slots;
#endif
#if defined(MATCH_LINES) && defined(__BMI2__)
	return mini_match_words(shape, line, slots, remainder);
#else
	uint64_t hits = 0;
	for (; slots != 0; slots &= slots - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(slots);
		hits |= (uint64_t)(mini_remainder(shape, line, slot) == remainder) << slot;
	}
	return hits;
#endif
}

NEVER_INLINE uint64_t mini_match_called(struct mini_shape shape, const unsigned char *line,
                                        uint64_t slots, uint64_t remainder)
{
	return mini_match_inline(shape, line, slots, remainder);
}

ALWAYS_INLINE uint64_t mini_match(struct mini_shape shape, const unsigned char *line,
                                  uint64_t slots, uint64_t remainder)
{
	return MINI_KNOWN(shape) ? mini_match_inline(shape, line, slots, remainder)
	                         : mini_match_called(shape, line, slots, remainder);
}

/* Crumbs lie in the last 32 bytes of a line; the number of a slot's nibble there. */
ALWAYS_INLINE unsigned mini_crumb_nibble(struct mini_shape shape, unsigned slot)
{
	return mini_crumb_at(shape, 0) / MINI_CRUMB - (mini_line(shape) - 32) * 2 + slot;
}

/* Those of some slots whose crumb this is, as bits; the crumb of an empty slot is 0. */
ALWAYS_INLINE uint64_t mini_match_crumb(struct mini_shape shape, const unsigned char *line,
                                        uint64_t slots, unsigned crumb)
{
#if defined(MATCH_LINES) && defined(__BMI2__)
	uint64_t hits = match_nibbles(line + mini_line(shape) - 32, crumb);
	return hits >> mini_crumb_nibble(shape, 0) & slots;
#else
	uint64_t hits = 0;
	for (; slots != 0; slots &= slots - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(slots);
		hits |= (uint64_t)(mini_crumb(shape, line, slot) == crumb) << slot;
	}
	return hits;
#endif
}

/* The first entry with a crumb, and so the lowest. */
struct mini_first {
	unsigned slot, m; /* where there is none, m is no mini-bucket */
};

ALWAYS_INLINE struct mini_first mini_first_of(struct mini_shape shape, const unsigned char *line,
                                              unsigned crumb)
{
	/* Before an empty slot, which crumb 0 may match, and behind the last one (if
	 * nothing matches) there are the ones of all mini-buckets. */
	struct mini_first first;
#if defined(MATCH_LINES) && defined(__BMI2__)
	uint64_t hits = mini_match_crumb(shape, line, ~UINT64_C(0), crumb);
	hits |= UINT64_C(1) << shape.slots;
	first.slot = PLACE64(hits);
#else
	first.slot = 0;
	while (first.slot < shape.slots && mini_crumb(shape, line, first.slot) != crumb)
		first.slot++;
	uint64_t hits = UINT64_C(1) << first.slot;
#endif
	first.m = mini_zero_place(shape, line, hits & -hits) - first.slot;
	return first;
}

/*
 * A remainder of 8 bits that is looked for, spread before a view is taken: that leaves a register
 * to the view.
 */
ALWAYS_INLINE MATCH_SPREAD mini_spread(uint64_t remainder)
{
	MATCH_SPREAD spread = match_spread((uint8_t)remainder);
#ifdef MATCH_LINES
	__asm__("" : "+x"(spread)); /* now, and not where it is needed */
#endif
	return spread;
}

/* The remainder again: where it was spread, no register has to keep it. */
ALWAYS_INLINE uint64_t mini_unspread(struct mini_shape shape, uint64_t remainder,
                                     MATCH_SPREAD spread)
{
#ifdef MATCH_LINES
	if (shape.width == 8)
		return (uint8_t)_mm256_extract_epi8(spread, 0);
#endif
	(void)shape, (void)spread;
	return remainder;
}

/*
 * Where in a view of a mini-bucket its zeros are whose remainder this is, without a branch.
 * Worth nothing if the view does not show it whole. `spread` is mini_spread of the remainder.
 */
ALWAYS_INLINE uint64_t mini_places(struct mini_shape shape, const unsigned char *line,
                                   struct mini_view view, uint64_t remainder, MATCH_SPREAD spread)
{
	uint64_t zeros = view.own - view.behind;
#ifdef MATCH_LINES
	unsigned first = mini_size_bytes(shape);
	/* What matches before the first slot is turned to places before all zeros. */
	if (shape.width == 8) {
		uint64_t hits = shape.half ? match_half(line, spread) : match_bytes(line, spread);
		unsigned turn = shape.slots + first == 64 ? mini_last_place(shape, view)
		                                          : (view.turn - first) & 63;
		return rotate_left(hits, turn) & zeros;
	}
#endif
	(void)spread;
	uint64_t slots = rotate_right(zeros, view.turn & 63) & bits_low(shape.slots);
	return rotate_left(mini_match(shape, line, slots, remainder), view.turn & 63);
}

/*
 * Whether a remainder is in mini-bucket m, without a branch. *unsure tells that the
 * answer is worth nothing: it is not there, but the mini-bucket goes on behind the
 * line's end, or mini_view_of does not show it whole.
 */
ALWAYS_INLINE bool mini_has(struct mini_shape shape, const unsigned char *line, unsigned m,
                            uint64_t remainder, bool *unsure)
{
	MATCH_SPREAD spread = mini_spread(remainder);
	struct mini_view view = mini_view_of(shape, line, m);
	bool hit = mini_places(shape, line, view, remainder, spread) != 0;
	*unsure = mini_unsure(shape, view, hit);
	return hit;
}

/* Whether the line is one that the functions here can have left. */
ALWAYS_INLINE bool mini_valid(struct mini_shape shape, const unsigned char *line)
{
	struct mini_sizes sizes = mini_sizes_of(shape, line);
	if (POPCOUNT64(sizes.low) + POPCOUNT64(sizes.high) != shape.buckets)
		return false;
	unsigned count = mini_count(shape, sizes), end = mini_line(shape) * 8;
	unsigned crumbs = mini_crumb_at(shape, 0);
	for (unsigned bit = mini_size_bits(shape); bit < end; bit++) {
		bool size_padding = bit < mini_remainder_at(shape, 0);
		bool used = bit < mini_remainder_at(shape, count) ||
		            (shape.crumbs && bit >= crumbs && bit < mini_crumb_at(shape, count));
		if ((size_padding || !used) && line[bit / 8] >> (bit % 8) & 1)
			return false;
	}
	return true;
}

/* An empty line: all zeros. */
ALWAYS_INLINE void mini_clear(struct mini_shape shape, unsigned char *line)
{
	memset(line, 0, mini_line(shape));
}

/* Writes a remainder over another. */
ALWAYS_INLINE void mini_set_remainder(struct mini_shape shape, unsigned char *line, unsigned slot,
                                      uint64_t remainder)
{
	if (shape.width == 8)
		line[mini_byte_at(shape, slot)] = (unsigned char)remainder;
	else
		line_set(shape, line, mini_remainder_at(shape, slot), shape.width, remainder);
}

/* An entry as a number: mini-bucket and remainder. Ascending mini-buckets come in order. */
#define MINI_PACK_BITS 24
#define MINI_PACK(m, remainder) ((uint32_t)(m) << MINI_PACK_BITS | (uint32_t)(remainder))
#define MINI_PACK_BUCKET(packed) ((packed) >> MINI_PACK_BITS)
#define MINI_PACK_REMAINDER(packed) ((packed) & (uint32_t)bits_low(MINI_PACK_BITS))

/* Writes the sizes of `count` entries, given their zeros. */
ALWAYS_INLINE void mini_store_zeros(struct mini_shape shape, unsigned char *line,
                                    struct mini_sizes zeros, unsigned count)
{
	unsigned used = shape.buckets + count;
	struct mini_sizes sizes = { bits_low(used) & ~zeros.low,
		                    (used > 64 ? bits_low(used - 64) : 0) & ~zeros.high };
	mini_store_sizes(shape, line, sizes);
}

/*
 * Writes a whole line: `count` packed entries, at most `slots`, in mini-bucket
 * order. As if they had been put into an empty line one by one; no crumbs.
 */
ALWAYS_INLINE void mini_fill(struct mini_shape shape, unsigned char *line, const uint32_t *packed,
                             unsigned count)
{
	memset(line, 0, mini_line(shape));
	struct mini_sizes zeros = { 0, 0 };
	unsigned slot = 0, zero;
	for (; slot < count && (zero = MINI_PACK_BUCKET(packed[slot]) + slot) < 64; slot++) {
		zeros.low |= UINT64_C(1) << zero;
		mini_set_remainder(shape, line, slot, MINI_PACK_REMAINDER(packed[slot]));
	}
	for (; slot < count; slot++) {
		zeros.high |= UINT64_C(1) << ((MINI_PACK_BUCKET(packed[slot]) + slot) & 63);
		mini_set_remainder(shape, line, slot, MINI_PACK_REMAINDER(packed[slot]));
	}
	mini_store_zeros(shape, line, zeros, count);
}

/* All entries of a line, packed, in mini-bucket order; gives how many. */
ALWAYS_INLINE unsigned mini_unpack(struct mini_shape shape, const unsigned char *line,
                                   uint32_t *packed)
{
	struct mini_sizes sizes = mini_sizes_of(shape, line);
	unsigned count = mini_count(shape, sizes), slot = 0;
	for (uint64_t zeros = ~sizes.low; zeros != 0 && slot < count; zeros &= zeros - 1, slot++)
		packed[slot] = MINI_PACK((unsigned)__builtin_ctzll(zeros) - slot,
		                         mini_remainder(shape, line, slot));
	for (uint64_t zeros = ~sizes.high; zeros != 0 && slot < count; zeros &= zeros - 1, slot++)
		packed[slot] = MINI_PACK((unsigned)__builtin_ctzll(zeros) + 64 - slot,
		                         mini_remainder(shape, line, slot));
	return count;
}

/* Behind every list that is merged: a mini-bucket above all. */
#define MINI_PACK_END UINT32_MAX

/* Merges two lists in mini-bucket order, those of `a` before their equals of `b`. */
ALWAYS_INLINE void mini_merge(const uint32_t *a, const uint32_t *b, uint32_t *merged,
                              unsigned count)
{
	const uint32_t remainders = (uint32_t)bits_low(MINI_PACK_BITS);
	for (size_t i = 0, j = 0; i < count; i++) { /* j of them from b */
		uint32_t first = a[i - j], other = b[j];
		uint64_t second = (other | remainders) < first; /* its mini-bucket is lower */
		OPAQUE64(second);
		merged[i] = first ^ ((first ^ other) & (uint32_t)-second);
		j += second;
	}
}

/* ------------------------------------------------------------- room in a line -- */

/*
 * Sizes on their way from a line and back: the first 64 bits, and the last 64 if there are more.
 * What both show counts where it is the last.
 */
struct mini_windows {
	uint64_t first, last;
};

ALWAYS_INLINE struct mini_windows mini_windows_of(struct mini_shape shape,
                                                  const unsigned char *line)
{
	struct mini_windows windows = { mini_sizes_of(shape, line).low, 0 };
	if (mini_size_bits(shape) > 64)
		windows.last = mini_last_window(shape, line);
	return windows;
}

/* As they stand in memory. */
ALWAYS_INLINE struct mini_sizes mini_turned_in(struct mini_shape shape, struct mini_windows windows)
{
	struct mini_sizes sizes = { windows.first, 0 };
	if (mini_size_bits(shape) > 64) {
		unsigned skip = mini_size_skip(shape) & 63;
		sizes.low = (windows.first & bits_low(skip)) | windows.last << skip;
		sizes.high = windows.last >> (64 - skip);
	}
	return mini_turned(shape, sizes);
}

ALWAYS_INLINE void mini_store_windows(struct mini_shape shape, unsigned char *line,
                                      struct mini_windows windows, uint64_t no_sizes)
{
	if (mini_size_bits(shape) <= 64) {
		mini_store_sizes(shape, line, (struct mini_sizes){ windows.first, 0 });
	} else {
		unsigned skip = mini_size_skip(shape);
		store64(line, windows.first ^ no_sizes);
		store64(line + skip / 8, windows.last ^ mini_no_sizes_from(shape, skip));
	}
}

/* Stores what mini_wider_apart gives: what both windows show counts where it is the first. */
ALWAYS_INLINE void mini_store_wider(struct mini_shape shape, unsigned char *line,
                                    struct mini_windows windows)
{
	if (mini_size_bits(shape) <= 64) {
		mini_store_sizes(shape, line, (struct mini_sizes){ windows.first, 0 });
	} else {
		unsigned skip = mini_size_skip(shape);
		store64(line + skip / 8, windows.last ^ mini_no_sizes_from(shape, skip));
		store64(line, windows.first ^ mini_no_sizes(shape));
	}
}

/* Whether no bit is in both windows. */
ALWAYS_INLINE bool mini_windows_part(struct mini_shape shape)
{
	return mini_size_bytes(shape) == 16;
}

/* Where bit `at` of the sizes is in the last window; 0 if it is before that. */
ALWAYS_INLINE unsigned mini_in_last(struct mini_shape shape, unsigned at)
{
	return less_or_zero(at, mini_size_skip(shape));
}

/* Sizes with a zero more before bit `at`; the last window may lack its lowest bit, which the first has. */
ALWAYS_INLINE struct mini_windows mini_wider_apart(struct mini_shape shape,
                                                   struct mini_windows windows, unsigned at)
{
	/* What is doubled moves up by one bit, and stays if it is taken from that. */
	uint64_t first = 2 * windows.first - LOWEST64(windows.first, at), last = 0;
	if (mini_size_bits(shape) > 64)
		last = 2 * windows.last - LOWEST64(windows.last, mini_in_last(shape, at));
	if (mini_windows_part(shape) && at < 64)
		last |= windows.first >> 63;
	return (struct mini_windows){ first, last };
}

/* The same, whole. */
ALWAYS_INLINE struct mini_windows mini_wider(struct mini_shape shape, struct mini_windows windows,
                                             unsigned at)
{
	windows = mini_wider_apart(shape, windows, at);
	if (mini_size_bits(shape) > 64 && !mini_windows_part(shape))
		windows.last |= windows.first >> mini_size_skip(shape) & 1;
	return windows;
}

/*
 * Sizes without the zero at bit `at`: what is before it is added to itself, and then all moves down
 * by one bit. Of two windows the first may lose its highest bit, which the last one has.
 */
ALWAYS_INLINE struct mini_windows mini_narrower(struct mini_shape shape,
                                                struct mini_windows windows, unsigned at)
{
	uint64_t first = (windows.first + LOWEST64(windows.first, at)) >> 1, last = 0;
	if (mini_size_bits(shape) > 64)
		last = (windows.last + LOWEST64(windows.last, mini_in_last(shape, at))) >> 1;
	if (mini_windows_part(shape))
		first = at < 64 ? first | windows.last << 63 : windows.first;
	return (struct mini_windows){ first, last };
}

/* Makes room for a remainder and puts it in; one in the last slot is pushed out. */
ALWAYS_INLINE void mini_push_remainder(struct mini_shape shape, unsigned char *line, unsigned slot,
                                       uint64_t remainder)
{
	unsigned by = shape.width;
	if (by % 8 == 0) {
		shift_in(line, mini_line(shape), mini_byte_at(shape, slot),
		         mini_byte_at(shape, shape.slots), by / 8, (unsigned)remainder);
	} else {
		unsigned from = mini_remainder_at(shape, slot);
#ifdef __AVX2__
		shift_bits_in(line, from, mini_remainder_at(shape, shape.slots), by, remainder);
#else
		line_move_up(shape, line, from, mini_remainder_at(shape, shape.slots - 1), by);
		line_set(shape, line, from, by, remainder);
#endif
	}
}

/* Takes the remainder of a slot out; the last slot becomes zero. */
ALWAYS_INLINE void mini_pull_remainder(struct mini_shape shape, unsigned char *line, unsigned slot)
{
	unsigned by = shape.width;
	if (by % 8 == 0)
		shift_down(line, mini_line(shape), mini_byte_at(shape, slot),
		           mini_byte_at(shape, shape.slots), by / 8);
	else
#ifdef __AVX2__
		shift_bits_down(line, mini_remainder_at(shape, slot),
		                mini_remainder_at(shape, shape.slots), by);
#else
		line_move_down(shape, line, mini_remainder_at(shape, slot + 1),
		               mini_remainder_at(shape, shape.slots), by);
#endif
}

/* Makes room for a crumb and puts it in; the line is not full. */
ALWAYS_INLINE void mini_push_crumb(struct mini_shape shape, unsigned char *line, unsigned slot,
                                   unsigned crumb)
{
#ifdef __AVX2__
	shift_nibbles_up(line + mini_line(shape) - 32, mini_crumb_nibble(shape, slot),
	                 mini_crumb_nibble(shape, shape.slots));
#else
	line_move_up(shape, line, mini_crumb_at(shape, slot), mini_crumb_at(shape, shape.slots - 1),
	             MINI_CRUMB);
#endif
	line_set(shape, line, mini_crumb_at(shape, slot), MINI_CRUMB, crumb);
}

/* Takes the crumb of a slot out; the last slot's becomes zero, as all behind it are. */
ALWAYS_INLINE void mini_pull_crumb(struct mini_shape shape, unsigned char *line, unsigned slot)
{
#ifdef __AVX2__
	shift_nibbles_down(line + mini_line(shape) - 32, mini_crumb_nibble(shape, slot),
	                   mini_crumb_nibble(shape, shape.slots));
#else
	line_move_down(shape, line, mini_crumb_at(shape, slot + 1),
	               mini_crumb_at(shape, shape.slots), MINI_CRUMB);
#endif
}

/*
 * Puts an entry of mini-bucket m into the slot behind its others, which is
 * mini_find's `end`. The line is not full.
 */
ALWAYS_INLINE void mini_insert_inline(struct mini_shape shape, unsigned char *line, unsigned m,
                                      unsigned slot, uint64_t remainder, unsigned crumb)
{
	struct mini_windows sizes = mini_wider_apart(shape, mini_windows_of(shape, line), slot + m);
	mini_push_remainder(shape, line, slot, remainder);
	if (shape.crumbs)
		mini_push_crumb(shape, line, slot, crumb);
	mini_store_wider(shape, line, sizes);
}

NEVER_INLINE void mini_insert_called(struct mini_shape shape, unsigned char *line, unsigned m,
                                     unsigned slot, uint64_t remainder, unsigned crumb)
{
	mini_insert_inline(shape, line, m, slot, remainder, crumb);
}

ALWAYS_INLINE void mini_insert_at(struct mini_shape shape, unsigned char *line, unsigned m,
                                  unsigned slot, uint64_t remainder, unsigned crumb)
{
	if (MINI_KNOWN(shape))
		mini_insert_inline(shape, line, m, slot, remainder, crumb);
	else
		mini_insert_called(shape, line, m, slot, remainder, crumb);
}

/* Puts an entry in behind its mini-bucket's others. The line is not full. */
ALWAYS_INLINE void mini_insert(struct mini_shape shape, unsigned char *line, unsigned m,
                               uint64_t remainder, unsigned crumb)
{
	mini_insert_at(shape, line, m, mini_find(shape, line, m).end, remainder, crumb);
}

/*
 * As mini_insert_at in a full line without crumbs: its last entry, of mini-bucket
 * `last`, which is above m, goes.
 */
ALWAYS_INLINE void mini_replace_last(struct mini_shape shape, unsigned char *line, unsigned last,
                                     unsigned m, unsigned slot, uint64_t remainder)
{
	struct mini_windows sizes = mini_windows_of(shape, line);
	sizes = mini_narrower(shape, sizes, last + shape.slots - 1);
	sizes = mini_wider(shape, sizes, slot + m);
	mini_push_remainder(shape, line, slot, remainder);
	mini_store_windows(shape, line, sizes, mini_no_sizes(shape));
}

/* Takes remainder number `slot`, of mini-bucket m, out. */
ALWAYS_INLINE void mini_remove_inline(struct mini_shape shape, unsigned char *line, unsigned m,
                                      unsigned slot)
{
	struct mini_windows sizes = mini_narrower(shape, mini_windows_of(shape, line), slot + m);
	mini_pull_remainder(shape, line, slot);
	if (shape.crumbs)
		mini_pull_crumb(shape, line, slot);
	mini_store_windows(shape, line, sizes, mini_no_sizes_again(shape));
}

NEVER_INLINE void mini_remove_called(struct mini_shape shape, unsigned char *line, unsigned m,
                                     unsigned slot)
{
	mini_remove_inline(shape, line, m, slot);
}

ALWAYS_INLINE void mini_remove(struct mini_shape shape, unsigned char *line, unsigned m,
                               unsigned slot)
{
	if (MINI_KNOWN(shape))
		mini_remove_inline(shape, line, m, slot);
	else
		mini_remove_called(shape, line, m, slot);
}

/*
 * Puts an entry behind all others in a line without crumbs that has one free slot; none of them
 * has a mini-bucket above m, which is its own. From there on the sizes are ones: one of them goes
 * to their end.
 */
ALWAYS_INLINE void mini_append(struct mini_shape shape, unsigned char *line, unsigned m,
                               uint64_t remainder)
{
	const unsigned bits = mini_size_bits(shape), skip = bits > 64 ? mini_size_skip(shape) : 0;
	const unsigned here = shape.slots - 1 + m, end = bits - 1;
	mini_set_remainder(shape, line, shape.slots - 1, remainder);
	if (shape.slots > skip) {
		uint64_t ones = UINT64_C(1) << (here - skip) | UINT64_C(1) << (end - skip);
		store64(line + skip / 8, load64(line + skip / 8) ^ ones);
	} else {
		line[here / 8] ^= (unsigned char)(1 << here % 8);
		line[end / 8] ^= (unsigned char)(1 << end % 8);
	}
}

#endif

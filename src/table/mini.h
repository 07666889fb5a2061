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
 *     remainders of mini-bucket m: from (place of the one before) - (m - 1)
 *                                  to   (place of its own one)    - m
 *
 * Crumbs (4 bits per remainder, only in backyard lines) say which of 16 front
 * buckets an entry comes from; see yard.h.
 *
 * Every function takes the line's shape as a value that is known at compile
 * time, and folds to a few instructions. Reads and writes stay in the line.
 */
#ifndef NIDUS_TABLE_MINI_H
#define NIDUS_TABLE_MINI_H

#include "base/bits.h"
#include "simd/match.h"
#include "simd/select.h"

#define MINI_LINE 64 /* bytes */
#define MINI_CRUMB 4 /* bits */
#define MINI_SLOTS_MOST 64

struct mini_shape {
	unsigned buckets, slots, width;
	bool crumbs;
	bool half; /* 32 bytes instead of 64 */
};

/* Bytes of a line. */
ALWAYS_INLINE unsigned mini_line(struct mini_shape shape)
{
	return shape.half ? MINI_LINE / 2 : MINI_LINE;
}

ALWAYS_INLINE unsigned mini_size_bits(struct mini_shape shape)
{
	return shape.buckets + shape.slots;
}

ALWAYS_INLINE unsigned mini_size_bytes(struct mini_shape shape)
{
	return (mini_size_bits(shape) + 7) / 8;
}

/* Where remainder `slot` starts, in bits. */
ALWAYS_INLINE unsigned mini_remainder_at(struct mini_shape shape, unsigned slot)
{
	return mini_size_bytes(shape) * 8 + slot * shape.width;
}

ALWAYS_INLINE unsigned mini_crumb_at(struct mini_shape shape, unsigned slot)
{
	return mini_remainder_at(shape, shape.slots) + slot * MINI_CRUMB;
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

ALWAYS_INLINE struct mini_sizes mini_sizes_of(struct mini_shape shape, const unsigned char *line)
{
	unsigned bits = mini_size_bits(shape);
	struct mini_sizes sizes = { load64(line), 0 };
	if (bits < 64)
		sizes.low &= bits_low(bits);
	if (bits > 64)
		sizes.high = load64(line + 8) & bits_low(bits - 64);
	return sizes;
}

ALWAYS_INLINE void mini_store_sizes(struct mini_shape shape, unsigned char *line,
                                    struct mini_sizes sizes)
{
	unsigned bits = mini_size_bits(shape);
	if (bits <= 56)
		line_set(shape, line, 0, bits, sizes.low);
	else if (bits <= 64)
		store64(line,
		        bits == 64 ? sizes.low : sizes.low | (load64(line) & ~bits_low(bits & 63)));
	else
		store64(line, sizes.low);
	if (bits > 64)
		line_set(shape, line, 64, bits - 64, sizes.high);
}

/* The place of one number `index`, counted from 0. There are more than `index`. */
ALWAYS_INLINE unsigned mini_select(struct mini_shape shape, struct mini_sizes sizes, unsigned index)
{
	if (mini_size_bits(shape) <= 64)
		return SELECT64(sizes.low, index);
	unsigned low = POPCOUNT64(sizes.low);
	return index < low ? SELECT64(sizes.low, index) : 64 + SELECT64(sizes.high, index - low);
}

/* The slots of mini-bucket m: [*start, *end). Gives the place of its one. */
ALWAYS_INLINE unsigned mini_range(struct mini_shape shape, struct mini_sizes sizes, unsigned m,
                                  unsigned *start, unsigned *end)
{
	unsigned before = m == 0 ? 0 : mini_select(shape, sizes, m - 1) + 1;
	*start = before - m;
	/* Its own one is the next. */
	uint64_t low = before < 64 ? sizes.low >> before << before : 0;
	uint64_t high = before >= 128 ? 0
	                : before > 64 ? sizes.high >> (before - 64) << (before - 64)
	                              : sizes.high;
	unsigned own = low != 0    ? (unsigned)__builtin_ctzll(low)
	               : high != 0 ? 64 + (unsigned)__builtin_ctzll(high)
	                           : before; /* only in a line that is no mini-filter */
	*end = own - m;
	if (*end > shape.slots)
		*end = shape.slots;
	if (*start > *end)
		*start = *end;
	return own;
}

ALWAYS_INLINE bool mini_full(struct mini_shape shape, const unsigned char *line)
{
	unsigned last = mini_size_bits(shape) - 1;
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

/* The mini-bucket of remainder number `slot`, which is there. */
ALWAYS_INLINE unsigned mini_bucket_of(struct mini_shape shape, struct mini_sizes sizes,
                                      unsigned slot)
{
	/* Its zero is number `slot`; the ones before that are mini-buckets. */
	struct mini_sizes zeros = { ~sizes.low, ~sizes.high };
	unsigned m = mini_select(shape, zeros, slot) - slot;
	return m < shape.buckets ? m : shape.buckets - 1;
}

/* ----------------------------------------------------------------- entries -- */

ALWAYS_INLINE uint64_t mini_remainder(struct mini_shape shape, const unsigned char *line,
                                      unsigned slot)
{
	return line_get(shape, line, mini_remainder_at(shape, slot), shape.width);
}

ALWAYS_INLINE unsigned mini_crumb(struct mini_shape shape, const unsigned char *line, unsigned slot)
{
	return (unsigned)line_get(shape, line, mini_crumb_at(shape, slot), MINI_CRUMB);
}

/*
 * The slots in [start, end) whose remainder this is, as bits. With MATCH_LINES
 * the whole line is compared, which needs no branch on how many there are.
 */
ALWAYS_INLINE uint64_t mini_match(struct mini_shape shape, const unsigned char *line,
                                  unsigned start, unsigned end, uint64_t remainder)
{
#ifdef MATCH_LINES
	uint64_t range = bits_low(end) & ~bits_low(start);
	unsigned first = mini_size_bytes(shape);
	if (shape.width == 8 && shape.half)
		return match_half(line, (uint8_t)remainder) >> first & range;
	if (shape.width == 8)
		return match_bytes(line, (uint8_t)remainder) >> first & range;
	if (shape.width == 16 && first % 2 == 0)
		return match_words(line, (uint16_t)remainder) >> first / 2 & range;
#endif
	uint64_t hits = 0;
	for (unsigned slot = start; slot < end; slot++)
		hits |= (uint64_t)(mini_remainder(shape, line, slot) == remainder) << slot;
	return hits;
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

/* An empty line: nothing but the mini-buckets' ones. */
ALWAYS_INLINE void mini_clear(struct mini_shape shape, unsigned char *line)
{
	memset(line, 0, mini_line(shape));
	struct mini_sizes sizes = { bits_low(shape.buckets), 0 };
	mini_store_sizes(shape, line, sizes);
}

/* An entry as a number: mini-bucket and remainder. Ascending mini-buckets come in order. */
#define MINI_PACK_BITS 24
#define MINI_PACK(m, remainder) ((uint32_t)(m) << MINI_PACK_BITS | (uint32_t)(remainder))
#define MINI_PACK_BUCKET(packed) ((packed) >> MINI_PACK_BITS)
#define MINI_PACK_REMAINDER(packed) ((packed) & (uint32_t)bits_low(MINI_PACK_BITS))

/*
 * Writes a whole line: `count` packed entries, at most `slots`, in mini-bucket
 * order. As if they had been put into an empty line one by one; no crumbs.
 */
ALWAYS_INLINE void mini_fill(struct mini_shape shape, unsigned char *line, const uint32_t *packed,
                             unsigned count)
{
	memset(line, 0, mini_line(shape));
	struct mini_sizes zeros = { 0, 0 };
	for (unsigned slot = 0; slot < count; slot++) {
		unsigned zero = MINI_PACK_BUCKET(packed[slot]) + slot;
		zeros.low |= (uint64_t)(zero < 64) << (zero & 63);
		zeros.high |= (uint64_t)(zero >= 64) << (zero & 63);
		if (shape.width == 8)
			line[mini_size_bytes(shape) + slot] = (unsigned char)packed[slot];
		else
			line_set(shape, line, mini_remainder_at(shape, slot), shape.width,
			         MINI_PACK_REMAINDER(packed[slot]));
	}
	unsigned used = shape.buckets + count;
	struct mini_sizes sizes = { bits_low(used) & ~zeros.low,
		                    (used > 64 ? bits_low(used - 64) : 0) & ~zeros.high };
	mini_store_sizes(shape, line, sizes);
}

/* Puts an entry in behind its mini-bucket's others. The line is not full. */
ALWAYS_INLINE void mini_insert(struct mini_shape shape, unsigned char *line, unsigned m,
                               uint64_t remainder, unsigned crumb)
{
	struct mini_sizes sizes = mini_sizes_of(shape, line);
	unsigned start, slot, count = mini_count(shape, sizes);
	unsigned own = mini_range(shape, sizes, m, &start, &slot);
	line_move_up(shape, line, mini_remainder_at(shape, slot), mini_remainder_at(shape, count),
	             shape.width);
	line_set(shape, line, mini_remainder_at(shape, slot), shape.width, remainder);
	if (shape.crumbs) {
		line_move_up(shape, line, mini_crumb_at(shape, slot), mini_crumb_at(shape, count),
		             MINI_CRUMB);
		line_set(shape, line, mini_crumb_at(shape, slot), MINI_CRUMB, crumb);
	}
	/* A zero before the mini-bucket's one: everything from it on moves up by one. */
	if (own < 64) {
		uint64_t above = sizes.low >> own << own;
		sizes.high = sizes.high << 1 | above >> 63;
		sizes.low = (sizes.low & bits_low(own)) | above << 1;
	} else {
		uint64_t above = sizes.high >> (own - 64) << (own - 64);
		sizes.high = (sizes.high & bits_low(own - 64)) | above << 1;
	}
	mini_store_sizes(shape, line, sizes);
}

/* Takes remainder number `slot`, of mini-bucket m, out. */
ALWAYS_INLINE void mini_remove(struct mini_shape shape, unsigned char *line, unsigned m,
                               unsigned slot)
{
	struct mini_sizes sizes = mini_sizes_of(shape, line);
	unsigned count = mini_count(shape, sizes), zero = slot + m;
	line_move_down(shape, line, mini_remainder_at(shape, slot + 1),
	               mini_remainder_at(shape, count), shape.width);
	if (shape.crumbs)
		line_move_down(shape, line, mini_crumb_at(shape, slot + 1),
		               mini_crumb_at(shape, count), MINI_CRUMB);
	if (zero < 64) {
		uint64_t kept = sizes.low & bits_low(zero);
		sizes.low =
			kept | (zero < 63 ? sizes.low >> (zero + 1) << zero : 0) | sizes.high << 63;
		sizes.high >>= 1;
	} else {
		uint64_t kept = sizes.high & bits_low(zero - 64);
		sizes.high = kept | (zero < 127 ? sizes.high >> (zero - 63) << (zero - 64) : 0);
	}
	mini_store_sizes(shape, line, sizes);
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * slots: an array of packed slots of any width from 2 to 56 bits.
 *
 * Slot i of width w lies at bits i*w to i*w + w - 1, counted from the lowest
 * bit of the first byte. A slot of at most 56 bits begins at bit 0 to 7 of some
 * byte, so that one load of eight bytes always holds it whole:
 *
 *      byte    |   0   |   1   |   2   |   3   |
 *      w = 12  |<----slot 0---->|<----slot 1---->|   (slot 1 begins at bit 4)
 *
 * Loads and stores touch the eight bytes from the slot's first byte on, so
 * the owner of an array leaves SLOTS_PADDING bytes after its last slot.
 *
 * A word may hold several neighbouring slots ("fields"). fields_zero_in finds the
 * empty ones exactly, all at once: the sum below cannot carry from one field
 * into the next, unlike the shorter subtraction trick, whose borrow reports a
 * field of value 1 above an empty one as empty too.
 */
#ifndef NIDUS_BASE_SLOTS_H
#define NIDUS_BASE_SLOTS_H

#include "base/bits.h"

#include <assert.h>

#define SLOTS_WIDTH_MIN 2
#define SLOTS_WIDTH_MAX 56
#define SLOTS_PADDING 8

static inline uint64_t slot_get(const unsigned char *array, unsigned width, uint64_t index)
{
	uint64_t bit = index * width;
	assert(width >= SLOTS_WIDTH_MIN && width <= SLOTS_WIDTH_MAX);
	return (load64(array + (bit >> 3)) >> (bit & 7)) & bits_low(width);
}

static inline void slot_set(unsigned char *array, unsigned width, uint64_t index, uint64_t value)
{
	uint64_t bit = index * width;
	unsigned char *at = array + (bit >> 3);
	unsigned shift = bit & 7;
	uint64_t word = load64(at);
	assert(width >= SLOTS_WIDTH_MIN && width <= SLOTS_WIDTH_MAX);
	assert(value <= bits_low(width)); /* or it would change the slot above */
	word &= ~(bits_low(width) << shift);
	store64(at, word | value << shift);
}

/* Bytes for an array of `slots` slots, padding included. True on overflow. */
static inline bool slots_bytes_overflow(uint64_t slots, unsigned width, uint64_t *bytes)
{
	uint64_t bits;
	if (multiply_overflows(slots, width, &bits))
		return true;
	return add_overflows(divide_up(bits, 8), SLOTS_PADDING, bytes);
}

/* The lowest bit of each of `count` fields of a width; count * width <= 64. */
static inline uint64_t fields_ones(unsigned width, unsigned count)
{
	uint64_t ones = 0;
	assert(count * width <= 64);
	for (unsigned i = 0; i < count; i++)
		ones |= UINT64_C(1) << (i * width);
	return ones;
}

/*
 * The highest bit of each field of `word` that is zero. `highs` are the highest
 * bits of all fields, `lows` all their others; bits above may be anything.
 */
static inline uint64_t fields_zero_in(uint64_t word, uint64_t lows, uint64_t highs)
{
	return ~(((word & lows) + lows) | word) & highs;
}

#endif

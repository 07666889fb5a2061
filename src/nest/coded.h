/* SPDX-License-Identifier: MIT
 *
 * coded: buckets of four slots that are kept sorted and coded, one bit per slot
 * smaller.
 *
 * The order of the slots in a bucket means nothing, so it need not be stored.
 * The lowest four bits of each value (its nibble) are sorted, and of the 65,536
 * tuples of four nibbles only the 3,876 ascending ones are left: a number of 12
 * bits instead of 16. The other bits of each value (its rest) lie behind it, in
 * the order of the nibbles:
 *
 *     | code, 12 | rest 0, w-4 | rest 1 | rest 2 | rest 3 |      4w - 4 bits
 *
 * The code is the tuple's rank in the combinatorial number system: for
 * ascending n0 <= n1 <= n2 <= n3 it is C(n0,1) + C(n1+1,2) + C(n2+2,3) +
 * C(n3+3,4), which numbers the tuples from 0 to 3,875 without gaps. An empty
 * bucket is all zero. Where nibbles are equal the rests ascend, so that a bucket
 * of the same values always has the same bits; empty slots, being 0, come first.
 *
 * Worked example, w = 8: values a3, 4b, 03 and an empty slot. Nibbles ascending:
 * 0 (empty), 3 (03), 3 (a3), b (4b); rests 0, 0, a, 4; the code is C(0,1) +
 * C(4,2) + C(5,3) + C(14,4) = 0 + 6 + 10 + 1001 = 1017.
 */
#ifndef NIDUS_NEST_CODED_H
#define NIDUS_NEST_CODED_H

#include "base/slots.h"

#define CODED_SLOTS 4
#define CODED_CODES 3876
#define CODED_CORE_MIN 5 /* a nibble, and a rest that is not nothing */

/* Bits of a bucket of values of this width. */
#define CODED_BITS(width) ((uint64_t)4 * (width)-4)

/* The nibbles of each code, the first in the lowest bits; 0 for what is no code. */
extern uint16_t coded_nibbles[4096];

/* Fills coded_nibbles, once. Callers that lay out a table call it first. */
void coded_prepare(void);

/* `count` bits, at most 56, at a bit's place. */
static inline uint64_t coded_bits_at(const unsigned char *array, uint64_t bit, unsigned count)
{
	return (load64(array + (bit >> 3)) >> (bit & 7)) & bits_low(count);
}

/* One of the slots of the bucket that begins at a bit. */
static inline uint64_t coded_get_at(const unsigned char *array, unsigned width, uint64_t bit,
                                    unsigned at)
{
	uint64_t nibble = coded_nibbles[coded_bits_at(array, bit, 12)] >> (4 * at) & 15;
	return nibble | coded_bits_at(array, bit + 12 + (uint64_t)at * (width - 4), width - 4) << 4;
}

static inline uint64_t coded_get(const unsigned char *array, unsigned width, uint64_t slot)
{
	return coded_get_at(array, width, slot / CODED_SLOTS * CODED_BITS(width),
	                    slot % CODED_SLOTS);
}

/* Some slots of the bucket that begins at a bit, side by side as fields of their width. */
static inline uint64_t coded_fields(const unsigned char *array, unsigned width, uint64_t bit,
                                    unsigned first, unsigned count)
{
	uint64_t fields = 0;
	uint64_t nibbles = coded_nibbles[coded_bits_at(array, bit, 12)];
	for (unsigned i = 0; i < count; i++) {
		unsigned at = first + i;
		uint64_t rest =
			coded_bits_at(array, bit + 12 + (uint64_t)at * (width - 4), width - 4);
		fields |= (rest << 4 | (nibbles >> (4 * at) & 15)) << (i * width);
	}
	return fields;
}

/* The same of a bucket whose bits are in one word; bits above them may be anything. */
ALWAYS_INLINE uint64_t coded_fields_in(uint64_t bits, unsigned width)
{
	uint64_t fields = 0, nibbles = coded_nibbles[bits & 4095], rests = bits >> 12;
	for (unsigned at = 0; at < CODED_SLOTS; at++) {
		uint64_t rest = rests >> at * (width - 4) & bits_low(width - 4);
		fields |= (rest << 4 | (nibbles >> (4 * at) & 15)) << (at * width);
	}
	return fields;
}

/* Changes one slot of the bucket that begins at a bit, and puts it in order again. */
void coded_set_at(unsigned char *array, unsigned width, uint64_t bit, unsigned slot,
                  uint64_t value);

static inline void coded_set(unsigned char *array, unsigned width, uint64_t slot, uint64_t value)
{
	coded_set_at(array, width, slot / CODED_SLOTS * CODED_BITS(width), slot % CODED_SLOTS,
	             value);
}

/* Whether a bucket's bits are those that coded_set would have left. */
bool coded_valid(const unsigned char *array, unsigned width, uint64_t bucket);

#endif

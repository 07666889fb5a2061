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
 * Buckets begin at a multiple of four bits, so that one of up to 60 bits lies in the
 * eight bytes from the one in which it begins.
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

/* The widest values whose buckets fit into a word, as eight bytes hold them. */
#define CODED_WORD_WIDTH 16

/* Read without a detour through the table of symbols that programs may replace. */
#define CODED_HIDDEN __attribute__((visibility("hidden")))

/* The nibbles of each code, the first in the lowest bits; 0 for what is no code. */
extern CODED_HIDDEN uint16_t coded_nibbles[4096];

/* The way back: the share of the two lower nibbles in a code, and of the two upper ones. */
extern CODED_HIDDEN uint8_t coded_lower[256];
extern CODED_HIDDEN uint16_t coded_upper[256];

/* Fills these tables, once. Callers that lay out a table call it first. */
void coded_prepare(void);

/* Which code sorted nibbles have. */
ALWAYS_INLINE uint64_t coded_code(uint64_t nibbles)
{
	return (uint64_t)coded_lower[nibbles & 255] + coded_upper[nibbles >> 8 & 255];
}

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

/* ---------------------------------------------------------------- in one word -- */

/*
 * A bucket whose bits are in one word is worked on there: `bits` are its own, and above them
 * anything. Numbers that follow from the width, and from how many bits of a value are
 * compared:
 */
struct coded_masks {
	unsigned rest_bits;
	unsigned high;    /* which bit of a rest is its highest that is compared */
	unsigned steps;   /* 4 / rest_bits, in units of 2^-16, rounded up */
	uint64_t all;     /* bits of a bucket */
	uint64_t rest;    /* and of a rest */
	uint64_t pair;    /* the first two rests, side by side */
	uint64_t evens;   /* the first rest and the third, two widths apart */
	uint64_t nibbles; /* the same of nibbles */
	uint64_t ones;    /* the lowest bits of the rests, side by side; */
	uint64_t highs;   /* their highest that is compared, */
	uint64_t lows;    /* and all below that */
	/* The highs of some rests: bit i of the index says that rest i is one of them. */
	uint64_t some[1 << CODED_SLOTS];
};

struct coded_masks coded_masks_of(unsigned width, unsigned compared);

/* The slots, side by side as fields of the width. */
ALWAYS_INLINE uint64_t coded_fields_in(const struct coded_masks *masks, uint64_t bits)
{
	uint64_t rests = bits >> 12, low = rests & masks->pair;
	uint64_t nibbles = coded_nibbles[bits & 4095];
	/* Each rest moves by four bits for every slot below it: two by eight, then one by four. */
	rests = low | (rests ^ low) << 8;
	low = rests & masks->evens;
	rests = low | (rests ^ low) << 4;
	/* Each nibble by the bits of a rest for every slot below it. */
	nibbles = (nibbles & 255) | nibbles >> 8 << 8 << 2 * masks->rest_bits;
	low = nibbles & masks->nibbles;
	nibbles = low | (nibbles ^ low) << masks->rest_bits;
	return rests << 4 | nibbles;
}

/* One of the slots. */
ALWAYS_INLINE uint64_t coded_get_in(const struct coded_masks *masks, uint64_t bits, unsigned at)
{
	uint64_t rest = bits >> 12 >> at * masks->rest_bits & masks->rest;
	return rest << 4 | (coded_nibbles[bits & 4095] >> 4 * at & 15);
}

/* What coded_misses looks for: a nibble and a rest in every slot. */
struct coded_wanted {
	uint32_t nibbles;
	uint64_t rests;
};

ALWAYS_INLINE struct coded_wanted coded_want(const struct coded_masks *masks, uint64_t value)
{
	return (struct coded_wanted){ (uint32_t)(value & 15) * 0x1111, (value >> 4) * masks->ones };
}

/*
 * Without putting values together: the highs of slots that hold something else than is
 * wanted. Bits that are no highs may be anything.
 */
ALWAYS_INLINE uint64_t coded_misses(const struct coded_masks *masks, uint64_t bits,
                                    struct coded_wanted wanted)
{
	uint32_t nibbles = coded_nibbles[bits & 4095] ^ wanted.nibbles;
	uint64_t rests = bits >> 12 ^ wanted.rests;
	/* The highest bit of a nibble that is not zero; the product brings them together. */
	nibbles = (((nibbles & 0x7777) + 0x7777) | nibbles) & 0x8888;
	return ((rests & masks->lows) + masks->lows) | rests |
	       masks->some[nibbles * 0x249 >> 12 & 15];
}

/* A bucket's nibbles and rests, each side by side. */
struct coded_parts {
	uint64_t nibbles, rests;
};

ALWAYS_INLINE struct coded_parts coded_parts_in(const struct coded_masks *masks, uint64_t bits)
{
	return (struct coded_parts){ coded_nibbles[bits & 4095], (bits & masks->all) >> 12 };
}

/* Whether any slot is empty: the first one then is. */
ALWAYS_INLINE bool coded_first_empty(const struct coded_masks *masks, struct coded_parts parts)
{
	return ((parts.nibbles & 15) | (parts.rests & masks->rest)) == 0;
}

ALWAYS_INLINE uint64_t coded_bits_of(struct coded_parts parts)
{
	return parts.rests << 12 | coded_code(parts.nibbles);
}

/* Takes a field, of which `own` is the lowest bit, out; those below it move up, the first is 0. */
ALWAYS_INLINE uint64_t coded_take_out(uint64_t word, unsigned width, uint64_t own)
{
	uint64_t below = word & (own - 1);
	return below << width | (word & (0 - (own << width)));
}

/* Puts one in, where the first field is 0; those up to there move down. */
ALWAYS_INLINE uint64_t coded_put_in(uint64_t word, unsigned width, unsigned at, uint64_t field)
{
	uint64_t rest = word >> width, below = rest & ((UINT64_C(1) << at * width) - 1);
	return below | field << at * width | (rest ^ below) << width;
}

/* The bucket with one of its slots empty, which now is the first. */
ALWAYS_INLINE struct coded_parts coded_emptied(const struct coded_masks *masks,
                                               struct coded_parts parts, unsigned slot)
{
	const unsigned rest_bits = masks->rest_bits;
	return (struct coded_parts){ coded_take_out(parts.nibbles, 4, UINT64_C(1) << 4 * slot),
		                     coded_take_out(parts.rests, rest_bits,
		                                    UINT64_C(1) << slot * rest_bits) };
}

/* The same for a bucket's bits, of the slot that has this high; what is above them stays. */
ALWAYS_INLINE uint64_t coded_emptied_in(const struct coded_masks *masks, uint64_t bits,
                                        uint64_t high)
{
	uint64_t own = high >> masks->high;
	unsigned nibble = (unsigned)__builtin_ctzll(own) * masks->steps >> 16;
	uint64_t nibbles = coded_take_out(coded_nibbles[bits & 4095], 4, UINT64_C(1) << nibble);
	return coded_take_out(bits >> 12, masks->rest_bits, own) << 12 | coded_code(nibbles);
}

/* The bucket, of which a slot is empty, with a value in it. */
ALWAYS_INLINE struct coded_parts coded_filled(const struct coded_masks *masks,
                                              struct coded_parts parts, uint64_t value)
{
	const unsigned rest_bits = masks->rest_bits;
	uint64_t nibble = value & 15, rest = value >> 4, own = nibble << rest_bits | rest;
	/* How many of the other three come before it. */
	uint64_t second = parts.rests >> rest_bits, third = second >> rest_bits;
	uint64_t fourth = third >> rest_bits;
	second = (second & masks->rest) | (parts.nibbles >> 4 & 15) << rest_bits;
	third = (third & masks->rest) | (parts.nibbles >> 8 & 15) << rest_bits;
	fourth |= parts.nibbles >> 12 << rest_bits;
	unsigned at = (unsigned)(second <= own) + (third <= own) + (fourth <= own);
	return (struct coded_parts){ coded_put_in(parts.nibbles, 4, at, nibble),
		                     coded_put_in(parts.rests, rest_bits, at, rest) };
}

/* The same with a value that is not below any other. */
ALWAYS_INLINE struct coded_parts coded_appended(const struct coded_masks *masks,
                                                struct coded_parts parts, uint64_t value)
{
	const unsigned rest_bits = masks->rest_bits;
	return (struct coded_parts){ parts.nibbles >> 4 | (value & 15) << 12,
		                     parts.rests >> rest_bits | value >> 4 << 3 * rest_bits };
}

/* The bucket with another value in one of its slots. */
ALWAYS_INLINE uint64_t coded_changed(const struct coded_masks *masks, uint64_t bits, unsigned slot,
                                     uint64_t value)
{
	struct coded_parts parts = coded_emptied(masks, coded_parts_in(masks, bits), slot);
	return coded_bits_of(coded_filled(masks, parts, value));
}

/* Writes a bucket to where it begins, at a bit. */
ALWAYS_INLINE void coded_store(const struct coded_masks *masks, unsigned char *array, uint64_t bit,
                               uint64_t bits)
{
	unsigned char *at = array + (bit >> 3);
	store64(at, (load64(at) & ~(masks->all << (bit & 7))) | bits << (bit & 7));
}

ALWAYS_INLINE uint64_t coded_load(const unsigned char *array, uint64_t bit)
{
	return load64(array + (bit >> 3)) >> (bit & 7);
}

/* -------------------------------------------------------------------- anywhere -- */

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

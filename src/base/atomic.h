/* SPDX-License-Identifier: MIT
 *
 * atomic: words of a table that threads share.
 *
 * A table is an array of bytes, read as little-endian words of eight at aligned
 * places. Every load acquires and every store releases: what is loaded after a
 * word is not older than it, and what is stored after another store is not seen
 * before it. That is all that a versioned read needs (stripes.h), costs nothing
 * on x86, and unlike fences it is understood by ThreadSanitizer.
 */
#ifndef NIDUS_BASE_ATOMIC_H
#define NIDUS_BASE_ATOMIC_H

#include "base/bits.h"

#include <assert.h>

/* The table's bytes have no type of their own. */
typedef uint64_t __attribute__((may_alias)) aliased_word;
typedef uint32_t __attribute__((may_alias)) aliased_half;

static inline uint64_t word_load(const unsigned char *table, uint64_t index)
{
	const aliased_word *word = (const aliased_word *)(const void *)table + index;
	return bits_swap64_on_big(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

static inline void word_store(unsigned char *table, uint64_t index, uint64_t value)
{
	aliased_word *word = (aliased_word *)(void *)table + index;
	__atomic_store_n(word, bits_swap64_on_big(value), __ATOMIC_RELEASE);
}

/*
 * `count` bits, 1 to 64, from bit number `bit` of a table at an address that is
 * a multiple of eight. Bits above `count` are anything.
 */
ALWAYS_INLINE uint64_t word_bits(const unsigned char *table, uint64_t bit, unsigned count)
{
	unsigned shift = bit & 63;
	assert(count >= 1 && count <= 64);
	uint64_t low = word_load(table, bit >> 6);
	/* The same word again if they all lie in it, which does no harm: no branch. */
	uint64_t high = word_load(table, (bit + count - 1) >> 6);
	return low >> shift | high << (-shift & 63);
}

/* A quarter of a line, of which the halves may be from different moments. */
ALWAYS_INLINE uint64_t word_load_halves(const unsigned char *table, uint64_t index)
{
	const aliased_half *half = (const aliased_half *)(const void *)table + index;
	uint64_t low = bits_swap32_on_big(__atomic_load_n(half, __ATOMIC_ACQUIRE));
	uint64_t high = bits_swap32_on_big(__atomic_load_n(half + 1, __ATOMIC_ACQUIRE));
	return low | high << 32;
}

/*
 * The same for a `count` and a power of two `grain` that are known at compile time:
 * `bit` is a multiple of it, so that fewer instructions may do.
 */
enum word_reach { WORD_WHOLE, WORD_HALVES, WORD_BOTH };

ALWAYS_INLINE enum word_reach word_reach(unsigned count, unsigned grain)
{
	if (grain >= count && grain <= 64)
		return WORD_WHOLE;
	return grain < 32 && count + 32 - grain <= 64 ? WORD_HALVES : WORD_BOTH;
}

ALWAYS_INLINE uint64_t word_bits_by(const unsigned char *table, uint64_t bit, unsigned count,
                                    unsigned grain)
{
	switch (word_reach(count, grain)) {
	case WORD_WHOLE:
		return word_load(table, bit >> 6) >> (bit & 63);
	case WORD_HALVES:
		return word_load_halves(table, bit >> 5) >> (bit & 31);
	default:
		return word_bits(table, bit, count);
	}
}

/* Writes `count` bits, 1 to 63; the other bits of their words must be the writer's alone. */
static inline void word_set_bits(unsigned char *table, uint64_t bit, unsigned count, uint64_t value)
{
	uint64_t index = bit >> 6, mask = bits_low(count);
	unsigned shift = bit & 63;
	assert(count >= 1 && count <= 63 && value <= mask);
	uint64_t word = word_load(table, index);
	word_store(table, index, (word & ~(mask << shift)) | value << shift);
	if (shift + count <= 64)
		return;
	unsigned below = 64 - shift; /* bits that were in the first word */
	word = word_load(table, index + 1);
	word_store(table, index + 1, (word & ~(mask >> below)) | value >> below);
}

/*
 * Writes `count` bits where there are only zeros, for a count and a grain as above;
 * false, and nothing written, if there are others.
 */
ALWAYS_INLINE bool word_fill_bits(unsigned char *table, uint64_t bit, unsigned count,
                                  unsigned grain, uint64_t value)
{
	uint64_t index = bit >> 6, mask = bits_low(count);
	unsigned shift = bit & 63;
	assert(count >= 1 && count <= 63 && value <= mask);
	bool split = grain < count && UNLIKELY(shift + count > 64);
	uint64_t word = word_load(table, index), next = split ? word_load(table, index + 1) : 0;
	uint64_t above = mask >> 1 >> (63 - shift); /* of the mask, what is in the next word */
	if (UNLIKELY((word & mask << shift) | (next & above)))
		return false;
	word_store(table, index, word | value << shift);
	if (split)
		word_store(table, index + 1, next | value >> 1 >> (63 - shift));
	return true;
}

/* Counters that several threads add to; sums need no exact moment. */
static inline void counter_add(uint64_t *counter, uint64_t amount)
{
	(void)__atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

static inline uint64_t counter_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * blocked_scalar: the definition. Only the words with a bit of the key are
 * looked at.
 */
#include "base/atomic.h"
#include "bloom/blocked.h"

/* Where the bit of sector i is: its 64-bit word in the block, and the bit in it. */
ALWAYS_INLINE uint64_t sector_bit(struct blocked_key key, unsigned probes, unsigned i,
                                  unsigned *word)
{
	unsigned shift = probes == 16 ? 27 : probes == 8 ? 26 : 25;
	uint32_t a = (uint32_t)key.rest, b = (uint32_t)(key.rest >> 32);
	unsigned bit = (a * blocked_factors[i] + b) >> shift;
	if (probes == 16) {
		*word = i / 2;
		bit += i % 2 * 32;
	} else {
		*word = bit < 64 ? i : i + 4;
	}
	return UINT64_C(1) << bit % 64;
}

ALWAYS_INLINE bool blocked_holds(const unsigned char *line, struct blocked_key key, unsigned probes)
{
	uint64_t missing = 0;
	for (unsigned i = 0; i < probes; i++) {
		unsigned word;
		uint64_t bit = sector_bit(key, probes, i, &word);
		missing |= ~load64(line + 8 * word) & bit;
	}
	return missing == 0;
}

ALWAYS_INLINE void blocked_put(unsigned char *line, struct blocked_key key, unsigned probes)
{
	for (unsigned i = 0; i < probes; i++) {
		unsigned word;
		uint64_t bit = sector_bit(key, probes, i, &word);
		store64(line + 8 * word, load64(line + 8 * word) | bit);
	}
}

ALWAYS_INLINE bool shared_holds(const unsigned char *line, struct blocked_key key, unsigned probes)
{
	uint64_t missing = 0;
	for (unsigned i = 0; i < probes; i++) {
		unsigned word;
		uint64_t bit = sector_bit(key, probes, i, &word);
		missing |= ~word_load(line, word) & bit;
	}
	return missing == 0;
}

/* Only with the lock of the block. */
ALWAYS_INLINE void shared_put(unsigned char *line, struct blocked_key key, unsigned probes)
{
	for (unsigned i = 0; i < probes; i++) {
		unsigned word;
		uint64_t bit = sector_bit(key, probes, i, &word);
		word_store(line, word, word_load(line, word) | bit);
	}
}

#define BLOCKED_SELECT blocked_scalar
#include "bloom/blocked_ops.h"

/* SPDX-License-Identifier: MIT
 *
 * blocked_avx2: for x86-64 with AVX2; compiled with it switched on and called
 * only where the processor has it. A block is two vectors.
 */
#if defined(__AVX2__)

#include "bloom/blocked.h"
#include "simd/words.h"

#include <immintrin.h>

/* The place of each sector's bit, counted from the lowest bit of its word. */
struct places {
	__m256i low, high; /* of 64-bit words 0 to 3, and 4 to 7; of 16 probes in 32-bit words */
};

/* a * factor + b for the eight sectors of 32 bits from `first` on. */
ALWAYS_INLINE __m256i spread_halves(struct blocked_key key, unsigned first)
{
	__m256i factors =
		_mm256_loadu_si256((const __m256i *)(const void *)(blocked_factors + first));
	return _mm256_add_epi32(_mm256_mullo_epi32(_mm256_set1_epi32((int)key.rest), factors),
	                        _mm256_set1_epi32((int)(key.rest >> 32)));
}

/* The same for four sectors of a word or two, in the high halves of 64-bit words. */
ALWAYS_INLINE __m256i spread(struct blocked_key key, unsigned first)
{
	const uint32_t *factors = blocked_factors + first;
	__m256i rest = _mm256_set1_epi64x((long long)key.rest);
	__m256i products = _mm256_mul_epu32(rest, _mm256_set_epi64x(factors[3], factors[2],
	                                                            factors[1], factors[0]));
	return _mm256_add_epi32(_mm256_slli_epi64(products, 32), rest);
}

ALWAYS_INLINE struct places places_of(struct blocked_key key, unsigned probes)
{
	struct places places;
	if (probes == 16) {
		places.low = _mm256_srli_epi32(spread_halves(key, 0), 27);
		places.high = _mm256_srli_epi32(spread_halves(key, 8), 27);
	} else if (probes == 8) {
		places.low = _mm256_srli_epi64(spread(key, 0), 58);
		places.high = _mm256_srli_epi64(spread(key, 4), 58);
	} else {
		/* A shift by 64 or more, or by a negative number, leaves nothing. */
		places.low = _mm256_srli_epi64(spread(key, 0), 57);
		places.high = _mm256_sub_epi64(places.low, _mm256_set1_epi64x(64));
	}
	return places;
}

ALWAYS_INLINE __m256i one_per_sector(unsigned probes)
{
	return probes == 16 ? _mm256_set1_epi32(1) : _mm256_set1_epi64x(1);
}

/* Brings each sector's bit to the bottom of its word. */
ALWAYS_INLINE __m256i sectors_down(__m256i words, __m256i places, unsigned probes)
{
	return probes == 16 ? _mm256_srlv_epi32(words, places) : _mm256_srlv_epi64(words, places);
}

ALWAYS_INLINE __m256i sectors_up(__m256i words, __m256i places, unsigned probes)
{
	return probes == 16 ? _mm256_sllv_epi32(words, places) : _mm256_sllv_epi64(words, places);
}

ALWAYS_INLINE bool holds(__m256i low, __m256i high, struct blocked_key key, unsigned probes)
{
	struct places places = places_of(key, probes);
	low = sectors_down(low, places.low, probes);
	high = sectors_down(high, places.high, probes);
	/* Of a sector of two words, one has the bit. */
	__m256i set = probes == 4 ? _mm256_or_si256(low, high) : _mm256_and_si256(low, high);
	return _mm256_testc_si256(set, one_per_sector(probes));
}

ALWAYS_INLINE void put(__m256i *low, __m256i *high, struct blocked_key key, unsigned probes)
{
	struct places places = places_of(key, probes);
	__m256i one = one_per_sector(probes);
	*low = _mm256_or_si256(*low, sectors_up(one, places.low, probes));
	*high = _mm256_or_si256(*high, sectors_up(one, places.high, probes));
}

ALWAYS_INLINE bool blocked_holds(const unsigned char *line, struct blocked_key key, unsigned probes)
{
	const __m256i *block = (const __m256i *)(const void *)line;
	return holds(_mm256_loadu_si256(block), _mm256_loadu_si256(block + 1), key, probes);
}

ALWAYS_INLINE void blocked_put(unsigned char *line, struct blocked_key key, unsigned probes)
{
	__m256i *block = (__m256i *)(void *)line;
	__m256i low = _mm256_loadu_si256(block), high = _mm256_loadu_si256(block + 1);
	put(&low, &high, key, probes);
	_mm256_storeu_si256(block, low);
	_mm256_storeu_si256(block + 1, high);
}

ALWAYS_INLINE bool shared_holds(const unsigned char *line, struct blocked_key key, unsigned probes)
{
	return holds(words_load4(line, 0), words_load4(line, 4), key, probes);
}

/* Only with the lock of the block. */
ALWAYS_INLINE void shared_put(unsigned char *line, struct blocked_key key, unsigned probes)
{
	__m256i low = words_load4(line, 0), high = words_load4(line, 4);
	put(&low, &high, key, probes);
	words_store4(line, 0, low);
	words_store4(line, 4, high);
}

#define BLOCKED_SELECT blocked_avx2
#include "bloom/blocked_ops.h"

#else
typedef int nidus_blocked_avx2_is_for_other_processors;
#endif

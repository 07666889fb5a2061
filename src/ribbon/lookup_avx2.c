/* SPDX-License-Identifier: MIT
 *
 * ribbon lookup, for x86-64 with AVX2; compiled with it switched on and called only where the
 * processor has it.
 */
#if defined(__AVX2__)

#include "ribbon/ribbon.h"

#include <immintrin.h>

ALWAYS_INLINE __m256i four(const unsigned char *words)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)words);
}

/* What the masks pick of four columns. */
ALWAYS_INLINE __m256i picked(const unsigned char *first, const unsigned char *second, __m256i low,
                             __m256i high)
{
	return _mm256_xor_si256(_mm256_and_si256(four(first), low),
	                        _mm256_and_si256(four(second), high));
}

/* The parity of each 32-bit lane, in its highest bit. */
ALWAYS_INLINE __m256i parities(__m256i lanes)
{
	lanes = _mm256_xor_si256(lanes, _mm256_slli_epi32(lanes, 16));
	lanes = _mm256_xor_si256(lanes, _mm256_slli_epi32(lanes, 8));
	lanes = _mm256_xor_si256(lanes, _mm256_slli_epi32(lanes, 4));
	lanes = _mm256_xor_si256(lanes, _mm256_slli_epi32(lanes, 2));
	return _mm256_xor_si256(lanes, _mm256_slli_epi32(lanes, 1));
}

ALWAYS_INLINE unsigned columns8(const unsigned char *first, const unsigned char *second,
                                uint64_t low, uint64_t high)
{
	__m256i lows = _mm256_set1_epi64x((long long)low);
	__m256i highs = _mm256_set1_epi64x((long long)high);
	__m256i a = picked(first, second, lows, highs);
	__m256i b = picked(first + 32, second + 32, lows, highs);
	/* Columns 0 4 1 5 2 6 3 7 in lanes of 32 bits: each the XOR of its halves. */
	__m256i mixed = _mm256_blend_epi32(_mm256_xor_si256(a, _mm256_srli_epi64(a, 32)),
	                                   _mm256_xor_si256(b, _mm256_slli_epi64(b, 32)), 0xaa);
	__m256i lanes =
		_mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7));
	return (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(parities(lanes)));
}

#define LOOKUP_TIER ribbon_avx2
#include "ribbon/lookup.h"

#else
typedef int nidus_ribbon_avx2_is_for_other_processors;
#endif

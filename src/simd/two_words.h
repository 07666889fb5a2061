/* SPDX-License-Identifier: MIT
 *
 * two_words: two words of 64 bits that are worked on side by side.
 *
 * With SSE2, which every x86-64 processor has, they are one vector register. What waits for
 * memory waits there in the schedulers of the vector unit, which are large, and out of the way
 * of what comes next; where that does not matter, plain words are as fast. Elsewhere they are
 * two words in plain C, with the same results.
 */
#ifndef NIDUS_SIMD_TWO_WORDS_H
#define NIDUS_SIMD_TWO_WORDS_H

#include "base/bits.h"

#ifdef __SSE2__
#include <emmintrin.h>

typedef __m128i two_words;

ALWAYS_INLINE two_words two_load(const void *first, const void *second)
{
	return _mm_castpd_si128(_mm_loadh_pd(
		_mm_castsi128_pd(_mm_loadl_epi64((const __m128i *)first)), (const double *)second));
}

/* Two words of this machine, where two_load takes little-endian ones from a table. */
ALWAYS_INLINE two_words two_at(const uint64_t *first, const uint64_t *second)
{
	return two_load(first, second);
}

ALWAYS_INLINE two_words two_of(uint64_t first, uint64_t second)
{
	return _mm_unpacklo_epi64(_mm_cvtsi64_si128((long long)first),
	                          _mm_cvtsi64_si128((long long)second));
}

ALWAYS_INLINE two_words two_xor(two_words a, two_words b)
{
	return _mm_xor_si128(a, b);
}

/* (x - ones) & ~x & highs */
ALWAYS_INLINE two_words two_zeros(two_words x, two_words ones, two_words highs)
{
	return _mm_and_si128(_mm_andnot_si128(x, _mm_sub_epi64(x, ones)), highs);
}

/* The lowest bit of the first word or, if that is 0, of the second; `any` if there is one. */
ALWAYS_INLINE two_words two_lowest(two_words x, bool *any)
{
	two_words minus = _mm_sub_epi64(_mm_setzero_si128(), x);
	two_words not_zero = _mm_or_si128(minus, x); /* in the highest bits */
	*any = _mm_movemask_pd(_mm_castsi128_pd(not_zero)) != 0;
	/* -x of 128 bits: one is borrowed from the second word unless the first is 0. */
	two_words borrow = _mm_slli_si128(_mm_srli_epi64(not_zero, 63), 8);
	return _mm_and_si128(x, _mm_sub_epi64(minus, borrow));
}

/* (x << up) - (x >> down) */
ALWAYS_INLINE two_words two_spread(two_words x, unsigned up, unsigned down)
{
	return _mm_sub_epi64(_mm_sll_epi64(x, _mm_cvtsi32_si128((int)up)),
	                     _mm_srl_epi64(x, _mm_cvtsi32_si128((int)down)));
}

/*
 * Clears bits of the words at two places, of which one at most has any; `words` is what both
 * hold. The places may overlap.
 */
ALWAYS_INLINE void two_clear(void *first, void *second, two_words words, two_words bits)
{
	_mm_storel_epi64((__m128i *)first, _mm_andnot_si128(bits, words));
	_mm_storel_epi64((__m128i *)second,
	                 _mm_andnot_si128(_mm_unpackhi_epi64(bits, bits),
	                                  _mm_loadl_epi64((const __m128i *)second)));
}

#else

typedef struct two_words {
	uint64_t first, second;
} two_words;

ALWAYS_INLINE two_words two_of(uint64_t first, uint64_t second)
{
	return (two_words){ first, second };
}

ALWAYS_INLINE two_words two_load(const void *first, const void *second)
{
	return two_of(load64(first), load64(second));
}

ALWAYS_INLINE two_words two_at(const uint64_t *first, const uint64_t *second)
{
	return two_of(*first, *second);
}

ALWAYS_INLINE two_words two_xor(two_words a, two_words b)
{
	return two_of(a.first ^ b.first, a.second ^ b.second);
}

ALWAYS_INLINE two_words two_zeros(two_words x, two_words ones, two_words highs)
{
	return two_of((x.first - ones.first) & ~x.first & highs.first,
	              (x.second - ones.second) & ~x.second & highs.second);
}

ALWAYS_INLINE two_words two_lowest(two_words x, bool *any)
{
	uint64_t borrow = x.first != 0;
	*any = (x.first | x.second) != 0;
	return two_of(x.first & (0 - x.first), x.second & (0 - x.second - borrow));
}

ALWAYS_INLINE two_words two_spread(two_words x, unsigned up, unsigned down)
{
	return two_of((x.first << up) - (x.first >> down), (x.second << up) - (x.second >> down));
}

ALWAYS_INLINE void two_clear(void *first, void *second, two_words words, two_words bits)
{
	store64(first, words.first & ~bits.first);
	store64(second, load64(second) & ~bits.second);
}

#endif
#endif

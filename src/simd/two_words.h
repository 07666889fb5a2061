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

#if defined(__x86_64__) && defined(__SSE2__)
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

/* The same of two neighbours. */
ALWAYS_INLINE two_words two_pair(const uint64_t pair[2])
{
	return _mm_loadu_si128((const void *)pair);
}

ALWAYS_INLINE two_words two_of(uint64_t first, uint64_t second)
{
	return _mm_unpacklo_epi64(_mm_cvtsi64_si128((long long)first),
	                          _mm_cvtsi64_si128((long long)second));
}

/* Words that begin at a bit of those that are loaded, 0 to 7; zeros above. */
ALWAYS_INLINE two_words two_load_from(const void *first, const void *second, const unsigned bit[2])
{
	__m128i a = _mm_loadl_epi64((const __m128i *)first);
	__m128i b = _mm_loadl_epi64((const __m128i *)second);
	return _mm_unpacklo_epi64(_mm_srl_epi64(a, _mm_cvtsi32_si128((int)bit[0])),
	                          _mm_srl_epi64(b, _mm_cvtsi32_si128((int)bit[1])));
}

ALWAYS_INLINE two_words two_xor(two_words a, two_words b)
{
	return _mm_xor_si128(a, b);
}

ALWAYS_INLINE two_words two_and(two_words a, two_words b)
{
	return _mm_and_si128(a, b);
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

/*
 * The lowest bit of both words; of the first, if they are level. Neighbouring bits are not both
 * ones, nor is the lowest bit of a word.
 */
ALWAYS_INLINE two_words two_earlier(two_words x, bool *any)
{
	/* One bit lower, those of the first come earlier if they are level. */
	__m128d lower = _mm_castsi128_pd(_mm_srli_epi64(x, 1));
	two_words all = _mm_castpd_si128(_mm_move_sd(_mm_castsi128_pd(x), lower));
	two_words both = _mm_or_si128(all, _mm_shuffle_epi32(all, _MM_SHUFFLE(1, 0, 3, 2)));
	two_words lowest = _mm_and_si128(both, _mm_sub_epi64(_mm_setzero_si128(), both));
	*any = _mm_cvtsi128_si64(lowest) != 0;
	two_words one = _mm_and_si128(lowest, all);
	return _mm_add_epi64(one, _mm_move_epi64(one));
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

/* Sets bits of the words at two places, in the same way. */
ALWAYS_INLINE void two_set(void *first, void *second, two_words bits)
{
	_mm_storel_epi64((__m128i *)first,
	                 _mm_or_si128(bits, _mm_loadl_epi64((const __m128i *)first)));
	_mm_storel_epi64((__m128i *)second, _mm_or_si128(_mm_unpackhi_epi64(bits, bits),
	                                                 _mm_loadl_epi64((const __m128i *)second)));
}

/* The same of words that begin at a bit of those, 0 to 7. */
ALWAYS_INLINE void two_set_from(void *first, void *second, const unsigned bit[2], two_words bits)
{
	two_words a = _mm_sll_epi64(bits, _mm_cvtsi32_si128((int)bit[0]));
	two_words b = _mm_sll_epi64(_mm_unpackhi_epi64(bits, bits), _mm_cvtsi32_si128((int)bit[1]));
	_mm_storel_epi64((__m128i *)first,
	                 _mm_or_si128(_mm_loadl_epi64((const __m128i *)first), a));
	_mm_storel_epi64((__m128i *)second,
	                 _mm_or_si128(_mm_loadl_epi64((const __m128i *)second), b));
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

ALWAYS_INLINE two_words two_pair(const uint64_t pair[2])
{
	return two_of(pair[0], pair[1]);
}

ALWAYS_INLINE two_words two_xor(two_words a, two_words b)
{
	return two_of(a.first ^ b.first, a.second ^ b.second);
}

ALWAYS_INLINE two_words two_load_from(const void *first, const void *second, const unsigned bit[2])
{
	return two_of(load64(first) >> bit[0], load64(second) >> bit[1]);
}

ALWAYS_INLINE two_words two_and(two_words a, two_words b)
{
	return two_of(a.first & b.first, a.second & b.second);
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

ALWAYS_INLINE two_words two_earlier(two_words x, bool *any)
{
	uint64_t lower = x.first >> 1, both = lower | x.second, lowest = both & (0 - both);
	*any = both != 0;
	return two_of((lowest & lower) << 1, lowest & x.second);
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

ALWAYS_INLINE void two_set(void *first, void *second, two_words bits)
{
	store64(first, load64(first) | bits.first);
	store64(second, load64(second) | bits.second);
}

ALWAYS_INLINE void two_set_from(void *first, void *second, const unsigned bit[2], two_words bits)
{
	two_set(first, second, two_of(bits.first << bit[0], bits.second << bit[1]));
}

#endif
#endif

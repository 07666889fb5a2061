/* SPDX-License-Identifier: MIT
 *
 * words: lines of 32 or 64 bytes that other threads may be writing, copied as
 * atomic words. What a copy shows is from one moment only if the caller checks
 * that (table/stripes.h).
 */
#ifndef NIDUS_SIMD_WORDS_H
#define NIDUS_SIMD_WORDS_H

#include "base/atomic.h"

#ifdef __AVX2__
#include <immintrin.h>

/* Words from number `first` on, four of them. */
ALWAYS_INLINE __m256i words_load4(const unsigned char *line, unsigned first)
{
	return _mm256_set_epi64x((long long)word_load(line, first + 3),
	                         (long long)word_load(line, first + 2),
	                         (long long)word_load(line, first + 1),
	                         (long long)word_load(line, first));
}

/* For the one thread that may write the line. */
ALWAYS_INLINE void words_store4(unsigned char *line, unsigned first, __m256i words)
{
	__m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
	word_store(line, first, (uint64_t)_mm_cvtsi128_si64(low));
	word_store(line, first + 1, (uint64_t)_mm_extract_epi64(low, 1));
	word_store(line, first + 2, (uint64_t)_mm_cvtsi128_si64(high));
	word_store(line, first + 3, (uint64_t)_mm_extract_epi64(high, 1));
}
#endif

/* The copy is written in large pieces where possible, which whoever reads it soon gets quickly. */
ALWAYS_INLINE void words_read(unsigned char *copy, const unsigned char *line, unsigned size)
{
#ifdef __AVX2__
	for (unsigned at = 0; at < size; at += 32)
		_mm256_storeu_si256((__m256i *)(void *)(copy + at), words_load4(line, at / 8));
#else
	for (unsigned word = 0; word < size / 8; word++)
		store64(copy + 8 * word, word_load(line, word));
#endif
}

/* For the one thread that may write the line. */
ALWAYS_INLINE void words_write(unsigned char *line, const unsigned char *copy, unsigned size)
{
	for (unsigned word = 0; word < size / 8; word++)
		word_store(line, word, load64(copy + 8 * word));
}

#endif

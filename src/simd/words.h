/* SPDX-License-Identifier: MIT
 *
 * words: lines of 32 or 64 bytes that other threads may be writing, copied as
 * atomic words. What a copy shows is from one moment only if the caller checks
 * that (base/stripes.h).
 */
#ifndef NIDUS_SIMD_WORDS_H
#define NIDUS_SIMD_WORDS_H

#include "base/atomic.h"
#include "simd/shift.h"

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

/*
 * The next two work on a line of `size` bytes, 32 or 64, without a copy in memory:
 * what is loaded soon after it was stored in other pieces has to wait. They are for
 * the one thread that may write the line, which may also read it as it likes. Its
 * first `heads` bytes, at most 16, become those of the two words of `head`, whose other
 * bytes are 0.
 */
#define WORDS_EDIT

/* words_store4 of the first four words, the head among them. */
ALWAYS_INLINE void words_store_first(unsigned char *line, __m256i words, const uint64_t head[2],
                                     unsigned heads)
{
	__m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
	uint64_t word[2] = { (uint64_t)_mm_cvtsi128_si64(low),
		             (uint64_t)_mm_extract_epi64(low, 1) };
	for (unsigned i = 0; i < 2 && heads > 8 * i; i++) {
		unsigned bits = 8 * (heads - 8 * i);
		word[i] = head[i] | (bits < 64 ? word[i] & ~bits_low(bits) : 0);
	}
	word_store(line, 0, word[0]);
	word_store(line, 1, word[1]);
	word_store(line, 2, (uint64_t)_mm_cvtsi128_si64(high));
	word_store(line, 3, (uint64_t)_mm_extract_epi64(high, 1));
}

/* Those of `moved` for the bytes [from, to), of `there` for the others. */
ALWAYS_INLINE __m256i words_blend(unsigned first, __m256i there, __m256i moved, unsigned from,
                                  unsigned to)
{
	__m256i chosen = shift_load(shift_mask(from) + first);
	if (to < first + 32)
		chosen = _mm256_andnot_si256(shift_from(first, to), chosen);
	return _mm256_blendv_epi8(there, moved, chosen);
}

/* `moved` with a zero in the place of byte number `at`, known at compile time. */
ALWAYS_INLINE __m256i words_with_zero(unsigned first, __m256i bytes, unsigned at)
{
	__m256i here = _mm256_andnot_si256(shift_from(first, at + 1), shift_from(first, at));
	return _mm256_andnot_si256(here, bytes);
}

/* A byte at `from`, those of `moved` behind it up to `to`, those of `there` elsewhere. */
ALWAYS_INLINE __m256i words_pushed(unsigned first, __m256i there, __m256i moved, unsigned from,
                                   unsigned to, unsigned char byte)
{
	/* Compared with the bytes' numbers: one copy of `from` is enough for the whole line. */
	const __m256i numbers = shift_numbers(first), at = _mm256_set1_epi8((char)from);
	__m256i behind = _mm256_cmpgt_epi8(numbers, at);
	if (to < first + 32)
		behind = _mm256_andnot_si256(shift_from(first, to), behind);
	there = _mm256_blendv_epi8(there, moved, behind);
	return _mm256_blendv_epi8(there, _mm256_set1_epi8((char)byte),
	                          _mm256_cmpeq_epi8(numbers, at));
}

/* Puts a byte in at `from`; those behind it up to `to` move up, and the last one goes. */
ALWAYS_INLINE void words_push(unsigned char *line, unsigned size, unsigned from, unsigned to,
                              unsigned char byte, const uint64_t head[2], unsigned heads)
{
	__m256i low = shift_load(line);
	if (size == 64) {
		__m256i high = shift_load(line + 32), high_up = shift_load(line + 31);
		words_store4(line, 4, words_pushed(32, high, high_up, from, to, byte));
	}
	words_store_first(line, words_pushed(0, low, shift_half_up(low, 1), from, to, byte), head,
	                  heads);
}

/* Takes the byte at `from` out; those behind it up to `to` move down, and a zero comes in. */
ALWAYS_INLINE void words_pull(unsigned char *line, unsigned size, unsigned from, unsigned to,
                              const uint64_t head[2], unsigned heads)
{
	__m256i low = shift_load(line);
	__m256i low_down = size == 64 ? shift_load(line + 1) : shift_half_down(low, 1);
	if (size == 64) {
		__m256i high = shift_load(line + 32), high_down = shift_half_down(high, 1);
		high_down = words_with_zero(32, high_down, to - 1);
		words_store4(line, 4, words_blend(32, high, high_down, from, to));
	}
	if (to <= 32)
		low_down = words_with_zero(0, low_down, to - 1);
	words_store_first(line, words_blend(0, low, low_down, from, to), head, heads);
}
#endif

/*
 * Whether one of `count` bytes of a line, at most 8, from number `at` on is this one.
 * Numbers are taken modulo the line's size, so nothing else is ever read.
 */
#if defined(__AVX2__) && defined(__BMI2__)
#define WORDS_FIND

ALWAYS_INLINE bool words_find(const unsigned char *line, unsigned size, unsigned at, unsigned count,
                              unsigned char byte)
{
	unsigned word = at / 8 % (size / 8), next = (word + 1) % (size / 8);
	__m128i bytes =
		_mm_set_epi64x((long long)word_load(line, next), (long long)word_load(line, word));
	__m128i equal = _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)byte));
	return _bzhi_u32((unsigned)_mm_movemask_epi8(equal) >> at % 8, count) != 0;
}
#endif

/* The copy is written in large pieces where possible, which is quick to read again soon. */
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

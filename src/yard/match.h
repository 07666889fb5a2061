/* SPDX-License-Identifier: MIT
 *
 * match: which parts of a line of 64 bytes equal a given one, all at once.
 *
 * Only in files that are compiled for processors with AVX2, where MATCH_LINES is
 * defined; elsewhere the few parts in question are looked at one by one
 * (mini_match in yard/mini.h), with the same result.
 */
#ifndef NIDUS_YARD_MATCH_H
#define NIDUS_YARD_MATCH_H

#include <stdint.h>

#ifdef __AVX2__
#define MATCH_LINES

#include <immintrin.h>

/* A byte that is looked for, in each place of a register. */
#define MATCH_SPREAD __m256i

static inline __m256i match_spread(uint8_t byte)
{
	return _mm256_set1_epi8((char)byte);
}

/* The line's bytes that equal a byte, which is spread, as bits. */
static inline uint64_t match_bytes(const unsigned char *line, __m256i wanted)
{
	__m256i low = _mm256_loadu_si256((const __m256i *)(const void *)line);
	__m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(line + 32));
	uint32_t low_hits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
	uint32_t high_hits = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
	return (uint64_t)high_hits << 32 | low_hits;
}

/* The same in half a line, of 32 bytes. */
static inline uint64_t match_half(const unsigned char *line, __m256i wanted)
{
	__m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)line);
	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, wanted));
}

/* The line's 16-bit words that equal a word, as bits. */
static inline uint64_t match_words(const unsigned char *line, uint16_t word)
{
	__m256i wanted = _mm256_set1_epi16((short)word);
	__m256i low = _mm256_loadu_si256((const __m256i *)(const void *)line);
	__m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(line + 32));
	__m256i hits = _mm256_packs_epi16(_mm256_cmpeq_epi16(low, wanted),
	                                  _mm256_cmpeq_epi16(high, wanted));
	/* Packing works within halves of 128 bits: the middle quarters change places. */
	hits = _mm256_permute4x64_epi64(hits, 0xd8);
	return (uint32_t)_mm256_movemask_epi8(hits);
}

#ifdef __BMI2__
/* The nibbles of 32 bytes that equal one, as bits, lower nibbles first. */
static inline uint64_t match_nibbles(const unsigned char *bytes, unsigned nibble)
{
	const __m256i low = _mm256_set1_epi8(15);
	__m256i wanted = _mm256_set1_epi8((char)nibble);
	__m256i both = _mm256_loadu_si256((const __m256i *)(const void *)bytes);
	__m256i even = _mm256_cmpeq_epi8(_mm256_and_si256(both, low), wanted);
	__m256i odd =
		_mm256_cmpeq_epi8(_mm256_andnot_si256(low, both), _mm256_slli_epi16(wanted, 4));
	uint32_t even_hits = (uint32_t)_mm256_movemask_epi8(even);
	uint32_t odd_hits = (uint32_t)_mm256_movemask_epi8(odd);
	const uint64_t places = UINT64_C(0x5555555555555555);
	return _pdep_u64(even_hits, places) + 2 * _pdep_u64(odd_hits, places);
}
#endif

#else

/* The byte itself, which nobody asks for. */
#define MATCH_SPREAD uint8_t

static inline uint8_t match_spread(uint8_t byte)
{
	return byte;
}

#endif
#endif

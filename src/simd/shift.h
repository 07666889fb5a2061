/* SPDX-License-Identifier: MIT
 *
 * shift: moves the bytes of a line of 64 or 32 bytes up or down by a few, or the
 * nibbles of 32 bytes by one, or the bits of 64 by some; or the bytes of
 * a list of up to 64 by one.
 *
 * `size` (of a line 64 or 32), `by` (1 to 3) and `to` are known at compile time, `from` is
 * not: in files that are compiled for processors with AVX2 the whole line is
 * moved and blended with what stays, which needs no branch on how much that is.
 * Elsewhere memmove does it, with the same result.
 */
#ifndef NIDUS_SIMD_SHIFT_H
#define NIDUS_SIMD_SHIFT_H

#include "base/bits.h"

#ifdef __AVX2__
#include <immintrin.h>

ALWAYS_INLINE __m256i shift_load(const unsigned char *from)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

/* Hides from the compiler that a mask could be worked out from its signs. */
#define SHIFT_OPAQUE(mask) __asm__("" : "+x"(mask))

ALWAYS_INLINE void shift_store(unsigned char *to, __m256i bytes)
{
	_mm256_storeu_si256((__m256i *)(void *)to, bytes);
}

/* Bytes up within 32, zeros behind them. */
ALWAYS_INLINE __m256i shift_half_up(__m256i bytes, unsigned by)
{
	__m256i below = _mm256_permute2x128_si256(bytes, bytes, 0x08);
	return by == 1   ? _mm256_alignr_epi8(bytes, below, 15)
	       : by == 2 ? _mm256_alignr_epi8(bytes, below, 14)
	                 : _mm256_alignr_epi8(bytes, below, 13);
}

ALWAYS_INLINE __m256i shift_half_down(__m256i bytes, unsigned by)
{
	__m256i above = _mm256_permute2x128_si256(bytes, bytes, 0x81);
	return by == 1   ? _mm256_alignr_epi8(above, bytes, 1)
	       : by == 2 ? _mm256_alignr_epi8(above, bytes, 2)
	                 : _mm256_alignr_epi8(above, bytes, 3);
}

/* The numbers of 32 bytes from `first` on. */
ALWAYS_INLINE __m256i shift_numbers(unsigned first)
{
	const __m256i numbers =
		_mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
	                         19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
	return _mm256_add_epi8(numbers, _mm256_set1_epi8((char)first));
}

/* All ones in the bytes from a place on; the first byte is number `first`. */
ALWAYS_INLINE __m256i shift_from(unsigned first, unsigned from)
{
	return _mm256_cmpgt_epi8(shift_numbers(0),
	                         _mm256_set1_epi8((char)((int)from - (int)first - 1)));
}

/* 63 zeros, half a byte of ones, and ones; 64 zeros, and ones. */
#define SHIFT_ONES_8 255, 255, 255, 255, 255, 255, 255, 255
#define SHIFT_ONES_64                                                                       \
	SHIFT_ONES_8, SHIFT_ONES_8, SHIFT_ONES_8, SHIFT_ONES_8, SHIFT_ONES_8, SHIFT_ONES_8, \
		SHIFT_ONES_8, SHIFT_ONES_8
static const unsigned char shift_masks[256] = { [64] = SHIFT_ONES_64,
	                                        [128 + 63] = 0xf0,
	                                        SHIFT_ONES_64 };

/*
 * shift_from for a place that is not known at compile time, at most 64: masks for bytes from
 * number `first` on are so far behind this.
 */
ALWAYS_INLINE const unsigned char *shift_mask(unsigned from)
{
	return shift_masks + 64 - from;
}

/*
 * Stores `moved` over the bytes up to `to` that a mask chooses, zeros from `keep` on, and keeps
 * those that were there elsewhere.
 */
ALWAYS_INLINE void shift_blend(unsigned char *line, unsigned first, __m256i there, __m256i moved,
                               const unsigned char *mask, unsigned keep, unsigned to)
{
	__m256i chosen = shift_load(mask + first);
	SHIFT_OPAQUE(chosen);
	if (to < first + 32)
		chosen = _mm256_andnot_si256(shift_from(first, to), chosen);
	if (keep < first + 32)
		moved = _mm256_andnot_si256(shift_from(first, keep), moved);
	shift_store(line + first, _mm256_blendv_epi8(there, moved, chosen));
}

/* Ones in the nibbles of 32 bytes from a place on, which is known at compile time. */
ALWAYS_INLINE __m256i shift_nibbles_from(unsigned from)
{
	const __m256i low = _mm256_set1_epi8(15);
	return _mm256_or_si256(_mm256_and_si256(low, shift_from(0, (from + 1) / 2)),
	                       _mm256_andnot_si256(low, shift_from(0, from / 2)));
}

/* Stores `moved` over the nibbles [from, to) of the 32 bytes that were there. */
ALWAYS_INLINE void shift_blend_nibbles(unsigned char *bytes, __m256i there, __m256i moved,
                                       unsigned from, unsigned to)
{
	__m256i chosen = shift_load(shift_masks + 64 + from % 2 * 127 - from / 2);
	if (to < 64)
		chosen = _mm256_andnot_si256(shift_nibbles_from(to), chosen);
	shift_store(bytes, _mm256_or_si256(_mm256_and_si256(chosen, moved),
	                                   _mm256_andnot_si256(chosen, there)));
}

/* Nibble i becomes what nibble i - 1 was, from <= i < to; 0 before the first. */
ALWAYS_INLINE void shift_nibbles_up(unsigned char *bytes, unsigned from, unsigned to)
{
	const __m256i low = _mm256_set1_epi8(15);
	__m256i there = shift_load(bytes);
	__m256i odd = _mm256_andnot_si256(low, _mm256_slli_epi16(there, 4));
	__m256i even = _mm256_and_si256(low, _mm256_srli_epi16(shift_half_up(there, 1), 4));
	shift_blend_nibbles(bytes, there, _mm256_or_si256(odd, even), from, to);
}

/* Nibble i becomes what nibble i + 1 was, from <= i < to; 0 behind the last. */
ALWAYS_INLINE void shift_nibbles_down(unsigned char *bytes, unsigned from, unsigned to)
{
	const __m256i low = _mm256_set1_epi8(15);
	__m256i there = shift_load(bytes);
	__m256i odd = _mm256_andnot_si256(low, _mm256_slli_epi16(shift_half_down(there, 1), 4));
	__m256i even = _mm256_and_si256(low, _mm256_srli_epi16(there, 4));
	shift_blend_nibbles(bytes, there, _mm256_or_si256(odd, even), from, to);
}

/* Ones in the bits from a place on, of the 256 of a register, number `first` the first. */
ALWAYS_INLINE __m256i shift_bits_from(unsigned first, unsigned from)
{
	/* As numbers that stop at 0; where 64 or more are to be shifted out, nothing is left. */
	const __m256i firsts = _mm256_add_epi64(_mm256_setr_epi64x(0, 64, 128, 192),
	                                        _mm256_set1_epi64x((int)first));
	__m256i by = _mm256_subs_epu16(_mm256_set1_epi64x((int)from), firsts);
	return _mm256_sllv_epi64(_mm256_set1_epi64x(-1), by);
}

/* A number of some bits at a place, in the same part of a line. */
ALWAYS_INLINE __m256i shift_bits_at(unsigned first, unsigned place, uint64_t number)
{
	const __m256i firsts = _mm256_add_epi64(_mm256_setr_epi64x(0, 64, 128, 192),
	                                        _mm256_set1_epi64x((int)first));
	__m256i at = _mm256_set1_epi64x((int)place), all = _mm256_set1_epi64x((long long)number);
	return _mm256_or_si256(_mm256_sllv_epi64(all, _mm256_sub_epi64(at, firsts)),
	                       _mm256_srlv_epi64(all, _mm256_sub_epi64(firsts, at)));
}

/* Bits [from, to) become `moved`, but `by` of them from `from` on a number; others stay. */
ALWAYS_INLINE void shift_blend_bits_in(unsigned char *line, unsigned first, __m256i there,
                                       __m256i moved, unsigned from, unsigned to, unsigned by,
                                       uint64_t number)
{
	__m256i chosen = _mm256_andnot_si256(shift_bits_from(first * 8, to),
	                                     shift_bits_from(first * 8, from));
	moved = _mm256_and_si256(moved, shift_bits_from(first * 8, from + by));
	moved = _mm256_or_si256(moved, shift_bits_at(first * 8, from, number));
	shift_store(line + first, _mm256_or_si256(_mm256_and_si256(chosen, moved),
	                                          _mm256_andnot_si256(chosen, there)));
}

/*
 * Bit i of a line of 64 bytes becomes what bit i - by was, from + by <= i < to, and those from
 * `from` on become a number of `by` bits, 1 to 63.
 */
ALWAYS_INLINE void shift_bits_in(unsigned char *line, unsigned from, unsigned to, unsigned by,
                                 uint64_t number)
{
	const __m128i up = _mm_cvtsi32_si128((int)by), over = _mm_cvtsi32_si128(64 - (int)by);
	__m256i low = shift_load(line), high = shift_load(line + 32);
	__m256i low_below =
		_mm256_blend_epi32(_mm256_permute4x64_epi64(low, 0x90), _mm256_setzero_si256(), 3);
	__m256i low_up =
		_mm256_or_si256(_mm256_sll_epi64(low, up), _mm256_srl_epi64(low_below, over));
	__m256i high_up = _mm256_or_si256(_mm256_sll_epi64(high, up),
	                                  _mm256_srl_epi64(shift_load(line + 24), over));
	shift_blend_bits_in(line, 32, high, high_up, from, to, by, number);
	shift_blend_bits_in(line, 0, low, low_up, from, to, by, number);
}

/* Bits [from, to) become `moved`, but the last `by` of them zeros; others stay. */
ALWAYS_INLINE void shift_blend_bits_out(unsigned char *line, unsigned first, __m256i there,
                                        __m256i moved, unsigned from, unsigned to, unsigned by)
{
	__m256i chosen = _mm256_andnot_si256(shift_bits_from(first * 8, to),
	                                     shift_bits_from(first * 8, from));
	moved = _mm256_andnot_si256(shift_bits_from(first * 8, to - by), moved);
	shift_store(line + first, _mm256_or_si256(_mm256_and_si256(chosen, moved),
	                                          _mm256_andnot_si256(chosen, there)));
}

/* Bit i of a line of 64 bytes becomes what bit i + by was, from <= i < to - by; those behind zero. */
ALWAYS_INLINE void shift_bits_down(unsigned char *line, unsigned from, unsigned to, unsigned by)
{
	const __m128i down = _mm_cvtsi32_si128((int)by), over = _mm_cvtsi32_si128(64 - (int)by);
	__m256i low = shift_load(line), high = shift_load(line + 32);
	__m256i high_above = _mm256_blend_epi32(_mm256_permute4x64_epi64(high, 0x39),
	                                        _mm256_setzero_si256(), 0xc0);
	__m256i low_down = _mm256_or_si256(_mm256_srl_epi64(low, down),
	                                   _mm256_sll_epi64(shift_load(line + 8), over));
	__m256i high_down =
		_mm256_or_si256(_mm256_srl_epi64(high, down), _mm256_sll_epi64(high_above, over));
	shift_blend_bits_out(line, 32, high, high_down, from, to, by);
	shift_blend_bits_out(line, 0, low, low_down, from, to, by);
}

/* Stores `moved` over the bytes from a place on of the 16 that were there, number `first` first. */
ALWAYS_INLINE void shift_blend_few(unsigned char *bytes, unsigned first, __m128i there,
                                   __m128i moved, unsigned from)
{
	__m128i chosen = _mm256_castsi256_si128(shift_from(first, from));
	_mm_storeu_si128((__m128i *)(void *)(bytes + first), _mm_blendv_epi8(there, moved, chosen));
}

ALWAYS_INLINE __m128i shift_load_few(const unsigned char *from)
{
	return _mm_loadu_si128((const __m128i *)(const void *)from);
}
#endif

/* Byte i becomes what byte i - 1 was, from < i < size. What is read twice is written alike. */
ALWAYS_INLINE void shift_bytes_up(unsigned char *bytes, unsigned size, unsigned from)
{
#ifdef __AVX2__
	if (size <= 16) {
		memmove(bytes + from + 1, bytes + from, size - 1 - from);
		return;
	}
	if (size > 32) {
		__m256i low = shift_load(bytes), high = shift_load(bytes + size - 32);
		__m256i high_up = shift_load(bytes + size - 33);
		const unsigned char *mask = shift_mask(from + 1);
		shift_blend(bytes, 0, low, shift_half_up(low, 1), mask, size, size);
		shift_blend(bytes, size - 32, high, high_up, mask, size, size);
		return;
	}
	__m128i low = shift_load_few(bytes), high = shift_load_few(bytes + size - 16);
	__m128i high_up = shift_load_few(bytes + size - 17);
	shift_blend_few(bytes, 0, low, _mm_slli_si128(low, 1), from + 1);
	shift_blend_few(bytes, size - 16, high, high_up, from + 1);
#else
	memmove(bytes + from + 1, bytes + from, size - 1 - from);
#endif
}

#ifdef __AVX2__
/*
 * A number of `by` bytes over and over, in those from number `first` on: it begins wherever
 * the distance to byte `to` is a multiple of `by`.
 */
ALWAYS_INLINE __m256i shift_repeat(unsigned number, unsigned by, unsigned first, unsigned to)
{
	static const unsigned char thirds[34] = {
		0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1,
		2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0
	};
	if (by == 1)
		return _mm256_set1_epi8((char)number);
	if (by == 2)
		return _mm256_set1_epi16((short)(to % 2 != 0 ? number >> 8 | number << 8 : number));
	return _mm256_shuffle_epi8(_mm256_set1_epi32((int)number),
	                           shift_load(thirds + (first + 2 * to) % 3));
}

/*
 * Stores a number over `by` bytes from a place on, which is `from` in each byte, `moved` over
 * those behind them up to `to`, and keeps what was there elsewhere.
 */
ALWAYS_INLINE void shift_blend_in(unsigned char *line, unsigned first, __m256i there, __m256i moved,
                                  unsigned number, __m256i from, unsigned to, unsigned by)
{
	__m256i fresh = shift_repeat(number, by, first, to);
	__m256i chosen = _mm256_cmpgt_epi8(shift_numbers(first + 1), from);
	__m256i behind = _mm256_cmpgt_epi8(shift_numbers(first + 1 - by), from);
	if (to < first + 32)
		chosen = _mm256_andnot_si256(shift_from(first, to), chosen);
	fresh = _mm256_blendv_epi8(fresh, moved, behind);
	shift_store(line + first, _mm256_blendv_epi8(there, fresh, chosen));
}
#endif

/*
 * Byte i becomes what byte i - by was, from + by <= i < to, and those from `from` on become a
 * number of `by` bytes, 1 to 3; to - from is a multiple of it. No address depends on `from`,
 * which mostly waits for memory: a store to line[from] would delay all loads after it.
 */
ALWAYS_INLINE void shift_in(unsigned char *line, unsigned size, unsigned from, unsigned to,
                            unsigned by, unsigned number)
{
#ifdef __AVX2__
	__m256i low = shift_load(line), low_up = shift_half_up(low, by);
	__m256i at = _mm256_set1_epi8((char)from);
	if (size == 64) {
		__m256i high = shift_load(line + 32), high_up = shift_load(line + 32 - by);
		shift_blend_in(line, 32, high, high_up, number, at, to, by);
	}
	shift_blend_in(line, 0, low, low_up, number, at, to, by);
#else
	(void)size;
	memmove(line + from + by, line + from, to - by - from);
	for (unsigned i = 0; i < by; i++)
		line[from + i] = (unsigned char)(number >> 8 * i);
#endif
}

/* Byte i becomes what byte i + by was, from <= i < to; zero instead of those from `to` on. */
ALWAYS_INLINE void shift_down(unsigned char *line, unsigned size, unsigned from, unsigned to,
                              unsigned by)
{
#ifdef __AVX2__
	const unsigned char *mask = shift_mask(from);
	__m256i low = shift_load(line);
	__m256i low_down = size == 64 ? shift_load(line + by) : shift_half_down(low, by);
	if (size == 64) {
		__m256i high = shift_load(line + 32), high_down = shift_half_down(high, by);
		/* Zeros come from beyond the line of themselves. */
		shift_blend(line, 32, high, high_down, mask, to == 64 ? to : to - by, to);
	}
	shift_blend(line, 0, low, low_down, mask, to - by, to);
#else
	(void)size;
	memmove(line + from, line + from + by, to - by - from);
	memset(line + to - by, 0, by);
#endif
}

#endif

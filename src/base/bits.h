/* SPDX-License-Identifier: MIT
 *
 * bits: little-endian loads and stores, wide products, checked sizes.
 *
 * Tables are arrays of bytes that are read as little-endian words, so that the
 * same calls leave the same bytes on every machine.
 */
#ifndef NIDUS_BASE_BITS_H
#define NIDUS_BASE_BITS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Where the compiler's own choice costs speed (the first) or size (the second). */
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NEVER_INLINE static __attribute__((noinline))

/* A cache line is fetched for reading soon; any address is fine. */
#define PREFETCH(address) __builtin_prefetch((address), 0, 3)
#define PREFETCH_WRITE(address) __builtin_prefetch((address), 1, 3)

static inline uint64_t bits_swap64_on_big(uint64_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(word);
#else
	return word;
#endif
}

static inline uint32_t bits_swap32_on_big(uint32_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap32(word);
#else
	return word;
#endif
}

static inline uint64_t load64(const void *from)
{
	uint64_t word;
	memcpy(&word, from, sizeof word);
	return bits_swap64_on_big(word);
}

static inline void store64(void *to, uint64_t word)
{
	word = bits_swap64_on_big(word);
	memcpy(to, &word, sizeof word);
}

/* Byte by byte: seldom needed. */
static inline unsigned load16(const unsigned char *from)
{
	return from[0] | (unsigned)from[1] << 8;
}

static inline void store16(unsigned char *to, unsigned word)
{
	to[0] = (unsigned char)(word & 0xff);
	to[1] = (unsigned char)(word >> 8 & 0xff);
}

static inline uint32_t load32(const void *from)
{
	uint32_t word;
	memcpy(&word, from, sizeof word);
	return bits_swap32_on_big(word);
}

static inline void store32(void *to, uint32_t word)
{
	word = bits_swap32_on_big(word);
	memcpy(to, &word, sizeof word);
}

/* The low `count` bits set, for count 0 to 64. */
static inline uint64_t bits_low(unsigned count)
{
	return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

/* By 0 to 63 bits. */
static inline uint64_t rotate_right(uint64_t x, unsigned by)
{
	assert(by < 64);
	return x >> by | x << (-by & 63);
}

static inline uint64_t rotate_left(uint64_t x, unsigned by)
{
	assert(by < 64);
	return x << by | x >> (-by & 63);
}

/* The high and the low word of a * b. */
static inline uint64_t multiply_wide(uint64_t a, uint64_t b, uint64_t *low)
{
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;
	*low = (uint64_t)product;
	return (uint64_t)(product >> 64);
#else
	uint64_t a0 = (uint32_t)a, a1 = a >> 32;
	if (b <= UINT32_MAX) { /* as numbers of places are */
		*low = a * b;
		return (a1 * b + ((a0 * b) >> 32)) >> 32;
	}
	uint64_t b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t mid = a1 * b0 + ((a0 * b0) >> 32);
	uint64_t mid2 = a0 * b1 + (uint32_t)mid;
	*low = a * b;
	return a1 * b1 + (mid >> 32) + (mid2 >> 32);
#endif
}

static inline uint64_t multiply_high(uint64_t a, uint64_t b)
{
	uint64_t low;
	return multiply_wide(a, b, &low);
}

/*
 * (high * 2^64 + low) / by, rounded up; high is less than by. Undoes multiply_wide: the
 * smallest number whose product with `by` has this high word and at least this low one.
 */
static inline uint64_t divide_wide_up(uint64_t high, uint64_t low, uint64_t by)
{
	uint64_t quotient = 0, rest = high;
	assert(high < by);
	for (unsigned bit = 64; bit-- > 0;) {
		bool carry = rest >> 63;
		rest = rest << 1 | (low >> bit & 1);
		bool goes = carry || rest >= by;
		rest -= goes ? by : 0;
		quotient = quotient << 1 | goes;
	}
	return quotient + (rest != 0);
}

/* The smallest power of two that is at least n; n is at most 2^63. */
static inline uint64_t power_of_two_from(uint64_t n)
{
	assert(n <= UINT64_C(1) << 63);
	return n <= 1 ? 1 : UINT64_C(1) << (64 - __builtin_clzll(n - 1));
}

static inline bool is_power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* log2 of a power of two, or rounded down. n is not 0. */
static inline unsigned log2_floor(uint64_t n)
{
	assert(n != 0);
	return 63u - (unsigned)__builtin_clzll(n);
}

static inline uint64_t divide_up(uint64_t n, uint64_t by)
{
	assert(by != 0);
	return n / by + (n % by != 0);
}

/* True, and *sum or *product undefined, when the result does not fit. */
static inline bool add_overflows(uint64_t a, uint64_t b, uint64_t *sum)
{
	return __builtin_add_overflow(a, b, sum);
}

static inline bool multiply_overflows(uint64_t a, uint64_t b, uint64_t *product)
{
	return __builtin_mul_overflow(a, b, product);
}

#endif

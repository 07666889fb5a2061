/* SPDX-License-Identifier: MIT
 *
 * select: the place of the n-th one in a word.
 *
 * SELECT64(word, n) and POPCOUNT64(word), n counted from 0 and below 64; 64 if the word has n
 * ones or fewer. SELECT_BIT64(word, n) is that one as a bit, or 0; SELECT_BEHIND64(word, n)
 * is the bit behind the one before it, bit 0 for n = 0. PLACE64(bit) is the place of a
 * bit, 64 for none. LOWEST64(word, n) is a word's lowest n bits, n below 256. In files that are
 * compiled for processors with BMI2 both are one or two instructions; elsewhere
 * they are worked out in plain C, with the same results.
 */
#ifndef NIDUS_SIMD_SELECT_H
#define NIDUS_SIMD_SELECT_H

#include <stdint.h>

/*
 * Hides from the compiler what is known of a word: a choice between two values by a
 * mask stays one, and does not become a branch that is wrong every other time.
 */
#define OPAQUE64(word) __asm__("" : "+r"(word))

/*
 * Hides that a word in memory is what it was when it was loaded: it is loaded again where it is
 * needed next, and takes no register in between. Nothing is written.
 */
#define LOAD_AGAIN(word) __asm__("" : "+m"(*(uint64_t *)(uintptr_t)(&(word))))

/*
 * If n > than, takes others[0..2] for *one, *two and n: without a branch, where no one
 * could guess which way it goes. (Compilers turn a choice between what they have
 * loaded into a branch however it is written.)
 */
static inline void replace_if_above(uint64_t *n, uint64_t than, uint64_t other_n, uint64_t *one,
                                    uint64_t other_one, uint64_t *two, uint64_t other_two)
{
#if defined(__x86_64__) && defined(__GNUC__)
	__asm__("cmpq %[than], %[n]\n\t"
	        "cmovaq %[other_one], %[one]\n\t"
	        "cmovaq %[other_two], %[two]\n\t"
	        "cmovaq %[other_n], %[n]"
	        : [n] "+&r"(*n), [one] "+&r"(*one), [two] "+&r"(*two)
	        : [than] "r"(than), [other_n] "r"(other_n), [other_one] "rm"(other_one),
	          [other_two] "r"(other_two)
	        : "cc");
#else
	uint64_t mask = -(uint64_t)(*n > than);
	OPAQUE64(mask);
	*one ^= (*one ^ other_one) & mask;
	*two ^= (*two ^ other_two) & mask;
	*n ^= (*n ^ other_n) & mask;
#endif
}

/*
 * Adds *two to *n. If that is above 0, as signed numbers are, takes other_one for *one; otherwise
 * takes `plain` for *n and *two. Without a branch.
 */
static inline void add_or_take(uint64_t *n, uint64_t *two, uint64_t plain, uint64_t *one,
                               uint64_t other_one)
{
#if defined(__x86_64__) && defined(__GNUC__)
	__asm__("addq %[two], %[n]\n\t"
	        "cmovleq %[plain], %[n]\n\t"
	        "cmovleq %[plain], %[two]\n\t"
	        "cmovgq %[other_one], %[one]"
	        : [n] "+&r"(*n), [one] "+&r"(*one), [two] "+&r"(*two)
	        : [plain] "r"(plain), [other_one] "rm"(other_one)
	        : "cc");
#else
	uint64_t sum = *n + *two, mask = -(uint64_t)((int64_t)sum > 0);
	OPAQUE64(mask);
	*n = plain ^ ((plain ^ sum) & mask);
	*two = plain ^ ((plain ^ *two) & mask);
	*one ^= (*one ^ other_one) & mask;
#endif
}

/* If *one is 0, takes the others for it and *two, without a branch. */
static inline void replace_zero(uint64_t *one, uint64_t other_one, uint64_t *two,
                                uint64_t other_two)
{
#if defined(__x86_64__) && defined(__GNUC__)
	__asm__("testq %[one], %[one]\n\t"
	        "cmovzq %[other_one], %[one]\n\t"
	        "cmovzq %[other_two], %[two]"
	        : [one] "+&r"(*one), [two] "+&r"(*two)
	        : [other_one] "r"(other_one), [other_two] "r"(other_two)
	        : "cc");
#else
	uint64_t mask = 0 - (uint64_t)(*one == 0);
	OPAQUE64(mask);
	*one |= other_one & mask;
	*two ^= (*two ^ other_two) & mask;
#endif
}

/* If *one has no bit under the mask, takes the others for it, *two and *three, without a branch. */
static inline void replace_if_none(uint64_t mask, uint64_t *one, uint64_t other_one, uint64_t *two,
                                   uint64_t other_two, uint64_t *three, uint64_t other_three)
{
#if defined(__x86_64__) && defined(__GNUC__)
	__asm__("andq %[one], %[mask]\n\t"
	        "cmovzq %[other_one], %[one]\n\t"
	        "cmovzq %[other_two], %[two]\n\t"
	        "cmovzq %[other_three], %[three]"
	        : [one] "+&r"(*one), [two] "+&r"(*two), [three] "+&r"(*three), [mask] "+&r"(mask)
	        : [other_one] "r"(other_one), [other_two] "r"(other_two),
	          [other_three] "rm"(other_three)
	        : "cc");
#else
	uint64_t all = 0 - (uint64_t)((*one & mask) == 0);
	OPAQUE64(all);
	*one ^= (*one ^ other_one) & all;
	*two ^= (*two ^ other_two) & all;
	*three ^= (*three ^ other_three) & all;
#endif
}

/* n, or n - end where n is not below the end, without a branch. */
static inline uint64_t less_if_not_below(uint64_t n, uint64_t end)
{
#if defined(__x86_64__) && defined(__GNUC__)
	uint64_t rest = n;
	__asm__("subq %[end], %[rest]\n\t"
	        "cmovbq %[n], %[rest]"
	        : [rest] "+&r"(rest)
	        : [n] "r"(n), [end] "rm"(end)
	        : "cc");
	return rest;
#else
	/* What wraps is the greater one. */
	uint64_t rest = n - end;
	return rest < n ? rest : n;
#endif
}

/* n - less, or 0 where n is below that, without a branch. */
static inline unsigned less_or_zero(unsigned n, unsigned less)
{
#if defined(__x86_64__) && defined(__GNUC__)
	__asm__("subl %[less], %[n]\n\t"
	        "cmovbl %[zero], %[n]"
	        : [n] "+&r"(n)
	        : [less] "ri"(less), [zero] "r"(0)
	        : "cc");
	return n;
#else
	return n > less ? n - less : 0;
#endif
}

#if defined(__BMI2__) && defined(__POPCNT__)
#include <immintrin.h>

#define POPCOUNT64(word) ((unsigned)__builtin_popcountll(word))
#define SELECT64(word, n) select64_bmi2((word), (n))

#define SELECT_BIT64(word, n) _pdep_u64(UINT64_C(1) << (n), (word))
#define SELECT_BEHIND64(word, n) _pdep_u64(UINT64_C(1) << (n), (word) << 1 | 1)
#define PLACE64(bit) ((unsigned)_tzcnt_u64(bit))
#define LOWEST64(word, n) _bzhi_u64((word), (n))

/* The place of a bit, or another place if there is none, without a branch. */
static inline uint64_t place64_or(uint64_t bit, uint64_t other)
{
#if defined(__x86_64__) && defined(__GNUC__)
	uint64_t place;
	__asm__("tzcntq %[bit], %[place]\n\t"
	        "cmovcq %[other], %[place]"
	        : [place] "=&r"(place)
	        : [bit] "r"(bit), [other] "r"(other)
	        : "cc");
	return place;
#else
	return bit != 0 ? PLACE64(bit) : other;
#endif
}

static inline unsigned select64_bmi2(uint64_t word, unsigned n)
{
	return PLACE64(SELECT_BIT64(word, n));
}

#else

#define POPCOUNT64(word) popcount64_plain(word)
#define SELECT64(word, n) select64_plain((word), (n))

/* Ones in each byte of a word, side by side. */
static inline uint64_t popcount_bytes(uint64_t word)
{
	word -= word >> 1 & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
	return (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}

static inline unsigned popcount64_plain(uint64_t word)
{
	return (unsigned)(popcount_bytes(word) * UINT64_C(0x0101010101010101) >> 56);
}

/* Finds the byte by running sums of all bytes at once, then the bit in it. */
static inline unsigned select64_plain(uint64_t word, unsigned n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t sums = popcount_bytes(word) * ones; /* byte i: ones in bytes 0 to i */
	if (n >= sums >> 56)
		return 64;
	/* Bytes whose running sum is at most n come before the one that is sought. */
	uint64_t before = ((n | UINT64_C(0x80)) * ones - sums) >> 7 & ones;
	unsigned byte = (unsigned)(before * ones >> 56), shift = byte * 8;
	unsigned left = n - (byte == 0 ? 0 : (unsigned)(sums >> (shift - 8) & 255));
	uint64_t bits = word >> shift & 255;
	while (left-- > 0)
		bits &= bits - 1;
	return shift + (unsigned)__builtin_ctzll(bits);
}

#define SELECT_BIT64(word, n) select_bit64_plain((word), (n))
#define SELECT_BEHIND64(word, n) ((n) == 0 ? 1 : select_bit64_plain((word), (n)-1) << 1)
#define PLACE64(bit) ((bit) != 0 ? (unsigned)__builtin_ctzll(bit) : 64)
#define LOWEST64(word, n) lowest64_plain((word), (n))

/* Without a branch, as n is a matter of chance. */
static inline uint64_t lowest64_plain(uint64_t word, unsigned n)
{
	uint64_t mask = ~UINT64_C(0) << (n & 63), within = (uint64_t)(n / 64 != 0) - 1;
	OPAQUE64(within);
	return word & ~(mask & within);
}

static inline uint64_t select_bit64_plain(uint64_t word, unsigned n)
{
	unsigned place = select64_plain(word, n);
	return place < 64 ? UINT64_C(1) << place : 0;
}

#endif
#endif

/* SPDX-License-Identifier: MIT
 *
 * candidates: the formulas, and for those worth it four at a time.
 */
#include "candidates.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* ------------------------------------------------------------------ the pieces -- */

ALWAYS_INLINE uint64_t rotate(uint64_t x, unsigned by)
{
	return x >> by | x << (64 - by);
}

/* Both halves of a product of 128 bits, one XOR the other. */
ALWAYS_INLINE uint64_t fold(uint64_t x, uint64_t factor)
{
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)x * factor;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	uint64_t x0 = (uint32_t)x, x1 = x >> 32, f0 = (uint32_t)factor, f1 = factor >> 32;
	uint64_t middle = x1 * f0 + (x0 * f0 >> 32), other = x0 * f1 + (uint32_t)middle;
	return x * factor ^ (x1 * f1 + (middle >> 32) + (other >> 32));
#endif
}

/* A published mixer of good name, so that keys of neighbouring seeds have nothing in common. */
ALWAYS_INLINE uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	return x;
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Odd, and without a factor of 2^64 - 1 or 2^64 + 1: see hash_multiplier of the library. */
static uint64_t multiplier_from(uint64_t x)
{
	x |= 1;
	while (greatest_divisor(x, UINT64_MAX) != 1 || x % 274177 == 0 ||
	       x % UINT64_C(67280421310721) == 0)
		x += 2;
	return x;
}

struct candidate_key candidate_key_of(uint64_t seed)
{
	struct candidate_key key;
	key.before = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
	key.first = multiplier_from(mix(key.before + UINT64_C(0x9e3779b97f4a7c15)));
	key.second = multiplier_from(mix(key.first + UINT64_C(0x9e3779b97f4a7c15)));
	key.third = multiplier_from(mix(key.second + UINT64_C(0x9e3779b97f4a7c15)));
	return key;
}

/* ---------------------------------------------------------------- the formulas -- */

ALWAYS_INLINE uint64_t reference(const struct candidate_key *key, uint64_t x)
{
	x = mix(x ^ key->before);
	x = mix(rotate(x, 23) ^ key->first);
	x = mix(rotate(x, 23) ^ key->second);
	return mix(rotate(x, 23) ^ key->third);
}

ALWAYS_INLINE uint64_t rotations(const struct candidate_key *key, uint64_t x)
{
	x ^= key->before;
	x ^= rotate(x, 25) ^ rotate(x, 50);
	x *= UINT64_C(0x9fb21c651e98df25);
	x ^= key->first;
	x ^= x >> 28;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

ALWAYS_INLINE uint64_t two_folds(const struct candidate_key *key, uint64_t x)
{
	return fold(fold(x + key->before, key->first), key->second);
}

/* Why the first key is added: x and ~x collide in this one far too often. */
ALWAYS_INLINE uint64_t two_folds_of_xor(const struct candidate_key *key, uint64_t x)
{
	return fold(fold(x ^ key->before, key->first), key->second);
}

ALWAYS_INLINE uint64_t one_fold(const struct candidate_key *key, uint64_t x)
{
	return fold(x + key->before, key->first);
}

ALWAYS_INLINE uint64_t square(const struct candidate_key *key, uint64_t x)
{
	return fold(x ^ key->before, rotate(x, 32) ^ key->first);
}

ALWAYS_INLINE uint64_t fold_multiply(const struct candidate_key *key, uint64_t x)
{
	x = fold(x + key->before, key->first) * key->second;
	return x ^ x >> 32;
}

ALWAYS_INLINE uint64_t fold_shift_multiply(const struct candidate_key *key, uint64_t x)
{
	x = fold(x + key->before, key->first);
	x = (x ^ x >> 32) * key->second;
	return x ^ x >> 32;
}

ALWAYS_INLINE uint64_t two_products(const struct candidate_key *key, uint64_t x)
{
	x = (x ^ key->before) * key->first;
	x = (x ^ x >> 32) * key->second;
	return x ^ x >> 32;
}

ALWAYS_INLINE uint64_t two_known_products(const struct candidate_key *key, uint64_t x)
{
	x = (x ^ key->before) * UINT64_C(0x9fb21c651e98df25);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

ALWAYS_INLINE uint64_t three_products(const struct candidate_key *key, uint64_t x)
{
	x = (x ^ key->before) * key->first;
	x = (x ^ x >> 32) * key->second;
	return (x ^ x >> 32) * key->third;
}

ALWAYS_INLINE uint64_t swapped_products(const struct candidate_key *key, uint64_t x)
{
	x = (x ^ key->before) * key->first;
	x = __builtin_bswap64(x) * key->second;
	return __builtin_bswap64(x) * key->third;
}

/* ----------------------------------------------------------- four at a time, AVX2 -- */

#if defined(__x86_64__)
#include <immintrin.h>

#define WITH_AVX2 __attribute__((target("avx2")))
#define AVX2(name) name##_avx2

bool candidates_have_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}

#define SAME(x) _mm256_set1_epi64x((long long)(x))
#define DOWN(x, by) _mm256_srli_epi64((x), (by))
#define UP(x, by) _mm256_slli_epi64((x), (by))
#define HIGH_HALVES 0xaa /* of 64-bit lanes, for blends */

WITH_AVX2 ALWAYS_INLINE __m256i multiply_4(__m256i x, uint64_t factor)
{
	__m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(DOWN(x, 32), SAME(factor)),
	                                   _mm256_mul_epu32(x, SAME(factor >> 32)));
	return _mm256_add_epi64(_mm256_mul_epu32(x, SAME(factor)), UP(crossed, 32));
}

WITH_AVX2 ALWAYS_INLINE __m256i fold_4(__m256i x, uint64_t factor)
{
	__m256i x1 = DOWN(x, 32), f0 = SAME(factor), f1 = SAME(factor >> 32);
	__m256i low = _mm256_mul_epu32(x, f0), high = _mm256_mul_epu32(x1, f1);
	__m256i middle = _mm256_add_epi64(_mm256_mul_epu32(x1, f0), DOWN(low, 32));
	__m256i other =
		_mm256_add_epi64(_mm256_mul_epu32(x, f1),
	                         _mm256_blend_epi32(middle, _mm256_setzero_si256(), HIGH_HALVES));
	high = _mm256_add_epi64(high, _mm256_add_epi64(DOWN(middle, 32), DOWN(other, 32)));
	return _mm256_xor_si256(high, _mm256_blend_epi32(low, UP(other, 32), HIGH_HALVES));
}

WITH_AVX2 ALWAYS_INLINE __m256i shifted_4(__m256i x, int by)
{
	return _mm256_xor_si256(x, DOWN(x, by));
}

WITH_AVX2 ALWAYS_INLINE __m256i rotate_4(__m256i x, int by)
{
	return _mm256_or_si256(DOWN(x, by), UP(x, 64 - by));
}

WITH_AVX2 ALWAYS_INLINE __m256i rotations_4(const struct candidate_key *key, __m256i x)
{
	x = _mm256_xor_si256(x, SAME(key->before));
	x = _mm256_xor_si256(x, _mm256_xor_si256(rotate_4(x, 25), rotate_4(x, 50)));
	x = multiply_4(x, UINT64_C(0x9fb21c651e98df25));
	x = shifted_4(_mm256_xor_si256(x, SAME(key->first)), 28);
	return shifted_4(multiply_4(x, UINT64_C(0xd6e8feb86659fd93)), 32);
}

WITH_AVX2 ALWAYS_INLINE __m256i two_folds_4(const struct candidate_key *key, __m256i x)
{
	return fold_4(fold_4(_mm256_add_epi64(x, SAME(key->before)), key->first), key->second);
}

WITH_AVX2 ALWAYS_INLINE __m256i fold_multiply_4(const struct candidate_key *key, __m256i x)
{
	x = fold_4(_mm256_add_epi64(x, SAME(key->before)), key->first);
	return shifted_4(multiply_4(x, key->second), 32);
}

WITH_AVX2 ALWAYS_INLINE __m256i fold_shift_multiply_4(const struct candidate_key *key, __m256i x)
{
	x = fold_4(_mm256_add_epi64(x, SAME(key->before)), key->first);
	return shifted_4(multiply_4(shifted_4(x, 32), key->second), 32);
}

WITH_AVX2 ALWAYS_INLINE __m256i three_products_4(const struct candidate_key *key, __m256i x)
{
	x = multiply_4(_mm256_xor_si256(x, SAME(key->before)), key->first);
	return multiply_4(shifted_4(multiply_4(shifted_4(x, 32), key->second), 32), key->third);
}

/* `beside` more keys in each round go through the units for plain integers meanwhile. */
#define DEFINE_AVX2(name, beside)                                                                  \
	WITH_AVX2 static void name##_avx2(const struct candidate_key *given, const uint64_t *keys, \
	                                  size_t n, uint64_t *hashes)                              \
	{                                                                                          \
		struct candidate_key key = *given;                                                 \
		size_t i = 0;                                                                      \
		for (; i + 4 + (beside) <= n; i += 4 + (beside)) {                                 \
			__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(keys + i)); \
			_mm256_storeu_si256((__m256i *)(void *)(hashes + i), name##_4(&key, x));   \
			for (size_t j = i + 4; j < i + 4 + (beside); j++)                          \
				hashes[j] = name(&key, keys[j]);                                   \
		}                                                                                  \
		for (; i < n; i++)                                                                 \
			hashes[i] = name(&key, keys[i]);                                           \
	}

DEFINE_AVX2(rotations, 0)
DEFINE_AVX2(two_folds, 2)
DEFINE_AVX2(fold_multiply, 0)
DEFINE_AVX2(fold_shift_multiply, 0)
DEFINE_AVX2(three_products, 0)

#else
#define AVX2(name) NULL

bool candidates_have_avx2(void)
{
	return false;
}
#endif

/* ------------------------------------------------------------------- the list -- */

#define DEFINE(name)                                                                               \
	static uint64_t name##_hash(const struct candidate_key *key, uint64_t x)                   \
	{                                                                                          \
		return name(key, x);                                                               \
	}                                                                                          \
	static uint64_t name##_chain(const struct candidate_key *key, uint64_t x)                  \
	{                                                                                          \
		for (unsigned i = 0; i < CANDIDATE_CHAIN; i++)                                     \
			x = name(key, x);                                                          \
		return x;                                                                          \
	}                                                                                          \
	static void name##_loop(const struct candidate_key *given, const uint64_t *keys, size_t n, \
	                        uint64_t *hashes)                                                  \
	{                                                                                          \
		struct candidate_key key = *given;                                                 \
		for (size_t i = 0; i < n; i++)                                                     \
			hashes[i] = name(&key, keys[i]);                                           \
	}

DEFINE(reference)
DEFINE(rotations)
DEFINE(two_folds)
DEFINE(two_folds_of_xor)
DEFINE(one_fold)
DEFINE(square)
DEFINE(fold_multiply)
DEFINE(fold_shift_multiply)
DEFINE(two_products)
DEFINE(two_known_products)
DEFINE(three_products)
DEFINE(swapped_products)

#define CALLS(name) name##_hash, name##_chain, name##_loop

const struct candidate candidates[] = {
	{ "reference", "four rounds of a mixer with a key each", true, CALLS(reference), NULL },
	{ "two folds", "fold(fold(x + a, b), c)", false, CALLS(two_folds), AVX2(two_folds) },
	{ "two folds of XOR", "fold(fold(x ^ a, b), c)", false, CALLS(two_folds_of_xor), NULL },
	{ "rotations", "x ^= a, ^ rotr 25 ^ rotr 50, * M, ^ b, ^ >> 28, * N, ^ >> 32", true,
	  CALLS(rotations), AVX2(rotations) },
	{ "fold, shift, multiply", "fold(x + a, b), ^ >> 32, * c, ^ >> 32", false,
	  CALLS(fold_shift_multiply), AVX2(fold_shift_multiply) },
	{ "fold, multiply", "fold(x + a, b) * c, ^ >> 32", false, CALLS(fold_multiply),
	  AVX2(fold_multiply) },
	{ "three products", "(x ^ a) * b, ^ >> 32, * c, ^ >> 32, * d", true, CALLS(three_products),
	  AVX2(three_products) },
	{ "swapped products", "(x ^ a) * b, swap bytes, * c, swap bytes, * d", true,
	  CALLS(swapped_products), NULL },
	{ "two products", "(x ^ a) * b, ^ >> 32, * c, ^ >> 32", true, CALLS(two_products), NULL },
	{ "two known products", "(x ^ a) * M, ^ >> 32, * N, ^ >> 32", true,
	  CALLS(two_known_products), NULL },
	{ "one fold", "fold(x + a, b)", false, CALLS(one_fold), NULL },
	{ "square", "fold(x ^ a, rotr(x, 32) ^ b)", false, CALLS(square), NULL },
};

const size_t candidates_number = sizeof candidates / sizeof *candidates;

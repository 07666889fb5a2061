/* SPDX-License-Identifier: MIT
 *
 * hashes_avx2: six keys at a time, four of them in one vector; see hash_u64 for
 * what the steps are for.
 *
 * There is no product of 64-bit lanes: each fold takes four of 32-bit halves.
 * The units for plain integers have nothing to do meanwhile, so that two more
 * keys in them take hardly any time.
 */
#if defined(__AVX2__)

#include "simd/hashes.h"

#include <immintrin.h>

#define SHIFT_LEFT(x, by) _mm256_slli_epi64((x), (by))
#define SHIFT_RIGHT(x, by) _mm256_srli_epi64((x), (by))
#define HIGH_HALVES 0xaa /* for a blend: of each lane the high 32 bits */

/* hash_fold of four numbers. No sum of a product and a half overflows. */
ALWAYS_INLINE __m256i fold(__m256i x, uint64_t factor)
{
	const __m256i factor_low = _mm256_set1_epi64x((long long)factor);
	const __m256i factor_high = _mm256_set1_epi64x((long long)(factor >> 32));
	__m256i x_high = SHIFT_RIGHT(x, 32);
	__m256i low = _mm256_mul_epu32(x, factor_low);
	__m256i high = _mm256_mul_epu32(x_high, factor_high);
	__m256i middle =
		_mm256_add_epi64(_mm256_mul_epu32(x_high, factor_low), SHIFT_RIGHT(low, 32));
	__m256i middle_low = _mm256_blend_epi32(middle, _mm256_setzero_si256(), HIGH_HALVES);
	__m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(x, factor_high), middle_low);
	high = _mm256_add_epi64(high, SHIFT_RIGHT(middle, 32));
	high = _mm256_add_epi64(high, SHIFT_RIGHT(crossed, 32));
	low = _mm256_blend_epi32(low, SHIFT_LEFT(crossed, 32), HIGH_HALVES);
	return _mm256_xor_si256(high, low);
}

void hashes_avx2(const struct hash_key *key, const uint64_t *keys, size_t n, uint64_t *hashes)
{
	struct hash_key copy = *key;
	const __m256i before = _mm256_set1_epi64x((long long)copy.before);
	size_t i = 0;
	for (; i + 6 <= n; i += 6) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(keys + i));
		x = _mm256_add_epi64(x, before);
		x = fold(fold(x, copy.first), copy.second);
		_mm256_storeu_si256((__m256i *)(void *)(hashes + i), x);
		hashes[i + 4] = hash_u64(&copy, keys[i + 4]);
		hashes[i + 5] = hash_u64(&copy, keys[i + 5]);
	}
	for (; i < n; i++)
		hashes[i] = hash_u64(&copy, keys[i]);
}

#else
typedef int nidus_hashes_avx2_is_for_other_processors;
#endif

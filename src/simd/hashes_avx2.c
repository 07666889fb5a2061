/* SPDX-License-Identifier: MIT
 *
 * hashes_avx2: four keys at a time; see hash_u64 for what the steps are for.
 */
#if defined(__AVX2__)

#include "simd/hashes.h"

#include <immintrin.h>

#define SHIFT_RIGHT(x, by) _mm256_srli_epi64((x), (by))
#define ROTATE_RIGHT(x, by) \
	_mm256_or_si256(_mm256_srli_epi64((x), (by)), _mm256_slli_epi64((x), 64 - (by)))

/* The low halves of products: there is no such instruction for 64 bits. */
ALWAYS_INLINE __m256i multiply(__m256i x, uint64_t factor)
{
	__m256i low = _mm256_set1_epi64x((long long)factor);
	__m256i high = _mm256_set1_epi64x((long long)(factor >> 32));
	__m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(SHIFT_RIGHT(x, 32), low),
	                                   _mm256_mul_epu32(x, high));
	return _mm256_add_epi64(_mm256_mul_epu32(x, low), _mm256_slli_epi64(crossed, 32));
}

void hashes_avx2(const struct hash_key *key, const uint64_t *keys, size_t n, uint64_t *hashes)
{
	struct hash_key copy = *key;
	const __m256i before = _mm256_set1_epi64x((long long)copy.before);
	const __m256i between = _mm256_set1_epi64x((long long)copy.between);
	size_t i = 0;
	for (; i + 4 <= n; i += 4) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(keys + i));
		x = _mm256_xor_si256(x, before);
		x = _mm256_xor_si256(x, _mm256_xor_si256(ROTATE_RIGHT(x, 25), ROTATE_RIGHT(x, 50)));
		x = multiply(x, HASH_FIRST);
		x = _mm256_xor_si256(x, between);
		x = _mm256_xor_si256(x, SHIFT_RIGHT(x, 28));
		x = multiply(x, HASH_SECOND);
		x = _mm256_xor_si256(x, SHIFT_RIGHT(x, 32));
		_mm256_storeu_si256((__m256i *)(void *)(hashes + i), x);
	}
	for (; i < n; i++)
		hashes[i] = hash_u64(&copy, keys[i]);
}

#else
typedef int nidus_hashes_avx2_is_for_other_processors;
#endif

/* SPDX-License-Identifier: MIT
 *
 * blocked_avx2: for x86-64 with AVX2; compiled with it switched on and called
 * only where the processor has it. A block is two vectors, and so is a mask.
 */
#if defined(__AVX2__)

#include "bloom/blocked.h"
#include "simd/words.h"

#include <immintrin.h>

struct mask {
	__m256i low, high; /* 64-bit words 0 to 3, and 4 to 7 */
};

/* a * factor + b for the eight sectors from `first` on. */
ALWAYS_INLINE __m256i spread(struct blocked_key key, unsigned first)
{
	__m256i factors =
		_mm256_loadu_si256((const __m256i *)(const void *)(blocked_factors + first));
	return _mm256_add_epi32(_mm256_mullo_epi32(_mm256_set1_epi32((int)key.a), factors),
	                        _mm256_set1_epi32((int)key.b));
}

ALWAYS_INLINE struct mask mask_of(struct blocked_key key, unsigned probes)
{
	__m256i one = probes == 16 ? _mm256_set1_epi32(1) : _mm256_set1_epi64x(1);
	__m256i spots = spread(key, 0);
	struct mask mask;
	if (probes == 16) {
		mask.low = _mm256_sllv_epi32(one, _mm256_srli_epi32(spots, 27));
		mask.high = _mm256_sllv_epi32(one, _mm256_srli_epi32(spread(key, 8), 27));
	} else if (probes == 8) {
		spots = _mm256_srli_epi32(spots, 26);
		mask.low = _mm256_sllv_epi64(one,
		                             _mm256_cvtepu32_epi64(_mm256_castsi256_si128(spots)));
		mask.high = _mm256_sllv_epi64(
			one, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(spots, 1)));
	} else {
		/* A shift by 64 or more, or by a negative number, leaves nothing. */
		__m256i bit =
			_mm256_cvtepu32_epi64(_mm256_castsi256_si128(_mm256_srli_epi32(spots, 25)));
		mask.low = _mm256_sllv_epi64(one, bit);
		mask.high = _mm256_sllv_epi64(one, _mm256_sub_epi64(bit, _mm256_set1_epi64x(64)));
	}
	return mask;
}

ALWAYS_INLINE bool blocked_holds(const unsigned char *line, struct blocked_key key, unsigned probes)
{
	const __m256i *block = (const __m256i *)(const void *)line;
	struct mask mask = mask_of(key, probes);
	return _mm256_testc_si256(_mm256_loadu_si256(block), mask.low) &
	       _mm256_testc_si256(_mm256_loadu_si256(block + 1), mask.high);
}

ALWAYS_INLINE void blocked_put(unsigned char *line, struct blocked_key key, unsigned probes)
{
	__m256i *block = (__m256i *)(void *)line;
	struct mask mask = mask_of(key, probes);
	_mm256_storeu_si256(block, _mm256_or_si256(_mm256_loadu_si256(block), mask.low));
	_mm256_storeu_si256(block + 1, _mm256_or_si256(_mm256_loadu_si256(block + 1), mask.high));
}

ALWAYS_INLINE bool shared_holds(const unsigned char *line, struct blocked_key key, unsigned probes)
{
	struct mask mask = mask_of(key, probes);
	return _mm256_testc_si256(words_load4(line, 0), mask.low) &
	       _mm256_testc_si256(words_load4(line, 4), mask.high);
}

/* Only with the lock of the block. */
ALWAYS_INLINE void shared_put(unsigned char *line, struct blocked_key key, unsigned probes)
{
	struct mask mask = mask_of(key, probes);
	words_store4(line, 0, _mm256_or_si256(words_load4(line, 0), mask.low));
	words_store4(line, 4, _mm256_or_si256(words_load4(line, 4), mask.high));
}

#define BLOCKED_SELECT blocked_avx2
#include "bloom/blocked_ops.h"

#else
typedef int nidus_blocked_avx2_is_for_other_processors;
#endif

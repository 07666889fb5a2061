/* SPDX-License-Identifier: MIT
 *
 * hashes: the definition, and the choice of a tier.
 */
#include "simd/hashes.h"

#include "simd/isa.h"

void hashes_scalar(const struct hash_key *key, const uint64_t *keys, size_t n, uint64_t *hashes)
{
	struct hash_key copy = *key; /* which `hashes` cannot be written over */
	for (size_t i = 0; i < n; i++)
		hashes[i] = hash_u64(&copy, keys[i]);
}

void hashes_of_u64(const struct hash_key *key, const uint64_t *keys, size_t n, uint64_t *hashes)
{
#ifdef NIDUS_HAVE_AVX2
	if (isa_tier() == ISA_AVX2) {
		hashes_avx2(key, keys, n, hashes);
		return;
	}
#endif
	hashes_scalar(key, keys, n, hashes);
}

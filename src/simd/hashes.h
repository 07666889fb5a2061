/* SPDX-License-Identifier: MIT
 *
 * hashes: hash_u64 of many keys.
 */
#ifndef NIDUS_SIMD_HASHES_H
#define NIDUS_SIMD_HASHES_H

#include "base/hash.h"

/* The hashes of n keys, by the best tier; the arrays may be the same one. */
void hashes_of_u64(const struct hash_key *key, const uint64_t *keys, size_t n, uint64_t *hashes);

/* The tiers, for those who may call them. */
void hashes_scalar(const struct hash_key *key, const uint64_t *keys, size_t n, uint64_t *hashes);
#ifdef NIDUS_HAVE_AVX2
void hashes_avx2(const struct hash_key *key, const uint64_t *keys, size_t n, uint64_t *hashes);
#endif

#endif

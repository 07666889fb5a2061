/* SPDX-License-Identifier: MIT
 *
 * hash: 64-bit hashes of keys, keyed with a filter's seed.
 *
 * Bytes go through XXH3 with the seed. Integers go through a bijection of our
 * own, so that different integers never share a hash; the seed enters before
 * and between the rounds, so that no difference of two keys has a fate that is
 * known without the seed.
 */
#ifndef NIDUS_BASE_HASH_H
#define NIDUS_BASE_HASH_H

#include "base/bits.h"

/* What a seed is spread into, once per filter. */
struct hash_key {
	uint64_t seed;
	uint64_t before, between; /* for integers */
	uint64_t partner;         /* for the second place of a fingerprint */
};

/* One round of a mixer whose every output bit hangs on every input bit. */
static inline uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	return x;
}

static inline struct hash_key hash_key_of(uint64_t seed)
{
	struct hash_key key = { .seed = seed };
	key.before = hash_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
	key.between = hash_mix(key.before + UINT64_C(0x9e3779b97f4a7c15));
	key.partner = hash_mix(key.between + UINT64_C(0x9e3779b97f4a7c15));
	return key;
}

/* Odd, so that multiplying by them can be undone. */
#define HASH_FIRST UINT64_C(0x9fb21c651e98df25)
#define HASH_SECOND UINT64_C(0xd6e8feb86659fd93)

/*
 * Five invertible steps. The rotations bring the high bits of regular keys
 * (multiples of 2^32, equal halves) down to where the first product can spread
 * them; a shift alone would let some cancel out.
 */
static inline uint64_t hash_u64(const struct hash_key *key, uint64_t x)
{
	x ^= key->before;
	x ^= rotate_right(x, 25) ^ rotate_right(x, 50);
	x *= HASH_FIRST;
	x ^= key->between;
	x ^= x >> 28;
	x *= HASH_SECOND;
	x ^= x >> 32;
	return x;
}

uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t len);

/* The checksum of files: unkeyed, of any length. */
uint64_t hash_checksum(const void *bytes, size_t len);

#endif

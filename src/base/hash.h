/* SPDX-License-Identifier: MIT
 *
 * hash: 64-bit hashes of keys, keyed with a filter's seed.
 *
 * Bytes go through XXH3 with the seed, integers through two products of our own
 * whose factors are made from the seed. No difference of two keys has an effect
 * that is known without the seed. Two integers may share a hash, as two strings
 * may: with odds of about 2^-63. docs/results/hash.md compares it with others.
 */
#ifndef NIDUS_BASE_HASH_H
#define NIDUS_BASE_HASH_H

#include "base/bits.h"

/* What a seed is spread into, once per filter. */
struct hash_key {
	uint64_t before, first, second; /* for integers */
};

struct hash_key hash_key_of(uint64_t seed);

/* What the seed gives for the second place of a fingerprint. */
uint64_t hash_partner_key(const struct hash_key *key);

/* A product of 128 bits, its high half XOR its low one. */
static inline uint64_t hash_fold(uint64_t x, uint64_t factor)
{
	uint64_t low, high = multiply_wide(x, factor, &low);
	return high ^ low;
}

/*
 * A key bit reaches the bits above it through the low half of a product, and
 * those below through the high half. One fold turns consecutive keys into
 * multiples of one number, nearly, which crowd some buckets for an unlucky seed;
 * the second one scatters them. `before` is added: with XOR, x and ~x would share
 * a hash far too often.
 */
static inline uint64_t hash_u64(const struct hash_key *key, uint64_t x)
{
	return hash_fold(hash_fold(x + key->before, key->first), key->second);
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len);

/* The checksum of files: unkeyed, of any length. */
uint64_t hash_checksum(const void *bytes, size_t len);

/* The same piece by piece: begin, add the pieces in order, end. */
struct hash_stream {
	_Alignas(64) unsigned char state[640];
};
void hash_stream_begin(struct hash_stream *stream);
void hash_stream_add(struct hash_stream *stream, const void *bytes, size_t len);
uint64_t hash_stream_end(const struct hash_stream *stream);

#endif

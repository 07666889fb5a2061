/* SPDX-License-Identifier: MIT
 *
 * hash: the keys of a seed, and the parts that need xxHash, compiled in one place only.
 */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A mixer whose every output bit depends on every input bit. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	return x;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Of 2^64 - 1 or of 2^64 + 1 = 274177 * 67280421310721. */
static bool shares_a_factor(uint64_t x)
{
	return greatest_common_divisor(x, UINT64_MAX) != 1 || x % 274177 == 0 ||
	       x % UINT64_C(67280421310721) == 0;
}

/*
 * The next number from x on that is odd and shares no factor with 2^64 - 1 or
 * 2^64 + 1. With such a factor f, keys that differ by a multiple of (2^64 - 1) / f
 * would change both halves of the product alike, and the fold could cancel that.
 */
static uint64_t multiplier_from(uint64_t x)
{
	x |= 1;
	while (shares_a_factor(x))
		x += 2;
	return x;
}

static uint64_t next_key(uint64_t last)
{
	return mix(last + UINT64_C(0x9e3779b97f4a7c15));
}

struct hash_key hash_key_of(uint64_t seed)
{
	struct hash_key key;
	key.before = next_key(seed);
	key.first = multiplier_from(next_key(key.before));
	key.second = multiplier_from(next_key(key.first));
	return key;
}

uint64_t hash_partner_key(const struct hash_key *key)
{
	return next_key(key->second);
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t len)
{
	/* xxHash may form bytes + 0, which is undefined for NULL. */
	return XXH3_64bits_withSeed(len == 0 ? "" : bytes, len, seed);
}

uint64_t hash_checksum(const void *bytes, size_t len)
{
	return XXH3_64bits(len == 0 ? "" : bytes, len);
}

_Static_assert(sizeof(XXH3_state_t) <= sizeof(struct hash_stream),
               "a stream has room for its state");

void hash_stream_begin(struct hash_stream *stream)
{
	(void)XXH3_64bits_reset((XXH3_state_t *)(void *)stream->state);
}

void hash_stream_add(struct hash_stream *stream, const void *bytes, size_t len)
{
	(void)XXH3_64bits_update((XXH3_state_t *)(void *)stream->state, len == 0 ? "" : bytes, len);
}

uint64_t hash_stream_end(const struct hash_stream *stream)
{
	return XXH3_64bits_digest((const XXH3_state_t *)(const void *)stream->state);
}

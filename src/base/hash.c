/* SPDX-License-Identifier: MIT
 *
 * hash: the parts that need xxHash, compiled in one place only.
 */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hash_bytes(const struct hash_key *key, const void *bytes, size_t len)
{
	/* xxHash may form bytes + 0, which is undefined for NULL. */
	return XXH3_64bits_withSeed(len == 0 ? "" : bytes, len, key->seed);
}

uint64_t hash_checksum(const void *bytes, size_t len)
{
	return XXH3_64bits(len == 0 ? "" : bytes, len);
}

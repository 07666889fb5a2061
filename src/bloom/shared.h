/* SPDX-License-Identifier: MIT
 *
 * bloom_shared: a table of bits that threads share (NIDUS_CONCURRENT).
 *
 * Bits are only ever set, so a lookup needs no lock and no version: whatever it
 * sees of an insert under way, the bits of every key that was in before are set.
 *
 *  - spread: bits are set one by one, with an atomic "or" where a look says that
 *    one is not yet set;
 *  - blocked: a key's bits lie in one block, so one lock for the block (a stripe
 *    of the table's locks) costs less than an atomic "or" for each word. Words
 *    are stored whole, atomically, for lookups to read.
 *
 * insert_new holds the lock that belongs to its key: of several threads that come
 * with the same new key, exactly one is told OK.
 */
#ifndef NIDUS_BLOOM_SHARED_H
#define NIDUS_BLOOM_SHARED_H

#include "bloom/bloom.h"

/* The operations of the spread layout for a table with locks. */
extern const struct body_ops bloom_spread_shared_ops;

/* The lock of whatever belongs to this place of the table, or to a hash. */
static inline uint32_t *bloom_lock_at(const struct bloom *bloom, uint64_t byte)
{
	const struct stripes *stripes = &bloom->locks->stripes;
	return &stripes->stripe[stripe_of(stripes, byte)].version;
}

#endif

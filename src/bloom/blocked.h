/* SPDX-License-Identifier: MIT
 *
 * blocked: a table of bits in blocks of one cache line; a key sets bits in one
 * block only.
 *
 * A block is cut into as many sectors as a key has bits, and each sector gets
 * one of them. So a key's bits are a mask of 512 bits that few instructions
 * make, whole words at a time:
 *
 *     16 bits   16 sectors of 32 bits    sector i = 32-bit word i of the block
 *      8 bits    8 sectors of 64 bits    sector i = 64-bit word i
 *      4 bits    4 sectors of 128 bits   sector i = 64-bit words i and i + 4
 *
 * From a 64-bit hash, with B blocks:
 *
 *     hash * B = block * 2^64 + rest          the block, and what is left
 *     a = (rest * BLOCKED_SPREAD mod 2^64) / 2^32,  b = rest / 2^32
 *     the bit in sector i = (a * blocked_factors[i] + b mod 2^32) / (2^32 / sector)
 *
 * Invariant (blocked_verify): a block is all zero, or has a bit in every sector.
 */
#ifndef NIDUS_BLOOM_BLOCKED_H
#define NIDUS_BLOOM_BLOCKED_H

#include "bloom/bloom.h"

#define BLOCKED_BYTES 64
#define BLOCKED_BITS 512
#define BLOCKED_SPREAD UINT64_C(0x9e3779b97f4a7c15)
#define BLOCKED_PROBES 16 /* at most */

/* Odd, so that each is a bijection; otherwise any will do. */
extern const uint32_t blocked_factors[BLOCKED_PROBES];

/* Where a key's bits lie: the block, and what the mask is made of. */
struct blocked_key {
	uint64_t block;
	uint32_t a, b;
};

static inline struct blocked_key blocked_locate(const struct bloom *bloom, uint64_t hash)
{
	struct blocked_key key;
	uint64_t rest;
	key.block = multiply_wide(hash, bloom->groups, &rest);
	key.a = (uint32_t)((rest * BLOCKED_SPREAD) >> 32);
	key.b = (uint32_t)(rest >> 32);
	return key;
}

/* The operations for 4, 8 or 16 bits per key; NULL for another number. */
const struct body_ops *blocked_find(unsigned probes);

/* The same for a table that threads share (shared.h). */
const struct body_ops *blocked_find_shared(unsigned probes);

/* Bits set in each sector of a block. */
void blocked_sectors(const struct bloom *bloom, uint64_t block, unsigned set[BLOCKED_PROBES]);

/* Errors: E_CORRUPT. */
nidus_status blocked_verify(const struct bloom *bloom);

#endif

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
 *     rest = b * 2^32 + a                     its halves
 *     the bit in sector i = (a * blocked_factors[i] + b mod 2^32) / (2^32 / sector)
 *
 * B is odd, so that the low bits of the hash are all in a.
 *
 * Invariant (blocked_verify): a block is all zero, or has a bit in every sector.
 */
#ifndef NIDUS_BLOOM_BLOCKED_H
#define NIDUS_BLOOM_BLOCKED_H

#include "bloom/bloom.h"

#define BLOCKED_BYTES 64
#define BLOCKED_BITS 512
#define BLOCKED_PROBES 16 /* at most */

/* Odd, so that each is a bijection; otherwise any will do. Here for compilers to see. */
static const uint32_t blocked_factors[BLOCKED_PROBES] = {
	0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d,
	0xfd7046c5, 0xb55a4f09, 0x5851f42d, 0x4c957f2d, 0x14057b7f, 0xda3e39cb,
	0x94d049bb, 0xbf58476d, 0x6c078965, 0x7feb352d,
};

/* Where a key's bits lie: the block, and what the mask is made of. */
struct blocked_key {
	uint64_t block, rest;
};

/*
 * multiply_wide, but gcc keeps the words of a product in neighbouring registers and copies them
 * from there, which is a tenth of the instructions of a lookup.
 */
static inline uint64_t blocked_multiply(uint64_t a, uint64_t b, uint64_t *low)
{
#if defined(__x86_64__) && defined(__BMI2__) && !defined(__clang__)
	uint64_t high;
	__asm__("mulxq %[b], %[low], %[high]"
	        : [low] "=r"(*low), [high] "=r"(high)
	        : "d"(a), [b] "rm"(b));
	return high;
#else
	return multiply_wide(a, b, low);
#endif
}

/* What the numbers of a probe are (base/probe.h). */
enum { BLOCKED_PROBE_BYTE, BLOCKED_PROBE_REST };

/* The first step of a lookup in two: asks for the block of a hash. */
void blocked_prepare(const void *bloom, uint64_t hash, nidus_probe *probe);

static inline struct blocked_key blocked_locate(const struct bloom *bloom, uint64_t hash)
{
	struct blocked_key key;
	key.block = blocked_multiply(hash, bloom->groups, &key.rest);
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

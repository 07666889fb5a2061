/* SPDX-License-Identifier: MIT
 *
 * candidates: keyed hashes of 64-bit integers that nidus might use, to compare.
 *
 * The library's own is "two folds"; the test of bench_hash that the two are the
 * same keeps them together.
 */
#ifndef NIDUS_BENCH_CANDIDATES_H
#define NIDUS_BENCH_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a seed is spread into: an offset, and multipliers, which are odd. */
struct candidate_key {
	uint64_t before, first, second, third;
};

struct candidate_key candidate_key_of(uint64_t seed);

typedef uint64_t (*candidate_hash)(const struct candidate_key *key, uint64_t x);
typedef void (*candidate_batch)(const struct candidate_key *key, const uint64_t *keys, size_t n,
                                uint64_t *hashes);

struct candidate {
	const char *name;
	const char *what; /* the formula */
	bool bijection;
	candidate_hash hash;
	candidate_hash chain; /* the hash of the hash of ... x, CANDIDATE_CHAIN times */
	candidate_batch loop; /* in plain C */
	candidate_batch avx2; /* NULL: not written, as the hash is out for other reasons */
};

#define CANDIDATE_CHAIN 1024

extern const struct candidate candidates[];
extern const size_t candidates_number;

/* The first is no candidate but what the others are measured with: slow and sound. */
#define CANDIDATE_REFERENCE 0

/* Whether this processor can run the batches for AVX2. */
bool candidates_have_avx2(void);

#endif

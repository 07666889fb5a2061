/* SPDX-License-Identifier: MIT
 *
 * walk: how the papers insert, by random walk, in as few lines as possible.
 *
 * To compare with, and nothing else: a walk that gives up leaves an entry out.
 * Fingerprints lie in plain 16-bit slots; there is one chunk.
 */
#ifndef NIDUS_BENCH_WALK_H
#define NIDUS_BENCH_WALK_H

#include <stdbool.h>
#include <stdint.h>

enum walk_kind {
	WALK_CLASSIC, /* the first bucket, the second, then entries kicked out at random */
	WALK_BETTER,  /* better choice (BCF): into the emptier bucket, which both are counted for */
	WALK_VACUUM,  /* a look one step ahead before each kick; partners at most a range away */
	WALK_CPCF     /* a slot held back, and the look ahead from the back of each bucket */
};

struct walk {
	enum walk_kind kind;
	uint64_t buckets; /* a power of two, 32 and more */
	unsigned slots, fingerprint_bits;
	unsigned reserve; /* slots of a first bucket held back */
	unsigned max_kicks;
	uint64_t seed; /* keys the hash; changes with every kick */
	uint16_t *table;
	uint64_t relocations, kicks, checks, longest; /* longest: kicks of one relocation */
};

/* Takes memory for the table; the fields above it are set. False: out of memory. */
bool walk_create(struct walk *walk);
void walk_free(struct walk *walk);

/* False if it gave up. */
bool walk_insert(struct walk *walk, uint64_t key);

bool walk_contains(const struct walk *walk, uint64_t key);

/* False if there was no such key. */
bool walk_remove(struct walk *walk, uint64_t key);

#endif

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

struct walk {
	uint64_t buckets; /* a power of two */
	unsigned slots, fingerprint_bits;
	unsigned reserve; /* slots of a first bucket held back */
	bool ahead;       /* look one step ahead before kicking at random */
	unsigned max_kicks;
	uint64_t seed; /* keys the hash; changes with every kick */
	uint16_t *table;
	uint64_t relocations, kicks, checks;
};

/* Takes memory for the table; the fields above it are set. False: out of memory. */
bool walk_create(struct walk *walk);
void walk_free(struct walk *walk);

/* False if it gave up. */
bool walk_insert(struct walk *walk, uint64_t key);

#endif

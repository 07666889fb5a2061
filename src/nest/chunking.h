/* SPDX-License-Identifier: MIT
 *
 * chunking: how unevenly keys fall into chunks.
 *
 * Keys choose their chunk at random, so chunks get different numbers of them,
 * and the fullest one decides whether all keys fit. n keys in C chunks are n/C
 * on average with a spread of about the root of that; the fullest exceeds the
 * mean by some six spreads at the odds that we allow.
 */
#ifndef NIDUS_NEST_CHUNKING_H
#define NIDUS_NEST_CHUNKING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Keys that no chunk exceeds when `keys` fall into `chunks` at random, except
 * with odds of CHUNKING_ODDS. One chunk gets exactly all.
 */
double chunking_fullest(uint64_t keys, uint64_t chunks);

/* A third of what the capacity promise leaves. */
#define CHUNKING_ODDS 3e-7

/*
 * Entries that the stash of a chunk of so many slots may have to take in the
 * rare filter that is as uneven as that. Most of them never take one.
 */
#define CHUNKING_STASH(slots) ((slots) / 54)

/* How far chunks whose number of groups is a power of two may be filled. */
struct chunking_limits {
	uint64_t slots;     /* per group */
	unsigned log_least; /* groups per chunk, as powers of two */
	unsigned log_most;
	double mean; /* load of the average chunk */
	double full; /* load at which inserts into a chunk begin to fail */
};

/* Whether `chunks` chunks of `slots` slots hold the keys, within the limits. */
bool chunking_hold(const struct chunking_limits *limits, uint64_t keys, uint64_t chunks,
                   double slots);

/*
 * The chunks and groups that take the fewest slots for so many keys. False if
 * none will do.
 */
bool chunking_choose(const struct chunking_limits *limits, uint64_t keys, uint64_t *chunks,
                     uint64_t *groups);

#endif

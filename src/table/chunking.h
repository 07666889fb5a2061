/* SPDX-License-Identifier: MIT
 *
 * chunking: how unevenly keys fall into chunks.
 *
 * Keys choose their chunk at random, so chunks get different numbers of them,
 * and the fullest one decides whether all keys fit. n keys in C chunks are n/C
 * on average with a spread of about the root of that; the fullest exceeds the
 * mean by some six spreads at the odds that we allow.
 */
#ifndef NIDUS_TABLE_CHUNKING_H
#define NIDUS_TABLE_CHUNKING_H

#include <stdint.h>

/*
 * Keys that no chunk exceeds when `keys` fall into `chunks` at random, except
 * with odds of CHUNKING_ODDS. One chunk gets exactly all.
 */
double chunking_fullest(uint64_t keys, uint64_t chunks);

/* A tenth of what the capacity promise leaves. */
#define CHUNKING_ODDS 1e-7

#endif

/* SPDX-License-Identifier: MIT
 *
 * chunked: the paper's own formulas, for benchmarks to print beside ours.
 */
#ifndef NIDUS_FAMILY_CHUNKED_H
#define NIDUS_FAMILY_CHUNKED_H

#include <stdint.h>

/*
 * The chunks and buckets per chunk of the paper's Algorithm 1 for n keys at the
 * target load `load`, with `slots` slots per bucket and the coefficient a of
 * its Eq. 3.
 */
void chunked_algorithm_1(uint64_t n, double load, unsigned slots, double a, uint64_t *chunks,
                         uint64_t *buckets);

/* Eq. 4: kick-outs after which an insert gives up. Ours for one chunk. */
unsigned chunked_max_kicks(uint64_t chunks, uint64_t buckets, unsigned slots);

#endif

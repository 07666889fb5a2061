/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_SPANS_H
#define NIDUS_CLI_BENCH_SPANS_H

/**
 * @file bench_spans.h  How long each of many calls took, in nanoseconds.
 *
 * Counts instead of a list, so that 10^8 calls need no more room than ten. Spans up to 127 ns
 * are exact, others are rounded down by less than 1/64.
 */

#include <stdint.h>

#define SPANS_STEPS 64 /* per power of two */
#define SPANS_POWERS 40

/** Starts as all zero. */
struct spans {
	uint64_t n;
	uint64_t most;
	uint64_t count[SPANS_POWERS * SPANS_STEPS];
};

void spans_add(struct spans *spans, uint64_t nanoseconds);

/** The span that this share of all calls (0 to 1) did not exceed; 0 if there were none. */
uint64_t spans_quantile(const struct spans *spans, double share);

#endif

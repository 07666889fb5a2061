/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_SAMPLES_H
#define NIDUS_CLI_BENCH_SAMPLES_H

/** @file bench_samples.h  Repeated measurements of one thing, and what they have in common. */

/** Enough for a sample per row and round. */
#define SAMPLES_MOST 1024

/** Rates, in million keys per second. Starts as all zero. */
struct samples {
	unsigned n;
	double rate[SAMPLES_MOST];
};

struct summary {
	unsigned n; /* 0: nothing was measured, and the rest is 0 */
	double low, median, high;
};

/** Adds `keys` that took `seconds`; a sample beyond the most replaces the last one. */
void samples_add(struct samples *samples, double keys, double seconds);

struct summary samples_summary(const struct samples *samples);

#endif

/* SPDX-License-Identifier: MIT */
/* Medians: a machine that is disturbed for a moment spoils a mean, but not a median. */

#include "bench_samples.h"

#include <stdlib.h>
#include <string.h>

/* Less than any clock here can tell apart. */
#define SHORTEST 1e-9

void samples_add(struct samples *samples, double keys, double seconds)
{
	if (samples->n == SAMPLES_MOST)
		samples->n--;
	samples->rate[samples->n++] = keys / (seconds > SHORTEST ? seconds : SHORTEST) * 1e-6;
}

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

struct summary samples_summary(const struct samples *samples)
{
	struct summary summary = { .n = samples->n };
	double sorted[SAMPLES_MOST];
	unsigned middle = samples->n / 2;

	if (samples->n == 0)
		return summary;
	memcpy(sorted, samples->rate, samples->n * sizeof(sorted[0]));
	qsort(sorted, samples->n, sizeof(sorted[0]), ascending);
	summary.low = sorted[0];
	summary.high = sorted[samples->n - 1];
	summary.median =
		samples->n % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
	return summary;
}

/* SPDX-License-Identifier: MIT */
/* Spans of 2^p to 2^(p+1) ns are counted in SPANS_STEPS steps, shorter ones than that one by one. */

#include "bench_spans.h"

#include <math.h>

#define STEP_BITS 6 /* 2^6 = SPANS_STEPS */
#define LONGEST ((UINT64_C(1) << (SPANS_POWERS + STEP_BITS - 1)) - 1)

static unsigned place_of(uint64_t span)
{
	unsigned power =
		0; /* how far the span must be shifted to have STEP_BITS + 1 bits at most */

	while (span >> power >= 2 * SPANS_STEPS)
		power++;
	return power * SPANS_STEPS + (unsigned)(span >> power);
}

static uint64_t span_at(unsigned place)
{
	unsigned power = place < 2 * SPANS_STEPS ? 0 : place / SPANS_STEPS - 1;

	return (uint64_t)(place - power * SPANS_STEPS) << power;
}

void spans_add(struct spans *spans, uint64_t nanoseconds)
{
	uint64_t span = nanoseconds < LONGEST ? nanoseconds : LONGEST;

	spans->n++;
	spans->count[place_of(span)]++;
	if (nanoseconds > spans->most)
		spans->most = nanoseconds;
}

uint64_t spans_quantile(const struct spans *spans, double share)
{
	uint64_t wanted = (uint64_t)ceil(share * (double)spans->n), seen = 0;

	for (unsigned i = 0; i < SPANS_POWERS * SPANS_STEPS; i++) {
		seen += spans->count[i];
		if (spans->count[i] > 0 && seen >= wanted)
			return span_at(i);
	}
	return 0;
}

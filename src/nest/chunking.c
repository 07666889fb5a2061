/* SPDX-License-Identifier: MIT
 *
 * chunking: the tail of the binomial distribution.
 */
#include "nest/chunking.h"

#include "base/bits.h"

#include <math.h>

/*
 * How many spreads above the mean one of so many normal variables lies with
 * odds of CHUNKING_ODDS: 4.99 for one, and at most 0.13 more for each doubling.
 * A straight line instead of the exact tail, since sizes must come out the same
 * on every machine and logarithms do not.
 */
static double spreads_for(uint64_t chunks)
{
	return 4.99 + 0.13 * (log2_floor(chunks - 1) + 1);
}

double chunking_fullest(uint64_t keys, uint64_t chunks)
{
	if (chunks <= 1)
		return (double)keys;
	double mean = (double)keys / (double)chunks;
	double z = spreads_for(chunks);
	double spread = sqrt(mean * (1 - 1 / (double)chunks));
	/* The last term is the binomial's skew, which a normal variable lacks. */
	return mean + z * spread + z * z / 6 + 1;
}

bool chunking_hold(const struct chunking_limits *limits, uint64_t keys, uint64_t chunks,
                   double slots)
{
	double mean = (double)keys / (double)chunks;
	if (mean > limits->mean * slots)
		return false;
	double most = limits->full * slots + CHUNKING_STASH(slots);
	return chunks == 1 || chunking_fullest(keys, chunks) <= most;
}

bool chunking_choose(const struct chunking_limits *limits, uint64_t keys, uint64_t *chunks,
                     uint64_t *groups)
{
	double least = 0;
	for (unsigned log = limits->log_most; log >= limits->log_least; log--) {
		double slots = (double)(limits->slots << log);
		uint64_t number = (uint64_t)((double)keys / (limits->mean * slots));
		if (number < 1)
			number = 1;
		/* Small chunks of many keys never even out: give up where others won. */
		while (!chunking_hold(limits, keys, number, slots) &&
		       (least == 0 || (double)number * slots < least))
			number += 1 + number / 1024;
		if (chunking_hold(limits, keys, number, slots) &&
		    (least == 0 || (double)number * slots < least)) {
			least = (double)number * slots;
			*chunks = number;
			*groups = UINT64_C(1) << log;
		}
	}
	return least > 0;
}

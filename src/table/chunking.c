/* SPDX-License-Identifier: MIT
 *
 * chunking: the tail of the binomial distribution.
 */
#include "table/chunking.h"

#include "base/bits.h"

#include <math.h>

/*
 * How many spreads above the mean one of so many normal variables lies with
 * odds of CHUNKING_ODDS: 5.20 for one, and at most 0.13 more for each doubling.
 * A straight line instead of the exact tail, since sizes must come out the same
 * on every machine and logarithms do not.
 */
static double spreads_for(uint64_t chunks)
{
	return 5.20 + 0.13 * (log2_floor(chunks - 1) + 1);
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

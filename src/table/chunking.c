/* SPDX-License-Identifier: MIT
 *
 * chunking: the tail of the binomial distribution.
 */
#include "table/chunking.h"

#include <math.h>

/*
 * How many spreads a normal variable exceeds with the given odds, from its
 * tail's leading term exp(-z^2/2) / (z * sqrt(2 pi)), which is slightly more
 * than the tail itself.
 */
static double spreads_for(double odds)
{
	const double root_two_pi = 2.506628274631;
	double z = 6;
	for (int i = 0; i < 20; i++)
		z = sqrt(-2 * log(odds * z * root_two_pi));
	return z;
}

double chunking_fullest(uint64_t keys, uint64_t chunks)
{
	if (chunks <= 1)
		return (double)keys;
	double mean = (double)keys / (double)chunks;
	double z = spreads_for(CHUNKING_ODDS / (double)chunks);
	double spread = sqrt(mean * (1 - 1 / (double)chunks));
	/* The last term is the binomial's skew, which a normal variable lacks. */
	return mean + z * spread + z * z / 6 + 1;
}

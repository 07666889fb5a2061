/* SPDX-License-Identifier: MIT
 *
 * divisible: numbers of groups that have many divisors.
 *
 * A growing filter has places = base segments * 2^growth bits * groups for a first group, and can be
 * packed to any divisor of that product (api/pack.c): to places / q if q divides it. From places / 2 on
 * up there is none, and those that are a little less are far apart; below a sixteenth they can be close:
 * 16, 18, 20, 21, 24 ... if the groups are chosen well. The fewer gaps, the better.
 */
#include "family/family.h"

#define FIRST 16        /* of the q that count, */
#define LAST 512        /* and the last: divisors repeat, doubled */
#define SHARE_MORE 64   /* at most one group more for so many, */
#define FEW_MORE 4      /* or so many more, */
#define STEP_ENOUGH 118 /* and none for sizes that are at most so many per cent of each other */

/* What is left of the places of a plan when they are divided by a small number. */
static uint32_t places_modulo(const struct blueprint *plan, uint64_t groups, uint32_t q)
{
	uint64_t twos = UINT64_C(1) << (plan->growth_bits < 9 ? plan->growth_bits : 9);
	uint64_t left = plan->chunks % q * (groups % q) % q;
	return (uint32_t)(left * (twos % q) % q);
}

/* The largest step from size to size, in per cent, if it is below `most`; otherwise that. */
static uint32_t largest_step(const struct blueprint *plan, uint64_t groups, uint32_t most)
{
	uint32_t last = FIRST, largest = 0;
	for (uint32_t q = FIRST + 1; q <= LAST; q++) {
		uint32_t step = 100 * q / last;
		if (step >= most)
			return most;
		if (places_modulo(plan, groups, q) != 0)
			continue;
		largest = step > largest ? step : largest;
		last = q;
	}
	return largest;
}

uint64_t family_divisible(const struct blueprint *plan, uint64_t groups)
{
	uint64_t best = groups;
	uint32_t least = largest_step(plan, groups, UINT32_MAX);
	for (uint64_t more = 1;
	     least > STEP_ENOUGH && (more <= groups / SHARE_MORE || more <= FEW_MORE); more++) {
		uint32_t step = largest_step(plan, groups + more, least);
		if (step < least) {
			least = step;
			best = groups + more;
		}
	}
	return best;
}

/* SPDX-License-Identifier: MIT
 *
 * simplified: the cuckoo filter whose second cell is the first XOR the
 * fingerprint itself, with a stash.
 *
 * Paper: D. Eppstein, "Cuckoo Filter: Simplification and Analysis" (SWAT 2016).
 * It calls a bucket a cell.
 *
 * Without a hash between fingerprint and partner, the two cells of a key differ
 * in the fingerprint's bits only: the table falls into independent subtables of
 * 2^f cells (our chunks), any number of them, and inside one every pair of cells
 * is equally likely. That is what the paper's proof needs (Theorem 4.3): filters
 * of load 1 - d - d^2, where d = exp((1 - b)(1 - ln 2)), succeed with high
 * probability if b is large enough and f exceeds a multiple of log(n) / b. That
 * is 0.870 for b = 8 and 0.443 for b = 4; for b = 2 there is no such load. Ours
 * are fuller, up to the loads of limits_for, which were measured. What keeps the
 * promise of capacity is the stash.
 *
 *     subtable 1, f = 3:   cell 010 <-> 010 ^ 101 = 111    (fingerprint 101)
 *
 * 2^f cells of a wide fingerprint are too coarse for few keys. Then a subtable
 * has 2^g cells, g < f, and the lowest g bits of the fingerprint (never all
 * zero) lead to the partner; g = f is the paper's case, the only one proven.
 *
 * Stash: an entry that found no place waits as (lower cell, fingerprint) in the
 * stash of its subtable, which a lookup asks only when both cells are full. The
 * pair is all that tells keys apart anyway, so the stash adds nothing to the
 * rate (Theorem 5.1).
 *
 * The width: f > (log2 n + 20) / b, so that 2^(-fb), about the odds by which an
 * insert fails in the analysis, is below 2^-20 / n. If the rate asked for needs
 * fewer bits, that many are taken nevertheless, and the rate that they give is
 * the target: lower than asked.
 *
 * The rate: 2b * load / ((2^g - 1) * 2^(f-g)). The query of the paper's section 6,
 * all slots of a cell in one go, is what nest/shape.h does for every family.
 *
 * Not here: sizing of subtables (nest/chunking.c), slots and moves
 * (nest/nest.h, nest/search.h).
 */
#include "base/reason.h"
#include "family/nesting.h"
#include "family/registry.h"
#include "nest/chunking.h"

#define BEST_SLOTS 4
#define BEST_STEPS 2048
#define LOG_CELLS_MOST 16
#define STASH_LEAST 48
#define ODDS_BITS 20 /* log2 of one in a million */

static nidus_status limits_for(unsigned slots, struct chunking_limits *limits)
{
	*limits = (struct chunking_limits){ .slots = slots, .log_least = 1 };
	switch (slots) {
	case 2:
		limits->mean = 0.85, limits->full = 0.88;
		return NIDUS_OK;
	case 4:
		limits->mean = 0.955, limits->full = 0.972;
		return NIDUS_OK;
	case 8:
		limits->mean = 0.98, limits->full = 0.992;
		return NIDUS_OK;
	default:
		return fail(NIDUS_E_RANGE,
		            "the simplified family has 2, 4 or 8 slots per cell, not %u", slots);
	}
}

/* The smallest f that is greater than (log2 n + 20) / b. */
static unsigned analysis_bits(uint64_t keys, unsigned slots)
{
	unsigned log = log2_floor(keys) + !is_power_of_two(keys);
	return (log + ODDS_BITS) / slots + 1;
}

static double rate(const struct blueprint *plan, double load)
{
	/* Of the values of a core, those with its lowest g bits zero do not exist. */
	double all = (double)bits_low(plan->core_bits) + 1;
	double exist = all - all / (double)plan->groups;
	return nesting_rate(plan, 2.0 * plan->slots, load) * (all - 1) / exist;
}

static bool fits(const struct blueprint *plan, uint64_t keys)
{
	struct chunking_limits limits;
	struct blueprint bare = *plan;
	double slots = (double)plan->groups * plan->slots;
	if (limits_for(plan->slots, &limits) != NIDUS_OK ||
	    !chunking_hold(&limits, keys, plan->chunks, slots))
		return false;
	bare.growth_bits = 0; /* a tag gets shorter: the rate is to last without any */
	return rate(&bare, (double)keys / ((double)plan->chunks * slots)) <= plan->fpr;
}

static uint64_t stash(uint64_t chunk_slots)
{
	return STASH_LEAST + (uint64_t)CHUNKING_STASH((double)chunk_slots);
}

static const struct nesting_sizing sizing = { .fits = fits, .stash = stash };

/* The load of so many keys. */
static double load_of(const struct blueprint *plan, uint64_t keys)
{
	double slots = (double)plan->chunks * (double)plan->groups * (double)plan->slots;
	return (double)keys / slots;
}

/* Chooses subtables for a width; false if none will do. */
static bool lay_out(const nidus_options *options, struct blueprint *plan,
                    struct chunking_limits *limits)
{
	limits->log_most = plan->core_bits < LOG_CELLS_MOST ? plan->core_bits : LOG_CELLS_MOST;
	return chunking_choose(limits, options->capacity, &plan->chunks, &plan->groups);
}

static nidus_status simplified_plan(const nidus_options *options, struct blueprint *plan)
{
	struct chunking_limits limits;
	nidus_status status = nesting_check_options(options, false);
	plan->slots = options->slots != 0 ? options->slots : BEST_SLOTS;
	if (status == NIDUS_OK)
		status = limits_for(plan->slots, &limits);
	if (status != NIDUS_OK)
		return status;
	unsigned least_bits = analysis_bits(options->capacity, plan->slots);
	plan->core_bits = least_bits;
	/* Width and subtables depend on each other: widen until the rate is kept. */
	while (!lay_out(options, plan, &limits) ||
	       rate(plan, load_of(plan, options->capacity)) > plan->fpr) {
		if (++plan->core_bits > SLOTS_WIDTH_MAX)
			return fail(NIDUS_E_RANGE, "no fingerprint is long enough for this rate");
	}
	double least = rate(plan, load_of(plan, options->capacity));
	if (plan->core_bits == least_bits && least < plan->fpr / 2)
		plan->fpr = least;
	plan->capacity = options->capacity;
	nesting_complete(options, plan, &sizing, BEST_STEPS);
	return NIDUS_OK;
}

static nidus_status simplified_plan_segment(const nidus_options *options, struct blueprint *plan)
{
	struct chunking_limits limits;
	nidus_status status = nesting_check_options(options, false);
	plan->slots = options->slots != 0 ? options->slots : BEST_SLOTS;
	if (status == NIDUS_OK)
		status = limits_for(plan->slots, &limits);
	if (status != NIDUS_OK)
		return status;
	plan->core_bits = analysis_bits(options->max_capacity, plan->slots);
	nesting_lay_out_segment(options, plan, &sizing, BEST_STEPS);
	while (log2_floor(plan->groups) > plan->core_bits ||
	       rate(plan, NESTING_SEGMENT_LOAD) > plan->fpr) {
		if (++plan->core_bits > SLOTS_WIDTH_MAX)
			return fail(NIDUS_E_RANGE, "no fingerprint is long enough for this rate");
	}
	return NIDUS_OK;
}

static uint64_t simplified_segment_keys(const struct blueprint *plan)
{
	return nesting_segment_keys(plan, &sizing);
}

static struct forecast simplified_forecast(const struct blueprint *plan, uint64_t keys)
{
	struct forecast forecast = nesting_forecast(plan, keys);
	forecast.fpr = rate(plan, forecast.load);
	return forecast;
}

const struct family family_simplified = {
	NESTING_MEMBERS,
	.ranges = &nesting_ranges,
	.id = NIDUS_SIMPLIFIED,
	.name = "simplified",
	.kind = NEST_DIRECT,
	.pace = 2,
	.speed = NIDUS_SPEED_MEDIUM,
	.plan = simplified_plan,
	.plan_segment = simplified_plan_segment,
	.segment_keys = simplified_segment_keys,
	.check = nesting_check,
	.forecast = simplified_forecast,
};

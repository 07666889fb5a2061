/* SPDX-License-Identifier: MIT
 *
 * one_table: the smallest power of two that will do.
 *
 * A random table with two buckets per key holds up to 0.897 (2 slots per
 * bucket), 0.980 (4) or 0.998 (8) of its slots before inserts fail; load_limit
 * stays under that far enough for the capacity promise. `./dev soak capacity`
 * shows by how much.
 */
#include "family/one_table.h"

#include "base/reason.h"

#define BEST_STEPS 2048

/*
 * The stash takes what even a good table cannot place: keys that share both
 * buckets, in tiny tables, and more than 2b keys of one identity, in huge ones.
 */
#define STASH_LEAST 48
#define STASH_SHARE 65536 /* one more for so many slots */

/* Load up to which n distinct keys find room, but for one filter in a million. */
static double load_limit(unsigned slots)
{
	switch (slots) {
	case 2:
		return 0.86;
	case 4:
		return 0.96;
	default:
		return 0.985;
	}
}

static uint64_t keys_that_fit(unsigned slots, uint64_t buckets)
{
	/* All keys of a two-bucket table have the same 2b slots: they all count. */
	if (buckets == 2)
		return 2 * slots;
	return (uint64_t)(load_limit(slots) * (double)(slots * buckets));
}

static bool fits(const struct blueprint *plan, uint64_t keys)
{
	double slots = (double)plan->slots * (double)plan->groups;
	return keys <= keys_that_fit(plan->slots, plan->groups) &&
	       nesting_fpr(plan->core_bits, 2.0 * plan->slots, (double)keys / slots) <= plan->fpr;
}

static uint64_t stash(uint64_t chunk_slots)
{
	return STASH_LEAST + chunk_slots / STASH_SHARE;
}

static const struct nesting_sizing sizing = { .fits = fits, .stash = stash };

nidus_status one_table_plan(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = nesting_check_options(options, false);
	if (status != NIDUS_OK)
		return status;
	plan->chunks = 1;
	plan->groups = 2;
	while (keys_that_fit(plan->slots, plan->groups) < options->capacity)
		plan->groups *= 2;
	uint64_t slots = plan->slots * plan->groups;
	double load = (double)options->capacity / (double)slots;
	plan->core_bits = nesting_core_bits(plan->fpr, 2.0 * plan->slots, load);
	/* What more fits at the promised rate is promised too. */
	plan->capacity =
		nesting_keys_at_rate(plan, slots, keys_that_fit(plan->slots, plan->groups));
	if (plan->capacity < options->capacity)
		plan->capacity = options->capacity;
	nesting_complete(options, plan, &sizing, BEST_STEPS);
	return NIDUS_OK;
}

nidus_status one_table_check(const struct blueprint *plan)
{
	if (plan->chunks != 1)
		return fail(NIDUS_E_RANGE, "this family has one chunk, not %llu",
		            (unsigned long long)plan->chunks);
	return nesting_check(plan);
}

nidus_status one_table_plan_segment(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = nesting_check_options(options, false);
	if (status != NIDUS_OK)
		return status;
	plan->core_bits = nesting_core_bits(plan->fpr, 2.0 * plan->slots, NESTING_SEGMENT_LOAD);
	nesting_lay_out_segment(options, plan, &sizing, BEST_STEPS);
	return NIDUS_OK;
}

uint64_t one_table_segment_keys(const struct blueprint *plan)
{
	return nesting_segment_keys(plan, &sizing);
}

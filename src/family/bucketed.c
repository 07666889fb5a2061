/* SPDX-License-Identifier: MIT
 *
 * bucketed: cuckoo filters with any number of buckets.
 *
 * Paper: J. Schmitz, J. Zentgraf, S. Rahmann, "Smaller and More Flexible Cuckoo
 * Filters" (2025), section 3.1.
 *
 * A key has two buckets of l slots in one chunk: the first from its hash, the
 * second at a distance behind it that follows from the fingerprint, round the
 * chunk's end. Addition does not undo itself as XOR does, so a choice bit tells
 * which of the two a slot is in; in return the number of buckets is free.
 *
 *     low                      high
 *     | fingerprint, q | choice |        (2,2): k + 2 bits, q = k + 1
 *                                        (2,4): k + 3 bits, q = k + 2
 *
 * Worked example: 10 buckets, a key with first bucket 8, distance 5: its second
 * bucket is (8 + 5) mod 10 = 3. Found in bucket 3 with choice 1, the way back is
 * 3 - 5 + 10 = 8. So every slot tells its key's identity.
 *
 * The rate: a lookup compares 2l slots, but the choice bit must fit too, and the
 * shares of the two choices sum to one. An absent key matches with
 * l * load / (2^q - 1).
 *
 * With NIDUS_COMPACT the four slots of a bucket are kept sorted and coded, one bit per slot
 * less (nest/coded.h has the drawing and a worked example): (2,4) takes k + 2 bits of a slot.
 * Rate and loads are the same.
 *
 * Not here: sizing (offset.c), slots and moves (nest/nest.h, nest/search.h).
 */
#include "base/reason.h"
#include "family/offset.h"
#include "family/registry.h"

/* Thresholds of the paper's Table 2: 0.89701 for l = 2, 0.98037 for l = 4. */
static const struct offset_layout layouts[] = {
	{ .slots = 2,
	  .compared = 2,
	  .load = 0.8855,
	  .load_thin = 0.87,
	  .slack = 7.5,
	  .steps = 8192 },
	{ .slots = 4, .compared = 4, .load = 0.9660, .load_thin = 0.95, .slack = 5, .steps = 4096 },
};

#define LAYOUTS (sizeof layouts / sizeof *layouts)
#define BEST_SLOTS 4

const struct offset_layout *bucketed_layout(unsigned slots)
{
	return offset_find(layouts, LAYOUTS, slots);
}

/* The layout that the options ask for. Errors: E_RANGE. */
static nidus_status choose_layout(const nidus_options *options, const struct offset_layout **layout)
{
	unsigned slots = options->slots != 0 ? options->slots : BEST_SLOTS;
	*layout = bucketed_layout(slots);
	if (*layout == NULL)
		return fail(NIDUS_E_RANGE,
		            "the bucketed family has 2 or 4 slots per bucket, not %u", slots);
	if (options->features & NIDUS_COMPACT && slots != CODED_SLOTS)
		return fail(NIDUS_E_RANGE, "a compact filter has 4 slots per bucket, not %u",
		            slots);
	return NIDUS_OK;
}

static nidus_status bucketed_plan(const nidus_options *options, struct blueprint *plan)
{
	const struct offset_layout *layout;
	nidus_status status = choose_layout(options, &layout);
	return status == NIDUS_OK ? offset_plan(options, plan, layout) : status;
}

static nidus_status bucketed_plan_segment(const nidus_options *options, struct blueprint *plan)
{
	const struct offset_layout *layout;
	nidus_status status = choose_layout(options, &layout);
	return status == NIDUS_OK ? offset_plan_segment(options, plan, layout) : status;
}

const struct family family_bucketed = {
	NESTING_MEMBERS,
	.ranges = &nesting_ranges,
	.id = NIDUS_BUCKETED,
	.name = "bucketed",
	.kind = NEST_BUCKETS,
	.compact_kind = NEST_CODED_BUCKETS,
	.pace = 4,
	.speed = NIDUS_SPEED_MEDIUM,
	.plan = bucketed_plan,
	.plan_segment = bucketed_plan_segment,
	.segment_keys = offset_segment_keys,
	.fit_segment = offset_fit_segment,
	.pack = offset_pack,
	.check = nesting_check,
	.forecast = offset_forecast,
	.compact = true,
};

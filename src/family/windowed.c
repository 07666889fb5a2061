/* SPDX-License-Identifier: MIT
 *
 * windowed: cuckoo filters with overlapping windows.
 *
 * Paper: J. Schmitz, J. Zentgraf, S. Rahmann, "Smaller and More Flexible Cuckoo
 * Filters" (2025).
 *
 * A window is l neighbouring slots, and one starts at every slot, so that a
 * slot belongs to l windows. A key has two windows of one chunk: the first from
 * its hash, the second at a distance behind it that follows from the
 * fingerprint, round the chunk's end.
 *
 *     slot     ...  17    18    19    20    21    22  ...        l = 2
 *     windows       [17----]    [19----]    [21----]
 *                         [18----]    [20----]
 *
 * A slot keeps k bits of fingerprint, a choice bit (first or second window) and
 * log2 l offset bits (where in the window):
 *
 *     low                          high
 *     | fingerprint, k | choice | offset |            l = 2: k + 2 bits
 *
 * Worked example (l = 2): a key with window 18, fingerprint 5, distance 100 may
 * lie in slot 18 as (5, choice 0, offset 0), 19 as (5, 0, 1), 118 as (5, 1, 0)
 * or 119 as (5, 1, 1). Found in 119: offset 1 says window 118, choice 1 says
 * 100 back: the first window is 18. So every slot tells its key's identity.
 *
 * The rate: a lookup compares 2l slots, but in each only one combination of
 * choice and offset counts, and the shares of the combinations sum to one. An
 * absent key matches with keys / windows / (2^k - 1): nearly the load, as a chunk has l - 1
 * windows less than slots.
 *
 * Not here: sizing (offset.c), slots and moves (nest/nest.h, nest/search.h).
 */
#include "base/reason.h"
#include "family/offset.h"
#include "family/registry.h"

/* Thresholds of the paper's Table 2: 0.96499 for l = 2, 0.99895 for l = 4. */
static const struct offset_layout layouts[] = {
	{ .slots = 2,
	  .compared = 1,
	  .load = 0.9535,
	  .load_thin = 0.93,
	  .slack = 5.5,
	  .steps = 8192 },
	{ .slots = 4, .compared = 1, .load = 0.985, .load_thin = 0.95, .slack = 5, .steps = 4096 },
};

#define LAYOUTS (sizeof layouts / sizeof *layouts)
#define BEST_SLOTS 2

const struct offset_layout *windowed_layout(unsigned slots)
{
	return offset_find(layouts, LAYOUTS, slots);
}

/* The layout that the options ask for. Errors: E_RANGE. */
static nidus_status choose_layout(const nidus_options *options, const struct offset_layout **layout)
{
	unsigned slots = options->slots != 0 ? options->slots : BEST_SLOTS;
	*layout = windowed_layout(slots);
	if (*layout == NULL)
		return fail(NIDUS_E_RANGE,
		            "the windowed family has 2 or 4 slots per window, not %u", slots);
	return NIDUS_OK;
}

static nidus_status windowed_plan(const nidus_options *options, struct blueprint *plan)
{
	const struct offset_layout *layout;
	nidus_status status = choose_layout(options, &layout);
	return status == NIDUS_OK ? offset_plan(options, plan, layout) : status;
}

static nidus_status windowed_plan_segment(const nidus_options *options, struct blueprint *plan)
{
	const struct offset_layout *layout;
	nidus_status status = choose_layout(options, &layout);
	return status == NIDUS_OK ? offset_plan_segment(options, plan, layout) : status;
}

const struct family family_windowed = {
	NESTING_MEMBERS,
	.ranges = &nesting_ranges,
	.id = NIDUS_WINDOWED,
	.name = "windowed",
	.kind = NEST_WINDOWS,
	.pace = 3,
	.speed = NIDUS_SPEED_MEDIUM,
	.plan = windowed_plan,
	.plan_segment = windowed_plan_segment,
	.segment_keys = offset_segment_keys,
	.fit_segment = offset_fit_segment,
	.pack = offset_pack,
	.check = nesting_check,
	.forecast = offset_forecast,
};

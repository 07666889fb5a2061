/* SPDX-License-Identifier: MIT
 *
 * semisort: the cuckoo filter with sorted, coded buckets.
 *
 * Paper: B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher, "Cuckoo Filter:
 * Practically Better Than Bloom" (CoNEXT 2014), "Semi-Sorting". Figures that we compare with are those
 * of the shorter article, "Cuckoo Filter: Better Than Bloom" (2013).
 *
 * Everything is as in cuckoo.c with four slots per bucket, but a bucket of f-bit
 * fingerprints takes 4f - 4 bits instead of 4f: their order in the bucket is
 * not stored (nest/coded.h has the drawing and a worked example). At the same
 * size the fingerprint is one bit longer and the rate half; in return every
 * look at a bucket decodes it, and every change sorts it.
 *
 * The rate: 8 * load / (2^f - 1), as in cuckoo.c.
 *
 * Not here: sizing (one_table.c), slots and moves (nest/nest.h, nest/search.h).
 */
#include "base/reason.h"
#include "family/one_table.h"
#include "family/registry.h"

/* Slots per bucket. Errors: E_RANGE. */
static nidus_status choose_slots(const nidus_options *options, struct blueprint *plan)
{
	if (options->slots != 0 && options->slots != CODED_SLOTS)
		return fail(NIDUS_E_RANGE, "the semisort family has 4 slots per bucket, not %u",
		            options->slots);
	plan->slots = CODED_SLOTS;
	return NIDUS_OK;
}

static nidus_status semisort_plan(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = choose_slots(options, plan);
	return status == NIDUS_OK ? one_table_plan(options, plan) : status;
}

static nidus_status semisort_plan_segment(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = choose_slots(options, plan);
	return status == NIDUS_OK ? one_table_plan_segment(options, plan) : status;
}

const struct family family_semisort = {
	NESTING_MEMBERS,
	.id = NIDUS_SEMISORT,
	.name = "semisort",
	.kind = NEST_CODED_XOR,
	.pace = 7,
	.speed = NIDUS_SPEED_SLOW,
	.plan = semisort_plan,
	.plan_segment = semisort_plan_segment,
	.segment_keys = one_table_segment_keys,
	.check = one_table_check,
	.forecast = nesting_forecast,
};

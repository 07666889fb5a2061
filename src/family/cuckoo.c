/* SPDX-License-Identifier: MIT
 *
 * cuckoo: the classic cuckoo filter.
 *
 * Paper: B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher, "Cuckoo Filter:
 * Practically Better Than Bloom" (CoNEXT 2014). Figures that we compare with are those
 * of the shorter article, "Cuckoo Filter: Better Than Bloom" (2013).
 *
 * A key has a fingerprint of f bits and two buckets of b slots, b = 4 unless
 * asked otherwise; the fingerprint lies in any of the 2b slots.
 *
 *     bucket i             bucket i XOR H(fingerprint)
 *     [ 3a | 07 | .. | .. ]     [ 91 | 3a | 44 | .. ]         (f = 8, b = 4)
 *
 * With 2^m buckets the XOR stays in range and undoes itself, so an entry can
 * move to its other bucket without its key. That is also why the number of
 * buckets must be a power of two: for n keys the table has up to twice the
 * slots it would need. (The families bucketed and windowed lift that.)
 *
 * Worked example: b = 4, m = 2 (16 slots), key with first bucket 1, fingerprint
 * 0x3a, H(0x3a) = 3: its slots are those of bucket 1 and of bucket 1 ^ 3 = 2.
 * From bucket 2 the way back is 2 ^ 3 = 1.
 *
 * The rate: a lookup compares 2b slots, of which the share "load" is taken, and
 * an absent key's fingerprint matches with 1 / (2^f - 1), the value 0 being reserved
 * for "empty". So f is the smallest with 2b * load / (2^f - 1) <= fpr.
 *
 * Not here: sizing (one_table.c), how slots are found and moved (nest/nest.h,
 * nest/search.h).
 */
#include "base/reason.h"
#include "family/nesting.h"
#include "family/one_table.h"
#include "family/registry.h"

#define BEST_SLOTS 4

/* Slots per bucket. Errors: E_RANGE. */
static nidus_status choose_slots(const nidus_options *options, struct blueprint *plan)
{
	plan->slots = options->slots != 0 ? options->slots : BEST_SLOTS;
	if (plan->slots != 2 && plan->slots != 4 && plan->slots != 8)
		return fail(NIDUS_E_RANGE,
		            "the cuckoo family has 2, 4 or 8 slots per bucket, not %u",
		            options->slots);
	return NIDUS_OK;
}

static nidus_status cuckoo_plan(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = choose_slots(options, plan);
	return status == NIDUS_OK ? one_table_plan(options, plan) : status;
}

static nidus_status cuckoo_plan_segment(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = choose_slots(options, plan);
	return status == NIDUS_OK ? one_table_plan_segment(options, plan) : status;
}

const struct family family_cuckoo = {
	NESTING_MEMBERS,
	.id = NIDUS_CUCKOO,
	.name = "cuckoo",
	.kind = NEST_XOR,
	.pace = 6,
	.speed = NIDUS_SPEED_MEDIUM,
	.plan = cuckoo_plan,
	.plan_segment = cuckoo_plan_segment,
	.segment_keys = one_table_segment_keys,
	.check = one_table_check,
	.forecast = nesting_forecast,
};

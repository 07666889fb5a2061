/* SPDX-License-Identifier: MIT
 *
 * cuckoo: the classic cuckoo filter.
 *
 * Paper: B. Fan, D. Andersen, M. Kaminsky, M. Mitzenmacher, "Cuckoo Filter:
 * Practically Better Than Bloom" (CoNEXT 2014).
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
 * a foreign fingerprint matches with 1 / (2^f - 1), the value 0 being reserved
 * for "empty". So f is the smallest with 2b * load / (2^f - 1) <= fpr.
 *
 * The load: a random table with 2b choices holds up to 0.897 (b = 2), 0.980
 * (b = 4) or 0.997 (b = 8) of its slots before inserts fail; LOAD_LIMIT below
 * stays under that far enough for the capacity promise.
 *
 * Not here: how slots are found and moved (table/nest.h, table/search.h).
 */
#include "base/reason.h"
#include "family/nesting.h"
#include "family/registry.h"
#include "table/search.h"

#define BEST_SLOTS 4
#define BEST_STEPS 2048

/*
 * The stash takes what even a good table cannot place: keys that share both
 * buckets, in tiny tables, and more than 2b keys of one identity, in huge ones.
 */
#define STASH_LEAST 24
#define STASH_SHARE 65536 /* one more for so many slots */

/* Load up to which n distinct keys find room, but for one filter in a million. */
static double load_limit(unsigned slots)
{
	switch (slots) {
	case 2:
		return 0.87;
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

static nidus_status cuckoo_plan(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = nesting_check_options(options);
	if (status != NIDUS_OK)
		return status;
	plan->slots = options->slots != 0 ? options->slots : BEST_SLOTS;
	if (plan->slots != 2 && plan->slots != 4 && plan->slots != 8)
		return fail(NIDUS_E_RANGE, "the cuckoo family has 2, 4 or 8 slots per bucket, not %u",
		            options->slots);
	plan->chunks = 1;
	plan->groups = 2;
	while (keys_that_fit(plan->slots, plan->groups) < options->capacity) {
		plan->groups *= 2;
		if (plan->groups > UINT64_C(1) << 48)
			return fail(NIDUS_E_RANGE, "a capacity of %llu keys is more than this library can do",
			            (unsigned long long)options->capacity);
	}
	uint64_t slots = plan->slots * plan->groups;
	plan->core_bits = nesting_core_bits(plan->fpr, 2.0 * plan->slots,
	                                    (double)options->capacity / (double)slots);
	plan->max_steps = options->max_steps != 0 ? options->max_steps : BEST_STEPS;
	plan->stash_limit = nesting_stash_limit(options, STASH_LEAST + slots / STASH_SHARE);
	/* What more fits at the promised rate is promised too. */
	uint64_t fits = keys_that_fit(plan->slots, plan->groups);
	double at_rate = plan->fpr / nesting_fpr(plan->core_bits, 2.0 * plan->slots, 1.0);
	uint64_t may = (uint64_t)(at_rate * (double)slots);
	plan->capacity = may < fits ? may : fits;
	if (plan->capacity < options->capacity)
		plan->capacity = options->capacity;
	plan->max_capacity = plan->capacity;
	return NIDUS_OK;
}

static nidus_status cuckoo_check(const struct blueprint *plan)
{
	if (plan->chunks != 1)
		return fail(NIDUS_E_RANGE, "a cuckoo filter has one chunk");
	return nest_check(plan, NEST_XOR);
}

static struct forecast cuckoo_forecast(const struct blueprint *plan, uint64_t keys)
{
	struct forecast forecast = {
		.bytes = nest_table_bytes(plan, NEST_XOR),
		.total_slots = nest_total_slots(plan, NEST_XOR),
		.slot_bits = nest_slot_width(plan, NEST_XOR),
		.lines = 2,
	};
	double load = (double)keys / (double)forecast.total_slots;
	forecast.fpr = nesting_fpr(plan->core_bits + plan->growth_bits - plan->level,
	                           2.0 * plan->slots, load < 1 ? load : 1);
	return forecast;
}

static nidus_status cuckoo_create(void *body, const struct blueprint *plan,
                                  const nidus_allocator *allocator)
{
	return nest_create(body, plan, NEST_XOR, allocator);
}

const struct family family_cuckoo = {
	NESTING_MEMBERS,
	.id = NIDUS_CUCKOO,
	.name = "cuckoo",
	.features = NIDUS_DELETE | NIDUS_ENUMERATE | NIDUS_MULTISET,
	.plan = cuckoo_plan,
	.check = cuckoo_check,
	.forecast = cuckoo_forecast,
	.create = cuckoo_create,
};

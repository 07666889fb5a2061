/* SPDX-License-Identifier: MIT
 *
 * merge: one filter that holds the entries of several.
 */
#include "api/growth.h"
#include "api/shared.h"

/* Whether two filters could hold each other's entries. Errors: E_MISMATCH. */
static nidus_status check_match(const struct blueprint *a, const struct blueprint *b,
                                bool core_shrinks)
{
	if (a->family != b->family)
		return fail(NIDUS_E_MISMATCH, "the families differ: %s and %s",
		            nidus_family_name((nidus_family)a->family),
		            nidus_family_name((nidus_family)b->family));
	if (a->seed != b->seed)
		return fail(NIDUS_E_MISMATCH,
		            "the seeds differ: make both filters with the same seed");
	bool same_core = a->core_bits == b->core_bits && a->growth_bits == b->growth_bits;
	bool same_sum = a->core_bits + a->growth_bits == b->core_bits + b->growth_bits;
	if (!same_sum || (!same_core && !core_shrinks) || a->slots != b->slots)
		return fail(NIDUS_E_MISMATCH, "the fingerprints differ: %u + %u and %u + %u bits",
		            a->core_bits, a->growth_bits, b->core_bits, b->growth_bits);
	if (a->groups != b->groups || a->chunks != b->chunks)
		return fail(NIDUS_E_MISMATCH,
		            "the base sizes differ: make both filters with the same capacity and "
		            "rate");
	return NIDUS_OK;
}

/* The plan whose address bits reach further: entries of both fit in it. */
static const struct blueprint *further(const struct blueprint *a, const struct blueprint *b)
{
	if (a->level != b->level)
		return a->level > b->level ? a : b;
	return a->growth_bits >= b->growth_bits ? a : b;
}

/* The plan for both. Errors: E_RANGE. */
static nidus_status plan_joint(const nidus_filter *a, const nidus_filter *b, uint64_t capacity,
                               struct blueprint *plan)
{
	const struct family *family = a->family;
	if (family->joint != NULL)
		return family->joint(&a->plan, family->count(a->body), &b->plan,
		                     family->count(b->body), plan);
	struct blueprint base = *further(&a->plan, &b->plan);
	base.fpr = a->plan.fpr > b->plan.fpr ? a->plan.fpr : b->plan.fpr;
	return family->larger(&base, capacity, true, plan);
}

/* Makes a filter for both and fills it. Errors: as nidus_merge; FULL tells of copies. */
static nidus_status merge_into(const nidus_filter *a, const nidus_filter *b, uint64_t capacity,
                               nidus_filter **merged)
{
	struct blueprint plan;
	nidus_status status = plan_joint(a, b, capacity, &plan);
	if (status == NIDUS_OK)
		status = filter_make(a->family, &plan, &a->allocator, NULL, merged);
	if (status != NIDUS_OK)
		return status;
	status = growth_pour(*merged, a);
	if (status == NIDUS_OK)
		status = growth_pour(*merged, b);
	if (status != NIDUS_OK) {
		nidus_free(*merged);
		*merged = NULL;
	}
	return status;
}

static nidus_status merge(const nidus_filter *a, const nidus_filter *b, nidus_filter **merged)
{
	nidus_status status = check_match(&a->plan, &b->plan, a->family->core_shrinks);
	if (status != NIDUS_OK)
		return status;
	if (!(a->family->features & NIDUS_MERGE))
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot merge", a->family->name);
	status = filter_check_mapped(a);
	if (status == NIDUS_OK)
		status = filter_check_mapped(b);
	if (status != NIDUS_OK)
		return status;
	uint64_t capacity;
	if (add_overflows(a->plan.capacity, b->plan.capacity, &capacity))
		return fail(NIDUS_E_RANGE, "the capacities add up to more than any filter has");
	status = merge_into(a, b, capacity, merged);
	/* Keys that both hold come twice and crowd their slots: that takes more room. */
	for (unsigned tries = 0; status == NIDUS_FULL && tries < 3; tries++) {
		capacity *= 2;
		status = merge_into(a, b, capacity, merged);
	}
	return status;
}

nidus_status nidus_merge(const nidus_filter *a, const nidus_filter *b, nidus_filter **merged)
{
	if (merged == NULL)
		return filter_null("merged");
	*merged = NULL;
	if (a == NULL || b == NULL)
		return filter_null(a == NULL ? "a" : "b");
	shared_stop_both(a, b);
	nidus_status status = merge(a, b, merged);
	shared_go_on_both(a, b);
	return status;
}

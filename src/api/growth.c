/* SPDX-License-Identifier: MIT
 *
 * growth: a larger filter is filled from the smaller one, then they change
 * places; whatever fails before that leaves the smaller one as it was.
 */
#include "api/growth.h"

nidus_status nidus_grow(nidus_filter *filter, uint64_t capacity)
{
	nidus_status status = filter_check_writable(filter);
	if (status != NIDUS_OK || capacity <= filter->plan.capacity)
		return status;
	if (filter->family->larger == NULL)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot grow yet",
		            filter->family->name);
	struct blueprint plan;
	nidus_filter *grown;
	status = filter->family->larger(&filter->plan, capacity, false, &plan);
	if (status == NIDUS_OK)
		status = filter_make(filter->family, &plan, &filter->allocator, &grown);
	if (status != NIDUS_OK)
		return status;
	status = filter->family->pour(grown->body, filter->body);
	if (status == NIDUS_OK)
		filter_swap(filter, grown);
	nidus_free(grown);
	return status;
}

static nidus_status grow_a_step(nidus_filter *filter)
{
	const struct blueprint *plan = &filter->plan;
	bool last = plan->max_capacity / 2 < plan->capacity;
	return nidus_grow(filter, last ? plan->max_capacity : 2 * plan->capacity);
}

/*
 * A key of which there are copies already is none that room must be made for:
 * one key again and again must not grow a filter.
 */
#define COPIES_HELD 2

nidus_status growth_insert(nidus_filter *filter, uint64_t hash)
{
	nidus_status status = NIDUS_OK;
	bool full = filter->family->count(filter->body) >= filter->plan.capacity;
	bool copy = full && filter->ops->count(filter->body, hash) >= COPIES_HELD;
	if (full && !copy)
		status = grow_a_step(filter);
	if (status == NIDUS_OK)
		status = filter->ops->insert(filter->body, hash);
	if (status != NIDUS_FULL || !filter->grows)
		return status;
	if (copy || filter->ops->count(filter->body, hash) >= COPIES_HELD)
		return fail(NIDUS_COPIES, "no room for another copy of this key");
	status = grow_a_step(filter);
	return status == NIDUS_OK ? filter->ops->insert(filter->body, hash) : status;
}

/* ------------------------------------------------------------------- merging -- */

/* Whether two filters could hold each other's entries. Errors: E_MISMATCH. */
static nidus_status check_match(const struct blueprint *a, const struct blueprint *b)
{
	if (a->family != b->family)
		return fail(NIDUS_E_MISMATCH, "the families differ: %s and %s",
		            nidus_family_name((nidus_family)a->family),
		            nidus_family_name((nidus_family)b->family));
	if (a->seed != b->seed)
		return fail(NIDUS_E_MISMATCH,
		            "the seeds differ: make both filters with the same seed");
	if (a->core_bits + a->growth_bits != b->core_bits + b->growth_bits || a->slots != b->slots)
		return fail(NIDUS_E_MISMATCH, "the fingerprints differ: %u and %u bits",
		            a->core_bits + a->growth_bits, b->core_bits + b->growth_bits);
	if (a->groups != b->groups || a->chunks != b->chunks)
		return fail(NIDUS_E_MISMATCH,
		            "the base sizes differ: make both filters with the same capacity");
	return NIDUS_OK;
}

/* The plan with room for both; beyond what is reserved the rates add up. */
static nidus_status plan_for_both(const nidus_filter *a, const nidus_filter *b,
                                  struct blueprint *plan)
{
	const struct blueprint *deeper = a->plan.level >= b->plan.level ? &a->plan : &b->plan;
	struct blueprint base = *deeper;
	uint64_t capacity;
	if (add_overflows(a->plan.capacity, b->plan.capacity, &capacity))
		return fail(NIDUS_E_RANGE, "the capacities add up to more than any filter has");
	base.fpr = a->plan.fpr > b->plan.fpr ? a->plan.fpr : b->plan.fpr;
	if (base.max_capacity < a->plan.max_capacity)
		base.max_capacity = a->plan.max_capacity;
	if (base.max_capacity < b->plan.max_capacity)
		base.max_capacity = b->plan.max_capacity;
	return a->family->larger(&base, capacity, true, plan);
}

nidus_status nidus_merge(const nidus_filter *a, const nidus_filter *b, nidus_filter **merged)
{
	if (merged == NULL)
		return filter_null("merged");
	*merged = NULL;
	if (a == NULL || b == NULL)
		return filter_null(a == NULL ? "a" : "b");
	nidus_status status = check_match(&a->plan, &b->plan);
	if (status != NIDUS_OK)
		return status;
	if (a->family->larger == NULL)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot merge yet", a->family->name);
	struct blueprint plan;
	nidus_filter *both;
	status = plan_for_both(a, b, &plan);
	if (status == NIDUS_OK)
		status = filter_make(a->family, &plan, &a->allocator, &both);
	if (status != NIDUS_OK)
		return status;
	status = a->family->pour(both->body, a->body);
	if (status == NIDUS_OK)
		status = a->family->pour(both->body, b->body);
	if (status != NIDUS_OK) {
		nidus_free(both);
		return status;
	}
	*merged = both;
	return NIDUS_OK;
}

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
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot grow", filter->family->name);
	struct blueprint plan;
	nidus_filter *grown;
	status = filter->family->larger(&filter->plan, capacity, false, &plan);
	if (status != NIDUS_OK)
		return status;
	if (plan.level == filter->plan.level) { /* there is room, it was only not promised */
		filter->plan = plan;
		filter->grows = plan.max_capacity > plan.capacity;
		return NIDUS_OK;
	}
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

nidus_status growth_insert_entry(nidus_filter *filter, const nidus_entry *entry)
{
	nidus_status status = NIDUS_OK;
	if (filter->grows && filter->family->count(filter->body) >= filter->plan.capacity)
		status = grow_a_step(filter);
	if (status == NIDUS_OK)
		status = filter->family->insert_entry(filter->body, entry);
	if (status != NIDUS_FULL || !filter->grows)
		return status;
	status = grow_a_step(filter);
	return status == NIDUS_OK ? filter->family->insert_entry(filter->body, entry) : status;
}

/* ------------------------------------------------------------------- merging -- */

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
		            "the base sizes differ: make both filters with the same capacity");
	return NIDUS_OK;
}

/* The plan whose address bits reach further: entries of both fit in it. */
static const struct blueprint *further(const struct blueprint *a, const struct blueprint *b)
{
	if (a->level != b->level)
		return a->level > b->level ? a : b;
	return a->growth_bits >= b->growth_bits ? a : b;
}

/* Makes a filter for both and fills it. Errors: as nidus_merge; FULL tells of copies. */
static nidus_status merge_into(const nidus_filter *a, const nidus_filter *b, uint64_t capacity,
                               nidus_filter **merged)
{
	struct blueprint base = *further(&a->plan, &b->plan), plan;
	base.fpr = a->plan.fpr > b->plan.fpr ? a->plan.fpr : b->plan.fpr;
	nidus_status status = a->family->larger(&base, capacity, true, &plan);
	if (status == NIDUS_OK)
		status = filter_make(a->family, &plan, &a->allocator, merged);
	if (status != NIDUS_OK)
		return status;
	status = a->family->pour((*merged)->body, a->body);
	if (status == NIDUS_OK)
		status = a->family->pour((*merged)->body, b->body);
	if (status != NIDUS_OK) {
		nidus_free(*merged);
		*merged = NULL;
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
	nidus_status status = check_match(&a->plan, &b->plan, a->family->core_shrinks);
	if (status != NIDUS_OK)
		return status;
	if (a->family->larger == NULL)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot merge", a->family->name);
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

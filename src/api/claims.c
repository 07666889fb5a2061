/* SPDX-License-Identifier: MIT
 *
 * claims: a plan's capacity and rate against its table.
 *
 * The rate of a table rises with its load. At its capacity it is about the target or
 * less; a merge may promise a hair too much. On the other hand no filter has a target far
 * below the rate of its full table. The extreme is one made for a single key in the smallest
 * table there is (a breadcrumb filter of three lines: a 120th) that grew a few sizes for
 * copies. So a plan is honest within a factor, and a filter that grows from it is larger
 * than it should be by at most that factor.
 */
#include "api/claims.h"

#include "api/generations.h"
#include "api/options.h"
#include "api/recent.h"
#include "base/reason.h"

#define ROUNDING (1 + 1e-6)
#define RATE_SLACK 2     /* the rate at the capacity, as a multiple of the target */
#define SPARSE_MOST 1024 /* and that of a full table */

static nidus_status check_fields(const struct family *family, const struct blueprint *plan)
{
	if (plan->capacity == 0 || plan->max_capacity < plan->capacity || plan->seed == 0 ||
	    !(plan->fpr > 0 && plan->fpr < 1) || plan->segmented > PLAN_GENERATIONS ||
	    !recent_plan_possible(plan) ||
	    (plan->segmented && !(family->features & NIDUS_GROW)) ||
	    (plan->segmented == PLAN_GENERATIONS) != (plan->max_capacity == NIDUS_UNLIMITED) ||
	    (plan->segmented == PLAN_GENERATIONS) != (plan->stride != 0) ||
	    (plan->segmented != PLAN_GENERATIONS && plan->shares != 0) ||
	    (!plan->segmented &&
	     (plan->growth_bits != 0 || plan->max_capacity != plan->capacity)) ||
	    (plan->value_bits != 0 && !(family->features & (NIDUS_ENUMERATE | NIDUS_STATIC))) ||
	    (plan->judged != 0 && family->judge == NULL) ||
	    plan->features & ~(family->features | OPTIONS_NO_ABILITIES) ||
	    (plan->features & NIDUS_COMPACT && !family->compact) ||
	    (plan->features & NIDUS_DELETE && plan->features & NIDUS_NO_DELETE))
		return fail(NIDUS_E_FORMAT,
		            "the header's capacity, rate, seed or features make no sense");
	return NIDUS_OK;
}

/* Bloom filters have no slots to fill, and do not grow. */
static nidus_status check_load(const struct family *family, const struct blueprint *plan)
{
	uint64_t slots = family->forecast(plan, 0).total_slots;
	if (!(family->features & NIDUS_ENUMERATE))
		return NIDUS_OK;
	if (plan->segmented) /* it may borrow bits: the rate says how far */
		slots = directory_slots(family_find(family->id), plan);
	else if (plan->capacity > slots)
		return fail(NIDUS_E_FORMAT,
		            "the header promises %llu keys; the table has %llu slots",
		            (unsigned long long)plan->capacity, (unsigned long long)slots);
	if (family->forecast(plan, slots).fpr > SPARSE_MOST * plan->fpr)
		return fail(NIDUS_E_FORMAT,
		            "the header promises a rate of %g, which its fingerprints cannot give",
		            plan->fpr);
	return NIDUS_OK;
}

static nidus_status check_rate(const struct family *family, const struct blueprint *plan)
{
	double rate = family->forecast(plan, plan->max_capacity).fpr;
	/* Twice a high rate would be no bound: Bloom filters promise no hair too much. */
	double slack = family->features & NIDUS_ENUMERATE ? RATE_SLACK : ROUNDING;
	if (rate > slack * plan->fpr)
		return fail(NIDUS_E_FORMAT,
		            "the header promises a rate of %g; that of %llu keys would be %g",
		            plan->fpr, (unsigned long long)plan->max_capacity, rate);
	return NIDUS_OK;
}

/* All generations, so many times the rate of the first. */
static nidus_status check_shares(const struct family *family, const struct blueprint *plan,
                                 const struct blueprint *first)
{
	double one = family->forecast(first, first->max_capacity).fpr;
	if (one * plan->shares > RATE_SLACK * GENERATION_SHARE * plan->fpr)
		return fail(NIDUS_E_FORMAT,
		            "the header promises a rate of %g; %u eighths of %g are more",
		            plan->fpr, plan->shares, one);
	return NIDUS_OK;
}

nidus_status claims_check(const struct family *family, const struct blueprint *plan)
{
	nidus_status status = check_fields(family, plan);
	family = family_of_plan(family, plan);
	if (status == NIDUS_OK && family->check(plan) != NIDUS_OK)
		status = NIDUS_E_FORMAT; /* the reason is there already */
	struct blueprint first;
	if (status == NIDUS_OK && plan->segmented == PLAN_GENERATIONS) {
		if (!generations_plan_of(family_find(family->id), plan, 0, &first))
			return fail(NIDUS_E_FORMAT, "no generation of this plan is possible");
		family = family_of_plan(family_find(family->id), &first);
		status = check_shares(family, plan, &first);
		plan = &first; /* the others follow from it */
	}
	if (status == NIDUS_OK)
		status = check_load(family, plan);
	return status == NIDUS_OK ? check_rate(family, plan) : status;
}

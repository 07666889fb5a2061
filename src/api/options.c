/* SPDX-License-Identifier: MIT
 *
 * options: every check of what comes from outside, before anything is taken.
 */
#include "api/options.h"

#include "api/generations.h"
#include "api/recent.h"
#include "base/random.h"
#include "base/reason.h"

#include <math.h>
#include <stdio.h>

#define STRUCT_MOST 4096 /* bytes; more is no later version of nidus_options but rubbish */

nidus_status options_read(const nidus_options *from, nidus_options *to)
{
	if (from == NULL)
		return fail(NIDUS_E_ARG, "options is NULL");
	if (from->struct_size < offsetof(nidus_options, fpr) || from->struct_size > STRUCT_MOST)
		return fail(NIDUS_E_ARG,
		            "options.struct_size is not set: start from NIDUS_OPTIONS_INIT");
	size_t size = from->struct_size < sizeof *to ? from->struct_size : sizeof *to;
	memset(to, 0, sizeof *to);
	memcpy(to, from, size);
	/* A newer program may know options that this library does not. */
	const unsigned char *bytes = (const unsigned char *)from;
	for (size_t i = sizeof *to; i < from->struct_size; i++) {
		if (bytes[i] != 0)
			return fail(NIDUS_E_UNSUPPORTED,
			            "an option that this version does not know is set");
	}
	to->struct_size = sizeof *to;
	return NIDUS_OK;
}

/* The family that is asked for or, with NIDUS_STATIC, that is taken; NULL if any may be. */
static const struct family *family_wanted(const nidus_options *options)
{
	if (options->family != NIDUS_AUTO)
		return family_find(options->family);
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (options->features & (*family)->features & NIDUS_STATIC)
			return *family;
	}
	return NULL;
}

bool options_static(const nidus_options *options)
{
	const struct family *family = family_wanted(options);
	return family != NULL && family->features & NIDUS_STATIC;
}

static double fpr_least(const struct family *family)
{
	return family != NULL && family->fpr_least > 0 ? family->fpr_least : OPTIONS_FPR_LEAST;
}

static double fpr_most(const struct family *family)
{
	return family != NULL && family->fpr_most > 0 ? family->fpr_most : NIDUS_FPR_MOST;
}

static nidus_status too_low(double fpr, double least)
{
	return fail(NIDUS_E_RANGE, "an fpr of %g is too low: 2^%d (%.3g) is the least", fpr,
	            ilogb(least), least);
}

static nidus_status check_rate(nidus_options *options)
{
	const struct family *family = family_wanted(options);
	if (options->fpr == 0)
		options->fpr = OPTIONS_FPR_DEFAULT;
	/* Written so that NaN fails, too. */
	if (!(options->fpr > 0 && options->fpr < 1))
		return fail(NIDUS_E_ARG, "fpr must be a rate between 0 and 1, not %g",
		            options->fpr);
	if (options->fpr < fpr_least(family))
		return too_low(options->fpr, fpr_least(family));
	if (options->max_capacity == NIDUS_UNLIMITED && options->fpr < OPTIONS_FPR_LEAST_UNLIMITED)
		return fail(
			NIDUS_E_RANGE,
			"an fpr of %g is too low without a size: 2^%d is the least; say how many "
			"keys will come at most",
			options->fpr, ilogb(OPTIONS_FPR_LEAST_UNLIMITED));
	/* A looser target is met by the loosest filter there is. */
	if (options->fpr > fpr_most(family))
		options->fpr = fpr_most(family);
	return NIDUS_OK;
}

nidus_status options_check_allocator(const nidus_allocator *allocator)
{
	if (allocator != NULL && (allocator->alloc == NULL) != (allocator->free == NULL))
		return fail(NIDUS_E_ARG, "an allocator needs both alloc and free");
	if (allocator != NULL && allocator->alloc == NULL && allocator->alloc_zeroed != NULL)
		return fail(NIDUS_E_ARG, "an allocator with alloc_zeroed needs alloc and free too");
	return NIDUS_OK;
}

static nidus_status check_capacity(const nidus_options *options)
{
	uint64_t most = options->capacity > options->max_capacity ? options->capacity
	                                                          : options->max_capacity;
	if (options->max_capacity == NIDUS_UNLIMITED)
		most = options->capacity;
	if (most > FAMILY_CAPACITY_MOST)
		return fail(NIDUS_E_RANGE, "a capacity of %llu keys is too large: 2^%d is the most",
		            (unsigned long long)most, FAMILY_CAPACITY_MOST_LOG);
	return NIDUS_OK;
}

/* What goes with a filter that forgets, whatever its family. */
static nidus_status check_slices(const nidus_options *options)
{
	if (options->slices == 0)
		return NIDUS_OK;
	if (options->slices < 2 || options->slices > RECENT_SLICES_MOST)
		return fail(NIDUS_E_RANGE, "slices is %u; 2 to %d are possible, and 0 for none",
		            options->slices, RECENT_SLICES_MOST);
	if (options->value_bits > 0)
		return fail(NIDUS_E_UNSUPPORTED,
		            "a filter that forgets (slices) keeps no values beside its keys");
	if (options->features & (NIDUS_DELETE | NIDUS_MULTISET))
		return fail(NIDUS_E_UNSUPPORTED,
		            "a filter that forgets (slices) has a key once and cannot %s",
		            options->features & NIDUS_DELETE ? "remove" : "keep copies");
	if (options->max_capacity == NIDUS_UNLIMITED)
		return fail(NIDUS_E_UNSUPPORTED,
		            "a filter that forgets (slices) needs a max_capacity: the most keys "
		            "that are in it at a time");
	return NIDUS_OK;
}

nidus_status options_check(nidus_options *options)
{
	if (options->capacity == 0 && options->max_capacity == NIDUS_UNLIMITED)
		options->capacity = 1;
	if (options->capacity == 0)
		return fail(NIDUS_E_ARG, "capacity must be at least 1");
	if (options->max_capacity != 0 && options->max_capacity < options->capacity)
		return fail(NIDUS_E_ARG, "max_capacity is less than capacity");
	nidus_status status = check_capacity(options);
	if (status == NIDUS_OK)
		status = options_check_allocator(&options->allocator);
	if (status != NIDUS_OK)
		return status;
	if (options->features & ~(uint32_t)OPTIONS_FEATURES)
		return fail(NIDUS_E_ARG, "features has bits that mean nothing");
	if (options->features & NIDUS_DELETE && options->features & NIDUS_NO_DELETE)
		return fail(NIDUS_E_ARG,
		            "features has NIDUS_DELETE and NIDUS_NO_DELETE: choose one");
	if (options->value_bits > VALUE_BITS_MOST)
		return fail(NIDUS_E_RANGE, "value_bits is %u; values have at most %d bits",
		            options->value_bits, VALUE_BITS_MOST);
	status = check_slices(options);
	return status == NIDUS_OK ? check_rate(options) : status;
}

void options_size_for(nidus_options *options, uint64_t keys)
{
	options->capacity = keys;
	if (options->max_capacity != 0 && options->max_capacity < keys)
		options->max_capacity = keys;
}

nidus_status options_seed(nidus_options *options)
{
	return options->seed != 0 ? NIDUS_OK : random_seed(&options->seed);
}

static const char *feature_name(uint32_t feature)
{
	switch (feature) {
	case NIDUS_DELETE:
		return "delete";
	case NIDUS_ENUMERATE:
		return "enumerate";
	case NIDUS_MERGE:
		return "merge";
	case NIDUS_GROW:
		return "grow";
	case NIDUS_CONCURRENT:
		return "be shared by threads that write";
	default:
		return "keep copies";
	}
}

/* The plan of a filter that forgets: a directory, whose entries have stamps for values. */
static nidus_status plan_recent(nidus_options *options, const struct family *family,
                                struct blueprint *plan)
{
	if (!recent_family_can(family))
		return fail(NIDUS_E_UNSUPPORTED,
		            "the %s family cannot forget; bucketed, windowed and breadcrumb can",
		            family->name);
	plan->slices = (uint16_t)options->slices;
	plan->value_bits = (uint8_t)recent_bits(options->slices);
	options->value_bits = plan->value_bits;
	if (options->max_capacity == 0)
		options->max_capacity = options->capacity;
	return directory_plan(family, options, plan);
}

/* The plan of one family, for any capacity. */
static nidus_status plan_family(const nidus_options *options, const struct family *family,
                                struct blueprint *plan)
{
	uint32_t missing = options->features & ~(family->features | OPTIONS_NO_ABILITIES);
	if (options->features & NIDUS_COMPACT && !family->compact)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot be compact; bucketed can",
		            family->name);
	if (missing & NIDUS_STATIC)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family is not static; ribbon is",
		            family->name);
	if (missing != 0)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot %s", family->name,
		            feature_name(missing & -missing));
	if (options->value_bits > 0 && !(family->features & (NIDUS_ENUMERATE | NIDUS_STATIC)))
		return fail(NIDUS_E_UNSUPPORTED, "the %s family keeps no values", family->name);
	/* Another family's limits may have let it pass. */
	if (options->fpr < fpr_least(family))
		return too_low(options->fpr, fpr_least(family));
	double fpr = options->fpr < fpr_most(family) ? options->fpr : fpr_most(family);
	*plan = (struct blueprint){
		.family = (uint8_t)family->id,
		.value_bits = (uint8_t)options->value_bits,
		.features = options->features,
		.seed = options->seed,
		.fpr = fpr,
	};
	nidus_status status = check_capacity(options); /* a build may have raised it */
	nidus_options wishes = *options;
	if (wishes.slots > UINT8_MAX)
		wishes.slots = UINT8_MAX; /* no family has so many */
	if (status == NIDUS_OK && options->slices > 0)
		return plan_recent(&wishes, family, plan);
	if (status == NIDUS_OK && options->max_capacity == NIDUS_UNLIMITED)
		return generations_plan(family, &wishes, plan);
	if (status == NIDUS_OK && options->max_capacity > options->capacity)
		return directory_plan(family, &wishes, plan);
	if (status == NIDUS_OK)
		status = family->plan(&wishes, plan);
	return status == NIDUS_OK ? family->check(plan) : status;
}

static bool can_plan_for(const nidus_options *options, const struct family *family, uint64_t keys)
{
	struct blueprint plan;
	nidus_options fewer = *options;
	fewer.capacity = fewer.capacity < keys ? fewer.capacity : keys;
	fewer.max_capacity = fewer.max_capacity < keys ? fewer.max_capacity : keys;
	return plan_family(&fewer, family, &plan) == NIDUS_OK;
}

/* The most keys that a family can be planned for with these options; 0: none, whatever their number. */
static uint64_t most_keys(const nidus_options *options, const struct family *family)
{
	uint64_t can = 0, cannot = options_most(options);
	while (cannot - can > 1) {
		uint64_t keys = can + (cannot - can) / 2;
		if (can_plan_for(options, family, keys))
			can = keys;
		else
			cannot = keys;
	}
	return can;
}

nidus_status options_plan_family(const nidus_options *options, const struct family *family,
                                 struct blueprint *plan)
{
	nidus_status status = plan_family(options, family, plan);
	if (status != NIDUS_E_RANGE || !family->searches ||
	    options->max_capacity == NIDUS_UNLIMITED)
		return status;
	char why[REASON_SIZE];
	reason_copy(why, sizeof why);
	uint64_t keys = most_keys(options, family);
	return keys == 0 ? fail(status, "%s", why)
	                 : fail(status, "%s: %llu are the most", why, (unsigned long long)keys);
}

/* What follows from the plan of a family. */
static struct forecast forecast_of(const struct family *family, const struct blueprint *plan,
                                   uint64_t keys)
{
	return family_of_plan(family, plan)->forecast(plan, keys);
}

uint64_t options_most(const nidus_options *options)
{
	uint64_t most = options->max_capacity;
	if (most == NIDUS_UNLIMITED)
		most = OPTIONS_UNLIMITED_KEYS;
	return most > options->capacity ? most : options->capacity;
}

/* A family that takes less than 3 % more than the smallest may be chosen for its speed. */
static unsigned speed_that_counts(const struct family *family, uint64_t bytes, uint64_t least)
{
	return (double)bytes < 1.03 * (double)least ? family->speed : 0;
}

bool options_prefer(const nidus_options *options, uint64_t least, const struct family *a,
                    uint64_t a_bytes, const struct family *b, uint64_t b_bytes)
{
	if (options->features & NIDUS_FAST)
		return a->pace < b->pace;
	unsigned a_speed = speed_that_counts(a, a_bytes, least);
	unsigned b_speed = speed_that_counts(b, b_bytes, least);
	return a_speed != b_speed ? a_speed > b_speed : a_bytes < b_bytes;
}

bool options_may_choose(const nidus_options *options, const struct family *family)
{
	if (options->features & NIDUS_STATIC)
		return family->features & NIDUS_STATIC;
	return family->features & NIDUS_DELETE &&
	       (family->compact || !(options->features & NIDUS_COMPACT));
}

/* A family that will do. */
struct candidate {
	const struct family *family;
	struct blueprint plan;
	uint64_t bytes;
};

/* Those that NIDUS_AUTO chooses from; the complaint of the first family if there is none. */
static nidus_status find_candidates(const nidus_options *options, bool in_parts,
                                    struct candidate candidates[FAMILIES], size_t *n)
{
	nidus_status status = NIDUS_OK;
	char first[REASON_SIZE] = "";
	uint64_t most = options_most(options);
	*n = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct candidate *candidate = &candidates[*n];
		if (!options_may_choose(options, *family) ||
		    (in_parts && (*family)->ranges == NULL))
			continue;
		nidus_status tried = options_plan_family(options, *family, &candidate->plan);
		if (tried != NIDUS_OK && status == NIDUS_OK) {
			status = tried;
			snprintf(first, sizeof first, "%s", reason_text());
		}
		if (tried != NIDUS_OK)
			continue;
		candidate->family = *family;
		candidate->bytes = forecast_of(*family, &candidate->plan, most).bytes;
		++*n;
	}
	return *n > 0 ? NIDUS_OK : fail(status, "no family will do: %s", first);
}

static nidus_status plan_best(const nidus_options *options, bool in_parts,
                              const struct family **chosen, struct blueprint *plan)
{
	struct candidate candidates[FAMILIES], *best = candidates;
	size_t n;
	uint64_t least = UINT64_MAX;
	*chosen = NULL;
	nidus_status status = find_candidates(options, in_parts, candidates, &n);
	for (size_t i = 0; i < n; i++)
		least = candidates[i].bytes < least ? candidates[i].bytes : least;
	for (size_t i = 1; i < n; i++) {
		if (options_prefer(options, least, candidates[i].family, candidates[i].bytes,
		                   best->family, best->bytes))
			best = &candidates[i];
	}
	if (status != NIDUS_OK)
		return status;
	*chosen = best->family;
	*plan = best->plan;
	return NIDUS_OK;
}

/* The family that is asked for and its plan. */
static nidus_status plan_named(const nidus_options *options, const struct family **family,
                               struct blueprint *plan)
{
	*family = family_find(options->family);
	if (*family != NULL)
		return options_plan_family(options, *family, plan);
	const char *name = nidus_family_name(options->family);
	if (name == NULL)
		return fail(NIDUS_E_ARG, "%d is no family", (int)options->family);
	return fail(NIDUS_E_UNSUPPORTED, "this version does not have the %s family yet", name);
}

nidus_status options_plan(const nidus_options *options, const struct family **family,
                          struct blueprint *plan)
{
	return options->family == NIDUS_AUTO ? plan_best(options, false, family, plan)
	                                     : plan_named(options, family, plan);
}

nidus_status options_plan_in_parts(const nidus_options *options, const struct family **family,
                                   struct blueprint *plan)
{
	return options->family == NIDUS_AUTO ? plan_best(options, true, family, plan)
	                                     : plan_named(options, family, plan);
}

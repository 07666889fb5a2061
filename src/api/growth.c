/* SPDX-License-Identifier: MIT
 *
 * growth: grow, shrink and pack.
 *
 * A filter made with max_capacity grows by itself, segment by segment (api/directory.h). When told
 * to, it splits its segments beforehand. A filter of fixed size that is to hold more than it
 * was made for becomes a directory whose first segments are its chunks.
 */
#include "api/growth.h"

#include <math.h>

#include "api/directory_parts.h"
#include "api/options.h"
#include "api/shared.h"

/* ------------------------------------------------------------------- from fixed -- */

/* Entries on their way from the chunks of a fixed filter to a directory. */
static struct spread_target choose(const void *context, uint64_t chunk, uint64_t borrowed)
{
	return directory_target(context, chunk, borrowed);
}

/* Puts the entries of a filter into a directory that is a list, and may stay one. */
static nidus_status list_entries(nidus_filter *to, const nidus_filter *from)
{
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry;
	nidus_status status = NIDUS_OK;
	uint64_t hash;
	while (status == NIDUS_OK && from->family->next(filter_body(from), &cursor, &entry)) {
		status = to->family->entry_hash(filter_body(to), &entry, &hash);
		if (status == NIDUS_OK)
			status = body_insert(to->ops, filter_body(to), hash, entry.value);
	}
	return status;
}

nidus_status growth_absorb(nidus_filter *to, const nidus_filter *from)
{
	struct directory *directory = filter_directory(to);
	const struct directory *source = filter_directory(from);
	bool alike = to->plan.slices == 0; /* stamps are those of one filter */
	if (!alike ||
	    (directory->index == NULL && (source == NULL || source->index != NULL)))
		return list_entries(to, from);
	if (source != NULL)
		return directory_absorb(directory, source);
	struct spread spread = { .choose = choose,
		                 .context = directory,
		                 .borrows = directory->borrowed > 0 };
	return from->family->spread(filter_body(from), &spread);
}

nidus_status growth_make_empty(const nidus_filter *like, struct blueprint *plan,
                               nidus_filter **made)
{
	const struct family *inner = family_find(like->family->id);
	plan->segmented = 1;
	nidus_status status = family_of_plan(inner, plan)->check(plan);
	return status == NIDUS_OK ? filter_make(inner, plan, &like->allocator, NULL, made) : status;
}

/*
 * An empty directory with the base geometry of a filter; with leaves or a list.
 * Errors: E_RANGE, E_NOMEM.
 */
static nidus_status make_directory_like(const nidus_filter *filter, bool leaves,
                                        nidus_filter **made)
{
	struct blueprint plan = filter->plan;
	nidus_status status = growth_make_empty(filter, &plan, made);
	if (status != NIDUS_OK)
		return status;
	if (leaves)
		status = directory_plant(filter_directory(*made));
	if (status != NIDUS_OK) {
		nidus_free(*made);
		*made = NULL;
	}
	return status;
}

nidus_status growth_make_directory(nidus_filter *filter)
{
	nidus_filter *made;
	if (filter_directory(filter) != NULL)
		return NIDUS_OK;
	nidus_status status = make_directory_like(filter, true, &made);
	if (status != NIDUS_OK)
		return status;
	status = growth_absorb(made, filter);
	if (status != NIDUS_OK) {
		nidus_free(made);
		return status;
	}
	directory_recount(filter_directory(made));
	directory_look_after(filter_directory(made));
	filter_take_body(filter, made);
	return NIDUS_OK;
}

void growth_promise(nidus_filter *filter, uint64_t keys)
{
	struct blueprint *plan = &filter->plan;
	struct directory *directory = filter_directory(filter);
	plan->max_capacity = plan->max_capacity > keys ? plan->max_capacity : keys;
	directory->unbounded = false;
	/* A hair more, as families round in their own order. */
	double rate = filter->family->forecast(plan, keys).fpr * (1 + 0x1p-40);
	plan->fpr = plan->fpr > rate ? plan->fpr : rate;
}

/* ------------------------------------------------------------------------- grow -- */

#define RATE_MOST 0.5

/*
 * A directory of the same entries with room for so many keys, which is promised already or asked for
 * at a higher rate: bits are borrowed if none are left. Errors: E_NOMEM, FULL.
 */
static nidus_status make_sized(const nidus_filter *filter, uint64_t capacity, nidus_filter **made)
{
	const struct directory *old = filter_directory(filter);
	bool leaves = old == NULL || capacity > old->few_most;
	nidus_status status = make_directory_like(filter, leaves, made);
	if (status != NIDUS_OK)
		return status;
	if (leaves)
		status = directory_grow(filter_directory(*made), capacity, true);
	if (status == NIDUS_OK)
		status = growth_absorb(*made, filter);
	if (status == NIDUS_OK) {
		directory_recount(filter_directory(*made));
		directory_look_after(filter_directory(*made));
	} else {
		nidus_free(*made);
		*made = NULL;
	}
	return status;
}

/* Does the work of inserts beforehand, as far as the youngest generation goes. Errors: E_NOMEM. */
static nidus_status grow_generations(nidus_filter *filter, uint64_t capacity)
{
	nidus_filter *larger;
	if (capacity <= filter_capacity(filter))
		return NIDUS_OK;
	nidus_status status = filter_clone(filter, &larger);
	if (status != NIDUS_OK)
		return status;
	status = generations_grow(filter_generations(larger), capacity);
	if (status == NIDUS_OK)
		filter_take_body(filter, larger);
	else
		nidus_free(larger);
	return status;
}

static nidus_status grow(nidus_filter *filter, uint64_t capacity, bool relax)
{
	if (filter_generations(filter) != NULL)
		return grow_generations(filter, capacity);
	nidus_filter *larger;
	const struct blueprint *plan = &filter->plan;
	if (capacity > plan->max_capacity && !relax)
		return fail(NIDUS_E_RANGE,
		            "no bits are left for more than %llu keys; make the filter with a "
		            "larger max_capacity",
		            (unsigned long long)plan->max_capacity);
	if (capacity <= filter_capacity(filter))
		return NIDUS_OK;
	struct blueprint segmented = *plan;
	segmented.segmented = 1;
	const struct family *family = family_of_plan(family_find(filter->family->id), &segmented);
	if (family->forecast(&segmented, capacity).fpr > RATE_MOST)
		return fail(NIDUS_E_RANGE,
		            "%llu keys with fingerprints this short would make the "
		            "rate more than %g",
		            (unsigned long long)capacity, RATE_MOST);
	nidus_status status = make_sized(filter, capacity, &larger);
	if (status != NIDUS_OK)
		return status;
	larger->plan.capacity = capacity;
	if (capacity > plan->max_capacity || filter_directory(filter) == NULL)
		growth_promise(larger, capacity);
	filter_take_body(filter, larger);
	return NIDUS_OK;
}

static nidus_status check_growing(const nidus_filter *filter, uint64_t capacity)
{
	nidus_status status = filter_check_writable(filter);
	if (status != NIDUS_OK)
		return status;
	if (!(filter->family->features & NIDUS_GROW))
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot grow or shrink",
		            filter->family->name);
	if (capacity > FAMILY_CAPACITY_MOST)
		return fail(NIDUS_E_RANGE, "a capacity of %llu keys is too large: 2^%d is the most",
		            (unsigned long long)capacity, FAMILY_CAPACITY_MOST_LOG);
	return NIDUS_OK;
}

static nidus_status grow_stopped(nidus_filter *filter, uint64_t capacity, bool relax)
{
	nidus_status status = check_growing(filter, capacity);
	if (status != NIDUS_OK)
		return status;
	shared_stop(filter, true);
	status = grow(filter, capacity, relax);
	shared_go_on(filter);
	return status;
}

nidus_status nidus_grow(nidus_filter *filter, uint64_t capacity)
{
	return grow_stopped(filter, capacity, false);
}

nidus_status nidus_grow_relaxed(nidus_filter *filter, uint64_t capacity)
{
	return grow_stopped(filter, capacity, true);
}

/* ----------------------------------------------------------------------- shrink -- */

/* Puts the entries of a directory into the youngest generation of a filter. Errors: E_NOMEM, FULL. */
static nidus_status absorb_generation(struct generations *to, const struct directory *from)
{
	nidus_status status = generations_expect(to, directory_used(from));
	if (status == NIDUS_OK)
		status = directory_take_all(generations_youngest(to), from);
	generations_settle(to);
	return status;
}

/* Puts all generations into a filter without any, up to the last that has entries. */
static nidus_status absorb_generations(nidus_filter *to, const nidus_filter *from)
{
	const struct generations *source = filter_generations(from);
	struct generations *generations = filter_generations(to);
	unsigned n = generations_n(source);
	while (n > 1 && directory_count(generations_at(source, n - 1)) == 0)
		n--;
	nidus_status status = absorb_generation(generations, generations_at(source, 0));
	for (unsigned i = 1; i < n && status == NIDUS_OK; i++) {
		status = generations_add(generations);
		if (status == NIDUS_OK)
			status = absorb_generation(generations, generations_at(source, i));
	}
	return status;
}

/* The same entries in as few segments as have room for them and so many keys. Errors: E_NOMEM, FULL. */
static nidus_status make_shrunk(const nidus_filter *filter, uint64_t capacity, nidus_filter **made)
{
	nidus_status status =
		filter_make(filter->family, &filter->plan, &filter->allocator, NULL, made);
	if (status != NIDUS_OK)
		return status;
	struct generations *generations = filter_generations(*made);
	status = absorb_generations(*made, filter);
	if (status == NIDUS_OK)
		status = generations_grow(generations, capacity);
	if (status != NIDUS_OK) {
		nidus_free(*made);
		*made = NULL;
		return status;
	}
	struct blueprint *plan = &(*made)->plan;
	if (generations_n(generations) > 1 || capacity < plan->capacity)
		plan->capacity = generations_n(generations) > 1 ? 1 : capacity;
	return NIDUS_OK;
}

static nidus_status shrink_generations(nidus_filter *filter, uint64_t capacity)
{
	nidus_filter *smaller;
	nidus_status status = make_shrunk(filter, capacity, &smaller);
	if (status != NIDUS_OK)
		return status;
	if (smaller->family->fill(filter_body(smaller)).bytes <
	    filter->family->fill(filter_body(filter)).bytes)
		filter_take_body(filter, smaller);
	else
		nidus_free(smaller);
	return NIDUS_OK;
}

static nidus_status shrink(nidus_filter *filter, uint64_t capacity)
{
	nidus_filter *smaller;
	uint64_t count = filter->family->count(filter_body(filter));
	const struct directory *directory = filter_directory(filter);
	if (capacity != 0 && capacity < count)
		return fail(NIDUS_E_RANGE, "%llu entries are in the filter; remove some first",
		            (unsigned long long)count);
	if (filter_generations(filter) != NULL)
		return shrink_generations(filter, capacity > 0 ? capacity : count > 0 ? count : 1);
	if (directory == NULL || directory->index == NULL)
		return NIDUS_OK; /* it has no smaller size */
	capacity = capacity > count ? capacity : count > 0 ? count : 1;
	nidus_status status = make_sized(filter, capacity, &smaller);
	if (status != NIDUS_OK)
		return status;
	if (smaller->family->fill(filter_body(smaller)).bytes >= directory_fill(directory).bytes) {
		nidus_free(smaller);
		return NIDUS_OK;
	}
	if (capacity < smaller->plan.capacity)
		smaller->plan.capacity = capacity;
	filter_take_body(filter, smaller);
	return NIDUS_OK;
}

nidus_status nidus_shrink(nidus_filter *filter, uint64_t capacity)
{
	nidus_status status = check_growing(filter, capacity);
	if (status != NIDUS_OK)
		return status;
	shared_stop(filter, true);
	status = shrink(filter, capacity);
	shared_go_on(filter);
	return status;
}

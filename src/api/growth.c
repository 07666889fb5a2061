/* SPDX-License-Identifier: MIT
 *
 * growth: when a filter becomes larger, and by how much.
 *
 * By itself it grows by one level when its capacity is reached, or when an insert
 * finds no place; its entries follow little by little (api/moving.h). When told
 * to, it fills a larger body at once and takes it; whatever fails before that
 * leaves it as it was.
 */
#include "api/growth.h"

#include "api/moving.h"
#include "api/shared.h"

/* Entry by entry, at any levels. Errors: FULL, COPIES, E_NOMEM. */
static nidus_status pour_entries(nidus_filter *to, const nidus_filter *from)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_status status = NIDUS_OK;
	while (status == NIDUS_OK && moving_next(from, &cursor, &entry)) {
		uint64_t hash;
		status = to->family->entry_hash(to->body, &entry, &hash);
		if (status == NIDUS_OK)
			status = to->ops->insert(to->body, hash);
	}
	return status;
}

nidus_status growth_pour(nidus_filter *to, const nidus_filter *from)
{
	nidus_status status = NIDUS_OK;
	if (to->plan.level < from->plan.level)
		return pour_entries(to, from);
	if (moving(from))
		status = from->family->pour(to->body, from->moving.old->body);
	return status == NIDUS_OK ? from->family->pour(to->body, from->body) : status;
}

/*
 * Fills a body of another plan, with one more key unless `hash` is NULL, and takes it.
 * Errors: E_NOMEM, FULL, COPIES; the filter is as it was then.
 */
static nidus_status rebuild(nidus_filter *filter, const struct blueprint *plan,
                            const uint64_t *hash)
{
	nidus_filter *made;
	nidus_status status = filter_make(filter->family, plan, &filter->allocator, NULL, &made);
	if (status != NIDUS_OK)
		return status;
	status = growth_pour(made, filter);
	if (status == NIDUS_OK && hash != NULL)
		status = made->ops->insert(made->body, *hash);
	if (status == NIDUS_OK) {
		moving_drop(filter);
		filter_swap(filter, made);
		filter->room = 0;
	}
	nidus_free(made);
	return status;
}

#define TRIES 4 /* sizes that a rebuild looks for room in */

static bool no_room(nidus_status status)
{
	return status == NIDUS_FULL || status == NIDUS_COPIES;
}

/*
 * The same with a larger size than `from`, the next that has room for all: where
 * copies of a key crowd their slots they may not do so in another size.
 */
static nidus_status rebuild_larger(nidus_filter *filter, const struct blueprint *from, bool relax,
                                   const uint64_t *hash)
{
	struct blueprint plan = *from;
	nidus_status status = NIDUS_FULL;
	for (unsigned tries = 0; tries < TRIES; tries++) {
		struct blueprint now = plan;
		while (plan.level == now.level) {
			struct blueprint last = plan;
			if (filter->family->larger(&last, last.capacity + 1, relax, &plan) !=
			    NIDUS_OK)
				return status; /* of the last size that there is */
		}
		status = rebuild(filter, &plan, hash);
		if (!no_room(status))
			break;
	}
	return status;
}

/* The same with the same size and longer stashes, where the family has them. */
static nidus_status rebuild_roomier(nidus_filter *filter)
{
	struct blueprint plan = filter->plan;
	nidus_status status = NIDUS_FULL;
	for (unsigned tries = 0; tries < TRIES && no_room(status); tries++) {
		if (plan.stash_limit == 0 || plan.stash_limit > UINT32_MAX / 2)
			break;
		plan.stash_limit *= 2;
		status = rebuild(filter, &plan, NULL);
	}
	return status;
}

void growth_promise(nidus_filter *filter, const struct blueprint *plan)
{
	filter->plan = *plan;
	filter->grows = plan->max_capacity > plan->capacity;
	filter->room = 0;
}

static nidus_status check_growable(const nidus_filter *filter)
{
	nidus_status status = filter_check_writable(filter);
	if (status == NIDUS_OK && filter->family->larger == NULL)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot grow or shrink",
		            filter->family->name);
	return status;
}

static nidus_status grow_alone(nidus_filter *filter, uint64_t capacity, bool relax)
{
	if (capacity <= filter->plan.capacity) {
		(void)moving_finish(filter); /* what has to stay may stay */
		return NIDUS_OK;
	}
	struct blueprint plan;
	nidus_status status = filter->family->larger(&filter->plan, capacity, relax, &plan);
	if (status != NIDUS_OK)
		return status;
	if (plan.level != filter->plan.level) {
		status = rebuild(filter, &plan, NULL);
		return no_room(status) ? rebuild_larger(filter, &plan, relax, NULL) : status;
	}
	(void)moving_finish(filter);
	growth_promise(filter, &plan);
	return NIDUS_OK;
}

static nidus_status grow_to(nidus_filter *filter, uint64_t capacity, bool relax)
{
	nidus_status status = check_growable(filter);
	if (status != NIDUS_OK)
		return status;
	shared_stop(filter, true);
	status = grow_alone(filter, capacity, relax);
	shared_go_on(filter);
	return status;
}

nidus_status nidus_grow(nidus_filter *filter, uint64_t capacity)
{
	return grow_to(filter, capacity, false);
}

nidus_status nidus_grow_relaxed(nidus_filter *filter, uint64_t capacity)
{
	return grow_to(filter, capacity, true);
}

/* ------------------------------------------------------------------ shrinking -- */

/* The plan at level 0, without what a relaxed growth or a merge borrowed. */
static struct blueprint smallest(const struct blueprint *plan)
{
	struct blueprint least = *plan;
	least.level = 0;
	for (; least.borrowed > 0; least.borrowed--)
		least.fpr /= 2;
	return least;
}

/* The smallest plan for so many keys; false if there is none smaller than now. */
static bool smaller(const nidus_filter *filter, uint64_t capacity, struct blueprint *plan)
{
	struct blueprint least = smallest(&filter->plan), largest;
	if (filter->family->larger(&least, capacity, true, plan) != NIDUS_OK ||
	    plan->level >= filter->plan.level)
		return false;
	/* It grows again by itself, as far as there are bits for it. */
	if (filter->family->larger(plan, plan->max_capacity, false, &largest) != NIDUS_OK)
		plan->max_capacity = plan->capacity;
	return true;
}

static nidus_status shrink_alone(nidus_filter *filter, uint64_t capacity)
{
	nidus_status status = NIDUS_OK;
	uint64_t count = moving_count(filter);
	if (capacity != 0 && capacity < count)
		return fail(NIDUS_E_RANGE, "%llu entries are in the filter; remove some first",
		            (unsigned long long)count);
	if (capacity < 1)
		capacity = count > 0 ? count : 1;
	struct blueprint plan;
	/* Copies of keys may need more room than the size promises to others. */
	for (; smaller(filter, capacity, &plan); capacity = plan.capacity + 1) {
		status = rebuild(filter, &plan, NULL);
		if (!no_room(status))
			return status;
	}
	return status == NIDUS_OK ? NIDUS_OK
	                          : fail(NIDUS_E_RANGE, "the entries fit into no smaller table");
}

nidus_status nidus_shrink(nidus_filter *filter, uint64_t capacity)
{
	nidus_status status = check_growable(filter);
	if (status != NIDUS_OK)
		return status;
	shared_stop(filter, true);
	status = shrink_alone(filter, capacity);
	shared_go_on(filter);
	return status;
}

/* ----------------------------------------------------------- growth by itself -- */

/* Inserts one key unless `hash` is NULL. Errors: as body_ops.insert. */
static nidus_status insert_counted(nidus_filter *filter, const uint64_t *hash)
{
	if (hash == NULL)
		return NIDUS_OK;
	nidus_status status = filter->ops->insert(filter->body, *hash);
	if (status == NIDUS_OK && filter->room > 0)
		filter->room--;
	return status;
}

/*
 * Goes on to the next size, and inserts a key there unless `hash` is NULL: one of
 * which there are few copies, as an empty table has places for those. With `crowded`
 * it must be a larger table; otherwise the present one will do, if it has room that
 * was not promised yet. Errors: FULL (no bits are left), COPIES, E_NOMEM; size and
 * contents are as they were then.
 */
static nidus_status grow_a_step(nidus_filter *filter, bool crowded, const uint64_t *hash)
{
	struct blueprint before = filter->plan, plan = before;
	do {
		struct blueprint now = plan;
		if (filter->family->larger(&now, now.capacity + 1, false, &plan) != NIDUS_OK)
			return NIDUS_FULL; /* the reason is there already */
	} while (crowded && plan.level == before.level);
	nidus_status status;
	if (plan.level == before.level) {
		growth_promise(filter, &plan);
		status = insert_counted(filter, hash);
		if (status != NIDUS_OK)
			growth_promise(filter, &before);
		return status;
	}
	if (moving_finish(filter) != NIDUS_OK) {
		status = rebuild_larger(filter, &filter->plan, false, hash);
		return no_room(status) ? NIDUS_FULL : status;
	}
	status = moving_begin(filter, &plan);
	return status == NIDUS_OK ? insert_counted(filter, hash) : status;
}

nidus_status growth_settle(const nidus_filter *filter, const nidus_filter **settled)
{
	*settled = filter;
	shared_stop(filter, false);
	if (!moving(filter))
		return NIDUS_OK;
	nidus_filter *copy;
	nidus_status status = filter_clone(filter, &copy);
	shared_go_on(filter);
	if (status != NIDUS_OK)
		return status;
	status = moving_finish(copy);
	if (no_room(status))
		status = rebuild_roomier(copy);
	if (no_room(status))
		status = rebuild_larger(copy, &copy->plan, false, NULL);
	if (no_room(status))
		status = rebuild_larger(copy, &copy->plan, true, NULL);
	if (status == NIDUS_OK)
		*settled = copy;
	else
		nidus_free(copy);
	return status;
}

void growth_return(const nidus_filter *filter, const nidus_filter *settled)
{
	if (settled != filter)
		nidus_free((nidus_filter *)(uintptr_t)settled);
	else
		shared_go_on(filter);
}

uint64_t growth_room(nidus_filter *filter)
{
	if (filter->room == 0) {
		uint64_t count = moving_count(filter);
		if (count < filter->plan.capacity)
			filter->room = filter->plan.capacity - count;
	}
	return filter->room;
}

/*
 * A key of which there are copies already is none that room must be made for:
 * one key again and again must not grow a filter.
 */
#define COPIES_HELD 2

nidus_status growth_insert(nidus_filter *filter, uint64_t hash)
{
	if (filter->gate != NULL)
		filter->room = 0; /* inserts through the gate do not count it down */
	bool full = growth_room(filter) == 0;
	bool copy = full && filter->ops->count(filter->body, hash) >= COPIES_HELD;
	nidus_status status =
		full && !copy ? grow_a_step(filter, false, &hash) : insert_counted(filter, &hash);
	if (status != NIDUS_FULL || !filter->grows)
		return status;
	if (copy || filter->ops->count(filter->body, hash) >= COPIES_HELD)
		return fail(NIDUS_COPIES, "no room for another copy of this key");
	return grow_a_step(filter, true, &hash);
}

/* Inserts through the gate that surely need no growth, beside those nobody counted yet. */
static int64_t inserts_left(const nidus_filter *filter)
{
	return (int64_t)(filter->plan.capacity - shared_uncounted(filter->plan.capacity) -
	                 moving_count(filter));
}

int64_t growth_take_turn(nidus_filter *filter, unsigned inserts, uint64_t last)
{
	moving_count_inserts(filter, inserts);
	int64_t left = inserts_left(filter);
	if (left > 0 || !filter->grows || filter->ops->count(filter->body, last) > COPIES_HELD)
		return left;
	(void)grow_a_step(filter, false, NULL); /* an insert that finds no place says so */
	return inserts_left(filter);
}

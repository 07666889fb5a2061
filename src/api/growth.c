/* SPDX-License-Identifier: MIT
 *
 * growth: when a filter becomes larger, and by how much.
 *
 * By itself it grows by one level when its capacity is reached, or a little before it; its
 * entries follow little by little, and what finds no place among hot keys goes to an overflow
 * list (api/moving.h). When told to, it fills a larger body at once and takes it; whatever
 * fails before that leaves it as it was.
 */
#include "api/growth.h"

#include "api/moving.h"
#include "api/shared.h"

#define LEFT_EARLY 16 /* this share of a size is not used if there was and will be another */

/* Puts an entry's copies into a filter, those that find no place into its overflow list. */
static nidus_status transfer_copies(nidus_filter *to, const nidus_entry *entry, uint64_t copies)
{
	uint64_t hash;
	nidus_status status = to->family->entry_hash(to->body, entry, &hash);
	while (status == NIDUS_OK && copies > 0) {
		status = body_insert(moving_body_ops(to), to->body, hash, entry->value);
		copies -= status == NIDUS_OK;
	}
	return overflow_helps(status) ? moving_overflow_entry(to, entry, copies) : status;
}

/* Entry by entry, at any levels. Errors: COPIES, E_NOMEM. */
static nidus_status transfer_entries(nidus_filter *to, const nidus_filter *from)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_status status = NIDUS_OK;
	while (status == NIDUS_OK && moving_next(from, &cursor, &entry))
		status = transfer_copies(to, &entry, 1);
	return status;
}

static nidus_status transfer_overflow(nidus_filter *to, const struct overflow *overflow)
{
	nidus_status status = NIDUS_OK;
	const struct overflow_node *node = overflow_next(overflow, NULL);
	for (; node != NULL && status == NIDUS_OK; node = overflow_next(overflow, &node->entry))
		status = transfer_copies(to, &node->entry, node->copies);
	return status;
}

nidus_status growth_transfer(nidus_filter *to, const nidus_filter *from)
{
	nidus_status status = NIDUS_OK;
	if (to->plan.level < from->plan.level)
		return transfer_entries(to, from);
	if (moving(from))
		status = from->family->transfer(to->body, from->moving.old->body);
	if (status == NIDUS_OK)
		status = from->family->transfer(to->body, from->body);
	return status == NIDUS_OK ? transfer_overflow(to, &from->moving.overflow) : status;
}

/* Lets a filter take over all that another of its family has. */
static void take_over(nidus_filter *filter, nidus_filter *made)
{
	moving_drop(filter);
	filter_swap(filter, made);
	filter->moving = made->moving; // NOLINT(clang-analyzer-core.NullDereference): it was made
	made->moving = (struct moving){ 0 };
	moving_choose_ops(filter);
	moving_choose_ops(made);
	filter->room = 0;
}

/* Makes a filter of another plan with all entries. Errors: E_NOMEM, COPIES. */
static nidus_status rebuild(const nidus_filter *filter, const struct blueprint *plan,
                            nidus_filter **made)
{
	nidus_status status = filter_make(filter->family, plan, &filter->allocator, NULL, made);
	if (status != NIDUS_OK)
		return status;
	reason_set_aside();
	status = growth_transfer(*made, filter);
	if (overflow_helps(status)) { /* once more, slowly, with a place for everything */
		moving_drop(*made);
		filter->family->clear((*made)->body);
		status = transfer_entries(*made, filter);
	}
	if (status != NIDUS_OK) {
		nidus_free(*made);
		*made = NULL;
	}
	return reason_decide(status);
}

/* Errors: E_NOMEM, COPIES; the filter is as it was then. */
static nidus_status rebuild_as(nidus_filter *filter, const struct blueprint *plan)
{
	nidus_filter *made;
	nidus_status status = rebuild(filter, plan, &made);
	if (status == NIDUS_OK) {
		take_over(filter, made);
		nidus_free(made);
	}
	return status;
}

void growth_promise(nidus_filter *filter, const struct blueprint *plan)
{
	uint32_t stash_limit = filter->plan.stash_limit; /* the table's, which stays as it is */
	filter->plan = *plan;
	filter->plan.stash_limit = stash_limit;
	if (filter->family->promise != NULL)
		filter->family->promise(filter->body, plan->capacity);
	filter->grows = plan->growth_bits > 0;
	filter->room = 0;
	filter_choose_calls(filter);
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
	if (capacity <= filter->plan.capacity)
		return moving_finish(filter);
	struct blueprint plan;
	nidus_status status = filter->family->larger(&filter->plan, capacity, relax, &plan);
	if (status != NIDUS_OK)
		return status;
	if (plan.level != filter->plan.level)
		return rebuild_as(filter, &plan);
	status = moving_finish(filter);
	if (status == NIDUS_OK)
		growth_promise(filter, &plan);
	return status;
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
	uint64_t count = moving_held(filter);
	if (capacity != 0 && capacity < count)
		return fail(NIDUS_E_RANGE, "%llu entries are in the filter; remove some first",
		            (unsigned long long)count);
	if (capacity < 1)
		capacity = count > 0 ? count : 1;
	struct blueprint plan;
	/* Copies of keys may need more room than the size promises to others. */
	for (; smaller(filter, capacity, &plan); capacity = plan.capacity + 1) {
		nidus_filter *made;
		nidus_status status = rebuild(filter, &plan, &made);
		if (status != NIDUS_OK)
			return status;
		bool helps = moving_fill(made).bytes < moving_fill(filter).bytes;
		if (helps)
			take_over(filter, made);
		nidus_free(made);
		if (helps)
			break;
	}
	return NIDUS_OK;
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

/* What comes after the present plan; false if a move is still under way or nothing does. */
static bool next_plan(const nidus_filter *filter, struct blueprint *plan)
{
	return !moving(filter) && filter->family->larger(&filter->plan, filter->plan.capacity + 1,
	                                                 false, plan) == NIDUS_OK;
}

/*
 * Goes on to the next size; where there is none inserts go on in the present one.
 * Errors: E_NOMEM; nothing changed then.
 */
static nidus_status grow_a_step(nidus_filter *filter)
{
	struct blueprint plan;
	return next_plan(filter, &plan) && plan.level != filter->plan.level
	               ? moving_begin(filter, &plan)
	               : NIDUS_OK;
}

/* The same where an insert is waiting. Errors: E_NOMEM at capacity; below it inserts go on. */
static nidus_status grow_for_one(nidus_filter *filter)
{
	nidus_status status = grow_a_step(filter);
	uint64_t count = moving_held(filter), capacity = filter->plan.capacity;
	if (status == NIDUS_OK || count >= capacity)
		return status;
	filter->room = capacity - count;
	return NIDUS_OK;
}

/* The same size may promise more; only after an insert, as one that fails changes nothing. */
static void promise_a_step(nidus_filter *filter)
{
	struct blueprint plan;
	if (next_plan(filter, &plan) && plan.level == filter->plan.level)
		growth_promise(filter, &plan);
}

/* Whether the filter is to become larger when its capacity is reached. */
static bool can_grow(const nidus_filter *filter)
{
	return filter->plan.capacity < filter->plan.max_capacity;
}

/*
 * The entries at which a filter goes on to the next size. Sizes between the first and the last
 * are left a little before they are full: there the searches for room are longest, and
 * nobody asked for the keys that would still fit.
 */
static uint64_t leaves_at(const nidus_filter *filter)
{
	uint64_t capacity = filter->plan.capacity;
	return filter->plan.level > 0 ? capacity - capacity / LEFT_EARLY : capacity;
}

uint64_t growth_room(nidus_filter *filter)
{
	if (filter->room == 0 && !can_grow(filter))
		filter->room = UINT64_MAX;
	if (filter->room == 0) {
		uint64_t count = moving_held(filter);
		uint64_t leaves = leaves_at(filter);
		if (count < leaves)
			filter->room = leaves - count;
	}
	return filter->room;
}

static nidus_status too_many_copies(void)
{
	return fail(NIDUS_COPIES, "no room for another copy of this key");
}

/* Puts a key that found no place, as a status says, into the overflow list if that helps. */
static nidus_status put_aside(nidus_filter *filter, uint64_t hash, uint64_t value,
                              nidus_status status)
{
	if (!overflow_helps(status) || !filter->grows ||
	    moving_held(filter) >= filter->plan.max_capacity)
		return status;
	return moving_crowded(filter, hash) ? too_many_copies()
	                                    : moving_overflow(filter, hash, value);
}

nidus_status growth_put(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	if (moving_elsewhere(filter, hash) && moving_crowded(filter, hash))
		return too_many_copies();
	nidus_status status = body_insert(moving_body_ops(filter), filter->body, hash, value);
	return put_aside(filter, hash, value, status);
}

/*
 * A key of which there are copies already is none that room must be made for:
 * one key again and again must not grow a filter.
 */
#define COPIES_HELD 2

nidus_status growth_insert(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	nidus_status status = NIDUS_OK;
	reason_set_aside();
	bool due = UNLIKELY(filter->room == 0) && growth_room(filter) == 0 &&
	           filter->ops->count(filter->body, hash) < COPIES_HELD;
	if (due)
		status = grow_for_one(filter);
	if (LIKELY(status == NIDUS_OK))
		status = body_insert(filter->ops, filter->body, hash, value);
	if (UNLIKELY(status != NIDUS_OK)) {
		status = put_aside(filter, hash, value, status);
		if (status == NIDUS_OK)
			moving_count_inserts(filter, 1);
	}
	filter->room -= status == NIDUS_OK && filter->room > 0;
	if (due && status == NIDUS_OK && growth_room(filter) == 0)
		promise_a_step(filter);
	return reason_decide(status);
}

nidus_status growth_insert_batch(nidus_filter *filter, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, size_t *done)
{
	nidus_status status = NIDUS_OK;
	reason_set_aside();
	/* As many at a time as surely need no growth, then one that may. */
	for (*done = 0; status == NIDUS_OK && *done < n;) {
		uint64_t some = growth_room(filter);
		size_t in = 0;
		if (some > n - *done)
			some = n - *done;
		if (some > 0)
			status = filter->ops->insert_batch(filter->body, hashes + *done,
			                                   values_from(values, *done), (size_t)some,
			                                   &in);
		*done += in;
		filter->room -= in;
		if (*done < n && (status == NIDUS_OK || overflow_helps(status))) {
			status = growth_insert(filter, hashes[*done],
			                       values != NULL ? values[*done] : 0);
			*done += status == NIDUS_OK;
		}
	}
	return reason_decide(status);
}

/* Inserts through the gate that surely need no growth, beside those not counted yet. */
static int64_t inserts_left(const nidus_filter *filter)
{
	if (!can_grow(filter))
		return INT64_MAX;
	return (int64_t)(leaves_at(filter) - shared_uncounted(filter->plan.capacity) -
	                 moving_held(filter));
}

int64_t growth_take_turn(nidus_filter *filter, unsigned inserts, uint64_t last)
{
	moving_count_inserts(filter, inserts);
	int64_t left = inserts_left(filter);
	if (left > 0 || filter->ops->count(filter->body, last) > COPIES_HELD)
		return left;
	reason_set_aside();
	(void)grow_a_step(filter); /* without memory the next turn tries again */
	promise_a_step(filter);
	(void)reason_decide(NIDUS_OK);
	return inserts_left(filter);
}

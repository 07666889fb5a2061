/* SPDX-License-Identifier: MIT
 *
 * moving: the operations on two bodies at once, and the turns that empty one.
 */
#include "api/moving.h"

#define SOME 64 /* hashes of a batch at a time */

/* Operations get the body of a filter; the filter lies before it. */
static nidus_filter *filter_of(const void *body)
{
	return (nidus_filter *)((uintptr_t)body - offsetof(struct nidus_filter, body));
}

/* --------------------------------------------------------------------- turns -- */

void moving_drop(nidus_filter *filter)
{
	if (!moving(filter))
		return;
	filter->ops = filter->moving.ops;
	nidus_free(filter->moving.old);
	filter->moving = (struct moving){ 0 };
}

static void move_places(nidus_filter *filter, uint64_t places)
{
	struct moving *state = &filter->moving;
	filter->family->move(filter->body, state->old->body, &state->position, places);
	if (state->position == UINT64_MAX && filter->family->count(state->old->body) == 0)
		moving_drop(filter);
}

void moving_count_inserts(nidus_filter *filter, uint64_t n)
{
	struct moving *state = &filter->moving;
	if (!moving(filter))
		return;
	if (n < state->inserts) {
		state->inserts -= (uint32_t)n;
		return;
	}
	n -= state->inserts;
	state->inserts = MOVING_TURN - (uint32_t)(n % MOVING_TURN);
	if (state->position != UINT64_MAX)
		move_places(filter, (1 + n / MOVING_TURN) * state->places);
}

nidus_status moving_finish(nidus_filter *filter)
{
	if (moving(filter))
		move_places(filter, UINT64_MAX / 2);
	if (moving(filter)) { /* what was refused then may have room now */
		filter->moving.position = 0;
		move_places(filter, UINT64_MAX / 2);
	}
	if (moving(filter))
		return fail(NIDUS_FULL, "no place for some copies of a key was found");
	return NIDUS_OK;
}

/* ------------------------------------------------------------------- lookups -- */

static bool contains(const void *body, uint64_t hash)
{
	const nidus_filter *filter = filter_of(body), *old = filter->moving.old;
	return old->ops->contains(old->body, hash) || filter->moving.ops->contains(body, hash);
}

static uint64_t count(const void *body, uint64_t hash)
{
	const nidus_filter *filter = filter_of(body), *old = filter->moving.old;
	return old->ops->count(old->body, hash) + filter->moving.ops->count(body, hash);
}

static void contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	const nidus_filter *filter = filter_of(body), *old = filter->moving.old;
	uint8_t larger[SOME];
	old->ops->contains_batch(old->body, hashes, n, yes);
	for (size_t from = 0; from < n; from += SOME) {
		size_t some = n - from < SOME ? n - from : SOME;
		filter->moving.ops->contains_batch(body, hashes + from, some, larger);
		for (size_t i = 0; i < some; i++)
			yes[from + i] |= larger[i];
	}
}

/* -------------------------------------------------------------------- insert -- */

/* Puts a key's copies where the next one will be. Errors: FULL, COPIES, E_NOMEM. */
static nidus_status bring_copies(nidus_filter *filter, uint64_t hash)
{
	nidus_filter *old = filter->moving.old;
	uint64_t copies = old->ops->count(old->body, hash);
	for (; copies > 0; copies--) {
		nidus_status status = filter->moving.ops->insert(filter->body, hash);
		if (status != NIDUS_OK)
			return status;
		(void)old->ops->remove(old->body, hash);
	}
	return NIDUS_OK;
}

static nidus_status insert_uncounted(nidus_filter *filter, uint64_t hash)
{
	nidus_status status = bring_copies(filter, hash);
	return status == NIDUS_OK ? filter->moving.ops->insert(filter->body, hash) : status;
}

static nidus_status insert(void *body, uint64_t hash)
{
	nidus_filter *filter = filter_of(body);
	nidus_status status = insert_uncounted(filter, hash);
	if (status == NIDUS_OK)
		moving_count_inserts(filter, 1);
	return status;
}

/* Inserts before the next turn: at the larger body's full speed if the old has none. */
static nidus_status insert_some(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                size_t *done)
{
	const nidus_filter *old = filter->moving.old;
	uint8_t yes[MOVING_TURN];
	bool held = false;
	old->ops->contains_batch(old->body, hashes, n, yes);
	for (size_t i = 0; i < n; i++)
		held |= yes[i] != 0;
	if (!held)
		return filter->moving.ops->insert_batch(filter->body, hashes, n, done);
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		status = insert_uncounted(filter, hashes[*done]);
		*done += status == NIDUS_OK;
	}
	return status;
}

static nidus_status insert_batch(void *body, const uint64_t *hashes, size_t n, size_t *done)
{
	nidus_filter *filter = filter_of(body);
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK && moving(filter);) {
		size_t some = n - *done, in = 0;
		if (some > filter->moving.inserts)
			some = filter->moving.inserts;
		status = insert_some(filter, hashes + *done, some, &in);
		*done += in;
		moving_count_inserts(filter, in);
	}
	if (status != NIDUS_OK || *done == n)
		return status;
	size_t in = 0;
	status = filter->ops->insert_batch(body, hashes + *done, n - *done, &in);
	*done += in;
	return status;
}

/* -------------------------------------------------------------------- remove -- */

static nidus_status remove_key(void *body, uint64_t hash)
{
	nidus_filter *filter = filter_of(body), *old = filter->moving.old;
	nidus_status status = old->ops->remove(old->body, hash);
	return status == NIDUS_NOT_FOUND ? filter->moving.ops->remove(body, hash) : status;
}

static nidus_status remove_batch(void *body, const uint64_t *hashes, size_t n, size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		status = remove_key(body, hashes[*done]);
		*done += status == NIDUS_OK;
	}
	return status;
}

static const struct body_ops moving_ops = {
	.contains = contains,
	.count = count,
	.insert = insert,
	.remove = remove_key,
	.contains_batch = contains_batch,
	.insert_batch = insert_batch,
	.remove_batch = remove_batch,
};

/* ------------------------------------------------------------- begin and end -- */

/* Places per turn, so that the old body is empty half way to the new capacity. */
static uint64_t places_per_turn(const nidus_filter *filter, const nidus_filter *old)
{
	uint64_t count = filter->family->count(old->body), slots = moving_slots(old);
	uint64_t room = filter->plan.capacity > count ? filter->plan.capacity - count : 0;
	uint64_t turns = room / (UINT64_C(2) * MOVING_TURN);
	return turns > 0 ? divide_up(slots, turns) : slots;
}

static void move_from(nidus_filter *filter, nidus_filter *old)
{
	filter->moving = (struct moving){
		.old = old,
		.ops = filter->ops,
		.places = places_per_turn(filter, old),
		.inserts = MOVING_TURN,
	};
	filter->ops = &moving_ops;
	filter->room = 0;
}

nidus_status moving_begin(nidus_filter *filter, const struct blueprint *larger)
{
	nidus_filter *old;
	nidus_status status = filter_make(filter->family, larger, &filter->allocator, NULL, &old);
	if (status != NIDUS_OK)
		return status;
	filter_swap(filter, old);
	move_from(filter, old);
	return NIDUS_OK;
}

nidus_status moving_clone(const nidus_filter *filter, nidus_filter *copy)
{
	if (!moving(filter))
		return NIDUS_OK;
	nidus_filter *old;
	nidus_status status = filter_clone(filter->moving.old, &old);
	if (status != NIDUS_OK)
		return status;
	move_from(copy, old);
	copy->moving.position = filter->moving.position;
	copy->moving.places = filter->moving.places;
	copy->moving.inserts = filter->moving.inserts;
	return NIDUS_OK;
}

/* ------------------------------------------------------------------- figures -- */

uint64_t moving_count(const nidus_filter *filter)
{
	uint64_t entries = filter->family->count(filter->body);
	return moving(filter) ? entries + filter->family->count(filter->moving.old->body) : entries;
}

uint64_t moving_slots(const nidus_filter *filter)
{
	uint64_t slots = filter->family->forecast(&filter->plan, 0).total_slots;
	return moving(filter) ? slots + moving_slots(filter->moving.old) : slots;
}

struct fill moving_fill(const nidus_filter *filter)
{
	struct fill fill = filter->family->fill(filter->body);
	if (!moving(filter))
		return fill;
	struct fill old = filter->family->fill(filter->moving.old->body);
	fill.count += old.count;
	fill.stashed += old.stashed;
	fill.bytes += old.bytes;
	fill.load = (double)(fill.count - fill.stashed) / (double)moving_slots(filter);
	return fill;
}

/* A cursor in the larger body has this bit in its first position. */
#define LARGER (UINT64_C(1) << 63)

bool moving_next(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entry)
{
	if (!moving(filter))
		return filter->family->next(filter->body, cursor, entry);
	if (!(cursor->position[0] & LARGER)) {
		if (filter->family->next(filter->moving.old->body, cursor, entry))
			return true;
		*cursor = (nidus_cursor){ 0 };
	}
	cursor->position[0] &= ~LARGER;
	bool found = filter->family->next(filter->body, cursor, entry);
	cursor->position[0] |= LARGER;
	return found;
}

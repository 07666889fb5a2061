/* SPDX-License-Identifier: MIT
 *
 * moving: the operations on all parts at once, and the turns that empty the old body.
 */
#include "api/moving.h"

#include <assert.h>

#include "api/shared.h"
#include "base/effort.h"

#define SOME 128   /* hashes of a batch that are looked for elsewhere at a time */
#define FETCHED 16 /* keys that are asked for before a turn: the body asks for the others itself */

static const struct body_ops moving_ops;

void moving_choose_ops(nidus_filter *filter)
{
	filter->moving.ops = filter->family->ops(filter->body);
	filter->ops = moving_parts(filter) ? &moving_ops : filter->moving.ops;
	filter_choose_calls(filter);
}

/* After something left the overflow list: a filter in one part keeps none. */
static void tidy(nidus_filter *filter)
{
	if (moving_parts(filter))
		return;
	overflow_free(&filter->moving.overflow, &filter->allocator);
	filter->moving.returning = false;
	moving_choose_ops(filter);
}

/* --------------------------------------------------------------------- turns -- */

static uint32_t turn_of(const nidus_filter *filter)
{
	return filter->plan.capacity < MOVING_LARGE ? MOVING_TURN : MOVING_TURN_MOST;
}

static void drop_old(nidus_filter *filter)
{
	nidus_free(filter->moving.old);
	filter->moving.old = NULL;
}

void moving_drop(nidus_filter *filter)
{
	if (moving(filter))
		drop_old(filter);
	overflow_free(&filter->moving.overflow, &filter->allocator);
	filter->moving = (struct moving){ 0 };
	moving_choose_ops(filter);
}

/* Tries to find places for the next `n` of the overflow list's entries. */
static void return_some(nidus_filter *filter, uint64_t n)
{
	struct moving *state = &filter->moving;
	const struct overflow_node *node;
	for (; n > 0 && state->returning; n--) {
		node = overflow_next(&state->overflow, &state->returned);
		if (node == NULL) {
			state->returning = false;
			break;
		}
		nidus_entry entry = node->entry;
		uint64_t copies = node->copies, hash;
		state->returned = entry;
		if (filter->family->entry_hash(filter->body, &entry, &hash) != NIDUS_OK)
			continue;
		for (; copies > 0; copies--) {
			if (body_insert(state->ops, filter->body, hash, entry.value) != NIDUS_OK)
				break;
			(void)overflow_remove(&state->overflow, &entry);
			effort_of_thread()->moved++;
		}
	}
	tidy(filter);
}

static void move_places(nidus_filter *filter, uint64_t places)
{
	struct moving *state = &filter->moving;
	filter->family->move(filter->body, state->old->body, &state->position, places,
	                     &state->overflow);
	if (state->position != UINT64_MAX)
		return;
	assert(filter->family->count(state->old->body) == 0);
	drop_old(filter);
	state->returning = true;
	state->returned = (nidus_entry){ 0 };
	tidy(filter);
}

void moving_count_inserts(nidus_filter *filter, uint64_t n)
{
	struct moving *state = &filter->moving;
	if (!moving(filter) && !state->returning)
		return;
	if (n < state->inserts) {
		state->inserts -= (uint32_t)n;
		return;
	}
	n -= state->inserts;
	const uint32_t turn = turn_of(filter);
	state->inserts = turn - (uint32_t)(n % turn);
	uint64_t turns = 1 + n / turn;
	reason_set_aside(); /* what finds no place has another */
	if (moving(filter))
		move_places(filter, turns * state->places);
	else
		return_some(filter, turns * turn);
	(void)reason_decide(NIDUS_OK);
}

nidus_status moving_finish(nidus_filter *filter)
{
	reason_set_aside();
	if (moving(filter))
		move_places(filter, UINT64_MAX / 2);
	if (!moving(filter))
		return_some(filter, UINT64_MAX);
	return reason_decide(moving(filter) ? NIDUS_E_NOMEM : NIDUS_OK);
}

/* ------------------------------------------------------------------ overflow -- */

nidus_status moving_overflow_entry(nidus_filter *filter, const nidus_entry *entry, uint64_t copies)
{
	nidus_status status =
		overflow_add(&filter->moving.overflow, &filter->allocator, entry, copies);
	if (status == NIDUS_OK)
		moving_choose_ops(filter);
	return status;
}

nidus_status moving_overflow(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	nidus_entry entry = filter->family->identity(filter->body, hash);
	entry.value = value;
	return moving_overflow_entry(filter, &entry, 1);
}

static uint64_t overflowed(const nidus_filter *filter, uint64_t hash)
{
	if (filter->moving.overflow.entries == 0)
		return 0;
	nidus_entry entry = filter->family->identity(filter->body, hash);
	return overflow_count_all(&filter->moving.overflow, &entry);
}

bool moving_overflowed(const nidus_filter *filter, uint64_t hash)
{
	return overflowed(filter, hash) > 0;
}

nidus_filter *moving_old_for(const nidus_filter *filter, uint64_t hash)
{
	nidus_filter *old = filter->moving.old;
	uint8_t left = 0;
	if (old != NULL)
		filter->family->left(old->body, filter->moving.position, &hash, 1, &left);
	return left ? old : NULL;
}

static bool in_old(const nidus_filter *filter, uint64_t hash)
{
	const nidus_filter *old = moving_old_for(filter, hash);
	return old != NULL && old->ops->contains(old->body, hash);
}

bool moving_elsewhere(const nidus_filter *filter, uint64_t hash)
{
	return in_old(filter, hash) || moving_overflowed(filter, hash);
}

bool moving_crowded(const nidus_filter *filter, uint64_t hash)
{
	return filter->ops->count(filter->body, hash) >= filter->family->copies(&filter->plan);
}

/* ------------------------------------------------------------------- lookups -- */

static bool contains(const void *body, uint64_t hash)
{
	const nidus_filter *filter = filter_of(body);
	return filter->moving.ops->contains(body, hash) || in_old(filter, hash) ||
	       moving_overflowed(filter, hash);
}

static uint64_t count(const void *body, uint64_t hash)
{
	const nidus_filter *filter = filter_of(body), *old = moving_old_for(filter, hash);
	uint64_t here = filter->moving.ops->count(body, hash) + overflowed(filter, hash);
	return old != NULL ? here + old->ops->count(old->body, hash) : here;
}

/* Adds the values of the overflow list to those that were found, `found` of them. */
static size_t find_overflowed(const nidus_filter *filter, uint64_t hash, uint64_t *values,
                              size_t cap, size_t found)
{
	const struct overflow *overflow = &filter->moving.overflow;
	if (overflow->entries == 0)
		return found;
	nidus_entry entry = filter->family->identity(filter->body, hash);
	return overflow_values(overflow, &entry, values, cap, found);
}

static size_t find(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	const nidus_filter *filter = filter_of(body), *old = moving_old_for(filter, hash);
	size_t found = old != NULL ? old->ops->find(old->body, hash, values, cap) : 0;
	size_t told = found < cap ? found : cap;
	found +=
		filter->moving.ops->find(body, hash, told < cap ? values + told : NULL, cap - told);
	return find_overflowed(filter, hash, values, cap, found);
}

static void find_batch(const void *body, const uint64_t *hashes, size_t n, uint64_t *first,
                       uint32_t *found)
{
	for (size_t i = 0; i < n; i++) {
		first[i] = 0;
		size_t all = find(body, hashes[i], &first[i], 1);
		found[i] = all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
	}
}

/* Asks the old body for those of up to SOME keys that are not found yet and may be there. */
static void look_in_old(const nidus_filter *filter, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	const nidus_filter *old = filter->moving.old;
	uint64_t asked[SOME];
	uint8_t left[SOME], found[SOME], of[SOME];
	size_t some = 0;
	filter->family->left(old->body, filter->moving.position, hashes, n, left);
	for (size_t i = 0; i < n; i++) {
		asked[some] = hashes[i];
		of[some] = (uint8_t)i;
		some += left[i] & (yes[i] == 0);
	}
	old->ops->contains_batch(old->body, asked, some, found);
	for (size_t i = 0; i < some; i++)
		yes[of[i]] = found[i]; // cppcheck-suppress uninitvar
}

/* Adds to the answers what the parts beside the body have. */
static void look_elsewhere(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                           uint8_t *yes)
{
	for (size_t from = 0; from < n && moving(filter); from += SOME)
		look_in_old(filter, hashes + from, n - from < SOME ? n - from : SOME, yes + from);
	for (size_t i = 0; i < n && filter->moving.overflow.entries > 0; i++)
		yes[i] = yes[i] || moving_overflowed(filter, hashes[i]);
}

static void contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	const nidus_filter *filter = filter_of(body);
	filter->moving.ops->contains_batch(body, hashes, n, yes);
	look_elsewhere(filter, hashes, n, yes);
}

/* -------------------------------------------------------------------- insert -- */

static nidus_status insert_uncounted(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	if (moving_elsewhere(filter, hash) && moving_crowded(filter, hash))
		return fail(NIDUS_COPIES, "no room for another copy of this key");
	return body_insert(filter->moving.ops, filter->body, hash, value);
}

static nidus_status insert_value(void *body, uint64_t hash, uint64_t value)
{
	nidus_filter *filter = filter_of(body);
	nidus_status status = insert_uncounted(filter, hash, value);
	if (status == NIDUS_OK)
		moving_count_inserts(filter, 1);
	return status;
}

static nidus_status insert(void *body, uint64_t hash)
{
	return insert_value(body, hash, 0);
}

/*
 * Inserts before the next turn: at the body's full speed if no other part has any of the keys.
 * yes[i] is 0 unless the old body had key i a few turns ago. Entries only leave it, so what it did
 * not have then it does not have now.
 */
static nidus_status insert_some(nidus_filter *filter, const uint64_t *hashes,
                                const uint64_t *values, size_t n, const uint8_t *yes, size_t *done)
{
	bool held = false;
	for (size_t i = 0; i < n; i++)
		held |= yes[i] != 0;
	for (size_t i = 0; i < n && !held && filter->moving.overflow.entries > 0; i++)
		held = moving_overflowed(filter, hashes[i]);
	if (!held)
		return filter->moving.ops->insert_batch(filter->body, hashes, values, n, done);
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		status =
			insert_uncounted(filter, hashes[*done], values != NULL ? values[*done] : 0);
		*done += status == NIDUS_OK;
	}
	return status;
}

/* How many inserts come before the next turn, but for what a batch does at a time. */
static size_t before_turn(const nidus_filter *filter)
{
	bool turns = moving(filter) || filter->moving.returning;
	return turns ? filter->moving.inserts : MOVING_TURN_MOST;
}

/* Asks for what the first of the next keys will look at, while a turn has other work. */
static void fetch_some(const nidus_filter *filter, const uint64_t *hashes, size_t n)
{
	for (size_t i = 0; i < n && i < FETCHED; i++)
		filter->family->prefetch(filter->body, hashes[i]);
}

/* Inserts up to SOME keys, as long as the filter is in parts. */
static nidus_status insert_in_turns(nidus_filter *filter, const uint64_t *hashes,
                                    const uint64_t *values, size_t n, size_t *done)
{
	uint8_t yes[SOME] = { 0 };
	nidus_status status = NIDUS_OK;
	if (moving(filter))
		look_in_old(filter, hashes, n, yes);
	for (*done = 0; *done < n && status == NIDUS_OK && moving_parts(filter);) {
		size_t some = n - *done, in = 0;
		if (some > before_turn(filter))
			some = before_turn(filter);
		status = insert_some(filter, hashes + *done, values_from(values, *done), some,
		                     yes + *done, &in);
		*done += in;
		fetch_some(filter, hashes + *done, n - *done);
		moving_count_inserts(filter, in);
	}
	return status;
}

static nidus_status insert_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                 size_t n, size_t *done)
{
	nidus_filter *filter = filter_of(body);
	nidus_status status = NIDUS_OK;
	size_t in = 0;
	for (*done = 0; *done < n && status == NIDUS_OK && moving_parts(filter); *done += in) {
		size_t some = n - *done < SOME ? n - *done : SOME;
		status = insert_in_turns(filter, hashes + *done, values_from(values, *done), some,
		                         &in);
	}
	if (status != NIDUS_OK || *done == n)
		return status;
	status = filter->ops->insert_batch(body, hashes + *done, values_from(values, *done),
	                                   n - *done, &in);
	*done += in;
	return status;
}

/* -------------------------------------------------------------------- remove -- */

/* An entry of the overflow list; NULL if that has none. `value` counts unless it is NULL. */
static const struct overflow_node *node_of(const nidus_filter *filter, uint64_t hash,
                                           const uint64_t *value)
{
	if (filter->moving.overflow.entries == 0)
		return NULL;
	nidus_entry entry = filter->family->identity(filter->body, hash);
	if (value != NULL)
		entry.value = *value;
	return overflow_find(&filter->moving.overflow, &entry, value == NULL);
}

static bool remove_overflowed(nidus_filter *filter, uint64_t hash)
{
	const struct overflow_node *node = node_of(filter, hash, NULL);
	if (node == NULL)
		return false;
	nidus_entry entry = node->entry;
	(void)overflow_remove(&filter->moving.overflow, &entry);
	tidy(filter);
	return true;
}

/* Errors: NOT_FOUND, COPIES, E_NOMEM. */
static nidus_status change_overflowed(nidus_filter *filter, uint64_t hash,
                                      struct value_change change)
{
	struct overflow *overflow = &filter->moving.overflow;
	const struct overflow_node *node =
		node_of(filter, hash, change.what == VALUE_ADD ? NULL : &change.old);
	if (node == NULL)
		return NIDUS_NOT_FOUND;
	nidus_entry entry = node->entry;
	if (change.what == VALUE_REMOVE) {
		(void)overflow_remove(overflow, &entry);
		tidy(filter);
		return NIDUS_OK;
	}
	uint64_t fresh = change.what == VALUE_REPLACE
	                         ? change.fresh
	                         : value_sum(entry.value, change.fresh, filter->plan.value_bits);
	return overflow_change(overflow, &filter->allocator, &entry, fresh);
}

static nidus_status change(void *body, uint64_t hash, struct value_change what)
{
	nidus_filter *filter = filter_of(body), *old = moving_old_for(filter, hash);
	nidus_status status = change_overflowed(filter, hash, what);
	if (status == NIDUS_NOT_FOUND && old != NULL)
		status = old->ops->change(old->body, hash, what);
	return status == NIDUS_NOT_FOUND ? filter->moving.ops->change(body, hash, what) : status;
}

static nidus_status remove_key(void *body, uint64_t hash)
{
	nidus_filter *filter = filter_of(body), *old = moving_old_for(filter, hash);
	if (remove_overflowed(filter, hash) ||
	    (old != NULL && old->ops->remove(old->body, hash) == NIDUS_OK))
		return NIDUS_OK;
	return filter->moving.ops->remove(body, hash);
}

static nidus_status remove_batch(void *body, const uint64_t *hashes, size_t n, size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		status = filter_of(body)->ops->remove(body, hashes[*done]);
		*done += status == NIDUS_OK;
	}
	return status;
}

static const struct body_ops moving_ops = {
	.contains = contains,
	.count = count,
	.find = find,
	.insert = insert,
	.insert_value = insert_value,
	.remove = remove_key,
	.change = change,
	.contains_batch = contains_batch,
	.find_batch = find_batch,
	.insert_batch = insert_batch,
	.remove_batch = remove_batch,
};

/* ------------------------------------------------------------- begin and end -- */

/*
 * Places per turn. An insert looks for copies in the old body too: the sooner that is empty,
 * the better, but one turn must not take long.
 */
static uint64_t places_per_turn(const nidus_filter *filter, const nidus_filter *old)
{
	uint64_t count = filter->family->count(old->body), slots = moving_slots(old);
	uint64_t room = filter->plan.capacity > count ? filter->plan.capacity - count : 0;
	uint64_t turns = room / ((uint64_t)MOVING_PART * turn_of(filter));
	return turns > 0 ? divide_up(slots, turns) : slots;
}

nidus_status moving_verify(const nidus_filter *filter)
{
	const nidus_filter *old = filter->moving.old;
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	uint64_t hash;
	while (old != NULL && old->family->next(old->body, &cursor, &entry)) {
		if (old->family->entry_hash(old->body, &entry, &hash) != NIDUS_OK ||
		    moving_old_for(filter, hash) == NULL)
			return fail(NIDUS_E_CORRUPT,
			            "an entry lies where all are said to have moved");
	}
	return NIDUS_OK;
}

void moving_resume(nidus_filter *filter, nidus_filter *old)
{
	filter->moving.old = old;
	moving_choose_ops(filter);
}

nidus_status moving_begin(nidus_filter *filter, const struct blueprint *larger)
{
	nidus_filter *old;
	struct moving *state = &filter->moving;
	nidus_status status = filter_make(filter->family, larger, &filter->allocator, NULL, &old);
	if (status != NIDUS_OK)
		return status;
	filter_swap(filter, old);
	state->position = 0;
	state->places = places_per_turn(filter, old);
	state->inserts = turn_of(filter);
	state->returning = false;
	filter->room = 0;
	moving_choose_ops(old);
	moving_resume(filter, old);
	return NIDUS_OK;
}

static nidus_status clone_overflow(const nidus_filter *filter, nidus_filter *copy)
{
	const struct overflow *overflow = &filter->moving.overflow;
	const struct overflow_node *node = overflow_next(overflow, NULL);
	for (; node != NULL; node = overflow_next(overflow, &node->entry)) {
		nidus_status status = moving_overflow_entry(copy, &node->entry, node->copies);
		if (status != NIDUS_OK)
			return status;
	}
	return NIDUS_OK;
}

nidus_status moving_clone(const nidus_filter *filter, nidus_filter *copy)
{
	const struct moving *state = &filter->moving;
	nidus_filter *old = NULL;
	nidus_status status = filter->readonly ? moving_verify(filter) : NIDUS_OK;
	if (status == NIDUS_OK && moving(filter))
		status = filter_clone(state->old, &old);
	if (status != NIDUS_OK)
		return status;
	copy->moving.position = state->position;
	copy->moving.places = state->places;
	copy->moving.inserts = state->inserts;
	copy->moving.returning = state->returning;
	copy->moving.returned = state->returned;
	uint32_t uncounted;
	int64_t left;
	shared_tell_turns(filter, &uncounted, &left);
	shared_set_turns(copy, uncounted, left);
	moving_resume(copy, old);
	return clone_overflow(filter, copy);
}

/* ------------------------------------------------------------------- figures -- */

uint64_t moving_count(const nidus_filter *filter)
{
	uint64_t entries = filter->family->count(filter->body) + filter->moving.overflow.entries;
	return moving(filter) ? entries + filter->family->count(filter->moving.old->body) : entries;
}

/* Copies of one body's entries that are only counted. */
static uint64_t surplus_of(const nidus_filter *filter)
{
	return filter->family->surplus != NULL ? filter->family->surplus(filter->body) : 0;
}

uint64_t moving_held(const nidus_filter *filter)
{
	const struct overflow *overflow = &filter->moving.overflow;
	uint64_t surplus = surplus_of(filter) + overflow->entries - overflow->nodes;
	if (moving(filter))
		surplus += surplus_of(filter->moving.old);
	return moving_count(filter) - surplus;
}

uint64_t moving_slots(const nidus_filter *filter)
{
	uint64_t slots = filter->family->forecast(&filter->plan, 0).total_slots;
	return moving(filter) ? slots + moving_slots(filter->moving.old) : slots;
}

struct fill moving_fill(const nidus_filter *filter)
{
	const struct overflow *overflow = &filter->moving.overflow;
	struct fill fill = filter->family->fill(filter->body);
	if (moving(filter)) {
		struct fill old = filter->family->fill(filter->moving.old->body);
		fill.count += old.count;
		fill.stashed += old.stashed;
		fill.listed += old.listed;
		fill.bytes += old.bytes;
		fill.load = (double)(fill.count - fill.stashed) / (double)moving_slots(filter);
	}
	fill.count += overflow->entries;
	fill.stashed += overflow->entries;
	fill.bytes += overflow->bytes;
	return fill;
}

/*
 * A cursor's first position has one of these bits in the larger of two bodies, and in the
 * overflow list. There the second position is how many entries were told.
 */
#define LARGER (UINT64_C(1) << 63)
#define OVERFLOWED (UINT64_C(1) << 62)

static bool next_overflowed(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entry)
{
	const struct overflow_node *node =
		overflow_at(&filter->moving.overflow, cursor->position[1]);
	if (node == NULL)
		return false;
	*entry = node->entry;
	cursor->position[1]++;
	return true;
}

/* The next entry of the body; the cursor is in the overflow list behind the last one. */
static bool next_in_body(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entry)
{
	uint64_t flag = cursor->position[0] & LARGER;
	cursor->position[0] &= ~LARGER;
	bool found = filter->family->next(filter->body, cursor, entry);
	cursor->position[0] |= flag;
	if (!found)
		*cursor = (nidus_cursor){ { OVERFLOWED, 0 } };
	return found;
}

bool moving_next(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entry)
{
	if (!moving_parts(filter))
		return filter->family->next(filter->body, cursor, entry);
	if (moving(filter) && !(cursor->position[0] & (LARGER | OVERFLOWED))) {
		if (filter->family->next(filter->moving.old->body, cursor, entry))
			return true;
		*cursor = (nidus_cursor){ { LARGER, 0 } };
	}
	if (!(cursor->position[0] & OVERFLOWED) && next_in_body(filter, cursor, entry))
		return true;
	return next_overflowed(filter, cursor, entry);
}

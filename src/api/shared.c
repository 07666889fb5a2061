/* SPDX-License-Identifier: MIT
 *
 * shared: calls through the gate, and growth in turns.
 */
#include "api/shared.h"

#include "api/growth.h"
#include "api/moving.h"

#define LOOKUPS_AT_ONCE 4096 /* keys of a batch per pass through the gate */
#define CHANGES_AT_ONCE 256

/* Inserts that a part of struct turns counts before somebody looks after growth. */
#define TURN_MOST 1024
/* All parts together leave at most this share of the capacity uncounted. */
#define TURN_SHARE 64

nidus_status shared_make(nidus_filter *filter)
{
	struct block memory;
	nidus_status status = memory_take(&filter->allocator,
	                                  sizeof(struct gate) + sizeof(struct turns), &memory);
	if (status != NIDUS_OK)
		return status;
	struct gate *gate = (struct gate *)(void *)memory.bytes;
	if (!gate_make(gate)) {
		memory_give(&filter->allocator, &memory);
		return fail(NIDUS_E_NOMEM, "the system has no room for another lock");
	}
	filter->gate = gate;
	filter->turns = (struct turns *)(void *)(gate + 1);
	filter->gate_memory = memory;
	return NIDUS_OK;
}

void shared_unmake(nidus_filter *filter)
{
	if (filter->gate == NULL)
		return;
	gate_unmake(filter->gate);
	memory_give(&filter->allocator, &filter->gate_memory);
	filter->gate = NULL;
}

/* -------------------------------------------------------------------- lookups -- */

bool shared_contains(const nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	bool yes = filter->ops->contains(filter->body, hash);
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return yes;
}

uint64_t shared_count(const nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	uint64_t count = filter->ops->count(filter->body, hash);
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return count;
}

void shared_contains_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                           uint8_t *yes)
{
	for (size_t from = 0; from < n; from += LOOKUPS_AT_ONCE) {
		size_t some = n - from < LOOKUPS_AT_ONCE ? n - from : LOOKUPS_AT_ONCE;
		struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
		filter->ops->contains_batch(filter->body, hashes + from, some, yes + from);
		gate_leave(filter->gate, GATE_VISITORS, pass);
	}
}

/* --------------------------------------------------------------------- growth -- */

static uint32_t turn_of(uint64_t capacity)
{
	uint64_t turn = capacity / (TURN_SHARE * TALLY_PARTS);
	return turn < 1 ? 1 : turn < TURN_MOST ? (uint32_t)turn : TURN_MOST;
}

uint64_t shared_uncounted(uint64_t capacity)
{
	return (uint64_t)(turn_of(capacity) - 1) * TALLY_PARTS;
}

/* How many inserts this thread may make before its part is due. */
static size_t before_turn(const nidus_filter *filter, uint64_t capacity)
{
	uint32_t turn = turn_of(capacity);
	uint32_t now =
		__atomic_load_n(&filter->turns->part[tally_part()].inserts, __ATOMIC_RELAXED);
	return now < turn ? turn - now : 1;
}

/* What sequential inserts do one by one, after `done` more: moves on, and grows if due. */
static void look_after_growth(nidus_filter *filter, size_t done, uint64_t last, uint64_t capacity,
                              bool moves)
{
	struct turns *turns = filter->turns;
	uint32_t *part = &turns->part[tally_part()].inserts;
	uint32_t now = __atomic_add_fetch(part, (uint32_t)done, __ATOMIC_RELAXED);
	if (LIKELY(now < turn_of(capacity)))
		return;
	uint32_t due = __atomic_exchange_n(part, 0, __ATOMIC_RELAXED);
	int64_t left = __atomic_sub_fetch(&turns->left, (int64_t)due, __ATOMIC_RELAXED);
	if (due == 0 || (!moves && left > 0))
		return;
	gate_close(filter->gate, true);
	left = growth_take_turn(filter, due, last);
	__atomic_store_n(&turns->left, left, __ATOMIC_RELAXED);
	gate_open(filter->gate);
}

/* An insert alone, when it found no place or could not be done together with others. */
static nidus_status insert_alone(nidus_filter *filter, uint64_t hash)
{
	gate_close(filter->gate, true);
	nidus_status status = filter->grows ? growth_insert(filter, hash)
	                                    : filter->ops->insert(filter->body, hash);
	gate_open(filter->gate);
	return status;
}

/*
 * How many of the hashes come before the first of which the old body has copies: those
 * go over to the larger one with the next, which only an insert alone can do. No
 * insert brings a key into the old body, so whoever is inside the gate can rely on it.
 */
static size_t before_held(const nidus_filter *filter, const uint64_t *hashes, size_t n)
{
	const nidus_filter *old = filter->moving.old;
	uint8_t yes[CHANGES_AT_ONCE];
	size_t before = 0;
	if (old == NULL)
		return n;
	old->ops->contains_batch(old->body, hashes, n, yes);
	while (before < n && !yes[before])
		before++;
	return before;
}

/* Where inserts go, for whoever is inside the gate. */
static const struct body_ops *insert_ops(const nidus_filter *filter)
{
	return moving(filter) ? filter->moving.ops : filter->ops;
}

/* --------------------------------------------------------------------- changes -- */

nidus_status shared_insert(nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	const nidus_filter *old = filter->moving.old;
	bool held = UNLIKELY(old != NULL) && old->ops->contains(old->body, hash);
	nidus_status status = held ? NIDUS_OK : insert_ops(filter)->insert(filter->body, hash);
	uint64_t capacity = filter->plan.capacity;
	bool moves = old != NULL, grows = filter->grows || moves;
	gate_leave(filter->gate, GATE_WORKERS, pass);
	if (LIKELY(!grows))
		return status;
	if (held || status == NIDUS_FULL)
		return insert_alone(filter, hash);
	if (status == NIDUS_OK)
		look_after_growth(filter, 1, hash, capacity, moves);
	return status;
}

nidus_status shared_insert_new(nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	nidus_status status = NIDUS_PRESENT;
	const nidus_filter *old = filter->moving.old;
	if (old == NULL || !old->ops->contains(old->body, hash))
		status = insert_ops(filter)->insert_new(filter->body, hash);
	uint64_t capacity = filter->plan.capacity;
	bool moves = old != NULL, grows = filter->grows || moves;
	gate_leave(filter->gate, GATE_WORKERS, pass);
	if (LIKELY(!grows))
		return status;
	if (status == NIDUS_FULL) {
		gate_close(filter->gate, true);
		status = filter->ops->contains(filter->body, hash) ? NIDUS_PRESENT
		                                                   : growth_insert(filter, hash);
		gate_open(filter->gate);
	} else if (status == NIDUS_OK) {
		look_after_growth(filter, 1, hash, capacity, moves);
	}
	return status;
}

nidus_status shared_remove(nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	nidus_status status = filter->ops->remove(filter->body, hash);
	gate_leave(filter->gate, GATE_WORKERS, pass);
	return status;
}

nidus_status shared_insert_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                 size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < CHANGES_AT_ONCE ? n - *done : CHANGES_AT_ONCE, in;
		struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
		uint64_t capacity = filter->plan.capacity;
		bool moves = moving(filter), grows = filter->grows || moves;
		/* Growth comes where it would come between single inserts. */
		if (grows && some > before_turn(filter, capacity))
			some = before_turn(filter, capacity);
		size_t before = before_held(filter, hashes + *done, some);
		status =
			insert_ops(filter)->insert_batch(filter->body, hashes + *done, before, &in);
		gate_leave(filter->gate, GATE_WORKERS, pass);
		bool held = status == NIDUS_OK && before < some;
		*done += in;
		if (grows && in > 0)
			look_after_growth(filter, in, hashes[*done - 1], capacity, moves);
		if (held || (grows && status == NIDUS_FULL)) {
			status = insert_alone(filter, hashes[*done]);
			*done += status == NIDUS_OK;
		}
	}
	return status;
}

nidus_status shared_remove_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                 size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < CHANGES_AT_ONCE ? n - *done : CHANGES_AT_ONCE, out;
		struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
		status = filter->ops->remove_batch(filter->body, hashes + *done, some, &out);
		gate_leave(filter->gate, GATE_WORKERS, pass);
		*done += out;
	}
	return status;
}

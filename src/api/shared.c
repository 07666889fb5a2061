/* SPDX-License-Identifier: MIT
 *
 * shared: calls through the gate, and growth in turns.
 */
#include "api/shared.h"

#include "api/growth.h"
#include "api/moving.h"

#define LOOKUPS_AT_ONCE 4096 /* keys of a batch per pass through the gate */
#define CHANGES_AT_ONCE 256

/* Inserts that a part of struct turns counts before a thread looks after growth. */
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

size_t shared_find(const nidus_filter *filter, uint64_t hash, uint64_t *values, size_t cap)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	size_t found = filter->ops->find(filter->body, hash, values, cap);
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return found;
}

void shared_find_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                       uint64_t *first, uint32_t *found)
{
	for (size_t from = 0; from < n; from += LOOKUPS_AT_ONCE) {
		size_t some = n - from < LOOKUPS_AT_ONCE ? n - from : LOOKUPS_AT_ONCE;
		struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
		filter->ops->find_batch(filter->body, hashes + from, some, first + from,
		                        found + from);
		gate_leave(filter->gate, GATE_VISITORS, pass);
	}
}

uint64_t shared_size(const nidus_filter *filter)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	uint64_t count = moving_count(filter);
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return count;
}

/* --------------------------------------------------------------------- growth -- */

/* What a thread inside the gate learns that those who look after growth need outside. */
struct state {
	uint64_t capacity;
	bool grows, moves;
};

static struct state state_of(const nidus_filter *filter)
{
	return (struct state){
		.capacity = filter->plan.capacity,
		.grows = filter->grows,
		.moves = moving(filter) || filter->moving.returning,
	};
}

static uint32_t turn_of(uint64_t capacity)
{
	uint64_t turn = capacity / (TURN_SHARE * TALLY_PARTS);
	return turn < 1 ? 1 : turn < TURN_MOST ? (uint32_t)turn : TURN_MOST;
}

uint64_t shared_uncounted(uint64_t capacity)
{
	return (uint64_t)(turn_of(capacity) - 1) * TALLY_PARTS;
}

void shared_tell_turns(const nidus_filter *filter, uint32_t *uncounted, int64_t *left)
{
	const struct turns *turns = filter->turns;
	*uncounted = filter->moving.uncounted;
	*left = filter->moving.left;
	if (turns == NULL)
		return;
	*left = __atomic_load_n(&turns->left, __ATOMIC_RELAXED);
	*uncounted = __atomic_load_n(&turns->carry, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < TALLY_PARTS; i++)
		*uncounted += __atomic_load_n(&turns->part[i].inserts, __ATOMIC_RELAXED);
}

void shared_set_turns(nidus_filter *filter, uint32_t uncounted, int64_t left)
{
	filter->moving.uncounted = uncounted;
	filter->moving.left = left;
	if (filter->turns == NULL)
		return;
	filter->turns->carry = uncounted;
	filter->turns->left = left;
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
static void look_after_growth(nidus_filter *filter, size_t done, uint64_t last,
                              const struct state *state)
{
	struct turns *turns = filter->turns;
	uint32_t *part = &turns->part[tally_part()].inserts;
	if (UNLIKELY(__atomic_load_n(&turns->carry, __ATOMIC_RELAXED) > 0) &&
	    __atomic_load_n(part, __ATOMIC_RELAXED) == 0)
		done += __atomic_exchange_n(&turns->carry, 0, __ATOMIC_RELAXED);
	uint32_t now = __atomic_add_fetch(part, (uint32_t)done, __ATOMIC_RELAXED);
	if (LIKELY(now < turn_of(state->capacity)))
		return;
	uint32_t due = __atomic_exchange_n(part, 0, __ATOMIC_RELAXED);
	int64_t left = __atomic_sub_fetch(&turns->left, (int64_t)due, __ATOMIC_RELAXED);
	if (due == 0 || (!state->moves && left > 0))
		return;
	gate_close(filter->gate, true);
	left = growth_take_turn(filter, due, last);
	__atomic_store_n(&turns->left, left, __ATOMIC_RELAXED);
	gate_open(filter->gate);
}

/* Which keys an insert puts in, and with what value. */
struct demand {
	enum {
		ANY,       /* each */
		ONLY_NEW,  /* only one that is not there; otherwise PRESENT */
		ADD_OR_NEW /* the same, but the value of one that is there is added to */
	} what;
	uint64_t value;
};

/* An insert alone, when it found no place together with others. */
static nidus_status insert_alone(nidus_filter *filter, uint64_t hash, struct demand demand)
{
	struct value_change add = { .what = VALUE_ADD, .fresh = demand.value };
	nidus_status status = NIDUS_NOT_FOUND;
	gate_close(filter->gate, true);
	if (demand.what == ONLY_NEW && filter->ops->contains(filter->body, hash))
		status = NIDUS_PRESENT;
	if (demand.what == ADD_OR_NEW)
		status = filter->ops->change(filter->body, hash, add);
	if (status == NIDUS_NOT_FOUND)
		status = growth_put(filter, hash, demand.value);
	gate_open(filter->gate);
	return status;
}

/*
 * How many of the hashes come before the first of which parts beside the body have
 * copies. No insert together with others brings any there.
 */
static size_t before_elsewhere(const nidus_filter *filter, const uint64_t *hashes, size_t n)
{
	size_t before = 0;
	if (!moving_parts(filter))
		return n;
	while (before < n && !moving_elsewhere(filter, hashes[before]))
		before++;
	return before;
}

/* --------------------------------------------------------------------- changes -- */

/* An insert together with others; *again if it may succeed alone. */
static nidus_status insert_inside(nidus_filter *filter, uint64_t hash, struct demand demand,
                                  bool *again)
{
	bool elsewhere = moving_parts(filter) && moving_elsewhere(filter, hash);
	*again = elsewhere && demand.what == ADD_OR_NEW; /* rare, and simplest alone */
	if (*again)
		return NIDUS_OK;
	if (demand.what == ONLY_NEW && elsewhere)
		return NIDUS_PRESENT;
	if (elsewhere && moving_crowded(filter, hash))
		return fail(NIDUS_COPIES, "no room for another copy of this key");
	const struct body_ops *ops = moving_body_ops(filter);
	nidus_status status = demand.what == ONLY_NEW ? ops->insert_new(filter->body, hash)
	                      : demand.what == ADD_OR_NEW
	                              ? ops->add(filter->body, hash, demand.value)
	                              : body_insert(ops, filter->body, hash, demand.value);
	*again = filter->grows && overflow_helps(status) && !moving_crowded(filter, hash);
	return status;
}

static nidus_status insert(nidus_filter *filter, uint64_t hash, struct demand demand)
{
	bool again;
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	struct state state = state_of(filter);
	if (UNLIKELY(state.grows))
		reason_set_aside();
	nidus_status status = insert_inside(filter, hash, demand, &again);
	gate_leave(filter->gate, GATE_WORKERS, pass);
	if (UNLIKELY(again))
		status = insert_alone(filter, hash, demand);
	if (LIKELY(!state.grows))
		return status;
	if (status == NIDUS_OK)
		look_after_growth(filter, 1, hash, &state);
	return reason_decide(status);
}

nidus_status shared_insert(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	return insert(filter, hash, (struct demand){ ANY, value });
}

nidus_status shared_insert_new(nidus_filter *filter, uint64_t hash)
{
	return insert(filter, hash, (struct demand){ ONLY_NEW, 0 });
}

nidus_status shared_add(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	return insert(filter, hash, (struct demand){ ADD_OR_NEW, value });
}

/* A copy in the overflow list, which only a thread alone can change. */
static nidus_status remove_alone(nidus_filter *filter, uint64_t hash)
{
	gate_close(filter->gate, true);
	nidus_status status = filter->ops->remove(filter->body, hash);
	gate_open(filter->gate);
	return status;
}

nidus_status shared_remove(nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	bool alone = UNLIKELY(moving_overflowed(filter, hash));
	nidus_status status = alone ? NIDUS_OK : filter->ops->remove(filter->body, hash);
	gate_leave(filter->gate, GATE_WORKERS, pass);
	return alone ? remove_alone(filter, hash) : status;
}

nidus_status shared_change(nidus_filter *filter, uint64_t hash, struct value_change change)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	bool alone = UNLIKELY(moving_overflowed(filter, hash));
	nidus_status status = alone ? NIDUS_OK : filter->ops->change(filter->body, hash, change);
	gate_leave(filter->gate, GATE_WORKERS, pass);
	if (!alone)
		return status;
	gate_close(filter->gate, true);
	status = filter->ops->change(filter->body, hash, change);
	gate_open(filter->gate);
	return status;
}

/* Up to so many inserts of a batch, together with others; *again as above. */
static nidus_status insert_some(nidus_filter *filter, const uint64_t *hashes,
                                const uint64_t *values, size_t n, size_t *in, bool *again)
{
	size_t before = before_elsewhere(filter, hashes, n);
	*again = false;
	if (before > 0) {
		nidus_status status = moving_body_ops(filter)->insert_batch(filter->body, hashes,
		                                                            values, before, in);
		if (status != NIDUS_OK)
			*again = filter->grows && overflow_helps(status) &&
			         !moving_crowded(filter, hashes[*in]);
		return status;
	}
	struct demand demand = { ANY, values != NULL ? values[0] : 0 };
	nidus_status status = insert_inside(filter, hashes[0], demand, again);
	*in = status == NIDUS_OK;
	return status;
}

nidus_status shared_insert_batch(nidus_filter *filter, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, size_t *done)
{
	nidus_status status = NIDUS_OK;
	reason_set_aside();
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < CHANGES_AT_ONCE ? n - *done : CHANGES_AT_ONCE, in = 0;
		bool again;
		struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
		struct state state = state_of(filter);
		/* Growth comes where it would come between single inserts. */
		if (state.grows && some > before_turn(filter, state.capacity))
			some = before_turn(filter, state.capacity);
		status = insert_some(filter, hashes + *done, values_from(values, *done), some, &in,
		                     &again);
		gate_leave(filter->gate, GATE_WORKERS, pass);
		if (again) {
			size_t at = *done + in;
			struct demand demand = { ANY, values != NULL ? values[at] : 0 };
			status = insert_alone(filter, hashes[at], demand);
			in += status == NIDUS_OK;
		}
		*done += in;
		if (state.grows && in > 0)
			look_after_growth(filter, in, hashes[*done - 1], &state);
	}
	return reason_decide(status);
}

/* How many of the hashes come before the first of which the overflow list has copies. */
static size_t before_overflowed(const nidus_filter *filter, const uint64_t *hashes, size_t n)
{
	size_t before = 0;
	if (filter->moving.overflow.entries == 0)
		return n;
	while (before < n && !moving_overflowed(filter, hashes[before]))
		before++;
	return before;
}

nidus_status shared_remove_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                 size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < CHANGES_AT_ONCE ? n - *done : CHANGES_AT_ONCE, out = 0;
		struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
		size_t before = before_overflowed(filter, hashes + *done, some);
		if (before > 0)
			status = filter->ops->remove_batch(filter->body, hashes + *done, before,
			                                   &out);
		gate_leave(filter->gate, GATE_WORKERS, pass);
		*done += out;
		if (status == NIDUS_OK && before < some) {
			status = remove_alone(filter, hashes[*done]);
			*done += status == NIDUS_OK;
		}
	}
	return status;
}

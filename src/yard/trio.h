/* SPDX-License-Identifier: MIT
 *
 * yard_trio: the three lines in which the entries of a front bucket can be, as one place.
 *
 * Threads that share a yard work on copies of the lines, one thread alone on the lines
 * themselves. What only looks at lines and changes them is always inlined and takes the shape
 * as a value, which is a constant in hot code. What is NEVER_INLINE takes the shape from the
 * yard: it is compiled once per tier, for all shapes.
 */
#ifndef NIDUS_YARD_TRIO_H
#define NIDUS_YARD_TRIO_H

#include "base/reason.h"
#include "yard/list.h"
#include "yard/shared.h"

/* What to do for each line touched: nothing, unless a benchmark counts them. */
#ifndef YARD_TOUCH
#define YARD_TOUCH(line) ((void)(line))
#endif

#define YARD_SHAPE(buckets, slots, back_slots, width, half)    \
	{                                                      \
		{ buckets, slots, width, false, half },        \
		{                                              \
			buckets, back_slots, width, true, half \
		}                                              \
	}

/* The shape of most filters. Changes under locks have code of their own for it. */
#define YARD_MOST_FREQUENT 53, 51, 35, 8, false
#define YARD_SHAPE_OF(numbers) YARD_SHAPE(numbers)

ALWAYS_INLINE unsigned char *yard_front_line(const struct yard *yard, struct yard_shape shape,
                                             uint64_t bucket)
{
	return yard->front + bucket * mini_line(shape.front);
}

/* The front bucket of a line. */
ALWAYS_INLINE uint64_t yard_bucket_of(const struct yard *yard, struct yard_shape shape,
                                      const unsigned char *front)
{
	return (uint64_t)(front - yard->front) / mini_line(shape.front);
}

/* The lines of a front bucket in a yard without values. */
ALWAYS_INLINE struct yard_trio yard_bare_trio(const struct yard *yard, struct yard_shape shape,
                                              uint64_t bucket)
{
	return (struct yard_trio){
		.front = yard_front_line(yard, shape, bucket),
		.back = { yard_back_line_in(yard, shape, bucket, 0),
		          yard_back_line_in(yard, shape, bucket, 1) },
		.crumb = yard_crumb(bucket),
	};
}

ALWAYS_INLINE struct yard_trio yard_trio_of(const struct yard *yard, struct yard_shape shape,
                                            uint64_t bucket)
{
	struct yard_trio trio = yard_bare_trio(yard, shape, bucket);
	if (yard->values == NULL)
		return trio;
	trio.front_values = yard_front_values(yard, bucket);
	trio.front_values.slots = shape.front.slots; /* as a constant */
	for (unsigned half = 0; half < 2; half++) {
		trio.back_values[half] =
			yard_back_values(yard, yard_line_in(yard, bucket, half) * 2 + half);
		trio.back_values[half].slots = shape.back.slots;
	}
	return trio;
}

/* ------------------------------------------------------------------- lookups -- */

/*
 * Whether entries of a mini-bucket of a front line may be in the backyard. No
 * slot is behind its own: the line is full, and none of a higher one is in it.
 */
ALWAYS_INLINE bool yard_spilled(struct yard_shape shape, struct mini_run run)
{
	return run.end == shape.front.slots;
}

/* Copies of a key in a backyard line, as bits; the slots of its mini-bucket only. */
ALWAYS_INLINE uint64_t yard_back_hits(struct yard_shape shape, const unsigned char *line,
                                      struct yard_key key)
{
	YARD_TOUCH(line);
	struct mini_run run = mini_find(shape.back, line, key.m);
	uint64_t hits = mini_match(shape.back, line, run.slots, key.remainder);
	return mini_match_crumb(shape.back, line, hits, yard_crumb(key.bucket));
}

/* Tells the values of some slots, behind the first `found`; gives how many there are then. */
ALWAYS_INLINE size_t yard_tell(struct yard_values beside, uint64_t slots, uint64_t *values,
                               size_t cap, size_t found)
{
	for (; slots != 0; slots &= slots - 1, found++) {
		if (found < cap)
			values[found] = yard_users_value(beside, (unsigned)__builtin_ctzll(slots));
	}
	return found;
}

/* Of the slots that show a key, those with its tag. */
ALWAYS_INLINE uint64_t yard_with_tag(struct yard_values values, uint64_t hits, uint64_t beside)
{
	return LIKELY(values.tag_bits == 0)
	               ? hits
	               : yard_with_value(values, hits, bits_low(values.tag_bits), beside);
}

/* How many copies of a key there are; writes the values of the first `cap`. */
ALWAYS_INLINE size_t yard_find_in(struct yard_shape shape, const struct yard_trio *trio,
                                  struct yard_key key, uint64_t *values, size_t cap)
{
	YARD_TOUCH(trio->front);
	struct mini_run run = mini_find(shape.front, trio->front, key.m);
	uint64_t hits = mini_match(shape.front, trio->front, run.slots, key.remainder);
	hits = yard_with_tag(trio->front_values, hits, key.beside);
	size_t found = yard_tell(trio->front_values, hits, values, cap, 0);
	for (unsigned half = 0; half < 2 && yard_spilled(shape, run); half++) {
		hits = yard_back_hits(shape, trio->back[half], key);
		hits = yard_with_tag(trio->back_values[half], hits, key.beside);
		found = yard_tell(trio->back_values[half], hits, values, cap, found);
	}
	return found;
}

/* The copies of a key, whatever their tags. */
ALWAYS_INLINE unsigned yard_copies_in(struct yard_shape shape, const struct yard_trio *trio,
                                      struct yard_key key)
{
	YARD_TOUCH(trio->front);
	struct mini_run run = mini_find(shape.front, trio->front, key.m);
	unsigned copies = (unsigned)POPCOUNT64(
		mini_match(shape.front, trio->front, run.slots, key.remainder));
	for (unsigned half = 0; half < 2 && yard_spilled(shape, run); half++)
		copies += (unsigned)POPCOUNT64(yard_back_hits(shape, trio->back[half], key));
	return copies;
}

static uint64_t yard_count_copies(const void *body, uint64_t hash)
{
	const struct yard *yard = body;
	return yard->ops->body.find(yard, hash, NULL, 0);
}

/* ------------------------------------------------------------- room in the backyard -- */

/* A backyard line as it is; threads that share a yard look at a copy instead. */
static const unsigned char *yard_line_itself(const struct yard *yard, unsigned char *line,
                                             unsigned char *copy)
{
	(void)yard, (void)copy;
	return line;
}

/* The ways out of a backyard line: for each crumb in it a first entry and its other line. */
NEVER_INLINE unsigned yard_ways_out(const struct yard *yard, unsigned char *from, bool near,
                                    yard_look_at look_at, struct yard_move *ways)
{
	const struct mini_shape shape = yard->ops->shape.back;
	unsigned char copy[MINI_LINE];
	const unsigned char *line = look_at(yard, from, copy);
	YARD_TOUCH(from);
	uint64_t number = (uint64_t)(from - yard->back) / mini_line(shape);
	unsigned count = mini_count(shape, mini_sizes_of(shape, line)), seen = 0, n = 0;
	for (unsigned slot = 0; slot < count; slot++) {
		unsigned crumb = mini_crumb(shape, line, slot);
		if (seen >> crumb & 1)
			continue;
		seen |= 1u << crumb;
		uint64_t owner = yard_front_of(yard, number, crumb);
		unsigned char *to = yard_back_line(yard, owner, number % 2 == 0);
		ways[n++] = (struct yard_move){ from, to, slot, crumb, near };
	}
	return n;
}

/* The way to the emptiest line; false if those are all full. */
NEVER_INLINE bool yard_best_way(const struct yard *yard, const struct yard_move *ways, unsigned n,
                                yard_look_at look_at, struct yard_move *best)
{
	const struct mini_shape shape = yard->ops->shape.back;
	unsigned char copy[MINI_LINE];
	unsigned least = shape.slots;
	for (unsigned i = 0; i < n; i++) {
		const unsigned char *line = look_at(yard, ways[i].to, copy);
		YARD_TOUCH(ways[i].to);
		unsigned count = mini_count(shape, mini_sizes_of(shape, line));
		if (count < least) {
			least = count;
			*best = ways[i];
		}
	}
	return least < shape.slots;
}

/*
 * Both backyard lines of some front bucket are full: finds an entry of either that can
 * go to its other line, or an entry of such a line that can make room there.
 */
NEVER_INLINE bool yard_find_move(const struct yard *yard, uint64_t bucket, yard_look_at look_at,
                                 struct yard_move *move)
{
	struct yard_move near[2 * YARD_WAYS], far[YARD_WAYS];
	unsigned n = 0;
	for (unsigned half = 0; half < 2; half++)
		n += yard_ways_out(yard, yard_back_line(yard, bucket, half), true, look_at,
		                   near + n);
	bool found = yard_best_way(yard, near, n, look_at, move);
	for (unsigned i = 0; i < n && !found; i++) {
		unsigned m = yard_ways_out(yard, near[i].to, false, look_at, far);
		found = yard_best_way(yard, far, m, look_at, move);
	}
	return found;
}

/* A backyard line and its values: those of the yard, or copies. */
struct yard_back {
	unsigned char *line;
	struct yard_values values;
};

static inline struct yard_back yard_back_of(const struct yard *yard, unsigned char *line)
{
	uint64_t number = (uint64_t)(line - yard->back) / mini_line(yard->ops->shape.back);
	return (struct yard_back){ line, yard_back_values(yard, number) };
}

/* Puts an entry into a backyard line, which has room. */
ALWAYS_INLINE void yard_put_in_back(struct mini_shape shape, struct yard_back back, unsigned m,
                                    uint64_t remainder, unsigned crumb, uint64_t beside)
{
	unsigned slot = mini_find(shape, back.line, m).end;
	mini_insert_at(shape, back.line, m, slot, remainder, crumb);
	yard_push_value(back.values, slot, beside);
}

/* Moves the entry of a slot from one backyard line to another, which has room. */
NEVER_INLINE void yard_move_entry(const struct yard *yard, struct yard_back from, unsigned slot,
                                  struct yard_back to, unsigned crumb)
{
	const struct mini_shape shape = yard->ops->shape.back;
	unsigned m = mini_bucket_of(shape, mini_sizes_of(shape, from.line), slot);
	yard_put_in_back(shape, to, m, mini_remainder(shape, from.line, slot), crumb,
	                 yard_value(from.values, slot));
	mini_remove(shape, from.line, m, slot);
	yard_pull_value(from.values, slot);
}

/* Makes room in either backyard line of a front bucket. If false, nothing changed. */
NEVER_INLINE bool yard_make_room(const struct yard *yard, uint64_t bucket)
{
	struct yard_move move = { 0 };
	while (!move.near) { /* twice at most: a move further away makes room for a near one */
		if (!yard_find_move(yard, bucket, yard_line_itself, &move))
			return false;
		yard_move_entry(yard, yard_back_of(yard, move.from), move.slot,
		                yard_back_of(yard, move.to), move.crumb);
	}
	return true;
}

/* -------------------------------------------------------------------- inserts -- */

/* Entries in a backyard line. */
ALWAYS_INLINE unsigned yard_back_count(struct yard_shape shape, const unsigned char *line)
{
	YARD_TOUCH(line);
	return mini_count(shape.back, mini_sizes_of(shape.back, line));
}

/* Puts an entry into the emptier of its backyard lines. Errors: FULL. */
ALWAYS_INLINE nidus_status yard_put_back(struct yard_shape shape, const struct yard_trio *trio,
                                         struct yard_key key)
{
	unsigned even = yard_back_count(shape, trio->back[0]);
	unsigned odd = yard_back_count(shape, trio->back[1]);
	unsigned half = odd < even;
	if (UNLIKELY((half ? odd : even) >= shape.back.slots))
		return NIDUS_FULL;
	struct yard_back back = { trio->back[half], trio->back_values[half] };
	yard_put_in_back(shape.back, back, key.m, key.remainder, trio->crumb, key.beside);
	return NIDUS_OK;
}

/* Whether a mini-bucket can hold as many copies of a key as there may be: hardly ever. */
ALWAYS_INLINE bool yard_crowded(struct mini_run run)
{
	return POPCOUNT64(run.slots) >= YARD_COPIES;
}

/*
 * Puts an entry into a full front line, behind the run of its mini-bucket; the last entry
 * goes to the backyard. FULL, with no word of it yet, if both lines there are full.
 */
ALWAYS_INLINE nidus_status yard_push_out(struct yard_shape shape, const struct yard_trio *trio,
                                         struct yard_key key, struct mini_run run)
{
	unsigned char *line = trio->front;
	unsigned last = shape.front.slots - 1;
	struct yard_key out = {
		.m = mini_last_bucket(shape.front, mini_sizes_of(shape.front, line)),
		.remainder = mini_remainder(shape.front, line, last),
		.beside = yard_value(trio->front_values, last),
	};
	if (UNLIKELY(yard_put_back(shape, trio, out) != NIDUS_OK))
		return NIDUS_FULL;
	mini_replace_last(shape.front, line, out.m, key.m, run.end, key.remainder);
	yard_push_value(trio->front_values, run.end, key.beside);
	return NIDUS_OK;
}

/* Puts a key in, given the run of its mini-bucket in the front line. Errors: FULL, as above. */
ALWAYS_INLINE nidus_status yard_put_where(struct yard_shape shape, const struct yard_trio *trio,
                                          struct yard_key key, struct mini_run run)
{
	if (yard_spilled(shape, run))
		return yard_put_back(shape, trio, key);
	if (mini_full(shape.front, trio->front))
		return yard_push_out(shape, trio, key, run);
	mini_insert_at(shape.front, trio->front, key.m, run.end, key.remainder, 0);
	yard_push_value(trio->front_values, run.end, key.beside);
	return NIDUS_OK;
}

/* ------------------------------------------------------------ removes and changes -- */

/*
 * An entry of a front line that was full is gone: the lowest of the bucket's spilled entries, if
 * there is one, returns for it. None that stayed is above it.
 */
ALWAYS_INLINE void yard_bring_back(struct yard_shape shape, const struct yard_trio *trio)
{
	YARD_TOUCH(trio->back[0]);
	YARD_TOUCH(trio->back[1]);
	struct mini_first even = mini_first_of(shape.back, trio->back[0], trio->crumb);
	struct mini_first odd = mini_first_of(shape.back, trio->back[1], trio->crumb);
	uint64_t lowest = even.m, at = even.slot, chosen = (uintptr_t)trio->back[0];
	replace_if_above(&lowest, odd.m, odd.m, &at, odd.slot, &chosen, (uintptr_t)trio->back[1]);
	if (UNLIKELY(lowest >= shape.back.buckets))
		return;
	unsigned m = (unsigned)lowest, slot = (unsigned)at;
	unsigned char *from = (unsigned char *)(uintptr_t)chosen;
	struct yard_values values =
		from == trio->back[1] ? trio->back_values[1] : trio->back_values[0];
	yard_set_value(trio->front_values, shape.front.slots - 1, yard_value(values, slot));
	yard_pull_value(values, slot);
	mini_append(shape.front, trio->front, m, mini_remainder(shape.back, from, slot));
	mini_remove(shape.back, from, m, slot);
}

/* Takes the entry of a slot out of the front line. */
ALWAYS_INLINE void yard_take_front_slot(struct yard_shape shape, const struct yard_trio *trio,
                                        unsigned m, unsigned slot)
{
	bool full = mini_full(shape.front, trio->front);
	mini_remove(shape.front, trio->front, m, slot);
	yard_pull_value(trio->front_values, slot);
	if (full)
		yard_bring_back(shape, trio);
}

/* Of the slots that hold a key, those whose entry a change may be made to: its tag counts. */
static inline uint64_t yard_changeable(struct yard_values values, uint64_t hits, uint64_t beside,
                                       const struct value_change *change)
{
	uint64_t tag = beside & bits_low(values.tag_bits);
	if (change != NULL && change->what != VALUE_ADD)
		return yard_with_value(values, hits, bits_low(values.bits),
		                       change->old << values.tag_bits | tag);
	return yard_with_tag(values, hits, tag);
}

static inline void yard_change_slot(struct yard_values values, unsigned slot,
                                    const struct value_change *change)
{
	uint64_t old = yard_value(values, slot), fresh = change->fresh;
	if (change->what == VALUE_ADD)
		fresh = value_sum(old >> values.tag_bits, fresh, values.bits - values.tag_bits);
	yard_set_value(values, slot, fresh << values.tag_bits | (old & bits_low(values.tag_bits)));
}

static inline bool yard_removes(const struct value_change *change)
{
	return change == NULL || change->what == VALUE_REMOVE;
}

/*
 * Changes an entry of a key in its three lines; NULL: it is taken out, whatever its value is.
 * Errors: NOT_FOUND.
 */
ALWAYS_INLINE nidus_status yard_change_in(struct yard_shape shape, const struct yard_trio *trio,
                                          struct yard_key key, const struct value_change *change)
{
	YARD_TOUCH(trio->front);
	struct mini_run run = mini_find(shape.front, trio->front, key.m);
	uint64_t hits = mini_match(shape.front, trio->front, run.slots, key.remainder);
	hits = yard_changeable(trio->front_values, hits, key.beside, change);
	if (hits != 0) {
		unsigned slot = (unsigned)__builtin_ctzll(hits);
		if (yard_removes(change))
			yard_take_front_slot(shape, trio, key.m, slot);
		else
			yard_change_slot(trio->front_values, slot, change);
		return NIDUS_OK;
	}
	for (unsigned half = 0; half < 2 && yard_spilled(shape, run); half++) {
		struct yard_values values = trio->back_values[half];
		hits = yard_changeable(values, yard_back_hits(shape, trio->back[half], key),
		                       key.beside, change);
		if (hits == 0)
			continue;
		unsigned slot = (unsigned)__builtin_ctzll(hits);
		if (yard_removes(change)) {
			mini_remove(shape.back, trio->back[half], key.m, slot);
			yard_pull_value(values, slot);
		} else {
			yard_change_slot(values, slot, change);
		}
		return NIDUS_OK;
	}
	return NIDUS_NOT_FOUND;
}

/* yard_change_in in lines that are nobody else's: the yard's own, or copies. */
NEVER_INLINE nidus_status yard_change_trio(const struct yard *yard, const struct yard_trio *trio,
                                           struct yard_key key, const struct value_change *change)
{
	static const struct yard_shape frequent = YARD_SHAPE_OF(YARD_MOST_FREQUENT);
	if (LIKELY(yard->ops->shape.front.slots == frequent.front.slots))
		return yard_change_in(frequent, trio, key, change);
	return yard_change_in(yard->ops->shape, trio, key, change);
}

/*
 * Brings listed entries of a front bucket home while its lines have room. Where an entry of a full
 * front line is gone, the one that came for it may be above a listed one: it is pushed out again.
 */
NEVER_INLINE void yard_come_home(struct yard *yard, const struct yard_trio *trio, uint64_t bucket)
{
	const struct yard_shape shape = yard->ops->shape;
	struct yard_key key, surplus;
	bool any = yard_list_first(yard, bucket, NULL, &key);
	while (any) {
		if (yard_copies_in(shape, trio, key) >= YARD_COPIES) {
			surplus = key;
			any = yard_list_first(yard, bucket, &surplus, &key);
			continue;
		}
		struct value_change out = { .what = VALUE_REMOVE,
			                    .old = key.beside >> yard->tag_bits };
		struct mini_run run = mini_find(shape.front, trio->front, key.m);
		if (yard_put_where(shape, trio, key, run) != NIDUS_OK)
			return;
		(void)yard_list_take(yard, key, &out);
		any = yard_list_first(yard, bucket, NULL, &key);
	}
}

/* How the listed entries of a front bucket come home. */
typedef void (*yard_home_fn)(struct yard *yard, uint64_t bucket);

static void yard_bucket_come_home(struct yard *yard, uint64_t bucket)
{
	struct yard_trio trio = yard_trio_of(yard, yard->ops->shape, bucket);
	yard_come_home(yard, &trio, bucket);
}

/* A place became free in the lines of a front bucket: entries of others may come to the backyard. */
NEVER_INLINE void yard_others_come_home(struct yard *yard, uint64_t bucket, yard_home_fn come_home)
{
	for (unsigned half = 0; half < 2; half++) {
		uint64_t line = yard_line_in(yard, bucket, half) * 2 + half;
		for (unsigned crumb = 0; crumb < YARD_FAN && yard_listed(yard); crumb++) {
			uint64_t other = yard_front_of(yard, line, crumb);
			struct yard_key key;
			if (other != bucket && other < yard->fronts &&
			    yard_list_first(yard, other, NULL, &key))
				come_home(yard, other);
		}
	}
}

/*
 * yard_change_trio in a yard whose list is not empty; *freed: a place in the lines became free.
 * The list comes first: what is there relies on the lines.
 */
NEVER_INLINE nidus_status yard_change_beside_list(struct yard *yard, const struct yard_trio *trio,
                                                  struct yard_key key,
                                                  const struct value_change *change, bool *freed)
{
	bool removes = yard_removes(change);
	*freed = false;
	if (removes && yard_list_take(yard, key, change))
		return NIDUS_OK;
	nidus_status status = yard_change_trio(yard, trio, key, change);
	if (status == NIDUS_NOT_FOUND && !removes)
		return yard_list_change(yard, key, change);
	*freed = status == NIDUS_OK && removes;
	if (*freed)
		yard_come_home(yard, trio, key.bucket);
	return status;
}

NEVER_INLINE nidus_status yard_change_any(struct yard *yard, struct yard_key key,
                                          const struct value_change *change)
{
	struct yard_trio trio = yard_trio_of(yard, yard->ops->shape, key.bucket);
	bool freed = false;
	nidus_status status = UNLIKELY(yard->list.nodes > 0)
	                              ? yard_change_beside_list(yard, &trio, key, change, &freed)
	                              : yard_change_trio(yard, &trio, key, change);
	if (freed)
		yard_others_come_home(yard, key.bucket, yard_bucket_come_home);
	yard->count -= status == NIDUS_OK && yard_removes(change);
	return status;
}

NEVER_INLINE nidus_status yard_take_any(struct yard *yard, struct yard_key key)
{
	return yard_change_any(yard, key, NULL);
}

/* A remove from a yard that keeps values or tags. */
NEVER_INLINE nidus_status yard_take_beside(struct yard *yard, uint64_t hash)
{
	return yard_change_any(yard, yard_locate_tagged(yard, hash), NULL);
}

static nidus_status yard_change_value(void *body, uint64_t hash, struct value_change change)
{
	return yard_change_any(body, yard_locate_tagged(body, hash), &change);
}

/* ---------------------------------------------------------------- inserts, the long way -- */

/* Puts a key in whose lines have no room: it, or what leaves a line for it, is listed. */
NEVER_INLINE nidus_status yard_put_listed(struct yard *yard, const struct yard_trio *trio,
                                          struct yard_key key, struct mini_run run)
{
	const struct yard_shape shape = yard->ops->shape;
	const unsigned last = shape.front.slots - 1;
	if (yard_spilled(shape, run))
		return yard_list_spill(yard, key);
	struct yard_key out = {
		.bucket = key.bucket,
		.m = mini_last_bucket(shape.front, mini_sizes_of(shape.front, trio->front)),
		.remainder = mini_remainder(shape.front, trio->front, last),
		.beside = yard_value(trio->front_values, last),
	};
	nidus_status status = yard_list_spill(yard, out);
	if (status != NIDUS_OK)
		return status;
	mini_replace_last(shape.front, trio->front, out.m, key.m, run.end, key.remainder);
	yard_push_value(trio->front_values, run.end, key.beside);
	return NIDUS_OK;
}

/* Adds to the value of an entry of a key, in its lines or in the list. */
static bool yard_add_to(struct yard *yard, const struct yard_trio *trio, struct yard_key key)
{
	struct value_change add = { .what = VALUE_ADD, .fresh = key.beside >> yard->tag_bits };
	return yard_change_trio(yard, trio, key, &add) == NIDUS_OK ||
	       (yard_listed(yard) && yard_list_change(yard, key, &add) == NIDUS_OK);
}

/* Whether there is an entry of a key, in its lines or in the list. */
static bool yard_is_there(const struct yard *yard, const struct yard_trio *trio,
                          struct yard_key key)
{
	return yard_find_in(yard->ops->shape, trio, key, NULL, 0) > 0 ||
	       (yard_listed(yard) && yard_list_find(yard, key, NULL, 0, 0) > 0);
}

/*
 * Puts a key into its lines as demanded. *added: no entry came, as there was one to add to.
 * Errors: PRESENT, COPIES, E_NOMEM; FULL. Unless it is the `last` try that is without a word, as
 * there may be room after a move; the last one lists what finds no room.
 */
NEVER_INLINE nidus_status yard_put_trio(struct yard *yard, const struct yard_trio *trio,
                                        struct yard_key key, enum yard_demand demand, bool last,
                                        bool *added)
{
	const struct yard_shape shape = yard->ops->shape;
	*added = demand == YARD_ADD_OR_NEW && yard_add_to(yard, trio, key);
	if (*added)
		return NIDUS_OK;
	YARD_TOUCH(trio->front);
	struct mini_run run = mini_find(shape.front, trio->front, key.m);
	if (demand == YARD_ONLY_NEW && yard_is_there(yard, trio, key))
		return NIDUS_PRESENT;
	if ((yard_spilled(shape, run) || yard_crowded(run)) &&
	    yard_copies_in(shape, trio, key) >= YARD_COPIES)
		return yard_list_put(yard, key, 1);
	nidus_status status = yard_put_where(shape, trio, key, run);
	return UNLIKELY(status != NIDUS_OK) && last ? yard_put_listed(yard, trio, key, run)
	                                            : status;
}

NEVER_INLINE nidus_status yard_put_any(struct yard *yard, struct yard_key key)
{
	struct yard_trio trio = yard_trio_of(yard, yard->ops->shape, key.bucket);
	nidus_status status;
	bool added, last = false;
	while ((status = yard_put_trio(yard, &trio, key, YARD_ANY, last, &added)) == NIDUS_FULL &&
	       !last)
		last = !yard_make_room(yard, key.bucket);
	yard->count += status == NIDUS_OK;
	return status;
}

static nidus_status yard_insert_value(void *body, uint64_t hash, uint64_t value)
{
	struct yard *yard = body;
	struct yard_key key = yard_locate(yard, hash);
	key.beside = yard_beside(yard, hash, value);
	return yard->ops->put(yard, key);
}

#endif

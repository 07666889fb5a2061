/* SPDX-License-Identifier: MIT
 *
 * moving: a filter in parts: one body, a smaller one that is being left, and what
 * neither has a place for.
 *
 * Growth does not stop the world. The filter gets a larger body and keeps the
 * smaller one, its old self, until that is empty:
 *
 *     insert ---------------------> [ larger body ] --> (no place) --> [ overflow list ]
 *        and now and then some  -->       ^                                   ^
 *     lookup -----------------------------+--> (no) --> [ old body ] --> (no) +
 *     remove --> [ overflow list ] --> (no) --> [ old body ] --> (no) --> [ larger body ]
 *
 *  - Every 16th insert (32nd in larger filters) moves the entries of some places of the old body.
 *    It is empty after a third of the inserts that the growth makes room for.
 *  - An entry is in its new place before it leaves the old one.
 *  - The old body is only asked for keys whose places there have not all been emptied.
 *  - Both bodies compare equally many bits of a hash with each entry, as those that
 *    become address bits are compared too: entries give the same rate in either.
 *  - What the larger body has no place for, copies of hot keys and whatever they leave no
 *    room for, goes to the overflow list (base/overflow.h). So a move always ends. When
 *    the old body is empty, the entries of the list are tried once more, a few at a time.
 *  - A filter that can grow takes at most family->copies of an identity, wherever they
 *    are; an insert counts them where other parts than the body have some.
 *
 * A filter in one part pays nothing: the state is in filter->moving, and filter->ops
 * are other operations while there is an old body or an overflow list.
 */
#ifndef NIDUS_API_MOVING_H
#define NIDUS_API_MOVING_H

#include "api/filter.h"

/*
 * Inserts per turn. Larger filters have longer ones: batches ask memory for more keys at a
 * time. Small ones have little room in which a move must end.
 */
#define MOVING_TURN 16
#define MOVING_TURN_MOST 32
#define MOVING_LARGE 4096 /* keys of capacity */

/* The old body is empty after this part of the inserts that the growth makes room for. */
#define MOVING_PART 3

/* Whether the filter has two bodies. */
static inline bool moving(const nidus_filter *filter)
{
	return filter->moving.old != NULL;
}

/* Whether it has more than its body. */
static inline bool moving_parts(const nidus_filter *filter)
{
	return moving(filter) || filter->moving.overflow.entries > 0;
}

/* The operations of the body alone. */
static inline const struct body_ops *moving_body_ops(const nidus_filter *filter)
{
	return moving_parts(filter) ? filter->moving.ops : filter->ops;
}

/*
 * Gives a filter that is not moving a larger body, and keeps the smaller one.
 * Errors: E_NOMEM; the filter is as it was then.
 */
nidus_status moving_begin(nidus_filter *filter, const struct blueprint *larger);

/*
 * Moves all that is left. Takes as long as there are entries.
 * Errors: E_NOMEM: some had to stay; the filter is in two parts still.
 */
nidus_status moving_finish(nidus_filter *filter);

/* After so many inserts: moves as much as they owe. */
void moving_count_inserts(nidus_filter *filter, uint64_t inserts);

/* Frees all parts but the body, with what is in them. */
void moving_drop(nidus_filter *filter);

/* After the body or the other parts were exchanged: takes the operations that fit. */
void moving_choose_ops(nidus_filter *filter);

/* The old body if it can still hold a key; otherwise NULL. */
nidus_filter *moving_old_for(const nidus_filter *filter, uint64_t hash);

/* Whether parts other than the body have copies of a key. */
bool moving_elsewhere(const nidus_filter *filter, uint64_t hash);

/* Whether there are as many copies of a key as a filter takes that can grow. */
bool moving_crowded(const nidus_filter *filter, uint64_t hash);

/* Puts a key, or an entry, into the overflow list. Errors: E_NOMEM. */
nidus_status moving_overflow(nidus_filter *filter, uint64_t hash, uint64_t value);
nidus_status moving_overflow_entry(nidus_filter *filter, const nidus_entry *entry, uint64_t copies);

/* Whether the overflow list has the key: changes of it need the filter for themselves. */
bool moving_overflowed(const nidus_filter *filter, uint64_t hash);

/* Entries, and how full all parts are. */
uint64_t moving_count(const nidus_filter *filter);

/* The same without copies that are only counted: they take no room, and need no growth. */
uint64_t moving_held(const nidus_filter *filter);
struct fill moving_fill(const nidus_filter *filter);

/* Slots of both bodies. */
uint64_t moving_slots(const nidus_filter *filter);

/* Walks through all parts. */
bool moving_next(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entry);

/* Copies filter's other parts for a clone. Errors: E_NOMEM. */
nidus_status moving_clone(const nidus_filter *filter, nidus_filter *copy);

/*
 * Whether the old body has nothing where the position says that all has moved: lookups rely on
 * it, and a file may say anything. Errors: E_CORRUPT.
 */
nidus_status moving_verify(const nidus_filter *filter);

/* Makes a filter that was read from a file one whose entries come from `old`. */
void moving_resume(nidus_filter *filter, nidus_filter *old);

#endif

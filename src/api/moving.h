/* SPDX-License-Identifier: MIT
 *
 * moving: a filter in the middle of its growth.
 *
 * Growth does not stop the world. The filter gets a larger body and keeps the
 * smaller one, its old self, until that is empty:
 *
 *     insert ---------------------> [ larger body ]
 *        and now and then some  -->       ^
 *     lookup --> [ old body ] --> (no) ---+
 *     remove --> [ old body ] --> (no) ---+
 *
 *  - All copies of a key that is inserted lie in one body: those that the old one
 *    has go over first. So copies are bounded as in one table.
 *  - Every MOVING_TURN-th insert moves the entries of some places of the old body.
 *    It is empty after half of the inserts that the growth makes room for.
 *  - An entry is in the larger body before it leaves the old one.
 *  - Both bodies compare equally many bits of a hash with each entry, as those that
 *    become address bits are compared too: entries give the same rate in either.
 *  - What the larger body has no room for (copies of one key, at worst) stays in
 *    the old one, and the filter stays in two parts until it grows again.
 *
 * A filter that does not grow pays nothing: the state is in filter->moving, and
 * filter->ops are other operations while moving.old is not NULL.
 */
#ifndef NIDUS_API_MOVING_H
#define NIDUS_API_MOVING_H

#include "api/filter.h"

#define MOVING_TURN 16 /* inserts */

static inline bool moving(const nidus_filter *filter)
{
	return filter->moving.old != NULL;
}

/*
 * Gives a filter that is in one part a larger body, and keeps the smaller one.
 * Errors: E_NOMEM; the filter is as it was then.
 */
nidus_status moving_begin(nidus_filter *filter, const struct blueprint *larger);

/*
 * Moves all that is left. Takes as long as there are entries.
 * Errors: FULL: some had to stay; the filter is in two parts still.
 */
nidus_status moving_finish(nidus_filter *filter);

/* After so many inserts: moves as much as they owe. Nothing for a filter in one part. */
void moving_count_inserts(nidus_filter *filter, uint64_t inserts);

/* Frees the old body, with what is in it. Nothing for a filter in one part. */
void moving_drop(nidus_filter *filter);

/* Entries, and how full both parts are. */
uint64_t moving_count(const nidus_filter *filter);
struct fill moving_fill(const nidus_filter *filter);

/* Slots of both parts. */
uint64_t moving_slots(const nidus_filter *filter);

/* Walks through both parts. */
bool moving_next(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entry);

/* Copies filter's old body, if it has one, for a clone. Errors: E_NOMEM. */
nidus_status moving_clone(const nidus_filter *filter, nidus_filter *copy);

#endif

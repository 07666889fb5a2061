/* SPDX-License-Identifier: MIT
 *
 * growth: filters that become larger, by themselves or when told.
 */
#ifndef NIDUS_API_GROWTH_H
#define NIDUS_API_GROWTH_H

#include "api/filter.h"

/* insert for a filter that grows: makes room first where it is due. */
nidus_status growth_insert(nidus_filter *filter, uint64_t hash);

/* How many inserts surely need no growth; 0 at capacity. */
uint64_t growth_room(nidus_filter *filter);

/*
 * What so many inserts, this one the last, would have done for growth, for a filter
 * that threads share. Gives how many more there may be before growth can be due; 0 or
 * less if it is and could not be done.
 */
int64_t growth_take_turn(nidus_filter *filter, unsigned inserts, uint64_t last);

/* Takes a plan of the same level: there was room, it was only not promised. */
void growth_promise(nidus_filter *filter, const struct blueprint *plan);

/* Puts all entries of a filter into another. Errors: FULL, COPIES, E_NOMEM. */
nidus_status growth_pour(nidus_filter *to, const nidus_filter *from);

/*
 * What a filter in two parts lends to calls that need one in one part: a copy that
 * has finished (or, where copies of a key are in the way, that has grown further). A
 * filter in one part is lent itself, and no thread changes it until *settled is
 * given back with growth_return.
 * Errors: E_NOMEM; FULL and COPIES (no size has room for that many copies).
 */
nidus_status growth_settle(const nidus_filter *filter, const nidus_filter **settled);
void growth_return(const nidus_filter *filter, const nidus_filter *settled);

#endif

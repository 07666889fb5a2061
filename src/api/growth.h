/* SPDX-License-Identifier: MIT
 *
 * growth: filters that become larger, by themselves or when told.
 */
#ifndef NIDUS_API_GROWTH_H
#define NIDUS_API_GROWTH_H

#include "api/filter.h"

/*
 * insert for a filter that grows: makes room first where it is due. Below max_capacity
 * entries no key is refused but one that has as many copies as may be.
 */
nidus_status growth_insert(nidus_filter *filter, uint64_t hash, uint64_t value);

/* The same for a batch: see body_ops.insert_batch. */
nidus_status growth_insert_batch(nidus_filter *filter, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, size_t *done);

/* growth_insert without growth and turns, for a thread that has the filter for itself. */
nidus_status growth_put(nidus_filter *filter, uint64_t hash, uint64_t value);

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
nidus_status growth_transfer(nidus_filter *to, const nidus_filter *from);

#endif

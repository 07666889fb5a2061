/* SPDX-License-Identifier: MIT
 *
 * growth: filters that become larger or smaller when told.
 */
#ifndef NIDUS_API_GROWTH_H
#define NIDUS_API_GROWTH_H

#include "api/filter.h"

/*
 * An empty directory with the plan of a filter, which may be one of fixed size. Errors: E_RANGE
 * (of those some need more bits of a hash than directories can cut), E_NOMEM.
 */
nidus_status growth_make_empty(const nidus_filter *like, struct blueprint *plan,
                               nidus_filter **made);

/*
 * Makes a filter of fixed size a directory with the same entries, so that it can have more than
 * it was made for. Errors: E_RANGE, E_NOMEM; it is as it was then.
 */
nidus_status growth_make_directory(nidus_filter *filter);

/* Raises capacity and target of a filter to what so many keys need. */
void growth_promise(nidus_filter *filter, uint64_t keys);

/* Puts all entries of a filter into a growing one. Errors: E_NOMEM, FULL. */
nidus_status growth_absorb(nidus_filter *to, const nidus_filter *from);

#endif

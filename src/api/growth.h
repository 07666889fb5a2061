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

/* insert_entry for any filter, which grows where it is due. */
nidus_status growth_insert_entry(nidus_filter *filter, const nidus_entry *entry);

#endif

/* SPDX-License-Identifier: MIT
 *
 * search: makes room in a full group by moving other entries to their other
 * places.
 */
#ifndef NIDUS_TABLE_SEARCH_H
#define NIDUS_TABLE_SEARCH_H

#include "table/nest.h"

#define SEARCH_STEPS_MAX 8192 /* slots that one search may look at */

/*
 * Finds the shortest chain of moves that frees a slot of either group of the
 * key (both are full), and only then moves. On true *slot is the freed one: it
 * still holds a copy of the entry that moved on, for the caller to write over.
 * On false nothing changed.
 */
bool search_room(struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                 uint64_t *slot);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_ROOM_H
#define NIDUS_CLI_ROOM_H

/**
 * @file room.h  How many keys the command puts into a set: as many as are promised to fit.
 *
 * More would fit at times, depending on the seed. A command that succeeds with one seed and
 * fails with the next is of no use in a script, so it stops at the promise.
 */

#include "nidus.h"

/** Entries that a filter of this description is made for, growth included. */
uint64_t room_of(const nidus_info *info);

/** Entries that the filter may hold, growth included; without end for Bloom families. */
uint64_t room_in(const nidus_filter *filter);

/** Keys that take room: not those that are only listed beside the table, copies mostly. */
uint64_t room_used(const nidus_filter *filter);

/** How many more those are than it holds. */
uint64_t room_left(const nidus_filter *filter);

/**
 * Says so if a Bloom filter holds more keys than it was made for, because its rate is
 * higher then. `name` is the set's, or NULL.
 */
void room_warn(const char *name, const nidus_filter *filter);

#endif

/* SPDX-License-Identifier: MIT
 *
 * nest_values: parts of finding and changing payloads that plain and shared nests have in
 * common.
 */
#ifndef NIDUS_NEST_VALUES_H
#define NIDUS_NEST_VALUES_H

#include "nest/change.h"

/*
 * The first slot that holds the key of a spot, with the payload in spot->value too if
 * `exact`. False: none does.
 */
bool nest_find_entry(const struct nest *nest, const struct nest_key *key,
                     const struct nest_spot *spot, bool exact, uint64_t *slot);

/* What a change other than VALUE_REMOVE makes of a payload, and of an entry of the stash. */
uint64_t nest_changed(const struct nest *nest, uint64_t payload, struct value_change change);
struct stash_entry nest_changed_entry(const struct nest *nest, struct stash_entry entry,
                                      struct value_change change);

#endif

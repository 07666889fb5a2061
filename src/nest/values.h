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

/* What a change other than VALUE_REMOVE makes of a payload. */
uint64_t nest_changed(const struct nest *nest, uint64_t payload, struct value_change change);

/* The same with one copy of a stashed entry. Errors: COPIES, E_NOMEM; nothing changed then. */
nidus_status nest_stash_change(struct nest *nest, uint64_t chunk, const struct overflow_node *node,
                               struct value_change change);

#endif

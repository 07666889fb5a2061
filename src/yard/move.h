/* SPDX-License-Identifier: MIT
 *
 * yard_move: the entries of a yard go over to a larger one, a few at a time.
 */
#ifndef NIDUS_YARD_MOVE_H
#define NIDUS_YARD_MOVE_H

#include "base/overflow.h"
#include "yard/yard.h"

/*
 * Moves what the next front buckets of `from` have, *position on (0 at first), until
 * that were `places` places, into `to`, a yard of the same base geometry and a higher
 * level. A bucket's entries are all in `to` before they leave `from`; both are valid
 * yards after each bucket. What `to` has no place for goes into the overflow list; where
 * that gets no memory the move stops before the bucket. *position is UINT64_MAX behind
 * the last bucket.
 */
void yard_move(struct yard *to, struct yard *from, uint64_t *position, uint64_t places,
               struct overflow *overflow);

#endif

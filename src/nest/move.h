/* SPDX-License-Identifier: MIT
 *
 * nest_move: the entries of a nest go over to a larger one, a few at a time.
 */
#ifndef NIDUS_NEST_MOVE_H
#define NIDUS_NEST_MOVE_H

#include "base/overflow.h"
#include "nest/nest.h"

/*
 * Looks at the next `places` slots of `from`, *position on (0 at first), and moves
 * what they hold into `to`, a nest of the same base geometry that has grown further.
 * Every entry is in `to` before it leaves `from`; both are valid nests after each.
 * What `to` has no place for goes into the overflow list; where that gets no memory the
 * move stops. *position is UINT64_MAX behind the last slot.
 */
void nest_move(struct nest *to, struct nest *from, uint64_t *position, uint64_t places,
               struct overflow *overflow);

/*
 * Which of n keys `from` can still hold, amid such a move: left[i] is 0 if all their slots lie
 * before the position.
 */
void nest_left(const struct nest *from, uint64_t position, const uint64_t *hashes, size_t n,
               uint8_t *left);

#endif

/* SPDX-License-Identifier: MIT
 *
 * split: what the tiers of splitting share (split.c).
 */
#ifndef NIDUS_NEST_SPLIT_H
#define NIDUS_NEST_SPLIT_H

#include "base/spread.h"
#include "nest/nest.h"

#define SPLIT_BLOCK 8 /* slots */

/* Entries of a block whose slots are taken in the body that they go to, as they would be there. */
struct split_late {
	unsigned count;
	uint64_t slot[SPLIT_BLOCK], value[SPLIT_BLOCK];
};

/* Puts them into other slots that they may have. Errors: E_NOMEM, FULL. */
nidus_status split_put_late(struct nest *to, struct split_late *late);

/* The borrowed bits of the entry in a slot (base/spread.h). */
uint64_t split_borrowed(const struct nest *nest, uint64_t slot, uint64_t value);

/*
 * Splits blocks of a body that goes in rows, from the first on, as many as it can; *done becomes
 * how many slots that are. Where isa.h says so.
 */
nidus_status split_blocks_avx2(const struct nest *from, const struct spread *spread,
                               uint64_t *done);

#endif

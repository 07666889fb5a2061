/* SPDX-License-Identifier: MIT
 *
 * tally: a number that several threads add to.
 *
 * It is kept in parts of a cache line each; a thread always adds to the same
 * part, so that threads do not wait for each other's line. The sum is exact
 * when no thread adds meanwhile.
 */
#ifndef NIDUS_BASE_TALLY_H
#define NIDUS_BASE_TALLY_H

#include <stdint.h>

#define TALLY_PARTS 16

struct tally {
	struct {
		_Alignas(64) uint64_t sum;
	} part[TALLY_PARTS];
};

/* The part that this thread adds to: one of TALLY_PARTS, the same for all its life. */
unsigned tally_part(void);

/* Modulo 2^64, so that taking away is adding, too. */
void tally_add(struct tally *tally, uint64_t amount);
uint64_t tally_sum(const struct tally *tally);
void tally_clear(struct tally *tally);

#endif

/* SPDX-License-Identifier: MIT
 *
 * tally: the breadcrumb paper's design as counts: which lines are full, not what is in them.
 *
 * A key goes to its front line, and where that is full to the emptier of the line's two
 * backyard lines; nothing moves. It ends where both are full.
 */
#ifndef NIDUS_BENCH_TALLY_H
#define NIDUS_BENCH_TALLY_H

#include <stdint.h>

struct tally_shape {
	const char *name;
	unsigned front, back; /* slots of a line */
};

#define TALLIES 4

extern const struct tally_shape tally_shapes[TALLIES];

/* How a front line finds its backyard lines: Algorithm 1, or the XOR trick of section 3.3. */
enum tally_map { TALLY_CRUMBS, TALLY_XOR };

/* The paper's load at which the first key is refused: keys over the slots of 9/8 as many front lines. */
double tally_load(unsigned shape, enum tally_map map, uint64_t fronts, uint64_t seed);

#endif

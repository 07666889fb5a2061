/* SPDX-License-Identifier: MIT
 *
 * effort: what this thread's calls have cost so far, in numbers that no noise touches.
 *
 * Tests read it before and after a call to see that the work of one insert is bounded.
 */
#ifndef NIDUS_BASE_EFFORT_H
#define NIDUS_BASE_EFFORT_H

#include <stdint.h>

struct effort {
	uint64_t cleared; /* bytes of memory */
	uint64_t moved;   /* entries, from a table to a larger one or out of an overflow list */
	uint64_t looked;  /* slots, by searches for room that the short way did not end */
};

/* This thread's. */
struct effort *effort_of_thread(void);

#endif

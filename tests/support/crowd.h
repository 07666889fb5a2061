/* SPDX-License-Identifier: MIT
 *
 * crowd: threads that use one filter together, each with keys of its own.
 */
#ifndef NIDUS_TESTS_SUPPORT_CROWD_H
#define NIDUS_TESTS_SUPPORT_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "nidus.h"

struct crowd_plan {
	unsigned workers;    /* threads that put in, take out and look for their keys */
	unsigned rounds;     /* of each */
	uint64_t share;      /* keys of a worker in its first round */
	uint64_t last_share; /* and in its last: they grow if it is larger */
	uint64_t fixed;      /* keys that are in from the start and looked for all along */
	bool whole;          /* a thread that saves, walks, verifies and clones meanwhile */
};

struct crowd_result {
	uint64_t operations;
	uint64_t misses;          /* keys that were in and not found, or not removed */
	uint64_t wrong;           /* answers that no call may give here */
	uint64_t refused;         /* inserts that found no place */
	uint64_t held;            /* keys in the filter at the end */
	uint64_t snapshot_faults; /* copies and files that were not whole */
};

/* Lets the threads loose on an empty filter and waits for them. */
struct crowd_result crowd_run(nidus_filter *filter, const struct crowd_plan *plan);

#endif

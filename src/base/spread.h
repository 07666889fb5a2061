/* SPDX-License-Identifier: MIT
 *
 * spread: where the entries of a body go when it is split or merged.
 */
#ifndef NIDUS_BASE_SPREAD_H
#define NIDUS_BASE_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

/* The body that an entry goes to, and its tag there (base/segment.h). */
struct spread_target {
	void *body;
	uint64_t tag;
};

/*
 * Which entries of a body go where: by their tags, and by their borrowed bits if `borrows`. Of a
 * body that is a whole filter the number of the chunk stands for the tag. No body at all: nothing
 * with this tag can be there, and a file says so that somebody has changed.
 */
struct spread {
	struct spread_target (*choose)(const void *context, uint64_t tag, uint64_t borrowed);
	const void *context;
	bool borrows;
};

#endif

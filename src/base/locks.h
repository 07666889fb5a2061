/* SPDX-License-Identifier: MIT
 *
 * locks: what a table has beside it if threads share it: locks, and a count.
 *
 * The table's own bytes are the same with and without. A body has no locks
 * unless its plan says NIDUS_CONCURRENT.
 */
#ifndef NIDUS_BASE_LOCKS_H
#define NIDUS_BASE_LOCKS_H

#include "base/stripes.h"
#include "base/tally.h"

struct locks {
	struct tally added; /* entries since the body last counted alone */
	struct stripes stripes;
	struct block memory; /* this struct */
};

/* For a table of so many bytes. Errors: E_NOMEM; *locks is NULL then. */
nidus_status locks_make(struct locks **locks, uint64_t table_bytes,
                        const nidus_allocator *allocator);

/* NULL is fine. */
void locks_unmake(struct locks *locks, const nidus_allocator *allocator);

/* Bytes in memory; 0 for NULL. */
uint64_t locks_bytes(const struct locks *locks);

/* What was added since; 0 for NULL. */
static inline uint64_t locks_added(const struct locks *locks)
{
	return locks == NULL ? 0 : tally_sum(&locks->added);
}

#endif

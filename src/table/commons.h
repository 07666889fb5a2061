/* SPDX-License-Identifier: MIT
 *
 * commons: what lies beside a table that threads share: locks, and a count.
 *
 * The table's own bytes are the same with and without. A body has no commons
 * unless its plan says NIDUS_CONCURRENT.
 */
#ifndef NIDUS_TABLE_COMMONS_H
#define NIDUS_TABLE_COMMONS_H

#include "base/tally.h"
#include "table/stripes.h"

struct commons {
	struct tally added; /* entries since the body last counted alone */
	struct stripes stripes;
	struct block memory; /* this struct */
};

/* For a table of so many bytes. Errors: E_NOMEM; *commons is NULL then. */
nidus_status commons_make(struct commons **commons, uint64_t table_bytes,
                          const nidus_allocator *allocator);

/* NULL is fine. */
void commons_unmake(struct commons *commons, const nidus_allocator *allocator);

/* Bytes in memory; 0 for NULL. */
uint64_t commons_bytes(const struct commons *commons);

/* What was added since; 0 for NULL. */
static inline uint64_t commons_added(const struct commons *commons)
{
	return commons == NULL ? 0 : tally_sum(&commons->added);
}

#endif

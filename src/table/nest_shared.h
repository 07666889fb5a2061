/* SPDX-License-Identifier: MIT
 *
 * nest_shared: a nest that threads share (NIDUS_CONCURRENT).
 *
 * The table is the same, bit for bit; what is added are locks beside it. Keys'
 * groups are covered by stripes (stripes.h), each chunk's stash by a version of
 * its own, which is always the last lock taken.
 *
 *   lookup   versions of both groups' stripes before and after; writes nothing
 *   insert   locks the group in which it saw an empty slot, and puts the key there
 *   remove   the same with a slot that holds the key
 *   both     go the long way, under the locks of both groups, where one is not enough:
 *            insert_new, and whatever has to do with the stash
 *   crowded  looks for a chain of moves without a lock, then moves entry by entry
 *            from the chain's end, each under the locks of the two slots: the copy is
 *            written to the free slot first, then the old one cleared, or given to
 *            the new key if the chain ends there. Whatever is not as the search saw
 *            it ends the chain early; every entry is in its place then, and the
 *            insert begins again.
 *
 * A reader of the moved entry has both of its groups' stripes in its set, so it
 * cannot miss it between two looks: the versions tell.
 *
 * Entries are counted in the stripes (stripes.h), stashed ones in the chunk's record.
 *
 * A chain leaves slots empty for a moment. A lookup here therefore asks a stash
 * that is not empty whenever the groups do not hold the key, whether or not they
 * have an empty slot; and whoever leaves a slot empty for good brings a stashed
 * entry home to it, so that the nest's invariants hold whenever no call is inside.
 */
#ifndef NIDUS_TABLE_NEST_SHARED_H
#define NIDUS_TABLE_NEST_SHARED_H

#include "table/nest.h"
#include "table/stripes.h"

struct nest_shared {
	struct stripes stripes;
	uint32_t *stash_version; /* per chunk */
	struct block memory;     /* this struct and the versions */
	/* How a group is compared, as in nest_ops.h but at run time. */
	unsigned fields, words; /* slots per word, words per group */
	unsigned word_bits;
	uint64_t ones, lows, highs; /* of the fields of a word, see slots.h */
	uint64_t pattern[2][NEST_SLOTS_MAX];
	uint64_t open[NEST_SLOTS_MAX]; /* the highest bit of each field not held back */
};

/* Gives a nest its locks. Errors: E_NOMEM; nothing changed then. */
nidus_status nest_share(struct nest *nest);

/* Takes them away. A nest without any is fine. */
void nest_unshare(struct nest *nest);

/* Entries that came to a chunk's slots through the operations below; 0 without locks. */
uint64_t nest_shared_used(const struct nest *nest, uint64_t chunk);

/* The table was emptied: those do not count any more. */
void nest_shared_forget(struct nest *nest);

/* Bytes of the locks. */
uint64_t nest_shared_bytes(const struct nest *nest);

/* The operations for a nest that has locks. */
const struct body_ops *nest_shared_ops(const struct nest *nest);

#endif

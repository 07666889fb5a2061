/* SPDX-License-Identifier: MIT
 *
 * nest_shared: a nest that threads share (NIDUS_CONCURRENT).
 *
 * The table is the same, bit for bit; what is added are locks and versions beside
 * it. Writers lock the stripes of the bytes that they change (stripes.h). Readers
 * watch pairs: the two groups of a key are its pair, and all entries of a pair have
 * one version, which changes when one of them leaves its place. A chunk's stash has
 * a version of its own, and keeps its memory as long as threads may look at it. Locks are taken in this order: stripes, stash, one pair.
 *
 *   lookup   the pair's version before and after the slots; writes nothing
 *   insert   locks a slot that it saw empty, and puts the key there
 *   remove   the same with the group of a slot that holds the key, and the pair
 *   both     go the long way, under the locks of both groups, where one is not enough:
 *            insert_new, changes of payloads, and whatever has to do with the stash
 *   crowded  looks for a chain of moves without a lock, then moves entry by entry
 *            from the chain's end, each under the locks of the two slots and of the
 *            entry's pair: the copy is written to the free slot first, then the old
 *            one cleared, or given to the new key if the chain ends there. Whatever is
 *            not as the search saw it ends the chain early; every entry is in its
 *            place then, and the insert begins again.
 *
 * Why a lookup misses nothing: an entry that is there at its first look at the
 * version is there until the version changes. It may have read a slot of which half
 * was written: that is another fingerprint for a moment, and no one's own.
 *
 * The bucket of a coded nest is written anew with every change, and so all its
 * entries leave their places: lookups there watch the stripes of both groups instead.
 *
 * Entries are counted in the stripes (stripes.h), different stashed ones in the chunk's record.
 *
 * A chain leaves slots empty for a moment. A lookup here therefore asks a stash
 * that is not empty whenever the groups do not hold the key, whether or not they
 * have an empty slot; and a call that leaves a slot empty for good brings a stashed
 * entry home to it if there is one, so that the nest's invariants hold whenever no call is inside.
 * No entry ever goes from a slot to the stash, so a stash that was empty when a
 * lookup began need not be asked.
 */
#ifndef NIDUS_NEST_SHARED_H
#define NIDUS_NEST_SHARED_H

#include "base/stripes.h"
#include "nest/nest.h"

struct search;

struct nest_shared {
	struct stripes stripes;
	uint32_t *stash_version; /* per chunk */
	uint32_t *pair_version;  /* as many as stripes, see nest_pair */
	struct block memory;     /* this struct and the versions */
};

/* The number of a key's pair of groups: the same whichever comes first. */
ALWAYS_INLINE uint32_t nest_pair(const struct stripes *stripes, const struct nest_key *key)
{
	uint32_t sum = (uint32_t)key->group[0] + (uint32_t)key->group[1];
	return (uint32_t)(key->chunk << stripes->chunk_log) + (sum & stripes->mask);
}

static inline uint32_t *nest_pair_version(const struct nest *nest, const struct nest_key *key)
{
	return &nest->shared->pair_version[nest_pair(&nest->shared->stripes, key)];
}

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

/* nest_word of a coded bucket that is too wide for one. */
uint64_t nest_shared_coded_word(const struct nest *nest, const unsigned char *bits, uint64_t bit,
                                unsigned word);

/* ----------------------------------------------------------- the long ways -- */

/* Lookups that wait for threads at work, and ask the stash. */
bool nest_shared_look(const struct nest *nest, uint64_t hash);
uint64_t nest_shared_count(const struct nest *nest, uint64_t hash);
size_t nest_shared_find(const struct nest *nest, uint64_t hash, uint64_t *values, size_t cap);

/* search_begin and search_walk of an instance. */
typedef bool nest_walk(struct search *search, struct nest *nest, const struct nest_key *key);

/*
 * Inserts that may take more than one lock; if both groups looked full of other keys
 * (`crowded`) room is made first. Errors: FULL, COPIES, E_NOMEM.
 */
nidus_status nest_shared_insert(struct nest *nest, uint64_t hash, uint64_t payload, bool crowded,
                                nest_walk *walk);

/* The same for a key that is not there yet. Errors: PRESENT, too. */
nidus_status nest_shared_insert_new(struct nest *nest, uint64_t hash, nest_walk *walk);

/* Adds to the payload of an entry of the key, or puts it in with that. */
nidus_status nest_shared_add(struct nest *nest, uint64_t hash, uint64_t payload, nest_walk *walk);

/* Errors: NOT_FOUND. */
nidus_status nest_shared_remove(struct nest *nest, uint64_t hash);
nidus_status nest_shared_change(struct nest *nest, uint64_t hash, struct value_change change);

#endif

/* SPDX-License-Identifier: MIT
 *
 * nest_shared: a nest that threads share (NIDUS_CONCURRENT).
 *
 * The table is the same, bit for bit; what is added are locks and versions beside
 * it. Writers lock the stripes of the bytes that they change (stripes.h). Readers
 * watch pairs: the two groups of a key are its pair, and all entries of a pair have
 * one version, which changes when one of them leaves its place. A chunk's stash has
 * a version of its own. Locks are taken in this order: stripes, stash, one pair.
 *
 *   lookup   the pair's version before and after the slots; writes nothing
 *   insert   locks a slot that it saw empty, and puts the key there
 *   remove   the same with the group of a slot that holds the key, and the pair
 *   both     go the long way, under the locks of both groups, where one is not enough:
 *            insert_new, and whatever has to do with the stash
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
 * Entries are counted in the stripes (stripes.h), stashed ones in the chunk's record.
 *
 * A chain leaves slots empty for a moment. A lookup here therefore asks a stash
 * that is not empty whenever the groups do not hold the key, whether or not they
 * have an empty slot; and whoever leaves a slot empty for good brings a stashed
 * entry home to it, so that the nest's invariants hold whenever no call is inside.
 * No entry ever goes from a slot to the stash, so a stash that was empty when a
 * lookup began need not be asked.
 */
#ifndef NIDUS_TABLE_NEST_SHARED_H
#define NIDUS_TABLE_NEST_SHARED_H

#include "table/nest.h"
#include "table/stripes.h"

struct search;

/* What is compiled per width: the usual case of calls on keys, and searches for room. */
struct nest_shared_hot {
	bool (*contains)(const void *body, uint64_t hash);
	void (*contains_batch)(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes);
	nidus_status (*insert)(void *body, uint64_t hash);
	nidus_status (*insert_batch)(void *body, const uint64_t *hashes, size_t n, size_t *done);
	/* NEST_ID(chain) in search_ops.h. */
	bool (*chain)(struct search *search, struct nest *nest, const struct nest_key *key,
	              unsigned *at, uint64_t *empty);
};

struct nest_shared {
	struct stripes stripes;
	uint32_t *stash_version; /* per chunk */
	uint32_t *pair_version;  /* as many as stripes, see nest_pair */
	struct block memory;     /* this struct and the versions */
	struct body_ops ops;
	const struct nest_shared_hot *hot;
	/* A lookup that waits for whoever is at work, and asks the stash. */
	bool (*look)(const struct nest *nest, uint64_t hash);
	/* An insert that takes more than one lock; if both groups are `crowded` it makes room. */
	nidus_status (*insert)(struct nest *nest, uint64_t hash, bool crowded);
	/* How a group is compared, as in nest_ops.h but at run time. */
	unsigned fields, words; /* slots per word, words per group */
	unsigned word_bits;
	uint64_t ones, lows, highs; /* of the fields of a word, see slots.h */
	uint64_t pattern[2][NEST_SLOTS_MAX];
	uint64_t open[NEST_SLOTS_MAX]; /* the highest bit of each field not held back */
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

/* The operations for a nest that has locks. */
const struct body_ops *nest_shared_ops(const struct nest *nest);

/*
 * The hot ones among them, one file per kind and group size as in nest_instances.h; a
 * width of 0 for a nest that does not find its groups as nest_way_of_large says.
 */
const struct nest_shared_hot *nest_shared_xor_2(unsigned width);
const struct nest_shared_hot *nest_shared_xor_4(unsigned width);
const struct nest_shared_hot *nest_shared_xor_8(unsigned width);
const struct nest_shared_hot *nest_shared_direct_2(unsigned width);
const struct nest_shared_hot *nest_shared_direct_4(unsigned width);
const struct nest_shared_hot *nest_shared_direct_8(unsigned width);
const struct nest_shared_hot *nest_shared_coded_4(unsigned width);
const struct nest_shared_hot *nest_shared_buckets_2(unsigned width);
const struct nest_shared_hot *nest_shared_buckets_4(unsigned width);
const struct nest_shared_hot *nest_shared_windows_2(unsigned width);
const struct nest_shared_hot *nest_shared_windows_4(unsigned width);

#endif

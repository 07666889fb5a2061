/* SPDX-License-Identifier: MIT
 *
 * stash: the exact overflow list of one chunk.
 *
 * Holds the few entries that found no slot, as (home, fingerprint) pairs: all
 * that a filter knows of a key, so it adds nothing to the fpr. The value of an
 * entry, if it has one, lies in the bits above its fingerprint. Kept sorted, so
 * that the same entries always lie the same way and a search is quick.
 * Invariant: every slot of both candidates of a stashed entry is taken. A
 * lookup therefore asks the stash only when it met no empty slot.
 */
#ifndef NIDUS_NEST_STASH_H
#define NIDUS_NEST_STASH_H

#include "base/memory.h"

#define STASH_COPIES 4 /* of one identity at most */
#define STASH_ENTRY 16 /* bytes of an entry in memory and in files */

struct stash_entry {
	uint64_t home;        /* group within the chunk, at base geometry */
	uint64_t fingerprint; /* core bits, then growth bits, then the value */
};

struct stash {
	struct block memory;
	uint32_t count;
	uint32_t first; /* entries to make room for at once; 0: a few, and more as needed */
};

static inline struct stash_entry *stash_entries(const struct stash *stash)
{
	return (struct stash_entry *)(void *)stash->memory.bytes;
}

/* The order of the entries. */
static inline bool stash_before(struct stash_entry a, struct stash_entry b)
{
	return a.home != b.home ? a.home < b.home : a.fingerprint < b.fingerprint;
}

/*
 * The first entry from number `from` on with the same home, and the same fingerprint in
 * the bits of `compared`; stash->count if there is none.
 */
uint32_t stash_find(const struct stash *stash, struct stash_entry entry, uint64_t compared,
                    uint32_t from);

/* How many such entries there are. */
uint32_t stash_count(const struct stash *stash, struct stash_entry entry, uint64_t compared);

/* Puts an entry in. Errors: E_NOMEM; nothing changed then. */
nidus_status stash_insert(struct stash *stash, struct stash_entry entry,
                          const nidus_allocator *allocator);

/* Takes entry number `index` out. Keeps the memory. */
void stash_remove_at(struct stash *stash, uint32_t index);

/* Takes the first such entry out; false if there is none. */
bool stash_remove(struct stash *stash, struct stash_entry entry, uint64_t compared);

/* Whether the entries are in order. */
bool stash_sorted(const struct stash *stash);

#endif

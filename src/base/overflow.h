/* SPDX-License-Identifier: MIT
 *
 * overflow: an exact list of entries that a table has no place for.
 *
 * Copies of hot keys crowd their slots at every size of the table, and other keys may
 * find no place beside them. Such entries are kept here as (home, fingerprint, value) and a
 * number of copies: all that a filter knows of a key, so that the rate stays what it is.
 *
 * A search tree in the order of home, fingerprint and value whose shape follows from a hash
 * of each entry (a treap): the root of a subtree has the highest hash in it. So a call takes a
 * number of steps that is logarithmic in the different entries, and none moves or clears the
 * others. The hash is keyed with an address, as entries may be chosen; nothing but the shape
 * depends on it.
 *
 * Threads: what changes a list needs it for itself. Others may look at it meanwhile with
 * overflow_seen, if the memory is kept (no overflow_free) and the one that changes it makes a
 * version odd before and even behind each change: fields that they read are loaded and stored
 * as words of a shared table are (atomic.h).
 */
#ifndef NIDUS_BASE_OVERFLOW_H
#define NIDUS_BASE_OVERFLOW_H

#include "base/memory.h"

/* Whether a status tells of no place, so that an overflow list could help. */
static inline bool overflow_helps(nidus_status status)
{
	return status == NIDUS_FULL || status == NIDUS_COPIES;
}

#define OVERFLOW_COPIES_MOST UINT32_MAX /* of one entry */
#define OVERFLOW_ENTRY 24               /* bytes of an entry with all its copies in files */

struct overflow_node {
	nidus_entry entry;
	uint64_t copies;
	uint64_t below; /* copies of all entries of the subtree, this one's included */
	struct overflow_node *left, *right;
};

struct overflow_page;

/* All zero: empty. */
struct overflow {
	struct overflow_node *root, *spare;
	struct overflow_page *pages;
	uint64_t spares;  /* nodes that are not in use */
	uint64_t nodes;   /* those that are: different entries */
	uint64_t entries; /* with all copies */
	uint64_t bytes;
	uint64_t key; /* of the hash */
};

/* Makes sure that `n` inserts need no memory. Errors: E_NOMEM; nothing changed then. */
nidus_status overflow_reserve(struct overflow *overflow, const nidus_allocator *allocator,
                              uint64_t n);

/* Adds copies of an entry, 1 or more; room for one was reserved. */
void overflow_insert(struct overflow *overflow, const nidus_entry *entry, uint64_t copies);

/* The same with a check. Errors: COPIES (more than OVERFLOW_COPIES_MOST), E_NOMEM. */
nidus_status overflow_add(struct overflow *overflow, const nidus_allocator *allocator,
                          const nidus_entry *entry, uint64_t copies);

/* Takes one copy out; false if there is none. */
bool overflow_remove(struct overflow *overflow, const nidus_entry *entry);

/* Takes so many copies out; there are as many. */
void overflow_take(struct overflow *overflow, const nidus_entry *entry, uint64_t copies);

/*
 * Gives one copy of an entry that is there another value. Errors: COPIES, E_NOMEM; nothing
 * changed then.
 */
nidus_status overflow_change(struct overflow *overflow, const nidus_allocator *allocator,
                             const nidus_entry *entry, uint64_t value);

/* How many copies of an entry there are, with this very value. */
uint64_t overflow_count(const struct overflow *overflow, const nidus_entry *entry);

/* The same with any value. */
uint64_t overflow_count_all(const struct overflow *overflow, const nidus_entry *entry);

/* The node of an entry, of those with any value the lowest. NULL if there is none. */
const struct overflow_node *overflow_find(const struct overflow *overflow, const nidus_entry *entry,
                                          bool any_value);

/* The next node of the same identity, with a higher value; NULL if there is none. */
const struct overflow_node *overflow_sibling(const struct overflow *overflow,
                                             const struct overflow_node *node);

/* The first node behind an entry, in order; from the first on for NULL. NULL at the end. */
const struct overflow_node *overflow_next(const struct overflow *overflow,
                                          const nidus_entry *entry);

/* The first node that is not before an entry. NULL if there is none. */
const struct overflow_node *overflow_from(const struct overflow *overflow,
                                          const nidus_entry *entry);

/* The node of entry number `index` in order, copies counted; NULL behind the last. */
const struct overflow_node *overflow_at(const struct overflow *overflow, uint64_t index);

/*
 * Adds the values of an entry's copies, whatever they are, to the `found` ones of which the
 * first `cap` are in `values`. Gives how many there are then.
 */
size_t overflow_values(const struct overflow *overflow, const nidus_entry *entry, uint64_t *values,
                       size_t cap, size_t found);

/*
 * The same of a list that another thread may change, counted from 0. False: it changed
 * meanwhile, and what was found means nothing. The version was `start`, an even number.
 */
bool overflow_seen(const struct overflow *overflow, const nidus_entry *entry,
                   const uint32_t *version, uint32_t start, uint64_t *values, size_t cap,
                   size_t *found);

/*
 * Writes all entries in order, OVERFLOW_ENTRY bytes each: home and fingerprint, u64, copies
 * and value, u32. `home` is added to the homes. Gives the place behind them.
 */
unsigned char *overflow_export(const struct overflow *overflow, uint64_t home,
                               unsigned char *bytes);

/* An entry from such bytes, which may be anything. */
nidus_entry overflow_decode(const unsigned char *bytes, uint64_t *copies);

/* Whether one entry may follow another in a list. */
bool overflow_in_order(const nidus_entry *first, const nidus_entry *second);

/* Copies all entries into an empty list. Errors: E_NOMEM. */
nidus_status overflow_copy(struct overflow *to, const struct overflow *from,
                           const nidus_allocator *allocator);

/* Checks order, numbers of copies and sums. */
bool overflow_valid(const struct overflow *overflow);

/* Gives all memory back. */
void overflow_free(struct overflow *overflow, const nidus_allocator *allocator);

#endif

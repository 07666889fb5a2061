/* SPDX-License-Identifier: MIT
 *
 * overflow: the exact list of entries that a growing filter's table had no place for.
 *
 * Copies of hot keys crowd their slots at every size of the table, and other keys may
 * find no place beside them. Such entries are kept here as (home, fingerprint) and a
 * number of copies: all that a filter knows of a key, so that the rate stays what it is.
 *
 * A search tree in the order of home, fingerprint and value whose shape follows from a hash
 * of each entry (a treap): the root of a subtree has the highest hash in it. So the tree
 * depends on what is in it and not on the order in which it came, and a call takes a number
 * of steps that is logarithmic in the entries; no call moves or clears the others.
 */
#ifndef NIDUS_BASE_OVERFLOW_H
#define NIDUS_BASE_OVERFLOW_H

#include "base/memory.h"

/* Whether a status tells of no place, so that an overflow list could help. */
static inline bool overflow_helps(nidus_status status)
{
	return status == NIDUS_FULL || status == NIDUS_COPIES;
}

#define OVERFLOW_COPIES_MOST 65000 /* of one entry */

struct overflow_node {
	nidus_entry entry;
	uint64_t copies;
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
};

/* Makes sure that `n` inserts need no memory. Errors: E_NOMEM; nothing changed then. */
nidus_status overflow_reserve(struct overflow *overflow, const nidus_allocator *allocator,
                              uint64_t n);

/* Adds copies of an entry; room for one was reserved. */
void overflow_insert(struct overflow *overflow, const nidus_entry *entry, uint64_t copies);

/* Takes one copy out; false if there is none. */
bool overflow_remove(struct overflow *overflow, const nidus_entry *entry);

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

/* Gives all memory back. */
void overflow_free(struct overflow *overflow, const nidus_allocator *allocator);

#endif

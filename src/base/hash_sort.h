/* SPDX-License-Identifier: MIT
 *
 * hash_sort: the hashes of many keys in ascending order, by several threads.
 */
#ifndef NIDUS_BASE_HASH_SORT_H
#define NIDUS_BASE_HASH_SORT_H

#include <stdbool.h>

#include "base/memory.h"
#include "base/partition.h"

/*
 * Takes a block and puts all hashes of a source into it, ascending; only one of
 * equal ones if `unique`. *left is how many there are then. They depend on the
 * set of hashes alone, not on their order in the source nor on `threads`. Takes
 * 8 bytes per hash for the block (up to an eighth more) and, while it
 * works, for each thread at most HASH_SORT_WORK bytes and a thousandth of the block on
 * the side.
 * Errors: E_NOMEM, STOPPED (base/watch.h); the block is empty then.
 */
nidus_status hash_sort(const struct hash_source *source, bool unique, unsigned threads,
                       const nidus_allocator *allocator, struct block *block, size_t *left);

/*
 * The same for hashes in an array of the caller's, in place: what is behind the
 * first *left of them is undefined then. Takes for each thread at most
 * HASH_SORT_WORK bytes and a 128th of the array on the side. The first pass is made by
 * one thread, the others by all.
 * Errors: E_NOMEM; the array holds the same hashes in some order then. STOPPED; it holds
 * anything then.
 */
nidus_status hash_sort_in_place(uint64_t *hashes, size_t n, bool unique, unsigned threads,
                                const nidus_allocator *allocator, size_t *left);

#define HASH_SORT_WORK ((size_t)1 << 20)

#endif

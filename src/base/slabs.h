/* SPDX-License-Identifier: MIT
 *
 * slabs: blocks of one size, side by side in a few pieces of memory.
 *
 * The bodies of a growing filter come and go with every split. Here those of one size lie without
 * a hole between them: all slabs but the last are full, and when a block goes, the last one
 * takes its place.
 *
 *     slab 0   | a | b | c | d |                       | a | g | c | d |
 *     slab 1   | e | f | g |   |     without b:        | e | f |   |   |
 *
 * So what is not in use is at most one slab, and there is nothing to search and nothing to merge. A
 * block that moves costs a copy, which is little beside the split that it comes of.
 *
 * A slab has about a 128th of what the filter has already, so that what is not in use is little: a
 * small filter takes its blocks one by one. From 64 MiB on slabs have at least 2 MiB, and lie on huge
 * pages (base/memory.h).
 */
#ifndef NIDUS_BASE_SLABS_H
#define NIDUS_BASE_SLABS_H

#include "base/memory.h"

/* All zero but for `each`: empty. */
struct slabs {
	size_t each;     /* bytes of a block: a multiple of MEMORY_LINE */
	uint64_t blocks; /* in use */
	uint64_t bytes;  /* of all slabs */
	struct block *slab;
	uint64_t slabs, full; /* how many there are, and how many of them are full */
	uint64_t used;        /* blocks of the one behind those */
	struct block memory;  /* of the list of slabs */
};

/*
 * Takes a zeroed block; `whole` is what the filter takes in all, about.
 * Errors: E_NOMEM; nothing changed then.
 */
nidus_status slabs_take(struct slabs *slabs, const nidus_allocator *allocator, uint64_t whole,
                        unsigned char **block);

/*
 * Gives a block back. The last block then lies where it was: gives the place from which that came,
 * or NULL if it was the last itself.
 */
const unsigned char *slabs_give(struct slabs *slabs, const nidus_allocator *allocator,
                                unsigned char *block);

/* Gives all memory back. */
void slabs_free(struct slabs *slabs, const nidus_allocator *allocator);

#endif

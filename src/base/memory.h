/* SPDX-License-Identifier: MIT
 *
 * memory: zeroed blocks from the caller's allocator or from the system.
 */
#ifndef NIDUS_BASE_MEMORY_H
#define NIDUS_BASE_MEMORY_H

#include <pthread.h>

#include "nidus.h"

#define MEMORY_LINE 64 /* blocks start at a cache line */
#define MEMORY_HUGE_PAGE ((size_t)2 << 20)

/*
 * A block of memory, and what is needed to give it back. `bytes` is NULL for a
 * block of size 0 and for one that was never taken.
 */
struct block {
	unsigned char *bytes;
	size_t size;
	void *whole;
	size_t whole_size;
};

/*
 * Takes a zeroed block at a cache line: from the allocator where it has
 * functions, otherwise from the system; large ones lie on huge pages.
 * Errors: E_NOMEM; *block is empty then.
 */
nidus_status memory_take(const nidus_allocator *allocator, uint64_t size, struct block *block);

/* The same, but what is in it may be anything. */
nidus_status memory_take_unset(const nidus_allocator *allocator, uint64_t size,
                               struct block *block);

/* The same as memory_take for what may start at any byte: it takes no more than its size. */
nidus_status memory_take_anywhere(const nidus_allocator *allocator, uint64_t size,
                                  struct block *block);

/* A block that belongs to somebody else: memory_give only forgets it. */
static inline struct block memory_lent(unsigned char *bytes, uint64_t size)
{
	return (struct block){ .bytes = bytes, .size = (size_t)size };
}

/* Gives a block back and empties it; an empty one is fine. errno stays. */
void memory_give(const nidus_allocator *allocator, struct block *block);

struct memory_turns {
	nidus_allocator inner;
	pthread_mutex_t turn;
};

/*
 * An allocator for several threads at once that calls a caller's functions for one
 * at a time; the system's own needs no such thing. Blocks may go back to either.
 * `turns` is its memory, and takes nothing that would have to be given back.
 */
nidus_allocator memory_in_turns(const nidus_allocator *allocator, struct memory_turns *turns);

#endif

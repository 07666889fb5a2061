/* SPDX-License-Identifier: MIT
 *
 * spill: hashes, and their values, that do not all fit into memory.
 *
 * They gather in a pool. When that is full, it is sorted and becomes a run in a temporary file:
 *
 *     pool      [ h h h h h h h h ]                        in any order
 *     file      [ run 0, ascending ][ run 1, ascending ] ...
 *     run       [ hashes, 8 bytes each ][ values, 4 bytes each, if there are any ]
 *
 * Reading takes the same range of hashes out of every run, as many as the pool has room for, and
 * sorts them. A table of where SPILL_SLOTS such ranges begin in a run is kept in memory; within one,
 * hashes are looked for in the file. As long as the pool was never full, nothing is written.
 *
 * Any number of threads may add at a time; everything else is for one.
 */
#ifndef NIDUS_BASE_SPILL_H
#define NIDUS_BASE_SPILL_H

#include <pthread.h>

#include "base/memory.h"
#include "base/ranges.h"
#include "base/scratch.h"

#define SPILL_SLOT_BITS 10
#define SPILL_SLOTS ((size_t)1 << SPILL_SLOT_BITS)

/* One pool full of hashes in the file. */
struct spill_run {
	uint64_t at, n;
	struct block index;
	uint64_t *start; /* [SPILL_SLOTS + 1]: the first hash of each slot; in `index` */
	uint64_t next;   /* the first that has not been read */
};

struct spill {
	const char *folder; /* of the file; the caller's */
	unsigned value_bits, threads;
	bool unique; /* equal hashes, with equal values, count once */
	nidus_allocator allocator;

	pthread_mutex_t turn; /* to read or write what follows */
	pthread_cond_t turned;
	struct block memory;
	uint64_t *hashes, *values;     /* the pool */
	size_t room, used, usual_room; /* room: what there is; usual_room: what there should be */
	size_t writers;                /* threads that still write into their places of the pool */
	bool emptying;                 /* a thread makes a run of it */
	bool sorted;                   /* the pool is, and nothing came since */
	uint64_t added;                /* hashes so far */
	bool lost;                     /* a sort was stopped: the pool holds anything */

	struct scratch file;
	uint64_t end; /* of the runs in the file */
	struct spill_run *runs;
	struct block runs_memory;
	size_t run_count;

	bool reading; /* the pool holds a portion of the runs */
	/* Reading: `done` hashes of all runs, all below `from`, were read. */
	uint64_t from, done;
	uint64_t before[SPILL_SLOTS + 1]; /* hashes of all runs below each slot */
};

/* Hashes that a pool may have room for if it is to take so many bytes, also while it is sorted. */
size_t spill_room(uint64_t memory, unsigned value_bits, unsigned threads);

/*
 * An empty one with room for so many hashes in memory, or a thousand; takes the memory when the
 * first comes, or half of it, or a quarter, ... if the system does not have as much.
 */
void spill_begin(struct spill *spill, const char *folder, size_t room, unsigned value_bits,
                 bool unique, unsigned threads, const nidus_allocator *allocator);

/* Gives everything back; the file is gone. */
void spill_end(struct spill *spill);

/* Where hashes to be added come from: hashes and values [from, from + n), from any thread. */
typedef void (*spill_source)(const void *context, size_t from, size_t n, uint64_t *hashes,
                             uint64_t *values);

/*
 * Adds n hashes. *done is how many were, after a failure. Errors: E_NOMEM, E_IO with errno; what was
 * added before is still there.
 */
nidus_status spill_add(struct spill *spill, size_t n, spill_source source, const void *context,
                       size_t *done);

/* The same for one hash, quicker. */
nidus_status spill_add_one(struct spill *spill, uint64_t hash, uint64_t value);

/* Hashes that there are at most: some in different runs may be equal. */
uint64_t spill_most(const struct spill *spill);

/*
 * Begins to read all from the lowest on, in a pool of `room` hashes if there are runs.
 * Errors: E_NOMEM, E_IO, STOPPED (base/watch.h). After STOPPED the pool holds anything.
 */
nidus_status spill_read(struct spill *spill, size_t room);

/*
 * The next portion, ascending, behind the last `keep` hashes of the one before. It lies in the
 * pool, until more are added. Not after the last one. Errors: E_IO, E_NOMEM (the pool has no room
 * for all that have the next hash), STOPPED.
 */
nidus_status spill_next(struct spill *spill, size_t keep, struct portion *portion);

/* Ends reading, at any place: more may be added, and all be read again. */
void spill_read_end(struct spill *spill);

#endif

/* SPDX-License-Identifier: MIT
 *
 * inside: the one window that benchmarks have into the library.
 *
 * What an insert costs in moves and looks is nothing that a user can see, so
 * nidus.h does not tell it. These tables are laid out by the families' own
 * planners and filled by their own code; only the counters are read from below
 * the public header. inside.c is the only file here that includes private ones.
 */
#ifndef NIDUS_BENCH_INSIDE_H
#define NIDUS_BENCH_INSIDE_H

#include <nidus.h>

/* inside_create: as many slots held back as the options say. */
#define INSIDE_RESERVE_PLANNED (-1)

struct inside; /* a table of a family whose partner is an XOR: cuckoo or chunked */

/*
 * An empty table as the family plans it for these options (seed included), but
 * for `reserve` slots of a first bucket held back. NULL if the family refuses
 * (nidus_reason tells) or memory is short.
 */
struct inside *inside_create(const nidus_options *options, int reserve);
void inside_free(struct inside *inside);

nidus_status inside_insert(struct inside *inside, uint64_t key);

/*
 * Slots that inserting this key now looks at before it begins to search, one by
 * one to the first empty one: the open slots of the first bucket, the second
 * bucket, and then those held back.
 */
unsigned inside_direct_checks(const struct inside *inside, uint64_t key);

struct inside_figures {
	uint64_t chunks, buckets; /* buckets of one chunk */
	unsigned slots, fingerprint_bits;
	uint64_t relocations; /* inserts that found both buckets full */
	uint64_t moves;       /* entries moved for them */
	uint64_t checks;      /* slots looked at by their searches */
	uint64_t stashed;     /* entries that found no slot */
};

struct inside_figures inside_look(const struct inside *inside);

/* What the CPCF paper's Algorithm 1 chooses at this target load, and its Eq. 4. */
void inside_algorithm_1(uint64_t keys, double load, unsigned slots, double a, uint64_t *chunks,
                        uint64_t *buckets);
unsigned inside_max_kicks(uint64_t chunks, uint64_t buckets, unsigned slots);

#endif

/* SPDX-License-Identifier: MIT
 *
 * bloom: a table of single bits, the body of both Bloom families.
 *
 * Paper: B. H. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable
 * Errors" (CACM 1970); blocks of a cache line: F. Putze, P. Sanders, J. Singler,
 * "Cache-, Hash- and Space-Efficient Bloom Filters" (WEA 2007).
 *
 * A key sets `probes` bits and is found when all of them are set. Which bits
 * those are is the difference between the two layouts:
 *
 *  - spread (spread.c): anywhere in the table;
 *  - blocked (blocked.h): all in one block of 64 bytes.
 *
 *     bit i of the table is bit i mod 8 of byte i / 8
 *
 * Bits are never cleared one by one, and a key leaves no entry behind: nothing
 * can be removed, walked or moved to another size. `count` is the number of
 * inserts, which the bits do not tell.
 *
 * Invariants (bloom_check_count; blocked.h has one more):
 *  - no bit is set exactly if count is 0;
 *  - at most probes * count bits are set.
 */
#ifndef NIDUS_BLOOM_BLOOM_H
#define NIDUS_BLOOM_BLOOM_H

#include "base/bits.h"
#include "base/blueprint.h"
#include "base/locks.h"
#include "base/memory.h"
#include "base/ops.h"

struct bloom {
	unsigned char *table;
	uint64_t groups; /* words of 64 bits, or blocks */
	uint64_t count;  /* inserts, but for locks->added */
	uint64_t version; /* of probes (base/probe.h) */
	unsigned probes; /* bits that a key sets */
	bool mapped;     /* the table is a file's: any bits, and not to be read in passing */
	const struct body_ops *ops;
	struct block memory;
	struct locks *locks; /* NULL unless threads share the table: shared.h */
	nidus_allocator allocator;
};

/*
 * Lays out a table of so many groups of `group_bytes`: an empty one, or over the
 * bytes at `table` unless that is NULL; with locks, and the other operations, if
 * threads are to share it. Errors: E_NOMEM.
 */
nidus_status bloom_create(struct bloom *bloom, const struct blueprint *plan, unsigned group_bytes,
                          const struct body_ops *ops, const struct body_ops *shared_ops,
                          const nidus_allocator *allocator, unsigned char *table);
void bloom_free(struct bloom *bloom);
void bloom_clear(struct bloom *bloom);

/* Takes the bits and the count of another table of the same size into this one. */
void bloom_unite(struct bloom *to, const struct bloom *from);

/* Inserts that a table can count: more than anybody lives to make. */
#define BLOOM_COUNT_MOST (UINT64_C(1) << 60)

/* Inserts so far. A file may have claimed all that can be counted: it stays at that. */
static inline uint64_t bloom_count(const struct bloom *bloom)
{
	uint64_t count = bloom->count + locks_added(bloom->locks);
	return count < BLOOM_COUNT_MOST ? count : BLOOM_COUNT_MOST;
}

uint64_t bloom_bytes(const struct bloom *bloom);    /* in memory, locks included */
uint64_t bloom_bits(const struct bloom *bloom);     /* in the table */
uint64_t bloom_bits_set(const struct bloom *bloom); /* counts them all */

/* Whether the bits can come from so many inserts. Errors: E_CORRUPT. */
nidus_status bloom_check_count(const struct bloom *bloom);

/* The operations of the spread layout. */
const struct body_ops *bloom_spread_find(unsigned probes);

/*
 * The two steps of a lookup (base/probe.h): the line of every bit is asked for. To find the bits
 * once more costs hardly more than to read where they are.
 */
void bloom_spread_prepare(const void *bloom, uint64_t hash, nidus_probe *probe);

#define BLOOM_SPREAD_PROBES 32 /* at most */
#define BLOOM_SPREAD_WORDS 3   /* at least */

#endif

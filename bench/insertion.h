/* SPDX-License-Identifier: MIT
 *
 * insertion: what filling a table to 95 % costs in moves and looks, by the library's
 * own searches and by the random walks of the papers.
 */
#ifndef NIDUS_BENCH_INSERTION_H
#define NIDUS_BENCH_INSERTION_H

#include <stddef.h>

#include "inside.h"
#include "walk.h"

#define INSERTION_SLOTS 4
#define INSERTION_BITS 12
#define INSERTION_FPR (1.0 / 512) /* the rate of 12 bits in buckets of 4 at this load */
#define INSERTION_LOAD 0.95

struct insertion {
	const char *name;
	nidus_family family; /* NIDUS_AUTO: a walk, of this kind */
	enum walk_kind kind;
	int reserve;      /* slots of a first bucket held back */
	bool barred;      /* must stay below a certain number of kick-outs */
	const char *said; /* whose row of the CPCF paper's Table 1 this is; NULL: nobody's */
};

extern const struct insertion insertions[];
extern const size_t insertions_number;

/* A row of that table. */
struct insertion_said {
	const char *name;
	double kicks, checks, misses; /* per relocation; of a fill; percent */
};

extern const struct insertion_said insertions_said[];
extern const size_t insertions_said_number;

/* NULL if the paper has no such row. */
const struct insertion_said *insertion_said(const struct insertion *insertion);

/* One filling. */
struct insertion_cost {
	uint64_t chunks, buckets;
	uint64_t relocations, kicks, checks, stashed, refused;
	uint64_t longest; /* kicks of one relocation */
};

/* A walk's table for so many keys at 95 %, of a power of two of buckets. */
struct walk insertion_walk(const struct insertion *insertion, uint64_t keys, uint64_t seed);

/*
 * Fills a table with its keys. `counting`: also looks at the slots before each insert; not
 * while caches are watched. Ends the program if a table cannot be made.
 */
struct insertion_cost insertion_fill(const struct insertion *insertion, uint64_t keys,
                                     uint64_t seed, bool counting);

/* A table of the library as it is planned for so many keys. */
struct inside *insertion_table(const struct insertion *insertion, uint64_t keys, uint64_t seed);

/* Cache misses of such fillings in percent of references; negative: nobody counts them. */
double insertion_misses(const struct insertion *insertion, uint64_t keys, uint64_t seeds);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_CEILING_H
#define NIDUS_CLI_BENCH_CEILING_H

/**
 * @file bench_ceiling.h  What memory itself allows: random cache lines of a large array.
 *
 * No filter that touches so many lines per key can be faster, as long as its
 * table is as large. Each ceiling is measured with several prefetch depths,
 * and the best one counts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench_samples.h"

enum ceiling {
	CEILING_ONE,   /* C1: one line read per key */
	CEILING_TWO,   /* C2: two lines read per key */
	CEILING_WRITE, /* CW: one line read, changed and written per key */
	CEILINGS
};

/** How many prefetch depths are tried. */
#define CEILING_DEPTHS 4

struct ceilings {
	uint64_t *array;
	size_t bytes;    /* of the array, a power of two */
	uint64_t huge;   /* of them in huge pages, as far as the system tells */
	uint64_t visits; /* keys per sample and thread */
	double worked;   /* of the seconds of the single thread, those that it had a processor */
	double seconds;
	unsigned threads; /* of the crew that is measured beside the single thread */
	struct samples one[CEILINGS][CEILING_DEPTHS];
	struct samples crew[CEILINGS][CEILING_DEPTHS];
};

struct ceiling_best {
	unsigned depth;
	struct summary summary;
};

/** "C1", "C2" or "CW". Static text. */
const char *ceiling_name(enum ceiling ceiling);

/** Bytes of the array for a run with so many keys. */
size_t ceilings_size(uint64_t keys);

/** Makes the array, in huge pages if there are any. False if memory ran out. */
bool ceilings_open(struct ceilings *ceilings, size_t bytes, uint64_t visits, unsigned threads);

/** Also for ceilings that could not be opened, if they were all zero before. */
void ceilings_close(struct ceilings *ceilings);

/** Takes one sample of every ceiling and depth, with one thread. */
void ceilings_measure(struct ceilings *ceilings);

/** The same with the crew. False if the system does not give as many threads. */
bool ceilings_measure_crew(struct ceilings *ceilings);

/**
 * How much of a processor the single thread had, 0 to 1: clearly below 1,
 * other work has disturbed the measurement.
 */
double ceilings_share(const struct ceilings *ceilings);

/** The depth with the best median, and its figures. */
struct ceiling_best ceilings_best(const struct ceilings *ceilings, enum ceiling ceiling, bool crew);

#endif

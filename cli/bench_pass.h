/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_PASS_H
#define NIDUS_CLI_BENCH_PASS_H

/** @file bench_pass.h  One pass over one row: fill a filter, ask it, change it, free it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench_rows.h"
#include "bench_site.h"

/** What passes need, made once for a whole run. */
struct pass_room {
	size_t batch;     /* keys per call of the library */
	unsigned threads; /* of the second bulk build */
	unsigned groups;  /* what is measured, a sum of enum bench_group */
	uint64_t lookups; /* keys looked up per figure */
	uint64_t *keys;   /* the batch at hand ... */
	uint64_t *hashes; /* ... its hashes ... */
	uint8_t *yes;     /* ... and its answers */
	uint64_t *built;  /* the keys of bulk builds; NULL if none is measured */
	/* Of filters with values; NULL if none is measured. */
	uint64_t *values, *build_hashes; /* as many as the largest row has keys */
	uint64_t *first;                 /* of a batch: the first values found ... */
	uint32_t *found;                 /* ... and how many */
	struct site *site;               /* where filters lie, but for built ones */
};

/** Makes the room; `most` is the largest row's number of keys. False if memory ran out. */
bool pass_open(struct pass_room *room, uint64_t most);
void pass_close(struct pass_room *room);

/** How many keys of a row are removed per figure. */
uint64_t pass_removes(const struct bench_row *row, const struct pass_room *room);

/**
 * Takes one sample of each operation of the row. Returns an exit code, after a
 * message if it is not EXIT_OK.
 */
int pass_run(struct bench_row *row, struct pass_room *room);

/** Hashes keys alone, which is part of every other figure, and adds the rate. */
void pass_hash(const nidus_filter *filter, struct pass_room *room, struct samples *rates);

#endif

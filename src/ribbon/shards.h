/* SPDX-License-Identifier: MIT
 *
 * shards: the parts of a ribbon build, for those that build a table as a whole (build.c) and those
 * that have memory for some of its shards at a time (ranges.c).
 */
#ifndef NIDUS_RIBBON_SHARDS_H
#define NIDUS_RIBBON_SHARDS_H

#include <stdatomic.h>

#include "ribbon/ribbon.h"

#define RIBBON_SHARD_ROWS (RIBBON_SHARD + RIBBON_WIDTH) /* at most */

/* Keys with their values, or none if `values` is NULL. */
struct ribbon_keys {
	const uint64_t *hashes, *values;
	size_t n;
};

/* A layer, and what the threads that work on it share. */
struct ribbon_work {
	const struct ribbon_ops *ops;
	const struct ribbon_matrix *matrix;
	const struct ribbon_layer *layer;
	bool first; /* of the layers: its keys are what progress is measured by */
	unsigned print_bits;
	struct ribbon_keys keys;
	uint64_t *room;   /* equations, RIBBON_SHARD_ROWS of two words for each thread */
	uint64_t *bumped; /* of each shard: how many, then where they go */
	uint64_t *next;   /* where bumped keys go, and their values */
	uint64_t *next_values;
	uint64_t from, last;        /* the shards to work on, up to `last` */
	atomic_uint_fast64_t shard; /* the first that nobody has taken */
};

/* Solves the shards. work->room is for as many threads. Errors: STOPPED. */
nidus_status ribbon_solve(struct ribbon_work *work, unsigned threads);

/* Keys in memory of their own. */
struct ribbon_bumped {
	struct block hashes, values;
	struct ribbon_keys keys;
};

void ribbon_give_bumped(struct ribbon_bumped *bumped, const nidus_allocator *allocator);

/*
 * Gathers what the shards have bumped, in the order of the next layer: with the hashes that the keys
 * have there. Errors: E_NOMEM, STOPPED.
 */
nidus_status ribbon_gather(struct ribbon_work *work, unsigned threads,
                           const nidus_allocator *allocator, struct ribbon_bumped *bumped);

/*
 * Gives keys that so many layers have bumped their own hashes again, ascending.
 * Errors: E_NOMEM, STOPPED.
 */
nidus_status ribbon_restore(struct ribbon_bumped *left, unsigned layers, unsigned threads,
                            const nidus_allocator *allocator);

/* Makes keys that all layers have bumped the list of a table without a verdict. Errors: E_NOMEM. */
nidus_status ribbon_list(struct ribbon *ribbon, const struct ribbon_keys *left);

#endif

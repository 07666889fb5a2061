/* SPDX-License-Identifier: MIT
 *
 * value: what stands under a key, that is a filter and what clients asked for.
 */
#ifndef NIDUS_REDIS_VALUE_H
#define NIDUS_REDIS_VALUE_H

#include "chunks.h"
#include "recipe.h"

struct value {
	nidus_filter *filter; /* NULL while LOADCHUNK brings it */
	struct recipe recipe;
	uint64_t items;   /* entries in the filter */
	uint64_t deleted; /* removes so far */
	uint64_t limit;   /* items at most; so far the rate is promised */
	struct chunks incoming;
};

/*
 * Makes an empty filter and sets what the recipe left open (family, seed).
 * NULL if that fails; *error is what to answer then.
 */
struct value *value_create(RedisModuleCtx *ctx, struct recipe *recipe, const char **error);

/* A value without a filter: one will be loaded. NULL: no memory. */
struct value *value_create_empty(const struct recipe *recipe);

void value_free(struct value *value);

/* A copy; NULL: no memory, or there is no filter yet. */
struct value *value_copy(const struct value *value);

/* Takes another filter instead of the one it has. */
void value_take(struct value *value, nidus_filter *filter);

/*
 * The answer to a client when the library has just failed, in its own words. Static
 * text: commands run in one thread.
 */
const char *value_failure(nidus_status status);

/* Bytes in memory. */
size_t value_bytes(const struct value *value);

nidus_info value_info(const struct value *value);

/*
 * Puts an item in; `fresh` (of ADDNX, INSERTNX and BF.*): unless it seems to be there.
 * Answers: OK, PRESENT, FULL, COPIES, E_NOMEM.
 */
nidus_status value_add(struct value *value, uint64_t hash, bool fresh);

/* Takes an item out. OK, NOT_FOUND. */
nidus_status value_remove(struct value *value, uint64_t hash);

/* How many values there are. */
uint64_t value_count(void);

/* ---------------------------------------------------------------- the server's seed -- */

/* The seed of filters made without one: drawn once, so that they can be merged. */
uint64_t seed_get(void);

/* Takes the seed of the server that this one copies or was. */
void seed_adopt(RedisModuleCtx *ctx, uint64_t seed);
void seed_set(uint64_t seed);

#endif

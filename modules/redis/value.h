/* SPDX-License-Identifier: MIT
 *
 * value: what stands under a key, that is a filter and what clients asked for.
 *
 * A filter that RedisBloom wrote stays as it is (legacy.h). New items go to a filter of ours
 * beside it, which the first of them makes.
 */
#ifndef NIDUS_REDIS_VALUE_H
#define NIDUS_REDIS_VALUE_H

#include "chunks.h"
#include "legacy.h"
#include "recipe.h"

#include <stdatomic.h>

/* A load by LOADCHUNK that is under way. */
struct incoming {
	bool foreign;           /* RedisBloom's chunks: they go straight into the tables */
	uint64_t legacy, image; /* bytes of the two parts there will be */
	uint64_t bytes;         /* so many are here; foreign: of the tables */
	struct chunks chunks;   /* of ours only */
};

struct value {
	nidus_filter *filter; /* NULL while it is loaded, and of an untouched legacy filter */
	struct legacy *legacy;
	struct incoming *incoming; /* NULL: all is here */
	struct recipe recipe;      /* of the filter, or of the one to be made beside a legacy one */
	uint64_t items;            /* entries in the filter */
	union {
		uint64_t deleted; /* removes so far */
		uint64_t since;   /* of a filter that forgets, which has none: when this
		                      slice began, in milliseconds since 1970 */
	};
	uint64_t limit;   /* items at most; so far the rate is promised */
	uint64_t memory;  /* bytes that the filter has taken */
	uint32_t changes; /* of other kinds than adds and removes: see value_version */
};

/*
 * Makes an empty filter and sets what the recipe left open (family, seed).
 * NULL if that fails; *error is what to answer then.
 */
struct value *value_create(RedisModuleCtx *ctx, struct recipe *recipe, const char **error);

/* A value without a filter: one will be loaded. NULL: no memory. */
struct value *value_create_empty(const struct recipe *recipe);

/* A value of a legacy filter, which it takes over (and frees if it fails). NULL: no memory. */
struct value *value_create_legacy(struct legacy *legacy);

/*
 * Makes the filter beside an untouched legacy one. OK, FULL (it is not to grow and full),
 * E_NOMEM, or another error of nidus_create.
 */
nidus_status value_extend(RedisModuleCtx *ctx, struct value *value);

/* NULL is fine. */
void value_free(struct value *value);

/* A copy; NULL: no memory, or there is no filter yet. */
struct value *value_copy(const struct value *value);

/*
 * Gives a value another filter, which took so much memory, instead of the one it has. Items
 * and limit become those of the filter.
 */
void value_take(struct value *value, nidus_filter *filter, uint64_t memory);

/* Gives a value that was read from a dump its parts. */
void value_set_filter(struct value *value, nidus_filter *filter, uint64_t memory);
void value_set_legacy(struct value *value, struct legacy *legacy);

/*
 * The answer to a client when the library has just failed, in its own words. Static
 * text: commands run in one thread.
 */
const char *value_failure(nidus_status status);

/* Bytes in memory, with what the server itself keeps for a value. */
size_t value_bytes(const struct value *value);

/* All zero if there is no filter. */
nidus_info value_info(const struct value *value);

/* Whether it is a legacy filter that nothing was added to. */
bool value_is_untouched(const struct value *value);

/* Items in the legacy filter and ours; of one that forgets by the clock. */
uint64_t value_items(const struct value *value);

/* A number below 2^29 that differs after every change, until it starts again. */
uint32_t value_version(const struct value *value);

/* ------------------------------------------------------------------- filters that forget -- */

bool value_forgets(const struct value *value);

/*
 * Slices that have ended by the clock and are still to be ticked: reads take them into account and leave
 * that to the next write. None before the time when this slice began: the clock never goes back.
 */
uint64_t value_due(const struct value *value);

/* Ticks so many slices. */
void value_tick(struct value *value, uint64_t n);

/* Items that were put in or refreshed so many slices ago, those included that are due. */
uint64_t value_of_age(const struct value *value, unsigned age, uint64_t due);

/* ---------------------------------------------------------------------------- items -- */

bool value_has(const struct value *value, const void *item, size_t len);

/* The same of a hash, in a filter that forgets and has so many slices due. */
bool value_has_recent(const struct value *value, uint64_t hash, uint64_t due);

/*
 * Puts an item in; `fresh` (of ADDNX, INSERTNX and BF.*): unless it seems to be there. The
 * legacy filter is not asked. Answers: OK, PRESENT, FULL, COPIES, E_NOMEM. A filter that forgets
 * answers PRESENT for an item that it refreshed, unless `fresh`: then it leaves that alone.
 */
nidus_status value_add(struct value *value, uint64_t hash, bool fresh);

/*
 * Takes an item out. OK, NOT_FOUND; E_UNSUPPORTED of a legacy filter with one of ours beside,
 * and of one that forgets.
 */
nidus_status value_remove(struct value *value, const void *item, size_t len);

/* Makes the filter as small as its items allow. */
nidus_status value_shrink(struct value *value);

/*
 * Bytes that a client's command may let this value take beyond those it has, by the setting
 * max-filter-bytes; UINT64_MAX: any number.
 */
uint64_t value_allowance(RedisModuleCtx *ctx, const struct value *value);

/* ------------------------------------------------------------------------- statistics -- */

struct statistics {
	_Atomic uint64_t values;
	_Atomic uint64_t filters[16]; /* by family */
	_Atomic uint64_t legacy;
	uint64_t growth_steps; /* adds that took more memory */
	uint64_t refused_full, refused_copies, refused_memory;
};

/* All but the counts of filters are of this thread alone, which runs the commands. */
const struct statistics *value_statistics(void);

/* ---------------------------------------------------------------- the server's seed -- */

/* The seed of filters made without one: drawn once, so that they can be merged. */
uint64_t seed_get(void);

/* Takes the seed of the server that this one copies or was. */
void seed_adopt(RedisModuleCtx *ctx, uint64_t seed);

/*
 * Whether a command comes by replication or from an AOF, of a server whose seed was taken: one
 * with this module, which sends RESERVE for every filter. RedisBloom does not.
 */
bool seed_is_followed(RedisModuleCtx *ctx);

/* A snapshot or an AOF is about to be loaded: of whatever server it may be. */
void seed_forget_origin(void);
void seed_set(uint64_t seed);

#endif

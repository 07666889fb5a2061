/* SPDX-License-Identifier: MIT
 *
 * recipe: what a filter is made from, as a client asked for it, with every default filled in.
 *
 * A recipe is replicated whole, as a RESERVE command that leaves nothing to the
 * receiver: the same recipe makes the same filter, byte for byte.
 */
#ifndef NIDUS_REDIS_RECIPE_H
#define NIDUS_REDIS_RECIPE_H

#include "nidus.h"
#include "server.h"

/* The two sets of commands, and so the two types of values. */
enum kind { KIND_CF, KIND_BF };

#define RECIPE_CAPACITY_MOST (UINT64_C(1) << 30)     /* what the commands accept */
#define RECIPE_MAX_CAPACITY_MOST (UINT64_C(1) << 40) /* of MAXCAPACITY */
#define RECIPE_LOADED_MOST (UINT64_C(1) << 44)       /* of filters made elsewhere */

#define EXPANSION_MOST 32768
#define WINDOW_MOST UINT32_C(1000000000) /* seconds */
#define SINCE_MOST (UINT64_C(1) << 48)   /* milliseconds since 1970 */
#define ERROR_LEAST 0x1p-32

/* Every value has one, and there may be many: fields are no wider than what they are for. */
struct recipe {
	uint64_t capacity;
	uint64_t max_capacity; /* 0: as the defaults have it; NIDUS_UNLIMITED: without a size */
	double error;
	uint64_t seed; /* 0: the server's */
	uint16_t expansion;
	uint16_t max_iterations; /* CF: asked for and told again by CF.INFO; it decides nothing */
	uint8_t bucket_size;     /* the same */
	uint8_t family;          /* a nidus_family; NIDUS_AUTO until the filter is made */
	uint8_t kind;            /* an enum kind */
	uint8_t slices;          /* CF: of a filter that forgets; 0: it does not */
	bool yielding : 1;       /* the default: less where the family cannot do so much */
	bool fixed : 1;          /* NONSCALING, or EXPANSION 0 */
	uint32_t window;         /* seconds that a filter that forgets remembers; 0: all */
};

/* What the settings say (settings.h). */
struct recipe recipe_default(enum kind kind);

/* The arguments of a command, and how many have been read. */
struct arguments {
	RedisModuleString **argv;
	int argc;
	int at;
	uint64_t since; /* of RESERVE: when the first slice began; 0: now */
};

/*
 * Reads the options that follow, to the end or, for INSERT, up to ITEMS, which is
 * passed over; NOCREATE is an option of INSERT too (`nocreate` is NULL elsewhere).
 * Returns NULL, or the error to answer with.
 */
const char *recipe_parse(struct recipe *recipe, struct arguments *arguments, bool *nocreate);

/* Reads the capacity, or the rate of BF.RESERVE. NULL, or the error. */
const char *recipe_parse_capacity(struct recipe *recipe, RedisModuleString *text);
const char *recipe_parse_error(struct recipe *recipe, RedisModuleString *text);

/* Reads the name of a family, or a seed. */
bool recipe_read_family(RedisModuleString *text, nidus_family *family);
const char *recipe_read_seed(RedisModuleString *text, uint64_t *seed);

/* Checks what depends on several options and fills in max_capacity. NULL, or the error. */
const char *recipe_finish(struct recipe *recipe);

/* The default of a filter that has to have a size: 100 times the capacity, or `least`. */
void recipe_limit(struct recipe *recipe, uint64_t least);

/* Whether the numbers make sense, wherever they come from. */
bool recipe_makes_sense(const struct recipe *recipe);

/* Milliseconds that a slice of a filter that forgets lasts: slices - 1 of them are a window. */
uint64_t recipe_slice(const struct recipe *recipe);

/*
 * Sends the RESERVE command that makes this filter to replicas and the AOF; of one that
 * forgets, with the time when its slice began.
 */
void recipe_replicate(const struct recipe *recipe, uint64_t since, RedisModuleCtx *ctx,
                      RedisModuleString *key);

#endif

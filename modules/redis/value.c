/* SPDX-License-Identifier: MIT */
#include "value.h"

#include "memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static _Atomic uint64_t values;
static uint64_t server_seed; /* 0: not drawn yet */

/* ---------------------------------------------------------------- the server's seed -- */

uint64_t seed_get(void)
{
	while (server_seed == 0)
		server.GetRandomBytes((unsigned char *)&server_seed, sizeof server_seed);
	return server_seed;
}

void seed_set(uint64_t seed)
{
	server_seed = seed;
}

void seed_adopt(RedisModuleCtx *ctx, uint64_t seed)
{
	if (server.GetContextFlags(ctx) & (SERVER_IS_LOADING | SERVER_IS_REPLICATED))
		server_seed = seed;
}

/* ------------------------------------------------------------------- life of a value -- */

static nidus_options options_of(const struct recipe *recipe)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = recipe->family;
	options.capacity = recipe->capacity;
	options.max_capacity = recipe->max_capacity;
	options.fpr = recipe->error;
	options.seed = recipe->seed;
	options.allocator = *memory_allocator();
	if (recipe->kind == KIND_CF)
		options.features = NIDUS_DELETE | NIDUS_ENUMERATE | NIDUS_MERGE | NIDUS_GROW;
	else if (!recipe->fixed)
		options.features = NIDUS_GROW;
	return options;
}

/* How many bytes the table will have; 0: nidus_create will tell why not. */
static uint64_t bytes_of(const nidus_options *options)
{
	nidus_plan_row rows[16];
	size_t n;
	if (nidus_plan(options, rows, sizeof rows / sizeof rows[0], &n) != NIDUS_OK)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (rows[i].chosen)
			return rows[i].bytes;
	return 0;
}

const char *value_failure(nidus_status status)
{
	static char text[200];
	snprintf(text, sizeof text, "%s %s", status == NIDUS_E_NOMEM ? "OOM" : "ERR",
	         nidus_reason());
	for (char *c = text; *c != '\0'; c++)
		if (*c == '\r' || *c == '\n')
			*c = ' ';
	return text;
}

/* Growth by the default is as much as the family can do; a number given is an order. */
static nidus_status create_yielding(nidus_options *options, struct recipe *recipe,
                                    nidus_filter **filter)
{
	nidus_status status = nidus_create(options, filter);
	while (status == NIDUS_E_RANGE && recipe->yielding &&
	       options->max_capacity > options->capacity) {
		options->max_capacity /= 2;
		if (options->max_capacity < options->capacity)
			options->max_capacity = options->capacity;
		status = nidus_create(options, filter);
	}
	recipe->max_capacity = options->max_capacity;
	return status;
}

static const char *create_filter(RedisModuleCtx *ctx, struct recipe *recipe, nidus_filter **filter)
{
	nidus_options options = options_of(recipe);
	if (!memory_has_room(ctx, bytes_of(&options)))
		return "OOM a filter of this capacity does not fit into the memory that is left";
	nidus_status status = create_yielding(&options, recipe, filter);
	return status == NIDUS_OK ? NULL : value_failure(status);
}

nidus_info value_info(const struct value *value)
{
	nidus_info info = NIDUS_INFO_INIT;
	(void)nidus_get_info(value->filter, &info);
	return info;
}

/* BF: as many as were asked for. CF: as many as the table was planned for. */
static uint64_t limit_of(const struct value *value)
{
	if (value->recipe.kind == KIND_BF && value->recipe.fixed)
		return value->recipe.capacity;
	return value_info(value).max_capacity;
}

struct value *value_create_empty(const struct recipe *recipe)
{
	struct value *value = memory_try(sizeof *value);
	if (value == NULL)
		return NULL;
	*value = (struct value){ .recipe = *recipe };
	atomic_fetch_add_explicit(&values, 1, memory_order_relaxed);
	return value;
}

struct value *value_create(RedisModuleCtx *ctx, struct recipe *recipe, const char **error)
{
	nidus_filter *filter;
	if (recipe->seed == 0)
		recipe->seed = seed_get();
	else
		seed_adopt(ctx, recipe->seed);
	*error = create_filter(ctx, recipe, &filter);
	if (*error != NULL)
		return NULL;
	struct value *value = value_create_empty(recipe);
	if (value == NULL) {
		nidus_free(filter);
		*error = "OOM no memory for another filter";
		return NULL;
	}
	value->filter = filter;
	recipe->family = value->recipe.family = value_info(value).family;
	value->limit = limit_of(value);
	return value;
}

void value_free(struct value *value)
{
	nidus_free(value->filter);
	chunks_free(&value->incoming);
	server.Free(value);
	atomic_fetch_sub_explicit(&values, 1, memory_order_relaxed);
}

struct value *value_copy(const struct value *value)
{
	nidus_filter *filter;
	if (value->filter == NULL || nidus_clone(value->filter, &filter) != NIDUS_OK)
		return NULL;
	struct value *copy = value_create_empty(&value->recipe);
	if (copy == NULL) {
		nidus_free(filter);
		return NULL;
	}
	*copy = *value;
	copy->filter = filter;
	return copy;
}

void value_take(struct value *value, nidus_filter *filter)
{
	nidus_free(value->filter);
	value->filter = filter;
	nidus_info info = value_info(value);
	value->items = info.count;
	if (value->limit < info.max_capacity)
		value->limit = info.max_capacity;
}

/* The server asks before it frees: a Bloom filter must not count its bits for that. */
static uint64_t filter_bytes(const struct value *value)
{
	bool bloom = !(nidus_family_features(value->recipe.family) & NIDUS_ENUMERATE);
	return bloom ? nidus_saved_size(value->filter) : value_info(value).bytes;
}

size_t value_bytes(const struct value *value)
{
	uint64_t bytes = sizeof *value + value->incoming.bytes;
	if (value->filter != NULL)
		bytes += filter_bytes(value);
	return (size_t)bytes;
}

uint64_t value_count(void)
{
	return atomic_load_explicit(&values, memory_order_relaxed);
}

/* --------------------------------------------------------------------------- items -- */

nidus_status value_add(struct value *value, uint64_t hash, bool fresh)
{
	if (value->items >= value->limit)
		return fresh && nidus_contains_hash(value->filter, hash) ? NIDUS_PRESENT
		                                                         : NIDUS_FULL;
	nidus_status status = fresh ? nidus_insert_new_hash(value->filter, hash)
	                            : nidus_insert_hash(value->filter, hash);
	value->items += status == NIDUS_OK;
	return status;
}

nidus_status value_remove(struct value *value, uint64_t hash)
{
	nidus_status status = nidus_remove_hash(value->filter, hash);
	if (status == NIDUS_OK) {
		value->items--;
		value->deleted++;
	}
	return status;
}

/* SPDX-License-Identifier: MIT */
#include "value.h"

#include "memory.h"
#include "settings.h"

#include <stdio.h>
#include <string.h>

static struct statistics statistics;
static uint64_t server_seed; /* 0: not drawn yet */
static bool seed_adopted;

/*
 * Of filters that the adds of a RedisBloom AOF make. A seed that is drawn would be another one
 * after each restart, and adds that were left out because an item seemed to be there would be
 * missing then.
 */
#define AOF_SEED UINT64_C(0x6e69647573414f46)

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

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
	if (server.GetContextFlags(ctx) & (SERVER_IS_LOADING | SERVER_IS_REPLICATED)) {
		server_seed = seed;
		seed_adopted = true;
	}
}

bool seed_is_followed(RedisModuleCtx *ctx)
{
	return seed_adopted &&
	       (server.GetContextFlags(ctx) & (SERVER_IS_LOADING | SERVER_IS_REPLICATED));
}

void seed_forget_origin(void)
{
	seed_adopted = false;
}

/* For a filter that is made without a seed. */
static uint64_t seed_to_use(RedisModuleCtx *ctx)
{
	return server.GetContextFlags(ctx) & SERVER_IS_LOADING ? AOF_SEED : seed_get();
}

/* ------------------------------------------------------------------------- statistics -- */

/* Adds 1, or takes it away: values may be freed in the background. */
static void count(_Atomic uint64_t *counter, int step)
{
	atomic_fetch_add_explicit(counter, (uint64_t)(int64_t)step, memory_order_relaxed);
}

static void count_filter(const nidus_filter *filter, nidus_family family, int step)
{
	if (filter != NULL && (size_t)family < COUNT(statistics.filters))
		count(&statistics.filters[family], step);
}

const struct statistics *value_statistics(void)
{
	return &statistics;
}

static void count_add(nidus_status status, uint64_t taken)
{
	statistics.growth_steps += (int64_t)taken > 0;
	if (status == NIDUS_OK || status == NIDUS_PRESENT)
		return;
	if (status == NIDUS_COPIES)
		statistics.refused_copies++;
	else if (status == NIDUS_FULL)
		statistics.refused_full++;
	else
		statistics.refused_memory++;
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
	options.slices = recipe->slices;
	if (recipe->slices > 0)
		options.features = NIDUS_ENUMERATE | NIDUS_GROW;
	else if (recipe->kind == KIND_CF)
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

#define FIRST_CAPACITY 1024

#define MERGING_MOST (UINT64_C(1) << 19)

/*
 * Filters that can grow equally far begin equally small, so that they merge whatever they were reserved for; then
 * they get the room that was asked for. Of those without a size, which can all grow equally far, large
 * ones do not: they are smaller if all that was reserved goes to the first generation. Those that forget merge
 * with none.
 */
static nidus_status create_grown(const nidus_options *options, nidus_filter **filter)
{
	nidus_options first = *options;
	bool merges = options->slices == 0 && (options->max_capacity != NIDUS_UNLIMITED ||
	                                       options->capacity <= MERGING_MOST);
	if (options->max_capacity > options->capacity && options->capacity > FIRST_CAPACITY &&
	    merges)
		first.capacity = FIRST_CAPACITY;
	nidus_status status = nidus_create(&first, filter);
	if (status != NIDUS_OK || first.capacity == options->capacity)
		return status;
	status = nidus_grow(*filter, options->capacity);
	if (status != NIDUS_OK) {
		nidus_free(*filter);
		*filter = NULL;
	}
	return status;
}

/* Growth by the default is as much as the family can do; a number given is an order. */
static nidus_status create_yielding(nidus_options *options, struct recipe *recipe,
                                    nidus_filter **filter)
{
	nidus_status status = create_grown(options, filter);
	while (status == NIDUS_E_RANGE && recipe->yielding &&
	       options->max_capacity != NIDUS_UNLIMITED &&
	       options->max_capacity > options->capacity) {
		options->max_capacity /= 2;
		if (options->max_capacity < options->capacity)
			options->max_capacity = options->capacity;
		status = create_grown(options, filter);
	}
	recipe->max_capacity = options->max_capacity;
	return status;
}

#define LIMITED_LEAST (UINT64_C(1) << 26)

/* By the default a filter has no size; where family or rate do not allow that it has a large one. */
static nidus_status create_filter(RedisModuleCtx *ctx, struct recipe *recipe, nidus_filter **filter)
{
	nidus_options options = options_of(recipe);
	uint64_t bytes = bytes_of(&options);
	if (bytes == 0 && recipe->yielding && recipe->max_capacity == NIDUS_UNLIMITED) {
		recipe_limit(recipe, LIMITED_LEAST);
		options = options_of(recipe);
		bytes = bytes_of(&options);
	}
	if (!memory_has_room(ctx, bytes) || bytes > value_allowance(ctx, NULL))
		return NIDUS_E_NOMEM;
	return create_yielding(&options, recipe, filter);
}

nidus_info value_info(const struct value *value)
{
	nidus_info info = NIDUS_INFO_INIT;
	if (value->filter != NULL)
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
	count(&statistics.values, 1);
	return value;
}

/* Makes the filter of a value that has none yet. */
static nidus_status fill_in(RedisModuleCtx *ctx, struct value *value)
{
	nidus_filter *filter;
	uint64_t before = memory_balance();
	if (value->recipe.seed == 0)
		value->recipe.seed = seed_to_use(ctx);
	else
		seed_adopt(ctx, value->recipe.seed);
	nidus_status status = create_filter(ctx, &value->recipe, &filter);
	if (status != NIDUS_OK)
		return status;
	value->filter = filter;
	value->memory += memory_balance() - before;
	value->recipe.family = (uint8_t)value_info(value).family;
	value->limit = limit_of(value);
	if (value_forgets(value))
		value->since = (uint64_t)server.Milliseconds();
	count_filter(filter, value->recipe.family, 1);
	return NIDUS_OK;
}

struct value *value_create(RedisModuleCtx *ctx, struct recipe *recipe, const char **error)
{
	struct value *value = value_create_empty(recipe);
	*error = "OOM no memory for another filter";
	if (value == NULL)
		return NULL;
	nidus_status status = fill_in(ctx, value);
	if (status == NIDUS_OK) {
		*recipe = value->recipe;
		return value;
	}
	*error = status == NIDUS_E_NOMEM
	                 ? "OOM a filter of this capacity does not fit into the memory that is left"
	                 : value_failure(status);
	value_free(value);
	return NULL;
}

static void free_incoming(struct incoming *incoming)
{
	if (incoming == NULL)
		return;
	chunks_free(&incoming->chunks);
	server.Free(incoming);
}

void value_free(struct value *value)
{
	if (value == NULL)
		return;
	count_filter(value->filter, value->recipe.family, -1);
	if (value->legacy != NULL)
		count(&statistics.legacy, -1);
	nidus_free(value->filter);
	legacy_free(value->legacy);
	free_incoming(value->incoming);
	server.Free(value);
	count(&statistics.values, -1);
}

/* Copies the parts of a value to another one that has none. */
static bool copy_parts(struct value *to, const struct value *from)
{
	uint64_t before = memory_balance();
	if (from->filter != NULL && nidus_clone(from->filter, &to->filter) != NIDUS_OK)
		return false;
	to->memory = memory_balance() - before;
	count_filter(to->filter, to->recipe.family, 1);
	if (from->legacy == NULL)
		return true;
	value_set_legacy(to, legacy_copy(from->legacy));
	return to->legacy != NULL;
}

struct value *value_copy(const struct value *value)
{
	struct value *copy = NULL;
	if (value->incoming == NULL)
		copy = value_create_empty(&value->recipe);
	if (copy == NULL)
		return NULL;
	copy->items = value->items;
	copy->deleted = value->deleted;
	copy->limit = value->limit;
	if (copy_parts(copy, value))
		return copy;
	value_free(copy);
	return NULL;
}

void value_take(struct value *value, nidus_filter *filter, uint64_t memory)
{
	count_filter(value->filter, value->recipe.family, -1);
	nidus_free(value->filter);
	value->filter = filter;
	value->memory = memory;
	value->changes++;
	nidus_info info = value_info(value);
	value->items = info.count;
	if (value->limit < info.max_capacity)
		value->limit = info.max_capacity;
	count_filter(filter, value->recipe.family, 1);
}

void value_set_filter(struct value *value, nidus_filter *filter, uint64_t memory)
{
	value->filter = filter;
	value->memory = memory;
	value->recipe.seed = value_info(value).seed;
	count_filter(filter, value->recipe.family, 1);
}

void value_set_legacy(struct value *value, struct legacy *legacy)
{
	value->legacy = legacy;
	if (legacy != NULL)
		count(&statistics.legacy, 1);
}

/* ------------------------------------------------------------------ filters that forget -- */

bool value_forgets(const struct value *value)
{
	return value->recipe.slices > 0;
}

uint64_t value_due(const struct value *value)
{
	uint64_t now = (uint64_t)server.Milliseconds();
	return now > value->since ? (now - value->since) / recipe_slice(&value->recipe) : 0;
}

void value_tick(struct value *value, uint64_t n)
{
	uint64_t before = memory_balance();
	for (uint64_t i = 0; i < n && i < value->recipe.slices; i++) /* then nothing is left */
		(void)nidus_tick(value->filter);
	if (n > (SINCE_MOST - value->since) / recipe_slice(&value->recipe))
		value->since = SINCE_MOST; /* no clock gets there */
	else
		value->since += n * recipe_slice(&value->recipe);
	value->items = nidus_size(value->filter);
	value->memory += memory_balance() - before;
	value->changes++;
}

uint64_t value_of_age(const struct value *value, unsigned age, uint64_t due)
{
	return age >= due ? nidus_slice_count(value->filter, age - (unsigned)due) : 0;
}

static uint64_t recent_items(const struct value *value)
{
	uint64_t due = value_due(value), items = 0;
	for (unsigned age = 0; age + due < value->recipe.slices; age++)
		items += nidus_slice_count(value->filter, age);
	return items;
}

bool value_has_recent(const struct value *value, uint64_t hash, uint64_t due)
{
	int age = nidus_age_hash(value->filter, hash);
	return age >= 0 && (uint64_t)age + due < value->recipe.slices;
}

/* --------------------------------------------------------------------- legacy filters -- */

/*
 * BF: the rate that RedisBloom's next layer would have, half that of the last, so that all
 * together keep the rate that was asked for. CF: room for as many items again.
 */
static struct recipe recipe_beside(const struct legacy *legacy)
{
	struct recipe recipe = recipe_default(legacy->kind);
	uint64_t capacity = legacy_capacity(legacy);
	recipe.fixed = legacy_is_fixed(legacy);
	if (recipe.fixed)
		capacity = capacity > legacy->items ? capacity - legacy->items : 1;
	if (legacy->kind == KIND_BF) {
		recipe.error = legacy->layer[legacy->layers - 1].error / 2;
		recipe.expansion =
			(uint16_t)(legacy->growth <= EXPANSION_MOST ? legacy->growth : 1);
	} else {
		recipe.bucket_size =
			(uint8_t)(legacy->bucket_size <= 255 ? legacy->bucket_size : 255);
		recipe.max_iterations = legacy->max_iterations > 0 ? legacy->max_iterations : 1;
		recipe.expansion =
			(uint16_t)(legacy->expansion <= EXPANSION_MOST ? legacy->expansion : 1);
		if (capacity < 2 * (uint64_t)recipe.bucket_size)
			capacity = 2 * (uint64_t)recipe.bucket_size;
	}
	if (recipe.expansion == 0 && !recipe.fixed)
		recipe.expansion = 1; /* replicas are told by RESERVE, where 0 means fixed */
	if (recipe.error < ERROR_LEAST)
		recipe.error = ERROR_LEAST;
	if (capacity == 0)
		capacity = 1;
	recipe.capacity = capacity < RECIPE_CAPACITY_MOST ? capacity : RECIPE_CAPACITY_MOST;
	(void)recipe_finish(&recipe);
	return recipe;
}

struct value *value_create_legacy(struct legacy *legacy)
{
	struct recipe recipe = recipe_beside(legacy);
	struct value *value = value_create_empty(&recipe);
	if (value == NULL)
		legacy_free(legacy);
	else
		value_set_legacy(value, legacy);
	return value;
}

nidus_status value_extend(RedisModuleCtx *ctx, struct value *value)
{
	if (legacy_is_fixed(value->legacy) &&
	    value->legacy->items >= legacy_capacity(value->legacy))
		return NIDUS_FULL;
	return fill_in(ctx, value);
}

bool value_is_untouched(const struct value *value)
{
	return value->legacy != NULL && value->filter == NULL && value->incoming == NULL;
}

/* ------------------------------------------------------------------------------ sizes -- */

/* The server's object and its record of a module's value, which MEMORY USAGE does not add. */
#define SERVER_PART 32

size_t value_bytes(const struct value *value)
{
	uint64_t bytes = SERVER_PART + server.MallocSize((void *)value) + value->memory;
	if (value->legacy != NULL)
		bytes += legacy_memory(value->legacy);
	if (value->incoming != NULL)
		bytes += sizeof *value->incoming;
	if (value->incoming != NULL && !value->incoming->foreign)
		bytes += value->incoming->bytes;
	return (size_t)bytes;
}

uint64_t value_items(const struct value *value)
{
	if (value_forgets(value) && value->filter != NULL)
		return recent_items(value);
	return value->items + (value->legacy != NULL ? value->legacy->items : 0);
}

uint64_t value_allowance(RedisModuleCtx *ctx, const struct value *value)
{
	uint64_t most = (uint64_t)settings.max_filter_bytes,
		 now = value != NULL ? value->memory : 0;
	if (most == 0 || (server.GetContextFlags(ctx) & (SERVER_IS_REPLICATED | SERVER_IS_LOADING)))
		return UINT64_MAX;
	return most > now ? most - now : 0;
}

/* An add is one change, and so is a remove: one item less, one removed more. */
uint32_t value_version(const struct value *value)
{
	uint64_t version = value->items + 2 * value->deleted + (value->filter != NULL);
	if (value->legacy != NULL)
		version += value->legacy->items + 2 * value->legacy->deleted;
	version += value->changes * UINT64_C(0x9e3779b1);
	return (uint32_t)(version & ((1u << 29) - 1));
}

/* --------------------------------------------------------------------------- items -- */

bool value_has(const struct value *value, const void *item, size_t len)
{
	if (value_forgets(value))
		return value_has_recent(value, nidus_hash(value->filter, item, len),
		                        value_due(value));
	return (value->legacy != NULL && legacy_contains(value->legacy, item, len)) ||
	       (value->filter != NULL && nidus_contains(value->filter, item, len));
}

static nidus_status add_to_full(const struct value *value, uint64_t hash, bool fresh)
{
	nidus_status status =
		fresh && nidus_contains_hash(value->filter, hash) ? NIDUS_PRESENT : NIDUS_FULL;
	count_add(status, 0);
	return status;
}

/* The library refreshes an item with the same answer as it puts one in: the count tells. */
static nidus_status add_or_refresh(struct value *value, uint64_t hash, bool fresh)
{
	if (fresh && nidus_age_hash(value->filter, hash) >= 0)
		return NIDUS_PRESENT; /* before an insert sweeps: nothing has changed */
	uint64_t before = memory_balance();
	nidus_status status = nidus_insert_hash(value->filter, hash);
	uint64_t taken = memory_balance() - before, items = nidus_size(value->filter);
	if (status == NIDUS_OK && items == value->items)
		status = NIDUS_PRESENT;
	value->memory += taken;
	value->items = items;
	value->changes++;
	count_add(status, taken);
	return status;
}

nidus_status value_add(struct value *value, uint64_t hash, bool fresh)
{
	if (value_forgets(value))
		return add_or_refresh(value, hash, fresh);
	if (value->items >= value->limit)
		return add_to_full(value, hash, fresh);
	uint64_t before = memory_balance();
	nidus_status status = fresh ? nidus_insert_new_hash(value->filter, hash)
	                            : nidus_insert_hash(value->filter, hash);
	uint64_t taken = memory_balance() - before;
	value->memory += taken;
	value->items += status == NIDUS_OK;
	value->changes += status != NIDUS_OK && status != NIDUS_PRESENT;
	if (taken != 0 || status != NIDUS_OK)
		count_add(status, taken);
	return status;
}

static nidus_status remove_legacy(struct value *value, const void *item, size_t len)
{
	if (value->filter != NULL)
		return NIDUS_E_UNSUPPORTED;
	return legacy_remove(value->legacy, item, len) ? NIDUS_OK : NIDUS_NOT_FOUND;
}

nidus_status value_remove(struct value *value, const void *item, size_t len)
{
	if (value->legacy != NULL)
		return remove_legacy(value, item, len);
	uint64_t before = memory_balance();
	nidus_status status = nidus_remove(value->filter, item, len);
	value->memory += memory_balance() - before;
	if (status == NIDUS_OK) {
		value->items--;
		value->deleted++;
	}
	return status;
}

nidus_status value_shrink(struct value *value)
{
	uint64_t before = memory_balance();
	nidus_status status = value->filter != NULL ? nidus_shrink(value->filter, 0) : NIDUS_OK;
	value->memory += memory_balance() - before;
	value->changes++;
	return status;
}

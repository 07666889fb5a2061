/* SPDX-License-Identifier: MIT
 *
 * Commands on whole filters: make, describe, shrink and merge.
 */
#include "commands.h"

#include "keys.h"
#include "memory.h"

#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------------- RESERVE -- */

static int reserve(RedisModuleCtx *ctx, RedisModuleString *key, struct recipe *recipe)
{
	struct value *value;
	const char *error = "ERR item exists";
	enum found found = keys_write_incoming(ctx, key, recipe->kind, &value);
	if (found == REFUSED)
		return SERVER_OK;
	if (found == FOUND)
		return server.ReplyWithError(ctx, error);
	value = value_create(ctx, recipe, &error);
	if (value == NULL)
		return server.ReplyWithError(ctx, error);
	keys_set(ctx, key, value);
	recipe_replicate(recipe, ctx, key);
	keys_notify(ctx, recipe->kind == KIND_CF ? "cf.reserve" : "bf.reserve", key);
	return server.ReplyWithSimpleString(ctx, "OK");
}

static int parse_and_reserve(RedisModuleCtx *ctx, struct arguments *arguments,
                             struct recipe *recipe)
{
	const char *wrong = recipe_parse(recipe, arguments, NULL);
	if (wrong == NULL)
		wrong = recipe_finish(recipe);
	if (wrong != NULL)
		return server.ReplyWithError(ctx, wrong);
	return reserve(ctx, arguments->argv[1], recipe);
}

int cf_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct recipe recipe = recipe_default(KIND_CF);
	struct arguments arguments = { argv, argc, 3 };
	if (argc < 3)
		return server.WrongArity(ctx);
	const char *wrong = recipe_parse_capacity(&recipe, argv[2]);
	if (wrong != NULL)
		return server.ReplyWithError(ctx, wrong);
	return parse_and_reserve(ctx, &arguments, &recipe);
}

int bf_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct recipe recipe = recipe_default(KIND_BF);
	struct arguments arguments = { argv, argc, 4 };
	if (argc < 4)
		return server.WrongArity(ctx);
	const char *wrong = recipe_parse_error(&recipe, argv[2]);
	if (wrong == NULL)
		wrong = recipe_parse_capacity(&recipe, argv[3]);
	if (wrong != NULL)
		return server.ReplyWithError(ctx, wrong);
	return parse_and_reserve(ctx, &arguments, &recipe);
}

/* ---------------------------------------------------------------------------- INFO -- */

static void reply_field(RedisModuleCtx *ctx, const char *name, uint64_t number)
{
	server.ReplyWithSimpleString(ctx, name);
	server.ReplyWithLongLong(ctx, (long long)number);
}

/* Finds the filter that a command describes. False: an error has been answered. */
static bool find_to_tell(RedisModuleCtx *ctx, RedisModuleString *key, enum kind kind,
                         struct value **value)
{
	enum found found = keys_read(ctx, key, kind, value);
	if (found == MISSING)
		server.ReplyWithError(ctx, "ERR not found");
	return found == FOUND;
}

int cf_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 2)
		return server.WrongArity(ctx);
	if (!find_to_tell(ctx, argv[1], KIND_CF, &value))
		return SERVER_OK;
	nidus_info info = value_info(value);
	server.ReplyWithMap(ctx, 8);
	reply_field(ctx, "Size", value_bytes(value));
	reply_field(ctx, "Number of buckets", info.total_slots / (info.slots > 0 ? info.slots : 1));
	reply_field(ctx, "Number of filters", 1);
	reply_field(ctx, "Number of items inserted", value->items);
	reply_field(ctx, "Number of items deleted", value->deleted);
	reply_field(ctx, "Bucket size", value->recipe.bucket_size);
	reply_field(ctx, "Expansion rate", value->recipe.expansion);
	reply_field(ctx, "Max iterations", value->recipe.max_iterations);
	return SERVER_OK;
}

/* The capacity asked for, or more once it has grown. */
static uint64_t capacity_now(const struct value *value)
{
	uint64_t asked = value->recipe.capacity;
	return value->items <= asked ? asked : value_info(value).capacity;
}

enum bf_field { BF_CAPACITY, BF_SIZE, BF_FILTERS, BF_ITEMS, BF_EXPANSION, BF_FIELDS };

static const struct {
	const char *option, *name;
} bf_fields[BF_FIELDS] = {
	{ "CAPACITY", "Capacity" },         { "SIZE", "Size" },
	{ "FILTERS", "Number of filters" }, { "ITEMS", "Number of items inserted" },
	{ "EXPANSION", "Expansion rate" },
};

static int reply_bf_field(RedisModuleCtx *ctx, const struct value *value, enum bf_field field)
{
	switch (field) {
	case BF_CAPACITY:
		return server.ReplyWithLongLong(ctx, (long long)capacity_now(value));
	case BF_SIZE:
		return server.ReplyWithLongLong(ctx, (long long)value_bytes(value));
	case BF_FILTERS:
		return server.ReplyWithLongLong(ctx, 1);
	case BF_ITEMS:
		return server.ReplyWithLongLong(ctx, (long long)value->items);
	default:
		break;
	}
	if (value->recipe.fixed)
		return server.ReplyWithNull(ctx);
	return server.ReplyWithLongLong(ctx, value->recipe.expansion);
}

static enum bf_field find_bf_field(RedisModuleString *name)
{
	size_t len;
	const char *bytes = server.StringPtrLen(name, &len);
	enum bf_field field = 0;
	while (field < BF_FIELDS && (strlen(bf_fields[field].option) != len ||
	                             strncasecmp(bytes, bf_fields[field].option, len) != 0))
		field++;
	return field;
}

static int reply_bf_fields(RedisModuleCtx *ctx, const struct value *value, enum bf_field from,
                           enum bf_field to)
{
	server.ReplyWithMap(ctx, (long)(to - from));
	for (enum bf_field field = from; field < to; field++) {
		server.ReplyWithSimpleString(ctx, bf_fields[field].name);
		reply_bf_field(ctx, value, field);
	}
	return SERVER_OK;
}

int bf_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 2 && argc != 3)
		return server.WrongArity(ctx);
	enum bf_field field = argc == 3 ? find_bf_field(argv[2]) : BF_FIELDS;
	if (argc == 3 && field == BF_FIELDS)
		return server.ReplyWithError(ctx, "Invalid information value");
	if (!find_to_tell(ctx, argv[1], KIND_BF, &value))
		return SERVER_OK;
	if (argc == 2)
		return reply_bf_fields(ctx, value, 0, BF_FIELDS);
	if (server.GetContextFlags(ctx) & SERVER_IS_RESP3)
		return reply_bf_fields(ctx, value, field, field + 1);
	server.ReplyWithArray(ctx, 1);
	return reply_bf_field(ctx, value, field);
}

int bf_card(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 2)
		return server.WrongArity(ctx);
	enum found found = keys_read(ctx, argv[1], KIND_BF, &value);
	if (found == REFUSED)
		return SERVER_OK;
	return server.ReplyWithLongLong(ctx, found == FOUND ? (long long)value->items : 0);
}

static void reply_rate(RedisModuleCtx *ctx, const char *name, double rate)
{
	server.ReplyWithSimpleString(ctx, name);
	server.ReplyWithDouble(ctx, rate);
}

/* NIDUS.INFO of either kind: what the old commands have no field for. */
int filter_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 2)
		return server.WrongArity(ctx);
	enum found found = keys_read_any(ctx, argv[1], &value);
	if (found == MISSING)
		return server.ReplyWithError(ctx, "ERR not found");
	if (found == REFUSED)
		return SERVER_OK;
	nidus_info info = value_info(value);
	server.ReplyWithMap(ctx, 9);
	server.ReplyWithSimpleString(ctx, "Family");
	server.ReplyWithSimpleString(ctx, nidus_family_name(info.family));
	reply_field(ctx, "Items", value->items);
	reply_field(ctx, "Capacity", info.capacity);
	reply_field(ctx, "Most items", value->limit);
	reply_field(ctx, "Bytes", value_bytes(value));
	reply_rate(ctx, "Error rate asked for", value->recipe.error);
	reply_rate(ctx, "Error rate promised", info.fpr_target);
	reply_rate(ctx, "Error rate now", info.fpr_now);
	reply_rate(ctx, "Bits per item", info.bits_per_key);
	return SERVER_OK;
}

/* ------------------------------------------------------------------ COMPACT and MERGE -- */

int cf_compact(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 2)
		return server.WrongArity(ctx);
	enum found found = keys_write(ctx, argv[1], KIND_CF, &value);
	if (found == REFUSED)
		return SERVER_OK;
	if (found == MISSING)
		return server.ReplyWithError(ctx, "Cuckoo filter was not found");
	nidus_status status = nidus_shrink(value->filter, 0);
	if (status == NIDUS_E_NOMEM)
		return server.ReplyWithError(ctx, "OOM no memory for a smaller filter");
	if (status == NIDUS_OK) { /* otherwise it has no smaller size, and that is fine */
		server.ReplicateVerbatim(ctx);
		keys_notify(ctx, "cf.compact", argv[1]);
	}
	return server.ReplyWithSimpleString(ctx, "OK");
}

/* Filters to be merged; `to` is the value that receives them, NULL if it is new. */
struct merging {
	RedisModuleCtx *ctx;
	RedisModuleString *key;
	struct value *to;
	const struct value *first;
	const nidus_filter **filters; /* the destination's, then those of other keys */
	size_t n;
	uint64_t bytes;
};

static void add_to_merge(struct merging *merging, const struct value *value)
{
	if (merging->n == 0)
		merging->first = value;
	merging->filters[merging->n++] = value->filter;
	merging->bytes += value_bytes(value);
}

/* Finds all that is to be merged. False: an error has been answered. */
static bool find_to_merge(struct merging *merging, RedisModuleString **from, int n)
{
	if (keys_write(merging->ctx, merging->key, KIND_CF, &merging->to) == REFUSED)
		return false;
	if (merging->to != NULL)
		add_to_merge(merging, merging->to);
	for (int i = 0; i < n; i++) {
		struct value *value;
		if (!find_to_tell(merging->ctx, from[i], KIND_CF, &value))
			return false;
		if (value != merging->to)
			add_to_merge(merging, value);
	}
	return true;
}

/* Makes the merged filter that of the destination. NULL, or the error to answer with. */
static const char *merge(const struct merging *merging)
{
	nidus_filter *merged;
	if (!memory_has_room(merging->ctx, merging->bytes))
		return "OOM no memory for the merged filter";
	nidus_status status =
		nidus_merge_many(merging->filters, merging->n, NIDUS_MERGE_COPIES, &merged);
	if (status != NIDUS_OK)
		return value_failure(status);
	struct value *to = merging->to;
	if (to == NULL)
		to = value_create_empty(&merging->first->recipe);
	if (to == NULL) {
		nidus_free(merged);
		return "OOM no memory for the merged filter";
	}
	value_take(to, merged);
	if (merging->to == NULL)
		keys_set(merging->ctx, merging->key, to);
	return NULL;
}

int cf_merge(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	if (argc < 3)
		return server.WrongArity(ctx);
	struct merging merging = { .ctx = ctx, .key = argv[1] };
	merging.filters = memory_try((size_t)argc * sizeof *merging.filters);
	if (merging.filters == NULL)
		return server.ReplyWithError(ctx, "OOM no memory for so many keys");
	if (find_to_merge(&merging, argv + 2, argc - 2)) {
		const char *error = merge(&merging);
		if (error != NULL) {
			server.ReplyWithError(ctx, error);
		} else {
			server.ReplicateVerbatim(ctx);
			keys_notify(ctx, "cf.merge", argv[1]);
			server.ReplyWithSimpleString(ctx, "OK");
		}
	}
	server.Free(merging.filters);
	return SERVER_OK;
}

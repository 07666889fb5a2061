/* SPDX-License-Identifier: MIT
 *
 * Commands on whole filters: make, describe and shrink.
 */
#include "commands.h"

#include "keys.h"
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------------- RESERVE -- */

/*
 * A master sends RESERVE for a key that exists when an item was added to a legacy filter: it
 * made one beside it, and tells with which seed.
 */
static bool is_replicated_beside(RedisModuleCtx *ctx, const struct value *value)
{
	return value_is_untouched(value) &&
	       (server.GetContextFlags(ctx) & (SERVER_IS_REPLICATED | SERVER_IS_LOADING));
}

static int reserve_beside(RedisModuleCtx *ctx, RedisModuleString *key, struct value *value,
                          const struct recipe *recipe)
{
	value->recipe = *recipe;
	nidus_status status = value_extend(ctx, value);
	if (status != NIDUS_OK)
		return server.ReplyWithError(ctx, value_failure(status));
	keys_settle(ctx, key, value);
	recipe_replicate(&value->recipe, value->since, ctx, key);
	return server.ReplyWithSimpleString(ctx, "OK");
}

static int reserve(RedisModuleCtx *ctx, RedisModuleString *key, struct recipe *recipe,
                   uint64_t since)
{
	struct value *value;
	const char *error = "ERR item exists";
	enum found found = keys_write_incoming(ctx, key, recipe->kind, &value);
	if (found == REFUSED)
		return SERVER_OK;
	if (found == FOUND && (recipe->slices > 0 || !is_replicated_beside(ctx, value)))
		return server.ReplyWithError(ctx, error);
	if (found == FOUND)
		return reserve_beside(ctx, key, value, recipe);
	value = value_create(ctx, recipe, &error);
	if (value == NULL)
		return server.ReplyWithError(ctx, error);
	if (since > 0)
		value->since = since;
	keys_set(ctx, key, value);
	recipe_replicate(recipe, value->since, ctx, key);
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
	if (!keys_are_ticked(ctx) && arguments->since > (uint64_t)server.Milliseconds())
		return server.ReplyWithError(ctx, "SINCE: value must not be in the future");
	return reserve(ctx, arguments->argv[1], recipe, arguments->since);
}

int cf_reserve(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct recipe recipe = recipe_default(KIND_CF);
	struct arguments arguments = { argv, argc, 3, 0 };
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
	struct arguments arguments = { argv, argc, 4, 0 };
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

/* Answers have 63 bits: any number of items (NIDUS_UNLIMITED) is the largest of them. */
static void reply_field(RedisModuleCtx *ctx, const char *name, uint64_t number)
{
	server.ReplyWithSimpleString(ctx, name);
	server.ReplyWithLongLong(ctx, number < INT64_MAX ? (long long)number : INT64_MAX);
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

static uint64_t filters_in(const struct value *value)
{
	return (value->legacy != NULL ? value->legacy->layers : 0) + (value->filter != NULL);
}

static uint64_t deleted_from(const struct value *value)
{
	if (value_forgets(value))
		return 0;
	return value->deleted + (value->legacy != NULL ? value->legacy->deleted : 0);
}

static uint64_t buckets_of(const struct value *value)
{
	nidus_info info = value_info(value);
	uint64_t slots = info.total_slots > 0 ? info.total_slots : info.capacity; /* of a list */
	uint64_t buckets = info.slots > 0 ? slots / info.slots : slots;
	for (uint32_t i = 0; value->legacy != NULL && i < value->legacy->layers; i++)
		buckets += value->legacy->layer[i].range;
	return buckets;
}

/* The window, and how many items each slice has, the youngest first. */
static void reply_window(RedisModuleCtx *ctx, const struct value *value)
{
	reply_field(ctx, "Window", value->recipe.window);
	reply_field(ctx, "Slices", value->recipe.slices);
	server.ReplyWithSimpleString(ctx, "Items per slice");
	server.ReplyWithArray(ctx, value->recipe.slices);
	uint64_t due = value_due(value);
	for (unsigned age = 0; age < value->recipe.slices; age++)
		server.ReplyWithLongLong(ctx, (long long)value_of_age(value, age, due));
}

int cf_info(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 2)
		return server.WrongArity(ctx);
	if (!find_to_tell(ctx, argv[1], KIND_CF, &value))
		return SERVER_OK;
	server.ReplyWithMap(ctx, value_forgets(value) ? 11 : 8);
	reply_field(ctx, "Size", value_bytes(value));
	reply_field(ctx, "Number of buckets", buckets_of(value));
	reply_field(ctx, "Number of filters", filters_in(value));
	reply_field(ctx, "Number of items inserted", value_items(value));
	reply_field(ctx, "Number of items deleted", deleted_from(value));
	reply_field(ctx, "Bucket size", value->recipe.bucket_size);
	reply_field(ctx, "Expansion rate", value->recipe.expansion);
	reply_field(ctx, "Max iterations", value->recipe.max_iterations);
	if (value_forgets(value))
		reply_window(ctx, value);
	return SERVER_OK;
}

/* The capacity asked for, or more once it has grown. */
static uint64_t capacity_now(const struct value *value)
{
	uint64_t asked = value->recipe.capacity;
	uint64_t legacy = value->legacy != NULL ? legacy_capacity(value->legacy) : 0;
	if (value->filter == NULL)
		return legacy;
	return legacy + (value->items <= asked ? asked : value_info(value).capacity);
}

/* The first five are told together; the others only if they are asked for. */
enum bf_field { BF_CAPACITY, BF_SIZE, BF_FILTERS, BF_ITEMS, BF_EXPANSION, BF_ERROR, BF_FIELDS };
#define BF_TOGETHER BF_ERROR

static const struct {
	const char *option, *name;
} bf_fields[BF_FIELDS] = {
	{ "CAPACITY", "Capacity" },         { "SIZE", "Size" },
	{ "FILTERS", "Number of filters" }, { "ITEMS", "Number of items inserted" },
	{ "EXPANSION", "Expansion rate" },  { "ERROR", "Error rate" },
};

/* The rate that was asked for. RedisBloom gives the first layer of a filter that grows half of it. */
static double error_of(const struct value *value)
{
	const struct legacy *legacy = value->legacy;
	if (legacy == NULL)
		return value->recipe.error;
	return legacy_is_fixed(legacy) ? legacy->layer[0].error : 2 * legacy->layer[0].error;
}

static int reply_bf_field(RedisModuleCtx *ctx, const struct value *value, enum bf_field field)
{
	switch (field) {
	case BF_CAPACITY:
		return server.ReplyWithLongLong(ctx, (long long)capacity_now(value));
	case BF_SIZE:
		return server.ReplyWithLongLong(ctx, (long long)value_bytes(value));
	case BF_FILTERS:
		return server.ReplyWithLongLong(ctx, (long long)filters_in(value));
	case BF_ITEMS:
		return server.ReplyWithLongLong(ctx, (long long)value_items(value));
	case BF_ERROR:
		return server.ReplyWithDouble(ctx, error_of(value));
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
		return reply_bf_fields(ctx, value, 0, BF_TOGETHER);
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
	return server.ReplyWithLongLong(ctx, found == FOUND ? (long long)value_items(value) : 0);
}

static void reply_rate(RedisModuleCtx *ctx, const char *name, double rate)
{
	server.ReplyWithSimpleString(ctx, name);
	server.ReplyWithDouble(ctx, rate);
}

static const char *family_of(const struct value *value)
{
	if (value->legacy == NULL)
		return nidus_family_name(value->recipe.family);
	return value->filter == NULL ? "redisbloom" : "redisbloom, and one of ours beside it";
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
	server.ReplyWithSimpleString(ctx, family_of(value));
	reply_field(ctx, "Items", value_items(value));
	reply_field(ctx, "Capacity", info.capacity);
	reply_field(ctx, "Most items", value->limit);
	reply_field(ctx, "Bytes", value_bytes(value));
	reply_rate(ctx, "Error rate asked for", value->recipe.error);
	reply_rate(ctx, "Error rate promised", info.fpr_target);
	reply_rate(ctx, "Error rate now", info.fpr_now);
	reply_rate(ctx, "Bits per item", info.bits_per_key);
	return SERVER_OK;
}

/* ---------------------------------------------------------------------------- DEBUG -- */

/*
 * Lines of numbers, as RedisBloom has them: tests of clients compare them before a dump and
 * after it was loaded.
 */
static int reply_line(RedisModuleCtx *ctx, const char *format, ...)
{
	char line[256];
	va_list numbers;
	va_start(numbers, format);
	int len = vsnprintf(line, sizeof line, format, numbers);
	va_end(numbers);
	return server.ReplyWithStringBuffer(ctx, line, (size_t)len);
}

static void reply_layer(RedisModuleCtx *ctx, const struct legacy_layer *layer)
{
	reply_line(ctx,
	           "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu ratio:%g",
	           (unsigned long long)layer->bytes, (unsigned long long)layer->range,
	           layer->hashes, (unsigned long long)layer->capacity,
	           (unsigned long long)layer->items, layer->error);
}

static void reply_our_layer(RedisModuleCtx *ctx, const struct value *value)
{
	nidus_info info = value_info(value);
	reply_line(ctx,
	           "bytes:%llu bits:%llu hashes:%u hashwidth:64 capacity:%llu size:%llu ratio:%g",
	           (unsigned long long)info.bytes, (unsigned long long)info.bytes * 8,
	           info.fingerprint_bits, (unsigned long long)info.capacity,
	           (unsigned long long)value->items, value->recipe.error);
}

int bf_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 2)
		return server.WrongArity(ctx);
	if (!find_to_tell(ctx, argv[1], KIND_BF, &value))
		return SERVER_OK;
	server.ReplyWithArray(ctx, (long)(1 + filters_in(value)));
	reply_line(ctx, "size:%llu", (unsigned long long)value_items(value));
	for (uint32_t i = 0; value->legacy != NULL && i < value->legacy->layers; i++)
		reply_layer(ctx, &value->legacy->layer[i]);
	if (value->filter != NULL)
		reply_our_layer(ctx, value);
	return SERVER_OK;
}

int cf_debug(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 2)
		return server.WrongArity(ctx);
	if (!find_to_tell(ctx, argv[1], KIND_CF, &value))
		return SERVER_OK;
	return reply_line(ctx,
	                  "bktsize:%u buckets:%llu items:%llu deletes:%llu filters:%llu "
	                  "max_iterations:%u expansion:%u",
	                  value->recipe.bucket_size, (unsigned long long)buckets_of(value),
	                  (unsigned long long)value_items(value),
	                  (unsigned long long)deleted_from(value),
	                  (unsigned long long)filters_in(value), value->recipe.max_iterations,
	                  value->recipe.expansion);
}

/* ---------------------------------------------------------------------------- TICK -- */

/*
 * NIDUS.TICK key n: so a master tells that slices ended. From a client it ticks what is due
 * by the clock, n at most; the answer is how many there were.
 */
int filter_tick(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	long long n;
	if (argc != 3)
		return server.WrongArity(ctx);
	if (server.StringToLongLong(argv[2], &n) != SERVER_OK || n < 1 || (uint64_t)n > SINCE_MOST)
		return server.ReplyWithError(ctx, "ERR bad number of slices");
	enum found found = keys_write_unticked(ctx, argv[1], KIND_CF, &value);
	if (found == REFUSED)
		return SERVER_OK;
	if (found == MISSING)
		return server.ReplyWithError(ctx, "ERR not found");
	if (!value_forgets(value))
		return server.ReplyWithError(ctx, "ERR this filter forgets nothing: it was made "
		                                  "without a WINDOW");
	uint64_t due = keys_are_ticked(ctx) ? (uint64_t)n : value_due(value);
	if (due > (uint64_t)n)
		due = (uint64_t)n;
	keys_tick(ctx, argv[1], value, due);
	return server.ReplyWithLongLong(ctx, (long long)due);
}

/* ------------------------------------------------------------------------- COMPACT -- */

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
	nidus_status status = value_shrink(value);
	if (status == NIDUS_E_NOMEM)
		return server.ReplyWithError(ctx, "OOM no memory for a smaller filter");
	if (status == NIDUS_OK) { /* otherwise it has no smaller size, and that is fine */
		server.ReplicateVerbatim(ctx);
		keys_notify(ctx, "cf.compact", argv[1]);
	}
	return server.ReplyWithSimpleString(ctx, "OK");
}

/* SPDX-License-Identifier: MIT
 *
 * NIDUS.EXPORT and NIDUS.IMPORT: filters as the files of the library (docs/format.md), which the
 * nidus command, Python, SQL and the browser open.
 */
#include "commands.h"

#include "keys.h"
#include "memory.h"

#include <string.h>
#include <strings.h>

#define FILE_MOST ((size_t)512 << 20) /* what a client can send back in one piece */

/* --------------------------------------------------------------------------- EXPORT -- */

static int reply_file(RedisModuleCtx *ctx, const struct value *value, size_t size)
{
	unsigned char *bytes = memory_try(size);
	if (bytes == NULL)
		return server.ReplyWithError(ctx, "OOM no memory for a copy of the filter");
	nidus_status status = nidus_save_buffer(value->filter, bytes, size, NULL);
	if (status == NIDUS_OK)
		server.ReplyWithStringBuffer(ctx, (const char *)bytes, size);
	else
		server.ReplyWithError(ctx, value_failure(status));
	server.Free(bytes);
	return SERVER_OK;
}

/* In a file no time passes: what is due is ticked in a copy. */
static int reply_recent_file(RedisModuleCtx *ctx, const struct value *value)
{
	struct value *copy = memory_has_room(ctx, value_bytes(value)) ? value_copy(value) : NULL;
	if (copy == NULL)
		return server.ReplyWithError(ctx, "OOM no memory for a copy of the filter");
	value_tick(copy, value_due(copy));
	reply_file(ctx, copy, nidus_saved_size(copy->filter));
	value_free(copy);
	return SERVER_OK;
}

int filter_export(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 2)
		return server.WrongArity(ctx);
	enum found found = keys_read_any(ctx, argv[1], &value);
	if (found == MISSING)
		return server.ReplyWithError(ctx, "ERR not found");
	if (found == REFUSED)
		return SERVER_OK;
	if (value->legacy != NULL)
		return server.ReplyWithError(ctx, "ERR a filter of RedisBloom cannot be exported");
	size_t size = nidus_saved_size(value->filter);
	if (size > FILE_MOST)
		return server.ReplyWithError(ctx, "ERR a filter of more than 512 MB cannot be "
		                                  "exported in one piece: use SCANDUMP");
	return value_forgets(value) && value_due(value) > 0 ? reply_recent_file(ctx, value)
	                                                    : reply_file(ctx, value, size);
}

/* --------------------------------------------------------------------------- IMPORT -- */

/* NIDUS.IMPORT key file [CF|BF] [REPLACE] */
struct import {
	bool cf, bf, replace;
};

static bool is(RedisModuleString *text, const char *word)
{
	size_t len;
	const char *bytes = server.StringPtrLen(text, &len);
	return len == strlen(word) && strncasecmp(bytes, word, len) == 0;
}

static const char *parse(struct import *import, RedisModuleString **argv, int argc)
{
	for (int i = 3; i < argc; i++) {
		if (is(argv[i], "CF"))
			import->cf = true;
		else if (is(argv[i], "BF"))
			import->bf = true;
		else if (is(argv[i], "REPLACE"))
			import->replace = true;
		else
			return "Unknown argument received";
	}
	return import->cf && import->bf ? "ERR a filter is for CF or for BF, not both" : NULL;
}

/* What clients would have asked for to get this filter. */
static struct recipe recipe_of(const nidus_info *info, enum kind kind)
{
	struct recipe recipe = recipe_default(kind);
	recipe.family = (uint8_t)info->family;
	recipe.capacity = info->capacity;
	recipe.max_capacity = info->max_capacity;
	recipe.error = info->fpr_target;
	recipe.seed = info->seed;
	recipe.fixed = info->max_capacity <= info->capacity;
	if (recipe.fixed)
		recipe.expansion = 0;
	else if (recipe.expansion == 0)
		recipe.expansion = 1;
	return recipe;
}

/* A value with this filter. NULL: *error is what to answer; the filter is freed. */
static struct value *value_of(nidus_filter *filter, uint64_t memory, const struct import *import,
                              const char **error)
{
	nidus_info info = NIDUS_INFO_INIT;
	(void)nidus_get_info(filter, &info);
	bool deletes = (info.features & NIDUS_DELETE) != 0;
	enum kind kind = import->bf || (!import->cf && !deletes) ? KIND_BF : KIND_CF;
	struct recipe recipe = recipe_of(&info, kind);
	struct value *value = NULL;
	*error = "OOM no memory for another filter";
	if (info.slices > 0)
		*error = "ERR this filter forgets, and its file does not tell how long a slice "
			 "lasts: use DUMP and RESTORE, or SCANDUMP and LOADCHUNK";
	else if (kind == KIND_CF && !deletes)
		*error = "ERR this filter cannot delete; it is for BF.* only";
	else if (!recipe_makes_sense(&recipe))
		*error = "ERR this filter is larger than those that commands can make";
	else
		value = value_create_empty(&recipe);
	if (value == NULL) {
		nidus_free(filter);
		return NULL;
	}
	value_take(value, filter, memory);
	return value;
}

static struct value *read_file(RedisModuleCtx *ctx, RedisModuleString *file,
                               const struct import *import, const char **error)
{
	nidus_filter *filter;
	size_t size;
	const char *bytes = server.StringPtrLen(file, &size);
	uint64_t before = memory_balance();
	*error = "OOM no memory for this filter";
	if (!memory_has_room(ctx, size))
		return NULL;
	nidus_status status = nidus_load_buffer(bytes, size, memory_allocator(), &filter);
	if (status != NIDUS_OK) {
		*error = value_failure(status);
		return NULL;
	}
	return value_of(filter, memory_balance() - before, import, error);
}

int filter_import(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct import import = { false, false, false };
	struct value *value;
	if (argc < 3)
		return server.WrongArity(ctx);
	const char *error = parse(&import, argv, argc);
	if (error != NULL)
		return server.ReplyWithError(ctx, error);
	if (keys_exist(ctx, argv[1]) && !import.replace)
		return server.ReplyWithError(ctx, "ERR item exists");
	value = read_file(ctx, argv[2], &import, &error);
	if (value == NULL)
		return server.ReplyWithError(ctx, error);
	keys_set(ctx, argv[1], value);
	server.ReplicateVerbatim(ctx);
	keys_notify(ctx, "nidus.import", argv[1]);
	return server.ReplyWithSimpleString(ctx, "OK");
}

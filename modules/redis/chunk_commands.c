/* SPDX-License-Identifier: MIT
 *
 * SCANDUMP and LOADCHUNK: a filter in chunks of at most 16 MiB, from one server to another.
 *
 * Position 0 is the header, and brings position 1; from there on a position is
 * 1 + the bytes of the image so far. LOADCHUNK takes each chunk with the position that
 * came with it.
 */
#include "commands.h"

#include "dump.h"
#include "keys.h"
#include "memory.h"

#include <string.h>

/* What the two sets of commands say differently. */
struct words {
	const char *bad_position, *bad_header, *bad_chunk, *event;
};

static const struct words words[] = {
	[KIND_CF] = { "Invalid position", "Invalid header", "Couldn't load chunk!",
	              "cf.loadchunk" },
	[KIND_BF] = { "Second argument must be numeric", "ERR received bad data",
	              "ERR received bad data", "bf.loadchunk" },
};

/* ------------------------------------------------------------------------- SCANDUMP -- */

static int reply_chunk(RedisModuleCtx *ctx, uint64_t next, const void *bytes, size_t size)
{
	server.ReplyWithArray(ctx, 2);
	server.ReplyWithLongLong(ctx, (long long)next);
	return server.ReplyWithStringBuffer(ctx, bytes, size);
}

static int reply_end(RedisModuleCtx *ctx, enum kind kind)
{
	if (kind == KIND_BF)
		return reply_chunk(ctx, 0, "", 0);
	server.ReplyWithArray(ctx, 2);
	server.ReplyWithLongLong(ctx, 0);
	return server.ReplyWithNull(ctx);
}

static void append(void *context, const void *bytes, size_t size)
{
	unsigned char **end = context;
	memcpy(*end, bytes, size);
	*end += size;
}

static int reply_image(RedisModuleCtx *ctx, const struct value *value, uint64_t from, uint64_t size)
{
	size_t most = size - from < CHUNK_MOST ? (size_t)(size - from) : CHUNK_MOST;
	unsigned char *bytes = memory_try(most), *end = bytes;
	if (bytes == NULL)
		return server.ReplyWithError(ctx, "OOM no memory for a chunk");
	if (dump_image(value, from, most, append, &end))
		reply_chunk(ctx, 1 + from + most, bytes, most);
	else
		server.ReplyWithError(ctx, value_failure(NIDUS_E_NOMEM));
	server.Free(bytes);
	return SERVER_OK;
}

static int reply_header(RedisModuleCtx *ctx, const struct value *value)
{
	unsigned char header[DUMP_HEADER];
	dump_header(value, header);
	return reply_chunk(ctx, 1, header, sizeof header);
}

static int scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, enum kind kind)
{
	struct value *value;
	long long position;
	if (argc != 3)
		return server.WrongArity(ctx);
	if (server.StringToLongLong(argv[2], &position) != SERVER_OK)
		return server.ReplyWithError(ctx, words[kind].bad_position);
	enum found found = keys_read(ctx, argv[1], kind, &value);
	if (found == REFUSED)
		return SERVER_OK;
	if (found == MISSING)
		return server.ReplyWithError(ctx, "ERR not found");
	if (position == 0)
		return reply_header(ctx, value);
	uint64_t from = (uint64_t)position - 1, size = dump_image_size(value);
	if (position < 0 || from > size)
		return server.ReplyWithError(ctx, "Invalid position");
	return from == size ? reply_end(ctx, kind) : reply_image(ctx, value, from, size);
}

/* ------------------------------------------------------------------------ LOADCHUNK -- */

static int done(RedisModuleCtx *ctx, RedisModuleString *key, enum kind kind)
{
	server.ReplicateVerbatim(ctx);
	keys_notify(ctx, words[kind].event, key);
	return server.ReplyWithSimpleString(ctx, "OK");
}

static int load_header(RedisModuleCtx *ctx, RedisModuleString **argv, enum kind kind)
{
	size_t size;
	const char *bytes = server.StringPtrLen(argv[3], &size);
	struct value *value = dump_read_header(bytes, size, kind);
	if (value == NULL)
		return server.ReplyWithError(ctx, words[kind].bad_header);
	if (!memory_has_room(ctx, value->incoming.expected)) {
		value_free(value);
		return server.ReplyWithError(ctx, "OOM no memory for this filter");
	}
	keys_set(ctx, argv[1], value);
	return done(ctx, argv[1], kind);
}

/* All chunks are here. If they are not a filter, the key goes. */
static int finish(RedisModuleCtx *ctx, RedisModuleString *key, struct value *value)
{
	enum kind kind = value->recipe.kind;
	const char *why;
	if (dump_finish(value, chunks_source, &value->incoming, &why)) {
		seed_adopt(ctx, value->recipe.seed);
		return done(ctx, key, kind);
	}
	server.Log(ctx, "warning", "nidus: LOADCHUNK brought no filter: %s", why);
	keys_delete(ctx, key);
	server.Replicate(ctx, "DEL", "s", key);
	return server.ReplyWithError(ctx, words[kind].bad_chunk);
}

static int load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, struct value *value,
                      uint64_t position)
{
	enum kind kind = value->recipe.kind;
	struct chunks *incoming = &value->incoming;
	size_t size;
	const char *bytes = server.StringPtrLen(argv[3], &size);
	if (size == 0 || size > incoming->expected - incoming->bytes ||
	    position != 1 + incoming->bytes + size)
		return server.ReplyWithError(ctx, "Invalid position");
	if (!chunks_add(incoming, bytes, size))
		return server.ReplyWithError(ctx, "OOM no memory for this chunk");
	if (incoming->bytes == incoming->expected)
		return finish(ctx, argv[1], value);
	return done(ctx, argv[1], kind);
}

static int loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, enum kind kind)
{
	struct value *value;
	long long position;
	if (argc != 4)
		return server.WrongArity(ctx);
	if (server.StringToLongLong(argv[2], &position) != SERVER_OK)
		return server.ReplyWithError(ctx, words[kind].bad_position);
	enum found found = keys_write_incoming(ctx, argv[1], kind, &value);
	if (found == REFUSED)
		return SERVER_OK;
	if (position == 1) {
		if (found == FOUND)
			return server.ReplyWithError(ctx, "ERR item exists");
		return load_header(ctx, argv, kind);
	}
	if (found == MISSING)
		return server.ReplyWithError(ctx, "ERR not found");
	if (value->filter != NULL || position < 1)
		return server.ReplyWithError(ctx, "Invalid position");
	return load_chunk(ctx, argv, value, (uint64_t)position);
}

int cf_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return scandump(ctx, argv, argc, KIND_CF);
}

int bf_scandump(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return scandump(ctx, argv, argc, KIND_BF);
}

int cf_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return loadchunk(ctx, argv, argc, KIND_CF);
}

int bf_loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return loadchunk(ctx, argv, argc, KIND_BF);
}

/* SPDX-License-Identifier: MIT
 *
 * SCANDUMP and LOADCHUNK: a filter in chunks of at most 16 MiB, from one server to another.
 *
 * An iterator is a position and, above its 24 bits, the version of the filter: SCANDUMP finds
 * out if the filter changed between two chunks. Iterator 0 asks for the header, which comes
 * with position 1; each chunk of the body (dump.h) adds 1. LOADCHUNK takes each chunk with the
 * iterator that came with it, and looks at the position only.
 *
 * LOADCHUNK takes the chunks of RedisBloom, too. There the header has iterator 1, and from
 * there on an iterator is 1 + the bytes so far.
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

#define POSITION_BITS 24
#define POSITION_MASK ((UINT64_C(1) << POSITION_BITS) - 1)

static uint64_t iterator_at(const struct value *value, uint64_t bytes)
{
	return (uint64_t)value_version(value) << POSITION_BITS | dump_position(bytes);
}

static int reply_body(RedisModuleCtx *ctx, const struct value *value, uint64_t from, uint64_t size)
{
	size_t most = size - from < CHUNK_MOST ? (size_t)(size - from) : CHUNK_MOST;
	unsigned char *bytes = memory_try(most), *end = bytes;
	if (bytes == NULL)
		return server.ReplyWithError(ctx, "OOM no memory for a chunk");
	if (dump_body(value, from, most, append, &end))
		reply_chunk(ctx, iterator_at(value, from + most), bytes, most);
	else
		server.ReplyWithError(ctx, value_failure(NIDUS_E_NOMEM));
	server.Free(bytes);
	return SERVER_OK;
}

static int reply_header(RedisModuleCtx *ctx, const struct value *value)
{
	unsigned char header[DUMP_HEADER_MOST];
	size_t size = dump_header(value, header);
	return reply_chunk(ctx, iterator_at(value, 0), header, size);
}

/* The chunk that follows an iterator. */
static int reply_next(RedisModuleCtx *ctx, const struct value *value, uint64_t iterator)
{
	uint64_t size = dump_body_size(value), position = iterator & POSITION_MASK;
	uint64_t last = dump_position(size);
	if (position == 0 || position > last)
		return server.ReplyWithError(ctx, "Invalid position");
	if (iterator >> POSITION_BITS != value_version(value))
		return server.ReplyWithError(
			ctx, "ERR the filter has changed since the dump began: COPY the key, dump "
			     "the copy from iterator 0, and delete it");
	if (position == last)
		return reply_end(ctx, value->recipe.kind);
	return reply_body(ctx, value, (position - 1) * CHUNK_MOST, size);
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
	if (position < 0)
		return server.ReplyWithError(ctx, "Invalid position");
	return reply_next(ctx, value, (uint64_t)position);
}

/* ------------------------------------------------------------------------ LOADCHUNK -- */

static int done(RedisModuleCtx *ctx, RedisModuleString *key, enum kind kind)
{
	server.ReplicateVerbatim(ctx);
	keys_notify(ctx, words[kind].event, key);
	return server.ReplyWithSimpleString(ctx, "OK");
}

/* Bytes that a load will take. */
static uint64_t bytes_to_come(const struct value *value)
{
	return value->incoming->legacy + value->incoming->image;
}

static int load_header(RedisModuleCtx *ctx, RedisModuleString **argv, enum kind kind)
{
	size_t size, used = 0;
	const char *bytes = server.StringPtrLen(argv[3], &size);
	struct value *value = dump_read_header(bytes, size, kind, &used);
	if (value == NULL)
		value = dump_read_foreign(bytes, used = size, kind);
	if (value == NULL || used != size || (value->incoming->foreign && value->legacy == NULL)) {
		value_free(value);
		return server.ReplyWithError(ctx, words[kind].bad_header);
	}
	if (!memory_has_room(ctx, bytes_to_come(value)) ||
	    (value->incoming->foreign && !dump_make_room(value))) {
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
	if (dump_finish(value, chunks_source, &value->incoming->chunks, &why)) {
		if (value->filter != NULL)
			seed_adopt(ctx, value->recipe.seed);
		keys_settle(ctx, key, value);
		return done(ctx, key, kind);
	}
	server.Log(ctx, "warning", "nidus: LOADCHUNK brought no filter: %s", why);
	keys_delete(ctx, key);
	server.Replicate(ctx, "DEL", "s", key);
	return server.ReplyWithError(ctx, words[kind].bad_chunk);
}

static int load_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, struct value *value,
                      uint64_t iterator)
{
	struct incoming *incoming = value->incoming;
	uint64_t all = bytes_to_come(value);
	size_t size;
	const char *bytes = server.StringPtrLen(argv[3], &size);
	if (size == 0 || size > all - incoming->bytes ||
	    (iterator & POSITION_MASK) != dump_position(incoming->bytes + size))
		return server.ReplyWithError(ctx, "Invalid position");
	if (!chunks_add(&incoming->chunks, bytes, size))
		return server.ReplyWithError(ctx, "OOM no memory for this chunk");
	incoming->bytes += size;
	if (incoming->bytes == all)
		return finish(ctx, argv[1], value);
	return done(ctx, argv[1], value->recipe.kind);
}

static int load_foreign_chunk(RedisModuleCtx *ctx, RedisModuleString **argv, struct value *value,
                              uint64_t iterator)
{
	struct incoming *incoming = value->incoming;
	uint64_t all = legacy_table_bytes(value->legacy);
	size_t size;
	const char *bytes = server.StringPtrLen(argv[3], &size);
	if (size == 0 || size > all - incoming->bytes || iterator != 1 + incoming->bytes + size)
		return server.ReplyWithError(ctx, "Invalid position");
	legacy_fill(value->legacy, incoming->bytes, bytes, size);
	incoming->bytes += size;
	if (incoming->bytes == all) {
		dump_finish_foreign(value);
		keys_settle(ctx, argv[1], value);
	}
	return done(ctx, argv[1], value->recipe.kind);
}

static int loadchunk(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, enum kind kind)
{
	struct value *value;
	long long iterator;
	if (argc != 4)
		return server.WrongArity(ctx);
	if (server.StringToLongLong(argv[2], &iterator) != SERVER_OK)
		return server.ReplyWithError(ctx, words[kind].bad_position);
	enum found found = keys_write_incoming(ctx, argv[1], kind, &value);
	if (found == REFUSED)
		return SERVER_OK;
	bool first = iterator > 0 && ((uint64_t)iterator & POSITION_MASK) == 1;
	if (found == MISSING)
		return first ? load_header(ctx, argv, kind)
		             : server.ReplyWithError(ctx, "ERR not found");
	if (value->incoming != NULL && iterator > 1)
		return (value->incoming->foreign ? load_foreign_chunk : load_chunk)(
			ctx, argv, value, (uint64_t)iterator);
	return server.ReplyWithError(ctx, first ? "ERR item exists" : "Invalid position");
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

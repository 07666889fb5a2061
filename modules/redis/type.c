/* SPDX-License-Identifier: MIT
 *
 * In a snapshot a value is: the header of dump.h as a string, how many bytes of the
 * image follow, then those in strings of at most 16 MiB. A value that LOADCHUNK has
 * not finished is saved as far as it has come, and goes on from there when loaded.
 *
 * In a rewritten AOF it is the LOADCHUNK commands that bring it.
 */
#include "type.h"

#include "dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENCODING 1

static RedisModuleType *types[2];

RedisModuleType *type_of(enum kind kind)
{
	return types[kind];
}

/* ----------------------------------------------------------------------- snapshots -- */

static uint64_t bytes_here(const struct value *value)
{
	return value->filter != NULL ? dump_image_size(value) : value->incoming.bytes;
}

/*
 * The image, whole: the server has no way to hear of a failure, and would keep a snapshot or an
 * AOF that it cannot load. So it ends here, as it does itself without memory: mostly the child
 * that writes, and what was on disk before stays.
 */
static void give_image(const struct value *value, dump_sink *sink, void *context, RedisModuleIO *io)
{
	if (dump_image(value, 0, bytes_here(value), sink, context))
		return;
	server.LogIOError(io, "warning", "nidus: a filter could not be written: %s",
	                  nidus_reason());
	abort();
}

static void save_piece(void *io, const void *bytes, size_t size)
{
	server.SaveStringBuffer(io, bytes, size);
}

static void save(RedisModuleIO *io, void *value)
{
	unsigned char header[DUMP_HEADER];
	dump_header(value, header);
	server.SaveStringBuffer(io, (const char *)header, sizeof header);
	server.SaveUnsigned(io, bytes_here(value));
	give_image(value, save_piece, io, io);
}

/* The pieces of an image in a snapshot, as a nidus_source. */
struct pieces {
	RedisModuleIO *io;
	char *piece;
	size_t size, used;
};

static bool next_piece(struct pieces *pieces)
{
	if (pieces->piece != NULL)
		server.Free(pieces->piece);
	pieces->used = 0;
	pieces->piece = server.LoadStringBuffer(pieces->io, &pieces->size);
	if (pieces->piece == NULL || server.IsIOError(pieces->io))
		return false;
	return pieces->size > 0 && pieces->size <= CHUNK_MOST;
}

static ptrdiff_t pieces_source(void *context, void *bytes, size_t size)
{
	struct pieces *pieces = context;
	if (pieces->used == pieces->size && !next_piece(pieces))
		return -EIO;
	size_t left = pieces->size - pieces->used;
	size = size < left ? size : left;
	memcpy(bytes, pieces->piece + pieces->used, size);
	pieces->used += size;
	return (ptrdiff_t)size;
}

/* Reads the part of an image that had come when the snapshot was taken. */
static bool load_part(struct value *value, struct pieces *pieces, uint64_t here)
{
	while (value->incoming.bytes < here)
		if (!next_piece(pieces) || pieces->size > here - value->incoming.bytes ||
		    !chunks_add(&value->incoming, pieces->piece, pieces->size))
			return false;
	return true;
}

static bool load_image(struct value *value, RedisModuleIO *io)
{
	struct pieces pieces = { .io = io };
	const char *why = "the snapshot is damaged";
	uint64_t here = server.LoadUnsigned(io);
	bool whole = here == value->incoming.expected, ok = false;
	if (!server.IsIOError(io) && here <= value->incoming.expected)
		ok = whole ? dump_finish(value, pieces_source, &pieces, &why) &&
		                     pieces.used == pieces.size
		           : load_part(value, &pieces, here);
	if (pieces.piece != NULL)
		server.Free(pieces.piece);
	if (!ok)
		server.LogIOError(io, "warning", "nidus: a filter could not be loaded: %s", why);
	else if (whole)
		seed_adopt(server.GetContextFromIO(io), value->recipe.seed);
	return ok;
}

static struct value *load_header(RedisModuleIO *io, enum kind kind)
{
	size_t size;
	char *header = server.LoadStringBuffer(io, &size);
	if (header == NULL)
		return NULL;
	struct value *value = server.IsIOError(io) ? NULL : dump_read_header(header, size, kind);
	server.Free(header);
	return value;
}

static void *load(RedisModuleIO *io, int version, enum kind kind)
{
	if (version != ENCODING) {
		server.LogIOError(io, "warning", "nidus: filters of encoding %d are not known here",
		                  version);
		return NULL;
	}
	struct value *value = load_header(io, kind);
	if (value == NULL) {
		server.LogIOError(io, "warning", "nidus: the header of a filter is damaged");
		return NULL;
	}
	if (load_image(value, io))
		return value;
	value_free(value);
	return NULL;
}

static void *load_cf(RedisModuleIO *io, int version)
{
	return load(io, version, KIND_CF);
}

static void *load_bf(RedisModuleIO *io, int version)
{
	return load(io, version, KIND_BF);
}

/* ----------------------------------------------------------------------------- AOF -- */

struct emission {
	RedisModuleIO *io;
	RedisModuleString *key;
	const char *command;
	long long position; /* 1 + bytes so far */
};

static void emit_piece(void *context, const void *bytes, size_t size)
{
	struct emission *emission = context;
	emission->position += (long long)size;
	server.EmitAOF(emission->io, emission->command, "slb", emission->key, emission->position,
	               bytes, size);
}

static void rewrite(RedisModuleIO *io, RedisModuleString *key, void *context)
{
	const struct value *value = context;
	struct emission emission = { io, key, "CF.LOADCHUNK", 1 };
	unsigned char header[DUMP_HEADER];
	if (value->recipe.kind == KIND_BF)
		emission.command = "BF.LOADCHUNK";
	dump_header(value, header);
	server.EmitAOF(io, emission.command, "slb", key, emission.position, header, sizeof header);
	give_image(value, emit_piece, &emission, io);
}

/* ------------------------------------------------------------------------ the rest -- */

static void digest_piece(void *digest, const void *bytes, size_t size)
{
	server.DigestAddStringBuffer(digest, bytes, size);
}

static void digest(RedisModuleDigest *digest, void *value)
{
	unsigned char header[DUMP_HEADER];
	dump_header(value, header);
	digest_piece(digest, header, sizeof header);
	(void)dump_image(value, 0, bytes_here(value), digest_piece, digest);
	server.DigestEndSequence(digest);
}

static size_t usage(const void *value)
{
	return value_bytes(value);
}

static void release(void *value)
{
	value_free(value);
}

/* In pages: from 64 of them on the server frees in the background. */
static size_t free_effort(RedisModuleString *key, const void *value)
{
	(void)key;
	return 1 + value_bytes(value) / 4096;
}

static void *copy(RedisModuleString *from, RedisModuleString *to, const void *value)
{
	(void)from;
	(void)to;
	return value_copy(value);
}

bool type_register(RedisModuleCtx *ctx)
{
	struct server_type_methods methods = {
		.version = 4,
		.rdb_save = save,
		.aof_rewrite = rewrite,
		.mem_usage = usage,
		.digest = digest,
		.free = release,
		.free_effort = free_effort,
		.copy = copy,
	};
	methods.rdb_load = load_cf;
	types[KIND_CF] = server.CreateDataType(ctx, "nidus--cf", ENCODING, &methods);
	methods.rdb_load = load_bf;
	types[KIND_BF] = server.CreateDataType(ctx, "nidus--bf", ENCODING, &methods);
	return types[KIND_CF] != NULL && types[KIND_BF] != NULL;
}

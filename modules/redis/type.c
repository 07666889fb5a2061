/* SPDX-License-Identifier: MIT
 *
 * In a snapshot a value is: how many bytes follow, then the header and the body of dump.h in
 * strings of at most 16 MiB, the whole header in the first. A value that LOADCHUNK has
 * not finished is saved as far as it has come, and goes on from there when loaded. That of a small
 * filter is: 0, and the header and the squeezed image (squeeze.h) in one string.
 *
 * In a rewritten AOF it is the LOADCHUNK commands that bring it.
 *
 * A legacy filter that nothing was added to has RedisBloom's own type, and is saved as
 * RedisBloom saves it.
 */
#include "type.h"

#include "dump.h"
#include "memory.h"
#include "squeeze.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENCODING 2
#define GATHERED ((size_t)64 << 10) /* shorter pieces of a snapshot are put together */

static RedisModuleType *types[2], *legacy_types[2];

RedisModuleType *type_of(enum kind kind)
{
	return types[kind];
}

RedisModuleType *type_of_legacy(enum kind kind)
{
	return legacy_types[kind];
}

RedisModuleType *type_for(const struct value *value)
{
	RedisModuleType *legacy = legacy_types[value->recipe.kind];
	return value_is_untouched(value) && legacy != NULL ? legacy : types[value->recipe.kind];
}

/* ------------------------------------------------------------------------ snapshots -- */

/*
 * The body, whole: the server has no way to hear of a failure, and would keep a snapshot or an
 * AOF that it cannot load. So it ends here, as it does itself without memory: mostly the child
 * that writes, and what was on disk before stays.
 */
static void give_body(const struct value *value, dump_sink *sink, void *context, RedisModuleIO *io)
{
	if (dump_body(value, 0, dump_body_here(value), sink, context))
		return;
	server.LogIOError(io, "warning", "nidus: a filter could not be written: %s",
	                  nidus_reason());
	abort();
}

/* Bytes on their way to a snapshot. */
struct gathering {
	RedisModuleIO *io;
	size_t used;
	char bytes[GATHERED];
};

static void flush(struct gathering *gathering)
{
	if (gathering->used > 0)
		server.SaveStringBuffer(gathering->io, gathering->bytes, gathering->used);
	gathering->used = 0;
}

static void gather(void *context, const void *bytes, size_t size)
{
	struct gathering *gathering = context;
	if (size > sizeof gathering->bytes - gathering->used)
		flush(gathering);
	if (size > sizeof gathering->bytes) {
		server.SaveStringBuffer(gathering->io, bytes, size);
		return;
	}
	memcpy(gathering->bytes + gathering->used, bytes, size);
	gathering->used += size;
}

/* An image on its way to a snapshot, whole. */
struct small_image {
	size_t size;
	unsigned char bytes[SQUEEZE_MOST];
};

static void gather_small(void *context, const void *bytes, size_t size)
{
	struct small_image *image = context;
	memcpy(image->bytes + image->size, bytes, size);
	image->size += size;
}

static bool is_small(const struct value *value)
{
	return value->filter != NULL && value->legacy == NULL && value->incoming == NULL &&
	       dump_body_size(value) <= SQUEEZE_MOST;
}

static void save_small(RedisModuleIO *io, const struct value *value)
{
	struct small_image image;
	image.size = 0;
	unsigned char bytes[DUMP_HEADER_MOST + SQUEEZED_MOST];
	size_t size = dump_header(value, bytes);
	give_body(value, gather_small, &image, io);
	size += squeeze(&value->recipe, value->items, image.bytes, image.size, bytes + size);
	server.SaveUnsigned(io, 0);
	server.SaveStringBuffer(io, (const char *)bytes, size);
}

static void save(RedisModuleIO *io, void *value)
{
	if (is_small(value)) {
		save_small(io, value);
		return;
	}
	struct gathering gathering = { .io = io };
	unsigned char header[DUMP_HEADER_MOST];
	size_t size = dump_header(value, header);
	server.SaveUnsigned(io, size + dump_body_here(value));
	gather(&gathering, header, size);
	give_body(value, gather, &gathering, io);
	flush(&gathering);
}

/* The pieces of a value in a snapshot, as a nidus_source. */
struct pieces {
	RedisModuleIO *io;
	char *piece;
	size_t size, used;
};

static bool next_piece(struct pieces *pieces)
{
	if (pieces->piece != NULL)
		server.Free(pieces->piece);
	pieces->used = pieces->size = 0;
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

/* Reads the part of a body that had come when the snapshot was taken. */
static bool load_part(struct value *value, struct pieces *pieces, uint64_t here)
{
	struct incoming *incoming = value->incoming;
	if (incoming->foreign)
		return dump_read_foreign_part(value, here, pieces_source, pieces);
	while (incoming->bytes < here) {
		if (pieces->used == pieces->size && !next_piece(pieces))
			return false;
		size_t size = pieces->size - pieces->used;
		if (size > here - incoming->bytes ||
		    !chunks_add(&incoming->chunks, pieces->piece + pieces->used, size))
			return false;
		incoming->bytes += size;
		pieces->used = pieces->size;
	}
	return true;
}

static bool load_body(struct value *value, struct pieces *pieces, uint64_t here)
{
	const char *why = "the snapshot is damaged";
	uint64_t all = dump_body_size(value);
	bool whole = here == all && !value->incoming->foreign, ok = false;
	if (here <= all)
		ok = whole ? dump_finish(value, pieces_source, pieces, &why)
		           : load_part(value, pieces, here);
	ok = ok && pieces->used == pieces->size;
	if (!ok)
		server.LogIOError(pieces->io, "warning", "nidus: a filter could not be loaded: %s",
		                  why);
	else if (value->filter != NULL)
		seed_adopt(server.GetContextFromIO(pieces->io), value->recipe.seed);
	return ok;
}

/* Bytes in memory, as a nidus_source. */
struct span {
	const unsigned char *bytes;
	size_t left;
};

static ptrdiff_t span_source(void *context, void *bytes, size_t size)
{
	struct span *span = context;
	size = size < span->left ? size : span->left;
	memcpy(bytes, span->bytes, size);
	span->bytes += size;
	span->left -= size;
	return (ptrdiff_t)size;
}

/* Reads what save_small wrote; the header is read. */
static bool load_small(struct value *value, struct pieces *pieces)
{
	const char *why = "the snapshot is damaged";
	unsigned char image[SQUEEZE_MOST];
	uint64_t size = dump_body_size(value);
	struct span span = { image, (size_t)size };
	const struct incoming *incoming = value->incoming;
	bool ok = !incoming->foreign && incoming->legacy == 0 && size <= SQUEEZE_MOST &&
	          unsqueeze(&value->recipe, value->items,
	                    (unsigned char *)pieces->piece + pieces->used,
	                    pieces->size - pieces->used, image, (size_t)size) &&
	          dump_finish(value, span_source, &span, &why);
	if (!ok)
		server.LogIOError(pieces->io, "warning", "nidus: a filter could not be loaded: %s",
		                  why);
	else
		seed_adopt(server.GetContextFromIO(pieces->io), value->recipe.seed);
	return ok;
}

static struct value *load_value(struct pieces *pieces, enum kind kind)
{
	size_t used;
	uint64_t size = server.LoadUnsigned(pieces->io);
	if (server.IsIOError(pieces->io) || !next_piece(pieces))
		return NULL;
	struct value *value = dump_read_header(pieces->piece, pieces->size, kind, &used);
	if (value == NULL || (size != 0 && size < used)) {
		server.LogIOError(pieces->io, "warning",
		                  "nidus: the header of a filter is damaged");
		value_free(value);
		return NULL;
	}
	pieces->used = used;
	if (size == 0 ? load_small(value, pieces) : load_body(value, pieces, size - used))
		return value;
	value_free(value);
	return NULL;
}

static void *load(RedisModuleIO *io, int version, enum kind kind)
{
	struct pieces pieces = { .io = io };
	if (version != ENCODING) {
		server.LogIOError(io, "warning", "nidus: filters of encoding %d are not known here",
		                  version);
		return NULL;
	}
	struct value *value = load_value(&pieces, kind);
	if (pieces.piece != NULL)
		server.Free(pieces.piece);
	return value;
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
	bool foreign;   /* a position is 1 + bytes so far; otherwise that of dump_position */
	uint64_t bytes; /* so far, the header left out */
};

static void emit_piece(void *context, const void *bytes, size_t size)
{
	struct emission *emission = context;
	emission->bytes += size;
	uint64_t position =
		emission->foreign ? 1 + emission->bytes : dump_position(emission->bytes);
	server.EmitAOF(emission->io, emission->command, "slb", emission->key, (long long)position,
	               bytes, size);
}

/* As RedisBloom writes it: its header, then the tables as far as they are here. */
static void rewrite_legacy(struct emission *emission, const struct value *value)
{
	uint64_t here = value->incoming != NULL ? value->incoming->bytes
	                                        : legacy_table_bytes(value->legacy);
	size_t size = legacy_header_size(value->legacy);
	unsigned char *header = memory_try(size);
	if (header == NULL)
		abort(); /* as give_body does */
	legacy_write_header(value->legacy, header);
	server.EmitAOF(emission->io, emission->command, "slb", emission->key, 1LL, header, size);
	server.Free(header);
	for (uint64_t from = 0; from < here; from += CHUNK_MOST)
		legacy_give(value->legacy, from,
		            here - from < CHUNK_MOST ? here - from : CHUNK_MOST, emit_piece,
		            emission);
}

static void rewrite(RedisModuleIO *io, RedisModuleString *key, void *context)
{
	const struct value *value = context;
	struct emission emission = { io, key, "CF.LOADCHUNK", false, 0 };
	unsigned char header[DUMP_HEADER_MOST];
	if (value->recipe.kind == KIND_BF)
		emission.command = "BF.LOADCHUNK";
	emission.foreign =
		value_is_untouched(value) || (value->incoming != NULL && value->incoming->foreign);
	if (emission.foreign) {
		rewrite_legacy(&emission, value);
		return;
	}
	size_t size = dump_header(value, header);
	server.EmitAOF(io, emission.command, "slb", key, 1LL, header, size);
	give_body(value, emit_piece, &emission, io);
}

/* ------------------------------------------------------------------- RedisBloom's types -- */

static void save_legacy(RedisModuleIO *io, void *value)
{
	legacy_save(((const struct value *)value)->legacy, io);
}

static void *load_legacy(RedisModuleIO *io, int version, enum kind kind)
{
	if (version != LEGACY_ENCODING) {
		server.LogIOError(io, "warning",
		                  "nidus: filters of RedisBloom of encoding %d are not known here, "
		                  "only those of encoding %d",
		                  version, LEGACY_ENCODING);
		return NULL;
	}
	struct legacy *legacy = legacy_load(io, kind);
	if (legacy == NULL) {
		server.LogIOError(io, "warning",
		                  "nidus: a filter of RedisBloom is damaged, or of a kind that is "
		                  "not known here");
		return NULL;
	}
	return value_create_legacy(legacy);
}

static void *load_legacy_cf(RedisModuleIO *io, int version)
{
	return load_legacy(io, version, KIND_CF);
}

static void *load_legacy_bf(RedisModuleIO *io, int version)
{
	return load_legacy(io, version, KIND_BF);
}

/* ------------------------------------------------------------------------ the rest -- */

static void digest_piece(void *digest, const void *bytes, size_t size)
{
	server.DigestAddStringBuffer(digest, bytes, size);
}

static void digest(RedisModuleDigest *digest, void *value)
{
	unsigned char header[DUMP_HEADER_MOST];
	digest_piece(digest, header, dump_header(value, header));
	(void)dump_body(value, 0, dump_body_here(value), digest_piece, digest);
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
	return value != NULL ? 1 + value_bytes(value) / 4096 : 1;
}

static void *copy(RedisModuleString *from, RedisModuleString *to, const void *value)
{
	(void)from;
	(void)to;
	return value_copy(value);
}

static RedisModuleType *create(RedisModuleCtx *ctx, const char *name, int encoding,
                               void *(*rdb_load)(RedisModuleIO *, int))
{
	struct server_type_methods methods = {
		.version = 4,
		.rdb_load = rdb_load,
		.rdb_save = encoding == ENCODING ? save : save_legacy,
		.aof_rewrite = rewrite,
		.mem_usage = usage,
		.digest = digest,
		.free = release,
		.free_effort = free_effort,
		.copy = copy,
	};
	return server.CreateDataType(ctx, name, encoding, &methods);
}

bool type_register(RedisModuleCtx *ctx)
{
	types[KIND_CF] = create(ctx, "nidus--cf", ENCODING, load_cf);
	types[KIND_BF] = create(ctx, "nidus--bf", ENCODING, load_bf);
	legacy_types[KIND_CF] = create(ctx, "MBbloomCF", LEGACY_ENCODING, load_legacy_cf);
	legacy_types[KIND_BF] = create(ctx, "MBbloom--", LEGACY_ENCODING, load_legacy_bf);
	for (int kind = 0; kind < 2; kind++)
		if (types[kind] != NULL && legacy_types[kind] == NULL)
			server.Log(
				ctx, "notice",
				"nidus: another module has RedisBloom's type %s; its filters are "
				"left to that",
				kind == KIND_CF ? "MBbloomCF" : "MBbloom--");
	return types[KIND_CF] != NULL && types[KIND_BF] != NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * dump: a value as bytes, for snapshots, the AOF, SCANDUMP and digests: a header, then the body.
 *
 * The header tells what clients asked for and how long the body is. Numbers named `v` are
 * written seven bits to a byte, the lowest first, with 128 added to all bytes but the last:
 *
 *     89 6e 52 33                 "\x89nR3"
 *     flags, 1 byte               1: BF, 2: does not grow, 4: chunks of RedisBloom are loaded,
 *                                 8: forgets
 *     family, 1 byte
 *     error, 8 bytes              a double, little-endian
 *     v capacity, max_capacity, expansion, bucket size, max iterations, items, deleted, limit
 *                                 of max_capacity and limit one more, and 0 of one without a size
 *                                 instead of deleted of one that forgets: when this slice began, in
 *                                 milliseconds since 1970
 *     v legacy, image             bytes of the two parts of the body
 *     v window, slices            of one that forgets, in seconds
 *     checksum, 4 bytes           of all before it
 *
 * The body is the legacy filter if there is one (bytes of its header as a number of four bytes,
 * the header, the tables: legacy.h), then the image: the filter in the library's own format,
 * with its checksums (docs/format.md).
 */
#ifndef NIDUS_REDIS_DUMP_H
#define NIDUS_REDIS_DUMP_H

#include "value.h"

#define DUMP_HEADER_MOST 160

/* Writes the header and returns its size. */
size_t dump_header(const struct value *value, unsigned char header[DUMP_HEADER_MOST]);

/*
 * Makes an incoming value from the header at the start of some bytes, with all that it says
 * checked; *used is how many it has. NULL: no header of this kind, or no memory.
 */
struct value *dump_read_header(const void *bytes, size_t size, enum kind kind, size_t *used);

/*
 * Makes an incoming value from the header of RedisBloom's chunks. The tables are made by
 * dump_make_room. NULL: no such header, or no memory.
 */
struct value *dump_read_foreign(const void *header, size_t size, enum kind kind);
bool dump_make_room(struct value *value);

/*
 * Gives an incoming value its body, all of which comes from `source`. False: the body is
 * damaged, is not what the header says, or there is no memory; *why tells.
 */
bool dump_finish(struct value *value, nidus_source source, void *context, const char **why);

/* All chunks of RedisBloom are here. */
void dump_finish_foreign(struct value *value);

/*
 * Reads the first part of the body of a load of RedisBloom's chunks, `here` bytes of it, as
 * they stand in a snapshot. False: damaged, or no memory.
 */
bool dump_read_foreign_part(struct value *value, uint64_t here, nidus_source source, void *context);

/* Takes a piece of a body, CHUNK_MOST bytes at most. */
typedef void dump_sink(void *context, const void *bytes, size_t size);

/*
 * Hands the body to a sink, from the byte `from` on, `most` bytes or up to its end. Of
 * an incoming value: what has come so far. False: the library could not.
 */
bool dump_body(const struct value *value, uint64_t from, uint64_t most, dump_sink *sink,
               void *context);

/* The position of LOADCHUNK after so many bytes of a body: 1, and 1 more for each 16 MiB. */
uint64_t dump_position(uint64_t bytes);

/* How many bytes the body has, or of an incoming value: will have. */
uint64_t dump_body_size(const struct value *value);

/* How many of them are here. */
uint64_t dump_body_here(const struct value *value);

#endif

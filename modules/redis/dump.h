/* SPDX-License-Identifier: MIT
 *
 * dump: a value as bytes, for snapshots, the AOF, SCANDUMP and digests.
 *
 * A header of 128 bytes tells what clients asked for and how long the image is.
 * The image follows in pieces: it is the filter in the library's own format, with
 * its checksums (docs/format.md). Sixteen little-endian numbers of 64 bits:
 *
 *      0 "nidusRM1"       4 max_capacity     8 bucket size       12 limit
 *      1 kind             5 error (double)   9 max iterations    13 bytes of the image
 *      2 fixed: 0 or 1    6 family          10 items             14 0
 *      3 capacity         7 expansion       11 deleted           15 checksum of 0 to 14
 */
#ifndef NIDUS_REDIS_DUMP_H
#define NIDUS_REDIS_DUMP_H

#include "value.h"

#define DUMP_HEADER 128

void dump_header(const struct value *value, unsigned char header[DUMP_HEADER]);

/*
 * Makes a value without its filter from a header, with all that it says checked.
 * NULL: not a header of this kind, or no memory.
 */
struct value *dump_read_header(const void *header, size_t size, enum kind kind);

/*
 * Gives an incoming value its filter; the image comes from `source`. False: the image
 * is damaged, is not what the header says, or there is no memory; *why tells.
 */
bool dump_finish(struct value *value, nidus_source source, void *context, const char **why);

/* Takes a piece of an image, CHUNK_MOST bytes at most. */
typedef void dump_sink(void *context, const void *bytes, size_t size);

/*
 * Hands the image to a sink, from the byte `from` on, `most` bytes or up to its end. Of
 * an incoming value: what has come so far. False: the library could not.
 */
bool dump_image(const struct value *value, uint64_t from, uint64_t most, dump_sink *sink,
                void *context);

/* How many bytes the whole image has. */
uint64_t dump_image_size(const struct value *value);

#endif

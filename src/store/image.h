/* SPDX-License-Identifier: MIT
 *
 * image: a filter as a sequence of bytes (docs/format.md has the drawing).
 *
 * A header of fixed size, then sections. This file knows bytes, offsets and
 * checksums; only the families know what the sections mean.
 */
#ifndef NIDUS_STORE_IMAGE_H
#define NIDUS_STORE_IMAGE_H

#include "base/blueprint.h"
#include "base/hash.h"

#define IMAGE_VERSION 1  /* the first release's: see docs/format.md */
#define IMAGE_HEADER 256 /* bytes */

enum image_section { IMAGE_TABLE, IMAGE_STASH, IMAGE_SECTIONS };

/* A table that is no single block: piece number `index`, or NULL behind the last. */
struct image_pieces {
	const void *(*piece)(const void *context, uint64_t index, uint64_t *size);
	const void *context;
};

struct image {
	struct blueprint plan;
	uint64_t count;                    /* entries, stashed ones included */
	uint64_t stashed;                  /* different entries in stashes */
	uint64_t tick;                     /* of a filter that forgets; 0 of all others */
	const struct image_pieces *pieces; /* image_write takes the table from there, unless NULL */
	struct {
		uint64_t offset; /* image_lay_out sets it */
		uint64_t size;
		uint64_t checksum;
	} section[IMAGE_SECTIONS];
	uint64_t size; /* of the whole; image_lay_out sets it */
};

/* Hands bytes to a sink, in pieces. Errors: E_IO with the sink's errno. */
nidus_status image_put(nidus_sink sink, void *context, const void *bytes, uint64_t size);

/*
 * A sink that passes over the first `left` bytes and hands on the rest. image_write sees that nobody
 * gets a header that is passed over, and computes no checksums for it.
 */
struct image_skip {
	uint64_t left;
	nidus_sink sink;
	void *context;
};
int image_skip(void *skip, const void *bytes, size_t size);

/* Gets exactly so many bytes from a source. Errors: E_IO, E_TRUNCATED, E_ARG. */
nidus_status image_get(nidus_source source, void *context, void *bytes, uint64_t size);

/* Sets the offsets and the whole size from the sections' sizes. */
nidus_status image_lay_out(struct image *image);

/*
 * Writes header and sections to a sink, in order. Sizes and contents of the
 * sections come from the caller; their checksums are computed here.
 * Errors: E_IO with the sink's errno, E_RANGE.
 */
nidus_status image_write(struct image *image, const void *const bytes[IMAGE_SECTIONS],
                         nidus_sink sink, void *context);

/* The header of an image that is laid out and whose checksums are set, for who writes the rest. */
void image_header(const struct image *image, unsigned char header[IMAGE_HEADER]);

/*
 * Reads and checks a header: magic, version, checksum, and that the sections
 * lie where image_lay_out would put them. The plan inside is not checked.
 * Errors: E_IO, E_FORMAT, E_VERSION, E_TRUNCATED, E_CORRUPT.
 */
nidus_status image_read_header(struct image *image, nidus_source source, void *context);

/*
 * Reads the next section (call in order) into `bytes`, which has room for its
 * size, and checks the padding before it and its checksum.
 * Errors: as above.
 */
nidus_status image_read_section(const struct image *image, enum image_section which, void *bytes,
                                nidus_source source, void *context);

/* A section that is read piece by piece. */
struct image_reading {
	nidus_source source;
	void *context;
	struct hash_stream checksum;
};

/* Begins to read the next section; its pieces follow, and the check of its checksum. */
nidus_status image_begin_section(const struct image *image, enum image_section which,
                                 nidus_source source, void *context, struct image_reading *reading);
nidus_status image_read_piece(struct image_reading *reading, void *bytes, uint64_t size);
nidus_status image_end_section(const struct image *image, enum image_section which,
                               const struct image_reading *reading);

/*
 * The same checks in a file that is in memory already, as a whole.
 * Errors: E_CORRUPT.
 */
nidus_status image_check_section(const struct image *image, enum image_section which,
                                 const unsigned char *file);

#endif

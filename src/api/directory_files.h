/* SPDX-License-Identifier: MIT
 *
 * directory_files: a growing filter as the table of a file (docs/format.md has the drawing).
 *
 *     | leaves, u64 | records of the list, u64 | zeros up to 64 bytes |
 *     | a record of 64 bytes for each leaf, in the order of their parts |
 *     | the tables of their bodies, each up to a multiple of 64 bytes |
 *     or, without leaves, | the list (base/few.h) |
 *
 * A record: depth u32, bodies u32, and for each body its entries u64 and the different entries of
 * its stash u64. Where a leaf begins follows from the depths of those before it.
 */
#ifndef NIDUS_API_DIRECTORY_FILES_H
#define NIDUS_API_DIRECTORY_FILES_H

#include "api/directory.h"
#include "store/image.h"

#define DIRECTORY_HEAD 64 /* bytes that every such table has at least */

/* A directory on its way to a file. */
struct directory_saving {
	const struct directory *directory;
	struct block memory; /* the head, the records, and pointers to the bodies */
	uint64_t head_size;
	uint64_t bodies;
	void **body;
	struct image_pieces pieces;
};

/*
 * Sets the sizes of table and stash, and prepares the pieces of the table. Errors: E_NOMEM.
 * directory_saved() gives its memory back.
 */
nidus_status directory_save(const struct directory *directory, struct directory_saving *saving,
                            struct image *image);
void directory_saved(struct directory_saving *saving);

/* Writes the stashes of all bodies, body by body. */
void directory_export_stashes(const struct directory_saving *saving, unsigned char *bytes);

/* A directory on its way from a file. */
struct directory_loading {
	struct directory *directory;
	const struct image *image;
	const unsigned char *records;
	struct block memory; /* of the records, unless the file is in memory */
	uint64_t leaves;
	uint64_t few; /* records of the list, if there are no leaves */
	/* What the records of leaves claim. */
	uint64_t count, stashed;
	unsigned shallowest, deepest, index_depth;
};

/*
 * The two halves of directory_read, for directories that share sections with others: `image` has the
 * sizes and counts of this one. directory_loaded() gives the memory back, in any case.
 */
nidus_status directory_read_table(struct directory_loading *loading, struct image_reading *reading);
nidus_status directory_read_stash(struct directory_loading *loading, const unsigned char *stash);
void directory_loaded(struct directory_loading *loading);

/*
 * Fills an empty directory from a file's sections, and checks all of it.
 * Errors: those of image_read_section, E_FORMAT, E_CORRUPT, E_NOMEM; free it then.
 */
nidus_status directory_read(struct directory *directory, const struct image *image,
                            nidus_source source, void *context);

/* The same over a file in memory: of the tables nothing is read. */
nidus_status directory_map(struct directory *directory, const struct image *image,
                           const unsigned char *file);

#endif

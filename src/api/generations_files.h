/* SPDX-License-Identifier: MIT
 *
 * generations_files: a filter without a size as the table of a file (docs/format.md has the drawing).
 *
 *     | generations, u64 | inserts before the youngest is counted, u64 | zeros up to 64 bytes |
 *     | a record of 64 bytes for each generation, the oldest first |
 *     | their tables, each as that of a growing filter (api/directory_files.h) and up to a multiple
 *       of 64 bytes |
 *
 * A record: bytes of the table without what fills up its line u64, entries u64, different entries of the
 * stashes u64, base segments u64, growth bits u32, zeros. The last two follow from the header. The
 * stash section has the stashes of all, the oldest first.
 */
#ifndef NIDUS_API_GENERATIONS_FILES_H
#define NIDUS_API_GENERATIONS_FILES_H

#include "api/directory_files.h"
#include "api/generations.h"

/* Generations on their way to a file. */
struct generations_saving {
	const struct generations *generations;
	unsigned char head[DIRECTORY_HEAD * (1 + GENERATIONS_MOST)];
	struct directory_saving of[GENERATIONS_MOST];
	uint64_t size[GENERATIONS_MOST]; /* of their tables */
	unsigned n;
	struct image_pieces pieces;
};

/*
 * Sets the sizes of table and stash, and prepares the pieces of the table. Errors: E_NOMEM.
 * generations_saved() gives its memory back.
 */
nidus_status generations_save(const struct generations *generations,
                              struct generations_saving *saving, struct image *image);
void generations_saved(struct generations_saving *saving);

/* Writes the stashes of all. */
void generations_export_stashes(const struct generations_saving *saving, unsigned char *bytes);

/*
 * Fills generations, of which there is one and that is empty, from a file's sections, and checks all.
 * Errors: those of image_read_section, E_FORMAT, E_CORRUPT, E_NOMEM; free them then.
 */
nidus_status generations_read(struct generations *generations, const struct image *image,
                              nidus_source source, void *context);

/* The same over a file in memory: of the tables nothing is read. */
nidus_status generations_map(struct generations *generations, const struct image *image,
                             const unsigned char *file);

#endif

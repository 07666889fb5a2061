/* SPDX-License-Identifier: MIT
 *
 * generations_files: to files and back. Nothing that comes from a file is believed.
 */
#include "api/generations_files.h"

#include "api/generations_parts.h"
#include "base/reason.h"

#define LINE DIRECTORY_HEAD
#define RECORD DIRECTORY_HEAD

static const unsigned char zeros[LINE];

static uint64_t padding(uint64_t size)
{
	return (LINE - size % LINE) % LINE;
}

/* ------------------------------------------------------------------------- saving -- */

/* Pieces of a generation, but for what fills up its line. */
static uint64_t pieces_of(const struct directory_saving *saving)
{
	return saving->directory->index == NULL ? 2 : 1 + 2 * saving->bodies;
}

/* The pieces: the head with its records, then those of each generation and what fills up its line. */
static const void *piece(const void *context, uint64_t index, uint64_t *size)
{
	const struct generations_saving *saving = context;
	if (index-- == 0) {
		*size = LINE + saving->n * RECORD;
		return saving->head;
	}
	for (unsigned i = 0; i < saving->n; i++) {
		const struct directory_saving *of = &saving->of[i];
		uint64_t pieces = pieces_of(of);
		if (index < pieces) {
			const void *bytes = of->pieces.piece(of, index, size);
			if (bytes == NULL) /* an empty list */
				*size = 0;
			return bytes != NULL ? bytes : zeros;
		}
		if (index == pieces) {
			*size = padding(saving->size[i]);
			return zeros;
		}
		index -= pieces + 1;
	}
	return NULL;
}

/* Prepares a generation, and adds it to what the image has. */
static nidus_status save_one(struct generations_saving *saving, struct image *image)
{
	unsigned number = saving->n;
	unsigned char *record = saving->head + LINE + number * RECORD;
	struct image one = { .count = 0 };
	nidus_status status =
		directory_save(generations_at(saving->generations, number), &saving->of[number],
		               &one);
	if (status != NIDUS_OK)
		return status;
	uint64_t size = one.section[IMAGE_TABLE].size;
	store64(record, size);
	store64(record + 8, one.count);
	store64(record + 16, one.stashed);
	store64(record + 24, directory_base(generations_at(saving->generations, number)));
	store32(record + 32, generations_at(saving->generations, number)->ground->plan.growth_bits);
	saving->size[number] = size;
	saving->n++;
	image->section[IMAGE_TABLE].size += RECORD + size + padding(size);
	image->section[IMAGE_STASH].size += one.section[IMAGE_STASH].size;
	image->count += one.count;
	image->stashed += one.stashed;
	return NIDUS_OK;
}

nidus_status generations_save(const struct generations *generations,
                              struct generations_saving *saving, struct image *image)
{
	nidus_status status = NIDUS_OK;
	*saving = (struct generations_saving){ .generations = generations,
		                               .pieces = { piece, saving } };
	store64(saving->head, generations_n(generations));
	store64(saving->head + 8, generations->room > 0 ? (uint64_t)generations->room : 0);
	image->section[IMAGE_TABLE].size = LINE;
	while (saving->n < generations_n(generations) && status == NIDUS_OK)
		status = save_one(saving, image);
	if (status != NIDUS_OK)
		generations_saved(saving);
	image->pieces = &saving->pieces;
	return status;
}

void generations_saved(struct generations_saving *saving)
{
	while (saving->n > 0)
		directory_saved(&saving->of[--saving->n]);
}

void generations_export_stashes(const struct generations_saving *saving, unsigned char *bytes)
{
	for (unsigned i = 0; i < saving->n; i++) {
		directory_export_stashes(&saving->of[i], bytes);
		bytes += load64(saving->head + LINE + i * RECORD + 16) * OVERFLOW_ENTRY;
	}
}

/* ------------------------------------------------------------------------ reading -- */

/* Generations on their way from a file. */
struct loading {
	struct generations *generations;
	unsigned n;
	uint64_t room;
	struct image of[GENERATIONS_MOST]; /* sections of each, as parts of the file's */
	struct directory_loading directory[GENERATIONS_MOST];
};

static nidus_status no_sense(void)
{
	return fail(NIDUS_E_FORMAT, "the generations make no sense");
}

/* What a record says, as the image of one generation. */
static nidus_status check_record(struct loading *loading, const struct image *image,
                                 unsigned number, const unsigned char *record)
{
	struct image *of = &loading->of[number];
	uint64_t left = image->section[IMAGE_TABLE].size, size = load64(record);
	*of = (struct image){ .plan = image->plan,
		              .count = load64(record + 8),
		              .stashed = load64(record + 16) };
	if (number > 0)
		of->plan.capacity = 1;
	for (unsigned i = 36; i < RECORD; i++) {
		if (record[i] != 0)
			return no_sense();
	}
	if (size < LINE || size > left || of->stashed > of->count || of->stashed > image->stashed)
		return no_sense();
	of->section[IMAGE_TABLE].size = size;
	of->section[IMAGE_STASH].size = of->stashed * OVERFLOW_ENTRY;
	return NIDUS_OK;
}

/* Where the sections of each are, and whether they are all of the file's. */
static nidus_status place(struct loading *loading, const struct image *image)
{
	uint64_t table = LINE + loading->n * RECORD, stash = 0, count = 0, stashed = 0;
	for (unsigned i = 0; i < loading->n; i++) {
		struct image *of = &loading->of[i];
		uint64_t size = of->section[IMAGE_TABLE].size;
		of->section[IMAGE_TABLE].offset = image->section[IMAGE_TABLE].offset + table;
		of->section[IMAGE_STASH].offset = image->section[IMAGE_STASH].offset + stash;
		table += size + padding(size);
		stash += of->section[IMAGE_STASH].size;
		stashed += of->stashed;
		if (add_overflows(count, of->count, &count))
			return no_sense();
	}
	return table == image->section[IMAGE_TABLE].size && count == image->count &&
	                       stashed == image->stashed
	               ? NIDUS_OK
	               : no_sense();
}

static nidus_status check_head(struct loading *loading, const struct image *image,
                               const unsigned char head[LINE])
{
	uint64_t n = load64(head);
	loading->room = load64(head + 8);
	for (unsigned i = 16; i < LINE; i++) {
		if (head[i] != 0)
			return no_sense();
	}
	if (n < 1 || n > GENERATIONS_MOST || loading->room > INT64_MAX ||
	    image->section[IMAGE_TABLE].size < LINE + n * RECORD)
		return no_sense();
	loading->n = (unsigned)n;
	return NIDUS_OK;
}

/* Makes the generations that the records are of, empty. */
static nidus_status prepare(struct loading *loading, const struct image *image,
                            const unsigned char *records)
{
	struct generations *generations = loading->generations;
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < loading->n && status == NIDUS_OK; i++)
		status = check_record(loading, image, i, records + i * RECORD);
	if (status == NIDUS_OK)
		status = place(loading, image);
	while (status == NIDUS_OK && generations_n(generations) < loading->n)
		status = generations_make_next(generations);
	if (status == NIDUS_E_RANGE)
		return no_sense();
	generations->room = (int64_t)loading->room;
	for (unsigned i = 0; i < loading->n && status == NIDUS_OK; i++) {
		const unsigned char *record = records + i * RECORD;
		struct directory *directory = generations_at(generations, i);
		if (load64(record + 24) != directory_base(directory) ||
		    load32(record + 32) != directory->ground->plan.growth_bits)
			return no_sense();
		loading->directory[i] = (struct directory_loading){ .directory = directory,
			                                            .image = &loading->of[i] };
	}
	return status;
}

/* Reads all of the table section. */
static nidus_status read_tables(struct loading *loading, const struct image *image,
                                struct image_reading *reading)
{
	unsigned char head[LINE * (1 + GENERATIONS_MOST)];
	nidus_status status = image_read_piece(reading, head, LINE);
	if (status == NIDUS_OK)
		status = check_head(loading, image, head);
	if (status == NIDUS_OK)
		status = image_read_piece(reading, head + LINE, loading->n * RECORD);
	if (status == NIDUS_OK)
		status = prepare(loading, image, head + LINE);
	for (unsigned i = 0; i < loading->n && status == NIDUS_OK; i++) {
		uint64_t rest = padding(loading->of[i].section[IMAGE_TABLE].size);
		status = directory_read_table(&loading->directory[i], reading);
		if (status == NIDUS_OK)
			status = image_read_piece(reading, head, rest);
		if (status == NIDUS_OK && memcmp(head, zeros, (size_t)rest) != 0)
			return fail(NIDUS_E_CORRUPT, "the padding between generations is not zero");
	}
	return status;
}

/* Reads the stash section, and hands it out. */
static nidus_status read_stashes(struct loading *loading, const struct image *image,
                                 nidus_source source, void *context)
{
	const nidus_allocator *allocator = &loading->generations->first.ground->allocator;
	struct block stash;
	nidus_status status = memory_take(allocator, image->section[IMAGE_STASH].size, &stash);
	if (status != NIDUS_OK)
		return status;
	const unsigned char *at = stash.bytes;
	status = image_read_section(image, IMAGE_STASH, stash.bytes, source, context);
	for (unsigned i = 0; i < loading->n && status == NIDUS_OK; i++) {
		status = directory_read_stash(&loading->directory[i], at);
		if (loading->of[i].stashed > 0)
			at += loading->of[i].section[IMAGE_STASH].size;
	}
	memory_give(allocator, &stash);
	return status;
}

static nidus_status read_all(struct loading *loading, const struct image *image,
                             nidus_source source, void *context)
{
	struct image_reading reading;
	nidus_status status = image_begin_section(image, IMAGE_TABLE, source, context, &reading);
	if (status == NIDUS_OK)
		status = read_tables(loading, image, &reading);
	if (status == NIDUS_OK)
		status = image_end_section(image, IMAGE_TABLE, &reading);
	if (status == NIDUS_OK)
		status = read_stashes(loading, image, source, context);
	for (unsigned i = 0; i < loading->n; i++) {
		if (loading->directory[i].directory != NULL)
			directory_loaded(&loading->directory[i]);
	}
	return status == NIDUS_OK ? generations_verify_room(loading->generations) : status;
}

/* What a file is read with is too much for small stacks. */
static nidus_status take_loading(struct generations *generations, struct block *memory,
                                 struct loading **loading)
{
	nidus_status status = memory_take(&generations->first.ground->allocator,
	                                  sizeof(struct loading), memory);
	if (status != NIDUS_OK)
		return status;
	*loading = (struct loading *)(void *)memory->bytes;
	(*loading)->generations = generations;
	return NIDUS_OK;
}

nidus_status generations_read(struct generations *generations, const struct image *image,
                              nidus_source source, void *context)
{
	struct block memory;
	struct loading *loading;
	nidus_status status = take_loading(generations, &memory, &loading);
	if (status != NIDUS_OK)
		return status;
	status = read_all(loading, image, source, context);
	memory_give(&generations->first.ground->allocator, &memory);
	return status;
}

nidus_status generations_map(struct generations *generations, const struct image *image,
                             const unsigned char *file)
{
	const unsigned char *table = file + image->section[IMAGE_TABLE].offset;
	struct block memory;
	struct loading *loading;
	nidus_status status = take_loading(generations, &memory, &loading);
	if (status != NIDUS_OK)
		return status;
	status = check_head(loading, image, table);
	if (status == NIDUS_OK)
		status = prepare(loading, image, table + LINE);
	for (unsigned i = 0; i < loading->n && status == NIDUS_OK; i++)
		status = directory_map(generations_at(generations, i), &loading->of[i], file);
	memory_give(&generations->first.ground->allocator, &memory);
	return status;
}

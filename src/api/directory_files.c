/* SPDX-License-Identifier: MIT
 *
 * directory_files: to files and back. Nothing that comes from a file is believed: what the records
 * claim must be what the bytes that follow can hold.
 */
#include "api/directory_files.h"

#include "api/directory_parts.h"
#include "base/reason.h"

#define LINE DIRECTORY_HEAD
#define RECORD 64

static const unsigned char zeros[LINE];

static uint64_t padding(uint64_t size)
{
	return (LINE - size % LINE) % LINE;
}

/* ------------------------------------------------------------------------- saving -- */

/* The pieces: the head with its records, then each body's table and what fills up its line. */
static const void *piece(const void *context, uint64_t index, uint64_t *size)
{
	const struct directory_saving *saving = context;
	const struct directory *directory = saving->directory;
	if (index == 0) {
		*size = saving->head_size;
		return saving->memory.bytes;
	}
	if (directory->leaf == NULL && index == 1) {
		*size = few_size(&directory->few);
		return directory->few.memory.bytes; /* NULL if there are none */
	}
	if (--index / 2 >= saving->bodies)
		return NULL;
	const unsigned char *table = directory->inner->table(saving->body[index / 2], size);
	if (index % 2 == 0)
		return table;
	*size = padding(*size);
	return zeros;
}

static void write_record(struct directory_saving *saving, const struct leaf *leaf,
                         unsigned char *record, struct image *image)
{
	const struct directory *directory = saving->directory;
	store32(record, leaf->depth);
	store32(record + 4, leaf->bodies);
	for (unsigned i = 0; i < leaf->bodies; i++) {
		struct fill fill = directory->inner->fill(leaf->body[i]);
		uint64_t size;
		store64(record + 8 + 16 * i, fill.count);
		store64(record + 16 + 16 * i, fill.listed);
		(void)directory->inner->table(leaf->body[i], &size);
		image->section[IMAGE_TABLE].size += size + padding(size);
		image->count += fill.count;
		image->stashed += fill.listed;
		saving->body[saving->bodies++] = leaf->body[i];
	}
}

nidus_status directory_save(const struct directory *directory, struct directory_saving *saving,
                            struct image *image)
{
	uint64_t leaves = 0, index = 0;
	const struct leaf *leaf;
	while (directory_next_leaf(directory, &index) != NULL)
		leaves++;
	*saving = (struct directory_saving){ .directory = directory,
		                             .head_size = LINE + leaves * RECORD,
		                             .pieces = { piece, saving } };
	nidus_status status =
		memory_take(&directory->allocator,
	                    saving->head_size + leaves * LEAF_BODIES * sizeof(void *),
	                    &saving->memory);
	if (status != NIDUS_OK)
		return status;
	saving->body = (void **)(void *)(saving->memory.bytes + saving->head_size);
	store64(saving->memory.bytes, leaves);
	image->section[IMAGE_TABLE].size = saving->head_size + few_size(&directory->few);
	image->count = directory->few.count;
	image->stashed = 0;
	unsigned char *record = saving->memory.bytes + LINE;
	for (index = 0; (leaf = directory_next_leaf(directory, &index)) != NULL; record += RECORD)
		write_record(saving, leaf, record, image);
	image->section[IMAGE_STASH].size = image->stashed * OVERFLOW_ENTRY;
	image->pieces = &saving->pieces;
	return NIDUS_OK;
}

void directory_saved(struct directory_saving *saving)
{
	memory_give(&saving->directory->allocator, &saving->memory);
}

void directory_export_stashes(const struct directory_saving *saving, unsigned char *bytes)
{
	const struct family *inner = saving->directory->inner;
	for (uint64_t i = 0; i < saving->bodies; i++) {
		uint64_t listed = inner->fill(saving->body[i]).listed;
		if (listed > 0)
			inner->export_stash(saving->body[i], bytes);
		bytes += listed * OVERFLOW_ENTRY;
	}
}

/* ------------------------------------------------------------------------ reading -- */

/* A directory on its way from a file. */
struct loading {
	struct directory *directory;
	const struct image *image;
	const unsigned char *records;
	uint64_t leaves;
	uint64_t count, stashed; /* that the records claim */
};

static nidus_status no_sense(void)
{
	return fail(NIDUS_E_FORMAT, "the directory of segments makes no sense");
}

/* Whether the head of a table can be one. */
static nidus_status check_head(const struct directory *directory, const struct image *image,
                               const unsigned char head[LINE], uint64_t *leaves)
{
	uint64_t size = image->section[IMAGE_TABLE].size;
	unsigned record = directory->few.bytes + directory->few.value_bytes;
	*leaves = load64(head);
	for (unsigned i = 8; i < LINE; i++) {
		if (head[i] != 0)
			return no_sense();
	}
	if (*leaves == 0)
		return (size - LINE) % record == 0 && (size - LINE) / record == image->count &&
		                       image->stashed == 0
		               ? NIDUS_OK
		               : no_sense();
	return *leaves <= (size - LINE) / RECORD ? NIDUS_OK : no_sense();
}

/* Checks a record and adds up what it claims; the first part behind the leaf. */
static nidus_status check_record(struct loading *loading, const unsigned char *record,
                                 uint64_t *first, unsigned *shallowest, unsigned *deepest)
{
	const struct directory *directory = loading->directory;
	uint32_t depth = load32(record), bodies = load32(record + 4);
	unsigned bits = directory->growth_bits + directory->borrowed;
	if (bodies < 1 || bodies > LEAF_BODIES || depth > bits || (bodies > 1 && depth == bits) ||
	    (bodies == 3 && directory_third(directory, bits - depth - 1) == 0) ||
	    (*first & bits_low(bits - depth)) != 0)
		return no_sense();
	for (unsigned i = 0; i < LEAF_BODIES; i++) {
		uint64_t count = load64(record + 8 + 16 * i), listed = load64(record + 16 + 16 * i);
		if ((i >= bodies && (count | listed) != 0) || listed > count ||
		    add_overflows(loading->count, count, &loading->count) ||
		    add_overflows(loading->stashed, listed, &loading->stashed))
			return no_sense();
	}
	if (load64(record + 56) != 0)
		return no_sense();
	*first += UINT64_C(1) << (bits - depth);
	*shallowest = depth < *shallowest ? depth : *shallowest;
	*deepest = depth > *deepest ? depth : *deepest;
	return NIDUS_OK;
}

/* Whether the records can be those of this file. */
static nidus_status check_records(struct loading *loading, unsigned *deepest)
{
	const struct directory *directory = loading->directory;
	uint64_t first = 0, parts = directory->parts << directory->borrowed;
	unsigned shallowest = 64;
	nidus_status status = NIDUS_OK;
	*deepest = 0;
	for (uint64_t i = 0; i < loading->leaves && status == NIDUS_OK; i++) {
		if (first >= parts)
			return no_sense();
		status = check_record(loading, loading->records + i * RECORD, &first, &shallowest,
		                      deepest);
	}
	if (status != NIDUS_OK)
		return status;
	return first == parts && *deepest <= shallowest + DIRECTORY_SPREAD &&
	                       loading->count == loading->image->count &&
	                       loading->stashed == loading->image->stashed
	               ? NIDUS_OK
	               : no_sense();
}

/* Where the bytes of tables come from: a source, or a file in memory. */
struct bytes_from {
	struct image_reading *reading; /* NULL: from a file in memory, at `at` */
	const unsigned char *at, *end;
};

/* The table of the next body, which has to have so many bytes; it is read unless it is mapped. */
static nidus_status take_table(struct bytes_from *from, unsigned char *table, uint64_t size)
{
	unsigned char rest[LINE];
	nidus_status status = image_read_piece(from->reading, table, size);
	if (status == NIDUS_OK)
		status = image_read_piece(from->reading, rest, padding(size));
	if (status == NIDUS_OK && memcmp(rest, zeros, (size_t)padding(size)) != 0)
		return fail(NIDUS_E_CORRUPT, "the padding between segments is not zero");
	return status;
}

/* Makes the leaf of a record, with its tables. */
static nidus_status load_leaf(struct loading *loading, const unsigned char *record, uint64_t first,
                              struct bytes_from *from, uint64_t *left, struct leaf **leaf)
{
	struct directory *directory = loading->directory;
	unsigned depth = load32(record), bodies = load32(record + 4);
	unsigned char *tables[LEAF_BODIES] = { NULL };
	uint64_t size = directory_table_bytes(directory, depth, bodies);
	uint64_t all = bodies * (size + padding(size));
	*leaf = NULL;
	if (all > *left)
		return no_sense();
	*left -= all;
	for (unsigned i = 0; i < bodies && from->reading == NULL; i++, from->at += size + padding(size))
		tables[i] = (unsigned char *)(uintptr_t)from->at; /* never written to */
	nidus_status status = directory_make_leaf(directory, first, depth, bodies,
	                                          from->reading == NULL ? tables : NULL, leaf);
	for (unsigned i = 0; i < bodies && status == NIDUS_OK && from->reading != NULL; i++) {
		unsigned char *table = directory->inner->table((*leaf)->body[i], &size);
		status = take_table(from, table, size);
	}
	return status;
}

static nidus_status load_leaves(struct loading *loading, struct bytes_from *from)
{
	struct directory *directory = loading->directory;
	const unsigned char *record = loading->records;
	uint64_t first = 0, head = LINE + loading->leaves * RECORD;
	uint64_t left = loading->image->section[IMAGE_TABLE].size - head;
	unsigned bits = directory->growth_bits + directory->borrowed, deepest;
	nidus_status status = check_records(loading, &deepest);
	/* No more is allocated than the bytes that are there explain. */
	if (status == NIDUS_OK && directory_table_bytes(directory, deepest, 1) > left)
		return no_sense();
	if (status == NIDUS_OK && directory->inner->prepare != NULL)
		status = directory->inner->prepare(directory->model);
	if (status == NIDUS_OK)
		status = directory_make_index(directory, deepest);
	for (uint64_t i = 0; i < loading->leaves && status == NIDUS_OK; i++, record += RECORD) {
		struct leaf *leaf;
		status = load_leaf(loading, record, first, from, &left, &leaf);
		if (leaf == NULL)
			break;
		directory->ops = directory->inner->ops(leaf->body[0]);
		directory_enter(directory, leaf);
		first += UINT64_C(1) << (bits - load32(record));
	}
	return status == NIDUS_OK && left != 0 ? no_sense() : status;
}

/* Gives the bodies their stashes; each checks what it has. */
static nidus_status load_stashes(struct loading *loading, const unsigned char *stash)
{
	struct directory *directory = loading->directory;
	const unsigned char *record = loading->records;
	uint64_t index = 0;
	for (const struct leaf *leaf; (leaf = directory_next_leaf(directory, &index)) != NULL;
	     record += RECORD) {
		for (unsigned i = 0; i < leaf->bodies; i++) {
			uint64_t count = load64(record + 8 + 16 * i);
			uint64_t listed = load64(record + 16 + 16 * i);
			nidus_status status =
				directory->inner->import(leaf->body[i], stash, listed, count);
			if (status != NIDUS_OK)
				return status;
			stash += listed * OVERFLOW_ENTRY;
		}
	}
	return NIDUS_OK;
}

static nidus_status read_few(struct directory *directory, const struct image *image,
                             struct image_reading *reading)
{
	nidus_status status = few_reserve(&directory->few, image->count, &directory->allocator);
	if (status != NIDUS_OK)
		return status;
	directory->few.count = image->count;
	return image_read_piece(reading, directory->few.memory.bytes, few_size(&directory->few));
}

/* Reads the stash section and hands it out; then checks all. */
static nidus_status read_stashes(struct loading *loading, nidus_source source, void *context)
{
	struct directory *directory = loading->directory;
	struct block stash;
	nidus_status status = memory_take(&directory->allocator,
	                                  loading->image->section[IMAGE_STASH].size, &stash);
	if (status != NIDUS_OK)
		return status;
	status = image_read_section(loading->image, IMAGE_STASH, stash.bytes, source, context);
	if (status == NIDUS_OK)
		status = load_stashes(loading, stash.bytes);
	memory_give(&directory->allocator, &stash);
	return status == NIDUS_OK ? directory_verify(directory) : status;
}

nidus_status directory_read(struct directory *directory, const struct image *image,
                            nidus_source source, void *context)
{
	struct image_reading reading;
	unsigned char head[LINE];
	struct block records = { NULL, 0, NULL, 0 };
	struct loading loading = { .directory = directory, .image = image };
	nidus_status status = image_begin_section(image, IMAGE_TABLE, source, context, &reading);
	if (status == NIDUS_OK)
		status = image_read_piece(&reading, head, LINE);
	if (status == NIDUS_OK)
		status = check_head(directory, image, head, &loading.leaves);
	if (status == NIDUS_OK && loading.leaves == 0)
		status = read_few(directory, image, &reading);
	if (status == NIDUS_OK && loading.leaves > 0)
		status = memory_take(&directory->allocator, loading.leaves * RECORD, &records);
	if (status == NIDUS_OK && loading.leaves > 0) {
		struct bytes_from from = { &reading, NULL, NULL };
		loading.records = records.bytes;
		status = image_read_piece(&reading, records.bytes, loading.leaves * RECORD);
		if (status == NIDUS_OK)
			status = load_leaves(&loading, &from);
	}
	if (status == NIDUS_OK)
		status = image_end_section(image, IMAGE_TABLE, &reading);
	if (status == NIDUS_OK)
		status = read_stashes(&loading, source, context);
	memory_give(&directory->allocator, &records);
	return status;
}

nidus_status directory_map(struct directory *directory, const struct image *image,
                           const unsigned char *file)
{
	const unsigned char *table = file + image->section[IMAGE_TABLE].offset;
	struct loading loading = { .directory = directory, .image = image, .records = table + LINE };
	nidus_status status = check_head(directory, image, table, &loading.leaves);
	if (status != NIDUS_OK)
		return status;
	if (loading.leaves == 0) {
		directory->few.memory = memory_lent((unsigned char *)(uintptr_t)table + LINE,
		                                    image->count * (directory->few.bytes +
		                                                    directory->few.value_bytes));
		directory->few.count = image->count;
		return NIDUS_OK;
	}
	struct bytes_from from = { NULL, table + LINE + loading.leaves * RECORD, NULL };
	status = load_leaves(&loading, &from);
	return status == NIDUS_OK ? load_stashes(&loading,
	                                         file + image->section[IMAGE_STASH].offset)
	                          : status;
}

/* SPDX-License-Identifier: MIT
 *
 * directory_files: to files and back. Nothing that comes from a file is believed: what the records
 * claim must be what the bytes that follow can hold.
 */
#include "api/directory_files.h"

#include "api/directory_parts.h"
#include "api/recent.h"
#include "base/reason.h"

#define LINE DIRECTORY_HEAD
#define RECORD 64
#define LAGS 56 /* in a record: ticks since its bodies were swept */

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
	if (directory->index == NULL && index == 1) {
		*size = few_bytes(&directory->few);
		return directory->few.bytes; /* NULL if there are none */
	}
	if (--index / 2 >= saving->bodies)
		return NULL;
	const unsigned char *table = directory->inner->table(saving->body[index / 2], size);
	if (index % 2 == 0)
		return table;
	*size = padding(*size);
	return zeros;
}

/* Where records begin: behind the head and the counts of slices. */
static uint64_t records_at(const struct directory *directory)
{
	return LINE + recent_counts_size(&directory->ground->plan);
}

static void write_record(struct directory_saving *saving, const struct leaf *leaf,
                         unsigned char *record, struct image *image)
{
	const struct directory *directory = saving->directory;
	const struct recent *recent = recent_of(directory);
	store32(record, leaf->depth);
	store32(record + 4, leaf->bodies);
	for (unsigned i = 0; i < leaf->bodies; i++) {
		struct fill fill = directory->inner->fill(leaf->body[i]);
		uint64_t size;
		store64(record + 8 + 16 * i, fill.count);
		store64(record + 16 + 16 * i, fill.listed);
		if (recent != NULL)
			store16(record + LAGS + 2 * i, recent_lag(recent, leaf->body[i]));
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
		                             .head_size = records_at(directory) + leaves * RECORD,
		                             .pieces = { piece, saving } };
	nidus_status status = memory_take(&directory->ground->allocator,
	                                  saving->head_size + leaves * LEAF_BODIES * sizeof(void *),
	                                  &saving->memory);
	if (status != NIDUS_OK)
		return status;
	saving->body = (void **)(void *)(saving->memory.bytes + saving->head_size);
	store64(saving->memory.bytes, leaves);
	store64(saving->memory.bytes + 8, directory->few.count);
	const struct recent *recent = recent_of(directory);
	if (recent != NULL) {
		image->tick = recent->tick;
		store64(saving->memory.bytes + 16,
		        directory->index == NULL ? recent_lag(recent, NULL) : 0);
		recent_save_counts(recent, saving->memory.bytes + LINE);
	}
	image->section[IMAGE_TABLE].size = saving->head_size + few_bytes(&directory->few);
	image->count = few_entries(&directory->few);
	image->stashed = few_overflow(&directory->few)->nodes;
	unsigned char *record = saving->memory.bytes + records_at(directory);
	for (index = 0; (leaf = directory_next_leaf(directory, &index)) != NULL; record += RECORD)
		write_record(saving, leaf, record, image);
	image->section[IMAGE_STASH].size = image->stashed * OVERFLOW_ENTRY;
	image->pieces = &saving->pieces;
	return NIDUS_OK;
}

void directory_saved(struct directory_saving *saving)
{
	memory_give(&saving->directory->ground->allocator, &saving->memory);
}

void directory_export_stashes(const struct directory_saving *saving, unsigned char *bytes)
{
	const struct family *inner = saving->directory->inner;
	bytes = overflow_export(few_overflow(&saving->directory->few), 0, bytes);
	for (uint64_t i = 0; i < saving->bodies; i++) {
		uint64_t listed = inner->fill(saving->body[i]).listed;
		if (listed > 0)
			inner->export_stash(saving->body[i], bytes);
		bytes += listed * OVERFLOW_ENTRY;
	}
}

/* ------------------------------------------------------------------------ reading -- */

static nidus_status no_sense(void)
{
	return fail(NIDUS_E_FORMAT, "the directory of segments makes no sense");
}

/* Whether the head of a table can be one. */
static nidus_status check_head(struct directory_loading *loading, const unsigned char head[LINE])
{
	struct directory *directory = loading->directory;
	struct recent *recent = recent_of(directory);
	const struct few *few = &directory->few;
	uint64_t size = loading->image->section[IMAGE_TABLE].size, records = load64(head + 8);
	if (size < records_at(directory))
		return no_sense();
	size -= records_at(directory);
	loading->leaves = load64(head);
	loading->few = records;
	for (unsigned i = recent != NULL ? 24 : 16; i < LINE; i++) {
		if (head[i] != 0)
			return no_sense();
	}
	if (recent != NULL) {
		uint64_t lag = load64(head + 16);
		recent->tick = loading->image->tick;
		nidus_status status = loading->leaves > 0 && lag != 0
		                              ? no_sense()
		                              : recent_set_lag(recent, NULL, lag);
		if (status != NIDUS_OK)
			return status;
	}
	if (loading->leaves > 0)
		return records == 0 && loading->leaves <= size / RECORD ? NIDUS_OK : no_sense();
	return directory_list_allowed(directory, records) && records <= loading->image->count &&
	                       size == few_size(few->bits, few->value_bits, records)
	               ? NIDUS_OK
	               : no_sense();
}

/* Whether nothing is said of sweeps where there are none; what is said of them is looked at later. */
static bool lags_possible(const struct directory_loading *loading, const unsigned char *record,
                          unsigned bodies)
{
	return load64(record + LAGS) >> (recent_of(loading->directory) != NULL ? 16 * bodies : 0) ==
	       0;
}

/* Whether a record can be that of a leaf; adds up what it claims. */
static nidus_status check_record(struct directory_loading *loading, const unsigned char *record)
{
	uint32_t depth = load32(record), bodies = load32(record + 4);
	if (bodies < 1 || bodies > LEAF_BODIES || depth > LEAF_DEPTH_MOST ||
	    !lags_possible(loading, record, bodies))
		return no_sense();
	for (unsigned i = 0; i < LEAF_BODIES; i++) {
		uint64_t count = load64(record + 8 + 16 * i), listed = load64(record + 16 + 16 * i);
		if ((i >= bodies && (count | listed) != 0) || listed > count ||
		    add_overflows(loading->count, count, &loading->count) ||
		    add_overflows(loading->stashed, listed, &loading->stashed))
			return no_sense();
	}
	loading->shallowest = depth < loading->shallowest ? depth : loading->shallowest;
	loading->deepest = depth > loading->deepest ? depth : loading->deepest;
	unsigned in_index = directory_index_depth(depth, bodies);
	loading->index_depth = in_index > loading->index_depth ? in_index : loading->index_depth;
	return NIDUS_OK;
}

/* The leaf of a record begins at `*at`, counted as the deepest leaves are; moves on behind it. */
static bool take_place(const struct directory_loading *loading, const unsigned char *record,
                       uint64_t *at, uint64_t *number)
{
	unsigned above = loading->deepest - load32(record);
	*number = *at >> above;
	bool aligned = *number << above == *at;
	*at += UINT64_C(1) << above;
	return aligned;
}

/* Whether the records can be those of this file. */
static nidus_status check_records(struct directory_loading *loading)
{
	uint64_t at = 0, number, base = directory_base(loading->directory);
	nidus_status status = NIDUS_OK;
	loading->shallowest = LEAF_DEPTH_MOST;
	for (uint64_t i = 0; i < loading->leaves && status == NIDUS_OK; i++)
		status = check_record(loading, loading->records + i * RECORD);
	if (status != NIDUS_OK)
		return status;
	/* There are enough leaves for the index: no more is allocated than bytes explain. */
	if (loading->deepest > loading->shallowest + DIRECTORY_SPREAD ||
	    base > loading->leaves >> loading->shallowest)
		return no_sense();
	for (uint64_t i = 0; i < loading->leaves; i++) {
		if (!take_place(loading, loading->records + i * RECORD, &at, &number))
			return no_sense();
	}
	return at == base << loading->deepest && loading->count == loading->image->count &&
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
static nidus_status load_leaf(struct directory_loading *loading, const unsigned char *record,
                              uint64_t number, struct bytes_from *from, uint64_t *left,
                              struct leaf **leaf)
{
	struct directory *directory = loading->directory;
	unsigned depth = load32(record), bodies = load32(record + 4);
	unsigned char *tables[LEAF_BODIES] = { NULL };
	uint64_t size;
	*leaf = NULL;
	for (unsigned i = 0; i < bodies; i++) {
		size = directory_table_bytes(directory, number, depth, bodies, i);
		size += padding(size);
		if (size > *left)
			return no_sense();
		*left -= size;
		tables[i] = (unsigned char *)(uintptr_t)from->at; /* never written to */
		if (from->reading == NULL)
			from->at += size;
	}
	nidus_status status = directory_make_leaf(directory, number, depth, bodies,
	                                          from->reading == NULL ? tables : NULL, leaf);
	for (unsigned i = 0; i < bodies && status == NIDUS_OK && from->reading != NULL; i++) {
		unsigned char *table = directory->inner->table((*leaf)->body[i], &size);
		status = take_table(from, table, size);
	}
	return status;
}

/* When the bodies of a leaf were swept. Errors: E_FORMAT. */
static nidus_status load_lags(struct directory *directory, const unsigned char *record,
                              const struct leaf *leaf)
{
	struct recent *recent = recent_of(directory);
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; recent != NULL && i < leaf->bodies && status == NIDUS_OK; i++)
		status = recent_set_lag(recent, leaf->body[i], load16(record + LAGS + 2 * i));
	return status;
}

static nidus_status load_leaves(struct directory_loading *loading, struct bytes_from *from)
{
	struct directory *directory = loading->directory;
	const unsigned char *record = loading->records;
	uint64_t at = 0, number, left;
	nidus_status status = check_records(loading);
	left = loading->image->section[IMAGE_TABLE].size - records_at(directory) -
	       loading->leaves * RECORD;
	if (status == NIDUS_OK)
		status = directory_prepare(directory, loading->index_depth, left);
	for (uint64_t i = 0; i < loading->leaves && status == NIDUS_OK; i++, record += RECORD) {
		struct leaf *leaf;
		(void)take_place(loading, record, &at, &number);
		status = load_leaf(loading, record, number, from, &left, &leaf);
		if (leaf == NULL)
			break;
		directory->ops = directory->inner->ops(leaf->body[0]);
		directory_enter(directory, leaf);
		if (status == NIDUS_OK)
			status = load_lags(directory, record, leaf);
	}
	return status == NIDUS_OK && left != 0 ? no_sense() : status;
}

/* Gives the bodies their stashes; each checks what it has. */
static nidus_status load_stashes(struct directory_loading *loading, const unsigned char *stash)
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
			if (listed > 0)
				stash += listed * OVERFLOW_ENTRY;
		}
	}
	if (!directory->mapped)
		directory_recount(directory);
	return NIDUS_OK;
}

/* Reads how many keys each slice has, of a filter that forgets. */
static nidus_status read_counts(struct directory_loading *loading, struct image_reading *reading)
{
	struct recent *recent = recent_of(loading->directory);
	unsigned char bytes[(RECENT_SLICES_MOST + 1) * 8 + LINE];
	if (recent == NULL)
		return NIDUS_OK;
	nidus_status status = image_read_piece(reading, bytes,
	                                       recent_counts_size(&recent->directory.ground->plan));
	return status == NIDUS_OK ? recent_load_counts(recent, bytes, loading->image->count)
	                          : status;
}

static nidus_status read_few(struct directory_loading *loading, struct image_reading *reading)
{
	struct few *few = &loading->directory->few;
	nidus_status status =
		few_reserve(few, loading->few, &loading->directory->ground->allocator);
	if (status != NIDUS_OK)
		return status;
	few->count = (uint16_t)loading->few;
	return image_read_piece(reading, few->bytes, few_bytes(few));
}

/* Takes the copies of a list, which may have any number of them. */
static nidus_status load_copies(struct directory_loading *loading, const unsigned char *stash)
{
	struct few *few = &loading->directory->few;
	nidus_status status = few_import_copies(few, stash, loading->image->stashed,
	                                        &loading->directory->ground->allocator);
	return status == NIDUS_OK && few_entries(few) != loading->image->count ? no_sense()
	                                                                       : status;
}

/*
 * Whether what was promised fits: an empty filter of the same plan takes no more memory than this one.
 * Leaves round down.
 */
static nidus_status check_capacity(const struct directory *directory, uint64_t capacity)
{
	uint64_t room = directory_capacity(directory);
	if (capacity > room + room / 16 + 16)
		return fail(NIDUS_E_FORMAT,
		            "the header promises %llu keys; the segments have room for %llu",
		            (unsigned long long)capacity, (unsigned long long)room);
	return NIDUS_OK;
}

nidus_status directory_read_table(struct directory_loading *loading, struct image_reading *reading)
{
	struct directory *directory = loading->directory;
	unsigned char head[LINE];
	nidus_status status = image_read_piece(reading, head, LINE);
	if (status == NIDUS_OK)
		status = check_head(loading, head);
	if (status != NIDUS_OK)
		return status;
	status = read_counts(loading, reading);
	if (status != NIDUS_OK)
		return status;
	if (loading->leaves == 0)
		return read_few(loading, reading);
	status = memory_take(&directory->ground->allocator, loading->leaves * RECORD,
	                     &loading->memory);
	if (status != NIDUS_OK)
		return status;
	struct bytes_from from = { reading, NULL, NULL };
	loading->records = loading->memory.bytes;
	status = image_read_piece(reading, loading->memory.bytes, loading->leaves * RECORD);
	return status == NIDUS_OK ? load_leaves(loading, &from) : status;
}

nidus_status directory_read_stash(struct directory_loading *loading, const unsigned char *stash)
{
	struct directory *directory = loading->directory;
	nidus_status status =
		loading->leaves > 0 ? load_stashes(loading, stash) : load_copies(loading, stash);
	if (status == NIDUS_OK)
		status = check_capacity(directory, loading->image->plan.capacity);
	if (status == NIDUS_OK && recent_of(directory) != NULL)
		return recent_family(directory->inner)->verify(directory);
	return status == NIDUS_OK ? directory_verify(directory) : status;
}

void directory_loaded(struct directory_loading *loading)
{
	memory_give(&loading->directory->ground->allocator, &loading->memory);
}

/* Reads the stash section and hands it out; then checks all. */
static nidus_status read_stashes(struct directory_loading *loading, nidus_source source,
                                 void *context)
{
	struct directory *directory = loading->directory;
	struct block stash;
	nidus_status status = memory_take(&directory->ground->allocator,
	                                  loading->image->section[IMAGE_STASH].size, &stash);
	if (status != NIDUS_OK)
		return status;
	status = image_read_section(loading->image, IMAGE_STASH, stash.bytes, source, context);
	if (status == NIDUS_OK)
		status = directory_read_stash(loading, stash.bytes);
	memory_give(&directory->ground->allocator, &stash);
	return status;
}

nidus_status directory_read(struct directory *directory, const struct image *image,
                            nidus_source source, void *context)
{
	struct image_reading reading;
	struct directory_loading loading = { .directory = directory, .image = image };
	nidus_status status = image_begin_section(image, IMAGE_TABLE, source, context, &reading);
	if (status == NIDUS_OK)
		status = directory_read_table(&loading, &reading);
	if (status == NIDUS_OK)
		status = image_end_section(image, IMAGE_TABLE, &reading);
	if (status == NIDUS_OK)
		status = read_stashes(&loading, source, context);
	directory_loaded(&loading);
	return status;
}

nidus_status directory_map(struct directory *directory, const struct image *image,
                           const unsigned char *file)
{
	const unsigned char *table = file + image->section[IMAGE_TABLE].offset;
	struct directory_loading loading = { .directory = directory,
		                             .image = image,
		                             .records = table + records_at(directory) };
	struct recent *recent = recent_of(directory);
	nidus_status status = check_head(&loading, table);
	if (status == NIDUS_OK && recent != NULL)
		status = recent_load_counts(recent, table + LINE, image->count);
	if (status != NIDUS_OK)
		return status;
	if (loading.leaves == 0) {
		directory->few.bytes = (unsigned char *)(uintptr_t)loading.records;
		directory->few.count = (uint16_t)loading.few;
		status = check_capacity(directory, image->plan.capacity);
		return status == NIDUS_OK
		               ? load_copies(&loading, file + image->section[IMAGE_STASH].offset)
		               : status;
	}
	struct bytes_from from = { NULL, loading.records + loading.leaves * RECORD, NULL };
	status = load_leaves(&loading, &from);
	if (status == NIDUS_OK)
		status = check_capacity(directory, image->plan.capacity);
	return status == NIDUS_OK
	               ? load_stashes(&loading, file + image->section[IMAGE_STASH].offset)
	               : status;
}

/* SPDX-License-Identifier: MIT
 *
 * load: bytes to filters, read into memory or mapped.
 *
 * Nothing is believed before it has been checked: the header before its sizes are used, the
 * sections before the filter is handed out. Over a mapped table only what needs no look at it
 * is checked, unless the caller asks for more.
 */
#include "api/claims.h"
#include "api/generations_files.h"
#include "api/options.h"
#include "api/recent.h"
#include "api/shared.h"
#include "store/file.h"
#include "store/image.h"

/* ------------------------------------------------------------------- one image -- */

/* Whether a header's plan is one that this library could have made. */
static nidus_status check_plan(const struct image *image, const struct family **family)
{
	const struct blueprint *plan = &image->plan;
	*family = family_find((nidus_family)plan->family);
	if (*family == NULL)
		return fail(NIDUS_E_FORMAT,
		            "the file is of family %u, which this version does not have",
		            (unsigned)plan->family);
	nidus_status status = claims_check(*family, plan);
	if (status != NIDUS_OK)
		return status;
	if (image->tick >> RECENT_TICK_BITS != 0 || (image->tick != 0 && plan->slices == 0))
		return fail(NIDUS_E_FORMAT, "the header's tick makes no sense");
	uint64_t table = image->section[IMAGE_TABLE].size;
	uint64_t entry = (*family)->stash_entry > 0 ? (*family)->stash_entry : 1;
	bool right = plan->segmented ? table >= DIRECTORY_HEAD
	                             : table == (*family)->forecast(plan, 0).bytes;
	if (!right || image->section[IMAGE_STASH].size / entry != image->stashed ||
	    image->section[IMAGE_STASH].size % entry != 0 ||
	    (image->stashed > 0 && (*family)->stash_entry == 0) ||
	    (image->stashed > image->count && image->stashed - image->count > plan->judged))
		return fail(NIDUS_E_FORMAT, "the sections' sizes do not follow from the header");
	return NIDUS_OK;
}

/* Fills an empty filter's body from the sections, and checks it. */
static nidus_status read_body(nidus_filter *filter, const struct image *image, nidus_source source,
                              void *context)
{
	struct block stash;
	uint64_t size;
	if (filter_directory(filter) != NULL)
		return directory_read(filter_directory(filter), image, source, context);
	if (filter_generations(filter) != NULL)
		return generations_read(filter_generations(filter), image, source, context);
	unsigned char *table = filter->family->table(filter_body(filter), &size);
	nidus_status status = image_read_section(image, IMAGE_TABLE, table, source, context);
	if (status != NIDUS_OK)
		return status;
	status = memory_take(&filter->allocator, image->section[IMAGE_STASH].size, &stash);
	if (status != NIDUS_OK)
		return status;
	status = image_read_section(image, IMAGE_STASH, stash.bytes, source, context);
	if (status == NIDUS_OK)
		status = filter->family->import(filter_body(filter), stash.bytes, image->stashed,
		                                image->count);
	memory_give(&filter->allocator, &stash);
	return status;
}

/* ------------------------------------------------------------------- mapping -- */

/* Bytes in memory, as a source. */
struct span {
	const unsigned char *next;
	size_t left;
};

static ptrdiff_t span_source(void *context, void *data, size_t size)
{
	struct span *span = context;
	if (size > span->left)
		size = span->left;
	if (size > 0)
		memcpy(data, span->next, size);
	span->next += size;
	span->left -= size;
	return (ptrdiff_t)size;
}

/* Checks what a plain open does not read. */
static nidus_status check_whole(const nidus_filter *filter, const struct image *image,
                                const unsigned char *file)
{
	nidus_status status = image_check_section(image, IMAGE_TABLE, file);
	return status == NIDUS_OK ? filter->family->verify(filter_body(filter)) : status;
}

/* Makes a filter over an image in memory, which has to outlive it. */
static nidus_status adopt(const unsigned char *file, const struct family *family,
                          const struct image *image, bool verify, nidus_filter **filter)
{
	const nidus_allocator system = { 0 };
	nidus_filter *made;
	/* Never written to: the filter is for reading. */
	unsigned char *table =
		(unsigned char *)(uintptr_t)file + image->section[IMAGE_TABLE].offset;
	/* The stash is small, and copied: it is checked here. */
	nidus_status status = image_check_section(image, IMAGE_STASH, file);
	if (status == NIDUS_OK)
		status = filter_make(family, &image->plan, &system, table, &made);
	if (status != NIDUS_OK)
		return status;
	if (filter_directory(made) != NULL)
		status = directory_map(filter_directory(made), image, file);
	else if (filter_generations(made) != NULL)
		status = generations_map(filter_generations(made), image, file);
	else
		status =
			family->import(filter_body(made), file + image->section[IMAGE_STASH].offset,
		                       image->stashed, image->count);
	struct opened *opened = filter_opened(made);
	opened->table = table;
	opened->table_size = image->section[IMAGE_TABLE].size;
	opened->checksum = image->section[IMAGE_TABLE].checksum;
	if (status == NIDUS_OK && verify)
		status = check_whole(made, image, file);
	if (status != NIDUS_OK) {
		nidus_free(made);
		return status;
	}
	opened->checked = verify;
	*filter = made;
	return NIDUS_OK;
}

/* --------------------------------------------------------------- whole filters -- */

/* Bytes to read filters from. */
struct origin {
	nidus_source source;
	void *context;
	uint64_t available; /* bytes left, or UINT64_MAX if unknown */
	const nidus_allocator *allocator;
	struct span *map; /* the source, if filters are to lie over its bytes; else NULL */
	bool verify;      /* then: check all of it */
};

static void count_bytes(struct origin *from, uint64_t size)
{
	if (from->available != UINT64_MAX)
		from->available -= size;
}

static nidus_status check_end(const struct origin *from)
{
	if (from->available != UINT64_MAX && from->available > 0)
		return fail(NIDUS_E_FORMAT, "%llu bytes follow the end of the filter",
		            (unsigned long long)from->available);
	return NIDUS_OK;
}

/* Reads a header and checks that such a filter can exist. */
static nidus_status read_plan(struct origin *from, struct image *image,
                              const struct family **family)
{
	nidus_status status = image_read_header(image, from->source, from->context);
	if (status == NIDUS_OK)
		status = check_plan(image, family);
	if (status != NIDUS_OK)
		return status;
	if (from->available < image->size)
		return fail(NIDUS_E_TRUNCATED, "the file has %llu bytes; its header says %llu",
		            (unsigned long long)from->available, (unsigned long long)image->size);
	count_bytes(from, image->size);
	return check_end(from);
}

/* Reads a filter's body into memory. */
static nidus_status read_copy(const struct origin *from, const struct family *family,
                              const struct image *image, nidus_filter **filter)
{
	nidus_status status = filter_make(family, &image->plan, from->allocator, NULL, filter);
	if (status != NIDUS_OK)
		return status;
	status = read_body(*filter, image, from->source, from->context);
	if (status != NIDUS_OK) {
		nidus_free(*filter);
		*filter = NULL;
	}
	return status;
}

static nidus_status read_filter(struct origin *from, nidus_filter **filter)
{
	static const nidus_allocator system = { 0 };
	const struct family *family;
	const unsigned char *start = from->map != NULL ? from->map->next : NULL;
	struct image image;
	*filter = NULL;
	if (from->allocator == NULL)
		from->allocator = &system;
	nidus_status status = read_plan(from, &image, &family);
	if (status != NIDUS_OK)
		return status;
	if (from->map == NULL)
		return read_copy(from, family, &image, filter);
	return adopt(start, family, &image, from->verify, filter);
}

nidus_status nidus_read(nidus_source source, void *context, const nidus_allocator *allocator,
                        nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if (source == NULL)
		return filter_null("source");
	nidus_status status = options_check_allocator(allocator);
	if (status != NIDUS_OK)
		return status;
	struct origin from = {
		.source = source,
		.context = context,
		.available = UINT64_MAX,
		.allocator = allocator,
	};
	return read_filter(&from, filter);
}

nidus_status nidus_load(const char *path, nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if (path == NULL)
		return filter_null("path");
	struct file_reader reader;
	nidus_status status = file_open(path, &reader);
	if (status != NIDUS_OK)
		return status;
	struct origin from = { .source = file_source,
		               .context = &reader,
		               .available = reader.size };
	status = read_filter(&from, filter);
	file_close(&reader);
	return status;
}

nidus_status nidus_load_buffer(const void *buffer, size_t len, const nidus_allocator *allocator,
                               nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if (buffer == NULL)
		return filter_null("buffer");
	nidus_status status = options_check_allocator(allocator);
	if (status != NIDUS_OK)
		return status;
	struct span span = { buffer, len };
	struct origin from = {
		.source = span_source,
		.context = &span,
		.available = len,
		.allocator = allocator,
	};
	return read_filter(&from, filter);
}

/* ------------------------------------------------------------------- opening -- */

/* Checks the arguments that opening a file and opening a buffer share. */
static nidus_status check_open(const void *from, const char *name, unsigned flags,
                               nidus_filter **filter)
{
	if (filter == NULL)
		return filter_null("filter");
	*filter = NULL;
	if (from == NULL)
		return filter_null(name);
	if (flags & ~NIDUS_OPEN_VERIFY)
		return fail(NIDUS_E_ARG, "flags has bits that mean nothing");
	return NIDUS_OK;
}

/* Opens what a map shows. After a failure the map is still the caller's. */
static nidus_status open_map(const struct file_map *map, unsigned flags, nidus_filter **filter)
{
	struct span span = { map->bytes, (size_t)map->size };
	struct origin from = {
		.source = span_source,
		.context = &span,
		.available = map->size,
		.map = &span,
		.verify = flags & NIDUS_OPEN_VERIFY,
	};
	nidus_status status = read_filter(&from, filter);
	if (status == NIDUS_OK)
		filter_opened(*filter)->map = *map;
	return status;
}

nidus_status nidus_open(const char *path, unsigned flags, nidus_filter **filter)
{
	struct file_map map;
	nidus_status status = check_open(path, "path", flags, filter);
	if (status == NIDUS_OK)
		status = file_map(path, &map);
	if (status != NIDUS_OK)
		return status;
	status = open_map(&map, flags, filter);
	if (status != NIDUS_OK)
		file_unmap(&map);
	return status;
}

nidus_status nidus_open_buffer(const void *buffer, size_t len, unsigned flags,
                               nidus_filter **filter)
{
	nidus_status status = check_open(buffer, "buffer", flags, filter);
	if (status != NIDUS_OK)
		return status;
	struct file_map map = file_borrow(buffer, len);
	return open_map(&map, flags, filter);
}

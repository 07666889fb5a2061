/* SPDX-License-Identifier: MIT
 *
 * files: filters to bytes and back.
 */
#include "api/claims.h"
#include "api/growth.h"
#include "api/options.h"
#include "store/file.h"
#include "store/image.h"
#include "table/stash.h"

#include <errno.h>

/* ------------------------------------------------------------------- writing -- */

static nidus_status describe(const nidus_filter *filter, struct image *image)
{
	struct fill fill = filter->family->fill(filter->body);
	*image = (struct image){ .plan = filter->plan,
		                 .count = fill.count,
		                 .stashed = fill.stashed };
	(void)filter->family->table(filter->body, &image->section[IMAGE_TABLE].size);
	image->section[IMAGE_STASH].size = fill.stashed * STASH_ENTRY;
	return image_lay_out(image);
}

/* nidus_write for a filter in one part. */
static nidus_status write_settled(const nidus_filter *filter, nidus_sink sink, void *context)
{
	struct image image;
	struct block stash;
	uint64_t size;
	nidus_status status = filter_check_mapped(filter);
	if (status == NIDUS_OK)
		status = describe(filter, &image);
	if (status == NIDUS_OK)
		status = memory_take(&filter->allocator, image.section[IMAGE_STASH].size, &stash);
	if (status != NIDUS_OK)
		return status;
	if (image.stashed > 0)
		filter->family->export_stash(filter->body, stash.bytes);
	const void *bytes[IMAGE_SECTIONS] = {
		[IMAGE_TABLE] = filter->family->table(filter->body, &size),
		[IMAGE_STASH] = stash.bytes,
	};
	status = image_write(&image, bytes, sink, context);
	int kept = errno;
	memory_give(&filter->allocator, &stash);
	errno = kept;
	return status;
}

nidus_status nidus_write(const nidus_filter *filter, nidus_sink sink, void *context)
{
	if (filter == NULL || sink == NULL)
		return filter_null(filter == NULL ? "filter" : "sink");
	const nidus_filter *settled;
	nidus_status status = growth_settle(filter, &settled);
	if (status != NIDUS_OK)
		return status;
	status = write_settled(settled, sink, context);
	int kept = errno;
	growth_return(filter, settled);
	errno = kept;
	return status;
}

static nidus_status write_filter(const void *subject, nidus_sink sink, void *context)
{
	return nidus_write(subject, sink, context);
}

nidus_status nidus_save(const nidus_filter *filter, const char *path)
{
	if (filter == NULL || path == NULL)
		return filter_null(filter == NULL ? "filter" : "path");
	return file_save(path, write_filter, filter);
}

static size_t settled_size(const nidus_filter *filter)
{
	struct image image;
	return describe(filter, &image) == NIDUS_OK ? (size_t)image.size : 0;
}

size_t nidus_saved_size(const nidus_filter *filter)
{
	const nidus_filter *settled;
	if (filter == NULL || growth_settle(filter, &settled) != NIDUS_OK)
		return 0;
	size_t size = settled_size(settled);
	growth_return(filter, settled);
	return size;
}

struct buffer {
	unsigned char *next;
};

static int buffer_sink(void *context, const void *data, size_t size)
{
	struct buffer *buffer = context;
	memcpy(buffer->next, data, size);
	buffer->next += size;
	return 0;
}

static nidus_status save_settled(const nidus_filter *filter, void *buffer, size_t cap,
                                 size_t *written)
{
	size_t size = settled_size(filter);
	if (cap < size)
		return fail(NIDUS_E_BUFFER, "the filter takes %zu bytes, the buffer has %zu", size,
		            cap);
	struct buffer to = { buffer };
	nidus_status status = write_settled(filter, buffer_sink, &to);
	if (status == NIDUS_OK && written != NULL)
		*written = size;
	return status;
}

nidus_status nidus_save_buffer(const nidus_filter *filter, void *buffer, size_t cap,
                               size_t *written)
{
	if (filter == NULL || buffer == NULL)
		return filter_null(filter == NULL ? "filter" : "buffer");
	const nidus_filter *settled;
	nidus_status status = growth_settle(filter, &settled);
	if (status != NIDUS_OK)
		return status;
	status = save_settled(settled, buffer, cap, written);
	growth_return(filter, settled);
	return status;
}

/* ------------------------------------------------------------------- reading -- */

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
	struct forecast forecast = (*family)->forecast(plan, 0);
	if (image->section[IMAGE_TABLE].size != forecast.bytes ||
	    image->section[IMAGE_STASH].size / STASH_ENTRY != image->stashed ||
	    image->section[IMAGE_STASH].size % STASH_ENTRY != 0 || image->stashed > image->count)
		return fail(NIDUS_E_FORMAT, "the sections' sizes do not follow from the header");
	return NIDUS_OK;
}

/* Fills an empty filter's body from the sections, and believes nothing. */
static nidus_status read_body(nidus_filter *filter, const struct image *image, nidus_source source,
                              void *context)
{
	struct block stash;
	uint64_t size;
	unsigned char *table = filter->family->table(filter->body, &size);
	nidus_status status = image_read_section(image, IMAGE_TABLE, table, source, context);
	if (status != NIDUS_OK)
		return status;
	status = memory_take(&filter->allocator, image->section[IMAGE_STASH].size, &stash);
	if (status != NIDUS_OK)
		return status;
	status = image_read_section(image, IMAGE_STASH, stash.bytes, source, context);
	if (status == NIDUS_OK)
		status = filter->family->import(filter->body, stash.bytes, image->stashed,
		                                image->count);
	int kept = errno;
	memory_give(&filter->allocator, &stash);
	errno = kept;
	return status;
}

/*
 * Reads a header and settles that what it tells can be. `available` is how many
 * bytes the source has, or UINT64_MAX if nobody knows.
 */
static nidus_status read_plan(nidus_source source, void *context, uint64_t available,
                              struct image *image, const struct family **family)
{
	nidus_status status = image_read_header(image, source, context);
	if (status == NIDUS_OK)
		status = check_plan(image, family);
	if (status != NIDUS_OK)
		return status;
	if (available < image->size)
		return fail(NIDUS_E_TRUNCATED, "the file has %llu bytes; its header says %llu",
		            (unsigned long long)available, (unsigned long long)image->size);
	if (available != UINT64_MAX && available > image->size)
		return fail(NIDUS_E_FORMAT, "%llu bytes follow the end of the filter",
		            (unsigned long long)(available - image->size));
	return NIDUS_OK;
}

/* A NULL allocator is the system's. */
static nidus_status read_filter(nidus_source source, void *context, uint64_t available,
                                const nidus_allocator *allocator, nidus_filter **filter)
{
	struct image image;
	const struct family *family;
	nidus_status status = read_plan(source, context, available, &image, &family);
	if (status != NIDUS_OK)
		return status;
	nidus_filter *made;
	const nidus_allocator system = { 0 };
	status = filter_make(family, &image.plan, allocator != NULL ? allocator : &system, NULL,
	                     &made);
	if (status != NIDUS_OK)
		return status;
	status = read_body(made, &image, source, context);
	if (status != NIDUS_OK) {
		int kept = errno;
		nidus_free(made);
		errno = kept;
		return status;
	}
	*filter = made;
	return NIDUS_OK;
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
	return read_filter(source, context, UINT64_MAX, allocator, filter);
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
	status = read_filter(file_source, &reader, reader.size, NULL, filter);
	file_close(&reader);
	return status;
}

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
	return read_filter(span_source, &span, len, allocator, filter);
}

/* ------------------------------------------------------------------- mapping -- */

/* Reads and checks all that a plain open leaves alone. */
static nidus_status check_whole(const nidus_filter *filter, const struct image *image)
{
	nidus_status status = image_check_section(image, IMAGE_TABLE, filter->map.bytes);
	return status == NIDUS_OK ? filter->family->verify(filter->body) : status;
}

/* Makes a filter over a map, which is the filter's from then on. */
static nidus_status adopt(const struct file_map *map, const struct family *family,
                          const struct image *image, bool verify, nidus_filter **filter)
{
	const nidus_allocator system = { 0 };
	nidus_filter *made;
	/* The stash is small, and copied: it is checked here. */
	nidus_status status = image_check_section(image, IMAGE_STASH, map->bytes);
	if (status == NIDUS_OK)
		status = filter_make(family, &image->plan, &system,
		                     map->bytes + image->section[IMAGE_TABLE].offset, &made);
	if (status != NIDUS_OK)
		return status;
	status = family->import(made->body, map->bytes + image->section[IMAGE_STASH].offset,
	                        image->stashed, image->count);
	made->map = *map;
	made->checksum = image->section[IMAGE_TABLE].checksum;
	if (status == NIDUS_OK && verify)
		status = check_whole(made, image);
	if (status != NIDUS_OK) {
		made->map = (struct file_map){ 0 }; /* still the caller's */
		nidus_free(made);
		return status;
	}
	made->checked = verify;
	*filter = made;
	return NIDUS_OK;
}

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
	struct image image;
	const struct family *family;
	struct span span = { map->bytes, (size_t)map->size };
	nidus_status status = read_plan(span_source, &span, map->size, &image, &family);
	if (status == NIDUS_OK)
		status = adopt(map, family, &image, flags & NIDUS_OPEN_VERIFY, filter);
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

static nidus_status check_table(const nidus_filter *opened, const unsigned char *table,
                                uint64_t size)
{
	if (hash_checksum(table, size) != opened->checksum)
		return fail(NIDUS_E_CORRUPT, "the table of the opened file is damaged");
	return NIDUS_OK;
}

nidus_status filter_check_mapped(const nidus_filter *filter)
{
	uint64_t size;
	if (!filter->readonly || filter->checked)
		return NIDUS_OK;
	const unsigned char *table = filter->family->table(filter->body, &size);
	nidus_status status = check_table(filter, table, size);
	return status == NIDUS_OK ? filter->family->verify(filter->body) : status;
}

nidus_status filter_copy_mapped(nidus_filter *to, const nidus_filter *from)
{
	uint64_t size;
	struct block stash;
	struct fill fill = from->family->fill(from->body);
	const unsigned char *table = from->family->table(from->body, &size);
	unsigned char *copy = to->family->table(to->body, &size);
	memcpy(copy, table, (size_t)size);
	nidus_status status = check_table(from, copy, size);
	if (status == NIDUS_OK)
		status = memory_take(&to->allocator, fill.stashed * STASH_ENTRY, &stash);
	if (status != NIDUS_OK)
		return status;
	from->family->export_stash(from->body, stash.bytes);
	status = to->family->import(to->body, stash.bytes, fill.stashed, fill.count);
	memory_give(&to->allocator, &stash);
	return status;
}

/* SPDX-License-Identifier: MIT
 *
 * save: filters to bytes.
 *
 * A header, the table, and the stash (docs/format.md). The table of a growing filter is in pieces
 * (api/directory_files.h).
 */
#include "api/generations_files.h"
#include "api/shared.h"
#include "store/file.h"
#include "store/image.h"

#include <errno.h>

/* Entries, and those in stashes. A Bloom filter has none there, and would count its bits. */
static struct fill entries_of(const nidus_filter *filter)
{
	if (filter->family->features & (NIDUS_ENUMERATE | NIDUS_STATIC))
		return filter->family->fill(filter_body(filter));
	return (struct fill){ .count = filter->family->count(filter_body(filter)) };
}

/* A filter on its way to bytes. */
struct saving {
	const nidus_filter *filter;
	struct image image;
	struct directory_saving directory;     /* of a growing filter */
	struct generations_saving generations; /* of one without a size */
};

/* Sets what its header says. described() gives the memory of a growing one back. */
static nidus_status describe(const nidus_filter *filter, struct saving *saving)
{
	struct image *image = &saving->image;
	saving->filter = filter;
	*image = (struct image){ .plan = filter->plan };
	if (filter_directory(filter) != NULL)
		return directory_save(filter_directory(filter), &saving->directory, image);
	if (filter_generations(filter) != NULL)
		return generations_save(filter_generations(filter), &saving->generations, image);
	struct fill fill = entries_of(filter);
	image->count = fill.count;
	image->stashed = fill.listed;
	(void)filter->family->table(filter_body(filter), &image->section[IMAGE_TABLE].size);
	image->section[IMAGE_STASH].size = filter->family->stash_entry * fill.listed;
	return NIDUS_OK;
}

static void described(struct saving *saving)
{
	if (filter_directory(saving->filter) != NULL)
		directory_saved(&saving->directory);
	if (filter_generations(saving->filter) != NULL)
		generations_saved(&saving->generations);
}

static void export_stash(const struct saving *saving, unsigned char *bytes)
{
	const nidus_filter *filter = saving->filter;
	if (saving->image.stashed == 0)
		return;
	if (filter_directory(filter) != NULL)
		directory_export_stashes(&saving->directory, bytes);
	else if (filter_generations(filter) != NULL)
		generations_export_stashes(&saving->generations, bytes);
	else
		filter->family->export_stash(filter_body(filter), bytes);
}

static nidus_status write_described(struct saving *saving, nidus_sink sink, void *context)
{
	const nidus_filter *filter = saving->filter;
	struct block stash;
	uint64_t size;
	nidus_status status =
		memory_take(&filter->allocator, saving->image.section[IMAGE_STASH].size, &stash);
	if (status != NIDUS_OK)
		return status;
	export_stash(saving, stash.bytes);
	const void *bytes[IMAGE_SECTIONS] = { [IMAGE_STASH] = stash.bytes };
	if (filter->plan.segmented == PLAN_WHOLE)
		bytes[IMAGE_TABLE] = filter->family->table(filter_body(filter), &size);
	status = image_write(&saving->image, bytes, sink, context);
	memory_give(&filter->allocator, &stash);
	return status;
}

/* nidus_write for a filter whose threads are stopped. */
static nidus_status write_stopped(const nidus_filter *filter, nidus_sink sink, void *context)
{
	struct saving saving;
	nidus_status status = filter_check_mapped(filter);
	if (status == NIDUS_OK)
		status = describe(filter, &saving);
	if (status != NIDUS_OK)
		return status;
	status = write_described(&saving, sink, context);
	described(&saving);
	return status;
}

nidus_status nidus_write(const nidus_filter *filter, nidus_sink sink, void *context)
{
	if (filter == NULL || sink == NULL)
		return filter_null(filter == NULL ? "filter" : "sink");
	shared_stop(filter, false);
	nidus_status status = write_stopped(filter, sink, context);
	int kept = errno;
	shared_go_on(filter);
	errno = kept;
	return status;
}

nidus_status nidus_write_from(const nidus_filter *filter, uint64_t from, nidus_sink sink,
                              void *context)
{
	struct image_skip skip = { from, sink, context };
	if (filter == NULL || sink == NULL)
		return filter_null(filter == NULL ? "filter" : "sink");
	return nidus_write(filter, image_skip, &skip);
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

static size_t saved_size(const nidus_filter *filter)
{
	struct saving saving;
	if (describe(filter, &saving) != NIDUS_OK)
		return 0;
	nidus_status status = image_lay_out(&saving.image);
	described(&saving);
	return status == NIDUS_OK ? (size_t)saving.image.size : 0;
}

size_t nidus_saved_size(const nidus_filter *filter)
{
	if (filter == NULL)
		return 0;
	shared_stop(filter, false);
	size_t size = saved_size(filter);
	shared_go_on(filter);
	return size;
}

struct buffer {
	unsigned char *next;
};

static int buffer_sink(void *context, const void *data, size_t size)
{
	struct buffer *buffer = context;
	if (size > 0)
		memcpy(buffer->next, data, size);
	buffer->next += size;
	return 0;
}

static nidus_status save_stopped(const nidus_filter *filter, void *buffer, size_t cap,
                                 size_t *written)
{
	size_t size = saved_size(filter);
	if (cap < size)
		return fail(NIDUS_E_BUFFER, "the filter takes %zu bytes, the buffer has %zu", size,
		            cap);
	struct buffer to = { buffer };
	nidus_status status = write_stopped(filter, buffer_sink, &to);
	if (status == NIDUS_OK && written != NULL)
		*written = size;
	return status;
}

nidus_status nidus_save_buffer(const nidus_filter *filter, void *buffer, size_t cap,
                               size_t *written)
{
	if (filter == NULL || buffer == NULL)
		return filter_null(filter == NULL ? "filter" : "buffer");
	shared_stop(filter, false);
	nidus_status status = save_stopped(filter, buffer, cap, written);
	shared_go_on(filter);
	return status;
}

/* SPDX-License-Identifier: MIT
 *
 * save: filters to bytes.
 *
 * The image of the body comes first. A filter that has more than its body, as a growing one
 * may, adds a record, its overflow list, and the image of its old body (docs/format.md).
 */
#include "api/moving.h"
#include "api/shared.h"
#include "store/file.h"
#include "store/image.h"
#include "store/parts.h"

#include <errno.h>

/* Entries, and those in stashes. A Bloom filter has none there, and would count its bits. */
static struct fill entries_of(const nidus_filter *filter)
{
	if (filter->family->features & (NIDUS_ENUMERATE | NIDUS_STATIC))
		return filter->family->fill(filter->body);
	return (struct fill){ .count = filter->family->count(filter->body) };
}

static nidus_status describe(const nidus_filter *filter, struct image *image)
{
	struct fill fill = entries_of(filter);
	*image =
		(struct image){ .plan = filter->plan, .count = fill.count, .stashed = fill.listed };
	(void)filter->family->table(filter->body, &image->section[IMAGE_TABLE].size);
	image->section[IMAGE_STASH].size = filter->family->stash_entry * fill.listed;
	return image_lay_out(image);
}

/* Writes a filter's body, and whether there is more. */
static nidus_status write_body(const nidus_filter *filter, bool more, nidus_sink sink,
                               void *context)
{
	struct image image;
	struct block stash;
	uint64_t size;
	nidus_status status = describe(filter, &image);
	image.more = more;
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
	memory_give(&filter->allocator, &stash);
	return status;
}

/* What has to be said of a filter beside its body; false if nothing. */
static bool describe_parts(const nidus_filter *filter, struct parts *parts)
{
	const struct moving *state = &filter->moving;
	*parts = (struct parts){
		.old = moving(filter),
		.overflowed = state->overflow.nodes,
		.returning = state->returning,
	};
	if (filter->grows)
		shared_tell_turns(filter, &parts->uncounted, &parts->left);
	if (parts->old) {
		parts->position = state->position;
		parts->places = state->places;
	}
	if (parts->old || parts->returning)
		parts->inserts = state->inserts;
	if (parts->returning)
		parts->returned = state->returned;
	return parts->old || parts->returning || parts->overflowed > 0 || parts->uncounted > 0 ||
	       parts->left != 0;
}

/* Writes the record and the overflow list, and zeros up to the next part if there is one. */
static nidus_status write_record(const nidus_filter *filter, struct parts *parts, nidus_sink sink,
                                 void *context)
{
	unsigned char record[PARTS_RECORD];
	static const unsigned char zeros[PARTS_ALIGN];
	struct block list;
	uint64_t size = parts->overflowed * OVERFLOW_ENTRY;
	nidus_status status = memory_take(&filter->allocator, size, &list);
	if (status != NIDUS_OK)
		return status;
	(void)overflow_export(&filter->moving.overflow, 0, list.bytes);
	parts->checksum = hash_checksum(list.bytes, size);
	parts_encode(parts, record);
	status = image_put(sink, context, record, PARTS_RECORD);
	if (status == NIDUS_OK)
		status = image_put(sink, context, list.bytes, size);
	if (status == NIDUS_OK && parts->old)
		status = image_put(sink, context, zeros, parts_padding(size));
	memory_give(&filter->allocator, &list);
	return status;
}

/* Bytes of all parts, and where the record begins if there is one. */
static nidus_status lay_out_parts(const nidus_filter *filter, uint64_t *record, uint64_t *size)
{
	struct image image;
	struct parts parts;
	nidus_status status = describe(filter, &image);
	*size = image.size;
	if (status != NIDUS_OK || !describe_parts(filter, &parts))
		return status;
	*record = *size + parts_padding(*size);
	*size = *record + PARTS_RECORD + parts.overflowed * OVERFLOW_ENTRY;
	if (!parts.old)
		return NIDUS_OK;
	status = describe(filter->moving.old, &image);
	*size += parts_padding(*size) + image.size;
	return status;
}

/* nidus_write for a filter whose threads are stopped. */
static nidus_status write_stopped(const nidus_filter *filter, nidus_sink sink, void *context)
{
	static const unsigned char zeros[PARTS_ALIGN];
	struct parts parts;
	uint64_t record = 0, size;
	bool more = describe_parts(filter, &parts);
	nidus_status status = filter_check_mapped(filter);
	if (status == NIDUS_OK)
		status = write_body(filter, more, sink, context);
	if (status != NIDUS_OK || !more)
		return status;
	struct image image;
	(void)describe(filter, &image);
	(void)lay_out_parts(filter, &record, &size);
	status = image_put(sink, context, zeros, record - image.size);
	if (status == NIDUS_OK)
		status = write_record(filter, &parts, sink, context);
	if (status == NIDUS_OK && parts.old)
		status = write_body(filter->moving.old, false, sink, context);
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
	uint64_t record, size;
	return lay_out_parts(filter, &record, &size) == NIDUS_OK ? (size_t)size : 0;
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

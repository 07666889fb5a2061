/* SPDX-License-Identifier: MIT */
/* What Go calls: see glue.h. */
#include "glue.h"
#include "_cgo_export.h"
#include <errno.h>
#include <string.h>
#include <time.h>

/* Keys of one block: their hashes stay in the first-level cache. */
enum { BLOCK = 1024 };

static nidus_go_answer told(nidus_status status)
{
	nidus_go_answer answer = { .status = status };
	if (status == NIDUS_E_IO)
		answer.err = errno;
	/* Those two leave the reason of an older failure in place. */
	if (status != NIDUS_OK && status != NIDUS_NOT_FOUND && status != NIDUS_PRESENT)
		answer.reason = strdup(nidus_reason());
	return answer;
}

/* ----------------------------------------------------------- single keys -- */

static nidus_status change(nidus_filter *filter, int what, uint64_t hash, uint64_t value,
                           uint64_t fresh)
{
	switch (what) {
	case NIDUS_GO_INSERT:
		return nidus_insert_hash(filter, hash);
	case NIDUS_GO_INSERT_NEW:
		return nidus_insert_new_hash(filter, hash);
	case NIDUS_GO_REMOVE:
		return nidus_remove_hash(filter, hash);
	case NIDUS_GO_INSERT_VALUE:
		return nidus_insert_value_hash(filter, hash, value);
	case NIDUS_GO_REMOVE_VALUE:
		return nidus_remove_value_hash(filter, hash, value);
	case NIDUS_GO_REPLACE_VALUE:
		return nidus_replace_value_hash(filter, hash, value, fresh);
	default:
		return nidus_add_count_hash(filter, hash, value);
	}
}

nidus_go_answer nidus_go_change(nidus_filter *filter, int what, uint64_t hash, uint64_t value,
                                uint64_t fresh)
{
	return told(change(filter, what, hash, value, fresh));
}

nidus_go_answer nidus_go_insert_entry(nidus_filter *filter, uint64_t home, uint64_t fingerprint,
                                      uint64_t value)
{
	nidus_entry entry = { .home = home, .fingerprint = fingerprint, .value = value };
	return told(nidus_insert_entry(filter, &entry));
}

/* ------------------------------------------------------------- many keys -- */

/* The hashes of the block of keys: hashed into `room`, or as they are. */
static const uint64_t *hashes_of(const nidus_filter *filter, int kind, const uint64_t *keys,
                                 size_t n, uint64_t *room)
{
	if (kind == NIDUS_GO_HASHES)
		return keys;
	nidus_hash_u64_batch(filter, keys, n, room);
	return room;
}

static size_t block(size_t left)
{
	return left < BLOCK ? left : BLOCK;
}

void nidus_go_contains_many(const nidus_filter *filter, int kind, const uint64_t *keys, size_t n,
                            uint8_t *yes)
{
	uint64_t room[BLOCK];
	for (size_t i = 0; i < n; i += BLOCK) {
		size_t some = block(n - i);
		nidus_contains_batch(filter, hashes_of(filter, kind, keys + i, some, room), some,
		                     yes + i);
	}
}

void nidus_go_find_many(const nidus_filter *filter, int kind, const uint64_t *keys, size_t n,
                        uint64_t *first, uint32_t *found)
{
	uint64_t room[BLOCK];
	for (size_t i = 0; i < n; i += BLOCK) {
		size_t some = block(n - i);
		nidus_find_batch(filter, hashes_of(filter, kind, keys + i, some, room), some,
		                 first + i, found + i);
	}
}

static nidus_status change_block(nidus_filter *filter, int what, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, uint8_t *fresh, size_t *done)
{
	switch (what) {
	case NIDUS_GO_INSERT:
		return nidus_insert_batch(filter, hashes, n, done);
	case NIDUS_GO_INSERT_NEW:
		return nidus_insert_new_batch(filter, hashes, n, fresh, done);
	case NIDUS_GO_REMOVE:
		return nidus_remove_batch(filter, hashes, n, done);
	case NIDUS_GO_INSERT_VALUE:
		return nidus_insert_value_batch(filter, hashes, values, n, done);
	default:
		return nidus_add_count_batch(filter, hashes, values, n, done);
	}
}

nidus_go_answer nidus_go_change_many(nidus_filter *filter, int what, int kind, const uint64_t *keys,
                                     const uint64_t *values, size_t n, uint8_t *fresh, size_t *done)
{
	uint64_t room[BLOCK];
	nidus_status status = NIDUS_OK;
	*done = 0;
	for (size_t i = 0; i < n && status == NIDUS_OK; i += BLOCK) {
		size_t some = block(n - i), part = 0;
		status = change_block(filter, what, hashes_of(filter, kind, keys + i, some, room),
		                      values ? values + i : NULL, some, fresh ? fresh + i : NULL,
		                      &part);
		*done += part;
	}
	nidus_go_answer answer = told(status);
	if (status ==
	    NIDUS_NOT_FOUND) /* of many it is a failure, and which one it was is all there is to tell */
		answer.reason = strdup(nidus_status_text(status));
	return answer;
}

/* --------------------------------------------------------- whole filters -- */

nidus_go_answer nidus_go_create(const nidus_options *options, nidus_filter **filter)
{
	return told(nidus_create(options, filter));
}

nidus_go_answer nidus_go_clone(const nidus_filter *filter, nidus_filter **copy)
{
	return told(nidus_clone(filter, copy));
}

nidus_go_answer nidus_go_whole(nidus_filter *filter, int what, uint64_t capacity)
{
	switch (what) {
	case NIDUS_GO_CLEAR:
		return told(nidus_clear(filter));
	case NIDUS_GO_GROW:
		return told(nidus_grow(filter, capacity));
	case NIDUS_GO_GROW_RELAXED:
		return told(nidus_grow_relaxed(filter, capacity));
	case NIDUS_GO_SHRINK:
		return told(nidus_shrink(filter, capacity));
	case NIDUS_GO_PACK:
		return told(nidus_pack(filter));
	default:
		return told(nidus_verify(filter, NULL));
	}
}

nidus_go_answer nidus_go_merge(const nidus_filter *const *filters, size_t n, nidus_merge_how how,
                               nidus_filter **merged)
{
	return told(nidus_merge_many(filters, n, how, merged));
}

nidus_go_answer nidus_go_plan(const nidus_options *options, nidus_plan_row *rows, size_t cap,
                              size_t *n)
{
	return told(nidus_plan(options, rows, cap, n));
}

nidus_go_answer nidus_go_family(const char *name, nidus_family *family)
{
	return told(nidus_family_by_name(name, family));
}

size_t nidus_go_next(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entries,
                     size_t cap)
{
	size_t n = 0;
	while (n < cap && nidus_next(filter, cursor, &entries[n]))
		n++;
	return n;
}

/* ---------------------------------------------------------------- builds -- */

typedef struct watch {
	const uint32_t *stop; /* another thread sets it */
	uintptr_t watcher;
	double last; /* when the watcher was told, in seconds */
} watch;

/* Whether a millisecond has gone by since the last time: a call into Go takes more time than the
   library's keys in between. */
static bool due(double *last)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	if (seconds - *last < 0.001)
		return false;
	*last = seconds;
	return true;
}

static bool stops(void *context, double share)
{
	watch *watch = context;
	if (__atomic_load_n(watch->stop, __ATOMIC_RELAXED))
		return true;
	return watch->watcher && due(&watch->last) && nidusGoProgress(watch->watcher, share);
}

nidus_go_answer nidus_go_build(const nidus_options *options, int from, uint64_t *keys, size_t n,
                               uint64_t *others, size_t m, unsigned threads, const uint32_t *stop,
                               uintptr_t watcher, nidus_filter **filter)
{
	watch watch = { .stop = stop, .watcher = watcher };
	nidus_options watched = *options;
	watched.progress = (nidus_progress){ .stop = stops, .context = &watch };
	switch (from) {
	case NIDUS_GO_OF_INTEGERS:
		return told(nidus_build_u64(&watched, keys, n, threads, filter));
	case NIDUS_GO_OF_HASHES:
		return told(nidus_build_hashes(&watched, keys, n, threads, filter));
	case NIDUS_GO_OF_VALUES:
		return told(nidus_build_values(&watched, keys, others, n, threads, filter));
	default:
		return told(nidus_build_exclude(&watched, keys, n, others, m, threads, filter));
	}
}

nidus_go_answer nidus_go_build_like(const nidus_filter *like, uint64_t *hashes, uint64_t *values,
                                    size_t n, bool copies, unsigned threads, const uint32_t *stop,
                                    uintptr_t watcher, nidus_filter **filter)
{
	watch watch = { .stop = stop, .watcher = watcher };
	nidus_progress progress = { .stop = stops, .context = &watch };
	return told(nidus_build_like(like, hashes, values, n, copies, threads, &progress, filter));
}

/* -------------------------------------------------------------- builders -- */

static bool builder_stops(void *context, double share)
{
	nidus_go_builder *builder = context;
	if (__atomic_load_n(&builder->stop, __ATOMIC_RELAXED))
		return true;
	return builder->watcher && due(&builder->told) && nidusGoProgress(builder->watcher, share);
}

nidus_go_answer nidus_go_builder_create(const nidus_options *options, uint64_t memory,
                                        const char *folder, unsigned threads,
                                        nidus_go_builder **builder)
{
	*builder = calloc(1, sizeof **builder);
	if (!*builder)
		return (nidus_go_answer){ .status = NIDUS_E_NOMEM };
	nidus_options watched = *options;
	watched.progress = (nidus_progress){ .stop = builder_stops, .context = *builder };
	nidus_go_answer answer =
		told(nidus_builder_create(&watched, memory, folder, threads, &(*builder)->builder));
	if (answer.status != NIDUS_OK) {
		free(*builder);
		*builder = NULL;
	}
	return answer;
}

void nidus_go_builder_free(nidus_go_builder *builder)
{
	nidus_builder_free(builder->builder);
	free(builder);
}

static nidus_status add(nidus_builder *builder, int kind, const uint64_t *keys,
                        const uint64_t *values, size_t n, size_t *done)
{
	if (values)
		return nidus_builder_add_value_batch(builder, keys, values, n, done);
	if (kind == NIDUS_GO_HASHES)
		return nidus_builder_add_batch(builder, keys, n, done);
	return nidus_builder_add_u64_batch(builder, keys, n, done);
}

nidus_go_answer nidus_go_builder_add(nidus_go_builder *builder, int kind, const uint64_t *keys,
                                     const uint64_t *values, size_t n, size_t *done)
{
	*done = 0;
	return told(add(builder->builder, kind, keys, values, n, done));
}

nidus_go_answer nidus_go_builder_save(nidus_go_builder *builder, const char *path)
{
	return told(nidus_builder_save(builder->builder, path));
}

nidus_go_answer nidus_go_builder_finish(nidus_go_builder *builder, nidus_filter **filter)
{
	return told(nidus_builder_finish(builder->builder, filter));
}

/* ----------------------------------------------- files, memory and streams -- */

nidus_go_answer nidus_go_save(const nidus_filter *filter, const char *path)
{
	return told(nidus_save(filter, path));
}

nidus_go_answer nidus_go_load(const char *path, nidus_filter **filter)
{
	return told(nidus_load(path, filter));
}

nidus_go_answer nidus_go_open(const char *path, unsigned flags, nidus_filter **filter)
{
	return told(nidus_open(path, flags, filter));
}

nidus_go_answer nidus_go_open_buffer(const char *bytes, size_t n, unsigned flags,
                                     nidus_filter **filter)
{
	return told(nidus_open_buffer(bytes, n, flags, filter));
}

nidus_go_answer nidus_go_load_buffer(const char *bytes, size_t n, nidus_filter **filter)
{
	return told(nidus_load_buffer(bytes, n, NULL, filter));
}

nidus_go_answer nidus_go_save_buffer(const nidus_filter *filter, char *bytes, size_t n,
                                     size_t *written)
{
	return told(nidus_save_buffer(filter, bytes, n, written));
}

static int sink(void *context, const void *data, size_t size)
{
	return nidusGoSink((uintptr_t)context, (void *)data, size) ? 0 : EIO;
}

static ptrdiff_t source(void *context, void *data, size_t size)
{
	ptrdiff_t n = (ptrdiff_t)nidusGoSource((uintptr_t)context, data, size);
	return n < 0 ? -EIO : n;
}

nidus_go_answer nidus_go_write(const nidus_filter *filter, uintptr_t stream)
{
	return told(nidus_write(filter, sink, (void *)stream));
}

nidus_go_answer nidus_go_read(uintptr_t stream, nidus_filter **filter)
{
	return told(nidus_read(source, (void *)stream, NULL, filter));
}

/* SPDX-License-Identifier: MIT */
/*
 * What Go calls. A goroutine may go on in another thread after a call, so that whatever a thread knows of a failure,
 * errno and the reason, comes back with the answer. Arguments are flat, since Go lends C no memory that has pointers
 * of Go in it.
 */
#ifndef NIDUS_GO_GLUE_H
#define NIDUS_GO_GLUE_H

#ifdef NIDUS_GO_SYSTEM
#include <nidus.h>
#else
#include "nidus_bundled.h"
#endif
#include <stdlib.h>

/* `reason` is NULL or to be freed; `err` is errno after NIDUS_E_IO. */
typedef struct nidus_go_answer {
	int status, err;
	char *reason;
} nidus_go_answer;

/* What many keys are given as: integers, or hashes of keys of any kind. */
enum { NIDUS_GO_INTEGERS, NIDUS_GO_HASHES };

/* What is to be done with a key, or with many. */
enum {
	NIDUS_GO_INSERT,
	NIDUS_GO_INSERT_NEW,
	NIDUS_GO_REMOVE,
	NIDUS_GO_INSERT_VALUE,
	NIDUS_GO_REMOVE_VALUE,
	NIDUS_GO_REPLACE_VALUE,
	NIDUS_GO_ADD_COUNT
};

/* What is to be done with a filter. */
enum {
	NIDUS_GO_CLEAR,
	NIDUS_GO_GROW,
	NIDUS_GO_GROW_RELAXED,
	NIDUS_GO_SHRINK,
	NIDUS_GO_PACK,
	NIDUS_GO_VERIFY
};

/* What a filter is built from. */
enum { NIDUS_GO_OF_INTEGERS, NIDUS_GO_OF_HASHES, NIDUS_GO_OF_VALUES, NIDUS_GO_OF_TWO_LISTS };

/* Single keys, by their hashes. Other calls need nothing around them. */
nidus_go_answer nidus_go_change(nidus_filter *filter, int what, uint64_t hash, uint64_t value,
                                uint64_t fresh);
nidus_go_answer nidus_go_insert_entry(nidus_filter *filter, uint64_t home, uint64_t fingerprint,
                                      uint64_t value);

/* Many keys. */
void nidus_go_contains_many(const nidus_filter *filter, int kind, const uint64_t *keys, size_t n,
                            uint8_t *yes);
void nidus_go_find_many(const nidus_filter *filter, int kind, const uint64_t *keys, size_t n,
                        uint64_t *first, uint32_t *found);
nidus_go_answer nidus_go_change_many(nidus_filter *filter, int what, int kind, const uint64_t *keys,
                                     const uint64_t *values, size_t n, uint8_t *fresh,
                                     size_t *done);

/* Whole filters. */
nidus_go_answer nidus_go_create(const nidus_options *options, nidus_filter **filter);
nidus_go_answer nidus_go_clone(const nidus_filter *filter, nidus_filter **copy);
nidus_go_answer nidus_go_whole(nidus_filter *filter, int what, uint64_t capacity);
nidus_go_answer nidus_go_merge(const nidus_filter *const *filters, size_t n, nidus_merge_how how,
                               nidus_filter **merged);
nidus_go_answer nidus_go_plan(const nidus_options *options, nidus_plan_row *rows, size_t cap,
                              size_t *n);
nidus_go_answer nidus_go_family(const char *name, nidus_family *family);
size_t nidus_go_next(const nidus_filter *filter, nidus_cursor *cursor, nidus_entry *entries,
                     size_t cap);

/* Builds. `*stop` ends one, and so does a panic in what `watcher` stands for; `watcher` may be 0. */
nidus_go_answer nidus_go_build(const nidus_options *options, int from, uint64_t *keys, size_t n,
                               uint64_t *others, size_t m, unsigned threads, const uint32_t *stop,
                               uintptr_t watcher, nidus_filter **filter);
nidus_go_answer nidus_go_build_like(const nidus_filter *like, uint64_t *hashes, uint64_t *values,
                                    size_t n, bool copies, unsigned threads, const uint32_t *stop,
                                    uintptr_t watcher, nidus_filter **filter);

/* A builder, and what is watched while it builds: `*stop` and `watcher` as above, to be set before each build. */
typedef struct nidus_go_builder {
	nidus_builder *builder;
	uint32_t stop;
	uintptr_t watcher;
	double told; /* when the watcher was told */
} nidus_go_builder;

nidus_go_answer nidus_go_builder_create(const nidus_options *options, uint64_t memory,
                                        const char *folder, unsigned threads,
                                        nidus_go_builder **builder);
void nidus_go_builder_free(nidus_go_builder *builder);
nidus_go_answer nidus_go_builder_add(nidus_go_builder *builder, int kind, const uint64_t *keys,
                                     const uint64_t *values, size_t n, size_t *done);
nidus_go_answer nidus_go_builder_save(nidus_go_builder *builder, const char *path);
nidus_go_answer nidus_go_builder_finish(nidus_go_builder *builder, nidus_filter **filter);

/* Files, memory, and streams that a handle of Go stands for. */
nidus_go_answer nidus_go_save(const nidus_filter *filter, const char *path);
nidus_go_answer nidus_go_load(const char *path, nidus_filter **filter);
nidus_go_answer nidus_go_open(const char *path, unsigned flags, nidus_filter **filter);
nidus_go_answer nidus_go_open_buffer(const char *bytes, size_t n, unsigned flags,
                                     nidus_filter **filter);
nidus_go_answer nidus_go_load_buffer(const char *bytes, size_t n, nidus_filter **filter);
nidus_go_answer nidus_go_save_buffer(const nidus_filter *filter, char *bytes, size_t n,
                                     size_t *written);
nidus_go_answer nidus_go_write(const nidus_filter *filter, uintptr_t stream);
nidus_go_answer nidus_go_read(uintptr_t stream, nidus_filter **filter);

#endif

/* SPDX-License-Identifier: MIT
 *
 * filter: what a nidus_filter is; making and freeing them, for the rest of the API layer.
 */
#ifndef NIDUS_API_FILTER_H
#define NIDUS_API_FILTER_H

#include "api/generations.h"
#include "base/reason.h"
#include "store/file.h"

struct gate;

/*
 * Where the calls on one key go: straight to the body's own operations, or to functions that
 * take care of locks, growth and refusals first (api/keys.c).
 */
struct calls {
	bool (*contains)(const void *body, uint64_t hash);
	nidus_status (*insert)(void *body, uint64_t hash);
	nidus_status (*remove)(void *body, uint64_t hash);
	void (*prefetch)(const void *body, uint64_t hash);
};

/* A filter. The body lies right behind it. */
struct nidus_filter {
	struct calls calls;
	const struct body_ops *ops;
	const struct family *family;
	struct hash_key key;
	struct blueprint plan;
	struct block memory; /* this very struct and the body */
	nidus_allocator allocator;
	struct file_map map; /* of an opened filter: the whole file */
	const unsigned char *table; /* of it: the table, */
	uint64_t table_size;
	uint64_t checksum;   /* and its checksum by the header */
	bool readonly;       /* opened */
	bool keeps_all;      /* made with NIDUS_NO_DELETE */
	uint8_t value_bits;  /* the plan's; threads read it while others make the filter grow */
	bool checked;        /* opened with NIDUS_OPEN_VERIFY */
	struct gate *gate;   /* NULL unless threads share the filter (api/shared.h) */
	struct block gate_memory;
	_Alignas(MEMORY_LINE) unsigned char body[];
};

/* Operations get the body of a filter; the filter lies before it. */
static inline nidus_filter *filter_of(const void *body)
{
	return (nidus_filter *)((uintptr_t)body - offsetof(struct nidus_filter, body));
}

/*
 * Sets filter->calls by the filter's operations and by what is allowed. To be called after any
 * of them changed; the calls of a filter that threads share never change.
 */
void filter_choose_calls(nidus_filter *filter);

/*
 * Makes a filter of a checked plan: an empty one, or one over a mapped table
 * unless that is NULL. Errors: E_NOMEM; *filter is NULL then.
 */
nidus_status filter_make(const struct family *family, const struct blueprint *plan,
                         const nidus_allocator *allocator, unsigned char *table,
                         nidus_filter **filter);

/*
 * Lookups in opened filters do not check the table. Calls that hand its contents on ask
 * here first whether its checksum matches; other filters need no check.
 * Errors: E_CORRUPT.
 */
nidus_status filter_check_mapped(const nidus_filter *filter);

/*
 * Copies an opened filter into an empty one of its plan and checks the copy as
 * nidus_load would: the file itself may change at any time.
 * Errors: E_CORRUPT, E_NOMEM; free the copy then.
 */
nidus_status filter_copy_mapped(nidus_filter *to, const nidus_filter *from);

/*
 * Makes a filter that was just made as large as it is to be at first. Errors: E_NOMEM; it is freed
 * and *filter NULL then.
 */
nidus_status filter_begin(nidus_filter **filter);

/* nidus_clone, for callers that have stopped the filter's threads. */
nidus_status filter_clone(const nidus_filter *filter, nidus_filter **copy);

/* Makes the body of `from` that of `to`, and frees `from`. Both are filters of one plan's size. */
void filter_take_body(nidus_filter *to, nidus_filter *from);

/* The directory that the body of a growing filter is; NULL: it has a fixed size, or none. */
static inline struct directory *filter_directory(const nidus_filter *filter)
{
	return filter->family->grows ? (struct directory *)(uintptr_t)filter->body : NULL;
}

/* The generations that the body of a filter without a size is; NULL: it has one. */
static inline struct generations *filter_generations(const nidus_filter *filter)
{
	return filter->family->unlimited ? (struct generations *)(uintptr_t)filter->body : NULL;
}

/* Keys promised: of a growing filter as many as it has room for by now. */
uint64_t filter_capacity(const nidus_filter *filter);

/* What every call that changes a filter asks first. Errors: E_ARG, E_READONLY. */
nidus_status filter_check_writable(const nidus_filter *filter);

/* The same for calls that remove. Errors: E_ARG, E_READONLY, E_UNSUPPORTED. */
nidus_status filter_check_removable(const nidus_filter *filter);

/* Whether a key can be read. */
static inline bool filter_key_given(const void *key, size_t len)
{
	return key != NULL || len == 0;
}

/* fail, for one that cannot. */
nidus_status filter_no_key(void);

/* fail, for the argument that no call can do without. */
nidus_status filter_null(const char *argument);

#endif

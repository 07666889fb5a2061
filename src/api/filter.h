/* SPDX-License-Identifier: MIT
 *
 * filter: what a nidus_filter is; making and freeing them, for the rest of the API layer.
 */
#ifndef NIDUS_API_FILTER_H
#define NIDUS_API_FILTER_H

#include "base/reason.h"
#include "family/family.h"
#include "store/file.h"

/* What a filter in several parts remembers (api/moving.h). */
struct moving {
	struct nidus_filter *old;   /* its smaller self, not yet empty; NULL: not growing */
	const struct body_ops *ops; /* of the body, while filter->ops are those of all parts */
	uint64_t position;          /* in the smaller body: what lies before has moved */
	uint64_t places;            /* to move per turn */
	uint32_t inserts;           /* until the next turn */
	bool returning;             /* entries of the overflow list are tried again, */
	nidus_entry returned;       /* and those up to this one have been */
	struct overflow overflow;   /* what the body had no place for */
	uint32_t uncounted;         /* what a file says of struct turns (api/shared.h): kept */
	int64_t left;               /* here for a filter that has none */
};

struct gate;
struct turns;

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
	uint64_t checksum;   /* of its table, by its header */
	bool readonly;       /* opened */
	bool keeps_all;      /* made with NIDUS_NO_DELETE */
	uint8_t value_bits;  /* the plan's; threads read it while others make the filter grow */
	bool checked;        /* opened with NIDUS_OPEN_VERIFY */
	bool grows;          /* by itself, or did so up to plan.max_capacity */
	uint64_t room;       /* so many inserts, at least, before the capacity is reached */
	struct moving moving;
	struct gate *gate;   /* NULL unless threads share the filter (api/shared.h) */
	struct turns *turns; /* beside the gate */
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

/* nidus_clone, for callers that have stopped the filter's threads. */
nidus_status filter_clone(const nidus_filter *filter, nidus_filter **copy);

/*
 * Exchanges the bodies and plans of two filters of one family. Their operations do not
 * fit then: see moving_choose_ops.
 */
void filter_swap(nidus_filter *a, nidus_filter *b);

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

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

/* What only a filter has that was opened. */
struct opened {
	struct file_map map;        /* the whole file */
	const unsigned char *table; /* the table in it, */
	uint64_t table_size;
	uint64_t checksum; /* and its checksum by the header */
	bool checked;      /* opened with NIDUS_OPEN_VERIFY */
};

/*
 * A filter. The body lies right behind it, and behind that what an opened one has. One that can
 * grow has room for a directory alone: so those of few keys are small. If it becomes one of fixed
 * size, which needs more, the body stays in the memory of the filter that it was made in.
 */
struct nidus_filter {
	/*
	 * Where contains, insert and remove of one key go to: straight to the body's own
	 * operations, through the gate, or to a body that is elsewhere (api/keys.c).
	 */
	const struct body_ops *front;
	const struct body_ops *ops;
	const struct family *family;
	struct gate *gate; /* NULL unless threads share the filter (api/shared.h) */
	union {
		struct ground ground; /* all three, as directories know them */
		struct {
			struct hash_key key;
			struct blueprint plan;
			nidus_allocator allocator;
		};
	};
	uint32_t whole_size; /* of the memory of all this, */
	uint8_t skipped;     /* which begins so many bytes before it */
	uint8_t value_bits;  /* the plan's; threads read it while others make the filter grow */
	bool readonly : 1;   /* opened */
	bool keeps_all : 1;  /* made with NIDUS_NO_DELETE */
	bool apart;          /* what lies behind is a struct apart */
	_Alignas(void *) unsigned char body[];
};

_Static_assert(offsetof(struct nidus_filter, key) == offsetof(struct nidus_filter, ground) +
                                                             offsetof(struct ground, key) &&
                       offsetof(struct nidus_filter, plan) ==
                               offsetof(struct nidus_filter, ground) +
                                       offsetof(struct ground, plan) &&
                       offsetof(struct nidus_filter, allocator) ==
                               offsetof(struct nidus_filter, ground) +
                                       offsetof(struct ground, allocator),
               "two names of the same");

_Static_assert(sizeof(struct nidus_filter) + sizeof(struct directory) <= 256,
               "a filter of few keys is small");
_Static_assert(sizeof(struct generations) <= sizeof(struct directory) + 24,
               "one without a size, too");

/* A body that is elsewhere, and the memory it is in. */
struct apart {
	void *body;
	struct block memory;
};

static inline void *filter_body(const nidus_filter *filter)
{
	void *behind = (void *)(uintptr_t)filter->body;
	return UNLIKELY(filter->apart) ? ((struct apart *)behind)->body : behind;
}

/* Operations of `front` get what lies behind the filter. */
static inline nidus_filter *filter_of(const void *body)
{
	return (nidus_filter *)((uintptr_t)body - offsetof(struct nidus_filter, body));
}

/*
 * Sets filter->front. To be called after the operations changed; that of a filter that threads
 * share never changes.
 */
void filter_choose_front(nidus_filter *filter);

/*
 * Makes a filter of a checked plan: an empty one, or one over a mapped table
 * unless that is NULL. Errors: E_NOMEM; *filter is NULL then.
 */
nidus_status filter_make(const struct family *family, const struct blueprint *plan,
                         const nidus_allocator *allocator, unsigned char *table,
                         nidus_filter **filter);

/* What a filter that was opened has. */
struct opened *filter_opened(const nidus_filter *filter);

/* For callers that are done with a filter for now: what it has of a file need not stay in memory. */
void filter_forget_map(const nidus_filter *filter);

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

/* SPDX-License-Identifier: MIT
 *
 * What the files of the PostgreSQL extension share: values and their filters, keys, and
 * the filters that a query keeps. Nothing of it is visible outside the module.
 */
#ifndef NIDUS_PG_H
#define NIDUS_PG_H

#include "postgres.h"

#include "fmgr.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "nidus.h"

#pragma GCC visibility push(hidden)

/* Filters without a capacity begin with room for so many keys, and may grow to so many. */
#define KEYS_AT_FIRST 256
#define KEYS_AT_MOST (UINT64_C(1) << 30)
#define DEFAULT_FPR 0.01

/* ------------------------------------------------------------------- errors -- */

/* The SQLSTATE of a failure. */
int sqlstate_of(nidus_status status);

/* Ends the query with the library's own words, unless all is well. */
void check(nidus_status status);

/* --------------------------------------------------------------------- keys -- */

/*
 * The types of keys that filters tell apart; the numbers are part of values. All
 * integers are one type, and so are the strings that become text by themselves.
 */
enum key_kind {
	KIND_ANY = 0, /* of an empty filter: its first key decides */
	KIND_BIGINT,
	KIND_TEXT,
	KIND_BYTEA,
	KIND_UUID,
	KIND_NUMERIC,
	KIND_DATE,
	KIND_TIMESTAMP,
	KIND_TIMESTAMPTZ,
	KIND_INET,
	KINDS
};

/* "bigint", "text", and so on; "any" for KIND_ANY. */
const char *kind_name(enum key_kind kind);

/* The kind of that name, or KINDS. */
enum key_kind kind_by_name(const char *name, size_t len);

/* The kind of an SQL type, or KINDS if its values cannot be keys. */
enum key_kind find_kind(Oid type);

/* The same; ends the query if they cannot. */
enum key_kind kind_of_type(Oid type);

/* How a function reads the keys it is given, found out once per query. */
struct key_reader {
	Oid type;            /* of the argument; 0: not set up yet */
	enum key_kind kind;  /* the kind of that type */
	enum key_kind other; /* the kind that `input` reads texts for */
	FmgrInfo input;
	Oid input_param;
	MemoryContext context; /* where `input` keeps what it needs */
};

/* Sets a reader up for one argument of the running function, if that has not been done. */
void prepare_reader(struct key_reader *reader, FunctionCallInfo fcinfo, int argument,
                    MemoryContext context);

/*
 * The hash of a key for a filter of a kind. A text for a filter of another kind is read
 * by that type's input function: the server makes text of what a driver sends without a
 * type. Every other difference of kinds ends the query.
 */
uint64_t hash_key(struct key_reader *reader, const nidus_filter *filter, enum key_kind kind,
                  Datum key);

/* ------------------------------------------------------------------- values -- */

/* A filter in memory and the kind of its keys. */
struct typed_filter {
	nidus_filter *filter;
	enum key_kind kind;
};

/* The bytes of a value: where its saved filter lies, and the kind of its keys. */
struct value_parts {
	const void *bytes;
	size_t size;
	enum key_kind kind;
};

/* The capacity that is an argument; 0 if it is NULL or left out. */
int64 capacity_argument(FunctionCallInfo fcinfo, int argument);

/* An empty filter in a memory context. A capacity of 0 means one that grows. */
nidus_filter *new_filter(double fpr, int64 capacity, MemoryContext context);

/* Takes a plain value apart; ends the query if it is none. */
struct value_parts parts_of(const struct varlena *value);

/* Loads a value and checks all of it. */
struct typed_filter from_value(const struct varlena *value, MemoryContext context);

/* Opens a plain value in place, for as long as that lasts; the caller frees the filter. */
struct typed_filter open_plain(const struct varlena *value);

/* A filter as a value, in the current context. */
bytea *to_value(struct typed_filter typed);

/* The kind of keys that two filters have in common; ends the query if they have none. */
enum key_kind common_kind(enum key_kind a, enum key_kind b);

/* ------------------------------------------------------------- kept filters -- */

/* What a lookup keeps in fn_extra: filters it has opened, and how it reads keys. */
struct kept;

struct kept *kept_of(FmgrInfo *function);
struct key_reader *kept_reader(struct kept *kept);

/* The filter of a value, opened; it stays the query's, until the next call. */
struct typed_filter open_value(struct kept *kept, Datum datum);

#pragma GCC visibility pop
#endif

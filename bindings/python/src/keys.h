/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_PYTHON_KEYS_H
#define NIDUS_PYTHON_KEYS_H

/** @file keys.h  Python objects as keys: one at a time, and columns of many. */

#include "binding.h"

/** Keys that are hashed and handed to the library at a time. */
#define KEYS_BLOCK 4096

/** One key: an integer, or bytes that belong to the Python object. */
struct key {
	const char *bytes; /* NULL: an integer */
	Py_ssize_t length;
	uint64_t number;
};

/** A whole number from 0 on; RangeError if it is negative or needs more than 64 bits. */
int number_from(PyObject *object, uint64_t *number);

/**
 * A str, bytes, bytearray or integer; what has __index__ is an integer too, and may run Python code.
 * The bytes of a bytearray are right only until other Python code runs.
 */
int key_of(PyObject *object, struct key *key);

/** The hash of a key, when the filter can be used so. */
int key_hash_for(struct filter_object *self, PyObject *object, enum guard_use use, uint64_t *hash);

static inline uint64_t key_hash(const nidus_filter *filter, const struct key *key)
{
	return key->bytes ? nidus_hash(filter, key->bytes, (size_t)key->length)
	                  : nidus_hash_u64(filter, key->number);
}

enum column_kind {
	COLUMN_INTEGERS,
	COLUMN_BYTES,   /* of fixed width, without the NULs at their ends */
	COLUMN_TEXT,    /* code points of 32 bits, in the same way */
	COLUMN_HASHES,  /* one per key, or the numbers themselves */
	COLUMN_FIXED,   /* of Arrow: bytes of fixed width, */
	COLUMN_STRINGS, /* bytes between offsets of `width` bytes, */
	COLUMN_VIEWS,   /* bytes here or elsewhere, */
	COLUMN_BITS,    /* booleans, */
	COLUMN_PARTS    /* several pieces */
};

#define COLUMN_VIEW_INLINE 12 /* bytes that a view holds itself */

/**
 * Many keys. An array is looked at in place, through its buffer or the Arrow interface; the keys of any
 * other iterable are hashed when the column is opened, so that no Python code runs afterwards.
 */
struct column {
	enum column_kind kind;
	size_t n;
	Py_buffer view; /* obj NULL: there is none */
	const char *data;
	Py_ssize_t stride;
	size_t width;     /* bytes of an item */
	bool is_signed;   /* integers */
	bool swapped;     /* the other byte order */
	char *text;       /* of COLUMN_TEXT: room for an item in UTF-8 */
	uint64_t *hashes; /* of COLUMN_HASHES */
	PyObject *mask;   /* of a masked array, whose other items are the column; NULL: none */
	/* Of Arrow arrays: */
	struct arrow *arrow;  /* who owns the memory; NULL: it is none */
	const void *offsets;  /* of COLUMN_STRINGS */
	const void **buffers; /* of COLUMN_VIEWS */
	size_t first_bit;     /* of COLUMN_BITS */
	struct column *parts; /* of COLUMN_PARTS */
	size_t n_parts;
	bool numbers; /* COLUMN_PARTS of integers or bits */
	size_t start; /* of a part: keys before it */
};

/**
 * Opens a column of whole numbers, values or counts: an array of integers or an iterable of them.
 * The same column_close is due if it answers 0.
 */
int column_open_numbers(struct column *column, PyObject *numbers);

/** n numbers, at most KEYS_BLOCK, from the one at `start` on, in `room` or where they are. No GIL. */
const uint64_t *column_numbers(const struct column *column, size_t start, size_t n, uint64_t *room);

/** Where string i of COLUMN_STRINGS begins, and the one before it ends. */
int64_t column_offset(const struct column *column, size_t i);

/** Opens the column for hashing under the filter's seed; column_close is due if it answers 0. */
int column_open(struct column *column, PyObject *keys, struct filter_object *hasher);
void column_close(struct column *column);

/** The keys as they are in memory, if they are what nidus_build_u64 takes; otherwise NULL. */
const uint64_t *column_plain(const struct column *column);

/**
 * The hashes of n keys, at most KEYS_BLOCK, from the one at `start` on, in `room` or where they are.
 * Needs no GIL.
 */
const uint64_t *column_hash(const struct column *column, const nidus_filter *filter, size_t start,
                            size_t n, uint64_t *room);

#endif

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

/** A str, bytes or integer; what has __index__ is an integer too, and may run Python code. */
int key_of(PyObject *object, struct key *key);

static inline uint64_t key_hash(const nidus_filter *filter, const struct key *key)
{
	return key->bytes ? nidus_hash(filter, key->bytes, (size_t)key->length)
	                  : nidus_hash_u64(filter, key->number);
}

/**
 * Many keys. An array is looked at in place, through its buffer; the keys of any other iterable are
 * hashed when the column is opened, so that no Python code runs afterwards.
 */
struct column {
	enum { COLUMN_INTEGERS, COLUMN_BYTES, COLUMN_TEXT, COLUMN_HASHES } kind;
	size_t n;
	Py_buffer view; /* obj NULL: there is none */
	const char *data;
	Py_ssize_t stride;
	size_t width;     /* bytes of an item */
	bool is_signed;   /* integers */
	bool swapped;     /* the other byte order */
	char *text;       /* of COLUMN_TEXT: room for an item in UTF-8 */
	uint64_t *hashes; /* of COLUMN_HASHES: one per key, or the numbers themselves */
};

/**
 * Opens a column of whole numbers, values or counts: an array of integers or an iterable of them.
 * The same column_close is due if it answers 0.
 */
int column_open_numbers(struct column *column, PyObject *numbers);

/** n numbers, at most KEYS_BLOCK, from the one at `start` on, in `room` or where they are. No GIL. */
const uint64_t *column_numbers(const struct column *column, size_t start, size_t n, uint64_t *room);

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

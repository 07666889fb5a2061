/* SPDX-License-Identifier: MIT
 *
 * ops: what can be done with the body of a filter, whatever its layout.
 *
 * A layout fills one such table per specialisation (slot width, instruction
 * set); create picks the table once, and every call goes through it with the
 * body (a struct nest or its like) as first argument. Arguments were checked
 * at the API's edge. NULL stands for what a layout cannot do.
 */
#ifndef NIDUS_BASE_OPS_H
#define NIDUS_BASE_OPS_H

#include "nidus.h"

#include <assert.h>

/* What to do with the value of an entry of a key. */
struct value_change {
	enum {
		VALUE_REMOVE,  /* the entry with the value `old` goes */
		VALUE_REPLACE, /* it gets the value `fresh` */
		VALUE_ADD,     /* an entry, whatever its value is, gets `fresh` more, or the
		                * highest value if that is less */
	} what;
	uint64_t old, fresh;
};

struct body_ops {
	bool (*contains)(const void *body, uint64_t hash);
	/* The same in two steps (base/probe.h): the first asks for the lines and does not wait. */
	void (*prepare)(const void *body, uint64_t hash, nidus_probe *probe);
	bool (*ask)(const void *body, const nidus_probe *probe);
	uint64_t (*count)(const void *body, uint64_t hash);
	/* How many entries of a key there are; writes the values of the first `cap`. */
	size_t (*find)(const void *body, uint64_t hash, uint64_t *values, size_t cap);
	nidus_status (*insert)(void *body, uint64_t hash); /* with the value 0 */
	nidus_status (*insert_value)(void *body, uint64_t hash, uint64_t value);
	/* Only if contains() says no, in one step. NULL: contains, then insert. */
	nidus_status (*insert_new)(void *body, uint64_t hash);
	nidus_status (*remove)(void *body, uint64_t hash); /* whatever its value is */
	/* Errors: NOT_FOUND. */
	nidus_status (*change)(void *body, uint64_t hash, struct value_change change);
	/* VALUE_ADD, or insert_value if there is no entry, in one step. NULL: change, then that. */
	nidus_status (*add)(void *body, uint64_t hash, uint64_t value);
	void (*contains_batch)(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes);
	/* How many entries each key has, and the first's value; 0 without any. */
	void (*find_batch)(const void *body, const uint64_t *hashes, size_t n, uint64_t *first,
	                   uint32_t *found);
	/*
	 * Both in input order up to the first failure; *done is always set. `values` may be
	 * NULL: all are 0 then. Inserts into a growing filter that threads share may stop earlier:
	 * where a segment has to be split (api/directory.h).
	 */
	nidus_status (*insert_batch)(void *body, const uint64_t *hashes, const uint64_t *values,
	                             size_t n, size_t *done);
	nidus_status (*remove_batch)(void *body, const uint64_t *hashes, size_t n, size_t *done);
	/*
	 * Batches of keys of different bodies of one growing filter, all with these operations:
	 * bodies[i] is the one of hashes[i]. NULL where bodies are whole filters only.
	 */
	void (*contains_each)(const void *const *bodies, const uint64_t *hashes, size_t n,
	                      uint8_t *yes);
	/* find_batch in the same way; NULL in yards. */
	void (*find_each)(const void *const *bodies, const uint64_t *hashes, size_t n,
	                  uint64_t *first, uint32_t *found);
	nidus_status (*insert_each)(void *const *bodies, const uint64_t *hashes,
	                            const uint64_t *values, size_t n, size_t *done);
	nidus_status (*remove_each)(void *const *bodies, const uint64_t *hashes, size_t n,
	                            size_t *done);
	/*
	 * Bulk builds of nests: insert for every step-th of n hashes (n > 0) of one chunk,
	 * which lies in the cache; up to the first failure.
	 */
	nidus_status (*insert_near)(void *body, const uint64_t *hashes, const uint64_t *values,
	                            size_t n, size_t step);
};

/* insert or insert_value: bodies without values have only the first. */
static inline nidus_status body_insert(const struct body_ops *ops, void *body, uint64_t hash,
                                       uint64_t value)
{
	return value == 0 ? ops->insert(body, hash) : ops->insert_value(body, hash, value);
}

/* The values from number `from` on, if there are any. */
static inline const uint64_t *values_from(const uint64_t *values, size_t from)
{
	return values != NULL ? values + from : NULL;
}

/* How many values there are before the first that has more than so many bits. */
static inline size_t values_fitting(const uint64_t *values, size_t n, unsigned bits)
{
	size_t i = 0;
	assert(bits < 64);
	for (; n - i >= 4; i += 4) {
		if ((values[i] | values[i + 1] | values[i + 2] | values[i + 3]) >> bits != 0)
			break;
	}
	while (i < n && values[i] >> bits == 0)
		i++;
	return i;
}

/* What VALUE_ADD makes of a value of so many bits. */
static inline uint64_t value_sum(uint64_t value, uint64_t more, unsigned bits)
{
	assert(bits < 64 && value >> bits == 0);
	uint64_t most = (UINT64_C(1) << bits) - 1;
	return more < most - value ? value + more : most;
}

#endif

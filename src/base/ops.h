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

struct body_ops {
	bool (*contains)(const void *body, uint64_t hash);
	uint64_t (*count)(const void *body, uint64_t hash);
	nidus_status (*insert)(void *body, uint64_t hash);
	/* Only if contains() says no, in one step. NULL: contains, then insert. */
	nidus_status (*insert_new)(void *body, uint64_t hash);
	nidus_status (*remove)(void *body, uint64_t hash);
	void (*contains_batch)(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes);
	/* Both in input order up to the first failure; *done is always set. */
	nidus_status (*insert_batch)(void *body, const uint64_t *hashes, size_t n, size_t *done);
	nidus_status (*remove_batch)(void *body, const uint64_t *hashes, size_t n, size_t *done);
	/*
	 * Bulk builds of nests: insert for every step-th of n hashes (n > 0) of one chunk,
	 * which lies in the cache; up to the first failure.
	 */
	nidus_status (*insert_near)(void *body, const uint64_t *hashes, size_t n, size_t step);
};

#endif

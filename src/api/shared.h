/* SPDX-License-Identifier: MIT
 *
 * shared: filters that several threads use at once (NIDUS_CONCURRENT).
 *
 * The body's own operations are safe among themselves (nest/shared.h and its
 * like). What they cannot stand is a body that is swapped, rebuilt or read as a
 * whole. So every call passes the filter's gate (base/gate.h): lookups as
 * visitors, changes of single keys as workers; walks, saves and the like close it
 * to workers, growth closes it to all.
 *
 * A filter that grows does so with the gate closed, one segment at a time: a thread that meets one
 * that is due closes it and splits that (api/directory.h).
 *
 * A filter without the flag has no gate, and pays one look at a pointer.
 */
#ifndef NIDUS_API_SHARED_H
#define NIDUS_API_SHARED_H

#include "api/filter.h"
#include "base/gate.h"

/* Gives a filter its gate. Errors: E_NOMEM. */
nidus_status shared_make(nidus_filter *filter);
void shared_unmake(nidus_filter *filter);

/* The calls on single keys and batches, for filters that have a gate. */
bool shared_contains(const nidus_filter *filter, uint64_t hash);
uint64_t shared_count(const nidus_filter *filter, uint64_t hash);
void shared_contains_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                           uint8_t *yes);
size_t shared_find(const nidus_filter *filter, uint64_t hash, uint64_t *values, size_t cap);
void shared_find_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                       uint64_t *first, uint32_t *found);
void shared_prepare(const nidus_filter *filter, uint64_t hash, nidus_probe *probe);
bool shared_ask(const nidus_filter *filter, const nidus_probe *probe);
uint64_t shared_size(const nidus_filter *filter);
nidus_status shared_insert(nidus_filter *filter, uint64_t hash, uint64_t value);
nidus_status shared_insert_new(nidus_filter *filter, uint64_t hash);
nidus_status shared_remove(nidus_filter *filter, uint64_t hash);
nidus_status shared_change(nidus_filter *filter, uint64_t hash, struct value_change change);
nidus_status shared_add(nidus_filter *filter, uint64_t hash, uint64_t value);
nidus_status shared_insert_batch(nidus_filter *filter, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, size_t *done);
nidus_status shared_remove_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                 size_t *done);

/* Between the two no call changes the filter; if `all`, none is inside. Free without a gate. */
static inline void shared_stop(const nidus_filter *filter, bool all)
{
	if (filter->gate != NULL)
		gate_close(filter->gate, all);
}

static inline void shared_go_on(const nidus_filter *filter)
{
	if (filter->gate != NULL)
		gate_open(filter->gate);
}

#endif

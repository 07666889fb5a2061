/* SPDX-License-Identifier: MIT
 *
 * shared: calls through the gate.
 */
#include "api/shared.h"

#define LOOKUPS_AT_ONCE 4096 /* keys of a batch per pass through the gate */
#define CHANGES_AT_ONCE 256

/* The gate of a filter, and its memory. */
struct gate_and_memory {
	struct gate gate;
	struct block memory;
};

nidus_status shared_make(nidus_filter *filter)
{
	struct block memory;
	nidus_status status =
		memory_take(&filter->allocator, sizeof(struct gate_and_memory), &memory);
	if (status != NIDUS_OK)
		return status;
	struct gate_and_memory *made = (struct gate_and_memory *)(void *)memory.bytes;
	if (!gate_make(&made->gate)) {
		memory_give(&filter->allocator, &memory);
		return fail(NIDUS_E_NOMEM, "the system has no room for another lock");
	}
	made->memory = memory;
	filter->gate = &made->gate;
	return NIDUS_OK;
}

void shared_unmake(nidus_filter *filter)
{
	if (filter->gate == NULL)
		return;
	struct block memory = ((struct gate_and_memory *)filter->gate)->memory;
	gate_unmake(filter->gate);
	memory_give(&filter->allocator, &memory);
	filter->gate = NULL;
}

/* -------------------------------------------------------------------- lookups -- */

bool shared_contains(const nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	bool yes = filter->ops->contains(filter_body(filter), hash);
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return yes;
}

uint64_t shared_count(const nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	uint64_t count = filter->ops->count(filter_body(filter), hash);
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return count;
}

void shared_contains_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                           uint8_t *yes)
{
	for (size_t from = 0; from < n; from += LOOKUPS_AT_ONCE) {
		size_t some = n - from < LOOKUPS_AT_ONCE ? n - from : LOOKUPS_AT_ONCE;
		struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
		filter->ops->contains_batch(filter_body(filter), hashes + from, some, yes + from);
		gate_leave(filter->gate, GATE_VISITORS, pass);
	}
}

size_t shared_find(const nidus_filter *filter, uint64_t hash, uint64_t *values, size_t cap)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	size_t found = filter->ops->find(filter_body(filter), hash, values, cap);
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return found;
}

void shared_find_batch(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                       uint64_t *first, uint32_t *found)
{
	for (size_t from = 0; from < n; from += LOOKUPS_AT_ONCE) {
		size_t some = n - from < LOOKUPS_AT_ONCE ? n - from : LOOKUPS_AT_ONCE;
		struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
		filter->ops->find_batch(filter_body(filter), hashes + from, some, first + from,
		                        found + from);
		gate_leave(filter->gate, GATE_VISITORS, pass);
	}
}

void shared_prepare(const nidus_filter *filter, uint64_t hash, nidus_probe *probe)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	filter->ops->prepare(filter_body(filter), hash, probe);
	gate_leave(filter->gate, GATE_VISITORS, pass);
}

bool shared_ask(const nidus_filter *filter, const nidus_probe *probe)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	bool yes = filter->ops->ask(filter_body(filter), probe);
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return yes;
}

uint64_t shared_size(const nidus_filter *filter)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_VISITORS);
	uint64_t count = filter->family->count(filter_body(filter));
	gate_leave(filter->gate, GATE_VISITORS, pass);
	return count;
}

/* -------------------------------------------------------------------- changes -- */

/* After inserts: splits segments that are due, with the filter for itself. */
static void look_after_growth(nidus_filter *filter)
{
	struct directory *directory = filter_directory(filter);
	struct generations *generations = filter_generations(filter);
	if (directory != NULL && __atomic_load_n(&directory->due, __ATOMIC_RELAXED)) {
		gate_close(filter->gate, true);
		directory_look_after(directory);
		gate_open(filter->gate);
	}
	if (UNLIKELY(generations != NULL) && generations_due(generations)) {
		gate_close(filter->gate, true);
		generations_look_after(generations);
		gate_open(filter->gate);
	}
}

nidus_status shared_insert(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	nidus_status status = body_insert(filter->ops, filter_body(filter), hash, value);
	gate_leave(filter->gate, GATE_WORKERS, pass);
	look_after_growth(filter);
	return status;
}

nidus_status shared_insert_new(nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	nidus_status status = filter->ops->insert_new(filter_body(filter), hash);
	gate_leave(filter->gate, GATE_WORKERS, pass);
	look_after_growth(filter);
	return status;
}

nidus_status shared_add(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	nidus_status status = filter->ops->add(filter_body(filter), hash, value);
	gate_leave(filter->gate, GATE_WORKERS, pass);
	look_after_growth(filter);
	return status;
}

nidus_status shared_remove(nidus_filter *filter, uint64_t hash)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	nidus_status status = filter->ops->remove(filter_body(filter), hash);
	gate_leave(filter->gate, GATE_WORKERS, pass);
	return status;
}

nidus_status shared_change(nidus_filter *filter, uint64_t hash, struct value_change change)
{
	struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
	nidus_status status = filter->ops->change(filter_body(filter), hash, change);
	gate_leave(filter->gate, GATE_WORKERS, pass);
	return status;
}

nidus_status shared_insert_batch(nidus_filter *filter, const uint64_t *hashes,
                                 const uint64_t *values, size_t n, size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < CHANGES_AT_ONCE ? n - *done : CHANGES_AT_ONCE, in = 0;
		struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
		status = filter->ops->insert_batch(filter_body(filter), hashes + *done,
		                                   values_from(values, *done), some, &in);
		gate_leave(filter->gate, GATE_WORKERS, pass);
		*done += in;
		look_after_growth(filter);
	}
	return status;
}

nidus_status shared_remove_batch(nidus_filter *filter, const uint64_t *hashes, size_t n,
                                 size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < CHANGES_AT_ONCE ? n - *done : CHANGES_AT_ONCE, out = 0;
		struct gate_pass pass = gate_enter(filter->gate, GATE_WORKERS);
		status = filter->ops->remove_batch(filter_body(filter), hashes + *done, some, &out);
		gate_leave(filter->gate, GATE_WORKERS, pass);
		*done += out;
	}
	return status;
}

/* SPDX-License-Identifier: MIT
 *
 * hash_sort: partition, then sort every part while it is in the cache.
 *
 * Parts have so few hashes that one and the room to sort it stay in a core's
 * second-level cache. A part that is much larger than the others (the numbers are no
 * hashes, or most are equal) is sorted in place, slower.
 */
#include "base/hash_sort.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "base/reason.h"
#include "base/sort.h"
#include "base/thread.h"

#define PART_HASHES ((size_t)1 << 14) /* about so many are a part, */
#define ONE_PART ((size_t)1 << 16)    /* but up to here they are not worth parting */

struct ascent {
	uint64_t *hashes;
	unsigned bits;
	bool unique;
	size_t *end;    /* of the parts, */
	size_t *kept;   /* and how many of each are left */
	uint64_t *room; /* [threads][room_size] */
	size_t room_size;
	atomic_size_t next; /* the first part not taken yet */
};

/* Sorts n hashes that agree in their highest bits; gives how many are left. */
static size_t sort_some(const struct ascent *ascent, uint64_t *hashes, size_t n, uint64_t *room)
{
	bool equal = true;
	if (n <= ascent->room_size)
		equal = sort_hashes(hashes, n, ascent->bits, room);
	else
		sort_u64(hashes, n);
	return ascent->unique && equal ? sort_unique_u64(hashes, n) : n;
}

static void sort_part(const struct ascent *ascent, size_t part, uint64_t *room)
{
	size_t start = part == 0 ? 0 : ascent->end[part - 1], n = ascent->end[part] - start;
	ascent->kept[part] = sort_some(ascent, ascent->hashes + start, n, room);
}

static void sort_parts(void *context, unsigned share)
{
	struct ascent *ascent = context;
	uint64_t *room = ascent->room + share * ascent->room_size;
	size_t part;
	while ((part = atomic_fetch_add(&ascent->next, 1)) >> ascent->bits == 0)
		sort_part(ascent, part, room);
}

/* Moves the parts together where hashes were dropped. */
static size_t close_gaps(const struct ascent *ascent)
{
	size_t left = 0;
	for (size_t part = 0; part >> ascent->bits == 0; part++) {
		size_t start = part == 0 ? 0 : ascent->end[part - 1];
		if (left != start)
			memmove(ascent->hashes + left, ascent->hashes + start,
			        ascent->kept[part] * sizeof *ascent->hashes);
		left += ascent->kept[part];
	}
	return left;
}

/* Sorts the parts that partition_scatter left; each moves up while it is in the cache. */
static size_t sort_scattered(const struct ascent *ascent, size_t spacing)
{
	size_t left = 0;
	for (size_t part = 0; part >> ascent->bits == 0; part++) {
		size_t start = part * spacing;
		uint64_t *hashes = ascent->hashes + start;
		size_t kept = sort_some(ascent, hashes, ascent->end[part] - start, ascent->room);
		memmove(ascent->hashes + left, hashes, kept * sizeof *hashes);
		left += kept;
	}
	return left;
}

static unsigned bits_for(size_t n)
{
	unsigned bits = log2_floor(n / PART_HASHES) + 1;
	return bits < PARTITION_BITS_MOST ? bits : PARTITION_BITS_MOST;
}

/*
 * Takes memory for the ends of the parts, for room to sort them and, at the same
 * place, for `spread` bytes of something that is over before.
 */
static nidus_status take_work(struct ascent *ascent, size_t n, unsigned threads, size_t spread,
                              const nidus_allocator *allocator, struct block *work)
{
	size_t parts = (size_t)1 << ascent->bits;
	ascent->room_size = 2 * (n >> ascent->bits);
	size_t room = threads * ascent->room_size * sizeof *ascent->room;
	size_t most = spread > room ? spread : room;
	nidus_status status = memory_take(allocator, most + 2 * parts * sizeof *ascent->end, work);
	if (status != NIDUS_OK)
		return status;
	ascent->room = (uint64_t *)(void *)work->bytes;
	ascent->end = (size_t *)(void *)(work->bytes + most);
	ascent->kept = ascent->end + parts;
	return NIDUS_OK;
}

nidus_status hash_sort_in_place(uint64_t *hashes, size_t n, bool unique, unsigned threads,
                                const nidus_allocator *allocator, size_t *left)
{
	if (n <= ONE_PART) {
		sort_u64(hashes, n);
		*left = unique ? sort_unique_u64(hashes, n) : n;
		return NIDUS_OK;
	}
	struct ascent ascent = { .hashes = hashes, .unique = unique };
	struct block work;
	threads = threads_wanted(threads);
	ascent.bits = 64 - SORT_TOP_SHIFT;
	nidus_status status = take_work(&ascent, n, threads, 0, allocator, &work);
	if (status != NIDUS_OK)
		return status;
	sort_part_u64(hashes, n, SORT_TOP_SHIFT, ascent.end);
	threads_run(threads, sort_parts, &ascent);
	*left = close_gaps(&ascent);
	memory_give(allocator, &work);
	return NIDUS_OK;
}

static nidus_status hash_sort_many(const struct hash_source *source, unsigned threads,
                                   const nidus_allocator *allocator, struct ascent *ascent,
                                   size_t *left)
{
	struct block work;
	nidus_status status =
		take_work(ascent, source->n, threads, partition_work_size(ascent->bits, threads),
	                  allocator, &work);
	if (status != NIDUS_OK)
		return status;
	size_t spacing = partition_spacing(source->n, ascent->bits);
	if (threads == 1 && partition_scatter(source, ascent->bits, spacing, work.bytes,
	                                      ascent->hashes, ascent->end)) {
		*left = sort_scattered(ascent, spacing);
	} else {
		partition_spread(source, ascent->bits, threads, work.bytes, ascent->hashes,
		                 ascent->end);
		threads_run(threads, sort_parts, ascent);
		*left = close_gaps(ascent);
	}
	memory_give(allocator, &work);
	return NIDUS_OK;
}

nidus_status hash_sort(const struct hash_source *source, bool unique, unsigned threads,
                       const nidus_allocator *allocator, struct block *block, size_t *left)
{
	struct ascent ascent = { .unique = unique };
	size_t places = source->n;
	threads = threads_wanted(threads);
	if (source->n > ONE_PART) {
		ascent.bits = bits_for(source->n);
		if (threads == 1)
			places = partition_spacing(source->n, ascent.bits) << ascent.bits;
	}
	uint64_t size;
	if (multiply_overflows(places, sizeof(uint64_t), &size))
		return fail(NIDUS_E_NOMEM, "no memory for the hashes of %zu keys", source->n);
	nidus_status status = memory_take(allocator, size, block);
	if (status != NIDUS_OK)
		return status;
	ascent.hashes = (uint64_t *)(void *)block->bytes;
	if (source->n <= ONE_PART) {
		source->read(source->context, 0, source->n, ascent.hashes);
		return hash_sort_in_place(ascent.hashes, source->n, unique, 1, allocator, left);
	}
	status = hash_sort_many(source, threads, allocator, &ascent, left);
	if (status != NIDUS_OK)
		memory_give(allocator, block);
	return status;
}

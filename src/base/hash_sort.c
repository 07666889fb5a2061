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
#include "base/watch.h"

#define PART_HASHES ((size_t)1 << 14) /* about so many are a part, */
#define ONE_PART ((size_t)1 << 16)    /* but up to here they are not worth parting */

struct ascent {
	uint64_t *hashes;
	unsigned bits;
	bool unique;
	size_t *end;    /* of the parts, or of the threads' shares of them, */
	size_t *kept;   /* and how many of each part are left */
	uint64_t *room; /* [threads][room_size] */
	size_t room_size;
	atomic_size_t next; /* the first part not taken yet */
	/* Of hashes that partition_scatter parted: */
	unsigned threads;
	size_t spacing;
	pthread_mutex_t turn; /* to read or write what follows */
	pthread_cond_t turned;
	size_t moved; /* parts that are where they belong, */
	size_t left;  /* and so many hashes */
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
	while (!watch_stopped() &&
	       (part = atomic_fetch_add(&ascent->next, 1)) >> ascent->bits == 0) {
		sort_part(ascent, part, room);
		watch_step(part == 0 ? ascent->end[0] : ascent->end[part] - ascent->end[part - 1]);
	}
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

/* Moves the shares of a part together that partition_scatter left; gives how many hashes it has. */
static size_t join_shares(const struct ascent *ascent, size_t part, uint64_t *hashes)
{
	size_t n = 0;
	for (unsigned share = 0; share < ascent->threads; share++) {
		size_t from = (part * ascent->threads + share) * ascent->spacing;
		size_t some = ascent->end[((size_t)share << ascent->bits) + part] - from;
		if (share > 0)
			memmove(hashes + n, ascent->hashes + from, some * sizeof *hashes);
		n += some;
	}
	return n;
}

/* Moves a part up, while it is in the cache, behind those before it; they come in order. */
static void move_up(struct ascent *ascent, size_t part, const uint64_t *hashes, size_t n)
{
	pthread_mutex_lock(&ascent->turn);
	while (ascent->moved != part)
		pthread_cond_wait(&ascent->turned, &ascent->turn);
	memmove(ascent->hashes + ascent->left, hashes, n * sizeof *hashes);
	ascent->left += n;
	ascent->moved++;
	pthread_cond_broadcast(&ascent->turned);
	pthread_mutex_unlock(&ascent->turn);
}

/* Sorts parts that partition_scatter left. */
static void sort_scattered(void *context, unsigned share)
{
	struct ascent *ascent = context;
	uint64_t *room = ascent->room + share * ascent->room_size;
	size_t part;
	/* Whoever takes a part moves it up, also after a stop: others may wait for it. */
	while (!watch_stopped() &&
	       (part = atomic_fetch_add(&ascent->next, 1)) >> ascent->bits == 0) {
		uint64_t *hashes = ascent->hashes + part * ascent->threads * ascent->spacing;
		size_t n = join_shares(ascent, part, hashes);
		move_up(ascent, part, hashes, sort_some(ascent, hashes, n, room));
		watch_step(n);
	}
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
	nidus_status status =
		memory_take(allocator, most + (threads + 1) * parts * sizeof *ascent->end, work);
	if (status != NIDUS_OK)
		return status;
	ascent->room = (uint64_t *)(void *)work->bytes;
	ascent->end = (size_t *)(void *)(work->bytes + most);
	ascent->kept = ascent->end + threads * parts;
	return NIDUS_OK;
}

nidus_status hash_sort_in_place(uint64_t *hashes, size_t n, bool unique, unsigned threads,
                                const nidus_allocator *allocator, size_t *left)
{
	if (n <= ONE_PART) {
		sort_u64(hashes, n);
		*left = unique ? sort_unique_u64(hashes, n) : n;
		return watch_status();
	}
	struct ascent ascent = { .hashes = hashes, .unique = unique };
	struct block work;
	threads = threads_wanted(threads);
	ascent.bits = 64 - SORT_TOP_SHIFT;
	nidus_status status = take_work(&ascent, n, threads, 0, allocator, &work);
	if (status != NIDUS_OK)
		return status;
	sort_part_u64(hashes, n, SORT_TOP_SHIFT, ascent.end);
	watch_step(n);
	threads_run(threads, sort_parts, &ascent);
	status = watch_status();
	*left = status == NIDUS_OK ? close_gaps(&ascent) : 0;
	memory_give(allocator, &work);
	return status;
}

static nidus_status hash_sort_many(const struct hash_source *source,
                                   const nidus_allocator *allocator, struct ascent *ascent,
                                   size_t *left)
{
	const unsigned threads = ascent->threads;
	struct block work;
	nidus_status status =
		take_work(ascent, source->n, threads, partition_work_size(ascent->bits, threads),
	                  allocator, &work);
	if (status != NIDUS_OK)
		return status;
	if (ascent->spacing > 0 && partition_scatter(source, ascent->bits, threads, ascent->spacing,
	                                             work.bytes, ascent->hashes, ascent->end)) {
		threads_run(threads, sort_scattered, ascent);
		*left = ascent->left;
	} else if (!watch_stopped()) {
		partition_spread(source, ascent->bits, threads, work.bytes, ascent->hashes,
		                 ascent->end);
		threads_run(threads, sort_parts, ascent);
		*left = watch_stopped() ? 0 : close_gaps(ascent);
	}
	memory_give(allocator, &work);
	return watch_status();
}

/*
 * Places for n hashes: with some to spare, which saves counting them, unless that takes
 * more than an eighth of the memory.
 */
static size_t plan_places(struct ascent *ascent, size_t n)
{
	size_t spacing = partition_spacing(n, ascent->bits, ascent->threads);
	uint64_t places;
	if (multiply_overflows(spacing, (uint64_t)ascent->threads << ascent->bits, &places) ||
	    places - n > n / 8)
		return n;
	ascent->spacing = spacing;
	return (size_t)places;
}

nidus_status hash_sort(const struct hash_source *source, bool unique, unsigned threads,
                       const nidus_allocator *allocator, struct block *block, size_t *left)
{
	struct ascent ascent = { .unique = unique,
		                 .threads = threads_wanted(threads),
		                 .turn = PTHREAD_MUTEX_INITIALIZER,
		                 .turned = PTHREAD_COND_INITIALIZER };
	size_t places = source->n;
	if (source->n > ONE_PART) {
		ascent.bits = bits_for(source->n);
		places = plan_places(&ascent, source->n);
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
		status = hash_sort_in_place(ascent.hashes, source->n, unique, 1, allocator, left);
	} else {
		status = hash_sort_many(source, allocator, &ascent, left);
	}
	if (status != NIDUS_OK)
		memory_give(allocator, block);
	return status;
}

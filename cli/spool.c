/* SPDX-License-Identifier: MIT */
/*
 * Hashes in memory, and their sorting: a radix sort from the top byte down that
 * swaps in place, since a second array would double the memory. The hashes are
 * evenly spread, so the 256 parts of the top byte are work for threads.
 */

#define _POSIX_C_SOURCE 200809L

#include "spool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define RADIX 256
#define TOP_SHIFT 56

/* Below this, moving single elements beats counting. */
#define SMALL 48

#define MOST_THREADS 64

uint64_t *spool_room(struct spool *spool, size_t n)
{
	size_t size = spool->size + spool->size / 2;
	uint64_t *larger;

	if (n <= spool->size - spool->n)
		return spool->hash + spool->n;
	if (size < spool->n + n)
		size = spool->n + n + 4096;
	if (size > SIZE_MAX / sizeof(*larger))
		return NULL;
	larger = realloc(spool->hash, size * sizeof(*larger));
	if (!larger)
		return NULL;
	spool->hash = larger;
	spool->size = size;
	return larger + spool->n;
}

void spool_free(struct spool *spool)
{
	free(spool->hash);
	spool->hash = NULL;
	spool->n = spool->size = 0;
}

static void sort_small(uint64_t *hash, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t moving = hash[i];
		size_t j = i;

		for (; j > 0 && hash[j - 1] > moving; j--)
			hash[j] = hash[j - 1];
		hash[j] = moving;
	}
}

/* Puts every hash into the part of its byte; part b is [end[b - 1], end[b]) afterwards. */
static void partition(uint64_t *hash, size_t n, unsigned shift, size_t end[RADIX])
{
	size_t next[RADIX] = { 0 };
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		next[hash[i] >> shift & (RADIX - 1)]++;
	for (size_t b = 0; b < RADIX; b++) {
		size_t count = next[b];

		next[b] = sum;
		sum += count;
		end[b] = sum;
	}
	for (size_t b = 0; b < RADIX; b++) {
		while (next[b] < end[b]) {
			uint64_t moving = hash[next[b]];
			size_t to = moving >> shift & (RADIX - 1);

			/* Follow the cycle of displaced hashes until one belongs here. */
			while (to != b) {
				uint64_t displaced = hash[next[to]];

				hash[next[to]++] = moving;
				moving = displaced;
				to = moving >> shift & (RADIX - 1);
			}
			hash[next[b]++] = moving;
		}
	}
}

static void sort_radix(uint64_t *hash, size_t n, unsigned shift)
{
	size_t end[RADIX];
	size_t begin = 0;

	if (n < SMALL) {
		sort_small(hash, n);
		return;
	}
	partition(hash, n, shift, end);
	if (shift == 0)
		return;
	for (size_t b = 0; b < RADIX; b++) {
		sort_radix(hash + begin, end[b] - begin, shift - 8);
		begin = end[b];
	}
}

struct sorting {
	uint64_t *hash;
	size_t end[RADIX];
	atomic_size_t next; /* the next part that nobody took yet */
};

static void *sort_parts(void *context)
{
	struct sorting *sorting = context;
	size_t part;

	while ((part = atomic_fetch_add(&sorting->next, 1)) < RADIX) {
		size_t begin = part > 0 ? sorting->end[part - 1] : 0;

		sort_radix(sorting->hash + begin, sorting->end[part] - begin, TOP_SHIFT - 8);
	}
	return NULL;
}

/* Threads that cannot be had are no failure: the caller's own does all parts then. */
static void sort_with_threads(struct spool *spool, unsigned threads)
{
	struct sorting sorting = { .hash = spool->hash };
	pthread_t helper[MOST_THREADS];
	unsigned helpers = 0;

	atomic_init(&sorting.next, 0);
	partition(spool->hash, spool->n, TOP_SHIFT, sorting.end);
	while (helpers + 1 < threads && helpers < MOST_THREADS &&
	       pthread_create(&helper[helpers], NULL, sort_parts, &sorting) == 0)
		helpers++;
	sort_parts(&sorting);
	while (helpers > 0)
		pthread_join(helper[--helpers], NULL);
}

void spool_unique(struct spool *spool, unsigned threads)
{
	size_t kept = 0;

	if (spool->n == 0)
		return;
	sort_with_threads(spool, threads);
	for (size_t i = 1; i < spool->n; i++) {
		if (spool->hash[i] != spool->hash[kept])
			spool->hash[++kept] = spool->hash[i];
	}
	spool->n = kept + 1;
}

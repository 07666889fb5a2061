/* SPDX-License-Identifier: MIT */
/* One filter after the other from the start; from there again when all are free. */

#include "bench_site.h"

#include <stdint.h>
#include <stdlib.h>

/* Places are that far apart, and tables from there on are worth one: a huge page. */
#define STEP ((size_t)2 << 20)

/* Rounds take turns among the places in the first half, so that the second is left behind each. */
#define PLACES 4

void site_open(struct site *site, const struct ceilings *ceilings)
{
	uintptr_t skip = -(uintptr_t)ceilings->array % STEP;

	*site = (struct site){ 0 };
	if (skip < ceilings->bytes) {
		site->memory = (unsigned char *)ceilings->array + skip;
		site->size = ceilings->bytes - skip;
	}
	site_turn(site, 0);
}

void site_turn(struct site *site, unsigned round)
{
	site->start = site->size / 2 / PLACES / STEP * STEP * (round % PLACES);
	site->end = site->start;
}

static void *take(void *context, size_t size)
{
	struct site *site = context;
	void *memory;

	if (size < STEP || size > site->size - site->end)
		return malloc(size);
	memory = site->memory + site->end;
	site->end += (size + STEP - 1) / STEP * STEP;
	if (site->end > site->size)
		site->end = site->size;
	site->lent++;
	return memory;
}

static void give(void *context, void *memory, size_t size)
{
	struct site *site = context;
	uintptr_t at = (uintptr_t)memory, start = (uintptr_t)site->memory;

	(void)size;
	if (at < start || at - start >= site->size)
		free(memory);
	else if (--site->lent == 0)
		site->end = site->start;
}

nidus_allocator site_allocator(struct site *site)
{
	return (nidus_allocator){ .alloc = take, .free = give, .context = site };
}

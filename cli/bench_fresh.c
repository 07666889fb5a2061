/* SPDX-License-Identifier: MIT */
/* One piece after the other; nothing is given twice, so that all of it is zero. */

#include "bench_fresh.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Pieces from here on come from the memory, each at a multiple of it: a huge page. */
#define STEP ((size_t)2 << 20)

bool fresh_open(struct fresh *fresh, uint64_t bytes)
{
	size_t size = (size_t)bytes + STEP;
	void *memory = MAP_FAILED;

	*fresh = (struct fresh){ 0 };
	if (bytes <= SIZE_MAX / 2)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		              0);
	if (memory == MAP_FAILED)
		return false;
#ifdef MADV_HUGEPAGE
	madvise(memory, size, MADV_HUGEPAGE);
#endif
	memset(memory, 0, size); /* written, so that each page is there */
	fresh->memory = memory;
	fresh->size = size;
	fresh->used = -(uintptr_t)memory % STEP;
	return true;
}

void fresh_close(struct fresh *fresh)
{
	if (fresh->memory)
		munmap(fresh->memory, fresh->size);
	*fresh = (struct fresh){ 0 };
}

static void *take(void *context, size_t size)
{
	struct fresh *fresh = context;
	void *memory;

	if (size < STEP || fresh->used > fresh->size || size > fresh->size - fresh->used)
		return calloc(1, size);
	memory = fresh->memory + fresh->used;
	fresh->used += (size + STEP - 1) / STEP * STEP;
	return memory;
}

static void give(void *context, void *memory, size_t size)
{
	struct fresh *fresh = context;
	uintptr_t at = (uintptr_t)memory, start = (uintptr_t)fresh->memory;

	(void)size;
	if (at < start || at - start >= fresh->size)
		free(memory);
}

nidus_allocator fresh_allocator(struct fresh *fresh)
{
	return (nidus_allocator){
		.alloc = take, .alloc_zeroed = take, .free = give, .context = fresh
	};
}

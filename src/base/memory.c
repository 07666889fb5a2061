/* SPDX-License-Identifier: MIT
 *
 * memory: three sources, one block.
 *
 * The caller's allocator comes first. Without one, small blocks come
 * from malloc, and from a huge page's size on straight from the kernel: those
 * are zero already, start at a huge page and cost memory only where touched.
 */
#include "base/memory.h"

#include "base/bits.h"
#include "base/effort.h"
#include "base/os.h"
#include "base/reason.h"

#include <errno.h>

static nidus_status no_memory(uint64_t size)
{
	return fail(NIDUS_E_NOMEM, "no memory for %llu bytes", (unsigned long long)size);
}

/* Sets the usable part of a whole block: it starts at a multiple of the alignment. */
static void cut(struct block *block, size_t size, size_t alignment)
{
	uintptr_t start = (uintptr_t)block->whole;
	size_t skip = (alignment - start % alignment) % alignment;
	block->bytes = (unsigned char *)block->whole + skip;
	block->size = size;
}

/*
 * Takes a block at a multiple of an alignment, 1 for anywhere; *zeroed: whether it had better be,
 * and then whether it is.
 */
static nidus_status take(const nidus_allocator *allocator, uint64_t size, size_t alignment,
                         struct block *block, bool *zeroed)
{
	*block = (struct block){ 0 };
	if (size == 0)
		return NIDUS_OK;
	bool mapped = allocator->alloc == NULL && size >= MEMORY_HUGE_PAGE;
	alignment = mapped ? MEMORY_HUGE_PAGE : alignment;
	uint64_t whole_size;
	if (add_overflows(size, alignment > 1 ? alignment : 0, &whole_size) ||
	    whole_size > PTRDIFF_MAX)
		return no_memory(size);
	block->whole_size = (size_t)whole_size;
	bool by_caller = *zeroed && allocator->alloc_zeroed != NULL;
	*zeroed = mapped || by_caller;
	if (by_caller)
		block->whole = allocator->alloc_zeroed(allocator->context, block->whole_size);
	else if (allocator->alloc != NULL)
		block->whole = allocator->alloc(allocator->context, block->whole_size);
	else
		block->whole =
			mapped ? os.map_zeroed(block->whole_size) : os.allocate(block->whole_size);
	if (block->whole == NULL) {
		*block = (struct block){ 0 };
		return no_memory(size);
	}
	cut(block, (size_t)size, alignment);
	return NIDUS_OK;
}

static nidus_status take_zeroed(const nidus_allocator *allocator, uint64_t size, size_t alignment,
                                struct block *block)
{
	bool zeroed = true;
	nidus_status status = take(allocator, size, alignment, block, &zeroed);
	if (status == NIDUS_OK && !zeroed) {
		memset(block->bytes, 0, block->size);
		effort_of_thread()->cleared += block->size;
	}
	return status;
}

nidus_status memory_take(const nidus_allocator *allocator, uint64_t size, struct block *block)
{
	return take_zeroed(allocator, size, MEMORY_LINE, block);
}

nidus_status memory_take_anywhere(const nidus_allocator *allocator, uint64_t size,
                                  struct block *block)
{
	return take_zeroed(allocator, size, 1, block);
}

nidus_status memory_take_unset(const nidus_allocator *allocator, uint64_t size, struct block *block)
{
	bool zeroed = false;
	return take(allocator, size, MEMORY_LINE, block, &zeroed);
}

void memory_give(const nidus_allocator *allocator, struct block *block)
{
	int kept = errno;
	if (block->whole != NULL) {
		if (allocator->alloc != NULL)
			allocator->free(allocator->context, block->whole, block->whole_size);
		else if (block->size >= MEMORY_HUGE_PAGE)
			os.unmap(block->whole, block->whole_size);
		else
			os.release(block->whole);
	}
	*block = (struct block){ 0 };
	errno = kept;
}

static void *alloc_in_turn(void *context, size_t size)
{
	struct memory_turns *turns = context;
	pthread_mutex_lock(&turns->turn);
	void *memory = turns->inner.alloc(turns->inner.context, size);
	pthread_mutex_unlock(&turns->turn);
	return memory;
}

static void *alloc_zeroed_in_turn(void *context, size_t size)
{
	struct memory_turns *turns = context;
	pthread_mutex_lock(&turns->turn);
	void *memory = turns->inner.alloc_zeroed(turns->inner.context, size);
	pthread_mutex_unlock(&turns->turn);
	return memory;
}

static void free_in_turn(void *context, void *memory, size_t size)
{
	struct memory_turns *turns = context;
	pthread_mutex_lock(&turns->turn);
	turns->inner.free(turns->inner.context, memory, size);
	pthread_mutex_unlock(&turns->turn);
}

nidus_allocator memory_in_turns(const nidus_allocator *allocator, struct memory_turns *turns)
{
	*turns = (struct memory_turns){ *allocator, PTHREAD_MUTEX_INITIALIZER };
	if (allocator->alloc == NULL)
		return *allocator;
	return (nidus_allocator){
		.alloc = alloc_in_turn,
		.free = free_in_turn,
		.alloc_zeroed = allocator->alloc_zeroed != NULL ? alloc_zeroed_in_turn : NULL,
		.context = turns,
	};
}

/* SPDX-License-Identifier: MIT
 *
 * slabs: how large they are, and which block is the last.
 */
#include "base/slabs.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "base/effort.h"

#define SHARE 128                         /* a slab is this part of what the filter takes, */
#define HUGE_FROM (32 * MEMORY_HUGE_PAGE) /* or a huge page if that takes so much */
#define FIRST_SLABS 8

static uint64_t blocks_of(const struct slabs *slabs, uint64_t slab)
{
	return slabs->slab[slab].size / slabs->each;
}

/* Bytes of the next slab. Huge pages that are not used whole would cost a small filter too much. */
static uint64_t slab_size(const struct slabs *slabs, uint64_t whole)
{
	uint64_t share = whole / SHARE;
	if (whole >= HUGE_FROM && slabs->each < MEMORY_HUGE_PAGE / 2)
		return divide_up(share, MEMORY_HUGE_PAGE) * MEMORY_HUGE_PAGE;
	return share > slabs->each ? share / slabs->each * slabs->each : slabs->each;
}

/* Makes room in the list for another slab. Errors: E_NOMEM; nothing changed then. */
static nidus_status lengthen_list(struct slabs *slabs, const nidus_allocator *allocator)
{
	struct block memory;
	size_t size = slabs->slabs * sizeof *slabs->slab;
	if (size < slabs->memory.size)
		return NIDUS_OK;
	nidus_status status = memory_take(
		allocator, size > 0 ? 2 * size : FIRST_SLABS * sizeof *slabs->slab, &memory);
	if (status != NIDUS_OK)
		return status;
	if (size > 0)
		memcpy(memory.bytes, slabs->slab, size);
	memory_give(allocator, &slabs->memory);
	slabs->memory = memory;
	slabs->slab = (struct block *)(void *)memory.bytes;
	return NIDUS_OK;
}

/* Errors: E_NOMEM; nothing changed then. */
static nidus_status add_slab(struct slabs *slabs, const nidus_allocator *allocator, uint64_t whole)
{
	nidus_status status = lengthen_list(slabs, allocator);
	if (status == NIDUS_OK)
		status = memory_take_unset(allocator, slab_size(slabs, whole),
		                           &slabs->slab[slabs->slabs]);
	if (status != NIDUS_OK)
		return status;
	slabs->bytes += slabs->slab[slabs->slabs++].size;
	return NIDUS_OK;
}

nidus_status slabs_take(struct slabs *slabs, const nidus_allocator *allocator, uint64_t whole,
                        unsigned char **block)
{
	assert(slabs->each > 0 && slabs->each % MEMORY_LINE == 0);
	nidus_status status = NIDUS_OK;
	if (slabs->full == slabs->slabs)
		status = add_slab(slabs, allocator, whole);
	if (status != NIDUS_OK)
		return status;
	*block = slabs->slab[slabs->full].bytes + slabs->used * slabs->each;
	memset(*block, 0, slabs->each);
	effort_of_thread()->cleared += slabs->each;
	slabs->blocks++;
	if (++slabs->used == blocks_of(slabs, slabs->full)) {
		slabs->full++;
		slabs->used = 0;
	}
	return NIDUS_OK;
}

/* Gives empty slabs back; one that will soon be needed stays, as the one before it is nearly full. */
static void trim(struct slabs *slabs, const nidus_allocator *allocator)
{
	uint64_t needed = slabs->full + (slabs->used > 0);
	while (slabs->slabs > needed) {
		uint64_t last = slabs->slabs - 1;
		uint64_t left = slabs->used > 0 ? blocks_of(slabs, slabs->full) - slabs->used : 0;
		if (last == needed && needed > 0 && left < blocks_of(slabs, last) / 8)
			return;
		slabs->bytes -= slabs->slab[last].size;
		memory_give(allocator, &slabs->slab[last]);
		slabs->slabs = last;
	}
}

const unsigned char *slabs_give(struct slabs *slabs, const nidus_allocator *allocator,
                                unsigned char *block)
{
	assert(slabs->blocks > 0);
	if (slabs->used == 0)
		slabs->used = blocks_of(slabs, --slabs->full);
	const unsigned char *last = slabs->slab[slabs->full].bytes + --slabs->used * slabs->each;
	if (last != block)
		memcpy(block, last, slabs->each);
	if (--slabs->blocks > 0)
		trim(slabs, allocator);
	else
		slabs_free(slabs, allocator);
	return last != block ? last : NULL;
}

void slabs_free(struct slabs *slabs, const nidus_allocator *allocator)
{
	for (uint64_t i = 0; i < slabs->slabs; i++)
		memory_give(allocator, &slabs->slab[i]);
	memory_give(allocator, &slabs->memory);
	*slabs = (struct slabs){ .each = slabs->each };
}

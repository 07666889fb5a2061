/* SPDX-License-Identifier: MIT
 *
 * locks: made and unmade in one piece.
 */
#include "base/locks.h"

nidus_status locks_make(struct locks **locks, uint64_t table_bytes,
                        const nidus_allocator *allocator)
{
	struct block memory;
	*locks = NULL;
	nidus_status status = memory_take(allocator, sizeof **locks, &memory);
	if (status != NIDUS_OK)
		return status;
	struct locks *made = (struct locks *)(void *)memory.bytes;
	made->memory = memory;
	status = stripes_make(&made->stripes, 1, table_bytes, allocator);
	if (status == NIDUS_OK)
		*locks = made;
	else
		memory_give(allocator, &memory);
	return status;
}

void locks_unmake(struct locks *locks, const nidus_allocator *allocator)
{
	if (locks == NULL)
		return;
	stripes_unmake(&locks->stripes, allocator);
	struct block memory = locks->memory;
	memory_give(allocator, &memory);
}

uint64_t locks_bytes(const struct locks *locks)
{
	return locks == NULL ? 0 : locks->memory.size + locks->stripes.memory.size;
}

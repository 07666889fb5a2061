/* SPDX-License-Identifier: MIT
 *
 * commons: made and unmade in one piece.
 */
#include "table/commons.h"

nidus_status commons_make(struct commons **commons, uint64_t table_bytes,
                          const nidus_allocator *allocator)
{
	struct block memory;
	*commons = NULL;
	nidus_status status = memory_take(allocator, sizeof **commons, &memory);
	if (status != NIDUS_OK)
		return status;
	struct commons *made = (struct commons *)(void *)memory.bytes;
	made->memory = memory;
	status = stripes_make(&made->stripes, 1, table_bytes, allocator);
	if (status == NIDUS_OK)
		*commons = made;
	else
		memory_give(allocator, &memory);
	return status;
}

void commons_unmake(struct commons *commons, const nidus_allocator *allocator)
{
	if (commons == NULL)
		return;
	stripes_unmake(&commons->stripes, allocator);
	struct block memory = commons->memory;
	memory_give(allocator, &memory);
}

uint64_t commons_bytes(const struct commons *commons)
{
	return commons == NULL ? 0 : commons->memory.size + commons->stripes.memory.size;
}

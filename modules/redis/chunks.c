/* SPDX-License-Identifier: MIT */
#include "chunks.h"

#include "memory.h"

#include <string.h>

bool chunks_add(struct chunks *chunks, const void *bytes, size_t size)
{
	struct chunk *chunk = memory_try(sizeof *chunk + size);
	if (chunk == NULL)
		return false;
	chunk->next = NULL;
	chunk->size = size;
	memcpy(chunk->bytes, bytes, size);
	if (chunks->last != NULL)
		chunks->last->next = chunk;
	else
		chunks->first = chunk;
	chunks->last = chunk;
	return true;
}

static void drop_first(struct chunks *chunks)
{
	struct chunk *chunk = chunks->first;
	chunks->first = chunk->next;
	if (chunks->first == NULL)
		chunks->last = NULL;
	chunks->used = 0;
	server.Free(chunk);
}

ptrdiff_t chunks_source(void *context, void *bytes, size_t size)
{
	struct chunks *chunks = context;
	struct chunk *chunk = chunks->first;
	if (chunk == NULL)
		return 0;
	size_t left = chunk->size - chunks->used;
	size = size < left ? size : left;
	memcpy(bytes, chunk->bytes + chunks->used, size);
	chunks->used += size;
	if (chunks->used == chunk->size)
		drop_first(chunks);
	return (ptrdiff_t)size;
}

void chunks_free(struct chunks *chunks)
{
	while (chunks->first != NULL)
		drop_first(chunks);
}

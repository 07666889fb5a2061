/* SPDX-License-Identifier: MIT */
/*
 * Hashes in memory: an array that grows by half its size.
 */

#include "spool.h"

#include <stdlib.h>

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

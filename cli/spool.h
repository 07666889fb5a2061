/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_SPOOL_H
#define NIDUS_CLI_SPOOL_H

/** @file spool.h  The hashes of all keys, 8 bytes each, kept until the filter can be made. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spool {
	uint64_t *hash;
	size_t n;
	size_t size;
};

#define SPOOL_INIT         \
	{                  \
		NULL, 0, 0 \
	}

/** Room for n more hashes after spool->n; NULL if memory does not have it. */
uint64_t *spool_room(struct spool *spool, size_t n);

void spool_free(struct spool *spool);

#endif

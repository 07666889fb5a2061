/* SPDX-License-Identifier: MIT
 *
 * chunks: bytes of an image that come in one by one, in the order of their arrival.
 */
#ifndef NIDUS_REDIS_CHUNKS_H
#define NIDUS_REDIS_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHUNK_MOST ((size_t)16 << 20) /* bytes */

struct chunk {
	struct chunk *next;
	size_t size;
	unsigned char bytes[];
};

struct chunks {
	struct chunk *first, *last;
	size_t used; /* of the first chunk, by chunks_source */
};

/* Adds a copy of the bytes at the end. False: no memory. */
bool chunks_add(struct chunks *chunks, const void *bytes, size_t size);

/* A nidus_source that gives each chunk's memory back as soon as it is read. */
ptrdiff_t chunks_source(void *chunks, void *bytes, size_t size);

void chunks_free(struct chunks *chunks);

#endif

/* SPDX-License-Identifier: MIT
 *
 * parts: what follows the image of a filter that has more than its body, as bytes
 * (docs/format.md has the drawing).
 *
 * A record of fixed size, then the overflow list, then, during a move, the image of the old
 * body. This file knows bytes and checksums; only the api layer knows what they mean.
 */
#ifndef NIDUS_STORE_PARTS_H
#define NIDUS_STORE_PARTS_H

#include "nidus.h"

#define PARTS_RECORD 128 /* bytes */
#define PARTS_ALIGN 64 /* the record and the old body's image start at a multiple */

struct parts {
	uint64_t position, places; /* of a move, as in struct moving */
	uint32_t inserts;
	bool old;       /* the old body's image follows */
	bool returning; /* entries of the overflow list are tried again, behind this one: */
	nidus_entry returned;
	uint32_t uncounted;  /* inserts of threads since the last turn */
	int64_t left;        /* inserts of threads until the entries are counted */
	uint64_t overflowed; /* entries of the overflow list, copies not counted */
	uint64_t checksum;   /* of the list */
};

void parts_encode(const struct parts *parts, unsigned char record[PARTS_RECORD]);

/* Errors: E_CORRUPT (the checksum), E_FORMAT (another spelling of the same). */
nidus_status parts_decode(struct parts *parts, const unsigned char record[PARTS_RECORD]);

/* Zeros from a place on to where the next part starts. */
static inline uint64_t parts_padding(uint64_t at)
{
	return (PARTS_ALIGN - at % PARTS_ALIGN) % PARTS_ALIGN;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * segment: which part of a growing filter a body is.
 *
 * A filter that can grow is a directory of small bodies (api/directory.h). A hash is cut into
 *
 *     hash --x parts--> part --x groups--> group --> core
 *
 * where a part is a base segment and all growth bits behind it. The directory leads from a part
 * to its body; a body holds many neighbouring parts, and keeps of each entry's part the lowest
 * bits, its tag, by which the entry finds its body again when that is split. Group and core come
 * from bits of the hash behind the part, so that they never change.
 *
 * The third body of a segment holds parts from both halves of it: there the highest bit of a tag
 * says which half an entry is of, and stands for one that is 0 in all of them.
 */
#ifndef NIDUS_BASE_SEGMENT_H
#define NIDUS_BASE_SEGMENT_H

#include "base/bits.h"

struct segment {
	uint64_t parts;      /* of the whole filter */
	unsigned tag_bits;   /* that entries keep of their part */
	unsigned most_bits;  /* and the most that those of any body of the filter keep */
	bool third;          /* holds parts of both halves of its segment */
	const void *model;   /* a body of the filter whose tables this one may use; or NULL */
};

/* The tag of an entry of a part. */
static inline uint64_t segment_tag(const struct segment *segment, uint64_t part)
{
	uint64_t tag = part & bits_low(segment->tag_bits);
	uint64_t half = part >> segment->tag_bits & 1;
	return segment->third ? tag | half << (segment->tag_bits - 1) : tag;
}

#endif

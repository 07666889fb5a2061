/* SPDX-License-Identifier: MIT
 *
 * segment: which part of a growing filter a body is.
 *
 * A filter that can grow is a directory of small bodies (api/directory.h). A hash is cut into
 *
 *     hash --x parts--> part --x groups--> group --> core
 *
 * where a part is a base segment and all growth bits behind it. The directory leads from a part
 * to its body; a body holds neighbouring parts, and of each entry's part it keeps how far that is
 * behind its first one: the tag, by which the entry finds its body again when that is split.
 * Group and core come from bits of the hash behind the part, so that they never change.
 */
#ifndef NIDUS_BASE_SEGMENT_H
#define NIDUS_BASE_SEGMENT_H

#include "base/bits.h"

struct segment {
	uint64_t parts;     /* of the whole filter */
	uint64_t first;     /* of the parts that the body holds */
	unsigned tag_bits;  /* that entries keep of their part: it holds at most 2^tag_bits */
	unsigned most_bits; /* and the most that those of any body of the filter keep */
	const void *model;  /* a body of the filter whose tables this one may use; or NULL */
	const void *layout; /* of bodies with so many tag bits (family/family.h); or NULL */
	/*
	 * Zeroed memory, at a cache line, for the body's table and what lies behind it: as much
	 * as family->segment_room says. NULL: the body takes its own.
	 */
	unsigned char *room;
};

/* The tag of an entry of a part. */
static inline uint64_t segment_tag(const struct segment *segment, uint64_t part)
{
	return part - segment->first;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * assembly: a filter that is put together range by range (base/ranges.h).
 *
 * Hashes come from a spill; finished ranges of the table go to a file or into the table of a
 * filter in memory. Keys that come in a further pass wait in a spill of their own.
 */
#ifndef NIDUS_API_ASSEMBLY_H
#define NIDUS_API_ASSEMBLY_H

#include "api/filter.h"
#include "base/spill.h"
#include "store/image.h"

/* What all attempts at a filter have in common. */
struct workshop {
	uint64_t memory; /* bytes that may be used, all in all */
	unsigned threads;
	const char *folder; /* for temporary files */
	nidus_allocator allocator;
};

struct assembly {
	const struct workshop *workshop;
	const struct family *family;
	struct blueprint plan;
	struct block state; /* of family->ranges */
	unsigned passes;
	size_t room; /* hashes of a portion */

	/* Where the table goes: into memory, or into a file from a place on. */
	unsigned char *table;
	struct scratch *file;
	uint64_t at;
	uint64_t next;               /* bytes that came in order, */
	uint64_t highest;            /* and where those that came end */
	struct hash_stream checksum; /* of those in order */

	struct spill *again; /* keys for the next pass, in waiting[]; NULL: there is none */
	struct spill *waiting;
	struct block waiting_memory;
	struct ranges_end end;
	uint64_t size;          /* of the image in the file */
	uint64_t written, read; /* bytes of temporary files that were made here */
};

/* Hashes that a builder with this limit may gather before it spills. */
size_t workshop_room(const struct workshop *workshop, unsigned value_bits);

/*
 * Whether a filter of this family and plan can be put together within the limit.
 * Errors: E_UNSUPPORTED (its table is one piece), E_NOMEM.
 */
nidus_status workshop_check(const struct workshop *workshop, const struct family *family,
                            const struct blueprint *plan);

/*
 * Puts a filter together from all hashes of a spill: its bytes are in assembly->table then, or in
 * the file, as a whole image. Errors: those of ranges_ops; E_IO. After any of them, and in the end,
 * the assembly is to be freed.
 */
nidus_status assemble(struct assembly *assembly, struct spill *spill);
void assembly_free(struct assembly *assembly);

#endif

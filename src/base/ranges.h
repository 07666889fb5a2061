/* SPDX-License-Identifier: MIT
 *
 * ranges: tables that are built with memory for a part of them only.
 *
 * Hashes in ascending order are places in ascending order. So a table can be built range by range
 * (neighbouring chunks, blocks, shards or lines) from hashes that come in portions, and each range
 * goes to where the table is kept before the next one is begun:
 *
 *     portion 0          portion 1          portion 2           ascending hashes
 *     [ range ][ range ]|[...carried
 *                          ...range ][ range ]
 *
 * Keys that a table wants to see once more when all have come (ribbon: those that a layer has
 * bumped) it gives back, and gets them, ascending, in another pass.
 */
#ifndef NIDUS_BASE_RANGES_H
#define NIDUS_BASE_RANGES_H

#include "base/bits.h"
#include "base/blueprint.h"

/* Ascending hashes, with their values unless those are NULL. */
struct portion {
	const uint64_t *hashes, *values;
	size_t n;
	/* All hashes below this one have come, or are here; with `last`, all there are. */
	uint64_t end;
	bool last;
};

/* The first of ascending hashes that belongs to a place, of so many, or to a later one. */
static inline size_t hashes_before(const uint64_t *hashes, size_t n, uint64_t places,
                                   uint64_t place)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (multiply_high(hashes[middle], places) < place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Where a table goes. */
struct ranges_out {
	void *context;
	/* Bytes of the table, each once, in any order. Those that never come are 0. */
	nidus_status (*put)(void *context, uint64_t at, const void *bytes, uint64_t size);
	/* Keys for the next pass, in any order; `values` may be NULL. */
	nidus_status (*again)(void *context, const uint64_t *hashes, const uint64_t *values,
	                      size_t n);
};

/* What a table is when all have come. */
struct ranges_end {
	uint64_t count, stashed, listed; /* as in struct fill */
	unsigned char *stash; /* listed entries as in a file; the state's, until it is freed */
};

/* How a kind of table is built in this way. */
struct ranges_ops {
	size_t state_size;

	/*
	 * Bytes that a state takes, whatever comes, and hashes that its largest range may well have:
	 * portions must be larger. `window` is what ranges may take.
	 */
	uint64_t (*memory)(const struct blueprint *plan, uint64_t window, unsigned threads);
	uint64_t (*hashes)(const struct blueprint *plan);

	/*
	 * Begins a table of a checked plan. Ranges take about `window` bytes at a time, or what one
	 * takes at least. *passes is how often hashes come. Errors: E_NOMEM.
	 */
	nidus_status (*begin)(void *state, const struct blueprint *plan, uint64_t window,
	                      const nidus_allocator *allocator, unsigned *passes);

	/*
	 * Builds all ranges whose hashes are here. *taken is how many of them are done with; the
	 * others have to come again, first in the next portion. Errors: FULL, COPIES, E_ARG,
	 * E_NOMEM, STOPPED, and those of `out`.
	 */
	nidus_status (*add)(void *state, const struct portion *portion, unsigned threads,
	                    const struct ranges_out *out, size_t *taken);

	/* When all passes are over: writes what is left. Errors: as above. */
	nidus_status (*end)(void *state, const struct ranges_out *out, struct ranges_end *end);

	void (*free)(void *state);
};

#endif

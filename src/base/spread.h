/* SPDX-License-Identifier: MIT
 *
 * spread: where the entries of a body go when it is split or merged.
 */
#ifndef NIDUS_BASE_SPREAD_H
#define NIDUS_BASE_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The body that an entry goes to, and its tag there (base/segment.h). */
struct spread_target {
	void *body;
	uint64_t tag;
};

/* Entries that go to the same body, by their tags, and how much more these are there. */
struct spread_range {
	void *body;
	uint64_t added; /* modulo 2^64 */
};

/*
 * Which entries of a body go where. Those of a body that is split go to two bodies at most:
 * `choose` is NULL then. The second range begins with the tag `limit` and, among entries that have
 * this very tag, with `borrowed`; 0 if borrowed bits do not matter.
 *
 * In all other cases choose() is asked about each entry. Of a body that is a whole filter the
 * number of the chunk stands for the tag. No body at all: nothing with this tag can be there, and a
 * file says so that somebody has changed.
 *
 * `borrows`: borrowed bits are to be told; otherwise they may be anything.
 */
struct spread {
	struct spread_range range[2];
	uint64_t limit, borrowed;
	struct spread_target (*choose)(const void *context, uint64_t tag, uint64_t borrowed);
	const void *context;
	bool borrows;
};

/* Where one entry goes. */
static inline struct spread_target spread_choose(const struct spread *spread, uint64_t tag,
                                                 uint64_t borrowed)
{
	if (spread->choose != NULL)
		return spread->choose(spread->context, tag, borrowed);
	bool second = tag > spread->limit || (tag == spread->limit && borrowed >= spread->borrowed);
	const struct spread_range *range = &spread->range[second];
	return (struct spread_target){ range->body, tag + range->added };
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * split: what the tiers of splitting share (split.c).
 */
#ifndef NIDUS_NEST_SPLIT_H
#define NIDUS_NEST_SPLIT_H

#include "base/spread.h"
#include "nest/nest.h"

#define SPLIT_BLOCK 8 /* slots */

/* Entries of a block whose slots are taken in the body that they go to, as they would be there. */
struct split_late {
	unsigned count;
	uint64_t slot[SPLIT_BLOCK], value[SPLIT_BLOCK];
};

/* Some slots side by side in a word, as fields, and nothing above them. */
struct row {
	unsigned width, bits;           /* of a field, and of all */
	uint64_t ones;                  /* the lowest bits of the fields; */
	uint64_t all;                   /* all their bits; */
	uint64_t core_highs, core_lows; /* the highest of their cores, and those below */
	unsigned core_high;
};

static inline struct row row_of(const struct nest_layout *layout, unsigned slots)
{
	const uint64_t ones = fields_ones(layout->width, slots);
	return (struct row){
		.width = layout->width,
		.bits = slots * layout->width,
		.ones = ones,
		.all = bits_low(slots * layout->width),
		.core_highs = ones << (layout->core_bits - 1),
		.core_lows = ones * bits_low(layout->core_bits - 1),
		.core_high = layout->core_bits - 1,
	};
}

/* The lowest bits of fields that are taken: cores are never all zero. */
ALWAYS_INLINE uint64_t row_taken(const struct row *row, uint64_t fields)
{
	uint64_t highs = ((fields & row->core_lows) + row->core_lows) | fields;
	return (highs & row->core_highs) >> row->core_high;
}

/* A number of tags, for all fields of a row. */
struct row_limit {
	uint64_t compared; /* bits of fields, all but payloads, */
	uint64_t highs;    /* the highest of those, which are of tags if there are any, */
	unsigned high;
	uint64_t limit;
};

static inline struct row_limit row_limit_of(const struct nest_layout *layout, unsigned slots,
                                            uint64_t limit)
{
	const uint64_t ones = fields_ones(layout->width, slots);
	return (struct row_limit){
		.compared = ones * bits_low(layout->payload_at),
		.highs = ones << (layout->payload_at - 1),
		.high = layout->payload_at - 1,
		.limit = ones * (limit << layout->tag_at),
	};
}

/* The lowest bits of fields whose tags are not below the limit; of empty ones they may be anything. */
ALWAYS_INLINE uint64_t row_from(const struct row_limit *limit, uint64_t fields)
{
	/* Whether the bits below the highest are at least the limit's; then by these, too. */
	uint64_t own = fields & limit->compared;
	uint64_t lower = (own | limit->highs) - (limit->limit & ~limit->highs);
	uint64_t from = ((own & lower) | ((own | lower) & ~limit->limit)) & limit->highs;
	return from >> limit->high;
}

/* Puts them into other slots that they may have. Errors: E_NOMEM, FULL. */
nidus_status split_put_late(struct nest *to, struct split_late *late);

/* The borrowed bits of the entry in a slot (base/spread.h). */
uint64_t split_borrowed(const struct nest *nest, uint64_t slot, uint64_t value);

/*
 * Of the lowest bits of fields, the first one a slot's, those that go to the second body: `second`
 * without those that have the limit's tag and borrowed bits below its own.
 */
uint64_t split_by_borrowed(const struct nest *from, const struct spread *spread, unsigned slots,
                           uint64_t slot, uint64_t fields, uint64_t second);

/* Puts the entries of a row into a coded bucket that has others. Errors: E_NOMEM, FULL. */
nidus_status split_join_bucket(struct nest *to, uint64_t bucket, uint64_t fields);

/*
 * Splits blocks of a body that goes in rows, from the first on, as many as it can; *done becomes
 * how many slots that are. Where isa.h says so.
 */
nidus_status split_blocks_avx2(const struct nest *from, const struct spread *spread,
                               uint64_t *done);

/* Splits a body of coded buckets that are worked on in a word. Where isa.h says so. */
nidus_status split_buckets_avx2(const struct nest *from, const struct spread *spread);

#endif

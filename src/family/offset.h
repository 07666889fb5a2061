/* SPDX-License-Identifier: MIT
 *
 * offset: sizing of the two families whose second group lies at an offset
 * behind the first, bucketed and windowed.
 */
#ifndef NIDUS_FAMILY_OFFSET_H
#define NIDUS_FAMILY_OFFSET_H

#include "family/nesting.h"

/* One layout of a family: (2, slots) buckets or windows. */
struct offset_layout {
	unsigned slots;   /* per bucket or window */
	double compared;  /* slots in which an absent key's fingerprint may match */
	double load;      /* to which a large chunk is filled, see offset.c */
	double load_thin; /* the same with the shortest fingerprints */
	double slack;     /* slots more, per fourth root of a chunk's keys */
	unsigned steps;   /* of a search */
};

/*
 * Chooses rate, chunks and groups for a layout.
 * Errors: E_RANGE, E_UNSUPPORTED.
 */
nidus_status offset_plan(const nidus_options *options, struct blueprint *plan,
                         const struct offset_layout *layout);

/* The layouts of the two kinds, each in its family's file. */
const struct offset_layout *bucketed_layout(unsigned slots);
const struct offset_layout *windowed_layout(unsigned slots);

/* What both families answer to forecast(). */
struct forecast offset_forecast(const struct blueprint *plan, uint64_t keys);

/* The layout of that many slots per group. */
const struct offset_layout *offset_find(const struct offset_layout *layouts, size_t n,
                                        unsigned slots);

/* The same for a segment of a filter that can grow, and how many keys it takes. */
nidus_status offset_plan_segment(const nidus_options *options, struct blueprint *plan,
                                 const struct offset_layout *layout);
uint64_t offset_segment_keys(const struct blueprint *plan);
void offset_fit_segment(struct blueprint *plan, uint64_t keys);
bool offset_pack(struct blueprint *plan, uint64_t groups, uint64_t keys);

#endif

/* SPDX-License-Identifier: MIT
 *
 * blueprint: the numbers from which a filter is laid out.
 *
 * A planner chooses them once, a file carries them, and every size, address
 * and width follows from them alone. What comes from a file is checked by the family
 * before anything is allocated.
 */
#ifndef NIDUS_BASE_BLUEPRINT_H
#define NIDUS_BASE_BLUEPRINT_H

#include "nidus.h"

#define VALUE_BITS_MOST 32

/* What a plan's `segmented` says of its body. */
enum {
	PLAN_WHOLE = 0,      /* one table */
	PLAN_DIRECTORY = 1,  /* a directory of segments, whose chunks are `chunks` at first and have
	                        `groups` groups each (api/directory.h) */
	PLAN_GENERATIONS = 2 /* generations of such directories: the plan of the first
	                        (api/generations.h) */
};

/* Every filter has one, small ones too: fields are no wider than what they are for. */
struct blueprint {
	uint64_t seed;         /* first: see filter_take_body */
	uint64_t capacity;     /* keys promised to fit */
	uint64_t max_capacity; /* keys promised to fit after all growth */
	double fpr;            /* the target */
	uint64_t chunks;
	uint64_t groups;       /* buckets or windows per chunk */
	uint64_t judged;       /* keys in a ribbon filter's verdict; 0: it has none */
	uint32_t features;     /* of nidus_options: what was asked for */
	uint16_t reserve;      /* slots held back, where the family does that */
	uint16_t slices;       /* of a filter that forgets (api/recent.h); 0: it does not */
	uint32_t max_steps;    /* slots that one insert may look at */
	uint32_t stash_limit;  /* entries in one chunk's stash at most */
	uint8_t family;        /* nidus_family */
	uint8_t slots;         /* per bucket or window */
	uint8_t core_bits;     /* of a fingerprint, never all zero */
	uint8_t growth_bits;   /* of a fingerprint, to become address bits */
	uint8_t stride;        /* growth bits that a generation has more than the one before */
	uint8_t shares;        /* eighths of the first generation's rate that the target is; or 0 */
	uint8_t value_bits;    /* of the value beside each key; 0: there are none */
	uint8_t segmented;     /* PLAN_DIRECTORY and the like */
};

#endif

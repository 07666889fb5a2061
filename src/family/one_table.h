/* SPDX-License-Identifier: MIT
 *
 * one_table: sizing of the families that are one table of 2^m buckets, cuckoo and
 * semisort.
 */
#ifndef NIDUS_FAMILY_ONE_TABLE_H
#define NIDUS_FAMILY_ONE_TABLE_H

#include "family/nesting.h"

/*
 * Chooses buckets, fingerprint and stash for plan->slots slots per bucket.
 * Errors: E_RANGE, E_UNSUPPORTED.
 */
nidus_status one_table_plan(const nidus_options *options, struct blueprint *plan);

/* nesting_check of a single table. */
nidus_status one_table_check(const struct blueprint *plan);

/* The same for a segment of a filter that can grow, and how many keys it takes. */
nidus_status one_table_plan_segment(const nidus_options *options, struct blueprint *plan);
uint64_t one_table_segment_keys(const struct blueprint *plan);

#endif

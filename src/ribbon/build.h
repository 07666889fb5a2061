/* SPDX-License-Identifier: MIT
 *
 * ribbon build: a table from all its keys at once.
 */
#ifndef NIDUS_RIBBON_BUILD_H
#define NIDUS_RIBBON_BUILD_H

#include "base/ranges.h"
#include "ribbon/ribbon.h"

/*
 * Solves an empty table for n ascending hashes, with their values unless those are NULL. Hashes
 * may be equal if their values are, and count once. The result does not depend on the number of
 * threads. Takes 16 bytes for each row of a shard per thread, and 8 or 16 for each bumped key.
 * Errors: FULL (n is more than the capacity), E_ARG (two values for one hash), E_NOMEM, STOPPED;
 * the table is undefined then: clear or free it.
 */
nidus_status ribbon_build(struct ribbon *ribbon, const uint64_t *hashes, const uint64_t *values,
                          size_t n, unsigned threads);

/*
 * Solves the verdict of an empty table and takes the rest over from another one, without a
 * verdict, which was built for the n hashes `in`. Those of `out` are found in that, too, and in
 * this one no more. Both lists ascend, and no hash is in both; their sizes add up to
 * ribbon->judged. Takes 16 bytes for each of them. Errors: E_NOMEM, STOPPED; clear
 * or free it then.
 */
nidus_status ribbon_judge(struct ribbon *ribbon, const struct ribbon *first, const uint64_t *in,
                          size_t n, const uint64_t *out, size_t m, unsigned threads);

/* Builds with memory for some shards at a time; no verdict. */
extern const struct ranges_ops ribbon_ranges;

#endif

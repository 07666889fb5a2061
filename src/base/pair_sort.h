/* SPDX-License-Identifier: MIT
 *
 * pair_sort: hashes with a value each, in ascending order.
 */
#ifndef NIDUS_BASE_PAIR_SORT_H
#define NIDUS_BASE_PAIR_SORT_H

#include <stdbool.h>

#include "base/memory.h"

/*
 * Sorts n hashes, and where they are equal by their values, in the caller's two arrays;
 * only one of equal pairs stays if `unique`. *left is how many there are then; what is
 * behind them is undefined. The result depends on the set of pairs alone. Takes 8 bytes per
 * pair while it works, or 16 if values, of at most `bits` bits, have many. These are 32 at most.
 * Errors: E_NOMEM; the arrays are as they were then.
 */
nidus_status pair_sort(uint64_t *hashes, uint64_t *values, size_t n, unsigned bits, bool unique,
                       unsigned threads, const nidus_allocator *allocator, size_t *left);

#endif

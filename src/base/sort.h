/* SPDX-License-Identifier: MIT
 *
 * sort: 64-bit numbers, in place.
 */
#ifndef NIDUS_BASE_SORT_H
#define NIDUS_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending. Takes no memory but a bounded stack. */
void sort_u64(uint64_t *numbers, size_t n);

/* Drops repeated neighbours of sorted numbers; gives how many are left. */
size_t sort_unique_u64(uint64_t *numbers, size_t n);

#endif

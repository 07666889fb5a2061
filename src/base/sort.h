/* SPDX-License-Identifier: MIT
 *
 * sort: 64-bit numbers, ascending.
 */
#ifndef NIDUS_BASE_SORT_H
#define NIDUS_BASE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * In place. Takes no memory but a bounded stack. All but sort_hashes and sort_unique_u64 leave the
 * numbers in some order if the caller says stop (base/watch.h).
 */
void sort_u64(uint64_t *numbers, size_t n);

#define SORT_RADIX 256
#define SORT_TOP_SHIFT 56

/*
 * Only by the byte from bit `shift` on, in place: the numbers with byte b come
 * before end[b] and, but for b = 0, not before end[b - 1].
 */
void sort_part_u64(uint64_t *numbers, size_t n, unsigned shift, size_t end[SORT_RADIX]);

/*
 * sort_u64 for hashes that agree in their highest `common` bits (63 at most) and
 * are spread evenly below them: three times as quick then, and right for any
 * others too. `room` is for n numbers. False if no two are equal; true if some are, or if
 * that was not checked.
 */
bool sort_hashes(uint64_t *hashes, size_t n, unsigned common, uint64_t *room);

/* Drops repeated neighbours of sorted numbers; gives how many are left. */
size_t sort_unique_u64(uint64_t *numbers, size_t n);

#endif

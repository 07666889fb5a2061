/* SPDX-License-Identifier: MIT
 *
 * golden: what a filter says of itself and of some keys, as text to be kept beside
 * its file.
 */
#ifndef NIDUS_TESTS_SUPPORT_GOLDEN_H
#define NIDUS_TESTS_SUPPORT_GOLDEN_H

#include <stdio.h>

#include "nidus.h"

/*
 * The keys of golden filters have numbers. Key i is a text if i is even, a 64-bit
 * integer if it is odd.
 */
uint64_t golden_hash(const nidus_filter *filter, uint64_t i);

/*
 * Writes one line for each thing, in this order:
 *
 *     family NAME, seed, capacity, max_capacity, slots, count, stashed, chunks   numbers
 *     fpr HEX                    the target, as the bits of a double
 *     entry HOME FINGERPRINT     ascending, with VALUE in a filter that keeps values; none
 *                                where entries cannot be listed
 *     text KEY COPIES            the keys of golden_list_keys that the filter finds, put
 *     u64 KEY COPIES             in or not
 *     hash HASH COPIES
 */
void golden_describe(const nidus_filter *filter, FILE *to);

/* Writes all keys that golden_describe asks for, a line each, without copies. */
void golden_list_keys(FILE *to);

#endif

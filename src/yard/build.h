/* SPDX-License-Identifier: MIT
 *
 * yard_build: both yards from all hashes at once, by several threads.
 */
#ifndef NIDUS_YARD_BUILD_H
#define NIDUS_YARD_BUILD_H

#include "yard/yard.h"

/*
 * Fills an empty yard with hashes in ascending order, with up to `threads` threads
 * (1 to THREADS_MOST): the front yard with all of them, the backyard meanwhile, in
 * order. A yard that has grown or keeps values takes them one by one. Errors: FULL, COPIES, the same for any number
 * of threads; clear the yard then.
 */
nidus_status yard_build(struct yard *yard, const uint64_t *hashes, const uint64_t *values, size_t n,
                        unsigned threads);

#endif

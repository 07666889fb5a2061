/* SPDX-License-Identifier: MIT
 *
 * nest_build: a nest from all its hashes at once.
 */
#ifndef NIDUS_NEST_BUILD_H
#define NIDUS_NEST_BUILD_H

#include "nest/nest.h"

/*
 * Fills an empty nest with hashes in ascending order, and with their values unless those
 * are NULL, chunk by chunk, with up to `threads` threads (1 to THREADS_MOST). Errors: FULL, COPIES, E_NOMEM, the same
 * for any number of threads; the nest holds some of the hashes then.
 */
nidus_status nest_build(struct nest *nest, const uint64_t *hashes, const uint64_t *values, size_t n,
                        unsigned threads);

#endif

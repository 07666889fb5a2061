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

/*
 * The same for the chunks from `first` up to `last`, with hashes that are theirs alone. *built is what
 * the chunks hold that are finished: 0 at first. When all are, the other one tells whether the nest
 * holds no more than it may: a thread cannot tell while others are at work. It refuses an entry
 * only if the nest is full by what it knows, and then it is full here, too.
 */
nidus_status nest_build_chunks(struct nest *nest, uint64_t first, uint64_t last,
                               const uint64_t *hashes, const uint64_t *values, size_t n,
                               unsigned threads, uint64_t *built);
nidus_status nest_build_check(const struct nest *nest, uint64_t built);

#endif

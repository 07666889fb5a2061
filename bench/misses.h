/* SPDX-License-Identifier: MIT
 *
 * misses: the processor's cache counters, where the system lets us read them.
 */
#ifndef NIDUS_BENCH_MISSES_H
#define NIDUS_BENCH_MISSES_H

#include <stdbool.h>
#include <stdint.h>

/* Begins to count for this thread; false if there is nothing to count with. */
bool misses_start(void);

/* Stops, and gives last-level cache references and misses since the start. */
bool misses_stop(uint64_t *references, uint64_t *missed);

#endif

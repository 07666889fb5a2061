/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_KEYS_H
#define NIDUS_CLI_BENCH_KEYS_H

/**
 * @file bench_keys.h  Keys that need no memory: key i is a bijection of i.
 *
 * Ranges of indices that do not overlap are therefore sets of keys that do not
 * overlap either.
 */

#include <stddef.h>
#include <stdint.h>

/** Where ranges begin: keys put in one by one, keys built in bulk, keys never put in. */
#define KEYS_INSERTED UINT64_C(0)
#define KEYS_BUILT (UINT64_C(1) << 40)
#define KEYS_ABSENT (UINT64_C(1) << 41)

/** Key number `index`. */
uint64_t keys_at(uint64_t index);

/** keys_at(first), keys_at(first + 1), ... */
void keys_fill(uint64_t first, uint64_t *keys, size_t n);

/** Visits 0 to n - 1, each once per turn, far from the order in which they were put in. */
struct key_order {
	uint64_t n, step, at;
};

struct key_order key_order_of(uint64_t n);

/** The keys of the next `count` indices of the order. */
void key_order_fill(struct key_order *order, uint64_t *keys, size_t count);

#endif

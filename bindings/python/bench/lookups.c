/* SPDX-License-Identifier: MIT */
/* Lookups from C, for bars.py to compare the Python module with: loaded there by ctypes. */

#include "nidus.h"

#include <stddef.h>
#include <stdint.h>

#define BATCH 4096

NIDUS_API nidus_filter *lookups_load(const char *path);
NIDUS_API void lookups_run(const nidus_filter *filter, const uint64_t *keys, size_t n,
                           uint8_t *yes);

NIDUS_API nidus_filter *lookups_load(const char *path)
{
	nidus_filter *filter;

	return nidus_load(path, &filter) == NIDUS_OK ? filter : NULL;
}

NIDUS_API void lookups_run(const nidus_filter *filter, const uint64_t *keys, size_t n, uint8_t *yes)
{
	uint64_t hash[BATCH];

	for (size_t i = 0; i < n; i += BATCH) {
		size_t batch = n - i < BATCH ? n - i : BATCH;

		nidus_hash_u64_batch(filter, keys + i, batch, hash);
		nidus_contains_batch(filter, hash, batch, yes + i);
	}
}

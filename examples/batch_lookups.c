/* SPDX-License-Identifier: MIT */
/*
 * Looks up many keys at once: hash a batch, then ask for the batch.
 *
 * One lookup waits for memory. In a batch the library fetches what the next keys need while it
 * looks at the first, which is several times faster in filters larger than the cache. Hashing
 * is a call of its own, so that hashes can be made once and used for several filters that have
 * the same seed.
 */
#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>

#define KEYS 200000
#define BATCH 1000

int main(void)
{
	uint64_t *keys = malloc(KEYS * sizeof *keys);
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	if (keys == NULL)
		return 1;
	for (uint64_t i = 0; i < KEYS; i++)
		keys[i] = 3 * i;

	/* All keys are known: the bulk build is the quickest way to a filter of them. */
	if (nidus_build_u64(&options, keys, KEYS, 2, &filter) != NIDUS_OK) {
		fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}

	uint64_t hashes[BATCH], found = 0;
	uint8_t yes[BATCH];
	for (size_t from = 0; from < KEYS; from += BATCH) {
		nidus_hash_u64_batch(filter, keys + from, BATCH, hashes);
		nidus_contains_batch(filter, hashes, BATCH, yes);
		for (size_t i = 0; i < BATCH; i++)
			found += yes[i];
	}
	printf("%llu of %d keys found\n", (unsigned long long)found, KEYS);
	nidus_free(filter);
	free(keys);
	return found == KEYS ? 0 : 1;
}

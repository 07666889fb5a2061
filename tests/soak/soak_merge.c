/* SPDX-License-Identifier: MIT
 *
 * soak_merge: two full filters become one, and nothing is lost.
 *
 *     soak_merge [KEYS [FAMILY...]]     10000019 and all families if left out
 *
 * Both filters are filled to the capacity that they promise, with different keys.
 * The merged one must hold as many entries, find every key, verify, and keep the
 * rate that it promises (but for odds of 1e-9). Exit 1 if anything failed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "nidus.h"
#include "support/chance.h"

#define FIRST_ABSENT (UINT64_C(1) << 60)
#define TRIALS (UINT64_C(1) << 24)

static bool failed;

static void complain(const char *family, const char *what)
{
	printf("%s: %s (%s)\n", family, what, nidus_reason());
	failed = true;
}

static nidus_info info_of(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	(void)nidus_get_info(filter, &info);
	return info;
}

static nidus_filter *full(const nidus_options *options, uint64_t first)
{
	nidus_filter *filter;
	if (nidus_create(options, &filter) != NIDUS_OK)
		return NULL;
	uint64_t capacity = info_of(filter).capacity;
	for (uint64_t i = 0; i < capacity; i++) {
		if (nidus_insert_u64(filter, first + i) != NIDUS_OK)
			complain(nidus_family_name(options->family), "an insert failed");
	}
	return filter;
}

static void one_family(nidus_family id, uint64_t keys)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	const char *name = nidus_family_name(id);
	options.family = id;
	options.capacity = keys;
	options.seed = 2026;
	nidus_filter *a = full(&options, 0), *b = full(&options, UINT64_C(1) << 40), *merged;
	if (a == NULL || b == NULL || nidus_merge(a, b, &merged) != NIDUS_OK) {
		complain(name, "no filter");
		nidus_free(a);
		nidus_free(b);
		return;
	}
	uint64_t each = info_of(a).count, lost = 0, found = 0;
	nidus_info info = info_of(merged);
	if (id != NIDUS_BLOOM && id != NIDUS_BLOCKED_BLOOM && info.count != 2 * each)
		complain(name, "the merged filter has another number of entries");
	for (uint64_t i = 0; i < each; i++)
		lost += !nidus_contains_u64(merged, i) +
		        !nidus_contains_u64(merged, (UINT64_C(1) << 40) + i);
	if (lost > 0)
		complain(name, "keys are lost");
	if (nidus_verify(merged, NULL) != NIDUS_OK)
		complain(name, "it does not verify");
	for (uint64_t i = 0; i < TRIALS; i++)
		found += nidus_contains_u64(merged, FIRST_ABSENT + i);
	if (info.fpr_target < 1 && found > chance_most(TRIALS, info.fpr_target, 1e-9))
		complain(name, "the rate is too high");
	printf("%-13s %llu + %llu keys, lost %llu, fpr %.6f of %.6f, load %.4f, stashed %llu\n",
	       name, (unsigned long long)each, (unsigned long long)each, (unsigned long long)lost,
	       (double)found / (double)TRIALS, info.fpr_target, info.load,
	       (unsigned long long)info.stashed);
	fflush(stdout);
	nidus_free(a);
	nidus_free(b);
	nidus_free(merged);
}

int main(int argc, char **argv)
{
	uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000019;
	for (int i = 2; i < argc; i++) {
		nidus_family id;
		if (nidus_family_by_name(argv[i], &id) != NIDUS_OK)
			return fprintf(stderr, "soak_merge: no family %s\n", argv[i]), 2;
		one_family(id, keys);
	}
	for (unsigned id = 1; id < 32 && argc < 3; id++) {
		if (nidus_family_features((nidus_family)id) & NIDUS_MERGE)
			one_family((nidus_family)id, keys);
	}
	return failed;
}

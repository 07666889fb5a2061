/* SPDX-License-Identifier: MIT
 *
 * soak_growth: filters that grow from 1,000 keys through many doublings.
 *
 *     soak_growth [DOUBLINGS [FAMILY...]]     16 and all families if left out
 *
 * A filter made for 1,000 keys and 1,000 * 2^DOUBLINGS is filled to what it promises
 * at the end. All keys must be found, the measured rate must be at most the target
 * (but for odds of 1e-9), and the load at the promised capacity must be within 5 %
 * of that of a filter made at that size with as many bits to grow. Exit 1 if anything failed.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "nidus.h"
#include "support/chance.h"

#define BASE UINT64_C(1000)
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

/* Fills a filter to its last promise; how many keys that were. */
static uint64_t fill(nidus_filter *filter, uint64_t least)
{
	uint64_t key = 0;
	while (key < least || key < info_of(filter).capacity) {
		uint64_t until =
			least > info_of(filter).capacity ? least : info_of(filter).capacity;
		for (; key < until; key++) {
			if (nidus_insert_u64(filter, key) != NIDUS_OK)
				return key;
		}
	}
	return key;
}

static void one_family(nidus_family id, unsigned doublings)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	const char *name = nidus_family_name(id);
	options.family = id;
	options.capacity = BASE;
	options.max_capacity = BASE << doublings;
	options.fpr = ldexp(1, -6);
	options.seed = 2026;
	nidus_filter *filter, *made;
	if (nidus_create(&options, &filter) != NIDUS_OK) {
		complain(name, "cannot grow so far");
		return;
	}
	uint64_t keys = fill(filter, options.max_capacity), found = 0;
	if (keys < options.max_capacity)
		complain(name, "an insert within max_capacity failed");
	for (uint64_t key = 0; key < keys; key++) {
		if (!nidus_contains_u64(filter, key)) {
			complain(name, "a key is lost");
			break;
		}
	}
	for (uint64_t i = 0; i < TRIALS; i++)
		found += nidus_contains_u64(filter, FIRST_ABSENT + i);
	if (found > chance_most(TRIALS, options.fpr, 1e-9))
		complain(name, "the rate is too high");
	(void)nidus_grow(filter, 1); /* ends a move that is under way */
	nidus_info grown = info_of(filter);
	if (grown.count != keys || nidus_verify(filter, NULL) != NIDUS_OK)
		complain(name, "it does not verify");
	options.capacity = keys;
	options.max_capacity = keys << doublings;
	nidus_info direct = { 0 };
	if (nidus_create(&options, &made) == NIDUS_OK) {
		direct = info_of(made);
		nidus_free(made);
	} else {
		complain(name, "cannot be made directly");
	}
	double load = (double)keys / (double)grown.total_slots;
	double other = (double)direct.capacity / (double)direct.total_slots;
	printf("%-11s %10llu keys  fpr %.5f of %.5f  load %.4f, made directly %.4f  stashed %llu\n",
	       name, (unsigned long long)keys, (double)found / (double)TRIALS, options.fpr, load,
	       other, (unsigned long long)grown.stashed);
	fflush(stdout);
	if (load < other * 0.95)
		complain(name, "the load is more than 5 % below that of a filter made directly");
	nidus_free(filter);
}

int main(int argc, char **argv)
{
	unsigned doublings = argc > 1 ? (unsigned)atoi(argv[1]) : 16;
	for (int i = 2; i < argc; i++) {
		nidus_family id;
		if (nidus_family_by_name(argv[i], &id) != NIDUS_OK)
			return fprintf(stderr, "soak_growth: no family %s\n", argv[i]), 2;
		one_family(id, doublings);
	}
	for (unsigned id = 1; id < 32 && argc < 3; id++) {
		if (nidus_family_features((nidus_family)id) & NIDUS_GROW)
			one_family((nidus_family)id, doublings);
	}
	return failed;
}

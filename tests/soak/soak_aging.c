/* SPDX-License-Identifier: MIT
 *
 * soak_aging: whether full filters stay usable when keys come and go for long.
 *
 *     soak_aging [TIMES [KEYS...]]     50 and 1000 20000 400000 if left out
 *
 * For each shape of lines and each number of keys, breadcrumb filters are
 * filled to the capacity that they promise; then TIMES times as many keys as they
 * have slots are replaced: a random key goes, a new one comes. No call may fail,
 * the count must stay, the filter must verify, and all keys that are in it must
 * be found at the end. Small sizes are repeated with other seeds, so that each
 * line of the table replaces about the same number of keys. NIDUS_TEST_SEED
 * repeats a run. Exit 1 if anything failed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "nidus.h"
#include "support/chance.h"

#define SIZES_MOST 16
#define REPLACED_ABOUT UINT64_C(20000000) /* per line of the table */
#define FILTERS_MOST 200

/* Slots of a front line, of short ones last. */
static const unsigned shapes[] = { 63, 56, 51, 46, 42, 39, 36, 34, 32, 30, 28, 19, 25 };

struct tally {
	uint64_t filters, replaced, failures;
	double load;
	unsigned width;
};

static nidus_info info_of(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	(void)nidus_get_info(filter, &info);
	return info;
}

static bool fill(nidus_filter *filter, uint64_t *keys, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		keys[i] = i;
		if (nidus_insert_u64(filter, i) != NIDUS_OK)
			return false;
	}
	return true;
}

/* Replaces keys; false at the first call that fails. */
static bool age(nidus_filter *filter, uint64_t *keys, uint64_t n, uint64_t times,
                struct chance *chance)
{
	for (uint64_t i = 0; i < times; i++) {
		uint64_t at = chance_below(chance, n);
		if (nidus_remove_u64(filter, keys[at]) != NIDUS_OK)
			return false;
		keys[at] = n + i;
		if (nidus_insert_u64(filter, keys[at]) != NIDUS_OK)
			return false;
	}
	return true;
}

static bool all_there(const nidus_filter *filter, const uint64_t *keys, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		if (!nidus_contains_u64(filter, keys[i]))
			return false;
	}
	return info_of(filter).count == n && nidus_verify(filter, NULL) == NIDUS_OK;
}

static void one_filter(unsigned slots, uint64_t n, double times, struct chance *chance,
                       struct tally *tally)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	options.family = NIDUS_BREADCRUMB;
	options.capacity = n;
	options.fpr = 0.0625; /* any width will do */
	options.slots = slots;
	options.seed = 1 + chance_next(chance) / 2;
	if (nidus_create(&options, &filter) != NIDUS_OK) {
		fprintf(stderr, "soak_aging: %s\n", nidus_reason());
		exit(2);
	}
	nidus_info info = info_of(filter);
	uint64_t steps = (uint64_t)(times * (double)info.total_slots);
	uint64_t *keys = malloc(info.capacity * sizeof *keys);
	if (keys == NULL)
		exit(2);
	bool good = fill(filter, keys, info.capacity) &&
	            age(filter, keys, info.capacity, steps, chance) &&
	            all_there(filter, keys, info.capacity);
	tally->load = info_of(filter).load;
	tally->width = info.fingerprint_bits;
	tally->filters++;
	tally->replaced += steps;
	tally->failures += !good;
	free(keys);
	nidus_free(filter);
}

static uint64_t soak(unsigned slots, uint64_t n, double times, struct chance *chance)
{
	struct tally tally = { 0 };
	do {
		one_filter(slots, n, times, chance, &tally);
	} while (tally.replaced < REPLACED_ABOUT && tally.filters < FILTERS_MOST);
	printf("%5u %5u %10llu  %.4f %8llu %12llu %9llu\n", tally.width, slots,
	       (unsigned long long)n, tally.load, (unsigned long long)tally.filters,
	       (unsigned long long)tally.replaced, (unsigned long long)tally.failures);
	fflush(stdout);
	return tally.failures;
}

int main(int argc, char **argv)
{
	uint64_t sizes[SIZES_MOST] = { 1000, 20000, 400000 };
	size_t n = 3;
	double times = argc > 1 ? atof(argv[1]) : 50;
	if (argc > 2) {
		for (n = 0; n < SIZES_MOST && (int)n + 2 < argc; n++)
			sizes[n] = strtoull(argv[n + 2], NULL, 10);
	}
	struct chance chance = { chance_seed() };
	uint64_t failures = 0;
	printf("each filter: full, then %g x its slots of keys replaced (%s)\n", times,
	       nidus_isa());
	printf("width slots       keys    load  filters     replaced  failures\n");
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		for (size_t size = 0; size < n; size++)
			failures +=
				soak(shapes[i], sizes[size] > 0 ? sizes[size] : 1, times, &chance);
	}
	return failures > 0;
}

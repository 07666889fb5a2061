/* SPDX-License-Identifier: MIT
 *
 * bench_breadcrumb_rate: bits per key and measured rate of full breadcrumb filters.
 *
 *     ./dev bench breadcrumb_rate [KEYS [TRIALS]]     10000000 and 100000000 if left out
 *
 * For rates of 2^-6 to 2^-16 a filter is made for KEYS keys and filled;
 * then TRIALS keys that were never inserted are looked up. Exit 1 if bits per key
 * or the rate are above their bars.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <nidus.h>

#include "machine.h"

#define BATCH 1024
#define FIRST_ABSENT (UINT64_C(1) << 60)

#define FIRST_K 6
#define LAST_K 16

/* The most bits per key that are allowed at a rate of 2^-k. */
static double bits_allowed(unsigned k)
{
	return (k <= 14 ? 1.18 : 1.25) * (k + 2);
}

static void give_up(const char *what)
{
	fprintf(stderr, "bench_breadcrumb_rate: %s: %s\n", what, nidus_reason());
	exit(2);
}

/* The hashes of keys first, first + 1, ...; how many of n are left. */
static size_t next_hashes(const nidus_filter *filter, uint64_t first, uint64_t n, uint64_t *hashes)
{
	uint64_t keys[BATCH];
	size_t some = n < BATCH ? (size_t)n : BATCH;
	for (size_t i = 0; i < some; i++)
		keys[i] = first + i;
	nidus_hash_u64_batch(filter, keys, some, hashes);
	return some;
}

static void fill(nidus_filter *filter, uint64_t n)
{
	uint64_t hashes[BATCH];
	for (uint64_t at = 0; at < n;) {
		size_t some = next_hashes(filter, at, n - at, hashes);
		if (nidus_insert_batch(filter, hashes, some, NULL) != NIDUS_OK)
			give_up("an insert within the capacity failed");
		at += some;
	}
}

static uint64_t strangers_found(const nidus_filter *filter, uint64_t trials)
{
	uint64_t hashes[BATCH], found = 0;
	uint8_t yes[BATCH];
	for (uint64_t at = 0; at < trials;) {
		size_t some = next_hashes(filter, FIRST_ABSENT + at, trials - at, hashes);
		nidus_contains_batch(filter, hashes, some, yes);
		for (size_t i = 0; i < some; i++)
			found += yes[i];
		at += some;
	}
	return found;
}

static bool measure(unsigned k, uint64_t keys, uint64_t trials)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_info info = NIDUS_INFO_INIT;
	nidus_filter *filter;
	options.family = NIDUS_BREADCRUMB;
	options.capacity = keys;
	options.fpr = ldexp(1, -(int)k);
	options.seed = 1;
	if (nidus_create(&options, &filter) != NIDUS_OK)
		give_up("no filter");
	fill(filter, keys);
	double found = (double)strangers_found(filter, trials), rate = found / (double)trials;
	double expected = options.fpr * (double)trials, bits = bits_allowed(k);
	(void)nidus_get_info(filter, &info);
	/* Three deviations of a count are allowed for. */
	bool pass = info.bits_per_key <= bits && found <= expected + 3 * sqrt(expected);
	printf("%5u %6u  %.4f  %8.3f %6.3f  %10.7f %10.7f %10.7f  %s\n", k, info.fingerprint_bits,
	       info.load, info.bits_per_key, bits, 100 * rate, 100 * info.fpr_now,
	       100 * options.fpr, pass ? "pass" : "FAIL");
	fflush(stdout);
	nidus_free(filter);
	return pass;
}

int main(int argc, char **argv)
{
	uint64_t keys = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	uint64_t trials = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000000;
	bool pass = true;
	if (keys < 1 || trials < 1) {
		fprintf(stderr, "usage: bench_breadcrumb_rate [KEYS [TRIALS]]\n");
		return 2;
	}
	printf("%s, %s, %s; %llu keys, %llu absent keys\n", machine_cpu(), machine_compiler(),
	       nidus_isa(), (unsigned long long)keys, (unsigned long long)trials);
	printf("    k  width    load  bits/key    bar      rate %%   expected        bar\n");
	for (unsigned k = FIRST_K; k <= LAST_K; k++)
		pass &= measure(k, keys, trials);
	return !pass;
}

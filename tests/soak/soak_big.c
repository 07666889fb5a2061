/* SPDX-License-Identifier: MIT
 *
 * soak_big: filters of 10^6, 10^7, ... and at last N keys, for real.
 *
 *     soak_big [N [FAMILY]]     10000000000 keys and windowed if left out; or bucketed, the compact one
 *
 * Each filter is made for its keys at a rate of 2^-8 and filled to the last one, batch by batch,
 * with the numbers of a counter. Up to 10^8 of them, all over the counter's range, must be found,
 * and of as many others no more than the rate allows. A line tells what each size costs: a table
 * beyond the caches and beyond what huge pages reach makes every step dearer, and no step may be
 * dearer for any other reason. 10^10 keys take 13.3 GB of memory (bucketed: 13.0) and nothing
 * else. Exit 1 if anything failed.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "nidus.h"

#define KEYS UINT64_C(10000000000)
#define FIRST_SIZE UINT64_C(1000000)
#define SAMPLE UINT64_C(100000000)
#define FIRST_ABSENT (UINT64_C(1) << 50)
#define BATCH 4000
#define STRETCH UINT64_C(1000000000) /* a multiple of BATCH */

static bool failed;

static void complain(const char *what)
{
	printf("  FAILED: %s (%s)\n", what, nidus_reason());
	failed = true;
}

/* Seconds of processor time of this thread: others may be busy. */
static double seconds(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Keys first, first + step, ... and their hashes. */
static void hash_some(const nidus_filter *filter, uint64_t first, uint64_t step, size_t n,
                      uint64_t *hashes)
{
	uint64_t keys[BATCH];
	for (size_t i = 0; i < n; i++)
		keys[i] = first + i * step;
	nidus_hash_u64_batch(filter, keys, n, hashes);
}

/* What the last keys of a long fill took, so that a run that is cut short has told something. */
static void tell_progress(uint64_t at, double *last)
{
	double now = seconds();
	printf("%11llu  ... %8.1f ns per insert since the last line\n", (unsigned long long)at,
	       1e9 * (now - *last) / (double)STRETCH);
	fflush(stdout);
	*last = seconds();
}

static bool fill(nidus_filter *filter, uint64_t n)
{
	uint64_t hashes[BATCH];
	double last = seconds();
	for (uint64_t at = 0; at < n; at += BATCH) {
		if (at > 0 && at % STRETCH == 0)
			tell_progress(at, &last);
		size_t some = n - at < BATCH ? (size_t)(n - at) : BATCH;
		hash_some(filter, at, 1, some, hashes);
		if (nidus_insert_batch(filter, hashes, some, NULL) != NIDUS_OK)
			return false;
	}
	return true;
}

static uint64_t count_found(const nidus_filter *filter, uint64_t first, uint64_t step, uint64_t n)
{
	uint64_t hashes[BATCH], found = 0;
	uint8_t yes[BATCH];
	for (uint64_t at = 0; at < n; at += BATCH) {
		size_t some = n - at < BATCH ? (size_t)(n - at) : BATCH;
		hash_some(filter, first + at * step, step, some, hashes);
		nidus_contains_batch(filter, hashes, some, yes);
		for (size_t i = 0; i < some; i++)
			found += yes[i];
	}
	return found;
}

/* What filling and looking takes, in nanoseconds per key. */
struct costs {
	double insert, present, absent;
};

static struct costs try_filter(nidus_filter *filter, uint64_t n, double *rate)
{
	struct costs costs;
	uint64_t sample = n < SAMPLE ? n : SAMPLE;
	double start = seconds();
	if (!fill(filter, n))
		complain("an insert failed");
	costs.insert = 1e9 * (seconds() - start) / (double)n;
	start = seconds();
	if (count_found(filter, 0, n / sample, sample) != sample)
		complain("a key is missing");
	costs.present = 1e9 * (seconds() - start) / (double)sample;
	start = seconds();
	*rate = (double)count_found(filter, FIRST_ABSENT, 1, sample) / (double)sample;
	costs.absent = 1e9 * (seconds() - start) / (double)sample;
	return costs;
}

/* Whether a measured rate is within six deviations of what may be: odds below 10^-8. */
static bool is_within(double rate, double target, uint64_t sample)
{
	double expected = target * (double)sample;
	return rate * (double)sample <= expected + 6 * sqrt(expected);
}

static double peak(void)
{
	struct rusage usage;
	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / (1 << 20);
}

static void one(nidus_family family, uint64_t n)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_info info = NIDUS_INFO_INIT;
	nidus_filter *filter;
	double rate;
	options.family = family;
	options.features = family == NIDUS_BUCKETED ? NIDUS_COMPACT : 0;
	options.capacity = n;
	options.fpr = 0x1p-8;
	options.seed = 2026;
	if (nidus_create(&options, &filter) != NIDUS_OK) {
		complain("no filter");
		return;
	}
	struct costs costs = try_filter(filter, n, &rate);
	(void)nidus_get_info(filter, &info);
	printf("%11llu  %8.3f  %8.3f  %8.1f  %8.1f  %8.1f  %8.5f  %6llu  %8.2f\n",
	       (unsigned long long)n, info.bits_per_key, 100 * info.load, costs.insert,
	       costs.present, costs.absent, rate, (unsigned long long)info.stashed, peak());
	if (info.count != n)
		complain("the count is wrong");
	if (!is_within(rate, info.fpr_target, n < SAMPLE ? n : SAMPLE))
		complain("too many absent keys are found");
	nidus_free(filter);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	uint64_t keys = argc > 1 ? (uint64_t)strtod(argv[1], NULL) : KEYS;
	nidus_family family = NIDUS_WINDOWED;
	if (argc > 2 && nidus_family_by_name(argv[2], &family) != NIDUS_OK) {
		fprintf(stderr, "soak_big: there is no family %s\n", argv[2]);
		return 2;
	}
	printf("%s at 2^-8; nanoseconds of processor time per key, batches of %d, one thread\n",
	       nidus_family_name(family), BATCH);
	printf("%11s  %8s  %8s  %8s  %8s  %8s  %8s  %6s  %8s\n", "keys", "bits/key", "load %",
	       "insert", "present", "absent", "rate", "listed", "peak GiB");
	for (uint64_t n = FIRST_SIZE; n < keys; n *= 10)
		one(family, n);
	one(family, keys > 0 ? keys : 1);
	return failed ? 1 : 0;
}

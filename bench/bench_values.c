/* SPDX-License-Identifier: MIT
 *
 * What values of 8 bits cost: every family with and without them, side by side in one process.
 *
 *     bench_values [KEYS [ROUNDS [FAMILY]]]      default: 4000000 keys, 5 rounds, all families
 *
 * Each round fills both filters and asks them, a few thousand keys to the one and then to the other,
 * and the medians of all rounds are compared: what disturbs the machine disturbs both. Builds
 * take turns. Times are those of the processor. Beside each
 * ratio stands the bar that it should reach: absent keys 0.9, values of present keys 0.7 (against a plain
 * lookup), inserts 0.85, builds 0.75, and bits per key at most 1.02 times those without values
 * plus 8 per slot.
 */
#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BITS 8
#define ROUNDS_MOST 25
#define BATCH 4096 /* keys between one filter's turn and the other's */

enum { ABSENT, FIND, INSERT, BUILD, OPS };

static const char *const names[OPS] = { "absent", "find", "insert", "build" };
static const double bars[OPS] = { 0.9, 0.7, 0.85, 0.75 };

static size_t n;
static uint64_t *keys, *absent, *work, *values, *beside, *first;
static uint32_t *found;
static uint8_t *yes;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void check(nidus_status status)
{
	if (status == NIDUS_OK)
		return;
	fprintf(stderr, "%s: %s\n", nidus_status_name(status), nidus_reason());
	exit(1);
}

static void *memory(size_t size)
{
	void *taken = malloc(size);
	if (taken == NULL)
		exit(1);
	return memset(taken, 0, size); /* pages are there before anything is measured */
}

/* splitmix64: hashes are as good as keys here. */
static uint64_t hash_of(uint64_t i)
{
	i += UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
	i = (i ^ i >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	i = (i ^ i >> 27) * UINT64_C(0x94d049bb133111eb);
	return i ^ i >> 31;
}

static double build_all(const nidus_options *options)
{
	nidus_filter *filter;
	memcpy(work, keys, n * sizeof *work);
	memcpy(beside, values, n * sizeof *beside);
	double start = now();
	check(options->value_bits > 0 ? nidus_build_values(options, work, beside, n, 1, &filter)
	                              : nidus_build_hashes(options, work, n, 1, &filter));
	double took = now() - start;
	nidus_free(filter);
	return took;
}

static void insert_keys(nidus_filter *filter, size_t from, size_t some)
{
	check(nidus_insert_batch(filter, keys + from, some, NULL));
}

static void insert_pairs(nidus_filter *filter, size_t from, size_t some)
{
	check(nidus_insert_value_batch(filter, keys + from, values + from, some, NULL));
}

static void ask_absent(nidus_filter *filter, size_t from, size_t some)
{
	nidus_contains_batch(filter, absent + from, some, yes + from);
}

static void ask_present(nidus_filter *filter, size_t from, size_t some)
{
	nidus_contains_batch(filter, keys + from, some, yes + from);
}

static void find_present(nidus_filter *filter, size_t from, size_t some)
{
	nidus_find_batch(filter, keys + from, some, first + from, found + from);
}

typedef void (*calling)(nidus_filter *filter, size_t from, size_t some);

static double timed(calling call, nidus_filter *filter, size_t from, size_t some)
{
	double start = now();
	call(filter, from, some);
	return now() - start;
}

/* Does the one to filters[0] and the other to filters[1], in turns. */
static void in_turns(nidus_filter *const filters[2], calling one, calling other, double took[2])
{
	took[0] = took[1] = 0;
	for (size_t from = 0; from < n; from += BATCH) {
		size_t some = n - from < BATCH ? n - from : BATCH;
		took[0] += timed(one, filters[0], from, some);
		took[1] += timed(other, filters[1], from, some);
	}
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *times, unsigned rounds)
{
	qsort(times, rounds, sizeof *times, by_time);
	return times[rounds / 2];
}

static void measure(nidus_family family, double took[OPS][2], double bits[2], double *load)
{
	nidus_filter *filters[2];
	for (unsigned with = 0; with < 2; with++) {
		nidus_options options = NIDUS_OPTIONS_INIT;
		options.family = family;
		options.capacity = n;
		options.seed = 1;
		options.value_bits = with ? BITS : 0;
		took[BUILD][with] = build_all(&options);
		check(nidus_create(&options, &filters[with]));
	}
	in_turns(filters, insert_keys, insert_pairs, took[INSERT]);
	in_turns(filters, ask_absent, ask_absent, took[ABSENT]);
	in_turns(filters, ask_present, find_present, took[FIND]);
	for (unsigned with = 0; with < 2; with++) {
		nidus_info info = NIDUS_INFO_INIT;
		check(nidus_get_info(filters[with], &info));
		bits[with] = info.bits_per_key;
		*load = info.load;
		nidus_free(filters[with]);
	}
}

static void compare(nidus_family family, unsigned rounds)
{
	double times[2][OPS][ROUNDS_MOST], took[OPS][2], bits[2] = { 0 }, load = 1;
	for (unsigned round = 0; round < rounds; round++) {
		measure(family, took, bits, &load);
		for (unsigned op = 0; op < OPS; op++) {
			times[0][op][round] = took[op][0];
			times[1][op][round] = took[op][1];
		}
	}
	double space = bits[1] / (bits[0] + BITS / load);
	printf("%-11s %6.2f bits/key, %.3f of 1.02%s", nidus_family_name(family), bits[1], space,
	       space <= 1.02 ? " " : "!");
	for (unsigned op = 0; op < OPS; op++) {
		double without = median(times[0][op], rounds), with = median(times[1][op], rounds);
		printf("  %s %5.1f ns, %.2f of %.2f%s", names[op], with / (double)n * 1e9,
		       without / with, bars[op], without / with >= bars[op] ? " " : "!");
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5;
	n = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 4000000;
	if (n < 1 || rounds < 1 || rounds > ROUNDS_MOST)
		return 2;
	keys = memory(n * sizeof *keys);
	absent = memory(n * sizeof *absent);
	work = memory(n * sizeof *work);
	values = memory(n * sizeof *values);
	beside = memory(n * sizeof *beside);
	first = memory(n * sizeof *first);
	found = memory(n * sizeof *found);
	yes = memory(n);
	for (size_t i = 0; i < n; i++) {
		keys[i] = hash_of(i);
		absent[i] = hash_of(n + i);
		values[i] = i & 255;
	}
	for (int family = NIDUS_CUCKOO; nidus_family_features((nidus_family)family) != 0;
	     family++) {
		bool wanted =
			argc <= 3 || strcmp(argv[3], nidus_family_name((nidus_family)family)) == 0;
		if (wanted && (nidus_family_features((nidus_family)family) & NIDUS_ENUMERATE))
			compare((nidus_family)family, rounds);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * bench_growth: how long the longest single insert takes while a filter grows.
 *
 *     ./dev bench growth [--from N] [--to N] [--fpr RATE] [--seed N] [--json] [FAMILY...]
 *
 * A filter made for 10^6 keys (--from) gets 10^8 (--to), one nidus_insert_u64 at a
 * time, each one timed, at a rate of 2^-8. Printed are the longest, the quantile of
 * 99.99 %, and the average, in microseconds, and in how many steps it grew. Beside
 * it the same for a filter of fixed size, made for --to keys: what of the longest
 * insert is the machine's. A clock reading costs some 25 ns of every insert.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nidus.h>

#include "machine.h"

#define FAMILIES_MOST 16

struct settings {
	uint64_t from, to, seed;
	double fpr;
	bool json, begun;
	nidus_family family[FAMILIES_MOST];
	size_t families;
};

/* Times in buckets that are a 32nd apart: exact enough for a quantile. */
#define BUCKETS (64 * 32)

struct times {
	uint32_t bucket[BUCKETS];
	uint64_t n, sum, longest; /* nanoseconds */
	unsigned steps;           /* of growth */
};

static void give_up(const char *what)
{
	fprintf(stderr, "bench_growth: %s: %s\n", what, nidus_reason());
	exit(2);
}

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static unsigned bucket_of(uint64_t time)
{
	if (time < 32)
		return (unsigned)time;
	unsigned log = 63 - (unsigned)__builtin_clzll(time);
	return (log - 4) * 32 + (unsigned)(time >> (log - 5) & 31);
}

static uint64_t bucket_end(unsigned bucket)
{
	if (bucket < 32)
		return bucket;
	unsigned log = bucket / 32 + 4;
	return ((UINT64_C(32) + bucket % 32 + 1) << (log - 5)) - 1;
}

static double quantile(const struct times *times, double share)
{
	uint64_t left = (uint64_t)((double)times->n * (1 - share));
	for (unsigned i = BUCKETS; i-- > 0;) {
		if (times->bucket[i] > left)
			return (double)bucket_end(i) / 1000;
		left -= times->bucket[i];
	}
	return 0;
}

static uint64_t capacity_of(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	(void)nidus_get_info(filter, &info);
	return info.capacity;
}

static void fill(const nidus_options *options, uint64_t keys, struct times *times)
{
	nidus_filter *filter;
	if (nidus_create(options, &filter) != NIDUS_OK)
		give_up("no filter");
	uint64_t capacity = capacity_of(filter);
	memset(times, 0, sizeof *times);
	for (uint64_t key = 0, before = now(); key < keys; key++) {
		nidus_status status = nidus_insert_u64(filter, key);
		uint64_t after = now(), time = after - before;
		if (status != NIDUS_OK)
			give_up("an insert failed");
		times->bucket[bucket_of(time)]++;
		times->sum += time;
		times->longest = time > times->longest ? time : times->longest;
		before = after;
		if (key >= capacity) { /* it has grown: not part of any insert's time */
			times->steps++;
			capacity = capacity_of(filter);
			before = now();
		}
	}
	times->n = keys;
	nidus_free(filter);
}

static void print_json(const char *name, const struct times *grown, const struct times *fixed,
                       struct settings *settings)
{
	printf("%s\n  {\"family\": \"%s\", \"steps\": %u, \"longest_us\": %.1f, \"q9999_us\": %.2f, "
	       "\"average_us\": %.4f, \"fixed_longest_us\": %.1f, \"fixed_q9999_us\": %.2f, "
	       "\"fixed_average_us\": %.4f}",
	       settings->begun ? "," : "", name, grown->steps, (double)grown->longest / 1000,
	       quantile(grown, 0.9999), (double)grown->sum / (double)grown->n / 1000,
	       (double)fixed->longest / 1000, quantile(fixed, 0.9999),
	       (double)fixed->sum / (double)fixed->n / 1000);
	settings->begun = true;
}

static void print_row(const char *name, const struct times *grown, const struct times *fixed)
{
	printf("%-12s %5u %12.1f %10.2f %9.4f %12.1f %10.2f %9.4f\n", name, grown->steps,
	       (double)grown->longest / 1000, quantile(grown, 0.9999),
	       (double)grown->sum / (double)grown->n / 1000, (double)fixed->longest / 1000,
	       quantile(fixed, 0.9999), (double)fixed->sum / (double)fixed->n / 1000);
	fflush(stdout);
}

static void measure(struct settings *settings, nidus_family family)
{
	static struct times grown, fixed;
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = family;
	options.fpr = settings->fpr;
	options.seed = settings->seed;
	options.capacity = settings->from;
	options.max_capacity = settings->to;
	fill(&options, settings->to, &grown);
	options.capacity = settings->to;
	options.max_capacity = 0;
	fill(&options, settings->to, &fixed);
	if (settings->json)
		print_json(nidus_family_name(family), &grown, &fixed, settings);
	else
		print_row(nidus_family_name(family), &grown, &fixed);
}

/* The families of the command line, or all that grow. */
static void choose_families(struct settings *settings)
{
	if (settings->families > 0)
		return;
	for (unsigned id = 1; id < FAMILIES_MOST; id++) {
		if (nidus_family_features((nidus_family)id) & NIDUS_GROW)
			settings->family[settings->families++] = (nidus_family)id;
	}
}

static bool read_argument(struct settings *settings, int argc, char **argv, int *at)
{
	const char *name = argv[*at];
	if (strcmp(name, "--json") == 0)
		return settings->json = true;
	if (name[0] != '-') {
		return settings->families < FAMILIES_MOST &&
		       nidus_family_by_name(name, &settings->family[settings->families++]) ==
		               NIDUS_OK;
	}
	if (++*at >= argc)
		return false;
	double value = strtod(argv[*at], NULL);
	if (strcmp(name, "--fpr") == 0)
		settings->fpr = value;
	else if (strcmp(name, "--from") == 0)
		settings->from = (uint64_t)value;
	else if (strcmp(name, "--to") == 0)
		settings->to = (uint64_t)value;
	else if (strcmp(name, "--seed") == 0)
		settings->seed = (uint64_t)value;
	else
		return false;
	return value > 0;
}

int main(int argc, char **argv)
{
	struct settings settings = { 1000000, 100000000, 1, ldexp(1, -8), false, false, { 0 }, 0 };
	for (int i = 1; i < argc; i++) {
		if (!read_argument(&settings, argc, argv, &i)) {
			fprintf(stderr, "usage: bench_growth [--from N] [--to N] [--fpr RATE] "
			                "[--seed N] [--json] [FAMILY...]\n");
			return 2;
		}
	}
	choose_families(&settings);
	if (settings.json)
		printf("{\"cpu\": \"%s\", \"compiler\": \"%s\", \"from\": %llu, \"to\": %llu, "
		       "\"fpr\": %g, \"seed\": %llu, \"rows\": [",
		       machine_cpu(), machine_compiler(), (unsigned long long)settings.from,
		       (unsigned long long)settings.to, settings.fpr,
		       (unsigned long long)settings.seed);
	else
		printf("%s, %s; from %llu to %llu keys, fpr %g, seed %llu; microseconds\n"
		       "%-12s %5s %12s %10s %9s %12s %10s %9s\n",
		       machine_cpu(), machine_compiler(), (unsigned long long)settings.from,
		       (unsigned long long)settings.to, settings.fpr,
		       (unsigned long long)settings.seed, "family", "steps", "longest", "99.99 %",
		       "average", "fixed: long.", "99.99 %", "average");
	for (size_t i = 0; i < settings.families; i++)
		measure(&settings, settings.family[i]);
	if (settings.json)
		printf("\n]}\n");
	return 0;
}

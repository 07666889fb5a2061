/* SPDX-License-Identifier: MIT
 *
 * bench_memory: what growing filters take, from a thousand keys to all that they may have.
 *
 *     ./dev bench memory [MOST [FAMILY...]]     10^7 keys, windowed and breadcrumb if left out
 *     ./dev bench memory unlimited [MOST [FAMILY...]]
 *     ./dev bench memory lines [MOST [FAMILY]]
 *
 * A filter made for 1000 keys at 2^-8 that may have MOST gets them one by one. Its memory is
 * compared with n * (f + log2(MOST / n)) bits, where f is what a filter of fixed size, made for
 * MOST keys, takes for each: nidus_info.bytes, looked at 64 times in a doubling. The rows of the
 * table are the doublings before a size; figures depend on nothing but the library.
 *
 * The second form makes a filter without a size at 1 %, and compares with what a filter of fixed size
 * takes for the keys that are in it. Its last columns are the rate that is expected then and that of a
 * million keys that were not inserted.
 *
 * The third form is for tools/plot_growth.py: bits per key at 1 % from 100 keys on of three filters, by
 * the number of keys: one of fixed size made for them, one that may have MOST, one without a size.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nidus.h>

#define ROWS 16
#define LOOKS 64 /* in a doubling */
#define RATE 0x1p-8
#define UNLIMITED_RATE 0.01

/* Whether filters have no size. */
static bool unlimited;

static double rate(void)
{
	return unlimited ? UNLIMITED_RATE : RATE;
}

/* How many times as much as it must a filter takes, over some looks. */
struct ratios {
	double sum, worst;
	unsigned looks;
};

static double bits_of_fixed(nidus_family family, uint64_t keys)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_plan_row rows[ROWS];
	size_t n = 0;
	options.capacity = keys;
	options.fpr = rate();
	if (nidus_plan(&options, rows, ROWS, &n) != NIDUS_OK)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (rows[i].family == family)
			return rows[i].bits_per_key;
	}
	return 0;
}

static void look(const nidus_filter *filter, double least, struct ratios *ratios)
{
	nidus_info info = NIDUS_INFO_INIT;
	nidus_get_info(filter, &info);
	double ratio = info.bits_per_key / least;
	ratios->sum += ratio;
	ratios->worst = ratio > ratios->worst ? ratio : ratios->worst;
	ratios->looks++;
}

#define ASKED 1000000
#define BATCH 1000

/* The share of keys that were not inserted, of which a filter says that they were. */
static double measured_rate(const nidus_filter *filter, uint64_t inserted)
{
	uint64_t hashes[BATCH], next = (inserted << 20) + (UINT64_C(1) << 60), found = 0;
	uint8_t yes[BATCH];
	for (unsigned i = 0; i < ASKED / BATCH; i++) {
		for (unsigned k = 0; k < BATCH; k++)
			hashes[k] = nidus_hash_u64(filter, next++);
		nidus_contains_batch(filter, hashes, BATCH, yes);
		for (unsigned k = 0; k < BATCH; k++)
			found += yes[k];
	}
	return (double)found / ASKED;
}

static void print_row(const nidus_filter *filter, double least, struct ratios *ratios)
{
	nidus_info info = NIDUS_INFO_INIT;
	nidus_get_info(filter, &info);
	printf("| %llu | %llu | %.1f | %.1f | %.2f | %.2f |", (unsigned long long)info.count,
	       (unsigned long long)info.chunks, info.bits_per_key, least,
	       ratios->sum / ratios->looks, ratios->worst);
	if (unlimited)
		printf(" %.3f %% | %.3f %% |", 100 * info.fpr_now,
		       100 * measured_rate(filter, info.count));
	printf("\n");
	*ratios = (struct ratios){ 0 };
}

/* Bits per key that a filter of so many keys is compared with. */
static double least_bits(nidus_family family, uint64_t n, uint64_t most)
{
	if (unlimited)
		return bits_of_fixed(family, n);
	return bits_of_fixed(family, most) + log2((double)most / (double)n);
}

static nidus_status fill(nidus_filter *filter, nidus_family family, uint64_t most)
{
	double next = 1000, row = 2000, step = exp2(1.0 / LOOKS);
	struct ratios ratios = { 0 };
	nidus_status status = NIDUS_OK;
	for (uint64_t n = 1; n <= most && status == NIDUS_OK; n++) {
		status = nidus_insert_u64(filter, n);
		if ((double)n < next && n < most)
			continue;
		double least = least_bits(family, n, most);
		next = (double)n * step;
		look(filter, least, &ratios);
		if ((double)n < row && n < most)
			continue;
		row = 2 * (double)n;
		print_row(filter, least, &ratios);
	}
	return status;
}

static int measure(const char *name, uint64_t most)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter = NULL;
	nidus_status status = nidus_family_by_name(name, &options.family);
	options.capacity = unlimited ? 0 : 1000;
	options.max_capacity = unlimited ? NIDUS_UNLIMITED : most;
	options.fpr = rate();
	options.seed = 1;
	if (status == NIDUS_OK)
		status = nidus_create(&options, &filter);
	if (status == NIDUS_OK) {
		printf("\n%s:\n\n| keys | bodies | bits per key | %s | mean | worst |%s\n"
		       "|---:|---:|---:|---:|---:|---:|%s\n",
		       name, unlimited ? "fixed" : "least", unlimited ? " rate | measured |" : "",
		       unlimited ? "---:|---:|" : "");
		status = fill(filter, options.family, most);
	}
	if (status != NIDUS_OK)
		fprintf(stderr, "bench_memory: %s: %s\n", name, nidus_reason());
	nidus_free(filter);
	return status != NIDUS_OK;
}

/* A filter made for `keys` keys that may have `most`. */
static nidus_filter *make(nidus_family family, uint64_t keys, uint64_t most)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	options.family = family;
	options.capacity = keys;
	options.max_capacity = most;
	options.fpr = UNLIMITED_RATE;
	options.seed = 1;
	if (nidus_create(&options, &filter) == NIDUS_OK)
		return filter;
	fprintf(stderr, "bench_memory: %s\n", nidus_reason());
	exit(1);
}

static double bits_of(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	nidus_get_info(filter, &info);
	return info.bits_per_key;
}

#define LINES_FROM 100

static int print_lines(const char *name, uint64_t most)
{
	nidus_family family;
	if (nidus_family_by_name(name, &family) != NIDUS_OK)
		return fprintf(stderr, "bench_memory: %s\n", nidus_reason()), 2;
	unlimited = true;
	nidus_filter *reserved = make(family, LINES_FROM, most);
	nidus_filter *any = make(family, 0, NIDUS_UNLIMITED);
	double next = LINES_FROM;
	for (uint64_t n = 1; n <= most; n++) {
		if (nidus_insert_u64(reserved, n) != NIDUS_OK ||
		    nidus_insert_u64(any, n) != NIDUS_OK)
			return fprintf(stderr, "bench_memory: %s\n", nidus_reason()), 1;
		if ((double)n < next && n < most)
			continue;
		next = (double)n * exp2(1.0 / 16);
		printf("%llu %.3f %.3f %.3f\n", (unsigned long long)n, bits_of_fixed(family, n),
		       bits_of(reserved), bits_of(any));
	}
	nidus_free(reserved);
	nidus_free(any);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "lines") == 0)
		return print_lines(argc > 3 ? argv[3] : "windowed",
		                   argc > 2 ? (uint64_t)strtod(argv[2], NULL) : 10000000);
	if (argc > 1 && strcmp(argv[1], "unlimited") == 0) {
		unlimited = true;
		argc--;
		argv++;
	}
	uint64_t most = argc > 1 ? (uint64_t)strtod(argv[1], NULL) : 10000000;
	int code = 0;
	if (most < 2000)
		return fprintf(stderr, "bench_memory: MOST must be at least 2000\n"), 2;
	for (int i = 2; i < argc; i++)
		code |= measure(argv[i], most);
	if (argc < 3)
		code = measure("windowed", most) | measure("breadcrumb", most);
	return code;
}

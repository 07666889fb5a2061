/* SPDX-License-Identifier: MIT
 *
 * bench_recent: "seen among the last n keys?" by a filter that forgets, by two Bloom filters in turn, and by an
 * age-partitioned Bloom filter (Shtul, Baquero, Almeida: Age-Partitioned Bloom Filters, 2020).
 *
 * Keys come once each. When all is in balance it prints the bits per key of the window, the rate of absent keys, and how
 * many keys behind the newest one a key is found for certain, and at most.
 *
 *     bench_recent [n]
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nidus.h"

#define SLICES 16
#define FPR (1.0 / 256)
#define ROUNDS 4 /* windows until everything is in balance */
#define ABSENT 1000000

struct result {
	double bits, rate;
	uint64_t certain, most;
};

static void must(nidus_status status)
{
	if (status == NIDUS_OK)
		return;
	fprintf(stderr, "bench_recent: %s\n", nidus_reason());
	exit(1);
}

static void print(const char *name, uint64_t n, struct result result)
{
	printf("%-28s %6.2f bits per key   rate %.5f   %.3f to %.3f windows\n", name, result.bits,
	       result.rate, (double)result.certain / (double)n, (double)result.most / (double)n);
}

/* ------------------------------------------------------------------------- nidus -- */

static struct result of_nidus(nidus_family family, uint32_t features, uint64_t n)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	uint64_t slice = (n - 1) / (SLICES - 1) + 1, keys = ROUNDS * SLICES * slice, yes = 0;
	options.family = family;
	options.features = features;
	options.capacity = SLICES * slice;
	options.fpr = FPR;
	options.slices = SLICES;
	options.seed = 1;
	must(nidus_create(&options, &filter));
	for (uint64_t i = 0; i < keys; i++) {
		must(nidus_insert_u64(filter, i));
		if ((i + 1) % slice == 0 && i + 1 < keys)
			must(nidus_tick(filter));
	}
	for (uint64_t i = 0; i < ABSENT; i++)
		yes += nidus_contains_u64(filter, UINT64_MAX / 2 + i);
	nidus_info info = NIDUS_INFO_INIT;
	must(nidus_get_info(filter, &info));
	nidus_free(filter);
	return (struct result){ 8 * (double)info.bytes / (double)n, (double)yes / ABSENT,
		                (SLICES - 1) * slice, SLICES * slice };
}

/* ------------------------------------------------------- two Bloom filters in turn -- */

static struct result of_two(uint64_t n)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter[2];
	uint64_t yes = 0;
	options.family = NIDUS_BLOOM;
	options.capacity = n;
	options.fpr = FPR / 2;
	options.seed = 1;
	must(nidus_create(&options, &filter[0]));
	must(nidus_create(&options, &filter[1]));
	for (uint64_t i = 0; i < ROUNDS * n; i++) {
		if (i % n == 0)
			must(nidus_clear(filter[i / n % 2]));
		must(nidus_insert_u64(filter[i / n % 2], i));
	}
	for (uint64_t i = 0; i < ABSENT; i++)
		yes += nidus_contains_u64(filter[0], UINT64_MAX / 2 + i) ||
		       nidus_contains_u64(filter[1], UINT64_MAX / 2 + i);
	nidus_info info = NIDUS_INFO_INIT;
	must(nidus_get_info(filter[0], &info));
	nidus_free(filter[0]);
	nidus_free(filter[1]);
	return (struct result){ 16 * (double)info.bytes / (double)n, (double)yes / ABSENT, n,
		                2 * n };
}

/* ------------------------------------------------- an age-partitioned Bloom filter -- */

/* A key sets a bit in each of the k youngest of k + l parts, and is found by k in a row. */
struct aged {
	unsigned k, l, youngest;
	uint64_t bits; /* of a part */
	unsigned char **part;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t aged_bit(const struct aged *aged, uint64_t key, unsigned part)
{
	return mix(mix(key) + part * UINT64_C(0x9e3779b97f4a7c15)) % aged->bits;
}

static void aged_insert(struct aged *aged, uint64_t key)
{
	for (unsigned i = 0; i < aged->k; i++) {
		unsigned part = (aged->youngest + i) % (aged->k + aged->l);
		uint64_t bit = aged_bit(aged, key, part);
		aged->part[part][bit / 8] |= (unsigned char)(1u << bit % 8);
	}
}

static int aged_contains(const struct aged *aged, uint64_t key)
{
	unsigned row = 0;
	for (unsigned i = 0; i < aged->k + aged->l && row < aged->k; i++) {
		unsigned part = (aged->youngest + i) % (aged->k + aged->l);
		uint64_t bit = aged_bit(aged, key, part);
		row = aged->part[part][bit / 8] >> bit % 8 & 1 ? row + 1 : 0;
	}
	return row >= aged->k;
}

static void aged_shift(struct aged *aged)
{
	unsigned parts = aged->k + aged->l;
	aged->youngest = (aged->youngest + parts - 1) % parts;
	memset(aged->part[aged->youngest], 0, aged->bits / 8 + 1);
}

/* With parts that are half full in the end, as its authors advise. */
static struct result of_aged(uint64_t n, unsigned k)
{
	struct aged aged = { .k = k, .l = SLICES - 1 };
	uint64_t slice = (n - 1) / aged.l + 1, yes = 0;
	aged.bits = (uint64_t)((double)(k * slice) / log(2)) + 1;
	aged.part = calloc(k + aged.l, sizeof *aged.part);
	for (unsigned i = 0; i < k + aged.l; i++)
		aged.part[i] = calloc(1, aged.bits / 8 + 1);
	for (uint64_t i = 0; i < ROUNDS * SLICES * slice; i++) {
		if (i > 0 && i % slice == 0)
			aged_shift(&aged);
		aged_insert(&aged, i);
	}
	for (uint64_t i = 0; i < ABSENT; i++)
		yes += (uint64_t)aged_contains(&aged, UINT64_MAX / 2 + i);
	for (unsigned i = 0; i < k + aged.l; i++)
		free(aged.part[i]);
	free(aged.part);
	return (struct result){ (double)((k + aged.l) * aged.bits) / (double)n,
		                (double)yes / ABSENT, aged.l * slice, (aged.l + 1) * slice };
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	struct result aged;
	unsigned k = 4;
	print("windowed, 16 slices", n, of_nidus(NIDUS_WINDOWED, 0, n));
	print("bucketed, compact, 16 slices", n, of_nidus(NIDUS_BUCKETED, NIDUS_COMPACT, n));
	print("breadcrumb, 16 slices", n, of_nidus(NIDUS_BREADCRUMB, 0, n));
	print("two Bloom filters in turn", n, of_two(n));
	do
		aged = of_aged(n, k++);
	while (aged.rate > FPR);
	print("age-partitioned Bloom filter", n, aged);
	return 0;
}

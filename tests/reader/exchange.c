/* SPDX-License-Identifier: MIT
 *
 * exchange: files that machines of different kinds must agree on.
 *
 *     exchange write FOLDER    saves a filter of every family and several options
 *     exchange read FOLDER     makes the same filters anew: the files there must be
 *                              the same bytes, load, and hold the same keys
 *
 * ./dev test-cross writes on one machine and reads on the other, both ways.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nidus.h"

#define KEYS 1500
#define ABSENT 4000

static uint64_t hash_of_key(const nidus_filter *filter, uint64_t key)
{
	char text[32];
	int len = snprintf(text, sizeof text, "key %llu", (unsigned long long)key);
	return key % 2 ? nidus_hash(filter, text, (size_t)len) : nidus_hash_u64(filter, key * key);
}

/* Builds a static filter of the keys that fill() puts into others, in place of an empty one. */
static nidus_status build(const nidus_options *options, nidus_filter **filter)
{
	uint64_t hashes[KEYS];
	for (uint64_t key = 0; key < KEYS; key++)
		hashes[key] = hash_of_key(*filter, key);
	nidus_free(*filter);
	return nidus_build_hashes(options, hashes, KEYS, 2, filter);
}

/* Keys of all three spellings, and some copies. */
static nidus_status fill(nidus_filter *filter)
{
	nidus_status status = NIDUS_OK;
	for (uint64_t key = 0; key < KEYS && status == NIDUS_OK; key++) {
		char text[32];
		int len = snprintf(text, sizeof text, "key %llu", (unsigned long long)key);
		status = key % 2 ? nidus_insert(filter, text, (size_t)len)
		                 : nidus_insert_u64(filter, key * key);
		if (status == NIDUS_OK && key % 100 == 7)
			status = nidus_insert_hash(filter, nidus_hash(filter, text, (size_t)len));
	}
	return status;
}

/* Folds the answers for present and absent keys into one number. */
static uint64_t answers(const nidus_filter *filter)
{
	uint64_t sum = 0;
	for (uint64_t key = 0; key < ABSENT; key++) {
		char text[32];
		int len = snprintf(text, sizeof text, "key %llu", (unsigned long long)key);
		sum = sum * 31 + nidus_count_key(filter, text, (size_t)len);
		sum = sum * 31 + nidus_contains_u64(filter, key * key);
	}
	return sum;
}

static int fail(const char *path, const char *what)
{
	fprintf(stderr, "exchange: %s: %s (%s)\n", path, what, nidus_reason());
	return -1;
}

/* Whether the file is what the filter would be saved as. */
static bool same_bytes(const nidus_filter *filter, const char *path)
{
	static unsigned char saved[1 << 20], there[1 << 20];
	size_t size = 0;
	FILE *file = fopen(path, "rb");
	if (file == NULL || nidus_save_buffer(filter, saved, sizeof saved, &size) != NIDUS_OK)
		return false;
	size_t got = fread(there, 1, sizeof there, file);
	fclose(file);
	return got == size && memcmp(saved, there, size) == 0;
}

static int read_back(const nidus_filter *filter, const char *path)
{
	nidus_filter *loaded;
	if (!same_bytes(filter, path))
		return fail(path, "the bytes differ from what is made here");
	if (nidus_load(path, &loaded) != NIDUS_OK)
		return fail(path, "it does not load");
	bool same = answers(loaded) == answers(filter);
	nidus_free(loaded);
	return same ? 0 : fail(path, "the answers differ");
}

/* One filter, written or compared. Answers 1, 0 if the family has none such, or -1. */
static int trade(const char *folder, bool write, const nidus_options *options)
{
	char path[500];
	nidus_filter *filter;
	snprintf(path, sizeof path, "%s/%s-%u-%llu.nidus", folder,
	         nidus_family_name(options->family), options->slots,
	         (unsigned long long)(options->max_capacity + (uint64_t)(1 / options->fpr)));
	nidus_status status = nidus_create(options, &filter);
	if (status == NIDUS_E_RANGE || status == NIDUS_E_UNSUPPORTED)
		return 0;
	if (status == NIDUS_OK)
		status = nidus_family_features(options->family) & NIDUS_STATIC
		                 ? build(options, &filter)
		                 : fill(filter);
	if (status != NIDUS_OK)
		return fail(path, "it cannot be made");
	int bad = 0;
	if (!write)
		bad = read_back(filter, path);
	else if (nidus_save(filter, path) != NIDUS_OK)
		bad = fail(path, "it cannot be saved");
	nidus_free(filter);
	return bad < 0 ? -1 : 1;
}

static int trade_family(const char *folder, bool write, nidus_family family)
{
	static const unsigned slots[] = { 0, 2, 4, 8 };
	int traded = 0;
	for (unsigned i = 0; i < 4 * 3 * 2; i++) {
		nidus_options options = NIDUS_OPTIONS_INIT;
		options.family = family;
		options.slots = slots[i % 4];
		options.fpr = ldexp(1, -(int)(4 + 5 * (i / 4 % 3)));
		options.seed = 20;
		bool grows = i >= 12;
		options.capacity = grows ? 300 : KEYS + 20;
		options.max_capacity = grows ? 4800 : 0;
		int one = trade(folder, write, &options);
		if (one < 0)
			return -1;
		traded += one;
	}
	return traded;
}

int main(int argc, char **argv)
{
	bool write = argc == 3 && strcmp(argv[1], "write") == 0;
	int traded = 0;
	if (argc != 3 || (!write && strcmp(argv[1], "read") != 0)) {
		fputs("usage: exchange write|read FOLDER\n", stderr);
		return 2;
	}
	for (int family = NIDUS_CUCKOO; family <= NIDUS_RIBBON; family++) {
		if (nidus_family_features((nidus_family)family) == 0)
			continue;
		int some = trade_family(argv[2], write, (nidus_family)family);
		if (some <= 0)
			return some == 0 ? fail(argv[2], "a family has no files") : 1;
		traded += some;
	}
	printf("%d files\n", traded);
	return 0;
}

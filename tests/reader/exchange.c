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

/* Keys of a filter that forgets, and older ones anew; a tick after every so many, and some behind the last. */
static nidus_status fill_recent(nidus_filter *filter, uint64_t keys, uint64_t every, unsigned ticks)
{
	nidus_status status = NIDUS_OK;
	for (uint64_t key = 0; key < keys && status == NIDUS_OK; key++) {
		status = nidus_insert_hash(filter, hash_of_key(filter, key));
		if (status == NIDUS_OK && key % 3 == 0)
			status = nidus_insert_hash(filter, hash_of_key(filter, key * 3 / 4));
		if (status == NIDUS_OK && key % every == every - 1)
			status = nidus_tick(filter);
	}
	for (unsigned i = 0; i < ticks && status == NIDUS_OK; i++)
		status = nidus_tick(filter);
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
		sum = sum * 31 + (uint64_t)nidus_age_u64(filter, key * key);
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

/* A filter is written or compared, and freed. */
static int trade_made(const char *path, bool write, nidus_filter *filter)
{
	int bad = 0;
	if (!write)
		bad = read_back(filter, path);
	else if (nidus_save(filter, path) != NIDUS_OK)
		bad = fail(path, "it cannot be saved");
	nidus_free(filter);
	return bad < 0 ? -1 : 1;
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
	return trade_made(path, write, filter);
}

/* Filters that forget: lists, of a fixed size, and such that grow. Answers like trade(). */
static int trade_recent(const char *folder, bool write, nidus_family family)
{
	static const struct {
		const char *name;
		uint64_t capacity, max_capacity, keys, every;
		unsigned slices, ticks;
		uint32_t features;
	} shapes[] = {
		{ "list", 20, 4 * KEYS, 60, 10, 5, 1, 0 },
		{ "list-long-ago", 20, 4 * KEYS, 50, 50, 2, 20, 0 },
		{ "small", 30, 0, 60, 7, 4, 1, NIDUS_CONCURRENT },
		{ "fixed", KEYS, 0, KEYS, 200, 6, 2, 0 },
		{ "full", 700, 0, KEYS, 40, 16, 0, 0 },
		{ "finest", KEYS, 0, KEYS, 5, 254, 0, 0 },
		{ "grown", 100, 4 * KEYS, KEYS, 300, 3, 1, 0 },
		{ "leaves", 100, 16 * KEYS, 18 * KEYS, 2 * KEYS, 8, 1, 0 },
		{ "compact", 900, 0, KEYS, 100, 8, 3, NIDUS_COMPACT },
	};
	int traded = 0;
	for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		char path[500];
		nidus_filter *filter;
		nidus_options options = NIDUS_OPTIONS_INIT;
		options.family = family;
		options.capacity = shapes[i].capacity;
		options.max_capacity = shapes[i].max_capacity;
		options.features = shapes[i].features;
		options.slices = shapes[i].slices;
		options.fpr = ldexp(1, -7);
		options.seed = 20;
		snprintf(path, sizeof path, "%s/%s-recent-%s.nidus", folder,
		         nidus_family_name(family), shapes[i].name);
		nidus_status status = nidus_create(&options, &filter);
		if (status == NIDUS_E_UNSUPPORTED)
			continue;
		if (status == NIDUS_OK)
			status = fill_recent(filter, shapes[i].keys, shapes[i].every,
			                     shapes[i].ticks);
		if (status != NIDUS_OK)
			return fail(path, "it cannot be made");
		if (trade_made(path, write, filter) < 0)
			return -1;
		traded++;
	}
	return traded;
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
		some = trade_recent(argv[2], write, (nidus_family)family);
		if (some < 0)
			return 1;
		traded += some;
	}
	printf("%d files\n", traded);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * make_golden FOLDER: makes the files of tests/golden/ that are missing.
 *
 * Existing files are left alone, so that this program can add those of a new
 * family. tests/golden/README.md says when files are made anew.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/filter.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/golden.h"

#define SEED UINT64_C(0x6e69647573763031)

#define KEYS_MOST 400 /* in a filter of these */
#define SEGMENT 32    /* slots of a segment, so that a few hundred keys need several */

static const char *folder;

/* Takes the filter. */
static void keep(nidus_filter *filter, const char *what)
{
	char path[1000];
	nidus_info info = info_of(filter);
	snprintf(path, sizeof path, "%s/%s-%s.nidus", folder, nidus_family_name(info.family), what);
	if (access(path, F_OK) != 0) {
		expect_ok(nidus_save(filter, path));
		snprintf(path, sizeof path, "%s/%s-%s.expected", folder,
		         nidus_family_name(info.family), what);
		FILE *file = fopen(path, "w");
		expect(file != NULL);
		golden_describe(filter, file);
		expect_equal(fclose(file), 0);
		printf("%s\n", path);
	}
	nidus_free(filter);
}

static nidus_options options_of(int family, uint64_t capacity, int k)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = (nidus_family)family;
	options.capacity = capacity;
	options.fpr = ldexp(1, -k);
	options.seed = SEED;
	return options;
}

/* A filter of keys `from` to `to` - 1. */
static nidus_filter *filled(const nidus_options *options, uint64_t from, uint64_t to)
{
	nidus_filter *filter = filter_create(options);
	if (nidus_family_features(options->family) & NIDUS_STATIC) {
		uint64_t hashes[KEYS_MOST];
		for (uint64_t i = from; i < to; i++)
			hashes[i - from] = golden_hash(filter, i);
		nidus_free(filter);
		expect_ok(nidus_build_hashes(options, hashes, to - from, 1, &filter));
		return filter;
	}
	for (uint64_t i = from; i < to; i++)
		expect_ok(nidus_insert_hash(filter, golden_hash(filter, i)));
	return filter;
}

static void keep_fixed(int family)
{
	nidus_options options = options_of(family, 60, 8);
	keep(filled(&options, 0, 60), "fixed");
	options = options_of(family, 5, 8);
	keep(filled(&options, 0, 0), "empty");
	options = options_of(family, 40, 20);
	keep(filled(&options, 10, 50), "low-rate");
}

/* Where the family has them: all sizes of groups or lines, and several chunks. */
static void keep_shapes(int family)
{
	static const unsigned slots[] = { 2, 4, 8, 19, 25, 28, 36, 51 };
	for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
		char what[40];
		nidus_filter *filter;
		nidus_options options = options_of(family, 50, 6);
		options.slots = slots[i];
		snprintf(what, sizeof what, "slots-%u", slots[i]);
		if (nidus_create(&options, &filter) != NIDUS_OK)
			continue;
		nidus_free(filter);
		keep(filled(&options, 0, 50), what);
	}
	nidus_options options = options_of(family, 1000, 4);
	nidus_filter *filter = filled(&options, 0, 150);
	if (info_of(filter).chunks > 1)
		keep(filter, "chunks");
	else
		nidus_free(filter);
}

/* Copies of two keys, until groups of two slots need the stash. */
static void keep_copies(int family)
{
	nidus_options options = options_of(family, 60, 5);
	if (family != NIDUS_SEMISORT && family != NIDUS_BREADCRUMB)
		options.slots = 2;
	unsigned copies = family == NIDUS_SEMISORT ? 10 : 6;
	nidus_filter *filter = filled(&options, 0, 40);
	for (unsigned i = 0; i < copies; i++) {
		expect_ok(nidus_insert_hash(filter, golden_hash(filter, 7)));
		if (i % 2 == 0)
			expect_ok(nidus_insert_hash(filter, golden_hash(filter, 8)));
	}
	expect(family == NIDUS_BREADCRUMB || info_of(filter).stashed > 0);
	keep(filter, "copies");
}

/* Copies of two keys: more than lines or groups have room for. */
static void insert_hot(nidus_filter *filter, unsigned copies)
{
	for (unsigned i = 0; i < copies; i++)
		expect_ok(nidus_insert_hash(filter, golden_hash(filter, 5 + i % 2)));
}

/* A list, the same with copies; some leaves, with tags and with lists; and all bits used up. */
static void keep_grown(int family)
{
	nidus_options options = options_of(family, 8, 5);
	options.max_capacity = 3000;
	keep(filled(&options, 0, 10), "to-grow");
	nidus_filter *filter = filled(&options, 0, 10);
	insert_hot(filter, 50);
	expect(!has_segments(filter));
	keep(filter, "to-grow-copies");
	keep(filled(&options, 0, 300), "grown-in-part");
	filter = filled(&options, 0, 200);
	insert_hot(filter, 100);
	expect(info_of(filter).stashed > 0);
	keep(filter, "grown-copies");
	options.max_capacity = 300;
	filter = filled(&options, 0, 300);
	expect(has_segments(filter));
	keep(filter, "grown");
}

/* Full filters: bits that lead to bodies are borrowed. */
static void keep_merged(int family, uint64_t most)
{
	nidus_options options = options_of(family, 40, 9);
	options.max_capacity = most;
	nidus_filter *a = filled(&options, 0, 40), *b = filled(&options, 40, 80), *whole;
	expect_ok(nidus_merge(a, b, &whole));
	nidus_free(a);
	nidus_free(b);
	if (most == 0) {
		keep(whole, "merged");
		return;
	}
	nidus_filter *c = filled(&options, 80, 120), *d = filled(&options, 120, 160), *all;
	expect_ok(nidus_merge(whole, c, &a));
	expect_ok(nidus_merge(a, d, &all));
	nidus_free(a);
	nidus_free(c);
	nidus_free(d);
	nidus_free(whole);
	keep(all, "grown-and-merged");
}

/* Values of every width that is laid out in another way; with copies in filters that grow. */
static void keep_values(int family)
{
	static const unsigned widths[] = { 1, 8, 13, 32 };
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		char what[40];
		nidus_options options = options_of(family, 60, 8);
		options.value_bits = widths[i];
		nidus_filter *filter = filter_create(&options);
		for (uint64_t key = 0; key < 60; key++)
			expect_ok(
				nidus_insert_value_hash(filter, golden_hash(filter, key),
			                                key * UINT64_C(0x9e3779b9) >> 7 &
			                                        ((UINT64_C(1) << widths[i]) - 1)));
		snprintf(what, sizeof what, "values-%u", widths[i]);
		keep(filter, what);
	}
	for (unsigned grown = 0; grown < 2; grown++) {
		nidus_options options = options_of(family, 8, 5);
		options.max_capacity = 3000;
		options.value_bits = 11;
		nidus_filter *filter = filter_create(&options);
		for (uint64_t key = 0; key < (grown ? 250 : 10); key++)
			expect_ok(nidus_insert_value_hash(filter, golden_hash(filter, key), key));
		for (unsigned i = 0; i < 60; i++)
			expect_ok(nidus_insert_value_hash(filter, golden_hash(filter, 5 + i % 3),
			                                  1000 + i % 20));
		expect_equal(has_segments(filter), grown);
		keep(filter, grown ? "values-grown" : "values-to-grow");
	}
}

/* Without a size: a list, several generations with copies, and the same with values. */
static void keep_generations(int family)
{
	bool removes = family >= NIDUS_BUCKETED;
	nidus_options options = options_of(family, 0, 5);
	options.max_capacity = NIDUS_UNLIMITED;
	options.features = removes ? 0 : NIDUS_NO_DELETE;
	take_small_segments(8);
	generation_bits_first = generation_bits = 1;
	keep(filled(&options, 0, 10), "unlimited");
	nidus_filter *filter = filled(&options, 0, 40);
	insert_hot(filter, 60);
	for (uint64_t key = 40; key < KEYS_MOST; key++)
		expect_ok(nidus_insert_hash(filter, golden_hash(filter, key)));
	expect(generations_n(filter_generations(filter)) >= (family == NIDUS_BREADCRUMB ? 3 : 4));
	keep(filter, "generations");
	options.value_bits = 9;
	filter = removes ? filter_create(&options) : NULL;
	for (uint64_t key = 0; key < 200 && removes; key++)
		expect_ok(nidus_insert_value_hash(filter, golden_hash(filter, key), key));
	if (removes)
		keep(filter, "values-generations");
	take_small_segments(SEGMENT);
}

static void keep_shared(int family)
{
	nidus_options options = options_of(family, 40, 7);
	options.features = NIDUS_CONCURRENT;
	keep(filled(&options, 0, 40), "concurrent");
	if (nidus_family_features((nidus_family)family) & NIDUS_GROW) {
		options.max_capacity = 3000;
		keep(filled(&options, 0, 120), "concurrent-grown");
	}
}

/* Keys until none fits, so that the backyard is in use. */
static void keep_crowded(unsigned slots, uint64_t capacity, const char *what)
{
	char name[40];
	nidus_options options = options_of(NIDUS_BREADCRUMB, capacity, 6);
	options.slots = slots;
	nidus_filter *filter = filter_create(&options);
	uint64_t i = 0;
	while (nidus_insert_hash(filter, golden_hash(filter, i)) == NIDUS_OK)
		i++;
	snprintf(name, sizeof name, "%s-%u", what, slots);
	keep(filter, name);
}

/* Coded buckets in a word, in several, and with values in a filter that grows. */
static void keep_compact(void)
{
	nidus_options options = options_of(NIDUS_BUCKETED, 60, 8);
	options.features = NIDUS_COMPACT;
	keep(filled(&options, 0, 60), "compact");
	options.fpr = ldexp(1, -20);
	keep(filled(&options, 0, 60), "compact-low-rate");
	options.fpr = ldexp(1, -6);
	options.capacity = 20;
	options.max_capacity = 3000;
	options.value_bits = 3;
	nidus_filter *filter = filter_create(&options);
	for (uint64_t key = 0; key < 250; key++)
		expect_ok(nidus_insert_value_hash(filter, golden_hash(filter, key), key % 8));
	for (unsigned i = 0; i < 60; i++)
		expect_ok(nidus_insert_value_hash(filter, golden_hash(filter, 5 + i % 3), i % 7));
	keep(filter, "compact-grown");
}

/* Keys with a tick after every so many, some anew, and ticks behind the last. */
static nidus_filter *forgetful(const nidus_options *options, uint64_t keys, uint64_t every,
                               unsigned ticks)
{
	nidus_filter *filter = filter_create(options);
	for (uint64_t key = 0; key < keys; key++) {
		expect_ok(nidus_insert_hash(filter, golden_hash(filter, key)));
		if (key % 3 == 0)
			expect_ok(nidus_insert_hash(filter, golden_hash(filter, key * 3 / 4)));
		if (key % every == every - 1)
			expect_ok(nidus_tick(filter));
	}
	for (unsigned i = 0; i < ticks; i++)
		expect_ok(nidus_tick(filter));
	return filter;
}

/* Filters that forget: a list, segments that were swept at several ticks, and one in which nothing is left. */
static void keep_recent(int family)
{
	nidus_options options = options_of(family, 8, 8);
	options.max_capacity = 3000;
	options.slices = 5;
	nidus_filter *filter = forgetful(&options, 14, 4, 1);
	expect(!has_segments(filter));
	keep(filter, "recent-list");
	options.capacity = 150;
	options.max_capacity = 0;
	options.slices = 7;
	keep(forgetful(&options, KEYS_MOST, 20, 1), "recent");
	options.max_capacity = 3000;
	options.slices = 30;
	keep(forgetful(&options, 300, 12, 2), "recent-grown");
	options.slices = 2;
	keep(forgetful(&options, 100, 100, 9), "recent-expired");
	if (family == NIDUS_BUCKETED) {
		options.features = NIDUS_COMPACT;
		options.slices = 6;
		keep(forgetful(&options, 200, 30, 1), "compact-recent");
	}
}

static void keep_keys(void)
{
	char path[1000];
	snprintf(path, sizeof path, "%s/keys", folder);
	if (access(path, F_OK) == 0)
		return;
	FILE *file = fopen(path, "w");
	expect(file != NULL);
	golden_list_keys(file);
	expect_equal(fclose(file), 0);
}

/* Fractions of a bit, two layers, values of several widths, and keys that are listed. */
static void keep_static(int family)
{
	static const unsigned widths[] = { 1, 8, 13, 32 };
	nidus_options options = options_of(family, 2600, 5);
	options.fpr = 0.04;
	keep(filled(&options, 0, 300), "fraction");
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		char what[40];
		uint64_t hashes[60], values[60];
		options = options_of(family, 60, 8);
		options.value_bits = widths[i];
		nidus_filter *filter = filter_create(&options);
		for (uint64_t key = 0; key < 60; key++) {
			hashes[key] = golden_hash(filter, key);
			values[key] =
				key * UINT64_C(0x9e3779b9) >> 7 & ((UINT64_C(1) << widths[i]) - 1);
		}
		nidus_free(filter);
		expect_ok(nidus_build_values(&options, hashes, values, 60, 1, &filter));
		snprintf(what, sizeof what, "values-%u", widths[i]);
		keep(filter, what);
	}
	/* Neighbours, which are no hashes that keys have: they crowd one bucket. */
	uint64_t hashes[KEYS_MOST];
	nidus_filter *filter;
	options = options_of(family, KEYS_MOST, 7);
	for (uint64_t i = 0; i < KEYS_MOST; i++)
		hashes[i] = i < 100 ? (i + 401) * UINT64_C(0x9e3779b97f4a7c15) : i << 20;
	expect_ok(nidus_build_hashes(&options, hashes, KEYS_MOST, 1, &filter));
	keep(filter, "crowded");
	/* Exact on two lists: every second key, and not the others. */
	uint64_t out[KEYS_MOST];
	filter = filter_create(&options);
	for (uint64_t i = 0; i < KEYS_MOST; i++)
		*(i % 2 ? &out[i / 2] : &hashes[i / 2]) = golden_hash(filter, i);
	nidus_free(filter);
	options = options_of(family, 0, 3);
	expect_ok(nidus_build_exclude(&options, hashes, KEYS_MOST / 2, out, KEYS_MOST / 2, 1,
	                              &filter));
	keep(filter, "exact");
}

static void keep_family(int family)
{
	uint32_t features = nidus_family_features((nidus_family)family);
	keep_fixed(family);
	if (features & NIDUS_STATIC) {
		keep_static(family);
		return;
	}
	keep_shapes(family);
	keep_merged(family, 0);
	if (features & NIDUS_MULTISET)
		keep_copies(family);
	if (features & NIDUS_GROW) {
		keep_grown(family);
		keep_merged(family, 90);
		keep_generations(family);
	}
	if (features & NIDUS_ENUMERATE)
		keep_values(family);
	if (features & NIDUS_CONCURRENT)
		keep_shared(family);
	if (family == NIDUS_BREADCRUMB) {
		static const unsigned slots[] = {
			51, 36, 28, 19, 25, 63, 56, 46, 42, 39, 34, 32, 30
		};
		for (size_t i = 0; i < sizeof slots / sizeof *slots; i++)
			keep_crowded(slots[i], 20, "crowded");
		keep_crowded(19, 300, "backyard"); /* with lines of either half to choose from */
		keep_crowded(25, 600, "backyard");
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: make_golden FOLDER\n", stderr);
		return 2;
	}
	folder = argv[1];
	take_small_segments(SEGMENT);
	keep_keys();
	for (int family = NIDUS_CUCKOO; nidus_family_features((nidus_family)family) != 0; family++)
		keep_family(family);
	keep_compact();
	keep_recent(NIDUS_BUCKETED);
	keep_recent(NIDUS_WINDOWED);
	keep_recent(NIDUS_BREADCRUMB);
	return 0;
}

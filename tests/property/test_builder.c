/* SPDX-License-Identifier: MIT
 *
 * Builders give the bytes that nidus_build_* gives, whatever goes to files on the way, and take
 * no more memory than they may.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "api/builder.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"
#include "support/folder.h"

#define SEED 4711
#define MEBIBYTE (UINT64_C(1) << 20)

/* How a builder is made to write to files although there are few keys. */
struct squeeze {
	uint64_t memory; /* what it believes the limit to be when it builds */
	size_t room;     /* hashes in memory while keys come */
};

/* Several runs, and several portions with several ranges each. */
static const struct squeeze tight = { 4 * MEBIBYTE, 100000 };

struct keys {
	uint64_t *hashes, *values; /* values: NULL if there are none */
	size_t n;
};

static struct keys some_keys(size_t n, unsigned copies, unsigned value_bits)
{
	struct chance chance = { chance_seed() + n };
	struct keys keys = { check_alloc((n + 1) * sizeof(uint64_t)), NULL, n };
	for (size_t i = 0; i < n; i++)
		keys.hashes[i] = copies > 1 && i > 10 && chance_one_in(&chance, copies)
		                         ? keys.hashes[chance_below(&chance, i)]
		                         : chance_next(&chance);
	if (value_bits == 0)
		return keys;
	keys.values = check_alloc((n + 1) * sizeof(uint64_t));
	for (size_t i = 0; i < n; i++)
		keys.values[i] = keys.hashes[i] >> 20 & ((UINT64_C(1) << value_bits) - 1);
	return keys;
}

static void keys_free(struct keys *keys)
{
	free(keys->hashes);
	free(keys->values);
}

static uint64_t *copy_of(const uint64_t *numbers, size_t n)
{
	uint64_t *copy = check_alloc((n + 1) * sizeof *copy);
	if (n > 0)
		memcpy(copy, numbers, n * sizeof *copy);
	return copy;
}

/* What nidus_build_* makes of them. */
static nidus_status build(const nidus_options *options, const struct keys *keys,
                          nidus_filter **filter)
{
	uint64_t *hashes = copy_of(keys->hashes, keys->n);
	uint64_t *values = keys->values != NULL ? copy_of(keys->values, keys->n) : NULL;
	nidus_status status =
		values != NULL ? nidus_build_values(options, hashes, values, keys->n, 2, filter)
			       : nidus_build_hashes(options, hashes, keys->n, 2, filter);
	free(hashes);
	free(values);
	return status;
}

static nidus_builder *make(const nidus_options *options, const struct squeeze *squeeze)
{
	nidus_builder *builder;
	expect_ok(nidus_builder_create(options, 64 * MEBIBYTE, folder_path("."), 2, &builder));
	if (squeeze != NULL) {
		builder->workshop.memory = squeeze->memory;
		builder->spill.room = builder->spill.usual_room = squeeze->room;
	}
	return builder;
}

static void add(nidus_builder *builder, const struct keys *keys, size_t from, size_t to)
{
	size_t done;
	if (keys->values != NULL)
		expect_ok(nidus_builder_add_value_batch(builder, keys->hashes + from,
		                                        keys->values + from, to - from, &done));
	else
		expect_ok(nidus_builder_add_batch(builder, keys->hashes + from, to - from, &done));
	expect_equal(done, to - from);
}

static void expect_file(const char *name, const nidus_filter *filter)
{
	struct bytes now = folder_read(name);
	expect(bytes_match(&now, filter));
	bytes_free(&now);
}

/* The builder's file and filter are those of nidus_build_*. Gives the bytes written on the way. */
static uint64_t compare(const nidus_options *options, const struct keys *keys,
                        const struct squeeze *squeeze)
{
	nidus_filter *wanted, *made;
	check_note("family %s, capacity %llu, fpr %g, features %x, values %u, %zu keys, room %zu",
	           nidus_family_name(options->family), (unsigned long long)options->capacity,
	           options->fpr, options->features, options->value_bits, keys->n,
	           squeeze != NULL ? squeeze->room : 0);
	expect_ok(build(options, keys, &wanted));
	nidus_builder *builder = make(options, squeeze);
	add(builder, keys, 0, keys->n);
	expect_ok(nidus_builder_save(builder, folder_path("set")));
	expect_file("set", wanted);
	expect_ok(nidus_builder_finish(builder, &made));
	expect(filters_equal(made, wanted));
	expect_ok(nidus_verify(made, NULL));
	nidus_builder_info info = NIDUS_BUILDER_INFO_INIT;
	expect_ok(nidus_builder_get_info(builder, &info));
	expect_equal(info.keys, keys->n);
	if (squeeze == NULL || keys->n <= squeeze->room)
		expect_equal(info.written, 0);
	nidus_builder_free(builder);
	nidus_free(wanted);
	nidus_free(made);
	expect_equal(folder_entries(), 1);
	return info.written;
}

/* ------------------------------------------------------------------------------- bytes -- */

/* The families that a builder can build, with rates that make small chunks where that is possible. */
static const struct {
	nidus_family family;
	double fpr;
	uint32_t features;
	size_t keys; /* that make three chunks or more */
} kinds[] = {
	{ NIDUS_SIMPLIFIED, 0x1p-5, 0, 200000 },
	{ NIDUS_CHUNKED, 0x1p-8, 0, 600000 },
	{ NIDUS_BUCKETED, 0x1p-8, 0, 700000 },
	{ NIDUS_WINDOWED, 0x1p-8, 0, 700000 },
	{ NIDUS_WINDOWED, 0x1p-14, 0, 700000 },
	{ NIDUS_BREADCRUMB, 0x1p-8, 0, 300000 },
	{ NIDUS_BREADCRUMB, 0x1p-8, NIDUS_FAST | NIDUS_NO_DELETE, 300000 },
	{ NIDUS_BREADCRUMB, 0x1p-16, NIDUS_CONCURRENT, 300000 },
	{ NIDUS_RIBBON, 0x1p-8, 0, 500000 },
	{ NIDUS_RIBBON, 0.3, 0, 500000 },
	{ NIDUS_BLOCKED_BLOOM, 0x1p-8, 0, 300000 },
};

#define KINDS (sizeof kinds / sizeof *kinds)

static nidus_options options_of(size_t kind)
{
	nidus_options options = filter_options(0, kinds[kind].fpr, SEED);
	options.family = kinds[kind].family;
	options.features = kinds[kind].features;
	return options;
}

static void any_number_of_keys_gives_the_same_bytes(void **state)
{
	(void)state;
	static const size_t sizes[] = { 0, 1, 2, 1000, 70001 };
	for (size_t kind = 0; kind < KINDS; kind++) {
		nidus_options options = options_of(kind);
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			struct keys keys = some_keys(sizes[i], 1, 0);
			compare(&options, &keys, NULL);
			compare(&options, &keys, &(struct squeeze){ 4 * MEBIBYTE, 100 });
			keys_free(&keys);
		}
	}
}

static void many_ranges_give_the_same_bytes(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		nidus_options options = options_of(kind);
		struct keys keys = some_keys(kinds[kind].keys, 1, 0);
		expect(compare(&options, &keys, &tight) >= 8 * keys.n);
		if (!check_small())
			compare(&options, &keys, NULL);
		options.capacity = kinds[kind].keys + 1000;
		expect(compare(&options, &keys, &tight) >= 8 * keys.n);
		keys_free(&keys);
	}
}

static void equal_keys_are_stored_once(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind++) {
		nidus_options options = options_of(kind);
		struct keys keys = some_keys(kinds[kind].keys, 2, 0);
		compare(&options, &keys, &tight);
		keys_free(&keys);
	}
}

static void values_go_with_their_keys(void **state)
{
	(void)state;
	static const unsigned widths[] = { 1, 11, 12, 32 };
	static const struct squeeze squeeze = { 8 * MEBIBYTE, 30000 };
	static const nidus_family keepers[] = { NIDUS_SIMPLIFIED, NIDUS_RIBBON, NIDUS_BREADCRUMB };
	for (size_t i = 0; i < 12; i++) {
		nidus_options options = options_of(0);
		options.family = keepers[i / 4];
		options.value_bits = widths[i % 4];
		struct keys keys = some_keys(150000, 1, options.value_bits);
		compare(&options, &keys, NULL);
		compare(&options, &keys, &squeeze);
		options.capacity = keys.n;
		expect(compare(&options, &keys, &squeeze) >= 12 * keys.n);
		keys_free(&keys);
	}
}

static void a_static_map_has_one_value_for_each_key(void **state)
{
	(void)state;
	nidus_options options = options_of(0);
	struct keys keys = some_keys(100000, 1, 7);
	options.family = NIDUS_RIBBON;
	options.value_bits = 7;
	keys.hashes[99999] = keys.hashes[17];
	keys.values[99999] = keys.values[17] ^ 1;
	nidus_builder *builder = make(&options, &(struct squeeze){ 8 * MEBIBYTE, 30000 });
	add(builder, &keys, 0, keys.n);
	expect_status(nidus_builder_save(builder, folder_path("set")), NIDUS_E_ARG);
	expect_equal(folder_entries(), 0);
	nidus_builder_free(builder);
	keys_free(&keys);
}

static void a_multiset_keeps_its_copies(void **state)
{
	(void)state;
	nidus_options options = options_of(0);
	struct keys keys = some_keys(150000, 3, 0);
	/* A hot key that comes more often than there are places for it. */
	for (size_t i = 0; i < 5000; i++)
		keys.hashes[30 * i] = 1234567890123456789;
	options.features |= NIDUS_MULTISET;
	nidus_builder *builder;
	expect_status(nidus_builder_create(&options, 64 * MEBIBYTE, NULL, 1, &builder),
	              NIDUS_E_UNSUPPORTED);
	options.capacity = keys.n;
	compare(&options, &keys, NULL);
	compare(&options, &keys, &(struct squeeze){ 4 * MEBIBYTE, 30000 });
	keys_free(&keys);
	/* A breadcrumb filter has room for some. */
	keys = some_keys(150000, 1, 0);
	for (size_t i = 0; i < keys.n; i++)
		keys.hashes[i] = keys.hashes[i - i % 5];
	options.family = NIDUS_BREADCRUMB;
	options.capacity = 2 * keys.n;
	compare(&options, &keys, &(struct squeeze){ 4 * MEBIBYTE, 30000 });
	keys_free(&keys);
}

/* Hashes that are no hashes: within a slot, within a few numbers, and all the same. */
static void uneven_hashes_give_the_same_bytes(void **state)
{
	(void)state;
	static const uint64_t factors[] = { 1, UINT64_C(1) << 20, UINT64_C(0x0003000000000000), 0 };
	nidus_options options = options_of(KINDS - 1); /* takes any number of keys anywhere */
	expect_equal(options.family, NIDUS_BLOCKED_BLOOM);
	for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
		struct keys keys = some_keys(300000, 1, 0);
		for (size_t j = 0; j < keys.n; j++)
			keys.hashes[j] = UINT64_MAX - (keys.hashes[j] % 100000) * factors[i];
		compare(&options, &keys, &(struct squeeze){ MEBIBYTE / 2, 40000 });
		keys_free(&keys);
	}
}

static void keys_come_by_every_call(void **state)
{
	(void)state;
	nidus_options options = options_of(0);
	uint64_t numbers[1000];
	nidus_filter *hasher, *filter;
	char key[32];
	options.capacity = 3100;
	options.value_bits = 9;
	nidus_builder *builder = make(&options, &(struct squeeze){ 4 * MEBIBYTE, 700 });
	hasher = filter_create(&options);
	for (uint64_t i = 0; i < 1000; i++) {
		int len = snprintf(key, sizeof key, "key %u", (unsigned)i);
		numbers[i] = i + 4000;
		if (i % 2 == 0) {
			expect_ok(nidus_builder_add(builder, key, (size_t)len));
			expect_ok(nidus_builder_add_u64(builder, i));
			expect_ok(
				nidus_builder_add_hash(builder, nidus_hash_u64(hasher, i + 2000)));
		} else {
			expect_ok(nidus_builder_add_value(builder, key, (size_t)len, i % 512));
			expect_ok(nidus_builder_add_value_u64(builder, i, i % 512));
			expect_ok(nidus_builder_add_value_hash(
				builder, nidus_hash_u64(hasher, i + 2000), i % 512));
		}
	}
	expect_ok(nidus_builder_add_u64_batch(builder, numbers, 100, NULL));
	expect_ok(nidus_builder_finish(builder, &filter));
	expect_equal(nidus_size(filter), 3100);
	for (uint64_t i = 0; i < 1000; i++) {
		int len = snprintf(key, sizeof key, "key %u", (unsigned)i);
		uint64_t value = i % 2 == 0 ? 0 : i % 512;
		expect(nidus_get_count(filter, key, (size_t)len) >= value);
		expect(nidus_get_count_u64(filter, i) >= value);
		expect(nidus_get_count_u64(filter, i + 2000) >= value);
		expect(nidus_contains_u64(filter, i));
	}
	expect_keys(filter, 4000, 4100);
	nidus_free(filter);
	nidus_free(hasher);
	nidus_builder_free(builder);
}

/* ----------------------------------------------------------------------------- threads -- */

struct helper {
	nidus_builder *builder;
	const struct keys *keys;
	size_t from, to;
	bool right;
};

static void *help(void *context)
{
	struct helper *helper = context;
	const uint64_t *hashes = helper->keys->hashes;
	struct chance chance = { helper->from };
	size_t at = helper->from, done;
	helper->right = true;
	while (at < helper->to && helper->right) {
		size_t some = (size_t)chance_below(&chance, 400);
		some = some < helper->to - at ? some : helper->to - at;
		if (some == 1)
			helper->right =
				nidus_builder_add_hash(helper->builder, hashes[at]) == NIDUS_OK;
		else
			helper->right = nidus_builder_add_batch(helper->builder, hashes + at, some,
			                                        &done) == NIDUS_OK &&
			                done == some;
		at += some;
	}
	return NULL;
}

static void threads_may_add_at_the_same_time(void **state)
{
	(void)state;
	nidus_options options = options_of(0);
	struct keys keys = some_keys(200000, 1, 0);
	nidus_filter *wanted, *made;
	struct helper helpers[4];
	pthread_t threads[4];
	expect_ok(build(&options, &keys, &wanted));
	nidus_builder *builder = make(&options, &(struct squeeze){ 4 * MEBIBYTE, 9999 });
	for (size_t i = 0; i < 4; i++) {
		helpers[i] = (struct helper){ builder, &keys, keys.n / 4 * i, keys.n / 4 * (i + 1),
			                      false };
		expect(pthread_create(&threads[i], NULL, help, &helpers[i]) == 0);
	}
	for (size_t i = 0; i < 4; i++) {
		expect(pthread_join(threads[i], NULL) == 0);
		expect(helpers[i].right);
	}
	expect_ok(nidus_builder_finish(builder, &made));
	expect(filters_equal(made, wanted));
	nidus_builder_free(builder);
	nidus_free(made);
	nidus_free(wanted);
	keys_free(&keys);
}

/* ------------------------------------------------------------------------------- limits -- */

static void no_more_memory_is_taken_than_the_limit(void **state)
{
	(void)state;
	for (size_t kind = 0; kind < KINDS; kind += check_small() ? 5 : 1) {
		static const uint64_t limits[] = { 16 * MEBIBYTE, 24 * MEBIBYTE };
		for (size_t i = 0; i < 2; i++) {
			struct ledger ledger = { 0 };
			nidus_options options = options_of(kind);
			struct keys keys = some_keys(3100000, 1, 0);
			nidus_builder *builder;
			check_note("family %s", nidus_family_name(options.family));
			options.allocator = ledger_allocator(&ledger);
			expect_ok(nidus_builder_create(&options, limits[i], folder_path("."), 2,
			                               &builder));
			add(builder, &keys, 0, keys.n);
			expect_ok(nidus_builder_save(builder, folder_path("set")));
			expect(ledger.most <= limits[i]);
			expect(ledger.most > limits[i] / 2);
			nidus_builder_info info = NIDUS_BUILDER_INFO_INIT;
			expect_ok(nidus_builder_get_info(builder, &info));
			expect_equal(info.written, 8 * keys.n);
			expect_equal(info.read, 16 * keys.n); /* to count, and to build */
			nidus_builder_free(builder);
			expect_equal(ledger.blocks, 0);
			keys_free(&keys);
			if (check_small())
				break;
		}
	}
}

/* A system that has no more than so many bytes at a time, and how often it said so. */
struct small_system {
	size_t most;
	unsigned refused;
};

static void *take_some(void *context, size_t size)
{
	struct small_system *system = context;
	if (size <= system->most)
		return malloc(size);
	system->refused++;
	return NULL;
}

static void give_some(void *context, void *memory, size_t size)
{
	(void)context, (void)size;
	free(memory);
}

/* A limit says what may be taken, not what there is. */
static void a_limit_beyond_memory_takes_what_there_is(void **state)
{
	(void)state;
	static const uint64_t limits[] = { UINT64_C(1) << 30, UINT64_C(1) << 45, UINT64_MAX };
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		for (unsigned value_bits = 0; value_bits <= 20; value_bits += 5) {
			struct small_system system = { 65 * MEBIBYTE, 0 };
			struct keys keys = some_keys(50000, 1, value_bits);
			nidus_options options = filter_options(keys.n, 0x1p-8, SEED);
			nidus_filter *wanted, *made;
			nidus_builder *builder;
			options.family = NIDUS_CHUNKED;
			options.value_bits = value_bits;
			expect_ok(build(&options, &keys, &wanted));
			options.allocator =
				(nidus_allocator){ take_some, give_some, NULL, &system };
			check_note("limit %llu, values of %u bits", (unsigned long long)limits[i],
			           value_bits);
			expect_ok(nidus_builder_create(&options, limits[i], folder_path("."), 2,
			                               &builder));
			add(builder, &keys, 0, keys.n);
			expect(system.refused > 0);
			expect_ok(nidus_builder_finish(builder, &made));
			expect(filters_equal(made, wanted));
			nidus_builder_free(builder);
			nidus_free(made);
			nidus_free(wanted);
			keys_free(&keys);
		}
	}
}

/* Numbers of keys for which NIDUS_AUTO takes a family whose tables cannot be built in parts. */
static void auto_takes_what_can_be_built_in_parts(void **state)
{
	(void)state;
	unsigned others = 0;
	for (size_t n = 100; n <= 60000; n += n / 7) {
		nidus_options options = filter_options(n, 0x1p-8, SEED);
		struct keys keys = some_keys(n, 1, 0);
		nidus_filter *made;
		options.family = NIDUS_AUTO;
		nidus_filter *usual = filter_create(&options);
		others += info_of(usual).family == NIDUS_SEMISORT;
		for (unsigned counted = 0; counted < 2; counted++) {
			options.capacity = counted ? 0 : n;
			nidus_builder *builder = make(&options, NULL);
			add(builder, &keys, 0, n);
			expect_ok(nidus_builder_finish(builder, &made));
			nidus_info info = info_of(made);
			expect_equal(info.count, n);
			if (info_of(usual).family != NIDUS_SEMISORT)
				expect_equal(info.family, info_of(usual).family);
			expect(info.family != NIDUS_SEMISORT && info.family != NIDUS_CUCKOO);
			nidus_free(made);
			nidus_builder_free(builder);
		}
		nidus_free(usual);
		keys_free(&keys);
	}
	expect(others > 0);
}

static void what_cannot_be_built_is_refused(void **state)
{
	(void)state;
	nidus_builder *builder;
	nidus_options options = filter_options(1000, 0x1p-8, SEED);
	static const nidus_family whole[] = { NIDUS_CUCKOO, NIDUS_SEMISORT, NIDUS_BLOOM };
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		options.family = whole[i];
		for (options.capacity = 0; options.capacity < 2000; options.capacity += 1000) {
			expect_status(nidus_builder_create(&options, 64 * MEBIBYTE, NULL, 1,
			                                   &builder),
			              NIDUS_E_UNSUPPORTED);
			expect(builder == NULL);
			expect(strstr(nidus_reason(), nidus_family_name(whole[i])) != NULL);
		}
	}
	options.family = NIDUS_WINDOWED;
	options.capacity = 1000;
	options.max_capacity = 2000;
	expect_status(nidus_builder_create(&options, 64 * MEBIBYTE, NULL, 1, &builder),
	              NIDUS_E_UNSUPPORTED);
	options.max_capacity = 0;
	expect_status(nidus_builder_create(&options, MEBIBYTE, NULL, 1, &builder), NIDUS_E_RANGE);
	expect_status(nidus_builder_create(NULL, 64 * MEBIBYTE, NULL, 1, &builder), NIDUS_E_ARG);
	expect_status(nidus_builder_create(&options, 64 * MEBIBYTE, NULL, 1, NULL), NIDUS_E_ARG);
	options.fpr = 2;
	expect_status(nidus_builder_create(&options, 64 * MEBIBYTE, NULL, 1, &builder),
	              NIDUS_E_ARG);
}

static void wrong_arguments_are_refused(void **state)
{
	(void)state;
	nidus_options options = filter_options(1000, 0x1p-8, 0);
	nidus_builder_info info = NIDUS_BUILDER_INFO_INIT;
	nidus_builder *builder;
	nidus_filter *filter;
	uint64_t hash = 7;
	size_t done = 9;
	expect_ok(nidus_builder_create(&options, 64 * MEBIBYTE, NULL, 1, &builder));
	expect_status(nidus_builder_add(NULL, "a", 1), NIDUS_E_ARG);
	expect_status(nidus_builder_add(builder, NULL, 1), NIDUS_E_ARG);
	expect_ok(nidus_builder_add(builder, NULL, 0));
	expect_status(nidus_builder_add_hash(builder, hash), NIDUS_E_ARG); /* no seed was given */
	expect_status(nidus_builder_add_batch(builder, &hash, 1, &done), NIDUS_E_ARG);
	expect_equal(done, 0);
	expect_status(nidus_builder_add_value_u64(builder, 1, 1), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_builder_add_u64_batch(builder, NULL, 1, NULL), NIDUS_E_ARG);
	expect_ok(nidus_builder_add_u64_batch(builder, NULL, 0, NULL));
	expect_status(nidus_builder_save(builder, NULL), NIDUS_E_ARG);
	expect_status(nidus_builder_save(NULL, "x"), NIDUS_E_ARG);
	expect_status(nidus_builder_finish(builder, NULL), NIDUS_E_ARG);
	expect_status(nidus_builder_finish(NULL, &filter), NIDUS_E_ARG);
	expect_status(nidus_builder_write(builder, NULL, NULL), NIDUS_E_ARG);
	expect_status(nidus_builder_get_info(builder, NULL), NIDUS_E_ARG);
	expect_ok(nidus_builder_get_info(builder, &info));
	expect_equal(info.keys, 1);
	expect(info.seed != 0);
	nidus_builder_free(builder);
	nidus_builder_free(NULL);
	options.seed = SEED;
	options.value_bits = 3;
	expect_ok(nidus_builder_create(&options, 64 * MEBIBYTE, NULL, 1, &builder));
	expect_status(nidus_builder_add_value_hash(builder, 1, 8), NIDUS_E_RANGE);
	expect_ok(nidus_builder_add_value_hash(builder, 1, 7));
	nidus_builder_free(builder);
}

static void more_keys_than_fit_are_refused(void **state)
{
	(void)state;
	nidus_options options = options_of(0);
	struct keys keys = some_keys(150000, 1, 0);
	nidus_filter *filter;
	options.capacity = 100000;
	expect_status(build(&options, &keys, &filter), NIDUS_FULL);
	nidus_builder *builder = make(&options, &(struct squeeze){ 4 * MEBIBYTE, 30000 });
	add(builder, &keys, 0, keys.n);
	expect_status(nidus_builder_save(builder, folder_path("set")), NIDUS_FULL);
	expect_equal(folder_entries(), 0);
	expect_status(nidus_builder_finish(builder, &filter), NIDUS_FULL);
	expect(filter == NULL);
	nidus_builder_free(builder);
	/* One key more would have a place, but it is more than was said. */
	options.capacity = keys.n - 1;
	expect_ok(build(&options, &keys, &filter));
	nidus_free(filter);
	builder = make(&options, NULL);
	add(builder, &keys, 0, keys.n);
	expect_status(nidus_builder_save(builder, folder_path("set")), NIDUS_FULL);
	expect_equal(folder_entries(), 0);
	nidus_builder_free(builder);
	/* Without a stash a filter that is to be as large as it must is made larger. */
	options.capacity = 0;
	options.stash = NIDUS_STASH_OFF;
	compare(&options, &keys, &(struct squeeze){ 4 * MEBIBYTE, 30000 });
	keys_free(&keys);
}

/* ------------------------------------------------------------------------------ endings -- */

static int collect(void *context, const void *data, size_t size)
{
	struct bytes *bytes = context;
	bytes->data = realloc(bytes->data, bytes->size + size);
	expect(bytes->data != NULL);
	memcpy(bytes->data + bytes->size, data, size);
	bytes->size += size;
	return 0;
}

static int refuse(void *context, const void *data, size_t size)
{
	(void)context, (void)data, (void)size;
	return EPIPE;
}

static void a_sink_gets_the_same_bytes(void **state)
{
	(void)state;
	nidus_options options = options_of(0);
	struct keys keys = some_keys(100000, 1, 0);
	nidus_filter *wanted;
	struct bytes bytes = { NULL, 0 };
	expect_ok(build(&options, &keys, &wanted));
	nidus_builder *builder = make(&options, &(struct squeeze){ 4 * MEBIBYTE, 30000 });
	add(builder, &keys, 0, keys.n);
	expect_ok(nidus_builder_write(builder, collect, &bytes));
	expect(bytes_match(&bytes, wanted));
	expect_status(nidus_builder_write(builder, refuse, NULL), NIDUS_E_IO);
	expect_equal(errno, EPIPE);
	expect_equal(folder_entries(), 0);
	expect_ok(nidus_builder_save(builder, "/dev/null"));
	nidus_builder_free(builder);
	bytes_free(&bytes);
	nidus_free(wanted);
	keys_free(&keys);
}

/* What is there already stays what it is until it is replaced, with its permissions. */
static void more_keys_may_come_after_a_save(void **state)
{
	(void)state;
	nidus_options options = options_of(0);
	struct keys keys = some_keys(100000, 1, 0);
	for (size_t room = 9000; room <= 900000; room *= 10) {
		nidus_builder *builder = make(&options, &(struct squeeze){ 4 * MEBIBYTE, room });
		for (size_t n = 0; n <= keys.n; n += keys.n / 4) {
			struct keys some = { keys.hashes, NULL, n };
			nidus_filter *wanted;
			check_note("%zu of %zu keys", n, keys.n);
			add(builder, &keys, n == 0 ? 0 : n - keys.n / 4, n);
			expect_ok(build(&options, &some, &wanted));
			expect_ok(nidus_builder_save(builder, folder_path("set")));
			expect_file("set", wanted);
			nidus_free(wanted);
		}
		nidus_builder_free(builder);
		expect_equal(folder_entries(), 1);
	}
	keys_free(&keys);
}

struct watcher {
	unsigned calls, stop_at;
	double share;
	bool right;
};

static bool watch(void *context, double share)
{
	struct watcher *watcher = context;
	watcher->right = watcher->right && share >= watcher->share && share <= 1;
	watcher->share = share;
	return ++watcher->calls == watcher->stop_at;
}

static void builds_tell_how_far_they_are_and_can_be_stopped(void **state)
{
	(void)state;
	struct keys keys = some_keys(200000, 1, 0);
	/* Sorting fewer than 2^16 hashes is no step. */
	for (size_t room = 70000; room <= 300000; room += 230000) {
		nidus_status status;
		unsigned stop_at = 1, stops = 0;
		do {
			struct watcher watcher = { .stop_at = stop_at, .right = true };
			nidus_options options = options_of(0);
			options.progress = (nidus_progress){ watch, &watcher };
			nidus_builder *builder =
				make(&options, &(struct squeeze){ 4 * MEBIBYTE, room });
			add(builder, &keys, 0, keys.n);
			expect_equal(watcher.calls, 0);
			status = nidus_builder_save(builder, folder_path("set"));
			check_note("room %zu, call %u", room, stop_at);
			expect(watcher.right);
			if (status == NIDUS_OK) {
				expect(watcher.share > 0.6);
			} else {
				expect_status(status, NIDUS_STOPPED);
				expect_equal(folder_entries(), 0);
				stops++;
			}
			nidus_builder_free(builder);
			stop_at += 1 + stop_at / 4;
		} while (status != NIDUS_OK);
		expect(stops > 10);
		expect(unlink(folder_path("set")) == 0);
	}
	keys_free(&keys);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(any_number_of_keys_gives_the_same_bytes),
		TEST(many_ranges_give_the_same_bytes),
		TEST(equal_keys_are_stored_once),
		TEST(values_go_with_their_keys),
		TEST(a_static_map_has_one_value_for_each_key),
		TEST(a_multiset_keeps_its_copies),
		TEST(uneven_hashes_give_the_same_bytes),
		TEST(keys_come_by_every_call),
		TEST(threads_may_add_at_the_same_time),
		TEST(no_more_memory_is_taken_than_the_limit),
		TEST(a_limit_beyond_memory_takes_what_there_is),
		TEST(auto_takes_what_can_be_built_in_parts),
		TEST(what_cannot_be_built_is_refused),
		TEST(wrong_arguments_are_refused),
		TEST(more_keys_than_fit_are_refused),
		TEST(a_sink_gets_the_same_bytes),
		TEST(more_keys_may_come_after_a_save),
		TEST(builds_tell_how_far_they_are_and_can_be_stopped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

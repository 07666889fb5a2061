/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a history of calls, decoded from the bytes, against an exact
 * multiset.
 *
 *     options (feed.c)   the filter
 *     byte               bit 0: look at the bytes before and after every refusal
 *     then, to the end:  a byte that names a call, and the call's arguments
 *
 * What must hold: no key is lost (promise 1), refusals change nothing (4), a
 * remove takes what one insert brought (5), a walk yields what is there (6),
 * copies are bounded and do not grow the filter (9), values are found (10); batches
 * are the single calls in a row (7). A filter that forgets has calls of its own, against when each key was refreshed.
 */
#include <stdlib.h>

#include "api/filter.h"
#include "feed.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/model.h"
#include "support/nests.h"

#define BLOCK_MOST ((size_t)1 << 15)
#define KEYS 64
#define BATCH 48
#define CALLS_MOST 12
#define COPIES_MOST 48 /* that one act puts in */

#define NEVER UINT64_MAX
#define RECENT_MOST 254 /* slices */

/* What a filter that forgets has to know: when each key was refreshed last. */
struct past {
	uint64_t now, last[KEYS];
};

struct run {
	struct feed feed;
	nidus_options options;
	nidus_filter *filter;
	struct model model;
	struct past past; /* in place of the model, of a filter that forgets */
	uint32_t features;
	bool counts; /* copies, as all but Bloom filters do, also without NIDUS_DELETE */
	bool careful;
};

static uint64_t any_key(struct run *run)
{
	return feed_byte(&run->feed) % KEYS;
}

/* A key that was put in, from the one named on; false if there is none. */
static bool present_key(struct run *run, uint64_t *key)
{
	*key = any_key(run);
	if (run->model.total == 0)
		return false;
	while (run->model.copies[*key] == 0)
		*key = (*key + 1) % KEYS;
	return true;
}

static bool refused(nidus_status status)
{
	return status == NIDUS_FULL || status == NIDUS_COPIES || status == NIDUS_E_NOMEM;
}

static void replace(struct run *run, nidus_filter *by)
{
	nidus_free(run->filter);
	run->filter = by;
}

/* A copy of the filter to compare with; NULL if the input does not ask for such care. */
static nidus_filter *before(const struct run *run)
{
	nidus_filter *copy = NULL;
	if (run->careful)
		expect_ok(nidus_clone(run->filter, &copy));
	return copy;
}

/* An empty filter of the same geometry. */
static nidus_filter *empty_like(const struct run *run)
{
	nidus_filter *empty;
	expect_ok(nidus_build_like(run->filter, NULL, NULL, 0, false, 1, NULL, &empty));
	return empty;
}

static void expect_promises(const nidus_filter *copy, const nidus_filter *filter)
{
	nidus_info old = info_of(copy), now = info_of(filter);
	expect_equal(old.capacity, now.capacity);
	expect_equal(old.max_capacity, now.max_capacity);
	expect(old.fpr_target <= now.fpr_target && old.fpr_target >= now.fpr_target);
}

/*
 * Frees a copy, after a refusal that must have changed nothing.
 */
static void expect_same(nidus_filter *copy, const nidus_filter *filter)
{
	if (copy == NULL)
		return;
	expect_promises(copy, filter);
	if (feed_can_save(copy))
		expect(filters_equal(copy, filter));
	nidus_free(copy);
}

/* The same after nidus_grow, which may have given entries other places. */
static void expect_same_entries(nidus_filter *copy, const nidus_filter *filter)
{
	if (copy == NULL)
		return;
	expect_promises(copy, filter);
	expect(entries_equal(copy, filter));
	nidus_free(copy);
}

/* ------------------------------------------------------------------ single calls -- */

static void put(struct run *run, uint64_t key)
{
	nidus_filter *copy = before(run);
	nidus_status status = spelled_insert(run->filter, key);
	if (refused(status)) {
		expect_same(copy, run->filter);
		return;
	}
	nidus_free(copy);
	expect_ok(status);
	model_add(&run->model, key);
	expect(spelled_contains(run->filter, key));
}

static void try_insert(struct run *run)
{
	put(run, any_key(run));
}

static void try_insert_new(struct run *run)
{
	uint64_t key = any_key(run);
	bool there = spelled_contains(run->filter, key);
	nidus_filter *copy = before(run);
	nidus_status status = spelled_insert_new(run->filter, key);
	expect_equal(status == NIDUS_PRESENT, there);
	if (there || refused(status)) {
		expect_same(copy, run->filter);
		return;
	}
	nidus_free(copy);
	expect_ok(status);
	model_add(&run->model, key);
}

static void try_remove(struct run *run)
{
	uint64_t key;
	if (!(run->features & NIDUS_DELETE) || !present_key(run, &key))
		return;
	expect_ok(spelled_remove(run->filter, key));
	model_drop(&run->model, key);
}

static void try_remove_absent(struct run *run)
{
	uint64_t key = any_key(run);
	if (spelled_contains(run->filter, key))
		return;
	nidus_filter *copy = before(run);
	nidus_status status = spelled_remove(run->filter, key);
	expect_status(status, run->features & NIDUS_DELETE ? NIDUS_NOT_FOUND : NIDUS_E_UNSUPPORTED);
	expect_same(copy, run->filter);
}

static void try_lookup(struct run *run)
{
	uint64_t key = any_key(run), count = spelled_count(run->filter, key);
	uint32_t copies = run->model.copies[key];
	expect_equal(spelled_contains(run->filter, key), count > 0);
	expect(run->counts ? count >= copies : count == 1 || copies == 0);
}

static void try_copies(struct run *run)
{
	uint64_t key = any_key(run), times = 0;
	if (!(run->features & NIDUS_DELETE))
		return;
	/* The first copies may be what fills it; the later ones must not make room. */
	put(run, key);
	put(run, key);
	uint64_t slots = info_of(run->filter).total_slots;
	while (++times < COPIES_MOST && spelled_insert(run->filter, key) == NIDUS_OK)
		model_add(&run->model, key);
	if (spelled_count(run->filter, key) > 2)
		expect(info_of(run->filter).total_slots <= slots);
}

/* ----------------------------------------------------------------------- batches -- */

/* Key after key from one on: how a filter is filled with few bytes of input. */
static size_t any_range(struct run *run, uint64_t keys[BATCH])
{
	uint64_t key = any_key(run);
	size_t n = feed_byte(&run->feed) % BATCH;
	unsigned step = feed_byte(&run->feed) % 8;
	for (size_t i = 0; i < n; i++)
		keys[i] = (key + i * step) % KEYS;
	return n;
}

static void hash_keys(const struct run *run, const uint64_t *keys, size_t n, uint64_t *hashes)
{
	for (size_t i = 0; i < n; i++)
		hashes[i] = spelled_hash(run->filter, keys[i]);
}

static void try_insert_batch(struct run *run)
{
	uint64_t keys[BATCH], hashes[BATCH];
	nidus_filter *single = NULL;
	size_t n = any_range(run, keys), done = 999;
	hash_keys(run, keys, n, hashes);
	/* When a shared filter grows depends on what else the thread did. */
	bool compare = run->careful && !(run->options.features & NIDUS_CONCURRENT);
	if (compare)
		expect_ok(nidus_clone(run->filter, &single));
	nidus_status status = nidus_insert_batch(run->filter, hashes, n, &done);
	expect(done <= n && (status == NIDUS_OK) == (done == n));
	expect(status == NIDUS_OK || refused(status));
	for (size_t i = 0; i < done; i++) {
		model_add(&run->model, keys[i]);
		if (compare)
			expect_ok(spelled_insert(single, keys[i]));
	}
	if (compare && done < n)
		expect_status(spelled_insert(single, keys[done]), status);
	if (compare && feed_can_save(single))
		expect(filters_equal(single, run->filter));
	nidus_free(single);
}

static void try_remove_batch(struct run *run)
{
	uint64_t keys[BATCH], hashes[BATCH];
	if (!(run->features & NIDUS_DELETE))
		return;
	size_t n = any_range(run, keys), m = 0, done = 999;
	for (size_t i = 0; i < n; i++) {
		if (run->model.copies[keys[i]] == 0)
			continue;
		model_drop(&run->model, keys[i]);
		keys[m++] = keys[i];
	}
	hash_keys(run, keys, m, hashes);
	expect_ok(nidus_remove_batch(run->filter, hashes, m, &done));
	expect_equal(done, m);
}

static void try_contains_batch(struct run *run)
{
	uint64_t keys[BATCH], hashes[BATCH];
	uint8_t yes[BATCH + 1];
	size_t n = any_range(run, keys);
	hash_keys(run, keys, n, hashes);
	memset(yes, 7, sizeof yes);
	nidus_contains_batch(run->filter, hashes, n, yes);
	for (size_t i = 0; i < n; i++) {
		expect_equal(yes[i], nidus_contains_hash(run->filter, hashes[i]));
		expect(yes[i] == 1 || run->model.copies[keys[i]] == 0);
	}
	expect_equal(yes[n], 7);
}

/* ------------------------------------------------------------------------ values -- */

#define VALUES (1 << 16) /* of a key and all its twins; too many for a quick stack */

static uint64_t highest(const struct run *run)
{
	return (UINT64_C(1) << run->options.value_bits) - 1;
}

static uint64_t any_value(struct run *run)
{
	return feed_byte(&run->feed) & highest(run);
}

static bool has_value(const struct run *run, uint64_t key, uint64_t value)
{
	static uint64_t values[VALUES];
	size_t n = spelled_find(run->filter, key, values, VALUES), i = 0;
	expect_equal(n, spelled_count(run->filter, key));
	expect(n <= VALUES); /* an input is too short for more */
	while (i < n && values[i] != value)
		i++;
	return i < n;
}

static void try_insert_value(struct run *run)
{
	uint64_t key = any_key(run), value = any_value(run);
	nidus_filter *copy = before(run);
	nidus_status status = spelled_insert_value(run->filter, key, value);
	if (run->options.value_bits == 0)
		expect_status(status, NIDUS_E_UNSUPPORTED);
	else
		expect(status == NIDUS_OK || refused(status));
	if (status != NIDUS_OK) {
		expect_same(copy, run->filter);
		return;
	}
	nidus_free(copy);
	model_add(&run->model, key);
	expect(has_value(run, key, value));
}

static void try_replace_value(struct run *run)
{
	uint64_t key = any_key(run), old = any_value(run), fresh = any_value(run);
	if (run->options.value_bits == 0)
		return;
	nidus_filter *copy = before(run);
	bool there = has_value(run, key, old);
	uint64_t count = spelled_count(run->filter, key);
	nidus_status status = spelled_replace_value(run->filter, key, old, fresh);
	expect(there ? status == NIDUS_OK || refused(status) : status == NIDUS_NOT_FOUND);
	expect_equal(spelled_count(run->filter, key), count);
	if (status == NIDUS_OK) {
		expect(has_value(run, key, fresh));
		nidus_free(copy);
	} else {
		expect_same(copy, run->filter);
	}
}

/* A value that some entry like the key has, or one that none has. */
static void try_remove_value(struct run *run)
{
	static uint64_t values[VALUES];
	uint64_t key, value;
	if (run->options.value_bits == 0 || !(run->features & NIDUS_DELETE) ||
	    !present_key(run, &key))
		return;
	size_t n = spelled_find(run->filter, key, values, VALUES);
	value = values[feed_byte(&run->feed) % n];
	expect_ok(spelled_remove_value(run->filter, key, value));
	model_drop(&run->model, key);
	expect_equal(spelled_count(run->filter, key), n - 1);
	value = any_value(run);
	if (!has_value(run, key, value))
		expect_status(spelled_remove_value(run->filter, key, value), NIDUS_NOT_FOUND);
}

static uint64_t get_count(const struct run *run, uint64_t key)
{
	return nidus_get_count_hash(run->filter, spelled_hash(run->filter, key));
}

/* Adds to the count of a key; one that is there takes no more room. */
static void try_count(struct run *run)
{
	uint64_t key = any_key(run), delta = feed_byte(&run->feed);
	if (run->options.value_bits == 0)
		return;
	nidus_filter *copy = before(run);
	uint64_t copies = spelled_count(run->filter, key), sum = get_count(run, key) + delta;
	nidus_status status = spelled_add_count(run->filter, key, delta);
	expect(status == NIDUS_OK || refused(status));
	if (status != NIDUS_OK) {
		expect_same(copy, run->filter);
		return;
	}
	nidus_free(copy);
	expect_equal(get_count(run, key), sum < highest(run) ? sum : highest(run));
	expect_equal(spelled_count(run->filter, key), copies == 0 ? 1 : copies);
	if (copies == 0)
		model_add(&run->model, key);
}

static void try_value_batch(struct run *run)
{
	uint64_t keys[BATCH], hashes[BATCH], values[BATCH], first[BATCH];
	uint32_t found[BATCH];
	size_t n = any_range(run, keys), done = 999;
	uint64_t value = any_value(run);
	if (run->options.value_bits == 0)
		return;
	hash_keys(run, keys, n, hashes);
	for (size_t i = 0; i < n; i++)
		values[i] = (value + i) & highest(run);
	nidus_status status = nidus_insert_value_batch(run->filter, hashes, values, n, &done);
	expect(done <= n && (status == NIDUS_OK) == (done == n));
	expect(status == NIDUS_OK || refused(status));
	for (size_t i = 0; i < done; i++) {
		model_add(&run->model, keys[i]);
		expect(has_value(run, keys[i], values[i]));
	}
	nidus_find_batch(run->filter, hashes, n, first, found);
	for (size_t i = 0; i < n; i++) {
		expect_equal(found[i], spelled_count(run->filter, keys[i]));
		expect(found[i] > 0 ? has_value(run, keys[i], first[i]) : first[i] == 0);
	}
}

/* ----------------------------------------------------------------- whole filters -- */

static void check_all(struct run *run)
{
	const char *why = NULL;
	expect_ok(nidus_verify(run->filter, &why));
	for (uint64_t key = 0; key < KEYS; key++) {
		uint32_t copies = run->model.copies[key];
		if (copies > 0 && !spelled_contains(run->filter, key))
			expect_equal(key, UINT64_MAX); /* prints the key that was lost */
		if (copies > 0 && run->counts)
			expect(spelled_count(run->filter, key) >= copies);
	}
	if (run->counts)
		expect_equal(info_of(run->filter).count, run->model.total);
}

static void try_clone(struct run *run)
{
	nidus_filter *copy;
	expect_ok(nidus_clone(run->filter, &copy));
	if (feed_can_save(copy))
		expect(filters_equal(copy, run->filter));
	replace(run, copy);
}

static void try_save_and_load(struct run *run)
{
	if (!feed_can_save(run->filter))
		return;
	struct bytes bytes = bytes_save(run->filter);
	nidus_filter *loaded;
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	expect(bytes_match(&bytes, loaded));
	bytes_free(&bytes);
	replace(run, loaded);
}

static void try_clear(struct run *run)
{
	expect_ok(nidus_clear(run->filter));
	model_clear(&run->model);
	expect_equal(info_of(run->filter).count, 0);
}

static void try_grow(struct run *run)
{
	uint64_t capacity = feed_number(&run->feed, 2);
	if (feed_byte(&run->feed) == 255)
		capacity = feed_number(&run->feed, 8);
	nidus_filter *copy = before(run);
	nidus_status status = nidus_grow(run->filter, capacity);
	if (status == NIDUS_OK) {
		nidus_info info = info_of(run->filter);
		expect(info.capacity >= capacity || info.max_capacity == NIDUS_UNLIMITED);
		nidus_free(copy);
	} else {
		expect(status == NIDUS_E_RANGE || status == NIDUS_E_NOMEM ||
		       status == NIDUS_E_UNSUPPORTED || refused(status));
		if (status == NIDUS_E_UNSUPPORTED)
			expect_same(copy, run->filter);
		else
			expect_same_entries(copy, run->filter);
	}
}

/* Whether a merge may answer so, when both filters fit together. */
static bool merge_refused(nidus_status status)
{
	return refused(status) || status == NIDUS_E_RANGE || status == NIDUS_E_UNSUPPORTED;
}

/* Another filter that fits: a fresh one with a few keys, whose copies are added to `model`. */
static nidus_filter *make_other(struct run *run, struct model *model)
{
	uint64_t keys[BATCH];
	size_t n = any_range(run, keys);
	nidus_filter *other = empty_like(run);
	for (size_t i = 0; i < n; i++) {
		nidus_status status = spelled_insert(other, keys[i]);
		if (status == NIDUS_OK)
			model_add(model, keys[i]);
		else
			expect(refused(status));
	}
	return other;
}

static void try_merge(struct run *run)
{
	struct model model;
	nidus_filter *other, *merged;
	model_create(&model, KEYS);
	if (feed_byte(&run->feed) % 2 == 0) {
		other = make_other(run, &model);
	} else {
		expect_ok(nidus_clone(run->filter, &other));
		for (uint64_t key = 0; key < KEYS; key++)
			model.copies[key] = run->model.copies[key];
		model.total = run->model.total;
	}
	nidus_status status = nidus_merge(run->filter, other, &merged);
	if (status == NIDUS_OK) {
		for (uint64_t key = 0; key < KEYS; key++)
			run->model.copies[key] += model.copies[key];
		run->model.total += model.total;
		replace(run, merged);
		check_all(run);
	} else {
		expect(merge_refused(status) && merged == NULL);
	}
	nidus_free(other);
	model_free(&model);
}

/* Every entry of a walk, and no more; put into a fresh filter they are the same again. */
static void try_walk(struct run *run)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	uint64_t entries = 0;
	if (!(run->features & NIDUS_ENUMERATE)) {
		expect(!nidus_next(run->filter, &cursor, &entry));
		return;
	}
	nidus_filter *other = empty_like(run);
	bool all = true;
	while (nidus_next(run->filter, &cursor, &entry)) {
		expect(++entries <= run->model.total);
		nidus_status status = nidus_insert_entry(other, &entry);
		expect(status == NIDUS_OK || status == NIDUS_E_RANGE || refused(status));
		all = all && status == NIDUS_OK;
	}
	expect_equal(entries, run->model.total);
	if (all) {
		expect_ok(nidus_verify(other, NULL));
		replace(run, other);
		check_all(run);
	} else {
		nidus_free(other);
	}
}

/* A strange entry is taken or refused with a reason, and a taken one is walked over. */
static void try_strange_entry(struct run *run)
{
	nidus_entry entry = { feed_number(&run->feed, 3), feed_number(&run->feed, 8), 0 };
	nidus_filter *other, *copy;
	expect_ok(nidus_clone(run->filter, &other));
	expect_ok(nidus_clone(run->filter, &copy));
	uint64_t count = info_of(other).count;
	nidus_status status = nidus_insert_entry(other, &entry);
	if (status == NIDUS_OK) {
		expect_equal(info_of(other).count, count + 1);
		nidus_free(copy);
	} else {
		expect_same(copy, other);
	}
	expect_ok(nidus_verify(other, NULL));
	nidus_free(other);
}

/* -------------------------------------------------------------------------- build -- */

/* Whether a run must look the same each time, as ./dev test --rest wants it: what two threads cover depends on chance. */
static bool steady(void)
{
	return getenv("NIDUS_FUZZ_STEADY") != NULL;
}

/* Numbers and hashes are spelled by numbers; every third key has bytes. */
static void try_build(struct run *run)
{
	uint64_t keys[BATCH], numbers[BATCH];
	size_t n = any_range(run, keys), m = 0;
	nidus_options options = run->options;
	unsigned how = feed_byte(&run->feed);
	options.capacity = how & 1 ? options.capacity : 0;
	if (options.capacity == 0)
		options.max_capacity = 0;
	for (size_t i = 0; i < n; i++) {
		if (keys[i] % 3 != 0)
			numbers[m++] = keys[i];
	}
	nidus_filter *built;
	/* To start a thread takes as long as all the rest. */
	unsigned threads = how == 255 && !steady() ? 2 : 1;
	nidus_status status = nidus_build_u64(&options, numbers, m, threads, &built);
	if (status != NIDUS_OK) {
		expect(built == NULL);
		expect(refused(status) || status == NIDUS_E_RANGE || status == NIDUS_E_ARG);
		return;
	}
	bool multiset = options.features & NIDUS_MULTISET;
	model_clear(&run->model);
	for (size_t i = 0; i < m; i++) {
		if (multiset || run->model.copies[numbers[i]] == 0)
			model_add(&run->model, numbers[i]);
	}
	replace(run, built);
	check_all(run);
}

static void try_build_bytes(struct run *run)
{
	const void *keys[8];
	size_t lens[8], n = 0;
	char text[8][4];
	nidus_filter *built;
	nidus_options options = run->options;
	options.capacity = 0;
	options.max_capacity = 0;
	for (unsigned count = feed_byte(&run->feed) % 8; n < count; n++) {
		lens[n] = feed_byte(&run->feed) % 4;
		for (size_t i = 0; i < lens[n]; i++)
			text[n][i] = (char)feed_byte(&run->feed);
		keys[n] = lens[n] > 0 ? text[n] : NULL;
	}
	nidus_status status = nidus_build_bytes(&options, keys, lens, n, 1, &built);
	for (size_t i = 0; status == NIDUS_OK && i < n; i++)
		expect(nidus_contains(built, keys[i], lens[i]));
	expect((status == NIDUS_OK) == (built != NULL));
	nidus_free(built);
}

/* ----------------------------------------------------------------------- the run -- */

static void (*const calls[])(struct run *run) = {
	try_insert,        try_insert_new,    try_remove,         try_remove_absent,
	try_lookup,        try_insert_batch,  try_insert_batch,   try_remove_batch,
	try_copies,        try_walk,          try_contains_batch, try_clone,
	try_save_and_load, try_clear,         try_grow,           try_merge,
	try_strange_entry, try_build,         try_build_bytes,    check_all,
	try_insert_value,  try_replace_value, try_remove_value,   try_count,
	try_value_batch,
};

#define CALLS (sizeof calls / sizeof *calls)

static void live(struct run *run)
{
	model_create(&run->model, KEYS);
	nidus_info info = info_of(run->filter);
	run->features = info.features;
	run->counts = nidus_family_features(info.family) & NIDUS_DELETE;
	run->careful = feed_byte(&run->feed) % 2;
	for (unsigned i = 0; run->feed.left > 0 && i < CALLS_MOST; i++)
		calls[feed_byte(&run->feed) % CALLS](run);
	check_all(run);
	model_free(&run->model);
	nidus_free(run->filter);
}

/* ------------------------------------------------------------- filters that forget -- */

static uint64_t past_age(const struct past *past, uint64_t key)
{
	return past->last[key] == NEVER ? NEVER : past->now - past->last[key];
}

/* Keys are as old as they should be, or as a younger twin; there is nothing beside them. */
static void check_ages(struct run *run)
{
	const struct past *past = &run->past;
	unsigned slices = run->options.slices;
	uint64_t keys[RECENT_MOST + 1] = { 0 }, all = 0, youngest = NEVER, count = 0;
	expect_ok(nidus_verify(run->filter, NULL));
	for (uint64_t key = 0; key < KEYS; key++) {
		uint64_t age = past_age(past, key);
		youngest = age < youngest ? age : youngest;
		if (age < slices) {
			keys[age]++;
			all++;
		}
	}
	for (uint64_t key = 0; key < KEYS; key++) {
		uint64_t hash = spelled_hash(run->filter, key), age = past_age(past, key);
		int told = nidus_age_hash(run->filter, hash);
		expect(told >= 0 ? (uint64_t)told >= youngest && told < (int)slices : told == -1);
		expect(age >= slices || (told >= 0 && (uint64_t)told <= age));
		expect(told < 0 || spelled_contains(run->filter, key));
		expect_equal(spelled_count(run->filter, key), told >= 0);
	}
	for (unsigned age = 0; age < slices; age++) {
		uint64_t told = nidus_slice_count(run->filter, age);
		expect(told <= keys[age] && (told > 0 || age != youngest));
		count += told;
	}
	expect_equal(info_of(run->filter).count, count);
	expect(count <= all && (count > 0 || all == 0));
}

static void recent_tick(struct run *run)
{
	for (unsigned ticks = feed_byte(&run->feed) % 64 * 2 / 3 + 1; ticks > 0; ticks--) {
		expect_ok(nidus_tick(run->filter));
		run->past.now++;
	}
}

static void recent_insert(struct run *run)
{
	uint64_t key = any_key(run);
	nidus_filter *copy = before(run);
	nidus_status status = spelled_insert(run->filter, key);
	if (refused(status)) {
		expect_same_entries(copy, run->filter);
		return;
	}
	nidus_free(copy);
	expect_ok(status);
	expect_equal(nidus_age_hash(run->filter, spelled_hash(run->filter, key)), 0);
	run->past.last[key] = run->past.now;
}

static void recent_insert_new(struct run *run)
{
	uint64_t key = any_key(run), hash = spelled_hash(run->filter, key);
	int age = nidus_age_hash(run->filter, hash);
	nidus_status status = spelled_insert_new(run->filter, key);
	expect_equal(status == NIDUS_PRESENT, age >= 0);
	expect(status == NIDUS_OK || status == NIDUS_PRESENT || refused(status));
	if (status == NIDUS_OK)
		run->past.last[key] = run->past.now;
	expect_equal(nidus_age_hash(run->filter, hash), status == NIDUS_OK ? 0 : age);
}

/* Key after key, as single calls would do it. */
static void recent_insert_batch(struct run *run)
{
	uint64_t keys[BATCH], hashes[BATCH];
	size_t n = any_range(run, keys), done = 999;
	nidus_filter *single = before(run);
	hash_keys(run, keys, n, hashes);
	nidus_status status = nidus_insert_batch(run->filter, hashes, n, &done);
	expect(done <= n && (status == NIDUS_OK) == (done == n));
	expect(status == NIDUS_OK || refused(status));
	for (size_t i = 0; i < done; i++) {
		run->past.last[keys[i]] = run->past.now;
		if (single != NULL && status == NIDUS_OK)
			status = spelled_insert(single, keys[i]);
	}
	if (single != NULL && status == NIDUS_OK)
		expect(entries_equal(single, run->filter));
	nidus_free(single);
}

static void recent_contains_batch(struct run *run)
{
	uint64_t keys[BATCH], hashes[BATCH];
	uint8_t yes[BATCH];
	size_t n = any_range(run, keys);
	hash_keys(run, keys, n, hashes);
	nidus_contains_batch(run->filter, hashes, n, yes);
	for (size_t i = 0; i < n; i++) {
		expect_equal(yes[i], nidus_contains_hash(run->filter, hashes[i]));
		expect(yes[i] == 1 || past_age(&run->past, keys[i]) >= run->options.slices);
	}
}

static void recent_clear(struct run *run)
{
	expect_ok(nidus_clear(run->filter));
	for (uint64_t key = 0; key < KEYS; key++)
		run->past.last[key] = NEVER;
}

/* Entries with their ages go into a fresh filter, which is the same then. */
static void recent_walk(struct run *run)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_filter *other = empty_like(run);
	uint64_t entries = 0;
	bool all = true;
	while (nidus_next(run->filter, &cursor, &entry)) {
		entries++;
		expect(entry.value < run->options.slices);
		nidus_status status = nidus_insert_entry(other, &entry);
		expect(status == NIDUS_OK || status == NIDUS_E_RANGE || refused(status));
		all = all && status == NIDUS_OK;
	}
	expect_equal(entries, info_of(run->filter).count);
	if (all)
		replace(run, other);
	else
		nidus_free(other);
}

static void recent_merge(struct run *run)
{
	nidus_filter *other, *merged;
	expect_ok(nidus_clone(run->filter, &other));
	for (unsigned ticks = feed_byte(&run->feed) % 4; ticks > 0; ticks--)
		expect_ok(nidus_tick(other));
	nidus_status status = nidus_merge(run->filter, other, &merged);
	nidus_free(other);
	if (status == NIDUS_OK)
		replace(run, merged);
	else
		expect(merge_refused(status) && merged == NULL);
}

static void (*const recent_calls[])(struct run *run) = {
	recent_insert,
	recent_tick,
	recent_insert_batch,
	recent_insert_new,
	recent_contains_batch,
	recent_clear,
	recent_walk,
	recent_merge,
	try_clone,
	try_grow,
	try_save_and_load,
	check_ages,
	recent_insert_batch,
	recent_tick,
};

#define RECENT_CALLS (sizeof recent_calls / sizeof *recent_calls)

static void live_recently(struct run *run)
{
	run->past.now = 0;
	for (uint64_t key = 0; key < KEYS; key++)
		run->past.last[key] = NEVER;
	run->careful = feed_byte(&run->feed) % 2;
	for (unsigned i = 0; run->feed.left > 0 && i < CALLS_MOST; i++)
		recent_calls[feed_byte(&run->feed) % RECENT_CALLS](run);
	check_ages(run);
	nidus_free(run->filter);
}

static void expect_create_refused(nidus_status status)
{
	expect(status == NIDUS_E_ARG || status == NIDUS_E_RANGE || status == NIDUS_E_UNSUPPORTED ||
	       status == NIDUS_E_NOMEM);
	expect(nidus_reason()[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run run = { .feed = { data, size } };
	feed_tame_system(BLOCK_MOST);
	take_small_segments(64); /* so that a few keys fill some */
	generation_bits_first = generation_bits = 1;
	run.options = feed_options(&run.feed);
	check_note("%s, fpr %g, capacity %llu to %llu, seed %llu, slots %u, features %#x",
	           nidus_family_name(run.options.family), run.options.fpr,
	           (unsigned long long)run.options.capacity,
	           (unsigned long long)run.options.max_capacity,
	           (unsigned long long)run.options.seed, run.options.slots,
	           (unsigned)run.options.features);
	if (run.options.value_bits > 32)
		run.options.value_bits = 33; /* as good as any other that is too many */
	nidus_status status = nidus_create(&run.options, &run.filter);
	if (status == NIDUS_OK && run.options.slices > 0)
		live_recently(&run);
	else if (status == NIDUS_OK)
		live(&run);
	else
		expect_create_refused(status);
	return 0;
}

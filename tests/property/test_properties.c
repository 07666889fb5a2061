/* SPDX-License-Identifier: MIT
 *
 * The property suite: every registered family, every rate, several sizes, random
 * calls against an exact multiset.
 *
 * Two filters go through the same history. The shadow sees plain single calls
 * only; the other one is now and then replaced by its clone, by what a save and
 * a load made of it, and sees batches. Their saved bytes must never differ:
 * that is "same seed and same calls, same bytes", "batches equal single calls"
 * and "a loaded filter goes on like the saved one" at once.
 */
#include "base/os.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/folder.h"
#include "support/model.h"
#include "support/nests.h"

#define BATCH 70 /* more than any kernel takes at a time */

struct run {
	const struct shape *shape;
	nidus_options options;
	nidus_filter *filter, *shadow;
	struct model model;
	struct chance chance;
	uint32_t features;
	bool filling; /* the present tide: more inserts than removes, or fewer */
};

static uint64_t any_key(struct run *run)
{
	/* Few keys often, so that copies come up; all keys sometimes. */
	uint64_t below = chance_percent(&run->chance, 10) ? 3 : run->model.keys;
	return chance_below(&run->chance, below);
}

/* What came up at all: a suite that never filled a filter would prove little. */
static struct {
	uint64_t full, present, stashed, rebuilt;
} met;

static bool refused(nidus_status status)
{
	met.full += status == NIDUS_FULL;
	met.present += status == NIDUS_PRESENT;
	return status == NIDUS_FULL;
}

/* ------------------------------------------------------------------ single calls -- */

static void try_insert(struct run *run)
{
	uint64_t key = any_key(run);
	struct bytes before = bytes_save(run->filter);
	nidus_status status = spelled_insert(run->filter, key);
	expect_status(spelled_insert(run->shadow, key), status);
	if (refused(status)) {
		expect(bytes_match(&before, run->filter));
	} else {
		expect_ok(status);
		model_add(&run->model, key);
		expect(spelled_contains(run->filter, key));
	}
	bytes_free(&before);
}

static void try_insert_new(struct run *run)
{
	uint64_t key = any_key(run);
	bool there = spelled_contains(run->filter, key);
	struct bytes before = bytes_save(run->filter);
	nidus_status status = spelled_insert_new(run->filter, key);
	expect_status(spelled_insert_new(run->shadow, key), status);
	expect_equal(status == NIDUS_PRESENT, there);
	if (refused(status) || there) {
		expect(bytes_match(&before, run->filter));
	} else {
		expect_ok(status);
		model_add(&run->model, key);
	}
	bytes_free(&before);
}

static void try_remove(struct run *run)
{
	uint64_t key;
	if (!model_any(&run->model, &run->chance, &key))
		return;
	expect_ok(spelled_remove(run->filter, key));
	expect_ok(spelled_remove(run->shadow, key));
	model_drop(&run->model, key);
}

/* A key that the filter denies can be removed by nobody. */
static void try_remove_absent(struct run *run)
{
	uint64_t key = any_key(run);
	if (spelled_contains(run->filter, key))
		return;
	struct bytes before = bytes_save(run->filter);
	expect_status(spelled_remove(run->filter, key), NIDUS_NOT_FOUND);
	expect(bytes_match(&before, run->filter));
	bytes_free(&before);
}

static void try_lookup(struct run *run)
{
	uint64_t key = any_key(run);
	uint64_t count = spelled_count(run->filter, key);
	uint32_t copies = run->model.copies[key];
	expect_equal(spelled_contains(run->filter, key), count > 0);
	/* Without a multiset (Bloom) all copies are one. */
	if (run->features & NIDUS_DELETE)
		expect(count >= copies);
	else
		expect(count == 1 || copies == 0);
}

/* ----------------------------------------------------------------------- batches -- */

static void try_contains_batch(struct run *run)
{
	uint64_t hashes[BATCH];
	uint8_t yes[BATCH + 1];
	size_t n = chance_below(&run->chance, BATCH + 1);
	for (size_t i = 0; i < n; i++)
		hashes[i] = spelled_hash(run->filter, any_key(run));
	memset(yes, 7, sizeof yes);
	nidus_contains_batch(run->filter, hashes, n, yes);
	for (size_t i = 0; i < n; i++)
		expect_equal(yes[i], nidus_contains_hash(run->filter, hashes[i]));
	expect_equal(yes[n], 7);
}

static void try_insert_batch(struct run *run)
{
	uint64_t keys[BATCH], hashes[BATCH];
	size_t n = chance_below(&run->chance, BATCH + 1), done = 99;
	for (size_t i = 0; i < n; i++) {
		keys[i] = any_key(run);
		hashes[i] = spelled_hash(run->filter, keys[i]);
	}
	nidus_status status = nidus_insert_batch(run->filter, hashes, n, &done);
	expect_equal(status == NIDUS_OK, done == n);
	expect(done <= n);
	for (size_t i = 0; i < done; i++) {
		expect_ok(spelled_insert(run->shadow, keys[i]));
		model_add(&run->model, keys[i]);
	}
	if (done < n) {
		expect(refused(status));
		expect_status(spelled_insert(run->shadow, keys[done]), status);
	}
}

static void try_insert_new_batch(struct run *run)
{
	uint64_t keys[BATCH], hashes[BATCH];
	uint8_t fresh[BATCH + 1];
	size_t n = chance_below(&run->chance, BATCH + 1), done = 99;
	for (size_t i = 0; i < n; i++) {
		/* Some come twice in one batch. */
		keys[i] = i > 0 && chance_below(&run->chance, 4) == 0 ? keys[i / 2] : any_key(run);
		hashes[i] = spelled_hash(run->filter, keys[i]);
	}
	memset(fresh, 7, sizeof fresh);
	nidus_status status = nidus_insert_new_batch(run->filter, hashes, n, fresh, &done);
	expect_equal(status == NIDUS_OK, done == n);
	for (size_t i = 0; i < done; i++) {
		nidus_status single = nidus_insert_new_hash(run->shadow, hashes[i]);
		expect_equal(fresh[i], single == NIDUS_OK);
		expect(single == NIDUS_OK || single == NIDUS_PRESENT);
		if (single == NIDUS_OK)
			model_add(&run->model, keys[i]);
	}
	expect_equal(fresh[done], 7);
	if (done < n) {
		expect(refused(status));
		expect_status(nidus_insert_new_hash(run->shadow, hashes[done]), status);
	}
}

static void try_remove_batch(struct run *run)
{
	uint64_t keys[BATCH], hashes[BATCH];
	size_t n = 0, most = chance_below(&run->chance, BATCH), done = 99;
	while (n < most && model_any(&run->model, &run->chance, &keys[n])) {
		model_drop(&run->model, keys[n]);
		hashes[n] = spelled_hash(run->filter, keys[n]);
		n++;
	}
	expect_ok(nidus_remove_batch(run->filter, hashes, n, &done));
	expect_equal(done, n);
	for (size_t i = 0; i < n; i++)
		expect_ok(spelled_remove(run->shadow, keys[i]));
}

/* ----------------------------------------------------------------- whole filters -- */

static void replace(struct run *run, nidus_filter *by)
{
	nidus_free(run->filter);
	run->filter = by;
}

static void try_clone(struct run *run)
{
	nidus_filter *copy;
	expect_ok(nidus_clone(run->filter, &copy));
	expect(filters_equal(copy, run->filter));
	replace(run, copy);
}

static void try_buffer(struct run *run)
{
	struct bytes bytes = bytes_save(run->filter);
	nidus_filter *loaded;
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	bytes_free(&bytes);
	replace(run, loaded);
}

static void try_file(struct run *run)
{
	nidus_filter *loaded;
	expect_ok(nidus_save(run->filter, folder_path("filter")));
	expect_ok(nidus_load(folder_path("filter"), &loaded));
	replace(run, loaded);
}

struct stream {
	struct bytes bytes;
	size_t at;
};

static int take_piece(void *context, const void *data, size_t size)
{
	struct stream *stream = context;
	expect(size <= stream->bytes.size - stream->at);
	memcpy(stream->bytes.data + stream->at, data, size);
	stream->at += size;
	return 0;
}

static ptrdiff_t give_piece(void *context, void *data, size_t size)
{
	struct stream *stream = context;
	size_t left = stream->bytes.size - stream->at;
	size = size < left ? size : left;
	size = size > 100 ? size / 2 : size;
	memcpy(data, stream->bytes.data + stream->at, size);
	stream->at += size;
	return (ptrdiff_t)size;
}

static void try_stream(struct run *run)
{
	struct stream stream = { .bytes.size = nidus_saved_size(run->filter) };
	nidus_filter *loaded;
	stream.bytes.data = check_alloc(stream.bytes.size + 1);
	expect_ok(nidus_write(run->filter, take_piece, &stream));
	expect_equal(stream.at, stream.bytes.size);
	stream.at = 0;
	stream.bytes.size++; /* a stream goes on; a read stops at the filter's end */
	expect_ok(nidus_read(give_piece, &stream, NULL, &loaded));
	expect_equal(stream.at, stream.bytes.size - 1);
	bytes_free(&stream.bytes);
	replace(run, loaded);
}

static void try_clear(struct run *run)
{
	expect_ok(nidus_clear(run->filter));
	nidus_free(run->shadow);
	run->shadow = filter_create(&run->options);
	model_clear(&run->model);
}

/* ----------------------------------------------------------------- walk, rebuild -- */

static nidus_entry *walk(const nidus_filter *filter, uint64_t *n)
{
	nidus_cursor cursor = { 0 };
	uint64_t count = info_of(filter).count;
	nidus_entry *entries = check_alloc((count + 1) * sizeof *entries);
	for (*n = 0; nidus_next(filter, &cursor, &entries[*n]);) {
		++*n;
		expect(*n <= count);
	}
	expect_equal(*n, count);
	expect(!nidus_next(filter, &cursor, &entries[count]));
	return entries;
}

static void expect_same_entries(const nidus_filter *a, const nidus_filter *b)
{
	uint64_t n, m;
	nidus_entry *x = walk(a, &n), *y = walk(b, &m);
	expect_equal(n, m);
	entries_sort(x, n);
	entries_sort(y, n);
	expect(memcmp(x, y, n * sizeof *x) == 0);
	free(x);
	free(y);
}

static void expect_all_found(const struct run *run, const nidus_filter *filter)
{
	for (uint64_t key = 0; key < run->model.keys; key++) {
		uint32_t copies = run->model.copies[key];
		if (copies > 0 && !spelled_contains(filter, key))
			expect_equal(key, UINT64_MAX); /* prints the key that was lost */
		if (copies > 0 && (run->features & NIDUS_DELETE))
			expect(spelled_count(filter, key) >= copies);
	}
	expect_equal(info_of(filter).count, run->model.total);
}

static void try_rebuild(struct run *run)
{
	uint64_t n, done = 0;
	nidus_info info = info_of(run->filter);
	nidus_filter *other = filter_create(&run->options);
	nidus_entry *entries = walk(run->filter, &n);
	nidus_status status = NIDUS_OK;
	while (done < n && (status = nidus_insert_entry(other, &entries[done])) == NIDUS_OK)
		done++;
	/* A table that had places for all has them in every order; an overfull one may not. */
	if (info.stashed == 0 && info.count <= info.capacity)
		expect_ok(status);
	if (status == NIDUS_OK) {
		expect_ok(nidus_verify(other, NULL));
		expect_all_found(run, other);
		expect_same_entries(run->filter, other);
		met.rebuilt++;
		met.stashed += info.stashed > 0;
	} else {
		expect(refused(status));
	}
	free(entries);
	nidus_free(other);
}

static void check_all(struct run *run)
{
	const char *why = NULL;
	nidus_status status = nidus_verify(run->filter, &why);
	expect_ok(status);
	expect(why != NULL && why[0] == '\0');
	expect_all_found(run, run->filter);
	expect(filters_equal(run->filter, run->shadow));
}

/* ---------------------------------------------------------------------- the runs -- */

static const struct {
	void (*act)(struct run *run);
	unsigned filling, draining; /* how often, while the tide comes in and goes out */
	uint32_t needs;
} acts[] = {
	{ try_insert, 420, 150, 0 },
	{ try_insert_new, 120, 60, 0 },
	{ try_remove, 100, 400, NIDUS_DELETE },
	{ try_remove_absent, 20, 20, NIDUS_DELETE },
	{ try_lookup, 150, 150, 0 },
	{ try_contains_batch, 10, 10, 0 },
	{ try_insert_batch, 20, 5, 0 },
	{ try_insert_new_batch, 10, 4, 0 },
	{ try_remove_batch, 2, 20, NIDUS_DELETE },
	{ try_clone, 4, 4, 0 },
	{ try_buffer, 8, 8, 0 },
	{ try_stream, 4, 4, 0 },
	{ try_file, 1, 1, 0 },
	{ try_rebuild, 4, 4, NIDUS_ENUMERATE },
	{ check_all, 8, 8, 0 },
	{ try_clear, 0, 1, 0 },
};

#define ACTS (sizeof acts / sizeof *acts)

static void act(struct run *run)
{
	for (;;) {
		size_t i = chance_below(&run->chance, ACTS);
		unsigned weight = run->filling ? acts[i].filling : acts[i].draining;
		if (chance_below(&run->chance, 420) < weight && !(acts[i].needs & ~run->features)) {
			acts[i].act(run);
			return;
		}
	}
}

static void live(const struct shape *shape, uint64_t capacity, unsigned steps, uint64_t seed)
{
	struct run run = { .shape = shape, .chance = { seed } };
	run.features = nidus_family_features(shape->family->id);
	run.options = shape_options(shape, capacity, 1 + chance_next(&run.chance) / 2);
	run.filter = shape_create(shape, capacity, run.options.seed);
	run.shadow = filter_create(&run.options);
	check_note("%s, slots %u, fpr 2^-%u, capacity %llu, run seed %llu", shape->family->name,
	           shape->slots, shape->k, (unsigned long long)capacity, (unsigned long long)seed);
	/* More keys than places, so that the tide reaches the brim. */
	uint64_t places = info_of(run.filter).total_slots;
	model_create(&run.model, places + places / 8 + 8);
	for (unsigned step = 0; step < steps; step++) {
		run.filling = step / (steps / 4 + 1) % 2 == 0 || !(run.features & NIDUS_DELETE);
		act(&run);
	}
	check_all(&run);
	model_free(&run.model);
	nidus_free(run.filter);
	nidus_free(run.shadow);
}

static void live_shape(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	static const uint64_t capacities[] = { 1, 2, 3, 5, 9, 20, 31 };
	uint64_t tiny = capacities[chance_below(chance, 7)];
	unsigned steps = check_small() ? 200 : 1500;
	live(shape, tiny, steps, chance_next(chance));
	live(shape, 40 + chance_below(chance, 200), 2 * steps, chance_next(chance));
}

static void any_history_agrees_with_a_multiset(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_shape(4, 24, live_shape, &chance);
}

static void live_larger(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	live(shape, 3000 + chance_below(chance, 2000), check_small() ? 2000 : 8000,
	     chance_next(chance));
}

static void larger_filters_agree_too(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() + 1 };
	each_layout(8, 8, live_larger, &chance);
}

/* The last test: the others have run. */
static void every_answer_came_up(void **state)
{
	(void)state;
	check_note("full %llu, present %llu, rebuilt %llu, with stash %llu",
	           (unsigned long long)met.full, (unsigned long long)met.present,
	           (unsigned long long)met.rebuilt, (unsigned long long)met.stashed);
	expect(met.full > 20 && met.present > 20);
	expect(met.rebuilt > 20 && met.stashed > 0);
}

static int no_sync(int file)
{
	(void)file;
	return 0;
}

static int setup(void **state)
{
	os.sync = no_sync; /* thousands of saves; test_files.c looks at this one */
	return folder_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_history_agrees_with_a_multiset),
		cmocka_unit_test(larger_filters_agree_too),
		cmocka_unit_test(every_answer_came_up),
	};
	return cmocka_run_group_tests(tests, setup, folder_teardown);
}

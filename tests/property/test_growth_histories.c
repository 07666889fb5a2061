/* SPDX-License-Identifier: MIT
 *
 * The property suite of filters that change their size: inserts, removes, growth,
 * shrinking, merging, walks, saves and clones in random order against an exact
 * multiset, for every family that grows, in the middle of moves too.
 *
 * test_properties.c compares bytes of filters of fixed size. Here a loaded filter
 * has finished a move that the saved one had not, so entries are compared.
 */
#include "api/filter.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/model.h"
#include "support/nests.h"

#include <math.h>

struct run {
	nidus_options options;
	nidus_filter *filter;
	struct model model;
	struct chance chance;
	double rate; /* that the filter promises */
	bool filling;
};

/* What came up: a suite that never moved anything would prove little. */
static struct {
	uint64_t moving, begun, shrunk, merged, saved_amid, cloned_amid, copies;
} met;

static uint64_t any_key(struct run *run)
{
	uint64_t below = chance_percent(&run->chance, 5) ? 3 : run->model.keys;
	return chance_below(&run->chance, below);
}

static void took(struct run *run, nidus_status status, uint64_t key, bool was_moving)
{
	met.copies += status == NIDUS_COPIES;
	if (status == NIDUS_OK)
		model_add(&run->model, key);
	else
		expect(status == NIDUS_FULL || status == NIDUS_COPIES);
	met.begun += !was_moving && has_segments(run->filter);
	met.moving += has_segments(run->filter);
}

static void try_insert(struct run *run)
{
	bool was_moving = has_segments(run->filter);
	uint64_t key = any_key(run);
	took(run, spelled_insert(run->filter, key), key, was_moving);
}

static void try_insert_batch(struct run *run)
{
	uint64_t keys[70], hashes[70];
	size_t n = chance_below(&run->chance, 71), done;
	for (size_t i = 0; i < n; i++) {
		keys[i] = any_key(run);
		hashes[i] = spelled_hash(run->filter, keys[i]);
	}
	nidus_status status = nidus_insert_batch(run->filter, hashes, n, &done);
	expect_equal(status == NIDUS_OK, done == n);
	for (size_t i = 0; i < done; i++)
		model_add(&run->model, keys[i]);
	if (done < n)
		expect(status == NIDUS_FULL || status == NIDUS_COPIES);
}

static void try_remove(struct run *run)
{
	uint64_t key;
	if (!model_any(&run->model, &run->chance, &key))
		return;
	expect_ok(spelled_remove(run->filter, key));
	model_drop(&run->model, key);
}

static void try_lookup(struct run *run)
{
	uint64_t key = any_key(run), count = spelled_count(run->filter, key);
	expect(count >= run->model.copies[key]);
	/* Lookups in breadcrumb filters do not compare the tags of entries. */
	bool yes = spelled_contains(run->filter, key);
	expect(yes == (count > 0) || (yes && run->filter->family->id == NIDUS_BREADCRUMB));
}

static void try_grow(struct run *run)
{
	nidus_info info = info_of(run->filter);
	uint64_t wanted = 1 + chance_below(&run->chance, info.max_capacity);
	nidus_status status = nidus_grow(run->filter, wanted);
	if (status != NIDUS_OK) { /* copies may crowd their slots in every size */
		expect(status == NIDUS_FULL || status == NIDUS_COPIES);
		return;
	}
	expect(info_of(run->filter).capacity >= wanted);
	expect(info_of(run->filter).fpr_target <= run->rate);
}

static void try_shrink(struct run *run)
{
	uint64_t bytes = info_of(run->filter).bytes;
	bool some = chance_percent(&run->chance, 50);
	uint64_t wanted = some ? run->model.total + 1 + chance_below(&run->chance, 99) : 0;
	nidus_status status = nidus_shrink(run->filter, wanted);
	expect(status == NIDUS_OK || status == NIDUS_E_RANGE);
	met.shrunk += info_of(run->filter).bytes < bytes;
}

static void replace(struct run *run, nidus_filter *by)
{
	expect(entries_equal(run->filter, by));
	nidus_free(run->filter);
	run->filter = by;
}

static void try_clone(struct run *run)
{
	nidus_filter *copy;
	met.cloned_amid += has_segments(run->filter);
	expect_ok(nidus_clone(run->filter, &copy));
	expect_equal(has_segments(copy), has_segments(run->filter));
	replace(run, copy);
}

/* Whether some key is there so often that it may crowd its slots. */
static bool has_many_copies(const struct run *run)
{
	uint64_t key = 0;
	while (key < run->model.keys && run->model.copies[key] <= 4)
		key++;
	return key < run->model.keys;
}

static void try_save(struct run *run)
{
	nidus_filter *loaded;
	bool amid = has_segments(run->filter);
	met.saved_amid += amid;
	/* Many copies may keep the parts of a filter that has no bits left apart (see nidus_save). */
	if (amid && has_many_copies(run) && nidus_saved_size(run->filter) == 0)
		return;
	struct bytes bytes = bytes_save(run->filter);
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	bytes_free(&bytes);
	/* Two parts that copies keep apart are saved as one with room for them. */
	double rate = info_of(loaded).fpr_target;
	expect(rate <= run->rate || (amid && has_many_copies(run)));
	run->rate = rate > run->rate ? rate : run->rate;
	replace(run, loaded);
}

/* Entries of a walk into a new filter, which grows as it must. */
static void try_rebuild(struct run *run)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_filter *other = filter_create(&run->options);
	nidus_status status = NIDUS_OK;
	while (status == NIDUS_OK && nidus_next(run->filter, &cursor, &entry))
		status = nidus_insert_entry(other, &entry);
	if (status == NIDUS_OK)
		replace(run, other);
	else /* copies may lie closer here than there */
		nidus_free(other);
}

static void try_merge(struct run *run)
{
	nidus_filter *other = filter_create(&run->options), *merged;
	uint64_t keys[40], n = 0, most = chance_below(&run->chance, 40);
	for (uint64_t i = 0; i < most; i++) {
		keys[n] = any_key(run);
		if (spelled_insert(other, keys[n]) == NIDUS_OK)
			n++;
	}
	nidus_status status = nidus_merge(run->filter, other, &merged);
	nidus_free(other);
	if (status != NIDUS_OK) {
		expect(status == NIDUS_COPIES || status == NIDUS_FULL || status == NIDUS_E_RANGE);
		return;
	}
	/* A rate that gave way is not what the run is about. */
	if (info_of(merged).fpr_target > run->options.fpr) {
		nidus_free(merged);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		model_add(&run->model, keys[i]);
	nidus_free(run->filter);
	run->filter = merged;
	met.merged++;
}

static void check_all(struct run *run)
{
	expect_ok(nidus_verify(run->filter, NULL));
	for (uint64_t key = 0; key < run->model.keys; key++) {
		uint32_t copies = run->model.copies[key];
		if (copies > 0 && spelled_count(run->filter, key) < copies)
			expect_equal(key, UINT64_MAX); /* prints the key that was lost */
	}
	expect_equal(info_of(run->filter).count, run->model.total);
}

static const struct {
	void (*act)(struct run *run);
	unsigned filling, draining; /* how often, while the tide comes in and goes out */
} acts[] = {
	{ try_insert, 1000, 250 }, { try_insert_batch, 20, 4 }, { try_remove, 150, 1000 },
	{ try_lookup, 100, 100 },  { try_grow, 1, 1 },          { try_shrink, 1, 4 },
	{ try_clone, 4, 4 },       { try_save, 4, 4 },          { try_rebuild, 2, 2 },
	{ try_merge, 2, 2 },       { check_all, 6, 6 },
};

#define ACTS (sizeof acts / sizeof *acts)

static void act(struct run *run)
{
	for (;;) {
		size_t i = chance_below(&run->chance, ACTS);
		unsigned weight = run->filling ? acts[i].filling : acts[i].draining;
		if (chance_below(&run->chance, 1000) < weight) {
			acts[i].act(run);
			return;
		}
	}
}

static void live(const struct family *family, unsigned k, uint64_t capacity, unsigned steps,
                 uint64_t seed)
{
	struct run run = { .chance = { seed } };
	run.options = filter_options(capacity, ldexp(1, -(int)k), 1 + seed / 2);
	run.options.family = family->id;
	run.rate = run.options.fpr;
	run.options.max_capacity = 16 * capacity;
	if (seed % 4 == 0) /* the same, through the gate */
		run.options.features = family->features & NIDUS_CONCURRENT;
	check_note("%s, fpr 2^-%u, capacity %llu, features %#x, run seed %llu", family->name, k,
	           (unsigned long long)capacity, (unsigned)run.options.features,
	           (unsigned long long)seed);
	nidus_status status = nidus_create(&run.options, &run.filter);
	if (status == NIDUS_E_RANGE) /* too low a rate to leave bits for growth */
		return;
	expect_ok(status);
	model_create(&run.model, 24 * capacity + 8);
	for (unsigned step = 0; step < steps; step++) {
		run.filling = step / (steps / 4 + 1) % 2 == 0;
		act(&run);
	}
	check_all(&run);
	model_free(&run.model);
	nidus_free(run.filter);
}

static void any_history_agrees_with_a_multiset(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned k = 4; k <= 16 && (*family)->features & NIDUS_GROW; k += 4) {
			unsigned steps = check_small() ? 500 : 3000;
			live(*family, k, 1 + chance_below(&chance, 9), steps, chance_next(&chance));
			live(*family, k, 20 + chance_below(&chance, 80), 2 * steps,
			     chance_next(&chance));
			live(*family, k, 400 + chance_below(&chance, 300), 4 * steps,
			     chance_next(&chance));
		}
	}
}

static void every_state_came_up(void **state)
{
	(void)state;
	check_note("moving %llu, begun %llu, shrunk %llu, merged %llu, saved amid %llu, "
	           "cloned amid %llu, copies %llu",
	           (unsigned long long)met.moving, (unsigned long long)met.begun,
	           (unsigned long long)met.shrunk, (unsigned long long)met.merged,
	           (unsigned long long)met.saved_amid, (unsigned long long)met.cloned_amid,
	           (unsigned long long)met.copies);
	expect(met.moving > 500 && met.begun > 5 && met.shrunk > 5 && met.merged > 20);
	expect(met.saved_amid > 3 && met.cloned_amid > 3);
}

int main(void)
{
	take_small_segments(128);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_history_agrees_with_a_multiset),
		cmocka_unit_test(every_state_came_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

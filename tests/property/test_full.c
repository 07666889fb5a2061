/* SPDX-License-Identifier: MIT
 *
 * Filters at their brim: FULL and COPIES change nothing, one key cannot flood a
 * filter, and what was stashed comes home.
 */
#include "base/bits.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#define COPIES 20000

/* Inserts keys from `first` on until `stop` answers; gives how many went in. */
static uint64_t fill_until(nidus_filter *filter, uint64_t first, nidus_status stop)
{
	for (uint64_t n = 0;; n++) {
		nidus_status status = nidus_insert_u64(filter, first + n);
		if (status == stop)
			return n;
		expect_ok(status);
	}
}

static void expect_all(const nidus_filter *filter, uint64_t first, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		expect(nidus_contains_u64(filter, first + i));
}

/* Whether a family can be full at all: Bloom filters never are. */
static bool may_fill(const struct shape *shape)
{
	return nidus_family_features(shape->family->id) & NIDUS_DELETE;
}

static void overfill(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	if (!may_fill(shape))
		return;
	nidus_filter *filter = shape_create(shape, 150, 1 + chance_next(chance) / 2);
	uint64_t n = fill_until(filter, 0, NIDUS_FULL);
	expect(n >= 150);
	expect_equal(info_of(filter).count, n);
	struct bytes brim = bytes_save(filter);
	uint64_t refused = 0;
	for (uint64_t key = n; key < n + 200; key++) {
		nidus_status status =
			key % 2 ? nidus_insert_u64(filter, key) : nidus_insert_new_u64(filter, key);
		if (status == NIDUS_OK) { /* some keys still find a place */
			expect_ok(nidus_remove_u64(filter, key));
			bytes_free(&brim);
			brim = bytes_save(filter); /* moves for that key may stay */
			continue;
		}
		expect(status == NIDUS_FULL || status == NIDUS_PRESENT || status == NIDUS_COPIES);
		expect(bytes_match(&brim, filter));
		refused += status == NIDUS_FULL;
	}
	expect(refused > 0);
	expect(nidus_reason()[0] != '\0');
	expect_all(filter, 0, n);
	expect_ok(nidus_verify(filter, NULL));
	bytes_free(&brim);
	nidus_free(filter);
}

static void insert_on_full_changes_nothing(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 24, overfill, &chance);
}

static void batch_on_full(const struct shape *shape, void *context)
{
	(void)context;
	enum { KEYS = 1000 };
	uint64_t keys[KEYS], hashes[KEYS];
	size_t done = 0;
	if (!may_fill(shape))
		return;
	nidus_filter *filter = shape_create(shape, 150, 5);
	for (unsigned i = 0; i < KEYS; i++)
		keys[i] = i;
	nidus_hash_u64_batch(filter, keys, KEYS, hashes);
	expect_status(nidus_insert_batch(filter, hashes, KEYS, &done), NIDUS_FULL);
	expect(done >= 150 && done < KEYS);
	expect_equal(info_of(filter).count, done);
	expect_all(filter, 0, done);
	nidus_options options = shape_options(shape, 150, 5);
	nidus_filter *built;
	expect_status(nidus_build_u64(&options, keys, KEYS, 1, &built), NIDUS_FULL);
	expect(built == NULL);
	/* Removing all and one too many stops at that one. */
	hashes[done] = 0;
	while (nidus_contains_hash(filter, hashes[done]))
		hashes[done]++;
	size_t removed = 0;
	expect_status(nidus_remove_batch(filter, hashes, done + 1, &removed), NIDUS_NOT_FOUND);
	expect_equal(removed, done);
	expect_equal(info_of(filter).count, 0);
	nidus_free(filter);
}

static void a_batch_stops_exactly_where_it_fails(void **state)
{
	(void)state;
	each_layout(6, 12, batch_on_full, NULL);
}

/* ------------------------------------------------------------------------ copies -- */

static void flood(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	nidus_options options = shape_options(shape, 1000, 1 + chance_next(chance) / 2);
	if (!may_fill(shape) || !counts_copies(&options))
		return;
	nidus_filter *filter = shape_create(shape, 1000, options.seed);
	uint64_t bytes = info_of(filter).bytes, key = chance_next(chance);
	for (unsigned i = 0; i < COPIES; i++)
		expect_ok(nidus_insert_u64(filter, key));
	expect_equal(nidus_count_key_u64(filter, key), COPIES);
	expect_equal(info_of(filter).count, COPIES);
	/* A list of one entry, no larger table. */
	expect(info_of(filter).bytes <= bytes + 512);
	/* Others still fit, twins too: the promise less what the copies took in the table. */
	uint64_t others = 1000 - (COPIES - info_of(filter).stashed) - 1;
	for (uint64_t i = 1; i <= others; i++)
		expect_ok(nidus_insert_u64(filter, key + i));
	expect_all(filter, key, others + 1);
	expect(nidus_count_key_u64(filter, key) >= COPIES);
	for (uint64_t i = 0; i < COPIES; i++)
		expect_ok(nidus_remove_u64(filter, key));
	expect_equal(info_of(filter).count, others);
	expect_all(filter, key + 1, others);
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

static void one_key_cannot_flood_a_filter(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 24, flood, &chance);
}

/* ------------------------------------------------------------------------- stash -- */

/* Removing keys of a filter with a stash: each freed slot may call one home. */
static void drain(const struct shape *shape, void *context)
{
	uint64_t *came_home = context;
	if (!may_fill(shape))
		return;
	nidus_filter *filter = shape_create(shape, 200, 11);
	uint64_t n = fill_until(filter, 0, NIDUS_FULL), stashed = info_of(filter).stashed;
	for (uint64_t i = 0; i < n; i++) {
		expect_ok(nidus_remove_u64(filter, i));
		expect(info_of(filter).stashed <= stashed);
		*came_home += stashed - info_of(filter).stashed;
		stashed = info_of(filter).stashed;
		if (i % 16 == 0) {
			expect_ok(nidus_verify(filter, NULL));
			expect_all(filter, i + 1, n - i - 1);
		}
	}
	expect_equal(info_of(filter).count, 0);
	expect_equal(info_of(filter).stashed, 0);
	nidus_free(filter);
}

static void removing_brings_stashed_entries_home(void **state)
{
	(void)state;
	uint64_t came_home = 0;
	each_layout(4, 24, drain, &came_home);
	expect(came_home > 0);
}

static void no_stash(const struct shape *shape, void *context)
{
	(void)context;
	nidus_options options = shape_options(shape, 150, 9);
	nidus_filter *filter;
	if (!may_fill(shape) || !shape->family->searches) /* breadcrumb always has a list */
		return;
	options.stash = NIDUS_STASH_OFF;
	check_note("%s, slots %u, fpr 2^-%u, no stash", shape->family->name, shape->slots,
	           shape->k);
	filter = filter_create(&options);
	uint64_t n = fill_until(filter, 0, NIDUS_FULL);
	expect_equal(info_of(filter).stashed, 0);
	expect_equal(info_of(filter).count, n);
	expect(n <= info_of(filter).total_slots);
	expect_all(filter, 0, n);
	expect_ok(nidus_clear(filter));
	/* Copies of one key: bounded by its slots alone. */
	uint64_t copies = 0;
	while (nidus_insert_u64(filter, 1) == NIDUS_OK)
		copies++;
	expect(copies >= 2 && copies <= 2 * info_of(filter).slots);
	expect_status(nidus_insert_u64(filter, 1), NIDUS_COPIES);
	expect_equal(info_of(filter).stashed, 0);
	nidus_free(filter);
}

static void without_a_stash_nothing_is_stashed(void **state)
{
	(void)state;
	each_layout(4, 24, no_stash, NULL);
}

/* As a file tells it. */
static uint64_t different_stashed(const nidus_filter *filter)
{
	struct bytes bytes = bytes_save(filter);
	uint64_t stashed = load64(bytes.data + 112);
	bytes_free(&bytes);
	return stashed;
}

static void short_stash(const struct shape *shape, void *context)
{
	(void)context;
	if (!may_fill(shape))
		return;
	for (unsigned limit = 1; limit <= 3; limit++) {
		nidus_options options = shape_options(shape, 150, 9);
		options.stash = limit;
		check_note("%s, slots %u, fpr 2^-%u, stash %u", shape->family->name, shape->slots,
		           shape->k, limit);
		nidus_filter *filter = filter_create(&options);
		/* Up to the capacity a stash is as long as it must be, and beyond it no longer. */
		insert_keys(filter, 0, 150);
		uint64_t listed = different_stashed(filter);
		uint64_t n = 150 + fill_until(filter, 150, NIDUS_FULL);
		uint64_t most = limit * info_of(filter).chunks;
		expect(different_stashed(filter) <= (most > listed ? most : listed));
		expect_all(filter, 0, n);
		expect_ok(nidus_verify(filter, NULL));
		nidus_free(filter);
	}
}

static void a_stash_keeps_to_its_limit(void **state)
{
	(void)state;
	each_layout(4, 12, short_stash, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(insert_on_full_changes_nothing),
		cmocka_unit_test(a_batch_stops_exactly_where_it_fails),
		cmocka_unit_test(one_key_cannot_flood_a_filter),
		cmocka_unit_test(removing_brings_stashed_entries_home),
		cmocka_unit_test(without_a_stash_nothing_is_stashed),
		cmocka_unit_test(a_stash_keeps_to_its_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Filters in the middle of their growth: everything works while the entries are in
 * two bodies, for every family that grows.
 *
 * The rate is measured as in test_growth.c: the count of absent keys found passes
 * the limit by chance with odds of ODDS, and there are fewer than 100 comparisons.
 */
#include <math.h>

#include "api/moving.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/nests.h"

#define ODDS 1e-9
#define BASE UINT64_C(2000)
#define STRANGERS (UINT64_C(1) << 60)

typedef void (*move_visitor)(const nidus_options *options);

static void each_growing_family(move_visitor visit)
{
	static const unsigned rates[] = { 6, 8, 12 };
	unsigned visited = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (size_t i = 0; i < 3 && (*family)->features & NIDUS_GROW; i++) {
			nidus_options options =
				filter_options(BASE, ldexp(1, -(int)rates[i]), 321 + i);
			options.family = (*family)->id;
			options.max_capacity = 8 * BASE;
			check_note("%s, fpr 2^-%u", (*family)->name, rates[i]);
			visit(&options);
			visited++;
		}
	}
	expect(visited >= 12);
}

/* A filter that has begun to move `turns` turns ago, and how many keys are in it. */
static nidus_filter *amid(const nidus_options *options, unsigned turns, uint64_t *keys)
{
	nidus_filter *filter = filter_create(options);
	*keys = 0;
	while (!moving(filter))
		expect_ok(nidus_insert_u64(filter, (*keys)++));
	for (unsigned i = 0; i < turns * MOVING_TURN; i++)
		expect_ok(nidus_insert_u64(filter, (*keys)++));
	expect(moving(filter));
	return filter;
}

static nidus_entry *entries_of(const nidus_filter *filter)
{
	nidus_cursor cursor = { 0 };
	uint64_t count = info_of(filter).count, n = 0;
	nidus_entry *entries = check_alloc((count + 1) * sizeof *entries);
	while (nidus_next(filter, &cursor, &entries[n]))
		expect(++n <= count);
	expect_equal(n, count);
	expect(!nidus_next(filter, &cursor, &entries[n]));
	entries_sort(entries, n);
	return entries;
}

static void expect_same_entries(const nidus_filter *a, const nidus_filter *b)
{
	nidus_entry *x = entries_of(a), *y = entries_of(b);
	expect_equal(info_of(a).count, info_of(b).count);
	expect(memcmp(x, y, info_of(a).count * sizeof *x) == 0);
	free(x);
	free(y);
}

/* --------------------------------------------------------------------- the tests -- */

static void watch_a_move(const nidus_options *options)
{
	uint64_t keys, begun;
	nidus_filter *filter = amid(options, 0, &keys);
	uint64_t room = filter->plan.capacity - keys;
	for (begun = keys; moving(filter); keys++) {
		if (keys % 97 == 0) {
			expect_ok(nidus_verify(filter, NULL));
			expect_keys(filter, 0, keys);
			expect_equal(info_of(filter).count, keys);
		}
		expect_ok(nidus_insert_u64(filter, keys));
	}
	expect(keys - begun > 2 * MOVING_TURN); /* little by little */
	expect(keys - begun <= room / MOVING_PART + 2 * MOVING_TURN);
	expect_keys(filter, 0, keys);
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

static void every_key_is_found_at_every_moment_of_a_move(void **state)
{
	(void)state;
	each_growing_family(watch_a_move);
}

static void measure_rate(const nidus_options *options)
{
	for (unsigned turns = 0; turns <= 20; turns += 10) {
		uint64_t keys, trials = check_small() ? 1 << 15 : 1 << 18, found = 0;
		nidus_filter *filter = amid(options, turns, &keys);
		for (uint64_t i = 0; i < trials; i++)
			found += nidus_contains_u64(filter, STRANGERS + i);
		nidus_info info = info_of(filter);
		expect(found <= chance_most(trials, options->fpr, ODDS));
		expect(found <= chance_most(trials, info.fpr_now * 1.02, ODDS));
		nidus_free(filter);
	}
}

static void the_rate_holds_amid_a_move(void **state)
{
	(void)state;
	each_growing_family(measure_rate);
}

static void only_read(const nidus_options *options)
{
	uint64_t keys;
	nidus_filter *filter = amid(options, 5, &keys), *other;
	nidus_entry *before = entries_of(filter);
	struct moving state = filter->moving;
	struct bytes bytes = bytes_save(filter);
	expect_equal(bytes.size, nidus_saved_size(filter));

	expect_ok(nidus_clone(filter, &other));
	expect(moving(other));
	expect_ok(nidus_verify(other, NULL));
	expect_same_entries(filter, other);
	expect(bytes_match(&bytes, other));
	for (uint64_t key = keys; key < keys + 999; key++) {
		expect_ok(nidus_insert_u64(filter, key));
		expect_ok(nidus_insert_u64(other, key));
	}
	expect(filters_equal(filter, other)); /* a clone goes on in the same way */
	nidus_free(filter);
	nidus_free(other);

	filter = amid(options, 5, &keys);
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &other));
	expect(moving(other));
	expect_same_entries(filter, other);
	expect_keys(other, 0, keys);
	expect(bytes_match(&bytes, other));
	expect_equal(info_of(other).capacity, info_of(filter).capacity);
	nidus_free(other);

	expect_equal(filter->moving.position, state.position);
	nidus_entry *after = entries_of(filter);
	expect(memcmp(before, after, keys * sizeof *before) == 0);
	expect_equal(info_of(filter).tables, 2);
	expect_ok(nidus_grow(filter, 1)); /* finishes the work */
	expect(!moving(filter));
	expect_equal(info_of(filter).tables, 1);
	expect_ok(nidus_verify(filter, NULL));
	expect_keys(filter, 0, keys);
	bytes_free(&bytes);
	free(before);
	free(after);
	nidus_free(filter);
}

static void calls_that_read_change_nothing(void **state)
{
	(void)state;
	each_growing_family(only_read);
}

static void take_out(const nidus_options *options)
{
	uint64_t keys;
	nidus_filter *filter = amid(options, 3, &keys);
	for (uint64_t key = 0; key < keys; key++) {
		if (key % 101 == 0) {
			expect_ok(nidus_verify(filter, NULL));
			expect_keys(filter, key, keys);
		}
		expect_ok(nidus_remove_u64(filter, key));
	}
	expect_equal(info_of(filter).count, 0);
	expect_status(nidus_remove_u64(filter, 0), NIDUS_NOT_FOUND);
	insert_keys(filter, 0, 4 * BASE);
	expect_keys(filter, 0, 4 * BASE);
	nidus_free(filter);

	filter = amid(options, 3, &keys);
	expect_ok(nidus_clear(filter));
	expect(!moving(filter) && info_of(filter).count == 0);
	expect(!nidus_contains_u64(filter, 1));
	insert_keys(filter, 0, BASE);
	expect_keys(filter, 0, BASE);
	nidus_free(filter);
}

static void removes_reach_both_bodies(void **state)
{
	(void)state;
	each_growing_family(take_out);
}

static void use_batches(const nidus_options *options)
{
	uint64_t keys;
	nidus_filter *single = amid(options, 2, &keys), *batch = amid(options, 2, &keys);
	uint64_t *hashes = check_alloc(3 * BASE * sizeof *hashes);
	uint8_t *yes = check_alloc(3 * BASE);
	/* New keys, now and then one that the old body has. */
	for (uint64_t i = 0; i < 3 * BASE; i++)
		hashes[i] = nidus_hash_u64(single, i % 61 == 0 ? i / 61 : keys + i);
	for (uint64_t i = 0; i < 3 * BASE; i++)
		expect_ok(nidus_insert_hash(single, hashes[i]));
	size_t done = 0;
	for (uint64_t at = 0, some = 1; at < 3 * BASE; at += some, some = 1 + some * 3 % 211) {
		if (some > 3 * BASE - at)
			some = 3 * BASE - at;
		expect_ok(nidus_insert_batch(batch, hashes + at, some, &done));
		expect_equal(done, some);
		nidus_contains_batch(batch, hashes, 3 * BASE, yes);
		for (uint64_t i = 0; i < 3 * BASE; i += 7)
			expect_equal(yes[i], nidus_contains_hash(batch, hashes[i]));
	}
	expect(filters_equal(single, batch));
	nidus_free(batch);
	nidus_free(single);

	single = amid(options, 2, &keys);
	for (uint64_t i = 0; i < keys; i++)
		hashes[i] = nidus_hash_u64(single, i);
	expect_ok(nidus_remove_batch(single, hashes, keys, &done));
	expect_equal(done, keys);
	expect_equal(info_of(single).count, 0);
	expect_status(nidus_remove_batch(single, hashes, keys, &done), NIDUS_NOT_FOUND);
	nidus_free(single);
	free(hashes);
	free(yes);
}

static void batches_equal_single_calls(void **state)
{
	(void)state;
	each_growing_family(use_batches);
}

static void repeat_a_key(const nidus_options *options)
{
	uint64_t keys, copies = 1;
	nidus_filter *filter = amid(options, 0, &keys);
	nidus_info before = info_of(filter);
	uint64_t key = keys - 3;
	nidus_status status = NIDUS_OK;
	while (copies < 1000 && (status = nidus_insert_u64(filter, key)) == NIDUS_OK)
		copies++;
	expect_status(status, counts_copies(options) ? NIDUS_OK : NIDUS_COPIES);
	expect_equal(info_of(filter).capacity, before.capacity);
	expect(nidus_count_key_u64(filter, key) >= copies);
	for (; copies > 0; copies--)
		expect_ok(nidus_remove_u64(filter, key));
	expect_ok(nidus_verify(filter, NULL));
	expect_equal(info_of(filter).count, keys - 1);
	nidus_free(filter);
}

static void copies_grow_nothing_amid_a_move(void **state)
{
	(void)state;
	each_growing_family(repeat_a_key);
}

/* Copies that come as entries lie in one body too, so that the move comes to its end. */
static void crowd_an_entry(const nidus_options *options)
{
	uint64_t keys, copies = 0;
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_filter *filter = filter_create(options), *first = filter_create(options);
	expect_ok(nidus_insert_u64(first, 5));
	expect(nidus_next(first, &cursor, &entry));
	while (copies < 500 && nidus_insert_entry(filter, &entry) == NIDUS_OK)
		copies++;
	for (keys = 10; !moving(filter); keys++)
		expect_ok(nidus_insert_u64(filter, keys));
	nidus_status status = NIDUS_OK;
	while (copies < 1000 && (status = nidus_insert_entry(filter, &entry)) == NIDUS_OK)
		copies++;
	expect_status(status, counts_copies(options) ? NIDUS_OK : NIDUS_COPIES);
	for (; keys < 4 * BASE; keys++) {
		status = nidus_insert_u64(filter, keys);
		if (status != NIDUS_OK)
			break;
	}
	expect(status == NIDUS_OK || status == NIDUS_FULL);
	expect_keys(filter, 10, keys);
	expect_ok(nidus_verify(filter, NULL));
	expect_equal(info_of(filter).count, keys - 10 + copies);
	expect_ok(nidus_grow(filter, 1)); /* ends it */
	expect(!moving(filter));
	for (; copies > 0; copies--)
		expect_ok(nidus_remove_u64(filter, 5));
	insert_keys(filter, keys, 5 * BASE); /* nothing is in the way any more */
	expect_keys(filter, 10, 5 * BASE);
	nidus_free(filter);
	nidus_free(first);
}

static void copies_that_come_as_entries_are_no_obstacle(void **state)
{
	(void)state;
	each_growing_family(crowd_an_entry);
}

static void merge_amid(const nidus_options *options)
{
	uint64_t keys;
	nidus_filter *a = amid(options, 4, &keys), *b = filter_create(options), *merged;
	for (uint64_t key = 0; !moving(b); key++)
		expect_ok(nidus_insert_u64(b, STRANGERS + key));
	uint64_t others = info_of(b).count;
	expect_ok(nidus_merge(a, b, &merged));
	expect(moving(a) && moving(b) && !moving(merged));
	expect_equal(info_of(merged).count, keys + others);
	expect_ok(nidus_verify(merged, NULL));
	expect_keys(merged, 0, keys);
	expect_keys(merged, STRANGERS, STRANGERS + others);
	nidus_free(merged);
	nidus_free(a);
	nidus_free(b);
}

static void both_bodies_are_merged(void **state)
{
	(void)state;
	each_growing_family(merge_amid);
}

/* ------------------------------------------------------------------- saving -- */

/* Does the same to a filter and to one that was saved and read again. */
static void go_on(nidus_filter *filter, nidus_filter *twin, uint64_t from, uint64_t n)
{
	for (uint64_t i = from; i < from + n; i++) {
		uint64_t key = i % 3 == 0 ? i % 50 : i;
		expect_status(nidus_insert_u64(twin, key), nidus_insert_u64(filter, key));
		if (i % 7 == 0)
			expect_status(nidus_remove_u64(twin, i - 1),
			              nidus_remove_u64(filter, i - 1));
	}
}

/* From its birth on, at many moments: what was saved goes on as the original does. */
static void save_and_go_on(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	unsigned moved = 0;
	for (uint64_t keys = 0; keys < 8 * BASE; keys += 431) {
		struct bytes bytes = bytes_save(filter);
		nidus_filter *twin, *opened;
		moved += moving(filter);
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &twin));
		expect_ok(nidus_open_buffer(bytes.data, bytes.size, keys % 2, &opened));
		expect_same_entries(filter, opened);
		expect(filters_equal(filter, opened));
		expect(filters_equal(filter, twin));
		expect_ok(nidus_verify(twin, NULL));
		expect_ok(nidus_verify(opened, NULL));
		for (uint64_t key = 0; key < 99; key++)
			expect_equal(nidus_count_key_u64(opened, key),
			             nidus_count_key_u64(filter, key));
		nidus_free(opened);
		go_on(filter, twin, keys, 431);
		expect(filters_equal(filter, twin));
		nidus_free(filter);
		filter = twin;
		bytes_free(&bytes);
	}
	expect(moved > 0);
	nidus_free(filter);
}

static void what_was_saved_goes_on_as_the_original_does(void **state)
{
	(void)state;
	each_growing_family(save_and_go_on);
}

static void save_shared(const nidus_options *options)
{
	nidus_options shared = *options;
	shared.features |= NIDUS_CONCURRENT;
	save_and_go_on(&shared);
}

static void and_so_does_one_that_threads_share(void **state)
{
	(void)state;
	each_growing_family(save_shared);
}

/* Whatever single byte is another, and wherever the file ends: an error. */
static void damage(const nidus_options *options)
{
	nidus_options small = *options;
	uint64_t keys = 0;
	small.capacity = 40;
	small.max_capacity = 4000;
	nidus_filter *filter = filter_create(&small), *other;
	while (!moving(filter))
		expect_ok(nidus_insert_u64(filter, keys++));
	for (unsigned i = 0; i < 40; i++)
		(void)nidus_insert_u64(filter, i % 2); /* COPIES at last */
	struct bytes bytes = bytes_save(filter);
	for (size_t i = 0; i < bytes.size; i++) {
		bytes.data[i] ^= 0x10;
		nidus_status status = nidus_load_buffer(bytes.data, bytes.size, NULL, &other);
		expect(status >= NIDUS_E_FORMAT && other == NULL);
		expect(nidus_open_buffer(bytes.data, bytes.size, NIDUS_OPEN_VERIFY, &other) >=
		       NIDUS_E_FORMAT);
		bytes.data[i] ^= 0x10;
		expect_status(nidus_load_buffer(bytes.data, i, NULL, &other), NIDUS_E_TRUNCATED);
	}
	unsigned char *longer = check_alloc(bytes.size + 1);
	memcpy(longer, bytes.data, bytes.size);
	longer[bytes.size] = 0;
	expect_status(nidus_load_buffer(longer, bytes.size + 1, NULL, &other), NIDUS_E_FORMAT);
	free(longer);
	bytes_free(&bytes);
	nidus_free(filter);
}

static void damage_in_any_part_is_noticed(void **state)
{
	(void)state;
	each_growing_family(damage);
}

/* A file that says of entries which have not moved that they have. */
static void lie_about_the_position(const nidus_options *options)
{
	uint64_t keys;
	nidus_filter *filter = amid(options, 3, &keys), *other;
	uint64_t position = filter->moving.position;
	filter->moving.position = UINT64_MAX / 2;
	struct bytes bytes = bytes_save(filter);
	filter->moving.position = position;
	expect_status(nidus_load_buffer(bytes.data, bytes.size, NULL, &other), NIDUS_E_CORRUPT);
	expect_status(nidus_open_buffer(bytes.data, bytes.size, NIDUS_OPEN_VERIFY, &other),
	              NIDUS_E_CORRUPT);
	expect_ok(nidus_open_buffer(bytes.data, bytes.size, 0, &other));
	nidus_filter *copy;
	expect_status(nidus_verify(other, NULL), NIDUS_E_CORRUPT);
	expect_status(nidus_clone(other, &copy), NIDUS_E_CORRUPT);
	nidus_free(other);
	bytes_free(&bytes);
	nidus_free(filter);
}

static void a_file_cannot_hide_entries_from_lookups(void **state)
{
	(void)state;
	each_growing_family(lie_about_the_position);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_found_at_every_moment_of_a_move),
		cmocka_unit_test(the_rate_holds_amid_a_move),
		cmocka_unit_test(calls_that_read_change_nothing),
		cmocka_unit_test(removes_reach_both_bodies),
		cmocka_unit_test(batches_equal_single_calls),
		cmocka_unit_test(copies_grow_nothing_amid_a_move),
		cmocka_unit_test(copies_that_come_as_entries_are_no_obstacle),
		cmocka_unit_test(both_bodies_are_merged),
		cmocka_unit_test(what_was_saved_goes_on_as_the_original_does),
		cmocka_unit_test(and_so_does_one_that_threads_share),
		cmocka_unit_test(damage_in_any_part_is_noticed),
		cmocka_unit_test(a_file_cannot_hide_entries_from_lookups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

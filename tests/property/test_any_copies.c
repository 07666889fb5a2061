/* SPDX-License-Identifier: MIT
 *
 * Promise 9: one key any number of times. Every copy is counted, found and taken out again,
 * beside twins and neighbours, with values, by threads, and whatever the filter goes through.
 */
#include <pthread.h>

#include "support/check.h"
#include "support/filters.h"

#define MOST (check_small() ? 100000u : 1000000u)

/* Options of every family that counts copies, plain, compact and with values, of fixed size and not. */
static void each_counting(uint32_t features, void (*visit)(const nidus_options *options))
{
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned variant = 0; variant < 4; variant++) {
			nidus_options options = filter_options(1000, 0.001, 31);
			options.family = (*family)->id;
			options.features = features;
			options.value_bits = variant == 1 ? 8 : 0;
			options.max_capacity = variant == 2 ? 20000 : 0;
			if (variant == 3)
				options.features |= NIDUS_COMPACT;
			if (!((*family)->features & NIDUS_MULTISET) ||
			    (variant == 3 && !(*family)->compact) || !counts_copies(&options))
				continue;
			check_note("%s, variant %u", (*family)->name, variant);
			visit(&options);
		}
	}
}

static void insert_and_remove(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	struct bytes empty = bytes_save(filter);
	uint64_t bytes = info_of(filter).bytes;
	for (unsigned i = 0; i < MOST; i++)
		expect_ok(nidus_insert_u64(filter, 7));
	expect_equal(nidus_count_key_u64(filter, 7), MOST);
	expect_equal(nidus_size(filter), MOST);
	expect(info_of(filter).bytes <= bytes + 512);
	expect_ok(nidus_verify(filter, NULL));
	nidus_cursor cursor = { 0 };
	nidus_entry entry, first = { 0 };
	uint64_t walked = 0;
	for (; nidus_next(filter, &cursor, &entry); walked++) {
		first = walked == 0 ? entry : first;
		expect_equal(entry.home, first.home);
		expect_equal(entry.fingerprint, first.fingerprint);
	}
	expect_equal(walked, MOST);
	for (unsigned i = 0; i < MOST; i++)
		expect_ok(nidus_remove_u64(filter, 7));
	expect_status(nidus_remove_u64(filter, 7), NIDUS_NOT_FOUND);
	expect(!nidus_contains_u64(filter, 7));
	expect(bytes_match(&empty, filter));
	bytes_free(&empty);
	nidus_free(filter);
}

static void one_key_a_million_times(void **state)
{
	(void)state;
	each_counting(0, insert_and_remove);
}

/* Hot keys, and others up to the capacity: none is refused, and each keeps its copies. */
static void crowd(const nidus_options *options)
{
	enum { HOT = 40, COPIES = 500 };
	nidus_filter *filter = filter_create(options);
	/* All slots of two groups, or 16 of the breadcrumb lines, and an entry of the list. */
	unsigned slots = options->family == NIDUS_BREADCRUMB ? 16 : 2 * info_of(filter).slots;
	uint64_t others = 1000 - HOT * (slots + 1);
	for (uint64_t copy = 0; copy < COPIES; copy++) {
		for (uint64_t key = 0; key < HOT; key++)
			expect_ok(nidus_insert_u64(filter, key));
	}
	insert_keys(filter, 1000, 1000 + others);
	expect_equal(nidus_size(filter), HOT * COPIES + others);
	expect_ok(nidus_verify(filter, NULL));
	for (uint64_t key = 0; key < HOT; key++)
		expect(nidus_count_key_u64(filter, key) >= COPIES);
	for (uint64_t key = 0; key < HOT; key++) {
		for (uint64_t copy = 0; copy < COPIES; copy++)
			expect_ok(nidus_remove_u64(filter, key));
		expect_keys(filter, 1000, 1000 + others);
		expect_ok(nidus_verify(filter, NULL));
	}
	remove_keys(filter, 1000, 1000 + others);
	expect_equal(nidus_size(filter), 0);
	expect_equal(info_of(filter).stashed, 0);
	nidus_free(filter);
}

static void hot_keys_leave_all_others_their_room(void **state)
{
	(void)state;
	each_counting(0, crowd);
	each_counting(NIDUS_CONCURRENT, crowd);
}

/* Lists of growing filters cannot be switched off, and nidus_plan knows it. */
static void growing_filters_always_have_lists(void **state)
{
	(void)state;
	nidus_options options = filter_options(1000, 0.001, 31);
	nidus_plan_row rows[16];
	size_t n;
	options.max_capacity = 20000;
	options.stash = NIDUS_STASH_OFF;
	expect_ok(nidus_plan(&options, rows, 16, &n));
	for (size_t i = 0; i < n; i++) {
		if (rows[i].status != NIDUS_OK)
			continue;
		check_note("%s", nidus_family_name(rows[i].family));
		expect_equal(rows[i].copies, UINT32_MAX);
		options.family = rows[i].family;
		for (unsigned keys = 1; keys <= 10000; keys += 9999) {
			nidus_filter *filter = filter_of_keys(&options, 0, keys);
			for (unsigned copy = 1; copy < 1000; copy++)
				expect_ok(nidus_insert_u64(filter, 0));
			expect_equal(info_of(filter).count, keys + 999);
			expect(nidus_count_key_u64(filter, 0) >= 1000);
			expect_ok(nidus_verify(filter, NULL));
			nidus_free(filter);
		}
	}
}

/* Values of a hot key: each is counted for itself, changed and taken out. */
static void value_by_value(const nidus_options *options)
{
	enum { VALUES = 200, COPIES = 3 };
	if (options->value_bits == 0)
		return;
	nidus_filter *filter = filter_create(options);
	uint64_t values[VALUES * COPIES + 1], seen[256] = { 0 }, first;
	uint32_t found;
	for (uint64_t i = 0; i < VALUES * COPIES; i++)
		expect_ok(nidus_insert_value_u64(filter, 9, i % VALUES));
	expect_equal(nidus_find_u64(filter, 9, values, VALUES * COPIES + 1), VALUES * COPIES);
	for (unsigned i = 0; i < VALUES * COPIES; i++)
		seen[values[i]]++;
	for (unsigned value = 0; value < VALUES; value++)
		expect_equal(seen[value], COPIES);
	uint64_t hash = nidus_hash_u64(filter, 9);
	nidus_find_batch(filter, &hash, 1, &first, &found);
	expect_equal(found, VALUES * COPIES);
	for (unsigned i = 0; i < COPIES; i++) {
		for (unsigned value = 0; value < VALUES; value++)
			expect_ok(nidus_replace_value_u64(filter, 9, value, 255));
	}
	expect_status(nidus_replace_value_u64(filter, 9, 0, 255), NIDUS_NOT_FOUND);
	expect_ok(nidus_verify(filter, NULL));
	for (unsigned i = 0; i < VALUES * COPIES; i++)
		expect_ok(nidus_remove_value_u64(filter, 9, 255));
	expect_status(nidus_remove_value_u64(filter, 9, 255), NIDUS_NOT_FOUND);
	expect_equal(nidus_size(filter), 0);
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

static void values_of_a_hot_key_are_counted_one_by_one(void **state)
{
	(void)state;
	each_counting(0, value_by_value);
	each_counting(NIDUS_CONCURRENT, value_by_value);
}

/* Forty days that share one key: merged, cloned, saved and loaded it has all its copies. */
static void forty_days(const nidus_options *options)
{
	enum { DAYS = 40, COPIES = 300, OWN = 20 };
	nidus_filter *days[DAYS], *all, *copy, *loaded;
	for (uint64_t day = 0; day < DAYS; day++) {
		days[day] = filter_create(options);
		for (unsigned i = 0; i < COPIES; i++)
			expect_ok(nidus_insert_u64(days[day], 5));
		insert_keys(days[day], 1000 * (day + 1), 1000 * (day + 1) + OWN);
	}
	expect_ok(nidus_merge_many((const nidus_filter *const *)days, DAYS, NIDUS_MERGE_COPIES,
	                           &all));
	expect_equal(nidus_size(all), DAYS * (COPIES + OWN));
	expect(nidus_count_key_u64(all, 5) >= DAYS * COPIES);
	expect_ok(nidus_verify(all, NULL));
	expect_ok(nidus_clone(all, &copy));
	struct bytes bytes = bytes_save(all);
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	expect(filters_equal(all, copy) && filters_equal(all, loaded));
	for (unsigned i = 0; i < DAYS * COPIES; i++) {
		expect_ok(nidus_remove_u64(copy, 5));
		expect_ok(nidus_remove_u64(loaded, 5));
	}
	expect(filters_equal(copy, loaded));
	for (uint64_t day = 0; day < DAYS; day++)
		expect_keys(loaded, 1000 * (day + 1), 1000 * (day + 1) + OWN);
	bytes_free(&bytes);
	nidus_free(loaded);
	nidus_free(copy);
	nidus_free(all);
	for (unsigned day = 0; day < DAYS; day++)
		nidus_free(days[day]);
}

static void filters_that_share_a_hot_key_merge(void **state)
{
	(void)state;
	each_counting(0, forty_days);
}

/* ------------------------------------------------------------------- threads -- */

struct worker {
	pthread_t thread;
	nidus_filter *filter;
	uint64_t number, misses;
};

/* Puts two keys in that all threads have, and one of its own, and looks for them meanwhile. */
static void *work(void *context)
{
	struct worker *me = context;
	for (unsigned i = 0; i < MOST / 50; i++) {
		uint64_t key = i % 3 == 2 ? 100 + me->number : i % 3;
		me->misses += nidus_insert_u64(me->filter, key) != NIDUS_OK;
		me->misses += !nidus_contains_u64(me->filter, key);
		if (i % 5 == 4)
			me->misses += nidus_remove_u64(me->filter, key) != NIDUS_OK;
	}
	return NULL;
}

static void share(const nidus_options *options)
{
	struct worker workers[2];
	nidus_filter *filter = filter_create(options);
	for (unsigned i = 0; i < 2; i++) {
		workers[i] = (struct worker){ .filter = filter, .number = i };
		expect_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		expect_equal(pthread_join(workers[i].thread, NULL), 0);
		expect_equal(workers[i].misses, 0);
	}
	uint64_t each = MOST / 50, left = 2 * (each - each / 5);
	expect_equal(nidus_size(filter), left);
	expect_ok(nidus_verify(filter, NULL));
	uint64_t keys[] = { 0, 1, 100, 101 };
	for (unsigned i = 0; i < 4; i++) {
		while (nidus_remove_u64(filter, keys[i]) == NIDUS_OK)
			left--;
	}
	expect_equal(left, 0);
	expect_equal(nidus_size(filter), 0);
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

static void threads_count_together(void **state)
{
	(void)state;
	each_counting(NIDUS_CONCURRENT, share);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_key_a_million_times),
		cmocka_unit_test(hot_keys_leave_all_others_their_room),
		cmocka_unit_test(growing_filters_always_have_lists),
		cmocka_unit_test(values_of_a_hot_key_are_counted_one_by_one),
		cmocka_unit_test(filters_that_share_a_hot_key_merge),
		cmocka_unit_test(threads_count_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

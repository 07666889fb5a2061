/* SPDX-License-Identifier: MIT
 *
 * The breadcrumb family with hot keys, through the public calls: any number of copies comes and goes,
 * beside twins and with values, in files, clones, merges and builds, alone and shared.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#include <pthread.h>

#define MANY 1000000
#define OTHERS 3000

static nidus_options options_of(unsigned value_bits, uint32_t features)
{
	nidus_options options = filter_options(5000, 0.01, 77);
	options.family = NIDUS_BREADCRUMB;
	options.value_bits = value_bits;
	options.features |= features;
	return options;
}

static void expect_others(const nidus_filter *filter)
{
	for (uint64_t key = 0; key < OTHERS; key++)
		expect(nidus_contains_u64(filter, key));
}

static uint64_t count_of(const nidus_filter *filter, uint64_t key)
{
	return nidus_count_key_u64(filter, key);
}

/* One key a million times and back: nothing else changes, and all room is free again. */
static void a_million_copies_come_and_go(void **state)
{
	(void)state;
	for (unsigned shared = 0; shared < 2; shared++) {
		nidus_options options = options_of(0, shared ? NIDUS_CONCURRENT : 0);
		nidus_filter *filter = filter_create(&options);
		insert_keys(filter, 0, OTHERS);
		struct bytes before = bytes_save(filter);
		const uint64_t hot = 10 * OTHERS;
		uint64_t twins = count_of(filter, hot), many = check_small() ? MANY / 10 : MANY;
		for (uint64_t i = 0; i < many; i++)
			expect_ok(nidus_insert_u64(filter, hot));
		expect_equal(count_of(filter, hot), twins + many);
		expect_equal(info_of(filter).count, OTHERS + many);
		expect_ok(nidus_verify(filter, NULL));
		expect(info_of(filter).bytes < before.size + 8192);
		expect_others(filter);
		for (uint64_t i = 0; i < many; i++)
			expect_ok(nidus_remove_u64(filter, hot));
		expect_equal(count_of(filter, hot), twins);
		expect_equal(info_of(filter).count, OTHERS);
		expect_equal(info_of(filter).stashed, 0);
		expect_others(filter);
		expect_ok(nidus_verify(filter, NULL));
		bytes_free(&before);
		nidus_free(filter);
	}
}

/* Fills a filter with hot keys of different values; gives how often key OTHERS + i was put in. */
static void put_hot(nidus_filter *filter, unsigned value_bits, uint64_t times)
{
	insert_keys(filter, 0, OTHERS);
	for (uint64_t i = 0; i < times; i++) {
		uint64_t key = OTHERS + i % 7;
		expect_ok(value_bits > 0 ? nidus_insert_value_u64(filter, key, i % 5)
		                         : nidus_insert_u64(filter, key));
	}
}

static void expect_hot(const nidus_filter *filter, uint64_t times)
{
	expect_others(filter);
	for (uint64_t i = 0; i < 7; i++)
		expect(count_of(filter, OTHERS + i) >= times / 7);
	expect_ok(nidus_verify(filter, NULL));
	/* A walk tells each copy. */
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	uint64_t n = 0;
	while (nidus_next(filter, &cursor, &entry))
		n++;
	expect_equal(n, info_of(filter).count);
}

static void hot_keys_survive_files_and_clones(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		unsigned value_bits = i % 2 * 8;
		nidus_options options = options_of(value_bits, i / 2 ? NIDUS_CONCURRENT : 0);
		nidus_filter *filter = filter_create(&options), *loaded, *clone;
		put_hot(filter, value_bits, 7000);
		expect(info_of(filter).stashed > 6000);
		struct bytes bytes = bytes_save(filter);
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
		expect_ok(nidus_clone(filter, &clone));
		expect(bytes_match(&bytes, loaded));
		expect(bytes_match(&bytes, clone));
		expect_hot(loaded, 7000);
		expect_hot(clone, 7000);
		/* They go on as the first does. */
		for (uint64_t key = OTHERS; key < OTHERS + 7; key++) {
			while (nidus_remove_u64(filter, key) == NIDUS_OK) {
				expect_ok(nidus_remove_u64(loaded, key));
				expect_ok(nidus_remove_u64(clone, key));
			}
		}
		expect_equal(info_of(filter).stashed, 0);
		expect_ok(nidus_verify(filter, NULL));
		struct bytes after = bytes_save(filter);
		expect(bytes_match(&after, loaded));
		expect(bytes_match(&after, clone));
		bytes_free(&after);
		bytes_free(&bytes);
		nidus_free(filter);
		nidus_free(loaded);
		nidus_free(clone);
	}
}

static void hot_keys_are_merged_and_built(void **state)
{
	(void)state;
	for (unsigned value_bits = 0; value_bits <= 8; value_bits += 8) {
		nidus_options options = options_of(value_bits, 0);
		nidus_filter *a = filter_create(&options), *b = filter_create(&options), *both;
		put_hot(a, value_bits, 7000);
		for (uint64_t i = 0; i < 700; i++)
			expect_ok(nidus_insert_u64(b, OTHERS + i % 7));
		expect_ok(nidus_merge(a, b, &both));
		expect_hot(both, 7700);
		expect_equal(info_of(both).count, OTHERS + 7700);
		nidus_free(both);
		nidus_free(a);
		nidus_free(b);
	}
	uint64_t *keys = check_alloc((OTHERS + 7000) * sizeof *keys);
	for (uint64_t i = 0; i < OTHERS + 7000; i++)
		keys[i] = i < OTHERS ? i : OTHERS + i % 7;
	nidus_options options = options_of(0, NIDUS_MULTISET);
	nidus_filter *built;
	for (unsigned threads = 1; threads <= 3; threads += 2) {
		expect_ok(nidus_build_u64(&options, keys, OTHERS + 7000, threads, &built));
		expect_hot(built, 7000);
		expect_equal(info_of(built).count, OTHERS + 7000);
		nidus_free(built);
	}
	free(keys);
}

/* Below the capacity no key is refused, whatever hot keys and their neighbours do. */
static void no_key_is_refused_below_the_capacity(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned round = 0; round < 20; round++) {
		nidus_options options = options_of(0, 0);
		options.capacity = 1 + chance_below(&chance, 3000);
		options.seed = chance_next(&chance) | 1;
		nidus_filter *filter = filter_create(&options);
		uint64_t different = info_of(filter).capacity / 16;
		for (uint64_t i = 0; i < 16 * different; i++)
			expect_ok(nidus_insert_u64(filter, i % different));
		for (uint64_t key = 0; key < different; key++)
			expect(count_of(filter, key) >= 16);
		expect_ok(nidus_verify(filter, NULL));
		for (uint64_t i = 0; i < 16 * different; i++)
			expect_ok(nidus_remove_u64(filter, i / 16));
		expect_equal(info_of(filter).count, 0);
		expect_equal(info_of(filter).stashed, 0);
		nidus_free(filter);
	}
}

/* ------------------------------------------------------------------- two threads -- */

struct worker {
	nidus_filter *filter;
	uint64_t from;
	unsigned wrong;
};

static void *work(void *context)
{
	struct worker *me = context;
	for (unsigned round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < 500; i++) {
			me->wrong += nidus_insert_u64(me->filter, 9999) != NIDUS_OK;
			me->wrong += nidus_insert_u64(me->filter, me->from + i % 90) != NIDUS_OK;
			me->wrong += !nidus_contains_u64(me->filter, 9999);
			me->wrong += !nidus_contains_u64(me->filter, me->from + i % 90);
		}
		me->wrong += count_of(me->filter, 9999) < 500;
		for (uint64_t i = 0; i < 500; i++) {
			me->wrong += nidus_remove_u64(me->filter, 9999) != NIDUS_OK;
			me->wrong += nidus_remove_u64(me->filter, me->from + i % 90) != NIDUS_OK;
		}
	}
	return NULL;
}

static void threads_share_hot_keys(void **state)
{
	(void)state;
	nidus_options options = options_of(0, NIDUS_CONCURRENT);
	nidus_filter *filter = filter_create(&options);
	struct worker workers[2] = { { filter, 100000, 0 }, { filter, 200000, 0 } };
	pthread_t threads[2];
	insert_keys(filter, 0, OTHERS);
	for (unsigned i = 0; i < 2; i++)
		expect_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
	for (unsigned i = 0; i < 2; i++) {
		expect_equal(pthread_join(threads[i], NULL), 0);
		expect_equal(workers[i].wrong, 0);
	}
	expect_others(filter);
	expect_equal(info_of(filter).count, OTHERS);
	expect_equal(info_of(filter).stashed, 0);
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_copies_come_and_go),
		cmocka_unit_test(hot_keys_survive_files_and_clones),
		cmocka_unit_test(hot_keys_are_merged_and_built),
		cmocka_unit_test(no_key_is_refused_below_the_capacity),
		cmocka_unit_test(threads_share_hot_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Hot keys in growing filters: below max_capacity entries no key is refused but one that
 * has as many copies as may be, whatever crowds the table; and no insert does the work of
 * many. Every family that grows, alone and shared by threads.
 */
#include "api/filter.h"
#include "base/effort.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/stream.h"

#define MOVED_MOST \
	(3 * 2 * 4096) /* entries by one insert, whatever the size: a leaf of three bodies */
#define CLEARED_MOST ((uint64_t)2 << 20) /* bytes by one insert: larger memory is zero already */

struct run {
	nidus_filter *filter;
	uint64_t in, refused, most_cleared, most_moved;
};

static void insert(struct run *run, uint64_t key)
{
	struct effort *effort = effort_of_thread(), before = *effort;
	nidus_status status = nidus_insert_u64(run->filter, key);
	uint64_t cleared = effort->cleared - before.cleared, moved = effort->moved - before.moved;
	run->most_cleared = cleared > run->most_cleared ? cleared : run->most_cleared;
	run->most_moved = moved > run->most_moved ? moved : run->most_moved;
	if (status == NIDUS_OK) {
		run->in++;
		return;
	}
	expect_status(status, NIDUS_COPIES);
	expect(nidus_count_key_u64(run->filter, key) >=
	       run->filter->family->copies(&run->filter->plan));
	run->refused++;
}

static void check_run(const nidus_options *options, const struct stream *stream)
{
	struct run run = { .filter = filter_create(options) };
	struct chance chance = { 1 };
	uint64_t tries = 3 * options->max_capacity, before = 1;
	uint64_t *held = check_alloc(tries * sizeof *held), n = 0;
	for (uint64_t i = 0; i < tries && run.in < options->max_capacity; i++) {
		uint64_t key = stream_key(stream, i, &chance);
		before = run.in;
		insert(&run, key);
		if (run.in > before)
			held[n++] = key;
	}
	expect_equal(info_of(run.filter).count, run.in);
	expect_equal(nidus_size(run.filter), run.in);
	expect(run.most_moved <= MOVED_MOST);
	expect(run.most_cleared <= CLEARED_MOST);
	expect_ok(nidus_verify(run.filter, NULL));
	for (uint64_t i = 0; i < n; i++)
		expect(nidus_contains_u64(run.filter, held[i]));
	/* Each copy can be taken out. */
	for (uint64_t i = 0; i < n; i++)
		expect_ok(nidus_remove_u64(run.filter, held[i]));
	expect_equal(info_of(run.filter).count, 0);
	expect_ok(nidus_verify(run.filter, NULL));
	free(held);
	nidus_free(run.filter);
}

static void each_growing_family(uint64_t capacity, uint32_t features)
{
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (size_t i = 0; i < STREAMS && (*family)->features & NIDUS_GROW; i++) {
			nidus_options options = filter_options(capacity, 1.0 / 256, 99);
			options.family = (*family)->id;
			options.max_capacity = 8 * capacity;
			options.features = features;
			check_note("%s, %llu keys, %s, features %#x", (*family)->name,
			           (unsigned long long)capacity, streams[i].name,
			           (unsigned)features);
			check_run(&options, &streams[i]);
		}
	}
}

static void no_key_is_refused_but_one_with_too_many_copies(void **state)
{
	(void)state;
	each_growing_family(60, 0);
	each_growing_family(check_small() ? 150 : 1000, 0);
	each_growing_family(check_small() ? 300 : 6000, 0);
}

static void nor_in_filters_that_threads_share(void **state)
{
	(void)state;
	each_growing_family(60, NIDUS_CONCURRENT);
	each_growing_family(check_small() ? 150 : 1000, NIDUS_CONCURRENT);
	each_growing_family(check_small() ? 300 : 4000, NIDUS_CONCURRENT);
}

/* ---------------------------------------------------------------------- work -- */

static void *take_zeroed(void *context, size_t size)
{
	(void)context;
	return calloc(1, size);
}

static void *take(void *context, size_t size)
{
	(void)context;
	return malloc(size);
}

static void give(void *context, void *memory, size_t size)
{
	(void)context, (void)size;
	free(memory);
}

/* What a split frees is used again, so bodies are cleared one by one: those of a leaf by one insert. */
static void no_insert_clears_more_than_a_leaf(void **state)
{
	(void)state;
	const uint64_t n = check_small() ? 40000 : 200000;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_GROW))
			continue;
		nidus_options options = filter_options(500, 1.0 / 256, 5);
		options.family = (*family)->id;
		options.max_capacity = n;
		options.allocator = (nidus_allocator){ .alloc = take,
			                               .free = give,
			                               .alloc_zeroed = take_zeroed };
		check_note("%s", (*family)->name);
		struct run run = { .filter = filter_create(&options) };
		for (uint64_t key = 0; key < n; key++)
			insert(&run, key);
		expect_equal(run.in, n);
		nidus_info info = info_of(run.filter);
		expect(info.chunks >= 4);
		expect(run.most_cleared > 0);
		expect(run.most_cleared <=
		       8 * (info.bytes / info.chunks)); /* four, whose slots were wider */
		nidus_free(run.filter);
	}
}

/* A growth from less than a huge page to more: the new table comes from the system, as zeros. */
static void no_insert_clears_a_large_table(void **state)
{
	(void)state;
	const size_t n = 300000;
	uint64_t *hashes = check_alloc(n * sizeof *hashes);
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_GROW))
			continue;
		nidus_options options = filter_options(n, 1e-6, 5);
		options.family = (*family)->id;
		options.max_capacity = 4 * n;
		struct run run = { .filter = filter_create(&options) };
		check_note("%s", (*family)->name);
		for (size_t i = 0; i < n; i++)
			hashes[i] = nidus_hash_u64(run.filter, i);
		expect_ok(nidus_insert_batch(run.filter, hashes, n, NULL));
		for (uint64_t key = n; key < n + n / 16; key++)
			insert(&run, key);
		expect(info_of(run.filter).bytes > CLEARED_MOST / 4);
		expect(run.most_cleared < CLEARED_MOST);
		nidus_free(run.filter);
	}
	free(hashes);
}

/* -------------------------------------------------------------------- reasons -- */

/* An insert that found another way leaves nidus_reason alone. */
static void hush(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	uint64_t in = 0;
	expect_status(nidus_insert(filter, NULL, 1), NIDUS_E_ARG);
	char kept[300];
	snprintf(kept, sizeof kept, "%s", nidus_reason());
	for (uint64_t i = 0; in < options->max_capacity && i < 4 * options->max_capacity; i++) {
		uint64_t key = i % 2 == 0 ? i % 600 : STREAM_FRESH + i;
		if (nidus_insert_u64(filter, key) == NIDUS_OK) {
			expect(strcmp(nidus_reason(), kept) == 0);
			in++;
			continue;
		}
		expect(strcmp(nidus_reason(), kept) != 0);
		expect_status(nidus_insert(filter, NULL, 1), NIDUS_E_ARG);
	}
	nidus_free(filter);
}

static void inserts_that_succeed_leave_the_reason_alone(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned shared = 0; shared < 2 && (*family)->features & NIDUS_GROW;
		     shared++) {
			nidus_options options = filter_options(1000, 1.0 / 256, 5);
			options.family = (*family)->id;
			options.max_capacity = 8000;
			options.features = shared ? NIDUS_CONCURRENT : 0;
			check_note("%s, shared %u", (*family)->name, shared);
			hush(&options);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_key_is_refused_but_one_with_too_many_copies),
		cmocka_unit_test(nor_in_filters_that_threads_share),
		cmocka_unit_test(no_insert_clears_more_than_a_leaf),
		cmocka_unit_test(no_insert_clears_a_large_table),
		cmocka_unit_test(inserts_that_succeed_leave_the_reason_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

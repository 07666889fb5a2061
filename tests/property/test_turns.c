/* SPDX-License-Identifier: MIT
 *
 * Growth of filters that threads share is the filter's own affair: it comes in time
 * whether a thread is busy with one filter or with several, and whether threads are
 * many, short-lived, or take turns.
 */
#include <pthread.h>
#include <semaphore.h>

#include "api/moving.h"
#include "support/check.h"
#include "support/filters.h"

#define FILTERS_MOST 7
#define THREADS_MOST 256

typedef void (*turns_visitor)(const nidus_options *options);

static void each_growing_family(uint64_t capacity, turns_visitor visit)
{
	unsigned visited = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_GROW))
			continue;
		nidus_options options = filter_options(capacity, 1.0 / 256, 77);
		options.family = (*family)->id;
		options.max_capacity = 8 * capacity;
		options.features = NIDUS_CONCURRENT;
		check_note("%s, %llu keys", (*family)->name, (unsigned long long)capacity);
		visit(&options);
		visited++;
	}
	expect(visited >= 7);
}

/* A filter that grows has no more keys than it promises its rate for. */
static bool in_time(const nidus_filter *filter)
{
	return moving_count(filter) <= filter->plan.capacity;
}

/* What threads do together: each puts its own keys into all filters, in turn. */
struct work {
	nidus_filter *filter[FILTERS_MOST];
	unsigned filters, threads;
	uint64_t keys; /* per thread and filter */
	/* In turn: who may go on, for so many keys at a time. */
	sem_t turn[THREADS_MOST];
	uint64_t at_once;
};

struct worker {
	struct work *work;
	unsigned number;
	pthread_t thread;
	unsigned failures;
};

static uint64_t key_of(unsigned worker, uint64_t i)
{
	return (uint64_t)worker << 32 | i;
}

static void insert_some(struct worker *me, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		for (unsigned j = 0; j < me->work->filters; j++)
			me->failures += nidus_insert_u64(me->work->filter[j],
			                                 key_of(me->number, i)) != NIDUS_OK;
	}
}

static void *insert_all(void *context)
{
	struct worker *me = context;
	insert_some(me, 0, me->work->keys);
	return NULL;
}

static void *insert_in_turn(void *context)
{
	struct worker *me = context;
	struct work *work = me->work;
	for (uint64_t i = 0; i < work->keys; i += work->at_once) {
		me->failures += sem_wait(&work->turn[me->number]) != 0;
		insert_some(me, i, i + work->at_once);
		me->failures += !in_time(work->filter[0]);
		me->failures += sem_post(&work->turn[(me->number + 1) % work->threads]) != 0;
	}
	return NULL;
}

static void expect_all_in(const struct work *work, unsigned workers)
{
	for (unsigned j = 0; j < work->filters; j++) {
		expect_ok(nidus_verify(work->filter[j], NULL));
		expect(in_time(work->filter[j]));
		expect_equal(moving_count(work->filter[j]), workers * work->keys);
		for (unsigned worker = 0; worker < workers; worker++) {
			for (uint64_t i = 0; i < work->keys; i++)
				expect(nidus_contains_u64(work->filter[j], key_of(worker, i)));
		}
	}
}

static void run(struct work *work, void *(*task)(void *))
{
	static struct worker workers[THREADS_MOST];
	for (unsigned i = 0; i < work->threads; i++) {
		workers[i] = (struct worker){ .work = work, .number = i };
		expect_equal(pthread_create(&workers[i].thread, NULL, task, &workers[i]), 0);
	}
	for (unsigned i = 0; i < work->threads; i++) {
		expect_equal(pthread_join(workers[i].thread, NULL), 0);
		expect_equal(workers[i].failures, 0);
	}
	expect_all_in(work, work->threads);
}

static struct work make_work(const nidus_options *options, unsigned filters, unsigned threads)
{
	struct work work = { .filters = filters, .threads = threads };
	for (unsigned i = 0; i < filters; i++)
		work.filter[i] = filter_create(options);
	work.keys = 5 * options->capacity / threads;
	return work;
}

static void free_work(struct work *work)
{
	for (unsigned i = 0; i < work->filters; i++)
		nidus_free(work->filter[i]);
}

/* ------------------------------------------------------------------ claims -- */

static void alternate(const nidus_options *options)
{
	static const unsigned filters[] = { 1, 2, 3, 7 };
	for (unsigned i = 0; i < 4; i++) {
		struct work work = make_work(options, filters[i], 1);
		struct worker me = { .work = &work };
		for (uint64_t key = 0; key < work.keys; key++) {
			insert_some(&me, key, key + 1);
			for (unsigned j = 0; key % 16 == 0 && j < work.filters; j++)
				expect(in_time(work.filter[j]));
		}
		expect_equal(me.failures, 0);
		expect_all_in(&work, 1);
		/* Those that got the same keys in the same order became the same. */
		for (unsigned j = 1; j < work.filters; j++)
			expect(filters_equal(work.filter[0], work.filter[j]));
		free_work(&work);
	}
}

static void a_thread_may_alternate_between_filters(void **state)
{
	(void)state;
	each_growing_family(check_small() ? 2000 : 10000, alternate);
}

static void alternate_in_threads(const nidus_options *options)
{
	static const unsigned filters[] = { 2, 3, 7 };
	for (unsigned i = 0; i < 3; i++) {
		struct work work = make_work(options, filters[i], 4);
		run(&work, insert_all);
		free_work(&work);
	}
}

static void and_so_may_several(void **state)
{
	(void)state;
	each_growing_family(check_small() ? 2000 : 8000, alternate_in_threads);
}

static void come_and_go(const nidus_options *options)
{
	struct work work = make_work(options, 1, check_small() ? 100 : 1000);
	for (unsigned i = 0; i < work.threads; i++) {
		struct worker worker = { .work = &work, .number = i };
		expect_equal(pthread_create(&worker.thread, NULL, insert_all, &worker), 0);
		expect_equal(pthread_join(worker.thread, NULL), 0);
		expect_equal(worker.failures, 0);
		expect(in_time(work.filter[0]));
	}
	expect_all_in(&work, work.threads);
	free_work(&work);
}

static void short_lived_threads_grow_a_filter_in_time(void **state)
{
	(void)state;
	each_growing_family(check_small() ? 2000 : 20000, come_and_go);
}

static void take_turns(const nidus_options *options)
{
	struct work work = make_work(options, 1, check_small() ? 32 : THREADS_MOST);
	for (unsigned i = 0; i < work.threads; i++)
		expect_equal(sem_init(&work.turn[i], 0, i == 0), 0);
	work.at_once = 13;
	work.keys -= work.keys % work.at_once;
	run(&work, insert_in_turn);
	for (unsigned i = 0; i < work.threads; i++)
		expect_equal(sem_destroy(&work.turn[i]), 0);
	free_work(&work);
}

static void many_threads_in_turn_grow_a_filter_in_time(void **state)
{
	(void)state;
	each_growing_family(check_small() ? 1000 : 8000, take_turns);
}

static void put_in_batches(const nidus_options *options)
{
	uint64_t hashes[999], keys = 6 * options->capacity;
	nidus_filter *single = filter_create(options), *batches = filter_create(options);
	for (uint64_t from = 0, n = 1; from < keys; from += n, n = n * 7 % 998 + 1) {
		size_t done;
		for (uint64_t i = 0; i < n; i++) {
			hashes[i] = nidus_hash_u64(single, from + i);
			expect_ok(nidus_insert_u64(single, from + i));
		}
		expect_ok(nidus_insert_batch(batches, hashes, n, &done));
		expect_equal(done, n);
		expect(in_time(batches));
		expect(moving(single) == moving(batches));
	}
	expect(filters_equal(single, batches));
	nidus_free(single);
	nidus_free(batches);
}

static void batches_and_single_inserts_make_the_same_filter(void **state)
{
	(void)state;
	each_growing_family(1000, put_in_batches);
	each_growing_family(check_small() ? 3000 : 12000, put_in_batches);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_may_alternate_between_filters),
		cmocka_unit_test(and_so_may_several),
		cmocka_unit_test(short_lived_threads_grow_a_filter_in_time),
		cmocka_unit_test(many_threads_in_turn_grow_a_filter_in_time),
		cmocka_unit_test(batches_and_single_inserts_make_the_same_filter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

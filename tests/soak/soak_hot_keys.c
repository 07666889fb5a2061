/* SPDX-License-Identifier: MIT
 *
 * soak_hot_keys: hot keys in growing filters, from one thread and from several at once.
 *
 *     soak_hot_keys [SECONDS [SEED [ROUND]]]     60 seconds and a random seed if left out
 *
 * A round takes a family, a size up to 500,000 keys (eight times as many in the end), a kind
 * of stream and a number of threads, and fills the filter with the stream, the same hot keys
 * in all threads, up to max_capacity entries. Below that no insert may be answered with FULL,
 * and with COPIES only a key that has as many copies as may be; none may move more entries
 * than it may (base/effort.h). Then the threads take keys of theirs out and put others in,
 * while one thread saves and walks; at last each takes all of its own out, and the filter
 * must be empty. Exit code 255 at the first fault; SEED and ROUND repeat a round.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/filter.h"
#include "base/effort.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/stream.h"

#define THREADS_MOST 8
#define LARGE 250000   /* keys; up to twice as many */
#define MOVED_MOST 512 /* by an insert; 8 times as many in turns of threads */

struct round {
	nidus_options options;
	nidus_filter *filter;
	const struct stream *stream;
	unsigned threads;
	uint64_t bound;   /* copies that a key may have at least */
	uint64_t tickets; /* entries, and inserts that are under way */
};

struct worker {
	struct round *round;
	struct chance chance;
	uint64_t *held, n, most; /* keys that it put in */
	uint64_t fresh, tries, refused;
};

static struct {
	uint64_t inserts, refused, rounds, shared;
} seen;

/* ------------------------------------------------------------------------ threads -- */

static uint64_t next_key(struct worker *worker)
{
	return stream_key(worker->round->stream, worker->fresh++, &worker->chance);
}

/* COPIES: nobody takes keys out while the filter is filled, so that the copies stay. */
static void expect_crowded(const struct round *round, uint64_t key, bool filling)
{
	if (filling)
		expect(nidus_count_key_u64(round->filter, key) >= round->bound);
}

/* Puts a key in, unless there might be more than max_capacity entries; false then. */
static bool put(struct worker *worker, bool filling)
{
	struct round *round = worker->round;
	struct effort *effort = effort_of_thread(), before = *effort;
	if (__atomic_fetch_add(&round->tickets, 1, __ATOMIC_RELAXED) >=
	    round->options.max_capacity) {
		__atomic_fetch_sub(&round->tickets, 1, __ATOMIC_RELAXED);
		return false;
	}
	uint64_t key = next_key(worker);
	nidus_status status = nidus_insert_u64(round->filter, key);
	expect(effort->moved - before.moved <= (round->threads > 0 ? 8 : 1) * MOVED_MOST);
	if (status == NIDUS_OK) {
		worker->held[worker->n++] = key;
		return true;
	}
	expect_status(status, NIDUS_COPIES);
	expect_crowded(round, key, filling);
	worker->refused++;
	__atomic_fetch_sub(&round->tickets, 1, __ATOMIC_RELAXED);
	return true;
}

static void take(struct worker *worker, uint64_t at)
{
	struct round *round = worker->round;
	expect(nidus_contains_u64(round->filter, worker->held[at]));
	expect_ok(nidus_remove_u64(round->filter, worker->held[at]));
	worker->held[at] = worker->held[--worker->n];
	__atomic_fetch_sub(&round->tickets, 1, __ATOMIC_RELAXED);
}

static void *fill(void *context)
{
	struct worker *worker = context;
	for (uint64_t i = 0; i < worker->tries && worker->n < worker->most; i++) {
		if (!put(worker, true))
			break;
	}
	return NULL;
}

static void *churn(void *context)
{
	struct worker *worker = context;
	for (uint64_t i = 0; i < worker->tries / 2; i++) {
		if (worker->n > 0)
			take(worker, chance_below(&worker->chance, worker->n));
		while (worker->n < worker->most && !chance_one_in(&worker->chance, 3) &&
		       put(worker, false))
			;
	}
	return NULL;
}

static void *drain(void *context)
{
	struct worker *worker = context;
	while (worker->n > 0)
		take(worker, worker->n - 1);
	return NULL;
}

/* All workers at once; where threads share nothing there is one, the caller. */
static void all_do(struct round *round, struct worker *workers, void *(*what)(void *), bool look)
{
	pthread_t threads[THREADS_MOST];
	for (unsigned i = 0; i < round->threads; i++)
		expect(pthread_create(&threads[i], NULL, what, &workers[i]) == 0);
	if (round->threads == 0)
		(void)what(&workers[0]);
	if (look) {
		struct bytes bytes = bytes_save(round->filter);
		nidus_filter *loaded;
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
		expect_ok(nidus_verify(loaded, NULL));
		nidus_free(loaded);
		bytes_free(&bytes);
	}
	for (unsigned i = 0; i < round->threads; i++)
		pthread_join(threads[i], NULL);
}

/* ------------------------------------------------------------------------- rounds -- */

static void check_contents(const struct round *round, const struct worker *workers, unsigned n)
{
	uint64_t total = 0;
	for (unsigned i = 0; i < n; i++) {
		total += workers[i].n;
		for (uint64_t k = 0; k < workers[i].n; k++)
			expect(nidus_contains_u64(round->filter, workers[i].held[k]));
	}
	expect_equal(info_of(round->filter).count, total);
	expect_equal(nidus_size(round->filter), total);
	expect_ok(nidus_verify(round->filter, NULL));
}

static void live(struct round *round, struct chance *chance)
{
	struct worker workers[THREADS_MOST];
	unsigned n = round->threads > 0 ? round->threads : 1;
	for (unsigned i = 0; i < n; i++) {
		workers[i] = (struct worker){ .round = round, .chance = { chance_next(chance) } };
		workers[i].most = round->options.max_capacity;
		workers[i].tries = 3 * round->options.max_capacity / n;
		workers[i].held = check_alloc((size_t)workers[i].most * sizeof(uint64_t));
		workers[i].fresh = (uint64_t)i << 32;
	}
	all_do(round, workers, fill, false);
	check_contents(round, workers, n);
	/* A filter that nobody shares is not to be looked at amid changes. */
	all_do(round, workers, churn, round->threads > 0);
	check_contents(round, workers, n);
	all_do(round, workers, drain, false);
	expect_equal(info_of(round->filter).count, 0);
	expect_ok(nidus_verify(round->filter, NULL));
	for (unsigned i = 0; i < n; i++) {
		seen.inserts += workers[i].fresh & UINT32_MAX;
		seen.refused += workers[i].refused;
		free(workers[i].held);
	}
}

static const struct family *any_growing_family(struct chance *chance)
{
	unsigned n = 0;
	while (families[n] != NULL)
		n++;
	const struct family *family;
	do {
		family = families[chance_below(chance, n)];
	} while (!(family->features & NIDUS_GROW));
	return family;
}

static void one_round(uint64_t seed, uint64_t number)
{
	static const uint64_t sizes[] = { 1, 20, 60, 300, 1000, 4000 };
	struct chance chance = { seed ^ number * UINT64_C(0x9e3779b97f4a7c15) };
	struct round round = { .stream = &streams[chance_below(&chance, STREAMS)] };
	const struct family *family = any_growing_family(&chance);
	uint64_t size = sizes[chance_below(&chance, 6)];
	if (chance_one_in(&chance, 10))
		size = chance_one_in(&chance, 10) ? LARGE : 17000;
	round.options = filter_options(size + chance_below(&chance, size), 1.0 / 256,
	                               1 + chance_next(&chance) / 2);
	round.options.family = family->id;
	round.options.max_capacity = 8 * round.options.capacity;
	if (chance_percent(&chance, 60)) {
		round.threads = 1 + (unsigned)chance_below(&chance, THREADS_MOST);
		round.options.features = NIDUS_CONCURRENT;
		seen.shared++;
	}
	check_note("round %" PRIu64 " of seed %" PRIu64 ": %s, %" PRIu64 " keys, %s, %u threads",
	           number, seed, family->name, round.options.capacity, round.stream->name,
	           round.threads);
	round.filter = filter_create(&round.options);
	round.bound = family->copies(&round.filter->plan);
	live(&round, &chance);
	nidus_free(round.filter);
	seen.rounds++;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 60, start = now();
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : chance_seed();
	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	if (argc > 3)
		one_round(seed, strtoull(argv[3], NULL, 0));
	for (uint64_t number = 0; argc <= 3 && now() - start < seconds; number++)
		one_round(seed, number);
	printf("%" PRIu64 " rounds, %" PRIu64 " of them with threads; %.3g inserts, %.3g of them "
	       "refused as copies\n",
	       seen.rounds, seen.shared, (double)seen.inserts, (double)seen.refused);
	return 0;
}

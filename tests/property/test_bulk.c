/* SPDX-License-Identifier: MIT
 *
 * Bulk builds: the same filter for any number of threads and any order of keys,
 * all or nothing, and within the memory that the header states.
 */
#include "api/filter.h"
#include "base/hash_sort.h"
#include "base/thread.h"
#include "nest/build.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>

#define SEED 4711

static const unsigned thread_counts[] = { 0, 2, 3, 8, 1000 };

#define EACH_THREADS(i) for (size_t i = 0; i < sizeof thread_counts / sizeof *thread_counts; i++)

static uint64_t *some_keys(size_t n)
{
	uint64_t *keys = check_alloc((n + 1) * sizeof *keys);
	for (size_t i = 0; i < n; i++)
		keys[i] = i * i + 3;
	return keys;
}

static nidus_filter *build(const nidus_options *options, const uint64_t *keys, size_t n,
                           unsigned threads)
{
	nidus_filter *filter;
	check_note("family %d, %u slots, %zu keys, %u threads", (int)options->family,
	           options->slots, n, threads);
	expect_ok(nidus_build_u64(options, keys, n, threads, &filter));
	return filter;
}

/* ------------------------------------------------------------------ the same bytes -- */

static void compare_threads(const struct shape *shape, void *context)
{
	(void)context;
	static const size_t sizes[] = { 0, 1, 2, 7, 100, 4099, 70001, 300007 };
	size_t some = sizeof sizes / sizeof *sizes - (check_small() ? 1 : 0);
	for (size_t s = 0; s < some; s++) {
		size_t n = sizes[s];
		uint64_t *keys = some_keys(n);
		nidus_options options = shape_options(shape, 0, SEED);
		if (n > 300000)
			options.fpr /= 4096; /* tables with one chunk are no longer in the cache */
		nidus_filter *one = build(&options, keys, n, 1);
		expect_ok(nidus_verify(one, NULL));
		expect_equal(info_of(one).count, n);
		for (size_t i = 0; i < n; i++)
			expect(nidus_contains_u64(one, keys[i]));
		EACH_THREADS(i)
		{
			if (check_small() && n > 10000 && thread_counts[i] != 3)
				continue;
			nidus_filter *other = build(&options, keys, n, thread_counts[i]);
			expect(filters_equal(one, other));
			expect_ok(nidus_verify(other, NULL));
			nidus_free(other);
		}
		nidus_free(one);
		free(keys);
	}
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
	(void)state;
	each_layout(8, 8, compare_threads, NULL);
}

static void reverse(uint64_t *keys, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		uint64_t key = keys[i];
		keys[i] = keys[n - 1 - i];
		keys[n - 1 - i] = key;
	}
}

static void compare_orders(const struct shape *shape, void *context)
{
	(void)context;
	size_t n = 100003;
	uint64_t *keys = some_keys(n);
	nidus_options options = shape_options(shape, n, SEED);
	nidus_filter *forward = build(&options, keys, n, 2);
	reverse(keys, n);
	nidus_filter *backward = build(&options, keys, n, 3);
	expect(filters_equal(forward, backward));
	nidus_free(forward);
	nidus_free(backward);
	free(keys);
}

static void the_order_of_keys_does_not_matter(void **state)
{
	(void)state;
	each_layout(10, 10, compare_orders, NULL);
}

static void compare_sources(const struct shape *shape, void *context)
{
	(void)context;
	size_t n = 80000;
	uint64_t *keys = some_keys(n), *hashes = check_alloc(n * sizeof *hashes);
	const void **bytes = check_alloc(n * sizeof *bytes);
	size_t *lens = check_alloc(n * sizeof *lens);
	nidus_options options = shape_options(shape, 0, SEED);
	nidus_filter *numbers = build(&options, keys, n, 2), *same, *strings;
	nidus_hash_u64_batch(numbers, keys, n, hashes);
	expect_ok(nidus_build_hashes(&options, hashes, n, 3, &same));
	expect(filters_equal(numbers, same));
	nidus_free(same);
	expect_ok(nidus_build_like(numbers, hashes, NULL, n, false, 2, NULL, &same));
	expect(filters_equal(numbers, same));
	for (size_t i = 0; i < n; i++)
		bytes[i] = &keys[i], lens[i] = i % 9;
	for (unsigned threads = 1; threads < 4; threads++) {
		expect_ok(nidus_build_bytes(&options, bytes, lens, n, threads, &strings));
		for (size_t i = 0; i < n; i++)
			expect(nidus_contains(strings, bytes[i], lens[i]));
		expect_ok(nidus_verify(strings, NULL));
		nidus_free(strings);
	}
	nidus_free(numbers);
	nidus_free(same);
	free(keys);
	free(hashes);
	free(bytes);
	free(lens);
}

static void hashes_and_bytes_build_as_numbers_do(void **state)
{
	(void)state;
	each_layout(8, 8, compare_sources, NULL);
}

static void hashes_need_their_seed(void **state)
{
	(void)state;
	nidus_options options = filter_options(0, 0.01, 0);
	uint64_t hash = 5;
	nidus_filter *filter = (nidus_filter *)(void *)&hash;
	expect_status(nidus_build_hashes(&options, &hash, 1, 1, &filter), NIDUS_E_ARG);
	expect(filter == NULL);
	expect_status(nidus_build_like(NULL, &hash, NULL, 1, false, 1, NULL, &filter), NIDUS_E_ARG);
	expect_status(nidus_build_hashes(&options, NULL, 1, 1, &filter), NIDUS_E_ARG);
}

/* ------------------------------------------------------------------------ progress -- */

struct watcher {
	pthread_t thread;        /* the one that calls nidus */
	unsigned calls, stop_at; /* stop_at: 0 for never */
	double share;
	bool right;
};

static bool watch(void *context, double share)
{
	struct watcher *watcher = context;
	watcher->right &= pthread_equal(watcher->thread, pthread_self()) != 0;
	watcher->right &= share >= watcher->share && share <= 1;
	watcher->share = share;
	return ++watcher->calls == watcher->stop_at;
}

static struct watcher new_watcher(unsigned stop_at)
{
	return (struct watcher){ .thread = pthread_self(), .stop_at = stop_at, .right = true };
}

enum { FROM_NUMBERS, FROM_BYTES, FROM_HASHES, FROM_VALUES, LIKE_ANOTHER, WAYS };

#define WATCHED_KEYS ((size_t)200003)

/* Builds in one of the ways, watched; gives the status and, where it is OK, checks the filter. */
static nidus_status build_watched(nidus_options options, unsigned way, const uint64_t *keys,
                                  unsigned threads, struct watcher *watcher)
{
	size_t n = WATCHED_KEYS;
	nidus_filter *filter = NULL, *like;
	uint64_t *hashes = check_alloc(n * sizeof *hashes),
		 *values = check_alloc(n * sizeof *values);
	const void **bytes = check_alloc(n * sizeof *bytes);
	size_t *lens = check_alloc(n * sizeof *lens);
	nidus_status status = NIDUS_E_ARG;
	options.value_bits = way == FROM_VALUES ? 12 : 0;
	nidus_options empty = options;
	empty.capacity = n;
	expect_ok(nidus_create(&empty, &like));
	nidus_hash_u64_batch(like, keys, n, hashes);
	for (size_t i = 0; i < n; i++)
		bytes[i] = &keys[i], lens[i] = sizeof keys[i], values[i] = i % 4096;
	options.progress = (nidus_progress){ watch, watcher };
	if (way == FROM_NUMBERS)
		status = nidus_build_u64(&options, keys, n, threads, &filter);
	else if (way == FROM_BYTES)
		status = nidus_build_bytes(&options, bytes, lens, n, threads, &filter);
	else if (way == FROM_HASHES)
		status = nidus_build_hashes(&options, hashes, n, threads, &filter);
	else if (way == FROM_VALUES)
		status = nidus_build_values(&options, hashes, values, n, threads, &filter);
	else
		status = nidus_build_like(like, hashes, NULL, n, false, threads, &options.progress,
		                          &filter);
	expect((filter != NULL) == (status == NIDUS_OK));
	for (size_t i = 0; i < n && filter != NULL; i += 97)
		expect(way == FROM_BYTES ? nidus_contains(filter, bytes[i], lens[i])
		                         : nidus_contains_u64(filter, keys[i]));
	nidus_free(filter);
	nidus_free(like);
	free(hashes);
	free(values);
	free(bytes);
	free(lens);
	return status;
}

/* Stops at the first call, at the last, and at some in between: in every part of the work. */
static void stop_builds(const struct shape *shape, void *context)
{
	const uint64_t *keys = context;
	nidus_options options = shape_options(shape, 0, SEED);
	unsigned ways = nidus_family_features(options.family) & NIDUS_DELETE ? WAYS : FROM_VALUES;
	for (unsigned way = 0; way < ways; way++) {
		unsigned threads = 1 + way % 3;
		struct watcher watcher = new_watcher(0);
		check_note("family %d, way %u", (int)options.family, way);
		expect_ok(build_watched(options, way, keys, threads, &watcher));
		expect(watcher.calls > 0 && watcher.right);
		unsigned calls = watcher.calls;
		for (unsigned at = 1; at <= calls; at += 1 + calls / (check_small() ? 2 : 5)) {
			watcher = new_watcher(at);
			nidus_status status = build_watched(options, way, keys, threads, &watcher);
			/* With several threads there may be fewer calls than before. */
			expect(status == NIDUS_STOPPED || (status == NIDUS_OK && threads > 1));
			expect(status == NIDUS_OK || watcher.calls == at);
			expect(watcher.right);
		}
	}
}

static void builds_can_be_stopped_at_any_call_of_progress(void **state)
{
	(void)state;
	uint64_t *keys = some_keys(WATCHED_KEYS);
	each_layout(8, 8, stop_builds, keys);
	free(keys);
}

static bool build_inside(void *context, double share)
{
	nidus_options options = filter_options(0, 0.01, SEED);
	nidus_filter *filter;
	(void)share;
	expect_ok(nidus_build_u64(&options, context, 30000, 2, &filter));
	nidus_free(filter);
	return false;
}

static void a_watched_build_may_build_another_filter_meanwhile(void **state)
{
	(void)state;
	uint64_t *keys = some_keys(100000);
	nidus_options options = filter_options(0, 0.01, SEED);
	nidus_filter *filter;
	options.progress = (nidus_progress){ build_inside, keys };
	expect_ok(nidus_build_u64(&options, keys, 100000, 2, &filter));
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
	free(keys);
}

/* --------------------------------------------------------------------------- copies -- */

static void build_copies(const struct shape *shape, void *context)
{
	(void)context;
	size_t n = check_small() ? 25000 : 60000;
	uint64_t *keys = some_keys(3 * n);
	for (size_t i = 0; i < 2 * n; i++)
		keys[n + i] = keys[i % n];
	nidus_options options = shape_options(shape, 0, SEED);
	nidus_filter *once = build(&options, keys, n, 1);
	EACH_THREADS(i)
	{
		nidus_filter *thrice = build(&options, keys, 3 * n, thread_counts[i]);
		expect(filters_equal(once, thrice));
		nidus_free(thrice);
	}
	nidus_free(once);
	if (shape->family->features & NIDUS_MULTISET) {
		options.features |= NIDUS_MULTISET;
		nidus_filter *one = build(&options, keys, 2 * n, 1);
		nidus_filter *two = build(&options, keys, 2 * n, 2);
		expect(filters_equal(one, two));
		expect_equal(info_of(one).count, 2 * n);
		for (size_t i = 0; i < n; i++)
			expect(nidus_count_key_u64(one, keys[i]) >= 2);
		nidus_free(one);
		nidus_free(two);
	}
	free(keys);
}

static void equal_keys_are_stored_once_or_all(void **state)
{
	(void)state;
	each_layout(8, 8, build_copies, NULL);
}

static void one_key_a_hundred_thousand_times_is_one_key(void **state)
{
	(void)state;
	enum { N = 100000 };
	uint64_t *keys = check_alloc(N * sizeof *keys);
	for (size_t i = 0; i < N; i++)
		keys[i] = 42;
	nidus_options options = filter_options(0, 0.01, SEED);
	nidus_filter *filter = build(&options, keys, N, 3);
	expect_equal(info_of(filter).count, 1);
	expect_equal(info_of(filter).capacity, 1);
	nidus_free(filter);
	free(keys);
}

/* ------------------------------------------------------------------------- failures -- */

/* n keys for half as many places, or for nearly as many. Searches for room take long: few keys then. */
static void overfill(const struct shape *shape, size_t n, size_t capacity, uint64_t *refusals)
{
	uint64_t *keys = some_keys(n);
	nidus_options options = shape_options(shape, capacity, SEED);
	nidus_filter *filter;
	nidus_status one = nidus_build_u64(&options, keys, n, 1, &filter);
	nidus_free(filter);
	EACH_THREADS(i)
	{
		filter = (nidus_filter *)(void *)keys; /* must become NULL */
		expect_status(nidus_build_u64(&options, keys, n, thread_counts[i], &filter), one);
		expect((filter == NULL) == (one != NIDUS_OK));
		nidus_free(filter);
	}
	if (one != NIDUS_OK) {
		expect(nidus_reason()[0] != '\0');
		++*refusals;
	}
	free(keys);
}

static void overfill_some(const struct shape *shape, void *context)
{
	size_t n = check_small() ? 60000 : 400000;
	overfill(shape, n, n / 2, context);
	for (n = 30300; n < 45000; n += check_small() ? 7000 : 1700)
		overfill(shape, n, 30000, context);
}

static void too_many_keys_give_the_same_error_for_any_number_of_threads(void **state)
{
	(void)state;
	uint64_t refusals = 0;
	each_layout(8, 8, overfill_some, &refusals);
	expect(refusals > 0);
}

static int compare_hashes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* What a build came to if it were to look for room for every key. */
static nidus_status build_late(const nidus_options *options, const uint64_t *hashes, size_t n)
{
	nidus_filter *filter;
	uint64_t built = 0;
	expect_ok(nidus_create(options, &filter));
	struct nest *nest = (struct nest *)(void *)filter_body(filter);
	nidus_status status =
		nest_build_chunks(nest, 0, nest->layout->chunks, hashes, NULL, n, 1, &built);
	if (status == NIDUS_OK)
		status = nest_build_check(nest, built);
	nidus_free(filter);
	return status;
}

/* At the limit and far beyond it, with copies and without. */
static void compare_refusals(const struct shape *shape, void *context)
{
	uint64_t *refusals = context;
	nidus_options options = shape_options(shape, 9000, SEED);
	options.features = NIDUS_MULTISET;
	if (options.family > NIDUS_WINDOWED) /* the others are no nests */
		return;
	for (size_t n = 8900; n < 21000; n += n < 10300 ? 200 : 2500) {
		for (unsigned copies = 1; copies <= 900; copies *= 30) {
			uint64_t *hashes = some_keys(n);
			nidus_filter *filter;
			for (size_t i = 0; i < n; i++)
				hashes[i] = i / copies * UINT64_C(0x9e3779b97f4a7c15);
			qsort(hashes, n, sizeof *hashes, compare_hashes);
			check_note("family %d, %zu keys, %u copies", (int)options.family, n,
			           copies);
			nidus_status late = build_late(&options, hashes, n);
			expect_status(nidus_build_hashes(&options, hashes, n, 1, &filter), late);
			*refusals += late == NIDUS_FULL;
			nidus_free(filter);
			free(hashes);
		}
	}
}

static void a_build_is_refused_early_only_if_it_would_be_in_the_end(void **state)
{
	(void)state;
	uint64_t refusals = 0;
	each_layout(8, 8, compare_refusals, &refusals);
	expect(refusals > 0);
}

static unsigned threads_left;

static int start_a_few(pthread_t *thread, void *(*run)(void *), void *context)
{
	if (threads_left == 0)
		return 11;
	threads_left--;
	return pthread_create(thread, NULL, run, context);
}

static void threads_that_cannot_be_had_are_done_without(void **state)
{
	(void)state;
	size_t n = 300000;
	uint64_t *keys = some_keys(n);
	nidus_options options = filter_options(0, 0.01, SEED);
	options.family = NIDUS_CHUNKED;
	nidus_filter *wanted = build(&options, keys, n, 1);
	struct os_calls real = os;
	os.start_thread = start_a_few;
	for (unsigned few = 0; few < 12; few++) {
		threads_left = few;
		nidus_filter *filter = build(&options, keys, n, 4);
		expect(filters_equal(wanted, filter));
		nidus_free(filter);
	}
	os = real;
	nidus_free(wanted);
	free(keys);
}

#define SHARES 3

static void tell_held(void *context, unsigned share)
{
	sigset_t *held = context;
	pthread_sigmask(SIG_BLOCK, NULL, &held[share]);
}

static void signals_are_left_to_the_threads_of_the_program(void **state)
{
	(void)state;
	sigset_t held[SHARES], after;
	threads_run(SHARES, tell_held, held);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (unsigned share = 0; share < SHARES; share++) {
		expect_equal(sigismember(&held[share], SIGINT), share > 0);
		expect_equal(sigismember(&held[share], SIGUSR1), share > 0);
		expect_equal(sigismember(&held[share], SIGSEGV), 0);
		expect_equal(sigismember(&held[share], SIGBUS), 0);
	}
	expect_equal(sigismember(&after, SIGUSR1), 0);
}

static void fail_build(const struct shape *shape, void *context)
{
	(void)context;
	size_t n = 70000;
	uint64_t *keys = some_keys(n);
	for (unsigned threads = 1; threads <= 2; threads++) {
		struct ledger ledger = { 0 };
		nidus_options options = shape_options(shape, 0, SEED);
		options.allocator = ledger_allocator(&ledger);
		nidus_status status = NIDUS_E_NOMEM;
		uint64_t at = 1;
		for (; status != NIDUS_OK; at++) {
			nidus_filter *filter = (nidus_filter *)(void *)&ledger;
			ledger.requests = 0;
			ledger.fail_at = at;
			status = nidus_build_u64(&options, keys, n, threads, &filter);
			if (status != NIDUS_OK) {
				expect_status(status, NIDUS_E_NOMEM);
				expect(filter == NULL);
			}
			nidus_free(filter);
			expect_equal(ledger.blocks, 0);
			expect_equal(ledger.bytes, 0);
		}
		expect(at > 4); /* the hashes, the work on them, the filter, its table */
	}
	free(keys);
}

static void a_build_without_memory_keeps_nothing(void **state)
{
	(void)state;
	each_layout(8, 8, fail_build, NULL);
}

/* --------------------------------------------------------------------------- memory -- */

struct peak {
	size_t now, most;
};

/* No atomics: the header says that threads take turns. */
static void *peak_alloc(void *context, size_t size)
{
	struct peak *peak = context;
	peak->now += size;
	peak->most = peak->now > peak->most ? peak->now : peak->most;
	return malloc(size);
}

static void peak_free(void *context, void *memory, size_t size)
{
	struct peak *peak = context;
	peak->now -= size;
	free(memory);
}

static void watch_memory(const struct shape *shape, void *context)
{
	(void)context;
	size_t n = check_small() ? 100000 : 1000000;
	uint64_t *keys = some_keys(n);
	for (unsigned threads = 1; threads <= 4; threads += 3) {
		struct peak peak = { 0 };
		nidus_options options = shape_options(shape, 0, SEED);
		options.allocator = (nidus_allocator){ .alloc = peak_alloc,
			                               .free = peak_free,
			                               .context = &peak };
		nidus_filter *filter = build(&options, keys, n, threads);
		/* Filter and hashes; and the hashes with what helps to order them. */
		size_t hashes = threads == 1 ? 8 * n + 8 * n / 10 : 8 * n;
		size_t filled = peak.now + hashes + 4096;
		size_t ordered = hashes + threads * (8 * n / 1000 + HASH_SORT_WORK);
		expect(peak.most <= (filled > ordered ? filled : ordered));
		nidus_free(filter);
		expect_equal(peak.now, 0);
	}
	free(keys);
}

static void a_build_takes_the_memory_that_the_header_states(void **state)
{
	(void)state;
	each_layout(8, 8, watch_memory, NULL);
}

/* --------------------------------------------------------------------------- growth -- */

static void build_beyond_capacity(const struct shape *shape, void *context)
{
	(void)context;
	if (!(shape->family->features & NIDUS_GROW))
		return;
	size_t n = 90000;
	uint64_t *keys = some_keys(n);
	nidus_options options = shape_options(shape, 1000, SEED);
	options.max_capacity = 100000;
	nidus_filter *one = build(&options, keys, n, 1);
	nidus_filter *two = build(&options, keys, n, 2);
	expect(filters_equal(one, two));
	expect_equal(info_of(one).count, n);
	expect(info_of(one).capacity >= n);
	for (size_t i = 0; i < n; i++)
		expect(nidus_contains_u64(one, keys[i]));
	nidus_free(one);
	nidus_free(two);
	free(keys);
}

static void filters_that_grow_are_built_beyond_their_capacity(void **state)
{
	(void)state;
	each_layout(8, 8, build_beyond_capacity, NULL);
}

/* ------------------------------------------------------------------------ build_like -- */

/* A filter of so many keys from a number on, built like another one. */
static nidus_filter *build_like(const nidus_filter *other, uint64_t first, size_t n)
{
	uint64_t *hashes = check_alloc((n + 1) * sizeof *hashes);
	nidus_filter *filter;
	check_note("family %d, %zu keys from %llu on", (int)info_of(other).family, n,
	           (unsigned long long)first);
	for (size_t i = 0; i < n; i++)
		hashes[i] = nidus_hash_u64(other, first + i);
	expect_ok(nidus_build_like(other, hashes, NULL, n, false, 2, NULL, &filter));
	free(hashes);
	expect_ok(nidus_verify(filter, NULL));
	expect_equal(info_of(filter).count, n);
	for (size_t i = 0; i < n; i++)
		expect(nidus_contains_u64(filter, first + i));
	return filter;
}

/* Absent keys that are found are no more than six deviations beyond the target: odds below 10^-8. */
static void expect_rate(const nidus_filter *filter)
{
	uint64_t found = 0;
	double expected = 100000 * info_of(filter).fpr_target;
	for (uint64_t i = 0; i < 100000; i++)
		found += nidus_contains_u64(filter, (UINT64_C(1) << 40) + i);
	expect((double)found <= expected + 6 * sqrt(expected) + 1);
}

static void build_parts(const struct shape *shape, void *context)
{
	bool grows = *(const bool *)context;
	const size_t planned = 10000;
	const size_t sizes[] = { 0, 10, planned, planned + 1, planned / 2 * 3 };
	enum { PARTS = sizeof sizes / sizeof *sizes };
	nidus_options options = shape_options(shape, grows ? 1 : planned, SEED);
	nidus_filter *plan, *parts[PARTS], *all;
	uint64_t first = 0;
	options.max_capacity = grows ? planned : 0;
	if (grows && !(shape->family->features & NIDUS_GROW))
		return;
	expect_ok(nidus_create(&options, &plan));
	for (unsigned i = 0; i < PARTS; first += sizes[i++])
		parts[i] = build_like(plan, first, sizes[i]);
	if (sizes[2] == info_of(plan).max_capacity)
		expect(info_of(parts[2]).fpr_target == info_of(plan).fpr_target);
	expect_ok(nidus_merge_many((const nidus_filter *const *)parts, PARTS, NIDUS_MERGE_COPIES,
	                           &all));
	expect_ok(nidus_verify(all, NULL));
	expect_equal(info_of(all).count, first);
	for (uint64_t key = 0; key < first; key++)
		expect(nidus_contains_u64(all, key));
	expect_rate(all);
	for (unsigned i = 0; i < PARTS; i++)
		nidus_free(parts[i]);
	nidus_free(all);
	nidus_free(plan);
}

static void parts_built_like_one_filter_merge_however_many_keys_they_have(void **state)
{
	bool grows = false;
	(void)state;
	each_layout(10, 10, build_parts, &grows);
	grows = true;
	each_layout(10, 10, build_parts, &grows);
}

/* It would take minutes to put them into lists. */
static void far_too_many_keys_for_a_growing_filter_are_refused_at_once(void **state)
{
	(void)state;
	size_t n = 300000;
	uint64_t *keys = some_keys(n);
	nidus_options options = filter_options(1, 0.01, SEED);
	nidus_filter *filter;
	options.max_capacity = n / 2;
	expect_status(nidus_build_u64(&options, keys, n, 1, &filter), NIDUS_FULL);
	expect(filter == NULL);
	for (size_t i = 0; i < n; i++)
		keys[i] = i % 100; /* copies are counted: they are not too many */
	options.features = NIDUS_MULTISET;
	expect_ok(nidus_build_u64(&options, keys, n, 1, &filter));
	expect_equal(info_of(filter).count, n);
	nidus_free(filter);
	free(keys);
}

/* Copies beyond the few that have places need none: the rate does not rise. */
static void copies_do_not_make_a_part_larger_than_planned(void **state)
{
	(void)state;
	enum { KEYS = 500, COPIES = 100 };
	uint64_t *hashes = check_alloc(KEYS * COPIES * sizeof *hashes);
	nidus_options options = filter_options(20 * KEYS, 0.001, SEED);
	nidus_filter *plan, *filter;
	expect_ok(nidus_create(&options, &plan));
	for (uint64_t i = 0; i < KEYS * COPIES; i++)
		hashes[i] = nidus_hash_u64(plan, i % KEYS);
	expect_ok(nidus_build_like(plan, hashes, NULL, KEYS * COPIES, true, 1, NULL, &filter));
	expect_equal(info_of(filter).count, KEYS * COPIES);
	expect_equal(info_of(filter).max_capacity, info_of(plan).max_capacity);
	expect(info_of(filter).fpr_target == info_of(plan).fpr_target);
	nidus_free(filter);
	nidus_free(plan);
	free(hashes);
}

/* Copies that have places count as keys do: nidus_grow_relaxed would not make so much room either. */
static void a_part_whose_rate_would_be_too_high_is_refused(void **state)
{
	(void)state;
	enum { KEYS = 40, COPIES = 8 };
	uint64_t hashes[KEYS * COPIES];
	nidus_options options = filter_options(9, 1.0 / 16, SEED);
	nidus_filter *plan, *filter;
	options.family = NIDUS_CUCKOO;
	options.slots = 8;
	expect_ok(nidus_create(&options, &plan));
	for (uint64_t i = 0; i < KEYS * COPIES; i++)
		hashes[i] = nidus_hash_u64(plan, i % KEYS);
	expect_status(nidus_build_like(plan, hashes, NULL, KEYS * COPIES, true, 1, NULL, &filter),
	              NIDUS_E_RANGE);
	expect(filter == NULL);
	expect_status(nidus_grow_relaxed(plan, KEYS * COPIES), NIDUS_E_RANGE);
	expect_ok(nidus_build_like(plan, hashes, NULL, KEYS * COPIES, false, 1, NULL, &filter));
	expect_equal(info_of(filter).count, KEYS);
	expect(info_of(filter).fpr_target <= 0.5);
	nidus_free(filter);
	nidus_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
		cmocka_unit_test(the_order_of_keys_does_not_matter),
		cmocka_unit_test(hashes_and_bytes_build_as_numbers_do),
		cmocka_unit_test(hashes_need_their_seed),
		cmocka_unit_test(builds_can_be_stopped_at_any_call_of_progress),
		cmocka_unit_test(a_watched_build_may_build_another_filter_meanwhile),
		cmocka_unit_test(equal_keys_are_stored_once_or_all),
		cmocka_unit_test(one_key_a_hundred_thousand_times_is_one_key),
		cmocka_unit_test(too_many_keys_give_the_same_error_for_any_number_of_threads),
		cmocka_unit_test(a_build_is_refused_early_only_if_it_would_be_in_the_end),
		cmocka_unit_test(threads_that_cannot_be_had_are_done_without),
		cmocka_unit_test(signals_are_left_to_the_threads_of_the_program),
		cmocka_unit_test(a_build_without_memory_keeps_nothing),
		cmocka_unit_test(a_build_takes_the_memory_that_the_header_states),
		cmocka_unit_test(filters_that_grow_are_built_beyond_their_capacity),
		cmocka_unit_test(parts_built_like_one_filter_merge_however_many_keys_they_have),
		cmocka_unit_test(far_too_many_keys_for_a_growing_filter_are_refused_at_once),
		cmocka_unit_test(copies_do_not_make_a_part_larger_than_planned),
		cmocka_unit_test(a_part_whose_rate_would_be_too_high_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * gauge: one thread at work on one filter.
 */
#include "gauge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench_keys.h"
#include "machine.h"

#define BATCH 4096

nidus_options gauge_options(nidus_family family, unsigned slots, uint64_t capacity, double fpr)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = family;
	options.slots = slots;
	options.capacity = capacity;
	options.fpr = fpr;
	options.seed = 1;
	return options;
}

_Noreturn void gauge_fail(const char *what)
{
	fprintf(stderr, "bench_paper: %s: %s\n", what, nidus_reason());
	exit(1);
}

void *gauge_take(size_t n, size_t size)
{
	void *memory = calloc(n, size);
	if (memory == NULL) {
		fprintf(stderr, "bench_paper: no memory\n");
		exit(5);
	}
	return memory;
}

nidus_filter *gauge_make(const nidus_options *options)
{
	nidus_filter *filter;
	if (nidus_create(options, &filter) != NIDUS_OK)
		gauge_fail("no filter");
	return filter;
}

nidus_info gauge_look(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	if (nidus_get_info(filter, &info) != NIDUS_OK)
		gauge_fail("no figures of a filter");
	return info;
}

nidus_filter *gauge_full(const nidus_options *options)
{
	nidus_filter *filter = gauge_make(options);
	uint64_t capacity = gauge_look(filter).capacity;
	if (gauge_insert(filter, 0, capacity, GAUGE_BATCH).keys < capacity)
		gauge_fail("a key within the capacity was refused");
	return filter;
}

/* ---------------------------------------------------------------------- speeds -- */

double gauge_rate(struct gauge_speed speed)
{
	return speed.keys == 0 ? NAN : (double)speed.keys / speed.seconds / 1e6;
}

/* A batch of keys at work; `found` of lookups, `done` of changes. */
struct batch {
	size_t n, done;
	uint64_t key[BATCH], hash[BATCH];
	uint8_t yes[BATCH];
};

static struct batch at_work; /* one thread only */

static void insert_batch(nidus_filter *filter, struct batch *batch)
{
	nidus_hash_u64_batch(filter, batch->key, batch->n, batch->hash);
	(void)nidus_insert_batch(filter, batch->hash, batch->n, &batch->done);
}

static void insert_singly(nidus_filter *filter, struct batch *batch)
{
	size_t i = 0;
	while (i < batch->n && nidus_insert_u64(filter, batch->key[i]) == NIDUS_OK)
		i++;
	batch->done = i;
}

static void remove_batch(nidus_filter *filter, struct batch *batch)
{
	nidus_hash_u64_batch(filter, batch->key, batch->n, batch->hash);
	(void)nidus_remove_batch(filter, batch->hash, batch->n, &batch->done);
}

static void remove_singly(nidus_filter *filter, struct batch *batch)
{
	size_t i = 0;
	while (i < batch->n && nidus_remove_u64(filter, batch->key[i]) == NIDUS_OK)
		i++;
	batch->done = i;
}

/* Works on keys `from` up to `to`, batch by batch, until one fails. */
static struct gauge_speed change(nidus_filter *filter, uint64_t from, uint64_t to,
                                 void (*work)(nidus_filter *, struct batch *))
{
	struct gauge_speed speed = { 0, 0 };
	struct batch *batch = &at_work;
	do {
		uint64_t left = to - from - speed.keys;
		batch->n = left < BATCH ? (size_t)left : BATCH;
		keys_fill(KEYS_INSERTED + from + speed.keys, batch->key, batch->n);
		double start = machine_worked();
		work(filter, batch);
		speed.seconds += machine_worked() - start;
		speed.keys += batch->done;
	} while (batch->done == BATCH);
	return speed;
}

struct gauge_speed gauge_insert(nidus_filter *filter, uint64_t from, uint64_t to,
                                enum gauge_call call)
{
	return change(filter, from, to, call == GAUGE_BATCH ? insert_batch : insert_singly);
}

uint64_t gauge_insert_new(nidus_filter *filter, uint64_t n)
{
	struct batch *batch = &at_work;
	uint64_t fresh = 0;
	for (uint64_t done = 0; done < n; done += batch->done) {
		batch->n = n - done < BATCH ? (size_t)(n - done) : BATCH;
		keys_fill(KEYS_INSERTED + done, batch->key, batch->n);
		nidus_hash_u64_batch(filter, batch->key, batch->n, batch->hash);
		nidus_status status = nidus_insert_new_batch(filter, batch->hash, batch->n,
		                                             batch->yes, &batch->done);
		for (size_t i = 0; i < batch->done; i++)
			fresh += batch->yes[i];
		if (status != NIDUS_OK)
			break;
	}
	return fresh;
}

struct gauge_speed gauge_remove(nidus_filter *filter, uint64_t from, uint64_t to,
                                enum gauge_call call)
{
	struct gauge_speed speed =
		change(filter, from, to, call == GAUGE_BATCH ? remove_batch : remove_singly);
	if (speed.keys < to - from)
		gauge_fail("a key that was put in could not be removed");
	return speed;
}

/* Keys to look up: `hits` of them from the order of those present. Tells how many. */
static size_t mixed_keys(struct key_order *order, double hits, uint64_t done, struct batch *batch)
{
	size_t present = 0;
	for (size_t i = 0; i < batch->n; i++) {
		uint64_t chance = keys_at(KEYS_ABSENT * 2 + done + i) >> 11;
		bool hit = (double)chance < hits * 0x1p53;
		if (hit)
			key_order_fill(order, &batch->key[i], 1);
		else
			batch->key[i] = keys_at(KEYS_ABSENT + done + i);
		present += hit;
	}
	return present;
}

static size_t lookup_batch(const nidus_filter *filter, struct batch *batch)
{
	size_t found = 0;
	nidus_hash_u64_batch(filter, batch->key, batch->n, batch->hash);
	nidus_contains_batch(filter, batch->hash, batch->n, batch->yes);
	for (size_t i = 0; i < batch->n; i++)
		found += batch->yes[i];
	return found;
}

static size_t lookup_singly(const nidus_filter *filter, struct batch *batch)
{
	size_t found = 0;
	for (size_t i = 0; i < batch->n; i++)
		found += nidus_contains_u64(filter, batch->key[i]);
	return found;
}

struct gauge_speed gauge_lookup(const nidus_filter *filter, uint64_t n, double hits,
                                uint64_t lookups, enum gauge_call call)
{
	struct gauge_speed speed = { 0, 0 };
	struct key_order order = key_order_of(n);
	struct batch *batch = &at_work;
	for (; speed.keys < lookups; speed.keys += batch->n) {
		batch->n = lookups - speed.keys < BATCH ? (size_t)(lookups - speed.keys) : BATCH;
		size_t present = mixed_keys(&order, hits, speed.keys, batch);
		double start = machine_worked();
		size_t found = (call == GAUGE_BATCH ? lookup_batch : lookup_singly)(filter, batch);
		speed.seconds += machine_worked() - start;
		if (found < present)
			gauge_fail("a key that was put in was not found");
	}
	return speed;
}

struct gauge_speed gauge_merge(const nidus_options *options)
{
	nidus_filter *both[2], *merged;
	uint64_t keys = options->capacity;
	for (unsigned i = 0; i < 2; i++) {
		both[i] = gauge_make(options);
		if (gauge_insert(both[i], i * keys, (i + 1) * keys, GAUGE_BATCH).keys < keys)
			gauge_fail("a key within the capacity was refused");
	}
	machine_warm(4 * gauge_look(both[0]).bytes);
	double start = machine_worked();
	if (nidus_merge(both[0], both[1], &merged) != NIDUS_OK)
		gauge_fail("no merge");
	struct gauge_speed speed = { 2 * keys, machine_worked() - start };
	nidus_free(merged);
	nidus_free(both[0]);
	nidus_free(both[1]);
	return speed;
}

/* ---------------------------------------------------------------- load by load -- */

static double places(const nidus_info *info)
{
	return (double)(info->slots > 0 ? info->total_slots : info->capacity);
}

double gauge_efficiency(const nidus_info *info)
{
	return (double)info->count * log2(1 / info->fpr_now) / (8 * (double)info->bytes);
}

static void look_at_step(nidus_filter *filter, uint64_t lookups, enum gauge_call call,
                         struct gauge_step *step)
{
	nidus_info info = gauge_look(filter);
	step->load = (double)info.count / places(&info);
	step->efficiency = gauge_efficiency(&info);
	step->bits = 8 * (double)info.bytes / (double)info.count;
	step->present = gauge_rate(gauge_lookup(filter, info.count, 1, lookups, call));
	step->mixed = gauge_rate(gauge_lookup(filter, info.count, 0.5, lookups, call));
	step->absent = gauge_rate(gauge_lookup(filter, info.count, 0, lookups, call));
	step->remove = NAN;
}

unsigned gauge_sweep(const nidus_options *options, const double *loads, unsigned n,
                     uint64_t lookups, enum gauge_call call, struct gauge_step *steps)
{
	nidus_filter *filter = gauge_make(options);
	nidus_info info = gauge_look(filter);
	uint64_t count[GAUGE_STEPS + 1] = { 0 };
	unsigned made = 0;
	double seconds = 0;
	for (bool full = false; made < n && !full; made++) {
		uint64_t to = (uint64_t)(loads[made] * places(&info));
		struct gauge_speed speed = gauge_insert(filter, count[made], to, call);
		full = speed.keys < to - count[made];
		count[made + 1] = count[made] + speed.keys;
		seconds += speed.seconds;
		steps[made].insert = gauge_rate(speed);
		steps[made].nanoseconds = 1e9 * seconds / (double)count[made + 1];
		look_at_step(filter, lookups, call, &steps[made]);
	}
	for (unsigned i = made; i-- > 0 && (info.features & NIDUS_DELETE);)
		steps[i].remove = gauge_rate(gauge_remove(filter, count[i], count[i + 1], call));
	nidus_free(filter);
	return made;
}

/* ---------------------------------------------------------------------- chance -- */

double gauge_foreign(const nidus_filter *filter, uint64_t trials)
{
	struct batch *batch = &at_work;
	uint64_t found = 0;
	for (uint64_t done = 0; done < trials; done += batch->n) {
		batch->n = trials - done < BATCH ? (size_t)(trials - done) : BATCH;
		keys_fill(KEYS_ABSENT + done, batch->key, batch->n);
		found += lookup_batch(filter, batch);
	}
	return (double)found / (double)trials;
}

double gauge_load_at_full(nidus_filter *filter)
{
	nidus_info info = gauge_look(filter);
	uint64_t in = gauge_insert(filter, 0, UINT64_C(1) << 40, GAUGE_BATCH).keys;
	nidus_free(filter);
	return (double)in / (double)info.total_slots;
}

double gauge_churn(nidus_filter *filter, uint64_t n, double most)
{
	double slots = (double)gauge_look(filter).total_slots;
	uint64_t turns = (uint64_t)(most * slots), next = n, turn = 0;
	uint64_t *key = gauge_take((size_t)n, sizeof *key);
	for (uint64_t i = 0; i < n; i++)
		key[i] = keys_at(KEYS_INSERTED + i);
	for (bool full = false; turn < turns && !full; turn++) {
		uint64_t *victim = &key[keys_at(KEYS_BUILT + turn) % n];
		if (nidus_remove_u64(filter, *victim) != NIDUS_OK)
			gauge_fail("a key that was put in could not be removed");
		*victim = keys_at(KEYS_INSERTED + next++);
		full = nidus_insert_u64(filter, *victim) != NIDUS_OK;
	}
	free(key);
	return (double)turn / slots;
}

/* --------------------------------------------------------------------- latency -- */

#define LATENCY_MOST (1u << 20)

static uint32_t *times_room(void)
{
	static uint32_t *times;
	if (times == NULL)
		times = gauge_take(LATENCY_MOST, sizeof *times);
	return times;
}

static uint64_t nanoseconds_now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* What two readings of the clock with nothing between them differ by. */
static double clock_time(void)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < 1000; i++) {
		uint64_t start = nanoseconds_now(), took = nanoseconds_now() - start;
		least = took < least ? took : least;
	}
	return (double)least;
}

static struct gauge_latency quantiles(uint32_t *times, size_t n)
{
	double off = clock_time();
	if (n == 0)
		return (struct gauge_latency){ NAN, NAN };
	qsort(times, n, sizeof *times, ascending);
	uint32_t middle = times[n / 2], late = times[n - 1 - n / 1000];
	return (struct gauge_latency){ fmax(middle - off, 0), fmax(late - off, 0) };
}

static uint32_t short_time(uint64_t time)
{
	return time < UINT32_MAX ? (uint32_t)time : UINT32_MAX;
}

struct gauge_latency gauge_insert_latency(nidus_filter *filter, uint64_t from, uint64_t to)
{
	uint32_t *times = times_room();
	size_t n = 0;
	for (uint64_t i = from; i < to; i++) {
		uint64_t key = keys_at(KEYS_INSERTED + i), start = nanoseconds_now();
		if (nidus_insert_u64(filter, key) != NIDUS_OK)
			break;
		uint64_t took = nanoseconds_now() - start;
		if (to - i <= LATENCY_MOST)
			times[n++] = short_time(took);
	}
	return quantiles(times, n);
}

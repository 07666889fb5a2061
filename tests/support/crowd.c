/* SPDX-License-Identifier: MIT
 *
 * crowd: a model per thread. A thread knows exactly which of its keys are in, so
 * every answer about them has only one right value but for twins.
 */
#include "support/crowd.h"

#include "support/check.h"

#include <pthread.h>
#include <stdatomic.h>

#define BATCH 48

struct crowd {
	nidus_filter *filter;
	const struct crowd_plan *plan;
	bool removes;
	atomic_bool stop;
	atomic_uint_fast64_t operations, misses, wrong, refused, snapshot_faults;
};

struct worker {
	struct crowd *crowd;
	unsigned number;
	uint64_t *hashes; /* in the filter */
	uint64_t held, next;
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xe9846af9b1a615d);
	x ^= x >> 32;
	x *= UINT64_C(0xe9846af9b1a615d);
	return x ^ x >> 28;
}

static uint64_t new_hash(struct worker *me)
{
	return nidus_hash_u64(me->crowd->filter, (uint64_t)(me->number + 1) << 40 | me->next++);
}

static uint64_t fixed_hash(const struct crowd *crowd, uint64_t i)
{
	return nidus_hash_u64(crowd->filter, UINT64_C(1) << 60 | i);
}

static void insert_one(struct worker *me)
{
	struct crowd *crowd = me->crowd;
	uint64_t hash = new_hash(me);
	bool only_new = me->next % 8 == 0;
	nidus_status status = only_new ? nidus_insert_new_hash(crowd->filter, hash)
	                               : nidus_insert_hash(crowd->filter, hash);
	crowd->operations++;
	if (status == NIDUS_OK)
		me->hashes[me->held++] = hash;
	else if (status == NIDUS_FULL || status == NIDUS_COPIES)
		crowd->refused++;
	else
		crowd->wrong += !(only_new && status == NIDUS_PRESENT);
}

static void insert_some(struct worker *me, uint64_t room)
{
	struct crowd *crowd = me->crowd;
	size_t n = room < BATCH ? (size_t)room : BATCH, done;
	uint64_t *hashes = me->hashes + me->held;
	for (size_t i = 0; i < n; i++)
		hashes[i] = new_hash(me);
	nidus_status status = nidus_insert_batch(crowd->filter, hashes, n, &done);
	me->held += done;
	crowd->operations += done;
	crowd->refused += status == NIDUS_FULL || status == NIDUS_COPIES;
	crowd->wrong += status != NIDUS_OK && status != NIDUS_FULL && status != NIDUS_COPIES;
}

static void look_for_all(struct worker *me)
{
	struct crowd *crowd = me->crowd;
	uint8_t yes[BATCH];
	for (uint64_t from = 0; from < me->held; from += BATCH) {
		size_t n = me->held - from < BATCH ? (size_t)(me->held - from) : BATCH;
		nidus_contains_batch(crowd->filter, me->hashes + from, n, yes);
		for (size_t i = 0; i < n; i++)
			crowd->misses += !yes[i];
	}
	for (uint64_t i = me->next % 4; i < me->held; i += 4) {
		crowd->misses += !nidus_contains_hash(crowd->filter, me->hashes[i]);
		crowd->misses += nidus_count_key_hash(crowd->filter, me->hashes[i]) == 0;
	}
	crowd->operations += me->held + me->held / 2;
}

static void remove_half(struct worker *me)
{
	struct crowd *crowd = me->crowd;
	uint64_t keep = me->held / 2;
	while (me->held > keep + BATCH) {
		uint64_t at = mix(me->next++) % me->held, hash = me->hashes[at];
		crowd->misses += nidus_remove_hash(crowd->filter, hash) != NIDUS_OK;
		me->hashes[at] = me->hashes[--me->held];
		crowd->operations++;
	}
	size_t out = (size_t)(me->held - keep), done;
	crowd->misses +=
		nidus_remove_batch(crowd->filter, me->hashes + keep, out, &done) != NIDUS_OK;
	crowd->operations += done;
	me->held = keep;
}

static uint64_t share_of(const struct crowd_plan *plan, unsigned round)
{
	if (plan->rounds < 2 || plan->last_share <= plan->share)
		return plan->share;
	return plan->share + (plan->last_share - plan->share) * round / (plan->rounds - 1);
}

static void *work(void *context)
{
	struct worker *me = context;
	const struct crowd_plan *plan = me->crowd->plan;
	for (unsigned round = 0; round < plan->rounds; round++) {
		uint64_t share = share_of(plan, round);
		for (uint64_t tries = 0; me->held < share && tries < 2 * share; tries++) {
			if (tries % 2 == 0)
				insert_one(me);
			else
				insert_some(me, share - me->held);
		}
		look_for_all(me);
		if (me->crowd->removes && round + 1 < plan->rounds)
			remove_half(me);
	}
	return NULL;
}

static void *watch(void *context)
{
	struct crowd *crowd = context;
	uint64_t at = 0;
	nidus_probe probes[BATCH] = { 0 };
	for (size_t i = 0; i < BATCH; i++)
		nidus_prepare_hash(crowd->filter, fixed_hash(crowd, i % crowd->plan->fixed), &probes[i]);
	while (!atomic_load(&crowd->stop)) {
		uint64_t hashes[BATCH];
		uint8_t yes[BATCH];
		for (size_t i = 0; i < BATCH; i++)
			hashes[i] = fixed_hash(crowd, at++ % crowd->plan->fixed);
		nidus_contains_batch(crowd->filter, hashes, BATCH, yes);
		for (size_t i = 0; i < BATCH; i++)
			crowd->misses += !yes[i];
		crowd->misses += !nidus_contains_hash(crowd->filter, hashes[0]);
		for (size_t i = 0; i < BATCH; i++) { /* others changed the filter meanwhile */
			crowd->misses += !nidus_ask(crowd->filter, &probes[i]);
			nidus_prepare_hash(crowd->filter, hashes[i], &probes[i]);
		}
		crowd->operations += 2 * BATCH + 1;
	}
	return NULL;
}

/* Whether a copy holds the fixed keys and all its invariants. */
static bool copy_is_whole(const struct crowd *crowd, nidus_filter *copy)
{
	bool whole = nidus_verify(copy, NULL) == NIDUS_OK;
	for (uint64_t i = 0; i < crowd->plan->fixed; i++)
		whole &= nidus_contains_hash(copy, fixed_hash(crowd, i));
	nidus_free(copy);
	return whole;
}

static void save_and_load(struct crowd *crowd)
{
	size_t size = nidus_saved_size(crowd->filter), written;
	unsigned char *buffer = check_alloc(size + 1);
	nidus_filter *copy = NULL;
	nidus_status status = nidus_save_buffer(crowd->filter, buffer, size, &written);
	if (status == NIDUS_OK)
		crowd->snapshot_faults +=
			nidus_load_buffer(buffer, written, NULL, &copy) != NIDUS_OK ||
			!copy_is_whole(crowd, copy);
	else /* it has grown between the two calls */
		crowd->snapshot_faults += status != NIDUS_E_BUFFER;
	free(buffer);
}

static void *take_snapshots(void *context)
{
	struct crowd *crowd = context;
	while (!atomic_load(&crowd->stop)) {
		nidus_filter *copy;
		nidus_info info = NIDUS_INFO_INIT;
		crowd->snapshot_faults += nidus_get_info(crowd->filter, &info) != NIDUS_OK ||
		                          info.count < crowd->plan->fixed;
		crowd->snapshot_faults += nidus_verify(crowd->filter, NULL) != NIDUS_OK;
		crowd->snapshot_faults += nidus_clone(crowd->filter, &copy) != NIDUS_OK ||
		                          !copy_is_whole(crowd, copy);
		save_and_load(crowd);
		nidus_cursor cursor = { 0 };
		nidus_entry entry;
		for (unsigned i = 0; i < 100 && nidus_next(crowd->filter, &cursor, &entry); i++)
			continue;
	}
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), void *context)
{
	expect_equal(pthread_create(thread, NULL, run, context), 0);
}

struct crowd_result crowd_run(nidus_filter *filter, const struct crowd_plan *plan)
{
	struct crowd crowd = { .filter = filter, .plan = plan };
	nidus_info info = NIDUS_INFO_INIT;
	expect_ok(nidus_get_info(filter, &info));
	crowd.removes = info.features & NIDUS_DELETE;
	for (uint64_t i = 0; i < plan->fixed; i++)
		expect_ok(nidus_insert_hash(filter, fixed_hash(&crowd, i)));
	struct worker *workers = check_alloc(plan->workers * sizeof *workers);
	pthread_t *threads = check_alloc(plan->workers * sizeof *threads), watcher, whole;
	uint64_t most = plan->share > plan->last_share ? plan->share : plan->last_share;
	for (unsigned i = 0; i < plan->workers; i++) {
		workers[i] = (struct worker){ .crowd = &crowd, .number = i };
		workers[i].hashes = check_alloc((most + BATCH) * sizeof(uint64_t));
		start(&threads[i], work, &workers[i]);
	}
	if (plan->fixed > 0)
		start(&watcher, watch, &crowd);
	if (plan->whole)
		start(&whole, take_snapshots, &crowd);
	struct crowd_result result = { .held = plan->fixed };
	for (unsigned i = 0; i < plan->workers; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&crowd.stop, true);
	if (plan->fixed > 0)
		pthread_join(watcher, NULL);
	if (plan->whole)
		pthread_join(whole, NULL);
	for (unsigned i = 0; i < plan->workers; i++) {
		look_for_all(&workers[i]);
		result.held += workers[i].held;
		free(workers[i].hashes);
	}
	free(workers);
	free(threads);
	result.operations = crowd.operations;
	result.misses = crowd.misses;
	result.wrong = crowd.wrong;
	result.refused = crowd.refused;
	result.snapshot_faults = crowd.snapshot_faults;
	return result;
}

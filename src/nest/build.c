/* SPDX-License-Identifier: MIT
 *
 * nest_build: chunk after chunk, each while it is in the cache.
 *
 * Ascending hashes are ascending chunks, so a chunk's hashes lie together. Every
 * thread has a run of neighbouring chunks and a nest of its own, which shares
 * table and chunk records with the others but not the sums over all chunks.
 *
 * Within a chunk the hashes go in by rounds of every ROUNDS-th: a round walks
 * through the chunk once, and load grows everywhere alike. In plain ascending
 * order it grows to the full behind the walk while the rest is empty, and a
 * fifth to a half more slots are looked at to make room.
 *
 * A chunk that is larger than the cache takes them in plain order all the same, as a batch:
 * there every second group is a miss, and rounds would read the hashes and the first groups
 * from memory again and again.
 */
#include "nest/build.h"

#include "base/atomic.h"
#include "base/reason.h"
#include "base/thread.h"
#include "base/watch.h"

#define ROUNDS 8

/* What became of some chunks. */
struct sum {
	uint64_t stashed, surplus;
	struct nest_effort effort;
};

struct building {
	const struct nest *nest;
	uint64_t first, last;            /* the chunks to build, up to `last` */
	const uint64_t *hashes, *values; /* values: NULL if there are none */
	size_t n;
	unsigned threads;
	uint64_t *built;           /* used, of all chunks that are finished */
	nidus_allocator allocator; /* for the stashes, one thread at a time */
	struct sum sum;
	struct outcome outcome;
};

/* The first hash that belongs to chunk `chunk` or a later one. */
static size_t chunk_start(const struct building *building, uint64_t chunk)
{
	size_t low = 0, high = building->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (multiply_high(building->hashes[middle], building->nest->layout->chunks) < chunk)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static nidus_status fill_chunk(struct nest *nest, const struct body_ops *ops,
                               const uint64_t *hashes, const uint64_t *values, size_t n)
{
	nidus_status status = NIDUS_OK;
	if (nest->remote)
		return watch_insert_batch(ops, nest, hashes, values, n);
	for (size_t round = 0; round < ROUNDS && round < n && status == NIDUS_OK; round++)
		status = ops->insert_near(nest, hashes + round, values_from(values, round),
		                          n - round, ROUNDS);
	return status;
}

/* Adds what became of a thread's chunks. */
static void sum_up(struct sum *sum, const struct nest *share)
{
	counter_add(&sum->stashed, share->stashed);
	counter_add(&sum->surplus, share->surplus);
	counter_add(&sum->effort.relocations, share->effort.relocations);
	counter_add(&sum->effort.moves, share->effort.moves);
	counter_add(&sum->effort.checks, share->effort.checks);
}

/* A thread's run of chunks, up to the first that fails. */
static void fill_run(void *context, unsigned number)
{
	struct building *building = context;
	uint64_t chunks = building->last - building->first;
	uint64_t first = building->first + chunks * number / building->threads;
	uint64_t last = building->first + chunks * (number + 1) / building->threads;
	struct nest nest = *building->nest;
	nest.shared = NULL; /* no other thread can see it yet: no locks */
	const struct body_ops *ops = nest_ops(&nest);
	nidus_status status = NIDUS_OK;
	nest.allocator = &building->allocator;
	nest.built = building->built;
	nest.remote = nest.layout->stride > NEST_REMOTE_FROM; /* or a chunk is in the cache */
	nest.far = nest.layout->stride > NEST_FAR_FROM;
	nest.effort = (struct nest_effort){ 0 };
	nest.stashed = nest.surplus = 0; /* of these chunks */
	size_t start = chunk_start(building, first);
	for (uint64_t chunk = first; chunk < last && status == NIDUS_OK; chunk++) {
		size_t end = chunk_start(building, chunk + 1);
		if (end > start) /* without any keys there is no array either */
			status = fill_chunk(&nest, ops, building->hashes + start,
			                    values_from(building->values, start), end - start);
		counter_add(building->built, nest.chunk[chunk].used);
		if (watch_step(nest.remote ? 0 : end - start))
			break;
		start = end;
	}
	sum_up(&building->sum, &nest);
	outcome_keep(&building->outcome, number, status);
}

static nidus_status refuse(void)
{
	return fail(NIDUS_FULL, "no place for a key was found; the filter is full");
}

nidus_status nest_build_check(const struct nest *nest, uint64_t built)
{
	bool full = false;
	for (uint64_t i = 0; i < nest->layout->chunks && built > nest->capacity && !full; i++)
		full = nest->chunk[i].stash.nodes > nest->layout->stash_limit &&
		       nest->chunk[i].used > nest->capacity / nest->layout->chunks;
	return full ? refuse() : NIDUS_OK;
}

/* ----------------------------------------------------- builds that cannot succeed -- */

/*
 * How many different entries these hashes of a chunk make, at least: each sets one bit of the chunk, whose
 * slots are empty before and after, and two may set the same one.
 */
static uint64_t entries_at_least(const struct nest *nest, uint64_t chunk, const uint64_t *hashes,
                                 size_t n)
{
	unsigned char *marks = nest->bits + chunk * nest->layout->stride;
	uint64_t marked = 0;
	for (size_t i = 0; i < n; i++) {
		struct nest_key key = nest_locate(nest, nest->layout->kind, hashes[i]);
		nidus_entry entry = nest_identity(nest, nest->layout->kind, &key);
		uint64_t mixed = (entry.home * UINT64_C(0x9e3779b97f4a7c15) + entry.fingerprint) *
		                 UINT64_C(0xd6e8feb86659fd93);
		uint64_t bit = multiply_high(mixed, nest->layout->stride * 8);
		marked += (marks[bit / 8] >> bit % 8 & 1) == 0;
		marks[bit / 8] |= (unsigned char)(1 << bit % 8);
	}
	memset(marks, 0, nest->layout->stride);
	return marked;
}

/*
 * Whether nest_build_check would refuse in any case, which thousands of searches for room need not
 * find out: some chunk has more different entries than its slots and its stash may hold, and all
 * chunks have more than the capacity.
 */
static bool cannot_fit(const struct nest *nest, const uint64_t *hashes, size_t n)
{
	const struct building all = { .nest = nest, .hashes = hashes, .n = n };
	uint64_t entries = 0, most = nest_chunk_slots(nest->layout) + nest->layout->stash_limit;
	bool crowded = false;
	if (n <= nest->capacity || nest->layout->stash_limit == 0)
		return false;
	size_t start = 0;
	for (uint64_t chunk = 0; chunk < nest->layout->chunks; chunk++) {
		size_t end = chunk_start(&all, chunk + 1);
		uint64_t here = entries_at_least(nest, chunk, hashes + start, end - start);
		crowded |= here > most && here > nest->capacity / nest->layout->chunks;
		entries += here;
		if (crowded && entries > nest->capacity)
			return true;
		start = end;
	}
	return false;
}

nidus_status nest_build_chunks(struct nest *nest, uint64_t first, uint64_t last,
                               const uint64_t *hashes, const uint64_t *values, size_t n,
                               unsigned threads, uint64_t *built)
{
	struct building building = {
		.nest = nest,
		.first = first,
		.last = last,
		.hashes = hashes,
		.values = values,
		.n = n,
		.threads = last - first < threads ? (unsigned)(last - first) : threads,
		.built = built,
		.outcome = OUTCOME_INIT,
	};
	struct memory_turns turns;
	building.allocator = memory_in_turns(nest->allocator, &turns);
	threads_run(building.threads, fill_run, &building);
	nest->stashed += building.sum.stashed;
	nest->surplus += building.sum.surplus;
	nest->effort.relocations += building.sum.effort.relocations;
	nest->effort.moves += building.sum.effort.moves;
	nest->effort.checks += building.sum.effort.checks;
	/* The failure in the lowest chunk counts, whichever thread met it. */
	return outcome_tell(&building.outcome);
}

nidus_status nest_build(struct nest *nest, const uint64_t *hashes, const uint64_t *values, size_t n,
                        unsigned threads)
{
	uint64_t built = 0;
	if (cannot_fit(nest, hashes, n))
		return refuse();
	nidus_status status = nest_build_chunks(nest, 0, nest->layout->chunks, hashes, values, n,
	                                        threads, &built);
	return status == NIDUS_OK ? nest_build_check(nest, built) : status;
}

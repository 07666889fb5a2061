/* SPDX-License-Identifier: MIT
 *
 * gauge: several threads at work on one filter. Each has keys of its own; the clock
 * runs from their common start until the last is done.
 */
#include "gauge.h"

#include <math.h>
#include <stdlib.h>

#include "bench_crew.h"
#include "bench_keys.h"
#include "machine.h"

#define MEMBER_RANGE (UINT64_C(1) << 36)
#define SOME 100 /* keys per call; of the mixed work 30, 40 and 30 */

struct team {
	nidus_filter *filter;
	uint64_t share; /* keys per member */
	enum gauge_work work;
	_Atomic bool failed;
};

static void hashes_of(const struct team *team, unsigned member, uint64_t from, size_t n,
                      uint64_t *hashes)
{
	uint64_t keys[SOME];
	keys_fill(KEYS_INSERTED + member * MEMBER_RANGE + from, keys, n);
	nidus_hash_u64_batch(team->filter, keys, n, hashes);
}

static size_t at_most_some(uint64_t left)
{
	return left < SOME ? (size_t)left : SOME;
}

static bool insert_all(struct team *team, unsigned member)
{
	uint64_t hashes[SOME];
	for (uint64_t at = 0; at < team->share;) {
		size_t n = at_most_some(team->share - at);
		hashes_of(team, member, at, n, hashes);
		if (nidus_insert_batch(team->filter, hashes, n, NULL) != NIDUS_OK)
			return false;
		at += n;
	}
	return true;
}

static bool find(const struct team *team, const uint64_t *hashes, size_t n)
{
	uint8_t yes[SOME];
	bool all = true;
	nidus_contains_batch(team->filter, hashes, n, yes);
	for (size_t i = 0; i < n; i++)
		all &= yes[i];
	return all;
}

static bool find_all(struct team *team, unsigned member)
{
	uint64_t hashes[SOME];
	bool all = true;
	for (uint64_t at = 0; at < team->share;) {
		size_t n = at_most_some(team->share - at);
		hashes_of(team, member, at, n, hashes);
		all &= find(team, hashes, n);
		at += n;
	}
	return all;
}

/* Over a tenth of the keys: the oldest out, others looked up, new ones in. */
static bool mix(struct team *team, unsigned member)
{
	uint64_t hashes[SOME];
	for (uint64_t at = 0; at + 30 <= team->share / 10; at += 30) {
		hashes_of(team, member, at, 30, hashes);
		if (nidus_remove_batch(team->filter, hashes, 30, NULL) != NIDUS_OK)
			return false;
		hashes_of(team, member, team->share / 2 + at, 40, hashes);
		if (!find(team, hashes, 40))
			return false;
		hashes_of(team, member, team->share + at, 30, hashes);
		if (nidus_insert_batch(team->filter, hashes, 30, NULL) != NIDUS_OK)
			return false;
	}
	return true;
}

static bool (*const works[GAUGE_WORKS])(struct team *, unsigned) = { insert_all, find_all, mix };

static void do_work(void *context, unsigned member)
{
	struct team *team = context;
	if (!works[team->work](team, member))
		team->failed = true;
}

static double operations(const struct team *team, unsigned threads)
{
	double keys = (double)team->share * threads;
	return team->work == GAUGE_MIXED ? floor(keys / 300) * 100 : keys;
}

void gauge_threads(const nidus_options *options, unsigned threads, double speed[GAUGE_WORKS])
{
	nidus_options shared = *options;
	shared.features |= NIDUS_CONCURRENT;
	struct team team = { .filter = gauge_make(&shared), .share = options->capacity / threads };
	for (team.work = 0; team.work < GAUGE_WORKS; team.work++) {
		double seconds = crew_run(threads, do_work, &team);
		if (team.failed)
			gauge_fail("threads: a key was refused or not found");
		speed[team.work] = seconds > 0 ? operations(&team, threads) / seconds / 1e6 : NAN;
	}
	nidus_free(team.filter);
}

/* ------------------------------------------------------------- a filter that is only read -- */

struct readers {
	const nidus_filter *filter;
	uint64_t first, share;
	bool present;
	_Atomic bool failed;
};

static void read_share(void *context, unsigned member)
{
	struct readers *readers = context;
	uint64_t keys[1024], hashes[1024], from = readers->first + member * readers->share;
	uint8_t yes[1024];
	for (uint64_t at = 0; at < readers->share; at += 1024) {
		size_t n = readers->share - at < 1024 ? (size_t)(readers->share - at) : 1024,
		       found = 0;
		keys_fill(from + at, keys, n);
		nidus_hash_u64_batch(readers->filter, keys, n, hashes);
		nidus_contains_batch(readers->filter, hashes, n, yes);
		for (size_t i = 0; i < n; i++)
			found += yes[i];
		if (readers->present && found < n)
			readers->failed = true;
	}
}

struct gauge_speed gauge_lookups_by(const nidus_filter *filter, uint64_t n, bool present,
                                    unsigned threads)
{
	struct readers readers = { .filter = filter,
		                   .first = present ? KEYS_INSERTED : KEYS_ABSENT,
		                   .share = n / threads,
		                   .present = present };
	double seconds = crew_run(threads, read_share, &readers);
	if (readers.failed)
		gauge_fail("threads: a key was not found");
	return seconds < 0 ? (struct gauge_speed){ 0, 0 }
	                   : (struct gauge_speed){ readers.share * threads, seconds };
}

struct gauge_speed gauge_build(const nidus_options *options, unsigned threads,
                               nidus_filter **filter)
{
	size_t n = (size_t)options->capacity;
	uint64_t *keys = gauge_take(n, sizeof *keys);
	keys_fill(KEYS_INSERTED, keys, n);
	double start = machine_seconds();
	if (nidus_build_u64(options, keys, n, threads, filter) != NIDUS_OK)
		gauge_fail("no build");
	double seconds = machine_seconds() - start;
	free(keys);
	return (struct gauge_speed){ n, seconds };
}

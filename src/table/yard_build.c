/* SPDX-License-Identifier: MIT
 *
 * yard_build: a run of front buckets for every thread; the backyard, where all of
 * them meet, for one.
 */
#include "table/yard_build.h"

#include "base/reason.h"
#include "base/thread.h"

struct building {
	struct yard *yard;
	const uint64_t *hashes;
	size_t n;
	unsigned threads;
	struct outcome outcomes[THREADS_MOST];
};

static void build_fronts(void *context, unsigned share)
{
	struct building *building = context;
	outcome_keep(&building->outcomes[share],
	             yard_build_fronts(building->yard, building->hashes, building->n, share,
	                               building->threads));
}

nidus_status yard_build(struct yard *yard, const uint64_t *hashes, size_t n, unsigned threads)
{
	if (yard->level > 0) {
		size_t done;
		return yard->ops->body.insert_batch(yard, hashes, n, &done);
	}
	struct building building = { .yard = yard, .hashes = hashes, .n = n, .threads = threads };
	threads_run(threads, build_fronts, &building);
	nidus_status status = outcome_tell(building.outcomes, threads);
	return status == NIDUS_OK ? yard_build_back(yard, hashes, n) : status;
}

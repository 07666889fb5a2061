/* SPDX-License-Identifier: MIT
 *
 * yard_build: front lines by all threads, the backyard by one at a time.
 *
 * What spills goes to the backyard in order: which of its two lines is the emptier
 * depends on all that came before. So the front buckets are cut into parts:
 *
 *     fronts filled by any thread  -->  ready  -->  spilled, in order, by one thread
 *
 * A thread that looks for work goes on with the backyard if its next part is ready and
 * no other thread is at it (the part's lines are still in a cache), and takes the next part's
 * front lines otherwise. A thread that finds neither may leave: the threads that are still at
 * a part will find what comes after it.
 */
#include "yard/build.h"

#include <pthread.h>

#include "base/reason.h"
#include "base/thread.h"
#include "base/watch.h"

#define PART_BUCKETS 4096 /* lines of a part stay in a core's cache */
#define PARTS_MOST 1024

struct building {
	struct yard *yard;
	struct yard lines; /* the same for front lines: its count does not change meanwhile */
	const uint64_t *hashes, *values; /* values: NULL if there are none */
	size_t n;
	unsigned parts;
	pthread_mutex_t turn; /* to read or write what follows */
	unsigned filled;      /* parts whose front lines were taken up, */
	unsigned spilled;     /* and those that are done with */
	bool spilling;        /* somebody is at part `spilled` */
	bool ready[PARTS_MOST];
	struct outcome fronts, back;
};

struct job {
	enum { NOTHING, FRONTS, BACK } what;
	unsigned part;
};

static struct job find_job(struct building *building)
{
	struct job job = { NOTHING, 0 };
	pthread_mutex_lock(&building->turn);
	unsigned spilled = building->spilled;
	if (!building->spilling && spilled < building->parts && building->ready[spilled]) {
		building->spilling = true;
		job = (struct job){ BACK, spilled };
	} else if (building->filled < building->parts) {
		job = (struct job){ FRONTS, building->filled++ };
	}
	pthread_mutex_unlock(&building->turn);
	return job;
}

static void report(struct building *building, struct job job)
{
	pthread_mutex_lock(&building->turn);
	if (job.what == FRONTS) {
		building->ready[job.part] = true;
	} else {
		/* After a failure there is nothing to go on with. */
		building->spilled =
			building->back.status == NIDUS_OK ? job.part + 1 : building->parts;
		building->spilling = false;
	}
	pthread_mutex_unlock(&building->turn);
}

static void build_parts(void *context, unsigned share)
{
	struct building *building = context;
	struct job job;
	while (!watch_stopped() && (job = find_job(building)).what != NOTHING) {
		nidus_status (*build)(struct yard *, const uint64_t *, const uint64_t *, size_t,
		                      unsigned, unsigned) =
			job.what == FRONTS ? yard_build_fronts : yard_build_back;
		struct yard *yard = job.what == FRONTS ? &building->lines : building->yard;
		nidus_status status = build(yard, building->hashes, building->values, building->n,
		                            job.part, building->parts);
		outcome_keep(job.what == FRONTS ? &building->fronts : &building->back, share,
		             status);
		report(building, job);
		watch_step(job.what == FRONTS ? building->n / building->parts : 0);
	}
}

nidus_status yard_build(struct yard *yard, const uint64_t *hashes, const uint64_t *values, size_t n,
                        unsigned threads)
{
	/* In a body of a growing filter front buckets do not ascend. */
	if (yard->parts > 1 || yard->tag_bits > 0)
		return watch_insert_batch(&yard->ops->body, yard, hashes, values, n);
	uint64_t parts = yard->fronts / PART_BUCKETS + 1;
	struct building building = { .yard = yard,
		                     .lines = *yard,
		                     .hashes = hashes,
		                     .values = values,
		                     .n = n,
		                     .parts = parts < PARTS_MOST ? (unsigned)parts : PARTS_MOST,
		                     .turn = PTHREAD_MUTEX_INITIALIZER,
		                     .fronts = OUTCOME_INIT,
		                     .back = OUTCOME_INIT };
	threads_run(threads, build_parts, &building);
	/* The same failure as one thread's that fills all front lines first. */
	nidus_status status = outcome_tell(&building.fronts);
	status = status == NIDUS_OK ? outcome_tell(&building.back) : status;
	if (status != NIDUS_COPIES)
		return status;
	/* A key has more copies than lines hold: one by one, as they are listed. */
	yard_clear(yard);
	return watch_insert_batch(&yard->ops->body, yard, hashes, values, n);
}

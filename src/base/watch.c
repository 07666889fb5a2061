/* SPDX-License-Identifier: MIT
 *
 * watch: one pointer per thread.
 */
#include "base/watch.h"

#include "base/reason.h"

/*
 * Steps between questions. Few, since some are slow: the first that spread keys over a fresh table
 * make the system clear all of it, page by page.
 */
#define ASK_STEPS 512

static _Thread_local struct watch *current;

void watch_begin(struct watch *watch, const nidus_progress *progress, double total)
{
	watch->progress = *progress;
	watch->total = total;
	atomic_init(&watch->done, 0);
	atomic_init(&watch->stopped, false);
	watch->owner = pthread_self();
	watch->asked_at = 0;
	watch->outer = current;
	current = progress->stop != NULL ? watch : NULL;
}

nidus_status watch_end(struct watch *watch, nidus_status status)
{
	current = watch->outer;
	return status;
}

struct watch *watch_of_thread(void)
{
	return current;
}

void watch_lend(struct watch *watch)
{
	current = watch;
}

static void ask(struct watch *watch, uint64_t done)
{
	double share = watch->total > 0 ? (double)done / watch->total : 0;
	watch->asked_at = done;
	if (watch->progress.stop(watch->progress.context, share < 1 ? share : 1))
		atomic_store_explicit(&watch->stopped, true, memory_order_relaxed);
}

static bool is_stopped(struct watch *watch)
{
	return atomic_load_explicit(&watch->stopped, memory_order_relaxed);
}

static bool step(struct watch *watch, uint64_t steps, uint64_t pause)
{
	uint64_t done =
		atomic_fetch_add_explicit(&watch->done, steps, memory_order_relaxed) + steps;
	if (pthread_equal(watch->owner, pthread_self()) && done - watch->asked_at >= pause &&
	    !is_stopped(watch))
		ask(watch, done);
	return is_stopped(watch);
}

bool watch_step(uint64_t steps)
{
	return current != NULL && step(current, steps, ASK_STEPS);
}

bool watch_ask(void)
{
	return current != NULL && step(current, 0, 0);
}

bool watch_stopped(void)
{
	return current != NULL && is_stopped(current);
}

nidus_status watch_status(void)
{
	return watch_stopped() ? fail(NIDUS_STOPPED, "options.progress said stop") : NIDUS_OK;
}

nidus_status watch_insert_batch(const struct body_ops *ops, void *body, const uint64_t *hashes,
                                const uint64_t *values, size_t n)
{
	nidus_status status = NIDUS_OK;
	for (size_t from = 0; from < n && status == NIDUS_OK; from += WATCH_PIECE) {
		size_t some = n - from < WATCH_PIECE ? n - from : WATCH_PIECE, done;
		status = ops->insert_batch(body, hashes + from, values_from(values, from), some,
		                           &done);
		if (status == NIDUS_OK && watch_step(some))
			status = watch_status();
	}
	return status;
}

/* SPDX-License-Identifier: MIT
 *
 * watch: how far a long call is, told to its caller, who may stop it.
 *
 * A watch belongs to the thread that made the call; threads_run lends it to the threads that
 * help. So work at any depth says `watch_step(keys)` every few thousand keys and ends early if
 * that answers true, and nothing has to be handed down:
 *
 *     while (!watch_stopped() && (part = next_part()) < parts) {
 *         sort(part);
 *         watch_step(keys_of(part));
 *     }
 *
 * Only the caller's own thread calls the caller's function: it may need locks, or a language's
 * interpreter, that belong to that thread.
 */
#ifndef NIDUS_BASE_WATCH_H
#define NIDUS_BASE_WATCH_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/ops.h"

/* Batches that are cut to ask in between have pieces of so many keys: a millisecond or so. */
#define WATCH_PIECE ((size_t)1 << 14)

struct watch {
	nidus_progress progress;
	double total; /* steps, expected */
	_Atomic uint64_t done;
	atomic_bool stopped;
	pthread_t owner;
	uint64_t asked_at;   /* the steps done when the owner asked last */
	struct watch *outer; /* of this thread before: the function may make a build of its own */
};

/* Begins to watch this thread's work, of about `total` steps; progress->stop may be NULL. */
void watch_begin(struct watch *watch, const nidus_progress *progress, double total);

/* Ends it, and gives the status back. */
nidus_status watch_end(struct watch *watch, nidus_status status);

/* This thread's watch, or NULL; and what a helping thread does with it. */
struct watch *watch_of_thread(void);
void watch_lend(struct watch *watch);

/* Says that `steps` more are done. True: end early, as watch_stopped. */
bool watch_step(uint64_t steps);

/* Asks at once, whatever was done. True: end early. */
bool watch_ask(void);

/* Whether the caller said stop. */
bool watch_stopped(void);

/*
 * ops->insert_batch in pieces, each a step for every key. Errors: those of insert_batch, STOPPED.
 */
nidus_status watch_insert_batch(const struct body_ops *ops, void *body, const uint64_t *hashes,
                                const uint64_t *values, size_t n);

/* NIDUS_STOPPED with its words if the caller said stop, otherwise OK. */
nidus_status watch_status(void);

#endif

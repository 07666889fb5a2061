/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_PYTHON_GUARD_H
#define NIDUS_PYTHON_GUARD_H

/**
 * @file guard.h  Who uses a filter while the GIL is released.
 *
 * Calls on whole arrays release the GIL, so other Python threads can reach the same filter
 * meanwhile. They wait: readers for a writer, a writer for everybody. The fields change only while
 * both the GIL and the mutex are held. So a thread that holds the GIL can look at them, and if the filter
 * is free can use it without taking it, as long as the GIL is kept.
 */

#include <pthread.h>
#include <stdbool.h>

enum guard_use {
	GUARD_SHARED, /* together with others that share it */
	GUARD_ALONE
};

struct guard {
	pthread_mutex_t mutex;
	pthread_cond_t left;
	unsigned sharing;
	bool taken; /* by one alone */
};

/** False if the system refuses. */
bool guard_make(struct guard *guard);
void guard_destroy(struct guard *guard);

static inline bool guard_is_free(const struct guard *guard, enum guard_use use)
{
	return !guard->taken && (use == GUARD_SHARED || guard->sharing == 0);
}

/** Lets other threads run until the guard is free; it may be taken again on return. */
void guard_wait(struct guard *guard, enum guard_use use);

/** Takes a guard that is free. */
void guard_take(struct guard *guard, enum guard_use use);
void guard_leave(struct guard *guard, enum guard_use use);

#endif

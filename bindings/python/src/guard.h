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
 *
 * A fork leaves a child with one thread and the guards as they were. guard_after_fork makes them
 * usable again.
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
	bool taken;     /* by one alone */
	unsigned forks; /* that this process had when the guard was made or mended */
};

/** Forks that led to this process, since the module was imported. */
extern unsigned guard_forks;

/** Begins to count forks. */
int guard_prepare(void);

/** False if the system refuses. */
bool guard_make(struct guard *guard);
void guard_destroy(struct guard *guard);

static inline bool guard_is_free(const struct guard *guard, enum guard_use use)
{
	return !guard->taken && (use == GUARD_SHARED || guard->sharing == 0);
}

/**
 * Lets other threads run until the guard is free, or for a twentieth of a second; it may be taken
 * again on return. -1 if a signal's handler raised an exception.
 */
int guard_wait(struct guard *guard, enum guard_use use);

/** Takes a guard that is free. */
void guard_take(struct guard *guard, enum guard_use use);
void guard_leave(struct guard *guard, enum guard_use use);

/**
 * Whether this thread itself holds the guard, by guard_hold. It does when a signal's handler uses the
 * filter that the interrupted call works on; to wait would be for ever.
 */
bool guard_is_mine(const struct guard *guard);

/** Notes, for guard_is_mine, what guard_take took; the last one held is let go first. */
void guard_hold(const struct guard *guard);
void guard_let_go(void);

/**
 * Mends a guard whose `forks` are not guard_forks: threads of the parent do not hold it any more.
 * Who of them did is told: by GUARD_ALONE, by GUARD_SHARED, or -1 for nobody.
 */
int guard_after_fork(struct guard *guard);

#endif

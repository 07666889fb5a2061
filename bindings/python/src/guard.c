/* SPDX-License-Identifier: MIT */
/* Guards: a count of those inside, and a condition for those who wait. */

#include "binding.h"

#include <time.h>

#define WAIT_AT_MOST 50000000 /* nanoseconds, before signals are looked for */

unsigned guard_forks;

static void count_fork(void)
{
	guard_forks++;
}

int guard_prepare(void)
{
	static bool counting;

	if (!counting && pthread_atfork(NULL, NULL, count_fork) != 0) {
		PyErr_NoMemory();
		return -1;
	}
	counting = true;
	return 0;
}

static bool make_locks(struct guard *guard)
{
	guard->forks = guard_forks;
	if (pthread_mutex_init(&guard->mutex, NULL) != 0)
		return false;
	if (pthread_cond_init(&guard->left, NULL) == 0)
		return true;
	pthread_mutex_destroy(&guard->mutex);
	return false;
}

bool guard_make(struct guard *guard)
{
	guard->sharing = 0;
	guard->taken = false;
	return make_locks(guard);
}

void guard_destroy(struct guard *guard)
{
	if (guard->forks != guard_forks) /* the locks may be held by threads that are no more */
		return;
	pthread_cond_destroy(&guard->left);
	pthread_mutex_destroy(&guard->mutex);
}

static struct timespec soon(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += WAIT_AT_MOST;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

/* The GIL is never asked for while the mutex is held: those who hold the GIL may wait for the mutex. */
int guard_wait(struct guard *guard, enum guard_use use)
{
	struct timespec until = soon();
	int late = 0;

	PyThreadState *running = PyEval_SaveThread();
	pthread_mutex_lock(&guard->mutex);
	while (!guard_is_free(guard, use) && late == 0)
		late = pthread_cond_timedwait(&guard->left, &guard->mutex, &until);
	pthread_mutex_unlock(&guard->mutex);
	PyEval_RestoreThread(running);
	return PyErr_CheckSignals();
}

void guard_take(struct guard *guard, enum guard_use use)
{
	pthread_mutex_lock(&guard->mutex);
	if (use == GUARD_ALONE)
		guard->taken = true;
	else
		guard->sharing++;
	pthread_mutex_unlock(&guard->mutex);
}

void guard_leave(struct guard *guard, enum guard_use use)
{
	pthread_mutex_lock(&guard->mutex);
	if (use == GUARD_ALONE)
		guard->taken = false;
	else
		guard->sharing--;
	pthread_cond_broadcast(&guard->left);
	pthread_mutex_unlock(&guard->mutex);
}

/* ------------------------------------------------- what this thread holds -- */

#define HELD_MOST 64 /* a call, a handler in it, a handler in that; no more are noted */

static _Thread_local const struct guard *held[HELD_MOST];
static _Thread_local unsigned holding;

static unsigned times_held(const struct guard *guard)
{
	unsigned times = 0;

	for (unsigned i = 0; i < holding && i < HELD_MOST; i++)
		times += held[i] == guard;
	return times;
}

bool guard_is_mine(const struct guard *guard)
{
	return times_held(guard) > 0;
}

void guard_hold(const struct guard *guard)
{
	if (holding < HELD_MOST)
		held[holding] = guard;
	holding++;
}

void guard_let_go(void)
{
	holding--;
}

int guard_after_fork(struct guard *guard)
{
	unsigned mine = times_held(guard);
	int others = -1;

	if (guard->taken && mine == 0)
		others = GUARD_ALONE;
	else if (!guard->taken && guard->sharing > mine)
		others = GUARD_SHARED;
	guard->taken = guard->taken && mine > 0;
	guard->sharing = guard->taken ? 0 : mine;
	/* Nobody else is there who could hold the old locks, and they may be locked. */
	(void)make_locks(guard);
	return others;
}

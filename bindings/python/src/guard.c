/* SPDX-License-Identifier: MIT */
/* Guards: a count of those inside, and a condition for those who wait. */

#include "binding.h"

bool guard_make(struct guard *guard)
{
	guard->sharing = 0;
	guard->taken = false;
	if (pthread_mutex_init(&guard->mutex, NULL) != 0)
		return false;
	if (pthread_cond_init(&guard->left, NULL) == 0)
		return true;
	pthread_mutex_destroy(&guard->mutex);
	return false;
}

void guard_destroy(struct guard *guard)
{
	pthread_cond_destroy(&guard->left);
	pthread_mutex_destroy(&guard->mutex);
}

/* The GIL is never asked for while the mutex is held: those who hold the GIL may wait for the mutex. */
void guard_wait(struct guard *guard, enum guard_use use)
{
	PyThreadState *running = PyEval_SaveThread();
	pthread_mutex_lock(&guard->mutex);
	while (!guard_is_free(guard, use))
		pthread_cond_wait(&guard->left, &guard->mutex);
	pthread_mutex_unlock(&guard->mutex);
	PyEval_RestoreThread(running);
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

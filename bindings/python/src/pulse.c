/* SPDX-License-Identifier: MIT */
/* Pulses: a look at the clock, and now and then at what Python wants. */

#include "pulse.h"

#include <time.h>

#define ASK_EVERY 50000000 /* nanoseconds */

/* A thread that waits for the GIL is sure to get it only if it has waited for a whole switch interval
 * (5 ms unless sys.setswitchinterval says otherwise), and being offered it starts that time anew. */
#define YIELD_EVERY 20000000

static uint64_t now(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_MONOTONIC, &time) != 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void pulse_release(struct pulse *pulse)
{
	pulse->raised = false;
	pulse->next = now() + ASK_EVERY;
	pulse->running = PyEval_SaveThread();
}

int pulse_acquire(struct pulse *pulse)
{
	PyEval_RestoreThread(pulse->running);
	pulse->running = NULL;
	return pulse->raised ? -1 : 0;
}

bool pulse_beat(struct pulse *pulse)
{
	if (pulse->raised || now() < pulse->next)
		return pulse->raised;
	PyEval_RestoreThread(pulse->running);
	pulse->raised = PyErr_CheckSignals() < 0;
	pulse->running = PyEval_SaveThread();
	pulse->next = now() + ASK_EVERY;
	return pulse->raised;
}

bool pulse_stop(void *pulse, double share)
{
	(void)share;
	return pulse_beat(pulse);
}

void pulse_keep(struct pulse *pulse)
{
	*pulse = (struct pulse){ .next = now() + YIELD_EVERY };
}

int pulse_yield(struct pulse *pulse)
{
	if (now() < pulse->next)
		return 0;
	PyEval_RestoreThread(PyEval_SaveThread());
	pulse->next = now() + YIELD_EVERY;
	return PyErr_CheckSignals();
}

/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_PYTHON_PULSE_H
#define NIDUS_PYTHON_PULSE_H

/**
 * @file pulse.h  Long calls that other threads and Ctrl-C can live with.
 *
 * A call that works without the GIL asks Python for signals about 20 times per second; one that
 * works with it (on Python objects) lets other threads run about 200 times per second and asks, too.
 * A signal's handler may be any Python code. It may even use the filter that the call works on: see
 * filter_ready.
 */

#include "binding.h"

struct pulse {
	PyThreadState *running; /* NULL while the GIL is held */
	uint64_t next;          /* when to ask again, in nanoseconds */
	bool raised;            /* a handler raised an exception */
};

/** Begins to work without the GIL. */
void pulse_release(struct pulse *pulse);

/** Takes the GIL back; -1 if a handler raised an exception. */
int pulse_acquire(struct pulse *pulse);

/** To be called every millisecond or so meanwhile. True: an exception is set, so end. */
bool pulse_beat(struct pulse *pulse);

/** pulse_beat for nidus_progress, whose context is the pulse. */
bool pulse_stop(void *pulse, double share);

/** Begins to work with the GIL. */
void pulse_keep(struct pulse *pulse);

/** To be called every hundred objects or so; -1 if a handler raised an exception. */
int pulse_yield(struct pulse *pulse);

#endif

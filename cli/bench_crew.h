/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_CREW_H
#define NIDUS_CLI_BENCH_CREW_H

/** @file bench_crew.h  Several threads that begin the same work at the same moment. */

/** The most threads of a crew. */
#define CREW_MOST 256u

/** What member 0, 1, ... of the crew does. */
typedef void (*crew_work)(void *context, unsigned member);

/**
 * Lets `threads` threads (1 to CREW_MOST) do the work, and returns the seconds
 * from their common start until the last one was done; negative if the system
 * did not give as many threads (nothing was done then). One thread is the
 * caller's own.
 */
double crew_run(unsigned threads, crew_work work, void *context);

#endif

/* SPDX-License-Identifier: MIT
 *
 * thread: one piece of work, cut into shares for several threads.
 */
#ifndef NIDUS_BASE_THREAD_H
#define NIDUS_BASE_THREAD_H

#define THREADS_MOST 64 /* whatever a caller asks for */

/* How many threads a caller's number stands for: 1 to THREADS_MOST. */
unsigned threads_wanted(unsigned threads);

/*
 * Calls work(context, share) once for every share below `shares` (at most
 * THREADS_MOST), each in a thread of its own and one in the caller's, and
 * returns when all are done. If the system gives fewer threads, the caller does the other
 * shares, one after the other.
 */
void threads_run(unsigned shares, void (*work)(void *context, unsigned share), void *context);

#endif

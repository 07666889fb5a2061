/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_THREADS_H
#define NIDUS_CLI_BENCH_THREADS_H

/** @file bench_threads.h  nidus bench threads: what sharing a filter costs, and what it brings. */

#include "bench_speed.h"

/** Returns an exit code; with `bars` EXIT_NOTHING if one was missed. */
int bench_threads(const struct bench_settings *settings);

#endif

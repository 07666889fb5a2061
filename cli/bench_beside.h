/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_BESIDE_H
#define NIDUS_CLI_BENCH_BESIDE_H

/**
 * @file bench_beside.h  Benchmarks that are programs of their own, beside this one.
 *
 * They need the library's insides or another engine's library, which the installed
 * command has no business with.
 */

#include <stdbool.h>

/** Whether a benchmark of this name is such a program. */
bool bench_is_beside(const char *name);

/**
 * Becomes the program bench_NAME in this program's folder, with the arguments after the
 * name. Returns only if it cannot: an exit code, after a message.
 */
int bench_start_beside(const char *name, char **arguments);

#endif

/* SPDX-License-Identifier: MIT
 *
 * machine: what a benchmark ran on, for the head of its output.
 */
#ifndef NIDUS_BENCH_MACHINE_H
#define NIDUS_BENCH_MACHINE_H

/* The processor as the system names it, or "unknown". Static text. */
const char *machine_cpu(void);

/* The compiler of this program (the library is built with the same). Static text. */
const char *machine_compiler(void);

/* Seconds of a clock that only goes forward. */
double machine_seconds(void);

#endif

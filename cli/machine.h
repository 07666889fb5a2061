/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_MACHINE_H
#define NIDUS_CLI_MACHINE_H

/**
 * @file machine.h  What a benchmark ran on, for the head of its output.
 *
 * The programs in bench/ are linked with it too. All texts are static.
 */

#include <stdint.h>

/** The processor as the system names it, or "unknown". */
const char *machine_cpu(void);

/** The caches of the first processor ("L1 32K, L2 512K, L3 32768K"), or "unknown". */
const char *machine_caches(void);

/** How many processors this process may use, at least 1. */
unsigned machine_processors(void);

/** When the system gives huge pages: "always", "madvise", "never" or "unknown". */
const char *machine_huge_pages(void);

/** Bytes of this process that lie in huge pages now; 0 if unknown. */
uint64_t machine_huge_bytes(void);

/**
 * Touches so much new memory and gives it back. A virtual machine may have lent
 * unused pages to its host; getting one back takes many times as long as clearing it,
 * and says nothing of the code that needs it. What is taken soon after
 * (within a second or two) costs what the system itself takes for it.
 */
void machine_warm(uint64_t bytes);

/** The compiler of this program (the library is built with the same). */
const char *machine_compiler(void);

/** Seconds of a clock that only goes forward. */
double machine_seconds(void);

/** Seconds that a processor has worked for this thread. */
double machine_worked(void);

#endif

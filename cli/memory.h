/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_MEMORY_H
#define NIDUS_CLI_MEMORY_H

/** @file memory.h  How much memory there is. */

#include <stdint.h>

/**
 * Bytes that this process may use, files in the system's cache included: those of the machine, or of
 * its control group if that has fewer. 0 if that cannot be told.
 */
uint64_t memory_there_is(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_PROGRESS_H
#define NIDUS_CLI_PROGRESS_H

/** @file progress.h  One line on a terminal that tells how far long work is. */

#include <stdint.h>

/** Switches the line off (--no-progress, -q). */
void progress_disable(void);

/**
 * Starts a stretch of work. `total` is in the same unit as the `part` given to
 * progress_update (bytes or keys); 0 if unknown.
 */
void progress_start(const char *work, uint64_t total);

/** Tells where the work is; cheap, draws at most ten times per second. */
void progress_update(uint64_t keys, uint64_t part);

/** Takes the line away, so that something else can be printed. */
void progress_clear(void);

#endif

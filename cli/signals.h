/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_SIGNALS_H
#define NIDUS_CLI_SIGNALS_H

/**
 * @file signals.h  Signals that must not leave half a job behind.
 */

#include <stdbool.h>

/** Makes a lost reader and a file that grows too large failed writes like any other. */
void signals_prepare(void);

/**
 * Between the two a signal that asks to end (interrupt, terminate, hang up, quit)
 * waits: a file that is just being written is finished, and no temporary one stays.
 */
void signals_hold(void);
void signals_release(void);

/**
 * From the first on such a signal is only noted, for work that looks at signals_noted now and then
 * and ends early. The last one ends the process if one was noted.
 */
void signals_note(void);
bool signals_noted(void);
void signals_act(void);

/**
 * Has `tidy` called before such a signal ends the process. It may only do what a signal handler
 * may do, at any moment after this call.
 */
void signals_tidy(void (*tidy)(void));

#endif

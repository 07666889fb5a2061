/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_REPORT_H
#define NIDUS_CLI_REPORT_H

/** @file report.h  What the tool says on stderr, and the exit codes. */

#include <stdbool.h>

#include "nidus.h"

/** The exit codes; the man page's EXIT STATUS lists the same ones. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_NOTHING = 1,
	EXIT_USAGE = 2,
	EXIT_FILE = 3,
	EXIT_FULL = 4,
	EXIT_MEMORY = 5,
	EXIT_UNSUPPORTED = 6,
	EXIT_BUSY = 7
};

#if defined(__GNUC__)
#define REPORT_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define REPORT_PRINTF(at, first)
#endif

void report_set_quiet(void);
void report_set_verbose(void);

/** Whether talk is wanted: --verbose, or a terminal without -q. */
bool report_talks(void);

/** Always printed, as "nidus: ...". */
void report_error(const char *format, ...) REPORT_PRINTF(1, 2);

/** Printed unless -q. */
void report_warning(const char *format, ...) REPORT_PRINTF(1, 2);

/** Printed if report_talks(). */
void report_talk(const char *format, ...) REPORT_PRINTF(1, 2);

/** Says what is wrong with a command line and where its help is; EXIT_USAGE. */
int report_usage(const char *command, const char *format, ...) REPORT_PRINTF(2, 3);

/** Says that memory ran out while doing `what`; EXIT_MEMORY. */
int report_memory(const char *what);

/** Says "name: the system's words for `error`"; EXIT_FILE. */
int report_system(const char *name, int error);

/**
 * Says what a library call answered about `name` (a file or a command) and
 * what can be done about it; returns the exit code that belongs to it.
 * Call it right after the failure, while nidus_reason is fresh.
 */
int report_status(const char *name, nidus_status status);

/** The exit code of a status, without saying anything. */
int report_code(nidus_status status);

#endif

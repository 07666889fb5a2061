/* SPDX-License-Identifier: MIT */
/* Messages on stderr, how loud they are, and the exit code of each status. */

#define _POSIX_C_SOURCE 200809L

#include "report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "progress.h"

static bool quiet;
static bool verbose;

void report_set_quiet(void)
{
	quiet = true;
	verbose = false;
}

void report_set_verbose(void)
{
	verbose = true;
	quiet = false;
}

bool report_talks(void)
{
	return verbose || (!quiet && isatty(STDERR_FILENO));
}

static void say(const char *format, va_list arguments)
{
	progress_clear();
	fputs("nidus: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
}

void report_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

void report_warning(const char *format, ...)
{
	va_list arguments;

	if (quiet)
		return;
	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

void report_talk(const char *format, ...)
{
	va_list arguments;

	if (!report_talks())
		return;
	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

int report_usage(const char *command, const char *format, ...)
{
	const char *space = command ? " " : "";
	va_list arguments;

	if (!command)
		command = "";
	progress_clear();
	fprintf(stderr, "nidus%s%s: ", space, command);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nTry 'nidus%s%s --help'.\n", space, command);
	return EXIT_USAGE;
}

int report_memory(const char *what)
{
	report_error("out of memory while %s", what);
	return EXIT_MEMORY;
}

int report_system(const char *name, int error)
{
	report_error("%s: %s", name, strerror(error));
	return EXIT_FILE;
}

int report_code(nidus_status status)
{
	switch (status) {
	case NIDUS_OK:
	case NIDUS_PRESENT:
		return EXIT_OK;
	case NIDUS_NOT_FOUND:
		return EXIT_NOTHING;
	case NIDUS_FULL:
	case NIDUS_COPIES:
		return EXIT_FULL;
	case NIDUS_E_ARG:
	case NIDUS_E_RANGE:
		return EXIT_USAGE;
	case NIDUS_E_UNSUPPORTED:
	case NIDUS_E_READONLY:
		return EXIT_UNSUPPORTED;
	case NIDUS_E_NOMEM:
	case NIDUS_E_BUFFER:
		return EXIT_MEMORY;
	default:
		return EXIT_FILE;
	}
}

/* What the user can do about it; "" where the words before say enough. */
static const char *advice(nidus_status status)
{
	switch (status) {
	case NIDUS_E_FORMAT:
		return "; is it a file that nidus build made?";
	case NIDUS_E_VERSION:
		return "; use the nidus that wrote it, or build it again";
	case NIDUS_E_TRUNCATED:
	case NIDUS_E_CORRUPT:
		return "; fetch a good copy, or build it again";
	case NIDUS_E_MISMATCH:
		return "; build one of them anew with --like the other";
	default:
		return "";
	}
}

/* "cannot open NAME: ...", "cannot create NAME.tmp-...", "NAME is written, but ...". */
static bool has_name(const char *reason, const char *name)
{
	const char *verb = reason + strcspn(reason, " ") + 1;

	for (const char *at = reason; *at && (at = strstr(at, name)) != NULL; at++) {
		const char *behind = at + strlen(name);

		if (at == reason && strncmp(behind, " is ", 4) == 0)
			return true;
		if (at > verb && at[-1] == ' ' &&
		    (strncmp(behind, ": ", 2) == 0 || strncmp(behind, ".tmp-", 5) == 0))
			return true;
	}
	return false;
}

/* The reason has the system's words in it, and says how far a save came. */
static int report_io(const char *name, const char *reason)
{
	if (has_name(reason, name))
		report_error("%s", reason);
	else
		report_error("%s: %s", name, reason);
	return EXIT_FILE;
}

int report_status(const char *name, nidus_status status)
{
	const char *reason = nidus_reason();

	if (status == NIDUS_E_IO && *reason != '\0')
		return report_io(name, reason);
	if (*reason == '\0' || strcmp(reason, nidus_status_text(status)) == 0)
		report_error("%s: %s%s", name, nidus_status_text(status), advice(status));
	else
		report_error("%s: %s (%s)%s", name, nidus_status_text(status), reason,
		             advice(status));
	return report_code(status);
}

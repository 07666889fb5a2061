/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_OUTPUT_H
#define NIDUS_CLI_OUTPUT_H

/**
 * @file output.h  Where a set goes: what may be replaced, and by one process at a time.
 *
 * A path of "-" is stdout; what is no regular file (a pipe, a device) is written
 * to as it is. A regular file is replaced as a whole or not at all. It is locked
 * from output_prepare to output_release, so that commands that change one set take
 * turns: start to read what will be changed only after output_prepare.
 *
 * The lock is flock(2) on the file itself, which leaves nothing behind. A save puts
 * another file in its place: who gets the lock of a file that is no longer the one
 * at the path asks for that one's lock.
 */

#include <stdbool.h>

#include "args.h"
#include "nidus.h"

/* The table entries, to be put into braces. */
#define OUTPUT_NEW \
	'o', "output", "OUT", "where the set goes (default: stdout, if that is no terminal)"
#define OUTPUT_CHANGED 'o', "output", "OUT", "write the changed set to OUT and leave SET alone"
#define OUTPUT_FORCE OPTION_FORCE, "force", NULL, "replace OUT even if it is not a set"
#define OUTPUT_NO_WAIT                   \
	OPTION_NO_WAIT, "no-wait", NULL, \
		"exit with 7 instead of waiting while another process\nchanges the set"

struct output {
	const char *path; /* NULL: not given */
	bool force;
	bool no_wait;
	bool in_place; /* it is the set that is changed */
	bool made;     /* by kept_open, and empty until it is saved */
	int lock;      /* a file descriptor; below 1: none */
};

/** Takes one of the options above; false if it is none of them. */
bool output_take(struct output *output, int id, const char *value);

/** Without -o the changed set goes back to where it came from, unless that is stdin. */
void output_default(struct output *output, const char *set);

/**
 * Finds out before long work where its result will go, and locks it: a terminal, a
 * folder, a file that is no set and one that another process is changing are
 * noticed here. EXIT_OK, or an exit code after a message; output_release is due
 * in any case.
 */
int output_prepare(const struct command *command, struct output *output);

/** Refuses to print JSON where the set goes. EXIT_OK or an exit code. */
int output_check_json(const struct command *command, const struct output *output);

/** Refuses to write elsewhere what is the set itself, under another name, say. */
int output_check_set(const struct command *command, const struct output *output, const char *set);

/** Refuses an output that is also read, under whatever name. EXIT_OK or an exit code. */
int output_check_input(const struct command *command, const struct output *output,
                       const char *input);

/** The same for several; none at all means stdin. */
int output_check_inputs(const struct command *command, const struct output *output,
                        char *const *path, size_t paths);

/**
 * The same for a command that prints keys on stdout: it would read again what it has just
 * printed, without end.
 */
int output_check_printed(const struct command *command, char *const *path, size_t paths);

/** Writes a filter. EXIT_OK, or an exit code after a message. */
int output_save(const nidus_filter *filter, struct output *output);

/**
 * The same for a set that is yet to be built; signals that ask to end are noted meanwhile. *refused is
 * what the builder answered if it was the reason for the exit code, and nothing was said of it yet.
 */
int output_build(nidus_builder *builder, struct output *output, nidus_status *refused);

/** Ends the lock; a file that was made to be locked, and not saved, goes. */
void output_release(struct output *output);

#endif

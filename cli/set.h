/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_SET_H
#define NIDUS_CLI_SET_H

/**
 * @file set.h  Filter files: reading and writing them, with messages.
 *
 * A path of "-" is stdin or stdout; what is no regular file (a pipe, a device)
 * is streamed. All functions return EXIT_OK, or an exit code after a message.
 */

#include <stdbool.h>

#include "args.h"
#include "nidus.h"

/**
 * Checks that there is a SET operand, and no operand beyond it unless `keys`
 * may follow; both from stdin is one too many. ARGS_GO, or an exit code.
 */
int set_operand(const struct command *command, const struct args *args, bool keys);

/**
 * For looking only: mapped if the library can, loaded otherwise. A mapped table is
 * not read: if it is damaged, answers may be wrong, but nothing worse happens.
 */
int set_open(const char *path, nidus_filter **filter);

/** The same, but all of the file is read and checked first. */
int set_open_verified(const char *path, nidus_filter **filter);

/** For changing. */
int set_load(const char *path, nidus_filter **filter);

/**
 * Writes a filter. A regular file is replaced as a whole or not at all; a
 * device or pipe gets the bytes as they come.
 */
int set_save(const nidus_filter *filter, const char *path);

/**
 * Finds out before long work where its result will go: NULL becomes "-" if
 * stdout can take a filter; a folder that does not exist is noticed.
 */
int set_check_output(const struct command *command, const char **path);

/** The path for messages. */
const char *set_input_name(const char *path);

#endif

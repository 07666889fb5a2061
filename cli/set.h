/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_SET_H
#define NIDUS_CLI_SET_H

/**
 * @file set.h  Filter files: reading them, with messages.
 *
 * A path of "-" is stdin; what is no regular file (a pipe, a device) is streamed.
 * All functions return EXIT_OK, or an exit code after a message.
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
 * Checks that no two of several SETs are stdin, nor one beside keys if those are (`keys`).
 * ARGS_GO, or an exit code.
 */
int set_operands(const struct command *command, const struct args *args, bool keys);

/**
 * For looking only: mapped if the library can, loaded otherwise. A mapped table is
 * not read: if it is damaged, answers may be wrong, but nothing worse happens.
 */
int set_open(const char *path, nidus_filter **filter);

/** The same, but all of the file is read and checked first. */
int set_open_verified(const char *path, nidus_filter **filter);

/** For changing. */
int set_load(const char *path, nidus_filter **filter);

/** More values than a set has room for beside one key. */
#define SET_VALUES_MOST 4096

/** Bits of the value that the set keeps beside each key; 0: none. */
unsigned set_value_bits(const nidus_filter *filter);

/** The path for messages. */
const char *set_input_name(const char *path);

#endif

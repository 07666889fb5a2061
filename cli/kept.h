/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_KEPT_H
#define NIDUS_CLI_KEPT_H

/** @file kept.h  A set file that a command reads and writes back, or makes: dedup, count. */

#include "output.h"

/** What a set gets where no option says otherwise. */
struct kept_defaults {
	double fpr;
	unsigned value_bits;
	unsigned features; /* beside those of the options */
};

/**
 * Locks the file at output->path and loads the set in it. *filter stays NULL if there is none
 * yet: an empty file stands for a set that has yet to be made, so that two processes that
 * begin one at the same time take turns as well. `what` is how messages call the path.
 * A set that was made for less than `asked` is told of: it is not made anew.
 * EXIT_OK, or an exit code after a message.
 */
int kept_open(const struct command *command, struct output *output, const char *what,
              const struct args *inputs, const nidus_options *asked, nidus_filter **filter);

/**
 * Makes a set for such a file: small at first, and growing by itself up to asked->capacity
 * keys, or without an end if that is 0.
 * EXIT_OK, or an exit code after a message.
 */
int kept_create(const struct command *command, const nidus_options *asked,
                const struct kept_defaults *defaults, nidus_filter **filter);

#endif

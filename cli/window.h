/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_WINDOW_H
#define NIDUS_CLI_WINDOW_H

/** @file window.h  How long a set that forgets remembers: so many keys, or so much time. */

#include "args.h"
#include "nidus.h"

/** All zero: nothing is forgotten. */
struct window {
	const char *last, *time, *slice_text; /* as they were given */
	uint64_t keys;     /* that are remembered, at least; 0: */
	uint64_t seconds;  /* it is time that counts; 0 too: no window */
	unsigned slices;   /* of the set */
	uint64_t length;   /* of a slice, in keys or seconds */
	uint64_t in_slice; /* keys of this one so far, */
	int64_t slice;     /* or its number since 1970 */
};

/** Takes an option of a window; false: it is none. */
bool window_take(struct window *window, int id, const char *value);

/**
 * Reads the options, and sets slices and capacity of a set that is made. EXIT_OK or EXIT_USAGE.
 */
int window_read(const struct command *command, struct window *window, nidus_options *options);

/**
 * Goes on with a set: one that is new, or was last saved at a time (in seconds since 1970). EXIT_OK, or
 * EXIT_UNSUPPORTED if it does not forget as the options say.
 */
int window_begin(struct window *window, const char *path, nidus_filter *filter, int64_t saved);

/** Before a key is looked up, if it is time that counts; and after each that came. */
nidus_status window_look_at_clock(struct window *window, nidus_filter *filter);
nidus_status window_count(struct window *window, nidus_filter *filter);

#define WINDOW_OPTIONS                                                                        \
	{ OPTION_LAST, "last", "N", "forget keys that did not come among the last N keys" },  \
		{ OPTION_FOR, "for", "TIME",                                                  \
		  "forget keys that did not come for so long: 90s, 30m, 24h, 7d" },           \
		{ OPTION_SLICES, "slices", "S",                                               \
		  "of --last and --for: in how many steps to forget (default 16);\n"          \
		  "nothing is remembered more than one step too long" }

#endif

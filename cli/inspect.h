/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_INSPECT_H
#define NIDUS_CLI_INSPECT_H

/** @file inspect.h  What nidus info tells, for other commands. */

#include "args.h"
#include "nidus.h"

/* The table entry of commands that make a set, to be put into braces. */
#define INSPECT_JSON \
	OPTION_JSON, "json", NULL, "print what nidus info --json prints for the new set"

/** Prints what a set of that name is and how full it is as one JSON object. */
void inspect_json(const char *name, const nidus_filter *filter);

/** The same without the end of the object: more members may follow, and json_close('}'). */
void inspect_json_begin(const char *name, const nidus_filter *filter);

#endif

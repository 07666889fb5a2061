/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_SHAPE_H
#define NIDUS_CLI_SHAPE_H

/** @file shape.h  The options that say what a new filter is like: nidus build, nidus plan. */

#include <stdbool.h>

#include "args.h"
#include "nidus.h"

/* The table entries, to be put into braces. */
#define SHAPE_CAPACITY 'n', "capacity", "N", "keys that must fit: 1000000, 1e6, 10M, 1G"
#define SHAPE_RATE         \
	'p', "fpr", "FPR", \
		"false-positive rate: 0.001, 1e-3, 0.1%, 2^-10, 1/1000\n(default: 1 in 256)"
#define SHAPE_FAMILY 'f', "family", "FAMILY", "auto (default), cuckoo, ...; see nidus plan"
#define SHAPE_SLOTS 's', "slots", "B", "slots per bucket or window (default: the best)"
#define SHAPE_NO_DELETE \
	OPTION_NO_DELETE, "no-delete", NULL, "no key will be removed; breadcrumb is smaller then"
#define SHAPE_COMPACT \
	OPTION_COMPACT, "compact", NULL, "bucketed with coded buckets: smaller, and slower"
#define SHAPE_STATIC \
	OPTION_STATIC, "static", NULL, "the set will never change: ribbon, the smallest of all"
#define SHAPE_GROW                                                               \
	OPTION_GROW, "grow", "[N]",                                              \
		"let the set grow by itself, as keys are added, up to N keys;\n" \
		"without a number: to any size"

#define SHAPE_VALUES \
	OPTION_VALUES, "values", "BITS", "keep a value of BITS bits, 1 to 32, beside each key"

#define SHAPE_DELETE OPTION_FEATURE + 0, "delete", NULL, "keys will be removed"
#define SHAPE_ENUMERATE OPTION_FEATURE + 1, "enumerate", NULL, "entries will be listed"
#define SHAPE_MERGE OPTION_FEATURE + 2, "merge", NULL, "sets will be merged"
#define SHAPE_CONCURRENT OPTION_FEATURE + 4, "concurrent", NULL, "several threads will change it"
#define SHAPE_FAST                                                              \
	OPTION_FEATURE + 5, "fast", NULL,                                       \
		"take not the smallest family but the one that is fastest in\n" \
		"batches and beyond the cache; key by key others may be faster"

/**
 * Takes one of the options above, or --seed. ARGS_GO, an exit code after a
 * message, or SHAPE_OTHER if it is none of them.
 */
int shape_take(const struct command *command, nidus_options *options, int id, const char *value);

#define SHAPE_OTHER (-2)

/** Whether the set will be built once and never change. */
bool shape_is_static(const nidus_options *options);

/** Whether the options, each right by itself, fit together: ARGS_GO or an exit code. */
int shape_check(const struct command *command, const nidus_options *options);

/** A count with a message if it is none: ARGS_GO or an exit code. */
int shape_count(const struct command *command, const char *option, const char *value,
                uint64_t *count);

/**
 * Says why nidus_create or nidus_plan refused these options: what only an
 * option can have caused is a usage error.
 */
int shape_refused(const struct command *command, nidus_status status);

#endif

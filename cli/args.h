/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_ARGS_H
#define NIDUS_CLI_ARGS_H

/**
 * @file args.h  Commands, their options and operands.
 *
 * One table per command is both what is parsed and what --help shows.
 */

#include <stddef.h>

/** Options of several commands. An option's id is its letter, or one of these. */
enum {
	OPTION_JSON = 256,
	OPTION_SEED,
	OPTION_GROW,
	OPTION_NO_DELETE,
	OPTION_COMPACT,
	OPTION_STATIC,
	OPTION_EXCLUDE,
	OPTION_LIKE,
	OPTION_SAVE,
	OPTION_MULTISET,
	OPTION_MEMORY,
	OPTION_STRICT,
	OPTION_RELAX,
	OPTION_UNIQUE,
	OPTION_VERIFY,
	OPTION_FORCE,
	OPTION_NO_WAIT,
	OPTION_U64,
	OPTION_CRLF,
	OPTION_PLAIN,
	OPTION_SET,
	OPTION_OVERFILL,
	OPTION_VALUES,
	OPTION_COUNTS,
	OPTION_SUMS,
	OPTION_SORT_BATCHES,
	OPTION_SUM,
	OPTION_MAX,
	OPTION_OR,
	OPTION_LAST,
	OPTION_FOR,
	OPTION_SLICES,
	OPTION_FEATURE /* plus the index in feature_list */
};

struct option_spec {
	int id;            /* below 256: the letter too */
	const char *name;  /* long, without the dashes */
	const char *value; /* what its value is called; NULL: it takes none; "[N]": a number
	                      may follow, and the handler gets NULL if none does */
	const char *help;  /* may have several lines */
};

struct command {
	const char *name;
	const char *synopsis;              /* after "nidus name" */
	const char *summary;               /* one line, no full stop */
	const char *about;                 /* whole lines, before the options */
	const struct option_spec *options; /* ends with a name of NULL */
	const char *examples;              /* whole lines, after the options */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

/** What is left of a command line after its options. */
struct args {
	char **operand;
	size_t n;
};

/** Returned by args_parse and by option handlers: nothing to report, go on. */
#define ARGS_GO (-1)

/** Takes one option of the command; ARGS_GO, or an exit code after a message. */
typedef int (*option_handler)(void *context, int id, const char *value);

/**
 * Reads a command line. Options may stand after operands; "--" ends them.
 * The operands are gathered at the front of argv and `args` points to them.
 * Returns ARGS_GO, or the exit code if there was a mistake or --help.
 */
int args_parse(const struct command *command, int argc, char **argv, option_handler handler,
               void *context, struct args *args);

/** The long name of an option that the command has. */
const char *args_name(const struct command *command, int id);

/** Prints a command's help on stdout. */
void args_help(const struct command *command);

#endif

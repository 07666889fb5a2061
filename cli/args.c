/* SPDX-License-Identifier: MIT */
/* The option parser and the help text, both from one table. */

#include "args.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"
#include "out.h"
#include "progress.h"
#include "report.h"

enum { COMMON_VERBOSE = 512, COMMON_NO_PROGRESS };

static const struct option_spec common_options[] = {
	{ 'q', "quiet", NULL, "print errors only" },
	{ COMMON_VERBOSE, "verbose", NULL, "print notes even if stderr is not a terminal" },
	{ COMMON_NO_PROGRESS, "no-progress", NULL, "draw no progress line" },
	{ 'h', "help", NULL, "print this text" },
	{ 0, NULL, NULL, NULL },
};

struct parser {
	const struct command *command;
	option_handler handler;
	void *context;
	int argc;
	char **argv;
	int at; /* the next argument */
};

/* ------------------------------------------------------------------ help -- */

/* "  -n, --capacity N", at the width that all of a command's options need. */
static int option_label(const struct option_spec *option, char *label, size_t size)
{
	char letter[8] = "    ";

	if (option->id < 256)
		snprintf(letter, sizeof(letter), "-%c, ", option->id);
	return snprintf(label, size, "  %s--%s%s%s", letter, option->name, option->value ? " " : "",
	                option->value ? option->value : "");
}

static int widest_label(const struct option_spec *options, int width)
{
	char label[80];

	for (; options->name; options++) {
		int length = option_label(options, label, sizeof(label));

		if (length > width)
			width = length;
	}
	return width;
}

static void print_options(const struct option_spec *options, int width)
{
	for (; options->name; options++) {
		const char *line = options->help;
		char label[80];

		option_label(options, label, sizeof(label));
		for (;;) {
			size_t length = strcspn(line, "\n");

			out_format("%-*s  %.*s\n", width, label, (int)length, line);
			if (line[length] == '\0')
				break;
			line += length + 1;
			label[0] = '\0';
		}
	}
}

void args_help(const struct command *command)
{
	int width = widest_label(common_options, widest_label(command->options, 0));

	out_format("Usage: nidus %s %s\n\n", command->name, command->synopsis);
	out_text(command->about);
	out_text("\nOptions:\n");
	print_options(command->options, width);
	print_options(common_options, width);
	if (command->examples) {
		out_text("\nExamples:\n");
		out_text(command->examples);
	}
}

/* --------------------------------------------------------------- parsing -- */

static const struct option_spec *find_id(const struct option_spec *options, int id)
{
	for (; options->name; options++) {
		if (options->id == id)
			return options;
	}
	return NULL;
}

const char *args_name(const struct command *command, int id)
{
	return find_id(command->options, id)->name;
}

static const struct option_spec *find_name(const struct option_spec *options, const char *name,
                                           size_t length)
{
	for (; options->name; options++) {
		if (strlen(options->name) == length && memcmp(options->name, name, length) == 0)
			return options;
	}
	return NULL;
}

static int unknown_name(const struct command *command, const char *name, size_t length)
{
	struct nearest nearest = NEAREST_TO(name, length);
	const char *found;

	for (const struct option_spec *option = command->options; option->name; option++)
		nearest_offer(&nearest, option->name);
	for (const struct option_spec *option = common_options; option->name; option++)
		nearest_offer(&nearest, option->name);
	found = nearest_found(&nearest);
	if (found)
		return report_usage(command->name, "unknown option --%.*s; did you mean --%s?",
		                    (int)length, name, found);
	return report_usage(command->name, "unknown option --%.*s", (int)length, name);
}

static int take(struct parser *parser, const struct option_spec *option, const char *value)
{
	switch (option->id) {
	case 'q':
		report_set_quiet();
		progress_disable();
		return ARGS_GO;
	case COMMON_VERBOSE:
		report_set_verbose();
		return ARGS_GO;
	case COMMON_NO_PROGRESS:
		progress_disable();
		return ARGS_GO;
	case 'h':
		args_help(parser->command);
		return EXIT_OK;
	default:
		return parser->handler(parser->context, option->id, value);
	}
}

/* Whether the next argument is meant as a number: a file with such a name may come behind "--". */
static bool number_follows(const struct parser *parser)
{
	return parser->at < parser->argc && parser->argv[parser->at][0] >= '0' &&
	       parser->argv[parser->at][0] <= '9';
}

static int take_long(struct parser *parser, const char *text)
{
	const struct command *command = parser->command;
	size_t length = strcspn(text, "=");
	const char *value = text[length] == '=' ? text + length + 1 : NULL;
	const struct option_spec *option = find_name(command->options, text, length);

	if (!option)
		option = find_name(common_options, text, length);
	if (!option)
		return unknown_name(command, text, length);
	if (!option->value && value)
		return report_usage(command->name, "--%s takes no value", option->name);
	if (option->value && option->value[0] == '[' && !value) {
		if (number_follows(parser))
			value = parser->argv[parser->at++];
	} else if (option->value && !value) {
		if (parser->at == parser->argc)
			return report_usage(command->name, "--%s needs a value: %s", option->name,
			                    option->value);
		value = parser->argv[parser->at++];
	}
	return take(parser, option, value);
}

/* A bundle of letters: flags, and at its end at most one that takes a value. */
static int take_letters(struct parser *parser, const char *text)
{
	const struct command *command = parser->command;

	for (; *text; text++) {
		const struct option_spec *option;
		const char *value = NULL;
		int code;

		option = find_id(command->options, (unsigned char)*text);
		if (!option)
			option = find_id(common_options, (unsigned char)*text);
		if (!option)
			return report_usage(command->name, "unknown option -%c", *text);
		if (option->value) {
			if (text[1] != '\0')
				value = text + 1;
			else if (parser->at < parser->argc)
				value = parser->argv[parser->at++];
			else
				return report_usage(command->name, "-%c needs a value: %s", *text,
				                    option->value);
		}
		code = take(parser, option, value);
		if (code != ARGS_GO || value)
			return code;
	}
	return ARGS_GO;
}

int args_parse(const struct command *command, int argc, char **argv, option_handler handler,
               void *context, struct args *args)
{
	struct parser parser = { command, handler, context, argc, argv, 1 };
	bool options = true;

	args->operand = argv;
	args->n = 0;
	while (parser.at < argc) {
		char *text = argv[parser.at++];
		int code = ARGS_GO;

		if (options && strcmp(text, "--") == 0)
			options = false;
		else if (options && text[0] == '-' && text[1] == '-')
			code = take_long(&parser, text + 2);
		else if (options && text[0] == '-' && text[1] != '\0')
			code = take_letters(&parser, text + 1);
		else
			args->operand[args->n++] = text;
		if (code != ARGS_GO)
			return code;
	}
	return ARGS_GO;
}

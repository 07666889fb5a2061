/* SPDX-License-Identifier: MIT */
/* The command line tool: finds the command, runs it, and turns a failed write into an exit code. */

#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "nearest.h"
#include "nidus.h"
#include "out.h"
#include "report.h"
#include "signals.h"

static const struct command *const commands[] = {
	&build_command, &query_command,  &add_command,  &remove_command, &dedup_command,
	&count_command, &merge_command,  &grow_command, &shrink_command, &pack_command,
	&info_command,  &verify_command, &dump_command, &plan_command,   &bench_command,
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(void)
{
	out_text("Usage: nidus COMMAND [OPTION...] [OPERAND...]\n"
	         "\n"
	         "Small approximate sets: no key that is in a set is ever missed, and other\n"
	         "keys pass for members only at the rate that you choose.\n"
	         "\n"
	         "Commands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		out_format("  %-8s %s\n", commands[i]->name, commands[i]->summary);
	out_text("\n"
	         "  nidus COMMAND --help, or nidus help COMMAND, describes one of them;\n"
	         "  nidus --version, or -V, prints the version.\n"
	         "\n"
	         "Exit status: 0 found or done, 1 nothing found, 2 usage, 3 file or format,\n"
	         "4 full, 5 memory, 6 not supported by the family, 7 busy (--no-wait).\n"
	         "\n"
	         "Example:\n"
	         "  seq 1 1000000 | nidus build -p 0.001 -o numbers.nidus\n"
	         "  echo 42 | nidus query numbers.nidus\n");
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	struct nearest nearest = NEAREST_TO(name, strlen(name));
	const char *found;

	if (name[0] == '-')
		return report_usage(NULL, "unknown option %s; options come after the command",
		                    name);
	for (size_t i = 0; i < COMMANDS; i++)
		nearest_offer(&nearest, commands[i]->name);
	nearest_offer(&nearest, "help");
	found = nearest_found(&nearest);
	if (found)
		return report_usage(NULL, "unknown command '%s'; did you mean %s?", name, found);
	return report_usage(NULL, "unknown command '%s'", name);
}

static int help(const char *name)
{
	const struct command *command;

	if (name && strcmp(name, "help") == 0)
		name = NULL;
	command = name ? find_command(name) : NULL;
	if (name && !command)
		return unknown_command(name);
	if (command)
		args_help(command);
	else
		print_help();
	return EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *command;

	if (!name)
		return report_usage(NULL, "which command?");
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return help(argc > 2 ? argv[2] : NULL);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		out_format("nidus %s\n", nidus_version());
		return EXIT_OK;
	}
	command = find_command(name);
	return command ? command->run(argc - 1, argv + 1) : unknown_command(name);
}

/*
 * A standard stream that the caller closed would become the next file that is
 * opened. Take its place with something that fails when it is used.
 */
static bool hold_standard_streams(void)
{
	static const int flags[] = { O_WRONLY, O_RDONLY, O_WRONLY };

	for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
		if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", flags[stream]) != stream)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	int code, finished;

	if (!hold_standard_streams())
		return EXIT_FILE;
	signals_prepare();
	code = dispatch(argc, argv);
	finished = out_finish();
	return code > EXIT_NOTHING || finished == EXIT_OK ? code : finished;
}

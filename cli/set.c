/* SPDX-License-Identifier: MIT */
/* Filter files in. */

#define _POSIX_C_SOURCE 200809L

#include "set.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"

static bool is_stream(const char *path)
{
	return strcmp(path, "-") == 0;
}

const char *set_input_name(const char *path)
{
	return is_stream(path) ? "standard input" : path;
}

int set_operand(const struct command *command, const struct args *args, bool keys)
{
	bool twice = args->n == 1;

	if (args->n == 0)
		return report_usage(command->name, "which SET?");
	if (!keys)
		return args->n == 1 ? ARGS_GO
		                    : report_usage(command->name, "unexpected operand '%s'",
		                                   args->operand[1]);
	for (size_t i = 1; i < args->n; i++)
		twice = twice || is_stream(args->operand[i]);
	if (twice && is_stream(args->operand[0]))
		return report_usage(command->name, "SET and keys cannot both come from stdin");
	return ARGS_GO;
}

int set_operands(const struct command *command, const struct args *args, bool keys)
{
	size_t streams = keys ? 1 : 0;

	for (size_t i = 0; i < args->n; i++)
		streams += is_stream(args->operand[i]);
	if (streams <= 1)
		return ARGS_GO;
	return report_usage(command->name, keys ? "only one of keys and SETs can come from stdin"
	                                        : "only one SET can come from stdin");
}

static ptrdiff_t read_some(void *context, void *data, size_t size)
{
	const int *file = context;
	ssize_t got;

	if (size > SSIZE_MAX)
		size = SSIZE_MAX;
	do {
		got = read(*file, data, size);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

static int read_stream(int file, const char *name, nidus_filter **filter)
{
	nidus_status status = nidus_read(read_some, &file, NULL, filter);
	char extra;

	if (status != NIDUS_OK)
		return report_status(name, status);
	if (read_some(&file, &extra, 1) == 0)
		return EXIT_OK;
	nidus_free(*filter);
	*filter = NULL;
	report_error("%s: there are bytes after the end of the set; give the set alone", name);
	return EXIT_FILE;
}

static int read_special(const char *path, nidus_filter **filter)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	int code;

	if (file < 0)
		return report_system(path, errno);
	code = read_stream(file, path, filter);
	close(file);
	return code;
}

/* How to read a set: into memory, or mapped as it is, or mapped and read once. */
enum way { LOAD, OPEN, OPEN_VERIFIED };

static int read_file(const char *path, enum way way, nidus_filter **filter)
{
	nidus_status status = NIDUS_E_UNSUPPORTED;

	if (way != LOAD)
		status = nidus_open(path, way == OPEN_VERIFIED ? NIDUS_OPEN_VERIFY : 0, filter);
	if (status == NIDUS_E_UNSUPPORTED)
		status = nidus_load(path, filter);
	return status == NIDUS_OK ? EXIT_OK : report_status(path, status);
}

static int read_set(const char *path, enum way way, nidus_filter **filter)
{
	struct stat status;

	*filter = NULL;
	if (is_stream(path))
		return read_stream(STDIN_FILENO, set_input_name(path), filter);
	if (stat(path, &status) != 0)
		return report_system(path, errno);
	if (S_ISDIR(status.st_mode))
		return report_system(path, EISDIR);
	if (!S_ISREG(status.st_mode))
		return read_special(path, filter);
	return read_file(path, way, filter);
}

unsigned set_value_bits(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;

	nidus_get_info(filter, &info);
	return info.value_bits;
}

int set_open(const char *path, nidus_filter **filter)
{
	return read_set(path, OPEN, filter);
}

int set_open_verified(const char *path, nidus_filter **filter)
{
	return read_set(path, OPEN_VERIFIED, filter);
}

int set_load(const char *path, nidus_filter **filter)
{
	return read_set(path, LOAD, filter);
}

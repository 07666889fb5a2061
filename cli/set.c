/* SPDX-License-Identifier: MIT */
/* Filter files in and out. */

#define _POSIX_C_SOURCE 200809L

#include "set.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "signals.h"

static bool is_stream(const char *path)
{
	return strcmp(path, "-") == 0;
}

const char *set_input_name(const char *path)
{
	return is_stream(path) ? "standard input" : path;
}

static const char *output_name(const char *path)
{
	return is_stream(path) ? "standard output" : path;
}

int set_operand(const struct command *command, const struct args *args, bool keys)
{
	bool twice = args->n == 1;

	if (args->n == 0)
		return report_usage(command->name, "which SET?");
	if (!keys)
		return args->n == 1 ? ARGS_GO
		                    : report_usage(command->name, "'%s' is one operand too many",
		                                   args->operand[1]);
	for (size_t i = 1; i < args->n; i++)
		twice = twice || is_stream(args->operand[i]);
	if (twice && is_stream(args->operand[0]))
		return report_usage(command->name, "SET and keys cannot both come from stdin");
	return ARGS_GO;
}

/* --------------------------------------------------------------- reading -- */

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

/* --------------------------------------------------------------- writing -- */

static int write_all(void *context, const void *data, size_t size)
{
	const int *file = context;
	const char *from = data;

	while (size > 0) {
		ssize_t written = write(*file, from, size);

		if (written < 0) {
			if (errno != EINTR)
				return errno;
			continue;
		}
		from += written;
		size -= (size_t)written;
	}
	return 0;
}

static int write_stream(const nidus_filter *filter, int file, const char *name)
{
	nidus_status status = nidus_write(filter, write_all, &file);

	return status == NIDUS_OK ? EXIT_OK : report_status(name, status);
}

static int write_special(const nidus_filter *filter, const char *path)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	int code;

	if (file < 0)
		return report_system(path, errno);
	code = write_stream(filter, file, path);
	if (close(file) != 0 && code == EXIT_OK)
		code = report_system(path, errno);
	return code;
}

int set_save(const nidus_filter *filter, const char *path)
{
	struct stat found;
	nidus_status status;

	if (is_stream(path))
		return write_stream(filter, STDOUT_FILENO, output_name(path));
	/* Renaming over /dev/null or a pipe would replace it: those are written to. */
	if (stat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
		return write_special(filter, path);
	errno = 0;
	signals_hold();
	status = nidus_save(filter, path);
	signals_release();
	return status == NIDUS_OK ? EXIT_OK : report_status(path, status);
}

static int check_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;
	char *folder;
	int code = EXIT_OK;

	if (!slash || slash == path)
		return EXIT_OK;
	folder = strdup(path);
	if (!folder)
		return report_memory("checking the output");
	folder[slash - path] = '\0';
	if (stat(folder, &status) != 0)
		code = report_system(path, errno);
	else if (!S_ISDIR(status.st_mode))
		code = report_system(path, ENOTDIR);
	free(folder);
	return code;
}

int set_check_output(const struct command *command, const char **path)
{
	struct stat status;

	if (!*path)
		*path = "-";
	if (is_stream(*path)) {
		if (isatty(STDOUT_FILENO))
			return report_usage(command->name,
			                    "a set is no text for a terminal; give -o FILE");
		return EXIT_OK;
	}
	if (stat(*path, &status) == 0 && S_ISDIR(status.st_mode))
		return report_system(*path, EISDIR);
	return check_folder(*path);
}

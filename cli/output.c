/* SPDX-License-Identifier: MIT */
/* Sets out: checks, locks and writing. */

#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"
#include "report.h"
#include "signals.h"

static bool is_stream(const char *path)
{
	return strcmp(path, "-") == 0;
}

bool output_take(struct output *output, int id, const char *value)
{
	switch (id) {
	case 'o':
		output->path = value;
		return true;
	case OPTION_FORCE:
		output->force = true;
		return true;
	case OPTION_NO_WAIT:
		output->no_wait = true;
		return true;
	default:
		return false;
	}
}

void output_default(struct output *output, const char *set)
{
	output->in_place = !output->path && !is_stream(set);
	if (output->in_place)
		output->path = set;
}

/* ---------------------------------------------------------------- locking -- */

/* Some file systems take locks only on files that are open for writing. */
static int open_to_lock(const char *path)
{
	int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (file < 0 && errno != ENOENT)
		file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return file;
}

static int wait_for_lock(int file)
{
	int failed;

	do {
		failed = flock(file, LOCK_EX);
	} while (failed && errno == EINTR);
	return failed;
}

static int busy(const char *path)
{
	report_error("%s: another process is changing it; try again later, or without --no-wait",
	             path);
	return EXIT_BUSY;
}

/* Locks an open file. A file system without locks is no reason to fail. */
static int take_lock(const struct output *output, int file)
{
	int failed = flock(file, LOCK_EX | LOCK_NB);

	if (failed && errno == EWOULDBLOCK) {
		if (output->no_wait)
			return busy(output->path);
		report_talk("%s: waiting for another process that is changing it", output->path);
		failed = wait_for_lock(file);
	}
	if (failed)
		report_warning(
			"%s: cannot be locked (%s): make sure that no other process changes it "
			"meanwhile",
			output->path, strerror(errno));
	return EXIT_OK;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool still_there(int file, const char *path)
{
	struct stat locked, found;

	return fstat(file, &locked) == 0 && stat(path, &found) == 0 && same_file(&locked, &found);
}

/* What every version of the format starts with; an empty file holds nothing to lose. */
static bool may_replace(int file)
{
	static const unsigned char magic[8] = { 0x89, 'n', 'i', 'd', 'u', 's', '\r', '\n' };
	unsigned char start[sizeof(magic)];
	ssize_t got = pread(file, start, sizeof(start), 0);

	return got == 0 ||
	       (got == (ssize_t)sizeof(magic) && memcmp(start, magic, sizeof(magic)) == 0);
}

static int check_replaced(const struct output *output, int file)
{
	if (output->force || output->in_place || may_replace(file))
		return EXIT_OK;
	report_error("%s: this is not a nidus set; give --force to replace it", output->path);
	return EXIT_FILE;
}

/* Locks the file at the output's path, if there is one. */
static int lock_file(struct output *output)
{
	int code = EXIT_OK;

	while (code == EXIT_OK) {
		int file = open_to_lock(output->path);

		if (file < 0)
			return errno == ENOENT ? EXIT_OK : report_system(output->path, errno);
		code = take_lock(output, file);
		if (code == EXIT_OK && still_there(file, output->path)) {
			output->lock = file;
			return check_replaced(output, file);
		}
		close(file); /* somebody has saved in the meantime */
	}
	return code;
}

/* Takes away a file that was made to be locked, and not saved. Called in signal handlers too. */
static void take_away(const struct output *output)
{
	struct stat status;

	if (output->made && still_there(output->lock, output->path) &&
	    fstat(output->lock, &status) == 0 && status.st_size == 0)
		unlink(output->path);
}

static const struct output *volatile begun; /* what take_away is due for if a signal ends us */

static void take_away_begun(void)
{
	if (begun)
		take_away(begun);
}

void output_release(struct output *output)
{
	if (output->lock > 0) {
		take_away(output);
		begun = NULL;
		close(output->lock);
	}
	output->lock = 0;
	output->made = false;
}

/* --------------------------------------------------------------- checking -- */

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

int output_prepare(const struct command *command, struct output *output)
{
	struct stat status;
	int code;

	if (!output->path)
		output->path = "-";
	if (*output->path == '\0')
		return report_usage(command->name, "-o: the name of the output is empty");
	if (is_stream(output->path)) {
		if (isatty(STDOUT_FILENO))
			return report_usage(command->name,
			                    "a set is binary, not for a terminal; give -o FILE");
		return EXIT_OK;
	}
	if (stat(output->path, &status) != 0)
		return check_folder(output->path);
	if (S_ISDIR(status.st_mode))
		return report_system(output->path, EISDIR);
	code = S_ISREG(status.st_mode) ? lock_file(output) : EXIT_OK;
	if (code == EXIT_OK && output->made) {
		begun = output;
		signals_tidy(take_away_begun);
	}
	return code;
}

static bool stat_stream(const char *path, int stream, struct stat *status)
{
	return (is_stream(path) ? fstat(stream, status) : stat(path, status)) == 0;
}

static bool also_input(const struct output *output, const char *input)
{
	struct stat from, to;

	return stat_stream(input, STDIN_FILENO, &from) &&
	       stat_stream(output->path ? output->path : "-", STDOUT_FILENO, &to) &&
	       S_ISREG(to.st_mode) && same_file(&from, &to);
}

int output_check_json(const struct command *command, const struct output *output)
{
	if (output->path && !is_stream(output->path))
		return EXIT_OK;
	return report_usage(command->name,
	                    "--json and the set cannot both go to stdout; give -o FILE");
}

int output_check_set(const struct command *command, const struct output *output, const char *set)
{
	if (output->in_place || !also_input(output, set))
		return EXIT_OK;
	return report_usage(command->name,
	                    "the output is %s itself; leave -o out to change it in place", set);
}

int output_check_input(const struct command *command, const struct output *output,
                       const char *input)
{
	if (!also_input(output, input))
		return EXIT_OK;
	return report_usage(command->name, "%s is read and cannot be the output too",
	                    is_stream(input) ? "standard input" : input);
}

int output_check_inputs(const struct command *command, const struct output *output,
                        char *const *path, size_t paths)
{
	int code = EXIT_OK;

	if (paths == 0)
		return output_check_input(command, output, "-");
	for (size_t i = 0; i < paths && code == EXIT_OK; i++)
		code = output_check_input(command, output, path[i]);
	return code;
}

int output_check_printed(const struct command *command, char *const *path, size_t paths)
{
	const struct output printed = { .path = "-" };

	return output_check_inputs(command, &printed, path, paths);
}

/* ---------------------------------------------------------------- writing -- */

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

/* What is to be written: a filter, or what is yet to be built. */
struct content {
	const nidus_filter *filter;
	nidus_builder *builder;
	nidus_status *refused;
};

/* How writing ended. What a builder answers to its keys is for its owner to tell. */
static int ended(const struct content *content, const char *name, nidus_status status)
{
	if (status == NIDUS_OK)
		return EXIT_OK;
	progress_clear();
	if (content->filter || status == NIDUS_E_IO)
		return report_status(name, status);
	*content->refused = status;
	return report_code(status);
}

static int write_stream(const struct content *content, int file, const char *name)
{
	return ended(content, name,
	             content->filter ? nidus_write(content->filter, write_all, &file)
	                             : nidus_builder_write(content->builder, write_all, &file));
}

static int write_special(const struct content *content, const char *path)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	int code;

	if (file < 0)
		return report_system(path, errno);
	code = write_stream(content, file, path);
	if (close(file) != 0 && code == EXIT_OK)
		code = report_system(path, errno);
	return code;
}

static int replace(const struct content *content, const char *path)
{
	nidus_status status;

	if (!content->filter)
		return ended(content, path, nidus_builder_save(content->builder, path));
	signals_hold();
	status = nidus_save(content->filter, path);
	signals_release();
	return ended(content, path, status);
}

static int save(const struct content *content, struct output *output)
{
	struct stat found;
	int code;

	if (is_stream(output->path))
		return write_stream(content, STDOUT_FILENO, "standard output");
	/* Renaming over /dev/null or a pipe would replace it: those are written to. */
	if (stat(output->path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
		return write_special(content, output->path);
	/* A file that was not there before may be by now, and be about to change. */
	code = output->lock > 0 ? EXIT_OK : lock_file(output);
	return code == EXIT_OK ? replace(content, output->path) : code;
}

int output_save(const nidus_filter *filter, struct output *output)
{
	struct content content = { .filter = filter };

	return save(&content, output);
}

int output_build(nidus_builder *builder, struct output *output, nidus_status *refused)
{
	struct content content = { .builder = builder, .refused = refused };
	int code;

	*refused = NIDUS_OK;
	signals_note();
	code = save(&content, output);
	signals_act();
	return code;
}

/* SPDX-License-Identifier: MIT */
/* The file is made, empty, before it is locked. */

#include "kept.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "set.h"
#include "shape.h"

/* The set begins with so small a part of its keys; each doubling costs a bit per key. */
#define FIRST_PART 1024
#define FIRST_LEAST 1024

/* Makes sure that there is a file to lock. */
static int touch(struct output *output)
{
	const int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK;
	int file = open(output->path, flags | O_EXCL, 0666);

	output->made = file >= 0;
	if (file < 0 && errno == EEXIST)
		file = open(output->path, flags, 0666);
	if (file < 0)
		return report_system(output->path, errno);
	close(file);
	return EXIT_OK;
}

/* Until there is one that is locked: another process may have taken away what it had made. */
static int make_and_lock(const struct command *command, struct output *output, struct stat *status)
{
	int code;

	do {
		output_release(output);
		code = touch(output);
		if (code == EXIT_OK)
			code = output_prepare(command, output);
		if (code != EXIT_OK || stat(output->path, status) == 0)
			return code;
	} while (errno == ENOENT);
	return report_system(output->path, errno);
}

int kept_open(const struct command *command, struct output *output, const char *what,
              const struct args *inputs, nidus_filter **filter)
{
	const char *path = output->path;
	struct stat status;
	int code;

	*filter = NULL;
	output->in_place = true; /* what is there is read, so it has to be a set */
	if (*path == '\0' || (path[0] == '-' && !path[1]))
		return report_usage(command->name, "%s needs the name of a file", what);
	code = output_check_inputs(command, output, inputs->operand, inputs->n);
	if (code == EXIT_OK)
		code = make_and_lock(command, output, &status);
	if (code != EXIT_OK)
		return code;
	if (!S_ISREG(status.st_mode))
		return report_usage(command->name, "%s: %s is not a file", what, path);
	return status.st_size > 0 ? set_load(path, filter) : EXIT_OK;
}

int kept_create(const struct command *command, const nidus_options *options, unsigned features,
                nidus_filter **filter)
{
	nidus_options growing = *options;
	uint64_t first = options->capacity / FIRST_PART;
	nidus_status status;

	growing.max_capacity = options->capacity;
	if (first < FIRST_LEAST)
		first = FIRST_LEAST;
	if (first < options->capacity)
		growing.capacity = first;
	growing.features |= NIDUS_GROW | features;
	status = nidus_create(&growing, filter);
	return status == NIDUS_OK ? EXIT_OK : shape_refused(command, status);
}

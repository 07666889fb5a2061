/* SPDX-License-Identifier: MIT */
/* The file is made, empty, before it is locked. */

#include "kept.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"
#include "room.h"
#include "set.h"
#include "shape.h"

/* The set begins with room for so many keys and grows with what comes. */
#define FIRST_KEYS 1024

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

/* -n, -p and --values are for a set that is made; one that was made for less stays so. */
static void compare(const char *path, const nidus_options *asked, const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	double rate;

	nidus_get_info(filter, &info);
	rate = info.fpr_now > info.fpr_target ? info.fpr_now : info.fpr_target;
	if (asked->capacity > room_in(filter))
		report_warning("%s: the set was made for %" PRIu64
		               " keys, which -n does not change; nidus grow --relax does",
		               path, room_in(filter));
	if (asked->fpr > 0 && asked->fpr < rate * (1 - 1e-9))
		report_warning("%s: the rate of the set is %.3g and stays so; %.3g needs a new one",
		               path, rate, asked->fpr);
	if (asked->value_bits > info.value_bits && info.value_bits > 0)
		report_warning("%s: the set was made with --values %u and stays so", path,
		               info.value_bits);
}

int kept_open(const struct command *command, struct output *output, const char *what,
              const struct args *inputs, const nidus_options *asked, nidus_filter **filter)
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
	if (status.st_size > 0)
		code = set_load(path, filter);
	if (*filter)
		compare(path, asked, *filter);
	return code;
}

int kept_create(const struct command *command, const nidus_options *asked,
                const struct kept_defaults *defaults, nidus_filter **filter)
{
	nidus_options growing = *asked;
	uint64_t keys = asked->capacity;
	nidus_status status;

	growing.capacity = FIRST_KEYS < keys ? FIRST_KEYS : keys;
	growing.max_capacity = keys > 0 ? keys : NIDUS_UNLIMITED;
	growing.features |= NIDUS_GROW | defaults->features;
	if (growing.fpr == 0)
		growing.fpr = defaults->fpr;
	if (growing.value_bits == 0)
		growing.value_bits = defaults->value_bits;
	status = nidus_create(&growing, filter);
	return status == NIDUS_OK ? EXIT_OK : shape_refused(command, status);
}

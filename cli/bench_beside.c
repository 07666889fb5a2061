/* SPDX-License-Identifier: MIT */
/* Finds the folder of the running program, and starts its neighbour. */

#include "bench_beside.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report.h"

bool bench_is_beside(const char *name)
{
	return strcmp(name, "paper") == 0 || strcmp(name, "wiredtiger") == 0;
}

/* The path of a program in this program's folder; false if that is unknown. */
static bool path_beside(const char *name, char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (length <= 0)
		return false;
	path[length] = '\0';
	slash = strrchr(path, '/');
	return slash &&
	       snprintf(slash + 1, size - (size_t)(slash + 1 - path), "bench_%s", name) > 0;
}

int bench_start_beside(const char *name, char **arguments)
{
	char path[PATH_MAX + 64];

	if (path_beside(name, path, sizeof(path))) {
		execv(path, arguments);
		if (errno != ENOENT) {
			report_error("bench: %s: %s", path, strerror(errno));
			return EXIT_UNSUPPORTED;
		}
	}
	report_error("bench: '%s' is not installed with the command; build the source tree with "
	             "-DNIDUS_BUILD_BENCH=ON and run build/nidus bench %s there",
	             name, name);
	return EXIT_UNSUPPORTED;
}

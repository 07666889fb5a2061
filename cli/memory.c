/* SPDX-License-Identifier: MIT */
/* Asks the system, and the control groups of Linux in both versions. */

#include "memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_MOST 4096

/* The limit that a file holds; UINT64_MAX if it holds none ("max"). */
static uint64_t limit_in(const char *path)
{
	FILE *file = fopen(path, "r");
	uint64_t limit = UINT64_MAX;

	if (!file)
		return UINT64_MAX;
	if (fscanf(file, "%" SCNu64, &limit) != 1)
		limit = UINT64_MAX;
	fclose(file);
	return limit;
}

/* The lowest limit of a group and of those it is in. */
static uint64_t limit_of(const char *root, char *group, const char *name)
{
	char path[PATH_MOST];
	uint64_t least = UINT64_MAX;

	for (;;) {
		char *slash = strrchr(group, '/');
		uint64_t limit;

		snprintf(path, sizeof(path), "%s%s/%s", root, group, name);
		limit = limit_in(path);
		least = limit < least ? limit : least;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* A line of /proc/self/cgroup: "4:memory:/a/b", or "0::/a/b" in the second version. */
static uint64_t limit_by(char *line)
{
	char *controllers = strchr(line, ':'), *group;

	group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group)
		return UINT64_MAX;
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (strcmp(controllers, ":memory") == 0)
		return limit_of("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
	return strcmp(controllers, ":") == 0 ? limit_of("/sys/fs/cgroup", group, "memory.max")
	                                     : UINT64_MAX;
}

static uint64_t limit_of_groups(void)
{
	FILE *file = fopen("/proc/self/cgroup", "r");
	char line[PATH_MOST / 2];
	uint64_t least = UINT64_MAX;

	while (file && fgets(line, sizeof(line), file)) {
		uint64_t limit = limit_by(line);

		least = limit < least ? limit : least;
	}
	if (file)
		fclose(file);
	return least;
}

uint64_t memory_there_is(void)
{
	uint64_t limit = limit_of_groups(), machine = 0;
#ifdef _SC_PHYS_PAGES
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	if (pages > 0 && size > 0)
		machine = (uint64_t)pages * (uint64_t)size;
#endif
	if (machine == 0)
		return limit == UINT64_MAX ? 0 : limit;
	return limit < machine ? limit : machine;
}

/* SPDX-License-Identifier: MIT
 *
 * machine: asks /proc and the compiler.
 */
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The text behind "model name : ", or NULL for another line. */
static const char *model_in(char *line)
{
	char *colon = strchr(line, ':');
	if (colon == NULL || strncmp(line, "model name", 10) != 0)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return colon + 1 + strspn(colon + 1, " ");
}

const char *machine_cpu(void)
{
	static char name[128];
	if (name[0] != '\0')
		return name;
	snprintf(name, sizeof name, "unknown");
	FILE *file = fopen("/proc/cpuinfo", "r");
	if (file == NULL)
		return name;
	char line[256];
	while (fgets(line, sizeof line, file) != NULL) {
		const char *model = model_in(line);
		if (model != NULL) {
			snprintf(name, sizeof name, "%.120s", model);
			break;
		}
	}
	fclose(file);
	return name;
}

const char *machine_compiler(void)
{
#if defined(__clang__)
	return __VERSION__;
#elif defined(__GNUC__)
	return "gcc " __VERSION__;
#else
	return "unknown";
#endif
}

double machine_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

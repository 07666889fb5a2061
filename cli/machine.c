/* SPDX-License-Identifier: MIT */
/* Asks /proc, /sys and the compiler. */

#include "machine.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Reads the first line of a small system file, without its newline. */
static bool first_line(const char *path, char *line, int size)
{
	FILE *file = fopen(path, "r");
	bool read;

	if (!file)
		return false;
	read = fgets(line, size, file) != NULL;
	fclose(file);
	if (read)
		line[strcspn(line, "\n")] = '\0';
	return read;
}

/* The text behind "model name : ", or NULL for another line. */
static const char *model_in(char *line)
{
	char *colon = strchr(line, ':');

	if (!colon || strncmp(line, "model name", 10) != 0)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return colon + 1 + strspn(colon + 1, " ");
}

const char *machine_cpu(void)
{
	static char name[128];
	char line[256];
	FILE *file;

	if (name[0] != '\0')
		return name;
	snprintf(name, sizeof(name), "unknown");
	file = fopen("/proc/cpuinfo", "r");
	if (!file)
		return name;
	while (fgets(line, sizeof(line), file)) {
		const char *model = model_in(line);

		if (model) {
			snprintf(name, sizeof(name), "%.120s", model);
			break;
		}
	}
	fclose(file);
	return name;
}

/* One attribute of the first processor's cache number `index`. */
static bool cache_attribute(int index, const char *attribute, char *value, int size)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index,
	         attribute);
	return first_line(path, value, size);
}

const char *machine_caches(void)
{
	static char text[128];
	size_t used = 0;
	char level[16], type[16], size[16];

	for (int i = 0; i < 8 && used < sizeof(text); i++) {
		if (!cache_attribute(i, "level", level, sizeof(level)) ||
		    !cache_attribute(i, "type", type, sizeof(type)) ||
		    !cache_attribute(i, "size", size, sizeof(size)) ||
		    strcmp(type, "Instruction") == 0)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%sL%s %s",
		                         used > 0 ? ", " : "", level, size);
	}
	return used > 0 ? text : "unknown";
}

unsigned machine_processors(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return processors > 0 ? (unsigned)processors : 1;
}

const char *machine_huge_pages(void)
{
	static char text[64];
	char *word;

	if (!first_line("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text)))
		return "unknown";
	word = strchr(text, '['); /* "always [madvise] never" */
	if (!word)
		return "unknown";
	word[strcspn(word, "]")] = '\0';
	return word + 1;
}

uint64_t machine_huge_bytes(void)
{
	static const char name[] = "AnonHugePages:";
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	uint64_t kibibytes = 0;
	char line[128];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, sizeof(name) - 1) == 0)
			kibibytes = strtoull(line + sizeof(name) - 1, NULL, 10);
	}
	fclose(file);
	return kibibytes * 1024;
}

void machine_warm(uint64_t bytes)
{
	const size_t page = 4096;
	volatile char *memory;
	void *map;

	if (bytes == 0 || bytes > SIZE_MAX)
		return;
	map = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return;
#ifdef MADV_HUGEPAGE
	madvise(map, (size_t)bytes, MADV_HUGEPAGE);
#endif
	memory = map;
	for (size_t at = 0; at < bytes; at += page)
		memory[at] = 1;
	munmap(map, (size_t)bytes);
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

static double seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double machine_seconds(void)
{
	return seconds_of(CLOCK_MONOTONIC);
}

double machine_worked(void)
{
	return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* SPDX-License-Identifier: MIT
 *
 * bench_builder: what a build within a memory limit costs beside one without.
 *
 *     build/bench_builder KEYS MEMORY [FAMILY [FPR [FOLDER [COUNT]]]]
 *
 * Keys are the integers below KEYS. MEMORY is the limit, in MiB; FOLDER, /var/tmp, is where the temporary file
 * and the filter go. With COUNT, `count`, no capacity is given, so that keys are counted first; with `limited` only the build
 * within the limit is made, for numbers of keys whose hashes would not fit otherwise. Printed are
 * processor time, bytes of the temporary file, and the most memory that the process had. The two
 * files must be the same.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nidus.h>

#define BATCH 4096

static uint64_t keys;

static void check(nidus_status status)
{
	if (status == NIDUS_OK)
		return;
	fprintf(stderr, "%s: %s\n", nidus_status_name(status), nidus_reason());
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void build_in_memory(const nidus_options *options, const char *path)
{
	nidus_filter *filter;
	uint64_t *all = malloc(keys * sizeof *all);
	if (all == NULL)
		exit(1);
	for (uint64_t i = 0; i < keys; i++)
		all[i] = i;
	check(nidus_build_u64(options, all, keys, 1, &filter));
	check(nidus_save(filter, path));
	nidus_free(filter);
	free(all);
}

static void build_limited(const nidus_options *options, uint64_t memory, const char *folder,
                          const char *path)
{
	nidus_builder *builder;
	nidus_builder_info info = NIDUS_BUILDER_INFO_INIT;
	uint64_t batch[BATCH];
	check(nidus_builder_create(options, memory, folder, 1, &builder));
	for (uint64_t i = 0; i < keys;) {
		size_t n = 0;
		while (n < BATCH && i < keys)
			batch[n++] = i++;
		check(nidus_builder_add_u64_batch(builder, batch, n, NULL));
	}
	printf("limited: %.1f s of processor time to add keys\n",
	       seconds(CLOCK_PROCESS_CPUTIME_ID));
	check(nidus_builder_save(builder, path));
	check(nidus_builder_get_info(builder, &info));
	printf("limited: temporary file: %.2f bytes written and %.2f read per key\n",
	       (double)info.written / (double)keys, (double)info.read / (double)keys);
	nidus_builder_free(builder);
}

/* Makes a file in a process of its own, and tells what that took. */
static void measure(const char *name, const nidus_options *options, uint64_t memory,
                    const char *folder, const char *path)
{
	double start = seconds(CLOCK_MONOTONIC);
	struct rusage usage;
	int status;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		if (memory == 0)
			build_in_memory(options, path);
		else
			build_limited(options, memory, folder, path);
		exit(0);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
		exit(1);
	double user = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6;
	double system = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6;
	printf("%s: %.1f s of processor time (%.1f user, %.1f system), %.0f s in all; "
	       "%ld MiB at most\n",
	       name, user + system, user, system, seconds(CLOCK_MONOTONIC) - start,
	       usage.ru_maxrss / 1024);
}

static bool same(const char *a, const char *b)
{
	static char left[1 << 20], right[1 << 20];
	FILE *first = fopen(a, "rb"), *second = fopen(b, "rb");
	size_t n, m;
	bool equal = first != NULL && second != NULL;
	while (equal) {
		n = fread(left, 1, sizeof left, first);
		m = fread(right, 1, sizeof right, second);
		equal = n == m && memcmp(left, right, n) == 0;
		if (n == 0)
			break;
	}
	if (first != NULL)
		fclose(first);
	if (second != NULL)
		fclose(second);
	return equal;
}

int main(int argc, char **argv)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	char limited[512], whole[512];
	const char *how = argc > 6 ? argv[6] : "";
	const char *folder = argc > 5 ? argv[5] : "/var/tmp";
	if (argc < 3 ||
	    nidus_family_by_name(argc > 3 ? argv[3] : "windowed", &options.family) != NIDUS_OK) {
		fputs("usage: bench_builder KEYS MEMORY [FAMILY [FPR [FOLDER [count|limited]]]]\n",
		      stderr);
		return 2;
	}
	keys = (uint64_t)strtod(argv[1], NULL);
	options.seed = 1;
	options.fpr = argc > 4 ? strtod(argv[4], NULL) : 0;
	options.capacity = strcmp(how, "count") == 0 ? 0 : keys;
	snprintf(limited, sizeof limited, "%s/bench-builder-limited.nidus", folder);
	snprintf(whole, sizeof whole, "%s/bench-builder-whole.nidus", folder);
	measure("limited", &options, strtoull(argv[2], NULL, 10) << 20, folder, limited);
	if (strcmp(how, "limited") != 0) {
		measure("in memory", &options, 0, folder, whole);
		puts(same(limited, whole) ? "the files are the same" : "THE FILES DIFFER");
	}
	unlink(limited);
	unlink(whole);
	return 0;
}

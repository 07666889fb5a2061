/* SPDX-License-Identifier: MIT */
/*
 * Shares one filter among processes: it is saved once, and each process maps the file.
 *
 * nidus_open reads nothing but the header, so a process can ask at once however large the
 * filter is, and all processes share the same pages of memory.
 */
#define _XOPEN_SOURCE 700

#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEYS 100000
#define PROCESSES 4

static int fail(void)
{
	fprintf(stderr, "%s\n", nidus_reason());
	return 1;
}

static int save(const char *path)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = KEYS;
	nidus_filter *filter;
	if (nidus_create(&options, &filter) != NIDUS_OK)
		return fail();
	for (uint64_t key = 0; key < KEYS; key++)
		nidus_insert_u64(filter, key);
	int code = nidus_save(filter, path) == NIDUS_OK ? 0 : fail();
	nidus_free(filter);
	return code;
}

/* Each process asks for its share of the keys. */
static int work(const char *path, int number)
{
	nidus_filter *filter;
	if (nidus_open(path, 0, &filter) != NIDUS_OK)
		return fail();
	uint64_t missed = 0;
	for (uint64_t key = (uint64_t)number; key < KEYS; key += PROCESSES)
		missed += !nidus_contains_u64(filter, key);
	nidus_free(filter);
	return missed == 0 ? 0 : 1;
}

int main(void)
{
	char path[] = "shared-XXXXXX";
	int file = mkstemp(path), code, good = 0;
	if (file < 0 || save(path) != 0)
		return 1;
	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0)
			_exit(work(path, i));
	for (int i = 0; i < PROCESSES; i++)
		good += wait(&code) > 0 && code == 0;
	printf("%d of %d processes found all of their keys\n", good, PROCESSES);
	close(file);
	unlink(path);
	return good == PROCESSES ? 0 : 1;
}

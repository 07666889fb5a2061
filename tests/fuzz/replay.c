/* SPDX-License-Identifier: MIT
 *
 * replay: runs a fuzz target on every file of the folders that are named, without
 * a fuzzer. Files in a folder come in the order of their names; folders that do
 * not exist are passed over.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed.h"

static int no_hidden_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The file's bytes in a block of exactly their size, so that ASan sees every overrun. */
static unsigned char *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	long end = -1;
	if (file != NULL && fseek(file, 0, SEEK_END) == 0)
		end = ftell(file);
	unsigned char *bytes = end >= 0 ? malloc((size_t)end + (end == 0)) : NULL;
	if (bytes != NULL) {
		rewind(file);
		*size = fread(bytes, 1, (size_t)end, file);
	}
	if (file != NULL)
		fclose(file);
	return bytes;
}

static int replay_file(const char *path)
{
	size_t size = 0;
	unsigned char *bytes = read_all(path, &size);
	if (bytes == NULL) {
		perror(path);
		return -1;
	}
	printf("%s\n", path); /* the last one printed is the one that crashed */
	fflush(stdout);
	LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	return 0;
}

/* Answers how many files were replayed, or -1. */
static int replay_folder(const char *folder)
{
	struct dirent **names;
	int n = scandir(folder, &names, no_hidden_file, alphasort), replayed = 0;
	for (int i = 0; i < n; i++) {
		char path[1000];
		snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
		free(names[i]);
		if (replayed >= 0)
			replayed = replay_file(path) == 0 ? replayed + 1 : -1;
	}
	if (n >= 0)
		free(names);
	return replayed;
}

int main(int argc, char **argv)
{
	int replayed = 0;
	for (int i = 1; i < argc; i++) {
		int here = replay_folder(argv[i]);
		if (here < 0)
			return 1;
		replayed += here;
	}
	printf("%d files\n", replayed);
	if (replayed == 0)
		fputs("replay: there is nothing to replay\n", stderr);
	return replayed == 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Refuses leaked passwords without keeping them.
 *
 *     leaked_passwords leaked.txt leaked.nidus     makes the filter, once
 *     leaked_passwords leaked.nidus < candidates   says of each whether it has leaked
 *
 * Two and a half bytes per password instead of the list. One good password of a million is
 * refused by mistake; a leaked one is never accepted. Keep the filter as safe as the list: who
 * has it can test guesses.
 */
#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	return 1;
}

static size_t length_of(const char *line)
{
	return strcspn(line, "\n");
}

static size_t count_lines(FILE *file)
{
	char line[1024];
	size_t lines = 0;
	while (fgets(line, sizeof line, file))
		lines++;
	rewind(file);
	return lines;
}

/* A filter without keys draws a seed, and hashes with it. */
static nidus_status hash_lines(FILE *file, nidus_options *options, uint64_t *hashes, size_t n)
{
	char line[1024];
	nidus_filter *hasher;
	nidus_info info = NIDUS_INFO_INIT;
	options->capacity = 1;
	nidus_status status = nidus_create(options, &hasher);
	if (status != NIDUS_OK)
		return status;
	nidus_get_info(hasher, &info);
	options->seed = info.seed;
	options->capacity = 0; /* as many as there are */
	for (size_t i = 0; i < n && fgets(line, sizeof line, file); i++)
		hashes[i] = nidus_hash(hasher, line, length_of(line));
	nidus_free(hasher);
	return NIDUS_OK;
}

static nidus_status build(FILE *file, const char *to)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	size_t n = count_lines(file);
	uint64_t *hashes = calloc(n + 1, sizeof *hashes);
	nidus_filter *leaked = NULL;
	options.features = NIDUS_STATIC; /* the list is shipped and never changes */
	options.fpr = 1e-6;
	nidus_status status = NIDUS_E_NOMEM;
	if (hashes != NULL)
		status = hash_lines(file, &options, hashes, n);
	if (status == NIDUS_OK)
		status = nidus_build_hashes(&options, hashes, n, 4, &leaked);
	if (status == NIDUS_OK)
		status = nidus_save(leaked, to);
	nidus_free(leaked);
	free(hashes);
	return status;
}

static int make(const char *from, const char *to)
{
	FILE *file = fopen(from, "r");
	if (file == NULL)
		return fail(from);
	nidus_status status = build(file, to);
	fclose(file);
	return status == NIDUS_OK ? 0 : fail(nidus_reason());
}

static int check(const char *path)
{
	nidus_filter *leaked;
	if (nidus_open(path, NIDUS_OPEN_VERIFY, &leaked) != NIDUS_OK)
		return fail(nidus_reason());
	char line[1024];
	while (fgets(line, sizeof line, stdin)) {
		size_t length = length_of(line);
		printf("%.*s: %s\n", (int)length, line,
		       nidus_contains(leaked, line, length) ? "refused, it has leaked" : "fine");
	}
	nidus_free(leaked);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return make(argv[1], argv[2]);
	if (argc == 2)
		return check(argv[1]);
	return fail("usage: leaked_passwords leaked.txt leaked.nidus | leaked.nidus < candidates");
}

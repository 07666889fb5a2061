/* SPDX-License-Identifier: MIT */
/*
 * Refuses leaked passwords without keeping them.
 *
 *     leaked_passwords leaked.txt leaked.nidus     makes the filter, once
 *     leaked_passwords leaked.nidus < candidates   says of each whether it has leaked
 *
 * Three bytes per password instead of the list. One good password of a million is refused by
 * mistake; a leaked one is never accepted. Keep the filter as safe as the list: who has it can
 * test guesses.
 */
#include <nidus.h>
#include <stdio.h>
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

static uint64_t count_lines(FILE *file)
{
	char line[1024];
	uint64_t lines = 0;
	while (fgets(line, sizeof line, file))
		lines++;
	rewind(file);
	return lines;
}

static nidus_status insert_lines(FILE *file, nidus_filter *filter)
{
	char line[1024];
	nidus_status status = NIDUS_OK;
	while ((status == NIDUS_OK || status == NIDUS_PRESENT) && fgets(line, sizeof line, file))
		status = nidus_insert_new(filter, line, length_of(line));
	return status == NIDUS_PRESENT ? NIDUS_OK : status;
}

static int make(const char *from, const char *to)
{
	nidus_filter *leaked;
	FILE *file = fopen(from, "r");
	if (file == NULL)
		return fail(from);
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = count_lines(file);
	options.fpr = 1e-6;
	nidus_status status = nidus_create(&options, &leaked);
	if (status == NIDUS_OK)
		status = insert_lines(file, leaked);
	if (status == NIDUS_OK)
		status = nidus_save(leaked, to);
	fclose(file);
	nidus_free(leaked);
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

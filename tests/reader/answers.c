/* SPDX-License-Identifier: MIT
 *
 * answers: what the library says of a file, for readers that were not made of it.
 *
 *     answers load            reads files from standard input, each as a line with its
 *                             size and then its bytes; prints the status of loading
 *     answers keys FILE       reads keys from standard input and prints for each
 *                             its hash, whether it is there, its copies, and their values
 *                             if the filter keeps any, or its age if it forgets
 *
 * A key is a line: `b` and bytes in hexadecimal, `u` and a 64-bit integer, or `h`
 * and a hash. tests/reader/agree.py compares with tools/nidus_read.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nidus.h"

#define LINE_MOST 20000   /* characters of a line */
#define FILE_MOST 1000000 /* bytes of a file to load */
#define VALUES_MOST 1000  /* of a key */

static int load_all(void)
{
	static unsigned char bytes[FILE_MOST];
	size_t size;
	while (scanf("%zu", &size) == 1 && getchar() == '\n' && size <= FILE_MOST &&
	       fread(bytes, 1, size, stdin) == size) {
		nidus_filter *filter;
		nidus_status status = nidus_load_buffer(bytes, size, NULL, &filter);
		printf("%s %s\n", nidus_status_name(status),
		       status == NIDUS_OK ? "" : nidus_reason());
		nidus_free(filter);
	}
	return 0;
}

/* Two characters per byte. Answers how many bytes there were. */
static size_t bytes_of(const char *text, unsigned char *bytes)
{
	size_t n = 0;
	unsigned byte;
	while (sscanf(text + 2 * n, "%2x", &byte) == 1)
		bytes[n++] = (unsigned char)byte;
	return n;
}

static uint64_t hash_of(const nidus_filter *filter, const char *line)
{
	static unsigned char bytes[LINE_MOST / 2];
	switch (line[0]) {
	case 'b':
		return nidus_hash(filter, bytes, bytes_of(line + 2, bytes));
	case 'u':
		return nidus_hash_u64(filter, strtoull(line + 2, NULL, 0));
	default:
		return strtoull(line + 2, NULL, 0);
	}
}

static int answer_keys(const char *path)
{
	static char line[LINE_MOST];
	nidus_filter *filter;
	if (nidus_load(path, &filter) != NIDUS_OK) {
		fprintf(stderr, "answers: %s: %s\n", path, nidus_reason());
		return 1;
	}
	nidus_info info = NIDUS_INFO_INIT;
	(void)nidus_get_info(filter, &info);
	while (fgets(line, sizeof line, stdin) != NULL) {
		uint64_t hash = hash_of(filter, line), values[VALUES_MOST];
		printf("%" PRIu64 " %d %" PRIu64, hash, nidus_contains_hash(filter, hash),
		       nidus_count_key_hash(filter, hash));
		size_t found = nidus_find_hash(filter, hash, values, VALUES_MOST);
		for (size_t i = 0; i < found && i < VALUES_MOST && info.value_bits > 0; i++)
			printf(" %" PRIu64, values[i]);
		if (info.slices > 0)
			printf(" %d", nidus_age_hash(filter, hash));
		putchar('\n');
	}
	nidus_free(filter);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "load") == 0)
		return load_all();
	if (argc == 3 && strcmp(argv[1], "keys") == 0)
		return answer_keys(argv[2]);
	fputs("usage: answers load\n       answers keys FILE\n", stderr);
	return 2;
}

/* SPDX-License-Identifier: MIT */
/*
 * Finds the heavy hitters of a stream: counts every line in a few bits and prints a line when it
 * comes for the tenth time.
 *
 *     counts < access.log
 *
 * A filter with options.value_bits keeps a number beside each key; nidus_add_count adds to it.
 * Five bits count to 31 and stay there. A count is never too low; at the rate it is too high,
 * because two lines that look the same are counted together.
 */
#include <nidus.h>
#include <stdio.h>
#include <string.h>

#define MANY 10

int main(void)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = 1000;
	options.max_capacity = 1000000;
	options.fpr = 1e-6;
	options.value_bits = 5;

	nidus_filter *seen;
	if (nidus_create(&options, &seen) != NIDUS_OK) {
		fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}

	char line[4096];
	int code = 0;
	while (code == 0 && fgets(line, sizeof line, stdin)) {
		size_t length = strcspn(line, "\n");
		if (nidus_add_count(seen, line, length, 1) != NIDUS_OK) {
			fprintf(stderr, "%s\n", nidus_reason());
			code = 1;
		} else if (nidus_get_count(seen, line, length) == MANY) {
			printf("%.*s came %d times\n", (int)length, line, MANY);
		}
	}
	nidus_free(seen);
	return code;
}

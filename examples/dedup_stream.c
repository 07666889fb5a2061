/* SPDX-License-Identifier: MIT */
/*
 * Drops the duplicates of a stream: prints each line the first time it comes.
 *
 *     dedup_stream < access.log
 *
 * The filter starts small and grows with the stream, so its memory follows the number of
 * different lines. A new line is dropped by mistake with the probability fpr.
 */
#include <nidus.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = 1000;           /* to begin with */
	options.max_capacity = 1000000000; /* and to end with */
	options.fpr = 1e-6;

	nidus_filter *seen;
	if (nidus_create(&options, &seen) != NIDUS_OK) {
		fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}

	char line[4096];
	int code = 0;
	while (code == 0 && fgets(line, sizeof line, stdin)) {
		/* One call asks and remembers: OK says that the line is new. */
		nidus_status status = nidus_insert_new(seen, line, strlen(line));
		if (status == NIDUS_OK) {
			fputs(line, stdout);
		} else if (status != NIDUS_PRESENT) {
			fprintf(stderr, "%s\n", nidus_reason());
			code = 1;
		}
	}
	nidus_free(seen);
	return code;
}

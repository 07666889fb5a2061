/* SPDX-License-Identifier: MIT */
/*
 * Drops what a live log repeats: a message is printed unless the same one came in the last ten minutes.
 *
 *     live_log < events.log
 *
 * Each line begins with a time in seconds: "1700000000 disk sda: read error". The filter forgets what is
 * older, in ten steps of a bit more than a minute, so that it stays as small as ten minutes are.
 */
#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 600 /* seconds */
#define SLICES 11  /* a message is found for ten whole ones and a part */
#define SLICE (WINDOW / (SLICES - 1))

int main(void)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = 1000;
	options.max_capacity = 1000000; /* different messages in ten minutes, at most */
	options.fpr = 1e-6;             /* how often a new message is lost */
	options.slices = SLICES;

	nidus_filter *seen;
	if (nidus_create(&options, &seen) != NIDUS_OK) {
		fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}

	char line[4096], *message;
	long long slice = 0;
	int code = 0;
	while (code == 0 && fgets(line, sizeof line, stdin)) {
		long long now = strtoll(line, &message, 10) / SLICE;
		if (now - slice > SLICES) /* nothing is older than that */
			slice = now - SLICES;
		for (; slice < now; slice++)
			nidus_tick(seen);
		if (nidus_age(seen, message, strlen(message)) < 0)
			fputs(line, stdout);
		if (nidus_insert(seen, message, strlen(message)) != NIDUS_OK) {
			fprintf(stderr, "%s\n", nidus_reason());
			code = 1;
		}
	}
	nidus_free(seen);
	return code;
}

/* SPDX-License-Identifier: MIT */
/* A user's program: it must build and run against the installed library. */
#include <nidus.h>
#include <stdio.h>

int main(void)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	options.capacity = 1000;
	if (nidus_create(&options, &filter) != NIDUS_OK) {
		fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}
	nidus_status status = nidus_insert(filter, "heron", 5);
	bool found = nidus_contains(filter, "heron", 5);
	nidus_free(filter);
	printf("nidus %s: %s\n", nidus_version(), found ? "found" : "not found");
	return status == NIDUS_OK && found ? 0 : 1;
}

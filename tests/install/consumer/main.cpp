/* SPDX-License-Identifier: MIT */
/* A user's program in C++: it must build and run against the installed library. */
#include <nidus.h>

#include <cstdio>

int main()
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter = nullptr;
	options.capacity = 1000;
	if (nidus_create(&options, &filter) != NIDUS_OK) {
		std::fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}
	bool found = nidus_insert_u64(filter, 7) == NIDUS_OK && nidus_contains_u64(filter, 7);
	nidus_free(filter);
	std::printf("nidus %s from C++: %s\n", nidus_version(), found ? "found" : "not found");
	return found ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/* A user's program in C++: it must build and run against the installed library. */
#include <nidus.hpp>

#include <cstdio>

int main()
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus::filter filter;
	options.capacity = 1000;
	if (nidus::filter::create(options, filter) != NIDUS_OK) {
		std::fprintf(stderr, "%s\n", nidus_reason());
		return 1;
	}
	bool found = filter.insert(7) == NIDUS_OK && filter.contains(7);
	std::printf("nidus %s from C++: %s\n", nidus_version(), found ? "found" : "not found");
	return found ? 0 : 1;
}

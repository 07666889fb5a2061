// SPDX-License-Identifier: MIT
// nidus.h is a C++ header too: it compiles, its initialisers work and its functions link.
#include <nidus.h>

#include <cstdio>
#include <cstring>

int main()
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_info info = NIDUS_INFO_INIT;
	if (options.struct_size != sizeof options || options.capacity != 0)
		return 1;
	if (info.struct_size != sizeof info)
		return 2;

	char header[32];
	std::snprintf(header, sizeof header, "%d.%d.%d", NIDUS_VERSION_MAJOR, NIDUS_VERSION_MINOR,
	              NIDUS_VERSION_PATCH);
	if (std::strcmp(header, nidus_version()) != 0)
		return 3;

	options.capacity = 100;
	nidus_filter *filter = nullptr;
	if (nidus_create(&options, &filter) != NIDUS_OK)
		return 4;
	bool found =
		nidus_insert(filter, "heron", 5) == NIDUS_OK && nidus_contains(filter, "heron", 5);
	nidus_free(filter);
	return found ? 0 : 5;
}

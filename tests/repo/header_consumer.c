/* SPDX-License-Identifier: MIT
 *
 * A program that is C99 and C++11 at the same time, as strict as its users may be: the
 * test `repo.header` compiles it in every dialect with every compiler there is, all warnings
 * being errors, and runs it.
 */
#include <nidus.h>

#include <stdio.h>
#include <string.h>

struct both {
	nidus_options options;
	nidus_info info;
};

static const nidus_options defaults = NIDUS_OPTIONS_INIT;

/* Every initialiser that the header tells to start from. */
static int check_initialisers(void)
{
	struct both both = { NIDUS_OPTIONS_INIT, NIDUS_INFO_INIT };
	if (both.options.struct_size != sizeof both.options || both.options.capacity != 0 ||
	    both.options.allocator.alloc != NULL)
		return 1;
	if (both.info.struct_size != sizeof both.info || both.info.readonly)
		return 2;
	return defaults.struct_size == sizeof defaults ? 0 : 3;
}

static int check_version(void)
{
	char header[32];
	snprintf(header, sizeof header, "%d.%d.%d", NIDUS_VERSION_MAJOR, NIDUS_VERSION_MINOR,
	         NIDUS_VERSION_PATCH);
	return strcmp(header, nidus_version()) == 0 ? 0 : 4;
}

static int check_calls(void)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_filter *filter;
	uint64_t entries = 0;
	bool found;
	options.capacity = 100;
	options.fpr = NIDUS_FPR_MOST;
	options.features = NIDUS_DELETE | NIDUS_ENUMERATE;
	options.stash = NIDUS_STASH_OFF;
	options.reserve = NIDUS_RESERVE_NONE;
	if (nidus_create(&options, &filter) != NIDUS_OK)
		return 5;
	found = nidus_insert(filter, "heron", 5) == NIDUS_OK && nidus_contains(filter, "heron", 5);
	while (nidus_next(filter, &cursor, &entry))
		entries++;
	nidus_free(filter);
	return found && entries == 1 ? 0 : 6;
}

int main(void)
{
	int code = check_initialisers();
	if (code == 0)
		code = check_version();
	if (code == 0)
		code = check_calls();
	return code;
}

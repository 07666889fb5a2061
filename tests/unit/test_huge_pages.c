/* SPDX-License-Identifier: MIT
 *
 * Tables of 2 MiB and more lie where the kernel may use huge pages, however the
 * filter came about; without huge pages all works the same.
 *
 * Linux tells in /proc/self/smaps: a mapping that was advised has the flag "hg".
 * Where there is no such file, or madvise is refused, that test is skipped.
 */
#include "api/filter.h"
#include "base/os.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/folder.h"

#define CAPACITY 4000000 /* 4 MiB and more in every family */

enum advice { ADVISED, NOT_ADVISED, UNKNOWN };

/* What smaps says of the mapping that holds an address. */
static enum advice advice_of(const void *address)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	if (maps == NULL)
		return UNKNOWN;
	char line[512];
	bool here = false;
	enum advice advice = UNKNOWN;
	while (advice == UNKNOWN && fgets(line, sizeof line, maps) != NULL) {
		unsigned long start, end;
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (uintptr_t)address >= start && (uintptr_t)address < end;
		else if (here && strncmp(line, "VmFlags:", 8) == 0)
			advice = strstr(line, " hg") != NULL ? ADVISED : NOT_ADVISED;
	}
	fclose(maps);
	return advice;
}

/* Whether this system takes the advice at all. */
static bool system_has_huge_pages(void)
{
	size_t size = (size_t)4 << 20;
	void *memory = os.map_zeroed(size);
	expect(memory != NULL);
	enum advice advice = advice_of(memory);
	os.unmap(memory, size);
	return advice == ADVISED;
}

static void expect_advised(const nidus_filter *filter, const char *how)
{
	uint64_t size;
	const unsigned char *table = filter->family->table(filter_body(filter), &size);
	check_note("%s, %s: %llu bytes", filter->family->name, how, (unsigned long long)size);
	expect(size >= (uint64_t)2 << 20);
	expect(advice_of(table) == ADVISED);
	expect(advice_of(table + size / 2) == ADVISED);
}

static void look_at_family(const struct family *family)
{
	nidus_options options = filter_options(CAPACITY, 0x1p-8, 9);
	nidus_filter *filter, *other;
	options.family = family->id;
	filter = filter_of_keys(&options, 17, 18);
	expect_advised(filter, "created");
	expect_ok(nidus_clone(filter, &other));
	expect_advised(other, "cloned");
	nidus_free(other);
	expect_ok(nidus_save(filter, folder_path("huge")));
	expect_ok(nidus_load(folder_path("huge"), &other));
	expect_advised(other, "loaded");
	nidus_free(other);
	nidus_free(filter);
}

static void large_tables_are_advised_however_they_came_about(void **state)
{
	(void)state;
	if (!system_has_huge_pages()) {
		skip();
		return;
	}
	for (const struct family *const *family = families; *family != NULL; family++)
		look_at_family(*family);
}

static void *map_without_advice(size_t size)
{
	return calloc(1, size);
}

static void unmap_without_advice(void *memory, size_t size)
{
	(void)size;
	free(memory);
}

static void without_huge_pages_all_works_the_same(void **state)
{
	(void)state;
	struct os_calls real = os;
	nidus_options options = filter_options(CAPACITY, 0x1p-8, 9);
	nidus_filter *with = filter_create(&options), *without;
	os.map_zeroed = map_without_advice;
	os.unmap = unmap_without_advice;
	without = filter_create(&options);
	for (uint64_t key = 0; key < 100000; key++) {
		expect_ok(nidus_insert_u64(with, key));
		expect_ok(nidus_insert_u64(without, key));
	}
	expect(filters_equal(with, without));
	nidus_free(without);
	os = real;
	nidus_free(with);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(large_tables_are_advised_however_they_came_about,
		                                folder_setup, folder_teardown),
		cmocka_unit_test(without_huge_pages_all_works_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

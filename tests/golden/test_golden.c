/* SPDX-License-Identifier: MIT
 *
 * Tests that every file of tests/golden/ can be read as on the day it was made.
 *
 * These files stand for all that people have on their disks: if one of them fails,
 * the library is wrong, never the file.
 */
#include <dirent.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/filters.h"
#include "support/golden.h"

/* Reads a whole file of the folder; a zero byte follows it. */
static struct bytes read_golden(const char *name, const char *ending)
{
	char path[1000];
	snprintf(path, sizeof path, GOLDEN_FOLDER "/%s%s", name, ending);
	FILE *file = fopen(path, "rb");
	check_note("%s", path);
	expect(file != NULL);
	struct bytes bytes = { check_alloc(1 << 16), 0 };
	bytes.size = fread(bytes.data, 1, (1 << 16) - 1, file);
	bytes.data[bytes.size] = '\0';
	fclose(file);
	return bytes;
}

static void expect_described(const nidus_filter *filter, const struct bytes *expected)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	expect(file != NULL);
	golden_describe(filter, file);
	expect_equal(fclose(file), 0);
	expect(strcmp(text, (const char *)expected->data) == 0);
	free(text);
}

typedef void (*golden_visitor)(const char *name, const struct bytes *file,
                               const struct bytes *expected);

/* Visits every file; answers how many there are. */
static unsigned each_golden(golden_visitor visit)
{
	unsigned n = 0;
	DIR *folder = opendir(GOLDEN_FOLDER);
	expect(folder != NULL);
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		char name[256];
		snprintf(name, sizeof name, "%s", entry->d_name);
		char *ending = strrchr(name, '.');
		if (ending == NULL || strcmp(ending, ".nidus") != 0)
			continue;
		*ending = '\0';
		struct bytes file = read_golden(name, ".nidus");
		struct bytes expected = read_golden(name, ".expected");
		check_note("%s", name);
		visit(name, &file, &expected);
		bytes_free(&file);
		bytes_free(&expected);
		n++;
	}
	closedir(folder);
	return n;
}

/* Whether a family has its files, by number of families. */
static unsigned files_of[16];

static void load_one(const char *name, const struct bytes *file, const struct bytes *expected)
{
	(void)name;
	nidus_filter *filter;
	expect_ok(nidus_load_buffer(file->data, file->size, NULL, &filter));
	expect_ok(nidus_verify(filter, NULL));
	expect_described(filter, expected);
	expect(bytes_match(file, filter));
	files_of[info_of(filter).family]++;
	nidus_free(filter);
}

static void golden_files_load_and_are_saved_as_they_were(void **state)
{
	(void)state;
	expect(each_golden(load_one) >= 70);
	for (const struct family *const *family = families; *family != NULL; family++) {
		check_note("files of %s", (*family)->name);
		expect(files_of[(*family)->id] >= 4);
	}
}

static void open_one(const char *name, const struct bytes *file, const struct bytes *expected)
{
	char path[1000];
	nidus_filter *filter;
	snprintf(path, sizeof path, GOLDEN_FOLDER "/%s.nidus", name);
	for (unsigned flags = 0; flags <= NIDUS_OPEN_VERIFY; flags += NIDUS_OPEN_VERIFY) {
		expect_ok(nidus_open(path, flags, &filter));
		expect_described(filter, expected);
		expect(bytes_match(file, filter));
		nidus_free(filter);
	}
}

static void golden_files_open_in_place(void **state)
{
	(void)state;
	expect(each_golden(open_one) > 0);
}

/* One more key and one less: what is loaded can be worked with. */
static void change_one(const char *name, const struct bytes *file, const struct bytes *expected)
{
	(void)name;
	(void)expected;
	nidus_filter *filter;
	expect_ok(nidus_load_buffer(file->data, file->size, NULL, &filter));
	uint64_t hash = golden_hash(filter, 1000);
	nidus_info info = info_of(filter);
	if (info.features & NIDUS_STATIC) {
		expect_status(nidus_insert_hash(filter, hash), NIDUS_E_UNSUPPORTED);
		nidus_free(filter);
		return;
	}
	bool crowded = info.count > info.capacity; /* made full to the brim */
	nidus_status status = nidus_insert_hash(filter, hash);
	if (status == NIDUS_FULL && crowded) {
		expect(bytes_match(file, filter));
	} else {
		expect_ok(status);
		expect(nidus_contains_hash(filter, hash));
		if (info.features & NIDUS_DELETE)
			expect_ok(nidus_remove_hash(filter, hash));
	}
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

static void golden_files_can_be_changed(void **state)
{
	(void)state;
	expect(each_golden(change_one) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_files_load_and_are_saved_as_they_were),
		cmocka_unit_test(golden_files_open_in_place),
		cmocka_unit_test(golden_files_can_be_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

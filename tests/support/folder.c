/* SPDX-License-Identifier: MIT
 *
 * folder: mkdtemp and its cleaning.
 */
#include "support/folder.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

static char folder[200];

static bool real_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

int folder_setup(void **state)
{
	(void)state;
	const char *base = getenv("TMPDIR");
	snprintf(folder, sizeof folder, "%s/nidus-test-XXXXXX", base != NULL ? base : "/tmp");
	return mkdtemp(folder) != NULL ? 0 : -1;
}

int folder_teardown(void **state)
{
	(void)state;
	DIR *dir = opendir(folder);
	for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
		const char *path = folder_path(entry->d_name);
		if (real_entry(entry) && unlink(path) != 0)
			(void)rmdir(path);
	}
	if (dir != NULL)
		closedir(dir);
	return rmdir(folder);
}

const char *folder_path(const char *name)
{
	static char paths[8][500];
	static unsigned turn;
	char *path = paths[turn++ % 8];
	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

unsigned folder_entries(void)
{
	unsigned entries = 0;
	DIR *dir = opendir(folder);
	expect(dir != NULL);
	for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
		entries += real_entry(entry);
	closedir(dir);
	return entries;
}

struct bytes folder_read(const char *name)
{
	struct bytes bytes;
	FILE *file = fopen(folder_path(name), "rb");
	expect(file != NULL);
	expect(fseek(file, 0, SEEK_END) == 0);
	bytes.size = (size_t)ftell(file);
	rewind(file);
	bytes.data = check_alloc(bytes.size);
	expect_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
	fclose(file);
	return bytes;
}

void folder_write(const char *name, const void *data, size_t size)
{
	/* A new file each time: some systems put what is overwritten on the disk at once. */
	(void)unlink(folder_path(name));
	FILE *file = fopen(folder_path(name), "wb");
	expect(file != NULL);
	expect_equal(fwrite(data, 1, size, file), size);
	expect(fclose(file) == 0);
}

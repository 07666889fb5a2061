/* SPDX-License-Identifier: MIT
 *
 * Saving and loading while the system fails: each call of store/file once, and
 * what a disk, a link, a mode or a folder can do to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"
#include "support/folder.h"

/* A filter with a stash, so that all sections are written. */
static nidus_filter *sample(uint64_t seed)
{
	nidus_options options = filter_options(60, 0.01, seed);
	nidus_filter *filter = filter_create(&options);
	for (unsigned i = 0; i < 40; i++)
		(void)nidus_insert_u64(filter, i % 2); /* COPIES in the end */
	for (unsigned i = 2; i < 40; i++)
		(void)nidus_insert_new_u64(filter, i);
	expect(info_of(filter).stashed > 0);
	return filter;
}

static bool file_is(const char *name, const struct bytes *bytes)
{
	struct bytes now = folder_read(name);
	bool same = now.size == bytes->size && memcmp(now.data, bytes->data, now.size) == 0;
	bytes_free(&now);
	return same;
}

static bool exists(const char *name)
{
	struct stat status;
	return lstat(folder_path(name), &status) == 0;
}

/* --------------------------------------------------------------- each call fails once -- */

/* `old` is what the file held before, or NULL if there was none. Gives how many calls failed. */
static unsigned expect_saves_survive(const struct bytes *old, int error)
{
	nidus_filter *filter = sample(2);
	struct bytes new = bytes_save(filter);
	unsigned failures = 0;
	for (uint64_t at = 1;; at++) {
		(void)unlink(folder_path("filter"));
		if (old != NULL)
			folder_write("filter", old->data, old->size);
		faults_in_files(at, error);
		errno = 0;
		nidus_status status = nidus_save(filter, folder_path("filter"));
		int errno_after = errno;
		bool happened = faults_happened(), renamed = faults_after_rename();
		const char *name = faults_name();
		faults_restore();
		check_note("call %llu, %s, %s", (unsigned long long)at, name,
		           old != NULL ? "over an old file" : "a new file");
		if (!happened) {
			expect_ok(status);
			expect(file_is("filter", &new));
			break;
		}
		/* At most the file itself is there: nothing temporary. */
		expect_equal(folder_entries(), exists("filter"));
		if (status == NIDUS_OK) {
			/* What cannot be synced by its folder, or closed after that, is still saved. */
			expect(renamed && file_is("filter", &new));
			continue;
		}
		failures++;
		expect_status(status, NIDUS_E_IO);
		expect_equal(errno_after, error);
		expect(strstr(nidus_reason(), strerror(error)) != NULL);
		/* Too late to go back then; whole all the same, and the reason says so. */
		expect_equal(strstr(nidus_reason(), "is written") != NULL, renamed);
		if (renamed)
			expect(file_is("filter", &new));
		else if (old != NULL)
			expect(file_is("filter", old));
		else
			expect(!exists("filter"));
	}
	bytes_free(&new);
	nidus_free(filter);
	return failures;
}

static void each_failing_call_leaves_the_old_file(void **state)
{
	(void)state;
	struct bytes old = { (unsigned char *)"an old file", 11 };
	expect(expect_saves_survive(&old, EIO) >= 8);
	expect(expect_saves_survive(&old, ENOSPC) >= 8);
}

static void each_failing_call_leaves_no_new_file(void **state)
{
	(void)state;
	expect(expect_saves_survive(NULL, EDQUOT) >= 6);
}

static void each_failing_call_of_a_load_is_told(void **state)
{
	(void)state;
	nidus_filter *filter = sample(3), *loaded;
	expect_ok(nidus_save(filter, folder_path("filter")));
	unsigned failures = 0;
	for (uint64_t at = 1;; at++) {
		faults_in_files(at, EIO);
		errno = 0;
		nidus_status status = nidus_load(folder_path("filter"), &loaded);
		int errno_after = errno;
		bool happened = faults_happened();
		check_note("call %llu, %s", (unsigned long long)at, faults_name());
		bool closing = strcmp(faults_name(), "close") == 0;
		faults_restore();
		if (!happened || closing) {
			/* What was read is read, whatever close says. */
			expect_ok(status);
			expect(filters_equal(filter, loaded));
			nidus_free(loaded);
			if (!happened)
				break;
			continue;
		}
		expect_status(status, NIDUS_E_IO);
		expect_equal(errno_after, EIO);
		expect(loaded == NULL);
		failures++;
	}
	expect(failures >= 3);
	nidus_free(filter);
}

static void long_paths_leave_room_for_the_reason(void **state)
{
	(void)state;
	char name[201];
	nidus_filter *filter;
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	expect_status(nidus_load(folder_path(name), &filter), NIDUS_E_IO);
	expect(strstr(nidus_reason(), ": No such file or directory") != NULL);
	expect(strstr(nidus_reason(), "cannot open ...xxx") != NULL);
	/* The last hundred bytes of this one begin within a character, which is left out. */
	for (size_t i = 0; i < 198; i += 2)
		memcpy(name + i, "\xc3\xa4", 2);
	name[199] = '\0';
	expect_status(nidus_load(folder_path(name), &filter), NIDUS_E_IO);
	expect(strstr(nidus_reason(), "cannot open ...\xc3\xa4") != NULL);
}

static void names_may_be_as_long_as_the_system_allows(void **state)
{
	(void)state;
	char name[256];
	nidus_filter *filter = sample(9), *loaded;
	memset(name, 'x', sizeof name);
	for (size_t i = 1; i < 253; i += 2) /* cut within a character */
		memcpy(name + i, "\xc3\xa4", 2);
	for (size_t length = 255; length >= 254; length--) {
		name[length] = '\0';
		expect_ok(nidus_save(filter, folder_path(name)));
		expect_ok(nidus_load(folder_path(name), &loaded));
		expect(filters_equal(filter, loaded));
		nidus_free(loaded);
	}
	expect_equal(folder_entries(), 2);
	nidus_free(filter);
}

/*
 * A long name of bytes that continue a character and begin none. What stands in front of the path
 * is of the same kind: who looks for a beginning there finds 'x', and no length that makes sense.
 */
static void names_that_are_no_utf8_are_cut_within_the_name(void **state)
{
	(void)state;
	char text[1 + 49 + 250 + 1];
	char *name = text + 50, before[4096];
	nidus_filter *filter = sample(9), *loaded;
	memset(text, 0x80, sizeof text - 1);
	text[0] = 'x';
	text[sizeof text - 1] = '\0';
	expect(getcwd(before, sizeof before) != NULL);
	expect_equal(chdir(folder_path(".")), 0); /* no slash in the path that ends the search */
	expect_status(nidus_load(name, &loaded), NIDUS_E_IO);
	expect(strstr(nidus_reason(), "cannot open ...\x80\x80") != NULL);
	expect_ok(nidus_save(filter, name));
	expect_ok(nidus_load(name, &loaded));
	expect(filters_equal(filter, loaded));
	expect_equal(folder_entries(), 1);
	expect_equal(chdir(before), 0);
	nidus_free(loaded);
	nidus_free(filter);
}

static void interrupted_calls_are_made_again(void **state)
{
	(void)state;
	nidus_filter *filter = sample(4), *loaded;
	unsigned interrupted = 0;
	for (uint64_t at = 1; at < 40; at++) {
		faults_in_files(at, EINTR);
		nidus_status saved = nidus_save(filter, folder_path("filter"));
		bool writing = strcmp(faults_name(), "write") == 0;
		faults_restore();
		if (writing) {
			expect_ok(saved);
			interrupted++;
		}
		expect_ok(nidus_save(filter, folder_path("filter")));
		faults_in_files(at, EINTR);
		nidus_status status = nidus_load(folder_path("filter"), &loaded);
		bool reading = strcmp(faults_name(), "read") == 0;
		faults_restore();
		if (reading) {
			expect_ok(status);
			interrupted++;
		}
		nidus_free(loaded);
	}
	expect(interrupted >= 4);
	nidus_free(filter);
}

static void short_reads_and_writes_are_continued(void **state)
{
	(void)state;
	static const size_t sizes[] = { 1, 3, 100 };
	nidus_filter *filter = sample(5), *loaded;
	for (unsigned i = 0; i < 3; i++) {
		faults_short_transfers(sizes[i]);
		nidus_status saved = nidus_save(filter, folder_path("filter"));
		nidus_status status = nidus_load(folder_path("filter"), &loaded);
		faults_restore();
		expect_ok(saved);
		expect_ok(status);
		expect(filters_equal(filter, loaded));
		nidus_free(loaded);
	}
	nidus_free(filter);
}

/* ------------------------------------------------------------------ links, modes, devices -- */

static void a_link_is_followed_and_kept(void **state)
{
	(void)state;
	nidus_filter *filter = sample(6);
	struct bytes new = bytes_save(filter);
	struct stat status;
	folder_write("target", "old", 3);
	expect(symlink("target", folder_path("link")) == 0);
	expect_ok(nidus_save(filter, folder_path("link")));
	expect(lstat(folder_path("link"), &status) == 0 && S_ISLNK(status.st_mode));
	expect(file_is("target", &new));
	expect_equal(folder_entries(), 2);
	bytes_free(&new);
	nidus_free(filter);
}

static void a_link_to_nothing_yet_is_followed_too(void **state)
{
	(void)state;
	nidus_filter *filter = sample(6);
	struct stat status;
	expect(symlink("later", folder_path("link")) == 0);
	expect_ok(nidus_save(filter, folder_path("link")));
	expect(lstat(folder_path("link"), &status) == 0 && S_ISLNK(status.st_mode));
	expect(exists("later"));
	nidus_free(filter);
}

static void chains_of_links_are_followed_and_circles_refused(void **state)
{
	(void)state;
	nidus_filter *filter = sample(6);
	struct bytes new = bytes_save(filter);
	expect(mkdir(folder_path("sub"), 0700) == 0);
	expect(symlink("../last", folder_path("sub/middle")) == 0);
	expect(symlink("sub/middle", folder_path("first")) == 0);
	expect_ok(nidus_save(filter, folder_path("first"))); /* creates the last */
	expect(file_is("last", &new));
	expect_ok(nidus_save(filter, folder_path("first"))); /* and replaces it */
	expect(file_is("last", &new));
	expect_equal(folder_entries(), 3);
	expect(unlink(folder_path("sub/middle")) == 0);
	expect(symlink("two", folder_path("one")) == 0);
	expect(symlink("one", folder_path("two")) == 0);
	errno = 0;
	expect_status(nidus_save(filter, folder_path("one")), NIDUS_E_IO);
	expect_equal(errno, ELOOP);
	expect_equal(folder_entries(), 5);
	bytes_free(&new);
	nidus_free(filter);
}

static void permissions_are_kept(void **state)
{
	(void)state;
	static const mode_t modes[] = { 0600, 0640, 0444, 0755 };
	nidus_filter *filter = sample(7);
	for (unsigned i = 0; i < 4; i++) {
		struct stat status;
		folder_write("filter", "old", 3);
		expect(chmod(folder_path("filter"), modes[i]) == 0);
		expect_ok(nidus_save(filter, folder_path("filter")));
		expect(stat(folder_path("filter"), &status) == 0);
		check_note("mode %o", (unsigned)modes[i]);
		expect_equal(status.st_mode & 07777, modes[i]);
		expect(unlink(folder_path("filter")) == 0);
	}
	nidus_free(filter);
}

static mode_t worst_mode;

static ssize_t write_and_look(int file, const void *data, size_t size)
{
	struct stat status;
	if (fstat(file, &status) == 0)
		worst_mode |= status.st_mode & 0777;
	return write(file, data, size);
}

/* A filter's file carries its seed: it must not lie open while it is written. */
static void a_private_file_is_private_while_it_is_written(void **state)
{
	(void)state;
	nidus_filter *filter = sample(7);
	mode_t mask = umask(022);
	folder_write("filter", "old", 3);
	expect(chmod(folder_path("filter"), 0600) == 0);
	worst_mode = 0;
	faults_in_files(0, 0);
	os.write = write_and_look;
	nidus_status status = nidus_save(filter, folder_path("filter"));
	faults_restore();
	umask(mask);
	expect_ok(status);
	expect_equal(worst_mode & 077, 0);
	nidus_free(filter);
}

static void a_folder_cannot_be_saved_to_nor_loaded(void **state)
{
	(void)state;
	nidus_filter *filter = sample(8), *loaded;
	expect(mkdir(folder_path("sub"), 0700) == 0);
	errno = 0;
	expect_status(nidus_save(filter, folder_path("sub")), NIDUS_E_IO);
	expect_equal(errno, EISDIR);
	errno = 0;
	expect_status(nidus_load(folder_path("sub"), &loaded), NIDUS_E_IO);
	expect_equal(errno, EISDIR);
	errno = 0;
	expect_status(nidus_save(filter, folder_path("missing/filter")), NIDUS_E_IO);
	expect_equal(errno, ENOENT);
	expect_status(nidus_save(filter, ""), NIDUS_E_IO);
	errno = 0;
	expect_status(nidus_load(folder_path("missing"), &loaded), NIDUS_E_IO);
	expect_equal(errno, ENOENT);
	expect(loaded == NULL);
	expect_equal(folder_entries(), 1);
	nidus_free(filter);
}

static void devices_are_written_to_not_replaced(void **state)
{
	(void)state;
	nidus_filter *filter = sample(9), *loaded;
	struct stat status;
	if (stat("/dev/full", &status) != 0)
		skip();
	errno = 0;
	expect_status(nidus_save(filter, "/dev/full"), NIDUS_E_IO);
	expect_equal(errno, ENOSPC);
	expect_ok(nidus_save(filter, "/dev/null"));
	expect(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
	expect_status(nidus_load("/dev/null", &loaded), NIDUS_E_TRUNCATED);
	expect_status(nidus_load("/dev/zero", &loaded), NIDUS_E_FORMAT);
	nidus_free(filter);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(each_failing_call_leaves_the_old_file),
		in_folder(each_failing_call_leaves_no_new_file),
		in_folder(each_failing_call_of_a_load_is_told),
		in_folder(long_paths_leave_room_for_the_reason),
		in_folder(names_may_be_as_long_as_the_system_allows),
		in_folder(names_that_are_no_utf8_are_cut_within_the_name),
		in_folder(interrupted_calls_are_made_again),
		in_folder(short_reads_and_writes_are_continued),
		in_folder(a_link_is_followed_and_kept),
		in_folder(a_link_to_nothing_yet_is_followed_too),
		in_folder(chains_of_links_are_followed_and_circles_refused),
		in_folder(permissions_are_kept),
		in_folder(a_private_file_is_private_while_it_is_written),
		in_folder(a_folder_cannot_be_saved_to_nor_loaded),
		in_folder(devices_are_written_to_not_replaced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

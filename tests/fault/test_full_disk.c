/* SPDX-License-Identifier: MIT
 *
 * Saves to a disk that is full, for real: a small tmpfs, where the system lets this
 * process mount one for itself (otherwise these tests are skipped), and files that
 * may not become longer (RLIMIT_FSIZE). Whatever place the room ends at: E_IO, the
 * old file is intact, and nothing temporary is left.
 */
#define _GNU_SOURCE /* unshare */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>
#endif

#include "support/check.h"
#include "support/filters.h"
#include "support/folder.h"

#define OLD_KEYS 20
#define NEW_KEYS 30000 /* some ten pages of table */

static nidus_filter *with_keys(uint64_t keys)
{
	nidus_options options = filter_options(keys, 0x1p-8, 5);
	nidus_filter *filter = filter_create(&options);
	for (uint64_t key = 0; key < keys; key++)
		expect_ok(nidus_insert_u64(filter, key));
	return filter;
}

static void expect_file(const nidus_filter *filter)
{
	struct bytes now = folder_read("set");
	expect(bytes_match(&now, filter));
	bytes_free(&now);
}

/* A save that must fail with this errno, and leave what was there. */
static void expect_refused(const nidus_filter *filter, const nidus_filter *old, int error)
{
	unsigned entries = folder_entries();
	errno = 0;
	nidus_status status = nidus_save(filter, folder_path("set"));
	int errno_after = errno;
	expect_status(status, NIDUS_E_IO);
	expect_equal(errno_after, error);
	expect(strstr(nidus_reason(), strerror(error)) != NULL);
	expect_equal(folder_entries(), entries);
	if (old != NULL)
		expect_file(old);
	else
		expect(access(folder_path("set"), F_OK) != 0);
}

/* ---------------------------------------------------------------------- a small disk -- */

#ifdef __linux__

/* Only this process sees what it mounts. False where that is not allowed. */
static bool mount_small_disk(void)
{
	static bool alone;
	if (!alone)
		alone = unshare(CLONE_NEWNS) == 0;
	return alone && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", folder_path("."), "tmpfs", 0, "size=512k") == 0;
}

static bool unmount_small_disk(void)
{
	return umount2(folder_path("."), MNT_DETACH) == 0;
}

#else

static bool mount_small_disk(void)
{
	return false;
}

static bool unmount_small_disk(void)
{
	return true;
}

#endif

static int small_disk_setup(void **state)
{
	static bool mounted;
	if (folder_setup(state) != 0)
		return -1;
	mounted = mount_small_disk();
	*state = &mounted;
	return 0;
}

static int small_disk_teardown(void **state)
{
	const bool *mounted = *state;
	if (*mounted && !unmount_small_disk())
		return -1;
	return folder_teardown(state);
}

static void skip_unless_mounted(void **state)
{
	const bool *mounted = *state;
	if (!*mounted)
		skip();
}

/* Writes to a file until the disk is full. Answers how long it is then. */
static off_t fill_disk(int ballast)
{
	static const unsigned char zeros[1024];
	off_t size = 0;
	ssize_t written;
	while ((written = write(ballast, zeros, sizeof zeros)) > 0)
		size += written;
	expect_equal(errno, ENOSPC);
	return size;
}

/* Page by page more room, until the save succeeds. Answers how often it did not. */
static unsigned save_with_more_and_more_room(const nidus_filter *filter, const nidus_filter *old)
{
	int ballast = open(folder_path("ballast"), O_WRONLY | O_CREAT, 0600);
	expect(ballast >= 0);
	off_t size = fill_disk(ballast), page = sysconf(_SC_PAGESIZE);
	unsigned refusals = 0;
	while (nidus_save(filter, folder_path("set")) != NIDUS_OK) {
		check_note("%u pages of room", refusals);
		expect_refused(filter, old, ENOSPC);
		refusals++;
		expect(refusals * page <= size);
		expect(ftruncate(ballast, size - refusals * page) == 0);
	}
	expect_file(filter);
	expect_equal(folder_entries(), 2);
	close(ballast);
	return refusals;
}

static void a_full_disk_keeps_the_old_file(void **state)
{
	skip_unless_mounted(state);
	nidus_filter *old = with_keys(OLD_KEYS), *new = with_keys(NEW_KEYS);
	expect_ok(nidus_save(old, folder_path("set")));
	expect(save_with_more_and_more_room(new, old) >= 5);
	nidus_free(old);
	nidus_free(new);
}

static void a_full_disk_gets_no_new_file(void **state)
{
	skip_unless_mounted(state);
	nidus_filter *new = with_keys(NEW_KEYS);
	expect(save_with_more_and_more_room(new, NULL) >= 5);
	nidus_free(new);
}

/* ------------------------------------------------------------ files of limited length -- */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;
	expect(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	expect(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void a_limit_of_file_sizes_keeps_the_old_file(void **state)
{
	(void)state;
	nidus_filter *old = with_keys(OLD_KEYS), *new = with_keys(NEW_KEYS);
	size_t size = nidus_saved_size(new),
	       limits[] = { 0, 1, 255, 256, 4095, 4096, 4097, size - 1 };
	expect_ok(nidus_save(old, folder_path("set")));
	expect(signal(SIGXFSZ, SIG_IGN) != SIG_ERR); /* so that a write answers EFBIG */
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		check_note("at most %zu bytes", limits[i]);
		limit_files(limits[i]);
		expect_refused(new, old, EFBIG);
		limit_files(RLIM_INFINITY);
	}
	limit_files(size);
	expect_ok(nidus_save(new, folder_path("set")));
	limit_files(RLIM_INFINITY);
	expect_file(new);
	nidus_free(old);
	nidus_free(new);
}

#define on_small_disk(test) \
	cmocka_unit_test_setup_teardown(test, small_disk_setup, small_disk_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_small_disk(a_full_disk_keeps_the_old_file),
		on_small_disk(a_full_disk_gets_no_new_file),
		cmocka_unit_test_setup_teardown(a_limit_of_file_sizes_keeps_the_old_file,
		                                folder_setup, folder_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * os: the table filled with the real calls of a POSIX system.
 */
#define _GNU_SOURCE /* getrandom, MAP_ANONYMOUS, MADV_HUGEPAGE, O_TMPFILE, sync_file_range */

#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/random.h>
#endif

static void *map_zeroed(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
#ifdef MADV_HUGEPAGE
	/* Fewer TLB misses if the system has huge pages; if not, nothing is lost. */
	(void)madvise(memory, size, MADV_HUGEPAGE);
#endif
	return memory;
}

static void *map_file(int file, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *memory, size_t size)
{
	(void)munmap(memory, size);
}

static void forget_map(void *memory, size_t size)
{
	(void)madvise(memory, size, MADV_DONTNEED);
}

static int random_from_device(void *bytes, size_t size)
{
	int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -1;
	ssize_t got = read(file, bytes, size);
	int kept = got < 0 ? errno : EIO;
	(void)close(file);
	errno = kept;
	return got == (ssize_t)size ? 0 : -1;
}

static int random_bytes(void *bytes, size_t size)
{
#ifdef __linux__
	if (getrandom(bytes, size, 0) == (ssize_t)size)
		return 0;
#endif
	return random_from_device(bytes, size);
}

static int open_read(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int open_new(const char *path, mode_t mode)
{
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

/* A file without a name gets one through /proc: so it is opened only where that is there. */
#define PROC_NAME 64

#ifdef O_TMPFILE

static void proc_name(int file, char name[PROC_NAME])
{
	snprintf(name, PROC_NAME, "/proc/self/fd/%d", file);
}

static int open_unnamed(const char *folder, mode_t mode)
{
	char name[PROC_NAME];
	int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	/* Kernels that do not know the flag try to open the folder itself. */
	if (file < 0 && (errno == EISDIR || errno == EOPNOTSUPP || errno == EINVAL))
		errno = ENOTSUP;
	if (file < 0)
		return -1;
	proc_name(file, name);
	if (access(name, F_OK) == 0)
		return file;
	(void)close(file);
	errno = ENOTSUP;
	return -1;
}

static int give_name(int file, const char *path)
{
	char name[PROC_NAME];
	proc_name(file, name);
	return linkat(AT_FDCWD, name, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

#else

static int open_unnamed(const char *folder, mode_t mode)
{
	(void)folder, (void)mode;
	errno = ENOTSUP;
	return -1;
}

static int give_name(int file, const char *path)
{
	(void)file, (void)path;
	errno = ENOTSUP;
	return -1;
}

#endif

/* Whether a hint failed for another reason than that it means nothing for this file. */
static int hinted(int failed)
{
	return failed != 0 && errno != EINVAL && errno != ESPIPE && errno != ENOSYS ? -1 : 0;
}

/* Headers of other systems name the flags, too, without the call. */
#if defined __linux__ && defined SYNC_FILE_RANGE_WRITE
#define HAS_SYNC_FILE_RANGE
#endif

static int write_back(int file, off_t from, off_t size)
{
#ifdef HAS_SYNC_FILE_RANGE
	return hinted(sync_file_range(file, from, size, SYNC_FILE_RANGE_WRITE));
#else
	(void)file, (void)from, (void)size;
	(void)hinted;
	return 0;
#endif
}

static int drop_from_cache(int file, off_t from, off_t size)
{
#ifdef HAS_SYNC_FILE_RANGE
	const unsigned how =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
	if (hinted(sync_file_range(file, from, size, how)) != 0)
		return -1;
#endif
#ifdef POSIX_FADV_DONTNEED
	(void)posix_fadvise(file, from, size, POSIX_FADV_DONTNEED);
#else
	(void)file, (void)from, (void)size;
#endif
	return 0;
}

static int open_write(const char *path)
{
	return open(path, O_WRONLY | O_CLOEXEC);
}

static int open_folder(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Signals that are sent to the program are for its own threads: its handlers may expect to run
 * there. Ours take those that they cause themselves, and the ticks of a profiler.
 */
static void hold_signals(sigset_t *before)
{
	static const int taken[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF };
	sigset_t held;
	sigfillset(&held);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		sigdelset(&held, taken[i]);
	(void)pthread_sigmask(SIG_BLOCK, &held, before);
}

static int start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t before;
	hold_signals(&before); /* a new thread holds what the one does that makes it */
	int failed = pthread_create(thread, NULL, run, context);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

struct os_calls os = {
	.allocate = malloc,
	.release = free,
	.map_zeroed = map_zeroed,
	.map_file = map_file,
	.unmap = unmap,
	.forget_map = forget_map,
	.random = random_bytes,
	.open_read = open_read,
	.open_new = open_new,
	.open_unnamed = open_unnamed,
	.give_name = give_name,
	.open_write = open_write,
	.open_folder = open_folder,
	.read = read,
	.write = write,
	.read_at = pread,
	.write_at = pwrite,
	.write_back = write_back,
	.forget = drop_from_cache,
	.truncate = ftruncate,
	.change_mode = fchmod,
	.sync = fsync,
	.close = close,
	.rename = rename,
	.unlink = unlink,
	.file_status = fstat,
	.path_status = stat,
	.read_link = readlink,
	.start_thread = start_thread,
};

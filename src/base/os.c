/* SPDX-License-Identifier: MIT
 *
 * os: the table filled with the real calls of a POSIX system.
 */
#define _GNU_SOURCE /* getrandom, MAP_ANONYMOUS, MADV_HUGEPAGE */

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
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
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
	.random = random_bytes,
	.open_read = open_read,
	.open_new = open_new,
	.open_write = open_write,
	.open_folder = open_folder,
	.read = read,
	.write = write,
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

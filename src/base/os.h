/* SPDX-License-Identifier: MIT
 *
 * os: the system calls that can fail, behind one table.
 *
 * The library calls the system only through `os`, so that a test can make any
 * single call fail, in the real code, and see what is left behind. Nothing
 * else ever writes to the table.
 */
#ifndef NIDUS_BASE_OS_H
#define NIDUS_BASE_OS_H

#include <pthread.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

struct os_calls {
	void *(*allocate)(size_t size); /* small blocks; NULL fails */
	void (*release)(void *memory);
	void *(*map_zeroed)(size_t size); /* whole pages; NULL fails */
	/* The first `size` bytes of a file, to read, for random access; NULL and errno. */
	void *(*map_file)(int file, size_t size);
	void (*unmap)(void *memory, size_t size);
	/* Takes pages of a mapped file out of memory; they come back when they are touched. */
	void (*forget_map)(void *memory, size_t size);
	int (*random)(void *bytes, size_t size);        /* 0, or -1 and errno */
	int (*open_read)(const char *path);             /* file descriptor, or -1 */
	int (*open_new)(const char *path, mode_t mode); /* must not exist yet; to read, too */
	/*
	 * A file without a name in a folder, to write and read, which goes with the process; and a
	 * name for it. ENOTSUP where the file system or the system has no such thing.
	 */
	int (*open_unnamed)(const char *folder, mode_t mode);
	int (*give_name)(int file, const char *path);
	int (*open_write)(const char *path); /* must exist: devices, pipes */
	int (*open_folder)(const char *path);
	ssize_t (*read)(int file, void *bytes, size_t size);
	ssize_t (*write)(int file, const void *bytes, size_t size);
	ssize_t (*read_at)(int file, void *bytes, size_t size, off_t at);
	ssize_t (*write_at)(int file, const void *bytes, size_t size, off_t at);
	/*
	 * For files that are larger than the memory they may take: begins to write what is in the
	 * system's cache to the disk; the other waits for that and drops it from the cache.
	 */
	int (*write_back)(int file, off_t from, off_t size);
	int (*forget)(int file, off_t from, off_t size);
	int (*truncate)(int file, off_t size);
	int (*change_mode)(int file, mode_t mode);
	int (*sync)(int file);
	int (*close)(int file);
	int (*rename)(const char *from, const char *to);
	int (*unlink)(const char *path);
	int (*file_status)(int file, struct stat *status);
	int (*path_status)(const char *path, struct stat *status);
	ssize_t (*read_link)(const char *path, char *target, size_t size);
	int (*start_thread)(pthread_t *thread, void *(*run)(void *),
	                    void *context); /* 0, or an errno */
};

extern struct os_calls os;

#endif

/* SPDX-License-Identifier: MIT
 *
 * file: write beside, sync, rename.
 *
 * At every moment `path` is the whole old file or the whole new one. A failure
 * at any step takes the temporary file away again; a process that is killed
 * may leave one behind, named after the target, which the next save ignores.
 */
#include "store/file.h"

#include "base/os.h"
#include "base/random.h"
#include "base/reason.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static nidus_status failed(const char *what, const char *path)
{
	return fail(NIDUS_E_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* A nidus_sink whose context is a file descriptor. */
static int file_sink(void *context, const void *data, size_t size)
{
	const unsigned char *bytes = data;
	int file = *(int *)context;
	while (size > 0) {
		ssize_t done = os.write(file, bytes, size);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO;
		bytes += done;
		size -= (size_t)done;
	}
	return 0;
}

static nidus_status write_in_place(const char *path, file_writer writer, const void *subject)
{
	int file = os.open_write(path);
	if (file < 0)
		return failed("open", path);
	nidus_status status = writer(subject, file_sink, &file);
	int kept = errno;
	if (os.close(file) != 0 && status == NIDUS_OK)
		return failed("close", path);
	errno = kept;
	return status;
}

/* Fills a new temporary file and makes it durable; it is gone after a failure. */
static nidus_status write_beside(const char *temporary, const struct stat *old, file_writer writer,
                                 const void *subject)
{
	int file = os.open_new(temporary, 0666);
	if (file < 0)
		return failed("create", temporary);
	nidus_status status = writer(subject, file_sink, &file);
	if (status == NIDUS_OK && old != NULL && os.change_mode(file, old->st_mode & 07777) != 0)
		status = failed("set the permissions of", temporary);
	if (status == NIDUS_OK && os.sync(file) != 0)
		status = failed("sync", temporary);
	int kept = errno;
	if (os.close(file) != 0 && status == NIDUS_OK) {
		status = failed("close", temporary);
		kept = errno;
	}
	if (status != NIDUS_OK)
		(void)os.unlink(temporary);
	errno = kept;
	return status;
}

/*
 * The folder's entry must be on the disk too, or a power cut undoes the rename.
 * `folder` has room for the path: nothing may fail for want of memory any more.
 */
static nidus_status sync_folder(const char *path, char *folder)
{
	strcpy(folder, path);
	char *slash = strrchr(folder, '/');
	if (slash == NULL)
		strcpy(folder, ".");
	else
		slash[slash == folder ? 1 : 0] = '\0';
	int file = os.open_folder(folder);
	/* Some file systems cannot open or sync a folder: they have no need to. */
	if (file < 0)
		return NIDUS_OK;
	int synced = os.sync(file);
	int kept = errno;
	(void)os.close(file);
	errno = kept;
	if (synced != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
		return fail(NIDUS_E_IO,
		            "%s is written, but its folder cannot be synced (%s): it may not survive "
		            "a power cut",
		            path, strerror(errno));
	return NIDUS_OK;
}

static nidus_status replace(const char *path, const struct stat *old, file_writer writer,
                            const void *subject)
{
	size_t room = strlen(path) + sizeof ".tmp-0123456789abcdef";
	uint64_t unique;
	nidus_status status = random_seed(&unique);
	if (status != NIDUS_OK)
		return status;
	char *temporary = os.allocate(room);
	if (temporary == NULL)
		return fail(NIDUS_E_NOMEM, "no memory for a path");
	snprintf(temporary, room, "%s.tmp-%016llx", path, (unsigned long long)unique);
	status = write_beside(temporary, old, writer, subject);
	if (status == NIDUS_OK && os.rename(temporary, path) != 0) {
		status = failed("replace", path);
		int kept = errno;
		(void)os.unlink(temporary);
		errno = kept;
	} else if (status == NIDUS_OK) {
		status = sync_folder(path, temporary);
	}
	os.release(temporary);
	return status;
}

nidus_status file_save(const char *path, file_writer writer, const void *subject)
{
	struct stat old;
	if (os.path_status(path, &old) != 0) {
		if (errno != ENOENT)
			return failed("look at", path);
		return replace(path, NULL, writer, subject);
	}
	if (S_ISDIR(old.st_mode)) {
		errno = EISDIR;
		return failed("write to", path);
	}
	if (!S_ISREG(old.st_mode))
		return write_in_place(path, writer, subject);
	/* Through a symbolic link the file behind it is replaced, not the link. */
	char *real = os.real_path(path);
	if (real == NULL)
		return failed("resolve", path);
	nidus_status status = replace(real, &old, writer, subject);
	int kept = errno;
	os.release(real);
	errno = kept;
	return status;
}

nidus_status file_open(const char *path, struct file_reader *reader)
{
	struct stat status;
	reader->file = os.open_read(path);
	if (reader->file < 0)
		return failed("open", path);
	if (os.file_status(reader->file, &status) != 0) {
		file_close(reader);
		return failed("look at", path);
	}
	if (S_ISDIR(status.st_mode)) {
		file_close(reader);
		errno = EISDIR;
		return failed("read", path);
	}
	reader->size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : UINT64_MAX;
	return NIDUS_OK;
}

void file_close(struct file_reader *reader)
{
	int kept = errno;
	(void)os.close(reader->file);
	errno = kept;
}

ptrdiff_t file_source(void *context, void *bytes, size_t size)
{
	const struct file_reader *reader = context;
	ssize_t got;
	do {
		got = os.read(reader->file, bytes, size);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

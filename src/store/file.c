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

/*
 * A path for a reason, which has room for the end of a long one: what follows it, such as the
 * system's words, must not be cut off. To be printed by "%s%s".
 */
#define SHOWN_MOST 100
#define SHOWN(path) end_of(path) == (path) ? "" : "...", end_of(path)

/* Bytes that continue a character of UTF-8 at most. A name may consist of them alone. */
#define CONTINUED_MOST 3

static bool continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static const char *end_of(const char *path)
{
	size_t length = strlen(path);
	if (length <= SHOWN_MOST)
		return path;
	path += length - SHOWN_MOST;
	for (int i = 0; i < CONTINUED_MOST && continues(*path); i++)
		path++;
	return path;
}

static nidus_status failed(const char *what, const char *path)
{
	return fail(NIDUS_E_IO, "cannot %s %s%s: %s", what, SHOWN(path), strerror(errno));
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

int file_behind(nidus_sink sink, void *context)
{
	struct stat status;
	int file = sink == file_sink ? *(int *)context : -1;
	return file >= 0 && os.file_status(file, &status) == 0 && S_ISREG(status.st_mode) ? file
	                                                                                  : -1;
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

/* What is to be saved, and where. */
struct saving {
	const char *path;       /* at the end of symbolic links */
	const struct stat *old; /* of the file that is there; NULL: there is none */
	file_writer writer;
	const void *subject;
	bool nameless; /* the temporary file gets its name when it is whole, if that is possible */
};

/* Opens a new temporary file; *named: it has its name already. */
static int open_beside(const struct saving *saving, const char *temporary, const char *folder,
                       bool *named)
{
	/* What may not be read in the end may not be read on the way either. */
	mode_t mode = saving->old != NULL ? saving->old->st_mode & 0666 : 0666;
	int file = saving->nameless ? os.open_unnamed(folder, mode) : -1;
	*named = file < 0;
	return file < 0 && (!saving->nameless || errno == ENOTSUP) ? os.open_new(temporary, mode)
	                                                           : file;
}

/* Fills a new temporary file and makes it durable; it is gone after a failure. */
static nidus_status write_beside(const struct saving *saving, const char *temporary,
                                 const char *folder)
{
	const struct stat *old = saving->old;
	bool named;
	int file = open_beside(saving, temporary, folder, &named);
	if (file < 0)
		return failed("create", temporary);
	nidus_status status = saving->writer(saving->subject, file_sink, &file);
	if (status == NIDUS_OK && old != NULL && os.change_mode(file, old->st_mode & 07777) != 0)
		status = failed("set the permissions of", temporary);
	if (status == NIDUS_OK && os.sync(file) != 0)
		status = failed("sync", temporary);
	if (status == NIDUS_OK && !named) {
		named = os.give_name(file, temporary) == 0;
		status = named ? NIDUS_OK : failed("name", temporary);
	}
	int kept = errno;
	if (os.close(file) != 0 && status == NIDUS_OK) {
		status = failed("close", temporary);
		kept = errno;
	}
	if (status != NIDUS_OK && named)
		(void)os.unlink(temporary);
	errno = kept;
	return status;
}

/* Writes the folder of a path to `folder`, which has room for the path. */
static void find_folder(const char *path, char *folder)
{
	strcpy(folder, path);
	char *slash = strrchr(folder, '/');
	if (slash == NULL)
		strcpy(folder, ".");
	else
		slash[slash == folder ? 1 : 0] = '\0';
}

/* The folder's entry must be on the disk too, or a power cut undoes the rename. */
static nidus_status sync_folder(const char *path, const char *folder)
{
	int file = os.open_folder(folder);
	/* Some file systems cannot open or sync a folder: they have no need to. */
	if (file < 0)
		return NIDUS_OK;
	int synced = os.sync(file);
	int kept = errno;
	(void)os.close(file);
	errno = kept;
	if (synced != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
		return fail(
			NIDUS_E_IO,
			"%s%s is written, but its folder cannot be synced (%s): it may not survive "
			"a power cut",
			SHOWN(path), strerror(errno));
	return NIDUS_OK;
}

#define NAME_MOST 100 /* bytes of a file's name that its temporary file has, too */

/* Where `path` ends for the name of a temporary file: a long name would leave no room for more. */
static size_t stem_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t name = slash == NULL ? 0 : (size_t)(slash - path) + 1, length = strlen(path);
	if (length - name <= NAME_MOST)
		return length;
	length = name + NAME_MOST;
	for (int i = 0; i < CONTINUED_MOST && continues(path[length]); i++)
		length--; /* back to the start of a character */
	return length;
}

static nidus_status replace(const struct saving *saving)
{
	const char *path = saving->path;
	size_t room = strlen(path) + sizeof ".tmp-0123456789abcdef";
	uint64_t unique;
	nidus_status status = random_seed(&unique);
	if (status != NIDUS_OK)
		return fail(status, "no random bytes for the name of a temporary file: %s",
		            strerror(errno));
	/* Both at once: nothing may fail for want of memory any more when the file is there. */
	char *temporary = os.allocate(2 * room);
	if (temporary == NULL)
		return fail(NIDUS_E_NOMEM, "no memory for a path");
	char *folder = temporary + room;
	find_folder(path, folder);
	snprintf(temporary, room, "%.*s.tmp-%016llx", (int)stem_of(path), path,
	         (unsigned long long)unique);
	status = write_beside(saving, temporary, folder);
	int kept = errno;
	if (status == NIDUS_OK && os.rename(temporary, path) != 0) {
		status = failed("replace", path);
		kept = errno;
		(void)os.unlink(temporary);
	} else if (status == NIDUS_OK) {
		status = sync_folder(path, folder);
		kept = errno;
	}
	os.release(temporary);
	errno = kept;
	return status;
}

#define LINKS_MOST 40 /* one after the other, before it must be a circle */
#define LINK_LENGTH 4096

/*
 * Writes to `path` where the symbolic link `link` leads: a target that does not
 * start at the root starts in the link's folder. Both may be the same buffer.
 */
static bool resolve(const char *link, const char *target, char path[LINK_LENGTH])
{
	const char *slash = target[0] == '/' ? NULL : strrchr(link, '/');
	size_t folder = slash == NULL ? 0 : (size_t)(slash - link) + 1;
	size_t length = strlen(target);
	if (folder + length >= LINK_LENGTH)
		return false;
	memmove(path, link, folder);
	memcpy(path + folder, target, length + 1);
	return true;
}

/*
 * The file that `path` stands for, itself or at the end of symbolic links, which
 * may not exist yet: it is to be replaced, not the link. NULL with errno set
 * when the links lead nowhere. `real` and `target` have room for a path each.
 */
static const char *follow(const char *path, char *real, char *target)
{
	for (int links = 0; links < LINKS_MOST; links++) {
		ssize_t length = os.read_link(path, target, LINK_LENGTH);
		if (length < 0) /* no link, or nothing there, or a failure */
			return errno == EINVAL || errno == ENOENT || errno == ENOTDIR ? path : NULL;
		if (length >= LINK_LENGTH) {
			errno = ENAMETOOLONG;
			return NULL;
		}
		target[length] = '\0';
		if (!resolve(path, target, real)) {
			errno = ENAMETOOLONG;
			return NULL;
		}
		path = real;
	}
	errno = ELOOP;
	return NULL;
}

/* Saves to a path, with room for two paths. */
static nidus_status save_in(char *room, const char *path, struct saving saving)
{
	struct stat old;
	saving.path = follow(path, room, room + LINK_LENGTH);
	if (saving.path == NULL)
		return failed("follow", path);
	if (os.path_status(saving.path, &old) != 0) {
		if (errno != ENOENT)
			return failed("look at", path);
		return replace(&saving);
	}
	if (S_ISDIR(old.st_mode)) {
		errno = EISDIR;
		return failed("write to", path);
	}
	if (!S_ISREG(old.st_mode))
		return write_in_place(saving.path, saving.writer, saving.subject);
	saving.old = &old;
	return replace(&saving);
}

/* Paths lie in memory, not on the stack: some writers need much of that. */
static nidus_status save(const char *path, struct saving saving)
{
	char *room = os.allocate((size_t)2 * LINK_LENGTH);
	if (room == NULL)
		return fail(NIDUS_E_NOMEM, "no memory for a path");
	nidus_status status = save_in(room, path, saving);
	int kept = errno;
	os.release(room);
	errno = kept;
	return status;
}

nidus_status file_save(const char *path, file_writer writer, const void *subject)
{
	return save(path, (struct saving){ .writer = writer, .subject = subject });
}

nidus_status file_save_long(const char *path, file_writer writer, const void *subject)
{
	return save(path,
	            (struct saving){ .writer = writer, .subject = subject, .nameless = true });
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

static nidus_status map_failed(const char *path)
{
	if (errno == ENODEV || errno == EACCES)
		return fail(NIDUS_E_UNSUPPORTED, "%s%s cannot be mapped: load it", SHOWN(path));
	if (errno == ENOMEM)
		return fail(NIDUS_E_NOMEM, "no address space for %s%s", SHOWN(path));
	return failed("map", path);
}

nidus_status file_map(const char *path, struct file_map *map)
{
	struct file_reader reader;
	*map = (struct file_map){ 0 };
	nidus_status status = file_open(path, &reader);
	if (status != NIDUS_OK)
		return status;
	if (reader.size == 0)
		status = fail(NIDUS_E_TRUNCATED, "the file is too short to be a nidus file");
	else if (reader.size > PTRDIFF_MAX) /* also what has no size */
		status = fail(NIDUS_E_UNSUPPORTED, "%s%s cannot be mapped: load it", SHOWN(path));
	else
		map->bytes = os.map_file(reader.file, (size_t)reader.size);
	if (status == NIDUS_OK && map->bytes == NULL)
		status = map_failed(path);
	if (status == NIDUS_OK)
		map->size = reader.size;
	file_close(&reader); /* the pages stay */
	return status;
}

void file_unmap(struct file_map *map)
{
	if (map->bytes != NULL && !map->borrowed)
		os.unmap(map->bytes, (size_t)map->size);
	*map = (struct file_map){ 0 };
}

void file_forget_map(const struct file_map *map)
{
	if (map->bytes != NULL && !map->borrowed)
		os.forget_map(map->bytes, (size_t)map->size);
}

struct file_map file_borrow(const void *bytes, size_t size)
{
	unsigned char *start = (unsigned char *)(uintptr_t)bytes; /* read only, as a map is */
	return (struct file_map){ .bytes = start, .size = size, .borrowed = true };
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

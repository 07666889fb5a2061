/* SPDX-License-Identifier: MIT
 *
 * scratch: files without a name, written and read past the system's cache.
 *
 * A stretch of the file is written while the one before it is on its way to the disk; when that
 * has arrived, it is dropped from the cache.
 */
#include "base/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/random.h"
#include "base/reason.h"

#define STRETCH ((uint64_t)4 << 20) /* bytes on their way to the disk at a time */
#define SHOWN 100                   /* bytes of a name that a reason has room for */

static nidus_status failed(const struct scratch *scratch, const char *what)
{
	return fail(NIDUS_E_IO, "cannot %s %s%.*s: %s", what, scratch->kind, SHOWN, scratch->name,
	            strerror(errno));
}

/* A file with a name of chance, which it loses at once. */
static nidus_status open_named(struct scratch *scratch)
{
	uint64_t unique;
	nidus_status status = random_seed(&unique);
	if (status != NIDUS_OK)
		return status;
	size_t room = strlen(scratch->name) + sizeof "/nidus-0123456789abcdef";
	char *path = os.allocate(room);
	if (path == NULL)
		return fail(NIDUS_E_NOMEM, "no memory for a path");
	snprintf(path, room, "%s/nidus-%016llx", scratch->name, (unsigned long long)unique);
	scratch->file = os.open_new(path, 0600);
	if (scratch->file < 0)
		status = failed(scratch, "make");
	else if (os.unlink(path) != 0)
		status = failed(scratch, "unlink");
	int kept = errno;
	os.release(path);
	errno = kept;
	if (status != NIDUS_OK)
		scratch_close(scratch);
	return status;
}

nidus_status scratch_open(struct scratch *scratch, const char *folder)
{
	*scratch = (struct scratch){ .file = os.open_unnamed(folder, 0600),
		                     .kind = "a temporary file in ",
		                     .name = folder };
	if (scratch->file >= 0)
		return NIDUS_OK;
	return errno == ENOTSUP ? open_named(scratch) : failed(scratch, "make");
}

struct scratch scratch_of(int file, const char *path)
{
	return (struct scratch){ .file = file, .kind = "", .name = path };
}

nidus_status scratch_clear(struct scratch *scratch)
{
	scratch->under_way = 0;
	return os.truncate(scratch->file, 0) == 0 ? NIDUS_OK : failed(scratch, "empty");
}

void scratch_close(struct scratch *scratch)
{
	int kept = errno;
	if (scratch->file >= 0)
		(void)os.close(scratch->file);
	scratch->file = -1;
	errno = kept;
}

/* Sends a stretch on its way to the disk and waits for the one before it. */
static nidus_status send_off(struct scratch *scratch, uint64_t at, uint64_t size)
{
	if (os.write_back(scratch->file, (off_t)at, (off_t)size) != 0 ||
	    (scratch->under_way > 0 && os.forget(scratch->file, (off_t)scratch->under_way_at,
	                                         (off_t)scratch->under_way) != 0))
		return failed(scratch, "write to");
	scratch->under_way_at = at;
	scratch->under_way = size;
	return NIDUS_OK;
}

static nidus_status write_stretch(struct scratch *scratch, uint64_t at, const unsigned char *bytes,
                                  uint64_t size)
{
	for (uint64_t done = 0; done < size;) {
		ssize_t some = os.write_at(scratch->file, bytes + done, (size_t)(size - done),
		                           (off_t)(at + done));
		if (some < 0 && errno == EINTR)
			continue;
		if (some == 0)
			errno = EIO;
		if (some <= 0)
			return failed(scratch, "write to");
		done += (uint64_t)some;
	}
	scratch->written += size;
	return send_off(scratch, at, size);
}

nidus_status scratch_write(struct scratch *scratch, uint64_t at, const void *bytes, uint64_t size)
{
	nidus_status status = NIDUS_OK;
	for (uint64_t done = 0; done < size && status == NIDUS_OK; done += STRETCH) {
		uint64_t some = size - done < STRETCH ? size - done : STRETCH;
		status = write_stretch(scratch, at + done, (const unsigned char *)bytes + done,
		                       some);
	}
	return status;
}

static nidus_status read_stretch(struct scratch *scratch, uint64_t at, unsigned char *bytes,
                                 uint64_t size)
{
	for (uint64_t done = 0; done < size;) {
		ssize_t some = os.read_at(scratch->file, bytes + done, (size_t)(size - done),
		                          (off_t)(at + done));
		if (some < 0 && errno == EINTR)
			continue;
		if (some == 0)
			errno = EIO;
		if (some <= 0)
			return failed(scratch, "read");
		done += (uint64_t)some;
	}
	scratch->read += size;
	return os.forget(scratch->file, (off_t)at, (off_t)size) == 0 ? NIDUS_OK
	                                                             : failed(scratch, "read");
}

nidus_status scratch_read(struct scratch *scratch, uint64_t at, void *bytes, uint64_t size)
{
	nidus_status status = NIDUS_OK;
	for (uint64_t done = 0; done < size && status == NIDUS_OK; done += STRETCH) {
		uint64_t some = size - done < STRETCH ? size - done : STRETCH;
		status = read_stretch(scratch, at + done, (unsigned char *)bytes + done, some);
	}
	return status;
}

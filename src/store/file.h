/* SPDX-License-Identifier: MIT
 *
 * file: atomic saves, and files as sources.
 */
#ifndef NIDUS_STORE_FILE_H
#define NIDUS_STORE_FILE_H

#include "nidus.h"

/* Writes a file's contents to a sink; what file_save calls. */
typedef nidus_status (*file_writer)(const void *subject, nidus_sink sink, void *context);

/*
 * Makes `path` hold what the writer writes: wholly, or not at all. Devices and
 * pipes are written to directly, since replacing them would be no kindness.
 * Errors: E_IO with errno, E_NOMEM, and the writer's own.
 */
nidus_status file_save(const char *path, file_writer writer, const void *subject);

/* A file open for reading; its size is UINT64_MAX where it has none. */
struct file_reader {
	int file;
	uint64_t size;
};

/* Errors: E_IO with errno (a folder is EISDIR). */
nidus_status file_open(const char *path, struct file_reader *reader);
void file_close(struct file_reader *reader);

/* A nidus_source whose context is a struct file_reader. */
ptrdiff_t file_source(void *context, void *bytes, size_t size);

#endif

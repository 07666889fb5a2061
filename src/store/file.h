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
 * pipes are written to directly: they must not be replaced by a file.
 * Errors: E_IO with errno, E_NOMEM, and the writer's own.
 */
nidus_status file_save(const char *path, file_writer writer, const void *subject);

/*
 * The same for a writer that takes long: where the system can, the file has no name until it is
 * whole, so that nothing is left of it however the process ends.
 */
nidus_status file_save_long(const char *path, file_writer writer, const void *subject);

/*
 * For writers: the regular file behind a sink that file_save has handed them, which may be written
 * and read at any place instead; -1: there is none, and bytes have to come in order.
 */
int file_behind(nidus_sink sink, void *context);

/* A file open for reading; its size is UINT64_MAX where it has none. */
struct file_reader {
	int file;
	uint64_t size;
};

/* Errors: E_IO with errno (a folder is EISDIR). */
nidus_status file_open(const char *path, struct file_reader *reader);
void file_close(struct file_reader *reader);

/* A whole file in memory, to read. Empty: all zero. */
struct file_map {
	unsigned char *bytes; /* never written to: that would end the process */
	uint64_t size;
	bool borrowed; /* the caller's memory: nothing to unmap */
};

/*
 * Maps a regular file. Its pages come from the disk when they are touched, and
 * stay what they were when the path gets another file.
 * Errors: E_IO with errno, E_NOMEM, E_UNSUPPORTED (no regular file, or larger
 * than addresses go), E_TRUNCATED (an empty one).
 */
nidus_status file_map(const char *path, struct file_map *map);
void file_unmap(struct file_map *map);

/* For callers that are done with a map for now: its pages need not stay in memory. */
void file_forget_map(const struct file_map *map);

/* A map of memory that is the caller's and stays so. */
struct file_map file_borrow(const void *bytes, size_t size);

/* A nidus_source whose context is a struct file_reader. */
ptrdiff_t file_source(void *context, void *bytes, size_t size);

#endif

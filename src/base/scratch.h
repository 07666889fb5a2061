/* SPDX-License-Identifier: MIT
 *
 * scratch: a temporary file, for what does not fit into memory.
 *
 * It has no name, or loses it at once, so that it is gone when the process is, however that
 * ends. Bytes are written and read at places of the caller's choosing, and do not stay in the
 * system's cache: what a build writes there must not take the memory that it saves.
 */
#ifndef NIDUS_BASE_SCRATCH_H
#define NIDUS_BASE_SCRATCH_H

#include "nidus.h"

struct scratch {
	int file;                         /* below 0: not opened yet */
	const char *kind, *name;          /* for words about failures; the name is the caller's */
	uint64_t written, read;           /* bytes so far */
	uint64_t under_way_at, under_way; /* the stretch whose way to the disk has begun */
};

#define SCRATCH_CLOSED     \
	{                  \
		.file = -1 \
	}

/*
 * Makes a file in a folder, whose name stays the caller's. Errors: E_IO with errno, E_NOMEM; it is
 * closed then.
 */
nidus_status scratch_open(struct scratch *scratch, const char *folder);

/* A regular file of the caller's, to write and read in the same way; `path` is what it is called. */
struct scratch scratch_of(int file, const char *path);

/* Closes it, if it is open; the file is gone then. errno stays. */
void scratch_close(struct scratch *scratch);

/* Makes it empty. Errors: E_IO with errno. */
nidus_status scratch_clear(struct scratch *scratch);

/* Errors: E_IO with errno (ENOSPC: the disk is full); what was there before may be lost. */
nidus_status scratch_write(struct scratch *scratch, uint64_t at, const void *bytes, uint64_t size);

/* Errors: E_IO with errno. */
nidus_status scratch_read(struct scratch *scratch, uint64_t at, void *bytes, uint64_t size);

#endif

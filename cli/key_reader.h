/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_KEY_READER_H
#define NIDUS_CLI_KEY_READER_H

/**
 * @file key_reader.h  Keys from files and from stdin, a batch at a time.
 *
 * A key ends with a delimiter (newline, or NUL with -0) that is no part of it;
 * the last key of a file may lack it. Any other byte may be in a key, and a key
 * may be empty or as long as memory lasts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYS_BATCH 1024

struct keys {
	/* The batch: good until the next keys_read. */
	const void *key[KEYS_BATCH];
	size_t length[KEYS_BATCH];

	uint64_t count; /* keys read so far */
	uint64_t bytes; /* bytes read so far */
	uint64_t total; /* bytes there are; 0 if nobody knows */
	int failure;    /* an exit code once something went wrong and was reported */
	char delimiter;

	/* For key_reader.c alone: buffer[start..end) is unread, [start..scanned) without delimiter. */
	char **path;
	size_t paths;
	size_t next_path;
	const char *name;
	int file;
	bool at_end;
	char *buffer;
	size_t size;
	size_t start;
	size_t scanned;
	size_t end;
};

/**
 * Gets ready to read the files in their order; none at all means stdin, as does
 * "-". Files that are missing are noticed here. EXIT_OK, or an exit code after
 * a message; keys_close is due in any case.
 */
int keys_open(struct keys *keys, char **path, size_t paths, char delimiter);

/** Reads the next batch: how many keys, 0 at the end and after a failure. */
size_t keys_read(struct keys *keys);

void keys_close(struct keys *keys);

#endif

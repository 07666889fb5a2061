/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_KEY_READER_H
#define NIDUS_CLI_KEY_READER_H

/**
 * @file key_reader.h  Keys from files and from stdin, a batch at a time.
 *
 * A key ends with a delimiter (newline, or NUL with -0) that is no part of it;
 * the last key of a file may lack it. Any other byte may be in a key, and a key
 * may be empty or as long as memory lasts. What gzip or zstd compressed is decompressed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "args.h"
#include "input.h"
#include "nidus.h"

#define KEYS_BATCH 1024

/* key_form.value_bits: any number, however many bits it has. */
#define KEYS_ANY_VALUE 64

/* The table entries, to be put into braces. */
#define KEYS_NULL '0', "null", NULL, "keys end with a NUL byte instead of a newline"
#define KEYS_U64                 \
	OPTION_U64, "u64", NULL, \
		"keys are integers, -2^63 to 2^64 - 1, not text; negative\nones are taken modulo 2^64"

#define KEYS_CRLF OPTION_CRLF, "crlf", NULL, "lines may end in CR LF: the CR is no part of a key"

#define KEYS_PLAIN \
	OPTION_PLAIN, "plain", NULL, "take the keys as they are, even if they look compressed"

/** What keys look like. */
struct key_form {
	char delimiter;
	bool u64;   /* decimal numbers, which are 64-bit keys */
	bool plain; /* never decompressed */
	bool crlf;  /* a carriage return before the newline belongs to the line's end */
	unsigned
		value_bits; /* a tab and a number of so many bits follow the key; 0: nothing does */
};

#define KEY_FORM_LINES                       \
	{                                    \
		'\n', false, false, false, 0 \
	}

/** Takes one of the options above; false if it is none of them. */
bool keys_take(struct key_form *form, int id);

struct keys {
	/* The batch: good until the next keys_read. */
	const void *key[KEYS_BATCH];
	size_t length[KEYS_BATCH];
	uint64_t number[KEYS_BATCH]; /* of keys that are integers */
	uint64_t value[KEYS_BATCH];  /* behind the keys, if they have any */

	uint64_t count; /* keys read so far */
	uint64_t bytes; /* bytes read so far */
	uint64_t total; /* bytes there are; 0 if unknown */
	int failure;    /* an exit code once something went wrong and was reported */
	struct key_form form;

	/* For key_reader.c alone: buffer[start..end) is unread, [start..scanned) without delimiter. */
	char **path;
	size_t paths;
	size_t next_path;
	struct input input;
	uint64_t earlier; /* keys of the files before this one */
	bool hinted;      /* about lines that end in CR LF, if there was reason to */
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
int keys_open(struct keys *keys, char **path, size_t paths, struct key_form form);

/**
 * Reads the next batch: how many keys, 0 at the end and after a failure. A line that should be an
 * integer and is none, or whose value is none, is a failure: the batch ends before it.
 * Where it has to wait for more, from a pipe, say, what was printed is shown first; if that
 * fails, there are no more keys.
 */
size_t keys_read(struct keys *keys);

/** Whether no more keys come within so many milliseconds, from a pipe, say; they may still come. */
bool keys_pause(const struct keys *keys, int milliseconds);

/** The hashes of the batch, n keys, under the filter's seed. */
void keys_hash(const struct keys *keys, const nidus_filter *filter, size_t n, uint64_t *hash);

void keys_close(struct keys *keys);

#endif

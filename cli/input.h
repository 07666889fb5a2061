/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_INPUT_H
#define NIDUS_CLI_INPUT_H

/**
 * @file input.h  The bytes of a file of keys, decompressed if it begins as those of gzip or zstd do.
 *
 * Files of bzip2 and xz are refused. Keys may be any bytes, so who has a list that begins like
 * that asks for it as it is (`plain`).
 */

#include <stdbool.h>
#include <stddef.h>

struct input {
	const char *name; /* for messages */
	int file;         /* INPUT_NONE: none is open */
	bool begun;       /* it is known what the file is */
	void *unpacker;   /* NULL: bytes are taken as they are */
	ptrdiff_t (*unpack)(struct input *input, void *data, size_t size);
	void (*unpacked)(struct input *input); /* gives the unpacker back */
};

#define INPUT_NONE (-1)

/** What input_read gives after a message. */
#define INPUT_FAILED (-1)
#define INPUT_UNSUPPORTED (-2)
#define INPUT_NO_MEMORY (-3)

/** Whether a file of that name should be compressed: its size does not tell how much will come. */
bool input_is_packed(const char *path);

/** Opens a file; "-" is stdin. EXIT_OK, or an exit code after a message. */
int input_open(struct input *input, const char *path, bool plain);

/**
 * Up to `size` bytes, which must be more than ten: how many, 0 at the end, below 0 after a
 * message.
 */
ptrdiff_t input_read(struct input *input, void *data, size_t size);

/** The exit code for what input_read gave below 0. */
int input_code(ptrdiff_t failure);

void input_close(struct input *input);

#endif

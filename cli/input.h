/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_INPUT_H
#define NIDUS_CLI_INPUT_H

/**
 * @file input.h  The bytes of a file of keys, decompressed if its name ends in .gz or .zst.
 *
 * Standard input and files of other names are read as they are, whatever is in them: keys may be
 * any bytes.
 */

#include <stdbool.h>
#include <stddef.h>

struct input {
	const char *name; /* for messages */
	int file;         /* INPUT_NONE: none is open */
	void *unpacker;   /* NULL: bytes are taken as they are */
	ptrdiff_t (*unpack)(struct input *input, void *data, size_t size);
	void (*unpacked)(struct input *input); /* gives the unpacker back */
};

#define INPUT_NONE (-1)

/** Whether a file of that name is decompressed: its size does not tell how much will come. */
bool input_is_packed(const char *path);

/** Opens a file; "-" is stdin. EXIT_OK, or an exit code after a message. */
int input_open(struct input *input, const char *path);

/** Up to `size` bytes: how many, 0 at the end, below 0 after a message. */
ptrdiff_t input_read(struct input *input, void *data, size_t size);

void input_close(struct input *input);

#endif

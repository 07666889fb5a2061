/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_LIMITED_H
#define NIDUS_CLI_LIMITED_H

/** @file limited.h  nidus build --memory: sets of more keys than there is memory for. */

#include "args.h"
#include "key_reader.h"
#include "nidus.h"
#include "output.h"

/* The table entries, to be put into braces. */
#define LIMITED_MEMORY                                                       \
	OPTION_MEMORY, "memory", "BYTES",                                    \
		"take no more memory than this, 16 MiB or more: 2G, 500M;\n" \
		"what does not fit goes to temporary files, 8 bytes per key"
#define LIMITED_FOLDER \
	'T', "temporary", "FOLDER", "where those files are (default: $TMPDIR, or the folder of OUT)"

struct limited {
	uint64_t memory;    /* 0: there is no limit */
	const char *folder; /* for temporary files; NULL: not given */
	nidus_builder *builder;
	nidus_builder_info info; /* after limited_write */
	char *found;             /* a folder's name that was made */
};

/** Takes one of the options above. ARGS_GO, an exit code after a message, or LIMITED_OTHER. */
int limited_take(const struct command *command, struct limited *limited, int id, const char *value);

#define LIMITED_OTHER (-2)

/** Makes the builder. `out` is where the set will go. EXIT_OK, or an exit code after a message. */
int limited_begin(const struct command *command, struct limited *limited,
                  const nidus_options *options, unsigned threads, const char *out);

/** Reads all keys; `hasher` has the seed of the options. EXIT_OK, or an exit code after a message. */
int limited_read(struct limited *limited, struct keys *keys, const nidus_filter *hasher);

/**
 * Builds the set and writes it. EXIT_OK, or an exit code, after a message if *refused is OK. There
 * *refused is what the builder says of the keys.
 */
int limited_write(struct limited *limited, struct output *output, nidus_status *refused);

void limited_end(struct limited *limited);

#endif

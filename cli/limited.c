/* SPDX-License-Identifier: MIT */
/* Keys go to a nidus_builder batch by batch; the set goes from there to its file. */

#define _POSIX_C_SOURCE 200809L

#include "limited.h"

#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "report.h"
#include "shape.h"
#include "signals.h"

int limited_take(const struct command *command, struct limited *limited, int id, const char *value)
{
	switch (id) {
	case OPTION_MEMORY:
		return shape_count(command, "--memory", value, &limited->memory);
	case 'T':
		limited->folder = value;
		return ARGS_GO;
	default:
		return LIMITED_OTHER;
	}
}

/* The folder of the set: its disk has room for the set, so it may have some for the hashes. */
static const char *folder_of(struct limited *limited, const char *out)
{
	const char *slash = strrchr(out, '/');

	if (strcmp(out, "-") == 0 || strncmp(out, "/dev/", 5) == 0)
		return NULL;
	if (!slash)
		return ".";
	limited->found = strdup(out);
	if (limited->found)
		limited->found[slash == out ? 1 : slash - out] = '\0';
	return limited->found;
}

static const char *find_folder(struct limited *limited, const char *out)
{
	const char *given = getenv("TMPDIR");

	if (limited->folder)
		return limited->folder;
	return given && *given ? given : folder_of(limited, out);
}

/* How far the library is: nidus_progress. */
static bool show_progress(void *context, double share)
{
	const struct limited *limited = context;
	uint64_t keys = (uint64_t)(share * (double)limited->info.keys);

	progress_update(keys, keys);
	return signals_noted();
}

int limited_begin(const struct command *command, struct limited *limited,
                  const nidus_options *options, unsigned threads, const char *out)
{
	nidus_options watched = *options;
	nidus_status status;

	watched.progress = (nidus_progress){ show_progress, limited };
	status = nidus_builder_create(&watched, limited->memory, find_folder(limited, out), threads,
	                              &limited->builder);
	return status == NIDUS_OK ? EXIT_OK : shape_refused(command, status);
}

int limited_read(struct limited *limited, struct keys *keys, const nidus_filter *hasher)
{
	uint64_t hash[KEYS_BATCH];
	size_t n;

	progress_start("reading", keys->total);
	while ((n = keys_read(keys)) > 0) {
		nidus_status status;

		keys_hash(keys, hasher, n, hash);
		status = keys->form.value_bits > 0
		                 ? nidus_builder_add_value_batch(limited->builder, hash,
		                                                 keys->value, n, NULL)
		                 : nidus_builder_add_batch(limited->builder, hash, n, NULL);
		if (status != NIDUS_OK) {
			progress_clear();
			return report_status("keeping the hashes of the keys", status);
		}
		progress_update(keys->count, keys->bytes);
	}
	return keys->failure;
}

static void look(struct limited *limited)
{
	limited->info = (nidus_builder_info)NIDUS_BUILDER_INFO_INIT;
	nidus_builder_get_info(limited->builder, &limited->info);
}

int limited_write(struct limited *limited, struct output *output, nidus_status *refused)
{
	int code;

	look(limited);
	progress_start("building", limited->info.keys);
	code = output_build(limited->builder, output, refused);
	look(limited);
	return code;
}

void limited_end(struct limited *limited)
{
	nidus_builder_free(limited->builder);
	limited->builder = NULL;
	free(limited->found);
}

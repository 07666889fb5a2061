/* SPDX-License-Identifier: MIT */
/* Files of keys: plain ones, and those of gzip and zstd where their libraries were built in. */

#define _POSIX_C_SOURCE 200809L

#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef NIDUS_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef NIDUS_HAVE_ZSTD
#include <zstd.h>
#endif

#include "report.h"

static bool ends_in(const char *path, const char *ending)
{
	size_t length = strlen(path), tail = strlen(ending);

	return length > tail && strcmp(path + length - tail, ending) == 0;
}

bool input_is_packed(const char *path)
{
	return ends_in(path, ".gz") || ends_in(path, ".zst");
}

#if defined(NIDUS_HAVE_ZLIB) || defined(NIDUS_HAVE_ZSTD)
static ptrdiff_t damaged(const struct input *input, const char *why)
{
	report_error("%s: cannot be decompressed: %s", input->name, why);
	return -1;
}
#endif

#if !defined(NIDUS_HAVE_ZLIB) || !defined(NIDUS_HAVE_ZSTD)
static int not_built_in(const struct input *input, const char *library, const char *tool)
{
	report_error("%s: this nidus was built without %s; try: %s -dc %s | nidus ...", input->name,
	             library, tool, input->name);
	return EXIT_UNSUPPORTED;
}
#endif

static ptrdiff_t read_file(struct input *input, void *data, size_t size)
{
	ssize_t got;

	if (size > SSIZE_MAX)
		size = SSIZE_MAX;
	do {
		got = read(input->file, data, size);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		report_system(input->name, errno);
	return got;
}

/* ------------------------------------------------------------------ gzip -- */

#ifdef NIDUS_HAVE_ZLIB
static ptrdiff_t gzip_read(struct input *input, void *data, size_t size)
{
	int got = gzread(input->unpacker, data, size < INT_MAX ? (unsigned)size : INT_MAX);
	int error = Z_OK;
	const char *why = got > 0 ? "" : gzerror(input->unpacker, &error);

	if (error == Z_ERRNO)
		return report_system(input->name, errno), -1;
	if (error == Z_BUF_ERROR)
		return damaged(input, "it ends too early");
	return error == Z_OK ? got : damaged(input, why);
}

static void gzip_close(struct input *input)
{
	gzclose_r(input->unpacker); /* and the file */
	input->file = INPUT_NONE;
}

static int gzip_open(struct input *input)
{
	input->unpacker = gzdopen(input->file, "rb");
	input->unpack = gzip_read;
	input->unpacked = gzip_close;
	return input->unpacker ? EXIT_OK : report_memory("decompressing keys");
}
#else
static int gzip_open(struct input *input)
{
	return not_built_in(input, "zlib", "gzip");
}
#endif

/* ------------------------------------------------------------------ zstd -- */

#ifdef NIDUS_HAVE_ZSTD
struct zstd_unpacker {
	ZSTD_DStream *stream;
	ZSTD_inBuffer in;
	bool inside; /* of a frame */
	char buffer[1 << 16];
};

/* More packed bytes: how many, 0 at the end of the file, below 0 after a message. */
static ptrdiff_t zstd_refill(struct input *input, struct zstd_unpacker *zstd)
{
	ptrdiff_t got = read_file(input, zstd->buffer, sizeof(zstd->buffer));

	if (got == 0 && zstd->inside)
		return damaged(input, "it ends too early");
	zstd->in = (ZSTD_inBuffer){ zstd->buffer, got > 0 ? (size_t)got : 0, 0 };
	return got;
}

static ptrdiff_t zstd_read(struct input *input, void *data, size_t size)
{
	struct zstd_unpacker *zstd = input->unpacker;
	ZSTD_outBuffer out = { data, size, 0 };

	while (out.pos == 0) {
		ptrdiff_t got = 1;
		size_t left;

		if (zstd->in.pos == zstd->in.size)
			got = zstd_refill(input, zstd);
		if (got <= 0)
			return got;
		left = ZSTD_decompressStream(zstd->stream, &out, &zstd->in);
		if (ZSTD_isError(left))
			return damaged(input, ZSTD_getErrorName(left));
		zstd->inside = left != 0;
	}
	return (ptrdiff_t)out.pos;
}

static void zstd_close(struct input *input)
{
	struct zstd_unpacker *zstd = input->unpacker;

	ZSTD_freeDStream(zstd->stream);
	free(zstd);
}

static int zstd_open(struct input *input)
{
	struct zstd_unpacker *zstd = calloc(1, sizeof(*zstd));

	if (zstd)
		zstd->stream = ZSTD_createDStream();
	if (!zstd || !zstd->stream) {
		free(zstd);
		return report_memory("decompressing keys");
	}
	input->unpacker = zstd;
	input->unpack = zstd_read;
	input->unpacked = zstd_close;
	return EXIT_OK;
}
#else
static int zstd_open(struct input *input)
{
	return not_built_in(input, "libzstd", "zstd");
}
#endif

/* ------------------------------------------------------------------ both -- */

static int open_unpacker(struct input *input)
{
	if (ends_in(input->name, ".gz"))
		return gzip_open(input);
	return ends_in(input->name, ".zst") ? zstd_open(input) : EXIT_OK;
}

int input_open(struct input *input, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int code;

	*input = (struct input){ .name = is_stdin ? "standard input" : path };
	input->file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (input->file < 0)
		return report_system(input->name, errno);
	code = is_stdin ? EXIT_OK : open_unpacker(input);
	if (code != EXIT_OK)
		input_close(input);
	return code;
}

ptrdiff_t input_read(struct input *input, void *data, size_t size)
{
	return input->unpacker ? input->unpack(input, data, size) : read_file(input, data, size);
}

void input_close(struct input *input)
{
	if (input->unpacker)
		input->unpacked(input);
	if (input->file > STDIN_FILENO)
		close(input->file);
	input->unpacker = NULL;
	input->file = INPUT_NONE;
}

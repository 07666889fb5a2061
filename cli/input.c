/* SPDX-License-Identifier: MIT */
/*
 * Files of keys: plain ones, and those of gzip and zstd where their libraries were built in. Which
 * it is, the first bytes tell.
 */

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

/* ---------------------------------------------------------------- what it is -- */

enum kind { PLAIN, GZIP, ZSTD, BZIP2, XZ };

static const struct {
	const char *ending; /* of names */
	const char *tool;   /* that decompresses it, as TOOL -dc */
} kinds[] = {
	[GZIP] = { ".gz", "gzip" },
	[ZSTD] = { ".zst", "zstd" },
	[BZIP2] = { ".bz2", "bzip2" },
	[XZ] = { ".xz", "xz" },
};

/* How files of a kind begin. DIGIT stands for 1 to 9. */
#define DIGIT 0x100
#define MAGIC_MOST 10

static const struct magic {
	enum kind kind;
	size_t length;
	unsigned short byte[MAGIC_MOST];
} magics[] = {
	{ GZIP, 3, { 0x1f, 0x8b, 8 } },
	{ ZSTD, 4, { 0x28, 0xb5, 0x2f, 0xfd } },
	{ ZSTD, 4, { 'P', 0x2a, 0x4d, 0x18 } }, /* a frame to skip, as pzstd writes it first */
	{ BZIP2, 10, { 'B', 'Z', 'h', DIGIT, '1', 'A', 'Y', '&', 'S', 'Y' } },
	{ BZIP2, 10, { 'B', 'Z', 'h', DIGIT, 0x17, 'r', 'E', '8', 'P', 0x90 } }, /* of nothing */
	{ XZ, 6, { 0xfd, '7', 'z', 'X', 'Z', 0 } },
};

static bool fits_one(unsigned expected, unsigned byte)
{
	return expected == DIGIT ? byte >= '1' && byte <= '9' : byte == expected;
}

/* Whether the bytes are those of the magic, as far as they go. */
static bool fits(const struct magic *magic, const unsigned char *data, size_t n)
{
	for (size_t i = 0; i < n && i < magic->length; i++) {
		if (!fits_one(magic->byte[i], data[i]))
			return false;
	}
	return true;
}

/* What the first n bytes of a file say; *more if the next ones may change that. */
static enum kind kind_of(const unsigned char *data, size_t n, bool *more)
{
	*more = false;
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++) {
		if (!fits(&magics[i], data, n))
			continue;
		if (n >= magics[i].length)
			return magics[i].kind;
		*more = true;
	}
	return PLAIN;
}

static bool ends_in(const char *path, const char *ending)
{
	size_t length = strlen(path), tail = strlen(ending);

	return length > tail && strcmp(path + length - tail, ending) == 0;
}

static enum kind kind_by_name(const char *path)
{
	for (int kind = GZIP; kind <= XZ; kind++) {
		if (ends_in(path, kinds[kind].ending))
			return (enum kind)kind;
	}
	return PLAIN;
}

bool input_is_packed(const char *path)
{
	return kind_by_name(path) != PLAIN;
}

/* -------------------------------------------------------------------- the file -- */

/* Names a way to have such keys all the same. */
static ptrdiff_t not_read(const struct input *input, enum kind kind, const char *why)
{
	const char *tool = kinds[kind].tool;

	if (input->file == STDIN_FILENO)
		report_error("%s: compressed with %s, %s; try: ... | %s -dc | nidus ...",
		             input->name, tool, why, tool);
	else
		report_error("%s: compressed with %s, %s; try: %s -dc %s | nidus ...", input->name,
		             tool, why, tool, input->name);
	return INPUT_UNSUPPORTED;
}

#if defined(NIDUS_HAVE_ZLIB) || defined(NIDUS_HAVE_ZSTD)
static ptrdiff_t damaged(const struct input *input, const char *why)
{
	report_error("%s: cannot be decompressed: %s", input->name, why);
	return INPUT_FAILED;
}

static ptrdiff_t no_memory(void)
{
	(void)report_memory("decompressing keys");
	return INPUT_NO_MEMORY;
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
	if (got < 0) {
		report_system(input->name, errno);
		return INPUT_FAILED;
	}
	return got;
}

/* ------------------------------------------------------------ packed bytes -- */

#if defined(NIDUS_HAVE_ZLIB) || defined(NIDUS_HAVE_ZSTD)
#define PACKED_MOST ((size_t)1 << 16)

/* What has been read and not yet decompressed; at first what told the kind of the file. */
struct packed {
	unsigned char *data;
	size_t at, end, size;
	bool inside; /* of a member or frame: more must come */
};

static bool packed_begin(struct packed *packed, const void *data, size_t n)
{
	packed->size = n > PACKED_MOST ? n : PACKED_MOST;
	packed->data = malloc(packed->size);
	if (!packed->data)
		return false;
	memcpy(packed->data, data, n);
	packed->end = n;
	return true;
}

/* Sees to it that there are bytes: 1, 0 at the end of the file, below 0 after a message. */
static ptrdiff_t packed_refill(struct packed *packed, struct input *input)
{
	ptrdiff_t got;

	if (packed->at < packed->end)
		return 1;
	got = read_file(input, packed->data, packed->size);
	if (got == 0 && packed->inside)
		return damaged(input, "it ends too early");
	packed->at = 0;
	packed->end = got > 0 ? (size_t)got : 0;
	return got > 0 ? 1 : got;
}
#endif

/* ------------------------------------------------------------------ gzip -- */

#ifdef NIDUS_HAVE_ZLIB
struct gzip_unpacker {
	struct packed packed;
	z_stream stream;
	bool over; /* what follows the last member is none */
};

/* Decompresses what is there; one member after the other. */
static ptrdiff_t gzip_step(struct input *input, struct gzip_unpacker *gzip)
{
	struct packed *packed = &gzip->packed;
	z_stream *stream = &gzip->stream;
	int answer;

	if (!packed->inside && stream->total_in > 0 && packed->data[packed->at] != 0x1f) {
		report_warning("%s: what follows the compressed keys is ignored", input->name);
		gzip->over = true;
		return 0;
	}
	if (!packed->inside && inflateReset(stream) != Z_OK)
		return damaged(input, "zlib refuses it");
	stream->next_in = packed->data + packed->at;
	stream->avail_in = (unsigned)(packed->end - packed->at);
	answer = inflate(stream, Z_NO_FLUSH);
	packed->at = packed->end - stream->avail_in;
	packed->inside = answer != Z_STREAM_END;
	if (answer == Z_MEM_ERROR)
		return no_memory();
	if (answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR)
		return damaged(input, stream->msg ? stream->msg : "it is not what gzip writes");
	return 1;
}

static ptrdiff_t gzip_read(struct input *input, void *data, size_t size)
{
	struct gzip_unpacker *gzip = input->unpacker;
	unsigned room = size < INT_MAX ? (unsigned)size : INT_MAX;

	gzip->stream.next_out = data;
	gzip->stream.avail_out = room;
	while (gzip->stream.avail_out == room && !gzip->over) {
		ptrdiff_t got = packed_refill(&gzip->packed, input);

		if (got > 0)
			got = gzip_step(input, gzip);
		if (got <= 0)
			return got;
	}
	return (ptrdiff_t)(room - gzip->stream.avail_out);
}

static void gzip_close(struct input *input)
{
	struct gzip_unpacker *gzip = input->unpacker;

	inflateEnd(&gzip->stream);
	free(gzip->packed.data);
	free(gzip);
}

static ptrdiff_t gzip_open(struct input *input, const void *data, size_t n)
{
	struct gzip_unpacker *gzip = calloc(1, sizeof(*gzip));

	if (!gzip || inflateInit2(&gzip->stream, 15 + 16) != Z_OK) { /* gzip's own header */
		free(gzip);
		return no_memory();
	}
	input->unpacker = gzip;
	input->unpack = gzip_read;
	input->unpacked = gzip_close;
	return packed_begin(&gzip->packed, data, n) ? 0 : no_memory();
}
#else
static ptrdiff_t gzip_open(struct input *input, const void *data, size_t n)
{
	(void)data;
	(void)n;
	return not_read(input, GZIP, "and this nidus was built without zlib");
}
#endif

/* ------------------------------------------------------------------ zstd -- */

#ifdef NIDUS_HAVE_ZSTD
struct zstd_unpacker {
	struct packed packed;
	ZSTD_DStream *stream;
};

static ptrdiff_t zstd_read(struct input *input, void *data, size_t size)
{
	struct zstd_unpacker *zstd = input->unpacker;
	struct packed *packed = &zstd->packed;
	ZSTD_outBuffer out = { data, size, 0 };

	while (out.pos == 0) {
		ptrdiff_t got = packed_refill(packed, input);
		ZSTD_inBuffer in = { packed->data, packed->end, packed->at };
		size_t left;

		if (got <= 0)
			return got;
		left = ZSTD_decompressStream(zstd->stream, &out, &in);
		packed->at = in.pos;
		if (ZSTD_isError(left))
			return damaged(input, ZSTD_getErrorName(left));
		packed->inside = left != 0;
	}
	return (ptrdiff_t)out.pos;
}

static void zstd_close(struct input *input)
{
	struct zstd_unpacker *zstd = input->unpacker;

	ZSTD_freeDStream(zstd->stream);
	free(zstd->packed.data);
	free(zstd);
}

static ptrdiff_t zstd_open(struct input *input, const void *data, size_t n)
{
	struct zstd_unpacker *zstd = calloc(1, sizeof(*zstd));

	if (zstd)
		zstd->stream = ZSTD_createDStream();
	if (!zstd || !zstd->stream) {
		free(zstd);
		return no_memory();
	}
	input->unpacker = zstd;
	input->unpack = zstd_read;
	input->unpacked = zstd_close;
	return packed_begin(&zstd->packed, data, n) ? 0 : no_memory();
}
#else
static ptrdiff_t zstd_open(struct input *input, const void *data, size_t n)
{
	(void)data;
	(void)n;
	return not_read(input, ZSTD, "and this nidus was built without libzstd");
}
#endif

/* ------------------------------------------------------------------- all -- */

int input_open(struct input *input, const char *path, bool plain)
{
	bool is_stdin = strcmp(path, "-") == 0;

	*input = (struct input){ .name = is_stdin ? "standard input" : path, .begun = plain };
	input->file = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	return input->file < 0 ? report_system(input->name, errno) : EXIT_OK;
}

/* A name that promises what the file does not keep: damaged, most likely. */
static ptrdiff_t misnamed(const struct input *input, enum kind kind)
{
	report_error("%s: has the name of a %s file, but is not one; --plain reads its "
	             "bytes as keys",
	             input->name, kinds[kind].tool);
	return INPUT_FAILED;
}

static ptrdiff_t open_unpacker(struct input *input, enum kind kind, const void *data, size_t n)
{
	switch (kind) {
	case GZIP:
		return gzip_open(input, data, n);
	case ZSTD:
		return zstd_open(input, data, n);
	default:
		return not_read(input, kind, "which nidus cannot read");
	}
}

/*
 * The first bytes of a file, and what they say it is. As few reads as can tell: someone may be
 * typing.
 */
static ptrdiff_t begin(struct input *input, void *data, size_t size)
{
	enum kind named = kind_by_name(input->name), kind;
	size_t n = 0;
	ptrdiff_t got;
	bool more;

	do {
		got = read_file(input, (char *)data + n, size - n);
		if (got < 0)
			return got;
		n += (size_t)got;
		kind = kind_of(data, n, &more);
	} while (more && got > 0 && n < size);
	input->begun = true;
	if (kind == PLAIN)
		return named != PLAIN && n > 0 ? misnamed(input, named) : (ptrdiff_t)n;
	got = open_unpacker(input, kind, data, n);
	return got < 0 ? got : input->unpack(input, data, size);
}

ptrdiff_t input_read(struct input *input, void *data, size_t size)
{
	if (!input->begun)
		return begin(input, data, size);
	return input->unpacker ? input->unpack(input, data, size) : read_file(input, data, size);
}

int input_code(ptrdiff_t failure)
{
	if (failure == INPUT_UNSUPPORTED)
		return EXIT_UNSUPPORTED;
	return failure == INPUT_NO_MEMORY ? EXIT_MEMORY : EXIT_FILE;
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

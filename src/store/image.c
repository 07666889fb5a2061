/* SPDX-License-Identifier: MIT
 *
 * image: the header's fields and the order of the bytes.
 *
 *       0  magic, 8 bytes            72  chunks, u64
 *       8  version, u32              80  groups, u64
 *      12  header size, u32          88  reserve, u32
 *      16  family, u32               92  max steps, u32
 *      20  features, u32             96  stash limit, u32
 *      24  seed, u64                100  stride, u32
 *      32  capacity, u64            104  count, u64
 *      40  max capacity, u64        112  stashed, u64
 *      48  fpr, f64                 120  sections, u32
 *      56  slots, u32               124  zero, u32
 *      60  core bits, u32           128  per section: kind u32, zero u32,
 *      64  growth bits, u32              offset u64, size u64, checksum u64
 *      68  shares, u32              192  bits of a value, u32
 *                                  196  1 if it is a directory of segments, u32
 *                                  200  keys in the verdict, u64
 *                                  208  tick, u64
 *                                  216  slices, u32
 *                                  248  checksum of bytes 0 to 247, u64
 */
#include "store/image.h"

#include "base/bits.h"
#include "base/hash.h"
#include "base/reason.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>

static const unsigned char magic[8] = { 0x89, 'n', 'i', 'd', 'u', 's', '\r', '\n' };

#define SECTION_TABLE 128 /* where the section table starts */
#define SECTION_ROW 32    /* bytes per section in it */
#define VALUE_BITS_AT 192 /* behind the section table */
#define SEGMENTED_AT 196
#define JUDGED_AT 200
#define TICK_AT 208
#define SLICES_AT 216
#define CHECKSUM_AT 248

#define LINE 64   /* sections start at a cache line, */
#define PAGE 4096 /* and a large table at a page, to be mapped */
#define LARGE (64 * PAGE)
#define PIECE ((size_t)1 << 20) /* bytes handed to a sink at a time */

_Static_assert(SECTION_TABLE + IMAGE_SECTIONS * SECTION_ROW == VALUE_BITS_AT, "sections fit");
_Static_assert(CHECKSUM_AT + 8 == IMAGE_HEADER, "the checksum ends the header");

static const unsigned char zeros[PAGE];

/* A static filter is shipped, and small: it starts at a line. */
static uint64_t alignment_of(const struct image *image, int section)
{
	return section == IMAGE_TABLE && image->section[section].size >= LARGE &&
	                       !(image->plan.features & NIDUS_STATIC)
	               ? PAGE
	               : LINE;
}

nidus_status image_lay_out(struct image *image)
{
	uint64_t end = IMAGE_HEADER;
	for (int i = 0; i < IMAGE_SECTIONS; i++) {
		uint64_t size = image->section[i].size;
		uint64_t alignment = alignment_of(image, i), start;
		if (add_overflows(end, alignment - 1, &start))
			return fail(NIDUS_E_FORMAT, "the sections' sizes are absurd");
		start -= start % alignment;
		image->section[i].offset = start;
		if (add_overflows(start, size, &end) || end > INT64_MAX)
			return fail(NIDUS_E_FORMAT, "the sections' sizes are absurd");
	}
	assert(image->section[0].offset >= IMAGE_HEADER);
	image->size = end;
	return NIDUS_OK;
}

/* Where section i's padding starts. */
static uint64_t end_before(const struct image *image, int i)
{
	return i == 0 ? IMAGE_HEADER : image->section[i - 1].offset + image->section[i - 1].size;
}

static uint64_t bits_of(double number)
{
	uint64_t bits;
	memcpy(&bits, &number, sizeof bits);
	return bits;
}

static double number_of(uint64_t bits)
{
	double number;
	memcpy(&number, &bits, sizeof number);
	return number;
}

static void encode_plan(const struct blueprint *plan, unsigned char *to)
{
	store32(to + 16, plan->family);
	store32(to + 20, plan->features);
	store64(to + 24, plan->seed);
	store64(to + 32, plan->capacity);
	store64(to + 40, plan->max_capacity);
	store64(to + 48, bits_of(plan->fpr));
	store32(to + 56, plan->slots);
	store32(to + 60, plan->core_bits);
	store32(to + 64, plan->growth_bits);
	store32(to + 68, plan->shares);
	store64(to + 72, plan->chunks);
	store64(to + 80, plan->groups);
	store32(to + 88, plan->reserve);
	store32(to + 92, plan->max_steps);
	store32(to + 96, plan->stash_limit);
	store32(to + 100, plan->stride);
	store32(to + VALUE_BITS_AT, plan->value_bits);
	store32(to + SEGMENTED_AT, plan->segmented);
	store64(to + JUDGED_AT, plan->judged);
	store32(to + SLICES_AT, plan->slices);
}

/* What does not fit is found out when the plan is encoded again. */
static void decode_plan(struct blueprint *plan, const unsigned char *from)
{
	plan->family = (uint8_t)load32(from + 16);
	plan->features = load32(from + 20);
	plan->seed = load64(from + 24);
	plan->capacity = load64(from + 32);
	plan->max_capacity = load64(from + 40);
	plan->fpr = number_of(load64(from + 48));
	plan->slots = (uint8_t)load32(from + 56);
	plan->core_bits = (uint8_t)load32(from + 60);
	plan->growth_bits = (uint8_t)load32(from + 64);
	plan->shares = (uint8_t)load32(from + 68);
	plan->chunks = load64(from + 72);
	plan->groups = load64(from + 80);
	plan->reserve = (uint16_t)load32(from + 88);
	plan->max_steps = load32(from + 92);
	plan->stash_limit = load32(from + 96);
	plan->stride = (uint8_t)load32(from + 100);
	plan->value_bits = (uint8_t)load32(from + VALUE_BITS_AT);
	plan->segmented = (uint8_t)load32(from + SEGMENTED_AT);
	plan->judged = load64(from + JUDGED_AT);
	plan->slices = (uint16_t)load32(from + SLICES_AT);
}

static void encode(const struct image *image, unsigned char header[IMAGE_HEADER])
{
	memset(header, 0, IMAGE_HEADER);
	memcpy(header, magic, sizeof magic);
	store32(header + 8, IMAGE_VERSION);
	store32(header + 12, IMAGE_HEADER);
	encode_plan(&image->plan, header);
	store64(header + 104, image->count);
	store64(header + 112, image->stashed);
	store64(header + TICK_AT, image->tick);
	store32(header + 120, IMAGE_SECTIONS);
	for (uint32_t i = 0; i < IMAGE_SECTIONS; i++) {
		unsigned char *row = header + SECTION_TABLE + i * SECTION_ROW;
		store32(row, i);
		store64(row + 8, image->section[i].offset);
		store64(row + 16, image->section[i].size);
		store64(row + 24, image->section[i].checksum);
	}
	store64(header + CHECKSUM_AT, hash_checksum(header, CHECKSUM_AT));
}

void image_header(const struct image *image, unsigned char header[IMAGE_HEADER])
{
	encode(image, header);
}

nidus_status image_put(nidus_sink sink, void *context, const void *bytes, uint64_t size)
{
	const unsigned char *from = bytes;
	while (size > 0) {
		size_t piece = size < PIECE ? (size_t)size : PIECE;
		int error = sink(context, from, piece);
		if (error != 0) {
			errno = error;
			return fail(NIDUS_E_IO, "cannot write: %s", strerror(error));
		}
		from += piece;
		size -= piece;
	}
	return NIDUS_OK;
}

/* The checksum of a section. */
static uint64_t checksum_of(const struct image *image, int i, const void *bytes)
{
	struct hash_stream stream;
	const void *piece;
	uint64_t size, index = 0;
	if (i != IMAGE_TABLE || image->pieces == NULL)
		return hash_checksum(bytes, image->section[i].size);
	const struct image_pieces *pieces = image->pieces;
	hash_stream_begin(&stream);
	while ((piece = pieces->piece(pieces->context, index++, &size)) != NULL)
		hash_stream_add(&stream, piece, size);
	return hash_stream_end(&stream);
}

static nidus_status put_section(const struct image *image, int i, const void *bytes,
                                nidus_sink sink, void *context)
{
	nidus_status status = NIDUS_OK;
	const void *piece;
	uint64_t size, index = 0;
	if (i != IMAGE_TABLE || image->pieces == NULL)
		return image_put(sink, context, bytes, image->section[i].size);
	const struct image_pieces *pieces = image->pieces;
	while (status == NIDUS_OK &&
	       (piece = pieces->piece(pieces->context, index++, &size)) != NULL)
		status = image_put(sink, context, piece, size);
	return status;
}

int image_skip(void *context, const void *bytes, size_t size)
{
	struct image_skip *skip = context;
	size_t over = skip->left < size ? (size_t)skip->left : size;
	skip->left -= over;
	return over < size
	               ? skip->sink(skip->context, (const unsigned char *)bytes + over, size - over)
	               : 0;
}

/* Whether anybody gets a part of the header that is about to be written. */
static bool header_is_read(nidus_sink sink, const void *context)
{
	return sink != image_skip || ((const struct image_skip *)context)->left < IMAGE_HEADER;
}

nidus_status image_write(struct image *image, const void *const bytes[IMAGE_SECTIONS],
                         nidus_sink sink, void *context)
{
	unsigned char header[IMAGE_HEADER];
	nidus_status status = image_lay_out(image);
	if (status != NIDUS_OK)
		return status;
	for (int i = 0; i < IMAGE_SECTIONS && header_is_read(sink, context); i++)
		image->section[i].checksum = checksum_of(image, i, bytes[i]);
	encode(image, header);
	status = image_put(sink, context, header, IMAGE_HEADER);
	for (int i = 0; i < IMAGE_SECTIONS && status == NIDUS_OK; i++) {
		assert(image->section[i].offset - end_before(image, i) < PAGE);
		status = image_put(sink, context, zeros,
		                   image->section[i].offset - end_before(image, i));
		if (status == NIDUS_OK)
			status = put_section(image, i, bytes[i], sink, context);
	}
	return status;
}

nidus_status image_get(nidus_source source, void *context, void *bytes, uint64_t size)
{
	unsigned char *to = bytes;
	while (size > 0) {
		size_t piece = size < PIECE ? (size_t)size : PIECE;
		ptrdiff_t got = source(context, to, piece);
		if (got < 0) {
			errno = got >= -INT_MAX ? (int)-got : EIO;
			return fail(NIDUS_E_IO, "cannot read: %s", strerror(errno));
		}
		if (got == 0)
			return fail(NIDUS_E_TRUNCATED, "the file ends %llu bytes too early",
			            (unsigned long long)size);
		if ((size_t)got > piece)
			return fail(NIDUS_E_ARG, "the source gave more bytes than asked for");
		to += got;
		size -= (uint64_t)got;
	}
	return NIDUS_OK;
}

/* Words for a file of another version, with what its owner can do. */
static nidus_status refuse_version(uint32_t version)
{
	if (version < IMAGE_VERSION)
		return fail(NIDUS_E_VERSION,
		            "format version %u is older than the first release: build the filter "
		            "anew from its keys",
		            (unsigned)version);
	return fail(NIDUS_E_VERSION,
	            "format version %u; this library reads version %u: use a newer nidus",
	            (unsigned)version, (unsigned)IMAGE_VERSION);
}

static nidus_status check_header(const unsigned char header[IMAGE_HEADER])
{
	if (memcmp(header, magic, sizeof magic) != 0)
		return fail(NIDUS_E_FORMAT, "not a nidus file");
	if (load32(header + 8) != IMAGE_VERSION)
		return refuse_version(load32(header + 8));
	if (load64(header + CHECKSUM_AT) != hash_checksum(header, CHECKSUM_AT))
		return fail(NIDUS_E_CORRUPT, "the header's checksum does not match");
	if (load32(header + 12) != IMAGE_HEADER || load32(header + 120) != IMAGE_SECTIONS)
		return fail(NIDUS_E_FORMAT, "the header has another shape than version %u",
		            (unsigned)IMAGE_VERSION);
	return NIDUS_OK;
}

nidus_status image_read_header(struct image *image, nidus_source source, void *context)
{
	unsigned char header[IMAGE_HEADER], again[IMAGE_HEADER];
	nidus_status status = image_get(source, context, header, sizeof magic);
	if (status == NIDUS_E_TRUNCATED)
		return fail(status, "the file is too short to be a nidus file");
	if (status != NIDUS_OK)
		return status;
	if (memcmp(header, magic, sizeof magic) != 0)
		return fail(NIDUS_E_FORMAT, "not a nidus file");
	status = image_get(source, context, header + sizeof magic, IMAGE_HEADER - sizeof magic);
	if (status == NIDUS_OK)
		status = check_header(header);
	if (status != NIDUS_OK)
		return status;
	*image = (struct image){ 0 };
	decode_plan(&image->plan, header);
	image->count = load64(header + 104);
	image->stashed = load64(header + 112);
	image->tick = load64(header + TICK_AT);
	for (int i = 0; i < IMAGE_SECTIONS; i++) {
		image->section[i].size = load64(header + SECTION_TABLE + i * SECTION_ROW + 16);
		image->section[i].checksum = load64(header + SECTION_TABLE + i * SECTION_ROW + 24);
	}
	status = image_lay_out(image);
	if (status != NIDUS_OK)
		return status;
	/* One spelling per header: whatever else was in it would be written back. */
	encode(image, again);
	if (memcmp(header, again, IMAGE_HEADER) != 0)
		return fail(NIDUS_E_FORMAT,
		            "the header's sections or unused bytes are not in order");
	return NIDUS_OK;
}

static nidus_status check_padding(const unsigned char *padding, uint64_t size)
{
	if (size > 0 && memcmp(padding, zeros, (size_t)size) != 0)
		return fail(NIDUS_E_CORRUPT, "the padding between sections is not zero");
	return NIDUS_OK;
}

static nidus_status check_section(const struct image *image, enum image_section which,
                                  const void *bytes)
{
	if (hash_checksum(bytes, image->section[which].size) != image->section[which].checksum)
		return fail(NIDUS_E_CORRUPT, "the checksum of the %s does not match",
		            which == IMAGE_TABLE ? "table" : "stash");
	return NIDUS_OK;
}

nidus_status image_check_section(const struct image *image, enum image_section which,
                                 const unsigned char *file)
{
	uint64_t before = end_before(image, which), start = image->section[which].offset;
	nidus_status status = check_padding(file + before, start - before);
	return status == NIDUS_OK ? check_section(image, which, file + start) : status;
}

nidus_status image_begin_section(const struct image *image, enum image_section which,
                                 nidus_source source, void *context, struct image_reading *reading)
{
	unsigned char padding[PAGE];
	uint64_t gap = image->section[which].offset - end_before(image, which);
	reading->source = source;
	reading->context = context;
	hash_stream_begin(&reading->checksum);
	nidus_status status = image_get(source, context, padding, gap);
	return status == NIDUS_OK ? check_padding(padding, gap) : status;
}

nidus_status image_read_piece(struct image_reading *reading, void *bytes, uint64_t size)
{
	nidus_status status = image_get(reading->source, reading->context, bytes, size);
	if (status == NIDUS_OK)
		hash_stream_add(&reading->checksum, bytes, (size_t)size);
	return status;
}

static nidus_status no_match(enum image_section which)
{
	return fail(NIDUS_E_CORRUPT, "the checksum of the %s does not match",
	            which == IMAGE_TABLE ? "table" : "stash");
}

nidus_status image_end_section(const struct image *image, enum image_section which,
                               const struct image_reading *reading)
{
	return hash_stream_end(&reading->checksum) == image->section[which].checksum
	               ? NIDUS_OK
	               : no_match(which);
}

nidus_status image_read_section(const struct image *image, enum image_section which, void *bytes,
                                nidus_source source, void *context)
{
	unsigned char padding[PAGE];
	uint64_t gap = image->section[which].offset - end_before(image, which);
	nidus_status status = image_get(source, context, padding, gap);
	if (status == NIDUS_OK)
		status = check_padding(padding, gap);
	if (status == NIDUS_OK)
		status = image_get(source, context, bytes, image->section[which].size);
	return status == NIDUS_OK ? check_section(image, which, bytes) : status;
}

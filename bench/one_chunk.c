/* SPDX-License-Identifier: MIT
 *
 * one_chunk: takes the header of a filter of many chunks and makes it one.
 */
#include "one_chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Of docs/format.md. */
#define HEADER 256
#define AT_CAPACITY 32
#define AT_MAX_CAPACITY 40
#define AT_RATE 48
#define AT_BITS 60
#define AT_CHUNKS 72
#define AT_GROUPS 80
#define AT_TABLE 128 /* this section's row in the header; the stash's follows */
#define AT_STASH 160
#define ROW_OFFSET 8
#define ROW_SIZE 16
#define ROW_CHECKSUM 24
#define AT_CHECKSUM 248
#define PAGED \
	262144 /* a table of so many bytes or more starts at PAGE, a smaller one behind the header */
#define PAGE 4096
#define SLOTS_PADDING 8

/* At this load every family has the fingerprints of a full table. */
#define PLANNED_LOAD 0.85

#define HALF UINT64_C(0x3fe0000000000000) /* 0.5 as a double's bits */

static void put64(unsigned char *to, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		to[i] = (unsigned char)(number >> 8 * i);
}

static void put32(unsigned char *to, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(number >> 8 * i);
}

/* Takes the header, which comes first and whole, and stops the writing. */
static int header_sink(void *context, const void *data, size_t size)
{
	memcpy(context, data, size < HEADER ? size : HEADER);
	return ECANCELED;
}

static void describe_section(unsigned char *row, uint64_t offset, const void *bytes, uint64_t size)
{
	put64(row + ROW_OFFSET, offset);
	put64(row + ROW_SIZE, size);
	put64(row + ROW_CHECKSUM, XXH3_64bits(size > 0 ? bytes : "", (size_t)size));
}

/* Loads an image of `header`'s filter with one empty chunk of so many groups. */
static nidus_status load_empty(const unsigned char *header, uint64_t groups, uint64_t bytes,
                               nidus_filter **filter)
{
	uint64_t offset = bytes < PAGED ? HEADER : PAGE;
	uint64_t size = (offset + bytes + 63) / 64 * 64;
	unsigned char *image = calloc(1, (size_t)size);
	if (image == NULL)
		return NIDUS_E_NOMEM;
	memcpy(image, header, HEADER);
	put64(image + AT_CHUNKS, 1);
	put64(image + AT_GROUPS, groups);
	describe_section(image + AT_TABLE, offset, image + offset, bytes);
	describe_section(image + AT_STASH, size, NULL, 0);
	put64(image + AT_CHECKSUM, XXH3_64bits(image, AT_CHECKSUM));
	nidus_status status = nidus_load_buffer(image, (size_t)size, NULL, filter);
	free(image);
	return status;
}

/* Gives fingerprints another width, and promises no more than the shortest can keep. */
static void shorten(unsigned char *header, unsigned bits)
{
	put32(header + AT_BITS, bits);
	put64(header + AT_CAPACITY, 1);
	put64(header + AT_MAX_CAPACITY, 1);
	put64(header + AT_RATE, HALF);
}

/* The groups of a chunk of so many slots; *kept is how many of them are used. */
static uint64_t groups_of(const nidus_info *info, uint64_t total_slots, uint64_t *kept)
{
	/* Windows start at every slot but the last few; buckets lie side by side. */
	bool windows = info->family == NIDUS_WINDOWED;
	*kept = windows ? total_slots : total_slots / info->slots * info->slots;
	return windows ? total_slots - info->slots + 1 : total_slots / info->slots;
}

nidus_status one_chunk_create(const nidus_options *options, uint64_t total_slots, unsigned bits,
                              nidus_filter **filter)
{
	nidus_options planned = *options;
	planned.stash = NIDUS_STASH_OFF;
	planned.capacity = (uint64_t)(PLANNED_LOAD * (double)total_slots);
	nidus_status status = nidus_create(&planned, filter);
	if (status != NIDUS_OK)
		return status;
	nidus_info info = NIDUS_INFO_INIT;
	nidus_get_info(*filter, &info);
	if (info.family == NIDUS_CUCKOO) /* a power of two */
		total_slots = info.total_slots;
	unsigned char header[HEADER];
	(void)nidus_write(*filter, header_sink, header);
	nidus_free(*filter);
	if (bits != 0) {
		info.slot_bits += bits - info.fingerprint_bits;
		shorten(header, bits);
	}
	uint64_t kept, groups = groups_of(&info, total_slots, &kept);
	uint64_t bytes = (kept * info.slot_bits + 7) / 8 + SLOTS_PADDING;
	return load_empty(header, groups, bytes, filter);
}

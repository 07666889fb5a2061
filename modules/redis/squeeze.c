/* SPDX-License-Identifier: MIT */
#include "squeeze.h"

#include <string.h>

/* Of docs/format.md: where things are in an image. */
enum {
	FAMILY_AT = 16,
	CAPACITY_AT = 32,
	MAX_CAPACITY_AT = 40,
	FPR_AT = 48,
	COUNT_AT = 104,
	SECTIONS_AT = 120,
	TABLE_OFFSET_AT = 136,
	STASH_KIND_AT = 160,
	STASH_OFFSET_AT = 168,
	STASH_CHECKSUM_AT = 184,
	SEGMENTED_AT = 196,
	HEADER = 256,
	GENERATION_AT = HEADER + 64, /* of a filter without a size */
	LIST_AT = 8,                 /* in the table of a list: how many records it has */
	GUESSED = HEADER + 192
};

#define CHECKSUM_OF_NOTHING UINT64_C(0x2d06800538d394c2)

static void put(unsigned char *at, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		at[i] = (unsigned char)(value >> (8 * i));
}

static void guess(const struct recipe *recipe, uint64_t items, size_t size,
                  unsigned char bytes[GUESSED])
{
	static const unsigned char start[16] = { 0x89, 'n', 'i', 'd', 'u', 's', '\r', '\n',
		                                 1,    0,   0,   0,   0,   1,   0,    0 };
	uint64_t fpr;
	memset(bytes, 0, GUESSED);
	memcpy(bytes, start, sizeof start);
	memcpy(&fpr, &recipe->error, sizeof fpr);
	bytes[FAMILY_AT] = recipe->family;
	put(bytes + CAPACITY_AT, recipe->capacity);
	put(bytes + MAX_CAPACITY_AT, recipe->max_capacity);
	put(bytes + FPR_AT, fpr);
	put(bytes + COUNT_AT, items);
	bytes[SECTIONS_AT] = 2;
	put(bytes + TABLE_OFFSET_AT, HEADER);
	bytes[STASH_KIND_AT] = 1;
	put(bytes + STASH_OFFSET_AT, size);
	put(bytes + STASH_CHECKSUM_AT, CHECKSUM_OF_NOTHING);
	bool unlimited = recipe->max_capacity == NIDUS_UNLIMITED;
	bytes[SEGMENTED_AT] = unlimited ? 2 : 1;
	put(bytes + (unlimited ? GENERATION_AT + 64 : HEADER) + LIST_AT, items);
	if (!unlimited)
		return;
	bytes[HEADER] = 1;                   /* generation, */
	put(bytes + GENERATION_AT + 8, items);
	bytes[GENERATION_AT + 24] = 1;       /* which has one base segment */
	bytes[GENERATION_AT + 32] = 3;       /* and bits to grow */
}

/* Makes an image its difference from the guess, or the other way round. */
static void change(const struct recipe *recipe, uint64_t items, unsigned char *image, size_t size)
{
	unsigned char guessed[GUESSED];
	guess(recipe, items, size, guessed);
	for (size_t i = 0; i < GUESSED && i < size; i++)
		image[i] ^= guessed[i];
}

/* Writes what a nibble has no room for. */
static unsigned char *put_rest(unsigned char *to, size_t number)
{
	if (number < 15)
		return to;
	for (number -= 15; number >= 128; number >>= 7)
		*to++ = (unsigned char)(number | 128);
	*to++ = (unsigned char)number;
	return to;
}

/* How many bytes follow that are better copied: up to two zeros, or more at the end. */
static size_t copied(const unsigned char *at, size_t left)
{
	size_t n = 0;
	for (size_t zeros = 0; n + zeros < left && zeros < 2;) {
		if (at[n + zeros] == 0) {
			zeros++;
			continue;
		}
		n += zeros + 1;
		zeros = 0;
	}
	return n;
}

size_t squeeze(const struct recipe *recipe, uint64_t items, unsigned char *image, size_t size,
               unsigned char *squeezed)
{
	unsigned char *to = squeezed;
	change(recipe, items, image, size);
	for (size_t at = 0; at < size;) {
		size_t zeros = 0;
		while (at + zeros < size && image[at + zeros] == 0)
			zeros++;
		at += zeros;
		size_t bytes = copied(image + at, size - at);
		*to++ = (unsigned char)((zeros < 15 ? zeros : 15) << 4 | (bytes < 15 ? bytes : 15));
		to = put_rest(put_rest(to, zeros), bytes);
		memcpy(to, image + at, bytes);
		to += bytes;
		at += bytes;
	}
	return (size_t)(to - squeezed);
}

/* Reads a number of a token; SIZE_MAX: it is none below 2^28. */
static size_t get_rest(const unsigned char **from, const unsigned char *end, unsigned nibble)
{
	size_t rest = 0;
	if (nibble < 15)
		return nibble;
	for (unsigned shift = 0; shift < 28 && *from < end; shift += 7) {
		unsigned char byte = *(*from)++;
		rest |= (size_t)(byte & 127) << shift;
		if (byte < 128)
			return 15 + rest;
	}
	return SIZE_MAX;
}

bool unsqueeze(const struct recipe *recipe, uint64_t items, const unsigned char *squeezed,
               size_t squeezed_size, unsigned char *image, size_t size)
{
	const unsigned char *from = squeezed, *end = squeezed + squeezed_size;
	size_t at = 0;
	while (at < size && from < end) {
		unsigned char token = *from++;
		size_t zeros = get_rest(&from, end, token >> 4);
		size_t bytes = get_rest(&from, end, token & 15);
		if (zeros > size - at || bytes > size - at - zeros || bytes > (size_t)(end - from))
			return false;
		memset(image + at, 0, zeros);
		memcpy(image + at + zeros, from, bytes);
		at += zeros + bytes;
		from += bytes;
	}
	change(recipe, items, image, size);
	return at == size && from == end;
}

/* SPDX-License-Identifier: MIT
 *
 * look: what a small filter looks like inside, for the page that draws it.
 *
 * The page's module is the package's (bindings/js/nidus_js.c) and this file, which alone
 * includes private headers. It changes nothing and watches nothing: the page asks for a
 * picture before a call and for another one after it, and what has moved is the difference.
 * Entries can be followed because every one tells its identity, in every place.
 *
 * A picture is an array of numbers of 32 bits, LOOK_FIELDS for each entry:
 *
 *     row   column   home   fingerprint   first   second   note
 *
 *   nests       row: chunk, column: slot; the entry belongs in groups `first` and `second`.
 *               A stashed entry has column LOOK_STASH. note: 1 if it lies in the second.
 *   yards       row: line, front lines first, column: slot; first: its front line, second:
 *               its mini-bucket, note: the crumb, or LOOK_NONE in the front yard. An entry of
 *               the list has its front line and the column LOOK_STASH.
 *
 * Bloom filters have bits and no entries: look_bits tells where they are.
 */
#include <nidus.h>

#include "api/filter.h"
#include "nest/nest.h"
#include "yard/list.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

#define LOOK_FIELDS 7
#define LOOK_MOST 4096 /* entries of a picture; filters to look at are small */
#define LOOK_NONE UINT32_MAX
#define LOOK_STASH UINT32_MAX

enum look_kind { LOOK_NEST, LOOK_YARD, LOOK_BLOOM };

static uint32_t picture[LOOK_MOST * LOOK_FIELDS];
static unsigned entries;

static void draw(uint64_t row, uint64_t column, uint64_t home, uint64_t fingerprint, uint64_t first,
                 uint64_t second, uint64_t note)
{
	if (entries == LOOK_MOST)
		return;
	uint32_t *entry = &picture[entries++ * LOOK_FIELDS];
	entry[0] = (uint32_t)row;
	entry[1] = (uint32_t)column;
	entry[2] = (uint32_t)home;
	entry[3] = (uint32_t)fingerprint;
	entry[4] = (uint32_t)first;
	entry[5] = (uint32_t)second;
	entry[6] = (uint32_t)note;
}

static enum look_kind kind_of(const nidus_filter *filter)
{
	if (filter->family->searches)
		return LOOK_NEST;
	return filter->plan.family == NIDUS_BREADCRUMB ? LOOK_YARD : LOOK_BLOOM;
}

static const struct nest *nest_of(const nidus_filter *filter)
{
	return (const struct nest *)(const void *)filter_body(filter);
}

static const struct yard *yard_of(const nidus_filter *filter)
{
	return (const struct yard *)(const void *)filter_body(filter);
}

/* ----------------------------------------------------------------------- layout -- */

/* Tells the layout in `numbers`, at most 8: kind first, then what the kind has. */
void EXPORT(look_layout)(const nidus_filter *filter, uint32_t *numbers)
{
	enum look_kind kind = kind_of(filter);
	*numbers++ = kind;
	if (kind == LOOK_NEST) {
		const struct nest *nest = nest_of(filter);
		*numbers++ = (uint32_t)nest->layout->chunks;
		*numbers++ = (uint32_t)nest_chunk_slots(nest->layout);
		*numbers++ = nest->layout->slots;
		*numbers++ = nest->layout->kind == NEST_WINDOWS;
		*numbers++ = nest_coded(nest->layout->kind);
		*numbers++ = nest->layout->reserve;
	} else if (kind == LOOK_YARD) {
		const struct yard *yard = yard_of(filter);
		*numbers++ = (uint32_t)yard->fronts;
		*numbers++ = (uint32_t)yard->half * 2;
		*numbers++ = yard->ops->shape.front.slots;
		*numbers++ = yard->ops->shape.back.slots;
		*numbers++ = yard->buckets;
	} else {
		uint64_t bytes;
		(void)filter->family->table(filter_body(filter), &bytes);
		*numbers++ = (uint32_t)bytes * 8;
		*numbers++ = filter->plan.family == NIDUS_BLOCKED_BLOOM ? MEMORY_LINE * 8 : 0;
	}
}

const unsigned char *EXPORT(look_bits)(const nidus_filter *filter)
{
	uint64_t bytes;
	return filter->family->table(filter_body(filter), &bytes);
}

/* --------------------------------------------------------------------- pictures -- */

static void draw_chunk(const struct nest *nest, uint64_t chunk)
{
	const unsigned char *bits = nest_chunk_bits(nest, chunk);
	for (uint64_t slot = 0; slot < nest_chunk_slots(nest->layout); slot++) {
		uint64_t value = nest_get(nest, nest->layout->kind, bits, slot);
		if (value == 0)
			continue;
		struct nest_key key = nest_key_in(nest, nest->layout->kind, chunk, slot, value);
		nidus_entry identity = nest_identity(nest, nest->layout->kind, &key);
		uint64_t first = nest_first_slot(nest, nest->layout->kind, key.group[0]);
		bool second = slot - first >= nest->layout->slots; /* before it, too: it wraps */
		draw(chunk, slot, identity.home, identity.fingerprint, key.group[0], key.group[1],
		     second);
	}
	const struct overflow *stash = &nest->chunk[chunk].stash;
	const struct overflow_node *node = overflow_next(stash, NULL);
	for (; node != NULL; node = overflow_next(stash, &node->entry)) {
		struct nest_key key =
			nest_key_of_identity(nest, nest->layout->kind, chunk, node->entry);
		for (uint64_t copy = 0; copy < node->copies && entries < LOOK_MOST; copy++)
			draw(chunk, LOOK_STASH, node->entry.home, node->entry.fingerprint,
			     key.group[0], key.group[1], 0);
	}
}

static void draw_line(const struct yard *yard, uint64_t row, struct mini_shape shape,
                      const unsigned char *line)
{
	struct mini_sizes sizes = mini_sizes_of(shape, line);
	unsigned count = mini_count(shape, sizes);
	for (unsigned slot = 0; slot < count; slot++) {
		struct yard_key key = { .bucket = row };
		unsigned crumb = LOOK_NONE;
		if (shape.crumbs) {
			crumb = mini_crumb(shape, line, slot);
			key.bucket = yard_front_of(yard, row - yard->fronts, crumb);
		}
		key.m = mini_bucket_of(shape, sizes, slot);
		key.remainder = mini_remainder(shape, line, slot);
		nidus_entry identity = yard_identity(yard, key);
		draw(row, slot, identity.home, identity.fingerprint, key.bucket, key.m, crumb);
	}
}

static void draw_list(const struct yard *yard)
{
	const struct overflow_node *node = overflow_next(&yard->list, NULL);
	for (; node != NULL; node = overflow_next(&yard->list, &node->entry)) {
		struct yard_key key = yard_list_key(yard, &node->entry);
		nidus_entry identity = yard_identity(yard, key);
		for (uint64_t copy = 0; copy < node->copies && entries < LOOK_MOST; copy++)
			draw(key.bucket, LOOK_STASH, identity.home, identity.fingerprint,
			     key.bucket, key.m, LOOK_NONE);
	}
}

static void draw_yards(const struct yard *yard)
{
	struct mini_shape front = yard->ops->shape.front, back = yard->ops->shape.back;
	for (uint64_t i = 0; i < yard->fronts; i++)
		draw_line(yard, i, front, yard->front + i * mini_line(front));
	for (uint64_t i = 0; i < yard->half * 2; i++)
		draw_line(yard, yard->fronts + i, back, yard->back + i * mini_line(back));
	draw_list(yard);
}

/* Makes a picture; gives the number of its entries. */
unsigned EXPORT(look_entries)(const nidus_filter *filter)
{
	entries = 0;
	if (kind_of(filter) == LOOK_NEST) {
		for (uint64_t chunk = 0; chunk < nest_of(filter)->layout->chunks; chunk++)
			draw_chunk(nest_of(filter), chunk);
	} else if (kind_of(filter) == LOOK_YARD) {
		draw_yards(yard_of(filter));
	}
	return entries;
}

const uint32_t *EXPORT(look_picture)(void)
{
	return picture;
}

/* ------------------------------------------------------------------------- keys -- */

/*
 * Where the key of a hash belongs, in `numbers`, 6 of them: home, fingerprint, and
 *   nests   chunk, first group, second group
 *   yards   front line, mini-bucket, and its two lines of the backyard, as rows
 */
void EXPORT(look_locate)(const nidus_filter *filter, uint64_t hash, uint32_t *numbers)
{
	if (kind_of(filter) == LOOK_NEST) {
		const struct nest *nest = nest_of(filter);
		struct nest_key key = nest_locate(nest, nest->layout->kind, hash);
		nidus_entry identity = nest_identity(nest, nest->layout->kind, &key);
		numbers[0] = (uint32_t)identity.home;
		numbers[1] = (uint32_t)identity.fingerprint;
		numbers[2] = (uint32_t)key.chunk;
		numbers[3] = (uint32_t)key.group[0];
		numbers[4] = (uint32_t)key.group[1];
	} else if (kind_of(filter) == LOOK_YARD) {
		const struct yard *yard = yard_of(filter);
		struct yard_key key = yard_locate(yard, hash);
		nidus_entry identity = yard_identity(yard, key);
		numbers[0] = (uint32_t)identity.home;
		numbers[1] = (uint32_t)identity.fingerprint;
		numbers[2] = (uint32_t)key.bucket;
		numbers[3] = key.m;
		for (unsigned half = 0; half < 2; half++)
			numbers[4 + half] = (uint32_t)(yard->fronts + half +
			                               2 * yard_line_in(yard, key.bucket, half));
	}
}

/* What inserts had to do for others so far: entries moved, slots looked at. Nests only. */
void EXPORT(look_effort)(const nidus_filter *filter, uint32_t *numbers)
{
	numbers[0] = numbers[1] = 0;
	if (kind_of(filter) == LOOK_NEST) {
		numbers[0] = (uint32_t)nest_of(filter)->effort.moves;
		numbers[1] = (uint32_t)nest_of(filter)->effort.checks;
	}
}

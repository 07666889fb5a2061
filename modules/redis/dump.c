/* SPDX-License-Identifier: MIT */
#include "dump.h"

#include "memory.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const unsigned char magic[4] = { 0x89, 'n', 'R', '3' };

enum { FLAG_BF = 1, FLAG_FIXED = 2, FLAG_FOREIGN = 4, FLAG_FORGETS = 8, FLAGS = 16 };

#define PREFIX 14      /* bytes before the first number of variable length */
#define CHECKSUM 4     /* bytes */
#define NUMBERS 10     /* of variable length */
#define FORGETTING 2   /* and of a filter that forgets */
#define NUMBER_MOST 10 /* bytes */
#define LEGACY_SIZE 4  /* bytes of the number before a legacy header */

static_assert(PREFIX + (NUMBERS + FORGETTING) * NUMBER_MOST + CHECKSUM <= DUMP_HEADER_MOST,
              "any header fits");

/* ------------------------------------------------------------------------- numbers -- */

static unsigned char *put_number(unsigned char *at, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		*at++ = (unsigned char)(value | 128);
	*at++ = (unsigned char)value;
	return at;
}

/* Numbers of a header as they are read; `at` is NULL once one is wrong. */
struct reading {
	const unsigned char *at, *end;
};

static uint64_t get_number(struct reading *reading)
{
	uint64_t value = 0;
	for (unsigned shift = 0; reading->at != NULL; shift += 7) {
		if (reading->at == reading->end || shift > 63 ||
		    (shift == 63 && *reading->at > 1)) {
			reading->at = NULL;
			break;
		}
		unsigned char byte = *reading->at++;
		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return value;
	}
	return 0;
}

/* One that is at most so large. */
static uint64_t get_small(struct reading *reading, uint64_t most)
{
	uint64_t value = get_number(reading);
	if (value > most)
		reading->at = NULL;
	return value <= most ? value : 0;
}

static void put_fixed(unsigned char *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_fixed(const unsigned char *at, unsigned bytes)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

/* FNV-1a: against accidents in these few bytes; the image has checksums of its own. */
static uint32_t checksum(const unsigned char *bytes, size_t size)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(sum ^ (sum >> 32));
}

/* ---------------------------------------------------------------------------- sizes -- */

static uint64_t legacy_size(const struct value *value)
{
	if (value->incoming != NULL)
		return value->incoming->legacy;
	if (value->legacy == NULL)
		return 0;
	return LEGACY_SIZE + legacy_header_size(value->legacy) + legacy_table_bytes(value->legacy);
}

static uint64_t image_size(const struct value *value)
{
	if (value->incoming != NULL)
		return value->incoming->image;
	return value->filter != NULL ? nidus_saved_size(value->filter) : 0;
}

uint64_t dump_body_size(const struct value *value)
{
	return legacy_size(value) + image_size(value);
}

uint64_t dump_body_here(const struct value *value)
{
	const struct incoming *incoming = value->incoming;
	if (incoming == NULL)
		return dump_body_size(value);
	if (incoming->foreign)
		return LEGACY_SIZE + legacy_header_size(value->legacy) + incoming->bytes;
	return incoming->bytes;
}

uint64_t dump_position(uint64_t bytes)
{
	return 1 + (bytes + CHUNK_MOST - 1) / CHUNK_MOST;
}

/* -------------------------------------------------------------------------- header -- */

static unsigned flags_of(const struct value *value)
{
	return (value->recipe.kind == KIND_BF ? FLAG_BF : 0) |
	       (value->recipe.fixed ? FLAG_FIXED : 0) |
	       (value->incoming != NULL && value->incoming->foreign ? FLAG_FOREIGN : 0) |
	       (value_forgets(value) ? FLAG_FORGETS : 0);
}

size_t dump_header(const struct value *value, unsigned char header[DUMP_HEADER_MOST])
{
	const struct recipe *recipe = &value->recipe;
	uint64_t error;
	memcpy(&error, &recipe->error, sizeof error);
	memcpy(header, magic, sizeof magic);
	header[4] = (unsigned char)flags_of(value);
	header[5] = (unsigned char)recipe->family;
	put_fixed(header + 6, error, 8);
	const uint64_t numbers[NUMBERS + FORGETTING] = {
		recipe->capacity,    recipe->max_capacity + 1, recipe->expansion,
		recipe->bucket_size, recipe->max_iterations,   value->items,
		value->deleted,      value->limit + 1,         legacy_size(value),
		image_size(value),   recipe->window,           recipe->slices,
	};
	unsigned char *at = header + PREFIX;
	for (unsigned i = 0; i < NUMBERS + (value_forgets(value) ? FORGETTING : 0); i++)
		at = put_number(at, numbers[i]);
	put_fixed(at, checksum(header, (size_t)(at - header)), CHECKSUM);
	return (size_t)(at - header) + CHECKSUM;
}

static void get_recipe(const unsigned char *header, struct reading *reading, struct recipe *recipe)
{
	uint64_t error = get_fixed(header + 6, 8);
	memcpy(&recipe->error, &error, sizeof error);
	recipe->kind = header[4] & FLAG_BF ? KIND_BF : KIND_CF;
	recipe->fixed = (header[4] & FLAG_FIXED) != 0;
	recipe->family = header[5];
	recipe->capacity = get_number(reading);
	recipe->max_capacity = get_number(reading) - 1;
	recipe->expansion = (uint16_t)get_small(reading, UINT16_MAX);
	recipe->bucket_size = (uint8_t)get_small(reading, UINT8_MAX);
	recipe->max_iterations = (uint16_t)get_small(reading, UINT16_MAX);
}

/* A value that waits for its body. NULL: no memory. */
static struct value *create_incoming(const struct value *like, const struct incoming *incoming)
{
	struct value *value = value_create_empty(&like->recipe);
	struct incoming *copy = value != NULL ? memory_try(sizeof *copy) : NULL;
	if (copy == NULL) {
		value_free(value);
		return NULL;
	}
	*copy = *incoming;
	value->incoming = copy;
	value->items = like->items;
	value->deleted = like->deleted;
	value->limit = like->limit;
	return value;
}

static bool makes_sense(const struct value *value, const struct incoming *incoming)
{
	if (value_forgets(value) && (incoming->legacy > 0 || value->since > SINCE_MOST))
		return false;
	bool legacy_only = incoming->image == 0 && incoming->legacy > 0;
	return recipe_makes_sense(&value->recipe) &&
	       nidus_family_name(value->recipe.family) != NULL &&
	       (legacy_only || (incoming->image > 0 && value->limit > 0 && !incoming->foreign)) &&
	       incoming->image <= SIZE_MAX / 4 && incoming->legacy <= SIZE_MAX / 4;
}

struct value *dump_read_header(const void *bytes, size_t size, enum kind kind, size_t *used)
{
	const unsigned char *header = bytes;
	struct value like = { .filter = NULL };
	struct incoming incoming = { .bytes = 0 };
	if (size < PREFIX + CHECKSUM || memcmp(header, magic, sizeof magic) != 0 ||
	    header[4] >= FLAGS)
		return NULL;
	struct reading reading = { header + PREFIX, header + size };
	get_recipe(header, &reading, &like.recipe);
	like.items = get_number(&reading);
	like.deleted = get_number(&reading);
	like.limit = get_number(&reading) - 1;
	incoming.legacy = get_number(&reading);
	incoming.image = get_number(&reading);
	if (header[4] & FLAG_FORGETS) {
		like.recipe.window = (uint32_t)get_small(&reading, WINDOW_MOST);
		like.recipe.slices = (uint8_t)get_small(&reading, UINT8_MAX);
		if (like.recipe.slices == 0)
			return NULL;
	}
	incoming.foreign = (header[4] & FLAG_FOREIGN) != 0;
	if (reading.at == NULL || reading.end - reading.at < CHECKSUM)
		return NULL;
	*used = (size_t)(reading.at - header) + CHECKSUM;
	if (get_fixed(reading.at, CHECKSUM) != checksum(header, *used - CHECKSUM) ||
	    like.recipe.kind != kind || !makes_sense(&like, &incoming))
		return NULL;
	return create_incoming(&like, &incoming);
}

/* --------------------------------------------------------------------- body, inwards -- */

/* Counts what is read, to know that it was exactly the body. */
struct counted {
	nidus_source source;
	void *context;
	uint64_t left;
};

static ptrdiff_t counted_source(void *context, void *bytes, size_t size)
{
	struct counted *counted = context;
	if (size > counted->left)
		size = (size_t)counted->left;
	ptrdiff_t got = size > 0 ? counted->source(counted->context, bytes, size) : 0;
	if (got > 0)
		counted->left -= (uint64_t)got;
	return got;
}

static bool read_all(struct counted *from, unsigned char *bytes, uint64_t size)
{
	while (size > 0) {
		ptrdiff_t got = counted_source(from, bytes, (size_t)size);
		if (got <= 0)
			return false;
		bytes += got;
		size -= (uint64_t)got;
	}
	return true;
}

/* Reads the header of a legacy filter; there are `size` bytes of it and its tables. */
static struct legacy *read_legacy_header(struct counted *from, uint64_t size, enum kind kind)
{
	unsigned char number[LEGACY_SIZE];
	struct legacy *legacy = NULL;
	if (size < LEGACY_SIZE || !read_all(from, number, sizeof number))
		return NULL;
	size_t bytes = (size_t)get_fixed(number, sizeof number);
	unsigned char *header =
		bytes <= CHUNK_MOST && bytes <= size - LEGACY_SIZE ? memory_try(bytes) : NULL;
	if (header == NULL)
		return NULL;
	if (read_all(from, header, bytes))
		legacy = legacy_read_header(header, bytes, kind);
	server.Free(header);
	if (legacy != NULL && LEGACY_SIZE + bytes + legacy_table_bytes(legacy) != size) {
		legacy_free(legacy);
		return NULL;
	}
	return legacy;
}

/* Reads the first `size` bytes of a legacy filter's tables. */
static bool read_tables(struct counted *from, struct legacy *legacy, uint64_t size)
{
	for (uint32_t i = 0; size > 0 && i < legacy->layers; i++) {
		uint64_t here = legacy->layer[i].bytes < size ? legacy->layer[i].bytes : size;
		if (!read_all(from, legacy->layer[i].table, here))
			return false;
		size -= here;
	}
	return true;
}

static bool read_legacy(struct value *value, struct counted *from)
{
	uint64_t size = value->incoming->legacy;
	if (size == 0)
		return true;
	value_set_legacy(value, read_legacy_header(from, size, value->recipe.kind));
	return value->legacy != NULL && legacy_make_tables(value->legacy) &&
	       read_tables(from, value->legacy, legacy_table_bytes(value->legacy));
}

/* Whether the header told the truth about the filter that came with it. */
static bool fits(const struct value *value)
{
	const struct recipe *recipe = &value->recipe;
	nidus_info info = value_info(value);
	return info.family == recipe->family && info.count == value->items &&
	       info.max_capacity >= recipe->capacity && info.slices == recipe->slices &&
	       (recipe->kind != KIND_CF || recipe->slices > 0 || (info.features & NIDUS_DELETE));
}

static bool read_image(struct value *value, struct counted *from, const char **why)
{
	uint64_t before = memory_balance();
	nidus_filter *filter;
	if (value->incoming->image == 0)
		return true;
	if (nidus_read(counted_source, from, memory_allocator(), &filter) != NIDUS_OK) {
		*why = nidus_reason();
		return false;
	}
	value_set_filter(value, filter, memory_balance() - before);
	return fits(value);
}

static void end_incoming(struct value *value)
{
	chunks_free(&value->incoming->chunks);
	server.Free(value->incoming);
	value->incoming = NULL;
}

bool dump_finish(struct value *value, nidus_source source, void *context, const char **why)
{
	struct counted counted = { source, context, dump_body_size(value) };
	*why = "the filter is not the one that the header describes";
	if (!read_legacy(value, &counted) || !read_image(value, &counted, why) || counted.left != 0)
		return false;
	end_incoming(value);
	return true;
}

/* --------------------------------------------------------------- chunks of RedisBloom -- */

struct value *dump_read_foreign(const void *header, size_t size, enum kind kind)
{
	struct legacy *legacy = legacy_read_header(header, size, kind);
	struct incoming incoming = { .foreign = true };
	if (legacy == NULL)
		return NULL;
	incoming.legacy = LEGACY_SIZE + size + legacy_table_bytes(legacy);
	struct value *value = value_create_legacy(legacy);
	struct value *waiting = value != NULL ? create_incoming(value, &incoming) : NULL;
	if (waiting != NULL) {
		waiting->legacy = legacy; /* one of the two has it, and it is counted once */
		value->legacy = NULL;
	}
	value_free(value);
	return waiting;
}

bool dump_make_room(struct value *value)
{
	return legacy_make_tables(value->legacy);
}

void dump_finish_foreign(struct value *value)
{
	end_incoming(value);
}

bool dump_read_foreign_part(struct value *value, uint64_t here, nidus_source source, void *context)
{
	struct counted counted = { source, context, here };
	value->legacy = read_legacy_header(&counted, value->incoming->legacy, value->recipe.kind);
	if (value->legacy == NULL || !legacy_make_tables(value->legacy))
		return false;
	value->incoming->bytes = counted.left;
	return read_tables(&counted, value->legacy, counted.left) && counted.left == 0;
}

/* -------------------------------------------------------------------- body, outwards -- */

struct window {
	uint64_t skip, left;
	dump_sink *sink;
	void *context;
};

/* A nidus_sink: passes on what lies in the window; ECANCELED once that is done. */
static int window_sink(void *context, const void *data, size_t size)
{
	struct window *window = context;
	const unsigned char *bytes = data;
	size_t skipped = window->skip < size ? (size_t)window->skip : size;
	window->skip -= skipped;
	bytes += skipped;
	size -= skipped;
	while (size > 0 && window->left > 0) {
		size_t piece = size < CHUNK_MOST ? size : CHUNK_MOST;
		if (piece > window->left)
			piece = (size_t)window->left;
		window->sink(window->context, bytes, piece);
		bytes += piece;
		size -= piece;
		window->left -= piece;
	}
	return window->left == 0 ? ECANCELED : 0;
}

static void give(void *window, const void *bytes, size_t size)
{
	(void)window_sink(window, bytes, size);
}

static bool give_legacy(const struct legacy *legacy, uint64_t tables, struct window *window)
{
	unsigned char number[LEGACY_SIZE];
	size_t size = legacy_header_size(legacy);
	unsigned char *header = memory_try(size);
	if (header == NULL)
		return false;
	legacy_write_header(legacy, header);
	put_fixed(number, size, LEGACY_SIZE);
	give(window, number, LEGACY_SIZE);
	give(window, header, size);
	server.Free(header);
	legacy_give(legacy, 0, tables, give, window);
	return true;
}

static bool give_chunks(const struct incoming *incoming, struct window *window)
{
	for (const struct chunk *chunk = incoming->chunks.first; chunk != NULL; chunk = chunk->next)
		if (window_sink(window, chunk->bytes, chunk->size) != 0)
			break;
	return true;
}

bool dump_body(const struct value *value, uint64_t from, uint64_t most, dump_sink *sink,
               void *context)
{
	struct window window = { from, most, sink, context };
	const struct incoming *incoming = value->incoming;
	if (most == 0)
		return true;
	if (incoming != NULL && !incoming->foreign)
		return give_chunks(incoming, &window);
	if (value->legacy != NULL &&
	    !give_legacy(value->legacy,
	                 incoming != NULL ? incoming->bytes : legacy_table_bytes(value->legacy),
	                 &window))
		return false;
	if (value->filter == NULL || window.left == 0)
		return true;
	uint64_t skip = window.skip; /* the library does that without reading it */
	window.skip = 0;
	return nidus_write_from(value->filter, skip, window_sink, &window) == NIDUS_OK ||
	       window.left == 0;
}

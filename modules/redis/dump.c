/* SPDX-License-Identifier: MIT */
#include "dump.h"

#include "memory.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum word {
	W_MAGIC,
	W_KIND,
	W_FIXED,
	W_CAPACITY,
	W_MAX_CAPACITY,
	W_ERROR,
	W_FAMILY,
	W_EXPANSION,
	W_BUCKET_SIZE,
	W_MAX_ITERATIONS,
	W_ITEMS,
	W_DELETED,
	W_LIMIT,
	W_IMAGE,
	W_ZERO,
	W_CHECKSUM,
	WORDS
};

static_assert(8 * WORDS == DUMP_HEADER, "the header is sixteen words");

static const char magic[8] = { 'n', 'i', 'd', 'u', 's', 'R', 'M', '1' };

/* -------------------------------------------------------------------------- header -- */

static void put_word(unsigned char *header, enum word word, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		header[8 * word + i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get_word(const unsigned char *header, enum word word)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < 8; i++)
		value |= (uint64_t)header[8 * word + i] << (8 * i);
	return value;
}

/* FNV-1a: against accidents in these few bytes; the image has checksums of its own. */
static uint64_t checksum(const unsigned char *header)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	for (unsigned i = 0; i < 8 * W_CHECKSUM; i++)
		sum = (sum ^ header[i]) * UINT64_C(0x100000001b3);
	return sum;
}

uint64_t dump_image_size(const struct value *value)
{
	return value->filter != NULL ? nidus_saved_size(value->filter) : value->incoming.expected;
}

void dump_header(const struct value *value, unsigned char header[DUMP_HEADER])
{
	const struct recipe *recipe = &value->recipe;
	uint64_t error;
	memcpy(&error, &recipe->error, sizeof error);
	memset(header, 0, DUMP_HEADER);
	memcpy(header, magic, sizeof magic);
	put_word(header, W_KIND, recipe->kind);
	put_word(header, W_FIXED, recipe->fixed);
	put_word(header, W_CAPACITY, recipe->capacity);
	put_word(header, W_MAX_CAPACITY, recipe->max_capacity);
	put_word(header, W_ERROR, error);
	put_word(header, W_FAMILY, recipe->family);
	put_word(header, W_EXPANSION, recipe->expansion);
	put_word(header, W_BUCKET_SIZE, recipe->bucket_size);
	put_word(header, W_MAX_ITERATIONS, recipe->max_iterations);
	put_word(header, W_ITEMS, value->items);
	put_word(header, W_DELETED, value->deleted);
	put_word(header, W_LIMIT, value->limit);
	put_word(header, W_IMAGE, dump_image_size(value));
	put_word(header, W_CHECKSUM, checksum(header));
}

/* A number that must fit into 32 bits; otherwise one that makes no sense. */
static uint32_t get_small(const unsigned char *header, enum word word)
{
	uint64_t value = get_word(header, word);
	return value <= UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static struct recipe get_recipe(const unsigned char *header)
{
	struct recipe recipe = { .kind = (enum kind)get_small(header, W_KIND) };
	uint64_t error = get_word(header, W_ERROR);
	memcpy(&recipe.error, &error, sizeof error);
	recipe.fixed = get_word(header, W_FIXED) == 1;
	recipe.capacity = get_word(header, W_CAPACITY);
	recipe.max_capacity = get_word(header, W_MAX_CAPACITY);
	recipe.family = (nidus_family)get_small(header, W_FAMILY);
	recipe.expansion = get_small(header, W_EXPANSION);
	recipe.bucket_size = get_small(header, W_BUCKET_SIZE);
	recipe.max_iterations = get_small(header, W_MAX_ITERATIONS);
	return recipe;
}

struct value *dump_read_header(const void *bytes, size_t size, enum kind kind)
{
	const unsigned char *header = bytes;
	if (size != DUMP_HEADER || memcmp(header, magic, sizeof magic) != 0 ||
	    get_word(header, W_CHECKSUM) != checksum(header) || get_word(header, W_KIND) != kind ||
	    get_word(header, W_FIXED) > 1 || get_word(header, W_ZERO) != 0)
		return NULL;
	struct recipe recipe = get_recipe(header);
	uint64_t items = get_word(header, W_ITEMS), limit = get_word(header, W_LIMIT);
	uint64_t image = get_word(header, W_IMAGE);
	if (!recipe_makes_sense(&recipe) || nidus_family_name(recipe.family) == NULL ||
	    limit == 0 || image == 0 || image > SIZE_MAX / 2)
		return NULL;
	struct value *value = value_create_empty(&recipe);
	if (value == NULL)
		return NULL;
	value->items = items;
	value->deleted = get_word(header, W_DELETED);
	value->limit = limit;
	value->incoming.expected = image;
	return value;
}

/* --------------------------------------------------------------------- image, inwards -- */

/* Counts what the library reads, to know that it was exactly the image. */
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

/* Whether a filter can be the one that the header describes. */
static bool fits(const struct value *value, const nidus_filter *filter)
{
	const struct recipe *recipe = &value->recipe;
	nidus_info info = NIDUS_INFO_INIT;
	if (nidus_get_info(filter, &info) != NIDUS_OK)
		return false;
	return info.family == recipe->family && info.count == value->items &&
	       info.max_capacity >= recipe->capacity &&
	       (recipe->kind != KIND_CF || (info.features & NIDUS_DELETE));
}

bool dump_finish(struct value *value, nidus_source source, void *context, const char **why)
{
	struct counted counted = { source, context, value->incoming.expected };
	nidus_filter *filter;
	nidus_status status = nidus_read(counted_source, &counted, memory_allocator(), &filter);
	if (status != NIDUS_OK) {
		*why = nidus_reason();
		return false;
	}
	if (counted.left != 0 || !fits(value, filter)) {
		*why = "the filter is not the one that the header describes";
		nidus_free(filter);
		return false;
	}
	nidus_info info = NIDUS_INFO_INIT;
	(void)nidus_get_info(filter, &info);
	value->filter = filter;
	value->recipe.seed = info.seed;
	chunks_free(&value->incoming);
	value->incoming = (struct chunks){ 0 };
	return true;
}

/* -------------------------------------------------------------------- image, outwards -- */

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

bool dump_image(const struct value *value, uint64_t from, uint64_t most, dump_sink *sink,
                void *context)
{
	struct window window = { from, most, sink, context };
	if (most == 0)
		return true;
	if (value->filter != NULL)
		return nidus_write(value->filter, window_sink, &window) == NIDUS_OK ||
		       window.left == 0;
	for (const struct chunk *chunk = value->incoming.first; chunk != NULL; chunk = chunk->next)
		if (window_sink(&window, chunk->bytes, chunk->size) != 0)
			break;
	return true;
}

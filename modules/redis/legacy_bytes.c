/* SPDX-License-Identifier: MIT
 *
 * Legacy filters as bytes: headers of chunks, and snapshots.
 */
#include "legacy.h"
#include "memory.h"

#include <string.h>

#define BF_HEADER 20
#define BF_LAYER 53
#define CF_HEADER 38
#define CF_BUCKETS_MOST (UINT64_C(1) << 47)
#define HASHES_MOST 4096
#define OPTIONS_KNOWN 13u /* no rounding (1), hashes of 64 bits (4), fixed (8) */
#define OPTION_HASH_64 4u

/* ------------------------------------------------------------------------- numbers -- */

/* Reads the number at *at, and goes on behind it. */
static uint64_t get(const unsigned char **at, unsigned bytes)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)(*at)[i] << (8 * i);
	*at += bytes;
	return value;
}

static double get_double(const unsigned char **at)
{
	uint64_t bits = get(at, 8);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* Writes a number at *at, and goes on behind it. */
static void put(unsigned char **at, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		(*at)[i] = (unsigned char)(value >> (8 * i));
	*at += bytes;
}

static void put_double(unsigned char **at, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	put(at, 8, bits);
}

/* -------------------------------------------------------------------------- checks -- */

static bool bf_layer_makes_sense(const struct legacy_layer *layer)
{
	return layer->range >= 1 && layer->bytes <= SIZE_MAX / 2 && layer->log2_bits < 64 &&
	       layer->range <= 8 * layer->bytes && layer->hashes >= 1 &&
	       layer->hashes <= HASHES_MOST && layer->error > 0 && layer->error < 1 &&
	       (layer->log2_bits == 0 || layer->range == UINT64_C(1) << layer->log2_bits);
}

/* Each layer is `expansion` times as large as the one before; headers tell no more. */
static bool cf_layer_makes_sense(const struct legacy *legacy, const struct legacy_layer *layer)
{
	uint64_t before = layer == legacy->layer ? legacy->buckets : layer[-1].range;
	if (layer != legacy->layer && legacy->expansion > 1)
		before *= legacy->expansion; /* of at most 2^47 */
	return layer->range >= 1 && layer->range <= CF_BUCKETS_MOST && layer->range == before &&
	       layer->bytes == layer->range * legacy->bucket_size;
}

static bool makes_sense(const struct legacy *legacy)
{
	bool bf = legacy->kind == KIND_BF;
	uint64_t bytes = 0;
	if (bf && ((legacy->options & ~OPTIONS_KNOWN) || !(legacy->options & OPTION_HASH_64)))
		return false;
	if (!bf && legacy->bucket_size == 0)
		return false;
	for (uint32_t i = 0; i < legacy->layers; i++) {
		const struct legacy_layer *layer = &legacy->layer[i];
		if (bf ? !bf_layer_makes_sense(layer) : !cf_layer_makes_sense(legacy, layer))
			return false;
		bytes += layer->bytes;
		if (bytes > SIZE_MAX / 4)
			return false;
	}
	return true;
}

static struct legacy *create(enum kind kind, uint64_t layers)
{
	if (layers < 1 || layers > LEGACY_LAYERS_MOST)
		return NULL;
	size_t size = sizeof(struct legacy) + layers * sizeof(struct legacy_layer);
	struct legacy *legacy = memory_try(size);
	if (legacy == NULL)
		return NULL;
	memset(legacy, 0, size);
	legacy->kind = kind;
	legacy->layers = (uint32_t)layers;
	return legacy;
}

static struct legacy *checked(struct legacy *legacy)
{
	if (legacy == NULL || makes_sense(legacy))
		return legacy;
	legacy_free(legacy);
	return NULL;
}

/* --------------------------------------------------------------------- headers, inwards -- */

static void get_bf_layer(const unsigned char **at, struct legacy_layer *layer)
{
	layer->bytes = get(at, 8);
	layer->range = get(at, 8);
	layer->items = get(at, 8);
	layer->error = get_double(at);
	layer->bits_per_item = get_double(at);
	layer->hashes = (uint32_t)get(at, 4);
	layer->capacity = get(at, 8);
	layer->log2_bits = (uint8_t)get(at, 1);
}

static struct legacy *read_bf_header(const unsigned char *at, size_t size)
{
	uint64_t items = get(&at, 8), layers = get(&at, 4);
	if (size != BF_HEADER + BF_LAYER * layers)
		return NULL;
	struct legacy *legacy = create(KIND_BF, layers);
	if (legacy == NULL)
		return NULL;
	legacy->items = items;
	legacy->options = (uint32_t)get(&at, 4);
	legacy->growth = (uint32_t)get(&at, 4);
	for (uint32_t i = 0; i < legacy->layers; i++)
		get_bf_layer(&at, &legacy->layer[i]);
	return legacy;
}

/* The sizes of the layers follow from the first. One that is too large makes no sense. */
static void size_cf_layers(struct legacy *legacy)
{
	uint64_t buckets = legacy->buckets;
	for (uint32_t i = 0; i < legacy->layers; i++) {
		legacy->layer[i].range = buckets;
		legacy->layer[i].bytes = buckets * legacy->bucket_size;
		if (legacy->expansion > 1)
			buckets = buckets <= CF_BUCKETS_MOST ? buckets * legacy->expansion : 0;
	}
}

static struct legacy *read_cf_header(const unsigned char *at, size_t size)
{
	if (size != CF_HEADER)
		return NULL;
	uint64_t items = get(&at, 8), buckets = get(&at, 8), deleted = get(&at, 8);
	struct legacy *legacy = create(KIND_CF, get(&at, 8));
	if (legacy == NULL)
		return NULL;
	legacy->items = items;
	legacy->buckets = buckets;
	legacy->deleted = deleted;
	legacy->bucket_size = (uint16_t)get(&at, 2);
	legacy->max_iterations = (uint16_t)get(&at, 2);
	legacy->expansion = (uint16_t)get(&at, 2);
	size_cf_layers(legacy);
	return legacy;
}

struct legacy *legacy_read_header(const void *header, size_t size, enum kind kind)
{
	if (size < BF_HEADER)
		return NULL;
	return checked(kind == KIND_BF ? read_bf_header(header, size)
	                               : read_cf_header(header, size));
}

/* -------------------------------------------------------------------- headers, outwards -- */

size_t legacy_header_size(const struct legacy *legacy)
{
	return legacy->kind == KIND_BF ? BF_HEADER + (size_t)BF_LAYER * legacy->layers : CF_HEADER;
}

static void put_bf_layer(unsigned char **at, const struct legacy_layer *layer)
{
	put(at, 8, layer->bytes);
	put(at, 8, layer->range);
	put(at, 8, layer->items);
	put_double(at, layer->error);
	put_double(at, layer->bits_per_item);
	put(at, 4, layer->hashes);
	put(at, 8, layer->capacity);
	put(at, 1, layer->log2_bits);
}

static void write_bf_header(const struct legacy *legacy, unsigned char *at)
{
	put(&at, 8, legacy->items);
	put(&at, 4, legacy->layers);
	put(&at, 4, legacy->options);
	put(&at, 4, legacy->growth);
	for (uint32_t i = 0; i < legacy->layers; i++)
		put_bf_layer(&at, &legacy->layer[i]);
}

static void write_cf_header(const struct legacy *legacy, unsigned char *at)
{
	put(&at, 8, legacy->items);
	put(&at, 8, legacy->buckets);
	put(&at, 8, legacy->deleted);
	put(&at, 8, legacy->layers);
	put(&at, 2, legacy->bucket_size);
	put(&at, 2, legacy->max_iterations);
	put(&at, 2, legacy->expansion);
}

void legacy_write_header(const struct legacy *legacy, unsigned char *header)
{
	(legacy->kind == KIND_BF ? write_bf_header : write_cf_header)(legacy, header);
}

/* -------------------------------------------------------------------------- tables -- */

/* Calls `use` for each part of a table that lies in a range of the tables' bytes. */
static void each_part(const struct legacy *legacy, uint64_t from, uint64_t size,
                      void (*use)(void *context, unsigned char *part, size_t size), void *context)
{
	for (uint32_t i = 0; size > 0 && i < legacy->layers; i++) {
		const struct legacy_layer *layer = &legacy->layer[i];
		if (from >= layer->bytes) {
			from -= layer->bytes;
			continue;
		}
		uint64_t here = layer->bytes - from < size ? layer->bytes - from : size;
		use(context, layer->table + from, (size_t)here);
		size -= here;
		from = 0;
	}
}

static void fill_part(void *context, unsigned char *part, size_t size)
{
	const unsigned char **bytes = context;
	memcpy(part, *bytes, size);
	*bytes += size;
}

void legacy_fill(struct legacy *legacy, uint64_t from, const void *bytes, size_t size)
{
	each_part(legacy, from, size, fill_part, &bytes);
}

struct giving {
	legacy_sink *sink;
	void *context;
};

static void give_part(void *context, unsigned char *part, size_t size)
{
	const struct giving *giving = context;
	giving->sink(giving->context, part, size);
}

void legacy_give(const struct legacy *legacy, uint64_t from, uint64_t size, legacy_sink *sink,
                 void *context)
{
	struct giving giving = { sink, context };
	each_part(legacy, from, size, give_part, &giving);
}

/* ----------------------------------------------------------------------- snapshots -- */

static void save_table(const struct legacy_layer *layer, RedisModuleIO *io)
{
	server.SaveStringBuffer(io, (const char *)layer->table, layer->bytes);
}

static void save_bf_layer(const struct legacy_layer *layer, RedisModuleIO *io)
{
	server.SaveUnsigned(io, layer->capacity);
	server.SaveDouble(io, layer->error);
	server.SaveUnsigned(io, layer->hashes);
	server.SaveDouble(io, layer->bits_per_item);
	server.SaveUnsigned(io, layer->range);
	server.SaveUnsigned(io, layer->log2_bits);
	save_table(layer, io);
	server.SaveUnsigned(io, layer->items);
}

static void save_bf(const struct legacy *legacy, RedisModuleIO *io)
{
	server.SaveUnsigned(io, legacy->items);
	server.SaveUnsigned(io, legacy->layers);
	server.SaveUnsigned(io, legacy->options);
	server.SaveUnsigned(io, legacy->growth);
	for (uint32_t i = 0; i < legacy->layers; i++)
		save_bf_layer(&legacy->layer[i], io);
}

static void save_cf(const struct legacy *legacy, RedisModuleIO *io)
{
	server.SaveUnsigned(io, legacy->layers);
	server.SaveUnsigned(io, legacy->buckets);
	server.SaveUnsigned(io, legacy->items);
	server.SaveUnsigned(io, legacy->deleted);
	server.SaveUnsigned(io, legacy->bucket_size);
	server.SaveUnsigned(io, legacy->max_iterations);
	server.SaveUnsigned(io, legacy->expansion);
	for (uint32_t i = 0; i < legacy->layers; i++) {
		server.SaveUnsigned(io, legacy->layer[i].range);
		save_table(&legacy->layer[i], io);
	}
}

void legacy_save(const struct legacy *legacy, RedisModuleIO *io)
{
	(legacy->kind == KIND_BF ? save_bf : save_cf)(legacy, io);
}

/* A number of a snapshot that has at most `most`; otherwise the loading fails. */
static uint64_t load_number(RedisModuleIO *io, uint64_t most, bool *ok)
{
	uint64_t value = *ok ? server.LoadUnsigned(io) : 0;
	*ok = *ok && !server.IsIOError(io) && value <= most;
	return *ok ? value : 0;
}

static double load_double(RedisModuleIO *io, bool *ok)
{
	double value = *ok ? server.LoadDouble(io) : 0;
	*ok = *ok && !server.IsIOError(io);
	return *ok ? value : 0;
}

/* The table is copied into memory that is counted as that of filters. */
static void load_table(RedisModuleIO *io, struct legacy_layer *layer, bool *ok)
{
	size_t size = 0;
	char *bytes = *ok ? server.LoadStringBuffer(io, &size) : NULL;
	*ok = bytes != NULL && !server.IsIOError(io) && size > 0;
	if (*ok)
		layer->table = memory_allocator()->alloc(NULL, size);
	*ok = *ok && layer->table != NULL;
	layer->bytes = size;
	if (*ok)
		memcpy(layer->table, bytes, size);
	if (bytes != NULL)
		server.Free(bytes);
}

static void load_bf_layer(RedisModuleIO *io, struct legacy_layer *layer, bool *ok)
{
	layer->capacity = load_number(io, UINT64_MAX, ok);
	layer->error = load_double(io, ok);
	layer->hashes = (uint32_t)load_number(io, HASHES_MOST, ok);
	layer->bits_per_item = load_double(io, ok);
	layer->range = load_number(io, UINT64_MAX, ok);
	layer->log2_bits = (uint8_t)load_number(io, 63, ok);
	load_table(io, layer, ok);
	layer->items = load_number(io, UINT64_MAX, ok);
}

static struct legacy *load_bf(RedisModuleIO *io, bool *ok)
{
	uint64_t items = load_number(io, UINT64_MAX, ok);
	struct legacy *legacy = create(KIND_BF, load_number(io, LEGACY_LAYERS_MOST, ok));
	if (legacy == NULL)
		return NULL;
	legacy->items = items;
	legacy->options = (uint32_t)load_number(io, UINT32_MAX, ok);
	legacy->growth = (uint32_t)load_number(io, UINT32_MAX, ok);
	for (uint32_t i = 0; *ok && i < legacy->layers; i++)
		load_bf_layer(io, &legacy->layer[i], ok);
	return legacy;
}

static struct legacy *load_cf(RedisModuleIO *io, bool *ok)
{
	struct legacy *legacy = create(KIND_CF, load_number(io, LEGACY_LAYERS_MOST, ok));
	if (legacy == NULL)
		return NULL;
	legacy->buckets = load_number(io, UINT64_MAX, ok);
	legacy->items = load_number(io, UINT64_MAX, ok);
	legacy->deleted = load_number(io, UINT64_MAX, ok);
	legacy->bucket_size = (uint16_t)load_number(io, UINT16_MAX, ok);
	legacy->max_iterations = (uint16_t)load_number(io, UINT16_MAX, ok);
	legacy->expansion = (uint16_t)load_number(io, UINT16_MAX, ok);
	for (uint32_t i = 0; *ok && i < legacy->layers; i++) {
		legacy->layer[i].range = load_number(io, UINT64_MAX, ok);
		load_table(io, &legacy->layer[i], ok);
	}
	return legacy;
}

struct legacy *legacy_load(RedisModuleIO *io, enum kind kind)
{
	bool ok = true;
	struct legacy *legacy = kind == KIND_BF ? load_bf(io, &ok) : load_cf(io, &ok);
	if (ok)
		return checked(legacy);
	legacy_free(legacy);
	return NULL;
}

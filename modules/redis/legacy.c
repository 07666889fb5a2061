/* SPDX-License-Identifier: MIT */
#include "legacy.h"

#include "memory.h"

#include <string.h>

#define OPTION_FIXED 8u /* BF: does not grow */

/* ------------------------------------------------------------------ life of a filter -- */

void legacy_free(struct legacy *legacy)
{
	if (legacy == NULL)
		return;
	const nidus_allocator *memory = memory_allocator();
	for (uint32_t i = 0; i < legacy->layers; i++)
		if (legacy->layer[i].table != NULL)
			memory->free(NULL, legacy->layer[i].table, legacy->layer[i].bytes);
	server.Free(legacy);
}

bool legacy_make_tables(struct legacy *legacy)
{
	for (uint32_t i = 0; i < legacy->layers; i++) {
		struct legacy_layer *layer = &legacy->layer[i];
		if (layer->table == NULL)
			layer->table = memory_allocator()->alloc_zeroed(NULL, layer->bytes);
		if (layer->table == NULL)
			return false;
	}
	return true;
}

struct legacy *legacy_copy(const struct legacy *legacy)
{
	size_t size = sizeof *legacy + legacy->layers * sizeof legacy->layer[0];
	struct legacy *copy = memory_try(size);
	if (copy == NULL)
		return NULL;
	memcpy(copy, legacy, size);
	for (uint32_t i = 0; i < legacy->layers; i++)
		copy->layer[i].table = NULL;
	if (!legacy_make_tables(copy)) {
		legacy_free(copy);
		return NULL;
	}
	for (uint32_t i = 0; i < legacy->layers; i++)
		memcpy(copy->layer[i].table, legacy->layer[i].table, legacy->layer[i].bytes);
	return copy;
}

uint64_t legacy_table_bytes(const struct legacy *legacy)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < legacy->layers; i++)
		bytes += legacy->layer[i].bytes;
	return bytes;
}

uint64_t legacy_memory(const struct legacy *legacy)
{
	return sizeof *legacy + legacy->layers * sizeof legacy->layer[0] +
	       legacy_table_bytes(legacy);
}

uint64_t legacy_capacity(const struct legacy *legacy)
{
	uint64_t capacity = 0;
	for (uint32_t i = 0; i < legacy->layers; i++)
		capacity += legacy->kind == KIND_BF ? legacy->layer[i].capacity
		                                    : legacy->layer[i].bytes;
	return capacity;
}

bool legacy_is_fixed(const struct legacy *legacy)
{
	return legacy->kind == KIND_BF ? (legacy->options & OPTION_FIXED) != 0
	                               : legacy->expansion == 0;
}

/* --------------------------------------------------------------------------- hashes -- */

#define MURMUR UINT64_C(0xc6a4a7935bd1e995) /* the multiplier, and the first seed of BF */

/* Up to eight bytes as a little-endian number. */
static uint64_t load_bytes(const unsigned char *bytes, size_t n)
{
	uint64_t value = 0;
	for (size_t i = 0; i < n; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

/* MurmurHash64A. */
static uint64_t murmur(const void *item, size_t len, uint64_t seed)
{
	const unsigned char *bytes = item;
	uint64_t h = seed ^ (len * MURMUR);
	size_t left = len;
	for (; left >= 8; left -= 8, bytes += 8) {
		uint64_t k = load_bytes(bytes, 8) * MURMUR;
		h = (h ^ ((k ^ (k >> 47)) * MURMUR)) * MURMUR;
	}
	if (left > 0)
		h = (h ^ load_bytes(bytes, left)) * MURMUR;
	h = (h ^ (h >> 47)) * MURMUR;
	return h ^ (h >> 47);
}

/* ------------------------------------------------------------------------------- BF -- */

static bool layer_has(const struct legacy_layer *layer, uint64_t a, uint64_t b)
{
	for (uint32_t i = 0; i < layer->hashes; i++) {
		uint64_t bit = (a + i * b) % layer->range;
		if (!(layer->table[bit >> 3] >> (bit & 7) & 1))
			return false;
	}
	return true;
}

static bool bf_contains(const struct legacy *legacy, const void *item, size_t len)
{
	uint64_t a = murmur(item, len, MURMUR), b = murmur(item, len, a);
	for (uint32_t i = legacy->layers; i > 0; i--)
		if (layer_has(&legacy->layer[i - 1], a, b))
			return true;
	return false;
}

/* ------------------------------------------------------------------------------- CF -- */

/* What a cuckoo filter knows of an item. */
struct trace {
	uint64_t h[2];
	unsigned char fingerprint;
};

static struct trace trace_of(const void *item, size_t len)
{
	uint64_t h = murmur(item, len, 0), fingerprint = h % 255 + 1;
	return (struct trace){ { h, h ^ (fingerprint * 0x5bd1e995) }, (unsigned char)fingerprint };
}

/* One of the two buckets of an item in a layer. */
static unsigned char *bucket_of(const struct legacy *legacy, const struct legacy_layer *layer,
                                uint64_t h)
{
	return layer->table + (uint32_t)(h % layer->range * legacy->bucket_size);
}

static uint64_t count_in_layer(const struct legacy *legacy, const struct legacy_layer *layer,
                               const struct trace *trace)
{
	const unsigned char *first = bucket_of(legacy, layer, trace->h[0]);
	const unsigned char *second = bucket_of(legacy, layer, trace->h[1]);
	uint64_t count = 0;
	for (unsigned i = 0; i < legacy->bucket_size; i++)
		count += (first[i] == trace->fingerprint) +
		         (first != second && second[i] == trace->fingerprint);
	return count;
}

uint64_t legacy_count(const struct legacy *legacy, const void *item, size_t len)
{
	struct trace trace = trace_of(item, len);
	uint64_t count = 0;
	for (uint32_t i = 0; i < legacy->layers; i++)
		count += count_in_layer(legacy, &legacy->layer[i], &trace);
	return count;
}

static bool remove_from(unsigned char *bucket, unsigned size, unsigned char fingerprint)
{
	unsigned char *slot = memchr(bucket, fingerprint, size);
	if (slot != NULL)
		*slot = 0;
	return slot != NULL;
}

bool legacy_remove(struct legacy *legacy, const void *item, size_t len)
{
	struct trace trace = trace_of(item, len);
	for (uint32_t i = legacy->layers; i > 0; i--)
		for (unsigned j = 0; j < 2; j++) {
			unsigned char *bucket =
				bucket_of(legacy, &legacy->layer[i - 1], trace.h[j]);
			if (!remove_from(bucket, legacy->bucket_size, trace.fingerprint))
				continue;
			legacy->items -= legacy->items > 0;
			legacy->deleted++;
			return true;
		}
	return false;
}

bool legacy_contains(const struct legacy *legacy, const void *item, size_t len)
{
	return legacy->kind == KIND_BF ? bf_contains(legacy, item, len)
	                               : legacy_count(legacy, item, len) > 0;
}

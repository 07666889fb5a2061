/* SPDX-License-Identifier: MIT
 *
 * legacy: a filter that RedisBloom wrote, kept as it is. It answers as it did there, and takes
 * no more items: those go to a filter of ours beside it.
 *
 * A legacy filter is a list of layers, each a table. Hashes are MurmurHash64A (murmur below):
 *
 *     BF   a = murmur(item, M), b = murmur(item, a). Bit i of an item is (a + i * b) mod the bits
 *          of the layer, byte x >> 3, bit x & 7. An item is there if one layer has all its bits.
 *     CF   h = murmur(item, 0), fp = h mod 255 + 1, h2 = h XOR fp * 0x5bd1e995. Layers are
 *          buckets of bytes; fp is in bucket h mod n or h2 mod n of any layer, 0 is empty. The
 *          place of a bucket is computed in 32 bits there, and so it is here.
 *
 * As bytes it is a header and the tables, one after the other, without gaps: what SCANDUMP of
 * RedisBloom gives in chunks, and what its AOF holds. All numbers are little-endian:
 *
 *     BF   items u64, layers u32, options u32, growth u32; for each layer bytes u64, bits u64,
 *          items u64, error f64, bits per item f64, hashes u32, capacity u64, n2 u8
 *     CF   items u64, buckets u64, deleted u64, layers u64, bucket size u16, max iterations u16,
 *          expansion u16; layer i has buckets * expansion^i buckets
 *
 * In a snapshot (types MBbloom-- and MBbloomCF, encoding 4) the same numbers come one by one.
 */
#ifndef NIDUS_REDIS_LEGACY_H
#define NIDUS_REDIS_LEGACY_H

#include "recipe.h"

#define LEGACY_ENCODING 4
#define LEGACY_LAYERS_MOST 65535

struct legacy_layer {
	unsigned char *table; /* NULL until it is there */
	uint64_t bytes;
	uint64_t range; /* BF: bits; CF: buckets */
	/* BF only: */
	uint64_t items, capacity;
	double error, bits_per_item;
	uint32_t hashes;
	uint8_t log2_bits; /* n2: 0 if the bits are no power of two */
};

struct legacy {
	enum kind kind;
	uint64_t items;
	uint32_t options, growth;  /* BF */
	uint64_t buckets, deleted; /* CF: of the first layer; items taken out */
	uint16_t bucket_size, max_iterations, expansion; /* CF */
	uint32_t layers;
	struct legacy_layer layer[];
};

void legacy_free(struct legacy *legacy);

/* NULL: no memory. */
struct legacy *legacy_copy(const struct legacy *legacy);

/* Bytes of the tables. */
uint64_t legacy_table_bytes(const struct legacy *legacy);

/* Bytes in memory. */
uint64_t legacy_memory(const struct legacy *legacy);

/* How many items were asked for, in all layers. */
uint64_t legacy_capacity(const struct legacy *legacy);

/* Whether it was made not to grow (NONSCALING). */
bool legacy_is_fixed(const struct legacy *legacy);

/* --------------------------------------------------------------------------- items -- */

bool legacy_contains(const struct legacy *legacy, const void *item, size_t len);

/* CF only. */
uint64_t legacy_count(const struct legacy *legacy, const void *item, size_t len);

/* Takes one copy of an item out; false if there is none. CF only. */
bool legacy_remove(struct legacy *legacy, const void *item, size_t len);

/* --------------------------------------------------------------------------- bytes -- */

/* How many bytes the header has. */
size_t legacy_header_size(const struct legacy *legacy);

void legacy_write_header(const struct legacy *legacy, unsigned char *header);

/*
 * Makes a legacy filter without its tables from a header of exactly this size, with all that
 * it says checked. NULL: no header of this kind, or no memory.
 */
struct legacy *legacy_read_header(const void *header, size_t size, enum kind kind);

/* Makes room for the tables, all zero. False: no memory; what there is stays. */
bool legacy_make_tables(struct legacy *legacy);

/* Writes bytes into the tables, from the byte `from` of all tables on; they fit. */
void legacy_fill(struct legacy *legacy, uint64_t from, const void *bytes, size_t size);

/* Hands a range of the tables' bytes to a sink, in pieces. */
typedef void legacy_sink(void *context, const void *bytes, size_t size);
void legacy_give(const struct legacy *legacy, uint64_t from, uint64_t size, legacy_sink *sink,
                 void *context);

/* ----------------------------------------------------------------------- snapshots -- */

void legacy_save(const struct legacy *legacy, RedisModuleIO *io);

/* NULL: damaged, or no memory. */
struct legacy *legacy_load(RedisModuleIO *io, enum kind kind);

#endif

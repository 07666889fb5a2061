/* SPDX-License-Identifier: MIT
 *
 * ribbon: a table that is solved once, from all its keys, and then only read.
 *
 * Papers: P. C. Dillinger, S. Walzer, "Ribbon filter: practically smaller than Bloom and Xor"
 * (2021); P. C. Dillinger, L. Hübschle-Schneider, P. Sanders, S. Walzer, "Fast Succinct
 * Retrieval and Approximate Membership Using Ribbon" (SEA 2022), which calls it bumped ribbon
 * retrieval.
 *
 * The table is a matrix of bits, a row for (nearly) each key. A key names 64 neighbouring rows,
 * its window, and a mask of 64 bits. The XOR of the rows that the mask picks is what the key is
 * told: its fingerprint, then its value. So each key is a linear equation, and building is
 * solving them all:
 *
 *                 fingerprint  value
 *     row s       1 0 1 1 0 .. 0 1      mask bit 0, always set
 *     row s+1     0 0 1 0 1 .. 1 1      mask bit 1
 *       ...
 *     row s+63    1 1 0 0 0 .. 0 0      mask bit 63
 *
 * Equations in the order of their windows make a band along the diagonal, which takes linear
 * time to solve. Some keys find no room in it. They are bumped: by buckets of 128 windows the
 * builder gives up those that start before the 0th, 16th, 48th or 128th place, two bits say
 * which (the marks), and all keys that start there belong to the next layer. That is a band of
 * its own, for about 3 % of the keys; so is the one after it. What the last layer bumps is kept
 * in a list, as hashes. So a build never fails.
 *
 * Rows are kept by columns, 64 rows at a time: a block is a 64-bit word for each column, and bit
 * i of it belongs to row i. A window lies in two neighbouring blocks.
 *
 *     table     [blocks of layer 0][blocks of layer 1] ... [marks of layer 0][marks of 1] ...
 *     block     [column 0][column 1] ... [column k-1]                  8 bytes each
 *     shard     the blocks of 2^16 windows, and one more: each is solved by itself
 *
 * A fraction of a bit: the first blocks of each layer, up to `split`, have a column more than
 * the others. Keys whose window lies in such blocks only have one more bit of fingerprint there.
 *
 * A filter that must be right about a second list of keys, too, has a second such matrix, the
 * verdict: one column, which is 1 for its keys and 0 for those of the other list that
 * the fingerprints let pass.
 *
 * From a 64-bit hash h to the window, mask and fingerprint, in a layer of S windows:
 *
 *     window       = h * S / 2^64                so ascending hashes have ascending windows
 *     x            = h * RIBBON_MASK mod 2^64,   x ^= x / 2^32
 *     mask         = x | 1
 *     fingerprint  = the low bits of (x * RIBBON_PRINT mod 2^64) / 2^31
 *     h for the next layer = ribbon_next(h)      a bijection: equal only if the hashes are
 */
#ifndef NIDUS_RIBBON_RIBBON_H
#define NIDUS_RIBBON_RIBBON_H

#include "base/bits.h"
#include "base/blueprint.h"
#include "base/memory.h"
#include "base/ops.h"

#define RIBBON_WIDTH 64      /* rows of a window, and of a block */
#define RIBBON_BUCKET 128    /* windows that share a mark */
#define RIBBON_SHARD_LOG 16  /* windows that are solved together */
#define RIBBON_LAYERS 10     /* at most */
#define RIBBON_PRINT_MOST 32 /* bits of fingerprint; a fraction adds one to 31 at most */
#define RIBBON_SHARE_LOG 16  /* fractions of a bit are counted in 2^-16 */
#define RIBBON_LIST_ENTRY 16 /* bytes in a file: a hash, and its value */
#define RIBBON_SLACK 64      /* bytes behind the last block that lookups may read */

#define RIBBON_SHARD (UINT64_C(1) << RIBBON_SHARD_LOG)

#define RIBBON_MASK UINT64_C(0x9e3779b97f4a7c15)
#define RIBBON_PRINT UINT64_C(0xd6e8feb86659fd93)

/* One band: its size, and where it lies. */
struct ribbon_layer {
	uint64_t windows; /* a multiple of 64 */
	uint64_t split;   /* so many blocks have a column more */
	unsigned char *blocks, *marks;
};

/* A matrix: bands for the keys that the ones before have bumped. */
struct ribbon_matrix {
	unsigned layers;  /* 0: there is none */
	unsigned columns; /* of every block */
	struct ribbon_layer layer[RIBBON_LAYERS];
};

struct ribbon_entry {
	uint64_t hash, value;
};

struct ribbon_ops;

struct ribbon {
	struct ribbon_matrix keys;    /* fingerprints and values */
	struct ribbon_matrix verdict; /* of a filter that excludes */
	unsigned print_bits, value_bits;
	bool mapped;
	const struct ribbon_ops *ops;
	uint64_t version;  /* of probes (base/probe.h) */
	uint64_t count;    /* keys; none is found if it is 0 */
	uint64_t capacity; /* keys at most */
	uint64_t judged;   /* keys in the verdict at most */
	struct block memory;
	struct ribbon_entry *list; /* ascending hashes */
	uint64_t listed;
	struct block list_memory;
	nidus_allocator allocator;
};

/* What the tiers do in their own way; all give the same bits. */
struct ribbon_ops {
	struct body_ops body;
	/*
	 * Back substitution: solves a shard of so many rows, a multiple of 64, whose
	 * equations are (mask, right-hand side) pairs, all zero where a row is free.
	 * Writes `columns` words per block, and one more for the first `split`.
	 */
	void (*solve)(const uint64_t *equations, uint64_t rows, unsigned columns, uint64_t split,
	              unsigned char *blocks);
};

/* What a table that never changes answers to changes: E_UNSUPPORTED. */
nidus_status ribbon_refuse_insert(void *body, uint64_t hash);
nidus_status ribbon_refuse_value(void *body, uint64_t hash, uint64_t value);
nidus_status ribbon_refuse_change(void *body, uint64_t hash, struct value_change change);
nidus_status ribbon_refuse_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                 size_t n, size_t *done);

extern const struct ribbon_ops ribbon_scalar;
extern const struct ribbon_ops ribbon_avx2; /* where isa.h says so */

/* ---------------------------------------------------------------- from hash to place -- */

/* The hash of a key in the layer after this one. */
static inline uint64_t ribbon_next(uint64_t hash)
{
	hash *= UINT64_C(0xbea225f9eb34556d);
	hash ^= hash >> 32;
	hash *= UINT64_C(0x94d049bb133111eb);
	return hash ^ hash >> 32;
}

/* And that in the layer before. */
static inline uint64_t ribbon_previous(uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= UINT64_C(0x319642b2d24d8ec3);
	hash ^= hash >> 32;
	return hash * UINT64_C(0xdd01f46a7e6ffc65);
}

/* Before its lowest bit is set: the fingerprint depends on that bit, too. */
static inline uint64_t ribbon_mask(uint64_t hash)
{
	uint64_t x = hash * RIBBON_MASK;
	return x ^ x >> 32;
}

static inline uint64_t ribbon_print(uint64_t mask)
{
	return mask * RIBBON_PRINT >> 31;
}

static inline uint64_t ribbon_window(const struct ribbon_layer *layer, uint64_t hash)
{
	return multiply_high(hash, layer->windows);
}

/* The block of a window's first row. Each shard before it has one block without windows. */
static inline uint64_t ribbon_block(uint64_t window)
{
	return (window >> 6) + (window >> RIBBON_SHARD_LOG);
}

static inline uint64_t ribbon_shards(const struct ribbon_layer *layer)
{
	return divide_up(layer->windows, RIBBON_SHARD);
}

static inline uint64_t ribbon_blocks(const struct ribbon_layer *layer)
{
	return layer->windows / RIBBON_WIDTH + ribbon_shards(layer);
}

/* Words before a block. */
static inline uint64_t ribbon_words(const struct ribbon_layer *layer, unsigned columns,
                                    uint64_t block)
{
	return block * columns + (block < layer->split ? block : layer->split);
}

/* Windows of a bucket that are bumped, by the two bits of its mark. */
static inline unsigned ribbon_bumped_before(unsigned mark)
{
	return UINT32_C(0x80301000) >> 8 * mark & 0xff;
}

static inline bool ribbon_bumped(const struct ribbon_layer *layer, uint64_t window)
{
	uint64_t bucket = window / RIBBON_BUCKET;
	unsigned mark = layer->marks[bucket / 4] >> 2 * (bucket % 4) & 3;
	return window % RIBBON_BUCKET < ribbon_bumped_before(mark);
}

/* ------------------------------------------------------------------------- layout -- */

/*
 * Sizes of the layers for so many keys, of which share * 2^-16 have a bit more. Both matrices
 * come from here.
 */
void ribbon_lay_out(struct ribbon_matrix *matrix, uint64_t keys, unsigned columns, unsigned share);

uint64_t ribbon_rows(const struct ribbon_matrix *matrix);

/* Of the windows of a layer, so many have a bit more. */
uint64_t ribbon_windows_before(const struct ribbon_layer *layer);

/* Bytes of both matrices together, which lie one behind the other. */
uint64_t ribbon_bytes(const struct ribbon_matrix *keys, const struct ribbon_matrix *verdict);

/* ---------------------------------------------------------------------- life -- */

/* The matrices of a checked plan, not yet anywhere in memory. */
void ribbon_plan(const struct blueprint *plan, struct ribbon_matrix *keys,
                 struct ribbon_matrix *verdict);

/* As struct family has it. Errors: E_NOMEM. */
nidus_status ribbon_create(struct ribbon *ribbon, const struct blueprint *plan,
                           const nidus_allocator *allocator, unsigned char *table);
void ribbon_free(struct ribbon *ribbon);
void ribbon_clear(struct ribbon *ribbon);
nidus_status ribbon_copy(struct ribbon *to, const struct ribbon *from);

/* Room for a list of so many, in place of the one that is there. Errors: E_NOMEM. */
nidus_status ribbon_take_list(struct ribbon *ribbon, uint64_t listed);

/* Takes over a list that may be anything. Errors: E_CORRUPT, E_NOMEM. */
nidus_status ribbon_import(struct ribbon *ribbon, const unsigned char *list, uint64_t listed,
                           uint64_t count);
void ribbon_export(const struct ribbon *ribbon, unsigned char *list);

/* Errors: E_CORRUPT. */
nidus_status ribbon_verify(const struct ribbon *ribbon);

/* The entry of a hash in the list; NULL if there is none. */
const struct ribbon_entry *ribbon_listed(const struct ribbon *ribbon, uint64_t hash);

/*
 * The layer that a key belongs to, with its hash and window there; NULL if all have bumped it.
 */
const struct ribbon_layer *ribbon_layer_of(const struct ribbon_matrix *matrix, uint64_t *hash,
                                           uint64_t *window);

#endif

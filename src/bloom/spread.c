/* SPDX-License-Identifier: MIT
 *
 * bloom_spread: the operations on a table whose keys set bits anywhere.
 *
 * The hash is the first of a row of 64-bit numbers, each made from the one
 * before; number i, taken as a fraction of 2^64, says where bit i lies. (Two
 * hashes and their sums, as is often done, would not do here: in small tables
 * two keys share both of them far more often than once in 2^24 times.)
 */
#include "base/atomic.h"
#include "bloom/shared.h"

#define BATCH 16 /* keys whose lines are fetched together */
#define FIRST 3  /* bits that are asked of every key: most absent ones fail there */

/* The next number of the row: a full-period step, so no two rows run together. */
static inline uint64_t step(uint64_t row)
{
	return row * UINT64_C(0xd1342543de82ef95) + UINT64_C(0x9e3779b97f4a7c15);
}

struct bit {
	uint64_t byte;
	unsigned char mask;
};

static inline struct bit bit_at(const struct bloom *bloom, uint64_t row)
{
	uint64_t bit = multiply_high(row, bloom->groups * 64);
	return (struct bit){ bit / 8, (unsigned char)(1u << bit % 8) };
}

/*
 * Whether the next n bits of a row are set; the row has gone on by n if so. In words of the
 * table: a bit's place in its word needs no masks of its own.
 */
ALWAYS_INLINE bool all_set(const struct bloom *bloom, uint64_t *row, unsigned n)
{
	uint64_t bits = bloom->groups * 64, at = *row;
	const unsigned char *table = bloom->table;
	for (; n > 0; n--) {
		uint64_t bit = multiply_high(at, bits);
		if (!(load64(table + (bit >> 6) * 8) >> (bit & 63) & 1))
			return false;
		at = step(at);
	}
	*row = at;
	return true;
}

/* The same in bytes, by loads that other threads' stores do not disturb; and for batches, where
 * it takes fewer instructions than words do. */
static inline bool shared_all_set(const struct bloom *bloom, uint64_t *row, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct bit bit = bit_at(bloom, *row);
		if (!(__atomic_load_n(&bloom->table[bit.byte], __ATOMIC_RELAXED) & bit.mask))
			return false;
		*row = step(*row);
	}
	return true;
}

static inline void set_all(struct bloom *bloom, uint64_t row)
{
	uint64_t bits = bloom->groups * 64;
	unsigned char *table = bloom->table;
	for (unsigned n = bloom->probes; n > 0; n--) {
		uint64_t bit = multiply_high(row, bits);
		unsigned char *word = table + (bit >> 6) * 8;
		store64(word, load64(word) | UINT64_C(1) << (bit & 63));
		row = step(row);
	}
	bloom->count++;
}

static inline void fetch(const struct bloom *bloom, uint64_t row, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		PREFETCH(bloom->table + bit_at(bloom, row).byte);
		row = step(row);
	}
}

void bloom_spread_prefetch(const struct bloom *bloom, uint64_t hash)
{
	fetch(bloom, hash, bloom->probes);
}

static bool contains(const void *body, uint64_t hash)
{
	const struct bloom *bloom = body;
	return all_set(bloom, &hash, bloom->probes);
}

static uint64_t count(const void *body, uint64_t hash)
{
	return contains(body, hash);
}

static nidus_status insert(void *body, uint64_t hash)
{
	set_all(body, hash);
	return NIDUS_OK;
}

static void contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	const struct bloom *bloom = body;
	unsigned first = bloom->probes < FIRST ? bloom->probes : FIRST;
	unsigned rest = bloom->probes - first;
	uint64_t rows[BATCH];
	for (size_t from = 0; from < n; from += BATCH) {
		size_t some = n - from < BATCH ? n - from : BATCH;
		for (size_t i = 0; i < some; i++)
			fetch(bloom, hashes[from + i], first);
		for (size_t i = 0; i < some; i++) {
			rows[i] = hashes[from + i];
			yes[from + i] = shared_all_set(bloom, &rows[i], first);
			if (yes[from + i])
				fetch(bloom, rows[i], rest);
		}
		for (size_t i = 0; i < some; i++)
			yes[from + i] = yes[from + i] && shared_all_set(bloom, &rows[i], rest);
	}
}

ALWAYS_INLINE void set_batch(struct bloom *bloom, const uint64_t *hashes, size_t n,
                             void (*set)(struct bloom *bloom, uint64_t row))
{
	for (size_t from = 0; from < n; from += BATCH) {
		size_t some = n - from < BATCH ? n - from : BATCH;
		for (size_t i = 0; i < some; i++)
			fetch(bloom, hashes[from + i], bloom->probes);
		for (size_t i = 0; i < some; i++)
			set(bloom, hashes[from + i]);
	}
}

static nidus_status insert_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                 size_t n, size_t *done)
{
	(void)values; /* a bit has none */
	set_batch(body, hashes, n, set_all);
	*done = n;
	return NIDUS_OK;
}

const struct body_ops bloom_spread_ops = {
	.contains = contains,
	.count = count,
	.insert = insert,
	.contains_batch = contains_batch,
	.insert_batch = insert_batch,
};

/* ---------------------------------------------------------- shared by threads -- */

/* Bits that are set already, half of them in a full table, are not written again. */
static inline void shared_set_all(struct bloom *bloom, uint64_t row)
{
	for (unsigned i = 0; i < bloom->probes; i++) {
		struct bit bit = bit_at(bloom, row);
		unsigned char *byte = &bloom->table[bit.byte];
		if (!(__atomic_load_n(byte, __ATOMIC_RELAXED) & bit.mask))
			(void)__atomic_fetch_or(byte, bit.mask, __ATOMIC_RELAXED);
		row = step(row);
	}
}

static bool shared_contains(const void *body, uint64_t hash)
{
	const struct bloom *bloom = body;
	return shared_all_set(bloom, &hash, bloom->probes);
}

static uint64_t shared_count(const void *body, uint64_t hash)
{
	return shared_contains(body, hash);
}

static nidus_status shared_insert(void *body, uint64_t hash)
{
	struct bloom *bloom = body;
	shared_set_all(bloom, hash);
	tally_add(&bloom->locks->added, 1);
	return NIDUS_OK;
}

static nidus_status shared_insert_new(void *body, uint64_t hash)
{
	struct bloom *bloom = body;
	uint32_t *lock = bloom_lock_at(bloom, hash);
	version_lock(lock);
	bool present = shared_contains(bloom, hash);
	if (!present)
		shared_set_all(bloom, hash);
	version_unlock(lock);
	if (present)
		return NIDUS_PRESENT;
	tally_add(&bloom->locks->added, 1);
	return NIDUS_OK;
}

static nidus_status shared_insert_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                        size_t n, size_t *done)
{
	(void)values;
	struct bloom *bloom = body;
	set_batch(bloom, hashes, n, shared_set_all);
	tally_add(&bloom->locks->added, n);
	*done = n;
	return NIDUS_OK;
}

const struct body_ops bloom_spread_shared_ops = {
	.contains = shared_contains,
	.count = shared_count,
	.insert = shared_insert,
	.insert_new = shared_insert_new,
	.contains_batch = contains_batch,
	.insert_batch = shared_insert_batch,
};

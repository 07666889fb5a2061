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

/* Other threads set bits of the same word at the same time. */
static inline void word_or(unsigned char *table, uint64_t index, uint64_t mask)
{
	aliased_word *word = (aliased_word *)(void *)table + index;
	(void)__atomic_fetch_or(word, bits_swap64_on_big(mask), __ATOMIC_RELEASE);
}

#define FIRST 3    /* bits that are asked of every key: most absent ones fail there */
#define AHEAD 32   /* keys whose first bits are fetched ahead of the work in a batch, */
#define WAITING 16 /* and keys that have those, whose other bits are under way */
#define WRITING 16 /* keys whose bits are all fetched ahead of an insert */

/* The next number of the row: a full-period step, so no two rows run together. */
static inline uint64_t step(uint64_t row)
{
	return row * UINT64_C(0xd1342543de82ef95) + UINT64_C(0x9e3779b97f4a7c15);
}

/* The table as a value: what is stored into it cannot change where it lies. */
struct table {
	unsigned char *bytes;
	uint64_t words;
};

ALWAYS_INLINE struct table table_of(const struct bloom *bloom)
{
	return (struct table){ bloom->table, bloom->groups };
}

/* Where a bit lies: the word of the table, and the bit in it. */
struct place {
	uint64_t word, bit;
};

/* row * bits / 2^64 is the number of the bit in the table. */
ALWAYS_INLINE struct place place_of(struct table table, uint64_t row)
{
	struct place place;
	place.word = multiply_wide(row, table.words, &place.bit);
	place.bit >>= 58;
	return place;
}

/* The bit of a row, 0 or 1. */
ALWAYS_INLINE uint64_t bit_of(struct table table, uint64_t row, bool shared)
{
	struct place place = place_of(table, row);
	uint64_t word =
		shared ? word_load(table.bytes, place.word) : load64(table.bytes + place.word * 8);
	return word >> place.bit & 1;
}

/* Whether the n bits of a row are set; up to the first that is not. */
ALWAYS_INLINE bool all_set(struct table table, uint64_t row, unsigned n, bool shared)
{
	if (n % 2 != 0) {
		if (!bit_of(table, row, shared))
			return false;
		row = step(row);
	}
	for (n /= 2; n > 0; n--) { /* two at a time: half the work of counting */
		if (!bit_of(table, row, shared))
			return false;
		row = step(row);
		if (!bit_of(table, row, shared))
			return false;
		row = step(row);
	}
	return true;
}

/* Where others set bits too, those that are set, half of them in a full table, are only read. */
ALWAYS_INLINE void set_all(struct table table, uint64_t row, unsigned n, bool shared)
{
	for (; n > 0; n--, row = step(row)) {
		struct place place = place_of(table, row);
		unsigned char *word = table.bytes + place.word * 8;
		uint64_t mask = UINT64_C(1) << place.bit;
		if (!shared)
			store64(word, load64(word) | mask);
		else if (!(word_load(table.bytes, place.word) & mask))
			word_or(table.bytes, place.word, mask);
	}
}

/* Asks for the lines of n bits of a row. */
ALWAYS_INLINE void fetch(struct table table, uint64_t row, unsigned n)
{
	for (; n > 0; n--, row = step(row))
		PREFETCH(table.bytes + place_of(table, row).word * 8);
}

void bloom_spread_prefetch(const struct bloom *bloom, uint64_t hash)
{
	fetch(table_of(bloom), hash, bloom->probes);
}

/* ------------------------------------------------------------------- batches -- */

/*
 * Keys whose first bits are set and whose other lines are under way, in the order in which
 * they are answered.
 */
struct waiting {
	uint64_t row[WAITING]; /* from the bits that are left on */
	size_t key[WAITING];
	size_t first, behind; /* places modulo WAITING */
};

ALWAYS_INLINE void answer_oldest(struct table table, struct waiting *waiting, unsigned rest,
                                 uint8_t *yes, bool shared)
{
	size_t at = waiting->first++ % WAITING;
	yes[waiting->key[at]] = all_set(table, waiting->row[at], rest, shared);
}

/*
 * Memory is asked at an even pace: for the first bits of every key well ahead of their test, and
 * for all other bits at once where those are set.
 */
ALWAYS_INLINE void look_batch(const struct bloom *bloom, const uint64_t *hashes, size_t n,
                              uint8_t *yes, bool shared)
{
	struct table table = table_of(bloom);
	unsigned first = bloom->probes < FIRST ? bloom->probes : FIRST;
	unsigned rest = bloom->probes - first;
	struct waiting waiting;
	waiting.first = waiting.behind = 0;
	for (size_t i = 0; i < n && i < AHEAD; i++)
		fetch(table, hashes[i], first);
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			fetch(table, hashes[i + AHEAD], first);
		uint64_t row = hashes[i], set = 1;
		for (unsigned bit = 0; bit < first; bit++, row = step(row))
			set &= bit_of(table, row, shared); /* which one is not is anyone's guess */
		yes[i] = (uint8_t)set;
		if (!set)
			continue;
		if (waiting.behind - waiting.first == WAITING)
			answer_oldest(table, &waiting, rest, yes, shared);
		fetch(table, row, rest);
		waiting.row[waiting.behind % WAITING] = row;
		waiting.key[waiting.behind++ % WAITING] = i;
	}
	while (waiting.first < waiting.behind)
		answer_oldest(table, &waiting, rest, yes, shared);
}

ALWAYS_INLINE void set_batch(const struct bloom *bloom, const uint64_t *hashes, size_t n,
                             bool shared)
{
	struct table table = table_of(bloom);
	unsigned probes = bloom->probes;
	for (size_t i = 0; i < n && i < WRITING; i++)
		fetch(table, hashes[i], probes);
	for (size_t i = 0; i < n; i++) {
		if (i + WRITING < n)
			fetch(table, hashes[i + WRITING], probes);
		set_all(table, hashes[i], probes, shared);
	}
}

/* ------------------------------------------------------------ for one thread -- */

static bool contains(const void *body, uint64_t hash)
{
	const struct bloom *bloom = body;
	return all_set(table_of(bloom), hash, bloom->probes, false);
}

static uint64_t count(const void *body, uint64_t hash)
{
	return contains(body, hash);
}

static nidus_status insert(void *body, uint64_t hash)
{
	struct bloom *bloom = body;
	bloom->count++;
	set_all(table_of(bloom), hash, bloom->probes, false);
	return NIDUS_OK;
}

static void contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	look_batch(body, hashes, n, yes, false);
}

static nidus_status insert_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                 size_t n, size_t *done)
{
	(void)values; /* a bit has none */
	struct bloom *bloom = body;
	set_batch(bloom, hashes, n, false);
	bloom->count += n;
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

static bool shared_contains(const void *body, uint64_t hash)
{
	const struct bloom *bloom = body;
	return all_set(table_of(bloom), hash, bloom->probes, true);
}

static uint64_t shared_count(const void *body, uint64_t hash)
{
	return shared_contains(body, hash);
}

static nidus_status shared_insert(void *body, uint64_t hash)
{
	struct bloom *bloom = body;
	set_all(table_of(bloom), hash, bloom->probes, true);
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
		set_all(table_of(bloom), hash, bloom->probes, true);
	version_unlock(lock);
	if (present)
		return NIDUS_PRESENT;
	tally_add(&bloom->locks->added, 1);
	return NIDUS_OK;
}

static void shared_contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	look_batch(body, hashes, n, yes, true);
}

static nidus_status shared_insert_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                        size_t n, size_t *done)
{
	(void)values;
	struct bloom *bloom = body;
	set_batch(bloom, hashes, n, true);
	tally_add(&bloom->locks->added, n);
	*done = n;
	return NIDUS_OK;
}

const struct body_ops bloom_spread_shared_ops = {
	.contains = shared_contains,
	.count = shared_count,
	.insert = shared_insert,
	.insert_new = shared_insert_new,
	.contains_batch = shared_contains_batch,
	.insert_batch = shared_insert_batch,
};

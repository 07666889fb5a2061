/* SPDX-License-Identifier: MIT
 *
 * bloom_spread: the operations on a table whose keys set bits anywhere.
 *
 * A hash is a fraction of 2^64; its digits to the base m, the number of bits in the table, are
 * the numbers of the bits that it sets. With W words of 64 bits, m = 64 W:
 *
 *     x * W = word * 2^64 + rest          word 0 to W - 1, and the highest 6 bits of
 *     x = rest rotated left by 6          rest: the bit in it; and so on with x
 *
 * The rotation takes bits that were used to the low end, where digits beyond the 64 bits of
 * the hash are made of them. W is odd, so that no step loses anything, and at least 3: with 1
 * there would be no mixing. (Two hashes and their sums, as is often done, would not do here: in
 * small tables two keys share both of them far more often than once in 2^24 times.)
 */
#include "base/atomic.h"
#include "base/probe.h"
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

/* The table as a value: the compiler then knows that no store changes its address. */
struct table {
	unsigned char *bytes;
	uint64_t words;
};

ALWAYS_INLINE struct table table_of(const struct bloom *bloom)
{
	return (struct table){ bloom->table, bloom->groups };
}

/* The word of a row's next bit. The bit in it is *row % 64 then. */
ALWAYS_INLINE uint64_t next_word(struct table table, uint64_t *row)
{
#if defined(__x86_64__) && defined(__GNUC__)
	uint64_t word; /* compilers move the row out of the product's register and back */
	__asm__("mulq %[words]\n\trolq $6, %%rax"
	        : "+a"(*row), "=&d"(word)
	        : [words] "r"(table.words)
	        : "cc");
#else
	uint64_t rest, word = multiply_wide(*row, table.words, &rest);
	*row = rest << 6 | rest >> 58;
#endif
	return word;
}

/* A word with the bit of a row. */
ALWAYS_INLINE uint64_t mask_of(uint64_t row)
{
#if defined(__x86_64__) && defined(__GNUC__)
	uint64_t mask; /* a shift would need one certain register for the number */
	__asm__("xorl %k[mask], %k[mask]\n\tbtsq %[row], %[mask]"
	        : [mask] "=&r"(mask)
	        : [row] "r"(row)
	        : "cc");
	return mask;
#else
	return UINT64_C(1) << row % 64;
#endif
}

/* A row's next bit, 0 or 1. */
ALWAYS_INLINE uint64_t next_bit(struct table table, uint64_t *row, bool shared)
{
	uint64_t at = next_word(table, row);
	uint64_t word = shared ? word_load(table.bytes, at) : load64(table.bytes + at * 8);
	return word >> *row % 64 & 1;
}

/* Where others set bits too, those that are set, half of them in a full table, are only read. */
ALWAYS_INLINE void set_next(struct table table, uint64_t *row, bool shared)
{
	uint64_t at = next_word(table, row), mask = mask_of(*row);
	unsigned char *word = table.bytes + at * 8;
	if (!shared)
		store64(word, load64(word) | mask);
	else if (!(word_load(table.bytes, at) & mask))
		word_or(table.bytes, at, mask);
}

/* Whether the n bits of a row are set; up to the first that is not. */
ALWAYS_INLINE bool all_set(struct table table, uint64_t row, unsigned n, bool shared)
{
#pragma GCC unroll 10
	for (; n > 0; n--) {
		if (!next_bit(table, &row, shared))
			goto missing;
	}
	return true;
missing:
	__asm__ volatile(""); /* or the answer would be written before each test */
	return false;
}

ALWAYS_INLINE void set_all(struct table table, uint64_t row, unsigned n, bool shared)
{
#pragma GCC unroll 10
	for (; n > 0; n--)
		set_next(table, &row, shared);
}

/* Asks for the lines of n bits of a row. */
ALWAYS_INLINE void fetch(struct table table, uint64_t row, unsigned n)
{
	for (; n > 0; n--)
		PREFETCH(table.bytes + next_word(table, &row) * 8);
}

void bloom_spread_prepare(const void *body, uint64_t hash, nidus_probe *probe)
{
	const struct bloom *bloom = body;
	probe_by_hash(probe, hash);
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
		for (unsigned bit = 0; bit < first; bit++)
			set &= next_bit(table, &row, shared); /* no branch: unpredictable */
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

ALWAYS_INLINE nidus_status insert(struct bloom *bloom, uint64_t hash, unsigned probes)
{
	bloom->count++;
	set_all(table_of(bloom), hash, probes, false);
	return NIDUS_OK;
}

static uint64_t count(const void *body, uint64_t hash)
{
	const struct bloom *bloom = body;
	return all_set(table_of(bloom), hash, bloom->probes, false);
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

/* The operations with calls on one key for a number of probes, constant or not. */
#define SPREAD_DEFINE(name, probes)                                   \
	static bool contains_##name(const void *body, uint64_t hash)  \
	{                                                             \
		const struct bloom *bloom = body;                     \
		return all_set(table_of(bloom), hash, probes, false); \
	}                                                             \
	static bool ask_##name(const void *body, const nidus_probe *probe) \
	{                                                             \
		return contains_##name(body, probe->hash);            \
	}                                                             \
	static nidus_status insert_##name(void *body, uint64_t hash)  \
	{                                                             \
		struct bloom *bloom = body;                           \
		return insert(bloom, hash, probes);                   \
	}                                                             \
	static const struct body_ops ops_##name = {                   \
		.contains = contains_##name,                          \
		.prepare = bloom_spread_prepare,                      \
		.ask = ask_##name,                                    \
		.count = count,                                       \
		.insert = insert_##name,                              \
		.contains_batch = contains_batch,                     \
		.insert_batch = insert_batch,                         \
	};

SPREAD_DEFINE(any, bloom->probes)
/* Rates from 5 % to 0.1 %. */
SPREAD_DEFINE(5, 5)
SPREAD_DEFINE(6, 6)
SPREAD_DEFINE(7, 7)
SPREAD_DEFINE(8, 8)
SPREAD_DEFINE(9, 9)
SPREAD_DEFINE(10, 10)

const struct body_ops *bloom_spread_find(unsigned probes)
{
	static const struct body_ops *const ops[] = {
		[5] = &ops_5, [6] = &ops_6, [7] = &ops_7,
		[8] = &ops_8, [9] = &ops_9, [10] = &ops_10,
	};
	bool common = probes < sizeof ops / sizeof *ops && ops[probes] != NULL;
	return common ? ops[probes] : &ops_any;
}

/* ---------------------------------------------------------- shared by threads -- */

static bool shared_contains(const void *body, uint64_t hash)
{
	const struct bloom *bloom = body;
	return all_set(table_of(bloom), hash, bloom->probes, true);
}

static bool shared_ask(const void *body, const nidus_probe *probe)
{
	return shared_contains(body, probe->hash);
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
	.prepare = bloom_spread_prepare,
	.ask = shared_ask,
	.count = shared_count,
	.insert = shared_insert,
	.insert_new = shared_insert_new,
	.contains_batch = shared_contains_batch,
	.insert_batch = shared_insert_batch,
};

/* SPDX-License-Identifier: MIT
 *
 * pair_sort: pairs in a word where they fit, others as they are.
 *
 * The pairs are put into parts by the highest bits of their hashes. All hashes of a part have these
 * in common, and if values have no more bits than that, what is left of a hash and its value
 * are one word:
 *
 *     | part | rest of the hash |        ->        | rest of the hash | value |
 *
 * Words are sorted as hashes are, and are a pair again when they are written back. Their order
 * is that of the pairs, and equal words are equal pairs.
 *
 * Wider values go along with their hashes. One thread puts the pairs into parts, each a range
 * of the hash space that fits into a core's own cache. All threads then sort parts, byte by
 * byte from the highest on, in place, and few pairs by inserting. Bytes of the values come behind
 * those of the hashes, so that a hash that comes a million times is no worse than others.
 */
#include "base/pair_sort.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "base/partition.h"
#include "base/sort.h"
#include "base/thread.h"
#include "base/watch.h"

#define PART_WORDS ((size_t)1 << 14) /* or so: these and the room to sort them fit, too */
#define PART_PAIRS 4096 /* or so, of 16 bytes: a byte more leaves few of them together */
#define PART_BITS_MOST 11
#define FEW 32
#define RADIX 256
#define VALUE_SHIFT (-32) /* of the hash's lowest bit, behind which values come */

struct pair {
	uint64_t hash, value;
};

struct sorting {
	struct pair *pairs;
	uint64_t *hashes, *values;
	size_t n;
	unsigned bits, threads;
	size_t end[(size_t)1 << PART_BITS_MOST];
};

static bool before(struct pair a, struct pair b)
{
	return a.hash != b.hash ? a.hash < b.hash : a.value < b.value;
}

static void insert_few(struct pair *pairs, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct pair one = pairs[i];
		size_t at = i;
		for (; at > 0 && before(one, pairs[at - 1]); at--)
			pairs[at] = pairs[at - 1];
		pairs[at] = one;
	}
}

/* The byte from a bit on, of hash and value as one number: the hash begins at bit 0. */
static unsigned byte_at(struct pair pair, int shift)
{
	return shift >= 0 ? pair.hash >> shift & (RADIX - 1)
	                  : pair.value >> (shift - VALUE_SHIFT) & (RADIX - 1);
}

/* The next byte: the lowest of the hash is not mixed with the value's first. */
static int next_shift(int shift)
{
	return shift > 0 && shift < 8 ? 0 : shift - 8;
}

static void sort_many(struct pair *pairs, size_t n, int shift);

/* Sorts pairs that agree in all bits from shift + 8 on. */
static void sort_pairs(struct pair *pairs, size_t n, int shift)
{
	if (n <= FEW)
		insert_few(pairs, n);
	else if (shift >= VALUE_SHIFT) /* below that they are all equal */
		sort_many(pairs, n, shift);
}

static void sort_many(struct pair *pairs, size_t n, int shift)
{
	size_t start[RADIX + 1] = { 0 }, next[RADIX];
	for (size_t i = 0; i < n; i++)
		start[byte_at(pairs[i], shift) + 1]++;
	for (unsigned byte = 0; byte < RADIX; byte++) {
		start[byte + 1] += start[byte];
		next[byte] = start[byte];
	}
	for (unsigned byte = 0; byte < RADIX; byte++) {
		while (next[byte] < start[byte + 1]) {
			struct pair one = pairs[next[byte]];
			unsigned to = byte_at(one, shift);
			if (to == byte) {
				next[byte]++;
				continue;
			}
			pairs[next[byte]] = pairs[next[to]];
			pairs[next[to]++] = one;
		}
	}
	for (unsigned byte = 0; byte < RADIX; byte++)
		sort_pairs(pairs + start[byte], start[byte + 1] - start[byte], next_shift(shift));
}

static size_t part_start(const struct sorting *sorting, size_t part)
{
	return part == 0 ? 0 : sorting->end[part - 1];
}

/* Every thread takes its share of the parts and puts them back, sorted. */
static void sort_parts(void *context, unsigned number)
{
	const struct sorting *sorting = context;
	size_t parts = (size_t)1 << sorting->bits;
	size_t last = parts * (number + 1) / sorting->threads;
	for (size_t part = parts * number / sorting->threads; part < last; part++) {
		size_t from = part_start(sorting, part), to = sorting->end[part];
		if (watch_step(to - from))
			return;
		sort_pairs(sorting->pairs + from, to - from, 56 - (int)sorting->bits);
		for (size_t i = from; i < to; i++) {
			sorting->hashes[i] = sorting->pairs[i].hash;
			sorting->values[i] = sorting->pairs[i].value;
		}
	}
}

static size_t part_of(const struct sorting *sorting, uint64_t hash)
{
	return (size_t)(hash >> 1 >> (63 - sorting->bits));
}

static void spread(struct sorting *sorting)
{
	size_t parts = (size_t)1 << sorting->bits, sum = 0;
	memset(sorting->end, 0, sizeof sorting->end);
	for (size_t i = 0; i < sorting->n; i++) {
		sorting->end[part_of(sorting, sorting->hashes[i])]++;
		if (UNLIKELY(i % WATCH_PIECE == 0) && watch_step(WATCH_PIECE))
			return;
	}
	for (size_t part = 0; part < parts; part++) {
		size_t count = sorting->end[part];
		sorting->end[part] = sum;
		sum += count;
	}
	/* The start of each part moves on to its end. */
	for (size_t i = 0; i < sorting->n; i++) {
		uint64_t hash = sorting->hashes[i];
		sorting->pairs[sorting->end[part_of(sorting, hash)]++] =
			(struct pair){ hash, sorting->values[i] };
		if (UNLIKELY(i % WATCH_PIECE == 0) && watch_step(WATCH_PIECE))
			return;
	}
}

/* Bits of a part's number if it is to have so many pairs. */
static unsigned bits_for(size_t n, size_t pairs, unsigned most)
{
	unsigned bits = n / pairs > 1 ? log2_floor(n / pairs) : 0;
	return bits < most ? bits : most;
}

static size_t drop_equal(uint64_t *hashes, uint64_t *values, size_t n)
{
	size_t left = n > 0;
	for (size_t i = 1; i < n; i++) {
		if (hashes[i] == hashes[left - 1] && values[i] == values[left - 1])
			continue;
		hashes[left] = hashes[i];
		values[left++] = values[i];
	}
	return left;
}

/* Sorts pairs with values of any width. */
static nidus_status sort_as_pairs(uint64_t *hashes, uint64_t *values, size_t n, unsigned threads,
                                  const nidus_allocator *allocator)
{
	struct block work, memory;
	uint64_t size;
	if (multiply_overflows(n, sizeof(struct pair), &size))
		size = UINT64_MAX;
	nidus_status status = memory_take(allocator, sizeof(struct sorting), &work);
	if (status != NIDUS_OK)
		return status;
	status = memory_take(allocator, size, &memory);
	if (status == NIDUS_OK) {
		struct sorting *sorting = (struct sorting *)(void *)work.bytes;
		*sorting = (struct sorting){
			.pairs = (struct pair *)(void *)memory.bytes,
			.hashes = hashes,
			.values = values,
			.n = n,
			.bits = bits_for(n, PART_PAIRS, PART_BITS_MOST),
			.threads = threads,
		};
		spread(sorting);
		if (!watch_stopped())
			threads_run(threads, sort_parts, sorting);
		memory_give(allocator, &memory);
		status = watch_status();
	}
	memory_give(allocator, &work);
	return status;
}

/* -------------------------------------------------------------- pairs in words -- */

struct packing {
	uint64_t *hashes, *values;
	uint64_t *words, *room; /* room: [threads][room_size] */
	size_t *end;            /* of the parts */
	size_t room_size;
	unsigned bits;
	atomic_bool equal;  /* there may be equal words */
	atomic_size_t next; /* the first part not taken yet */
};

static void read_hashes(const void *context, size_t from, size_t n, uint64_t *hashes)
{
	const struct packing *packing = context;
	memcpy(hashes, packing->hashes + from, n * sizeof *hashes);
}

/* A part that is much larger than others needs no room, and more time. */
static bool sort_words(const struct packing *packing, uint64_t *words, size_t n, uint64_t *room)
{
	if (n <= packing->room_size)
		return sort_hashes(words, n, 0, room);
	sort_u64(words, n);
	return true;
}

/* Sorts parts and writes their pairs back, until no part is left. */
static void sort_packed(void *context, unsigned number)
{
	struct packing *packing = context;
	uint64_t *room = packing->room + number * packing->room_size, part;
	unsigned bits = packing->bits;
	while (!watch_stopped() && (part = atomic_fetch_add(&packing->next, 1)) >> bits == 0) {
		size_t from = part == 0 ? 0 : packing->end[part - 1], to = packing->end[part];
		if (sort_words(packing, packing->words + from, to - from, room))
			packing->equal = true;
		for (size_t i = from; i < to; i++) {
			uint64_t word = packing->words[i];
			packing->hashes[i] = word >> bits | part << (64 - bits);
			packing->values[i] = word & bits_low(bits);
		}
		watch_step(to - from);
	}
}

static nidus_status sort_in_words(struct packing *packing, size_t n, unsigned threads,
                                  const nidus_allocator *allocator)
{
	size_t parts = (size_t)1 << packing->bits, spread, room;
	struct block memory, work;
	uint64_t size;
	packing->room_size = 2 * (n >> packing->bits) + 64;
	spread = partition_work_size(packing->bits, threads);
	room = threads * packing->room_size * sizeof *packing->room;
	room = spread > room ? spread : room; /* one after the other, at the same place */
	if (multiply_overflows(n, sizeof *packing->words, &size))
		size = UINT64_MAX;
	nidus_status status = memory_take(allocator, room + parts * sizeof *packing->end, &work);
	if (status != NIDUS_OK)
		return status;
	status = memory_take(allocator, size, &memory);
	if (status == NIDUS_OK) {
		struct hash_source source = { n, packing, read_hashes, packing->values };
		packing->words = (uint64_t *)(void *)memory.bytes;
		packing->room = (uint64_t *)(void *)work.bytes;
		packing->end = (size_t *)(void *)(work.bytes + room);
		partition_spread(&source, packing->bits, threads, work.bytes, packing->words,
		                 packing->end);
		threads_run(threads, sort_packed, packing);
		memory_give(allocator, &memory);
		status = watch_status();
	}
	memory_give(allocator, &work);
	return status;
}

/* ------------------------------------------------------------------------ both -- */

nidus_status pair_sort(uint64_t *hashes, uint64_t *values, size_t n, unsigned bits, bool unique,
                       unsigned threads, const nidus_allocator *allocator, size_t *left)
{
	*left = 0;
	if (n == 0)
		return NIDUS_OK;
	threads = threads_wanted(threads);
	if (bits > PARTITION_BITS_MOST) {
		nidus_status status = sort_as_pairs(hashes, values, n, threads, allocator);
		if (status == NIDUS_OK)
			*left = unique ? drop_equal(hashes, values, n) : n;
		return status;
	}
	unsigned parts = bits_for(n, PART_WORDS, PARTITION_BITS_MOST);
	struct packing packing = { .hashes = hashes,
		                   .values = values,
		                   .bits = bits > parts ? bits : parts };
	nidus_status status = sort_in_words(&packing, n, threads, allocator);
	if (status == NIDUS_OK)
		*left = unique && packing.equal ? drop_equal(hashes, values, n) : n;
	return status;
}

/* SPDX-License-Identifier: MIT
 *
 * pair_sort: a first pass by the highest bits, then part after part in the cache.
 *
 * One thread puts the pairs into parts, each a range of the hash space that fits into a
 * core's own cache. All threads then sort parts, byte by byte from the highest on, in place,
 * and few pairs by inserting. Bytes of the values come behind those of the hashes, so that
 * a hash that comes a million times is no worse than others.
 */
#include "base/pair_sort.h"

#include "base/bits.h"
#include "base/thread.h"

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
	for (size_t i = 0; i < sorting->n; i++)
		sorting->end[part_of(sorting, sorting->hashes[i])]++;
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
	}
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

nidus_status pair_sort(uint64_t *hashes, uint64_t *values, size_t n, bool unique, unsigned threads,
                       const nidus_allocator *allocator, size_t *left)
{
	struct block work, memory;
	uint64_t size;
	*left = 0;
	if (n == 0)
		return NIDUS_OK;
	if (multiply_overflows(n, sizeof(struct pair), &size))
		size = UINT64_MAX;
	nidus_status status = memory_take(allocator, sizeof(struct sorting), &work);
	if (status != NIDUS_OK)
		return status;
	status = memory_take(allocator, size, &memory);
	if (status == NIDUS_OK) {
		struct sorting *sorting = (struct sorting *)(void *)work.bytes;
		unsigned bits = n / PART_PAIRS > 1 ? log2_floor(n / PART_PAIRS) : 0;
		*sorting = (struct sorting){
			.pairs = (struct pair *)(void *)memory.bytes,
			.hashes = hashes,
			.values = values,
			.n = n,
			.bits = bits < PART_BITS_MOST ? bits : PART_BITS_MOST,
			.threads = threads_wanted(threads),
		};
		spread(sorting);
		threads_run(sorting->threads, sort_parts, sorting);
		*left = unique ? drop_equal(hashes, values, n) : n;
		memory_give(allocator, &memory);
	}
	memory_give(allocator, &work);
	return status;
}

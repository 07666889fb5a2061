/* SPDX-License-Identifier: MIT
 *
 * few: records in order. Finding one takes a few steps, putting one in moves those behind it.
 */
#include "base/few.h"

#include <string.h>

#include "base/bits.h"

#define FEW_FIRST 8  /* records that the first block has room for */
#define FEW_GROWTH 4 /* this share of them more for the next one */

static unsigned record_size(const struct few *few)
{
	return few->bytes + few->value_bytes;
}

static unsigned char *record(const struct few *few, uint64_t index)
{
	return few->memory.bytes + index * record_size(few);
}

/* Up to eight bytes, the lowest first. */
static uint64_t load_bytes(const unsigned char *from, unsigned bytes)
{
	uint64_t word = 0;
	for (unsigned i = bytes; i-- > 0;)
		word = word << 8 | from[i];
	return word;
}

static void store_bytes(unsigned char *to, uint64_t word, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++, word >>= 8)
		to[i] = (unsigned char)word;
}

uint64_t few_hash(const struct few *few, uint64_t index)
{
	return load_bytes(record(few, index), few->bytes) << (64 - 8 * few->bytes);
}

uint64_t few_value(const struct few *few, uint64_t index)
{
	return load_bytes(record(few, index) + few->bytes, few->value_bytes);
}

uint64_t few_find(const struct few *few, uint64_t hash, uint64_t value)
{
	uint64_t low = 0, high = few->count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2, there = few_hash(few, middle);
		if (there < hash || (there == hash && few_value(few, middle) < value))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t few_copies(const struct few *few, uint64_t hash)
{
	uint64_t first = few_find(few, hash, 0), behind = first;
	while (behind < few->count && few_hash(few, behind) == hash)
		behind++;
	return behind - first;
}

nidus_status few_reserve(struct few *few, uint64_t count, const nidus_allocator *allocator)
{
	struct block memory;
	uint64_t size = count * record_size(few);
	if (size <= few->memory.size)
		return NIDUS_OK;
	nidus_status status = memory_take(allocator, size, &memory);
	if (status != NIDUS_OK)
		return status;
	if (few->count > 0)
		memcpy(memory.bytes, few->memory.bytes, few_size(few));
	memory_give(allocator, &few->memory);
	few->memory = memory;
	return NIDUS_OK;
}

nidus_status few_insert(struct few *few, uint64_t hash, uint64_t value,
                        const nidus_allocator *allocator)
{
	if (few_size(few) + record_size(few) > few->memory.size) {
		nidus_status status =
			few_reserve(few, few->count + few->count / FEW_GROWTH + FEW_FIRST, allocator);
		if (status != NIDUS_OK)
			return status;
	}
	unsigned char *at = record(few, few_find(few, hash, value));
	unsigned char *end = record(few, few->count);
	memmove(at + record_size(few), at, (size_t)(end - at));
	store_bytes(at, hash >> (64 - 8 * few->bytes), few->bytes);
	store_bytes(at + few->bytes, value, few->value_bytes);
	few->count++;
	return NIDUS_OK;
}

void few_remove(struct few *few, uint64_t index)
{
	unsigned char *at = record(few, index), *next = record(few, index + 1);
	memmove(at, next, (size_t)(record(few, few->count) - next));
	few->count--;
}

bool few_in_order(const struct few *few, uint64_t hash_mask, uint64_t value_mask)
{
	uint64_t last = 0, last_value = 0;
	for (uint64_t i = 0; i < few->count; i++) {
		uint64_t hash = few_hash(few, i), value = few_value(few, i);
		if ((hash & ~hash_mask) != 0 || value > value_mask || hash < last ||
		    (hash == last && value < last_value))
			return false;
		last = hash;
		last_value = value;
	}
	return true;
}

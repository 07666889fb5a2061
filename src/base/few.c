/* SPDX-License-Identifier: MIT
 *
 * few: records in order. Finding one takes a few steps, putting one in moves those behind it.
 */
#include "base/few.h"

#include <string.h>

#include "base/bits.h"
#include "base/reason.h"

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

/* What stands for a record in the list of further copies. */
static nidus_entry entry_of(uint64_t hash, uint64_t value)
{
	return (nidus_entry){ .home = hash, .value = value };
}

static bool has_record(const struct few *few, uint64_t index, uint64_t hash, uint64_t value)
{
	return index < few->count && few_hash(few, index) == hash && few_value(few, index) == value;
}

uint64_t few_copies_of(const struct few *few, uint64_t index)
{
	const nidus_entry entry = entry_of(few_hash(few, index), few_value(few, index));
	return 1 + (few->copies.nodes > 0 ? overflow_count(&few->copies, &entry) : 0);
}

uint64_t few_copies(const struct few *few, uint64_t hash)
{
	uint64_t index = few_find(few, hash, 0), copies = 0;
	for (; index < few->count && few_hash(few, index) == hash; index++)
		copies += few_copies_of(few, index);
	return copies;
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

/* Puts a record in, for which there is room. */
static void insert_record(struct few *few, uint64_t index, uint64_t hash, uint64_t value)
{
	unsigned char *at = record(few, index), *end = record(few, few->count);
	memmove(at + record_size(few), at, (size_t)(end - at));
	store_bytes(at, hash >> (64 - 8 * few->bytes), few->bytes);
	store_bytes(at + few->bytes, value, few->value_bytes);
	few->count++;
}

nidus_status few_insert(struct few *few, uint64_t hash, uint64_t value, uint64_t copies,
                        const nidus_allocator *allocator)
{
	const nidus_entry entry = entry_of(hash, value);
	nidus_status status = NIDUS_OK;
	uint64_t index = few_find(few, hash, value);
	bool there = has_record(few, index, hash, value);
	if (!there && few_size(few) + record_size(few) > few->memory.size)
		status = few_reserve(few, few->count + few->count / FEW_GROWTH + FEW_FIRST, allocator);
	if (status == NIDUS_OK && copies > !there)
		status = overflow_add(&few->copies, allocator, &entry, copies - !there);
	if (status == NIDUS_OK && !there)
		insert_record(few, index, hash, value);
	return status;
}

void few_remove(struct few *few, uint64_t index)
{
	const nidus_entry entry = entry_of(few_hash(few, index), few_value(few, index));
	if (few->copies.nodes > 0 && overflow_remove(&few->copies, &entry))
		return;
	unsigned char *at = record(few, index), *next = record(few, index + 1);
	memmove(at, next, (size_t)(record(few, few->count) - next));
	few->count--;
}

void few_clear(struct few *few, const nidus_allocator *allocator)
{
	few->count = 0;
	overflow_free(&few->copies, allocator);
}

void few_free(struct few *few, const nidus_allocator *allocator)
{
	few_clear(few, allocator);
	memory_give(allocator, &few->memory);
}

nidus_status few_copy(struct few *to, const struct few *from, const nidus_allocator *allocator)
{
	nidus_status status = few_reserve(to, from->count, allocator);
	if (status == NIDUS_OK)
		status = overflow_copy(&to->copies, &from->copies, allocator);
	if (status != NIDUS_OK)
		return status;
	to->count = from->count;
	if (from->count > 0)
		memcpy(to->memory.bytes, from->memory.bytes, (size_t)few_size(from));
	return NIDUS_OK;
}

nidus_status few_import_copies(struct few *few, const unsigned char *bytes, uint64_t n,
                               const nidus_allocator *allocator)
{
	nidus_entry last = { 0 };
	nidus_status status = NIDUS_OK;
	for (uint64_t i = 0; i < n && status == NIDUS_OK; i++, bytes += OVERFLOW_ENTRY) {
		uint64_t copies;
		const nidus_entry entry = overflow_decode(bytes, &copies);
		uint64_t index = few_find(few, entry.home, entry.value);
		if (entry.fingerprint != 0 || copies == 0 ||
		    !has_record(few, index, entry.home, entry.value) ||
		    (i > 0 && !overflow_in_order(&last, &entry)))
			return fail(NIDUS_E_CORRUPT, "the copies of a small filter make no sense");
		status = overflow_add(&few->copies, allocator, &entry, copies);
		last = entry;
	}
	return status;
}

bool few_in_order(const struct few *few, uint64_t hash_mask, uint64_t value_mask)
{
	uint64_t last = 0, last_value = 0;
	for (uint64_t i = 0; i < few->count; i++) {
		uint64_t hash = few_hash(few, i), value = few_value(few, i);
		if ((hash & ~hash_mask) != 0 || value > value_mask || (i > 0 && hash < last) ||
		    (i > 0 && hash == last && value <= last_value))
			return false;
		last = hash;
		last_value = value;
	}
	return true;
}

/* SPDX-License-Identifier: MIT
 *
 * stash: a sorted array that doubles.
 */
#include "nest/stash.h"

#include <string.h>

#define FIRST_ENTRIES 4

/* The first place whose entry is not before `entry`. */
static uint32_t lower_bound(const struct stash *stash, struct stash_entry entry)
{
	const struct stash_entry *entries = stash_entries(stash);
	uint32_t low = 0, high = stash->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (stash_before(entries[middle], entry))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t stash_find(const struct stash *stash, struct stash_entry entry, uint64_t compared,
                    uint32_t from)
{
	const struct stash_entry *entries = stash_entries(stash);
	struct stash_entry least = { entry.home, 0 };
	uint32_t at = lower_bound(stash, least);
	for (at = at > from ? at : from; at < stash->count; at++) {
		if (entries[at].home != entry.home)
			return stash->count;
		if (((entries[at].fingerprint ^ entry.fingerprint) & compared) == 0)
			return at;
	}
	return at;
}

uint32_t stash_count(const struct stash *stash, struct stash_entry entry, uint64_t compared)
{
	uint32_t count = 0, at = stash_find(stash, entry, compared, 0);
	for (; at < stash->count; at = stash_find(stash, entry, compared, at + 1))
		count++;
	return count;
}

static nidus_status make_room(struct stash *stash, const nidus_allocator *allocator)
{
	size_t used = (size_t)stash->count * sizeof(struct stash_entry);
	if (used < stash->memory.size)
		return NIDUS_OK;
	struct block larger;
	size_t first = stash->first > 0 ? stash->first : FIRST_ENTRIES;
	size_t size = used == 0 ? first * sizeof(struct stash_entry) : 2 * used;
	nidus_status status = memory_take(allocator, size, &larger);
	if (status != NIDUS_OK)
		return status;
	if (used > 0)
		memcpy(larger.bytes, stash->memory.bytes, used);
	memory_give(allocator, &stash->memory);
	stash->memory = larger;
	return NIDUS_OK;
}

nidus_status stash_insert(struct stash *stash, struct stash_entry entry,
                          const nidus_allocator *allocator)
{
	nidus_status status = make_room(stash, allocator);
	if (status != NIDUS_OK)
		return status;
	struct stash_entry *entries = stash_entries(stash);
	uint32_t at = lower_bound(stash, entry);
	memmove(entries + at + 1, entries + at, (stash->count - at) * sizeof *entries);
	entries[at] = entry;
	stash->count++;
	return NIDUS_OK;
}

void stash_remove_at(struct stash *stash, uint32_t index)
{
	struct stash_entry *entries = stash_entries(stash);
	stash->count--;
	memmove(entries + index, entries + index + 1, (stash->count - index) * sizeof *entries);
}

bool stash_remove(struct stash *stash, struct stash_entry entry, uint64_t compared)
{
	uint32_t at = stash_find(stash, entry, compared, 0);
	if (at == stash->count)
		return false;
	stash_remove_at(stash, at);
	return true;
}

bool stash_sorted(const struct stash *stash)
{
	const struct stash_entry *entries = stash_entries(stash);
	for (uint32_t i = 1; i < stash->count; i++) {
		if (stash_before(entries[i], entries[i - 1]))
			return false;
	}
	return true;
}

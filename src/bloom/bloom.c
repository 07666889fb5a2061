/* SPDX-License-Identifier: MIT
 *
 * bloom: life of a table of bits, and what can be known of it as a whole.
 */
#include "bloom/bloom.h"

#include "base/probe.h"
#include "base/reason.h"

#define WORD 8 /* bytes; every table is a multiple of it */

nidus_status bloom_create(struct bloom *bloom, const struct blueprint *plan, unsigned group_bytes,
                          const struct body_ops *ops, const struct body_ops *shared_ops,
                          const nidus_allocator *allocator, unsigned char *table)
{
	bool shared = table == NULL && plan->features & NIDUS_CONCURRENT;
	*bloom = (struct bloom){
		.groups = plan->groups,
		.version = probe_version(),
		.probes = plan->core_bits,
		.ops = shared ? shared_ops : ops,
		.mapped = table != NULL,
		.allocator = *allocator,
	};
	uint64_t bytes = plan->groups * group_bytes;
	nidus_status status = NIDUS_OK;
	if (table == NULL)
		status = memory_take(allocator, bytes, &bloom->memory);
	else
		bloom->memory = memory_lent(table, bytes);
	bloom->table = bloom->memory.bytes;
	if (status == NIDUS_OK && shared)
		status = locks_make(&bloom->locks, bloom->memory.size, allocator);
	if (status != NIDUS_OK)
		bloom_free(bloom);
	return status;
}

void bloom_free(struct bloom *bloom)
{
	locks_unmake(bloom->locks, &bloom->allocator);
	bloom->locks = NULL;
	memory_give(&bloom->allocator, &bloom->memory);
}

void bloom_clear(struct bloom *bloom)
{
	memset(bloom->table, 0, bloom->memory.size);
	bloom->count = 0;
	if (bloom->locks != NULL)
		tally_clear(&bloom->locks->added);
}

void bloom_unite(struct bloom *to, const struct bloom *from)
{
	for (size_t at = 0; at < to->memory.size; at += WORD)
		store64(to->table + at, load64(to->table + at) | load64(from->table + at));
	to->count += bloom_count(from);
}

uint64_t bloom_bytes(const struct bloom *bloom)
{
	return bloom->memory.size + locks_bytes(bloom->locks);
}

uint64_t bloom_bits(const struct bloom *bloom)
{
	return (uint64_t)bloom->memory.size * 8;
}

uint64_t bloom_bits_set(const struct bloom *bloom)
{
	uint64_t set = 0;
	for (size_t at = 0; at < bloom->memory.size; at += WORD)
		set += (uint64_t)__builtin_popcountll(load64(bloom->table + at));
	return set;
}

nidus_status bloom_check_count(const struct bloom *bloom)
{
	uint64_t set = bloom_bits_set(bloom), count = bloom_count(bloom);
	if ((set == 0) != (count == 0) || divide_up(set, bloom->probes) > count)
		return fail(NIDUS_E_CORRUPT,
		            "%llu bits are set, which %llu inserts of %u bits cannot leave",
		            (unsigned long long)set, (unsigned long long)count, bloom->probes);
	return NIDUS_OK;
}

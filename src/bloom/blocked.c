/* SPDX-License-Identifier: MIT
 *
 * blocked: which operations, and what the sectors of a block hold.
 */
#include "bloom/blocked.h"

#include "base/reason.h"
#include "bloom/blocked_instances.h"
#include "simd/isa.h"

static const struct blocked_ops *find(unsigned probes)
{
#ifdef NIDUS_HAVE_AVX2
	if (isa_tier() == ISA_AVX2)
		return blocked_avx2(probes);
#endif
	return blocked_scalar(probes);
}

const struct body_ops *blocked_find(unsigned probes)
{
	const struct blocked_ops *ops = find(probes);
	return ops == NULL ? NULL : &ops->alone;
}

const struct body_ops *blocked_find_shared(unsigned probes)
{
	const struct blocked_ops *ops = find(probes);
	return ops == NULL ? NULL : &ops->shared;
}

void blocked_prepare(const void *body, uint64_t hash, nidus_probe *probe)
{
	const struct bloom *bloom = body;
	struct blocked_key key = blocked_locate(bloom, hash);
	probe->hash = hash;
	probe->version = bloom->version;
	probe->number[BLOCKED_PROBE_BYTE] = key.block * BLOCKED_BYTES;
	probe->number[BLOCKED_PROBE_REST] = key.rest;
	PREFETCH(bloom->table + key.block * BLOCKED_BYTES);
}

void blocked_sectors(const struct bloom *bloom, uint64_t block, unsigned set[BLOCKED_PROBES])
{
	const unsigned char *line = bloom->table + block * BLOCKED_BYTES;
	for (unsigned i = 0; i < bloom->probes; i++)
		set[i] = 0;
	for (unsigned word = 0; word < BLOCKED_PROBES; word++) { /* of 32 bits */
		unsigned sector = bloom->probes == 16 ? word : word / 2 % bloom->probes;
		set[sector] += (unsigned)__builtin_popcount(load32(line + 4 * word));
	}
}

nidus_status blocked_verify(const struct bloom *bloom)
{
	for (uint64_t block = 0; block < bloom->groups; block++) {
		unsigned set[BLOCKED_PROBES], empty = 0;
		blocked_sectors(bloom, block, set);
		for (unsigned i = 0; i < bloom->probes; i++)
			empty += set[i] == 0;
		if (empty != 0 && empty != bloom->probes)
			return fail(NIDUS_E_CORRUPT,
			            "block %llu has bits in some sectors and none in others",
			            (unsigned long long)block);
	}
	return NIDUS_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * blocked_ops: the operations on blocks, for the file of a tier to include.
 *
 * Before: blocked_holds() and blocked_put(), which do the work in one block, and
 * BLOCKED_SELECT, the name of the function that finds the operations. No include
 * guard: every tier compiles its own.
 */
#include "table/blocked_instances.h"

/*
 * How many keys ahead of the work their blocks are fetched: a rolling distance
 * keeps as many lines under way as the processor can, without pauses between groups.
 */
#define AHEAD 32

ALWAYS_INLINE unsigned char *line_of(const struct bloom *bloom, uint64_t hash)
{
	return bloom->table + multiply_high(hash, bloom->groups) * BLOCKED_BYTES;
}

ALWAYS_INLINE bool look(const struct bloom *bloom, uint64_t hash, unsigned probes)
{
	struct blocked_key key = blocked_locate(bloom, hash);
	return blocked_holds(bloom->table + key.block * BLOCKED_BYTES, key, probes);
}

ALWAYS_INLINE void add(struct bloom *bloom, uint64_t hash, unsigned probes)
{
	struct blocked_key key = blocked_locate(bloom, hash);
	blocked_put(bloom->table + key.block * BLOCKED_BYTES, key, probes);
	bloom->count++;
}

ALWAYS_INLINE void look_batch(const struct bloom *bloom, const uint64_t *hashes, size_t n,
                              uint8_t *yes, unsigned probes)
{
	size_t fetched = n < AHEAD ? n : AHEAD, i = 0;
	for (size_t ahead = 0; ahead < fetched; ahead++)
		PREFETCH(line_of(bloom, hashes[ahead]));
	for (; i + AHEAD < n; i++) {
		PREFETCH(line_of(bloom, hashes[i + AHEAD]));
		yes[i] = look(bloom, hashes[i], probes);
	}
	for (; i < n; i++)
		yes[i] = look(bloom, hashes[i], probes);
}

ALWAYS_INLINE void add_batch(struct bloom *bloom, const uint64_t *hashes, size_t n, unsigned probes)
{
	size_t fetched = n < AHEAD ? n : AHEAD, i = 0;
	for (size_t ahead = 0; ahead < fetched; ahead++)
		PREFETCH_WRITE(line_of(bloom, hashes[ahead]));
	for (; i + AHEAD < n; i++) {
		PREFETCH_WRITE(line_of(bloom, hashes[i + AHEAD]));
		add(bloom, hashes[i], probes);
	}
	for (; i < n; i++)
		add(bloom, hashes[i], probes);
}

/* The operations for one number of bits per key. */
#define BLOCKED_DEFINE(probes)                                                                  \
	static bool contains_##probes(const void *body, uint64_t hash)                          \
	{                                                                                       \
		return look(body, hash, probes);                                                \
	}                                                                                       \
	static uint64_t count_##probes(const void *body, uint64_t hash)                         \
	{                                                                                       \
		return look(body, hash, probes);                                                \
	}                                                                                       \
	static nidus_status insert_##probes(void *body, uint64_t hash)                          \
	{                                                                                       \
		add(body, hash, probes);                                                        \
		return NIDUS_OK;                                                                \
	}                                                                                       \
	static void contains_batch_##probes(const void *body, const uint64_t *hashes, size_t n, \
	                                    uint8_t *yes)                                       \
	{                                                                                       \
		look_batch(body, hashes, n, yes, probes);                                       \
	}                                                                                       \
	static nidus_status insert_batch_##probes(void *body, const uint64_t *hashes, size_t n, \
	                                          size_t *done)                                 \
	{                                                                                       \
		add_batch(body, hashes, n, probes);                                             \
		*done = n;                                                                      \
		return NIDUS_OK;                                                                \
	}                                                                                       \
	static const struct body_ops ops_##probes = {                                           \
		.contains = contains_##probes,                                                  \
		.count = count_##probes,                                                        \
		.insert = insert_##probes,                                                      \
		.contains_batch = contains_batch_##probes,                                      \
		.insert_batch = insert_batch_##probes,                                          \
	};

BLOCKED_DEFINE(4)
BLOCKED_DEFINE(8)
BLOCKED_DEFINE(16)

const struct body_ops *BLOCKED_SELECT(unsigned probes)
{
	return probes == 4 ? &ops_4 : probes == 8 ? &ops_8 : probes == 16 ? &ops_16 : NULL;
}

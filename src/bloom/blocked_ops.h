/* SPDX-License-Identifier: MIT
 *
 * blocked_ops: the operations on blocks, for the file of a tier to include.
 *
 * Before: blocked_holds() and blocked_put(), which do the work in one block, the
 * same as shared_holds() and shared_put() with atomic words, and BLOCKED_SELECT, the
 * name of the function that finds the operations. No include guard: every tier
 * compiles its own.
 */
#include "bloom/blocked_instances.h"

#include "bloom/shared.h"

/*
 * How many keys ahead of the work their blocks are fetched: a rolling distance
 * keeps as many lines under way as the processor can, without pauses between groups.
 */
#define AHEAD 64

ALWAYS_INLINE unsigned char *line_of(const struct bloom *bloom, uint64_t hash)
{
	return bloom->table + multiply_high(hash, bloom->groups) * BLOCKED_BYTES;
}

ALWAYS_INLINE bool look(const struct bloom *bloom, uint64_t hash, unsigned probes, bool shared)
{
	struct blocked_key key = blocked_locate(bloom, hash);
	const unsigned char *line = bloom->table + key.block * BLOCKED_BYTES;
	return shared ? shared_holds(line, key, probes) : blocked_holds(line, key, probes);
}

/* The same by what blocked_prepare left. */
ALWAYS_INLINE bool ask(const struct bloom *bloom, const nidus_probe *probe, unsigned probes,
                       bool shared)
{
	if (UNLIKELY(probe->version != bloom->version))
		return look(bloom, probe->hash, probes, shared);
	struct blocked_key key = { .rest = probe->number[BLOCKED_PROBE_REST] };
	const unsigned char *line = bloom->table + probe->number[BLOCKED_PROBE_BYTE];
	return shared ? shared_holds(line, key, probes) : blocked_holds(line, key, probes);
}

/* Without counting. For a table that threads share, under the lock of the block. */
ALWAYS_INLINE void add(struct bloom *bloom, uint64_t hash, unsigned probes, bool shared)
{
	struct blocked_key key = blocked_locate(bloom, hash);
	unsigned char *line = bloom->table + key.block * BLOCKED_BYTES;
	if (!shared) {
		blocked_put(line, key, probes);
		return;
	}
	uint32_t *lock = bloom_lock_at(bloom, key.block * BLOCKED_BYTES);
	version_lock(lock);
	shared_put(line, key, probes);
	version_unlock(lock);
}

ALWAYS_INLINE nidus_status add_new(struct bloom *bloom, uint64_t hash, unsigned probes)
{
	struct blocked_key key = blocked_locate(bloom, hash);
	unsigned char *line = bloom->table + key.block * BLOCKED_BYTES;
	uint32_t *lock = bloom_lock_at(bloom, key.block * BLOCKED_BYTES);
	version_lock(lock);
	bool present = shared_holds(line, key, probes);
	if (!present)
		shared_put(line, key, probes);
	version_unlock(lock);
	if (present)
		return NIDUS_PRESENT;
	tally_add(&bloom->locks->added, 1);
	return NIDUS_OK;
}

ALWAYS_INLINE void look_batch(const struct bloom *bloom, const uint64_t *hashes, size_t n,
                              uint8_t *yes, unsigned probes, bool shared)
{
	size_t fetched = n < AHEAD ? n : AHEAD, i = 0;
	for (size_t ahead = 0; ahead < fetched; ahead++)
		PREFETCH(line_of(bloom, hashes[ahead]));
	for (; i + AHEAD < n; i++) {
		PREFETCH(line_of(bloom, hashes[i + AHEAD]));
		yes[i] = look(bloom, hashes[i], probes, shared);
	}
	for (; i < n; i++)
		yes[i] = look(bloom, hashes[i], probes, shared);
}

/* Fetches what an insert is going to write. */
ALWAYS_INLINE void fetch(const struct bloom *bloom, uint64_t hash, bool shared)
{
	unsigned char *line = line_of(bloom, hash);
	PREFETCH_WRITE(line);
	if (shared)
		PREFETCH_WRITE(bloom_lock_at(bloom, (uint64_t)(line - bloom->table)));
}

ALWAYS_INLINE void add_batch(struct bloom *bloom, const uint64_t *hashes, size_t n, unsigned probes,
                             bool shared)
{
	size_t fetched = n < AHEAD ? n : AHEAD, i = 0;
	for (size_t ahead = 0; ahead < fetched; ahead++)
		fetch(bloom, hashes[ahead], shared);
	for (; i + AHEAD < n; i++) {
		fetch(bloom, hashes[i + AHEAD], shared);
		add(bloom, hashes[i], probes, shared);
	}
	for (; i < n; i++)
		add(bloom, hashes[i], probes, shared);
	if (shared)
		tally_add(&bloom->locks->added, n);
	else
		bloom->count += n;
}

/* The operations that both kinds of tables have, for one number of bits per key. */
#define BLOCKED_DEFINE_AS(name, probes, shared)                                                 \
	static bool contains_##name(const void *body, uint64_t hash)                            \
	{                                                                                       \
		return look(body, hash, probes, shared);                                        \
	}                                                                                       \
	static bool ask_##name(const void *body, const nidus_probe *probe)                      \
	{                                                                                       \
		return ask(body, probe, probes, shared);                                        \
	}                                                                                       \
	static uint64_t count_##name(const void *body, uint64_t hash)                           \
	{                                                                                       \
		return look(body, hash, probes, shared);                                        \
	}                                                                                       \
	static nidus_status insert_##name(void *body, uint64_t hash)                            \
	{                                                                                       \
		struct bloom *bloom = body;                                                     \
		add(bloom, hash, probes, shared);                                               \
		if (shared)                                                                     \
			tally_add(&bloom->locks->added, 1);                                     \
		else                                                                            \
			bloom->count++;                                                         \
		return NIDUS_OK;                                                                \
	}                                                                                       \
	static void contains_batch_##name(const void *body, const uint64_t *hashes, size_t n,   \
	                                  uint8_t *yes)                                         \
	{                                                                                       \
		look_batch(body, hashes, n, yes, probes, shared);                               \
	}                                                                                       \
	static nidus_status insert_batch_##name(void *body, const uint64_t *hashes,             \
	                                        const uint64_t *values, size_t n, size_t *done) \
	{                                                                                       \
		(void)values; /* bits have none */                                              \
		add_batch(body, hashes, n, probes, shared);                                     \
		*done = n;                                                                      \
		return NIDUS_OK;                                                                \
	}

#define BLOCKED_MEMBERS(name)                                                        \
	.contains = contains_##name, .prepare = blocked_prepare, .ask = ask_##name,  \
	.count = count_##name, .insert = insert_##name,                              \
	.contains_batch = contains_batch_##name, .insert_batch = insert_batch_##name

#define BLOCKED_DEFINE(probes)                                                                     \
	BLOCKED_DEFINE_AS(probes, probes, false)                                                   \
	BLOCKED_DEFINE_AS(shared_##probes, probes, true)                                           \
	static nidus_status insert_new_##probes(void *body, uint64_t hash)                         \
	{                                                                                          \
		return add_new(body, hash, probes);                                                \
	}                                                                                          \
	static const struct blocked_ops ops_##probes = {                                           \
		.alone = { BLOCKED_MEMBERS(probes) },                                              \
		.shared = { BLOCKED_MEMBERS(shared_##probes), .insert_new = insert_new_##probes }, \
	};

BLOCKED_DEFINE(4)
BLOCKED_DEFINE(8)
BLOCKED_DEFINE(16)

const struct blocked_ops *BLOCKED_SELECT(unsigned probes)
{
	return probes == 4 ? &ops_4 : probes == 8 ? &ops_8 : probes == 16 ? &ops_16 : NULL;
}

/* SPDX-License-Identifier: MIT
 *
 * nest_shared: locks, the shared form of the stash, and the instances.
 */
#include "table/nest_shared.h"

#include "base/reason.h"
#include "table/search.h"

#define SHARED_BATCH 16 /* keys on their way at a time */

/* ---------------------------------------------------------------------- locks -- */

/* How a group is compared: as many slots in a word as a power of two allows. */
static void prepare_compare(struct nest_shared *shared, const struct nest *nest)
{
	shared->fields = fields_in_word(nest->slots, nest->width);
	shared->words = nest->slots / shared->fields;
	shared->word_bits = shared->fields * nest->width;
	shared->ones = fields_ones(nest->width, shared->fields);
	shared->highs = shared->ones << (nest->width - 1);
	shared->lows = shared->highs - shared->ones;
	for (unsigned at = 0; at < nest->slots; at++) {
		unsigned word = at / shared->fields, shift = at % shared->fields * nest->width;
		for (unsigned choice = 0; choice < 2; choice++)
			shared->pattern[choice][word] |=
				nest_encode(nest, nest->kind, 0, choice, at) << shift;
		if (at < nest->slots - nest->reserve)
			shared->open[word] |= bits_low(nest->width) << shift;
	}
}

static void choose_ops(struct nest_shared *shared, const struct nest *nest);

nidus_status nest_share(struct nest *nest)
{
	struct block memory;
	struct stripes stripes;
	nidus_status status = stripes_make(&stripes, nest->chunks, nest->stride, &nest->allocator);
	if (status != NIDUS_OK)
		return status;
	uint64_t versions = nest->chunks + (nest->chunks << stripes.chunk_log);
	uint64_t size = sizeof(struct nest_shared) + versions * sizeof(uint32_t);
	status = memory_take(&nest->allocator, size, &memory);
	if (status != NIDUS_OK) {
		stripes_unmake(&stripes, &nest->allocator);
		return status;
	}
	struct nest_shared *shared = (struct nest_shared *)(void *)memory.bytes;
	shared->stripes = stripes;
	shared->memory = memory;
	shared->stash_version = (uint32_t *)(void *)(shared + 1);
	shared->pair_version = shared->stash_version + nest->chunks;
	prepare_compare(shared, nest);
	choose_ops(shared, nest);
	/* Readers may be inside a stash at any time: it never moves. */
	for (uint64_t i = 0; i < nest->chunks; i++)
		nest->chunk[i].stash.first = nest->stash_limit;
	nest->shared = shared;
	return NIDUS_OK;
}

void nest_unshare(struct nest *nest)
{
	if (nest->shared == NULL)
		return;
	struct block memory = nest->shared->memory;
	stripes_unmake(&nest->shared->stripes, &nest->allocator);
	memory_give(&nest->allocator, &memory);
	nest->shared = NULL;
}

uint64_t nest_shared_used(const struct nest *nest, uint64_t chunk)
{
	return nest->shared == NULL ? 0 : stripes_count(&nest->shared->stripes, chunk);
}

void nest_shared_forget(struct nest *nest)
{
	if (nest->shared != NULL)
		stripes_forget(&nest->shared->stripes);
}

uint64_t nest_shared_bytes(const struct nest *nest)
{
	return nest->shared == NULL ? 0
	                            : nest->shared->memory.size + nest->shared->stripes.memory.size;
}

/* ---------------------------------------------------------------------- stash -- */

static inline bool anything_stashed(const struct nest *nest)
{
	return __atomic_load_n(&nest->stashed, __ATOMIC_ACQUIRE) != 0;
}

static struct stash_entry entry_load(const struct stash_entry *entry)
{
	return (struct stash_entry){
		.home = __atomic_load_n(&entry->home, __ATOMIC_ACQUIRE),
		.fingerprint = __atomic_load_n(&entry->fingerprint, __ATOMIC_ACQUIRE),
	};
}

static void entry_store(struct stash_entry *entry, struct stash_entry value)
{
	__atomic_store_n(&entry->home, value.home, __ATOMIC_RELEASE);
	__atomic_store_n(&entry->fingerprint, value.fingerprint, __ATOMIC_RELEASE);
}

static bool entries_equal(struct stash_entry a, struct stash_entry b)
{
	return a.home == b.home && a.fingerprint == b.fingerprint;
}

/* A stash as it is now: for whoever has its lock, or checks its version afterwards. */
static const struct stash_entry *entries_now(const struct stash *stash, uint32_t *count)
{
	*count = __atomic_load_n(&stash->count, __ATOMIC_ACQUIRE);
	return (const struct stash_entry *)(const void *)__atomic_load_n(&stash->memory.bytes,
	                                                                 __ATOMIC_ACQUIRE);
}

static uint32_t count_now(const struct stash *stash, struct stash_entry wanted)
{
	uint32_t count, copies = 0;
	const struct stash_entry *entries = entries_now(stash, &count);
	for (uint32_t i = 0; i < count; i++)
		copies += entries_equal(entry_load(&entries[i]), wanted);
	return copies;
}

static uint64_t shared_stash_count(const struct nest *nest, enum nest_kind kind,
                                   const struct nest_key *key)
{
	const struct stash *stash = &nest->chunk[key->chunk].stash;
	const uint32_t *version = &nest->shared->stash_version[key->chunk];
	struct stash_entry wanted = nest_identity(nest, kind, key);
	for (unsigned tries = 0;; tries++) {
		uint32_t before = __atomic_load_n(version, __ATOMIC_ACQUIRE);
		if (before % 2 == 0) {
			uint32_t copies = count_now(stash, wanted);
			if (__atomic_load_n(version, __ATOMIC_ACQUIRE) == before)
				return copies;
		}
		stripes_pause(tries);
	}
}

/* The next three for whoever has the stash's lock. */

static void remove_at(struct nest *nest, struct stash *stash, uint32_t index)
{
	uint32_t last = stash->count - 1;
	struct stash_entry *entries = stash_entries(stash);
	for (uint32_t i = index; i < last; i++)
		entry_store(&entries[i], entries[i + 1]);
	__atomic_store_n(&stash->count, last, __ATOMIC_RELEASE);
	(void)__atomic_fetch_sub(&nest->stashed, 1, __ATOMIC_ACQ_REL);
}

static nidus_status make_stash(struct stash *stash, const nidus_allocator *allocator)
{
	struct block memory;
	nidus_status status =
		memory_take(allocator, stash->first * sizeof(struct stash_entry), &memory);
	if (status != NIDUS_OK)
		return status;
	stash->memory.size = memory.size;
	stash->memory.whole = memory.whole;
	stash->memory.whole_size = memory.whole_size;
	__atomic_store_n(&stash->memory.bytes, memory.bytes, __ATOMIC_RELEASE);
	return NIDUS_OK;
}

static nidus_status insert_entry(struct nest *nest, struct stash *stash, struct stash_entry entry)
{
	if (stash->count >= nest->stash_limit)
		return fail(NIDUS_FULL, "no place for this key was found; the filter is full");
	if (stash->memory.bytes == NULL) {
		nidus_status status = make_stash(stash, &nest->allocator);
		if (status != NIDUS_OK)
			return status;
	}
	struct stash_entry *entries = stash_entries(stash);
	uint32_t at = stash->count;
	for (; at > 0 && stash_before(entry, entries[at - 1]); at--)
		entry_store(&entries[at], entries[at - 1]);
	entry_store(&entries[at], entry);
	__atomic_store_n(&stash->count, stash->count + 1, __ATOMIC_RELEASE);
	(void)__atomic_fetch_add(&nest->stashed, 1, __ATOMIC_ACQ_REL);
	return NIDUS_OK;
}

/* The key's stripes are locked, and its groups full. Errors: FULL, COPIES, E_NOMEM. */
static nidus_status shared_stash_insert(struct nest *nest, enum nest_kind kind,
                                        const struct nest_key *key)
{
	struct stash *stash = &nest->chunk[key->chunk].stash;
	struct stash_entry identity = nest_identity(nest, kind, key);
	nidus_status status;
	version_lock(&nest->shared->stash_version[key->chunk]);
	if (nest->stash_limit > 0 && count_now(stash, identity) >= STASH_COPIES)
		status = fail(NIDUS_COPIES, "no room for another copy of this key");
	else
		status = insert_entry(nest, stash, identity);
	version_unlock(&nest->shared->stash_version[key->chunk]);
	if (status == NIDUS_OK)
		counter_add(&nest->chunk[key->chunk].used, 1);
	return status;
}

/* Takes one copy of a key out whose stripes are locked. */
static bool shared_stash_remove(struct nest *nest, enum nest_kind kind, const struct nest_key *key)
{
	struct stash *stash = &nest->chunk[key->chunk].stash;
	struct stash_entry identity = nest_identity(nest, kind, key);
	bool found = false;
	version_lock(&nest->shared->stash_version[key->chunk]);
	for (uint32_t i = 0; i < stash->count && !found; i++) {
		found = entries_equal(stash_entries(stash)[i], identity);
		if (found) {
			version_lock(nest_pair_version(nest, key));
			remove_at(nest, stash, i);
			version_unlock(nest_pair_version(nest, key));
		}
	}
	version_unlock(&nest->shared->stash_version[key->chunk]);
	if (found)
		counter_add(&nest->chunk[key->chunk].used, UINT64_MAX); /* one less */
	return found;
}

/*
 * Takes an entry out that may lie in a slot, and sets what it would be there. Gives its
 * pair's version, locked until the entry is in its slot; NULL if there is none.
 */
static uint32_t *shared_stash_take_for(struct nest *nest, enum nest_kind kind, uint64_t chunk,
                                       uint64_t slot, uint64_t *value)
{
	struct stash *stash = &nest->chunk[chunk].stash;
	uint32_t *pair = NULL;
	version_lock(&nest->shared->stash_version[chunk]);
	for (uint32_t i = 0; i < stash->count && pair == NULL; i++) {
		struct stash_entry entry = stash_entries(stash)[i];
		struct nest_key key = nest_key_of_identity(nest, kind, chunk, entry);
		if (!nest_encode_at(nest, kind, &key, slot, value))
			continue;
		pair = nest_pair_version(nest, &key);
		version_lock(pair);
		remove_at(nest, stash, i);
	}
	version_unlock(&nest->shared->stash_version[chunk]);
	return pair;
}

/* --------------------------------------------------------------------- search -- */

#define SHARED_AHEAD 6 /* nodes between aiming and looking; see search.c */
#define SHARED_NO_SLOT UINT64_MAX

/* What came of a search and its moves. */
enum shared_room {
	SHARED_NO_ROOM, /* no chain within the limit */
	SHARED_ROOM,    /* perhaps: worth another look */
	SHARED_TAKEN,   /* and the key is in it */
};

/* ------------------------------------------------------------------ instances -- */

#define NEST_KIND NEST_XOR
#define NEST_KIND_CODED 0
#define NEST_L 2
#define NEST_ID(name) name##_xor_2
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#define NEST_L 4
#define NEST_ID(name) name##_xor_4
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#define NEST_L 8
#define NEST_ID(name) name##_xor_8
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#undef NEST_KIND

#define NEST_KIND NEST_DIRECT
#define NEST_L 2
#define NEST_ID(name) name##_direct_2
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#define NEST_L 4
#define NEST_ID(name) name##_direct_4
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#define NEST_L 8
#define NEST_ID(name) name##_direct_8
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#undef NEST_KIND

#define NEST_KIND NEST_BUCKETS
#define NEST_L 2
#define NEST_ID(name) name##_buckets_2
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#define NEST_L 4
#define NEST_ID(name) name##_buckets_4
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#undef NEST_KIND

#define NEST_KIND NEST_WINDOWS
#define NEST_L 2
#define NEST_ID(name) name##_windows_2
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#define NEST_L 4
#define NEST_ID(name) name##_windows_4
#include "table/nest_shared_ops.h"
#undef NEST_L
#undef NEST_ID
#undef NEST_KIND
#undef NEST_KIND_CODED

#define NEST_KIND NEST_CODED
#define NEST_KIND_CODED 1
#define NEST_L 4
#define NEST_ID(name) name##_coded_4
#include "table/nest_shared_ops.h"

/* What is done in other ways for each kind and group size. */
struct instance {
	const struct nest_shared_hot *(*hot)(unsigned width);
	const struct body_ops *others;
	bool (*look)(const struct nest *nest, uint64_t hash);
	nidus_status (*insert)(struct nest *nest, uint64_t hash, bool crowded);
};

#define INSTANCE(name)                                                      \
	{                                                                   \
		nest_shared_##name, &ops_##name, look_##name, insert_##name \
	}
static const struct instance instances[][3] = {
	[NEST_XOR] = { INSTANCE(xor_2), INSTANCE(xor_4), INSTANCE(xor_8) },
	[NEST_DIRECT] = { INSTANCE(direct_2), INSTANCE(direct_4), INSTANCE(direct_8) },
	[NEST_CODED] = { [1] = INSTANCE(coded_4) },
	[NEST_BUCKETS] = { INSTANCE(buckets_2), INSTANCE(buckets_4) },
	[NEST_WINDOWS] = { INSTANCE(windows_2), INSTANCE(windows_4) },
};

static void choose_ops(struct nest_shared *shared, const struct nest *nest)
{
	const struct instance *instance = &instances[nest->kind][log2_floor(nest->slots) - 1];
	enum nest_way usual = nest_way_of_large(nest->kind, nest->core_bits);
	const struct nest_shared_hot *hot = instance->hot(nest->way == usual ? nest->width : 0);
	shared->ops = *instance->others;
	shared->ops.contains = hot->contains;
	shared->ops.contains_batch = hot->contains_batch;
	shared->ops.insert = hot->insert;
	shared->ops.insert_batch = hot->insert_batch;
	shared->hot = hot;
	shared->look = instance->look;
	shared->insert = instance->insert;
}

const struct body_ops *nest_shared_ops(const struct nest *nest)
{
	return &nest->shared->ops;
}

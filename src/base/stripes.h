/* SPDX-License-Identifier: MIT
 *
 * stripes: locks with versions, each for the regions of a table that fall to it.
 *
 * A table consists of one or more chunks. Bytes of a chunk belong to regions of 512
 * bytes, regions to the chunk's stripes in turn. A stripe has a version: odd while a
 * writer has it, and larger by two after every change.
 *
 *   writer   lock all stripes of its bytes, in ascending order; change words;
 *            unlock
 *   reader   note the versions, all even; read the words; the versions are still
 *            the same: what was read was there at one moment. Otherwise again.
 *            A reader writes nothing.
 *
 * Why no fences: a reader's loads of table words acquire, so the second look at
 * the versions is not earlier than they are; a writer's stores of table words
 * release, so they are not seen before the version is odd.
 *
 * Beside the version is a number that the holder of the stripe may change: how many
 * entries came to its bytes. It costs writers no line of their own and no atomic
 * addition, as a counter for the whole chunk would.
 */
#ifndef NIDUS_BASE_STRIPES_H
#define NIDUS_BASE_STRIPES_H

#include "base/atomic.h"
#include "base/memory.h"

#include <assert.h>

#define STRIPES_REGION_LOG 9             /* eight lines: neighbours that a window may span */
#define STRIPES_MOST (UINT64_C(1) << 15) /* 256 KiB: they stay in the second-level cache */
#define STRIPES_HELD 4                   /* two groups that may lie across a border each */

struct stripe {
	uint32_t version;
	uint32_t count; /* modulo 2^32 */
};

struct stripes {
	struct stripe *stripe;
	uint32_t mask;      /* stripes of a chunk - 1 */
	unsigned chunk_log; /* log2 of the stripes of a chunk */
	struct block memory;
};

/* The stripes that a key's bytes fall to, in any order, some of them the same. */
struct stripe_watch {
	uint32_t stripe[STRIPES_HELD];
};

/* The versions they were seen with. */
struct stripe_versions {
	uint32_t version[STRIPES_HELD];
};

/* Stripes that a writer has: each once, in ascending order. */
struct stripe_set {
	unsigned count;
	uint32_t stripe[STRIPES_HELD];
};

/* Makes the stripes of a table of chunks of so many bytes. Errors: E_NOMEM. */
nidus_status stripes_make(struct stripes *stripes, uint64_t chunks, uint64_t chunk_bytes,
                          const nidus_allocator *allocator);
void stripes_unmake(struct stripes *stripes, const nidus_allocator *allocator);

/* The sum of the numbers of a chunk's stripes; exact while no thread is at work. */
uint64_t stripes_count(const struct stripes *stripes, uint64_t chunk);

/* Sets these numbers to 0. */
void stripes_forget(struct stripes *stripes);

/* The stripe of a byte of the only chunk, or counted from the chunk's first stripe. */
static inline uint32_t stripe_of(const struct stripes *stripes, uint64_t byte)
{
	return (uint32_t)(byte >> STRIPES_REGION_LOG) & stripes->mask;
}

ALWAYS_INLINE uint32_t stripe_in_chunk(const struct stripes *stripes, uint64_t chunk, uint64_t byte)
{
	return (uint32_t)(chunk << stripes->chunk_log) + stripe_of(stripes, byte);
}

/* Only with the stripe locked. */
ALWAYS_INLINE void stripe_count(struct stripe *stripe, uint32_t amount)
{
	uint32_t now = __atomic_load_n(&stripe->count, __ATOMIC_RELAXED);
	__atomic_store_n(&stripe->count, now + amount, __ATOMIC_RELAXED);
}

/* Adds a stripe that may be there already; the set stays in order. */
static inline void stripe_add(struct stripe_set *set, uint32_t stripe)
{
	unsigned at = set->count;
	assert(at < STRIPES_HELD);
	for (; at > 0 && set->stripe[at - 1] >= stripe; at--) {
		if (set->stripe[at - 1] == stripe)
			return;
	}
	for (unsigned i = set->count; i > at; i--)
		set->stripe[i] = set->stripe[i - 1];
	set->stripe[at] = stripe;
	set->count++;
}

ALWAYS_INLINE uint32_t stripe_version(const struct stripes *stripes, uint32_t stripe)
{
	return __atomic_load_n(&stripes->stripe[stripe].version, __ATOMIC_ACQUIRE);
}

/* A reader's first look: false while one of them is locked. */
ALWAYS_INLINE bool stripes_begin(const struct stripes *stripes, const struct stripe_watch *watch,
                                 struct stripe_versions *versions)
{
	uint32_t odd = 0;
	for (unsigned i = 0; i < STRIPES_HELD; i++) {
		versions->version[i] = stripe_version(stripes, watch->stripe[i]);
		odd |= versions->version[i];
	}
	return (odd & 1) == 0;
}

/* A reader's second look: whether nothing changed meanwhile. */
ALWAYS_INLINE bool stripes_same(const struct stripes *stripes, const struct stripe_watch *watch,
                                const struct stripe_versions *versions)
{
	uint32_t differ = 0;
	for (unsigned i = 0; i < STRIPES_HELD; i++)
		differ |= versions->version[i] ^ stripe_version(stripes, watch->stripe[i]);
	return differ == 0;
}

/* Waits a little: `tries` is how often it failed. */
void stripes_pause(unsigned tries);

/* version_lock for a word that another thread has locked. */
uint32_t version_wait(uint32_t *version);

/* One word as a lock of its own: odd while it is locked. Returns what it was before. */
ALWAYS_INLINE uint32_t version_lock(uint32_t *version)
{
	uint32_t now = __atomic_load_n(version, __ATOMIC_RELAXED) & ~UINT32_C(1);
	if (LIKELY(__atomic_compare_exchange_n(version, &now, now + 1, false, __ATOMIC_ACQUIRE,
	                                       __ATOMIC_RELAXED)))
		return now;
	return version_wait(version);
}

ALWAYS_INLINE void version_unlock(uint32_t *version)
{
	uint32_t now = __atomic_load_n(version, __ATOMIC_RELAXED);
	assert(now & 1); /* it is locked, by this thread */
	__atomic_store_n(version, now + 1, __ATOMIC_RELEASE);
}

/*
 * The same for callers that look before, and locks only if nothing changed since: the lock
 * says that what was read in between, by loads that acquire, is still there.
 */
ALWAYS_INLINE uint32_t version_seen(const uint32_t *version)
{
	/* While it is locked, version_lock_from will not find the even number. */
	return __atomic_load_n(version, __ATOMIC_ACQUIRE) & ~UINT32_C(1);
}

ALWAYS_INLINE bool version_lock_from(uint32_t *version, uint32_t seen)
{
	return __atomic_compare_exchange_n(version, &seen, seen + 1, false, __ATOMIC_ACQUIRE,
	                                   __ATOMIC_RELAXED);
}

/* Unlocks a word that was `before` when it was locked. */
ALWAYS_INLINE void version_unlock_from(uint32_t *version, uint32_t before)
{
	assert(__atomic_load_n(version, __ATOMIC_RELAXED) == before + 1);
	__atomic_store_n(version, before + 2, __ATOMIC_RELEASE);
}

/* For writers. In ascending order, so that no threads wait in a circle. */
static inline struct stripe_set stripes_lock(const struct stripes *stripes,
                                             const struct stripe_watch *watch)
{
	struct stripe_set set = { 1, { watch->stripe[0] } };
	for (unsigned i = 1; i < STRIPES_HELD; i++) {
		if (watch->stripe[i] != watch->stripe[i - 1])
			stripe_add(&set, watch->stripe[i]);
	}
	for (unsigned i = 0; i < set.count; i++)
		version_lock(&stripes->stripe[set.stripe[i]].version);
	return set;
}

static inline void stripes_unlock(const struct stripes *stripes, const struct stripe_set *set)
{
	for (unsigned i = set->count; i-- > 0;)
		version_unlock(&stripes->stripe[set->stripe[i]].version);
}

#endif

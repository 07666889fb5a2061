/* SPDX-License-Identifier: MIT
 *
 * walk: two buckets per key, and a random entry kicked out when both are full.
 *
 * Papers: B. Fan et al., "Cuckoo Filter: Practically Better Than Bloom" (2014);
 * F. Wang et al., "The Power of Better Choice" (2019); M. Wang and M. Zhou, "Vacuum
 * Filters" (2019); W. Hua et al., "CPCF" (2024), Algorithm 2 and section 3.2. As we
 * read the last one, which describes them all: the slots held back are taken when the
 * second bucket is full, and every kick is preceded by a look, from the back, at the
 * other bucket of each entry that could be kicked; a vacuum filter looks from the front.
 */
#include "walk.h"

#include <stdlib.h>

/* splitmix64 */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

bool walk_create(struct walk *walk)
{
	walk->table = calloc(walk->buckets * walk->slots, sizeof *walk->table);
	return walk->table != NULL;
}

void walk_free(struct walk *walk)
{
	free(walk->table);
}

static uint64_t draw(struct walk *walk, uint64_t below)
{
	walk->seed = mix(walk->seed);
	return walk->seed % below;
}

/* How far apart the buckets of a fingerprint may be: 32, 64, or any number for half of them. */
static uint64_t range_of(const struct walk *walk, uint16_t fingerprint)
{
	uint64_t range = walk->buckets;
	if (walk->kind == WALK_VACUUM)
		range = fingerprint % 4 < 2 ? UINT64_C(32) << fingerprint % 4 : range;
	return range < 32 || range > walk->buckets ? 32 : range;
}

static uint64_t other_bucket(const struct walk *walk, uint64_t bucket, uint16_t fingerprint)
{
	return bucket ^ (1 + mix(fingerprint) % (range_of(walk, fingerprint) - 1));
}

/* Puts the fingerprint into the first empty slot of these; false if none is. */
static bool put(struct walk *walk, uint64_t bucket, unsigned from, unsigned to,
                uint16_t fingerprint)
{
	for (unsigned at = from; at < to; at++) {
		uint16_t *slot = &walk->table[bucket * walk->slots + at];
		walk->checks++;
		if (*slot == 0) {
			*slot = fingerprint;
			return true;
		}
	}
	return false;
}

/* The same for all slots of a bucket, from the end where empty slots are expected. */
static bool put_in_turn(struct walk *walk, uint64_t bucket, uint16_t fingerprint)
{
	if (walk->kind != WALK_CPCF)
		return put(walk, bucket, 0, walk->slots, fingerprint);
	for (unsigned at = walk->slots; at-- > 0;) {
		if (put(walk, bucket, at, at + 1, fingerprint))
			return true;
	}
	return false;
}

/* Moves an entry of this bucket that has room elsewhere, and takes its slot. */
static bool step_ahead(struct walk *walk, uint64_t bucket, uint16_t fingerprint)
{
	for (unsigned i = 0; i < walk->slots; i++) {
		unsigned at = walk->kind == WALK_CPCF ? walk->slots - 1 - i : i;
		uint16_t *slot = &walk->table[bucket * walk->slots + at];
		if (put_in_turn(walk, other_bucket(walk, bucket, *slot), *slot)) {
			*slot = fingerprint;
			walk->kicks++;
			return true;
		}
	}
	return false;
}

static bool looks_ahead(const struct walk *walk)
{
	return walk->kind == WALK_VACUUM || walk->kind == WALK_CPCF;
}

/* Kicks entries out until one finds an empty slot. */
static bool kick_on(struct walk *walk, uint64_t bucket, uint16_t fingerprint)
{
	for (unsigned kick = 0; kick < walk->max_kicks; kick++) {
		if (looks_ahead(walk) && step_ahead(walk, bucket, fingerprint))
			return true;
		uint16_t *slot = &walk->table[bucket * walk->slots + draw(walk, walk->slots)];
		uint16_t kicked = *slot;
		*slot = fingerprint;
		fingerprint = kicked;
		walk->kicks++;
		bucket = other_bucket(walk, bucket, fingerprint);
		/* The step ahead has seen that this bucket is full. */
		if (!looks_ahead(walk) && put(walk, bucket, 0, walk->slots, fingerprint))
			return true;
	}
	return false;
}

static bool relocate(struct walk *walk, uint64_t first, uint64_t second, uint16_t fingerprint)
{
	uint64_t before = walk->kicks;
	walk->relocations++;
	bool ahead = looks_ahead(walk);
	bool found = ahead && step_ahead(walk, first, fingerprint);
	if (!found)
		found = kick_on(walk, ahead || draw(walk, 2) == 1 ? second : first, fingerprint);
	if (found && walk->kicks - before > walk->longest)
		walk->longest = walk->kicks - before;
	return found;
}

/* Entries of a bucket, which it takes a look at every slot to know. */
static unsigned count(struct walk *walk, uint64_t bucket)
{
	unsigned entries = 0;
	for (unsigned at = 0; at < walk->slots; at++)
		entries += walk->table[bucket * walk->slots + at] != 0;
	walk->checks += walk->slots;
	return entries;
}

static bool put_in_emptier(struct walk *walk, uint64_t first, uint64_t second, uint16_t fingerprint)
{
	unsigned in_first = count(walk, first), in_second = count(walk, second);
	unsigned least = in_first <= in_second ? in_first : in_second;
	return least < walk->slots &&
	       put(walk, in_first <= in_second ? first : second, 0, walk->slots, fingerprint);
}

static bool put_in_either(struct walk *walk, uint64_t first, uint64_t second, uint16_t fingerprint)
{
	unsigned open = walk->slots - walk->reserve;
	if (walk->kind == WALK_BETTER)
		return put_in_emptier(walk, first, second, fingerprint);
	return put(walk, first, 0, open, fingerprint) ||
	       put(walk, second, 0, walk->slots, fingerprint) ||
	       put(walk, first, open, walk->slots, fingerprint);
}

struct place {
	uint64_t first, second;
	uint16_t fingerprint;
};

static struct place place_of(const struct walk *walk, uint64_t key)
{
	uint64_t hash = mix(key), all = (UINT64_C(1) << walk->fingerprint_bits) - 1;
	struct place place = { .first = hash % walk->buckets };
	place.fingerprint = (uint16_t)(1 + (hash >> 32) % all);
	place.second = other_bucket(walk, place.first, place.fingerprint);
	return place;
}

bool walk_insert(struct walk *walk, uint64_t key)
{
	struct place place = place_of(walk, key);
	return put_in_either(walk, place.first, place.second, place.fingerprint) ||
	       relocate(walk, place.first, place.second, place.fingerprint);
}

/* The slot of the bucket that has the fingerprint, or NULL. */
static uint16_t *find(const struct walk *walk, uint64_t bucket, uint16_t fingerprint)
{
	for (unsigned at = 0; at < walk->slots; at++) {
		if (walk->table[bucket * walk->slots + at] == fingerprint)
			return &walk->table[bucket * walk->slots + at];
	}
	return NULL;
}

static uint16_t *find_key(const struct walk *walk, uint64_t key)
{
	struct place place = place_of(walk, key);
	uint16_t *slot = find(walk, place.first, place.fingerprint);
	return slot != NULL ? slot : find(walk, place.second, place.fingerprint);
}

bool walk_contains(const struct walk *walk, uint64_t key)
{
	return find_key(walk, key) != NULL;
}

bool walk_remove(struct walk *walk, uint64_t key)
{
	uint16_t *slot = find_key(walk, key);
	if (slot == NULL)
		return false;
	*slot = 0;
	return true;
}

/* SPDX-License-Identifier: MIT
 *
 * walk: two buckets per key, and a random entry kicked out when both are full.
 *
 * Papers: B. Fan et al., "Cuckoo Filter: Practically Better Than Bloom" (2014);
 * W. Hua et al., "CPCF" (2024), Algorithm 2 and section 3.2, as we read them:
 * the slots held back are taken when the second bucket is full, and every kick
 * is preceded by a look, from the back, at the other bucket of each entry that
 * could be kicked.
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

static uint64_t other_bucket(const struct walk *walk, uint64_t bucket, uint16_t fingerprint)
{
	return bucket ^ (1 + mix(fingerprint) % (walk->buckets - 1));
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

/* The same for all slots of a bucket, from the back. */
static bool put_from_back(struct walk *walk, uint64_t bucket, uint16_t fingerprint)
{
	for (unsigned at = walk->slots; at-- > 0;) {
		if (put(walk, bucket, at, at + 1, fingerprint))
			return true;
	}
	return false;
}

/* Moves an entry of this bucket that has room elsewhere, and takes its slot. */
static bool step_ahead(struct walk *walk, uint64_t bucket, uint16_t fingerprint)
{
	for (unsigned at = walk->slots; at-- > 0;) {
		uint16_t *slot = &walk->table[bucket * walk->slots + at];
		if (put_from_back(walk, other_bucket(walk, bucket, *slot), *slot)) {
			*slot = fingerprint;
			walk->kicks++;
			return true;
		}
	}
	return false;
}

static bool relocate(struct walk *walk, uint64_t first, uint64_t second, uint16_t fingerprint)
{
	walk->relocations++;
	if (walk->ahead && step_ahead(walk, first, fingerprint))
		return true;
	uint64_t bucket = walk->ahead || draw(walk, 2) == 1 ? second : first;
	for (unsigned kick = 0; kick < walk->max_kicks; kick++) {
		if (walk->ahead && step_ahead(walk, bucket, fingerprint))
			return true;
		uint16_t *slot = &walk->table[bucket * walk->slots + draw(walk, walk->slots)];
		uint16_t kicked = *slot;
		*slot = fingerprint;
		fingerprint = kicked;
		walk->kicks++;
		bucket = other_bucket(walk, bucket, fingerprint);
		/* The step ahead has seen that this bucket is full. */
		if (!walk->ahead && put(walk, bucket, 0, walk->slots, fingerprint))
			return true;
	}
	return false;
}

bool walk_insert(struct walk *walk, uint64_t key)
{
	uint64_t hash = mix(key);
	uint64_t first = hash % walk->buckets, all = (UINT64_C(1) << walk->fingerprint_bits) - 1;
	uint16_t fingerprint = (uint16_t)(1 + (hash >> 32) % all);
	uint64_t second = other_bucket(walk, first, fingerprint);
	unsigned open = walk->slots - walk->reserve;
	return put(walk, first, 0, open, fingerprint) ||
	       put(walk, second, 0, walk->slots, fingerprint) ||
	       put(walk, first, open, walk->slots, fingerprint) ||
	       relocate(walk, first, second, fingerprint);
}

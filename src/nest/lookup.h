/* SPDX-License-Identifier: MIT
 *
 * nest_lookup: contains, and find in batches, for every shape (shape.h).
 *
 * Here is the usual case: the stash is empty and, if threads share the nest, none
 * changes the key's groups meanwhile. Anything else is asked again by nest_look_again.
 */
#ifndef NIDUS_NEST_LOOKUP_H
#define NIDUS_NEST_LOOKUP_H

#include "nest/shape.h"

/* To be read before the slots: no entry ever goes from a slot to the stash. */
ALWAYS_INLINE bool nest_anything_stashed(const struct nest *nest, struct nest_shape shape)
{
	return shape.shared ? __atomic_load_n(&nest->stashed, __ATOMIC_ACQUIRE) != 0
	                    : nest->stashed != 0;
}

/* Versions that a lookup watches: of its pair, or of both groups' stripes. */
ALWAYS_INLINE unsigned nest_versions(struct nest_shape shape)
{
	return !shape.shared ? 0 : nest_coded(shape.kind) ? 2 : 1;
}

/* nest_find, and the versions to watch. */
ALWAYS_INLINE void nest_find_to_look(const struct nest *nest, struct nest_shape shape,
                                     uint64_t hash, struct nest_spot *spot)
{
	struct nest_key key = nest_find(nest, shape, hash, spot);
	if (!shape.shared)
		return;
	const struct stripes *stripes = &nest->shared->stripes;
	if (!nest_coded(shape.kind)) {
		spot->version[0] = nest->shared->pair_version + nest_pair(stripes, &key);
		return;
	}
	uint64_t crosses = 0;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t bit = key.group[i] * nest->layout->group_bits;
		uint32_t stripe = stripe_in_chunk(stripes, key.chunk, bit >> 3);
		spot->version[i] = &stripes->stripe[stripe].version;
		crosses |= bit ^ (bit + nest->layout->group_bits - 1);
	}
	spot->unusual = crosses >> (STRIPES_REGION_LOG + 3) != 0;
}

/* Whether a slot holds the key. False as an answer: it has to be looked at again. */
ALWAYS_INLINE bool nest_look(const struct nest *nest, struct nest_shape shape,
                             const struct nest_spot *spot, bool *hit)
{
	if (!shape.shared) {
		*hit = nest_match(nest, shape, nest->bits, spot);
		return true;
	}
	*hit = false;
	if (nest_too_wide(shape))
		return false;
	uint32_t before[2], differ = 0;
	for (unsigned i = 0; i < nest_versions(shape); i++)
		before[i] = version_seen(spot->version[i]);
	*hit = nest_match(nest, shape, nest->bits, spot);
	for (unsigned i = 0; i < nest_versions(shape); i++)
		differ |= before[i] ^ __atomic_load_n(spot->version[i], __ATOMIC_ACQUIRE);
	return LIKELY(differ == 0) && !(nest_coded(shape.kind) && UNLIKELY(spot->unusual));
}

/* nest_find and nest_look of a nest that threads do not share, with fewer instructions. */
ALWAYS_INLINE bool nest_find_and_look(const struct nest *nest, struct nest_shape shape,
                                      uint64_t hash)
{
	const unsigned char *bits = nest->bits;
	struct nest_key key;
	struct nest_spot spot;
	uint64_t tag, chunk = nest_take_chunk(nest, shape.path, &hash, &tag);
	if (shape.path != NEST_SHORT_PATH && !nest_is_part(nest, shape.path))
		bits += chunk * nest->layout->stride;
	nest_locate_in(nest, shape.kind, shape.path, hash, &key);
	spot.value = key.value | tag;
	spot.bit[0] = key.group[0] * nest->layout->group_bits;
	spot.bit[1] = key.group[1] * nest->layout->group_bits;
	return nest_match(nest, shape, bits, &spot);
}

/* How many slots hold the key; writes the payloads of the first `cap`. */
ALWAYS_INLINE size_t nest_gather(const struct nest *nest, struct nest_shape shape,
                                 const struct nest_spot *spot, uint64_t *values, size_t cap)
{
	size_t found = 0;
	for (unsigned choice = 0; choice < 2; choice++) {
		for (unsigned word = 0; word < nest_words(nest, shape); word++) {
			uint64_t fields =
				nest_differences(nest, shape, nest->bits, spot, choice, word);
			uint64_t hits =
				fields_zero_in(fields, nest->layout->lows, nest->layout->highs);
			/* A payload begins behind the highest compared bit; the key has none. */
			for (; hits != 0; hits &= hits - 1, found++) {
				if (found < cap)
					values[found] = fields >> __builtin_ctzll(hits) >> 1 &
					                bits_low(nest->layout->payload_bits);
			}
		}
	}
	return found;
}

/* What is rare is called last, so that the rest needs no stack. */
ALWAYS_INLINE bool nest_contains(const struct nest *nest, struct nest_shape shape, uint64_t hash)
{
	bool stashed = nest_anything_stashed(nest, shape), hit, sure = true;
	struct nest_spot spot;
	if (shape.shared) {
		nest_find_to_look(nest, shape, hash, &spot);
		sure = nest_look(nest, shape, &spot, &hit);
	} else {
		hit = nest_find_and_look(nest, shape, hash);
	}
	if (LIKELY(sure && !stashed))
		return hit;
	uint64_t found = sure && hit;
	OPAQUE64(found); /* or the usual case would need a register more */
	return found || nest_look_again(nest, hash);
}

/* The first step of a lookup in two, which is compiled for few shapes. */
ALWAYS_INLINE void nest_prepare_probe(const struct nest *nest, struct nest_shape shape, uint64_t hash,
                                nidus_probe *probe)
{
	if (shape.shared)
		nest_prepare_shared(nest, hash, probe);
	else if (shape.path != NEST_WHOLE_PATH && shape.path != NEST_SHORT_PATH)
		nest_prepare_any(nest, hash, probe);
	else if (nest_symmetric(shape.kind))
		nest_prepare_xor(nest, hash, probe);
	else
		nest_prepare_offset(nest, hash, probe);
}

/* Sets a spot to what that left. */
ALWAYS_INLINE void nest_take_probe(const struct nest *nest, struct nest_shape shape,
                                   const nidus_probe *probe, struct nest_spot *spot)
{
	uint64_t watched = probe->number[NEST_PROBE_WATCHED];
	spot->bit[0] = probe->number[NEST_PROBE_FIRST];
	spot->bit[1] = probe->number[NEST_PROBE_SECOND];
	spot->value = probe->number[NEST_PROBE_VALUE];
	spot->unusual = false;
	for (unsigned i = 0; i < nest_versions(shape); i++)
		spot->version[i] =
			nest_coded(shape.kind)
				? &nest->shared->stripes.stripe[(uint32_t)(watched >> 32 * i)].version
				: &nest->shared->pair_version[watched];
}

/* nest_contains by a probe. */
ALWAYS_INLINE bool nest_ask(const struct nest *nest, struct nest_shape shape,
                            const nidus_probe *probe)
{
	bool stashed = nest_anything_stashed(nest, shape), hit;
	struct nest_spot spot;
	if (UNLIKELY(probe->version != nest->version))
		return nest_ask_by_hash(nest, probe->hash);
	nest_take_probe(nest, shape, probe, &spot);
	bool sure = nest_look(nest, shape, &spot, &hit);
	if (LIKELY(sure && !stashed))
		return hit;
	return (sure && hit) || nest_look_again(nest, probe->hash);
}

/*
 * NEST_AHEAD keys are on their way from memory: a key's spot is taken by another
 * one's as soon as it is matched, so that memory is asked at an even pace. In
 * runs (ask for many, then match them) it is as slow as if it had fewer lines.
 */
ALWAYS_INLINE void nest_approach(const struct nest *nest, struct nest_shape shape, uint64_t hash,
                                 struct nest_spot *spot)
{
	nest_find_to_look(nest, shape, hash, spot);
	nest_fetch(nest, shape, spot->bit[0]);
	nest_fetch(nest, shape, spot->bit[1]);
	for (unsigned i = 0; i < nest_versions(shape); i++)
		PREFETCH(spot->version[i]);
}

#define NEST_UNSURE 2 /* an answer that is none yet */

ALWAYS_INLINE uint8_t nest_answer(const struct nest *nest, struct nest_shape shape,
                                  const struct nest_spot *spot, bool *all_sure)
{
	bool hit;
	if (LIKELY(nest_look(nest, shape, spot, &hit)))
		return hit;
	*all_sure = false;
	return NEST_UNSURE;
}

/* Gives the answers; false if some are none yet. */
ALWAYS_INLINE bool nest_answers(const struct nest *nest, struct nest_shape shape,
                                const uint64_t *hashes, size_t n, uint8_t *yes)
{
	struct nest_spot ring[NEST_AHEAD];
	size_t ahead = n < NEST_AHEAD ? n : NEST_AHEAD, i;
	bool all_sure = true;
	for (i = 0; i < ahead; i++)
		nest_approach(nest, shape, hashes[i], &ring[i]);
	for (i = 0; i < n - ahead; i++) {
		struct nest_spot *spot = &ring[i % NEST_AHEAD];
		yes[i] = nest_answer(nest, shape, spot, &all_sure);
		nest_approach(nest, shape, hashes[i + NEST_AHEAD], spot);
	}
	for (; i < n; i++)
		yes[i] = nest_answer(nest, shape, &ring[i % NEST_AHEAD], &all_sure);
	return all_sure;
}

ALWAYS_INLINE void nest_contains_batch(const struct nest *nest, struct nest_shape shape,
                                       const uint64_t *hashes, size_t n, uint8_t *yes)
{
	/* A key that comes to the stash later comes while this call is under way. */
	bool stashed = nest_anything_stashed(nest, shape);
	bool all_sure = nest_answers(nest, shape, hashes, n, yes);
	if (LIKELY(all_sure && !stashed))
		return;
	for (size_t i = 0; i < n; i++) {
		if (yes[i] == NEST_UNSURE || (stashed && !yes[i]))
			yes[i] = nest_look_again(nest, hashes[i]);
	}
}

/* The same for keys of different bodies of a growing filter. */
ALWAYS_INLINE void nest_contains_each(const void *const *nests, struct nest_shape shape,
                                      const uint64_t *hashes, size_t n, uint8_t *yes)
{
	struct nest_spot ring[NEST_AHEAD];
	size_t ahead = n < NEST_AHEAD ? n : NEST_AHEAD;
	for (size_t i = 0; i < ahead; i++)
		nest_approach(nests[i], shape, hashes[i], &ring[i]);
	for (size_t i = 0; i < n; i++) {
		const struct nest *nest = nests[i];
		struct nest_spot *spot = &ring[i % NEST_AHEAD];
		bool stashed = nest_anything_stashed(nest, shape), hit;
		bool sure = nest_look(nest, shape, spot, &hit);
		if (UNLIKELY(!sure) || UNLIKELY(stashed && !hit))
			hit = nest_look_again(nest, hashes[i]);
		yes[i] = hit;
		if (LIKELY(n - i > NEST_AHEAD))
			nest_approach(nests[i + NEST_AHEAD], shape, hashes[i + NEST_AHEAD], spot);
	}
}

/* Of some words: the sum of their nest_zeros, and the payloads of the slots reported. */
struct nest_finding {
	uint64_t hits, payloads;
};

/*
 * Looks at one more word, without a branch: in which one a key lies is unpredictable. A payload
 * begins behind the highest compared bit.
 */
ALWAYS_INLINE void nest_find_in(const struct nest *nest, struct nest_finding *finding,
                                uint64_t fields, uint64_t ones, uint64_t highs)
{
	uint64_t hits = nest_zeros(fields, ones, highs);
	finding->hits += hits;
	finding->payloads |= fields & hits * nest->layout->payload_behind;
}

ALWAYS_INLINE void nest_find_in_word(const struct nest *nest, struct nest_shape shape,
                                     const struct nest_spot *spot, unsigned choice, unsigned word,
                                     struct nest_finding *finding)
{
	nest_find_in(nest, finding, nest_differences(nest, shape, nest->bits, spot, choice, word),
	             nest->layout->ones, nest->layout->highs);
}

ALWAYS_INLINE void nest_find_in_group(const struct nest *nest, struct nest_shape shape,
                                      const struct nest_spot *spot, unsigned choice,
                                      struct nest_finding *finding)
{
	nest_find_in_word(nest, shape, spot, choice, 0, finding);
	if (shape.words == NEST_TWO)
		nest_find_in_word(nest, shape, spot, choice, 1, finding);
	for (unsigned word = 1; shape.words == NEST_MANY && word < nest->layout->words; word++)
		nest_find_in_word(nest, shape, spot, choice, word, finding);
}

/*
 * nest_gather with one value, of a key that has at most one slot. False: it may have several.
 * Then the sum has several bits or, from the same place of several words, one that is no high.
 */
ALWAYS_INLINE bool nest_gather_first(const struct nest *nest, struct nest_shape shape,
                                     const struct nest_spot *spot, uint64_t *first, uint32_t *found)
{
	struct nest_finding finding = { 0, 0 };
	nest_find_in_group(nest, shape, spot, 0, &finding);
	nest_find_in_group(nest, shape, spot, 1, &finding);
	uint64_t hits = finding.hits, highs = nest->layout->highs;
	*first = finding.payloads >> __builtin_ctzll(hits | UINT64_C(1) << 63) >> 1;
	*found = hits != 0;
	return LIKELY(((hits & ~highs) | (hits & (hits - 1))) == 0);
}

/* The same between two looks at the versions; false: it has to be looked at again. */
ALWAYS_INLINE bool nest_gather_one(const struct nest *nest, struct nest_shape shape,
                                   const struct nest_spot *spot, uint64_t *first, uint32_t *found)
{
	uint32_t before[2], differ = 0;
	if (nest_too_wide(shape))
		return false;
	for (unsigned i = 0; i < nest_versions(shape); i++)
		before[i] = version_seen(spot->version[i]);
	bool sure = nest_gather_first(nest, shape, spot, first, found);
	for (unsigned i = 0; i < nest_versions(shape); i++)
		differ |= before[i] ^ __atomic_load_n(spot->version[i], __ATOMIC_ACQUIRE);
	return sure && LIKELY(differ == 0) &&
	       !(shape.shared && nest_coded(shape.kind) && UNLIKELY(spot->unusual));
}

/* Whether the stash of a hash's chunk holds anything, if any does. */
ALWAYS_INLINE bool nest_stash_matters(const struct nest *nest, struct nest_shape shape,
                                      uint64_t hash)
{
	return shape.shared ||
	       nest->chunk[multiply_high(hash, nest->layout->chunks)].stash.nodes != 0;
}

ALWAYS_INLINE void nest_find_batch(const struct nest *nest, struct nest_shape shape,
                                   const uint64_t *hashes, size_t n, uint64_t *first,
                                   uint32_t *found)
{
	struct nest_spot ring[NEST_AHEAD];
	bool stashed = nest_anything_stashed(nest, shape);
	for (size_t i = 0; i < n && i < NEST_AHEAD; i++)
		nest_approach(nest, shape, hashes[i], &ring[i]);
	for (size_t i = 0; i < n; i++) {
		struct nest_spot *spot = &ring[i % NEST_AHEAD];
		bool sure = nest_gather_one(nest, shape, spot, &first[i], &found[i]);
		if (UNLIKELY(!sure) ||
		    (UNLIKELY(stashed) && nest_stash_matters(nest, shape, hashes[i])))
			nest_find_again(nest, hashes[i], &first[i], &found[i]);
		if (LIKELY(n - i > NEST_AHEAD))
			nest_approach(nest, shape, hashes[i + NEST_AHEAD], spot);
	}
}

/* The same for keys of different bodies of a growing filter. */
ALWAYS_INLINE void nest_find_each(const void *const *nests, struct nest_shape shape,
                                  const uint64_t *hashes, size_t n, uint64_t *first,
                                  uint32_t *found)
{
	struct nest_spot ring[NEST_AHEAD];
	for (size_t i = 0; i < n && i < NEST_AHEAD; i++)
		nest_approach(nests[i], shape, hashes[i], &ring[i]);
	for (size_t i = 0; i < n; i++) {
		const struct nest *nest = nests[i];
		struct nest_spot *spot = &ring[i % NEST_AHEAD];
		bool stashed = nest_anything_stashed(nest, shape);
		bool sure = nest_gather_one(nest, shape, spot, &first[i], &found[i]);
		if (UNLIKELY(!sure) || UNLIKELY(stashed))
			nest_find_again(nest, hashes[i], &first[i], &found[i]);
		if (LIKELY(n - i > NEST_AHEAD))
			nest_approach(nests[i + NEST_AHEAD], shape, hashes[i + NEST_AHEAD], spot);
	}
}

#endif

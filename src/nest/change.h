/* SPDX-License-Identifier: MIT
 *
 * nest_change: insert and remove, for every shape (shape.h).
 *
 * Here is the usual case: a slot is free or holds the key, the stash does not matter
 * and, if threads share the nest, what is written lies in one region. The lock of this
 * region is all that is needed then: whatever happens to the other group cannot make
 * the change wrong. Anything else is for nest_insert_crowded, nest_remove_slow and
 * shared.h.
 */
#ifndef NIDUS_NEST_CHANGE_H
#define NIDUS_NEST_CHANGE_H

#include "nest/lookup.h"
#include "nest/search.h"
#include "simd/two_words.h"

#include <assert.h>

/* ---------------------------------------------------------------------- slots -- */

/* Bits that are written when a slot changes. */
struct nest_bits {
	uint64_t bit;
	unsigned count;
};

/* A slot, and what it is to hold. */
struct nest_site {
	uint64_t bit;  /* where it begins; if it is of a coded bucket, where that begins */
	unsigned slot; /* of a coded bucket: which one */
	uint64_t value;
};

/* The site at a place of a group; its value is not set. */
ALWAYS_INLINE struct nest_site nest_site_at(const struct nest *nest, struct nest_shape shape,
                                            uint64_t group_bit, unsigned place)
{
	if (nest_coded_in_word(shape))
		return (struct nest_site){ group_bit, place / nest->layout->coding.rest_bits, 0 };
	if (nest_coded(shape.kind))
		return (struct nest_site){ group_bit, nest_slot_at(nest, place), 0 };
	return (struct nest_site){ .bit = group_bit + (place - nest->layout->high) };
}

/* The bits that are written when a site changes. */
ALWAYS_INLINE struct nest_bits nest_bits_of(const struct nest *nest, struct nest_shape shape,
                                            const struct nest_site *site)
{
	if (nest_coded(shape.kind))
		return (struct nest_bits){ site->bit, (unsigned)nest->layout->group_bits };
	return (struct nest_bits){ site->bit, nest->layout->width };
}

/* The stripe of bits that all lie in one region; NULL if they do not. */
ALWAYS_INLINE struct stripe *nest_stripe(const struct nest *nest, uint64_t chunk,
                                         struct nest_bits bits)
{
	const struct stripes *stripes = &nest->shared->stripes;
	uint64_t first = bits.bit - chunk * nest->layout->stride_bits,
		 last = first + bits.count - 1;
	if (UNLIKELY((first ^ last) >> (STRIPES_REGION_LOG + 3) != 0))
		return NULL;
	return &stripes->stripe[stripe_in_chunk(stripes, chunk, first >> 3)];
}

/* Writes a coded bucket that is worked on in a word. */
ALWAYS_INLINE void nest_store_coded(struct nest *nest, struct nest_shape shape, uint64_t bit,
                                    struct coded_parts parts)
{
	uint64_t bits = coded_bits_of(parts);
	if (shape.shared) {
		word_set_bits(nest->bits, bit, (unsigned)nest->layout->group_bits, bits);
		return;
	}
	coded_store(&nest->layout->coding, nest->bits, bit, bits);
}

ALWAYS_INLINE struct coded_parts nest_load_coded(const struct nest *nest, struct nest_shape shape,
                                                 uint64_t bit)
{
	return coded_parts_in(&nest->layout->coding, nest_load(nest, shape, nest->bits, bit));
}

/* --------------------------------------------------------------- side by side -- */

/*
 * Whether both groups of a key are changed side by side: each is in one word. Both are written, one
 * of them with what it held: where to write is known before memory has answered, and nothing
 * that comes next has to wait for it. A store to the right one of the two takes half as long again.
 */
ALWAYS_INLINE bool nest_side_by_side(struct nest_shape shape)
{
	return shape.words <= NEST_ONE && !nest_coded(shape.kind) && !shape.shared;
}

/* Both groups of a key, each in a word that is loaded from the byte it begins in. */
struct nest_both {
	unsigned char *group[2];
	unsigned bit[2]; /* of that byte */
};

ALWAYS_INLINE struct nest_both nest_both(const struct nest *nest, struct nest_shape shape,
                                         const struct nest_spot *spot)
{
	const unsigned any = shape.words == NEST_BYTES ? 0 : 7;
	return (struct nest_both){
		{ nest->bits + (spot->bit[0] >> 3), nest->bits + (spot->bit[1] >> 3) },
		{ spot->bit[0] & any, spot->bit[1] & any },
	};
}

/* What all slots of both groups, which begin at these bits, would hold if they held the key. */
ALWAYS_INLINE two_words nest_wanted(const struct nest *nest, struct nest_shape shape,
                                    const struct nest_spot *spot, const unsigned bit[2])
{
	uint64_t wanted[2];
	for (unsigned i = 0; i < 2; i++) {
		wanted[i] = spot->value * nest->layout->ones_at[bit[i]];
		if (!nest_symmetric(shape.kind))
			wanted[i] ^= nest->layout->pattern_at[i][bit[i]];
	}
	return two_of(wanted[0], wanted[1]);
}

/* --------------------------------------------------------------------- insert -- */

/* A word of one of a key's groups: nest_zeros of it, where it begins, and its pattern. */
struct nest_found {
	uint64_t zeros, bit, pattern;
	unsigned choice;
};

/* What is looked for in a word: the key's own slots, or empty ones. */
enum nest_target { NEST_COPIES, NEST_GAPS };

ALWAYS_INLINE struct nest_found nest_found(const struct nest *nest, struct nest_shape shape,
                                           const struct nest_spot *spot, enum nest_target target,
                                           unsigned choice, unsigned word)
{
	bool open = nest_symmetric(shape.kind) && choice == 0;
	return (struct nest_found){
		.zeros = target == NEST_COPIES
		                 ? nest_copies_in(nest, shape, spot, choice, word)
		                 : nest_empty_in(nest, shape, spot->bit[choice], open, word),
		.bit = spot->bit[choice] + (uint64_t)word * nest->layout->word_bits,
		.pattern = nest->layout->pattern[choice][word],
	};
}

/* Goes on to words of a group unless one has something already. */
ALWAYS_INLINE void nest_go_on(const struct nest *nest, struct nest_shape shape,
                              const struct nest_spot *spot, enum nest_target target,
                              unsigned choice, unsigned word, struct nest_found *found)
{
	for (; word < nest_words(nest, shape); word++) {
		struct nest_found next = nest_found(nest, shape, spot, target, choice, word);
		replace_zero(&found->zeros, next.zeros, &found->bit, next.bit);
	}
}

/* The first word of both groups that has something, and in which one; no pattern. */
ALWAYS_INLINE struct nest_found nest_first(const struct nest *nest, struct nest_shape shape,
                                           const struct nest_spot *spot, enum nest_target target)
{
	struct nest_found found = nest_found(nest, shape, spot, target, 0, 0);
	nest_go_on(nest, shape, spot, target, 0, 1, &found);
	found.choice = found.zeros == 0;
	nest_go_on(nest, shape, spot, target, 1, 0, &found);
	return found;
}

/* Of a word of both groups, the one that has the earlier gap; if they are level, the first. */
ALWAYS_INLINE struct nest_found nest_earlier(const struct nest *nest, struct nest_shape shape,
                                             const struct nest_spot *spot, unsigned word)
{
	struct nest_found first = nest_found(nest, shape, spot, NEST_GAPS, 0, word);
	struct nest_found found = nest_found(nest, shape, spot, NEST_GAPS, 1, word);
	replace_if_none(~(first.zeros | (0 - first.zeros)), &found.zeros, first.zeros, &found.bit,
	                first.bit, &found.pattern, first.pattern);
	return found;
}

/* The word with the earliest gap. Groups fill from the front: it is of the emptier one. */
ALWAYS_INLINE struct nest_found nest_earliest(const struct nest *nest, struct nest_shape shape,
                                              const struct nest_spot *spot)
{
	struct nest_found found = nest_earlier(nest, shape, spot, 0);
	for (unsigned word = 1; word < nest_words(nest, shape); word++) {
		struct nest_found next = nest_earlier(nest, shape, spot, word);
		replace_if_none(UINT64_MAX, &found.zeros, next.zeros, &found.bit, next.bit,
		                &found.pattern, next.pattern);
	}
	return found;
}

/*
 * Finds the slot that takes a key, without a branch on what is in the groups, which is
 * unpredictable. False: both are full, but for slots that are held back.
 */
ALWAYS_INLINE bool nest_choose(const struct nest *nest, struct nest_shape shape,
                               const struct nest_spot *spot, struct nest_site *site)
{
	struct nest_found found = nest_symmetric(shape.kind)
	                                  ? nest_first(nest, shape, spot, NEST_GAPS)
	                                  : nest_earliest(nest, shape, spot);
	if (UNLIKELY(found.zeros == 0))
		return false;
	unsigned place = (unsigned)__builtin_ctzll(found.zeros);
	*site = nest_site_at(nest, shape, found.bit, place);
	site->value = spot->value;
	if (!nest_symmetric(shape.kind))
		site->value |=
			found.pattern >> (place - nest->layout->high) & nest->layout->extra_mask;
	return true;
}

/* The first of two groups' places that is one; takes the bit of its group. */
ALWAYS_INLINE unsigned nest_in_order(unsigned first, unsigned second,
                                     uint64_t *bit, uint64_t second_bit, unsigned *choice)
{
	uint64_t mask = 0 - (uint64_t)(first == NEST_NOWHERE);
	OPAQUE64(mask);
	*bit ^= (*bit ^ second_bit) & mask;
	*choice = (unsigned)mask & 1;
	return first ^ ((first ^ second) & (unsigned)mask);
}

/* The same in the order of the groups; in the first one only slots not held back if `open`. */
ALWAYS_INLINE bool nest_choose_in_order(const struct nest *nest, struct nest_shape shape,
                                        const struct nest_spot *spot, bool open,
                                        struct nest_site *site)
{
	unsigned first = nest_vacancy(nest, shape, spot->bit[0], open);
	unsigned second = nest_vacancy(nest, shape, spot->bit[1], false);
	uint64_t bit = spot->bit[0];
	unsigned choice, place = nest_in_order(first, second, &bit, spot->bit[1], &choice);
	*site = nest_site_at(nest, shape, bit, place);
	site->value = nest_encode(nest, shape.kind, spot->value, choice, nest_slot_at(nest, place));
	return place != NEST_NOWHERE;
}

/*
 * The same for coded buckets. They are sorted: if a slot is empty, the first one is. Both before
 * any branch: which of the two it will be is unpredictable.
 */
ALWAYS_INLINE bool nest_choose_coded(const struct nest *nest, struct nest_shape shape,
                                     const struct nest_spot *spot, struct nest_site *site)
{
	uint64_t taken[2], full = NEST_NOWHERE;
	for (unsigned i = 0; i < 2; i++) {
		if (!nest_coded_in_word(shape))
			taken[i] = nest_vacancy(nest, shape, spot->bit[i], false);
		else if (nest_choosing(shape.kind))
			taken[i] = nest_coded_taken(nest, shape, spot->bit[i]);
		else
			taken[i] = !nest_coded_empty(nest, shape, nest->bits, spot->bit[i]);
	}
	if (nest_coded_in_word(shape))
		full = nest_choosing(shape.kind) ? nest->layout->coding.highs : 1;
	/* The emptier one or, by XOR, the first. */
	uint64_t second = nest_choosing(shape.kind) ? taken[1] < taken[0] : taken[0] == full;
	uint64_t mask = 0 - second;
	OPAQUE64(mask);
	site->bit = spot->bit[0] ^ ((spot->bit[0] ^ spot->bit[1]) & mask);
	site->slot = 0;
	site->value = spot->value | (nest->layout->extra_mask & mask);
	return ((taken[0] == full) & (taken[1] == full)) == 0;
}

/*
 * Whether the windows of a key overlap or touch. They are filled in order then: a slot of both
 * counts as one of the first. Rare, and left to nest_insert_full.
 */
ALWAYS_INLINE bool nest_near(const struct nest *nest, struct nest_shape shape,
                             const struct nest_spot *spot)
{
	return shape.kind == NEST_WINDOWS &&
	       UNLIKELY(spot->bit[1] - spot->bit[0] + nest->layout->span < nest->layout->near);
}

/* The same by the numbers of its windows, where these are at hand. */
ALWAYS_INLINE bool nest_near_of(struct nest_shape shape, const struct nest_key *key)
{
	return shape.kind == NEST_WINDOWS &&
	       UNLIKELY(key->group[1] - key->group[0] + shape.slots <= 2 * shape.slots);
}

/* Writes a key into an empty slot; false if that is not empty any more (shared). */
ALWAYS_INLINE bool nest_fill(struct nest *nest, struct nest_shape shape,
                             const struct nest_site *site)
{
	if (nest_coded_in_word(shape)) {
		struct coded_parts parts = nest_load_coded(nest, shape, site->bit);
		if (shape.shared && !coded_first_empty(&nest->layout->coding, parts))
			return false;
		nest_store_coded(nest, shape, site->bit,
		                 coded_filled(&nest->layout->coding, parts, site->value));
		return true;
	}
	if (nest_coded(shape.kind)) { /* not shared: see nest_too_wide */
		coded_set_at(nest->bits, nest->layout->width, site->bit, site->slot, site->value);
		return true;
	}
	assert((site->value & ~nest->layout->slot_mask) == 0);
	assert((site->value & nest->layout->core_values) != 0); /* a slot of 0 is empty */
	if (shape.shared)
		return word_fill_bits(nest->bits, site->bit, nest->layout->width, 1, site->value);
	unsigned char *slot = nest->bits + (site->bit >> 3);
	store64(slot, load64(slot) | site->value << (site->bit & 7));
	return true;
}

/* nest_choose and nest_fill for both groups side by side: the XOR kinds. */
ALWAYS_INLINE bool nest_fill_first(struct nest *nest, struct nest_shape shape,
                                   const struct nest_spot *spot)
{
	struct nest_both both = nest_both(nest, shape, spot);
	const unsigned *bit = both.bit;
	two_words gaps =
		two_zeros(two_load(both.group[0], both.group[1]),
	                  two_at(&nest->layout->ones_at[bit[0]], &nest->layout->ones_at[bit[1]]),
	                  two_at(&nest->layout->open_at[bit[0]], &nest->layout->highs_at[bit[1]]));
	bool any;
	two_words slot =
		two_spread(two_lowest(gaps, &any), nest->layout->behind, nest->layout->high);
	two_set(both.group[0], both.group[1], two_and(slot, nest_wanted(nest, shape, spot, bit)));
	return any;
}

/* The same for the others. What is compared between the groups begins at the same bit of a word. */
ALWAYS_INLINE bool nest_fill_earlier(struct nest *nest, struct nest_shape shape,
                                     const struct nest_spot *spot)
{
	struct nest_both both = nest_both(nest, shape, spot);
	bool any, bytes = shape.words == NEST_BYTES;
	two_words words = bytes ? two_load(both.group[0], both.group[1])
	                        : two_load_from(both.group[0], both.group[1], both.bit);
	two_words gaps = two_zeros(words, two_pair(nest->layout->both_ones),
	                           two_pair(nest->layout->both_highs));
	two_words slot =
		two_spread(two_earlier(gaps, &any), nest->layout->behind, nest->layout->high);
	uint64_t wanted = spot->value * nest->layout->ones;
	slot = two_and(slot,
	               two_xor(two_of(wanted, wanted), two_pair(nest->layout->both_patterns)));
	if (bytes)
		two_set(both.group[0], both.group[1], slot);
	else
		two_set_from(both.group[0], both.group[1], both.bit, slot);
	return any;
}

/* What an attempt to put a key into one of its slots came to. */
enum nest_settled { NEST_SETTLED, NEST_CROWDED, NEST_DISTURBED };

/* `near` is nest_near of the spot. */
ALWAYS_INLINE enum nest_settled nest_settle(struct nest *nest, struct nest_shape shape,
                                            uint64_t chunk, const struct nest_spot *spot, bool near)
{
	struct nest_site site;
	assert(!nest->mapped && chunk < nest->layout->chunks);
	assert(shape.shared == (nest->shared != NULL));
	if (nest_too_wide(shape) || near)
		return NEST_DISTURBED;
	if (nest_side_by_side(shape))
		return LIKELY(nest_symmetric(shape.kind) ? nest_fill_first(nest, shape, spot)
		                                         : nest_fill_earlier(nest, shape, spot))
		               ? NEST_SETTLED
		               : NEST_CROWDED;
	bool room = nest_coded(shape.kind) ? nest_choose_coded(nest, shape, spot, &site)
	                                   : nest_choose(nest, shape, spot, &site);
	if (shape.kind == NEST_XOR && shape.shared && UNLIKELY(!room)) /* what is held back */
		room = nest_choose_in_order(nest, shape, spot, false, &site);
	if (UNLIKELY(!room))
		return NEST_CROWDED;
	if (!shape.shared) {
		(void)nest_fill(nest, shape, &site);
		return NEST_SETTLED;
	}
	struct stripe *stripe = nest_stripe(nest, chunk, nest_bits_of(nest, shape, &site));
	if (UNLIKELY(stripe == NULL))
		return NEST_DISTURBED;
	uint32_t before = version_lock(&stripe->version);
	bool filled = nest_fill(nest, shape, &site);
	stripe_count(stripe, filled);
	version_unlock_from(&stripe->version, before);
	return LIKELY(filled) ? NEST_SETTLED : NEST_DISTURBED;
}

/* Whether a search for room begins with search_step. */
ALWAYS_INLINE bool nest_steps(const struct nest *nest, struct nest_shape shape, uint64_t chunk)
{
	return shape.slots > 2 || nest->chunk[chunk].used < nest->layout->step_most;
}

/* search_room for a shape that is known, after search_step. */
ALWAYS_INLINE bool nest_make_room(struct nest *nest, struct nest_shape shape,
                                  const struct nest_key *key, uint64_t *slot)
{
	struct search search;
	search_begin(&search, nest, shape, key);
	unsigned tried = nest_steps(nest, shape, key->chunk) ? 2 * shape.slots : 0;
	bool found = search_walk(&search, shape, tried) || search_long(&search, key);
	if (found)
		*slot = search_move(&search, shape);
	return search_end(&search, found);
}

/* The key of a hash that is to be put in, with a payload. */
ALWAYS_INLINE struct nest_key nest_key_to_put(const struct nest *nest, struct nest_shape shape,
                                              uint64_t hash, uint64_t payload)
{
	struct nest_key key = nest_locate_as(nest, shape.kind, shape.path, hash);
	key.value |= payload << nest->layout->payload_at;
	return key;
}

/* The same, and its spot. */
ALWAYS_INLINE struct nest_key nest_find_to_put(const struct nest *nest, struct nest_shape shape,
                                               uint64_t hash, uint64_t payload,
                                               struct nest_spot *spot)
{
	struct nest_key key = nest_key_to_put(nest, shape, hash, payload);
	uint64_t chunk_bit =
		shape.path == NEST_SHORT_PATH ? 0 : key.chunk * nest->layout->stride_bits;
	nest_spot_of(nest, &key, chunk_bit, spot);
	return key;
}

/* insert where all but slots that are held back are taken, or windows are near. */
ALWAYS_INLINE nidus_status nest_insert_full(struct nest *nest, struct nest_shape shape,
                                            uint64_t hash, uint64_t payload, nest_room *room)
{
	struct nest_key key = nest_key_to_put(nest, shape, hash, payload);
	struct nest_spot spot;
	struct nest_site site;
	if (nest_symmetric(shape.kind) ? nest->layout->reserve > 0 : nest_near_of(shape, &key)) {
		nest_spot_of(nest, &key, key.chunk * nest->layout->stride_bits, &spot);
		if (nest_choose_in_order(nest, shape, &spot, false, &site)) {
			(void)nest_fill(nest, shape, &site);
			nest->chunk[key.chunk].used++;
			return NIDUS_OK;
		}
	}
	if (UNLIKELY(nest->stashed > 0) && nest_is_stashed(nest, nest->layout->kind, &key))
		return nest_stash_key(nest, nest->layout->kind, &key, 1);
	/* Where all slots hold this very key, none can move. */
	if (nest_steps(nest, shape, key.chunk) && LIKELY(search_step(nest, shape, &key)))
		return NIDUS_OK;
	nest_spot_of(nest, &key, key.chunk * nest->layout->stride_bits, &spot);
	return nest_insert_crowded(nest, nest->layout->kind, &key,
	                           nest_match(nest, shape, nest->bits, &spot), room);
}

/* Whether a slot of a shared nest seemed to hold a key just now. */
ALWAYS_INLINE bool nest_seems_there(const struct nest *nest, struct nest_shape shape, uint64_t hash)
{
	struct nest_spot spot;
	(void)nest_find(nest, shape, hash, &spot);
	return nest_match(nest, shape, nest->bits, &spot);
}

/* The rest of an insert that nest_settle left; an instance has its own. */
typedef nidus_status nest_insert_rest(struct nest *nest, uint64_t hash, uint64_t payload,
                                      enum nest_settled settled);

ALWAYS_INLINE nidus_status nest_put(struct nest *nest, struct nest_shape shape, uint64_t hash,
                                    uint64_t payload, uint64_t chunk, const struct nest_spot *spot,
                                    bool near, nest_insert_rest *rest)
{
	enum nest_settled settled = nest_settle(nest, shape, chunk, spot, near);
	if (UNLIKELY(settled != NEST_SETTLED))
		return rest(nest, hash, payload, settled);
	if (!shape.shared)
		nest->chunk[chunk].used++;
	return NIDUS_OK;
}

ALWAYS_INLINE nidus_status nest_insert(struct nest *nest, struct nest_shape shape, uint64_t hash,
                                       uint64_t payload, nest_insert_rest *rest)
{
	struct nest_spot spot;
	struct nest_key key = nest_find_to_put(nest, shape, hash, payload, &spot);
	return nest_put(nest, shape, hash, payload, key.chunk, &spot,
	                nest_near(nest, shape, &spot), rest);
}

/* --------------------------------------------------------------------- remove -- */

/* Finds the first slot that holds the key, and says in which group; false: none does. */
ALWAYS_INLINE bool nest_find_copy(const struct nest *nest, struct nest_shape shape,
                                  const struct nest_spot *spot, struct nest_site *site,
                                  unsigned *choice)
{
	if (nest_coded(shape.kind)) {
		unsigned first = nest_copy_in(nest, shape, spot, 0);
		unsigned second = nest_copy_in(nest, shape, spot, 1);
		uint64_t bit = spot->bit[0];
		unsigned place = nest_in_order(first, second, &bit, spot->bit[1], choice);
		*site = nest_site_at(nest, shape, bit, place);
		return place != NEST_NOWHERE;
	}
	struct nest_found found = nest_first(nest, shape, spot, NEST_COPIES);
	*choice = found.choice;
	if (UNLIKELY(found.zeros == 0))
		return false;
	*site = nest_site_at(nest, shape, found.bit, (unsigned)__builtin_ctzll(found.zeros));
	return true;
}

/* Empties a slot. */
ALWAYS_INLINE void nest_clear_at(struct nest *nest, struct nest_shape shape,
                                 const struct nest_site *site)
{
	if (nest_coded_in_word(shape)) {
		struct coded_parts parts = nest_load_coded(nest, shape, site->bit);
		nest_store_coded(nest, shape, site->bit,
		                 coded_emptied(&nest->layout->coding, parts, site->slot));
	} else if (nest_coded(shape.kind)) {
		coded_set_at(nest->bits, nest->layout->width, site->bit, site->slot, 0);
	} else if (shape.shared) {
		word_set_bits(nest->bits, site->bit, nest->layout->width, 0);
	} else {
		unsigned char *slot = nest->bits + (site->bit >> 3);
		store64(slot, load64(slot) & ~(nest->layout->slot_mask << (site->bit & 7)));
	}
}

/* Under the lock of a group: whether the key is still there, and now is not any more. */
ALWAYS_INLINE bool nest_take_locked(struct nest *nest, struct nest_shape shape, uint64_t chunk,
                                    const struct nest_spot *spot, unsigned choice, uint32_t *pair)
{
	unsigned place = nest_copy_in(nest, shape, spot, choice);
	if (place == NEST_NOWHERE ||
	    __atomic_load_n(&nest->chunk[chunk].stash.nodes, __ATOMIC_ACQUIRE) != 0)
		return false;
	struct nest_site site = nest_site_at(nest, shape, spot->bit[choice], place);
	if (!nest_coded(shape.kind))
		version_lock(pair);
	nest_clear_at(nest, shape, &site);
	if (!nest_coded(shape.kind))
		version_unlock(pair);
	return true;
}

/* Tries a remove in a shared nest with the lock of one group; false if it takes more. */
ALWAYS_INLINE bool nest_take_shared(struct nest *nest, struct nest_shape shape, uint64_t chunk,
                                    uint32_t *pair, const struct nest_spot *spot)
{
	struct nest_site site;
	unsigned choice;
	if (nest_too_wide(shape) || !nest_find_copy(nest, shape, spot, &site, &choice))
		return false;
	/* Bits of all slots: another thread may have moved a copy of the key within it. */
	struct nest_bits bits = { spot->bit[choice], (unsigned)nest->layout->span };
	if (nest_coded(shape.kind))
		bits.count = (unsigned)nest->layout->group_bits;
	struct stripe *stripe = nest_stripe(nest, chunk, bits);
	if (UNLIKELY(stripe == NULL))
		return false;
	uint32_t before = version_lock(&stripe->version);
	bool taken = nest_take_locked(nest, shape, chunk, spot, choice, pair);
	if (LIKELY(taken))
		stripe_count(stripe, UINT32_MAX);
	version_unlock_from(&stripe->version, before);
	return taken;
}

/* nest_find_copy and nest_clear_at for both groups side by side. */
ALWAYS_INLINE bool nest_take_either(struct nest *nest, struct nest_shape shape,
                                    const struct nest_spot *spot)
{
	struct nest_both both = nest_both(nest, shape, spot);
	const unsigned *bit = both.bit;
	two_words words = two_load(both.group[0], both.group[1]);
	two_words hits =
		two_zeros(two_xor(words, nest_wanted(nest, shape, spot, bit)),
	                  two_at(&nest->layout->ones_at[bit[0]], &nest->layout->ones_at[bit[1]]),
	                  two_at(&nest->layout->highs_at[bit[0]], &nest->layout->highs_at[bit[1]]));
	bool any;
	two_words slot =
		two_spread(two_lowest(hits, &any), nest->layout->behind, nest->layout->high);
	two_clear(both.group[0], both.group[1], words, slot);
	return any;
}

/*
 * The same for coded buckets in a word. In which of them the key is is unpredictable: no branch
 * but for none.
 */
ALWAYS_INLINE bool nest_take_coded(struct nest *nest, struct nest_shape shape,
                                   const struct nest_spot *spot)
{
	const struct coded_masks *masks = &nest->layout->coding;
	uint64_t bits = nest_load(nest, shape, nest->bits, spot->bit[0]);
	uint64_t second = nest_load(nest, shape, nest->bits, spot->bit[1]);
	uint64_t hits = masks->highs ^ nest_coded_misses(nest, shape, nest->bits, spot, 0);
	uint64_t mask = 0 - (uint64_t)(hits == 0);
	OPAQUE64(mask);
	hits |= mask & (masks->highs ^ nest_coded_misses(nest, shape, nest->bits, spot, 1));
	if (UNLIKELY(hits == 0))
		return false;
	uint64_t bit = spot->bit[0] ^ ((spot->bit[0] ^ spot->bit[1]) & mask);
	bits ^= (bits ^ second) & mask;
	uint64_t emptied = coded_emptied_in(masks, bits, hits & (0 - hits));
	unsigned char *bucket = nest->bits + (bit >> 3);
	store64(bucket, load64(bucket) ^ (bits ^ emptied) << (bit & 7));
	return true;
}

/* `pair` is the version of the key's pair, if threads share the nest. */
ALWAYS_INLINE nidus_status nest_take(struct nest *nest, struct nest_shape shape, uint64_t hash,
                                     uint64_t chunk, uint32_t *pair, const struct nest_spot *spot)
{
	struct nest_site site;
	unsigned choice;
	assert(!nest->mapped && chunk < nest->layout->chunks);
	assert(shape.shared == (nest->shared != NULL));
	if (shape.shared)
		return LIKELY(nest_take_shared(nest, shape, chunk, pair, spot))
		               ? NIDUS_OK
		               : nest_remove_slow(nest, hash);
	if (UNLIKELY(nest->stashed > 0))
		return nest_remove_slow(nest, hash);
	if (nest_side_by_side(shape)) {
		if (UNLIKELY(!nest_take_either(nest, shape, spot)))
			return NIDUS_NOT_FOUND;
	} else if (nest_coded_in_word(shape)) {
		if (UNLIKELY(!nest_take_coded(nest, shape, spot)))
			return NIDUS_NOT_FOUND;
	} else {
		if (UNLIKELY(!nest_find_copy(nest, shape, spot, &site, &choice)))
			return NIDUS_NOT_FOUND;
		nest_clear_at(nest, shape, &site);
	}
	assert(nest->chunk[chunk].used > 0);
	nest->chunk[chunk].used--;
	return NIDUS_OK;
}

ALWAYS_INLINE nidus_status nest_remove(struct nest *nest, struct nest_shape shape, uint64_t hash)
{
	struct nest_spot spot;
	struct nest_key key = nest_find(nest, shape, hash, &spot);
	uint32_t *pair = shape.shared ? nest_pair_version(nest, &key) : NULL;
	return nest_take(nest, shape, hash, key.chunk, pair, &spot);
}

/* -------------------------------------------------------------------- batches -- */

/* A key on its way from memory. */
struct nest_visit {
	uint64_t chunk;
	uint32_t *pair; /* shared: the version of its pair */
	struct nest_spot spot;
};

/* Asks for a key's groups and, if threads share the nest, for their locks. */
ALWAYS_INLINE void nest_come_to(const struct nest *nest, struct nest_shape shape, uint64_t hash,
                                struct nest_visit *visit)
{
	struct nest_key key = nest_find(nest, shape, hash, &visit->spot);
	visit->chunk = key.chunk;
	nest_fetch(nest, shape, visit->spot.bit[0]);
	nest_fetch(nest, shape, visit->spot.bit[1]);
	if (!shape.shared) {
		if (shape.path == NEST_PART_PATH)
			PREFETCH_WRITE(nest->chunk); /* every body has its own */
		return;
	}
	const struct stripes *stripes = &nest->shared->stripes;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t byte = key.group[i] * nest->layout->group_bits >> 3;
		PREFETCH_WRITE(&stripes->stripe[stripe_in_chunk(stripes, key.chunk, byte)]);
	}
	visit->pair = nest_pair_version(nest, &key);
}

/*
 * Both in input order up to the first failure; a remove where `rest` is NULL. Key i is of
 * nests[i] if `each`, otherwise all are of the first.
 */
ALWAYS_INLINE nidus_status nest_change_all(void *const *nests, bool each, struct nest_shape shape,
                                           const uint64_t *hashes, const uint64_t *values, size_t n,
                                           size_t *done, nest_insert_rest *rest)
{
	struct nest_visit ring[NEST_AHEAD];
	struct nest *nest = nests[0], *next = nest;
	const size_t ahead = n < NEST_AHEAD ? n : NEST_AHEAD;
	/* One loop for both, with a test of i, is slower by an eighth. */
	for (size_t i = 0; i < ahead; i++)
		nest_come_to(each ? nests[i] : nest, shape, hashes[i], &ring[i]);
	for (size_t i = 0; i < n; i++) {
		struct nest_visit *visit = &ring[i % NEST_AHEAD];
		uint64_t payload = values != NULL ? values[i] : 0;
		if (each)
			nest = nests[i];
		visit->spot.value |= payload << nest->layout->payload_at;
		bool near = rest != NULL && nest_near(nest, shape, &visit->spot);
		nidus_status status = rest != NULL
		                              ? nest_put(nest, shape, hashes[i], payload,
		                                         visit->chunk, &visit->spot, near, rest)
		                              : nest_take(nest, shape, hashes[i], visit->chunk,
		                                          visit->pair, &visit->spot);
		if (UNLIKELY(status != NIDUS_OK)) {
			*done = i;
			return status;
		}
		if (UNLIKELY(n - i <= NEST_AHEAD))
			continue;
		if (each)
			next = nests[i + NEST_AHEAD];
		nest_come_to(next, shape, hashes[i + NEST_AHEAD], visit);
	}
	*done = n;
	return NIDUS_OK;
}

/* Up to the first failure, without haste. */
static inline nidus_status nest_insert_one_by_one(void *nest, const uint64_t *hashes,
                                                  const uint64_t *values, size_t n, size_t *done,
                                                  nidus_status (*insert)(void *nest, uint64_t hash,
                                                                         uint64_t value))
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n; ++*done) {
		status = insert(nest, hashes[*done], values != NULL ? values[*done] : 0);
		if (status != NIDUS_OK)
			break;
	}
	return status;
}

/*
 * In bulk: the hashes are of one chunk, which lies in the cache. Where some of them
 * belong is worked out before they are put there all the same: after a wrong guess the
 * next is ready.
 */
ALWAYS_INLINE nidus_status nest_insert_near(struct nest *nest, struct nest_shape shape,
                                            const uint64_t *hashes, const uint64_t *values,
                                            size_t n, size_t step, nest_insert_rest *rest)
{
	const uint64_t chunk = multiply_high(hashes[0], nest->layout->chunks);
	assert(n > 0 && step > 0);
	uint64_t chunk_bit = chunk * nest->layout->stride_bits;
	struct nest_spot spots[NEST_NEAR];
	for (size_t left = (n + step - 1) / step; left > 0; hashes += NEST_NEAR * step) {
		size_t some = left < NEST_NEAR ? left : NEST_NEAR, crowded = 0;
		for (size_t i = 0; i < some; i++) {
			struct nest_key key =
				nest_locate_as(nest, shape.kind, shape.path, hashes[i * step]);
			if (values != NULL)
				key.value |= values[i * step] << nest->layout->payload_at;
			assert(key.chunk == chunk);
			nest_spot_of(nest, &key, chunk_bit, &spots[i]);
			PREFETCH(nest->bits + (spots[i].bit[0] >> 3));
			PREFETCH(nest->bits + (spots[i].bit[1] >> 3));
		}
		for (size_t i = 0; i < some; i++) {
			bool near = nest_near(nest, shape, &spots[i]);
			if (LIKELY(nest_settle(nest, shape, chunk, &spots[i], near) ==
			           NEST_SETTLED))
				continue;
			crowded++;
			nidus_status status =
				rest(nest, hashes[i * step], values != NULL ? values[i * step] : 0,
			             NEST_CROWDED);
			if (UNLIKELY(status != NIDUS_OK))
				return status;
		}
		nest->chunk[chunk].used += some - crowded;
		left -= some;
		if (values != NULL)
			values += NEST_NEAR * step;
	}
	return NIDUS_OK;
}

#endif

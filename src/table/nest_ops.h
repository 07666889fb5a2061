/* SPDX-License-Identifier: MIT
 *
 * nest_ops: the hot operations of a nest, written once, compiled per width.
 *
 * A template: no include guard. Whoever includes it defines
 *
 *   NEST_KIND   a nest_kind
 *   NEST_L      slots per group: 2, 4 or 8
 *   NEST_W      slot width: a constant, or an expression of `nest`
 *   NEST_ID(x)  the name of x in this instance
 *
 * and gets `static const struct body_ops NEST_ID(ops)`. nest_widths.h does that
 * for all widths.
 *
 * A group is compared in words of NEST_FIELDS slots. In a word all slots are
 * compared at once: XOR with what the key would look like in each of them, then
 * look for zero fields. No branch until both groups are read: a branch per
 * slot would be mispredicted about once per lookup, and costs more than it
 * saves.
 */

/* Slots per word: the largest power of two that fits. */
#define NEST_FIELDS                               \
	(NEST_L >= 8 && 8 * (NEST_W) <= 64   ? 8u \
	 : NEST_L >= 4 && 4 * (NEST_W) <= 64 ? 4u \
	 : 2 * (NEST_W) <= 64                ? 2u \
	                                     : 1u)
#define NEST_WORDS (NEST_L / NEST_FIELDS)
#define NEST_FIELD_ONE(i) (NEST_FIELDS > (i) ? UINT64_C(1) << ((i) * (NEST_W)&63) : 0)
/* The lowest bit of each field of a word. */
#define NEST_ONES                                                                        \
	(NEST_FIELD_ONE(0) | NEST_FIELD_ONE(1) | NEST_FIELD_ONE(2) | NEST_FIELD_ONE(3) | \
	 NEST_FIELD_ONE(4) | NEST_FIELD_ONE(5) | NEST_FIELD_ONE(6) | NEST_FIELD_ONE(7))
/*
 * Words are loaded from the byte in which they begin or, where they still fit
 * into 64 bits then, from a multiple of four bytes: fewer loads of eight bytes
 * reach into a second cache line. Where words begin is known to be a multiple of
 * NEST_GRAIN bits, so that NEST_SHIFT is the most they are shifted by.
 */
#define NEST_WORD_BITS (NEST_FIELDS * (NEST_W))
#define NEST_GRAIN ((NEST_STEP | NEST_WORD_BITS) & (0 - (NEST_STEP | NEST_WORD_BITS)))
#define NEST_SHIFT_FROM(bits) (NEST_GRAIN < (bits) ? (bits)-NEST_GRAIN : 0)
#define NEST_BY_FOURS (NEST_WORD_BITS > 32 && NEST_WORD_BITS + NEST_SHIFT_FROM(32) <= 64)
#define NEST_ALIGN (NEST_BY_FOURS ? 32u : 8u)
#define NEST_SHIFT NEST_SHIFT_FROM(NEST_ALIGN)
/* Bytes that a load takes. */
#define NEST_LOAD \
	(NEST_WORD_BITS + NEST_SHIFT > 64 ? 9u : NEST_WORD_BITS + NEST_SHIFT > 32 ? 8u : 4u)
/* The last byte that a group is read from, counted from its first. */
#define NEST_LAST_BYTE                                                        \
	(NEST_KIND == NEST_CODED ? (12 + (NEST_L - 1) * ((NEST_W)-4)) / 8 + 7 \
	                         : (NEST_WORDS - 1) * NEST_FIELDS * (NEST_W) / 8 + NEST_LOAD - 1)
/* Whether one word holds both groups of a key. */
#define NEST_PAIRED (NEST_KIND != NEST_CODED && NEST_WORDS == 1 && NEST_WORD_BITS <= 32)
/* The way of large nests without growth bits. */
#define NEST_WAY nest_way_of_large(NEST_KIND, NEST_CORE)
/* Bits from group to group, and of all slots of one. */
#define NEST_STEP nest_group_bits(NEST_KIND, NEST_L, NEST_W)
#define NEST_SPAN (NEST_L * (NEST_W))
/* Core bits of a nest without growth bits. */
#define NEST_CORE ((NEST_W)-nest_extra_bits(NEST_KIND, NEST_L))

/* Where a lookup looks: the bits at which both groups begin, and the key's value. */
struct NEST_ID(spot) {
	uint64_t bit[2];
	uint64_t value;
};

/* Where a change happens. */
struct NEST_ID(place) {
	struct nest_key key;
	struct NEST_ID(spot) spot;
};

/* Some slots of the group that begins at a bit of some slots. */
ALWAYS_INLINE uint64_t NEST_ID(word_in)(const struct nest *nest, const unsigned char *bits,
                                        uint64_t bit, unsigned word)
{
	(void)nest; /* not always part of NEST_W */
	if (NEST_KIND == NEST_CODED)
		return coded_fields(bits, NEST_W, bit, word * NEST_FIELDS, NEST_FIELDS);
	bit += (uint64_t)word * NEST_FIELDS * (NEST_W);
	unsigned shift = bit & NEST_SHIFT;
	const unsigned char *at = bits + (bit - shift) / 8;
	if (NEST_LOAD == 4) /* no more than needed: it may be in the next cache line */
		return load32(at) >> shift;
	uint64_t fields = load64(at) >> shift;
	if (NEST_LOAD > 8)
		fields |= (uint64_t)at[8] << 1 << (63 - shift);
	return fields;
}

/* The same of the table. */
ALWAYS_INLINE uint64_t NEST_ID(word)(const struct nest *nest, uint64_t bit, unsigned word)
{
	return NEST_ID(word_in)(nest, nest->bits, bit, word);
}

/* A word of a group in which every field is zero whose slot holds the key. */
ALWAYS_INLINE uint64_t NEST_ID(differences)(const struct nest *nest,
                                            const struct NEST_ID(spot) * spot, unsigned choice,
                                            unsigned word)
{
	uint64_t wanted = spot->value * NEST_ONES + nest->pattern[choice][word];
	return NEST_ID(word)(nest, spot->bit[choice], word) ^ wanted;
}

/* The same of both groups at once, the second in the upper half. */
ALWAYS_INLINE uint64_t NEST_ID(differences_of_both)(const struct nest *nest,
                                                    const struct NEST_ID(spot) * spot)
{
	/* The ones from the nest: compilers take a constant apart into more instructions. */
	uint64_t wanted = spot->value * nest->ones_of_both + nest->pattern_of_both;
	uint64_t first = (uint32_t)NEST_ID(word)(nest, spot->bit[0], 0);
	uint64_t second = NEST_ID(word)(nest, spot->bit[1], 0);
	return (first | second << 32) ^ wanted;
}

ALWAYS_INLINE uint64_t NEST_ID(hits)(const struct nest *nest, const struct NEST_ID(spot) * spot,
                                     unsigned choice, unsigned word)
{
	return fields_zero(NEST_ID(differences)(nest, spot, choice, word), NEST_W, NEST_ONES);
}

/* Whether a slot holds the key; the stash was not asked. */
ALWAYS_INLINE bool NEST_ID(match)(const struct nest *nest, const struct NEST_ID(spot) * spot)
{
	if (NEST_PAIRED)
		return fields_any_zero(NEST_ID(differences_of_both)(nest, spot), NEST_W,
		                       NEST_ONES | NEST_ONES << 32);
	bool hit = false;
	for (unsigned word = 0; word < NEST_WORDS; word++) {
		uint64_t first = NEST_ID(differences)(nest, spot, 0, word);
		uint64_t second = NEST_ID(differences)(nest, spot, 1, word);
		hit |= fields_any_zero_of(first, second, NEST_W, NEST_ONES);
	}
	return hit;
}

ALWAYS_INLINE struct NEST_ID(spot)
	NEST_ID(spot_of)(const struct nest *nest, const struct nest_key *key)
{
	uint64_t chunk = key->chunk * nest->stride_bits;
	return (struct NEST_ID(spot)){
		.bit = { chunk + key->group[0] * NEST_STEP, chunk + key->group[1] * NEST_STEP },
		.value = key->value,
	};
}

ALWAYS_INLINE struct NEST_ID(spot)
	NEST_ID(spot)(const struct nest *nest, enum nest_way way, uint64_t hash)
{
	struct nest_key key = nest_locate_as(nest, NEST_KIND, way, hash);
	return NEST_ID(spot_of)(nest, &key);
}

/* The same and more, for the calls in which it is not the greater part of the work. */
NEVER_INLINE void NEST_ID(find)(const struct nest *nest, uint64_t hash,
                                struct NEST_ID(place) * place)
{
	place->key = LIKELY(nest->way == NEST_WAY) ? nest_locate_as(nest, NEST_KIND, NEST_WAY, hash)
	                                           : nest_locate(nest, NEST_KIND, hash);
	place->spot = NEST_ID(spot_of)(nest, &place->key);
}

/* Both ends of both groups: every tenth or so lies in two cache lines. */
ALWAYS_INLINE void NEST_ID(fetch)(const struct nest *nest, const struct NEST_ID(spot) * spot)
{
	for (unsigned choice = 0; choice < 2; choice++) {
		const unsigned char *at =
			nest->bits + spot->bit[choice] / NEST_ALIGN * (NEST_ALIGN / 8);
		PREFETCH(at);
		PREFETCH(at + NEST_LAST_BYTE);
	}
}

/* What the stash adds to a key's copies: it is asked only if no slot is empty. */
NEVER_INLINE uint64_t NEST_ID(stashed)(const struct nest *nest, uint64_t hash)
{
	struct NEST_ID(place) place;
	NEST_ID(find)(nest, hash, &place);
	if (nest->chunk[place.key.chunk].stash.count == 0)
		return 0;
	uint64_t empty = 0;
	for (unsigned word = 0; word < NEST_WORDS; word++) {
		uint64_t first = NEST_ID(word)(nest, place.spot.bit[0], word);
		uint64_t second = NEST_ID(word)(nest, place.spot.bit[1], word);
		empty |= fields_zero(first, NEST_W, NEST_ONES) |
		         fields_zero(second, NEST_W, NEST_ONES);
	}
	return empty != 0 ? 0 : nest_stash_count(nest, NEST_KIND, &place.key);
}

/*
 * Where the first empty slot of a group is, among `open` fields if given: so many
 * bits behind the group's beginning; NEST_SPAN if there is none.
 */
ALWAYS_INLINE unsigned NEST_ID(vacancy)(const struct nest *nest, const unsigned char *bits,
                                        uint64_t bit, const uint64_t *open)
{
	const uint64_t highs = NEST_ONES << ((NEST_W)-1);
	unsigned at = NEST_SPAN;
	for (unsigned word = NEST_WORDS; word-- > 0;) {
		uint64_t fields = NEST_ID(word_in)(nest, bits, bit, word), empty;
		if (open != NULL)
			empty = fields_zero(fields, NEST_W, NEST_ONES) & open[word];
		else /* only the lowest has to be right (see fields_any_zero) */
			empty = (fields - NEST_ONES) & ~fields & highs;
		/* Where one more slot would have room in the word, it stands for none. */
		if (NEST_SPAN + (NEST_W) <= 64) {
			empty |= (highs << (NEST_W)) & ~highs;
			return (unsigned)__builtin_ctzll(empty) - ((NEST_W)-1);
		}
		if (empty != 0)
			at = word * NEST_WORD_BITS + (unsigned)__builtin_ctzll(empty) -
			     ((NEST_W)-1);
	}
	return at;
}

/* Puts a key's value into the empty slot that vacancy found in its group `choice`. */
ALWAYS_INLINE void NEST_ID(fill)(const struct nest *nest, unsigned char *bits, unsigned core_bits,
                                 const struct NEST_ID(spot) * spot, unsigned choice, unsigned at)
{
	(void)nest;
	uint64_t bit = spot->bit[choice], value = spot->value;
	if (NEST_KIND == NEST_CODED) {
		coded_set_at(bits, NEST_W, bit, at / (NEST_W), value);
		return;
	}
	bit += at;
	if (NEST_KIND == NEST_BUCKETS)
		value |= (uint64_t)choice << core_bits;
	else if (NEST_KIND == NEST_WINDOWS)
		value |= (uint64_t)(choice | at / (NEST_W) << 1) << core_bits;
	unsigned char *slot = bits + (bit >> 3);
	store64(slot, load64(slot) | value << (bit & 7));
}

/*
 * Puts a key into an empty slot of its groups, which begin at bits of `bits`; false if
 * there is none that is not held back.
 */
ALWAYS_INLINE bool NEST_ID(settle)(const struct nest *nest, unsigned char *bits, unsigned core_bits,
                                   const struct NEST_ID(spot) * spot)
{
	/* Only the XOR kinds hold slots back. */
	const uint64_t *open = nest_symmetric(NEST_KIND) ? nest->open : NULL;
	/* Both before any branch: which of the two it will be nobody can predict. */
	uint64_t first = NEST_ID(vacancy)(nest, bits, spot->bit[0], open);
	uint64_t second = NEST_ID(vacancy)(nest, bits, spot->bit[1], NULL);
	uint64_t choice = first == NEST_SPAN;
	/* Groups fill from the front, so this is the emptier one. The XOR kinds hold slots of
	 * the first back instead; a slot of two windows that overlap counts as the first's. */
	if (NEST_KIND == NEST_BUCKETS)
		choice = second < first;
	else if (NEST_KIND == NEST_WINDOWS)
		choice |= (uint64_t)(second < first) &
		          (spot->bit[1] - spot->bit[0] + NEST_SPAN > 2 * NEST_SPAN);
	uint64_t mask = 0 - choice;
	OPAQUE64(mask);
	uint64_t at = first ^ ((first ^ second) & mask);
	if (UNLIKELY(at == NEST_SPAN))
		return false;
	NEST_ID(fill)(nest, bits, core_bits, spot, (unsigned)choice, (unsigned)at);
	return true;
}

/* What a slot holds; anything in the bits above. */
ALWAYS_INLINE uint64_t NEST_ID(slot_in)(const struct nest *nest, const unsigned char *bits,
                                        uint64_t slot)
{
	(void)nest;
	uint64_t bit = slot * (NEST_W);
	return load64(bits + (bit >> 3)) >> (bit & 7);
}

#define NEST_SHARED false
#include "table/search_ops.h"
#undef NEST_SHARED

/* search_room for this width. */
static bool NEST_ID(room)(struct nest *nest, const struct nest_key *key, uint64_t *slot)
{
	struct search search;
	unsigned at;
	uint64_t empty;
	if (!NEST_ID(chain)(&search, nest, key, &at, &empty))
		return search_end(&search, search_go_on(&search, NEST_KIND, at, slot));
	*slot = search_move(&search, NEST_KIND, NEST_L, NEST_W, NEST_CORE, at, empty);
	return search_end(&search, true);
}

/* insert where all but slots that are held back are taken. */
NEVER_INLINE nidus_status NEST_ID(crowd)(struct nest *nest, const struct NEST_ID(place) * place)
{
	if (nest->reserve > 0) {
		unsigned at = NEST_ID(vacancy)(nest, nest->bits, place->spot.bit[0], NULL);
		if (at != NEST_SPAN) {
			NEST_ID(fill)(nest, nest->bits, nest->core_bits, &place->spot, 0, at);
			nest->chunk[place->key.chunk].used++;
			return NIDUS_OK;
		}
	}
	bool general = NEST_KIND == NEST_CODED || nest->way == NEST_GROWN;
	return nest_insert_crowded(nest, NEST_KIND, &place->key, NEST_ID(match)(nest, &place->spot),
	                           general ? NULL : NEST_ID(room));
}

static inline nidus_status NEST_ID(put)(struct nest *nest, const struct NEST_ID(place) * place)
{
	if (!NEST_ID(settle)(nest, nest->bits, nest->core_bits, &place->spot))
		return NEST_ID(crowd)(nest, place);
	nest->chunk[place->key.chunk].used++;
	return NIDUS_OK;
}

static inline nidus_status NEST_ID(take)(struct nest *nest, const struct NEST_ID(place) * place)
{
	const struct nest_key *key = &place->key;
	if (UNLIKELY(nest->stashed > 0) && nest_stash_remove(nest, NEST_KIND, key))
		return NIDUS_OK;
	unsigned found = 2 * NEST_L; /* a slot of the two groups, counted through */
	for (unsigned choice = 2; choice-- > 0;) {
		for (unsigned word = NEST_WORDS; word-- > 0;) {
			uint64_t hits = NEST_ID(hits)(nest, &place->spot, choice, word);
			unsigned at =
				word * NEST_FIELDS +
				(unsigned)__builtin_ctzll(hits | UINT64_C(1) << 63) / (NEST_W);
			found = hits != 0 ? choice * NEST_L + at : found;
		}
	}
	if (found == 2 * NEST_L)
		return NIDUS_NOT_FOUND;
	uint64_t slot = nest_first_slot(nest, NEST_KIND, key->group[found / NEST_L]);
	slot += found % NEST_L;
	nest_set(nest, NEST_KIND, nest_chunk_bits(nest, key->chunk), slot, 0);
	nest->chunk[key->chunk].used--;
	if (UNLIKELY(nest->stashed > 0))
		nest_bring_home(nest, NEST_KIND, key->chunk, slot);
	return NIDUS_OK;
}

/* ---------------------------------------------------------------- one by one -- */

NEVER_INLINE bool NEST_ID(contains_stashed)(const struct nest *nest, uint64_t hash)
{
	return NEST_ID(stashed)(nest, hash) > 0;
}

/* What is rare is called last, so that the rest needs no stack. */
ALWAYS_INLINE bool NEST_ID(contains_by)(const struct nest *nest, enum nest_way way, uint64_t hash)
{
	struct NEST_ID(spot) spot = NEST_ID(spot)(nest, way, hash);
	bool hit = NEST_ID(match)(nest, &spot);
	if (LIKELY(nest->stashed == 0))
		return hit;
	return hit || NEST_ID(contains_stashed)(nest, hash);
}

NEVER_INLINE bool NEST_ID(contains_by_hash)(const struct nest *nest, uint64_t hash)
{
	return NEST_ID(contains_by)(nest, NEST_BY_HASH, hash);
}

NEVER_INLINE bool NEST_ID(contains_grown)(const struct nest *nest, uint64_t hash)
{
	return NEST_ID(contains_by)(nest, NEST_GROWN, hash);
}

static bool NEST_ID(contains)(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	if (LIKELY(nest->way == NEST_WAY))
		return NEST_ID(contains_by)(nest, NEST_WAY, hash);
	return nest->way == NEST_GROWN ? NEST_ID(contains_grown)(nest, hash)
	                               : NEST_ID(contains_by_hash)(nest, hash);
}

static uint64_t NEST_ID(count)(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	struct NEST_ID(place) place;
	NEST_ID(find)(nest, hash, &place);
	uint64_t count = 0;
	for (unsigned choice = 0; choice < 2; choice++) {
		for (unsigned word = 0; word < NEST_WORDS; word++) {
			uint64_t hits = NEST_ID(hits)(nest, &place.spot, choice, word);
			count += (unsigned)__builtin_popcountll(hits);
		}
	}
	return count + (nest->stashed > 0 ? NEST_ID(stashed)(nest, hash) : 0);
}

static nidus_status NEST_ID(insert)(void *body, uint64_t hash)
{
	struct NEST_ID(place) place;
	NEST_ID(find)(body, hash, &place);
	return NEST_ID(put)(body, &place);
}

static nidus_status NEST_ID(remove)(void *body, uint64_t hash)
{
	struct NEST_ID(place) place;
	NEST_ID(find)(body, hash, &place);
	return NEST_ID(take)(body, &place);
}

/* ----------------------------------------------------------------- in batches -- */

/*
 * NEST_AHEAD keys are on their way from memory: a key's place is taken by another
 * one's as soon as it is matched, so that memory is asked at an even pace. In
 * runs (ask for many, then match them) it is as slow as if it had fewer lines.
 */
ALWAYS_INLINE void NEST_ID(approach)(const struct nest *nest, uint64_t hash,
                                     struct NEST_ID(spot) * spot)
{
	*spot = NEST_ID(spot)(nest, NEST_WAY, hash);
	NEST_ID(fetch)(nest, spot);
}

/* For nests that find their groups in other ways, in short code. */
NEVER_INLINE void NEST_ID(look_up_otherwise)(const struct nest *nest, const uint64_t *hashes,
                                             size_t n, uint8_t *yes)
{
	struct NEST_ID(place) ring[NEST_AHEAD];
	for (size_t i = 0; i < n + NEST_AHEAD; i++) {
		struct NEST_ID(place) *place = &ring[i % NEST_AHEAD];
		if (i >= NEST_AHEAD)
			yes[i - NEST_AHEAD] = NEST_ID(match)(nest, &place->spot);
		if (i < n) {
			NEST_ID(find)(nest, hashes[i], place);
			NEST_ID(fetch)(nest, &place->spot);
		}
	}
}

ALWAYS_INLINE void NEST_ID(look_up)(const struct nest *nest, const uint64_t *hashes, size_t n,
                                    uint8_t *yes)
{
	struct NEST_ID(spot) ring[NEST_AHEAD];
	size_t ahead = n < NEST_AHEAD ? n : NEST_AHEAD, i;
	for (i = 0; i < ahead; i++)
		NEST_ID(approach)(nest, hashes[i], &ring[i]);
	for (i = 0; i < n - ahead; i++) {
		struct NEST_ID(spot) *spot = &ring[i % NEST_AHEAD];
		yes[i] = NEST_ID(match)(nest, spot);
		NEST_ID(approach)(nest, hashes[i + NEST_AHEAD], spot);
	}
	for (; i < n; i++)
		yes[i] = NEST_ID(match)(nest, &ring[i % NEST_AHEAD]);
}

static void NEST_ID(contains_batch)(const void *body, const uint64_t *hashes, size_t n,
                                    uint8_t *yes)
{
	const struct nest *nest = body;
	if (LIKELY(nest->way == NEST_WAY))
		NEST_ID(look_up)(nest, hashes, n, yes);
	else
		NEST_ID(look_up_otherwise)(nest, hashes, n, yes);
	for (size_t i = 0; UNLIKELY(nest->stashed > 0) && i < n; i++)
		yes[i] = yes[i] || NEST_ID(contains_stashed)(nest, hashes[i]);
}

/* The same for changes, in input order up to the first failure. */
ALWAYS_INLINE nidus_status NEST_ID(change)(struct nest *nest, const uint64_t *hashes, size_t n,
                                           size_t *done,
                                           nidus_status (*step)(struct nest *nest,
                                                                const struct NEST_ID(place) *))
{
	struct NEST_ID(place) ring[NEST_AHEAD];
	for (size_t i = 0; i < n + NEST_AHEAD; i++) {
		struct NEST_ID(place) *place = &ring[i % NEST_AHEAD];
		if (LIKELY(i >= NEST_AHEAD)) {
			*done = i - NEST_AHEAD;
			nidus_status status = step(nest, place);
			if (UNLIKELY(status != NIDUS_OK))
				return status;
		}
		if (LIKELY(i < n)) {
			NEST_ID(find)(nest, hashes[i], place);
			NEST_ID(fetch)(nest, &place->spot);
		}
	}
	*done = n;
	return NIDUS_OK;
}

static nidus_status NEST_ID(insert_batch)(void *body, const uint64_t *hashes, size_t n,
                                          size_t *done)
{
	return NEST_ID(change)(body, hashes, n, done, NEST_ID(put));
}

static nidus_status NEST_ID(remove_batch)(void *body, const uint64_t *hashes, size_t n,
                                          size_t *done)
{
	return NEST_ID(change)(body, hashes, n, done, NEST_ID(take));
}

/*
 * In bulk: the hashes are of one chunk, which lies in the cache. Where some of them
 * belong is worked out before they are put there all the same: after a wrong guess the
 * next is ready.
 */
ALWAYS_INLINE struct NEST_ID(spot) NEST_ID(spot_near)(const struct nest *nest, uint64_t hash)
{
	struct nest_key key = LIKELY(nest->way == NEST_WAY)
	                              ? nest_locate_as(nest, NEST_KIND, NEST_WAY, hash)
	                              : nest_locate_as(nest, NEST_KIND, NEST_BY_HASH, hash);
	return (struct NEST_ID(spot)){
		.bit = { key.group[0] * NEST_STEP, key.group[1] * NEST_STEP },
		.value = key.value,
	};
}

NEVER_INLINE nidus_status NEST_ID(crowd_near)(struct nest *nest, uint64_t hash)
{
	struct NEST_ID(place) place;
	NEST_ID(find)(nest, hash, &place);
	return NEST_ID(crowd)(nest, &place);
}

static nidus_status NEST_ID(insert_near)(void *body, const uint64_t *hashes, size_t n, size_t step)
{
	struct nest *nest = body;
	struct nest_chunk *chunk = &nest->chunk[multiply_high(hashes[0], nest->chunks)];
	unsigned char *bits = nest_chunk_bits(nest, multiply_high(hashes[0], nest->chunks));
	struct NEST_ID(spot) spots[NEST_NEAR];
	for (size_t left = (n + step - 1) / step; left > 0; hashes += NEST_NEAR * step) {
		size_t some = left < NEST_NEAR ? left : NEST_NEAR, crowded = 0;
		for (size_t i = 0; i < some; i++) {
			spots[i] = NEST_ID(spot_near)(nest, hashes[i * step]);
			PREFETCH(bits + (spots[i].bit[0] >> 3));
			PREFETCH(bits + (spots[i].bit[1] >> 3));
		}
		for (size_t i = 0; i < some; i++) {
			if (LIKELY(NEST_ID(settle)(nest, bits, NEST_CORE, &spots[i])))
				continue;
			crowded++;
			nidus_status status = NEST_ID(crowd_near)(nest, hashes[i * step]);
			if (UNLIKELY(status != NIDUS_OK))
				return status;
		}
		chunk->used += some - crowded;
		left -= some;
	}
	return NIDUS_OK;
}

static const struct body_ops NEST_ID(ops) = {
	.contains = NEST_ID(contains),
	.count = NEST_ID(count),
	.insert = NEST_ID(insert),
	.remove = NEST_ID(remove),
	.contains_batch = NEST_ID(contains_batch),
	.insert_batch = NEST_ID(insert_batch),
	.remove_batch = NEST_ID(remove_batch),
	.insert_near = NEST_ID(insert_near),
};

#undef NEST_FIELDS
#undef NEST_WORDS
#undef NEST_FIELD_ONE
#undef NEST_ONES
#undef NEST_WORD_BITS
#undef NEST_GRAIN
#undef NEST_SHIFT_FROM
#undef NEST_BY_FOURS
#undef NEST_ALIGN
#undef NEST_SHIFT
#undef NEST_LOAD
#undef NEST_LAST_BYTE
#undef NEST_PAIRED
#undef NEST_WAY
#undef NEST_STEP
#undef NEST_SPAN
#undef NEST_CORE

/* SPDX-License-Identifier: MIT
 *
 * nest_shape: what the code for a nest is compiled for, and how it reads slots.
 *
 * The hot functions of nests (here, lookup.h, change.h, search.h) stand once
 * and take a shape. The instances pass a constant one, and the compiler leaves out what
 * the shape does not need; cold code passes the nest's own (nest_shape_of) and gets the
 * same thing, slower. What differs from width to width are numbers, which the nest holds:
 * one instance serves many widths, with growth bits or without.
 *
 * A group is compared in words. In a word all slots are compared at once: XOR with what
 * the key would look like in each of them, then look for zero fields. No branch until
 * both groups are read: a branch per slot would be mispredicted about once per lookup,
 * and costs more than it saves.
 *
 *     x = word ^ wanted         a field is zero if its slot holds the key
 *     (x - ones) & ~x & highs   not zero if a field of x is, and then its lowest bit is
 *                               right: only above it may a borrow report too much
 */
#ifndef NIDUS_NEST_SHAPE_H
#define NIDUS_NEST_SHAPE_H

#include "base/atomic.h"
#include "nest/nest.h"
#include "nest/shared.h"
#include "simd/select.h"

#include <assert.h>

#define NEST_AHEAD 16 /* keys on their way: enough to hide memory's latency, */
#define NEST_NEAR 16  /* or that of a cache and of what comes before a load */

struct nest_shape {
	/*
	 * NEST_XOR stands for NEST_DIRECT, too, and outside of searches NEST_WINDOWS for
	 * NEST_BUCKETS: a bucket is a window that no other overlaps.
	 */
	enum nest_kind kind;
	unsigned slots; /* 0 where only searches ask */
	enum nest_words words;
	bool shared; /* words of the table are atomic, changes take locks */
	enum nest_path path;
};

static inline struct nest_shape nest_shape_of(const struct nest *nest)
{
	return (struct nest_shape){
		.kind = nest->layout->kind == NEST_DIRECT ? NEST_XOR : nest->layout->kind,
		.slots = nest->layout->slots,
		.words = nest->layout->in_words,
		.shared = nest->shared != NULL,
		.path = NEST_ANY_PATH,
	};
}

/* ---------------------------------------------------------------------- words -- */

/* Words of a group. */
ALWAYS_INLINE unsigned nest_words(const struct nest *nest, struct nest_shape shape)
{
	return shape.words < NEST_TWO ? 1 : shape.words == NEST_TWO ? 2 : nest->layout->words;
}

/* What is loaded for a word that begins at a bit of some slots; anything above it. */
ALWAYS_INLINE uint64_t nest_load(const struct nest *nest, struct nest_shape shape,
                                 const unsigned char *bits, uint64_t bit)
{
	/* From a multiple of four bytes: fewer loads reach into a second cache line. */
	if (shape.words == NEST_PAIRED)
		return (shape.shared ? word_load_halves(bits, bit >> 5)
		                     : load64(bits + (bit >> 5) * 4)) >>
		       (bit & 31);
	if (shape.shared)
		return word_bits(bits, bit, nest->layout->load_bits);
	if (shape.words == NEST_BYTES)
		return load64(bits + (bit >> 3));
	return load64(bits + (bit >> 3)) >> (bit & 7);
}

/* Coded buckets that are too wide for a word are not looked at while others change them. */
ALWAYS_INLINE bool nest_too_wide(struct nest_shape shape)
{
	return nest_coded(shape.kind) && shape.shared && shape.words == NEST_MANY;
}

/* Coded buckets that are worked on in a word. */
ALWAYS_INLINE bool nest_coded_in_word(struct nest_shape shape)
{
	return nest_coded(shape.kind) && shape.words == NEST_ONE;
}

/* Word number `word` of the group that begins at a bit of some slots, as fields. */
ALWAYS_INLINE uint64_t nest_word(const struct nest *nest, struct nest_shape shape,
                                 const unsigned char *bits, uint64_t bit, unsigned word)
{
	if (nest_too_wide(shape))
		return nest_shared_coded_word(nest, bits, bit, word);
	if (nest_coded(shape.kind) && shape.words == NEST_MANY)
		return coded_fields(bits, nest->layout->width, bit, word * nest->layout->fields,
		                    nest->layout->fields);
	if (nest_coded(shape.kind))
		return coded_fields_in(&nest->layout->coding, nest_load(nest, shape, bits, bit));
	if (shape.words == NEST_TWO && !shape.shared && word == 1)
		return load64(bits + (bit >> 3) + nest->layout->half_bytes) >>
		       ((bit & 7) + nest->layout->half_bits);
	return nest_load(nest, shape, bits, bit + (uint64_t)word * nest->layout->word_bits);
}

/* Whether a slot of a coded bucket is empty. */
ALWAYS_INLINE bool nest_coded_empty(const struct nest *nest, struct nest_shape shape,
                                    const unsigned char *bits, uint64_t bit)
{
	return coded_first_empty(&nest->layout->coding,
	                         coded_parts_in(&nest->layout->coding,
	                                        nest_load(nest, shape, bits, bit)));
}

/* What a slot holds; anything in the bits above. */
ALWAYS_INLINE uint64_t nest_slot(const struct nest *nest, struct nest_shape shape,
                                 const unsigned char *bits, uint64_t slot)
{
	if (nest_coded(shape.kind)) {
		uint64_t bit = slot / shape.slots * nest->layout->group_bits;
		unsigned at = slot % shape.slots;
		if (nest_coded_in_word(shape))
			return coded_get_in(&nest->layout->coding,
			                    nest_load(nest, shape, bits, bit), at);
		return nest_word(nest, shape, bits, bit, at / nest->layout->fields) >>
		       at % nest->layout->fields * nest->layout->width;
	}
	uint64_t bit = slot * nest->layout->width;
	if (shape.shared)
		return word_bits(bits, bit, nest->layout->width);
	return load64(bits + (bit >> 3)) >> (bit & 7);
}

/* ---------------------------------------------------------------------- spots -- */

/*
 * Where a call looks. Bits are counted from the table's first one; lookups of one key count
 * them from that of the chunk and pass where it begins, which is shorter.
 */
struct nest_spot {
	uint64_t bit[2];            /* where the groups begin */
	uint64_t value;             /* of the key: see struct nest_key */
	const uint32_t *version[2]; /* shared: what lookups watch (shared.h) */
	bool unusual;               /* shared, coded: a group has two stripes */
};

/* What the numbers of a probe are (base/probe.h). */
enum {
	NEST_PROBE_FIRST,   /* where the groups begin, as bits of the table */
	NEST_PROBE_SECOND,
	NEST_PROBE_VALUE,
	NEST_PROBE_WATCHED, /* shared: the pair, or the stripes of both groups, 32 bits each */
};

/* Sets the spot of a key, but for versions. */
ALWAYS_INLINE void nest_spot_of(const struct nest *nest, const struct nest_key *key,
                                uint64_t chunk_bit, struct nest_spot *spot)
{
	assert(chunk_bit == key->chunk * nest->layout->stride_bits);
	spot->bit[0] = chunk_bit + key->group[0] * nest->layout->group_bits;
	spot->bit[1] = chunk_bit + key->group[1] * nest->layout->group_bits;
	spot->value = key->value;
}

/* Sets the spot of a hash, but for versions, and gives its key. */
ALWAYS_INLINE struct nest_key nest_find(const struct nest *nest, struct nest_shape shape,
                                        uint64_t hash, struct nest_spot *spot)
{
	struct nest_key key = nest_locate_as(nest, shape.kind, shape.path, hash);
	uint64_t chunk_bit =
		shape.path == NEST_SHORT_PATH ? 0 : key.chunk * nest->layout->stride_bits;
	nest_spot_of(nest, &key, chunk_bit, spot);
	return key;
}

/* Asks for all that a group's words are loaded from: it may lie in two cache lines. */
ALWAYS_INLINE void nest_fetch(const struct nest *nest, struct nest_shape shape, uint64_t bit)
{
	const unsigned char *at = nest->bits + (bit >> 3);
	if (shape.words == NEST_PAIRED)
		at = nest->bits + (bit >> 5) * 4;
	PREFETCH(at);
	if (shape.words == NEST_PAIRED || (shape.words <= NEST_ONE && !shape.shared))
		PREFETCH(at + 7);
	else if (shape.shared)
		PREFETCH(nest->bits + ((bit + nest->layout->span - 1) >> 3));
	else
		PREFETCH(at + nest->layout->last_byte);
}

/* ------------------------------------------------------------------ comparing -- */

/* A word of a group in which every field is zero whose slot holds the key. */
ALWAYS_INLINE uint64_t nest_differences(const struct nest *nest, struct nest_shape shape,
                                        const unsigned char *bits, const struct nest_spot *spot,
                                        unsigned choice, unsigned word)
{
	uint64_t fields = nest_word(nest, shape, bits, spot->bit[choice], word);
	fields ^= spot->value * nest->layout->ones;
	if (nest_symmetric(shape.kind))
		return fields;
	OPAQUE64(fields); /* or the pattern would need a register of its own */
	return fields ^ nest->layout->pattern[choice][word];
}

/* The same of both groups at once, the second in the upper half. */
ALWAYS_INLINE uint64_t nest_differences_of_both(const struct nest *nest, struct nest_shape shape,
                                                const unsigned char *bits,
                                                const struct nest_spot *spot)
{
	uint64_t wanted = spot->value * nest->layout->ones_of_both;
	if (!nest_symmetric(shape.kind))
		wanted += nest->layout->pattern_of_both;
	uint64_t first = (uint32_t)nest_load(nest, shape, bits, spot->bit[0]);
	uint64_t second = nest_load(nest, shape, bits, spot->bit[1]);
	return (first | second << 32) ^ wanted;
}

/* The highs of zero fields: not 0 if there is one, and the lowest is right. */
ALWAYS_INLINE uint64_t nest_zeros(uint64_t word, uint64_t ones, uint64_t highs)
{
	return (word - ones) & ~word & highs;
}

/*
 * Not 0 under highs if a slot of either group's word holds the key: nest_zeros of both, written
 * with an instruction less each, as x - ones is ~(ones - 1 - x).
 */
ALWAYS_INLINE uint64_t nest_hits(const struct nest *nest, struct nest_shape shape,
                                 const unsigned char *bits, const struct nest_spot *spot,
                                 unsigned word)
{
	uint64_t first = nest_differences(nest, shape, bits, spot, 0, word);
	uint64_t second = nest_differences(nest, shape, bits, spot, 1, word);
	uint64_t most = nest->layout->most;
	return ~(((most - first) | first) & ((most - second) | second));
}

/* The same for coded buckets: the highs of a group's slots that do not hold the key. */
ALWAYS_INLINE uint64_t nest_coded_misses(const struct nest *nest, struct nest_shape shape,
                                         const unsigned char *bits, const struct nest_spot *spot,
                                         unsigned choice)
{
	struct coded_wanted wanted = coded_want(&nest->layout->coding, spot->value);
	if (!nest_symmetric(shape.kind) && choice == 1)
		wanted.rests |= nest->layout->coded_choices;
	return coded_misses(&nest->layout->coding, nest_load(nest, shape, bits, spot->bit[choice]),
	                    wanted) &
	       nest->layout->coding.highs;
}

/*
 * The highs of a coded bucket's slots that are taken. It is sorted, empty slots first: the more
 * of them, the lower this number is.
 */
ALWAYS_INLINE uint64_t nest_coded_taken(const struct nest *nest, struct nest_shape shape,
                                        uint64_t bit)
{
	const struct coded_wanted nothing = { 0, 0 };
	return coded_misses(&nest->layout->coding, nest_load(nest, shape, nest->bits, bit),
	                    nothing) &
	       nest->layout->coding.highs;
}

/* Whether a slot holds the key; the stash was not asked. */
ALWAYS_INLINE bool nest_match(const struct nest *nest, struct nest_shape shape,
                              const unsigned char *bits, const struct nest_spot *spot)
{
	if (shape.words == NEST_PAIRED)
		return nest_zeros(nest_differences_of_both(nest, shape, bits, spot),
		                  nest->layout->ones_of_both, nest->layout->highs_of_both) != 0;
	if (nest_coded_in_word(shape))
		return (nest_coded_misses(nest, shape, bits, spot, 0) &
		        nest_coded_misses(nest, shape, bits, spot, 1)) !=
		       nest->layout->coding.highs;
	uint64_t hits = nest_hits(nest, shape, bits, spot, 0);
	if (shape.words == NEST_TWO)
		hits |= nest_hits(nest, shape, bits, spot, 1);
	for (unsigned word = 1; shape.words == NEST_MANY && word < nest->layout->words; word++)
		hits |= nest_hits(nest, shape, bits, spot, word);
	return (hits & nest->layout->highs) != 0;
}

/* How many slots hold the key. */
ALWAYS_INLINE unsigned nest_copies(const struct nest *nest, struct nest_shape shape,
                                   const struct nest_spot *spot)
{
	unsigned copies = 0;
	for (unsigned choice = 0; choice < 2; choice++) {
		for (unsigned word = 0; word < nest_words(nest, shape); word++) {
			uint64_t fields =
				nest_differences(nest, shape, nest->bits, spot, choice, word);
			fields = fields_zero_in(fields, nest->layout->lows, nest->layout->highs);
			copies += (unsigned)__builtin_popcountll(fields);
		}
	}
	return copies;
}

/*
 * Places in a group are told by the number of a slot's highest compared bit, counted
 * from the group's beginning; of coded buckets in a word, from that of the rests. This one
 * stands for none.
 */
#define NEST_NOWHERE 1023

/* The first place of a group of which `zeros` are nest_zeros of its words. */
ALWAYS_INLINE unsigned nest_first_place(const struct nest *nest, struct nest_shape shape,
                                        const uint64_t zeros[NEST_SLOTS_MAX])
{
	unsigned place = NEST_NOWHERE;
	for (unsigned word = nest->layout->words; shape.words == NEST_MANY && --word > 0;)
		place = zeros[word] == 0 ? place
		                         : word * nest->layout->word_bits +
		                                   (unsigned)__builtin_ctzll(zeros[word]);
	if (shape.words == NEST_TWO && zeros[1] != 0)
		place = nest->layout->word_bits + (unsigned)__builtin_ctzll(zeros[1]);
	return zeros[0] != 0 ? (unsigned)__builtin_ctzll(zeros[0]) : place;
}

/* Which slot of a group a place is. */
ALWAYS_INLINE unsigned nest_slot_at(const struct nest *nest, unsigned place)
{
	return place / nest->layout->width;
}

/* Empty slots of a word of a group, not held back if `open`, as nest_zeros says. */
ALWAYS_INLINE uint64_t nest_empty_in(const struct nest *nest, struct nest_shape shape, uint64_t bit,
                                     bool open, unsigned word)
{
	return nest_zeros(nest_word(nest, shape, nest->bits, bit, word), nest->layout->ones,
	                  open ? nest->layout->open[word] : nest->layout->highs);
}

/*
 * The same for coded buckets: a place of the first slot, which is empty if any is, and the lower
 * the more are.
 */
ALWAYS_INLINE unsigned nest_coded_vacancy(const struct nest *nest, struct nest_shape shape,
                                          uint64_t bit)
{
	unsigned taken = 0;
	if (nest_coded_in_word(shape))
		taken = (unsigned)__builtin_popcountll(nest_coded_taken(nest, shape, bit));
	for (unsigned word = 0; shape.words == NEST_MANY && word < nest->layout->words; word++) {
		uint64_t fields = nest_word(nest, shape, nest->bits, bit, word);
		uint64_t empty = fields_zero_in(fields, nest->layout->lows, nest->layout->highs);
		taken += nest->layout->fields - (unsigned)__builtin_popcountll(empty);
	}
	return taken == CODED_SLOTS ? NEST_NOWHERE : taken;
}

/* The first place of a group that is empty, and not held back if `open`. */
ALWAYS_INLINE unsigned nest_vacancy(const struct nest *nest, struct nest_shape shape, uint64_t bit,
                                    bool open)
{
	uint64_t zeros[NEST_SLOTS_MAX];
	if (nest_coded(shape.kind))
		return nest_coded_vacancy(nest, shape, bit);
	zeros[0] = nest_empty_in(nest, shape, bit, open, 0);
	if (shape.words == NEST_TWO)
		zeros[1] = nest_empty_in(nest, shape, bit, open, 1);
	for (unsigned word = 1; shape.words == NEST_MANY && word < nest->layout->words; word++)
		zeros[word] = nest_empty_in(nest, shape, bit, open, word);
	return nest_first_place(nest, shape, zeros);
}

/* Slots of a word of a key's group that hold it, as nest_zeros says. */
ALWAYS_INLINE uint64_t nest_copies_in(const struct nest *nest, struct nest_shape shape,
                                      const struct nest_spot *spot, unsigned choice, unsigned word)
{
	return nest_zeros(nest_differences(nest, shape, nest->bits, spot, choice, word),
	                  nest->layout->ones, nest->layout->highs);
}

/* The first place of a key's group that holds it. */
ALWAYS_INLINE unsigned nest_copy_in(const struct nest *nest, struct nest_shape shape,
                                    const struct nest_spot *spot, unsigned choice)
{
	uint64_t zeros[NEST_SLOTS_MAX];
	if (nest_coded_in_word(shape)) {
		uint64_t hits = nest->layout->coding.highs ^
		                nest_coded_misses(nest, shape, nest->bits, spot, choice);
		return hits != 0 ? (unsigned)__builtin_ctzll(hits) : NEST_NOWHERE;
	}
	zeros[0] = nest_copies_in(nest, shape, spot, choice, 0);
	if (shape.words == NEST_TWO)
		zeros[1] = nest_copies_in(nest, shape, spot, choice, 1);
	for (unsigned word = 1; shape.words == NEST_MANY && word < nest->layout->words; word++)
		zeros[word] = nest_copies_in(nest, shape, spot, choice, word);
	return nest_first_place(nest, shape, zeros);
}

#endif

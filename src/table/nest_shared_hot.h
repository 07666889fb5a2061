/* SPDX-License-Identifier: MIT
 *
 * nest_shared_hot: the hot operations of a nest that threads share, written once,
 * compiled per kind, slots of a group, and width.
 *
 * A template: no include guard. Whoever includes it defines
 *
 *   NEST_KIND   a nest_kind
 *   NEST_L      slots per group: 2, 4 or 8
 *   NEST_W      slot width: a constant, or `nest->width` for all nests that have none
 *               of the constants, or find their groups in another way than large ones do
 *   NEST_ID(x)  the name of x in this instance
 *
 * and gets `static const struct nest_shared_hot NEST_ID(ops)`. nest_widths.h does that
 * for all widths.
 *
 * Here are the words of a table; lookups are in nest_shared_look.h, inserts in
 * nest_shared_put.h, the search for room in search_ops.h. All that is rare is in
 * nest_shared_ops.h, once for all widths.
 */
#include "table/nest_shared.h"

/* Whether numbers of the nest are known at compile time. */
#define NEST_FIXED __builtin_constant_p(NEST_W)
#define NEST_CORE (NEST_FIXED ? (NEST_W)-nest_extra_bits(NEST_KIND, NEST_L) : nest->core_bits)
#define NEST_WAY (NEST_FIXED ? nest_way_of_large(NEST_KIND, NEST_CORE) : nest->way)
/* Bits from group to group, and of a group. */
#define NEST_STEP nest_group_bits(NEST_KIND, NEST_L, NEST_W)
#define NEST_SPAN (NEST_KIND == NEST_CODED ? CODED_BITS(NEST_W) : (uint64_t)NEST_L * (NEST_W))
/* As in nest_ops.h: a group is compared in words of some slots. */
#define NEST_FIELDS fields_in_word(NEST_L, NEST_W)
#define NEST_WORDS (NEST_FIXED ? NEST_L / NEST_FIELDS : nest->shared->words)
#define NEST_ONES (NEST_FIXED ? fields_ones(NEST_W, NEST_FIELDS) : nest->shared->ones)
#define NEST_WORD_BITS (NEST_FIXED ? NEST_FIELDS * (NEST_W) : nest->shared->word_bits)
/* Words begin at multiples of so many bits. */
#define NEST_GRAIN \
	(NEST_FIXED ? (unsigned)((NEST_STEP | NEST_WORD_BITS) & -(NEST_STEP | NEST_WORD_BITS)) : 1u)
/* The same for slots. */
#define NEST_SLOT_GRAIN (NEST_FIXED ? (NEST_W) & (0u - (NEST_W)) : 1u)
/* A coded bucket that does not fit into a word is not looked at here. */
#define NEST_TOO_WIDE (NEST_KIND == NEST_CODED && NEST_WORDS > 1)
/* Some slots of the group that begins at a bit of some slots. */
ALWAYS_INLINE uint64_t NEST_ID(word_in)(const struct nest *nest, const unsigned char *bits,
                                        uint64_t bit, unsigned word)
{
	(void)nest; /* not always part of NEST_W */
	if (NEST_TOO_WIDE)
		return 0;
	if (NEST_KIND == NEST_CODED)
		return coded_fields_in(word_bits(bits, bit, NEST_SPAN), NEST_W);
	bit += (uint64_t)word * NEST_WORD_BITS;
	return word_bits_by(bits, bit, NEST_WORD_BITS, NEST_GRAIN);
}

/* What a slot holds; anything in the bits above. */
ALWAYS_INLINE uint64_t NEST_ID(slot_in)(const struct nest *nest, const unsigned char *bits,
                                        uint64_t slot)
{
	(void)nest;
	if (NEST_KIND == NEST_CODED)
		return NEST_ID(word_in)(nest, bits, slot / NEST_L * NEST_STEP, 0) >>
		       slot % NEST_L * (NEST_W);
	return word_bits_by(bits, slot * (NEST_W), NEST_W, NEST_SLOT_GRAIN);
}

/* Asks for all that a group's words are read from. */
ALWAYS_INLINE void NEST_ID(fetch)(const struct nest *nest, const unsigned char *bits, uint64_t bit)
{
	enum word_reach reach = word_reach(NEST_WORD_BITS, NEST_GRAIN);
	PREFETCH(bits + (bit >> 3));
	if (NEST_WORDS == 1 && reach == WORD_HALVES && NEST_KIND != NEST_CODED)
		PREFETCH(bits + (bit >> 5) * 4 + 7);
	else if (NEST_WORDS > 1 || reach != WORD_WHOLE)
		PREFETCH(bits + ((bit + NEST_SPAN - 1) >> 3));
}

#define NEST_SHARED true
#include "table/nest_shared_look.h"
#include "table/nest_shared_put.h"
#include "table/search_ops.h"
#undef NEST_SHARED

/* The chain of search_ops.h; a bucket that is too wide for it has none yet. */
static bool NEST_ID(begin_chain)(struct search *search, struct nest *nest,
                                 const struct nest_key *key, unsigned *at, uint64_t *empty)
{
	if (!NEST_TOO_WIDE)
		return NEST_ID(chain)(search, nest, key, at, empty);
	search_begin(search, nest, NEST_KIND, NEST_L, key);
	*at = 0;
	return false;
}

static const struct nest_shared_hot NEST_ID(ops) = {
	.contains = NEST_ID(contains),
	.contains_batch = NEST_ID(contains_batch),
	.insert = NEST_ID(insert),
	.insert_batch = NEST_ID(insert_batch),
	.chain = NEST_ID(begin_chain),
};

#undef NEST_FIXED
#undef NEST_CORE
#undef NEST_WAY
#undef NEST_STEP
#undef NEST_SPAN
#undef NEST_FIELDS
#undef NEST_WORDS
#undef NEST_ONES
#undef NEST_WORD_BITS
#undef NEST_GRAIN
#undef NEST_SLOT_GRAIN
#undef NEST_TOO_WIDE

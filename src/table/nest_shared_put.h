/* SPDX-License-Identifier: MIT
 *
 * nest_shared_put: inserts into a nest that threads share, for nest_shared_hot.h to
 * include.
 *
 * Here is the usual case: a group has an empty slot, and that slot lies in one region.
 * An insert needs the lock of this region alone: whatever happens to the other group
 * cannot make it wrong. What is not usual is done by nest_shared->insert.
 */

/* A place behind all slots of a group. */
#define NEST_NONE (NEST_L * (NEST_W))

/* Where an insert looks. */
struct NEST_ID(site) {
	uint64_t bit[2]; /* where the groups begin, counted from the chunk's first bit */
	uint64_t value;
	unsigned char *bits;    /* the chunk's */
	struct stripe *stripes; /* the chunk's */
};

ALWAYS_INLINE struct NEST_ID(site) NEST_ID(site_of)(const struct nest *nest, uint64_t hash)
{
	const struct stripes *stripes = &nest->shared->stripes;
	struct nest_key key = nest_locate_as(nest, NEST_KIND, NEST_WAY, hash);
	return (struct NEST_ID(site)){
		.bit = { key.group[0] * NEST_STEP, key.group[1] * NEST_STEP },
		.value = key.value,
		.bits = nest_chunk_bits(nest, key.chunk),
		.stripes = stripes->stripe + (key.chunk << stripes->chunk_log),
	};
}

ALWAYS_INLINE struct stripe *NEST_ID(stripe_at)(const struct nest *nest,
                                                const struct NEST_ID(site) * site, uint64_t bit)
{
	return &site->stripes[stripe_of(&nest->shared->stripes, bit >> 3)];
}

/*
 * Where the first empty slot of a group is, among `open` fields if given: so many
 * bits behind the group's beginning; NEST_NONE if there is none.
 */
ALWAYS_INLINE unsigned NEST_ID(vacancy)(const struct nest *nest, const unsigned char *bits,
                                        uint64_t bit, const uint64_t *open)
{
	const uint64_t ones = NEST_ONES, highs = ones << ((NEST_W)-1);
	unsigned at = NEST_NONE;
	for (unsigned word = NEST_WORDS; word-- > 0;) {
		uint64_t fields = NEST_ID(word_in)(nest, bits, bit, word), empty;
		if (open != NULL)
			empty = fields_zero(fields, NEST_W, ones) & open[word];
		else /* only the lowest has to be right (see fields_any_zero) */
			empty = (fields - ones) & ~fields & highs;
		/* Where one more slot would have room in the word, it stands for none. */
		if ((NEST_L + 1) * (NEST_W) <= 64) {
			empty |= (highs << (NEST_W)) & ~highs;
			return (unsigned)__builtin_ctzll(empty) - ((NEST_W)-1);
		}
		if (empty != 0)
			at = word * NEST_WORD_BITS + (unsigned)__builtin_ctzll(empty) -
			     ((NEST_W)-1);
	}
	return at;
}

/* The group that takes a key, as in nest_ops.h; *at is where, or as vacancy says. */
ALWAYS_INLINE unsigned NEST_ID(choose)(const struct nest *nest, const struct NEST_ID(site) * site,
                                       unsigned *at)
{
	const unsigned none = NEST_NONE;
	const uint64_t *open = nest_symmetric(NEST_KIND) ? nest->open : NULL;
	/* Both before any branch: which of the two it will be nobody can predict. */
	unsigned first = NEST_ID(vacancy)(nest, site->bits, site->bit[0], open);
	unsigned second = NEST_ID(vacancy)(nest, site->bits, site->bit[1], NULL);
	uint64_t choice = first == none;
	if (NEST_KIND == NEST_BUCKETS)
		choice = second < first;
	else if (NEST_KIND == NEST_WINDOWS)
		choice |= (uint64_t)(second < first) &
		          (site->bit[1] - site->bit[0] + none > 2 * none);
	uint64_t mask = 0 - choice;
	OPAQUE64(mask);
	*at = first ^ ((first ^ second) & (unsigned)mask);
	if (nest_symmetric(NEST_KIND) && UNLIKELY(*at == none)) { /* what is held back */
		*at = NEST_ID(vacancy)(nest, site->bits, site->bit[0], NULL);
		choice = 0;
	}
	return (unsigned)choice;
}

/* Writes a key into an empty slot of its group `choice`, if it still is; that is locked. */
ALWAYS_INLINE bool NEST_ID(fill)(const struct nest *nest, const struct NEST_ID(site) * site,
                                 unsigned choice, unsigned at)
{
	uint64_t bit = site->bit[choice], value = site->value;
	if (NEST_KIND == NEST_CODED) {
		unsigned char copy[16] = { 0 };
		store64(copy, word_bits(site->bits, bit, NEST_SPAN) & bits_low(NEST_SPAN));
		if (coded_get_at(copy, NEST_W, 0, at / (NEST_W)) != 0)
			return false;
		coded_set_at(copy, NEST_W, 0, at / (NEST_W), value);
		word_set_bits(site->bits, bit, NEST_SPAN, load64(copy));
		return true;
	}
	bit += at;
	if (NEST_KIND == NEST_BUCKETS)
		value |= (uint64_t)choice << NEST_CORE;
	else if (NEST_KIND == NEST_WINDOWS)
		value |= (uint64_t)(choice | at / (NEST_W) << 1) << NEST_CORE;
	return word_fill_bits(site->bits, bit, NEST_W, NEST_SLOT_GRAIN, value);
}

/* Tries to put a key in; false if it takes more than this. `at` tells where it was tried. */
ALWAYS_INLINE bool NEST_ID(settle)(const struct nest *nest, const struct NEST_ID(site) * site,
                                   unsigned *at)
{
	unsigned choice = NEST_ID(choose)(nest, site, at);
	uint64_t first = site->bit[choice] + (NEST_KIND == NEST_CODED ? 0 : *at);
	uint64_t last = first + (NEST_KIND == NEST_CODED ? NEST_SPAN : (NEST_W)) - 1;
	if (NEST_TOO_WIDE ||
	    UNLIKELY((*at == NEST_NONE) | ((first ^ last) >> (STRIPES_REGION_LOG + 3) != 0)))
		return false;
	struct stripe *stripe = NEST_ID(stripe_at)(nest, site, first);
	uint32_t before = version_lock(&stripe->version);
	bool filled = NEST_ID(fill)(nest, site, choice, *at);
	stripe_count(stripe, filled);
	version_unlock_from(&stripe->version, before);
	return filled;
}

/* The rest of an insert that settle left. */
NEVER_INLINE nidus_status NEST_ID(insert_otherwise)(struct nest *nest, uint64_t hash, unsigned at)
{
	struct NEST_ID(lens) lens = NEST_ID(lens_of)(nest);
	struct NEST_ID(spot) spot;
	NEST_ID(find)(nest, &lens, hash, &spot);
	bool crowded = !NEST_TOO_WIDE && at == NEST_NONE && !NEST_ID(match)(nest, &lens, &spot);
	return nest->shared->insert(nest, hash, crowded);
}

/* NEST_AHEAD keys are on their way from memory, with their locks. */
ALWAYS_INLINE void NEST_ID(come_to)(const struct nest *nest, uint64_t hash,
                                    struct NEST_ID(site) * site)
{
	*site = NEST_ID(site_of)(nest, hash);
	for (unsigned i = 0; i < 2; i++) {
		NEST_ID(fetch)(nest, site->bits, site->bit[i]);
		PREFETCH_WRITE(NEST_ID(stripe_at)(nest, site, site->bit[i]));
	}
}

/* In input order up to the first failure. */
static nidus_status NEST_ID(insert_batch)(void *body, const uint64_t *hashes, size_t n,
                                          size_t *done)
{
	struct nest *nest = body;
	struct NEST_ID(site) ring[NEST_AHEAD];
	const size_t ahead = n < NEST_AHEAD ? n : NEST_AHEAD;
	for (size_t i = 0; i < n + ahead; i++) {
		struct NEST_ID(site) *site = &ring[i % NEST_AHEAD];
		if (LIKELY(i >= ahead)) {
			unsigned at;
			*done = i - ahead;
			if (UNLIKELY(!NEST_ID(settle)(nest, &ring[*done % NEST_AHEAD], &at))) {
				nidus_status status =
					NEST_ID(insert_otherwise)(nest, hashes[*done], at);
				if (UNLIKELY(status != NIDUS_OK))
					return status;
			}
		}
		if (LIKELY(i < n))
			NEST_ID(come_to)(nest, hashes[i], site);
	}
	*done = n;
	return NIDUS_OK;
}

static nidus_status NEST_ID(insert)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	struct NEST_ID(site) site = NEST_ID(site_of)(nest, hash);
	unsigned at;
	return LIKELY(NEST_ID(settle)(nest, &site, &at))
	               ? NIDUS_OK
	               : NEST_ID(insert_otherwise)(nest, hash, at);
}
#undef NEST_NONE

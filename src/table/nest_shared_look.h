/* SPDX-License-Identifier: MIT
 *
 * nest_shared_look: lookups in a nest that threads share, for nest_shared_hot.h to
 * include.
 *
 * Here is the usual case: nobody is at work in the same place, and the stash is
 * empty. What is not usual is asked again by nest_shared->look.
 */

/* Whether one word holds both groups of a key. */
#define NEST_PAIRED \
	(NEST_FIXED && NEST_KIND != NEST_CODED && NEST_WORDS == 1 && NEST_WORD_BITS <= 32)
/* Versions that a lookup watches: of its pair, or of both groups' stripes. */
#define NEST_VERSIONS (NEST_KIND == NEST_CODED ? 2 : 1)

/* Where a lookup looks. */
struct NEST_ID(spot) {
	uint64_t bit[2]; /* where the groups begin, counted from the table's first bit */
	uint64_t value;
	const uint32_t *version[2]; /* NEST_VERSIONS of them */
	bool unusual;               /* coded: a group has two stripes */
};

/* What stays the same from key to key. */
struct NEST_ID(lens) {
	const struct stripes *stripes;
	const uint32_t *pairs;
	uint64_t ones; /* see slots.h */
};

ALWAYS_INLINE struct NEST_ID(lens) NEST_ID(lens_of)(const struct nest *nest)
{
	const struct nest_shared *shared = nest->shared;
	return (struct NEST_ID(lens)){
		.stripes = &shared->stripes,
		.pairs = shared->pair_version,
		.ones = NEST_FIXED ? fields_ones(NEST_W, NEST_FIELDS) : shared->ones,
	};
}

/* The versions of both groups' stripes. */
ALWAYS_INLINE void NEST_ID(watch_groups)(const struct nest *nest, const struct nest_key *key,
                                         struct NEST_ID(spot) * spot)
{
	const struct stripes *stripes = &nest->shared->stripes;
	uint64_t crosses = 0;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t bit = key->group[i] * NEST_STEP;
		uint32_t stripe = stripe_in_chunk(stripes, key->chunk, bit >> 3);
		spot->version[i] = &stripes->stripe[stripe].version;
		crosses |= bit ^ (bit + NEST_SPAN - 1);
	}
	spot->unusual = crosses >> (STRIPES_REGION_LOG + 3) != 0;
}

ALWAYS_INLINE void NEST_ID(find)(const struct nest *nest, const struct NEST_ID(lens) * lens,
                                 uint64_t hash, struct NEST_ID(spot) * spot)
{
	struct nest_key key = nest_locate_as(nest, NEST_KIND, NEST_WAY, hash);
	uint64_t chunk_bit = key.chunk * nest->stride_bits;
	spot->bit[0] = chunk_bit + key.group[0] * NEST_STEP;
	spot->bit[1] = chunk_bit + key.group[1] * NEST_STEP;
	spot->value = key.value;
	if (NEST_KIND == NEST_CODED)
		NEST_ID(watch_groups)(nest, &key, spot);
	else
		spot->version[0] = lens->pairs + nest_pair(lens->stripes, &key);
}

/* A word of a group in which every field is zero whose slot holds the key. */
ALWAYS_INLINE uint64_t NEST_ID(differences)(const struct nest *nest,
                                            const struct NEST_ID(lens) * lens,
                                            const struct NEST_ID(spot) * spot, unsigned choice,
                                            unsigned word)
{
	uint64_t wanted = spot->value * lens->ones + nest->pattern[choice][word];
	return NEST_ID(word_in)(nest, nest->bits, spot->bit[choice], word) ^ wanted;
}

ALWAYS_INLINE bool NEST_ID(match)(const struct nest *nest, const struct NEST_ID(lens) * lens,
                                  const struct NEST_ID(spot) * spot)
{
	if (NEST_PAIRED) {
		uint64_t wanted = spot->value * nest->ones_of_both + nest->pattern_of_both;
		uint64_t first = (uint32_t)NEST_ID(word_in)(nest, nest->bits, spot->bit[0], 0);
		uint64_t second = NEST_ID(word_in)(nest, nest->bits, spot->bit[1], 0);
		return fields_any_zero((first | second << 32) ^ wanted, NEST_W,
		                       lens->ones | lens->ones << 32);
	}
	bool hit = false;
	for (unsigned word = 0; word < NEST_WORDS; word++) {
		uint64_t first = NEST_ID(differences)(nest, lens, spot, 0, word);
		uint64_t second = NEST_ID(differences)(nest, lens, spot, 1, word);
		hit |= fields_any_zero_of(first, second, NEST_W, lens->ones);
	}
	return hit;
}

/* Whether a slot holds the key. False as an answer: it has to be looked at again. */
ALWAYS_INLINE bool NEST_ID(look)(const struct nest *nest, const struct NEST_ID(lens) * lens,
                                 const struct NEST_ID(spot) * spot, bool *hit)
{
	uint32_t before[NEST_VERSIONS], differ = 0;
	for (unsigned i = 0; i < NEST_VERSIONS; i++) /* even, or not what it will be */
		before[i] = __atomic_load_n(spot->version[i], __ATOMIC_ACQUIRE) & ~UINT32_C(1);
	*hit = NEST_ID(match)(nest, lens, spot);
	for (unsigned i = 0; i < NEST_VERSIONS; i++)
		differ |= before[i] ^ __atomic_load_n(spot->version[i], __ATOMIC_ACQUIRE);
	return LIKELY(differ == 0) && !(NEST_KIND == NEST_CODED && UNLIKELY(spot->unusual)) &&
	       !NEST_TOO_WIDE;
}

static bool NEST_ID(contains)(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	struct NEST_ID(lens) lens = NEST_ID(lens_of)(nest);
	/* Before the slots: no entry goes from these to the stash. */
	bool stashed = __atomic_load_n(&nest->stashed, __ATOMIC_ACQUIRE) != 0, hit;
	struct NEST_ID(spot) spot;
	NEST_ID(find)(nest, &lens, hash, &spot);
	bool sure = NEST_ID(look)(nest, &lens, &spot, &hit);
	if (UNLIKELY(!sure) || (UNLIKELY(stashed) && !hit))
		return nest->shared->look(nest, hash);
	return hit;
}

/* ----------------------------------------------------------------- in batches -- */

/* NEST_AHEAD keys are on their way from memory, as in nest_ops.h, with their versions. */
ALWAYS_INLINE void NEST_ID(approach)(const struct nest *nest, const struct NEST_ID(lens) * lens,
                                     uint64_t hash, struct NEST_ID(spot) * spot)
{
	NEST_ID(find)(nest, lens, hash, spot);
	NEST_ID(fetch)(nest, nest->bits, spot->bit[0]);
	NEST_ID(fetch)(nest, nest->bits, spot->bit[1]);
	for (unsigned i = 0; i < NEST_VERSIONS; i++)
		PREFETCH(spot->version[i]);
}

/* An answer that is none yet. */
#define NEST_UNSURE 2

/* Gives the answers; true if some are none yet. */
ALWAYS_INLINE bool NEST_ID(look_up)(const struct nest *nest, const uint64_t *hashes, size_t n,
                                    uint8_t *yes)
{
	const struct NEST_ID(lens) lens = NEST_ID(lens_of)(nest);
	struct NEST_ID(spot) ring[NEST_AHEAD];
	size_t ahead = n < NEST_AHEAD ? n : NEST_AHEAD;
	bool all_sure = true;
	for (size_t i = 0; i < ahead; i++)
		NEST_ID(approach)(nest, &lens, hashes[i], &ring[i]);
	for (size_t i = 0; i < n; i++) {
		struct NEST_ID(spot) *spot = &ring[i % NEST_AHEAD];
		bool hit, sure = NEST_ID(look)(nest, &lens, spot, &hit);
		yes[i] = hit;
		if (UNLIKELY(!sure)) {
			yes[i] = NEST_UNSURE;
			all_sure = false;
		}
		if (LIKELY(i + NEST_AHEAD < n))
			NEST_ID(approach)(nest, &lens, hashes[i + NEST_AHEAD], spot);
	}
	return all_sure;
}

static void NEST_ID(contains_batch)(const void *body, const uint64_t *hashes, size_t n,
                                    uint8_t *yes)
{
	const struct nest *nest = body;
	/* As above: a key that came to the stash later came while this call was under way. */
	bool stashed = __atomic_load_n(&nest->stashed, __ATOMIC_ACQUIRE) != 0;
	bool all_sure = NEST_ID(look_up)(nest, hashes, n, yes);
	if (LIKELY(all_sure && !stashed))
		return;
	for (size_t i = 0; i < n; i++) {
		if (yes[i] == NEST_UNSURE || (stashed && !yes[i]))
			yes[i] = nest->shared->look(nest, hashes[i]);
	}
}

#undef NEST_PAIRED
#undef NEST_VERSIONS
#undef NEST_UNSURE

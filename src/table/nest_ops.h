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
/* Bits from group to group. */
#define NEST_STEP nest_group_bits(NEST_KIND, NEST_L, NEST_W)

/* A key on its way through a batch: addresses instead of numbers. */
struct NEST_ID(place) {
	struct nest_key key;
	unsigned char *bits;
};

static inline uint64_t NEST_ID(word)(const struct nest *nest, const unsigned char *bits,
                                     uint64_t group, unsigned word)
{
	(void)nest;
	if (NEST_KIND == NEST_CODED)
		return coded_fields(bits, NEST_W, group, word * NEST_FIELDS, NEST_FIELDS);
	uint64_t bit = group * NEST_STEP + (uint64_t)word * NEST_FIELDS * (NEST_W);
	const unsigned char *at = bits + (bit >> 3);
	unsigned shift = bit & 7;
	uint64_t fields = load64(at) >> shift;
	if (NEST_FIELDS * (NEST_W) > 57) /* may reach into a ninth byte */
		fields |= (uint64_t)at[8] << 1 << (63 - shift);
	return fields;
}

static inline uint64_t NEST_ID(hits)(const struct nest *nest, const unsigned char *bits,
                                     const struct nest_key *key, unsigned choice, unsigned word)
{
	uint64_t wanted = key->value * NEST_ONES + nest->pattern[choice][word];
	uint64_t fields = NEST_ID(word)(nest, bits, key->group[choice], word);
	return fields_zero(fields ^ wanted, NEST_W, NEST_ONES);
}

/* What the stash adds to a key's copies: it is asked only if no slot is empty. */
NEVER_INLINE uint64_t NEST_ID(stashed)(const struct nest *nest, const unsigned char *bits,
                                       const struct nest_key *key)
{
	if (nest->chunk[key->chunk].stash.count == 0)
		return 0;
	uint64_t empty = 0;
	for (unsigned word = 0; word < NEST_WORDS; word++) {
		uint64_t first = NEST_ID(word)(nest, bits, key->group[0], word);
		uint64_t second = NEST_ID(word)(nest, bits, key->group[1], word);
		empty |= fields_zero(first, NEST_W, NEST_ONES) |
		         fields_zero(second, NEST_W, NEST_ONES);
	}
	return empty != 0 ? 0 : nest_stash_count(nest, NEST_KIND, key);
}

static inline bool NEST_ID(match)(const struct nest *nest, const unsigned char *bits,
                                  const struct nest_key *key)
{
	uint64_t hits = 0;
	for (unsigned word = 0; word < NEST_WORDS; word++)
		hits |= NEST_ID(hits)(nest, bits, key, 0, word) |
		        NEST_ID(hits)(nest, bits, key, 1, word);
	if (LIKELY(nest->stashed == 0))
		return hits != 0;
	return hits != 0 || NEST_ID(stashed)(nest, bits, key) > 0;
}

/* Puts the key into the first empty slot of a candidate, among `open` fields if given. */
static inline bool NEST_ID(put_in)(struct nest *nest, unsigned char *bits,
                                   const struct nest_key *key, unsigned choice,
                                   const uint64_t *open)
{
	for (unsigned word = 0; word < NEST_WORDS; word++) {
		uint64_t fields = NEST_ID(word)(nest, bits, key->group[choice], word);
		uint64_t empty = fields_zero(fields, NEST_W, NEST_ONES);
		if (open != NULL)
			empty &= open[word];
		if (empty == 0)
			continue;
		unsigned at = word * NEST_FIELDS + (unsigned)__builtin_ctzll(empty) / (NEST_W);
		uint64_t slot = nest_first_slot(nest, NEST_KIND, key->group[choice]) + at;
		nest_set(nest, NEST_KIND, bits, slot,
		         nest_encode(nest, NEST_KIND, key->value, choice, at));
		nest->chunk[key->chunk].used++;
		return true;
	}
	return false;
}

static inline nidus_status NEST_ID(put)(struct nest *nest, unsigned char *bits,
                                        const struct nest_key *key)
{
	if (NEST_ID(put_in)(nest, bits, key, 0, nest->open) ||
	    NEST_ID(put_in)(nest, bits, key, 1, NULL))
		return NIDUS_OK;
	if (nest->reserve > 0 && NEST_ID(put_in)(nest, bits, key, 0, NULL))
		return NIDUS_OK;
	return nest_insert_crowded(nest, NEST_KIND, key);
}

static inline nidus_status NEST_ID(take)(struct nest *nest, unsigned char *bits,
                                         const struct nest_key *key)
{
	if (UNLIKELY(nest->stashed > 0) && nest_stash_remove(nest, NEST_KIND, key))
		return NIDUS_OK;
	for (unsigned choice = 0; choice < 2; choice++) {
		for (unsigned word = 0; word < NEST_WORDS; word++) {
			uint64_t hits = NEST_ID(hits)(nest, bits, key, choice, word);
			if (hits == 0)
				continue;
			unsigned at =
				word * NEST_FIELDS + (unsigned)__builtin_ctzll(hits) / (NEST_W);
			uint64_t slot = nest_first_slot(nest, NEST_KIND, key->group[choice]) + at;
			nest_set(nest, NEST_KIND, bits, slot, 0);
			nest->chunk[key->chunk].used--;
			if (UNLIKELY(nest->stashed > 0))
				nest_bring_home(nest, NEST_KIND, key->chunk, slot);
			return NIDUS_OK;
		}
	}
	return NIDUS_NOT_FOUND;
}

ALWAYS_INLINE struct NEST_ID(place) NEST_ID(locate)(const struct nest *nest, uint64_t hash)
{
	struct NEST_ID(place) place = { .key = nest_locate(nest, NEST_KIND, hash) };
	place.bits = nest_chunk_bits(nest, place.key.chunk);
	return place;
}

/* The same once more for the calls in which it is not the greater part of the work. */
NEVER_INLINE struct NEST_ID(place) NEST_ID(find)(const struct nest *nest, uint64_t hash)
{
	return NEST_ID(locate)(nest, hash);
}

/* ---------------------------------------------------------------- one by one -- */

static bool NEST_ID(contains)(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	struct NEST_ID(place) place = NEST_ID(locate)(nest, hash);
	return NEST_ID(match)(nest, place.bits, &place.key);
}

static uint64_t NEST_ID(count)(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	struct NEST_ID(place) place = NEST_ID(find)(nest, hash);
	uint64_t count = 0;
	for (unsigned choice = 0; choice < 2; choice++) {
		for (unsigned word = 0; word < NEST_WORDS; word++) {
			uint64_t hits = NEST_ID(hits)(nest, place.bits, &place.key, choice, word);
			count += (unsigned)__builtin_popcountll(hits);
		}
	}
	return count + (nest->stashed > 0 ? NEST_ID(stashed)(nest, place.bits, &place.key) : 0);
}

static nidus_status NEST_ID(insert)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	struct NEST_ID(place) place = NEST_ID(find)(nest, hash);
	return NEST_ID(put)(nest, place.bits, &place.key);
}

static nidus_status NEST_ID(remove)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	struct NEST_ID(place) place = NEST_ID(find)(nest, hash);
	return NEST_ID(take)(nest, place.bits, &place.key);
}

/* ----------------------------------------------------------------- in batches -- */

/* Locates some keys and asks the memory for their groups ahead of time. */
NEVER_INLINE void NEST_ID(approach)(const struct nest *nest, const uint64_t *hashes, size_t n,
                                    struct NEST_ID(place) * places)
{
	for (size_t i = 0; i < n; i++) {
		places[i] = NEST_ID(locate)(nest, hashes[i]);
		PREFETCH(places[i].bits + (places[i].key.group[0] * NEST_STEP >> 3));
		PREFETCH(places[i].bits + (places[i].key.group[1] * NEST_STEP >> 3));
	}
}

static void NEST_ID(contains_batch)(const void *body, const uint64_t *hashes, size_t n,
                                    uint8_t *yes)
{
	const struct nest *nest = body;
	struct NEST_ID(place) places[NEST_BATCH];
	for (size_t from = 0; from < n; from += NEST_BATCH) {
		size_t some = n - from < NEST_BATCH ? n - from : NEST_BATCH;
		NEST_ID(approach)(nest, hashes + from, some, places);
		for (size_t i = 0; i < some; i++)
			yes[from + i] = NEST_ID(match)(nest, places[i].bits, &places[i].key);
	}
}

static nidus_status NEST_ID(insert_batch)(void *body, const uint64_t *hashes, size_t n,
                                          size_t *done)
{
	struct nest *nest = body;
	struct NEST_ID(place) places[NEST_BATCH];
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < NEST_BATCH ? n - *done : NEST_BATCH;
		NEST_ID(approach)(nest, hashes + *done, some, places);
		for (size_t i = 0; i < some && status == NIDUS_OK; i++) {
			status = NEST_ID(put)(nest, places[i].bits, &places[i].key);
			*done += status == NIDUS_OK;
		}
	}
	return status;
}

static nidus_status NEST_ID(remove_batch)(void *body, const uint64_t *hashes, size_t n,
                                          size_t *done)
{
	struct nest *nest = body;
	struct NEST_ID(place) places[NEST_BATCH];
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < NEST_BATCH ? n - *done : NEST_BATCH;
		NEST_ID(approach)(nest, hashes + *done, some, places);
		for (size_t i = 0; i < some && status == NIDUS_OK; i++) {
			status = NEST_ID(take)(nest, places[i].bits, &places[i].key);
			*done += status == NIDUS_OK;
		}
	}
	return status;
}

static const struct body_ops NEST_ID(ops) = {
	.contains = NEST_ID(contains),
	.count = NEST_ID(count),
	.insert = NEST_ID(insert),
	.remove = NEST_ID(remove),
	.contains_batch = NEST_ID(contains_batch),
	.insert_batch = NEST_ID(insert_batch),
	.remove_batch = NEST_ID(remove_batch),
};

#undef NEST_FIELDS
#undef NEST_WORDS
#undef NEST_FIELD_ONE
#undef NEST_ONES
#undef NEST_STEP

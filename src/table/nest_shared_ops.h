/* SPDX-License-Identifier: MIT
 *
 * nest_shared_ops: the operations of a nest that threads share, written once,
 * compiled per kind and slots of a group.
 *
 * A template: no include guard. Whoever includes it defines NEST_KIND, NEST_L and
 * NEST_ID(x), and gets `static const struct body_ops NEST_ID(ops)`. The protocol
 * is in nest_shared.h. Words of the table are only ever read and written through
 * base/atomic.h.
 */

struct NEST_ID(place) {
	struct nest_key key;
	unsigned char *bits; /* the chunk's */
	struct stripe_watch watch;
};

static inline uint64_t NEST_ID(group_bit)(const struct nest *nest, uint64_t group)
{
	return group * nest_group_bits(NEST_KIND, NEST_L, nest->width);
}

/* Bits that a group's slots take. */
static inline uint64_t NEST_ID(span)(const struct nest *nest)
{
	return NEST_KIND == NEST_CODED ? CODED_BITS(nest->width) : (uint64_t)NEST_L * nest->width;
}

/* The stripes of a group's first and last byte, mostly the same. */
ALWAYS_INLINE void NEST_ID(watch_group)(const struct nest *nest, const unsigned char *bits,
                                        uint64_t group, uint32_t stripe[2])
{
	uint64_t chunk_byte = (uint64_t)(bits - nest->bits);
	uint64_t bit = NEST_ID(group_bit)(nest, group);
	stripe[0] = stripe_of(&nest->shared->stripes, chunk_byte + (bit >> 3));
	stripe[1] = stripe_of(&nest->shared->stripes,
	                      chunk_byte + ((bit + NEST_ID(span)(nest) - 1) >> 3));
}

ALWAYS_INLINE void NEST_ID(watch_key)(const struct nest *nest, const unsigned char *bits,
                                      const struct nest_key *key, struct stripe_watch *watch)
{
	NEST_ID(watch_group)(nest, bits, key->group[0], watch->stripe);
	NEST_ID(watch_group)(nest, bits, key->group[1], watch->stripe + 2);
}

ALWAYS_INLINE void NEST_ID(locate)(const struct nest *nest, uint64_t hash,
                                   struct NEST_ID(place) * place)
{
	place->key = nest_locate(nest, NEST_KIND, hash);
	place->bits = nest_chunk_bits(nest, place->key.chunk);
	NEST_ID(watch_key)(nest, place->bits, &place->key, &place->watch);
}

/* --------------------------------------------------------------------- slots -- */

/*
 * A coded bucket's bits, copied to where coded.h can work on them, and back. The
 * copy has room for the eight bytes that a load of its last slot may touch.
 */
#if NEST_KIND_CODED
#define NEST_COPY_BYTES 40

static inline void NEST_ID(copy_out)(const struct nest *nest, const unsigned char *bits,
                                     uint64_t group, unsigned char copy[NEST_COPY_BYTES])
{
	uint64_t bit = NEST_ID(group_bit)(nest, group), left = NEST_ID(span)(nest);
	memset(copy, 0, NEST_COPY_BYTES);
	for (unsigned at = 0; left > 0; at += 4) {
		unsigned some = left < 32 ? (unsigned)left : 32;
		store32(copy + at,
		        (uint32_t)(word_bits(bits, bit + at * 8, some) & bits_low(some)));
		left -= some;
	}
}

static inline void NEST_ID(copy_in)(const struct nest *nest, unsigned char *bits, uint64_t group,
                                    const unsigned char copy[NEST_COPY_BYTES])
{
	uint64_t bit = NEST_ID(group_bit)(nest, group), left = NEST_ID(span)(nest);
	for (unsigned at = 0; left > 0; at += 4) {
		unsigned some = left < 32 ? (unsigned)left : 32;
		word_set_bits(bits, bit + at * 8, some, load32(copy + at));
		left -= some;
	}
}
#endif

static inline uint64_t NEST_ID(get)(const struct nest *nest, const unsigned char *bits,
                                    uint64_t slot)
{
#if NEST_KIND_CODED
	unsigned char copy[NEST_COPY_BYTES];
	NEST_ID(copy_out)(nest, bits, slot / NEST_L, copy);
	return coded_get(copy, nest->width, slot % NEST_L);
#else
	return word_bits(bits, slot * nest->width, nest->width) & bits_low(nest->width);
#endif
}

/* For whoever has the stripes of the slot's group. */
static inline void NEST_ID(set)(const struct nest *nest, unsigned char *bits, uint64_t slot,
                                uint64_t value)
{
#if NEST_KIND_CODED
	unsigned char copy[NEST_COPY_BYTES];
	NEST_ID(copy_out)(nest, bits, slot / NEST_L, copy);
	coded_set(copy, nest->width, slot % NEST_L, value);
	NEST_ID(copy_in)(nest, bits, slot / NEST_L, copy);
#else
	word_set_bits(bits, slot * nest->width, nest->width, value);
#endif
}

/* Word number `word` of a group's slots as fields; anything above them. */
static inline uint64_t NEST_ID(word)(const struct nest *nest, const unsigned char *bits,
                                     uint64_t group, unsigned word)
{
	const struct nest_shared *shared = nest->shared;
#if NEST_KIND_CODED
	unsigned char copy[NEST_COPY_BYTES];
	NEST_ID(copy_out)(nest, bits, group, copy);
	return coded_fields(copy, nest->width, 0, word * shared->fields, shared->fields);
#else
	uint64_t bit = NEST_ID(group_bit)(nest, group) + (uint64_t)word * shared->word_bits;
	return word_bits(bits, bit, shared->word_bits);
#endif
}

static inline uint64_t NEST_ID(hits)(const struct nest *nest, const unsigned char *bits,
                                     const struct nest_key *key, unsigned choice, unsigned word)
{
	const struct nest_shared *shared = nest->shared;
	uint64_t wanted = key->value * shared->ones + shared->pattern[choice][word];
	uint64_t fields = NEST_ID(word)(nest, bits, key->group[choice], word);
	return fields_zero_in(fields ^ wanted, shared->lows, shared->highs);
}

/* The slot of a field that fields_zero found. */
static inline uint64_t NEST_ID(slot_at)(const struct nest *nest, uint64_t group, unsigned word,
                                        uint64_t found, unsigned *at)
{
	*at = word * nest->shared->fields + (unsigned)__builtin_ctzll(found) / nest->width;
	return nest_first_slot(nest, NEST_KIND, group) + *at;
}

/* -------------------------------------------------------------------- lookups -- */

static inline uint64_t NEST_ID(copies_seen)(const struct nest *nest, const unsigned char *bits,
                                            const struct nest_key *key)
{
	uint64_t count = 0;
	for (unsigned choice = 0; choice < 2; choice++) {
		for (unsigned word = 0; word < nest->shared->words; word++)
			count += (unsigned)__builtin_popcountll(
				NEST_ID(hits)(nest, bits, key, choice, word));
	}
	return count;
}

ALWAYS_INLINE bool NEST_ID(seen)(const struct nest *nest, const unsigned char *bits,
                                 const struct nest_key *key)
{
	uint64_t hits = NEST_ID(hits)(nest, bits, key, 0, 0) | NEST_ID(hits)(nest, bits, key, 1, 0);
	for (unsigned word = 1; UNLIKELY(word < nest->shared->words); word++)
		hits |= NEST_ID(hits)(nest, bits, key, 0, word) |
		        NEST_ID(hits)(nest, bits, key, 1, word);
	return hits != 0;
}

ALWAYS_INLINE bool NEST_ID(look)(const struct nest *nest, const struct NEST_ID(place) * place)
{
	for (unsigned tries = 0;; tries++) {
		struct stripe_versions versions;
		if (LIKELY(stripes_begin(&nest->shared->stripes, &place->watch, &versions))) {
			bool found = NEST_ID(seen)(nest, place->bits, &place->key);
			if (UNLIKELY(anything_stashed(nest)))
				found = found ||
				        shared_stash_count(nest, NEST_KIND, &place->key) > 0;
			if (LIKELY(stripes_same(&nest->shared->stripes, &place->watch, &versions)))
				return found;
		}
		stripes_pause(tries);
	}
}

static bool NEST_ID(contains)(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	struct NEST_ID(place) place;
	NEST_ID(locate)(nest, hash, &place);
	return NEST_ID(look)(nest, &place);
}

static uint64_t NEST_ID(count)(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	struct NEST_ID(place) place;
	NEST_ID(locate)(nest, hash, &place);
	for (unsigned tries = 0;; tries++) {
		struct stripe_versions versions;
		if (stripes_begin(&nest->shared->stripes, &place.watch, &versions)) {
			uint64_t count = NEST_ID(copies_seen)(nest, place.bits, &place.key);
			if (anything_stashed(nest))
				count += shared_stash_count(nest, NEST_KIND, &place.key);
			if (stripes_same(&nest->shared->stripes, &place.watch, &versions))
				return count;
		}
		stripes_pause(tries);
	}
}

/* -------------------------------------------------------------------- moving -- */

/* Brings a stashed entry home to a slot that is empty. The slot's stripes are locked. */
static void NEST_ID(bring_home)(struct nest *nest, uint64_t chunk, unsigned char *bits,
                                uint64_t slot)
{
	uint64_t value;
	if (anything_stashed(nest) && shared_stash_take_for(nest, NEST_KIND, chunk, slot, &value))
		NEST_ID(set)(nest, bits, slot, value);
}

/* The empty slot, if there is one, of the group in which `slot` was emptied. */
static inline uint64_t NEST_ID(emptied)(uint64_t slot)
{
	return NEST_KIND == NEST_CODED ? slot - slot % NEST_L : slot; /* sorted */
}

/* A slot was left empty by a chain: a stashed entry may lie there. */
static void NEST_ID(settle)(struct nest *nest, uint64_t chunk, uint64_t slot)
{
	if (!anything_stashed(nest))
		return;
	unsigned char *bits = nest_chunk_bits(nest, chunk);
	uint32_t stripe[2];
	/* All groups that hold the slot lie around it; the one that begins there will do. */
	uint64_t group = NEST_KIND == NEST_WINDOWS ? slot : slot / NEST_L;
	if (NEST_KIND == NEST_WINDOWS && group >= nest->groups)
		group = nest->groups - 1;
	NEST_ID(watch_group)(nest, bits, group, stripe);
	struct stripe_watch watch = { { stripe[0], stripe[1], stripe[0], stripe[1] } };
	struct stripe_set set = stripes_lock(&nest->shared->stripes, &watch);
	if (NEST_ID(get)(nest, bits, NEST_ID(emptied)(slot)) == 0)
		NEST_ID(bring_home)(nest, chunk, bits, NEST_ID(emptied)(slot));
	stripes_unlock(&nest->shared->stripes, &set);
}

/*
 * Moves whatever entry is in slot `from` to the empty slot `to` of its own groups.
 * False if that is not possible; nothing changed then.
 */
static bool NEST_ID(move)(struct nest *nest, uint64_t chunk, uint64_t from, uint64_t to)
{
	unsigned char *bits = nest_chunk_bits(nest, chunk);
	uint64_t value = NEST_ID(get)(nest, bits, from), moved;
	if (value == 0)
		return false;
	struct nest_key key = nest_key_in(nest, NEST_KIND, chunk, from, value);
	if (key.group[0] >= nest->groups || key.group[1] >= nest->groups ||
	    !nest_encode_at(nest, NEST_KIND, &key, to, &moved))
		return false;
	struct stripe_watch watch;
	NEST_ID(watch_key)(nest, bits, &key, &watch);
	struct stripe_set set = stripes_lock(&nest->shared->stripes, &watch);
	bool same = NEST_ID(get)(nest, bits, from) == value && NEST_ID(get)(nest, bits, to) == 0;
	if (same) {
		NEST_ID(set)(nest, bits, to, moved);
		NEST_ID(set)(nest, bits, from, 0);
	}
	stripes_unlock(&nest->shared->stripes, &set);
	return same;
}

/* Looks at a group: true, and where, if a slot is empty; otherwise its slots become nodes. */
ALWAYS_INLINE bool NEST_ID(visit)(struct shared_search *search, const struct nest *nest,
                                  const unsigned char *bits, uint64_t group, uint64_t except,
                                  unsigned parent, uint64_t *empty)
{
	uint64_t first = nest_first_slot(nest, NEST_KIND, group);
	for (unsigned word = 0; word < nest->shared->words; word++) {
		uint64_t fields = NEST_ID(word)(nest, bits, group, word);
		uint64_t found = fields_zero_in(fields, nest->shared->lows, nest->shared->highs);
		if (found != 0) {
			unsigned at;
			*empty = NEST_ID(slot_at)(nest, group, word, found, &at);
			return true;
		}
	}
	if (NEST_KIND != NEST_WINDOWS && shared_search_knows(search, first))
		return false;
	for (unsigned at = 0; at < NEST_L && search->nodes < search->limit; at++) {
		if (first + at == except)
			continue; /* a window's own slots are met again: not the one it is in */
		if (NEST_KIND != NEST_WINDOWS || !shared_search_knows(search, first + at))
			search->node[search->nodes++] = (struct shared_node){ first + at, parent };
	}
	return false;
}

/* Works out where the entry of the next node could go, and asks the memory for it. */
ALWAYS_INLINE void NEST_ID(take_aim)(struct shared_search *search, const struct nest *nest,
                                     const unsigned char *bits)
{
	uint64_t slot = search->node[search->aimed].slot;
	uint64_t value = NEST_ID(get)(nest, bits, slot), own = slot / NEST_L;
	if (NEST_KIND == NEST_WINDOWS)
		own = slot - (value >> (nest->core_bits + 1) & (NEST_L - 1));
	uint64_t other = nest_other_group(nest, NEST_KIND, own, value);
	/* What other threads are changing may look like anything. */
	bool sound = value != 0 && own < nest->groups && other < nest->groups;
	PREFETCH(bits + (NEST_ID(group_bit)(nest, sound ? other : 0) >> 3));
	search->aim[search->aimed++ % SHARED_AIMS] = (struct shared_aim){ own, other, sound };
}

/* Finds a chain that ends in an empty slot: the node before it, or SHARED_NO_NODE. */
static unsigned NEST_ID(search)(struct shared_search *search, const struct nest *nest,
                                const struct NEST_ID(place) * place, uint64_t *empty)
{
	const unsigned char *bits = place->bits;
	for (unsigned choice = 0; choice < 2; choice++) {
		if (NEST_ID(visit)(search, nest, bits, place->key.group[choice], SHARED_NO_SLOT,
		                   SHARED_NO_NODE, empty))
			return SHARED_NO_NODE; /* room by now, and no chain needed */
	}
	for (unsigned i = 0; i < search->nodes; i++) {
		while (search->aimed < search->nodes && search->aimed <= i + SHARED_AHEAD)
			NEST_ID(take_aim)(search, nest, bits);
		struct shared_aim aim = search->aim[i % SHARED_AIMS];
		uint64_t slot = search->node[i].slot;
		if (!aim.sound)
			continue;
		if (NEST_KIND == NEST_WINDOWS &&
		    NEST_ID(visit)(search, nest, bits, aim.own, slot, i, empty))
			return i;
		if (NEST_ID(visit)(search, nest, bits, aim.other, slot, i, empty))
			return i;
	}
	search->exhausted = true;
	return SHARED_NO_NODE;
}

/*
 * Tries to free a slot of the place's groups, and sets *freed to it if it did.
 * False if no chain was found; true says only that it is worth another look.
 */
static bool NEST_ID(make_room)(struct nest *nest, const struct NEST_ID(place) * place,
                               uint64_t *freed)
{
	struct shared_search search;
	shared_search_begin(&search, nest->max_steps);
	uint64_t to = 0, chunk = place->key.chunk;
	unsigned node = NEST_ID(search)(&search, nest, place, &to);
	bool moved = false;
	while (node != SHARED_NO_NODE) {
		uint64_t from = search.node[node].slot;
		if (!NEST_ID(move)(nest, chunk, from, NEST_ID(emptied)(to)))
			break;
		moved = true;
		to = from;
		node = search.node[node].parent;
	}
	if (moved && *freed != SHARED_NO_SLOT)
		NEST_ID(settle)(nest, chunk, *freed);
	if (moved)
		*freed = to;
	return !search.exhausted;
}

/* -------------------------------------------------------------------- insert -- */

/* Puts the key into an empty slot of a candidate, among `open` fields if given. */
static bool NEST_ID(put_in)(struct nest *nest, const struct NEST_ID(place) * place, unsigned choice,
                            const uint64_t *open)
{
	const struct nest_shared *shared = nest->shared;
	uint64_t group = place->key.group[choice];
	for (unsigned word = 0; word < shared->words; word++) {
		uint64_t fields = NEST_ID(word)(nest, place->bits, group, word);
		uint64_t empty = fields_zero_in(fields, shared->lows, shared->highs);
		if (open != NULL)
			empty &= open[word];
		if (empty == 0)
			continue;
		unsigned at;
		uint64_t slot = NEST_ID(slot_at)(nest, group, word, empty, &at);
		NEST_ID(set)
		(nest, place->bits, slot,
		 nest_encode(nest, NEST_KIND, place->key.value, choice, at));
		counter_add(&nest->chunk[place->key.chunk].used, 1);
		return true;
	}
	return false;
}

static inline bool NEST_ID(put_somewhere)(struct nest *nest, const struct NEST_ID(place) * place)
{
	return NEST_ID(put_in)(nest, place, 0, nest->shared->open) ||
	       NEST_ID(put_in)(nest, place, 1, NULL) ||
	       (nest->reserve > 0 && NEST_ID(put_in)(nest, place, 0, NULL));
}

/*
 * One attempt under the locks. Crowded groups: FULL, unless the stash is to take
 * the key (`stash`, or if all slots hold copies of the key itself).
 */
static nidus_status NEST_ID(attempt)(struct nest *nest, const struct NEST_ID(place) * place,
                                     bool only_new, bool *stash)
{
	if (only_new &&
	    (NEST_ID(seen)(nest, place->bits, &place->key) ||
	     (anything_stashed(nest) && shared_stash_count(nest, NEST_KIND, &place->key) > 0)))
		return NIDUS_PRESENT;
	if (LIKELY(NEST_ID(put_somewhere)(nest, place)))
		return NIDUS_OK;
	bool only_copies = NEST_ID(copies_seen)(nest, place->bits, &place->key) ==
	                   nest_places(nest, NEST_KIND, &place->key);
	*stash |= only_copies;
	if (!*stash)
		return NIDUS_FULL;
	nidus_status status = shared_stash_insert(nest, NEST_KIND, &place->key);
	if (status == NIDUS_FULL && only_copies)
		return fail(NIDUS_COPIES, "no room for another copy of this key");
	return status;
}

static nidus_status NEST_ID(put)(struct nest *nest, const struct NEST_ID(place) * place,
                                 bool only_new)
{
	uint64_t freed = SHARED_NO_SLOT;
	for (bool stash = false;;) {
		struct stripe_set set = stripes_lock(&nest->shared->stripes, &place->watch);
		nidus_status status = NEST_ID(attempt)(nest, place, only_new, &stash);
		stripes_unlock(&nest->shared->stripes, &set);
		if (LIKELY(status != NIDUS_FULL) || stash) {
			/* The key may have found another slot than the one made for it. */
			if (UNLIKELY(freed != SHARED_NO_SLOT))
				NEST_ID(settle)(nest, place->key.chunk, freed);
			return status;
		}
		stash = !NEST_ID(make_room)(nest, place, &freed);
	}
}

static nidus_status NEST_ID(insert)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	struct NEST_ID(place) place;
	NEST_ID(locate)(nest, hash, &place);
	return NEST_ID(put)(nest, &place, false);
}

static nidus_status NEST_ID(insert_new)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	struct NEST_ID(place) place;
	NEST_ID(locate)(nest, hash, &place);
	return NEST_ID(put)(nest, &place, true);
}

/* -------------------------------------------------------------------- remove -- */

static bool NEST_ID(take_slot)(struct nest *nest, const struct NEST_ID(place) * place)
{
	for (unsigned choice = 0; choice < 2; choice++) {
		for (unsigned word = 0; word < nest->shared->words; word++) {
			uint64_t hits = NEST_ID(hits)(nest, place->bits, &place->key, choice, word);
			if (hits == 0)
				continue;
			unsigned at;
			uint64_t slot =
				NEST_ID(slot_at)(nest, place->key.group[choice], word, hits, &at);
			NEST_ID(set)(nest, place->bits, slot, 0);
			NEST_ID(bring_home)
			(nest, place->key.chunk, place->bits, NEST_ID(emptied)(slot));
			return true;
		}
	}
	return false;
}

static nidus_status NEST_ID(take)(struct nest *nest, const struct NEST_ID(place) * place)
{
	struct stripe_set set = stripes_lock(&nest->shared->stripes, &place->watch);
	bool taken =
		(anything_stashed(nest) && shared_stash_remove(nest, NEST_KIND, &place->key)) ||
		NEST_ID(take_slot)(nest, place);
	if (taken)
		counter_add(&nest->chunk[place->key.chunk].used, UINT64_MAX); /* one less */
	stripes_unlock(&nest->shared->stripes, &set);
	return taken ? NIDUS_OK : NIDUS_NOT_FOUND;
}

static nidus_status NEST_ID(remove)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	struct NEST_ID(place) place;
	NEST_ID(locate)(nest, hash, &place);
	return NEST_ID(take)(nest, &place);
}

/* --------------------------------------------------------------------- spots -- */

/*
 * The usual case in short: both groups lie in one word's worth of bits each and in
 * one region each, the stash is empty, and nobody else is there. What is not usual
 * goes the long way, by the functions above.
 */
struct NEST_ID(spot) {
	const unsigned char *at[2]; /* the word with a group's first bit */
	uint64_t bit[2];            /* that bit, counted from the chunk's first */
	uint64_t wanted[2];         /* the group's word if all its slots held the key */
	uint64_t hash, chunk;
	uint32_t stripe[2];
	uint32_t next[2]; /* bytes to the word with the group's last bit: 0 or 8 */
	bool usual;
};

/* Constants of a nest that no store to a table can change, out of the compiler's sight. */
struct NEST_ID(lens) {
	uint64_t lows, highs;
	uint32_t *version;
	const uint64_t *stashed;
};

static inline struct NEST_ID(lens) NEST_ID(lens_of)(const struct nest *nest)
{
	return (struct NEST_ID(lens)){ nest->shared->lows, nest->shared->highs,
		                       nest->shared->stripes.word, &nest->stashed };
}

/* Fills in what belongs to one group; not 0 if it lies across the border of a region. */
ALWAYS_INLINE uint64_t NEST_ID(spot_group)(const struct nest *nest, const struct nest_key *key,
                                           const unsigned char *bits, struct NEST_ID(spot) * spot,
                                           unsigned i)
{
	const struct nest_shared *shared = nest->shared;
	uint64_t bit = NEST_ID(group_bit)(nest, key->group[i]), end = bit + shared->word_bits - 1;
	uint64_t chunk_bit = (uint64_t)(bits - nest->bits) * 8;
	spot->bit[i] = bit;
	spot->at[i] = bits + (bit >> 6) * 8;
	spot->next[i] = (uint32_t)((end >> 6) - (bit >> 6)) * 8;
	spot->wanted[i] = key->value * shared->ones + shared->pattern[i][0];
	spot->stripe[i] = stripe_of(&shared->stripes, (chunk_bit + bit) >> 3);
	return ((chunk_bit + bit) ^ (chunk_bit + end)) >> (STRIPES_REGION_LOG + 3);
}

ALWAYS_INLINE void NEST_ID(spot_of)(const struct nest *nest, uint64_t hash,
                                    struct NEST_ID(spot) * spot)
{
	struct nest_key key = nest_locate(nest, NEST_KIND, hash);
	const unsigned char *bits = nest_chunk_bits(nest, key.chunk);
	uint64_t crosses = NEST_ID(spot_group)(nest, &key, bits, spot, 0) |
	                   NEST_ID(spot_group)(nest, &key, bits, spot, 1);
	spot->hash = hash;
	spot->chunk = key.chunk;
	spot->usual = NEST_KIND != NEST_CODED && nest->shared->words == 1 && crosses == 0;
}

/* The slots of a spot's group as fields; anything above them. */
ALWAYS_INLINE uint64_t NEST_ID(glance)(const struct NEST_ID(spot) * spot, unsigned i)
{
	unsigned shift = spot->bit[i] & 63;
	uint64_t low = word_load(spot->at[i], 0);
	uint64_t high = word_load(spot->at[i] + spot->next[i], 0);
	return low >> shift | high << 1 << (63 - shift);
}

ALWAYS_INLINE bool NEST_ID(look_at)(const struct nest *nest, struct NEST_ID(lens) lens,
                                    const struct NEST_ID(spot) * spot)
{
	const uint32_t *first = &lens.version[spot->stripe[0]];
	const uint32_t *second = &lens.version[spot->stripe[1]];
	uint32_t before[2] = { __atomic_load_n(first, __ATOMIC_ACQUIRE),
		               __atomic_load_n(second, __ATOMIC_ACQUIRE) };
	uint64_t hits =
		fields_zero_in(NEST_ID(glance)(spot, 0) ^ spot->wanted[0], lens.lows, lens.highs) |
		fields_zero_in(NEST_ID(glance)(spot, 1) ^ spot->wanted[1], lens.lows, lens.highs);
	uint64_t stashed = __atomic_load_n(lens.stashed, __ATOMIC_ACQUIRE);
	uint32_t changed = (before[0] ^ __atomic_load_n(first, __ATOMIC_ACQUIRE)) |
	                   (before[1] ^ __atomic_load_n(second, __ATOMIC_ACQUIRE));
	if (UNLIKELY(((before[0] | before[1]) & 1) | changed | (stashed != 0) | !spot->usual))
		return NEST_ID(contains)(nest, spot->hash);
	return hits != 0;
}

ALWAYS_INLINE void NEST_ID(lock_spot)(struct NEST_ID(lens) lens, const struct NEST_ID(spot) * spot)
{
	uint32_t a = spot->stripe[0], b = spot->stripe[1];
	version_lock(&lens.version[a < b ? a : b]);
	if (LIKELY(a != b))
		version_lock(&lens.version[a < b ? b : a]);
}

ALWAYS_INLINE void NEST_ID(unlock_spot)(struct NEST_ID(lens) lens,
                                        const struct NEST_ID(spot) * spot)
{
	version_unlock(&lens.version[spot->stripe[0]]);
	if (LIKELY(spot->stripe[0] != spot->stripe[1]))
		version_unlock(&lens.version[spot->stripe[1]]);
}

/* Writes the field that fields_zero found in a spot's group; the spot is locked. */
ALWAYS_INLINE void NEST_ID(write_at)(const struct nest *nest, const struct NEST_ID(spot) * spot,
                                     unsigned i, uint64_t field, bool take)
{
	unsigned from = (unsigned)__builtin_ctzll(field) + 1 - nest->width;
	uint64_t value = take ? 0 : spot->wanted[i] >> from & bits_low(nest->width);
	unsigned char *chunk_bits =
		(unsigned char *)(uintptr_t)(spot->at[i] - (spot->bit[i] >> 6) * 8);
	word_set_bits(chunk_bits, spot->bit[i] + from, nest->width, value);
}

/* Tries a change the short way; false if it takes the long one. */
ALWAYS_INLINE bool NEST_ID(change_at)(struct nest *nest, struct NEST_ID(lens) lens,
                                      const struct NEST_ID(spot) * spot, bool take)
{
	bool done = false;
	if (UNLIKELY(!spot->usual))
		return false;
	NEST_ID(lock_spot)(lens, spot);
	uint64_t found[2] = {
		fields_zero_in(NEST_ID(glance)(spot, 0) ^ (take ? spot->wanted[0] : 0), lens.lows,
		               lens.highs),
		fields_zero_in(NEST_ID(glance)(spot, 1) ^ (take ? spot->wanted[1] : 0), lens.lows,
		               lens.highs),
	};
	if (!take)
		found[0] &= nest->shared->open[0];
	if (LIKELY((found[0] | found[1]) != 0) &&
	    LIKELY(!take || __atomic_load_n(lens.stashed, __ATOMIC_ACQUIRE) == 0)) {
		unsigned i = found[0] == 0;
		NEST_ID(write_at)(nest, spot, i, found[i], take);
		counter_add(&nest->chunk[spot->chunk].used, take ? UINT64_MAX : 1);
		done = true;
	}
	NEST_ID(unlock_spot)(lens, spot);
	return done;
}

/* ------------------------------------------------------------------- batches -- */

NEVER_INLINE void NEST_ID(approach)(const struct nest *nest, const uint64_t *hashes, size_t n,
                                    struct NEST_ID(spot) * spots)
{
	for (size_t i = 0; i < n; i++) {
		NEST_ID(spot_of)(nest, hashes[i], &spots[i]);
		PREFETCH(spots[i].at[0]);
		PREFETCH(spots[i].at[1]);
		PREFETCH(&nest->shared->stripes.word[spots[i].stripe[0]]);
		PREFETCH(&nest->shared->stripes.word[spots[i].stripe[1]]);
	}
}

static void NEST_ID(contains_batch)(const void *body, const uint64_t *hashes, size_t n,
                                    uint8_t *yes)
{
	const struct nest *nest = body;
	struct NEST_ID(lens) lens = NEST_ID(lens_of)(nest);
	struct NEST_ID(spot) spots[SHARED_BATCH];
	for (size_t from = 0; from < n; from += SHARED_BATCH) {
		size_t some = n - from < SHARED_BATCH ? n - from : SHARED_BATCH;
		NEST_ID(approach)(nest, hashes + from, some, spots);
		for (size_t i = 0; i < some; i++)
			yes[from + i] = NEST_ID(look_at)(nest, lens, &spots[i]);
	}
}

/* Both kinds of changes, in input order up to the first failure. */
ALWAYS_INLINE nidus_status NEST_ID(change_batch)(struct nest *nest, const uint64_t *hashes,
                                                 size_t n, size_t *done, bool take)
{
	struct NEST_ID(lens) lens = NEST_ID(lens_of)(nest);
	struct NEST_ID(spot) spots[SHARED_BATCH];
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK;) {
		size_t some = n - *done < SHARED_BATCH ? n - *done : SHARED_BATCH;
		NEST_ID(approach)(nest, hashes + *done, some, spots);
		for (size_t i = 0; i < some && status == NIDUS_OK; i++) {
			if (!NEST_ID(change_at)(nest, lens, &spots[i], take))
				status = take ? NEST_ID(remove)(nest, spots[i].hash)
				              : NEST_ID(insert)(nest, spots[i].hash);
			*done += status == NIDUS_OK;
		}
	}
	return status;
}

static nidus_status NEST_ID(insert_batch)(void *body, const uint64_t *hashes, size_t n,
                                          size_t *done)
{
	return NEST_ID(change_batch)(body, hashes, n, done, false);
}

static nidus_status NEST_ID(remove_batch)(void *body, const uint64_t *hashes, size_t n,
                                          size_t *done)
{
	return NEST_ID(change_batch)(body, hashes, n, done, true);
}

/* ------------------------------------------------------------------ one by one -- */

static bool NEST_ID(contains_quickly)(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	struct NEST_ID(spot) spot;
	NEST_ID(spot_of)(nest, hash, &spot);
	return NEST_ID(look_at)(nest, NEST_ID(lens_of)(nest), &spot);
}

static nidus_status NEST_ID(insert_quickly)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	struct NEST_ID(spot) spot;
	NEST_ID(spot_of)(nest, hash, &spot);
	return NEST_ID(change_at)(nest, NEST_ID(lens_of)(nest), &spot, false)
	               ? NIDUS_OK
	               : NEST_ID(insert)(nest, hash);
}

static nidus_status NEST_ID(remove_quickly)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	struct NEST_ID(spot) spot;
	NEST_ID(spot_of)(nest, hash, &spot);
	return NEST_ID(change_at)(nest, NEST_ID(lens_of)(nest), &spot, true)
	               ? NIDUS_OK
	               : NEST_ID(remove)(nest, hash);
}

static const struct body_ops NEST_ID(ops) = {
	.contains = NEST_ID(contains_quickly),
	.count = NEST_ID(count),
	.insert = NEST_ID(insert_quickly),
	.insert_new = NEST_ID(insert_new),
	.remove = NEST_ID(remove_quickly),
	.contains_batch = NEST_ID(contains_batch),
	.insert_batch = NEST_ID(insert_batch),
	.remove_batch = NEST_ID(remove_batch),
};

#undef NEST_COPY_BYTES

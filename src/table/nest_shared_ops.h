/* SPDX-License-Identifier: MIT
 *
 * nest_shared_ops: what a nest that threads share does but for the usual case of lookups
 * and inserts, which is in nest_shared_hot.h; written once, compiled per kind and slots
 * of a group.
 *
 * A template: no include guard. Whoever includes it defines NEST_KIND, NEST_L and
 * NEST_ID(x), and gets `static const struct body_ops NEST_ID(ops)`. The protocol
 * is in nest_shared.h. Words of the table are only ever read and written through
 * base/atomic.h.
 */

struct NEST_ID(place) {
	struct nest_key key;
	unsigned char *bits; /* the chunk's */
};

/* The same for whoever locks all of it, or watches it. */
struct NEST_ID(site) {
	struct NEST_ID(place) at;
	struct stripe_watch watch;
	uint32_t *pair; /* the version */
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

/* The stripes of the first and the last of some bits of a chunk, mostly the same. */
ALWAYS_INLINE void NEST_ID(watch_bits)(const struct nest *nest, uint64_t chunk, uint64_t bit,
                                       uint64_t count, uint32_t stripe[2])
{
	const struct stripes *stripes = &nest->shared->stripes;
	stripe[0] = stripe_in_chunk(stripes, chunk, bit >> 3);
	stripe[1] = stripe_in_chunk(stripes, chunk, (bit + count - 1) >> 3);
}

ALWAYS_INLINE void NEST_ID(watch_key)(const struct nest *nest, const struct nest_key *key,
                                      struct stripe_watch *watch)
{
	for (unsigned i = 0; i < 2; i++)
		NEST_ID(watch_bits)
	(nest, key->chunk, NEST_ID(group_bit)(nest, key->group[i]), NEST_ID(span)(nest),
	 watch->stripe + 2 * i);
}

/* The stripes of what is written when a slot changes: of coded slots the whole bucket. */
ALWAYS_INLINE void NEST_ID(watch_slot)(const struct nest *nest, uint64_t chunk, uint64_t slot,
                                       uint32_t stripe[2])
{
	if (NEST_KIND == NEST_CODED)
		NEST_ID(watch_bits)
	(nest, chunk, NEST_ID(group_bit)(nest, slot / NEST_L), NEST_ID(span)(nest), stripe);
	else NEST_ID(watch_bits)(nest, chunk, slot * nest->width, nest->width, stripe);
}

/* Counts entries that came to a slot whose stripes are locked, at its first one. */
static inline void NEST_ID(count_at)(const struct nest *nest, uint64_t chunk, uint64_t slot,
                                     uint32_t amount)
{
	uint32_t stripe[2];
	NEST_ID(watch_slot)(nest, chunk, slot, stripe);
	stripe_count(&nest->shared->stripes.stripe[stripe[0]], amount);
}

ALWAYS_INLINE void NEST_ID(locate)(const struct nest *nest, uint64_t hash,
                                   struct NEST_ID(place) * place)
{
	place->key = nest_locate(nest, NEST_KIND, hash);
	place->bits = nest_chunk_bits(nest, place->key.chunk);
}

ALWAYS_INLINE void NEST_ID(locate_all)(const struct nest *nest, uint64_t hash,
                                       struct NEST_ID(site) * site)
{
	NEST_ID(locate)(nest, hash, &site->at);
	NEST_ID(watch_key)(nest, &site->at.key, &site->watch);
	site->pair = nest_pair_version(nest, &site->at.key);
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

/* A lookup's first and second look at the versions: false if it must begin again. */
static inline bool NEST_ID(begin)(const struct nest *nest, const struct NEST_ID(site) * site,
                                  struct stripe_versions *versions)
{
	if (NEST_KIND == NEST_CODED)
		return stripes_begin(&nest->shared->stripes, &site->watch, versions);
	versions->version[0] = __atomic_load_n(site->pair, __ATOMIC_ACQUIRE);
	return versions->version[0] % 2 == 0;
}

static inline bool NEST_ID(same)(const struct nest *nest, const struct NEST_ID(site) * site,
                                 const struct stripe_versions *versions)
{
	if (NEST_KIND == NEST_CODED)
		return stripes_same(&nest->shared->stripes, &site->watch, versions);
	return versions->version[0] == __atomic_load_n(site->pair, __ATOMIC_ACQUIRE);
}

static bool NEST_ID(look)(const struct nest *nest, uint64_t hash)
{
	struct NEST_ID(site) site;
	NEST_ID(locate_all)(nest, hash, &site);
	for (unsigned tries = 0;; tries++) {
		struct stripe_versions versions;
		if (NEST_ID(begin)(nest, &site, &versions)) {
			bool found = NEST_ID(seen)(nest, site.at.bits, &site.at.key) ||
			             (anything_stashed(nest) &&
			              shared_stash_count(nest, NEST_KIND, &site.at.key) > 0);
			if (NEST_ID(same)(nest, &site, &versions))
				return found;
		}
		stripes_pause(tries);
	}
}

static uint64_t NEST_ID(count)(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	struct NEST_ID(site) site;
	NEST_ID(locate_all)(nest, hash, &site);
	for (unsigned tries = 0;; tries++) {
		struct stripe_versions versions;
		if (NEST_ID(begin)(nest, &site, &versions)) {
			uint64_t count = NEST_ID(copies_seen)(nest, site.at.bits, &site.at.key);
			if (anything_stashed(nest))
				count += shared_stash_count(nest, NEST_KIND, &site.at.key);
			if (NEST_ID(same)(nest, &site, &versions))
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
	if (!anything_stashed(nest))
		return;
	uint32_t *pair = shared_stash_take_for(nest, NEST_KIND, chunk, slot, &value);
	if (pair == NULL)
		return;
	NEST_ID(set)(nest, bits, slot, value);
	version_unlock(pair);
	NEST_ID(count_at)(nest, chunk, slot, 1);
	counter_add(&nest->chunk[chunk].used, UINT64_MAX); /* it was counted in the stash */
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
	NEST_ID(watch_slot)(nest, chunk, slot, stripe);
	struct stripe_watch watch = { { stripe[0], stripe[1], stripe[0], stripe[1] } };
	struct stripe_set set = stripes_lock(&nest->shared->stripes, &watch);
	if (NEST_ID(get)(nest, bits, NEST_ID(emptied)(slot)) == 0)
		NEST_ID(bring_home)(nest, chunk, bits, NEST_ID(emptied)(slot));
	stripes_unlock(&nest->shared->stripes, &set);
}

/*
 * What an entry of slot `from` would be in slot `to`, and the version of its pair; false
 * if it may not lie there.
 */
static inline bool NEST_ID(value_at)(const struct nest *nest, uint64_t chunk, uint64_t from,
                                     uint64_t value, uint64_t to, uint64_t *moved, uint32_t **pair)
{
	const unsigned core_bits = nest->core_bits;
	uint64_t own = from / NEST_L, place = 0;
	if (NEST_KIND == NEST_WINDOWS) {
		own = from - (value >> (core_bits + 1) & (NEST_L - 1));
		if (own >= nest->groups) /* torn */
			return false;
	}
	uint64_t other = nest_other_group(nest, NEST_KIND, own, value);
	const struct nest_key groups = { .chunk = chunk, .group = { own, other } };
	*pair = nest_pair_version(nest, &groups);
	*moved = search_moved(nest, NEST_KIND, NEST_L, core_bits, from, to, value);
	if (NEST_KIND != NEST_WINDOWS)
		return other == to / NEST_L;
	/* Where it would say that its window is must be one of the two. */
	place = to - (*moved >> (core_bits + 1) & (NEST_L - 1));
	return place == own || place == other;
}

/* The locks of two slots. */
static inline struct stripe_set NEST_ID(lock_slots)(const struct nest *nest, uint64_t chunk,
                                                    uint64_t from, uint64_t to)
{
	struct stripe_watch watch;
	NEST_ID(watch_slot)(nest, chunk, from, watch.stripe);
	NEST_ID(watch_slot)(nest, chunk, to, watch.stripe + 2);
	return stripes_lock(&nest->shared->stripes, &watch);
}

/*
 * Moves whatever entry is in slot `from` to the empty slot `to` of its own groups,
 * and puts `fresh` in its place, which may be nothing. Both slots are locked
 * meanwhile, and the version that whoever looks for the entry watches. False if that
 * is not possible; nothing changed then.
 */
static bool NEST_ID(move)(struct nest *nest, uint64_t chunk, uint64_t from, uint64_t to,
                          uint64_t fresh)
{
	unsigned char *bits = nest_chunk_bits(nest, chunk);
	uint64_t value = NEST_ID(get)(nest, bits, from), moved;
	uint32_t *pair;
	if (value == 0 || !NEST_ID(value_at)(nest, chunk, from, value, to, &moved, &pair))
		return false;
	PREFETCH_WRITE(pair);
	struct stripe_set set = NEST_ID(lock_slots)(nest, chunk, from, to);
	bool same = NEST_ID(get)(nest, bits, from) == value && NEST_ID(get)(nest, bits, to) == 0;
	if (LIKELY(same)) {
		uint32_t before = version_lock(pair);
		NEST_ID(set)(nest, bits, to, moved);
		NEST_ID(set)(nest, bits, from, fresh);
		version_unlock_from(pair, before);
		NEST_ID(count_at)(nest, chunk, to, 1);
		if (fresh == 0)
			NEST_ID(count_at)(nest, chunk, from, UINT32_MAX);
	}
	stripes_unlock(&nest->shared->stripes, &set);
	return same;
}

/* --------------------------------------------------------------------- search -- */

/*
 * The search of search.c over a table that others are changing, where it becomes long.
 * What it reads may be stale or torn: it stays within the chunk whatever it reads, and
 * nothing of it is believed when the chain is moved.
 */

/* Works out where the entry of the next node could go, and asks the memory for it. */
ALWAYS_INLINE void NEST_ID(take_aim)(struct search *search, const struct nest *nest)
{
	const unsigned char *bits = search->bits;
	uint64_t slot = search_slot(search->node[search->aimed]), own = slot / NEST_L;
#if NEST_KIND_CODED
	uint64_t value = NEST_ID(get)(nest, bits, slot);
#else /* the bits above the slot do no harm */
	uint64_t value = word_bits(bits, slot * nest->width, nest->width);
#endif
	if (NEST_KIND == NEST_WINDOWS)
		own = slot - (value >> (nest->core_bits + 1) & (NEST_L - 1));
	uint64_t other = nest_other_group(nest, NEST_KIND, own < nest->groups ? own : 0, value);
	uint64_t bit = NEST_ID(group_bit)(nest, other);
	PREFETCH(bits + (bit >> 3));
	search->aim[search->aimed++ % SEARCH_AIMS] = (struct search_aim){ own, other };
}

/* The last empty slot of a group, as in search.c. `words` of them, as a constant if 1. */
ALWAYS_INLINE bool NEST_ID(find_empty)(const struct nest *nest, const unsigned char *bits,
                                       uint64_t group, unsigned words, uint64_t *empty)
{
	const struct nest_shared *shared = nest->shared;
	for (unsigned word = words; word-- > 0;) {
		uint64_t fields = NEST_ID(word)(nest, bits, group, word);
		uint64_t found = fields_zero_in(fields, shared->lows, shared->highs);
		if (found != 0) {
			unsigned at = word * shared->fields + log2_floor(found) / nest->width;
			*empty = nest_first_slot(nest, NEST_KIND, group) + at;
			return true;
		}
	}
	return false;
}

/*
 * Looks at a group: true, and where, if a slot is empty; otherwise its slots become
 * nodes, but for `met`, which are nodes already.
 */
ALWAYS_INLINE bool NEST_ID(visit)(struct search *search, const struct nest *nest, unsigned words,
                                  uint64_t group, unsigned met, unsigned parent, uint64_t *empty)
{
	if (NEST_ID(find_empty)(nest, search->bits, group, words, empty))
		return true;
	uint64_t first = group * (NEST_KIND == NEST_WINDOWS ? 1 : NEST_L);
	if (search->nodes >= nest->max_steps ||
	    (NEST_KIND != NEST_WINDOWS && search_recorded(search, first)))
		return false;
	for (unsigned at = NEST_L; at-- > 0;) {
		if (met >> at & 1 ||
		    (NEST_KIND == NEST_WINDOWS && search_recorded(search, first + at)))
			continue;
		search->node[search->nodes++] = SEARCH_NODE(first + at, at, parent);
	}
	return false;
}

/* Windows: the entry of a node may also shift within its own window. */
ALWAYS_INLINE bool NEST_ID(visit_own)(struct search *search, const struct nest *nest,
                                      unsigned words, uint64_t own, unsigned i, uint64_t *empty)
{
	const unsigned all = (1u << NEST_L) - 1;
	uint64_t met_in = search_slot(search->node[i]) - search_at(search->node[i]);
	unsigned met = all << NEST_L >> (NEST_L + own - met_in);
	return own < nest->groups && NEST_ID(visit)(search, nest, words, own, met & all, i, empty);
}

/*
 * Goes on with a search from node i on. The node whose entry can go to *empty, or
 * SEARCH_NO_PARENT: no chain within the limit.
 */
static unsigned NEST_ID(go_on)(struct search *search, const struct nest *nest, unsigned i,
                               uint64_t *empty)
{
	const unsigned words = nest->shared->words;
	for (search->aimed = i; i < search->nodes; i++) {
		search_may_record(search);
		while (search->aimed < search->nodes && search->aimed <= i + SHARED_AHEAD)
			NEST_ID(take_aim)(search, nest);
		struct search_aim aim = search->aim[i % SEARCH_AIMS];
		if ((NEST_KIND == NEST_WINDOWS &&
		     NEST_ID(visit_own)(search, nest, words, aim.own, i, empty)) ||
		    NEST_ID(visit)(search, nest, words, aim.other, 0, i, empty))
			return i;
	}
	return SEARCH_NO_PARENT;
}

/* Asks for the stripes of a chain at once: other threads may have them in their caches. */
static inline void NEST_ID(fetch_stripes)(const struct search *search, const struct nest *nest,
                                          uint64_t chunk, unsigned node, uint64_t slot)
{
	for (;; node = search_parent(search->node[node])) {
		uint32_t stripe[2];
		NEST_ID(watch_slot)(nest, chunk, slot, stripe);
		PREFETCH_WRITE(&nest->shared->stripes.stripe[stripe[0]]);
		if (node == SEARCH_NO_PARENT)
			return;
		slot = search_slot(search->node[node]);
	}
}

/*
 * Tries to free a slot of the place's groups by moving a chain from its end. If
 * `take` the key goes there at once, with the chain's last move. Otherwise, or if the
 * chain breaks on the way, *freed is the slot that the last move left empty.
 */
NEVER_INLINE enum shared_room NEST_ID(make_room)(struct nest *nest,
                                                 const struct NEST_ID(place) * place, bool take,
                                                 uint64_t *freed)
{
	struct search search;
	uint64_t to = 0, chunk = place->key.chunk, left = SHARED_NO_SLOT;
	unsigned node;
	if (UNLIKELY(!nest->shared->hot->chain(&search, nest, &place->key, &node, &to)))
		node = NEST_ID(go_on)(&search, nest, node, &to);
	enum shared_room room = SHARED_NO_ROOM;
	if (node != SEARCH_NO_PARENT) {
		room = SHARED_ROOM;
		NEST_ID(fetch_stripes)(&search, nest, chunk, node, to);
	}
	while (node != SEARCH_NO_PARENT) {
		uint64_t from = search_slot(search.node[node]), fresh = 0;
		node = search_parent(search.node[node]);
		if (node == SEARCH_NO_PARENT && take)
			(void)nest_encode_at(nest, NEST_KIND, &place->key, from, &fresh);
		if (!NEST_ID(move)(nest, chunk, from, NEST_ID(emptied)(to), fresh))
			break;
		left = fresh == 0 ? from : SHARED_NO_SLOT;
		if (fresh != 0)
			room = SHARED_TAKEN;
		to = from;
	}
	/* Slots that this insert left empty before now stay so. */
	if (*freed != SHARED_NO_SLOT && (left != SHARED_NO_SLOT || room == SHARED_TAKEN)) {
		NEST_ID(settle)(nest, chunk, *freed);
		*freed = SHARED_NO_SLOT;
	}
	if (left != SHARED_NO_SLOT)
		*freed = left;
	return room;
}

/* -------------------------------------------------------------------- insert -- */

/* The first empty slot of a group, among `open` fields if given; NEST_L if there is none. */
static unsigned NEST_ID(vacancy)(const struct nest *nest, const unsigned char *bits, uint64_t group,
                                 const uint64_t *open)
{
	const struct nest_shared *shared = nest->shared;
	for (unsigned word = 0; word < shared->words; word++) {
		uint64_t fields = NEST_ID(word)(nest, bits, group, word);
		uint64_t empty = fields_zero_in(fields, shared->lows, shared->highs);
		if (open != NULL)
			empty &= open[word];
		if (empty != 0)
			return word * shared->fields +
			       (unsigned)__builtin_ctzll(empty) / nest->width;
	}
	return NEST_L;
}

/* Puts the key into the group that nest_ops.h would choose; false if both are full. */
static bool NEST_ID(put_somewhere)(struct nest *nest, const struct NEST_ID(place) * place)
{
	const uint64_t *group = place->key.group;
	const uint64_t *open = nest_symmetric(NEST_KIND) ? nest->shared->open : NULL;
	unsigned at[2] = { NEST_ID(vacancy)(nest, place->bits, group[0], open),
		           NEST_ID(vacancy)(nest, place->bits, group[1], NULL) };
	unsigned choice = at[0] == NEST_L;
	if (NEST_KIND == NEST_BUCKETS ||
	    (NEST_KIND == NEST_WINDOWS && group[1] - group[0] + NEST_L > 2 * NEST_L))
		choice = at[1] < at[0];
	if (at[choice] == NEST_L) { /* what is held back */
		choice = 0;
		at[0] = NEST_ID(vacancy)(nest, place->bits, group[0], NULL);
	}
	if (at[choice] == NEST_L)
		return false;
	uint64_t slot = nest_first_slot(nest, NEST_KIND, group[choice]) + at[choice];
	NEST_ID(set)
	(nest, place->bits, slot,
	 nest_encode(nest, NEST_KIND, place->key.value, choice, at[choice]));
	NEST_ID(count_at)(nest, place->key.chunk, slot, 1);
	return true;
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

/* `crowded` if both groups looked full of other keys: then room is made first. */
static nidus_status NEST_ID(put)(struct nest *nest, const struct NEST_ID(place) * place,
                                 bool only_new, bool crowded)
{
	uint64_t freed = SHARED_NO_SLOT;
	bool stash = false;
	nidus_status status = NIDUS_FULL;
	for (;; crowded = false) {
		if (!crowded) {
			struct stripe_watch watch;
			NEST_ID(watch_key)(nest, &place->key, &watch);
			struct stripe_set set = stripes_lock(&nest->shared->stripes, &watch);
			status = NEST_ID(attempt)(nest, place, only_new, &stash);
			stripes_unlock(&nest->shared->stripes, &set);
			if (LIKELY(status != NIDUS_FULL) || stash)
				break;
		}
		enum shared_room room = NEST_ID(make_room)(nest, place, !only_new, &freed);
		if (room == SHARED_TAKEN)
			return NIDUS_OK;
		stash = room == SHARED_NO_ROOM;
	}
	/* The key may have found another slot than the one made for it. */
	if (UNLIKELY(freed != SHARED_NO_SLOT))
		NEST_ID(settle)(nest, place->key.chunk, freed);
	return status;
}

/* The long way. */
static nidus_status NEST_ID(insert)(struct nest *nest, uint64_t hash, bool crowded)
{
	struct NEST_ID(place) place;
	NEST_ID(locate)(nest, hash, &place);
	return NEST_ID(put)(nest, &place, false, crowded);
}

static nidus_status NEST_ID(insert_new)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	struct NEST_ID(place) place;
	NEST_ID(locate)(nest, hash, &place);
	return NEST_ID(put)(nest, &place, true, false);
}

/* -------------------------------------------------------------------- remove -- */

static bool NEST_ID(take_slot)(struct nest *nest, const struct NEST_ID(site) * site)
{
	for (unsigned choice = 0; choice < 2; choice++) {
		for (unsigned word = 0; word < nest->shared->words; word++) {
			uint64_t hits =
				NEST_ID(hits)(nest, site->at.bits, &site->at.key, choice, word);
			if (hits == 0)
				continue;
			unsigned at;
			uint64_t slot =
				NEST_ID(slot_at)(nest, site->at.key.group[choice], word, hits, &at);
			version_lock(site->pair);
			NEST_ID(set)(nest, site->at.bits, slot, 0);
			version_unlock(site->pair);
			NEST_ID(count_at)(nest, site->at.key.chunk, slot, UINT32_MAX);
			NEST_ID(bring_home)
			(nest, site->at.key.chunk, site->at.bits, NEST_ID(emptied)(slot));
			return true;
		}
	}
	return false;
}

static nidus_status NEST_ID(take)(struct nest *nest, const struct NEST_ID(site) * site)
{
	struct stripe_set set = stripes_lock(&nest->shared->stripes, &site->watch);
	bool taken =
		(anything_stashed(nest) && shared_stash_remove(nest, NEST_KIND, &site->at.key)) ||
		NEST_ID(take_slot)(nest, site);
	stripes_unlock(&nest->shared->stripes, &set);
	return taken ? NIDUS_OK : NIDUS_NOT_FOUND;
}

/* The long way. */
NEVER_INLINE nidus_status NEST_ID(remove)(struct nest *nest, uint64_t hash)
{
	struct NEST_ID(site) site;
	NEST_ID(locate_all)(nest, hash, &site);
	return NEST_ID(take)(nest, &site);
}

/* --------------------------------------------------------------------- spots -- */

/*
 * The usual case of removes in short: each group lies in one region, nobody else is
 * there, and the stash does not matter. What is not usual goes the long way, by the
 * functions above. It takes the lock of only that group in which the key is found.
 */
struct NEST_ID(spot) {
	uint64_t bit[2]; /* where the groups begin, counted from the table's first bit */
	uint64_t value;
	uint64_t chunk;
	uint32_t stripe[2];
	uint32_t pair;
	bool unusual;
};

/* Constants of a nest that no store to a table can change, out of the compiler's sight. */
struct NEST_ID(lens) {
	unsigned char *bits;
	struct stripe *stripe;
	uint32_t *pairs;
	const uint64_t *stashed;
	uint64_t ones, lows, highs, pattern[2];
	unsigned width, word_bits;
};

ALWAYS_INLINE struct NEST_ID(lens) NEST_ID(lens_of)(const struct nest *nest)
{
	const struct nest_shared *shared = nest->shared;
	return (struct NEST_ID(lens)){
		.bits = nest->bits,
		.stripe = shared->stripes.stripe,
		.pairs = shared->pair_version,
		.stashed = &nest->stashed,
		.ones = shared->ones,
		.lows = shared->lows,
		.highs = shared->highs,
		.pattern = { shared->pattern[0][0], shared->pattern[1][0] },
		.width = nest->width,
		.word_bits = shared->word_bits,
	};
}

ALWAYS_INLINE struct NEST_ID(spot) NEST_ID(spot_of)(const struct nest *nest, uint64_t hash)
{
	struct nest_key key = nest_locate(nest, NEST_KIND, hash);
	uint64_t bit[2], chunk_bit = key.chunk * nest->stride * 8, crosses = 0;
	for (unsigned i = 0; i < 2; i++) {
		bit[i] = NEST_ID(group_bit)(nest, key.group[i]);
		crosses |= bit[i] ^ (bit[i] + NEST_ID(span)(nest) - 1);
	}
	const struct stripes *stripes = &nest->shared->stripes;
	return (struct NEST_ID(spot)){
		.bit = { chunk_bit + bit[0], chunk_bit + bit[1] },
		.value = key.value,
		.chunk = key.chunk,
		.stripe = { stripe_in_chunk(stripes, key.chunk, bit[0] >> 3),
		            stripe_in_chunk(stripes, key.chunk, bit[1] >> 3) },
		.pair = nest_pair(stripes, &key),
		.unusual = crosses >> (STRIPES_REGION_LOG + 3) != 0 || nest->shared->words > 1,
	};
}

/* The slots of a spot's group as fields; anything above them. */
ALWAYS_INLINE uint64_t NEST_ID(glance)(const struct NEST_ID(lens) * lens,
                                       const struct NEST_ID(spot) * spot, unsigned i)
{
#if NEST_KIND_CODED
	unsigned span = (unsigned)CODED_BITS(lens->width);
	return coded_fields_in(word_bits(lens->bits, spot->bit[i], span), lens->width);
#else
	return word_bits(lens->bits, spot->bit[i], lens->word_bits);
#endif
}

/* The fields of a spot's group that hold the key. */
ALWAYS_INLINE uint64_t NEST_ID(find)(const struct NEST_ID(lens) * lens,
                                     const struct NEST_ID(spot) * spot, unsigned i)
{
	uint64_t wanted = spot->value * lens->ones + lens->pattern[i];
	return fields_zero_in(NEST_ID(glance)(lens, spot, i) ^ wanted, lens->lows, lens->highs);
}

/* Empties a field that was found in the group at a bit, which is locked. */
ALWAYS_INLINE void NEST_ID(clear_at)(const struct NEST_ID(lens) * lens, uint64_t bit,
                                     uint64_t found)
{
	unsigned from = (unsigned)__builtin_ctzll(found) + 1 - lens->width;
#if NEST_KIND_CODED
	unsigned char copy[NEST_COPY_BYTES] = { 0 };
	unsigned span = (unsigned)CODED_BITS(lens->width);
	store64(copy, word_bits(lens->bits, bit, span) & bits_low(span));
	coded_set(copy, lens->width, from / lens->width, 0);
	word_set_bits(lens->bits, bit, span, load64(copy));
#else
	word_set_bits(lens->bits, bit + from, lens->width, 0);
#endif
}

/* Whether the stash of a spot's chunk is empty. */
ALWAYS_INLINE bool NEST_ID(none_stashed)(const struct nest *nest, const struct NEST_ID(lens) * lens,
                                         const struct NEST_ID(spot) * spot)
{
	return LIKELY(__atomic_load_n(lens->stashed, __ATOMIC_ACQUIRE) == 0) ||
	       __atomic_load_n(&nest->chunk[spot->chunk].stash.count, __ATOMIC_ACQUIRE) == 0;
}

/* Tries a remove the short way; false if it takes the long one. */
ALWAYS_INLINE bool NEST_ID(take_at)(struct nest *nest, const struct NEST_ID(lens) * lens,
                                    const struct NEST_ID(spot) * spot)
{
	if (UNLIKELY(spot->unusual))
		return false;
	/* Both before any branch: which of the two it will be nobody can predict. */
	uint64_t first = NEST_ID(find)(lens, spot, 0);
	uint64_t second = NEST_ID(find)(lens, spot, 1);
	if ((first | second) == 0)
		return false;
	unsigned i = first == 0;
	struct stripe *stripe = &lens->stripe[spot->stripe[i]];
	version_lock(&stripe->version);
	uint64_t found = NEST_ID(find)(lens, spot, i);
	bool done = LIKELY(found != 0) && NEST_ID(none_stashed)(nest, lens, spot);
	if (LIKELY(done)) {
		uint32_t *pair = &lens->pairs[spot->pair];
		if (NEST_KIND != NEST_CODED)
			version_lock(pair);
		NEST_ID(clear_at)(lens, spot->bit[i], found);
		if (NEST_KIND != NEST_CODED)
			version_unlock(pair);
		stripe_count(stripe, UINT32_MAX);
	}
	version_unlock(&stripe->version);
	return done;
}

/*
 * SHARED_BATCH keys are on their way from memory; as soon as one is finished, another
 * is asked for. Both ends of a group are, since it may lie across two lines.
 */
ALWAYS_INLINE void NEST_ID(approach)(const struct nest *nest, const struct NEST_ID(lens) * lens,
                                     uint64_t hash, struct NEST_ID(spot) * spot)
{
	uint64_t last = NEST_ID(span)(nest) - 1;
	*spot = NEST_ID(spot_of)(nest, hash);
	for (unsigned choice = 0; choice < 2; choice++) {
		PREFETCH(lens->bits + (spot->bit[choice] >> 3));
		PREFETCH(lens->bits + ((spot->bit[choice] + last) >> 3));
		PREFETCH_WRITE(&lens->stripe[spot->stripe[choice]]);
	}
	if (NEST_KIND != NEST_CODED)
		PREFETCH_WRITE(&lens->pairs[spot->pair]);
}

/* In input order up to the first failure. */
static nidus_status NEST_ID(remove_batch)(void *body, const uint64_t *hashes, size_t n,
                                          size_t *done)
{
	struct nest *nest = body;
	const struct NEST_ID(lens) lens = NEST_ID(lens_of)(nest);
	struct NEST_ID(spot) ring[SHARED_BATCH];
	for (size_t i = 0; i < n && i < SHARED_BATCH; i++)
		NEST_ID(approach)(nest, &lens, hashes[i], &ring[i]);
	for (*done = 0; *done < n; ++*done) {
		struct NEST_ID(spot) *spot = &ring[*done % SHARED_BATCH];
		if (UNLIKELY(!NEST_ID(take_at)(nest, &lens, spot))) {
			nidus_status status = NEST_ID(remove)(nest, hashes[*done]);
			if (status != NIDUS_OK)
				return status;
		}
		if (LIKELY(n - *done > SHARED_BATCH))
			NEST_ID(approach)(nest, &lens, hashes[*done + SHARED_BATCH], spot);
	}
	return NIDUS_OK;
}

static nidus_status NEST_ID(remove_quickly)(void *body, uint64_t hash)
{
	struct nest *nest = body;
	const struct NEST_ID(lens) lens = NEST_ID(lens_of)(nest);
	struct NEST_ID(spot) spot = NEST_ID(spot_of)(nest, hash);
	return LIKELY(NEST_ID(take_at)(nest, &lens, &spot)) ? NIDUS_OK
	                                                    : NEST_ID(remove)(nest, hash);
}

static const struct body_ops NEST_ID(ops) = {
	.count = NEST_ID(count),
	.insert_new = NEST_ID(insert_new),
	.remove = NEST_ID(remove_quickly),
	.remove_batch = NEST_ID(remove_batch),
};

#undef NEST_COPY_BYTES

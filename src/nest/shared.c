/* SPDX-License-Identifier: MIT
 *
 * nest_shared: locks, the shared form of the stash, and the long ways of all calls:
 * compiled once, for every shape.
 */
#include "nest/shared.h"

#include "base/reason.h"
#include "nest/values.h"

/* ---------------------------------------------------------------------- locks -- */

nidus_status nest_share(struct nest *nest)
{
	struct block memory;
	struct stripes stripes;
	nidus_status status =
		stripes_make(&stripes, nest->layout->chunks, nest->layout->stride, nest->allocator);
	if (status != NIDUS_OK)
		return status;
	uint64_t versions = nest->layout->chunks + (nest->layout->chunks << stripes.chunk_log);
	uint64_t size = sizeof(struct nest_shared) + versions * sizeof(uint32_t);
	status = memory_take(nest->allocator, size, &memory);
	if (status != NIDUS_OK) {
		stripes_unmake(&stripes, nest->allocator);
		return status;
	}
	struct nest_shared *shared = (struct nest_shared *)(void *)memory.bytes;
	shared->stripes = stripes;
	shared->memory = memory;
	shared->stash_version = (uint32_t *)(void *)(shared + 1);
	shared->pair_version = shared->stash_version + nest->layout->chunks;
	nest->shared = shared;
	return NIDUS_OK;
}

void nest_unshare(struct nest *nest)
{
	if (nest->shared == NULL)
		return;
	struct block memory = nest->shared->memory;
	stripes_unmake(&nest->shared->stripes, nest->allocator);
	memory_give(nest->allocator, &memory);
	nest->shared = NULL;
}

uint64_t nest_shared_used(const struct nest *nest, uint64_t chunk)
{
	return nest->shared == NULL ? 0 : stripes_count(&nest->shared->stripes, chunk);
}

void nest_shared_forget(struct nest *nest)
{
	if (nest->shared != NULL)
		stripes_forget(&nest->shared->stripes);
}

uint64_t nest_shared_bytes(const struct nest *nest)
{
	return nest->shared == NULL ? 0
	                            : nest->shared->memory.size + nest->shared->stripes.memory.size;
}

/* ---------------------------------------------------------------------- stash -- */

static inline bool anything_stashed(const struct nest *nest)
{
	return __atomic_load_n(&nest->stashed, __ATOMIC_ACQUIRE) != 0;
}

/* Copies of a key in the stash, whatever their payloads are; writes those of the first `cap`. */
static size_t shared_stash_find(const struct nest *nest, enum nest_kind kind,
                                const struct nest_key *key, uint64_t *values, size_t cap)
{
	const struct overflow *stash = &nest->chunk[key->chunk].stash;
	const uint32_t *version = &nest->shared->stash_version[key->chunk];
	nidus_entry wanted = nest_identity(nest, kind, key);
	for (unsigned tries = 0;; tries++) {
		uint32_t before = __atomic_load_n(version, __ATOMIC_ACQUIRE);
		size_t found;
		if (before % 2 == 0 &&
		    overflow_seen(stash, &wanted, version, before, values, cap, &found))
			return found;
		stripes_pause(tries);
	}
}

/* Whether the stash has the key, as nest_is_stashed tells it. */
static bool shared_is_stashed(const struct nest *nest, const struct nest_key *key)
{
	return anything_stashed(nest) &&
	       shared_stash_find(nest, nest->layout->kind, key, NULL, 0) > 0;
}

/* The key's stripes are locked, and its groups full. Errors: FULL, COPIES, E_NOMEM. */
static nidus_status shared_stash_insert(struct nest *nest, enum nest_kind kind,
                                        const struct nest_key *key)
{
	version_lock(&nest->shared->stash_version[key->chunk]);
	nidus_status status = nest_stash_key(nest, kind, key, 1);
	version_unlock(&nest->shared->stash_version[key->chunk]);
	return status;
}

/*
 * Changes an entry of a key whose stripes are locked: one with the payload of key->value if
 * `exact`, otherwise any. Errors: NOT_FOUND, COPIES, E_NOMEM.
 */
static nidus_status shared_stash_change(struct nest *nest, enum nest_kind kind,
                                        const struct nest_key *key, bool exact,
                                        struct value_change change)
{
	const struct overflow *stash = &nest->chunk[key->chunk].stash;
	nidus_entry identity = nest_identity(nest, kind, key);
	nidus_status status = NIDUS_NOT_FOUND;
	version_lock(&nest->shared->stash_version[key->chunk]);
	const struct overflow_node *node = overflow_find(stash, &identity, !exact);
	if (node != NULL) {
		version_lock(nest_pair_version(nest, key));
		status = NIDUS_OK;
		if (change.what == VALUE_REMOVE)
			nest_stash_take(nest, key->chunk, &node->entry, 1);
		else
			status = nest_stash_change(nest, key->chunk, node, change);
		version_unlock(nest_pair_version(nest, key));
	}
	version_unlock(&nest->shared->stash_version[key->chunk]);
	return status;
}

/*
 * Takes a copy of an entry out that has its home at a slot, and sets what it would be there.
 * Gives its pair's version, locked until the entry is in its slot; NULL if there is none.
 */
static uint32_t *shared_stash_take_for(struct nest *nest, uint64_t chunk, uint64_t slot,
                                       uint64_t *value)
{
	uint32_t *pair = NULL;
	version_lock(&nest->shared->stash_version[chunk]);
	const struct overflow_node *node = nest_stashed_for(nest, chunk, slot, value);
	if (node != NULL) {
		struct nest_key key =
			nest_key_of_identity(nest, nest->layout->kind, chunk, node->entry);
		pair = nest_pair_version(nest, &key);
		version_lock(pair);
		nest_stash_take(nest, chunk, &node->entry, 1);
	}
	version_unlock(&nest->shared->stash_version[chunk]);
	return pair;
}

/* ---------------------------------------------------------------------- slots -- */

/*
 * A coded bucket's bits, copied to where coded.h can work on them, and back. The
 * copy has room for the eight bytes that a load of its last slot may touch.
 */
#define COPY_BYTES 40

static void copy_out(const struct nest *nest, const unsigned char *bits, uint64_t bit,
                     unsigned char copy[COPY_BYTES])
{
	uint64_t left = nest->layout->group_bits;
	memset(copy, 0, COPY_BYTES);
	for (unsigned at = 0; left > 0; at += 4) {
		unsigned some = left < 32 ? (unsigned)left : 32;
		store32(copy + at,
		        (uint32_t)(word_bits(bits, bit + at * 8, some) & bits_low(some)));
		left -= some;
	}
}

static void copy_in(const struct nest *nest, unsigned char *bits, uint64_t bit,
                    const unsigned char copy[COPY_BYTES])
{
	uint64_t left = nest->layout->group_bits;
	for (unsigned at = 0; left > 0; at += 4) {
		unsigned some = left < 32 ? (unsigned)left : 32;
		word_set_bits(bits, bit + at * 8, some, load32(copy + at));
		left -= some;
	}
}

uint64_t nest_shared_coded_word(const struct nest *nest, const unsigned char *bits, uint64_t bit,
                                unsigned word)
{
	unsigned char copy[COPY_BYTES];
	copy_out(nest, bits, bit, copy);
	return coded_fields(copy, nest->layout->width, 0, word * nest->layout->fields,
	                    nest->layout->fields);
}

/*
 * `kind` is the nest's; where it is a constant, which matters for moves, the code for
 * others is left out.
 */
ALWAYS_INLINE uint64_t get(const struct nest *nest, enum nest_kind kind, const unsigned char *bits,
                           uint64_t slot)
{
	unsigned char copy[COPY_BYTES];
	if (!nest_coded(kind))
		return word_bits(bits, slot * nest->layout->width, nest->layout->width) &
		       bits_low(nest->layout->width);
	uint64_t bit = slot / CODED_SLOTS * nest->layout->group_bits;
	if (nest->layout->in_words == NEST_ONE)
		return coded_get_in(&nest->layout->coding,
		                    word_bits(bits, bit, nest->layout->load_bits),
		                    slot % CODED_SLOTS);
	copy_out(nest, bits, bit, copy);
	return coded_get(copy, nest->layout->width, slot % CODED_SLOTS);
}

/* The caller has the stripes of the slot, of a coded one those of its bucket. */
ALWAYS_INLINE void set(const struct nest *nest, enum nest_kind kind, unsigned char *bits,
                       uint64_t slot, uint64_t value)
{
	unsigned char copy[COPY_BYTES];
	if (!nest_coded(kind)) {
		word_set_bits(bits, slot * nest->layout->width, nest->layout->width, value);
		return;
	}
	uint64_t bit = slot / CODED_SLOTS * nest->layout->group_bits;
	if (nest->layout->in_words == NEST_ONE) {
		word_set_bits(bits, bit, nest->layout->load_bits,
		              coded_changed(&nest->layout->coding,
		                            word_bits(bits, bit, nest->layout->load_bits),
		                            slot % CODED_SLOTS, value));
		return;
	}
	copy_out(nest, bits, bit, copy);
	coded_set(copy, nest->layout->width, slot % CODED_SLOTS, value);
	copy_in(nest, bits, bit, copy);
}

/* The empty slot, if there is one, of the group in which `slot` was emptied. */
static uint64_t emptied(const struct nest *nest, uint64_t slot)
{
	return nest_coded(nest->layout->kind) ? slot - slot % CODED_SLOTS : slot; /* sorted */
}

/* -------------------------------------------------------------------- stripes -- */

/* The stripes of the first and the last of some bits of a chunk, mostly the same. */
ALWAYS_INLINE void watch_bits(const struct nest *nest, uint64_t chunk, uint64_t bit, uint64_t count,
                              uint32_t stripe[2])
{
	const struct stripes *stripes = &nest->shared->stripes;
	stripe[0] = stripe_in_chunk(stripes, chunk, bit >> 3);
	stripe[1] = stripe_in_chunk(stripes, chunk, (bit + count - 1) >> 3);
}

static void watch_group(const struct nest *nest, uint64_t chunk, uint64_t group, uint32_t stripe[2])
{
	uint64_t count =
		nest_coded(nest->layout->kind) ? nest->layout->group_bits : nest->layout->span;
	watch_bits(nest, chunk, group * nest->layout->group_bits, count, stripe);
}

/* The stripes of what is written when a slot changes: of coded slots the whole bucket. */
ALWAYS_INLINE void watch_slot(const struct nest *nest, enum nest_kind kind, uint64_t chunk,
                              uint64_t slot, uint32_t stripe[2])
{
	if (nest_coded(kind))
		watch_group(nest, chunk, slot / CODED_SLOTS, stripe);
	else
		watch_bits(nest, chunk, slot * nest->layout->width, nest->layout->width, stripe);
}

/* Counts entries that came to a slot whose stripes are locked, at its first one. */
ALWAYS_INLINE void count_at(const struct nest *nest, enum nest_kind kind, uint64_t chunk,
                            uint64_t slot, uint32_t amount)
{
	uint32_t stripe[2];
	watch_slot(nest, kind, chunk, slot, stripe);
	stripe_count(&nest->shared->stripes.stripe[stripe[0]], amount);
}

/* A key, where it is, and what a call locks or watches. */
struct place {
	struct nest_key key;
	struct nest_spot spot;
	unsigned char *bits; /* the chunk's */
	struct stripe_watch watch;
	uint32_t *pair; /* the version */
};

static void locate(const struct nest *nest, uint64_t hash, uint64_t payload, struct place *place)
{
	place->key = nest_find_to_put(nest, nest_shape_of(nest), hash, payload, &place->spot);
	place->bits = nest_chunk_bits(nest, place->key.chunk);
	for (unsigned i = 0; i < 2; i++)
		watch_group(nest, place->key.chunk, place->key.group[i],
		            place->watch.stripe + 2 * i);
	place->pair = nest_pair_version(nest, &place->key);
}

/* -------------------------------------------------------------------- lookups -- */

/* A lookup's first and second look at the versions: false if it must begin again. */
static bool begin(const struct nest *nest, const struct place *place,
                  struct stripe_versions *versions)
{
	if (nest_coded(nest->layout->kind))
		return stripes_begin(&nest->shared->stripes, &place->watch, versions);
	versions->version[0] = __atomic_load_n(place->pair, __ATOMIC_ACQUIRE);
	return versions->version[0] % 2 == 0;
}

static bool same(const struct nest *nest, const struct place *place,
                 const struct stripe_versions *versions)
{
	if (nest_coded(nest->layout->kind))
		return stripes_same(&nest->shared->stripes, &place->watch, versions);
	return versions->version[0] == __atomic_load_n(place->pair, __ATOMIC_ACQUIRE);
}

/* Copies in slots and stash, seen between two looks at the versions or under the locks. */
static size_t copies_now(const struct nest *nest, const struct place *place, uint64_t *values,
                         size_t cap)
{
	size_t found = nest_gather(nest, nest_shape_of(nest), &place->spot, values, cap);
	size_t told = found < cap ? found : cap;
	if (anything_stashed(nest))
		found += shared_stash_find(nest, nest->layout->kind, &place->key,
		                           told < cap ? values + told : NULL, cap - told);
	return found;
}

size_t nest_shared_find(const struct nest *nest, uint64_t hash, uint64_t *values, size_t cap)
{
	struct place place;
	locate(nest, hash, 0, &place);
	for (unsigned tries = 0;; tries++) {
		struct stripe_versions versions;
		if (begin(nest, &place, &versions)) {
			size_t found = copies_now(nest, &place, values, cap);
			if (same(nest, &place, &versions))
				return found;
		}
		stripes_pause(tries);
	}
}

uint64_t nest_shared_count(const struct nest *nest, uint64_t hash)
{
	return nest_shared_find(nest, hash, NULL, 0);
}

bool nest_shared_look(const struct nest *nest, uint64_t hash)
{
	return nest_shared_count(nest, hash) > 0;
}

/* --------------------------------------------------------------------- moving -- */

/* Brings a stashed entry home to a slot that is empty. The slot's stripes are locked. */
static void bring_home(struct nest *nest, uint64_t chunk, unsigned char *bits, uint64_t slot)
{
	const enum nest_kind kind = nest->layout->kind;
	uint64_t value;
	if (!anything_stashed(nest))
		return;
	uint32_t *pair = shared_stash_take_for(nest, chunk, slot, &value);
	if (pair == NULL)
		return;
	set(nest, kind, bits, slot, value);
	version_unlock(pair);
	count_at(nest, kind, chunk, slot, 1);
}

/* The locks of two slots. */
ALWAYS_INLINE struct stripe_set lock_slots(const struct nest *nest, enum nest_kind kind,
                                           uint64_t chunk, uint64_t from, uint64_t to)
{
	struct stripe_watch watch;
	watch_slot(nest, kind, chunk, from, watch.stripe);
	watch_slot(nest, kind, chunk, to, watch.stripe + 2);
	return stripes_lock(&nest->shared->stripes, &watch);
}

/* A slot was left empty by a chain: a stashed entry may lie there. */
static void fill_gap(struct nest *nest, uint64_t chunk, uint64_t slot)
{
	const enum nest_kind kind = nest->layout->kind;
	if (!anything_stashed(nest))
		return;
	unsigned char *bits = nest_chunk_bits(nest, chunk);
	struct stripe_set locked = lock_slots(nest, kind, chunk, slot, slot);
	if (get(nest, kind, bits, emptied(nest, slot)) == 0)
		bring_home(nest, chunk, bits, emptied(nest, slot));
	stripes_unlock(&nest->shared->stripes, &locked);
}

/*
 * What an entry of slot `from` would be in slot `to`, and the version of its pair; false
 * if it may not lie there.
 */
ALWAYS_INLINE bool value_at(const struct nest *nest, enum nest_kind kind, uint64_t chunk,
                            uint64_t from, uint64_t value, uint64_t to, uint64_t *moved,
                            uint32_t **pair)
{
	const unsigned core_bits = nest->layout->core_bits, slots = nest->layout->slots;
	const bool windows = kind == NEST_WINDOWS;
	const struct nest_shape shape = { .kind = kind, .slots = slots };
	uint64_t own = from / slots;
	if (windows) {
		own = from - (value >> (core_bits + 1) & (slots - 1));
		if (own >= nest->layout->groups) /* torn */
			return false;
	}
	uint64_t other = nest_other_group(nest, kind, own, value);
	const struct nest_key groups = { .chunk = chunk, .group = { own, other } };
	*pair = nest_pair_version(nest, &groups);
	*moved = search_moved(nest, shape, from, to, value);
	if (!windows)
		return other == to / slots;
	/* Where it would say that its window is must be one of the two. */
	uint64_t window = to - (*moved >> (core_bits + 1) & (slots - 1));
	return window == own || window == other;
}

/*
 * Moves whatever entry is in slot `from` to the empty slot `to` of its own groups,
 * and puts `fresh` in its place, which may be nothing. Both slots are locked
 * meanwhile, and the version that lookups of the entry watch. False if that
 * is not possible; nothing changed then.
 */
ALWAYS_INLINE bool move_as(struct nest *nest, enum nest_kind kind, uint64_t chunk, uint64_t from,
                           uint64_t to, uint64_t fresh)
{
	unsigned char *bits = nest_chunk_bits(nest, chunk);
	uint64_t value = get(nest, kind, bits, from), moved;
	uint32_t *pair;
	if (value == 0 || !value_at(nest, kind, chunk, from, value, to, &moved, &pair))
		return false;
	PREFETCH_WRITE(pair);
	struct stripe_set locked = lock_slots(nest, kind, chunk, from, to);
	bool as_seen = get(nest, kind, bits, from) == value && get(nest, kind, bits, to) == 0;
	if (LIKELY(as_seen)) {
		uint32_t before = version_lock(pair);
		set(nest, kind, bits, to, moved);
		set(nest, kind, bits, from, fresh);
		version_unlock_from(pair, before);
		count_at(nest, kind, chunk, to, 1);
		if (fresh == 0)
			count_at(nest, kind, chunk, from, UINT32_MAX);
	}
	stripes_unlock(&nest->shared->stripes, &locked);
	return as_seen;
}

static bool move(struct nest *nest, uint64_t chunk, uint64_t from, uint64_t to, uint64_t fresh)
{
	switch (nest->layout->kind) {
	case NEST_CODED_XOR:
		return move_as(nest, NEST_CODED_XOR, chunk, from, to, fresh);
	case NEST_CODED_BUCKETS:
		return move_as(nest, NEST_CODED_BUCKETS, chunk, from, to, fresh);
	case NEST_BUCKETS:
		return move_as(nest, NEST_BUCKETS, chunk, from, to, fresh);
	case NEST_WINDOWS:
		return move_as(nest, NEST_WINDOWS, chunk, from, to, fresh);
	default:
		return move_as(nest, NEST_XOR, chunk, from, to, fresh);
	}
}

/* --------------------------------------------------------------- making room -- */

#define NO_SLOT UINT64_MAX

/* What came of a search and its moves. */
enum room {
	NO_ROOM,    /* no chain within the limit */
	SOME_ROOM,  /* perhaps: worth another look */
	ROOM_TAKEN, /* and the key is in it */
};

/* Asks for the stripes of a chain at once: other threads may have them in their caches. */
static void fetch_stripes(const struct search *search, uint64_t chunk)
{
	const struct nest *nest = search->nest;
	const enum nest_kind kind = nest->layout->kind;
	for (unsigned i = 0; i <= search->length; i++) {
		uint32_t stripe[2];
		watch_slot(nest, kind, chunk, i == 0 ? search->empty : search->chain[i - 1],
		           stripe);
		PREFETCH_WRITE(&nest->shared->stripes.stripe[stripe[0]]);
	}
}

/*
 * Tries to free a slot of the key's groups by moving a chain from its end. If
 * `take` the key goes there at once, with the chain's last move. Otherwise, or if the
 * chain breaks on the way, *freed is the slot that the last move left empty.
 */
static enum room make_room(struct nest *nest, const struct nest_key *key, bool take,
                           nest_walk *walk, uint64_t *freed)
{
	struct search search;
	uint64_t chunk = key->chunk, left = NO_SLOT;
	if (UNLIKELY(!walk(&search, nest, key)) && !search_long(&search, key))
		return NO_ROOM;
	enum room room = SOME_ROOM;
	uint64_t to = search.empty;
	fetch_stripes(&search, chunk);
	for (unsigned i = 0; i < search.length; i++) {
		uint64_t from = search.chain[i], fresh = 0;
		if (i + 1 == search.length && take)
			(void)nest_encode_at(nest, nest->layout->kind, key, from, &fresh);
		if (!move(nest, chunk, from, emptied(nest, to), fresh))
			break;
		left = fresh == 0 ? from : NO_SLOT;
		if (fresh != 0)
			room = ROOM_TAKEN;
		to = from;
	}
	/* Slots that this insert left empty before now stay so. */
	if (*freed != NO_SLOT && (left != NO_SLOT || room == ROOM_TAKEN)) {
		fill_gap(nest, chunk, *freed);
		*freed = NO_SLOT;
	}
	if (left != NO_SLOT)
		*freed = left;
	return room;
}

/* --------------------------------------------------------------------- insert -- */

/*
 * Which slot of a group is a place that nest_vacancy gave; nest->layout->slots for none. Of a coded
 * bucket how many are taken: the lower is the emptier one here, too.
 */
static unsigned vacancy(const struct nest *nest, const struct place *place, unsigned choice,
                        bool open)
{
	struct nest_shape shape = nest_shape_of(nest);
	unsigned at = nest_vacancy(nest, shape, place->spot.bit[choice], open);
	if (at == NEST_NOWHERE)
		return nest->layout->slots;
	return nest_coded(nest->layout->kind) ? at : nest_slot_at(nest, at);
}

/* Puts the key into the group that nest_choose would take; false if both are full. */
static bool put_somewhere(struct nest *nest, const struct place *place)
{
	const enum nest_kind kind = nest->layout->kind;
	const uint64_t *group = place->key.group;
	const unsigned slots = nest->layout->slots;
	unsigned at[2] = { vacancy(nest, place, 0, nest_symmetric(nest->layout->kind)),
		           vacancy(nest, place, 1, false) };
	unsigned choice = at[0] == slots;
	if (nest_choosing(nest->layout->kind) ||
	    (nest->layout->kind == NEST_WINDOWS && group[1] - group[0] + slots > 2 * slots))
		choice = at[1] < at[0];
	if (at[choice] == slots) { /* what is held back */
		choice = 0;
		at[0] = vacancy(nest, place, 0, false);
	}
	if (at[choice] == slots)
		return false;
	uint64_t slot = emptied(nest, nest_first_slot(nest, nest->layout->kind, group[choice]) +
	                                      at[choice]);
	set(nest, kind, place->bits, slot,
	    nest_encode(nest, nest->layout->kind, place->key.value, choice, at[choice]));
	count_at(nest, kind, place->key.chunk, slot, 1);
	return true;
}

/* Which keys an insert puts in. */
enum demand {
	ANY,       /* each */
	ONLY_NEW,  /* only one that is not there; otherwise PRESENT */
	ADD_OR_NEW /* the same, but the payload of one that is there is added to */
};

/* Changes the entry of a slot; the key's stripes are locked. */
static void change_slot(struct nest *nest, const struct place *place, uint64_t slot,
                        struct value_change change)
{
	const enum nest_kind kind = nest->layout->kind;
	uint64_t chunk = place->key.chunk, fresh = 0;
	if (change.what != VALUE_REMOVE) {
		uint64_t value = get(nest, kind, place->bits, slot);
		fresh = nest_with_payload(
			nest, value, nest_changed(nest, value >> nest->layout->payload_at, change));
	}
	version_lock(place->pair);
	set(nest, kind, place->bits, slot, fresh);
	version_unlock(place->pair);
	if (change.what != VALUE_REMOVE)
		return;
	count_at(nest, kind, chunk, slot, UINT32_MAX);
	bring_home(nest, chunk, place->bits, emptied(nest, slot));
}

/* Changes an entry of the key: see shared_stash_change. */
static nidus_status change_entry(struct nest *nest, const struct place *place, bool exact,
                                 struct value_change change)
{
	uint64_t slot;
	if (nest_find_entry(nest, &place->key, &place->spot, exact, &slot)) {
		change_slot(nest, place, slot, change);
		return NIDUS_OK;
	}
	return anything_stashed(nest)
	               ? shared_stash_change(nest, nest->layout->kind, &place->key, exact, change)
	               : NIDUS_NOT_FOUND;
}

/*
 * One attempt under the locks. Crowded groups: FULL, unless the stash is to take
 * the key (`stash`, or if all slots hold copies of the key itself).
 */
static nidus_status attempt(struct nest *nest, const struct place *place, enum demand demand,
                            bool *stash)
{
	struct value_change add = { .what = VALUE_ADD,
		                    .fresh = place->key.value >> nest->layout->payload_at };
	nidus_status status = NIDUS_NOT_FOUND;
	if (demand == ONLY_NEW && copies_now(nest, place, NULL, 0) > 0)
		return NIDUS_PRESENT;
	if (demand == ADD_OR_NEW)
		status = change_entry(nest, place, false, add);
	if (status != NIDUS_NOT_FOUND)
		return status;
	if (LIKELY(put_somewhere(nest, place)))
		return NIDUS_OK;
	bool only_copies = nest_copies(nest, nest_shape_of(nest), &place->spot) ==
	                   nest_places(nest, nest->layout->kind, &place->key);
	if (only_copies && nest->layout->stash_limit == 0)
		return nest_no_stash();
	*stash |= only_copies;
	return *stash ? shared_stash_insert(nest, nest->layout->kind, &place->key) : NIDUS_FULL;
}

static nidus_status put(struct nest *nest, uint64_t hash, uint64_t payload, enum demand demand,
                        bool crowded, nest_walk *walk)
{
	struct place place;
	uint64_t freed = NO_SLOT;
	nidus_status status = NIDUS_FULL;
	locate(nest, hash, payload, &place);
	/* What is stashed already is stashed again, without a search. */
	bool stash = UNLIKELY(shared_is_stashed(nest, &place.key));
	for (crowded = crowded && !stash;; crowded = false) {
		if (!crowded) {
			struct stripe_set locked =
				stripes_lock(&nest->shared->stripes, &place.watch);
			status = attempt(nest, &place, demand, &stash);
			stripes_unlock(&nest->shared->stripes, &locked);
			if (LIKELY(status != NIDUS_FULL) || stash)
				break;
		}
		enum room room = make_room(nest, &place.key, demand == ANY, walk, &freed);
		if (room == ROOM_TAKEN)
			return NIDUS_OK;
		stash = room == NO_ROOM;
	}
	/* The key may have found another slot than the one made for it. */
	if (UNLIKELY(freed != NO_SLOT))
		fill_gap(nest, place.key.chunk, freed);
	return status;
}

nidus_status nest_shared_insert(struct nest *nest, uint64_t hash, uint64_t payload, bool crowded,
                                nest_walk *walk)
{
	return put(nest, hash, payload, ANY, crowded, walk);
}

nidus_status nest_shared_insert_new(struct nest *nest, uint64_t hash, nest_walk *walk)
{
	return put(nest, hash, 0, ONLY_NEW, false, walk);
}

nidus_status nest_shared_add(struct nest *nest, uint64_t hash, uint64_t payload, nest_walk *walk)
{
	return put(nest, hash, payload, ADD_OR_NEW, false, walk);
}

/* --------------------------------------------------------- removes and changes -- */

nidus_status nest_shared_remove(struct nest *nest, uint64_t hash)
{
	const struct value_change out = { .what = VALUE_REMOVE };
	struct place place;
	locate(nest, hash, 0, &place);
	struct stripe_set locked = stripes_lock(&nest->shared->stripes, &place.watch);
	nidus_status status = NIDUS_NOT_FOUND;
	if (anything_stashed(nest))
		status = shared_stash_change(nest, nest->layout->kind, &place.key, false, out);
	if (status == NIDUS_NOT_FOUND)
		status = change_entry(nest, &place, false, out);
	stripes_unlock(&nest->shared->stripes, &locked);
	return status;
}

nidus_status nest_shared_change(struct nest *nest, uint64_t hash, struct value_change change)
{
	bool exact = change.what != VALUE_ADD;
	struct place place;
	locate(nest, hash, exact ? change.old : 0, &place);
	struct stripe_set locked = stripes_lock(&nest->shared->stripes, &place.watch);
	nidus_status status = change_entry(nest, &place, exact, change);
	stripes_unlock(&nest->shared->stripes, &locked);
	return status;
}

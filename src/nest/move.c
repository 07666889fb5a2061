/* SPDX-License-Identifier: MIT
 *
 * nest_move: chunk by chunk, the stash first, then slot by slot.
 *
 * The stash goes first because of what a nest promises of a stashed entry: all
 * slots of its home are taken. Later removes only ever shorten a stash, so once
 * a chunk's is empty its slots can be emptied in any order.
 *
 * An entry of group g goes to the group of the larger nest that comes from g, if there is
 * room: after d doublings one of the 2^d from g * 2^d on, or close to them where distances
 * are rounded. So both tables are walked through from front to back, and no
 * line has to be waited for.
 */
#include "nest/move.h"

#include "base/effort.h"

/* Where entries go. */
struct target {
	struct nest *nest;
	struct overflow *overflow;
};

/*
 * Puts copies of an entry into the nest, and what that has no place for into the overflow list.
 * Gives how many have to stay: there is no memory.
 */
static uint64_t put_copies(const struct target *to, const struct nest *from, nidus_entry identity,
                           const struct nest_key *key, uint64_t copies)
{
	nidus_status status = nest_insert_copies(to->nest, key, &copies);
	if (!overflow_helps(status))
		return copies;
	nidus_entry entry = nest_entry(from, key->chunk, identity);
	status = overflow_add(to->overflow, &to->nest->allocator, &entry, copies);
	return status == NIDUS_OK ? 0 : copies;
}

/* settle_in of coded buckets. */
static bool settle_coded(const struct nest *nest, enum nest_kind kind, unsigned char *bits,
                         uint64_t group, uint64_t value, unsigned choice)
{
	uint64_t first = nest_first_slot(nest, kind, group);
	if (nest_get(nest, kind, bits, first) != 0) /* sorted: no slot is empty */
		return false;
	nest_set(nest, kind, bits, first, nest_encode(nest, kind, value, choice, 0));
	return true;
}

/*
 * Writes a key's value into an empty slot of a group, its candidate number `choice`; false if
 * there is none. Words are written as they were loaded: a load of what two stores wrote has to
 * wait for both.
 */
ALWAYS_INLINE bool settle_in(const struct nest *nest, enum nest_kind kind, unsigned char *bits,
                             uint64_t group, uint64_t value, unsigned choice)
{
	if (nest_coded(kind))
		return settle_coded(nest, kind, bits, group, value, choice);
	uint64_t bit = group * nest->group_bits;
	for (unsigned word = 0; word < nest->words; word++, bit += nest->word_bits) {
		unsigned char *bytes = bits + (bit >> 3);
		uint64_t loaded = load64(bytes);
		uint64_t empty = fields_zero_in(loaded >> (bit & 7), nest->lows, nest->highs);
		if (empty == 0)
			continue;
		unsigned at = (unsigned)__builtin_ctzll(empty) - nest->high;
		if (!nest_symmetric(kind))
			value |= nest->pattern[choice][word] >> at & nest->slot_mask;
		store64(bytes, loaded | value << at << (bit & 7));
		return true;
	}
	return false;
}

/* Writes a key into an empty slot of one of its groups, `choice` first; false if there is none. */
static bool settle(const struct nest *nest, const struct nest_key *key, unsigned choice)
{
	unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	return settle_in(nest, nest->kind, bits, key->group[choice], key->value, choice) ||
	       settle_in(nest, nest->kind, bits, key->group[!choice], key->value, !choice);
}

/* Moves all copies of an entry of a chunk's stash; false if some have to stay. */
static bool move_stashed(const struct target *to, struct nest *from, uint64_t chunk)
{
	const struct overflow_node *node = overflow_next(&from->chunk[chunk].stash, NULL);
	const nidus_entry identity = node->entry;
	struct nest_key key = nest_key_of_identity(to->nest, to->nest->kind, chunk, identity);
	uint64_t copies = node->copies, left = put_copies(to, from, identity, &key, copies);
	if (left < copies)
		nest_stash_take(from, chunk, &identity, copies - left);
	effort_of_thread()->moved++;
	return left == 0;
}

/* ---------------------------------------------------------------------- slots -- */

/* The identity of what a slot holds. */
static nidus_entry identity_at(const struct nest *from, uint64_t chunk, uint64_t slot,
                               uint64_t value)
{
	struct nest_key key = nest_key_in(from, from->kind, chunk, slot, value);
	return nest_identity(from, from->kind, &key);
}

/*
 * Where the entry of a slot goes in a nest that has grown some times more, and has borrowed no
 * address bits: the group that comes from its own, which of its groups that is, and its value.
 */
struct heir {
	uint64_t group, value;
	unsigned choice;
};

ALWAYS_INLINE struct heir heir_of(const struct nest *to, const struct nest *from,
                                  enum nest_kind kind, uint64_t slot, uint64_t value)
{
	uint64_t core = value & from->core_values, extra = value >> from->core_bits;
	uint64_t kept = value >> from->growth_at & from->kept_mask;
	uint64_t group = kind == NEST_WINDOWS ? slot - (extra >> 1 & (from->slots - 1))
	                                      : slot >> log2_floor(from->slots);
	uint64_t hop = nest_final_hop(to, kind, core), final = group << from->kept_bits;
	struct heir heir = { .value = core + (kept & to->kept_mask) * to->growth_one };
	heir.value |= value >> from->payload_at << to->payload_at;
	if (nest_symmetric(kind)) {
		/* The slot keeps the growth bits of the lower final group, which may be the other. */
		uint64_t upper = 0 - (uint64_t)(final > (final ^ hop));
		final |= kept ^ (hop & from->kept_mask & upper);
		heir.group = final >> to->kept_bits;
		return heir;
	}
	/* Here it keeps those of the first. Back from the second is forward by the rest of the round. */
	uint64_t second = 0 - (extra & 1);
	uint64_t back = from->groups - nest_final_hop(from, kind, core);
	uint64_t first = nest_forward(from, group, back & second) << from->kept_bits | kept;
	heir.group = nest_forward(to, first >> to->kept_bits, hop & second);
	heir.choice = extra & 1;
	return heir;
}

/* The entry's other group there. */
ALWAYS_INLINE uint64_t other_of(const struct nest *to, enum nest_kind kind, struct heir heir)
{
	return nest_other_group_as(to, kind, heir.group, heir.value & to->core_values, heir.choice);
}

/* Writes it into an empty slot; false if both groups have none. */
ALWAYS_INLINE bool settle_heir(const struct nest *to, enum nest_kind kind, unsigned char *bits,
                               struct heir heir)
{
	return LIKELY(settle_in(to, kind, bits, heir.group, heir.value, heir.choice)) ||
	       settle_in(to, kind, bits, other_of(to, kind, heir), heir.value, !heir.choice);
}

/* Its key there: `choice` is which of its groups is to be tried first. */
static struct nest_key key_there(const struct nest *to, const struct nest *from, uint64_t chunk,
                                 uint64_t slot, uint64_t value, unsigned *choice)
{
	if (to->borrowed > 0) /* some address bits are no growth bits */
		return nest_key_of_identity(to, to->kind, chunk,
		                            identity_at(from, chunk, slot, value));
	struct heir heir = heir_of(to, from, from->kind, slot, value);
	struct nest_key key = { .chunk = chunk, .value = heir.value };
	*choice = heir.choice;
	key.group[heir.choice] = heir.group;
	key.group[!heir.choice] = other_of(to, from->kind, heir);
	return key;
}

/* Moves an entry in any other way; false if it has to stay. */
NEVER_INLINE bool move_otherwise(const struct target *to, const struct nest *from, uint64_t chunk,
                                 uint64_t slot, uint64_t value, uint64_t *crowded)
{
	unsigned choice = 0;
	struct nest_key key = key_there(to->nest, from, chunk, slot, value, &choice);
	if (settle(to->nest, &key, choice))
		return true;
	bool put = put_copies(to, from, identity_at(from, chunk, slot, value), &key, 1) == 0;
	*crowded += put;
	return put;
}

static void clear_bits(unsigned char *bytes, uint64_t from, uint64_t to)
{
	unsigned char before = (unsigned char)bits_low(from & 7);
	unsigned char behind = (unsigned char)~bits_low(to & 7);
	bytes += from >> 3;
	uint64_t last = (to >> 3) - (from >> 3);
	if (last == 0) {
		bytes[0] &= before | behind;
		return;
	}
	bytes[0] &= before;
	memset(bytes + 1, 0, last - 1);
	bytes[last] &= behind;
}

/* Empties the slots of a chunk from `slot` to `end`. */
static void clear_slots(struct nest *nest, uint64_t chunk, uint64_t slot, uint64_t end)
{
	unsigned char *bits = nest_chunk_bits(nest, chunk);
	if (!nest_coded(nest->kind)) {
		clear_bits(bits, slot * nest->width, end * nest->width);
		return;
	}
	/* The slots of a bucket are sorted, empty ones first: the others stay where they are. */
	for (; slot < end; slot++)
		nest_set(nest, nest->kind, bits, slot, 0);
}

/* Moves the entries of the slots from *slot to `end`; false if that of *slot has to stay. */
ALWAYS_INLINE bool move_slots(const struct target *to, struct nest *from, enum nest_kind kind,
                              uint64_t chunk, uint64_t *slot, uint64_t end)
{
	/* Copies, so that the compiler knows: no slot that is written changes them. */
	const struct nest there = *to->nest, here = *from;
	const unsigned char *bits = nest_chunk_bits(&here, chunk);
	unsigned char *bits_there = nest_chunk_bits(&there, chunk);
	uint64_t at = *slot, moved = 0, crowded = 0;
	for (; at < end; at++) {
		uint64_t value = nest_get(&here, kind, bits, at);
		if (value == 0)
			continue;
		struct heir heir = heir_of(&there, &here, kind, at, value);
		if ((UNLIKELY(there.borrowed > 0) ||
		     !settle_heir(&there, kind, bits_there, heir)) &&
		    !move_otherwise(to, from, chunk, at, value, &crowded))
			break;
		moved++;
	}
	clear_slots(from, chunk, *slot, at);
	from->chunk[chunk].used -= moved;
	to->nest->chunk[chunk].used += moved - crowded;
	effort_of_thread()->moved += moved;
	*slot = at;
	return at == end;
}

static bool move_some(const struct target *to, struct nest *from, uint64_t chunk, uint64_t *slot,
                      uint64_t end)
{
	switch (from->kind) {
	case NEST_CODED_XOR:
		return move_slots(to, from, NEST_CODED_XOR, chunk, slot, end);
	case NEST_CODED_BUCKETS:
		return move_slots(to, from, NEST_CODED_BUCKETS, chunk, slot, end);
	case NEST_BUCKETS:
		return move_slots(to, from, NEST_BUCKETS, chunk, slot, end);
	case NEST_WINDOWS:
		return move_slots(to, from, NEST_WINDOWS, chunk, slot, end);
	default:
		return move_slots(to, from, NEST_XOR, chunk, slot, end);
	}
}

void nest_move(struct nest *to, struct nest *from, uint64_t *position, uint64_t places,
               struct overflow *overflow)
{
	if (*position == UINT64_MAX)
		return;
	const struct target target = { to, overflow };
	uint64_t slots = nest_chunk_slots(from);
	uint64_t chunk = *position / slots, slot = *position % slots;
	for (bool went = true; places > 0 && chunk < from->chunks && went;) {
		uint64_t before = slot, some = places < slots - slot ? places : slots - slot;
		if (from->chunk[chunk].stash.nodes > 0)
			went = move_stashed(&target, from, chunk);
		else
			went = move_some(&target, from, chunk, &slot, slot + some);
		places -= slot > before ? slot - before : 1;
		if (slot == slots) {
			chunk++;
			slot = 0;
		}
	}
	*position = chunk < from->chunks ? chunk * slots + slot : UINT64_MAX;
}

/* ------------------------------------------------------------------- what is left -- */

ALWAYS_INLINE void find_left(const struct nest *from, enum nest_kind kind, uint64_t position,
                             const uint64_t *hashes, size_t n, uint8_t *left)
{
	const uint64_t slots = nest_chunk_slots(from);
	for (size_t i = 0; i < n; i++) {
		struct nest_key key = nest_locate_as(from, kind, from->special, hashes[i]);
		uint64_t last = key.group[0] > key.group[1] ? key.group[0] : key.group[1];
		left[i] =
			key.chunk * slots + nest_first_slot(from, from->kind, last) + from->slots >
			position;
	}
}

void nest_left(const struct nest *from, uint64_t position, const uint64_t *hashes, size_t n,
               uint8_t *left)
{
	if (nest_symmetric(from->kind))
		find_left(from, NEST_XOR, position, hashes, n, left);
	else
		find_left(from, NEST_WINDOWS, position, hashes, n, left);
}

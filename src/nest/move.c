/* SPDX-License-Identifier: MIT
 *
 * nest_move: chunk by chunk, the stash first, then slot by slot.
 *
 * The stash goes first because of what a nest promises of a stashed entry: all
 * slots of its groups are taken. Later removes only ever shorten a stash, so once
 * a chunk's is empty its slots can be emptied in any order.
 */
#include "nest/move.h"

#include "base/effort.h"

/*
 * Slots are moved some at a time: first it is found out where each entry goes, and memory is
 * asked for its groups, then they go there. So lines of a large table come side by side.
 */
#define MOVE_AHEAD 32

/* Where entries go. */
struct target {
	struct nest *nest;
	struct overflow *overflow;
};

/* An entry that is to be moved, and its slot. */
struct traveller {
	uint64_t slot;
	struct stash_entry identity;
	struct nest_key key; /* in the target */
};

/* False if an entry has to stay: there is no memory for it. */
static bool put(const struct target *to, const struct nest *from, struct stash_entry identity,
                const struct nest_key *key)
{
	nidus_status status = nest_insert_key(to->nest, key);
	if (overflow_helps(status)) {
		nidus_entry entry = nest_entry(from, key->chunk, identity);
		status = overflow_reserve(to->overflow, &to->nest->allocator, 1);
		if (status == NIDUS_OK)
			overflow_insert(to->overflow, &entry, 1);
	}
	effort_of_thread()->moved += status == NIDUS_OK;
	return status == NIDUS_OK;
}

/* Moves the last entry of a chunk's stash; false if it has to stay. */
static bool move_stashed(const struct target *to, struct nest *from, uint64_t chunk)
{
	struct nest_chunk *home = &from->chunk[chunk];
	uint32_t last = home->stash.count - 1;
	struct stash_entry identity = stash_entries(&home->stash)[last];
	struct nest_key key = nest_key_of_identity(to->nest, to->nest->kind, chunk, identity);
	if (!put(to, from, identity, &key))
		return false;
	stash_remove_at(&home->stash, last);
	home->used--;
	from->stashed--;
	return true;
}

/* Where the entry of a slot goes; false if the slot is empty. */
static bool find_way(const struct target *to, const struct nest *from, uint64_t chunk,
                     uint64_t slot, struct traveller *traveller)
{
	uint64_t value = nest_get(from, from->kind, nest_chunk_bits(from, chunk), slot);
	if (value == 0)
		return false;
	struct nest_key key = nest_key_in(from, from->kind, chunk, slot, value);
	traveller->slot = slot;
	traveller->identity = nest_identity(from, from->kind, &key);
	traveller->key = nest_key_of_identity(to->nest, to->nest->kind, chunk, traveller->identity);
	return true;
}

static void ask_for(const struct nest *nest, const struct nest_key *key)
{
	const unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	PREFETCH_WRITE(bits + (key->group[0] * nest->group_bits >> 3));
	PREFETCH_WRITE(bits + (key->group[1] * nest->group_bits >> 3));
}

/* Moves the entries of the slots from *slot to `end`; false if that of *slot has to stay. */
static bool move_slots(const struct target *to, struct nest *from, uint64_t chunk, uint64_t *slot,
                       uint64_t end)
{
	struct traveller travellers[MOVE_AHEAD];
	unsigned n = 0;
	for (uint64_t at = *slot; at < end; at++) {
		if (find_way(to, from, chunk, at, &travellers[n]))
			ask_for(to->nest, &travellers[n++].key);
	}
	for (unsigned i = 0; i < n; i++) {
		const struct traveller *traveller = &travellers[i];
		*slot = traveller->slot;
		if (!put(to, from, traveller->identity, &traveller->key))
			return false;
		nest_set(from, from->kind, nest_chunk_bits(from, chunk), traveller->slot, 0);
		from->chunk[chunk].used--;
	}
	*slot = end;
	return true;
}

/*
 * The same for one slot of a coded bucket. They are sorted, empty slots first: their last slot,
 * as often as they have slots, is all of them.
 */
static bool move_coded(const struct target *to, struct nest *from, uint64_t chunk, uint64_t *slot)
{
	struct traveller traveller;
	if (find_way(to, from, chunk, *slot | (from->slots - 1), &traveller)) {
		if (!put(to, from, traveller.identity, &traveller.key))
			return false;
		nest_set(from, from->kind, nest_chunk_bits(from, chunk), traveller.slot, 0);
		from->chunk[chunk].used--;
	}
	++*slot;
	return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
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
		uint64_t before = slot, some = least(least(places, MOVE_AHEAD), slots - slot);
		if (from->chunk[chunk].stash.count > 0)
			went = move_stashed(&target, from, chunk);
		else if (from->kind == NEST_CODED)
			went = move_coded(&target, from, chunk, &slot);
		else
			went = move_slots(&target, from, chunk, &slot, slot + some);
		places -= slot > before ? slot - before : 1;
		if (slot == slots) {
			chunk++;
			slot = 0;
		}
	}
	*position = chunk < from->chunks ? chunk * slots + slot : UINT64_MAX;
}

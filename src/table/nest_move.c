/* SPDX-License-Identifier: MIT
 *
 * nest_move: chunk by chunk, the stash first, then slot by slot.
 *
 * The stash goes first because of what a nest promises of a stashed entry: all
 * slots of its groups are taken. Later removes only ever shorten a stash, so once
 * a chunk's is empty its slots can be emptied in any order.
 */
#include "table/nest_move.h"

static bool put(struct nest *to, const struct nest *from, uint64_t chunk,
                struct stash_entry identity)
{
	nidus_entry entry = { chunk * from->base_groups + identity.home, identity.fingerprint, 0 };
	return nest_insert_entry(to, &entry) == NIDUS_OK;
}

/* Moves the last entry of a chunk's stash; false if it has to stay. */
static bool move_stashed(struct nest *to, struct nest *from, uint64_t chunk)
{
	struct nest_chunk *home = &from->chunk[chunk];
	uint32_t last = home->stash.count - 1;
	if (!put(to, from, chunk, stash_entries(&home->stash)[last]))
		return false;
	stash_remove_at(&home->stash, last);
	home->used--;
	from->stashed--;
	return true;
}

static void move_slot(struct nest *to, struct nest *from, uint64_t chunk, uint64_t slot)
{
	/* Coded buckets are sorted, empty slots first: their last slot, as often as they have
	 * slots, is all of them. */
	if (from->kind == NEST_CODED)
		slot |= from->slots - 1;
	unsigned char *bits = nest_chunk_bits(from, chunk);
	uint64_t value = nest_get(from, from->kind, bits, slot);
	if (value == 0)
		return;
	struct nest_key key = nest_key_in(from, from->kind, chunk, slot, value);
	if (!put(to, from, chunk, nest_identity(from, from->kind, &key)))
		return;
	nest_set(from, from->kind, bits, slot, 0);
	from->chunk[chunk].used--;
}

void nest_move(struct nest *to, struct nest *from, uint64_t *position, uint64_t places)
{
	if (*position == UINT64_MAX)
		return;
	uint64_t slots = nest_chunk_slots(from);
	uint64_t chunk = *position / slots, slot = *position % slots;
	for (; places > 0 && chunk < from->chunks; places--) {
		if (from->chunk[chunk].stash.count == 0)
			move_slot(to, from, chunk, slot++);
		else if (!move_stashed(to, from, chunk))
			slot = slots; /* its slots must stay taken */
		if (slot >= slots) {
			chunk++;
			slot = 0;
		}
	}
	*position = chunk < from->chunks ? chunk * slots + slot : UINT64_MAX;
}

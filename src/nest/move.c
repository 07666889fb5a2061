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

/* Where entries go. */
struct target {
	struct nest *nest;
	struct overflow *overflow;
};

/* False if an entry has to stay: there is no memory for it. */
static bool put(const struct target *to, const struct nest *from, uint64_t chunk,
                struct stash_entry identity)
{
	nidus_entry entry = nest_entry(from, chunk, identity);
	nidus_status status = nest_insert_entry(to->nest, &entry);
	if (overflow_helps(status)) {
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
	if (!put(to, from, chunk, stash_entries(&home->stash)[last]))
		return false;
	stash_remove_at(&home->stash, last);
	home->used--;
	from->stashed--;
	return true;
}

static bool move_slot(const struct target *to, struct nest *from, uint64_t chunk, uint64_t slot)
{
	/* Coded buckets are sorted, empty slots first: their last slot, as often as they have
	 * slots, is all of them. */
	if (from->kind == NEST_CODED)
		slot |= from->slots - 1;
	unsigned char *bits = nest_chunk_bits(from, chunk);
	uint64_t value = nest_get(from, from->kind, bits, slot);
	if (value == 0)
		return true;
	struct nest_key key = nest_key_in(from, from->kind, chunk, slot, value);
	if (!put(to, from, chunk, nest_identity(from, from->kind, &key)))
		return false;
	nest_set(from, from->kind, bits, slot, 0);
	from->chunk[chunk].used--;
	return true;
}

void nest_move(struct nest *to, struct nest *from, uint64_t *position, uint64_t places,
               struct overflow *overflow)
{
	if (*position == UINT64_MAX)
		return;
	const struct target target = { to, overflow };
	uint64_t slots = nest_chunk_slots(from);
	uint64_t chunk = *position / slots, slot = *position % slots;
	for (bool went = true; places > 0 && chunk < from->chunks && went; places--) {
		if (from->chunk[chunk].stash.count > 0)
			went = move_stashed(&target, from, chunk);
		else if ((went = move_slot(&target, from, chunk, slot)))
			slot++;
		if (slot == slots) {
			chunk++;
			slot = 0;
		}
	}
	*position = chunk < from->chunks ? chunk * slots + slot : UINT64_MAX;
}

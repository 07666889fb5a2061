/* SPDX-License-Identifier: MIT
 *
 * nest_values: finding and changing the payloads of a key's entries, for every shape.
 *
 * Finding in batches is in lookup.h, what threads share is changed in shared.c.
 */
#include "nest/values.h"

#include "nest/shared.h"

bool nest_find_entry(const struct nest *nest, const struct nest_key *key,
                     const struct nest_spot *spot, bool exact, uint64_t *slot)
{
	struct nest_shape shape = nest_shape_of(nest);
	unsigned top = exact ? nest->layout->width - 1 : nest->layout->high;
	uint64_t highs = nest->layout->ones << top, lows = highs - nest->layout->ones;
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(nest, nest->layout->kind, key->group[choice]);
		for (unsigned word = 0; word < nest->layout->words; word++) {
			uint64_t fields =
				nest_differences(nest, shape, nest->bits, spot, choice, word);
			uint64_t hits = fields_zero_in(fields, lows, highs);
			if (hits == 0)
				continue;
			unsigned at = (unsigned)__builtin_ctzll(hits) / nest->layout->width;
			*slot = first + word * nest->layout->fields + at;
			return true;
		}
	}
	return false;
}

uint64_t nest_changed(const struct nest *nest, uint64_t payload, struct value_change change)
{
	return change.what == VALUE_REPLACE
	               ? change.fresh
	               : value_sum(payload, change.fresh, nest->layout->payload_bits);
}

size_t nest_find_stashed(const struct nest *nest, const struct nest_key *key, uint64_t *values,
                         size_t cap, size_t found)
{
	const struct overflow *stash = &nest->chunk[key->chunk].stash;
	if (stash->nodes == 0)
		return found;
	nidus_entry identity = nest_identity(nest, nest->layout->kind, key);
	return overflow_values(stash, &identity, values, cap, found);
}

size_t nest_find_values(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	const struct nest *nest = body;
	if (nest->shared != NULL)
		return nest_shared_find(nest, hash, values, cap);
	struct nest_spot spot;
	struct nest_key key = nest_find(nest, nest_shape_of(nest), hash, &spot);
	size_t found = nest_gather(nest, nest_shape_of(nest), &spot, values, cap);
	return nest_find_stashed(nest, &key, values, cap, found);
}

void nest_find_again(const struct nest *nest, uint64_t hash, uint64_t *first, uint32_t *found)
{
	*first = 0;
	size_t all = nest_find_values(nest, hash, first, 1);
	*found = all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
}

/* Changes the entry in a slot. */
static void change_slot(struct nest *nest, uint64_t chunk, uint64_t slot,
                        struct value_change change)
{
	unsigned char *bits = nest_chunk_bits(nest, chunk);
	uint64_t value = nest_get(nest, nest->layout->kind, bits, slot);
	if (change.what == VALUE_REMOVE) {
		nest_set(nest, nest->layout->kind, bits, slot, 0);
		nest->chunk[chunk].used--;
		nest_bring_home(nest, chunk, slot);
		return;
	}
	uint64_t payload = nest_changed(nest, value >> nest->layout->payload_at, change);
	nest_set(nest, nest->layout->kind, bits, slot, nest_with_payload(nest, value, payload));
}

/* Changes an entry of the stash. Errors: NOT_FOUND, COPIES, E_NOMEM. */
static nidus_status change_stashed(struct nest *nest, const struct nest_key *key,
                                   struct value_change change)
{
	struct overflow *stash = &nest->chunk[key->chunk].stash;
	nidus_entry identity = nest_identity(nest, nest->layout->kind, key);
	const struct overflow_node *node =
		overflow_find(stash, &identity, change.what == VALUE_ADD);
	if (node == NULL)
		return NIDUS_NOT_FOUND;
	if (change.what == VALUE_REMOVE) {
		nest_stash_take(nest, key->chunk, &node->entry, 1);
		return NIDUS_OK;
	}
	return nest_stash_change(nest, key->chunk, node, change);
}

nidus_status nest_stash_change(struct nest *nest, uint64_t chunk, const struct overflow_node *node,
                               struct value_change change)
{
	struct overflow *stash = &nest->chunk[chunk].stash;
	uint64_t nodes = stash->nodes, entries = stash->entries;
	uint64_t fresh = nest_changed(nest, node->entry.value, change);
	nidus_status status = overflow_change(stash, nest->allocator, &node->entry, fresh);
	nest_stash_changed(nest, chunk, nodes, entries);
	return status;
}

nidus_status nest_change_value(void *body, uint64_t hash, struct value_change change)
{
	struct nest *nest = body;
	if (nest->shared != NULL)
		return nest_shared_change(nest, hash, change);
	bool exact = change.what != VALUE_ADD;
	struct nest_spot spot;
	uint64_t slot;
	struct nest_key key =
		nest_find_to_put(nest, nest_shape_of(nest), hash, exact ? change.old : 0, &spot);
	if (nest_find_entry(nest, &key, &spot, exact, &slot)) {
		change_slot(nest, key.chunk, slot, change);
		return NIDUS_OK;
	}
	return change_stashed(nest, &key, change);
}

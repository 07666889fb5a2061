/* SPDX-License-Identifier: MIT
 *
 * search: breadth first over slots, with the moves at the end.
 *
 *     new key's groups, both full:      [a b c d]   [e f g h]
 *                                        | | | |     | | | |
 *     where these could go instead:     [....][....][..x ] ...   an empty slot!
 *
 * A node of the search is a taken slot; its children are the slots where its
 * entry could lie instead. The first empty slot met ends the search. The chain
 * back to the root is then moved from its end: each entry is copied to the
 * place that was just given up (the first to the empty one), so no entry is
 * ever absent, and nothing moves before the whole chain is known.
 *
 * No slot comes twice in a chain: if it did, the part behind its second visit
 * would also hang behind the first, shorter, and would have been met earlier.
 *
 * The order depends on nothing but the table and the key. Memory is a fixed
 * array on the stack: eight bytes a node.
 */
#include "table/search.h"

#define PARENT_BITS 16
#define NO_PARENT 0xffffu

_Static_assert(SEARCH_STEPS_MAX < NO_PARENT, "a parent's number fits");

/*
 * Small searches, nearly all, never look twice at a slot; a larger one keeps a
 * record of where it was. It may forget, and then only looks again.
 */
#define RECORD_FROM 64
#define RECORD_SIZE 1024

struct search {
	struct nest *nest;
	unsigned char *bits; /* the chunk's */
	uint64_t chunk;
	unsigned nodes, limit;
	unsigned checks;
	bool recording;
	uint64_t node[SEARCH_STEPS_MAX]; /* slot, then parent in the low bits */
	uint64_t record[RECORD_SIZE];    /* slot + 1 */
};

static bool recorded(struct search *search, uint64_t slot)
{
	if (!search->recording)
		return false;
	uint64_t *place = &search->record[slot % RECORD_SIZE];
	if (*place == slot + 1)
		return true;
	*place = slot + 1;
	return false;
}

/* The group that is not the one which holds `slot`. */
static uint64_t other_group(const struct nest *nest, enum nest_kind kind, uint64_t slot,
                            uint64_t value)
{
	uint64_t core = value & nest->core_values;
	if (nest_symmetric(kind))
		return slot / nest->slots ^ nest_mask(nest, kind, core);
	uint64_t extra = value >> nest->core_bits;
	uint64_t group = slot / nest->slots;
	if (kind == NEST_WINDOWS)
		group = slot - ((extra >> 1) & (nest->slots - 1));
	uint64_t distance = nest_distance(nest, core);
	return extra & 1 ? nest_backward(nest, group, distance)
	                 : nest_forward(nest, group, distance);
}

static void push(struct search *search, enum nest_kind kind, uint64_t slot, unsigned parent)
{
	const struct nest *nest = search->nest;
	search->node[search->nodes++] = slot << PARENT_BITS | parent;
	if (nest->remote) {
		uint64_t value = nest_get(nest, kind, search->bits, slot);
		uint64_t other = other_group(nest, kind, slot, value);
		PREFETCH(search->bits +
		         (other * nest_group_bits(kind, nest->slots, nest->width) >> 3));
	}
}

/*
 * Looks at the slots of a group but `except`: true, and where, if one is empty;
 * otherwise they become nodes.
 */
static bool visit(struct search *search, enum nest_kind kind, uint64_t group, uint64_t except,
                  unsigned parent, uint64_t *empty)
{
	const struct nest *nest = search->nest;
	uint64_t first = nest_first_slot(nest, kind, group);
	/* From the back, where inserts leave room last. */
	for (uint64_t slot = first + nest->slots; slot-- > first;) {
		search->checks++;
		if (nest_get(nest, kind, search->bits, slot) == 0) {
			*empty = slot;
			return true;
		}
	}
	if (kind != NEST_WINDOWS && recorded(search, first))
		return false;
	for (uint64_t slot = first + nest->slots; slot-- > first;) {
		if (slot == except || search->nodes >= search->limit)
			continue;
		if (kind != NEST_WINDOWS || !recorded(search, slot))
			push(search, kind, slot, parent);
	}
	return false;
}

/* Moves the chain that ends in node `last`; gives the slot of its root. */
static uint64_t move_chain(struct search *search, enum nest_kind kind, unsigned last,
                           uint64_t empty)
{
	const struct nest *nest = search->nest;
	uint64_t to = empty;
	for (unsigned i = last; i != NO_PARENT;) {
		uint64_t from = search->node[i] >> PARENT_BITS;
		uint64_t value = nest_get(nest, kind, search->bits, from);
		if (!nest_symmetric(kind)) {
			struct nest_key key = nest_key_in(nest, kind, search->chunk, from, value);
			(void)nest_encode_at(nest, kind, &key, to, &value);
		}
		nest_set(nest, kind, search->bits, to, value);
		search->nest->effort.moves++;
		to = from;
		i = search->node[i] & NO_PARENT;
	}
	return to;
}

static inline bool run(struct search *search, enum nest_kind kind, const struct nest_key *key,
                       uint64_t *slot)
{
	const struct nest *nest = search->nest;
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(nest, kind, key->group[choice]);
		for (uint64_t root = first + nest->slots; root-- > first;)
			push(search, kind, root, NO_PARENT);
	}
	for (unsigned i = 0; i < search->nodes; i++) {
		uint64_t from = search->node[i] >> PARENT_BITS, empty;
		uint64_t value = nest_get(nest, kind, search->bits, from);
		uint64_t other = other_group(nest, kind, from, value);
		bool found = false;
		if (kind == NEST_WINDOWS) {
			/* The entry may also shift within its own window. */
			uint64_t offset = (value >> (nest->core_bits + 1)) & (nest->slots - 1);
			found = visit(search, kind, from - offset, from, i, &empty);
		}
		if (found || visit(search, kind, other, from, i, &empty)) {
			*slot = move_chain(search, kind, i, empty);
			return true;
		}
		if (!search->recording && search->nodes >= RECORD_FROM) {
			memset(search->record, 0, sizeof search->record);
			search->recording = true;
		}
	}
	return false;
}

static bool run_kind(struct search *search, enum nest_kind kind, const struct nest_key *key,
                     uint64_t *slot)
{
	switch (kind) {
	case NEST_XOR:
		return run(search, NEST_XOR, key, slot);
	case NEST_DIRECT:
		return run(search, NEST_DIRECT, key, slot);
	case NEST_CODED:
		return run(search, NEST_CODED, key, slot);
	case NEST_BUCKETS:
		return run(search, NEST_BUCKETS, key, slot);
	default:
		return run(search, NEST_WINDOWS, key, slot);
	}
}

bool search_room(struct nest *nest, enum nest_kind kind, const struct nest_key *key, uint64_t *slot)
{
	struct search search;
	search.nest = nest;
	search.bits = nest_chunk_bits(nest, key->chunk);
	search.chunk = key->chunk;
	search.nodes = 0;
	search.limit = nest->max_steps;
	search.checks = 0;
	search.recording = false;
	bool found = run_kind(&search, kind, key, slot);
	nest->effort.relocations++;
	nest->effort.checks += search.checks;
	return found;
}

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
 *
 *     node:  | slot, 46 | place in the group it was met in, 2 or 3 | parent, 15 |
 *
 * Speed: kind and slots per group are constants in each instance of run(); a
 * group is tested for empty slots by words; and where an entry could go instead
 * is worked out, and its memory asked for, a few nodes before its turn (an aim):
 * late enough that little is worked out for nothing, as most nodes of a search
 * that ends never have their turn.
 */
#include "table/search.h"

/* Nodes between aiming and looking: as many as memory serves at a time, or the caches. */
#define AHEAD_REMOTE 8
#define AHEAD_NEAR 2

/* Works out where the entry of the next node could go, and asks the memory for it. */
ALWAYS_INLINE void take_aim(struct search *search, enum nest_kind kind, unsigned slots)
{
	const struct nest *nest = search->nest;
	uint64_t slot = search_slot(search->node[search->aimed]), bit = slot * nest->width;
	/* The bits above the slot do no harm. */
	uint64_t value = kind == NEST_CODED ? coded_get(search->bits, nest->width, slot)
	                                    : load64(search->bits + (bit >> 3)) >> (bit & 7);
	uint64_t own = slot / slots;
	if (kind == NEST_WINDOWS)
		own = slot - (value >> (nest->core_bits + 1) & (slots - 1));
	uint64_t other = nest_other_group(nest, kind, own, value);
	PREFETCH(search->bits + (other * nest_group_bits(kind, slots, nest->width) >> 3));
	search->aim[search->aimed++ % SEARCH_AIMS] = (struct search_aim){ own, other };
}

/*
 * Whether a slot of the group is empty; sets the last one: from the back, where
 * inserts leave room last. `whole` if one load holds a group.
 */
ALWAYS_INLINE bool find_empty(const struct search *search, enum nest_kind kind, unsigned slots,
                              bool whole, uint64_t group, unsigned *at)
{
	const struct nest *nest = search->nest;
	unsigned fields = whole ? slots : nest->glance;
	for (unsigned first = slots; first > 0;) {
		first -= fields;
		uint64_t bit = group * nest_group_bits(kind, slots, nest->width), word;
		if (kind == NEST_CODED) {
			word = coded_fields(search->bits, nest->width, bit, first, fields);
		} else {
			bit += first * nest->width;
			word = load64(search->bits + (bit >> 3)) >> (bit & 7);
		}
		uint64_t empty = fields_zero_in(word, nest->glance_lows, nest->glance_highs);
		if (empty != 0) {
			*at = first + log2_floor(empty) / nest->width;
			return true;
		}
	}
	return false;
}

/* Writes the node of a slot; one that is a node already is written over by the next. */
ALWAYS_INLINE uint64_t *push(uint64_t *node, uint64_t last, unsigned behind, bool met)
{
	*node = last - behind * SEARCH_NODE_STEP; /* no branch: nobody can predict it */
	return node + !met;
}

/* The same for all slots of a group, from the last on. `met` has a bit per slot. */
ALWAYS_INLINE uint64_t *push_all(uint64_t *node, uint64_t last, unsigned slots, unsigned met)
{
	if (slots > 4) {
		node = push(node, last, slots - 8, met >> 7 & 1);
		node = push(node, last, slots - 7, met >> 6 & 1);
		node = push(node, last, slots - 6, met >> 5 & 1);
		node = push(node, last, slots - 5, met >> 4 & 1);
	}
	if (slots > 2) {
		node = push(node, last, slots - 4, met >> 3 & 1);
		node = push(node, last, slots - 3, met >> 2 & 1);
	}
	node = push(node, last, slots - 2, met >> 1 & 1);
	return push(node, last, slots - 1, met & 1);
}

/* The slots of a full group become nodes, but for `met`, which are nodes already. */
ALWAYS_INLINE void push_group(struct search *search, enum nest_kind kind, unsigned slots,
                              uint64_t group, unsigned met, unsigned parent)
{
	uint64_t first = nest_first_slot(search->nest, kind, group);
	if (search->nodes >= search->nest->max_steps ||
	    (kind != NEST_WINDOWS && search_recorded(search, first)))
		return;
	if (kind == NEST_WINDOWS && search->recording) {
		for (unsigned at = 0; at < slots; at++)
			met |= (!(met >> at & 1) && search_recorded(search, first + at)) << at;
	}
	uint64_t *end = search->node + search->nodes;
	end = push_all(end, SEARCH_NODE(first + slots - 1, slots - 1, parent), slots, met);
	search->nodes = (unsigned)(end - search->node);
}

/*
 * Looks at the slots of a group: true, and where, if one is empty; otherwise
 * they become nodes.
 */
ALWAYS_INLINE bool visit(struct search *search, enum nest_kind kind, unsigned slots, bool whole,
                         uint64_t group, unsigned met, unsigned parent, uint64_t *empty)
{
	unsigned at;
	if (find_empty(search, kind, slots, whole, group, &at)) {
		search->checks += slots - at;
		*empty = nest_first_slot(search->nest, kind, group) + at;
		return true;
	}
	search->checks += slots;
	push_group(search, kind, slots, group, met, parent);
	return false;
}

/*
 * Windows: the entry of a node may also shift within its own window, to slots
 * that are not in the one in which the node was met; that one is full.
 */
ALWAYS_INLINE bool visit_own(struct search *search, unsigned slots, bool whole, uint64_t own,
                             unsigned i, uint64_t *empty)
{
	const unsigned all = (1u << slots) - 1;
	uint64_t met_in = search_slot(search->node[i]) - search_at(search->node[i]);
	unsigned met = all << slots >> (slots + own - met_in);
	return visit(search, NEST_WINDOWS, slots, whole, own, met & all, i, empty);
}

ALWAYS_INLINE bool run_as(struct search *search, enum nest_kind kind, unsigned slots, bool whole,
                          unsigned i, uint64_t *slot)
{
	const struct nest *nest = search->nest;
	const unsigned ahead = nest->remote ? AHEAD_REMOTE : AHEAD_NEAR;
	for (search->aimed = i; i < search->nodes; i++) {
		search_may_record(search);
		while (search->aimed < search->nodes && search->aimed <= i + ahead)
			take_aim(search, kind, slots);
		struct search_aim aim = search->aim[i % SEARCH_AIMS];
		uint64_t empty;
		if ((kind == NEST_WINDOWS && visit_own(search, slots, whole, aim.own, i, &empty)) ||
		    visit(search, kind, slots, whole, aim.other, 0, i, &empty)) {
			*slot = search_move(search, kind, slots, nest->width, nest->core_bits, i,
			                    empty);
			return true;
		}
	}
	return false;
}

ALWAYS_INLINE bool run(struct search *search, enum nest_kind kind, unsigned slots, unsigned i,
                       uint64_t *slot)
{
	return search->nest->glance == slots ? run_as(search, kind, slots, true, i, slot)
	                                     : run_as(search, kind, slots, false, i, slot);
}

static bool run_xor(struct search *search, unsigned i, uint64_t *slot)
{
	switch (search->nest->slots) {
	case 2:
		return run(search, NEST_XOR, 2, i, slot);
	case 4:
		return run(search, NEST_XOR, 4, i, slot);
	default:
		return run(search, NEST_XOR, 8, i, slot);
	}
}

static bool run_direct(struct search *search, unsigned i, uint64_t *slot)
{
	switch (search->nest->slots) {
	case 2:
		return run(search, NEST_DIRECT, 2, i, slot);
	case 4:
		return run(search, NEST_DIRECT, 4, i, slot);
	default:
		return run(search, NEST_DIRECT, 8, i, slot);
	}
}

bool search_go_on(struct search *search, enum nest_kind kind, unsigned i, uint64_t *slot)
{
	bool two = search->nest->slots == 2;
	switch (kind) {
	case NEST_XOR:
		return run_xor(search, i, slot);
	case NEST_DIRECT:
		return run_direct(search, i, slot);
	case NEST_CODED:
		return run(search, NEST_CODED, CODED_SLOTS, i, slot);
	case NEST_BUCKETS:
		return two ? run(search, NEST_BUCKETS, 2, i, slot)
		           : run(search, NEST_BUCKETS, 4, i, slot);
	default:
		return two ? run(search, NEST_WINDOWS, 2, i, slot)
		           : run(search, NEST_WINDOWS, 4, i, slot);
	}
}

bool search_room(struct nest *nest, enum nest_kind kind, const struct nest_key *key, uint64_t *slot)
{
	struct search search;
	search_begin(&search, nest, kind, nest->slots, key);
	return search_end(&search, search_go_on(&search, kind, 0, slot));
}

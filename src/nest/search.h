/* SPDX-License-Identifier: MIT
 *
 * search: makes room in a full group by moving other entries to their other places.
 *
 *     new key's groups, both full:      [a b c d]   [e f g h]
 *                                        | | | |     | | | |
 *     where these could go instead:     [....][....][..x ] ...   an empty slot!
 *
 * Breadth first over slots. A node of the search is a taken slot; its children are the
 * slots where its entry could lie instead. The first empty slot met ends the search. The
 * chain back to the root is then moved from its end: each entry is copied to the place
 * that was just given up (the first to the empty one), so no entry is ever absent, and
 * nothing moves before the whole chain is known.
 *
 * No slot comes twice in a chain: if it did, the part behind its second visit would also
 * follow the first, shorter, and would have been met earlier.
 *
 * Windows: the entry of a node may also shift within its own window. New there are the
 * slots that are not in the window in which the node was met; that one is full.
 *
 *     met in      [a b c d]             own, later        [. . . .]
 *     own, before     |                 new, met last first   y x
 *       [. . . .]     |
 *        y x          node
 *
 * The order depends on nothing but the table and the key. Memory is a fixed array on the
 * stack: eight bytes a node.
 *
 *     node:  | slot, 46 | place in the group it was met in, 3 | parent, 15 |
 *
 * A search in a shared nest reads words that others may be writing. What it reads may be
 * stale or torn: it stays within the chunk whatever it reads, and nothing of it is
 * believed when the chain is moved (shared.h).
 */
#ifndef NIDUS_NEST_SEARCH_H
#define NIDUS_NEST_SEARCH_H

#include "nest/shape.h"

#define SEARCH_STEPS_MAX 8192 /* slots that one search may look at */

#define SEARCH_PARENT_BITS 15
#define SEARCH_AT_BITS 3
#define SEARCH_NO_PARENT 0x7fffu

#define SEARCH_NODE(slot, at, parent) \
	(((slot) << SEARCH_AT_BITS | (at)) << SEARCH_PARENT_BITS | (parent))
/* How much less the node of the slot before it is. */
#define SEARCH_NODE_STEP SEARCH_NODE((uint64_t)1, 1, 0)

_Static_assert(SEARCH_STEPS_MAX + 2 * NEST_SLOTS_MAX < SEARCH_NO_PARENT, "a parent's number fits");
_Static_assert(NEST_SLOTS_MAX <= 1 << SEARCH_AT_BITS, "a place in a group fits");

/*
 * Small searches, nearly all, never look twice at a slot. A larger one is careful: it
 * counts its nodes and keeps a record of where it was. It may forget, and then only looks
 * again.
 */
#define SEARCH_CAREFUL_FROM 1024
#define SEARCH_RECORD_SIZE 1024

struct search {
	struct nest *nest;
	unsigned char *bits; /* the chunk's */
	unsigned nodes;
	unsigned checks; /* slots looked at */
	uint64_t node[SEARCH_STEPS_MAX + 2 * NEST_SLOTS_MAX];
	uint64_t record[SEARCH_RECORD_SIZE]; /* slot + 1; only of careful searches */
};

/*
 * Finds the shortest chain of moves that frees a slot of either group of the
 * key (both are full), and only then moves. On true *slot is the freed one: it
 * still holds a copy of the entry that moved on, for the caller to write over.
 * On false nothing changed.
 */
bool search_room(struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                 uint64_t *slot);

/* Goes on with a search that has become long, from node *at on: see search_walk. */
bool search_long(struct search *search, unsigned *at, uint64_t *empty);

/* ---------------------------------------------------------------------- nodes -- */

static inline uint64_t search_slot(uint64_t node)
{
	return node >> (SEARCH_AT_BITS + SEARCH_PARENT_BITS);
}

static inline unsigned search_at(uint64_t node)
{
	return node >> SEARCH_PARENT_BITS & ((1u << SEARCH_AT_BITS) - 1);
}

static inline unsigned search_parent(uint64_t node)
{
	return node & SEARCH_NO_PARENT;
}

/* The first slot of a group. */
ALWAYS_INLINE uint64_t search_first(struct nest_shape shape, uint64_t group)
{
	return shape.kind == NEST_WINDOWS ? group : group * shape.slots;
}

/* All slots of a group become nodes, from the last on. */
ALWAYS_INLINE uint64_t *search_push(struct nest_shape shape, uint64_t *end, uint64_t group,
                                    unsigned parent)
{
	uint64_t last = search_first(shape, group) + shape.slots - 1;
	uint64_t node = SEARCH_NODE(last, shape.slots - 1, parent);
	for (unsigned behind = 0; behind < shape.slots; behind++)
		end[behind] = node - behind * SEARCH_NODE_STEP;
	return end + shape.slots;
}

/*
 * The new slots of a node's own window become nodes: `apart` is how far that begins
 * behind the window in which the node was met. No branch, as it is unpredictable.
 */
ALWAYS_INLINE uint64_t *search_push_own(struct nest_shape shape, uint64_t *end, uint64_t own,
                                        uint64_t apart, unsigned parent)
{
	uint64_t before = 0 - (apart >> 63); /* all bits, or none */
	OPAQUE64(before);
	uint64_t at = shape.slots - 1 + ((0 - apart - shape.slots) & before);
	uint64_t last = SEARCH_NODE(own + at, at, parent);
	for (unsigned behind = 0; behind < shape.slots - 1; behind++)
		end[behind] = last - behind * SEARCH_NODE_STEP;
	return end + ((apart ^ before) - before);
}

/* Whether a careful search was at a slot before; from now on it was. */
static inline bool search_recorded(struct search *search, uint64_t slot)
{
	uint64_t *place = &search->record[slot % SEARCH_RECORD_SIZE];
	if (*place == slot + 1)
		return true;
	*place = slot + 1;
	return false;
}

/*
 * The slots of a group become nodes, but for those in `met`, which has a bit per slot,
 * and for those where the search was before.
 */
ALWAYS_INLINE uint64_t *search_push_carefully(struct search *search, struct nest_shape shape,
                                              uint64_t *end, uint64_t group, unsigned met,
                                              unsigned parent)
{
	uint64_t first = search_first(shape, group);
	if ((uint64_t)(end - search->node) >= search->nest->max_steps ||
	    (shape.kind != NEST_WINDOWS && search_recorded(search, first)))
		return end;
	for (unsigned at = shape.slots; at-- > 0;) {
		if (met >> at & 1 ||
		    (shape.kind == NEST_WINDOWS && search_recorded(search, first + at)))
			continue;
		*end++ = SEARCH_NODE(first + at, at, parent);
	}
	return end;
}

/* A search whose first nodes are all slots of both groups of a key. */
ALWAYS_INLINE void search_begin(struct search *search, struct nest *nest, struct nest_shape shape,
                                const struct nest_key *key)
{
	search->nest = nest;
	search->bits = nest_chunk_bits(nest, key->chunk);
	search->nodes = 2 * shape.slots;
	search->checks = 0;
	(void)search_push(shape, search->node, key->group[0], SEARCH_NO_PARENT);
	(void)search_push(shape, search->node + shape.slots, key->group[1], SEARCH_NO_PARENT);
}

/* Keeps what a search cost; gives what it came to. */
static inline bool search_end(const struct search *search, bool found)
{
	search->nest->effort.relocations++;
	search->nest->effort.checks += search->checks;
	return found;
}

/* ----------------------------------------------------------------------- walk -- */

/* The group in which a node's entry lies, and the one in which it could lie instead. */
struct search_aim {
	uint64_t own, other;
};

ALWAYS_INLINE struct search_aim search_aim(const struct search *search, struct nest_shape shape,
                                           uint64_t node)
{
	const struct nest *nest = search->nest;
	uint64_t slot = search_slot(node), value = nest_slot(nest, shape, search->bits, slot);
	uint64_t own = slot / shape.slots, extra = value >> nest->core_bits;
	if (shape.kind == NEST_WINDOWS)
		own = slot - (extra >> 1 & (shape.slots - 1));
	if (shape.kind == NEST_WINDOWS && shape.shared && UNLIKELY(own >= nest->groups))
		own = slot - search_at(node); /* torn */
	return (struct search_aim){ own, nest_other_group_as(nest, shape.kind, own,
		                                             value & nest->core_values, extra) };
}

/* Not 0 under highs if a slot of a group's word is empty. */
ALWAYS_INLINE uint64_t search_gaps_in(const struct search *search, struct nest_shape shape,
                                      uint64_t group, unsigned word)
{
	const struct nest *nest = search->nest;
	uint64_t fields = nest_word(nest, shape, search->bits, group * nest->group_bits, word);
	return (fields - nest->ones) & ~fields;
}

/* Not 0 if a slot of a group is empty. */
ALWAYS_INLINE uint64_t search_gaps(const struct search *search, struct nest_shape shape,
                                   uint64_t group)
{
	const struct nest *nest = search->nest;
	uint64_t gaps = search_gaps_in(search, shape, group, 0);
	if (shape.words == NEST_TWO)
		gaps |= search_gaps_in(search, shape, group, 1);
	for (unsigned word = 1; shape.words == NEST_MANY && word < nest->words; word++)
		gaps |= search_gaps_in(search, shape, group, word);
	return gaps & nest->highs;
}

/* Whether a slot is empty to which an entry can go. */
ALWAYS_INLINE bool search_any_gap(const struct search *search, struct nest_shape shape,
                                  struct search_aim aim)
{
	const struct nest *nest = search->nest;
	if (shape.kind != NEST_WINDOWS)
		return search_gaps(search, shape, aim.other) != 0;
	if (shape.words != NEST_PAIRED)
		return (search_gaps(search, shape, aim.other) |
		        search_gaps(search, shape, aim.own)) != 0;
	uint64_t own = nest_load(nest, shape, search->bits, aim.own * nest->group_bits);
	uint64_t other = nest_load(nest, shape, search->bits, aim.other * nest->group_bits);
	return nest_zeros((uint32_t)own | other << 32, nest->ones_of_both, nest->highs_of_both) !=
	       0;
}

/* The last empty slot of a group that has one: inserts leave room there last. */
ALWAYS_INLINE unsigned search_last_gap(const struct search *search, struct nest_shape shape,
                                       uint64_t group)
{
	const struct nest *nest = search->nest;
	for (unsigned word = nest_words(nest, shape); word-- > 0;) {
		uint64_t fields =
			nest_word(nest, shape, search->bits, group * nest->group_bits, word);
		uint64_t gaps = fields_zero_in(fields, nest->lows, nest->highs);
		if (gaps != 0)
			return word * nest->fields + log2_floor(gaps) / nest->width;
	}
	return 0; /* shared: it was taken meanwhile */
}

/* Asks the memory for where the entry of node i, if there is one, could go. */
ALWAYS_INLINE void search_ask(const struct search *search, struct nest_shape shape, unsigned i,
                              const uint64_t *end)
{
	if (search->node + i >= end)
		return;
	struct search_aim aim = search_aim(search, shape, search->node[i]);
	PREFETCH(search->bits + (aim.other * search->nest->group_bits >> 3));
}

/*
 * Goes on with a search from node *at on. True: the entry of node *at can go to *empty.
 * False: there is no chain within the limit or, if the search is not `careful`, it has
 * become long: then it is to go on with node *at.
 */
ALWAYS_INLINE bool search_walk(struct search *search, struct nest_shape shape, bool careful,
                               unsigned *at, uint64_t *empty)
{
	const struct nest *nest = search->nest;
	const bool windows = shape.kind == NEST_WINDOWS;
	const unsigned looks = windows ? 2 * shape.slots : shape.slots;
	const unsigned limit =
		nest->max_steps < SEARCH_CAREFUL_FROM ? nest->max_steps : SEARCH_CAREFUL_FROM;
	uint64_t *end = search->node + search->nodes, *stop = search->node + limit;
	unsigned i = careful ? *at : 0;
	for (unsigned first = 0; nest->remote && !careful && first < 2 * shape.slots; first++)
		search_ask(search, shape, first, end);
	for (; careful ? search->node + i < end : end < stop; i++) {
		uint64_t node = search->node[i];
		struct search_aim aim = search_aim(search, shape, node);
		if (UNLIKELY(search_any_gap(search, shape, aim))) {
			bool own = windows && search_gaps(search, shape, aim.own) != 0;
			uint64_t group = own ? aim.own : aim.other;
			unsigned gap = search_last_gap(search, shape, group);
			search->checks = i * looks + (windows && !own ? shape.slots : 0);
			search->checks += shape.slots - gap;
			*at = i;
			*empty = search_first(shape, group) + gap;
			return true;
		}
		uint64_t apart = aim.own - search_slot(node) + search_at(node);
		if (careful && windows) {
			const unsigned all = (1u << shape.slots) - 1;
			unsigned met = all << shape.slots >> (shape.slots + (unsigned)apart) & all;
			end = search_push_carefully(search, shape, end, aim.own, met, i);
		}
		if (careful) {
			end = search_push_carefully(search, shape, end, aim.other, 0, i);
		} else {
			if (windows)
				end = search_push_own(shape, end, aim.own, apart, i);
			end = search_push(shape, end, aim.other, i);
		}
		if (UNLIKELY(nest->remote))
			search_ask(search, shape, i + 2 * shape.slots, end);
	}
	search->nodes = (unsigned)(end - search->node);
	search->checks = i * looks;
	*at = i;
	return false;
}

/* ---------------------------------------------------------------------- moves -- */

/* What the entry of slot `from` holds in slot `to`, which is another of its own. */
ALWAYS_INLINE uint64_t search_moved(const struct nest *nest, struct nest_shape shape, uint64_t from,
                                    uint64_t to, uint64_t value)
{
	const unsigned core_bits = nest->core_bits;
	if (shape.kind == NEST_BUCKETS)
		return value ^ UINT64_C(1) << core_bits; /* now in its other group */
	if (shape.kind != NEST_WINDOWS)
		return value;
	uint64_t extra = value >> core_bits & (2 * shape.slots - 1);
	uint64_t own = from - (extra >> 1), choice = extra & 1;
	uint64_t group[2] = { own, nest_other_group(nest, shape.kind, own, value) };
	/* A slot of both windows counts as one of the first. */
	uint64_t second = to - group[choice] >= shape.slots;
	uint64_t at = to - group[second ^ choice];
	return value ^ (extra ^ (second | at << 1)) << core_bits;
}

/* Moves the chain that ends in node `last`; gives the slot of its root. */
ALWAYS_INLINE uint64_t search_move(struct search *search, struct nest_shape shape, unsigned last,
                                   uint64_t empty)
{
	struct nest *nest = search->nest;
	uint64_t to = empty;
	for (unsigned i = last; i != SEARCH_NO_PARENT;) {
		uint64_t from = search_slot(search->node[i]);
		uint64_t value = nest_get(nest, shape.kind, search->bits, from);
		value = search_moved(nest, shape, from, to, value);
		nest_set(nest, shape.kind, search->bits, to, value);
		nest->effort.moves++;
		to = from;
		i = search_parent(search->node[i]);
	}
	return to;
}

#endif

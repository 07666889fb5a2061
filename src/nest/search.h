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
 * The order depends on nothing but the table and the key.
 *
 * Memory is on the stack, and little of it: servers run threads with small stacks. Nearly
 * all searches are short, and have a list of four bytes per node:
 *
 *     node of a bucket:  | slot, 32 |
 *     of a window:       | slot, 30 | place in the window it was met in, 2 |
 *
 * Parents follow from how many children each node has. A search that finds nothing begins again as a
 * long one (search.c).
 *
 * A search in a shared nest reads words that others may be writing. What it reads may be
 * stale or torn: it stays within the chunk whatever it reads, and nothing of it is
 * believed when the chain is moved (shared.h).
 */
#ifndef NIDUS_NEST_SEARCH_H
#define NIDUS_NEST_SEARCH_H

#include "nest/shape.h"

#include <assert.h>

#define SEARCH_STEPS_MAX 8192 /* slots that one search may look at */
#define SEARCH_SHORT 2048     /* and a short one */
#define SEARCH_DEPTH 64       /* moves of a chain; short searches come to a dozen */
#define SEARCH_AT_BITS 2

/* What a long search keeps; see search.c. */
#define SEARCH_RECORD_SIZE 1024
#define SEARCH_RECORD_BITS (SEARCH_RECORD_SIZE * 16)

struct search_level {
	uint64_t slot, own, other;
	uint32_t first, number;
	uint16_t left;
};

#define SEARCH_FRONTIER 448

struct search_tree {
	uint8_t children[SEARCH_STEPS_MAX / 2];
	uint32_t frontier[2][SEARCH_FRONTIER];
	struct search_level level[SEARCH_DEPTH + 1];
};

struct search {
	struct nest *nest;
	unsigned char *bits;          /* the chunk's */
	unsigned checks;              /* slots looked at */
	unsigned nodes;               /* of a long search */
	unsigned length;              /* of the chain, once it is found */
	uint64_t chain[SEARCH_DEPTH]; /* its slots, the root last */
	uint64_t empty;               /* where the first of them can move */
	uint16_t record[SEARCH_RECORD_SIZE];
	union {
		struct {
			uint32_t node[SEARCH_SHORT + 2 * NEST_SLOTS_MAX];
			uint8_t children[SEARCH_SHORT]; /* how many; of buckets if `counted` */
		};
		struct search_tree tree;
	};
};

/*
 * Finds the shortest chain of moves that frees a slot of either group of the
 * key (both are full), and only then moves. On true *slot is the freed one: it
 * still holds a copy of the entry that moved on, for the caller to write over.
 * On false nothing changed.
 */
bool search_room(struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                 uint64_t *slot);

/*
 * Where a search ceases to be short: at once if its nodes cannot be listed, early in a small
 * chunk, where it would soon look at slots again that it was at.
 */
unsigned search_short_steps(const struct nest_layout *layout);

/*
 * With so many taken slots in a chunk, a search no longer begins with search_step: of groups of two
 * slots, few entries can move at once near the end.
 */
uint64_t search_step_most(const struct nest_layout *layout);

/* A long search, after a short one that found nothing. */
bool search_long(struct search *search, const struct nest_key *key);

/* ---------------------------------------------------------------------- nodes -- */

ALWAYS_INLINE uint64_t search_slot(struct nest_shape shape, uint32_t node)
{
	return shape.kind == NEST_WINDOWS ? node >> SEARCH_AT_BITS : node;
}

ALWAYS_INLINE unsigned search_at(struct nest_shape shape, uint32_t node)
{
	return shape.kind == NEST_WINDOWS ? node & ((1u << SEARCH_AT_BITS) - 1) : 0;
}

ALWAYS_INLINE uint32_t search_node(struct nest_shape shape, uint64_t slot, uint64_t at)
{
	return (uint32_t)(shape.kind == NEST_WINDOWS ? slot << SEARCH_AT_BITS | at : slot);
}

/* How much less the node of the slot before it is. */
ALWAYS_INLINE uint32_t search_node_step(struct nest_shape shape)
{
	return search_node(shape, 1, 1);
}

/* The first slot of a group. */
ALWAYS_INLINE uint64_t search_first(struct nest_shape shape, uint64_t group)
{
	return shape.kind == NEST_WINDOWS ? group : group * shape.slots;
}

/* All slots of a group become nodes, from the last on. */
ALWAYS_INLINE uint32_t *search_push(struct nest_shape shape, uint32_t *end, uint64_t group)
{
	uint64_t last = search_first(shape, group) + shape.slots - 1;
	uint32_t node = search_node(shape, last, shape.slots - 1);
	for (unsigned behind = 0; behind < shape.slots; behind++)
		end[behind] = node - behind * search_node_step(shape);
	return end + shape.slots;
}

/*
 * The new slots of a node's own window become nodes: `apart` is how far that begins
 * behind the window in which the node was met. No branch, as it is unpredictable.
 */
ALWAYS_INLINE uint32_t *search_push_own(struct nest_shape shape, uint32_t *end, uint64_t own,
                                        uint64_t apart)
{
	uint64_t before = 0 - (apart >> 63); /* all bits, or none */
	OPAQUE64(before);
	uint64_t at = shape.slots - 1 + ((0 - apart - shape.slots) & before);
	uint32_t last = search_node(shape, own + at, at);
	for (unsigned behind = 0; behind < shape.slots - 1; behind++)
		end[behind] = last - behind * search_node_step(shape);
	return end + ((apart ^ before) - before);
}

ALWAYS_INLINE void search_begin(struct search *search, struct nest *nest, struct nest_shape shape,
                                const struct nest_key *key)
{
	assert(key->group[0] < nest->layout->groups && key->group[1] < nest->layout->groups);
	search->nest = nest;
	search->bits = nest_chunk_bits(nest, key->chunk);
	search->checks = 0;
	(void)search_push(shape, search->node, key->group[0]);
	(void)search_push(shape, search->node + shape.slots, key->group[1]);
}

/* Keeps what a search cost; gives what it came to. */
ALWAYS_INLINE bool search_end(const struct search *search, bool found)
{
	search->nest->effort.relocations++;
	search->nest->effort.checks += search->checks;
	return found;
}

/* ----------------------------------------------------------------------- walk -- */

/* The group in which a node's entry lies, and the one in which it could lie instead. */
struct search_aim {
	uint64_t own, other;
	uint64_t value; /* what the slot holds; anything in the bits above */
};

/* `at` is the place of the slot in the group where it was met. */
ALWAYS_INLINE struct search_aim search_aim(const struct search *search, struct nest_shape shape,
                                           uint64_t slot, unsigned at)
{
	const struct nest *nest = search->nest;
	uint64_t value = nest_slot(nest, shape, search->bits, slot);
	uint64_t own = slot / shape.slots, extra = value >> nest->layout->core_bits;
	if (shape.kind == NEST_WINDOWS)
		own = slot - (extra >> 1 & (shape.slots - 1));
	if (shape.kind == NEST_WINDOWS && shape.shared && UNLIKELY(own >= nest->layout->groups))
		own = slot - at; /* torn */
	uint64_t other = nest_other_group_as(nest, shape.kind, own,
	                                     value & nest->layout->core_values, extra);
	return (struct search_aim){ own, other, value };
}

/* Not 0 under highs if a slot of a group's word is empty. */
ALWAYS_INLINE uint64_t search_gaps_in(const struct search *search, struct nest_shape shape,
                                      uint64_t group, unsigned word)
{
	const struct nest *nest = search->nest;
	uint64_t fields =
		nest_word(nest, shape, search->bits, group * nest->layout->group_bits, word);
	return (fields - nest->layout->ones) & ~fields;
}

/* Not 0 if a slot of a group is empty. */
ALWAYS_INLINE uint64_t search_gaps(const struct search *search, struct nest_shape shape,
                                   uint64_t group)
{
	const struct nest *nest = search->nest;
	if (nest_coded_in_word(shape))
		return nest_coded_empty(nest, shape, search->bits,
		                        group * nest->layout->group_bits);
	uint64_t gaps = search_gaps_in(search, shape, group, 0);
	if (shape.words == NEST_TWO)
		gaps |= search_gaps_in(search, shape, group, 1);
	for (unsigned word = 1; shape.words == NEST_MANY && word < nest->layout->words; word++)
		gaps |= search_gaps_in(search, shape, group, word);
	return gaps & nest->layout->highs;
}

/* Whether a slot is empty to which an entry can go. */
ALWAYS_INLINE bool search_any_gap(const struct search *search, struct nest_shape shape,
                                  struct search_aim aim)
{
	if (shape.kind != NEST_WINDOWS)
		return search_gaps(search, shape, aim.other) != 0;
	return (search_gaps(search, shape, aim.other) | search_gaps(search, shape, aim.own)) != 0;
}

/* The last empty slot of a group that has one: inserts leave room there last. */
ALWAYS_INLINE unsigned search_last_gap(const struct search *search, struct nest_shape shape,
                                       uint64_t group)
{
	const struct nest *nest = search->nest;
	for (unsigned word = nest_words(nest, shape); word-- > 0;) {
		uint64_t fields = nest_word(nest, shape, search->bits,
		                            group * nest->layout->group_bits, word);
		uint64_t gaps = fields_zero_in(fields, nest->layout->lows, nest->layout->highs);
		if (gaps != 0)
			return word * nest->layout->fields + log2_floor(gaps) / nest->layout->width;
	}
	return 0; /* shared: it was taken meanwhile */
}

/* Whether an entry can go to an empty slot; it is kept then. */
ALWAYS_INLINE bool search_try(struct search *search, struct nest_shape shape, struct search_aim aim)
{
	const bool windows = shape.kind == NEST_WINDOWS;
	if (LIKELY(!search_any_gap(search, shape, aim)))
		return false;
	bool own = windows && search_gaps(search, shape, aim.own) != 0;
	uint64_t group = own ? aim.own : aim.other;
	unsigned gap = search_last_gap(search, shape, group);
	search->checks += (windows && !own ? shape.slots : 0) + shape.slots - gap;
	search->empty = search_first(shape, group) + gap;
	return true;
}

/* Slots that are looked at for an entry that cannot move. */
ALWAYS_INLINE unsigned search_looks(struct nest_shape shape)
{
	return shape.kind == NEST_WINDOWS ? 2 * shape.slots : shape.slots;
}

ALWAYS_INLINE struct search_aim search_aim_of(const struct search *search, struct nest_shape shape,
                                              uint32_t node)
{
	return search_aim(search, shape, search_slot(shape, node), search_at(shape, node));
}

/* Asks the memory for where an entry could go. */
ALWAYS_INLINE void search_ask_for(const struct search *search, struct search_aim aim)
{
	PREFETCH(search->bits + (aim.other * search->nest->layout->group_bits >> 3));
}

/* The same for node i, if there is one. */
ALWAYS_INLINE void search_ask(const struct search *search, struct nest_shape shape, unsigned i,
                              const uint32_t *end)
{
	if (search->node + i >= end)
		return;
	search_ask_for(search, search_aim_of(search, shape, search->node[i]));
}

/*
 * Keeps the chain that ends in node i, whose first child would be number `nodes`. Children
 * are `counted` where nodes may have different numbers of them. False: it is too long.
 */
ALWAYS_INLINE bool search_keep_chain(struct search *search, struct nest_shape shape, bool counted,
                                     unsigned i, unsigned nodes)
{
	unsigned parent = i;
	for (search->length = 0; search->length < SEARCH_DEPTH; i = parent) {
		search->chain[search->length++] = search_slot(shape, search->node[i]);
		if (i < 2 * shape.slots)
			return true;
		if (!counted)
			parent = i / shape.slots - 2;
		while (counted && nodes > i)
			nodes -= search->children[--parent];
	}
	return false;
}

/* The children of node i, for which this is the aim, become nodes. */
ALWAYS_INLINE uint32_t *search_expand(struct search *search, struct nest_shape shape, unsigned i,
                                      struct search_aim aim, uint32_t *end)
{
	uint32_t node = search->node[i], *children = end;
	if (shape.kind != NEST_WINDOWS)
		return search_push(shape, end, aim.other);
	uint64_t apart = aim.own - search_slot(shape, node) + search_at(shape, node);
	end = search_push_own(shape, end, aim.own, apart);
	end = search_push(shape, end, aim.other);
	search->children[i] = (uint8_t)(end - children);
	return end;
}

/*
 * A short search; of the roots, so many were tried already. False: it found no chain. No slot
 * is remembered: in so few nodes hardly any comes twice.
 */
ALWAYS_INLINE bool search_walk(struct search *search, struct nest_shape shape, unsigned tried)
{
	const struct nest *nest = search->nest;
	uint32_t *end = search->node + 2 * shape.slots,
		 *stop = search->node + nest->layout->short_steps;
	unsigned i = 0;
	for (; i < tried && end < stop; i++)
		end = search_expand(search, shape, i, search_aim_of(search, shape, search->node[i]),
		                    end);
	for (unsigned ask = i; nest->remote && ask < i + 2 * shape.slots; ask++)
		search_ask(search, shape, ask, end);
	for (; end < stop; i++) {
		struct search_aim aim = search_aim_of(search, shape, search->node[i]);
		if (UNLIKELY(search_try(search, shape, aim))) {
			search->checks += i * search_looks(shape);
			return search_keep_chain(search, shape, shape.kind == NEST_WINDOWS, i,
			                         (unsigned)(end - search->node));
		}
		end = search_expand(search, shape, i, aim, end);
		if (UNLIKELY(nest->remote))
			search_ask(search, shape, i + 2 * shape.slots, end);
	}
	search->checks = i * search_looks(shape);
	return false;
}

/* ---------------------------------------------------------------------- moves -- */

/* What the entry for which this is the aim holds in slot `to`, which is another of its own. */
ALWAYS_INLINE uint64_t search_moved_to(const struct nest *nest, struct nest_shape shape,
                                       struct search_aim aim, uint64_t to)
{
	const unsigned core_bits = nest->layout->core_bits;
	if (nest_choosing(shape.kind))
		return aim.value ^ UINT64_C(1) << core_bits; /* now in its other group */
	if (shape.kind != NEST_WINDOWS)
		return aim.value;
	uint64_t extra = aim.value >> core_bits & (2 * shape.slots - 1), choice = extra & 1;
	uint64_t group[2] = { aim.own, aim.other };
	/* A slot of both windows counts as one of the first. */
	uint64_t second = to - group[choice] >= shape.slots;
	uint64_t at = to - group[second ^ choice];
	return aim.value ^ (extra ^ (second | at << 1)) << core_bits;
}

/* The same for the entry of slot `from`. */
ALWAYS_INLINE uint64_t search_moved(const struct nest *nest, struct nest_shape shape, uint64_t from,
                                    uint64_t to, uint64_t value)
{
	struct search_aim aim = { .value = value };
	if (shape.kind == NEST_WINDOWS) {
		aim.own = from - (value >> nest->layout->core_bits >> 1 & (shape.slots - 1));
		aim.other = nest_other_group(nest, shape.kind, aim.own, value);
	}
	return search_moved_to(nest, shape, aim, to);
}

/* Moves the chain; gives the slot of its root. */
ALWAYS_INLINE uint64_t search_move(struct search *search, struct nest_shape shape)
{
	struct nest *nest = search->nest;
	uint64_t to = search->empty;
	assert(search->length > 0 && search->length <= SEARCH_DEPTH);
	for (unsigned i = 0; i < search->length; i++) {
		uint64_t from = search->chain[i];
		uint64_t value = nest_get(nest, shape.kind, search->bits, from);
		value = search_moved(nest, shape, from, to, value);
		nest_set(nest, shape.kind, search->bits, to, value);
		nest->effort.moves++;
		to = from;
	}
	return to;
}

/* Writes a slot that holds `before`, which may have more bits above. */
ALWAYS_INLINE void search_replace(struct nest *nest, struct nest_shape shape, unsigned char *bits,
                                  uint64_t slot, uint64_t before, uint64_t value)
{
	if (nest_coded(shape.kind)) {
		nest_set(nest, shape.kind, bits, slot, value & nest->layout->slot_mask);
		return;
	}
	assert(slot_get(bits, nest->layout->width, slot) == (before & nest->layout->slot_mask));
	uint64_t bit = slot * nest->layout->width,
		 differ = (before ^ value) & nest->layout->slot_mask;
	unsigned char *at = bits + (bit >> 3);
	store64(at, load64(at) ^ differ << (bit & 7));
}

/* The slot of root i of a key's search: they are in the order in which search_begin lists them. */
ALWAYS_INLINE uint64_t search_root(struct nest_shape shape, const struct nest_key *key, unsigned i,
                                   unsigned *at)
{
	*at = shape.slots - 1 - i % shape.slots;
	return search_first(shape, key->group[i / shape.slots]) + *at;
}

/* Moves the entry of root i, which can move at once, and puts the key into its slot. */
ALWAYS_INLINE void search_take_root(struct search *search, struct nest_shape shape,
                                    const struct nest_key *key, unsigned i, struct search_aim aim)
{
	struct nest *nest = search->nest;
	unsigned at;
	uint64_t slot = search_root(shape, key, i, &at);
	search_replace(nest, shape, search->bits, search->empty, 0,
	               search_moved_to(nest, shape, aim, search->empty));
	search_replace(nest, shape, search->bits, slot, aim.value,
	               nest_encode(nest, shape.kind, key->value, i / shape.slots, at));
	nest->chunk[key->chunk].used++;
	nest->effort.moves++;
	search->checks += i * search_looks(shape);
}

/*
 * Roots whose aims are worked out before the first of them is tried. Of groups of two slots, the
 * first root mostly does.
 */
ALWAYS_INLINE unsigned search_ahead(struct nest_shape shape)
{
	return shape.slots > 2 ? 2 * shape.slots : 1;
}

/*
 * The first step of a search: puts the key into the first root whose entry can move at once; false
 * if none can. Until a nest is nearly full, most searches need no more, and this does without
 * all that a longer one keeps.
 */
ALWAYS_INLINE bool search_step(struct nest *nest, struct nest_shape shape,
                               const struct nest_key *key)
{
	const unsigned ahead = search_ahead(shape);
	struct search search;
	struct search_aim aim[2 * NEST_SLOTS_MAX];
	search.nest = nest;
	search.bits = nest_chunk_bits(nest, key->chunk);
	search.checks = 0;
	for (unsigned i = 0, at; ahead == 1 && UNLIKELY(nest->far) && i < 2 * shape.slots; i++) {
		uint64_t slot = search_root(shape, key, i, &at);
		search_ask_for(&search, search_aim(&search, shape, slot, at));
	}
	for (unsigned from = 0; from < 2 * shape.slots; from += ahead) {
		/* Or all that the loop needs of it would be put on the stack first. */
		OPAQUE64(search.nest);
		for (unsigned i = 0, at; i < ahead; i++) {
			uint64_t slot = search_root(shape, key, from + i, &at);
			aim[i] = search_aim(&search, shape, slot, at);
			if (ahead > 1 && nest->remote)
				search_ask_for(&search, aim[i]);
		}
		for (unsigned i = 0; i < ahead; i++) {
			if (!search_try(&search, shape, aim[i]))
				continue;
			search_take_root(&search, shape, key, from + i, aim[i]);
			return search_end(&search, true);
		}
	}
	return false;
}

#endif

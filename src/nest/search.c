/* SPDX-License-Identifier: MIT
 *
 * search: the parts that are compiled once, for every shape: long searches, and those of
 * nests at leisure.
 *
 * A long search looks at the same nodes in the same order as a short one, but remembers
 * slots, so that none comes twice. The record may forget one, which then only is looked at
 * again, or take one of a vast chunk for another, which then is not.
 *
 * It lists its nodes as long as the list suffices. If that fills up it begins once more,
 * without. Of every node it keeps which slots became its children, a bit for each, and of
 * a depth with few nodes their list. To come to the nodes of another depth it walks through
 * the tree again: the slot of a child follows from that of its parent and from the entry
 * there. The path from the root to the node is all that it needs of the tree above, and the
 * chain, if the node ends one.
 *
 *     children of a node:  | slots of its own window | slots of the other group |
 *
 * The highest bit is the first child. The root of the tree stands for the key: its two
 * groups take the place of an entry's own and other one. Half of the nodes may have
 * children: on average they have two at least.
 */
#include "nest/search.h"

#include "base/effort.h"

#define LISTED_FEW 4 /* entries in a list */
#define EXPANDED_MOST (SEARCH_STEPS_MAX / 2)
#define SHORT_LEAST 64

_Static_assert(sizeof(struct search) <= 13 * 1024, "a search needs few kilobytes of stack");

/* Whether all slots of a chunk can be nodes of a list. */
static bool listable(const struct nest_layout *layout)
{
	return nest_chunk_slots(layout) <= UINT32_MAX >> SEARCH_AT_BITS;
}

unsigned search_short_steps(const struct nest_layout *layout)
{
	uint64_t steps = nest_chunk_slots(layout) / 2;
	if (!listable(layout))
		return 0;
	steps = steps > SHORT_LEAST ? steps : SHORT_LEAST;
	steps = steps < SEARCH_SHORT ? steps : SEARCH_SHORT;
	return steps < layout->max_steps ? (unsigned)steps : layout->max_steps;
}

uint64_t search_step_most(const struct nest_layout *layout)
{
	return layout->slots > 2 ? UINT64_MAX : nest_chunk_slots(layout) / 16 * 13;
}

/*
 * Whether a slot was seen before; from now on it was. A chunk of few slots has a bit for
 * each, in a larger one a place of the record may be another slot's by now.
 */
static bool recorded(struct search *search, uint64_t slot)
{
	if (nest_chunk_slots(search->nest->layout) <= SEARCH_RECORD_BITS) {
		uint16_t bit = (uint16_t)(1u << slot % 16), before = search->record[slot / 16];
		search->record[slot / 16] = before | bit;
		return before & bit;
	}
	uint16_t *place = &search->record[slot % SEARCH_RECORD_SIZE];
	uint16_t value = (uint16_t)(slot / (SEARCH_RECORD_SIZE / 2) | 1); /* not 0, as none is */
	if (*place == value)
		return true;
	*place = value;
	return false;
}

/* The slots of a group that were not seen before, but for those in `met`, as bits. */
static unsigned new_slots(struct search *search, struct nest_shape shape, uint64_t group,
                          unsigned met, unsigned most)
{
	uint64_t first = search_first(shape, group);
	unsigned slots = 0;
	if (search->nodes >= most)
		return 0;
	if (shape.kind != NEST_WINDOWS) {
		slots = recorded(search, first) ? 0 : (1u << shape.slots) - 1;
		search->nodes += slots == 0 ? 0 : shape.slots;
	}
	for (unsigned at = shape.slots; shape.kind == NEST_WINDOWS && at-- > 0;) {
		if (!(met >> at & 1) && !recorded(search, first + at)) {
			slots |= 1u << at;
			search->nodes++;
		}
	}
	return slots;
}

/*
 * The children of a node, as drawn above; the group in which it was met begins at `met`.
 * There are to be `most` nodes.
 */
static unsigned children_of(struct search *search, struct nest_shape shape, struct search_aim aim,
                            uint64_t met, unsigned most)
{
	const unsigned all = (1u << shape.slots) - 1;
	unsigned children = 0;
	if (shape.kind == NEST_WINDOWS) {
		unsigned apart = (unsigned)(aim.own - met);
		unsigned seen = all << shape.slots >> (shape.slots + apart) & all;
		children = new_slots(search, shape, aim.own, seen, most) << shape.slots;
	}
	return children | new_slots(search, shape, aim.other, 0, most);
}

/* Remembers the slots of both groups of a key, and no other. */
static void begin_record(struct search *search, struct nest_shape shape, const struct nest_key *key)
{
	memset(search->record, 0, sizeof search->record);
	for (unsigned i = 0; i < 2; i++) {
		search->nodes = 0;
		(void)new_slots(search, shape, key->group[i], 0, UINT32_MAX);
	}
	search->nodes = 2 * shape.slots; /* both, even where windows overlap */
}

/* ----------------------------------------------------------------------- list -- */

/* Lists the children of a node, the first first; gives the list's end. */
static uint32_t *list_children(struct nest_shape shape, struct search_aim aim, unsigned children,
                               uint32_t *end)
{
	for (; children != 0; children ^= 1u << log2_floor(children)) {
		unsigned bit = log2_floor(children), at = bit % shape.slots;
		uint64_t group = bit < shape.slots ? aim.other : aim.own;
		*end++ = search_node(shape, search_first(shape, group) + at, at);
	}
	return end;
}

/* False: there is no chain, or the list is `full`. */
static bool search_list(struct search *search, struct nest_shape shape, const struct nest_key *key,
                        bool *full)
{
	const unsigned max_steps = search->nest->layout->max_steps;
	const unsigned most = max_steps < SEARCH_SHORT ? max_steps : SEARCH_SHORT;
	begin_record(search, shape, key);
	for (unsigned i = 0; i < 2; i++)
		(void)search_push(shape, search->node + i * shape.slots, key->group[i]);
	for (unsigned i = 0; i < search->nodes; i++) {
		uint32_t node = search->node[i];
		struct search_aim aim = search_aim_of(search, shape, node);
		unsigned before = search->nodes, children = 0;
		if (search_try(search, shape, aim))
			return search_keep_chain(search, shape, true, i, search->nodes);
		search->checks += search_looks(shape);
		if (i < SEARCH_SHORT) {
			uint64_t met = search_slot(shape, node) - search_at(shape, node);
			children = children_of(search, shape, aim, met, most);
			search->children[i] = (uint8_t)(search->nodes - before);
		}
		(void)list_children(shape, aim, children, search->node + before);
		*full = search->nodes >= most && most < max_steps;
		if (*full)
			return false;
	}
	return false;
}

/* ----------------------------------------------------------------------- tree -- */

/* Asks the memory for where the new entries of a group could go. */
static void ask(const struct search *search, struct nest_shape shape, uint64_t group)
{
	uint64_t first = search_first(shape, group);
	for (unsigned at = 0; search->nest->remote && at < shape.slots; at++) {
		struct search_aim aim = search_aim(search, shape, first + at, at);
		PREFETCH(search->bits + (aim.other * search->nest->layout->group_bits >> 3));
	}
}

/* Goes from the node at one level to its next child; gives where the child's group begins. */
static uint64_t enter_child(struct search *search, struct nest_shape shape,
                            struct search_level *parent)
{
	struct search_level *child = parent + 1;
	unsigned bit = log2_floor(parent->left), at = bit % shape.slots;
	uint64_t met = search_first(shape, bit < shape.slots ? parent->other : parent->own);
	parent->left ^= (uint16_t)(1u << bit);
	child->slot = met + at;
	child->number++;
	struct search_aim aim = search_aim(search, shape, child->slot, at);
	child->own = aim.own;
	child->other = aim.other;
	return met;
}

/* Goes to the next node of a depth, and sets *met as above; false if there is none. */
static bool next_node(struct search *search, struct nest_shape shape, unsigned depth, uint64_t *met)
{
	struct search_tree *tree = &search->tree;
	for (unsigned at = depth;; at++) {
		while (at > 0 && tree->level[at - 1].left == 0)
			at--;
		if (at == 0)
			return false;
		struct search_level *level = &tree->level[at];
		*met = enter_child(search, shape, level - 1);
		if (at == depth)
			return true;
		level->left = level->number < EXPANDED_MOST ? tree->children[level->number] : 0;
	}
}

/* Begins to walk through the nodes of a depth, the first of which is number `first`. */
static void begin_depth(struct search_tree *tree, struct nest_shape shape, unsigned depth,
                        unsigned first)
{
	tree->level[0].left = (uint16_t)((1u << 2 * shape.slots) - 1);
	tree->level[depth].first = first;
	for (unsigned at = 1; at <= depth; at++) {
		tree->level[at].number = tree->level[at].first - 1; /* the one before */
		tree->level[at].left = 0;
	}
}

static void keep_chain(struct search *search, unsigned depth)
{
	search->length = depth;
	for (unsigned i = 0; i < depth; i++)
		search->chain[i] = search->tree.level[depth - i].slot;
}

/* The nodes of one depth: all of them are in the list, unless they are too many for it. */
struct depth {
	unsigned number, first, count; /* of the depth, of its first node, of its nodes */
	bool listed;
};

static uint32_t *frontier_of(struct search *search, const struct depth *depth)
{
	return search->tree.frontier[depth->number % 2];
}

/* Finds the children of a node, which are nodes of the next depth. */
static void expand(struct search *search, struct nest_shape shape, unsigned node,
                   struct search_aim aim, uint64_t met, struct depth *next)
{
	unsigned before = search->nodes;
	if (node >= EXPANDED_MOST)
		return;
	unsigned children = children_of(search, shape, aim, met, search->nest->layout->max_steps);
	search->tree.children[node] = (uint8_t)children;
	if (children != 0)
		ask(search, shape, aim.other);
	unsigned more = next->count + search->nodes - before;
	next->listed = next->listed && more <= SEARCH_FRONTIER;
	if (next->listed)
		(void)list_children(shape, aim, children, frontier_of(search, next) + next->count);
	next->count = more;
}

/* Looks at all nodes of a depth that has them listed. */
static bool search_listed(struct search *search, struct nest_shape shape, const struct depth *depth,
                          struct depth *next)
{
	struct search_tree *tree = &search->tree;
	uint64_t met;
	for (unsigned i = 0; i < depth->count; i++) {
		uint32_t node = frontier_of(search, depth)[i];
		struct search_aim aim = search_aim_of(search, shape, node);
		if (search_try(search, shape, aim)) {
			while (next_node(search, shape, depth->number, &met) &&
			       tree->level[depth->number].number < depth->first + i)
				;
			return true;
		}
		search->checks += search_looks(shape);
		met = search_slot(shape, node) - search_at(shape, node);
		expand(search, shape, depth->first + i, aim, met, next);
	}
	return false;
}

/* Looks at all nodes of a depth, walking through the tree. */
static bool search_depth(struct search *search, struct nest_shape shape, const struct depth *depth,
                         struct depth *next)
{
	const struct search_level *level = &search->tree.level[depth->number];
	uint64_t met;
	while (next_node(search, shape, depth->number, &met)) {
		struct search_aim aim = { .own = level->own, .other = level->other };
		if (search_try(search, shape, aim))
			return true;
		search->checks += search_looks(shape);
		expand(search, shape, level->number, aim, met, next);
	}
	return false;
}

static bool search_tree(struct search *search, struct nest_shape shape, const struct nest_key *key)
{
	struct search_tree *tree = &search->tree;
	const bool list = listable(search->nest->layout);
	struct depth depth = { 1, 0, 2 * shape.slots, list };
	begin_record(search, shape, key);
	tree->level[0].own = key->group[0];
	tree->level[0].other = key->group[1];
	for (unsigned i = 0; i < 2; i++)
		(void)search_push(shape, frontier_of(search, &depth) + i * shape.slots,
		                  key->group[i]);
	while (depth.number <= SEARCH_DEPTH && depth.count > 0) {
		struct depth next = { depth.number + 1, depth.first + depth.count, 0, list };
		begin_depth(tree, shape, depth.number, depth.first);
		if (depth.listed ? search_listed(search, shape, &depth, &next)
		                 : search_depth(search, shape, &depth, &next)) {
			keep_chain(search, depth.number);
			return true;
		}
		depth = next;
	}
	return false;
}

/*
 * Whether a long search is in vain: a body of a growing filter takes more than it has room for,
 * and has a few entries in its list already. Copies fill groups before the body is full, and each
 * long search there looks at all of it.
 */
static bool is_vain(const struct nest *nest, uint64_t chunk)
{
	return nest->layout->parts > 0 &&
	       __atomic_load_n(&nest->chunk[chunk].stash.nodes, __ATOMIC_RELAXED) >= LISTED_FEW;
}

bool search_long(struct search *search, const struct nest_key *key)
{
	if (is_vain(search->nest, key->chunk))
		return false;
	struct nest_shape shape = nest_shape_of(search->nest);
	/* In a large chunk a short search hardly saw a slot twice: its list was full, too. */
	bool full = nest_chunk_slots(search->nest->layout) > SEARCH_RECORD_BITS;
	bool found = (!full && search_list(search, shape, key, &full)) ||
	             (full && search_tree(search, shape, key));
	effort_of_thread()->looked += search->checks;
	return found;
}

bool search_room(struct nest *nest, enum nest_kind kind, const struct nest_key *key, uint64_t *slot)
{
	(void)kind;
	struct nest_shape shape = nest_shape_of(nest);
	struct search search;
	shape.shared = false;
	search_begin(&search, nest, shape, key);
	bool found = search_walk(&search, shape, 0) || search_long(&search, key);
	if (found)
		*slot = search_move(&search, shape);
	return search_end(&search, found);
}

/* SPDX-License-Identifier: MIT
 *
 * search: the parts that are compiled once, for every shape: long searches, and those of
 * nests at leisure.
 *
 * A long search visits the same tree of nodes in the same order as a short one, depth by
 * depth, but does not list them. Of every node it keeps which slots became its children, a
 * bit for each. To come to the nodes of a depth it walks through the tree again: the slot
 * of a child follows from that of its parent and from the entry there. The path from the
 * root to the node is all that it needs of the tree above, and the chain, if the node ends
 * one.
 *
 *     children of a node:  | slots of its own window | slots of the other group |
 *
 * The highest bit is the first child. The root of the tree stands for the key: its two
 * groups take the place of an entry's own and other one.
 *
 * Slots are remembered, so that none comes twice; the record may forget one, which then
 * only is looked at again, or take one of a vast chunk for another, which then is not.
 * Half of the nodes may have children: on average they have two at least.
 */
#include "nest/search.h"

#define EXPANDED_MOST (SEARCH_STEPS_MAX / 2)

_Static_assert(sizeof(struct search) <= 10240, "a search needs few kilobytes of stack");

static bool recorded(struct search_tree *tree, uint64_t slot)
{
	uint16_t *place = &tree->record[slot % SEARCH_RECORD_SIZE];
	uint16_t value = (uint16_t)(slot / (SEARCH_RECORD_SIZE / 2) | 1); /* not 0, as none is */
	if (*place == value)
		return true;
	*place = value;
	return false;
}

/* The slots of a group that were not seen before, but for those in `met`, as bits. */
static unsigned new_slots(struct search *search, struct nest_shape shape, uint64_t group,
                          unsigned met)
{
	struct search_tree *tree = &search->tree;
	uint64_t first = search_first(shape, group);
	unsigned slots = 0;
	if (tree->nodes >= search->nest->max_steps)
		return 0;
	if (shape.kind != NEST_WINDOWS) {
		slots = recorded(tree, first) ? 0 : (1u << shape.slots) - 1;
		tree->nodes += slots == 0 ? 0 : shape.slots;
	}
	for (unsigned at = shape.slots; shape.kind == NEST_WINDOWS && at-- > 0;) {
		if (!(met >> at & 1) && !recorded(tree, first + at)) {
			slots |= 1u << at;
			tree->nodes++;
		}
	}
	return slots;
}

/* Asks the memory for where the new entries of a group could go. */
static void ask(const struct search *search, struct nest_shape shape, uint64_t group)
{
	uint64_t first = search_first(shape, group);
	for (unsigned at = 0; search->nest->remote && at < shape.slots; at++) {
		struct search_aim aim = search_aim(search, shape, first + at, at);
		PREFETCH(search->bits + (aim.other * search->nest->group_bits >> 3));
	}
}

/* Finds the children of the node at a level; `met` is where the group begins it was met in. */
static void expand(struct search *search, struct nest_shape shape, const struct search_level *level,
                   uint64_t met)
{
	struct search_tree *tree = &search->tree;
	const unsigned all = (1u << shape.slots) - 1;
	if (level->number >= EXPANDED_MOST)
		return;
	unsigned children = 0;
	if (shape.kind == NEST_WINDOWS) {
		unsigned apart = (unsigned)(level->own - met);
		unsigned seen = all << shape.slots >> (shape.slots + apart) & all;
		children = new_slots(search, shape, level->own, seen) << shape.slots;
	}
	unsigned other = new_slots(search, shape, level->other, 0);
	if (other != 0)
		ask(search, shape, level->other);
	tree->children[level->number] = (uint8_t)(children | other);
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

/* Looks at all nodes of a depth, and finds their children. */
static bool search_depth(struct search *search, struct nest_shape shape, unsigned depth)
{
	const struct search_level *level = &search->tree.level[depth];
	uint64_t met;
	while (next_node(search, shape, depth, &met)) {
		if (search_try(search, shape, (struct search_aim){ level->own, level->other })) {
			keep_chain(search, depth);
			return true;
		}
		search->checks += search_looks(shape);
		expand(search, shape, level, met);
	}
	return false;
}

static bool search_tree(struct search *search, struct nest_shape shape, const struct nest_key *key)
{
	struct search_tree *tree = &search->tree;
	memset(tree->record, 0, sizeof tree->record);
	tree->nodes = 0;
	tree->level[0].own = key->group[0];
	tree->level[0].other = key->group[1];
	for (unsigned i = 0; i < 2; i++)
		(void)new_slots(search, shape, key->group[i], 0);
	tree->nodes = 2 * shape.slots; /* both, even where windows overlap */
	for (unsigned depth = 1, first = 0; depth <= SEARCH_DEPTH && first < tree->nodes; depth++) {
		unsigned end = tree->nodes;
		begin_depth(tree, shape, depth, first);
		if (search_depth(search, shape, depth))
			return true;
		first = end;
	}
	return false;
}

bool search_long(struct search *search, const struct nest_key *key)
{
	return search_tree(search, nest_shape_of(search->nest), key);
}

bool search_room(struct nest *nest, enum nest_kind kind, const struct nest_key *key, uint64_t *slot)
{
	(void)kind;
	struct nest_shape shape = nest_shape_of(nest);
	struct search search;
	shape.shared = false;
	search_begin(&search, nest, shape, key);
	bool found = search_walk(&search, shape) || search_long(&search, key);
	if (found)
		*slot = search_move(&search, shape);
	return search_end(&search, found);
}

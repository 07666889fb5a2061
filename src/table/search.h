/* SPDX-License-Identifier: MIT
 *
 * search: makes room in a full group by moving other entries to their other
 * places.
 *
 * search_room does it for any nest. The instances of nest_ops.h begin it with
 * code of their own (search_ops.h) and go on here when it gets long.
 */
#ifndef NIDUS_TABLE_SEARCH_H
#define NIDUS_TABLE_SEARCH_H

#include "table/nest.h"

#define SEARCH_STEPS_MAX 8192 /* slots that one search may look at */

/*
 * Finds the shortest chain of moves that frees a slot of either group of the
 * key (both are full), and only then moves. On true *slot is the freed one: it
 * still holds a copy of the entry that moved on, for the caller to write over.
 * On false nothing changed.
 */
bool search_room(struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                 uint64_t *slot);

/* ------------------------------------------------------ inside a search -- */

/*
 *     node:  | slot, 46 | place in the group it was met in, 2 or 3 | parent, 15 |
 */
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
 * Small searches, nearly all, never look twice at a slot; a larger one keeps a
 * record of where it was. It may forget, and then only looks again.
 */
#define SEARCH_RECORD_FROM 1024
#define SEARCH_RECORD_SIZE 1024

#define SEARCH_AIMS 16 /* a power of two above the nodes between aiming and looking */

/* The group in which a node's entry lies, and the one in which it could lie instead. */
struct search_aim {
	uint64_t own, other;
};

struct search {
	struct nest *nest;
	unsigned char *bits; /* the chunk's */
	unsigned nodes, aimed;
	unsigned checks; /* slots looked at */
	bool recording;
	struct search_aim aim[SEARCH_AIMS]; /* of node i at i % SEARCH_AIMS */
	uint64_t node[SEARCH_STEPS_MAX + 2 * NEST_SLOTS_MAX];
	uint64_t record[SEARCH_RECORD_SIZE]; /* slot + 1 */
};

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

/* A search that has become large keeps its record from now on. */
static inline void search_may_record(struct search *search)
{
	if (search->recording || search->nodes < SEARCH_RECORD_FROM)
		return;
	memset(search->record, 0, sizeof search->record);
	search->recording = true;
}

/* Whether a large search was at a slot before; from now on it was. */
static inline bool search_recorded(struct search *search, uint64_t slot)
{
	if (!search->recording)
		return false;
	uint64_t *place = &search->record[slot % SEARCH_RECORD_SIZE];
	if (*place == slot + 1)
		return true;
	*place = slot + 1;
	return false;
}

/* A search whose first nodes are all slots of both groups of a key. */
ALWAYS_INLINE void search_begin(struct search *search, struct nest *nest, enum nest_kind kind,
                                unsigned slots, const struct nest_key *key)
{
	search->nest = nest;
	search->bits = nest_chunk_bits(nest, key->chunk);
	search->nodes = 2 * slots;
	search->aimed = search->checks = 0;
	search->recording = false;
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t group = key->group[choice];
		uint64_t last = (kind == NEST_WINDOWS ? group : group * slots) + slots - 1;
		for (unsigned i = 0; i < slots; i++)
			search->node[choice * slots + i] =
				SEARCH_NODE(last - i, slots - 1 - i, SEARCH_NO_PARENT);
	}
}

/* Keeps what a search cost; gives what it came to. */
static inline bool search_end(const struct search *search, bool found)
{
	search->nest->effort.relocations++;
	search->nest->effort.checks += search->checks;
	return found;
}

/* Goes on with a search from node i on, to its end: see search_room. */
bool search_go_on(struct search *search, enum nest_kind kind, unsigned i, uint64_t *slot);

/* What the entry of slot `from` holds in slot `to`, which is another of its own. */
ALWAYS_INLINE uint64_t search_moved(const struct nest *nest, enum nest_kind kind, unsigned slots,
                                    unsigned core_bits, uint64_t from, uint64_t to, uint64_t value)
{
	if (kind == NEST_BUCKETS)
		return value ^ UINT64_C(1) << core_bits; /* now in its other group */
	if (kind != NEST_WINDOWS)
		return value;
	uint64_t extra = value >> core_bits & (2 * slots - 1);
	uint64_t own = from - (extra >> 1), choice = extra & 1;
	uint64_t group[2] = { own, nest_other_group_in(nest, kind, core_bits, own, value) };
	/* A slot of both windows counts as one of the first. */
	uint64_t second = to - group[choice] >= slots;
	uint64_t at = to - group[second ^ choice];
	return value ^ (extra ^ (second | at << 1)) << core_bits;
}

/* Moves the chain that ends in node `last`; gives the slot of its root. */
ALWAYS_INLINE uint64_t search_move(struct search *search, enum nest_kind kind, unsigned slots,
                                   unsigned width, unsigned core_bits, unsigned last,
                                   uint64_t empty)
{
	struct nest *nest = search->nest;
	uint64_t to = empty;
	for (unsigned i = last; i != SEARCH_NO_PARENT;) {
		uint64_t from = search_slot(search->node[i]);
		uint64_t value = nest_get_in(kind, search->bits, width, from);
		value = search_moved(nest, kind, slots, core_bits, from, to, value);
		nest_set_in(kind, search->bits, width, to, value);
		nest->effort.moves++;
		to = from;
		i = search_parent(search->node[i]);
	}
	return to;
}

#endif

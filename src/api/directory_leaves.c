/* SPDX-License-Identifier: MIT
 *
 * directory_leaves: the leaves of a directory and its index; how they are split.
 *
 * Whatever fails fails for want of memory, before the index leads anywhere else.
 */
#include "api/directory_parts.h"

#include <assert.h>
#include <math.h>

#include "base/effort.h"
#include "base/reason.h"

/* ------------------------------------------------------------------------ bodies -- */

/* The first cell of each body of a leaf, by how many it has; behind the last CELLS. */
static const uint8_t first_cell[LEAF_BODIES + 1][LEAF_BODIES + 1] = {
	{ 0 }, { 0, CELLS, CELLS, CELLS }, { 0, 16, CELLS, CELLS }, { 0, 11, 21, CELLS }
};

#define ROUNDING 1e-9 /* of products of doubles, that no leaf is split for it */

#define MOST_CELLS 11 /* of a body of a leaf that has three */

/* Which body of a leaf has a cell. */
static unsigned body_with_cell(unsigned bodies, uint64_t cell)
{
	/* Without a branch: entries that are split go anywhere. */
	return (cell >= first_cell[bodies][1]) + (cell >= first_cell[bodies][2]);
}

/* The part that a cell of a leaf lies in, or begins with. */
static uint64_t part_of_cell(const struct directory *directory, uint64_t number, unsigned depth,
                             uint64_t cell)
{
	unsigned growth = directory->growth_bits, bits = depth + CELL_BITS;
	uint64_t all = number * CELLS + cell;
	return bits <= growth ? all << (growth - bits) : all >> (bits - growth);
}

/* The parts that a body of a leaf holds; the outer ones not whole where bits are borrowed. */
static struct segment segment_of(const struct directory *directory, uint64_t number, unsigned depth,
                                 unsigned bodies, unsigned which, uint64_t *last)
{
	unsigned growth = directory->growth_bits, bits = depth + CELL_BITS;
	uint64_t end = first_cell[bodies][which + 1];
	uint64_t first = part_of_cell(directory, number, depth, first_cell[bodies][which]);
	*last = part_of_cell(directory, number, depth, end - 1);
	if (bits < growth)
		*last |= bits_low(growth - bits);
	return (struct segment){ .parts = directory->parts,
		                 .first = first,
		                 .tag_bits = *last > first ? log2_floor(*last - first) + 1 : 0,
		                 .most_bits = directory->growth_bits,
		                 .model = directory->model };
}

uint64_t directory_table_bytes(const struct directory *directory, uint64_t number, unsigned depth,
                               unsigned bodies, unsigned which)
{
	uint64_t last;
	struct blueprint plan = directory->plan;
	plan.growth_bits = segment_of(directory, number, depth, bodies, which, &last).tag_bits;
	return directory->inner->forecast(&plan, 0).bytes;
}

/* Sets what a body shares with others that have as many bits in their tags. Errors: E_NOMEM. */
static nidus_status take_layout(const struct directory *directory, const struct blueprint *plan,
                                struct segment *segment)
{
	struct shared_layout *shared = &directory->layout[segment->tag_bits];
	nidus_status status = NIDUS_OK;
	if (shared->bodies == 0 && directory->inner->lay_out != NULL)
		status = directory->inner->lay_out(plan, segment, directory->model,
		                                   &directory->allocator, &shared->layout);
	if (status == NIDUS_OK)
		shared->bodies++;
	segment->layout = shared->layout;
	return status;
}

static void give_layout(const struct directory *directory, unsigned tag_bits)
{
	struct shared_layout *shared = &directory->layout[tag_bits];
	if (--shared->bodies > 0 || shared->layout == NULL)
		return;
	directory->inner->free_layout(shared->layout);
	shared->layout = NULL;
}

/* Makes a body of a leaf: an empty one or one over a table. Errors: E_NOMEM. */
static nidus_status make_body(const struct directory *directory, struct leaf *leaf, unsigned bodies,
                              unsigned which, unsigned char *table)
{
	const struct family *inner = directory->inner;
	struct blueprint plan = directory->plan;
	struct body_head head = { .leaf = leaf };
	struct segment segment =
		segment_of(directory, leaf->number, leaf->depth, bodies, which, &head.last);
	static_assert(sizeof head <= MEMORY_LINE, "the head of a body is before it, in a line");
	head.first = segment.first;
	head.tag_bits = (uint8_t)segment.tag_bits;
	plan.growth_bits = segment.tag_bits;
	nidus_status status = memory_take(&directory->allocator, MEMORY_LINE + inner->body_size,
	                                  &head.memory);
	if (status == NIDUS_OK)
		status = take_layout(directory, &plan, &segment);
	if (status != NIDUS_OK) {
		memory_give(&directory->allocator, &head.memory);
		return status;
	}
	void *body = head.memory.bytes + MEMORY_LINE;
	memcpy(head.memory.bytes, &head, sizeof head);
	status = inner->create(body, &plan, &segment, &directory->allocator, table);
	if (status == NIDUS_OK) {
		leaf->body[leaf->bodies++] = body;
	} else {
		give_layout(directory, segment.tag_bits);
		memory_give(&directory->allocator, &head.memory);
	}
	return status;
}

static void free_body(const struct directory *directory, void *body)
{
	struct block memory = body_head(body)->memory;
	unsigned tag_bits = body_head(body)->tag_bits;
	directory->inner->free(body);
	give_layout(directory, tag_bits);
	memory_give(&directory->allocator, &memory);
}

/* ------------------------------------------------------------------------ leaves -- */

void directory_free_leaf(const struct directory *directory, struct leaf *leaf)
{
	if (leaf == NULL)
		return;
	struct block memory = leaf->memory;
	for (unsigned i = 0; i < leaf->bodies; i++)
		free_body(directory, leaf->body[i]);
	memory_give(&directory->allocator, &memory);
}

nidus_status directory_make_leaf(const struct directory *directory, uint64_t number, unsigned depth,
                                 unsigned bodies, unsigned char *const *tables, struct leaf **made)
{
	struct block memory;
	*made = NULL;
	nidus_status status = memory_take(&directory->allocator, sizeof(struct leaf), &memory);
	if (status != NIDUS_OK)
		return status;
	struct leaf *leaf = (struct leaf *)(void *)memory.bytes;
	*leaf = (struct leaf){ .memory = memory, .number = number, .depth = (uint8_t)depth };
	for (unsigned i = 0; i < bodies && status == NIDUS_OK; i++)
		status = make_body(directory, leaf, bodies, i, tables != NULL ? tables[i] : NULL);
	if (status != NIDUS_OK)
		directory_free_leaf(directory, leaf);
	else
		*made = leaf;
	return status;
}

uint64_t directory_leaf_count(const struct directory *directory, const struct leaf *leaf)
{
	uint64_t count = 0;
	for (unsigned i = 0; i < leaf->bodies; i++)
		count += directory->inner->count(leaf->body[i]);
	return count;
}

/* Keys that a leaf of so many bodies takes, though they are never quite even. */
static double keys_of_leaf(const struct directory *directory, unsigned bodies)
{
	double keys = (double)directory->keys;
	return bodies == 1   ? keys
	       : bodies == 2 ? UNEVEN * 2 * keys
	                     : UNEVEN * keys * CELLS / MOST_CELLS;
}

uint64_t directory_leaf_keys(const struct directory *directory, unsigned bodies)
{
	return (uint64_t)keys_of_leaf(directory, bodies);
}

/* ------------------------------------------------------------------------- index -- */

unsigned directory_index_depth(unsigned depth, unsigned bodies)
{
	return depth + (bodies == 1 ? 0 : bodies == 2 ? 1 : CELL_BITS);
}

void *directory_next_body(const struct directory *directory, uint64_t *index)
{
	uint64_t entries = directory_entries(directory);
	if (*index >= entries)
		return NULL;
	void *body = directory->index[*index];
	while (*index < entries && directory->index[*index] == body)
		++*index;
	return body;
}

struct leaf *directory_next_leaf(const struct directory *directory, uint64_t *index)
{
	if (*index >= directory_entries(directory))
		return NULL;
	struct leaf *leaf = body_head(directory->index[*index])->leaf;
	*index += UINT64_C(1) << (directory->depth - leaf->depth);
	return leaf;
}

/* Makes the entries of an index of some depth for the parts of a leaf lead to its bodies. */
static void point_to(void **index, unsigned index_depth, const struct leaf *leaf)
{
	unsigned bits = index_depth - leaf->depth;
	uint64_t entries = UINT64_C(1) << bits;
	for (uint64_t i = 0; i < entries; i++) {
		uint64_t cell = bits < CELL_BITS ? i << (CELL_BITS - bits) : i >> (bits - CELL_BITS);
		index[leaf->number * entries + i] = leaf->body[body_with_cell(leaf->bodies, cell)];
	}
}

nidus_status directory_make_index(struct directory *directory, unsigned depth)
{
	struct block memory;
	uint64_t bytes, from = 0;
	unsigned growth = directory->growth_bits;
	if (multiply_overflows(directory->base, (sizeof(void *)) << depth, &bytes))
		return fail(NIDUS_E_NOMEM, "an index of 2^%u entries is too large", depth);
	nidus_status status = memory_take(&directory->allocator, bytes, &memory);
	if (status != NIDUS_OK)
		return status;
	void **index = (void **)(void *)memory.bytes;
	for (struct leaf *leaf; (leaf = directory_next_leaf(directory, &from)) != NULL;)
		point_to(index, depth, leaf);
	memory_give(&directory->allocator, &directory->index_memory);
	directory->index_memory = memory;
	directory->index = index;
	directory->depth = depth;
	directory->behind = depth < growth ? growth - depth : 0;
	directory->borrowed = depth > growth ? depth - growth : 0;
	return NIDUS_OK;
}

/* Makes the index deep enough for such leaves. Errors: E_NOMEM. */
static nidus_status deepen_index(struct directory *directory, unsigned depth, unsigned bodies)
{
	unsigned needed = directory_index_depth(depth, bodies);
	return needed > directory->depth ? directory_make_index(directory, needed) : NIDUS_OK;
}

/* Makes the index smaller where no leaf needs it as it is. Without memory it stays. */
static void flatten_index(struct directory *directory)
{
	unsigned needed = directory->depth;
	while (needed > 0 && directory->at_index_depth[needed] == 0)
		needed--;
	if (needed < directory->depth)
		(void)directory_make_index(directory, needed);
}

static void leave_index(struct directory *directory, const struct leaf *leaf)
{
	directory->at_depth[leaf->depth]--;
	directory->at_index_depth[directory_index_depth(leaf->depth, leaf->bodies)]--;
}

/* ------------------------------------------------------------- when to be split -- */

/* Entries of a body that take room: copies that are only counted take none. */
static uint64_t entries_in(const struct directory *directory, const void *body)
{
	const struct family *inner = directory->inner;
	return inner->count(body) - (inner->surplus != NULL ? inner->surplus(body) : 0);
}

/* Whether the growth bits give a leaf of so many bodies room for more. */
static bool has_bits(const struct directory *directory, const struct leaf *leaf)
{
	return leaf->depth + (leaf->bodies > 1 ? 2u : 1u) <= directory->growth_bits;
}

/* Whether a leaf may be split, be it by borrowed bits. */
static bool may_split(const struct directory *directory, const struct leaf *leaf)
{
	unsigned shallowest = 0;
	while (directory->at_depth[shallowest] == 0)
		shallowest++;
	return leaf->bodies < LEAF_BODIES || (leaf->depth < shallowest + DIRECTORY_SPREAD &&
	                                      leaf->depth < LEAF_DEPTH_MOST);
}

/*
 * The entries with which a leaf gets another body: all that it takes, or up to an eighth less by
 * its place. Splits are spread over the inserts in this way. The first size, which was asked for, is
 * used to its end.
 */
static uint64_t splits_at(const struct directory *directory, const struct leaf *leaf)
{
	uint64_t keys = directory_leaf_keys(directory, leaf->bodies);
	if (leaf->bodies == 1)
		return keys;
	uint64_t mixed =
		(leaf->number << 6 | leaf->depth) * UINT64_C(0x9e3779b97f4a7c15) >> 56;
	return keys - keys * mixed / (256 * 8);
}

/* How far the lists of a leaf may grow before borrowed bits are taken, or keys refused. */
static uint64_t overfull_at(const struct directory *directory, const struct leaf *leaf)
{
	uint64_t keys = directory_leaf_keys(directory, leaf->bodies);
	return keys + keys / 8 + 4;
}

/* The entries of a leaf, and of its fullest body. */
struct leaf_load {
	uint64_t count, fullest;
};

static struct leaf_load load_of(const struct directory *directory, const struct leaf *leaf)
{
	struct leaf_load load = { 0, 0 };
	for (unsigned i = 0; i < leaf->bodies; i++) {
		uint64_t here = entries_in(directory, leaf->body[i]);
		load.fullest = here > load.fullest ? here : load.fullest;
		load.count += here;
	}
	return load;
}

/* Entries of all leaves that take room. */
static uint64_t entries_of_all(const struct directory *directory)
{
	uint64_t count = 0, index = 0;
	for (const struct leaf *leaf; (leaf = directory_next_leaf(directory, &index)) != NULL;)
		count += load_of(directory, leaf).count;
	return count;
}

/* Sets after how many inserts a leaf is to be looked at again; false if that is now. */
static bool wait_until(struct leaf *leaf, const struct leaf_load *load, uint64_t most,
                       uint64_t of_body)
{
	if (load->count >= most || load->fullest >= of_body)
		return false;
	uint64_t room = most - load->count, in_body = of_body - load->fullest;
	leaf->room = (int64_t)(room < in_body ? room : in_body);
	return true;
}

/*
 * Counts the entries of a leaf: whether it has to be extended, as it has too many or one of its
 * bodies has, which comes of keys in order. If not, sets after how many more to look again.
 */
static bool is_due(const struct directory *directory, struct leaf *leaf)
{
	struct leaf_load load = load_of(directory, leaf);
	leaf->last = false;
	if (wait_until(leaf, &load, splits_at(directory, leaf), directory->keys))
		return false;
	if (has_bits(directory, leaf) && may_split(directory, leaf))
		return true;
	/* Bits are borrowed only where there is no other way: lookups take longer then. */
	leaf->last = true;
	if (wait_until(leaf, &load, overfull_at(directory, leaf), UINT64_MAX))
		return false;
	bool full = entries_of_all(directory) >= directory->most;
	leaf->last = full || !may_split(directory, leaf);
	leaf->room = full ? 0 : (int64_t)(directory->keys / 64 + 1);
	return !leaf->last;
}

bool directory_is_full(struct directory *directory, struct leaf *leaf)
{
	struct leaf_load load = load_of(directory, leaf);
	return load.count >= overfull_at(directory, leaf) &&
	       entries_of_all(directory) >= directory->most;
}

void directory_recount(struct directory *directory)
{
	uint64_t index = 0;
	for (struct leaf *leaf; (leaf = directory_next_leaf(directory, &index)) != NULL;) {
		leaf->room = 0;
		(void)is_due(directory, leaf);
	}
}

void directory_enter(struct directory *directory, struct leaf *leaf)
{
	point_to(directory->index, directory->depth, leaf);
	directory->at_depth[leaf->depth]++;
	directory->at_index_depth[directory_index_depth(leaf->depth, leaf->bodies)]++;
}

/* --------------------------------------------------------------------- splitting -- */

/* The body that is emptied, and the leaves that its entries go to. */
struct split {
	const struct directory *directory;
	uint64_t first; /* part of the body */
	unsigned depth; /* of the leaves */
	unsigned bits;  /* behind that, which tell their bodies */
	struct leaf *to[2];
};

static struct spread_target choose(const void *context, uint64_t tag, uint64_t borrowed)
{
	const struct split *split = context;
	uint64_t part = split->first + tag;
	uint64_t above = part_above(split->directory, part, borrowed, split->depth + split->bits);
	struct leaf *leaf = split->to[above >> split->bits != split->to[0]->number];
	uint64_t cell = (above & bits_low(split->bits)) << (CELL_BITS - split->bits);
	void *body = leaf->body[body_with_cell(leaf->bodies, cell)];
	return (struct spread_target){ body, part - body_head(body)->first };
}

/* Puts all entries of a leaf into one or two others of one depth. Errors: E_NOMEM, FULL. */
static nidus_status spread_leaf(const struct directory *directory, const struct leaf *leaf,
                                struct leaf *low, struct leaf *high)
{
	nidus_status status = NIDUS_OK;
	unsigned bits = directory_index_depth(low->depth, low->bodies);
	struct split split = { directory, 0, low->depth, bits - low->depth, { low, high } };
	struct spread spread = { choose, &split, bits > directory->growth_bits };
	for (unsigned i = 0; i < leaf->bodies && status == NIDUS_OK; i++) {
		split.first = body_head(leaf->body[i])->first;
		status = directory->inner->spread(leaf->body[i], &spread);
	}
	return status;
}

/* The same, and puts those in the place of the leaf. `high` may be `low`. */
static nidus_status replace_leaf(struct directory *directory, struct leaf *leaf, struct leaf *low,
                                 struct leaf *high)
{
	nidus_status status = spread_leaf(directory, leaf, low, high);
	if (status == NIDUS_OK)
		status = deepen_index(directory, low->depth, low->bodies);
	if (status != NIDUS_OK)
		return status;
	leave_index(directory, leaf);
	directory_enter(directory, low);
	if (high != low)
		directory_enter(directory, high);
	(void)is_due(directory, low);
	(void)is_due(directory, high);
	directory_free_leaf(directory, leaf);
	flatten_index(directory);
	return NIDUS_OK;
}

/* Replaces a leaf by one that has more bodies. Errors: E_NOMEM; nothing changed then. */
static nidus_status add_body(struct directory *directory, struct leaf *leaf)
{
	struct leaf *larger;
	nidus_status status = directory_make_leaf(directory, leaf->number, leaf->depth,
	                                          leaf->bodies + 1u, NULL, &larger);
	if (status == NIDUS_OK)
		status = replace_leaf(directory, leaf, larger, larger);
	if (status != NIDUS_OK)
		directory_free_leaf(directory, larger);
	return status;
}

/* Replaces a leaf by two of two bodies each. Errors: E_NOMEM; nothing changed then. */
static nidus_status split_leaf(struct directory *directory, struct leaf *leaf)
{
	struct leaf *half[2] = { NULL, NULL };
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < 2 && status == NIDUS_OK; i++)
		status = directory_make_leaf(directory, leaf->number * 2 + i, leaf->depth + 1u, 2,
		                             NULL, &half[i]);
	if (status == NIDUS_OK)
		status = replace_leaf(directory, leaf, half[0], half[1]);
	if (status != NIDUS_OK) {
		directory_free_leaf(directory, half[0]);
		directory_free_leaf(directory, half[1]);
	}
	return status;
}

/* Gives a leaf more bodies, or splits it. Errors: E_NOMEM; nothing changed then. */
static nidus_status extend(struct directory *directory, struct leaf *leaf)
{
	effort_of_thread()->moved += load_of(directory, leaf).count;
	return leaf->bodies < LEAF_BODIES ? add_body(directory, leaf) : split_leaf(directory, leaf);
}

void directory_look_at(struct directory *directory, struct leaf *leaf)
{
	if (!is_due(directory, leaf))
		return;
	reason_set_aside();
	if (extend(directory, leaf) != NIDUS_OK) /* no memory: again a little later */
		leaf->room = (int64_t)(directory->keys / 64 + 1);
	(void)reason_decide(NIDUS_OK);
}

void directory_look_after(struct directory *directory)
{
	__atomic_store_n(&directory->due, 0, __ATOMIC_RELAXED);
	for (uint64_t i = 0; i < directory_entries(directory);) {
		struct leaf *leaf = body_head(directory->index[i])->leaf;
		uint64_t number = leaf->number;
		unsigned depth = leaf->depth;
		if (leaf->room <= 0)
			directory_look_at(directory, leaf);
		i = (number + 1) << (directory->depth - depth);
	}
}

/* ------------------------------------------------------------------------ growth -- */

nidus_status directory_plant(struct directory *directory)
{
	nidus_status status = NIDUS_OK;
	if (directory->inner->prepare != NULL)
		status = directory->inner->prepare(directory->model);
	if (status == NIDUS_OK)
		status = directory_make_index(directory, 0);
	for (uint64_t i = 0; i < directory->base && status == NIDUS_OK; i++) {
		struct leaf *leaf;
		status = directory_make_leaf(directory, i, 0, 1, NULL, &leaf);
		if (status != NIDUS_OK)
			break;
		directory_enter(directory, leaf);
		directory->ops = directory->inner->ops(leaf->body[0]);
	}
	if (status == NIDUS_OK)
		directory_recount(directory);
	else
		directory_uproot(directory);
	return status;
}

void directory_uproot(struct directory *directory)
{
	uint64_t entries = directory_entries(directory);
	for (uint64_t i = 0; i < entries;) {
		if (directory->index[i] == NULL) /* of a directory that did not get all leaves */
			break;
		struct leaf *leaf = body_head(directory->index[i])->leaf;
		i += UINT64_C(1) << (directory->depth - leaf->depth);
		directory_free_leaf(directory, leaf);
	}
	memory_give(&directory->allocator, &directory->index_memory);
	if (directory->inner->unprepare != NULL && directory->model != NULL)
		directory->inner->unprepare(directory->model);
	memset(directory->at_depth, 0, sizeof directory->at_depth);
	memset(directory->at_index_depth, 0, sizeof directory->at_index_depth);
	directory->index = NULL;
	directory->depth = directory->behind = directory->borrowed = 0;
}

uint64_t directory_capacity(const struct directory *directory)
{
	double keys = directory->index != NULL ? 0 : (double)directory_few_most(directory);
	uint64_t index = 0;
	for (const struct leaf *leaf; (leaf = directory_next_leaf(directory, &index)) != NULL;)
		keys += keys_of_leaf(directory, leaf->bodies);
	return (uint64_t)(keys * (1 + ROUNDING));
}

/* Extends all leaves that would be too full if there were so many keys, once. */
static nidus_status extend_for(struct directory *directory, uint64_t capacity, bool relax,
                               bool *changed)
{
	nidus_status status = NIDUS_OK;
	*changed = false;
	for (uint64_t i = 0; i < directory_entries(directory) && status == NIDUS_OK;) {
		struct leaf *leaf = body_head(directory->index[i])->leaf;
		uint64_t number = leaf->number;
		unsigned depth = leaf->depth;
		double share = (double)capacity / ldexp((double)directory->base, (int)depth);
		if (share > keys_of_leaf(directory, leaf->bodies) * (1 + ROUNDING) &&
		    (relax || has_bits(directory, leaf)) && may_split(directory, leaf)) {
			status = extend(directory, leaf);
			*changed = true;
		}
		i = (number + 1) << (directory->depth - depth);
	}
	return status;
}

nidus_status directory_grow(struct directory *directory, uint64_t capacity, bool relax)
{
	nidus_status status = NIDUS_OK;
	bool changed = true;
	if (directory->index == NULL && capacity > directory_few_most(directory))
		status = directory_leave_list(directory);
	while (directory->index != NULL && status == NIDUS_OK && changed)
		status = extend_for(directory, capacity, relax, &changed);
	return status;
}

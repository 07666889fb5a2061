/* SPDX-License-Identifier: MIT
 *
 * directory_leaves: the leaves of a directory and its index; how they are split.
 *
 * Whatever fails fails for want of memory, before the index leads anywhere else.
 */
#include "api/directory_parts.h"
#include "api/recent.h"

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

#define ROOM_SWEPT 8 /* the share of a leaf that has to be free when expired entries are gone */

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
	unsigned growth = directory->ground->plan.growth_bits, bits = depth + CELL_BITS;
	uint64_t all = number * CELLS + cell;
	return bits <= growth ? all << (growth - bits) : all >> (bits - growth);
}

/* The parts that a body of a leaf holds; the outer ones not whole where bits are borrowed. */
static struct segment segment_of(const struct directory *directory, uint64_t number, unsigned depth,
                                 unsigned bodies, unsigned which, uint64_t *last)
{
	unsigned growth = directory->ground->plan.growth_bits, bits = depth + CELL_BITS;
	uint64_t end = first_cell[bodies][which + 1];
	uint64_t first = part_of_cell(directory, number, depth, first_cell[bodies][which]);
	*last = part_of_cell(directory, number, depth, end - 1);
	if (bits < growth)
		*last |= bits_low(growth - bits);
	return (struct segment){ .parts = directory->parts,
		                 .first = first,
		                 .tag_bits = *last > first ? log2_floor(*last - first) + 1 : 0,
		                 .most_bits = directory->ground->plan.growth_bits,
		                 .model = directory->trunk->model };
}

uint64_t directory_table_bytes(const struct directory *directory, uint64_t number, unsigned depth,
                               unsigned bodies, unsigned which)
{
	uint64_t last;
	struct blueprint plan = directory->trunk->plan;
	plan.growth_bits = segment_of(directory, number, depth, bodies, which, &last).tag_bits;
	return directory->inner->forecast(&plan, 0).bytes;
}

/* Makes the entries of an index of some depth for the parts of a leaf lead to its bodies. */
static void point_to(void **index, unsigned index_depth, const struct leaf *leaf)
{
	unsigned bits = index_depth - leaf->depth;
	uint64_t entries = UINT64_C(1) << bits;
	for (uint64_t i = 0; i < entries; i++) {
		uint64_t cell =
			bits < CELL_BITS ? i << (CELL_BITS - bits) : i >> (bits - CELL_BITS);
		index[leaf->number * entries + i] = leaf->body[body_with_cell(leaf->bodies, cell)];
	}
}

/* Where the table is in a body's block. */
static size_t room_at(const struct family *inner)
{
	return divide_up(BODY_HEAD + inner->body_size, MEMORY_LINE) * MEMORY_LINE;
}

uint64_t directory_block_bytes(const struct family *inner, const struct blueprint *body,
                               unsigned tag_bits)
{
	struct blueprint plan = *body;
	plan.growth_bits = tag_bits;
	return room_at(inner) + divide_up(inner->segment_room(&plan), MEMORY_LINE) * MEMORY_LINE;
}

uint64_t directory_slab_bytes(const struct directory *directory)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; directory->trunk != NULL && i <= directory->ground->plan.growth_bits;
	     i++)
		bytes += directory->trunk->classes[i].slabs.bytes;
	return bytes;
}

/* Sets what all bodies of a class have in common, for the first of them. Errors: E_NOMEM. */
static nidus_status begin_class(const struct directory *directory, const struct blueprint *plan,
                                const struct segment *segment, struct body_class *class)
{
	const struct family *inner = directory->inner;
	class->slabs.each = directory->mapped
	                            ? room_at(inner)
	                            : directory_block_bytes(inner, plan, segment->tag_bits);
	return inner->lay_out == NULL
	               ? NIDUS_OK
	               : inner->lay_out(plan, segment, directory->trunk->model,
	                                &directory->ground->allocator, &class->layout);
}

static void end_class(const struct directory *directory, struct body_class *class)
{
	if (class->slabs.blocks > 0 || class->layout == NULL)
		return;
	directory->inner->free_layout(class->layout);
	class->layout = NULL;
}

/* Takes a block for a body. Errors: E_NOMEM; nothing changed then. */
static nidus_status take_block(const struct directory *directory, const struct blueprint *plan,
                               struct segment *segment, unsigned char **block)
{
	struct body_class *class = &directory->trunk->classes[segment->tag_bits];
	uint64_t whole = directory_slab_bytes(directory);
	nidus_status status = NIDUS_OK;
	if (class->slabs.blocks == 0)
		status = begin_class(directory, plan, segment, class);
	if (status != NIDUS_OK)
		return status;
	segment->layout = class->layout;
	whole = whole > directory->trunk->expected ? whole : directory->trunk->expected;
	status = slabs_take(&class->slabs, &directory->ground->allocator, whole, block);
	if (status != NIDUS_OK)
		end_class(directory, class);
	else if (!directory->mapped)
		segment->room = *block + room_at(directory->inner);
	return status;
}

/* A body lies elsewhere than it did: makes leaf and index lead there. */
static void follow(const struct directory *directory, const void *from, void *body)
{
	struct leaf *leaf = body_head(body)->leaf;
	for (unsigned i = 0; i < leaf->bodies; i++) {
		if (leaf->body[i] == from)
			leaf->body[i] = body;
	}
	if (!directory->mapped)
		directory->inner->moved(body, (unsigned char *)body - BODY_HEAD +
		                                      room_at(directory->inner));
	if (leaf->entered)
		point_to(directory->index, directory->depth, leaf);
}

static void give_block(const struct directory *directory, unsigned char *block, unsigned tag_bits)
{
	struct body_class *class = &directory->trunk->classes[tag_bits];
	const unsigned char *last = slabs_give(&class->slabs, &directory->ground->allocator, block);
	if (last != NULL)
		follow(directory, last + BODY_HEAD, block + BODY_HEAD);
	end_class(directory, class);
}

/* Makes a body of a leaf: an empty one or one over a table. Errors: E_NOMEM. */
static nidus_status make_body(const struct directory *directory, struct leaf *leaf, unsigned bodies,
                              unsigned which, unsigned char *table)
{
	struct blueprint plan = directory->trunk->plan;
	struct body_head head = { .leaf = leaf };
	unsigned char *block;
	struct segment segment =
		segment_of(directory, leaf->number, leaf->depth, bodies, which, &head.last);
	head.first = segment.first;
	head.swept_and_tag = recent_tick_of(directory) << 8 | segment.tag_bits;
	plan.growth_bits = segment.tag_bits;
	nidus_status status = take_block(directory, &plan, &segment, &block);
	if (status != NIDUS_OK)
		return status;
	memcpy(block, &head, sizeof head);
	void *body = block + BODY_HEAD;
	status = directory->inner->create(body, &plan, &segment, &directory->ground->allocator,
	                                  table);
	if (status == NIDUS_OK)
		leaf->body[leaf->bodies++] = body;
	else
		give_block(directory, block, segment.tag_bits);
	return status;
}

static void free_body(const struct directory *directory, void *body)
{
	unsigned tag_bits = body_tag_bits(body);
	directory->inner->free(body);
	give_block(directory, (unsigned char *)body - BODY_HEAD, tag_bits);
}

/* ------------------------------------------------------------------------ leaves -- */

void directory_free_leaf(const struct directory *directory, struct leaf *leaf)
{
	if (leaf == NULL)
		return;
	struct block memory = leaf->memory;
	for (unsigned i = 0; i < leaf->bodies; i++)
		free_body(directory, leaf->body[i]);
	memory_give(&directory->ground->allocator, &memory);
}

nidus_status directory_make_leaf(const struct directory *directory, uint64_t number, unsigned depth,
                                 unsigned bodies, unsigned char *const *tables, struct leaf **made)
{
	struct block memory;
	*made = NULL;
	nidus_status status =
		memory_take(&directory->ground->allocator, sizeof(struct leaf), &memory);
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
	double keys = (double)directory->trunk->keys;
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

/*
 * Writes an index of a depth, an empty one if there is none yet. From entry to entry, without a look at any
 * leaf: this is the one work of an insert that grows with the filter.
 */
static void write_index(const struct directory *directory, void **index, unsigned depth)
{
	uint64_t entries = directory_entries(directory);
	unsigned deeper = depth > directory->depth ? depth - directory->depth : 0;
	unsigned flatter = directory->depth > depth ? directory->depth - depth : 0;
	for (uint64_t i = 0; i < entries >> flatter; i++) {
		for (uint64_t k = 0; k < UINT64_C(1) << deeper; k++)
			index[i << deeper | k] = directory->index[i << flatter];
	}
}

/* Makes an index of a depth that is deep enough for all leaves. Errors: E_NOMEM. */
static nidus_status make_index(struct directory *directory, unsigned depth)
{
	struct block memory;
	uint64_t bytes;
	unsigned growth = directory->ground->plan.growth_bits;
	if (multiply_overflows(directory_base(directory), (sizeof(void *)) << depth, &bytes))
		return fail(NIDUS_E_NOMEM, "an index of 2^%u entries is too large", depth);
	nidus_status status = memory_take_unset(&directory->ground->allocator, bytes, &memory);
	if (status != NIDUS_OK)
		return status;
	if (directory->index == NULL)
		memset(memory.bytes, 0, memory.size);
	void **index = (void **)(void *)memory.bytes;
	write_index(directory, index, depth);
	memory_give(&directory->ground->allocator, &directory->trunk->index_memory);
	directory->trunk->index_memory = memory;
	directory->index = index;
	directory->depth = (uint8_t)depth;
	directory->behind = (uint8_t)(depth < growth ? growth - depth : 0);
	directory->borrowed = (uint8_t)(depth > growth ? depth - growth : 0);
	directory->way = directory->borrowed == 0                  ? DIRECTORY_GROWTH
	                 : directory->trunk->lender.identities > 0 ? DIRECTORY_LENT
	                                                           : DIRECTORY_ELSE;
	return NIDUS_OK;
}

/* Makes the index deep enough for such leaves. Errors: E_NOMEM. */
static nidus_status deepen_index(struct directory *directory, unsigned depth, unsigned bodies)
{
	unsigned needed = directory_index_depth(depth, bodies);
	return needed > directory->depth ? make_index(directory, needed) : NIDUS_OK;
}

/* Makes the index smaller where no leaf needs it as it is. Without memory it stays. */
static void flatten_index(struct directory *directory)
{
	unsigned needed = directory->depth;
	while (needed > 0 && directory->trunk->counts.at_index_depth[needed] == 0)
		needed--;
	if (needed < directory->depth)
		(void)make_index(directory, needed);
}

static void leave_index(struct directory *directory, struct leaf *leaf)
{
	leaf->entered = false;
	directory->trunk->counts.at_depth[leaf->depth]--;
	directory->trunk->counts.at_index_depth[directory_index_depth(leaf->depth, leaf->bodies)]--;
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
	unsigned bits = leaf->depth + (leaf->bodies > 1 ? 2u : 1u);
	return bits + directory->spare <= directory->ground->plan.growth_bits;
}

/* Whether a leaf may be split, be it by borrowed bits. */
static bool may_split(const struct directory *directory, const struct leaf *leaf)
{
	unsigned shallowest = 0;
	while (directory->trunk->counts.at_depth[shallowest] == 0)
		shallowest++;
	return leaf->bodies < LEAF_BODIES ||
	       (leaf->depth < shallowest + DIRECTORY_SPREAD && leaf->depth < LEAF_DEPTH_MOST);
}

/*
 * The entries with which a leaf gets another body: all that it takes, or up to a 16th less by
 * its place. Splits are spread over the inserts in this way. The first size, which was asked for, is
 * used to its end.
 */
static uint64_t splits_at(const struct directory *directory, const struct leaf *leaf)
{
	uint64_t keys = directory_leaf_keys(directory, leaf->bodies);
	if (leaf->bodies == 1)
		return keys;
	uint64_t mixed = (leaf->number << 6 | leaf->depth) * UINT64_C(0x9e3779b97f4a7c15) >> 56;
	return keys - keys * mixed / (256 * 16);
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

uint64_t directory_used(const struct directory *directory)
{
	uint64_t count = directory->few.count, index = 0;
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
 * bodies has, which comes of keys in order. Sets after how many more to look again; if so, after the
 * next one.
 */
static bool is_due(const struct directory *directory, struct leaf *leaf)
{
	struct leaf_load load = load_of(directory, leaf);
	leaf->last = false;
	leaf->room = 0;
	if (wait_until(leaf, &load, splits_at(directory, leaf), directory->trunk->keys))
		return false;
	if (has_bits(directory, leaf) && may_split(directory, leaf))
		return true;
	/* Bits are borrowed only where there is no other way: lookups take longer then. */
	leaf->last = true;
	if (wait_until(leaf, &load, overfull_at(directory, leaf), UINT64_MAX))
		return false;
	bool full = recent_used(directory) >= directory_most(directory);
	leaf->last = full || !may_split(directory, leaf);
	if (!full && leaf->last)
		leaf->room = (int64_t)(directory->trunk->keys / 64 + 1);
	return !leaf->last;
}

bool directory_is_full(struct directory *directory, struct leaf *leaf)
{
	recent_sweep_leaf(directory, leaf);
	struct leaf_load load = load_of(directory, leaf);
	return load.count >= overfull_at(directory, leaf) &&
	       recent_used(directory) >= directory_most(directory);
}

void directory_recount(struct directory *directory)
{
	uint64_t index = 0;
	for (struct leaf *leaf; (leaf = directory_next_leaf(directory, &index)) != NULL;)
		(void)is_due(directory, leaf);
}

void directory_enter(struct directory *directory, struct leaf *leaf)
{
	point_to(directory->index, directory->depth, leaf);
	leaf->entered = true;
	directory->trunk->counts.at_depth[leaf->depth]++;
	directory->trunk->counts.at_index_depth[directory_index_depth(leaf->depth, leaf->bodies)]++;
}

/* --------------------------------------------------------------------- splitting -- */

/* The cells of all leaves of a depth are numbered; that of a leaf's body is its first one's. */
static uint64_t cell_of_body(const struct leaf *leaf, unsigned which)
{
	return leaf->number * CELLS + first_cell[leaf->bodies][which];
}

/* Makes the entries of a body from a body of a leaf on go there, behind those of the first range. */
static void begin_second(const struct directory *directory, const struct leaf *leaf, unsigned which,
                         uint64_t first_part, struct spread *spread)
{
	unsigned growth = directory->ground->plan.growth_bits, bits = leaf->depth + CELL_BITS;
	uint64_t cell = first_cell[leaf->bodies][which];
	spread->limit = part_of_cell(directory, leaf->number, leaf->depth, cell) - first_part;
	if (bits > growth)
		spread->borrowed = cell_of_body(leaf, which) << (64 - (bits - growth));
	spread->borrows = spread->borrowed != 0;
}

/*
 * Where the entries of a body of a leaf go that is replaced by `low` and `high`, or by `low` alone:
 * to the bodies that have its cells, which are one or two.
 */
static struct spread spread_of_body(const struct directory *directory, const struct leaf *leaf,
                                    unsigned which, struct leaf *low, struct leaf *high)
{
	struct leaf *const to[2] = { low, high };
	const uint64_t first_part = body_head(leaf->body[which])->first;
	uint64_t first = cell_of_body(leaf, which) << (low->depth - leaf->depth);
	uint64_t behind = cell_of_body(leaf, which + 1) << (low->depth - leaf->depth);
	struct spread spread = { 0 };
	unsigned found = 0;
	for (unsigned i = 0; i < (high == low ? 1 : 2); i++) {
		for (unsigned k = 0; k < to[i]->bodies; k++) {
			void *body = to[i]->body[k];
			if (cell_of_body(to[i], k + 1) <= first || cell_of_body(to[i], k) >= behind)
				continue;
			assert(found < 2);
			if (found > 0)
				begin_second(directory, to[i], k, first_part, &spread);
			spread.range[found++] =
				(struct spread_range){ body, first_part - body_head(body)->first };
		}
	}
	if (found == 1)
		spread.range[1] = spread.range[0];
	return spread;
}

/* Puts all entries of a leaf into one or two others of one depth. Errors: E_NOMEM, FULL. */
static nidus_status spread_leaf(const struct directory *directory, const struct leaf *leaf,
                                struct leaf *low, struct leaf *high)
{
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < leaf->bodies && status == NIDUS_OK; i++) {
		struct spread spread = spread_of_body(directory, leaf, i, low, high);
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

/*
 * The same where expired entries go first. A leaf grows even if that makes a little room, or it would be
 * swept over and over again.
 */
static bool is_due_swept(struct directory *directory, struct leaf *leaf)
{
	if (!recent_sweep_leaf(directory, leaf))
		return is_due(directory, leaf);
	struct leaf_load load = load_of(directory, leaf);
	uint64_t most = splits_at(directory, leaf), of_body = directory->trunk->keys;
	if (load.count < most - most / ROOM_SWEPT && load.fullest < of_body - of_body / ROOM_SWEPT)
		return is_due(directory, leaf);
	bool bits = has_bits(directory, leaf) && may_split(directory, leaf);
	return is_due(directory, leaf) || bits;
}

void directory_look_at(struct directory *directory, struct leaf *leaf, bool grow)
{
	if (!is_due_swept(directory, leaf) || !grow)
		return;
	reason_set_aside();
	if (extend(directory, leaf) != NIDUS_OK) /* no memory: again a little later */
		leaf->room = (int64_t)(directory->trunk->keys / 64 + 1);
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
			directory_look_at(directory, leaf, true);
		i = (number + 1) << (directory->depth - depth);
	}
}

/* ------------------------------------------------------------------------ growth -- */

/* Makes the body without a table that others share things with. Errors: E_NOMEM. */
static nidus_status make_model(struct directory *directory)
{
	static unsigned char nothing[MEMORY_LINE];
	const struct family *inner = directory->inner;
	struct trunk *trunk = directory->trunk;
	struct blueprint plan = trunk->plan;
	plan.growth_bits = directory->ground->plan.growth_bits;
	plan.features &= ~(uint32_t)NIDUS_CONCURRENT;
	struct segment segment = { .parts = directory->parts,
		                   .tag_bits = plan.growth_bits,
		                   .most_bits = plan.growth_bits };
	nidus_status status =
		memory_take(&directory->ground->allocator, inner->body_size, &trunk->model_memory);
	if (status != NIDUS_OK)
		return status;
	status = inner->create(trunk->model_memory.bytes, &plan, &segment,
	                       &directory->ground->allocator, nothing);
	if (status == NIDUS_OK)
		trunk->model = trunk->model_memory.bytes;
	else
		memory_give(&directory->ground->allocator, &trunk->model_memory);
	return status;
}

/* Makes what only leaves need, but for the index. Errors: E_NOMEM. */
static nidus_status make_trunk(struct directory *directory, uint64_t expected)
{
	struct block memory;
	nidus_status status =
		memory_take(&directory->ground->allocator,
	                    sizeof(struct trunk) + (directory->ground->plan.growth_bits + 1u) *
	                                                   sizeof(struct body_class),
	                    &memory);
	if (status != NIDUS_OK)
		return status;
	struct trunk *trunk = (struct trunk *)(void *)memory.bytes;
	trunk->memory = memory;
	trunk->expected = expected;
	trunk->plan = directory_body_plan(&directory->ground->plan);
	trunk->keys = directory->inner->segment_keys(&trunk->plan);
	trunk->plan.capacity = trunk->plan.max_capacity = UINT64_MAX; /* see is_full */
	if (!directory->shared)
		trunk->plan.features &= ~(uint32_t)NIDUS_CONCURRENT;
	directory->trunk = trunk;
	return make_model(directory);
}

/* Frees it; there are no bodies. */
static void free_trunk(struct directory *directory)
{
	struct trunk *trunk = directory->trunk;
	const nidus_allocator *allocator = &directory->ground->allocator;
	if (trunk == NULL)
		return;
	struct block memory = trunk->memory;
	for (unsigned i = 0; i <= directory->ground->plan.growth_bits; i++) {
		slabs_free(&trunk->classes[i].slabs, allocator);
		end_class(directory, &trunk->classes[i]);
	}
	if (trunk->model != NULL)
		directory->inner->free(trunk->model);
	memory_give(allocator, &trunk->model_memory);
	memory_give(allocator, &trunk->index_memory);
	memory_give(allocator, &memory);
	directory->trunk = NULL;
}

nidus_status directory_prepare(struct directory *directory, unsigned index_depth, uint64_t expected)
{
	nidus_status status = make_trunk(directory, expected);
	if (status == NIDUS_OK && directory->inner->prepare != NULL)
		status = directory->inner->prepare(directory->trunk->model);
	if (status == NIDUS_OK)
		directory->trunk->lender = directory->inner->lender(directory->trunk->model);
	return status == NIDUS_OK ? make_index(directory, index_depth) : status;
}

nidus_status directory_plant(struct directory *directory)
{
	nidus_status status = directory_prepare(directory, 0, 0);
	for (uint64_t i = 0; i < directory_base(directory) && status == NIDUS_OK; i++) {
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
		struct block memory = leaf->memory;
		i += UINT64_C(1) << (directory->depth - leaf->depth);
		for (unsigned body = 0; body < leaf->bodies; body++)
			directory->inner->free(leaf->body[body]);
		memory_give(&directory->ground->allocator, &memory);
	}
	free_trunk(directory);
	directory->index = NULL;
	directory->depth = directory->behind = directory->borrowed = 0;
	directory->way = DIRECTORY_ELSE;
}

uint64_t directory_capacity(const struct directory *directory)
{
	double keys = directory->index != NULL ? 0 : (double)directory->few_most;
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
		double share =
			(double)capacity / ldexp((double)directory_base(directory), (int)depth);
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
	if (directory->index == NULL && capacity > directory->few_most)
		status = directory_leave_list(directory);
	while (directory->index != NULL && status == NIDUS_OK && changed)
		status = extend_for(directory, capacity, relax, &changed);
	return status;
}

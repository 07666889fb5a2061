/* SPDX-License-Identifier: MIT
 *
 * directory: from hashes to bodies, and bodies that are split. Files and bulk builds are in
 * directory_whole.c.
 */
#include "api/directory_parts.h"

#include <assert.h>

#include "base/effort.h"
#include "base/reason.h"

#define SOME 64 /* keys of a batch whose bodies are found at a time */

/* ---------------------------------------------------------------- finding a body -- */

/* The part of a hash, with borrowed bits behind it. */
static inline uint64_t part_of(const struct directory *directory, uint64_t hash)
{
	uint64_t part = multiply_high(hash, directory->parts);
	if (LIKELY(directory->borrowed == 0))
		return part;
	uint64_t bits = directory->inner->borrow(directory->model, hash);
	return part << directory->borrowed | (bits & bits_low(directory->borrowed));
}

static inline unsigned all_bits(const struct directory *directory)
{
	return directory->growth_bits + directory->borrowed;
}

static inline struct leaf *leaf_of(const struct directory *directory, uint64_t part)
{
	return directory->leaf[part >> (all_bits(directory) - directory->depth)];
}

static inline void *body_in(const struct leaf *leaf, uint64_t part)
{
	bool third = (part & bits_low(leaf->part_bits)) < leaf->third;
	return leaf->body[third ? 2 : part >> leaf->part_bits & 1];
}

static inline void *body_of(const struct directory *directory, uint64_t hash)
{
	uint64_t part = part_of(directory, hash);
	return body_in(leaf_of(directory, part), part);
}

/* Whether there are leaves: otherwise the entries are a list. */
static inline bool has_leaves(const struct directory *directory)
{
	return directory->leaf != NULL;
}

struct leaf *directory_leaf(const struct directory *directory, uint64_t hash)
{
	return leaf_of(directory, part_of(directory, hash));
}

void *directory_body(const struct directory *directory, uint64_t hash)
{
	return body_of(directory, hash);
}

/* ------------------------------------------------------------------------ leaves -- */

/* Bits of a tag that entries keep where so many bits of a part are left, borrowed ones too. */
static unsigned tag_bits(const struct directory *directory, unsigned part_bits)
{
	return part_bits > directory->borrowed ? part_bits - directory->borrowed : 0;
}

uint64_t directory_third(const struct directory *directory, unsigned part_bits)
{
	return tag_bits(directory, part_bits) < 2
	               ? 0
	               : bits_low(tag_bits(directory, part_bits)) / 3 << directory->borrowed;
}

uint64_t directory_table_bytes(const struct directory *directory, unsigned depth, unsigned bodies)
{
	struct blueprint plan = directory->plan;
	plan.growth_bits = tag_bits(directory, all_bits(directory) - depth - (bodies > 1));
	return directory->inner->forecast(&plan, 0).bytes;
}

nidus_status directory_make_body(const struct directory *directory, unsigned part_bits, bool third,
                                 unsigned char *table, void **body)
{
	const struct family *inner = directory->inner;
	struct block memory;
	struct blueprint plan = directory->plan;
	plan.growth_bits = tag_bits(directory, part_bits);
	struct segment segment = {
		.parts = directory->parts,
		.tag_bits = plan.growth_bits,
		.most_bits = directory->growth_bits,
		.third = third,
		.model = directory->model,
	};
	*body = NULL;
	nidus_status status =
		memory_take(&directory->allocator, sizeof memory + MEMORY_LINE + inner->body_size,
	                    &memory);
	if (status != NIDUS_OK)
		return status;
	/* The block is remembered in the line before the body. */
	memcpy(memory.bytes, &memory, sizeof memory);
	status = inner->create(memory.bytes + MEMORY_LINE, &plan, &segment, &directory->allocator,
	                       table);
	if (status == NIDUS_OK)
		*body = memory.bytes + MEMORY_LINE;
	else
		memory_give(&directory->allocator, &memory);
	return status;
}

void directory_free_body(const struct directory *directory, void *body)
{
	struct block memory;
	if (body == NULL)
		return;
	directory->inner->free(body);
	memcpy(&memory, (unsigned char *)body - MEMORY_LINE, sizeof memory);
	memory_give(&directory->allocator, &memory);
}

/* Frees the first `n` bodies of a leaf. */
static void free_bodies(const struct directory *directory, const struct leaf *leaf)
{
	directory_free_body(directory, leaf->body[0]);
	if (leaf->bodies > 1)
		directory_free_body(directory, leaf->body[1]);
	if (leaf->bodies > 2)
		directory_free_body(directory, leaf->body[2]);
}

void directory_free_leaf(const struct directory *directory, struct leaf *leaf)
{
	if (leaf == NULL)
		return;
	struct block memory = leaf->memory;
	free_bodies(directory, leaf);
	memory_give(&directory->allocator, &memory);
}

nidus_status directory_make_leaf(const struct directory *directory, uint64_t first, unsigned depth,
                                 unsigned bodies, unsigned char *const *tables, struct leaf **made)
{
	struct block memory;
	*made = NULL;
	nidus_status status = memory_take(&directory->allocator, sizeof(struct leaf), &memory);
	if (status != NIDUS_OK)
		return status;
	struct leaf *leaf = (struct leaf *)(void *)memory.bytes;
	*leaf = (struct leaf){ .memory = memory, .first = first, .depth = (uint8_t)depth };
	leaf->part_bits = (uint8_t)(all_bits(directory) - depth - (bodies > 1));
	leaf->third = bodies > 2 ? directory_third(directory, leaf->part_bits) : 0;
	for (unsigned i = 0; i < bodies && status == NIDUS_OK; i++) {
		status = directory_make_body(directory, leaf->part_bits, i == 2,
		                             tables != NULL ? tables[i] : NULL, &leaf->body[i]);
		leaf->bodies += status == NIDUS_OK;
	}
	if (bodies == 1)
		leaf->body[1] = leaf->body[0];
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

/* Entries of a body that take room: copies that are only counted take none. */
static uint64_t entries_in(const struct directory *directory, const void *body)
{
	const struct family *inner = directory->inner;
	return inner->count(body) - (inner->surplus != NULL ? inner->surplus(body) : 0);
}

/* The bodies that a leaf can have more; 0: it has to be split. */
static bool takes_third(const struct directory *directory, const struct leaf *leaf)
{
	return leaf->bodies == 2 && directory_third(directory, leaf->part_bits) > 0;
}

/* Whether another bit of a part can lead to bodies of their own. */
static bool may_split(const struct directory *directory, const struct leaf *leaf)
{
	unsigned shallowest = 0;
	while (directory->at_depth[shallowest] == 0)
		shallowest++;
	return leaf->part_bits > 0 && leaf->depth < shallowest + DIRECTORY_SPREAD;
}

/* Keys that a leaf of so many bodies takes, though they are never quite even. */
static uint64_t leaf_keys(const struct directory *directory, unsigned bodies, unsigned part_bits)
{
	double keys = (double)directory->keys;
	if (bodies == 1)
		return directory->keys;
	if (bodies == 2)
		return (uint64_t)(UNEVEN * 2 * keys);
	double share = (double)directory_third(directory, part_bits) /
	               (double)(UINT64_C(1) << part_bits);
	double most = share > (1 - share) / 2 ? share : (1 - share) / 2;
	return (uint64_t)(UNEVEN * keys / most);
}

uint64_t directory_leaf_keys(const struct directory *directory, const struct leaf *leaf)
{
	return leaf_keys(directory, leaf->bodies, leaf->part_bits);
}

/*
 * The entries with which a leaf gets another body: all that it takes, or up to an eighth less by
 * its place. Splits are spread over the inserts in this way.
 */
static uint64_t leaves_at(const struct directory *directory, const struct leaf *leaf)
{
	uint64_t keys = directory_leaf_keys(directory, leaf);
	uint64_t place = leaf->first >> (all_bits(directory) - leaf->depth);
	uint64_t mixed = (place << 6 | leaf->depth) * UINT64_C(0x9e3779b97f4a7c15) >> 56;
	return keys - keys * mixed / (256 * 8);
}

/*
 * Counts the entries of a leaf: whether it has to be extended, as it has too many or one of its
 * bodies has, which comes of keys in order. If not, sets after how many more to look again.
 */
static bool is_due(const struct directory *directory, struct leaf *leaf)
{
	uint64_t most = leaves_at(directory, leaf), count = 0, fullest = 0;
	for (unsigned i = 0; i < leaf->bodies; i++) {
		uint64_t here = entries_in(directory, leaf->body[i]);
		fullest = here > fullest ? here : fullest;
		count += here;
	}
	leaf->last = false;
	if (count < most && fullest < directory->keys) {
		uint64_t room = most - count, of_body = directory->keys - fullest;
		leaf->room = (int64_t)(room < of_body ? room : of_body);
		return false;
	}
	leaf->last = !takes_third(directory, leaf) && !may_split(directory, leaf);
	if (leaf->last) {
		most = directory_leaf_keys(directory, leaf) / 4 * 5;
		leaf->room = count < most ? (int64_t)(most - count) : 0;
	}
	return !leaf->last;
}

/* ------------------------------------------------------------------------- index -- */

/* Makes the entries of the index for the parts of a leaf lead to it. */
static void enter_leaf(struct directory *directory, struct leaf *leaf)
{
	uint64_t from = leaf->first >> (all_bits(directory) - directory->depth);
	uint64_t entries = UINT64_C(1) << (directory->depth - leaf->depth);
	for (uint64_t i = 0; i < entries; i++)
		directory->leaf[from + i] = leaf;
}

nidus_status directory_make_index(struct directory *directory, unsigned depth)
{
	struct block memory;
	uint64_t entries = directory->base << depth;
	nidus_status status = memory_take(&directory->allocator,
	                                  entries * sizeof *directory->leaf, &memory);
	if (status != NIDUS_OK)
		return status;
	struct leaf **leaf = (struct leaf **)(void *)memory.bytes;
	unsigned more = depth - directory->depth;
	for (uint64_t i = 0; i < entries && directory->leaf != NULL; i++)
		leaf[i] = directory->leaf[i >> more];
	memory_give(&directory->allocator, &directory->index_memory);
	directory->index_memory = memory;
	directory->leaf = leaf;
	directory->depth = depth;
	return NIDUS_OK;
}

void directory_enter(struct directory *directory, struct leaf *leaf)
{
	enter_leaf(directory, leaf);
	directory->at_depth[leaf->depth]++;
	(void)is_due(directory, leaf);
}

/* --------------------------------------------------------------------- splitting -- */

/* A split: the body that is emptied, and the leaves that its entries go to. */
struct split {
	const struct directory *directory;
	uint64_t first;     /* of the parts of the body */
	unsigned part_bits; /* of the leaf that it is of */
	bool third;
	struct leaf *to[2]; /* both the same if only bodies are added */
};

/* The part of an entry, by its tag. */
static uint64_t part_by_tag(const struct split *split, uint64_t tag, uint64_t borrowed)
{
	unsigned below = split->directory->borrowed, bits = tag_bits(split->directory, split->part_bits);
	uint64_t half = 0;
	if (split->third) {
		half = tag >> (bits - 1) & 1;
		tag &= bits_low(bits - 1);
	}
	uint64_t part = split->first | half << split->part_bits;
	if (split->part_bits < below) /* some borrowed bits are the leaf's */
		return part | (borrowed & bits_low(split->part_bits));
	return part | tag << below | (borrowed & bits_low(below));
}

static struct spread_target choose(const void *context, uint64_t tag, uint64_t borrowed)
{
	const struct split *split = context;
	uint64_t part = part_by_tag(split, tag, borrowed);
	const struct leaf *leaf = split->to[split->to[1]->first <= part];
	struct segment segment = { .tag_bits = tag_bits(split->directory, leaf->part_bits) };
	void *body = body_in(leaf, part);
	segment.third = leaf->bodies == 3 && body == leaf->body[2];
	return (struct spread_target){ body, segment_tag(&segment,
		                                         part >> split->directory->borrowed) };
}

/* Puts all entries of a leaf into one or two others. Errors: E_NOMEM, FULL. */
static nidus_status spread_leaf(const struct directory *directory, const struct leaf *leaf,
                                struct leaf *low, struct leaf *high)
{
	nidus_status status = NIDUS_OK;
	struct split split = { directory, leaf->first, leaf->part_bits, false, { low, high } };
	struct spread spread = { choose, &split, directory->borrowed > 0 };
	for (unsigned i = 0; i < leaf->bodies && status == NIDUS_OK; i++) {
		split.third = i == 2;
		split.first = leaf->first | (uint64_t)(i == 1) << leaf->part_bits;
		status = directory->inner->spread(leaf->body[i], &spread);
	}
	return status;
}

/* Replaces a leaf by one that has more bodies. Errors: E_NOMEM; nothing changed then. */
static nidus_status add_body(struct directory *directory, struct leaf *leaf)
{
	struct leaf *larger;
	nidus_status status = directory_make_leaf(directory, leaf->first, leaf->depth,
	                                          leaf->bodies + 1u, NULL, &larger);
	if (status != NIDUS_OK)
		return status;
	status = spread_leaf(directory, leaf, larger, larger);
	if (status != NIDUS_OK) {
		directory_free_leaf(directory, larger);
		return status;
	}
	enter_leaf(directory, larger);
	(void)is_due(directory, larger);
	directory_free_leaf(directory, leaf);
	return NIDUS_OK;
}

/* Replaces a leaf by two of two bodies each. Errors: E_NOMEM; nothing changed then. */
static nidus_status split_leaf(struct directory *directory, struct leaf *leaf)
{
	struct leaf *half[2] = { NULL, NULL };
	unsigned depth = leaf->depth + 1u, left = all_bits(directory) - depth;
	nidus_status status = NIDUS_OK;
	if (depth > directory->depth)
		status = directory_make_index(directory, depth);
	for (unsigned i = 0; i < 2 && status == NIDUS_OK; i++)
		status = directory_make_leaf(directory, leaf->first | (uint64_t)i << left, depth,
		                             left > 0 ? 2 : 1, NULL, &half[i]);
	if (status == NIDUS_OK)
		status = spread_leaf(directory, leaf, half[0], half[1]);
	if (status != NIDUS_OK) {
		directory_free_leaf(directory, half[0]);
		directory_free_leaf(directory, half[1]);
		return status;
	}
	directory->at_depth[leaf->depth]--;
	directory_enter(directory, half[0]);
	directory_enter(directory, half[1]);
	directory_free_leaf(directory, leaf);
	return NIDUS_OK;
}

/* Gives a leaf more bodies, or splits it. Errors: E_NOMEM; nothing changed then. */
static nidus_status extend(struct directory *directory, struct leaf *leaf)
{
	effort_of_thread()->moved += directory_leaf_count(directory, leaf);
	bool another = leaf->bodies == 1 ? leaf->part_bits > 0 : takes_third(directory, leaf);
	return another ? add_body(directory, leaf) : split_leaf(directory, leaf);
}

/* Looks at a leaf whose room is used up. Without memory it is tried again a little later. */
static void look_at(struct directory *directory, struct leaf *leaf)
{
	if (!is_due(directory, leaf))
		return;
	reason_set_aside();
	if (extend(directory, leaf) != NIDUS_OK)
		leaf->room = (int64_t)(directory->keys / 64 + 1);
	(void)reason_decide(NIDUS_OK);
}

void directory_look_after(struct directory *directory)
{
	uint64_t entries = directory->base << directory->depth;
	__atomic_store_n(&directory->due, 0, __ATOMIC_RELAXED);
	for (uint64_t i = 0; i < entries && has_leaves(directory); i++) {
		if (directory->leaf[i]->room <= 0)
			look_at(directory, directory->leaf[i]);
		entries = directory->base << directory->depth;
	}
}

/* --------------------------------------------------------------------------- few -- */

/* The list has no more room: the first leaves. Errors: E_NOMEM; nothing changed then. */
nidus_status directory_plant(struct directory *directory)
{
	struct few few = directory->few;
	nidus_status status = NIDUS_OK;
	if (directory->inner->prepare != NULL)
		status = directory->inner->prepare(directory->model);
	if (status == NIDUS_OK)
		status = directory_make_index(directory, 0);
	uint64_t planted = 0;
	for (; planted < directory->base && status == NIDUS_OK; planted++) {
		struct leaf *leaf;
		status = directory_make_leaf(directory, planted << all_bits(directory), 0, 1, NULL,
		                             &leaf);
		if (status == NIDUS_OK)
			directory_enter(directory, leaf);
		directory->ops = status == NIDUS_OK ? directory->inner->ops(leaf->body[0]) : NULL;
	}
	for (uint64_t i = 0; i < few.count && status == NIDUS_OK; i++)
		status = directory_put(directory, few_hash(&few, i), few_value(&few, i));
	if (status != NIDUS_OK) {
		directory_uproot(directory);
		return status;
	}
	memory_give(&directory->allocator, &few.memory);
	directory->few.memory = few.memory;
	directory->few.count = 0;
	return NIDUS_OK;
}

void directory_uproot(struct directory *directory)
{
	uint64_t entries = has_leaves(directory) ? directory->base << directory->depth : 0;
	struct leaf *last = NULL;
	for (uint64_t i = 0; i < entries; i++) {
		if (directory->leaf[i] != last && last != NULL)
			directory_free_leaf(directory, last);
		last = directory->leaf[i];
	}
	directory_free_leaf(directory, last);
	memory_give(&directory->allocator, &directory->index_memory);
	memset(directory->at_depth, 0, sizeof directory->at_depth);
	directory->leaf = NULL;
	directory->depth = 0;
}

/* Entries from which on there are leaves. */
static uint64_t few_most(const struct directory *directory)
{
	return directory->base * directory->keys / 2;
}

uint64_t directory_round(const struct directory *directory, uint64_t hash)
{
	uint64_t step = ~directory->hash_mask + 1, rounded = hash & directory->hash_mask;
	return rounded == hash ? hash : rounded + step;
}

/*
 * The hash that stands in the list for all that have its identity: keys that a body could not tell
 * apart are the same in the list, too.
 */
static uint64_t listed_hash(const struct directory *directory, uint64_t hash)
{
	const struct family *inner = directory->inner;
	nidus_entry entry = inner->identity(directory->model, hash);
	uint64_t part = multiply_high(hash, directory->parts);
	return directory_round(directory, inner->body_hash(directory->model, &entry, part));
}

static nidus_status few_put(struct directory *directory, uint64_t hash, uint64_t value)
{
	if (directory->few.count >= few_most(directory)) {
		nidus_status status = directory_plant(directory);
		return status == NIDUS_OK ? directory_put(directory, hash, value) : status;
	}
	return few_insert(&directory->few, listed_hash(directory, hash), value,
	                  &directory->allocator);
}

static nidus_status few_take(struct directory *directory, uint64_t hash)
{
	struct few *few = &directory->few;
	hash = listed_hash(directory, hash);
	uint64_t index = few_find(few, hash, 0);
	if (index == few->count || few_hash(few, index) != hash)
		return NIDUS_NOT_FOUND;
	few_remove(few, index);
	return NIDUS_OK;
}

static nidus_status few_change(struct directory *directory, uint64_t hash,
                               struct value_change change)
{
	struct few *few = &directory->few;
	bool any = change.what == VALUE_ADD;
	hash = listed_hash(directory, hash);
	uint64_t index = few_find(few, hash, any ? 0 : change.old), value;
	if (index == few->count || few_hash(few, index) != hash)
		return NIDUS_NOT_FOUND;
	value = few_value(few, index);
	if (!any && value != change.old)
		return NIDUS_NOT_FOUND;
	few_remove(few, index);
	if (change.what == VALUE_REMOVE)
		return NIDUS_OK;
	value = any ? value_sum(value, change.fresh, directory->plan.value_bits) : change.fresh;
	return few_insert(few, hash, value, &directory->allocator); /* where one just was */
}

static size_t few_values(const struct directory *directory, uint64_t hash, uint64_t *values,
                         size_t cap)
{
	const struct few *few = &directory->few;
	hash = listed_hash(directory, hash);
	uint64_t index = few_find(few, hash, 0);
	size_t found = 0;
	for (; index < few->count && few_hash(few, index) == hash; index++, found++) {
		if (found < cap)
			values[found] = few_value(few, index);
	}
	return found;
}

/* -------------------------------------------------------------------- operations -- */

static bool contains(const void *body, uint64_t hash)
{
	const struct directory *directory = body;
	hash &= directory->hash_mask;
	if (UNLIKELY(!has_leaves(directory)))
		return few_copies(&directory->few, listed_hash(directory, hash)) > 0;
	return directory->ops->contains(body_of(directory, hash), hash);
}

static uint64_t count(const void *body, uint64_t hash)
{
	const struct directory *directory = body;
	hash &= directory->hash_mask;
	return has_leaves(directory) ? directory->ops->count(body_of(directory, hash), hash)
	                             : few_copies(&directory->few, listed_hash(directory, hash));
}

static size_t find(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	const struct directory *directory = body;
	hash &= directory->hash_mask;
	return has_leaves(directory)
	               ? directory->ops->find(body_of(directory, hash), hash, values, cap)
	               : few_values(directory, hash, values, cap);
}

static void prefetch(const void *body, uint64_t hash)
{
	const struct directory *directory = body;
	hash &= directory->hash_mask;
	if (has_leaves(directory))
		directory->inner->prefetch(body_of(directory, hash), hash);
}

/* After so many inserts into a leaf. */
static inline void count_inserts(struct directory *directory, struct leaf *leaf, int64_t inserts)
{
	if (LIKELY(!directory->shared)) {
		leaf->room -= inserts;
		if (UNLIKELY(leaf->room <= 0))
			look_at(directory, leaf);
		return;
	}
	if (__atomic_sub_fetch(&leaf->room, inserts, __ATOMIC_RELAXED) <= 0)
		__atomic_store_n(&directory->due, 1, __ATOMIC_RELAXED);
}

/*
 * Whether a leaf that is overfull and cannot be split takes another key: as long as the filter as a
 * whole has fewer than it may have.
 */
static bool is_full(const struct directory *directory, struct leaf *leaf)
{
	(void)is_due(directory, leaf);
	return leaf->last && leaf->room <= 0 && directory_count(directory) >= directory->most;
}

static nidus_status no_place(void)
{
	return fail(NIDUS_FULL, "no place for this key was found; the filter is full");
}

nidus_status directory_put(struct directory *directory, uint64_t hash, uint64_t value)
{
	uint64_t part = part_of(directory, hash);
	struct leaf *leaf = leaf_of(directory, part);
	if (UNLIKELY(leaf->last) && leaf->room <= 0 && is_full(directory, leaf))
		return no_place();
	nidus_status status =
		body_insert(directory->ops, body_in(leaf, part), hash, value);
	if (LIKELY(status == NIDUS_OK))
		count_inserts(directory, leaf, 1);
	return status;
}

static nidus_status insert_value(void *body, uint64_t hash, uint64_t value)
{
	struct directory *directory = body;
	hash &= directory->hash_mask;
	return LIKELY(has_leaves(directory)) ? directory_put(directory, hash, value)
	                                     : few_put(directory, hash, value);
}

static nidus_status insert(void *body, uint64_t hash)
{
	return insert_value(body, hash, 0);
}

static nidus_status insert_new(void *body, uint64_t hash)
{
	struct directory *directory = body;
	hash &= directory->hash_mask;
	if (!directory->shared)
		return contains(body, hash) ? NIDUS_PRESENT : insert(body, hash);
	uint64_t part = part_of(directory, hash);
	struct leaf *leaf = leaf_of(directory, part);
	nidus_status status = directory->ops->insert_new(body_in(leaf, part), hash);
	if (status == NIDUS_OK)
		count_inserts(directory, leaf, 1);
	return status;
}

static nidus_status add(void *body, uint64_t hash, uint64_t value)
{
	struct directory *directory = body;
	uint64_t part = part_of(directory, hash & directory->hash_mask);
	struct leaf *leaf = leaf_of(directory, part);
	nidus_status status =
		directory->ops->add(body_in(leaf, part), hash & directory->hash_mask, value);
	if (status == NIDUS_OK) /* it may have come */
		count_inserts(directory, leaf, 1);
	return status;
}

static nidus_status remove_key(void *body, uint64_t hash)
{
	struct directory *directory = body;
	hash &= directory->hash_mask;
	return LIKELY(has_leaves(directory))
	               ? directory->ops->remove(body_of(directory, hash), hash)
	               : few_take(directory, hash);
}

static nidus_status change(void *body, uint64_t hash, struct value_change what)
{
	struct directory *directory = body;
	hash &= directory->hash_mask;
	return has_leaves(directory) ? directory->ops->change(body_of(directory, hash), hash, what)
	                             : few_change(directory, hash, what);
}

/* ----------------------------------------------------------------------- batches -- */

/* Some keys of a batch on their way to their bodies. */
struct block_of_keys {
	uint64_t hashes[SOME];
	struct leaf *leaf[SOME];
	void *body[SOME];
};

/* Finds the bodies of up to SOME keys; the least room of their leaves. */
static int64_t find_bodies(const struct directory *directory, const uint64_t *hashes, size_t n,
                           struct block_of_keys *block)
{
	int64_t room = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		uint64_t hash = hashes[i] & directory->hash_mask, part = part_of(directory, hash);
		block->hashes[i] = hash;
		block->leaf[i] = leaf_of(directory, part);
		block->body[i] = body_in(block->leaf[i], part);
		int64_t here = __atomic_load_n(&block->leaf[i]->room, __ATOMIC_RELAXED);
		room = here < room ? here : room;
	}
	return room;
}

static void contains_batch(const void *body, const uint64_t *hashes, size_t n, uint8_t *yes)
{
	const struct directory *directory = body;
	struct block_of_keys block;
	for (size_t i = 0; i < n && !has_leaves(directory); i++)
		yes[i] = contains(body, hashes[i]);
	for (size_t from = 0; from < n && has_leaves(directory); from += SOME) {
		size_t some = n - from < SOME ? n - from : SOME;
		(void)find_bodies(directory, hashes + from, some, &block);
		directory->ops->contains_each((const void *const *)block.body, block.hashes, some,
		                              yes + from);
	}
}

static void find_batch(const void *body, const uint64_t *hashes, size_t n, uint64_t *first,
                       uint32_t *found)
{
	const struct directory *directory = body;
	for (size_t from = 0; from < n; from += SOME) {
		size_t end = n - from < SOME ? n : from + SOME;
		for (size_t i = from; i < end; i++)
			prefetch(directory, hashes[i]);
		for (size_t i = from; i < end; i++) {
			first[i] = 0;
			found[i] = (uint32_t)find(directory, hashes[i], &first[i], 1);
		}
	}
}

/*
 * Whether threads share the filter and a leaf has to be split before more comes, for which the
 * caller has to have the filter for itself.
 */
static bool is_waiting(const struct directory *directory)
{
	return UNLIKELY(__atomic_load_n(&directory->due, __ATOMIC_RELAXED) != 0);
}

/* Inserts one by one: the list, and leaves that may have to be split on the way. */
static nidus_status insert_singly(struct directory *directory, const uint64_t *hashes,
                                  const uint64_t *values, size_t n, size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK && !is_waiting(directory);) {
		status = insert_value(directory, hashes[*done],
		                      values != NULL ? values[*done] : 0);
		*done += status == NIDUS_OK;
	}
	return status;
}

/* Up to SOME inserts; fewer if a leaf has to be split that threads share. */
static nidus_status insert_some(struct directory *directory, const uint64_t *hashes,
                                const uint64_t *values, size_t n, size_t *done)
{
	struct block_of_keys block;
	if (!has_leaves(directory) || find_bodies(directory, hashes, n, &block) <= SOME)
		return insert_singly(directory, hashes, values, n, done);
	nidus_status status =
		directory->ops->insert_each(block.body, block.hashes, values, n, done);
	for (size_t i = 0; i < *done; i++)
		count_inserts(directory, block.leaf[i], 1);
	return status;
}

static nidus_status insert_batch(void *body, const uint64_t *hashes, const uint64_t *values,
                                 size_t n, size_t *done)
{
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < n && status == NIDUS_OK && !is_waiting(body);) {
		size_t some = n - *done < SOME ? n - *done : SOME, in = 0;
		status = insert_some(body, hashes + *done, values_from(values, *done), some, &in);
		*done += in;
	}
	return status;
}

static nidus_status remove_batch(void *body, const uint64_t *hashes, size_t n, size_t *done)
{
	struct directory *directory = body;
	struct block_of_keys block;
	nidus_status status = NIDUS_OK;
	*done = 0;
	while (*done < n && status == NIDUS_OK && !has_leaves(directory)) {
		status = remove_key(body, hashes[*done]);
		*done += status == NIDUS_OK;
	}
	while (*done < n && status == NIDUS_OK) {
		size_t some = n - *done < SOME ? n - *done : SOME, out = 0;
		(void)find_bodies(directory, hashes + *done, some, &block);
		status = directory->ops->remove_each(block.body, block.hashes, some, &out);
		*done += out;
	}
	return status;
}

const struct body_ops directory_ops = {
	.contains = contains,
	.count = count,
	.find = find,
	.insert = insert,
	.insert_value = insert_value,
	.insert_new = insert_new,
	.remove = remove_key,
	.change = change,
	.contains_batch = contains_batch,
	.find_batch = find_batch,
	.insert_batch = insert_batch,
	.remove_batch = remove_batch,
};

const struct body_ops directory_shared_ops = {
	.contains = contains,
	.count = count,
	.find = find,
	.insert = insert,
	.insert_value = insert_value,
	.insert_new = insert_new,
	.add = add,
	.remove = remove_key,
	.change = change,
	.contains_batch = contains_batch,
	.find_batch = find_batch,
	.insert_batch = insert_batch,
	.remove_batch = remove_batch,
};

void directory_prefetch(const void *body, uint64_t hash)
{
	prefetch(body, hash);
}

/* ------------------------------------------------------------------------ growth -- */

/* Another borrowed bit: parts have one more, and every leaf holds twice as many. */
static void borrow_bit(struct directory *directory)
{
	uint64_t entries = directory->base << directory->depth;
	struct leaf *last = NULL;
	for (uint64_t i = 0; i < entries; i++) {
		struct leaf *leaf = directory->leaf[i];
		if (leaf != last) {
			leaf->first <<= 1;
			leaf->third <<= 1;
			leaf->part_bits++;
		}
		last = leaf;
	}
	directory->borrowed++;
}

uint64_t directory_capacity(const struct directory *directory)
{
	uint64_t entries = has_leaves(directory) ? directory->base << directory->depth : 0;
	uint64_t keys = has_leaves(directory) ? 0 : few_most(directory);
	const struct leaf *last = NULL;
	for (uint64_t i = 0; i < entries; i++) {
		if (directory->leaf[i] != last)
			keys += directory_leaf_keys(directory, directory->leaf[i]);
		last = directory->leaf[i];
	}
	return keys;
}

/* Extends all leaves that would be too full if there were so many keys, once. */
static nidus_status extend_for(struct directory *directory, uint64_t capacity, bool *changed)
{
	nidus_status status = NIDUS_OK;
	*changed = false;
	uint64_t entries = directory->base << directory->depth;
	for (uint64_t i = 0; i < entries && status == NIDUS_OK; i++) {
		struct leaf *leaf = directory->leaf[i];
		double share = (double)capacity / (double)(directory->base << leaf->depth);
		if (share <= (double)directory_leaf_keys(directory, leaf) ||
		    (!takes_third(directory, leaf) && !may_split(directory, leaf)))
			continue;
		unsigned depth = directory->depth;
		status = extend(directory, leaf);
		*changed = true;
		i <<= directory->depth - depth;
		entries = directory->base << directory->depth;
	}
	return status;
}

nidus_status directory_grow(struct directory *directory, uint64_t capacity, bool relax)
{
	nidus_status status = NIDUS_OK;
	bool changed = true;
	if (!has_leaves(directory) && capacity > few_most(directory))
		status = directory_plant(directory);
	if (!has_leaves(directory))
		return status;
	while (status == NIDUS_OK && changed) {
		status = extend_for(directory, capacity, &changed);
		if (status == NIDUS_OK && !changed && directory_capacity(directory) < capacity) {
			if (!relax || all_bits(directory) >= PART_BITS_MOST)
				return fail(NIDUS_E_RANGE,
				            "no bits are left for more keys; make the filter with "
				            "a larger max_capacity");
			borrow_bit(directory);
			changed = true;
		}
	}
	return status;
}

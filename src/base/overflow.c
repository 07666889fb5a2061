/* SPDX-License-Identifier: MIT
 *
 * overflow: a treap whose nodes come from pages.
 */
#include "base/overflow.h"

#include "base/atomic.h"
#include "base/reason.h"

#include <assert.h>

/* Nodes of a page: the first is small, and each as large as all before it, up to the most. */
#define PAGE_NODES 4
#define PAGE_NODES_MOST 512

struct overflow_page {
	struct block memory;
	struct overflow_page *next;
	struct overflow_node node[];
};

/* What others may read meanwhile. */
#define SEE(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define SHOW(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

static bool before(const nidus_entry *a, const nidus_entry *b)
{
	if (a->home != b->home)
		return a->home < b->home;
	return a->fingerprint != b->fingerprint ? a->fingerprint < b->fingerprint
	                                        : a->value < b->value;
}

static bool same_identity(const nidus_entry *a, const nidus_entry *b)
{
	return a->home == b->home && a->fingerprint == b->fingerprint;
}

static bool same(const nidus_entry *a, const nidus_entry *b)
{
	return same_identity(a, b) && a->value == b->value;
}

/* The order from roots to leaves. */
static uint64_t rank(const struct overflow *overflow, const nidus_entry *entry)
{
	uint64_t x = overflow->key ^ entry->home ^ entry->fingerprint << 32;
	x *= UINT64_C(0x9fb21c651e98df25);
	x ^= entry->fingerprint ^ entry->value << 16 ^ x >> 29;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32 ^ overflow->key;
	return x * UINT64_C(0x9fb21c651e98df25);
}

static uint64_t below(const struct overflow_node *tree)
{
	return tree != NULL ? tree->below : 0;
}

/* --------------------------------------------------------------------- memory -- */

static uint64_t page_nodes(const struct overflow *overflow, uint64_t n)
{
	uint64_t nodes = overflow->nodes + overflow->spares;
	nodes = nodes < PAGE_NODES ? PAGE_NODES : nodes;
	nodes = nodes > PAGE_NODES_MOST ? PAGE_NODES_MOST : nodes;
	return nodes > n ? nodes : n;
}

nidus_status overflow_reserve(struct overflow *overflow, const nidus_allocator *allocator,
                              uint64_t n)
{
	if (n <= overflow->spares)
		return NIDUS_OK;
	uint64_t nodes = page_nodes(overflow, n - overflow->spares), size;
	struct block memory;
	if (multiply_overflows(nodes, sizeof(struct overflow_node), &size) ||
	    add_overflows(size, sizeof(struct overflow_page), &size))
		size = UINT64_MAX;
	nidus_status status = memory_take(allocator, size, &memory);
	if (status != NIDUS_OK)
		return status;
	struct overflow_page *page = (struct overflow_page *)(void *)memory.bytes;
	if (overflow->pages == NULL)
		overflow->key = (uint64_t)(uintptr_t)page * UINT64_C(0xd6e8feb86659fd93);
	page->memory = memory;
	page->next = overflow->pages;
	overflow->pages = page;
	overflow->bytes += memory.size;
	overflow->spares += nodes;
	for (uint64_t i = nodes; i-- > 0;) {
		page->node[i].left = overflow->spare;
		overflow->spare = &page->node[i];
	}
	return NIDUS_OK;
}

void overflow_free(struct overflow *overflow, const nidus_allocator *allocator)
{
	while (overflow->pages != NULL) {
		struct overflow_page *page = overflow->pages;
		overflow->pages = page->next;
		struct block memory = page->memory;
		memory_give(allocator, &memory);
	}
	*overflow = (struct overflow){ 0 };
}

/* -------------------------------------------------------------------- finding -- */

/* The node of an entry; NULL if it has none. */
static struct overflow_node *find(const struct overflow *overflow, const nidus_entry *entry)
{
	struct overflow_node *node = overflow->root;
	while (node != NULL && !same(&node->entry, entry))
		node = before(entry, &node->entry) ? node->left : node->right;
	return node;
}

const struct overflow_node *overflow_next(const struct overflow *overflow, const nidus_entry *entry)
{
	const struct overflow_node *node = overflow->root, *next = NULL;
	while (node != NULL) {
		bool behind = entry == NULL || before(entry, &node->entry);
		if (behind)
			next = node;
		node = behind ? node->left : node->right;
	}
	return next;
}

const struct overflow_node *overflow_from(const struct overflow *overflow, const nidus_entry *entry)
{
	const struct overflow_node *node = find(overflow, entry);
	return node != NULL ? node : overflow_next(overflow, entry);
}

const struct overflow_node *overflow_find(const struct overflow *overflow, const nidus_entry *entry,
                                          bool any_value)
{
	if (!any_value)
		return find(overflow, entry);
	const nidus_entry lowest = { entry->home, entry->fingerprint, 0 };
	const struct overflow_node *node = overflow_from(overflow, &lowest);
	return node != NULL && same_identity(&node->entry, entry) ? node : NULL;
}

const struct overflow_node *overflow_sibling(const struct overflow *overflow,
                                             const struct overflow_node *node)
{
	const struct overflow_node *next = overflow_next(overflow, &node->entry);
	return next != NULL && same_identity(&next->entry, &node->entry) ? next : NULL;
}

const struct overflow_node *overflow_at(const struct overflow *overflow, uint64_t index)
{
	const struct overflow_node *node = overflow->root;
	while (node != NULL) {
		uint64_t left = below(node->left);
		if (index >= left && index - left < node->copies)
			break;
		bool behind = index >= left;
		index -= behind ? left + node->copies : 0;
		node = behind ? node->right : node->left;
	}
	return node;
}

uint64_t overflow_count(const struct overflow *overflow, const nidus_entry *entry)
{
	const struct overflow_node *node = find(overflow, entry);
	return node != NULL ? node->copies : 0;
}

uint64_t overflow_count_all(const struct overflow *overflow, const nidus_entry *entry)
{
	uint64_t copies = 0;
	const struct overflow_node *node = overflow_find(overflow, entry, true);
	for (; node != NULL; node = overflow_sibling(overflow, node))
		copies += node->copies;
	return copies;
}

/* Writes a value as often as there is room for, behind `found` others. */
static size_t add_values(uint64_t value, uint64_t copies, uint64_t *values, size_t cap,
                         size_t found)
{
	for (uint64_t copy = 0; copy < copies && found + copy < cap; copy++)
		values[found + copy] = value;
	return found + (size_t)copies;
}

size_t overflow_values(const struct overflow *overflow, const nidus_entry *entry, uint64_t *values,
                       size_t cap, size_t found)
{
	const struct overflow_node *node = overflow_find(overflow, entry, true);
	for (; node != NULL; node = overflow_sibling(overflow, node))
		found = add_values(node->entry.value, node->copies, values, cap, found);
	return found;
}

/* ------------------------------------------------------- while others change it -- */

/* A node as it was seen. */
struct sight {
	nidus_entry entry;
	uint64_t copies;
};

/*
 * overflow_next of a list that another thread may change: *any is whether there is a node
 * behind the entry. Every step is taken from what was there while the version was `start`, so
 * that they come to an end. False: it is another one.
 */
static bool see_next(const struct overflow *overflow, const nidus_entry *entry, bool or_same,
                     const uint32_t *version, uint32_t start, struct sight *next, bool *any)
{
	const struct overflow_node *node = SEE(overflow->root);
	*any = false;
	while (node != NULL) {
		struct sight seen = {
			.entry = { SEE(node->entry.home), SEE(node->entry.fingerprint),
			           SEE(node->entry.value) },
			.copies = SEE(node->copies),
		};
		const struct overflow_node *left = SEE(node->left), *right = SEE(node->right);
		if (SEE(*version) != start)
			return false;
		bool behind = or_same ? !before(&seen.entry, entry) : before(entry, &seen.entry);
		if (behind) {
			*next = seen;
			*any = true;
		}
		node = behind ? left : right;
	}
	return SEE(*version) == start;
}

bool overflow_seen(const struct overflow *overflow, const nidus_entry *entry,
                   const uint32_t *version, uint32_t start, uint64_t *values, size_t cap,
                   size_t *found)
{
	struct sight next = { .entry = { entry->home, entry->fingerprint, 0 } };
	bool any, or_same = true;
	*found = 0;
	for (;; or_same = false) {
		const nidus_entry last = next.entry;
		if (!see_next(overflow, &last, or_same, version, start, &next, &any))
			return false;
		if (!any || !same_identity(&next.entry, entry))
			return true;
		*found = add_values(next.entry.value, next.copies, values, cap, *found);
	}
}

/* ------------------------------------------------------------------- changing -- */

/* Adds to the sums from the root to an entry's node, or to where it would be. */
static void add_below(struct overflow_node *node, const nidus_entry *entry, uint64_t copies)
{
	for (; node != NULL; node = before(entry, &node->entry) ? node->left : node->right) {
		node->below += copies;
		if (same(&node->entry, entry))
			return;
	}
}

/* Copies of what comes before an entry in a tree. */
static uint64_t copies_before(const struct overflow_node *tree, const nidus_entry *entry)
{
	uint64_t copies = 0;
	while (tree != NULL) {
		bool first = before(&tree->entry, entry);
		copies += first ? below(tree->left) + tree->copies : 0;
		tree = first ? tree->right : tree->left;
	}
	return copies;
}

/* Splits a tree into what comes before an entry, which is not in it, and what behind. */
static void split(struct overflow_node *tree, const nidus_entry *entry, struct overflow_node **left,
                  struct overflow_node **right)
{
	/* Of what is still to be split. */
	uint64_t on_left = copies_before(tree, entry), on_right = below(tree) - on_left;
	while (tree != NULL) {
		if (before(&tree->entry, entry)) {
			tree->below = on_left;
			on_left -= below(tree->left) + tree->copies;
			SHOW(*left, tree);
			left = &tree->right;
			tree = tree->right;
		} else {
			tree->below = on_right;
			on_right -= below(tree->right) + tree->copies;
			SHOW(*right, tree);
			right = &tree->left;
			tree = tree->left;
		}
	}
	SHOW(*left, NULL);
	SHOW(*right, NULL);
}

/* Puts two trees together at a place, all of the first before all of the second. */
static void join(const struct overflow *overflow, struct overflow_node *left,
                 struct overflow_node *right, struct overflow_node **place)
{
	while (left != NULL && right != NULL) {
		uint64_t both = left->below + right->below;
		if (rank(overflow, &left->entry) > rank(overflow, &right->entry)) {
			left->below = both;
			SHOW(*place, left);
			place = &left->right;
			left = left->right;
		} else {
			right->below = both;
			SHOW(*place, right);
			place = &right->left;
			right = right->left;
		}
	}
	SHOW(*place, left != NULL ? left : right);
}

/* A node for an entry, which is in no tree yet. */
static struct overflow_node *take_spare(struct overflow *overflow, const nidus_entry *entry,
                                        uint64_t copies)
{
	assert(overflow->spares > 0);
	struct overflow_node *node = overflow->spare;
	overflow->spare = node->left;
	overflow->spares--;
	SHOW(overflow->nodes, overflow->nodes + 1);
	SHOW(node->entry.home, entry->home);
	SHOW(node->entry.fingerprint, entry->fingerprint);
	SHOW(node->entry.value, entry->value);
	SHOW(node->copies, copies);
	return node;
}

void overflow_insert(struct overflow *overflow, const nidus_entry *entry, uint64_t copies)
{
	const nidus_entry own = *entry; /* it may be a node's */
	struct overflow_node *node = find(overflow, &own);
	assert(copies > 0 && (node == NULL || copies <= OVERFLOW_COPIES_MOST - node->copies));
	overflow->entries += copies;
	if (node != NULL) {
		add_below(overflow->root, &own, copies);
		SHOW(node->copies, node->copies + copies);
		return;
	}
	node = take_spare(overflow, &own, copies);
	struct overflow_node **place = &overflow->root;
	uint64_t ranked = rank(overflow, &own);
	while (*place != NULL && rank(overflow, &(*place)->entry) >= ranked) {
		(*place)->below += copies;
		place = before(&own, &(*place)->entry) ? &(*place)->left : &(*place)->right;
	}
	node->below = below(*place) + copies;
	split(*place, &own, &node->left, &node->right);
	SHOW(*place, node);
}

nidus_status overflow_add(struct overflow *overflow, const nidus_allocator *allocator,
                          const nidus_entry *entry, uint64_t copies)
{
	uint64_t there = overflow_count(overflow, entry);
	if (copies > OVERFLOW_COPIES_MOST - there)
		return fail(NIDUS_COPIES, "a key has %llu copies at most, and this one has them",
		            (unsigned long long)OVERFLOW_COPIES_MOST);
	nidus_status status = there > 0 ? NIDUS_OK : overflow_reserve(overflow, allocator, 1);
	if (status == NIDUS_OK)
		overflow_insert(overflow, entry, copies);
	return status;
}

void overflow_take(struct overflow *overflow, const nidus_entry *entry, uint64_t copies)
{
	struct overflow_node **place = &overflow->root, *node;
	const nidus_entry own = *entry;
	assert(find(overflow, &own) != NULL && overflow->entries >= copies);
	while (node = *place, !same(&node->entry, &own)) {
		node->below -= copies;
		place = before(&own, &node->entry) ? &node->left : &node->right;
	}
	assert(node->copies >= copies);
	overflow->entries -= copies;
	node->below -= copies;
	SHOW(node->copies, node->copies - copies);
	if (node->copies > 0)
		return;
	join(overflow, node->left, node->right, place);
	SHOW(node->left, overflow->spare);
	overflow->spare = node;
	overflow->spares++;
	SHOW(overflow->nodes, overflow->nodes - 1);
}

bool overflow_remove(struct overflow *overflow, const nidus_entry *entry)
{
	if (find(overflow, entry) == NULL)
		return false;
	overflow_take(overflow, entry, 1);
	return true;
}

nidus_status overflow_change(struct overflow *overflow, const nidus_allocator *allocator,
                             const nidus_entry *entry, uint64_t value)
{
	const nidus_entry old = *entry, fresh = { entry->home, entry->fingerprint, value };
	assert(find(overflow, &old) != NULL);
	if (value == old.value)
		return NIDUS_OK;
	/* The node may be the one that the old entry leaves. Otherwise what can fail comes first. */
	bool same_node = overflow_count(overflow, &old) == 1 && find(overflow, &fresh) == NULL;
	nidus_status status = same_node ? NIDUS_OK : overflow_add(overflow, allocator, &fresh, 1);
	if (status != NIDUS_OK)
		return status;
	overflow_take(overflow, &old, 1);
	if (same_node)
		overflow_insert(overflow, &fresh, 1);
	return NIDUS_OK;
}

/* --------------------------------------------------------------- as a whole -- */

unsigned char *overflow_export(const struct overflow *overflow, uint64_t home, unsigned char *bytes)
{
	const struct overflow_node *node = overflow_next(overflow, NULL);
	for (; node != NULL; node = overflow_next(overflow, &node->entry)) {
		store64(bytes, home + node->entry.home);
		store64(bytes + 8, node->entry.fingerprint);
		store64(bytes + 16, node->copies | node->entry.value << 32);
		bytes += OVERFLOW_ENTRY;
	}
	return bytes;
}

nidus_entry overflow_decode(const unsigned char *bytes, uint64_t *copies)
{
	*copies = load32(bytes + 16);
	return (nidus_entry){ load64(bytes), load64(bytes + 8), load32(bytes + 20) };
}

bool overflow_in_order(const nidus_entry *first, const nidus_entry *second)
{
	return before(first, second);
}

nidus_status overflow_copy(struct overflow *to, const struct overflow *from,
                           const nidus_allocator *allocator)
{
	nidus_status status = overflow_reserve(to, allocator, from->nodes);
	const struct overflow_node *node = overflow_next(from, NULL);
	for (; node != NULL && status == NIDUS_OK; node = overflow_next(from, &node->entry))
		overflow_insert(to, &node->entry, node->copies);
	return status;
}

bool overflow_valid(const struct overflow *overflow)
{
	uint64_t nodes = 0, entries = 0;
	const struct overflow_node *node = overflow_next(overflow, NULL);
	for (; node != NULL; node = overflow_next(overflow, &node->entry)) {
		if (node->copies < 1 || node->copies > OVERFLOW_COPIES_MOST ||
		    overflow_at(overflow, entries) != node)
			return false;
		entries += node->copies;
		nodes++;
	}
	return nodes == overflow->nodes && entries == overflow->entries &&
	       below(overflow->root) == entries;
}

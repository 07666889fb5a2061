/* SPDX-License-Identifier: MIT
 *
 * overflow: a treap whose nodes come from pages.
 */
#include "base/overflow.h"

#include "base/bits.h"

#include <assert.h>

#define PAGE_NODES 16 /* at least */

struct overflow_page {
	struct block memory;
	struct overflow_page *next;
	struct overflow_node node[];
};

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
static uint64_t rank(const nidus_entry *entry)
{
	uint64_t x = (entry->home ^ entry->fingerprint << 32) * UINT64_C(0x9fb21c651e98df25);
	x ^= entry->fingerprint ^ entry->value << 16 ^ x >> 29;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

nidus_status overflow_reserve(struct overflow *overflow, const nidus_allocator *allocator,
                              uint64_t n)
{
	if (n <= overflow->spares)
		return NIDUS_OK;
	uint64_t nodes = n - overflow->spares > PAGE_NODES ? n - overflow->spares : PAGE_NODES;
	uint64_t size;
	struct block memory;
	if (multiply_overflows(nodes, sizeof(struct overflow_node), &size) ||
	    add_overflows(size, sizeof(struct overflow_page), &size))
		size = UINT64_MAX;
	nidus_status status = memory_take(allocator, size, &memory);
	if (status != NIDUS_OK)
		return status;
	struct overflow_page *page = (struct overflow_page *)(void *)memory.bytes;
	page->memory = memory;
	page->next = overflow->pages;
	overflow->pages = page;
	overflow->bytes += memory.size;
	overflow->spares += nodes;
	for (uint64_t i = 0; i < nodes; i++) {
		page->node[i].left = overflow->spare;
		overflow->spare = &page->node[i];
	}
	return NIDUS_OK;
}

/* The node of an entry; NULL if it has none. */
static struct overflow_node *find(const struct overflow *overflow, const nidus_entry *entry)
{
	struct overflow_node *node = overflow->root;
	while (node != NULL && !same(&node->entry, entry))
		node = before(entry, &node->entry) ? node->left : node->right;
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

const struct overflow_node *overflow_find(const struct overflow *overflow, const nidus_entry *entry,
                                          bool any_value)
{
	const nidus_entry lowest = { entry->home, entry->fingerprint, 0 };
	const struct overflow_node *node = find(overflow, any_value ? &lowest : entry);
	if (node != NULL || !any_value)
		return node;
	node = overflow_next(overflow, &lowest);
	return node != NULL && same_identity(&node->entry, entry) ? node : NULL;
}

const struct overflow_node *overflow_sibling(const struct overflow *overflow,
                                             const struct overflow_node *node)
{
	const struct overflow_node *next = overflow_next(overflow, &node->entry);
	return next != NULL && same_identity(&next->entry, &node->entry) ? next : NULL;
}

/* Splits a tree into what comes before an entry, which is not in it, and what behind. */
static void split(struct overflow_node *tree, const nidus_entry *entry, struct overflow_node **left,
                  struct overflow_node **right)
{
	while (tree != NULL) {
		if (before(&tree->entry, entry)) {
			*left = tree;
			left = &tree->right;
		} else {
			*right = tree;
			right = &tree->left;
		}
		tree = before(&tree->entry, entry) ? tree->right : tree->left;
	}
	*left = *right = NULL;
}

/* Puts two trees together at a place, all of the first before all of the second. */
static void join(struct overflow_node *left, struct overflow_node *right,
                 struct overflow_node **place)
{
	while (left != NULL && right != NULL) {
		if (rank(&left->entry) > rank(&right->entry)) {
			*place = left;
			place = &left->right;
			left = left->right;
		} else {
			*place = right;
			place = &right->left;
			right = right->left;
		}
	}
	*place = left != NULL ? left : right;
}

void overflow_insert(struct overflow *overflow, const nidus_entry *entry, uint64_t copies)
{
	overflow->entries += copies;
	struct overflow_node *node = find(overflow, entry);
	if (node != NULL) {
		node->copies += copies;
		return;
	}
	assert(overflow->spares > 0);
	node = overflow->spare;
	overflow->spare = node->left;
	overflow->spares--;
	overflow->nodes++;
	*node = (struct overflow_node){ .entry = *entry, .copies = copies };
	struct overflow_node **place = &overflow->root;
	uint64_t own = rank(entry);
	while (*place != NULL && rank(&(*place)->entry) >= own)
		place = before(entry, &(*place)->entry) ? &(*place)->left : &(*place)->right;
	split(*place, entry, &node->left, &node->right);
	*place = node;
}

bool overflow_remove(struct overflow *overflow, const nidus_entry *entry)
{
	struct overflow_node **place = &overflow->root, *node;
	while ((node = *place) != NULL && !same(&node->entry, entry))
		place = before(entry, &node->entry) ? &node->left : &node->right;
	if (node == NULL)
		return false;
	overflow->entries--;
	if (--node->copies > 0)
		return true;
	join(node->left, node->right, place);
	node->left = overflow->spare;
	overflow->spare = node;
	overflow->spares++;
	overflow->nodes--;
	return true;
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

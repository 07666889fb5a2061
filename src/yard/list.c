/* SPDX-License-Identifier: MIT
 *
 * yard_list: the list of a yard, for one thread and for several.
 */
#include "yard/list.h"

#include "base/reason.h"
#include "base/stripes.h"

nidus_entry yard_list_entry(const struct yard *yard, struct yard_key key)
{
	return (nidus_entry){
		.home = key.bucket,
		.fingerprint = (uint64_t)(key.m + 1) << yard->width | key.remainder,
		.value = key.beside,
	};
}

struct yard_key yard_list_key(const struct yard *yard, const nidus_entry *entry)
{
	return (struct yard_key){
		.bucket = entry->home,
		.m = (unsigned)(entry->fingerprint >> yard->width) - 1,
		.remainder = entry->fingerprint & bits_low(yard->width),
		.beside = entry->value,
	};
}

/* Nobody else changes the list, nor looks at it but by overflow_seen, until it is let go. */
static void hold(struct yard *yard)
{
	if (yard_shared(yard))
		version_lock(&yard->list_version);
}

/* After a change. */
static void settle(struct yard *yard)
{
	yard->careful = yard->values != NULL || yard->list.nodes > 0;
}

static void let_go(struct yard *yard)
{
	if (yard_shared(yard))
		version_unlock(&yard->list_version);
}

/* For those that only look at numbers: the version is not a part of the list. */
static struct yard *as_writer(const struct yard *yard)
{
	union {
		const struct yard *in;
		struct yard *out;
	} cast = { .in = yard };
	return cast.out;
}

/* -------------------------------------------------------------------- finding -- */

static size_t find_shared(const struct yard *yard, const nidus_entry *entry, uint64_t *values,
                          size_t cap)
{
	size_t found;
	for (unsigned tries = 0;; tries++) {
		uint32_t version = __atomic_load_n(&yard->list_version, __ATOMIC_ACQUIRE);
		if (version % 2 == 0 && overflow_seen(&yard->list, entry, &yard->list_version,
		                                      version, values, cap, &found))
			return found;
		stripes_pause(tries);
	}
}

bool yard_list_has(const struct yard *yard, struct yard_key key)
{
	nidus_entry entry = yard_list_entry(yard, key);
	return yard_shared(yard) ? find_shared(yard, &entry, NULL, 0) > 0
	                         : overflow_find(&yard->list, &entry, true) != NULL;
}

/* yard_list_find where copies with other tags do not count. */
static size_t find_tagged(const struct yard *yard, struct yard_key key, uint64_t *values,
                          size_t cap, size_t found)
{
	const uint64_t tags = bits_low(yard->tag_bits);
	nidus_entry entry = yard_list_entry(yard, key);
	struct yard *writer = as_writer(yard);
	hold(writer);
	const struct overflow_node *node = overflow_find(&yard->list, &entry, true);
	for (; node != NULL; node = overflow_sibling(&yard->list, node)) {
		if (((node->entry.value ^ key.beside) & tags) != 0)
			continue;
		for (size_t i = found; i < cap && i - found < node->copies; i++)
			values[i] = node->entry.value >> yard->tag_bits;
		found += node->copies;
	}
	let_go(writer);
	return found;
}

size_t yard_list_find(const struct yard *yard, struct yard_key key, uint64_t *values, size_t cap,
                      size_t found)
{
	if (yard->tag_bits > 0)
		return find_tagged(yard, key, values, cap, found);
	nidus_entry entry = yard_list_entry(yard, key);
	size_t from = found < cap ? found : cap, room = cap - from;
	uint64_t *behind = room > 0 ? values + from : NULL;
	return found + (yard_shared(yard) ? find_shared(yard, &entry, behind, room)
	                                  : overflow_values(&yard->list, &entry, behind, room, 0));
}

bool yard_list_first(struct yard *yard, uint64_t bucket, const struct yard_key *behind,
                     struct yard_key *first)
{
	nidus_entry from = { .home = bucket };
	if (behind != NULL) {
		from = yard_list_entry(yard, *behind);
		from.fingerprint++;
		from.value = 0;
	}
	hold(yard);
	const struct overflow_node *node = overflow_from(&yard->list, &from);
	bool any = node != NULL && node->entry.home == bucket;
	if (any)
		*first = yard_list_key(yard, &node->entry);
	let_go(yard);
	return any;
}

/* The numbers of the list at one moment. */
static struct overflow numbers(const struct yard *yard)
{
	struct yard *writer = as_writer(yard);
	hold(writer);
	struct overflow list = yard->list;
	let_go(writer);
	return list;
}

uint64_t yard_list_entries(const struct yard *yard)
{
	return numbers(yard).entries;
}

uint64_t yard_list_surplus(const struct yard *yard)
{
	if (!yard_listed(yard))
		return 0;
	struct overflow list = numbers(yard);
	return list.entries - list.nodes;
}

uint64_t yard_list_bytes(const struct yard *yard)
{
	return numbers(yard).bytes;
}

/* ------------------------------------------------------------------- changing -- */

nidus_status yard_list_put(struct yard *yard, struct yard_key key, uint64_t copies)
{
	nidus_entry entry = yard_list_entry(yard, key);
	hold(yard);
	nidus_status status = overflow_add(&yard->list, &yard->allocator, &entry, copies);
	settle(yard);
	let_go(yard);
	return status;
}

nidus_status yard_list_spill(struct yard *yard, struct yard_key key)
{
	nidus_entry entry = yard_list_entry(yard, key);
	nidus_status status = NIDUS_FULL;
	uint64_t count = yard_count(yard);
	hold(yard);
	const struct overflow *list = &yard->list;
	if (count - (list->entries - list->nodes) < yard->capacity ||
	    overflow_find(list, &entry, true) != NULL)
		status = overflow_add(&yard->list, &yard->allocator, &entry, 1);
	settle(yard);
	let_go(yard);
	return status == NIDUS_FULL
	               ? fail(NIDUS_FULL, "no place for this key was found; the filter is full")
	               : status;
}

/* A listed copy of a key that a change may be made to: its tag counts. NULL if there is none. */
static const struct overflow_node *changeable(const struct yard *yard, struct yard_key key,
                                              const struct value_change *change)
{
	uint64_t tags = bits_low(yard->tag_bits);
	nidus_entry entry = yard_list_entry(yard, key);
	if (change != NULL && change->what != VALUE_ADD) {
		entry.value = change->old << yard->tag_bits | (key.beside & tags);
		return overflow_find(&yard->list, &entry, false);
	}
	const struct overflow_node *node = overflow_find(&yard->list, &entry, true);
	while (node != NULL && ((node->entry.value ^ key.beside) & tags) != 0)
		node = overflow_sibling(&yard->list, node);
	return node;
}

bool yard_list_take(struct yard *yard, struct yard_key key, const struct value_change *change)
{
	hold(yard);
	const struct overflow_node *node = changeable(yard, key, change);
	if (node != NULL)
		overflow_take(&yard->list, &node->entry, 1);
	settle(yard);
	let_go(yard);
	return node != NULL;
}

nidus_status yard_list_change(struct yard *yard, struct yard_key key,
                              const struct value_change *change)
{
	const unsigned tag_bits = yard->tag_bits;
	nidus_status status = NIDUS_NOT_FOUND;
	hold(yard);
	const struct overflow_node *node = changeable(yard, key, change);
	if (node != NULL) {
		uint64_t old = node->entry.value, fresh = change->fresh;
		if (change->what == VALUE_ADD)
			fresh = value_sum(old >> tag_bits, fresh, yard->value_bits);
		status = overflow_change(&yard->list, &yard->allocator, &node->entry,
		                         fresh << tag_bits | (old & bits_low(tag_bits)));
	}
	let_go(yard);
	return status;
}

nidus_status yard_put_copies(struct yard *yard, struct yard_key key, uint64_t copies)
{
	nidus_entry entry = yard_list_entry(yard, key);
	while (copies > 0) {
		if (overflow_find(&yard->list, &entry, true) != NULL) {
			nidus_status status = yard_list_put(yard, key, copies);
			yard->count += status == NIDUS_OK ? copies : 0;
			return status;
		}
		nidus_status status = yard->ops->put(yard, key);
		if (status != NIDUS_OK)
			return status;
		copies--;
	}
	return NIDUS_OK;
}

/* ----------------------------------------------------------------- as a whole -- */

void yard_list_export(const struct yard *yard, unsigned char *bytes)
{
	const unsigned tag_bits = yard->tag_bits;
	const struct overflow_node *node = overflow_next(&yard->list, NULL);
	for (; node != NULL; node = overflow_next(&yard->list, &node->entry)) {
		uint64_t beside = node->entry.value, tag = beside & bits_low(tag_bits);
		store64(bytes, node->entry.home);
		store64(bytes + 8,
		        node->entry.fingerprint | tag << (yard->width + YARD_BUCKET_BITS));
		store64(bytes + 16, node->copies | beside >> tag_bits << 32);
		bytes += OVERFLOW_ENTRY;
	}
}

static bool possible(const struct yard *yard, struct yard_key key)
{
	return key.bucket < yard->fronts && key.m < yard->buckets &&
	       key.beside <= bits_low(yard->beside_bits);
}

nidus_status yard_list_import(struct yard *yard, const unsigned char *bytes, uint64_t n)
{
	const unsigned above = yard->width + YARD_BUCKET_BITS, tag_bits = yard->tag_bits;
	nidus_entry last = { 0 };
	nidus_status status = overflow_reserve(&yard->list, &yard->allocator, n);
	for (uint64_t i = 0; i < n && status == NIDUS_OK; i++, bytes += OVERFLOW_ENTRY) {
		uint64_t copies;
		nidus_entry entry = overflow_decode(bytes, &copies);
		uint64_t tag = entry.fingerprint >> above;
		entry.value = entry.value << tag_bits | (tag & bits_low(tag_bits));
		entry.fingerprint &= bits_low(above);
		if (tag > bits_low(tag_bits) || copies < 1 || !overflow_in_order(&last, &entry) ||
		    !possible(yard, yard_list_key(yard, &entry)))
			return fail(NIDUS_E_CORRUPT,
			            "entry %llu of the stash is out of range or order",
			            (unsigned long long)i);
		overflow_insert(&yard->list, &entry, copies);
		last = entry;
	}
	settle(yard);
	return status;
}

/* Copies of a key in its lines, whatever lies beside them. */
static unsigned in_lines(const struct yard *yard, struct yard_key key)
{
	struct yard_key other;
	uint64_t at = 0;
	unsigned copies = 0;
	while (yard_next_in(yard, key.bucket, &at, &other))
		copies += other.m == key.m && other.remainder == key.remainder;
	return copies;
}

nidus_status yard_list_verify(const struct yard *yard)
{
	const struct mini_shape front = yard->ops->shape.front;
	const struct overflow_node *node = overflow_next(&yard->list, NULL);
	nidus_entry last = { 0 };
	for (; node != NULL; last = node->entry, node = overflow_next(&yard->list, &last)) {
		struct yard_key key = yard_list_key(yard, &node->entry);
		if (last.home == node->entry.home && last.fingerprint == node->entry.fingerprint)
			continue;
		const unsigned char *line = yard->front + key.bucket * mini_line(front);
		bool spilled = mini_full(front, line) &&
		               key.m >= mini_last_bucket(front, mini_sizes_of(front, line));
		if (!possible(yard, key) || (!spilled && in_lines(yard, key) < YARD_COPIES))
			return fail(NIDUS_E_CORRUPT,
			            "front bucket %llu has room for an entry of the stash",
			            (unsigned long long)key.bucket);
	}
	return overflow_valid(&yard->list) ? NIDUS_OK
	                                   : fail(NIDUS_E_CORRUPT, "the stash is not in order");
}

nidus_status yard_list_copy(struct yard *to, const struct yard *from)
{
	nidus_status status = overflow_copy(&to->list, &from->list, &to->allocator);
	settle(to);
	return status;
}

void yard_list_free(struct yard *yard)
{
	overflow_free(&yard->list, &yard->allocator);
	settle(yard);
}

/* SPDX-License-Identifier: MIT
 *
 * directory_family: a directory as the body of a filter, by the table of a struct family.
 */
#include <pthread.h>

#include "api/directory_parts.h"
#include "base/reason.h"

static const struct family *inner_of(const struct blueprint *plan)
{
	return family_find((nidus_family)plan->family);
}

static nidus_status check(const struct blueprint *plan)
{
	return directory_check(inner_of(plan), plan);
}

static struct forecast forecast(const struct blueprint *plan, uint64_t keys)
{
	return directory_forecast(inner_of(plan), plan, keys);
}

static void free_directory(void *body)
{
	directory_free(body);
}

static void clear(void *body)
{
	directory_clear(body);
}

static nidus_status copy(void *to, const void *from)
{
	return directory_copy(to, from);
}

static nidus_status build(void *body, const uint64_t *hashes, const uint64_t *values, size_t n,
                          unsigned threads)
{
	(void)threads;
	return directory_build(body, hashes, values, n);
}

static const struct body_ops *ops(const void *body)
{
	(void)body;
	return &directory_ops;
}

static uint64_t count(const void *body)
{
	return directory_count(body);
}

static struct fill fill(const void *body)
{
	return directory_fill(body);
}

static nidus_status verify(const void *body)
{
	return directory_verify(body);
}

static bool next(const void *body, nidus_cursor *cursor, nidus_entry *entry)
{
	return directory_next(body, cursor, entry);
}

static nidus_status entry_hash(const void *body, const nidus_entry *entry, uint64_t *hash)
{
	return directory_entry_hash(body, entry, hash);
}

static nidus_entry identity(const void *body, uint64_t hash)
{
	return directory_identity(body, hash);
}

/* ---------------------------------------------------------------------- families -- */

static struct family growing[FAMILIES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* All that a family says of itself stays; what works on a body works on a directory of them. */
static void make_families(void)
{
	for (unsigned i = 0; i < FAMILIES; i++) {
		struct family family = *families[i];
		family.grows = true;
		family.body_size = sizeof(struct directory);
		family.check = check;
		family.forecast = forecast;
		family.create = NULL; /* but directory_create */
		family.free = free_directory;
		family.clear = clear;
		family.copy = copy;
		family.build = build;
		family.ops = ops;
		family.count = count;
		family.surplus = NULL;
		family.promise = NULL;
		family.fill = fill;
		family.verify = verify;
		family.next = next;
		family.entry_hash = entry_hash;
		family.identity = identity;
		family.table = NULL;
		family.export_stash = NULL;
		family.import = NULL;
		growing[i] = family;
	}
}

const struct family *directory_family(const struct family *inner)
{
	unsigned i = 0;
	(void)pthread_once(&once, make_families);
	while (i < FAMILIES && growing[i].id != inner->id)
		i++;
	return &growing[i];
}

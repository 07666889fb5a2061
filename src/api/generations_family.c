/* SPDX-License-Identifier: MIT
 *
 * generations_family: generations as the body of a filter, by the table of a struct family.
 */
#include <pthread.h>

#include "api/generations_parts.h"
#include "api/recent.h"

static const struct family *inner_of(const struct blueprint *plan)
{
	return family_find((nidus_family)plan->family);
}

static nidus_status check(const struct blueprint *plan)
{
	return generations_check(inner_of(plan), plan);
}

static struct forecast forecast(const struct blueprint *plan, uint64_t keys)
{
	return generations_forecast(inner_of(plan), plan, keys);
}

static void free_generations(void *body)
{
	generations_free(body);
}

static void clear(void *body)
{
	generations_clear(body);
}

static nidus_status copy(void *to, const void *from)
{
	return generations_copy(to, from);
}

static nidus_status build(void *body, const uint64_t *hashes, const uint64_t *values, size_t n,
                          unsigned threads)
{
	(void)threads;
	return generations_build(body, hashes, values, n);
}

static const struct body_ops *ops(const void *body)
{
	const struct generations *generations = body;
	return generations->first.shared ? &generations_shared_ops : &generations_ops;
}

static uint64_t count(const void *body)
{
	return generations_count(body);
}

static struct fill fill(const void *body)
{
	return generations_fill(body);
}

static double rate_now(const void *body, double load)
{
	(void)load;
	return generations_rate(body);
}

static nidus_status verify(const void *body)
{
	return generations_verify(body);
}

static bool next(const void *body, nidus_cursor *cursor, nidus_entry *entry)
{
	return generations_next(body, cursor, entry);
}

static nidus_status entry_hash(const void *body, const nidus_entry *entry, uint64_t *hash)
{
	return generations_entry_hash(body, entry, hash);
}

static nidus_entry identity(const void *body, uint64_t hash)
{
	return generations_identity(body, hash);
}

/* ---------------------------------------------------------------------- families -- */

static struct family unlimited[FAMILIES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* All that a family says of itself stays; what works on a body works on generations. */
static void make_families(void)
{
	for (unsigned i = 0; i < FAMILIES; i++) {
		struct family family = *families[i];
		family.unlimited = true;
		family.body_size = sizeof(struct generations);
		family.check = check;
		family.forecast = forecast;
		family.create = NULL; /* but generations_create */
		family.free = free_generations;
		family.clear = clear;
		family.copy = copy;
		family.build = build;
		family.ops = ops;
		family.count = count;
		family.surplus = NULL;
		family.promise = NULL;
		family.fill = fill;
		family.rate_now = rate_now;
		family.verify = verify;
		family.next = next;
		family.entry_hash = entry_hash;
		family.insert_entry = generations_insert_entry;
		family.identity = identity;
		family.transfer = NULL;
		family.spread = NULL;
		family.insert_copies = NULL;
		family.table = NULL;
		family.export_stash = NULL;
		family.import = NULL;
		unlimited[i] = family;
	}
}

const struct family *generations_family(const struct family *inner)
{
	unsigned i = 0;
	(void)pthread_once(&once, make_families);
	while (i < FAMILIES && unlimited[i].id != inner->id)
		i++;
	return &unlimited[i];
}

const struct family *family_of_plan(const struct family *inner, const struct blueprint *plan)
{
	if (plan->segmented == PLAN_GENERATIONS)
		return generations_family(inner);
	if (plan->slices > 0)
		return recent_family(inner);
	return plan->segmented ? directory_family(inner) : inner;
}

/* SPDX-License-Identifier: MIT
 *
 * recent_family: a filter that forgets as the body of a filter, by the table of a struct family; and what
 * it is in a file.
 */
#include <pthread.h>

#include "api/directory_parts.h"
#include "api/recent.h"
#include "base/reason.h"

/* -------------------------------------------------------------------------- plans -- */

bool recent_family_can(const struct family *family)
{
	/* Where an identity does not tell the first of two buckets it is not that of one place. */
	return family->pack != NULL && family->features & NIDUS_ENUMERATE;
}

bool recent_plan_possible(const struct blueprint *plan)
{
	if (plan->slices == 0)
		return true;
	const struct family *family = family_find((nidus_family)plan->family);
	return plan->slices >= 2 && plan->slices <= RECENT_SLICES_MOST &&
	       plan->segmented == PLAN_DIRECTORY && family != NULL && recent_family_can(family) &&
	       plan->value_bits == recent_bits(plan->slices) &&
	       !(plan->features & (NIDUS_DELETE | NIDUS_MULTISET));
}

size_t recent_size(const struct blueprint *plan)
{
	return sizeof(struct recent) + plan->slices * sizeof(uint64_t);
}

/* --------------------------------------------------------------------------- life -- */

static void forget_all(struct recent *recent)
{
	for (unsigned i = 0; i < recent->directory.ground->plan.slices; i++)
		recent->live[i] = 0;
	recent->list_swept = recent->tick;
}

static void clear(void *body)
{
	directory_clear(body);
	forget_all(body);
}

static nidus_status copy(void *to, const void *from)
{
	struct recent *copy = to;
	const struct recent *recent = from;
	nidus_status status = directory_copy(&copy->directory, &recent->directory);
	if (status != NIDUS_OK)
		return status;
	copy->tick = recent->tick;
	copy->list_swept = recent->list_swept;
	copy->now = recent->now;
	memcpy(copy->live, recent->live,
	       recent->directory.ground->plan.slices * sizeof *copy->live);
	return NIDUS_OK;
}

static const struct body_ops *ops(const void *body)
{
	const struct directory *directory = body;
	return directory->shared ? &recent_shared_ops : &recent_ops;
}

static uint64_t count(const void *body)
{
	return recent_count(body);
}

static struct fill fill(const void *body)
{
	struct fill fill = directory_fill(body);
	fill.count = recent_count(body);
	return fill;
}

/* ---------------------------------------------------------------------- contents -- */

/* The next entry, live or not, and its age, which is below 0 if a file is damaged. */
static bool next_of_all(const struct recent *recent, nidus_cursor *cursor, nidus_entry *entry,
                        int *age)
{
	const struct directory *directory = &recent->directory;
	if (!directory_next(directory, cursor, entry))
		return false;
	*age = directory->index != NULL
	               ? recent_age_of_entry(recent, directory->index[cursor->position[0]], entry)
	               : recent_age_of_entry(recent, NULL, entry);
	return true;
}

/* A walk yields what is live, with its age as its value. */
static bool next(const void *body, nidus_cursor *cursor, nidus_entry *entry)
{
	const struct recent *recent = body;
	int age;
	while (next_of_all(recent, cursor, entry, &age)) {
		if (age >= (int)recent->directory.ground->plan.slices)
			continue;
		entry->value = age > 0 ? (uint64_t)age : 0;
		return true;
	}
	return false;
}

/* Walks through all entries and counts the live ones: `found`, in the places of their ages. */
static nidus_status count_entries(const struct recent *recent, uint64_t found[RECENT_SLICES_MOST])
{
	const unsigned slices = recent->directory.ground->plan.slices;
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry;
	int age;
	memset(found, 0, RECENT_SLICES_MOST * sizeof *found);
	while (next_of_all(recent, &cursor, &entry, &age)) {
		if (age < 0)
			return fail(NIDUS_E_CORRUPT, "an entry was refreshed in a slice to come");
		if (age < (int)slices)
			found[age]++;
	}
	return NIDUS_OK;
}

static nidus_status verify(const void *body)
{
	const struct recent *recent = body;
	uint64_t found[RECENT_SLICES_MOST];
	nidus_status status = directory_verify(body);
	if (status == NIDUS_OK)
		status = count_entries(recent, found);
	for (unsigned i = 0; i < recent->directory.ground->plan.slices && status == NIDUS_OK; i++) {
		if (found[i] != recent_of_age(recent, i))
			return fail(NIDUS_E_CORRUPT,
			            "%llu keys are %u slices old; the counts say %llu",
			            (unsigned long long)found[i], i,
			            (unsigned long long)recent_of_age(recent, i));
	}
	return status;
}

static nidus_status insert_entry(void *body, const nidus_entry *entry)
{
	const struct directory *directory = body;
	uint64_t hash;
	if (entry->value >= directory->ground->plan.slices)
		return fail(NIDUS_E_RANGE, "an entry of age %llu is one that %u slices forget",
		            (unsigned long long)entry->value, directory->ground->plan.slices);
	nidus_status status = directory_entry_hash(directory, entry, &hash);
	return status == NIDUS_OK ? ops(body)->insert_value(body, hash, entry->value) : status;
}

/* -------------------------------------------------------------------------- files -- */

uint64_t recent_counts_size(const struct blueprint *plan)
{
	return divide_up(plan->slices * UINT64_C(8), MEMORY_LINE) * MEMORY_LINE;
}

void recent_save_counts(const struct recent *recent, unsigned char *bytes)
{
	for (unsigned i = 0; i < recent->directory.ground->plan.slices; i++)
		store64(bytes + 8 * i, recent_of_age(recent, i));
}

nidus_status recent_load_counts(struct recent *recent, const unsigned char *bytes, uint64_t most)
{
	const struct blueprint *plan = &recent->directory.ground->plan;
	bool right = true;
	recent->now = plan->slices - 1u;
	for (unsigned i = 0; i < plan->slices; i++) {
		uint64_t count = load64(bytes + 8 * i);
		right = right && count <= most;
		most -= right ? count : 0;
		recent->live[plan->slices - 1u - i] = count;
	}
	for (uint64_t at = plan->slices * 8u; at < recent_counts_size(plan); at++)
		right = right && bytes[at] == 0;
	return right ? NIDUS_OK
	             : fail(NIDUS_E_FORMAT, "the counts of the slices make no sense");
}

/* ----------------------------------------------------------------------- families -- */

static struct family forgetting[FAMILIES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A directory but for what knows of time. */
static void make_families(void)
{
	for (unsigned i = 0; i < FAMILIES; i++) {
		struct family family = *directory_family(families[i]);
		family.features &= ~(uint32_t)(NIDUS_DELETE | NIDUS_MULTISET);
		family.clear = clear;
		family.copy = copy;
		family.build = NULL;
		family.ops = ops;
		family.count = count;
		family.fill = fill;
		family.verify = verify;
		family.next = next;
		family.insert_entry = insert_entry;
		family.pack = NULL;
		forgetting[i] = family;
	}
}

const struct family *recent_family(const struct family *inner)
{
	unsigned i = 0;
	(void)pthread_once(&once, make_families);
	while (i < FAMILIES && forgetting[i].id != inner->id)
		i++;
	return &forgetting[i];
}

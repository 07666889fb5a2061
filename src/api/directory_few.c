/* SPDX-License-Identifier: MIT
 *
 * directory_few: a growing filter of a few keys, which is a list of entries (base/few.h).
 */
#include "api/directory_parts.h"

#define FORGETTING_MOST 1024 /* entries of the list of a filter that forgets */
#define TWO_BODIES_MOST 24576 /* keys of two bodies of any family; a longer list would be slow */

unsigned directory_list_bits(const struct family *inner, const struct blueprint *plan)
{
	uint64_t homes = plan->chunks * plan->groups;
	unsigned bits = homes > 1 ? log2_floor(homes - 1) + 1 : 0;
	bits += inner->tag_at(plan) + plan->growth_bits;
	return bits <= 64 ? bits : 0;
}

uint64_t directory_list_most(const struct blueprint *plan, uint64_t keys, unsigned bits,
                             bool shared)
{
	uint64_t most;
	if (shared || bits == 0 || multiply_overflows(plan->chunks, keys, &most) ||
	    most > TWO_BODIES_MOST)
		return 0;
	/* Expired entries leave a list one by one: that is work of one insert. */
	return plan->slices > 0 && most / 2 > FORGETTING_MOST ? FORGETTING_MOST : most / 2;
}

/* ------------------------------------------------------------------------ numbers -- */

/* Bits of a fingerprint, with those of growth. */
static unsigned fingerprint_bits(const struct directory *directory)
{
	return directory->inner->tag_at(&directory->ground->plan) +
	       directory->ground->plan.growth_bits;
}

/*
 * What stands in the list for a key: home and fingerprint of its entry. Keys that a body could not
 * tell apart are the same in the list, too.
 */
static uint64_t number_of(const struct directory *directory, uint64_t hash)
{
	nidus_entry entry = directory_identity(directory, hash);
	return entry.home << fingerprint_bits(directory) | entry.fingerprint;
}

nidus_entry directory_listed_entry(const struct directory *directory, struct few_record record)
{
	unsigned bits = fingerprint_bits(directory);
	return (nidus_entry){ .home = record.number >> bits,
		              .fingerprint = record.number & bits_low(bits),
		              .value = record.value };
}

/* A hash whose key is in the list as this record. Errors: E_RANGE (there is none). */
static nidus_status hash_of(const struct directory *directory, struct few_record record,
                            uint64_t *hash)
{
	nidus_entry entry = directory_listed_entry(directory, record);
	return directory_entry_hash(directory, &entry, hash);
}

nidus_status directory_put_list(struct directory *to, const struct directory *from)
{
	const struct few *few = &from->few;
	struct few_place place = { 0, 0 };
	struct few_record record;
	nidus_status status = NIDUS_OK;
	uint64_t hash;
	while (status == NIDUS_OK && few_next(few, &place, &record)) {
		status = hash_of(from, record, &hash);
		if (status == NIDUS_OK)
			status = directory_put_copies(to, hash, record.value,
			                              few_copies_of(few, record));
	}
	return status;
}

/* ------------------------------------------------------------------- from a file -- */

#define RECORDS_MOST (TWO_BODIES_MOST / 2) /* other values of keys that are there are no new keys */

_Static_assert(RECORDS_MOST < FEW_MOST, "a list takes them, and one more on its way");

bool directory_list_allowed(const struct directory *directory, uint64_t records)
{
	return !directory->shared && records <= RECORDS_MOST && directory->few.bits > 0;
}

bool directory_list_valid(const struct directory *directory)
{
	struct few_place place = { 0, 0 };
	struct few_record record;
	uint64_t hash;
	if (!few_in_order(&directory->few))
		return false;
	while (few_next(&directory->few, &place, &record)) {
		if (hash_of(directory, record, &hash) != NIDUS_OK ||
		    number_of(directory, hash) != record.number)
			return false;
	}
	return true;
}

/* -------------------------------------------------------------------------- calls -- */

/* The first record of a number, from a value on; false: there is none. */
static bool find_record(const struct few *few, struct few_record from, struct few_record *record)
{
	struct few_place place = few_find(few, from);
	return few_next(few, &place, record) && record->number == from.number;
}

/* Makes leaves that hold what the list does; leave_list() decides which of the two stays. */
static nidus_status plant_list(struct directory *directory)
{
	nidus_status status = directory_plant(directory);
	return status == NIDUS_OK ? directory_put_list(directory, directory) : status;
}

/* The leaves stay if all went well, otherwise the list. */
static nidus_status leave_list(struct directory *directory, nidus_status status)
{
	if (status == NIDUS_OK)
		few_free(&directory->few, &directory->ground->allocator);
	else
		directory_uproot(directory);
	return status;
}

nidus_status directory_leave_list(struct directory *directory)
{
	return leave_list(directory, plant_list(directory));
}

uint64_t directory_few_copies(const struct directory *directory, uint64_t hash)
{
	return directory->few.count == 0 ? 0
	                                 : few_copies(&directory->few, number_of(directory, hash));
}

/* Whether a record may come, or is there: keys up to half a body, and any values of them. */
static bool takes(const struct directory *directory, struct few_record record)
{
	const struct few *few = &directory->few;
	struct few_record there;
	if (few->count < directory->few_most && few->count < RECORDS_MOST)
		return true;
	if (few->count < RECORDS_MOST)
		record.value = 0; /* any will do */
	bool known = find_record(few, record, &there);
	return known && (few->count < RECORDS_MOST || there.value == record.value);
}

nidus_status directory_few_put(struct directory *directory, uint64_t hash, uint64_t value,
                               uint64_t copies)
{
	struct few_record record = { number_of(directory, hash), value };
	if (takes(directory, record))
		return few_insert(&directory->few, record, copies, &directory->ground->allocator);
	nidus_status status = plant_list(directory);
	if (status == NIDUS_OK)
		status = directory_put_copies(directory, hash, value, copies);
	return leave_list(directory, status);
}

nidus_status directory_few_take(struct directory *directory, uint64_t hash)
{
	struct few_record first = { number_of(directory, hash), 0 }, record;
	if (!find_record(&directory->few, first, &record))
		return NIDUS_NOT_FOUND;
	few_remove(&directory->few, record);
	return NIDUS_OK;
}

nidus_status directory_few_change(struct directory *directory, uint64_t hash,
                                  struct value_change change)
{
	struct few *few = &directory->few;
	bool any = change.what == VALUE_ADD;
	struct few_record first = { number_of(directory, hash), any ? 0 : change.old }, record;
	if (!find_record(few, first, &record) || (!any && record.value != change.old))
		return NIDUS_NOT_FOUND;
	struct few_record fresh = { record.number, change.fresh };
	if (any)
		fresh.value =
			value_sum(record.value, change.fresh, directory->ground->plan.value_bits);
	if (change.what != VALUE_REMOVE && !takes(directory, fresh)) {
		nidus_status status = plant_list(directory);
		if (status == NIDUS_OK)
			status = directory->ops->change(directory_body(directory, hash), hash,
			                                change);
		return leave_list(directory, status);
	}
	if (change.what != VALUE_REMOVE) {
		nidus_status status = few_insert(few, fresh, 1, &directory->ground->allocator);
		if (status != NIDUS_OK)
			return status;
	}
	few_remove(few, record);
	return NIDUS_OK;
}

size_t directory_few_values(const struct directory *directory, uint64_t hash, uint64_t *values,
                            size_t cap)
{
	const struct few *few = &directory->few;
	struct few_record record = { number_of(directory, hash), 0 };
	const uint64_t number = record.number;
	struct few_place place = few_find(few, record);
	size_t found = 0;
	while (few_next(few, &place, &record) && record.number == number) {
		for (uint64_t left = few_copies_of(few, record); left > 0; left--, found++) {
			if (found >= cap) {
				found += left;
				break;
			}
			values[found] = record.value;
		}
	}
	return found;
}

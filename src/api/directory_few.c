/* SPDX-License-Identifier: MIT
 *
 * directory_few: a growing filter of a few keys, which is a list of hashes (base/few.h).
 */
#include "api/directory_parts.h"

#define FEW_MOST 24576 /* of two bodies of any family; a longer list would be slow */

uint64_t directory_list_most(uint64_t base, uint64_t keys, bool shared)
{
	uint64_t most;
	if (shared || multiply_overflows(base, keys, &most))
		return 0;
	return most <= FEW_MOST ? most / 2 : 0;
}

uint64_t directory_few_most(const struct directory *directory)
{
	return directory_list_most(directory->base, directory->keys, directory->shared);
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

bool directory_list_allowed(const struct directory *directory, uint64_t records)
{
	return !directory->shared && records <= FEW_MOST / 2;
}

bool directory_list_valid(const struct directory *directory)
{
	const struct few *few = &directory->few;
	for (uint64_t i = 0; i < few->count; i++) {
		if (listed_hash(directory, few_hash(few, i)) != few_hash(few, i))
			return false;
	}
	return few_in_order(few, directory->hash_mask, bits_low(directory->plan.value_bits));
}

nidus_status directory_leave_list(struct directory *directory)
{
	const struct few *few = &directory->few;
	nidus_status status = directory_plant(directory);
	for (uint64_t i = 0; i < few->count && status == NIDUS_OK; i++)
		status = directory_put_copies(directory, few_hash(few, i), few_value(few, i),
		                              few_copies_of(few, i));
	if (status == NIDUS_OK)
		few_free(&directory->few, &directory->allocator);
	else
		directory_uproot(directory);
	return status;
}

uint64_t directory_few_copies(const struct directory *directory, uint64_t hash)
{
	return directory->few.count == 0
	               ? 0
	               : few_copies(&directory->few, listed_hash(directory, hash));
}

nidus_status directory_few_put(struct directory *directory, uint64_t hash, uint64_t value,
                               uint64_t copies)
{
	if (directory->few.count >= directory_few_most(directory) &&
	    directory_few_copies(directory, hash) == 0) {
		nidus_status status = directory_leave_list(directory);
		return status == NIDUS_OK ? directory_put_copies(directory, hash, value, copies)
		                          : status;
	}
	return few_insert(&directory->few, listed_hash(directory, hash), value, copies,
	                  &directory->allocator);
}

nidus_status directory_few_take(struct directory *directory, uint64_t hash)
{
	struct few *few = &directory->few;
	hash = listed_hash(directory, hash);
	uint64_t index = few_find(few, hash, 0);
	if (index == few->count || few_hash(few, index) != hash)
		return NIDUS_NOT_FOUND;
	few_remove(few, index);
	return NIDUS_OK;
}

nidus_status directory_few_change(struct directory *directory, uint64_t hash,
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
	uint64_t fresh = any ? value_sum(value, change.fresh, directory->plan.value_bits)
	                     : change.fresh;
	if (change.what != VALUE_REMOVE) {
		nidus_status status = few_insert(few, hash, fresh, 1, &directory->allocator);
		if (status != NIDUS_OK)
			return status;
	}
	few_remove(few, few_find(few, hash, value));
	return NIDUS_OK;
}

size_t directory_few_values(const struct directory *directory, uint64_t hash, uint64_t *values,
                            size_t cap)
{
	const struct few *few = &directory->few;
	hash = listed_hash(directory, hash);
	uint64_t index = few_find(few, hash, 0);
	size_t found = 0;
	for (; index < few->count && few_hash(few, index) == hash; index++) {
		for (uint64_t left = few_copies_of(few, index); left > 0; left--, found++) {
			if (found >= cap) {
				found += left;
				break;
			}
			values[found] = few_value(few, index);
		}
	}
	return found;
}

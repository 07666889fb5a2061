/* SPDX-License-Identifier: MIT
 *
 * few: the entries of a growing filter that has only a few, as hashes in ascending order.
 *
 * Below half a segment a table would be mostly empty. The hashes themselves, cut off behind the
 * last bit that the filter will ever look at, take less: a record is the highest `bytes` bytes
 * of a hash, the lowest first, and its value if there are values. Equal records are copies. So
 * the same entries always lie the same way, whatever order they came in.
 */
#ifndef NIDUS_BASE_FEW_H
#define NIDUS_BASE_FEW_H

#include "base/memory.h"

struct few {
	struct block memory;
	uint64_t count;
	unsigned bytes;       /* of a hash, 1 to 8 */
	unsigned value_bytes; /* of its value, 0 to 4 */
};

/* Bytes of all records. */
static inline uint64_t few_size(const struct few *few)
{
	return few->count * (few->bytes + few->value_bytes);
}

/* The hash and the value of a record. */
uint64_t few_hash(const struct few *few, uint64_t index);
uint64_t few_value(const struct few *few, uint64_t index);

/* The first record that is not below a hash and a value; few->count if there is none. */
uint64_t few_find(const struct few *few, uint64_t hash, uint64_t value);

/* How many records have this hash; they follow few_find(few, hash, 0). */
uint64_t few_copies(const struct few *few, uint64_t hash);

/* Makes room for so many records in all. Errors: E_NOMEM; nothing changed then. */
nidus_status few_reserve(struct few *few, uint64_t count, const nidus_allocator *allocator);

/* Puts a record in. Errors: E_NOMEM; nothing changed then. */
nidus_status few_insert(struct few *few, uint64_t hash, uint64_t value,
                        const nidus_allocator *allocator);

/* Takes a record out. */
void few_remove(struct few *few, uint64_t index);

/* Whether records ascend and have nothing above the bits that they may have. */
bool few_in_order(const struct few *few, uint64_t hash_mask, uint64_t value_mask);

#endif

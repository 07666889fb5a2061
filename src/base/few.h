/* SPDX-License-Identifier: MIT
 *
 * few: the entries of a growing filter that has only a few, as hashes in ascending order.
 *
 * Below half a segment a table would be mostly empty. The hashes themselves, cut off behind the
 * last bit that the filter will ever look at, take less: a record is the highest `bytes` bytes
 * of a hash, the lowest first, and its value if there are values. Records ascend, and none is
 * there twice: further copies of it are counted in an exact list (base/overflow.h), where the hash stands
 * for the home. So the same entries always lie the same way, whatever order they came in.
 */
#ifndef NIDUS_BASE_FEW_H
#define NIDUS_BASE_FEW_H

#include "base/overflow.h"

struct few {
	struct block memory;
	uint64_t count;         /* of records */
	unsigned bytes;         /* of a hash, 1 to 8 */
	unsigned value_bytes;   /* of its value, 0 to 4 */
	struct overflow copies; /* beyond the first of each record */
};

/* Entries, with all copies. */
static inline uint64_t few_entries(const struct few *few)
{
	return few->count + few->copies.entries;
}

/* Bytes of all records. */
static inline uint64_t few_size(const struct few *few)
{
	return few->count * (few->bytes + few->value_bytes);
}

/* The hash and the value of a record, and how many copies of it there are, itself included. */
uint64_t few_hash(const struct few *few, uint64_t index);
uint64_t few_value(const struct few *few, uint64_t index);
uint64_t few_copies_of(const struct few *few, uint64_t index);

/* The first record that is not below a hash and a value; few->count if there is none. */
uint64_t few_find(const struct few *few, uint64_t hash, uint64_t value);

/* How many entries have this hash; their records follow few_find(few, hash, 0). */
uint64_t few_copies(const struct few *few, uint64_t hash);

/* Makes room for so many records in all. Errors: E_NOMEM; nothing changed then. */
nidus_status few_reserve(struct few *few, uint64_t count, const nidus_allocator *allocator);

/* Puts copies of an entry in, one or more. Errors: E_NOMEM, COPIES; nothing changed then. */
nidus_status few_insert(struct few *few, uint64_t hash, uint64_t value, uint64_t copies,
                        const nidus_allocator *allocator);

/* Takes one copy of a record out. */
void few_remove(struct few *few, uint64_t index);

/* Takes all out; the memory of the records stays. */
void few_clear(struct few *few, const nidus_allocator *allocator);
void few_free(struct few *few, const nidus_allocator *allocator);

/* Copies all into an empty one. Errors: E_NOMEM. */
nidus_status few_copy(struct few *to, const struct few *from, const nidus_allocator *allocator);

/*
 * Takes further copies as overflow_export wrote them, `n` different ones. Errors: E_CORRUPT (they
 * cannot be those of these records), E_NOMEM.
 */
nidus_status few_import_copies(struct few *few, const unsigned char *bytes, uint64_t n,
                               const nidus_allocator *allocator);

/* Whether records ascend and have nothing above the bits that they may have. */
bool few_in_order(const struct few *few, uint64_t hash_mask, uint64_t value_mask);

#endif

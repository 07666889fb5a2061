/* SPDX-License-Identifier: MIT
 *
 * few: the entries of a growing filter that has only a few, in ascending order.
 *
 * Below half a segment a table would be mostly empty. The entries themselves take less: a record
 * is a number of `bits` bits, and its value if there are values. Records ascend by both, and none
 * is there twice: further copies of it are counted in an exact list (base/overflow.h), where
 * the number stands for the home. So the same entries always lie the same way, whatever order they came in.
 *
 * As Elias and Fano do it, numbers in order need not be written out. A number is cut into its head, as many bits
 * as n records need to be told apart, and the rest. Heads stand in unary: a one for each record,
 * and a zero behind the last one of each of the 2^k heads.
 *
 *     k = ceil(log2 n), at most `bits`
 *
 *     | n times: rest, bits - k bits; value | heads, n + 2^k bits | marks, 16 bits each | zeros |
 *
 * The number of the records before every 64th head, from the second of these on, is a mark: so a
 * head is found in a few steps. It takes about bits - log2(n) + 2 bits per record:
 * 6 records of 8 bits, 3, 40, 41, 200, 230 and 255, have the heads 0, 1, 1, 6, 7 and 7 of 3 bits,
 * in unary (the first bit is on the left) 10 110 0 0 0 0 10 110, and the rests 3, 8, 9, 8, 6 and 31.
 *
 * An insert moves the bits behind it: about 2,500 words with 12,000 records.
 */
#ifndef NIDUS_BASE_FEW_H
#define NIDUS_BASE_FEW_H

#include "base/overflow.h"

#define FEW_MOST 16384 /* records */

/* Many filters are such a list and nothing else: it takes three words. */
struct few {
	unsigned char *bytes;
	struct overflow *copies; /* beyond the first of each record; NULL: there were none yet */
	uint32_t size;      /* bytes that were taken; 0: there are none, or they are a file's */
	uint16_t count;     /* of records */
	uint8_t bits;       /* of a number, 1 to 64 */
	uint8_t value_bits; /* 0 to 32 */
};

struct few_record {
	uint64_t number, value;
};

/* Where a record is, or would be. All zero: the first one. */
struct few_place {
	uint64_t index, head;
};

/* The list of further copies, which may be empty. */
const struct overflow *few_overflow(const struct few *few);

/* Entries, with all copies. */
static inline uint64_t few_entries(const struct few *few)
{
	return few->count + few_overflow(few)->entries;
}

/* Bytes of memory that a list has. */
uint64_t few_memory(const struct few *few);

/* Bytes that so many records have; they are in few->bytes. */
uint64_t few_size(unsigned bits, unsigned value_bits, uint64_t count);
uint64_t few_bytes(const struct few *few);

/* The first record that is not below a number and a value. */
struct few_place few_find(const struct few *few, struct few_record from);

/* The record at a place, which moves on; false: there is none. */
bool few_next(const struct few *few, struct few_place *place, struct few_record *record);

/* How many copies of a record that is there there are, itself included. */
uint64_t few_copies_of(const struct few *few, struct few_record record);

/* How many entries have this number. */
uint64_t few_copies(const struct few *few, uint64_t number);

/* Makes room for so many records in all. Errors: E_NOMEM; nothing changed then. */
nidus_status few_reserve(struct few *few, uint64_t count, const nidus_allocator *allocator);

/*
 * Puts copies of an entry in, one or more; there are less than FEW_MOST records. Errors: E_NOMEM,
 * COPIES; nothing changed then.
 */
nidus_status few_insert(struct few *few, struct few_record record, uint64_t copies,
                        const nidus_allocator *allocator);

/* Takes one copy of a record out, which is there. */
void few_remove(struct few *few, struct few_record record);

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

/* Whether records ascend, and heads and marks are right. Other calls take whatever bits there are. */
bool few_in_order(const struct few *few);

#endif

/* SPDX-License-Identifier: MIT
 *
 * yard_list: the exact list of entries that the lines of a yard have no place for.
 *
 * It holds copies of a key beyond YARD_COPIES, and what finds its backyard lines full. One entry
 * stands for all copies with the same value and tag:
 *
 *     home = front bucket; fingerprint = mini-bucket + 1 and the remainder; value = what lies beside
 *
 * Invariant: the lines hold YARD_COPIES of a listed entry, whatever lies beside them, or its
 * mini-bucket is spilled: its front line is full and ends with a mini-bucket not above it. So a
 * lookup asks the list only where it asked the backyard, and found nothing there. Removes take
 * from the list first. A place that becomes free brings listed entries home.
 *
 * Threads that share a yard: whoever changes the entries of a front bucket has the locks of all its
 * lines, so readers that find the versions of those unchanged saw lines and list at one moment.
 * Changes of the list exclude each other by a version of its own (overflow_seen).
 */
#ifndef NIDUS_YARD_LIST_H
#define NIDUS_YARD_LIST_H

#include "yard/yard.h"

/* Whether there is anything in the list. */
static inline bool yard_listed(const struct yard *yard)
{
	return __atomic_load_n(&yard->list.nodes, __ATOMIC_ACQUIRE) != 0;
}

/* An entry of the list for a key, and back. */
nidus_entry yard_list_entry(const struct yard *yard, struct yard_key key);
struct yard_key yard_list_key(const struct yard *yard, const nidus_entry *entry);

/* Whether there are listed copies of a key, whatever lies beside them. */
bool yard_list_has(const struct yard *yard, struct yard_key key);

/* How many a key with its tag has, added to the `found` ones of which the first `cap` values are there. */
size_t yard_list_find(const struct yard *yard, struct yard_key key, uint64_t *values, size_t cap,
                      size_t found);

/* The first listed entry of a front bucket, or the first behind all with a key's identity. */
bool yard_list_first(struct yard *yard, uint64_t bucket, const struct yard_key *behind,
                     struct yard_key *first);

/* Adds copies of a key. Errors: COPIES, E_NOMEM. */
nidus_status yard_list_put(struct yard *yard, struct yard_key key, uint64_t copies);

/*
 * Adds a key that has no place in the lines. Errors: FULL, if the yard holds as many as it
 * promises to and the list has none of this key; COPIES, E_NOMEM.
 */
nidus_status yard_list_spill(struct yard *yard, struct yard_key key);

/* Takes one copy of a key out that a change may be made to (NULL: of any value). */
bool yard_list_take(struct yard *yard, struct yard_key key, const struct value_change *change);

/* Gives a listed copy of a key another value. Errors: NOT_FOUND, COPIES, E_NOMEM. */
nidus_status yard_list_change(struct yard *yard, struct yard_key key,
                              const struct value_change *change);

/* Listed entries with all copies; copies beyond the first of each; bytes of the list. */
uint64_t yard_list_entries(const struct yard *yard);
uint64_t yard_list_surplus(const struct yard *yard);
uint64_t yard_list_bytes(const struct yard *yard);

/* Adds copies of an entry to a yard: to its lines while there is room. Errors: as put. */
nidus_status yard_put_copies(struct yard *yard, struct yard_key key, uint64_t copies);

/*
 * For files: entries of OVERFLOW_ENTRY bytes, with the tag above the mini-bucket as in
 * yard_identity. yard_list_import checks each, and that they ascend; not what the lines say of
 * them. Errors: E_CORRUPT, E_NOMEM.
 */
void yard_list_export(const struct yard *yard, unsigned char *bytes);
nidus_status yard_list_import(struct yard *yard, const unsigned char *bytes, uint64_t n);

/* Whether the invariant holds. Errors: E_CORRUPT. */
nidus_status yard_list_verify(const struct yard *yard);

/* Into an empty yard of the same plan. Errors: E_NOMEM. */
nidus_status yard_list_copy(struct yard *to, const struct yard *from);
void yard_list_free(struct yard *yard);

#endif

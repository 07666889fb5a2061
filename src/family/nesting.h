/* SPDX-License-Identifier: MIT
 *
 * nesting: what the families whose body is a nest share.
 */
#ifndef NIDUS_FAMILY_NESTING_H
#define NIDUS_FAMILY_NESTING_H

#include "family/family.h"
#include "table/nest.h"

void nesting_free(void *body);
void nesting_clear(void *body);
nidus_status nesting_copy(void *to, const void *from);
const struct body_ops *nesting_ops(const void *body);
uint64_t nesting_count(const void *body);
struct fill nesting_fill(const void *body);
nidus_status nesting_verify(const void *body);
bool nesting_next(const void *body, nidus_cursor *cursor, nidus_entry *entry);
nidus_status nesting_insert_entry(void *body, const nidus_entry *entry);
unsigned char *nesting_table(const void *body, uint64_t *size);
void nesting_export_stash(const void *body, unsigned char *bytes);
nidus_status nesting_import(void *body, const unsigned char *stash, uint64_t stashed);

/* The members of a struct family that are the same for all of them. */
#define NESTING_MEMBERS                                                                         \
	.body_size = sizeof(struct nest), .free = nesting_free, .clear = nesting_clear,         \
	.copy = nesting_copy, .ops = nesting_ops, .count = nesting_count, .fill = nesting_fill, \
	.verify = nesting_verify, .next = nesting_next, .insert_entry = nesting_insert_entry,   \
	.table = nesting_table, .export_stash = nesting_export_stash, .import = nesting_import

/*
 * Options that no nest can honour yet, said in words. Errors: E_UNSUPPORTED,
 * E_RANGE.
 */
nidus_status nesting_check_options(const nidus_options *options);

/* options.stash in a plan's terms; `best` for 0. */
uint32_t nesting_stash_limit(const nidus_options *options, uint64_t best);

/*
 * The core bits with which `compared` slots that are taken with probability
 * `load` match a foreign key with at most the rate `fpr`.
 */
unsigned nesting_core_bits(double fpr, double compared, double load);

/* The rate that so many core bits give. */
double nesting_fpr(unsigned core_bits, double compared, double load);

/* XOR kinds: the keys that keep the plan's rate, `fits` at most. */
uint64_t nesting_keys_at_rate(const struct blueprint *plan, uint64_t slots, uint64_t fits);

/* XOR kinds: what a plan comes to. */
struct forecast nesting_forecast(const struct blueprint *plan, uint64_t keys, enum nest_kind kind);

#endif

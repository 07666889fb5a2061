/* SPDX-License-Identifier: MIT
 *
 * nests: bare tables of every kind, also such as no option makes yet.
 */
#ifndef NIDUS_TESTS_SUPPORT_NESTS_H
#define NIDUS_TESTS_SUPPORT_NESTS_H

#include "nest/nest.h"

/* A plan with the numbers a nest needs; the rest are good for any. With tags there is one chunk. */
struct blueprint nest_plan(unsigned slots, unsigned core_bits, unsigned tag_bits, uint64_t chunks,
                           uint64_t groups);

/* Whether nest_check lets it pass. */
bool nest_plan_possible(const struct blueprint *plan, enum nest_kind kind);

/*
 * Makes a nest from the system's memory; the test fails if that fails. One with tags is the body
 * of all parts of a growing filter, so that any hash is one of its own.
 */
void nest_make(struct nest *nest, const struct blueprint *plan, enum nest_kind kind);

/* All entries, sorted. The caller frees them. */
nidus_entry *nest_entries(const struct nest *nest, uint64_t *n);
void entries_sort(nidus_entry *entries, uint64_t n);

/* Whether walks through two filters yield the same entries. */
bool entries_equal(const nidus_filter *a, const nidus_filter *b);

/* The entry that a hash becomes. */
nidus_entry nest_entry_of(const struct nest *nest, uint64_t hash);

/* All kinds, for loops. */
#define NEST_KIND_FIRST NEST_XOR
#define NEST_KIND_LAST NEST_WINDOWS

const char *nest_kind_name(enum nest_kind kind);

#endif

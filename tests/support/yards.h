/* SPDX-License-Identifier: MIT
 *
 * yards: bare front yards and backyards, and the tiers that this processor has.
 */
#ifndef NIDUS_TESTS_SUPPORT_YARDS_H
#define NIDUS_TESTS_SUPPORT_YARDS_H

#include "yard/yard.h"

/* What yard_find takes: the slots of front lines, of short ones last. */
#define YARD_SHAPES 13
extern const unsigned yard_shapes[YARD_SHAPES];

/* Options that lead the breadcrumb family to lines of so many slots. */
nidus_options yard_options(unsigned slots, uint64_t capacity, uint64_t seed);

/* Makes a yard from the system's memory; the test fails if that fails. */
void yard_make(struct yard *yard, unsigned slots, uint64_t fronts);

/* The same with values of so many bits. */
void yard_make_for_values(struct yard *yard, unsigned slots, uint64_t fronts, unsigned value_bits);

/* Calls test once per tier, with that tier in use; the first one is in use again afterwards. */
void each_tier(void (*test)(const char *tier));

/* The number of a backyard line, its bytes, and how many entries are in it. */
uint64_t yard_line_number(const struct yard *yard, uint64_t bucket, unsigned half);
const unsigned char *yard_line(const struct yard *yard, uint64_t line);
unsigned yard_line_count(const struct yard *yard, uint64_t line);

/*
 * Checks by the definition that front buckets hold prefixes and that crumbs lead
 * home, without the help of yard_verify.
 */
void expect_prefixes(const struct yard *yard);

#endif

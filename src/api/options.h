/* SPDX-License-Identifier: MIT
 *
 * options: from what a caller wrote to a plan.
 */
#ifndef NIDUS_API_OPTIONS_H
#define NIDUS_API_OPTIONS_H

#include "family/family.h"

#define OPTIONS_FPR_LEAST 0x1p-32
/* Without a size: later generations need bits of the hash, too. */
#define OPTIONS_FPR_LEAST_UNLIMITED 0x1p-24
#define OPTIONS_FPR_DEFAULT 0x1p-8

/* All bits that mean something in options.features. */
#define OPTIONS_FEATURES                                                                \
	(NIDUS_DELETE | NIDUS_ENUMERATE | NIDUS_MERGE | NIDUS_GROW | NIDUS_CONCURRENT | \
	 NIDUS_FAST | NIDUS_MULTISET | NIDUS_NO_DELETE | NIDUS_COMPACT | NIDUS_STATIC)

/*
 * Those that are no ability of a family: FAST is a wish about the choice, NO_DELETE a promise,
 * COMPACT a form.
 */
#define OPTIONS_NO_ABILITIES (NIDUS_FAST | NIDUS_NO_DELETE | NIDUS_COMPACT)

/* Takes over a caller's struct of any size. Errors: E_ARG, E_UNSUPPORTED. */
nidus_status options_read(const nidus_options *from, nidus_options *to);

/* Whether an allocator has both functions or none; NULL is fine. Errors: E_ARG. */
nidus_status options_check_allocator(const nidus_allocator *allocator);

/*
 * Checks what is wrong for every family and fills in the rate.
 * Errors: E_ARG, E_RANGE, E_UNSUPPORTED.
 */
nidus_status options_check(nidus_options *options);

/* Whether only a family that never changes will do. */
bool options_static(const nidus_options *options);

/* Draws a seed where none was given. Errors: E_IO. */
nidus_status options_seed(nidus_options *options);

/*
 * The keys with which families are compared. Those that grow are as they will be: a few keys are
 * the same list in all.
 */
uint64_t options_most(const nidus_options *options);

/* The same without a size. */
#define OPTIONS_UNLIMITED_KEYS (UINT64_C(1) << 24)

/* Sets a capacity, and raises max_capacity to it where one was given. */
void options_size_for(nidus_options *options, uint64_t keys);

/* The plan of one family for checked options. Errors: E_RANGE, E_UNSUPPORTED. */
nidus_status options_plan_family(const nidus_options *options, const struct family *family,
                                 struct blueprint *plan);

/*
 * Whether `a` is a better choice than `b` for NIDUS_AUTO, where `least` bytes is what the
 * smallest of all candidates takes.
 */
bool options_prefer(const nidus_options *options, uint64_t least, const struct family *a,
                    uint64_t a_bytes, const struct family *b, uint64_t b_bytes);

/* Whether NIDUS_AUTO considers a family at all: no Bloom filter, and a static one only if asked. */
bool options_may_choose(const nidus_options *options, const struct family *family);

/* The family that is asked for, or the best that will do, and its plan. */
nidus_status options_plan(const nidus_options *options, const struct family **family,
                          struct blueprint *plan);

/* The same, but NIDUS_AUTO takes a family whose tables can be built in parts. */
nidus_status options_plan_in_parts(const nidus_options *options, const struct family **family,
                                   struct blueprint *plan);

#endif

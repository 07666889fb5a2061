/* SPDX-License-Identifier: MIT
 *
 * filters: every shape that the registered families offer, and filters as bytes.
 */
#ifndef NIDUS_TESTS_SUPPORT_FILTERS_H
#define NIDUS_TESTS_SUPPORT_FILTERS_H

#include "family/family.h"
#include "nidus.h"

/* A family at one number of slots (0: its own choice) and one rate, 2^-k; compact or not. */
struct shape {
	const struct family *family;
	unsigned slots;
	unsigned k;
	uint32_t features; /* NIDUS_COMPACT or none */
};

typedef void (*shape_visitor)(const struct shape *shape, void *context);

/*
 * Visits every registered family that takes keys one by one, for slots 0, 2, 4 and 8 where the family does
 * not answer E_RANGE, compact ones too, and every k from `from` to `to`.
 */
void each_shape(unsigned from, unsigned to, shape_visitor visit, void *context);

/* The same without slots 0, whose layout is one of the others. */
void each_layout(unsigned from, unsigned to, shape_visitor visit, void *context);

/* The options of a shape. */
nidus_options shape_options(const struct shape *shape, uint64_t capacity, uint64_t seed);

/* Makes it; the test fails if that fails. Sets the check note too. */
nidus_filter *shape_create(const struct shape *shape, uint64_t capacity, uint64_t seed);

/* An options struct for the default family, and a filter of it. */
nidus_options filter_options(uint64_t capacity, double fpr, uint64_t seed);
nidus_filter *filter_create(const nidus_options *options);

/*
 * A filter of the integers from `from` to `to` - 1: by inserts or, if the family is static, built
 * from them.
 */
nidus_filter *filter_of_keys(const nidus_options *options, uint64_t from, uint64_t to);

nidus_info info_of(const nidus_filter *filter);

/* Whether a filter of these options takes any number of copies of a key. */
bool counts_copies(const nidus_options *options);

/* The integers from `from` to `to` - 1 as keys: each call must succeed, each key be found. */
void insert_keys(nidus_filter *filter, uint64_t from, uint64_t to);
void remove_keys(nidus_filter *filter, uint64_t from, uint64_t to);
void expect_keys(const nidus_filter *filter, uint64_t from, uint64_t to);

/* --------------------------------------------------------------- saved bytes -- */

struct bytes {
	unsigned char *data;
	size_t size;
};

/* The filter as nidus_save_buffer gives it. */
struct bytes bytes_save(const nidus_filter *filter);
void bytes_free(struct bytes *bytes);

/* Whether the filter still saves to the same bytes. */
bool bytes_match(const struct bytes *bytes, const nidus_filter *filter);

/* Whether two filters save to the same bytes. */
bool filters_equal(const nidus_filter *a, const nidus_filter *b);

/* Recomputes section and header checksums, after a test changed what they cover. */
void bytes_seal(struct bytes *bytes);

/* Whether a filter that grows has segments by now, and not only a list. */
bool has_segments(const nidus_filter *filter);

/* Makes the segments of filters that are made from now on so small, that few keys need several. */
void take_small_segments(unsigned slots);

#endif

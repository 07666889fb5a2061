/* SPDX-License-Identifier: MIT
 *
 * filters: loops over the registry, and comparisons by saved bytes.
 */
#include "support/filters.h"

#include <math.h>
#include <stdlib.h>

#include "api/filter.h"
#include "base/hash.h"
#include "store/image.h"
#include "support/check.h"

nidus_options shape_options(const struct shape *shape, uint64_t capacity, uint64_t seed)
{
	nidus_options options = filter_options(capacity, ldexp(1, -(int)shape->k), seed);
	options.family = shape->family->id;
	options.slots = shape->slots;
	options.features = shape->features;
	return options;
}

nidus_filter *shape_create(const struct shape *shape, uint64_t capacity, uint64_t seed)
{
	nidus_options options = shape_options(shape, capacity, seed);
	check_note("%s%s, slots %u, fpr 2^-%u, capacity %llu, seed %llu", shape->family->name,
	           shape->features & NIDUS_COMPACT ? ", compact" : "", shape->slots, shape->k,
	           (unsigned long long)capacity, (unsigned long long)seed);
	return filter_create(&options);
}

static bool offered(const struct shape *shape)
{
	nidus_options options = shape_options(shape, 16, 1);
	nidus_filter *filter;
	if (shape->features & NIDUS_COMPACT && !shape->family->compact)
		return false;
	nidus_status status = nidus_create(&options, &filter);
	nidus_free(filter);
	if (status != NIDUS_E_RANGE)
		expect_ok(status);
	return status == NIDUS_OK;
}

static void each(unsigned first_slots, unsigned from, unsigned to, shape_visitor visit,
                 void *context)
{
	static const struct {
		unsigned slots;
		uint32_t features;
	} forms[] = { { 0, 0 }, { 2, 0 }, { 4, 0 }, { 8, 0 }, { 4, NIDUS_COMPACT } };
	for (const struct family *const *family = families; *family != NULL; family++) {
		unsigned visited = 0;
		if ((*family)->features & NIDUS_STATIC) /* test_static.c has those */
			continue;
		for (unsigned k = from; k <= to; k++) {
			for (unsigned i = first_slots; i < sizeof forms / sizeof *forms; i++) {
				struct shape shape = { *family, forms[i].slots, k,
					               forms[i].features };
				if (!offered(&shape))
					continue;
				visit(&shape, context);
				visited++;
			}
		}
		/* A family without options of its own is still visited. */
		if (visited == 0 && first_slots > 0) {
			for (unsigned k = from; k <= to; k++) {
				struct shape shape = { *family, 0, k, 0 };
				if (offered(&shape)) {
					visit(&shape, context);
					visited++;
				}
			}
		}
		check_note("%s, k from %u to %u", (*family)->name, from, to);
		expect(visited > 0);
	}
}

void each_shape(unsigned from, unsigned to, shape_visitor visit, void *context)
{
	each(0, from, to, visit, context);
}

void each_layout(unsigned from, unsigned to, shape_visitor visit, void *context)
{
	each(1, from, to, visit, context);
}

nidus_options filter_options(uint64_t capacity, double fpr, uint64_t seed)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = capacity;
	options.fpr = fpr;
	options.seed = seed;
	return options;
}

nidus_filter *filter_create(const nidus_options *options)
{
	nidus_filter *filter;
	expect_ok(nidus_create(options, &filter));
	return filter;
}

nidus_filter *filter_of_keys(const nidus_options *options, uint64_t from, uint64_t to)
{
	nidus_filter *filter;
	if (!(nidus_family_features(options->family) & NIDUS_STATIC)) {
		filter = filter_create(options);
		insert_keys(filter, from, to);
		return filter;
	}
	uint64_t *keys = check_alloc((to - from + 1) * sizeof *keys);
	for (uint64_t key = from; key < to; key++)
		keys[key - from] = key;
	expect_ok(nidus_build_u64(options, keys, (size_t)(to - from), 1, &filter));
	free(keys);
	return filter;
}

nidus_info info_of(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	expect_ok(nidus_get_info(filter, &info));
	return info;
}

void insert_keys(nidus_filter *filter, uint64_t from, uint64_t to)
{
	for (uint64_t key = from; key < to; key++)
		expect_ok(nidus_insert_u64(filter, key));
}

void remove_keys(nidus_filter *filter, uint64_t from, uint64_t to)
{
	for (uint64_t key = from; key < to; key++)
		expect_ok(nidus_remove_u64(filter, key));
}

void expect_keys(const nidus_filter *filter, uint64_t from, uint64_t to)
{
	for (uint64_t key = from; key < to; key++) {
		if (!nidus_contains_u64(filter, key))
			expect_equal(key, UINT64_MAX); /* prints the key that was lost */
	}
}

/* --------------------------------------------------------------- saved bytes -- */

struct bytes bytes_save(const nidus_filter *filter)
{
	struct bytes bytes = { .size = nidus_saved_size(filter) };
	size_t written;
	expect(bytes.size > 0);
	bytes.data = check_alloc(bytes.size);
	expect_ok(nidus_save_buffer(filter, bytes.data, bytes.size, &written));
	expect_equal(written, bytes.size);
	return bytes;
}

void bytes_free(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){ 0 };
}

bool bytes_match(const struct bytes *bytes, const nidus_filter *filter)
{
	struct bytes now = bytes_save(filter);
	bool same = now.size == bytes->size && memcmp(now.data, bytes->data, now.size) == 0;
	bytes_free(&now);
	return same;
}

bool filters_equal(const nidus_filter *a, const nidus_filter *b)
{
	struct bytes bytes = bytes_save(a);
	bool same = bytes_match(&bytes, b);
	bytes_free(&bytes);
	return same;
}

void bytes_seal(struct bytes *bytes)
{
	/* The header's drawing is in store/image.c. */
	for (unsigned i = 0; i < IMAGE_SECTIONS; i++) {
		unsigned char *row = bytes->data + 128 + i * 32;
		uint64_t offset = load64(row + 8), size = load64(row + 16);
		if (offset <= bytes->size && size <= bytes->size - offset)
			store64(row + 24, hash_checksum(bytes->data + offset, size));
	}
	store64(bytes->data + IMAGE_HEADER - 8, hash_checksum(bytes->data, IMAGE_HEADER - 8));
}

bool counts_copies(const nidus_options *options)
{
	nidus_plan_row rows[2 * FAMILIES];
	size_t n;
	expect_ok(nidus_plan(options, rows, 2 * FAMILIES, &n));
	for (size_t i = 0; i < n; i++) {
		if (rows[i].chosen)
			return rows[i].copies == UINT32_MAX;
	}
	return false;
}

bool has_segments(const nidus_filter *filter)
{
	const struct directory *directory = filter_directory(filter);
	return directory != NULL && directory->index != NULL;
}

void take_small_segments(unsigned slots)
{
	family_segment_slots = slots;
}

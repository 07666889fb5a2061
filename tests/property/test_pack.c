/* SPDX-License-Identifier: MIT
 *
 * Filters that are packed: the same answers from the smallest table of fixed size.
 */
#include <math.h>
#include <string.h>

#include "api/filter.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"

#define ODDS 1e-9 /* of a false alarm per measured rate; there are fewer than 1,000 */
#define FIRST_ABSENT (UINT64_C(1) << 60)
#define ENTRIES 100 /* from here on bytes count: smaller tables have few sizes */

static bool can_pack(const struct family *family)
{
	return family->pack != NULL;
}

/* A filter of these keys that could grow, packed. */
static nidus_filter *make_packed(nidus_options options, uint64_t keys, uint64_t max_capacity)
{
	options.capacity = 1;
	options.max_capacity = max_capacity;
	nidus_filter *filter = filter_create(&options);
	insert_keys(filter, 0, keys);
	expect_ok(nidus_pack(filter));
	return filter;
}

static void expect_rate(const nidus_filter *filter, double rate)
{
	uint64_t trials = check_small() ? 1 << 12 : 1 << 15, found = 0;
	for (uint64_t i = 0; i < trials; i++)
		found += nidus_contains_u64(filter, FIRST_ABSENT + i);
	expect(found <= chance_most(trials, rate, ODDS));
}

/* Fixed, whole, and at most so many times as large as one that was made for so many keys. */
static void expect_packed(const nidus_filter *filter, nidus_options options, uint64_t keys,
                          double times)
{
	nidus_info info = info_of(filter);
	options.capacity = keys > 0 ? keys : 1;
	options.max_capacity = 0;
	nidus_filter *fixed = filter_create(&options);
	if (keys <= 100 &&
	    filter_directory(filter) != NULL) { /* no table is smaller than its list */
		expect(!has_segments(filter));
		expect_keys(filter, 0, keys);
		nidus_free(fixed);
		return;
	}
	expect(filter_directory(filter) == NULL && info.growth_bits == 0);
	expect(info.count == keys && info.capacity >= keys && info.max_capacity == info.capacity);
	expect(info.fpr_now <= options.fpr * (1 + 1e-9) &&
	       info.fpr_target <= options.fpr * (1 + 1e-9));
	if (keys >= ENTRIES)
		expect((double)info.bytes <= times * (double)info_of(fixed).bytes + MEMORY_LINE);
	expect_keys(filter, 0, keys);
	expect_ok(nidus_verify(filter, NULL));
	expect_rate(filter, options.fpr);
	nidus_free(fixed);
}

/* ---------------------------------------------------------------------- every shape -- */

static void pack_shape(const struct shape *shape, void *context)
{
	static const uint64_t sizes[] = { 0, 1, 2, 10, 100, 1000, 4000 };
	static const uint64_t most[] = { 32768, 1000000 };
	(void)context;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes && can_pack(shape->family); i++) {
		nidus_options options = shape_options(shape, 1, 17 + i);
		check_note("%s, %u slots, fpr 2^-%u, %u keys", shape->family->name, shape->slots,
		           shape->k, (unsigned)sizes[i]);
		nidus_filter *filter = make_packed(options, sizes[i], most[i % 2]);
		expect_packed(filter, options, sizes[i], 2.5); /* small segments: few divisors */
		nidus_free(filter);
	}
}

static void every_shape_and_width_keeps_all_keys(void **state)
{
	(void)state;
	each_shape(4, check_small() ? 8 : 18, pack_shape, NULL);
}

static void packed_filters_are_nearly_as_small_as_those_made_for_their_keys(void **state)
{
	static const uint64_t sizes[] = { 256, 1000, 10000, 30000, 100000, 1000000 };
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (size_t i = 0; i < (check_small() ? 4 : 6) && can_pack(*family); i++) {
			nidus_options options = filter_options(1, 0.01, 5);
			options.family = (*family)->id;
			check_note("%s, %u keys", (*family)->name, (unsigned)sizes[i]);
			nidus_filter *filter = make_packed(options, sizes[i], UINT64_C(1) << 32);
			expect_packed(filter, options, sizes[i], 1.3);
			nidus_free(filter);
		}
	}
}

/* ------------------------------------------------------------------ families and states -- */

typedef void (*pack_visitor)(nidus_options options);

/* Filters that may grow to 8,000, plain and shared by threads. */
static void each_packable_family(pack_visitor visit)
{
	unsigned visited = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned shared = 0; shared < 2 && can_pack(*family); shared++) {
			nidus_options options = filter_options(1, 0.01, 7);
			options.family = (*family)->id;
			options.max_capacity = 8000;
			options.features = shared ? NIDUS_CONCURRENT : 0;
			check_note("%s, shared %u", (*family)->name, shared);
			visit(options);
			visited++;
		}
	}
	expect_equal(visited, 6);
}

static void pack_and_use(nidus_options options)
{
	nidus_filter *filter = filter_create(&options);
	insert_keys(filter, 0, 3000);
	remove_keys(filter, 0, 500);
	expect_ok(nidus_pack(filter));
	nidus_info info = info_of(filter);
	expect(info.count == 2500 &&
	       info.concurrent == ((options.features & NIDUS_CONCURRENT) != 0));
	expect_keys(filter, 500, 3000);
	struct bytes bytes = bytes_save(filter);
	nidus_filter *loaded;
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
	expect_keys(loaded, 500, 3000);
	expect_ok(nidus_pack(loaded)); /* once more: nothing is left to do */
	expect(bytes_match(&bytes, loaded));
	bytes_free(&bytes);
	remove_keys(loaded, 500, 3000);
	expect_equal(info_of(loaded).count, 0);
	expect_ok(nidus_pack(loaded)); /* whatever size it has */
	expect_ok(nidus_verify(loaded, NULL));
	nidus_free(loaded);
	/* What was promised still fits, and in the end it is full. */
	insert_keys(filter, 3000, 500 + info.capacity);
	uint64_t key = 500 + info.capacity;
	while (nidus_insert_u64(filter, key) == NIDUS_OK)
		key++;
	expect_status(nidus_insert_u64(filter, key), NIDUS_FULL);
	expect(key < 2 * info.capacity);
	expect_keys(filter, 500, key);
	expect_status(nidus_grow(filter, 10000), NIDUS_E_RANGE);
	expect_ok(nidus_grow_relaxed(filter, 10000));
	insert_keys(filter, key, 10000);
	expect_keys(filter, 500, 10000);
	nidus_free(filter);
}

static void packed_filters_are_filters_as_any_other(void **state)
{
	(void)state;
	each_packable_family(pack_and_use);
}

static void walk_packed(nidus_options options)
{
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry;
	nidus_filter *filter = make_packed(options, 3000, 100000);
	uint64_t found = 0, hash;
	for (; nidus_next(filter, &cursor, &entry); found++) {
		expect_ok(filter->family->entry_hash(filter_body(filter), &entry, &hash));
		expect(nidus_contains_hash(filter, hash));
	}
	expect_equal(found, 3000);
	nidus_free(filter);
}

static void walks_of_packed_filters_find_all_entries(void **state)
{
	(void)state;
	each_packable_family(walk_packed);
}

/* Copies of some keys, few and many, in lists and in segments. */
static void pack_copies(nidus_options options)
{
	static const uint64_t sizes[] = { 40, 5000 };
	for (size_t i = 0; i < 2; i++) {
		nidus_filter *filter = filter_create(&options);
		insert_keys(filter, 0, sizes[i]);
		for (unsigned n = 0; n < 1000; n++) {
			expect_ok(nidus_insert_u64(filter, 1));
			expect_ok(nidus_insert_u64(filter, n % 30));
		}
		nidus_filter *packed;
		expect_ok(nidus_clone(filter, &packed));
		uint64_t bytes = info_of(packed).bytes;
		expect_ok(nidus_pack(packed));
		expect(info_of(packed).bytes <= bytes);
		/* Few keys of many copies stay a list: those of a table would have one, too. */
		expect(filter_directory(packed) == NULL || sizes[i] == 40);
		expect_equal(info_of(packed).count, sizes[i] + 2000);
		for (uint64_t key = 0; key < sizes[i]; key++)
			expect(nidus_count_key_u64(packed, key) >=
			       nidus_count_key_u64(filter, key));
		expect(nidus_count_key_u64(packed, 1) >= 1034);
		for (unsigned n = 0; n < 1000; n++) {
			expect_ok(nidus_remove_u64(packed, 1));
			expect_ok(nidus_remove_u64(packed, n % 30));
		}
		expect_keys(packed, 0, sizes[i]);
		expect_equal(info_of(packed).count, sizes[i]);
		expect_ok(nidus_verify(packed, NULL));
		nidus_free(packed);
		nidus_free(filter);
	}
}

static void copies_stay_and_can_be_removed(void **state)
{
	(void)state;
	each_packable_family(pack_copies);
}

static void pack_values(nidus_options options)
{
	options.value_bits = 9;
	nidus_filter *filter = filter_create(&options);
	for (uint64_t key = 0; key < 3000; key++)
		expect_ok(nidus_insert_value_u64(filter, key, key % 512));
	for (unsigned n = 0; n < 40; n++)
		expect_ok(nidus_insert_value_u64(filter, 5, 7));
	expect_ok(nidus_pack(filter));
	expect(filter_directory(filter) == NULL);
	for (uint64_t key = 0; key < 3000; key++)
		expect_ok(nidus_remove_value_u64(filter, key, key % 512));
	for (unsigned n = 0; n < 40; n++)
		expect_ok(nidus_remove_value_u64(filter, 5, 7));
	expect_equal(info_of(filter).count, 0);
	nidus_free(filter);
}

static void values_stay_with_their_keys(void **state)
{
	(void)state;
	each_packable_family(pack_values);
}

/* -------------------------------------------------------------------------- merges -- */

static void merge_packed(nidus_options options)
{
	nidus_filter *packed = make_packed(options, 3000, 8000), *merged;
	nidus_filter *unpacked = filter_create(&options), *other = filter_create(&options);
	insert_keys(unpacked, 3000, 6000);
	expect_status(nidus_merge(packed, unpacked, &merged), NIDUS_E_MISMATCH);
	expect(strstr(nidus_reason(), "pack") != NULL);
	expect_status(nidus_merge(unpacked, packed, &merged), NIDUS_E_MISMATCH);
	/* The advice is right: merge first, then pack. */
	insert_keys(other, 0, 3000);
	expect_ok(nidus_merge(other, unpacked, &merged));
	expect_ok(nidus_pack(merged));
	expect_keys(merged, 0, 6000);
	nidus_free(merged);
	/* Two that were packed to one size can be merged, others cannot. */
	expect_ok(nidus_pack(unpacked));
	expect_ok(nidus_merge(packed, unpacked, &merged));
	expect_keys(merged, 0, 6000);
	expect_ok(nidus_verify(merged, NULL));
	nidus_free(merged);
	remove_keys(other, 100, 3000);
	expect_ok(nidus_pack(other));
	expect_status(nidus_merge(packed, other, &merged), NIDUS_E_MISMATCH);
	expect(strstr(nidus_reason(), "pack") != NULL);
	nidus_free(other);
	nidus_free(unpacked);
	nidus_free(packed);
}

static void merges_come_before_packing(void **state)
{
	(void)state;
	each_packable_family(merge_packed);
}

/* ------------------------------------------------------------------- fixed, and refusals -- */

static void filters_of_fixed_size_are_packed_or_stay(void **state)
{
	unsigned smaller = 0;
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (uint64_t capacity = 50000; capacity < 50010 && can_pack(*family); capacity++) {
			nidus_options options = filter_options(capacity, 0.01, 3);
			options.family = (*family)->id;
			check_note("%s for %u", (*family)->name, (unsigned)capacity);
			nidus_filter *filter = filter_create(&options);
			insert_keys(filter, 0, 1000);
			uint64_t bytes = info_of(filter).bytes;
			expect_ok(nidus_pack(filter));
			smaller += info_of(filter).bytes < bytes / 2;
			expect(info_of(filter).bytes <= bytes);
			expect_keys(filter, 0, 1000);
			expect_ok(nidus_verify(filter, NULL));
			expect_rate(filter, options.fpr);
			nidus_free(filter);
		}
	}
	expect(smaller > 10);
}

static void pack_without_memory(nidus_options options)
{
	struct ledger ledger = { 0 };
	options.allocator = ledger_allocator(&ledger);
	nidus_filter *filter = filter_create(&options);
	insert_keys(filter, 0, 3000);
	for (unsigned n = 0; n < 100; n++)
		expect_ok(nidus_insert_u64(filter, 1));
	struct bytes bytes = bytes_save(filter);
	nidus_status status = NIDUS_E_NOMEM;
	for (uint64_t refused = 1; status == NIDUS_E_NOMEM; refused++) {
		expect(bytes_match(&bytes, filter));
		ledger.fail_at = ledger.requests + refused;
		status = nidus_pack(filter);
		ledger.fail_at = 0;
		expect(status == NIDUS_OK || refused < 1000);
	}
	expect_ok(status);
	expect_keys(filter, 0, 3000);
	bytes_free(&bytes);
	nidus_free(filter);
	expect_equal(ledger.blocks, 0);
}

static void packing_without_memory_changes_nothing(void **state)
{
	(void)state;
	each_packable_family(pack_without_memory);
}

static void other_families_say_why_they_refuse(void **state)
{
	(void)state;
	expect_status(nidus_pack(NULL), NIDUS_E_ARG);
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (can_pack(*family))
			continue;
		nidus_options options = filter_options(1000, 0.01, 3);
		options.family = (*family)->id;
		check_note("%s", (*family)->name);
		nidus_filter *filter = filter_of_keys(&options, 0, 1000);
		struct bytes bytes = bytes_save(filter);
		bool is_static = (*family)->features & NIDUS_STATIC;
		expect_status(nidus_pack(filter), NIDUS_E_UNSUPPORTED);
		expect(strstr(nidus_reason(), is_static ? "as small as" : "smaller table") != NULL);
		expect(bytes_match(&bytes, filter));
		bytes_free(&bytes);
		nidus_free(filter);
	}
	nidus_options options = filter_options(1000, 0.01, 3);
	nidus_filter *filter = filter_of_keys(&options, 0, 10), *opened;
	struct bytes bytes = bytes_save(filter);
	expect_ok(nidus_open_buffer(bytes.data, bytes.size, 0, &opened));
	expect_status(nidus_pack(opened), NIDUS_E_READONLY);
	nidus_free(opened);
	nidus_free(filter);
	bytes_free(&bytes);
}

/* A filter that has grown beyond its reserve has no table that all its entries lead to. */
static void overfull_filters_stay_as_they_are(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!can_pack(*family))
			continue;
		nidus_options options = filter_options(1000, 0.01, 3);
		options.family = (*family)->id;
		check_note("%s", (*family)->name);
		nidus_filter *filter = filter_create(&options);
		expect_ok(nidus_grow_relaxed(filter, 4000));
		insert_keys(filter, 0, 4000);
		struct bytes bytes = bytes_save(filter);
		expect_ok(nidus_pack(filter));
		expect(bytes_match(&bytes, filter));
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

static const struct CMUnitTest with_small_segments[] = {
	cmocka_unit_test(every_shape_and_width_keeps_all_keys),
	cmocka_unit_test(packed_filters_are_filters_as_any_other),
	cmocka_unit_test(walks_of_packed_filters_find_all_entries),
	cmocka_unit_test(copies_stay_and_can_be_removed),
	cmocka_unit_test(values_stay_with_their_keys),
	cmocka_unit_test(merges_come_before_packing),
	cmocka_unit_test(filters_of_fixed_size_are_packed_or_stay),
	cmocka_unit_test(packing_without_memory_changes_nothing),
	cmocka_unit_test(other_families_say_why_they_refuse),
	cmocka_unit_test(overfull_filters_stay_as_they_are),
};

static const struct CMUnitTest with_large_ones[] = {
	cmocka_unit_test(packed_filters_are_nearly_as_small_as_those_made_for_their_keys),
};

int main(void)
{
	int failed = cmocka_run_group_tests(with_large_ones, NULL, NULL);
	take_small_segments(256);
	return failed + cmocka_run_group_tests(with_small_segments, NULL, NULL);
}

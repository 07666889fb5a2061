/* SPDX-License-Identifier: MIT
 *
 * Options: every bad one is refused with the documented status, takes no memory,
 * and is explained; every good one is honoured.
 */
#include <math.h>

#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"

static struct ledger ledger;

static nidus_options good(void)
{
	nidus_options options = filter_options(100, 0.01, 1);
	ledger = (struct ledger){ 0 };
	options.allocator = ledger_allocator(&ledger);
	return options;
}

/* A refusal says why, and nothing was taken or even asked for. */
static void expect_refusal(nidus_status status, nidus_status wanted)
{
	expect_status(status, wanted);
	expect(strlen(nidus_reason()) > 5);
	expect_equal(ledger.requests, 0);
}

/* All ways to make a filter refuse; to builds a capacity of 0 is none that is missing. */
static void expect_refused(const nidus_options *options, nidus_status wanted)
{
	nidus_filter *filters[4];
	uint64_t numbers[] = { 1, 2, 3 };
	const void *keys[] = { "heron", "crane" };
	size_t lens[] = { 5, 5 };
	for (unsigned i = 0; i < 4; i++)
		filters[i] = (nidus_filter *)(void *)&ledger; /* must become NULL */
	expect_refusal(nidus_create(options, &filters[0]), wanted);
	expect(filters[0] == NULL);
	if (options->capacity == 0)
		return;
	expect_refusal(nidus_build_u64(options, numbers, 3, 2, &filters[1]), wanted);
	expect_refusal(nidus_build_bytes(options, keys, lens, 2, 2, &filters[2]), wanted);
	expect_refusal(nidus_build_hashes(options, numbers, 3, 2, &filters[3]), wanted);
	expect(filters[1] == NULL && filters[2] == NULL && filters[3] == NULL);
}

static void a_capacity_of_nothing_is_no_capacity(void **state)
{
	(void)state;
	nidus_options options = good();
	options.capacity = 0;
	expect_refused(&options, NIDUS_E_ARG);
}

static void absurd_capacities_are_out_of_range(void **state)
{
	(void)state;
	static const uint64_t absurd[] = { (UINT64_C(1) << 44) + 1, UINT64_C(1) << 60,
		                           UINT64_C(1) << 63, UINT64_MAX };
	for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
		for (const struct family *const *family = families; *family != NULL; family++) {
			for (int k = 4; k <= 24; k += 10) {
				nidus_options options = good();
				check_note("%s, capacity %#llx, fpr 2^-%d", (*family)->name,
				           (unsigned long long)absurd[i], k);
				options.family = (*family)->id;
				options.capacity = absurd[i];
				options.fpr = ldexp(1, -k);
				expect_refused(&options, NIDUS_E_RANGE);
			}
		}
		nidus_options options = good();
		options.capacity = absurd[i];
		expect_refused(&options, NIDUS_E_RANGE);
	}
}

static void absurd_growth_is_out_of_range(void **state)
{
	(void)state;
	static const uint64_t absurd[] = { UINT64_C(1) << 50, UINT64_C(1) << 60, UINT64_C(1) << 63,
		                           UINT64_MAX - 1 };
	for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
		for (const struct family *const *family = families; *family != NULL; family++) {
			nidus_options options = good();
			check_note("%s, max_capacity %#llx", (*family)->name,
			           (unsigned long long)absurd[i]);
			options.family = (*family)->id;
			options.max_capacity = absurd[i];
			expect_refused(&options, NIDUS_E_RANGE);
			/* Asked for later, it is no better. */
			options.max_capacity = 0;
			nidus_filter *filter = filter_create(&options);
			uint64_t requests = ledger.requests;
			nidus_status wanted = (*family)->features & NIDUS_GROW
			                              ? NIDUS_E_RANGE
			                              : NIDUS_E_UNSUPPORTED;
			expect_status(nidus_grow(filter, absurd[i]), wanted);
			expect_status(nidus_grow_relaxed(filter, absurd[i]), wanted);
			expect_equal(ledger.requests, requests);
			nidus_free(filter);
		}
		nidus_options options = good();
		options.max_capacity = absurd[i];
		options.features = NIDUS_GROW;
		expect_refused(&options, NIDUS_E_RANGE);
	}
}

/* As many threads as anybody may ask for: they take what 64 take, and no more. */
static void absurd_numbers_of_threads_are_64(void **state)
{
	(void)state;
	static const unsigned threads[] = { 64, 65, 1u << 20, UINT32_MAX };
	size_t n = 100000;
	uint64_t *keys = check_alloc(n * sizeof *keys), requests = 0;
	nidus_options options = good();
	nidus_filter *filter;
	struct bytes wanted = { 0 };
	for (size_t i = 0; i < n; i++)
		keys[i] = i;
	options.family = NIDUS_CHUNKED;
	options.capacity = 0;
	for (unsigned i = 0; i < 4; i++) {
		ledger.requests = 0;
		expect_ok(nidus_build_u64(&options, keys, n, threads[i], &filter));
		if (i == 0) {
			requests = ledger.requests;
			wanted = bytes_save(filter);
		}
		check_note("%u threads", threads[i]);
		expect_equal(ledger.requests, requests);
		expect(bytes_match(&wanted, filter));
		nidus_free(filter);
	}
	expect_equal(ledger.blocks, 0);
	bytes_free(&wanted);
	free(keys);
}

static void what_is_no_rate_is_refused(void **state)
{
	(void)state;
	static const double bad[] = { -0.01, -INFINITY, 1, 1.5, 2, INFINITY, NAN, -1e-300 };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		nidus_options options = good();
		check_note("fpr %g", bad[i]);
		options.fpr = bad[i];
		expect_refused(&options, NIDUS_E_ARG);
	}
}

static void rates_that_are_too_low_are_out_of_range(void **state)
{
	(void)state;
	static const double low[] = { 0x1p-33, 0x0.ffffffp-32, 1e-30, 5e-324 };
	for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
		nidus_options options = good();
		check_note("fpr %g", low[i]);
		options.fpr = low[i];
		expect_refused(&options, NIDUS_E_RANGE);
	}
}

static void defaults_are_as_documented(void **state)
{
	(void)state;
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.capacity = 100;
	nidus_filter *filter = filter_create(&options);
	nidus_info info = info_of(filter);
	expect(info.fpr_target == 0x1p-8);
	expect(info.family != NIDUS_AUTO && nidus_family_name(info.family) != NULL);
	expect(info.seed != 0);
	expect(info.slots > 0 && info.count == 0 && info.bits_per_key == 0);
	expect(info.features & NIDUS_DELETE);
	expect(!info.readonly);
	nidus_free(filter);
	options.fpr = 0.5; /* looser than any filter: the loosest there is */
	filter = filter_create(&options);
	expect(info_of(filter).fpr_target == 0x1p-4);
	nidus_free(filter);
}

static void fresh_seeds_differ_and_given_ones_are_kept(void **state)
{
	(void)state;
	nidus_options options = good();
	options.seed = 0;
	nidus_filter *a = filter_create(&options), *b = filter_create(&options);
	expect(info_of(a).seed != info_of(b).seed);
	nidus_free(a);
	nidus_free(b);
	static const uint64_t seeds[] = { 1, 42, UINT64_MAX };
	for (unsigned i = 0; i < 3; i++) {
		options.seed = seeds[i];
		a = filter_create(&options);
		expect_equal(info_of(a).seed, seeds[i]);
		nidus_free(a);
	}
	expect_equal(ledger.blocks, 0);
}

static void no_randomness_is_an_io_error(void **state)
{
	(void)state;
	nidus_options options = good();
	options.seed = 0;
	faults_in_files(1, 5);
	nidus_filter *filter;
	nidus_status status = nidus_create(&options, &filter);
	bool asked = faults_happened();
	faults_restore();
	expect(asked);
	expect_status(status, NIDUS_E_IO);
	expect(filter == NULL);
	expect_equal(ledger.requests, 0);
}

static void breadcrumb_lines_that_are_too_narrow_are_told(void **state)
{
	(void)state;
	nidus_options options = good();
	options.family = NIDUS_BREADCRUMB;
	options.fpr = 0x1p-16;
	options.slots = 51;
	expect_refused(&options, NIDUS_E_RANGE);
	expect(strstr(nidus_reason(), "51 slots hold 8 bits") != NULL);
	options.slots = 0;
	options.max_capacity = options.capacity << 20; /* bits to grow are not in the lines */
	nidus_filter *filter;
	expect_ok(nidus_create(&options, &filter));
	nidus_free(filter);
}

static void slots_that_would_be_too_wide_are_told(void **state)
{
	(void)state;
	unsigned refused = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		nidus_options options = good();
		check_note("%s", (*family)->name);
		options.family = (*family)->id;
		options.fpr = 0x1p-24;
		options.value_bits = 32;
		if (!(*family)->searches)
			continue;
		expect_refused(&options, NIDUS_E_RANGE);
		expect(strstr(nidus_reason(), "56 are possible") != NULL);
		refused++;
	}
	expect(refused > 5);
}

static void numbers_that_no_family_does_are_out_of_range(void **state)
{
	(void)state;
	static const unsigned slots[] = { 1, 3, 5, 16, 1u << 31, UINT32_MAX };
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
			nidus_options options = good();
			check_note("%s, slots %u", (*family)->name, slots[i]);
			options.family = (*family)->id;
			options.slots = slots[i];
			expect_refused(&options, NIDUS_E_RANGE);
		}
		nidus_options options = good();
		options.family = (*family)->id;
		options.max_steps = UINT32_MAX;
		expect_refused(&options, NIDUS_E_RANGE);
		options.max_steps = 1000000;
		expect_refused(&options, NIDUS_E_RANGE);
	}
	nidus_options options = good();
	options.slots = 3;
	expect_refused(&options, NIDUS_E_RANGE);
}

static void families_that_are_none_are_refused(void **state)
{
	(void)state;
	static const int numbers[] = { -1, 11, 12, 99, 1 << 30 };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		nidus_options options = good();
		check_note("family %d", numbers[i]);
		options.family = (nidus_family)numbers[i];
		expect_refused(&options, NIDUS_E_ARG);
	}
	/* Names that later versions will fill are known, but not here yet. */
	for (int id = NIDUS_CUCKOO; id <= NIDUS_RIBBON; id++) {
		nidus_options options = good();
		options.family = (nidus_family)id;
		if (family_find((nidus_family)id) == NULL)
			expect_refused(&options, NIDUS_E_UNSUPPORTED);
	}
}

static void features_must_mean_something(void **state)
{
	(void)state;
	nidus_options options = good();
	options.features = UINT32_C(1) << 31;
	expect_refused(&options, NIDUS_E_ARG);
	options.features = UINT32_MAX;
	expect_refused(&options, NIDUS_E_ARG);
	options.features = UINT32_C(1) << 10;
	expect_refused(&options, NIDUS_E_ARG);
}

static void features_that_a_family_lacks_are_unsupported(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned bit = 0; bit < 9; bit++) {
			nidus_options options = good();
			options.family = (*family)->id;
			options.features = UINT32_C(1) << bit;
			check_note("%s, feature %u", (*family)->name, bit);
			bool wish = options.features == NIDUS_FAST ||
			            options.features == NIDUS_NO_DELETE ||
			            (options.features == NIDUS_COMPACT && (*family)->compact);
			if (wish || (nidus_family_features((*family)->id) & options.features)) {
				nidus_free(filter_create(&options));
				expect_equal(ledger.blocks, 0);
			} else {
				expect_refused(&options, NIDUS_E_UNSUPPORTED);
			}
		}
	}
}

static void a_compact_filter_is_bucketed_with_four_slots(void **state)
{
	(void)state;
	for (unsigned slots = 0; slots <= 8; slots++) {
		nidus_options options = good();
		options.features = NIDUS_COMPACT;
		options.slots = slots;
		check_note("%u slots", slots);
		if (slots != 0 && slots != 4) {
			expect_refused(&options, NIDUS_E_RANGE);
			continue;
		}
		nidus_filter *filter = filter_create(&options), *clone;
		expect_equal(info_of(filter).family, NIDUS_BUCKETED);
		expect_equal(info_of(filter).slots, 4);
		expect(info_of(filter).features & NIDUS_COMPACT);
		expect_ok(nidus_clone(filter, &clone));
		expect(info_of(clone).features & NIDUS_COMPACT);
		nidus_free(clone);
		nidus_free(filter);
	}
}

static void values_that_no_family_keeps_are_refused(void **state)
{
	(void)state;
	nidus_options options = good();
	options.value_bits = 33;
	expect_refused(&options, NIDUS_E_RANGE);
	for (const struct family *const *family = families; *family != NULL; family++) {
		options = good();
		options.family = (*family)->id;
		options.value_bits = 1;
		if (!((*family)->features & (NIDUS_ENUMERATE | NIDUS_STATIC)))
			expect_refused(&options, NIDUS_E_UNSUPPORTED);
		/* 27 bits of fingerprint at least, and a slot has 56. */
		options.fpr = 0x1p-24;
		options.value_bits = 32;
		if ((*family)->searches)
			expect_refused(&options, NIDUS_E_RANGE);
	}
}

static void max_capacities_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	nidus_options options = good();
	options.max_capacity = 99; /* less than capacity */
	expect_refused(&options, NIDUS_E_ARG);
	options = good();
	options.max_capacity = 100; /* as much: a fixed size */
	nidus_free(filter_create(&options));
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (nidus_family_features((*family)->id) & NIDUS_GROW)
			continue;
		options = good();
		options.family = (*family)->id;
		options.max_capacity = 1000;
		expect_refused(&options, NIDUS_E_UNSUPPORTED);
	}
}

static void half_an_allocator_is_refused(void **state)
{
	(void)state;
	nidus_options options = good();
	options.allocator.free = NULL;
	expect_refused(&options, NIDUS_E_ARG);
	options = good();
	options.allocator.alloc = NULL;
	expect_refused(&options, NIDUS_E_ARG);
	options.allocator = (nidus_allocator){ 0 };
	nidus_filter *filter = filter_create(&options), *loaded;
	struct bytes bytes = bytes_save(filter);
	nidus_allocator half = { .alloc = ledger_allocator(&ledger).alloc };
	expect_status(nidus_load_buffer(bytes.data, bytes.size, &half, &loaded), NIDUS_E_ARG);
	expect(loaded == NULL);
	bytes_free(&bytes);
	nidus_free(filter);
}

static void all_memory_comes_from_the_callers_allocator(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct ledger system = { 0 };
		nidus_options options = good();
		options.family = (*family)->id;
		ledger_watch_system(&system);
		nidus_filter *filter = filter_create(&options), *copy;
		for (unsigned i = 0; i < 200; i++)
			(void)nidus_insert_u64(filter, i % 7); /* into the stash */
		expect_ok(nidus_clone(filter, &copy));
		expect(info_of(filter).bytes <= ledger.bytes);
		nidus_free(filter);
		nidus_free(copy);
		faults_restore();
		expect(ledger.requests > 2);
		expect_equal(ledger.blocks, 0);
		expect_equal(system.requests, 0);
	}
}

static void a_loaded_filter_takes_its_memory_from_the_allocator_given(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct ledger system = { 0 };
		nidus_options options = good();
		options.family = (*family)->id;
		options.allocator = (nidus_allocator){ 0 };
		nidus_filter *filter = filter_create(&options), *loaded, *copy;
		for (unsigned i = 0; i < 200; i++)
			(void)nidus_insert_u64(filter, i % 7); /* into the stash */
		struct bytes bytes = bytes_save(filter);
		nidus_allocator ours = ledger_allocator(&ledger);
		ledger = (struct ledger){ 0 };
		ledger_watch_system(&system);
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, &ours, &loaded));
		expect(info_of(loaded).bytes <= ledger.bytes);
		expect_ok(nidus_clone(loaded, &copy)); /* as one that was made with it */
		nidus_free(loaded);
		nidus_free(copy);
		faults_restore();
		expect_equal(ledger.blocks, 0);
		expect_equal(system.requests, 0);
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

/* ----------------------------------------------------------------------- struct sizes -- */

struct newer {
	nidus_options options;
	unsigned char more[24];
};

static void older_and_newer_programs_are_understood(void **state)
{
	(void)state;
	struct newer newer = { .options = good() };
	nidus_filter *filter;
	newer.options.struct_size = 0;
	expect_refused(&newer.options, NIDUS_E_ARG);
	newer.options.struct_size = sizeof(size_t);
	expect_refused(&newer.options, NIDUS_E_ARG);
	newer.options.struct_size = SIZE_MAX; /* nobody reads so far */
	expect_refused(&newer.options, NIDUS_E_ARG);
	/* A newer program with nothing new set, then with something. */
	newer.options.struct_size = sizeof newer;
	filter = filter_create(&newer.options);
	nidus_free(filter);
	ledger = (struct ledger){ 0 };
	newer.more[23] = 1;
	expect_refused(&newer.options, NIDUS_E_UNSUPPORTED);
	/* An older program that ends with fpr: the fields behind are not looked at. */
	newer.options.struct_size = offsetof(nidus_options, seed);
	newer.options.value_bits = 7;
	newer.options.features = UINT32_MAX;
	newer.options.slots = 3;
	filter = filter_create(&newer.options);
	expect(info_of(filter).fpr_target == 0.01);
	expect_equal(ledger.requests, 0);
	nidus_free(filter);
	/* So there is no seed that its hashes could have been made with. */
	uint64_t hash = 1, value = 1;
	newer.options.seed = 1;
	expect_status(nidus_build_hashes(&newer.options, &hash, 1, 1, &filter), NIDUS_E_ARG);
	expect_status(nidus_build_values(&newer.options, &hash, &value, 1, 1, &filter),
	              NIDUS_E_ARG);
}

static void info_writes_no_more_than_its_reader_knows(void **state)
{
	(void)state;
	nidus_options options = good();
	nidus_filter *filter = filter_create(&options);
	union {
		nidus_info info;
		unsigned char bytes[sizeof(nidus_info) + 32];
	} reader, full;
	for (size_t size = sizeof(size_t); size <= sizeof(nidus_info) + 16; size += 4) {
		memset(&reader, 0xcd, sizeof reader);
		memset(&full, 0xcd, sizeof full);
		reader.info.struct_size = size;
		full.info.struct_size = sizeof full.info;
		expect_ok(nidus_get_info(filter, &reader.info));
		expect_ok(nidus_get_info(filter, &full.info));
		expect_equal(reader.info.struct_size, size);
		for (size_t i = size; i < sizeof reader; i++)
			expect_equal(reader.bytes[i], 0xcd);
		size_t known = size < sizeof(nidus_info) ? size : sizeof(nidus_info);
		/* Fields that are wholly known are filled; padding may be anything. */
		if (known > offsetof(nidus_info, capacity))
			expect_equal(reader.info.count, full.info.count);
		if (known > offsetof(nidus_info, max_capacity))
			expect_equal(reader.info.capacity, full.info.capacity);
	}
	memset(&reader, 0xcd, sizeof reader);
	reader.info.struct_size = 0;
	expect_status(nidus_get_info(filter, &reader.info), NIDUS_E_ARG);
	expect_equal(reader.bytes[sizeof(size_t)], 0xcd);
	nidus_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capacity_of_nothing_is_no_capacity),
		cmocka_unit_test(absurd_capacities_are_out_of_range),
		cmocka_unit_test(absurd_growth_is_out_of_range),
		cmocka_unit_test(absurd_numbers_of_threads_are_64),
		cmocka_unit_test(what_is_no_rate_is_refused),
		cmocka_unit_test(rates_that_are_too_low_are_out_of_range),
		cmocka_unit_test(defaults_are_as_documented),
		cmocka_unit_test(fresh_seeds_differ_and_given_ones_are_kept),
		cmocka_unit_test(no_randomness_is_an_io_error),
		cmocka_unit_test(breadcrumb_lines_that_are_too_narrow_are_told),
		cmocka_unit_test(slots_that_would_be_too_wide_are_told),
		cmocka_unit_test(numbers_that_no_family_does_are_out_of_range),
		cmocka_unit_test(families_that_are_none_are_refused),
		cmocka_unit_test(features_must_mean_something),
		cmocka_unit_test(features_that_a_family_lacks_are_unsupported),
		cmocka_unit_test(a_compact_filter_is_bucketed_with_four_slots),
		cmocka_unit_test(values_that_no_family_keeps_are_refused),
		cmocka_unit_test(max_capacities_that_make_no_sense_are_refused),
		cmocka_unit_test(half_an_allocator_is_refused),
		cmocka_unit_test(all_memory_comes_from_the_callers_allocator),
		cmocka_unit_test(a_loaded_filter_takes_its_memory_from_the_allocator_given),
		cmocka_unit_test(older_and_newer_programs_are_understood),
		cmocka_unit_test(info_writes_no_more_than_its_reader_knows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

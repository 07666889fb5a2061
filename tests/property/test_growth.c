/* SPDX-License-Identifier: MIT
 *
 * Growth and merging, for every family that says it can: by nidus_grow, by
 * inserts beyond the capacity, and by putting two filters together.
 *
 * Rates are measured as in test_fpr.c: the count of absent keys found is
 * binomial, and the limit is passed by chance with odds of ODDS. There are fewer
 * than a thousand comparisons: a run raises a false alarm with odds below 1e-6.
 */
#include <math.h>

#include "base/effort.h"
#include "family/family.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"

#define ODDS 1e-10
#define BASE UINT64_C(1000)
#define FIRST_ABSENT (UINT64_C(1) << 60)

static const unsigned rates[] = { 4, 8, 12, 16 }; /* 2^-k */

#define RATES (sizeof rates / sizeof *rates)

/* More doublings than this are possible for some families, but take too long. */
static unsigned doublings_most(void)
{
	return check_small() ? 4 : 8;
}

/* ---------------------------------------------------------------------- the tour -- */

typedef void (*growth_visitor)(const nidus_options *options);

static void each_with(uint32_t features, growth_visitor visit)
{
	unsigned visited = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if ((nidus_family_features((*family)->id) & features) != features)
			continue;
		for (size_t i = 0; i < RATES; i++) {
			nidus_options options =
				filter_options(BASE, ldexp(1, -(int)rates[i]), 12345);
			options.family = (*family)->id;
			check_note("%s, fpr 2^-%u", (*family)->name, rates[i]);
			visit(&options);
			visited++;
			if (!(*family)->compact || i > 0)
				continue;
			options.features = NIDUS_COMPACT;
			check_note("%s, compact, fpr 2^-%u", (*family)->name, rates[i]);
			visit(&options);
		}
	}
	expect(visited > 0);
}

/* The most doublings that create accepts, `most` at most; what it refuses is E_RANGE. */
static unsigned reserve_most(nidus_options *options, unsigned most)
{
	unsigned accepted = 0;
	for (unsigned times = 1; times <= most; times++) {
		nidus_filter *filter;
		options->max_capacity = options->capacity << times;
		nidus_status status = nidus_create(options, &filter);
		nidus_free(filter);
		if (status != NIDUS_OK) {
			expect_status(status, NIDUS_E_RANGE);
			expect(filter == NULL);
			break;
		}
		accepted = times;
	}
	options->max_capacity = options->capacity << accepted;
	return accepted;
}

/* Options with room to grow by some doublings, and how many. */
static nidus_options growing(const nidus_options *options, unsigned most, unsigned *times)
{
	nidus_options grows = *options;
	*times = reserve_most(&grows, most);
	return grows;
}

static void expect_rate(const nidus_filter *filter, double rate)
{
	uint64_t trials = check_small() ? 1 << 14 : 1 << 16, found = 0;
	for (uint64_t i = 0; i < trials; i++)
		found += nidus_contains_u64(filter, FIRST_ABSENT + i);
	if (rate < 1)
		expect(found <= chance_most(trials, rate, ODDS));
}

/* ---------------------------------------------------------------- growth by itself -- */

static void expect_grown_to(const nidus_filter *filter, uint64_t keys, const nidus_options *options)
{
	nidus_info info = info_of(filter);
	expect_equal(info.count, keys);
	expect(info.capacity >= keys);
	expect(info.max_capacity >= options->max_capacity);
	expect(info.capacity <= info.max_capacity);
	expect(info.fpr_target <= options->fpr);
	expect_ok(nidus_verify(filter, NULL));
	expect_keys(filter, 0, keys);
	expect_rate(filter, options->fpr);
}

static void grow_by_inserts(const nidus_options *options)
{
	unsigned times;
	nidus_options grows = growing(options, doublings_most(), &times);
	if (times == 0)
		return;
	nidus_filter *filter = filter_create(&grows);
	uint64_t bytes = info_of(filter).bytes;
	insert_keys(filter, 0, BASE);
	for (unsigned i = 1; i <= times; i++) {
		insert_keys(filter, BASE << (i - 1), BASE << i);
		expect_grown_to(filter, BASE << i, &grows);
	}
	expect(info_of(filter).bytes > bytes);
	nidus_free(filter);
}

static void inserts_beyond_the_capacity_grow_the_filter(void **state)
{
	(void)state;
	each_with(NIDUS_GROW, grow_by_inserts);
}

/* Some growth must be possible somewhere at every rate that is not extreme. */
static void count_doublings(const nidus_options *options)
{
	unsigned times;
	(void)growing(options, 24, &times);
	if (options->fpr >= ldexp(1, -8))
		expect(times >= 3);
}

static void common_rates_leave_room_for_growth(void **state)
{
	(void)state;
	each_with(NIDUS_GROW, count_doublings);
}

/* How full a filter is when it first refuses a key. */
static double load_when_full(nidus_filter *filter)
{
	uint64_t key = 0;
	while (nidus_insert_u64(filter, key) == NIDUS_OK)
		key++;
	return info_of(filter).load;
}

/* A filter of the final size, with slots at least as wide as a growing one's. */
static nidus_filter *make_directly(const nidus_options *grows, unsigned slot_bits)
{
	nidus_options direct = *grows;
	direct.capacity = direct.max_capacity;
	for (;;) {
		nidus_filter *made = filter_create(&direct);
		if (info_of(made).slot_bits >= slot_bits || direct.fpr < ldexp(1, -23))
			return made;
		nidus_free(made);
		direct.fpr /= 2;
	}
}

/*
 * A grown table is one table and not many small ones: it takes as much as one that
 * was made for the final size. (Its size is the base's, doubled; how much of that
 * is promised is another matter.)
 */
static void compare_load(const nidus_options *options)
{
	unsigned times;
	nidus_options grows = growing(options, doublings_most() - 2, &times);
	if (times == 0)
		return;
	nidus_filter *grown = filter_create(&grows);
	nidus_filter *made = make_directly(&grows, info_of(grown).slot_bits);
	double a = load_when_full(grown), b = load_when_full(made);
	if (a < b - 0.05)
		print_error("load %.4f grown, %.4f made\n", a, b);
	expect(a >= b - 0.05);
	nidus_free(grown);
	nidus_free(made);
}

static void grown_filters_take_as_much_as_new_ones(void **state)
{
	(void)state;
	each_with(NIDUS_GROW, compare_load);
}

/* Beyond max_capacity places run out some time; then nothing is lost and nothing changes. */
static void overfill(const nidus_options *options)
{
	unsigned times;
	nidus_options grows = growing(options, 2, &times);
	nidus_filter *filter = filter_create(&grows);
	nidus_status status;
	uint64_t keys = 0;
	while ((status = nidus_insert_u64(filter, keys)) == NIDUS_OK)
		expect(++keys < 64 * grows.max_capacity);
	expect_status(status, NIDUS_FULL);
	expect(keys >= grows.max_capacity);
	struct bytes bytes = bytes_save(filter);
	for (uint64_t i = 0; i < 20; i++) {
		status = nidus_insert_u64(filter, keys);
		if (status != NIDUS_FULL)
			break; /* cannot be: the same key into the same filter */
	}
	expect_status(status, NIDUS_FULL);
	expect(bytes_match(&bytes, filter));
	bytes_free(&bytes);
	expect_equal(info_of(filter).count, keys);
	expect_keys(filter, 0, keys);
	nidus_free(filter);
}

static void beyond_all_growth_full_is_answered_and_nothing_is_lost(void **state)
{
	(void)state;
	each_with(NIDUS_GROW, overfill);
}

/* Promise 9: one key again and again does not make a filter larger. */
static void repeat_a_key(const nidus_options *options)
{
	for (uint64_t capacity = 1; capacity <= 64; capacity++) {
		nidus_options grows = *options;
		grows.capacity = capacity;
		if (reserve_most(&grows, 3) == 0 || !counts_copies(&grows))
			continue;
		check_note("%s, fpr %g, capacity %llu", nidus_family_name(options->family),
		           options->fpr, (unsigned long long)capacity);
		nidus_filter *filter = filter_create(&grows);
		nidus_info fresh = info_of(filter);
		for (unsigned i = 0; i < 1000; i++)
			expect_ok(nidus_insert_u64(filter, 5));
		nidus_info info = info_of(filter);
		expect_equal(info.count, 1000);
		expect(info.bytes <= fresh.bytes + 512);
		nidus_cursor cursor = { 0 };
		nidus_entry entry, strange = { UINT64_MAX, 1, 0 };
		expect(nidus_next(filter, &cursor, &entry));
		expect_ok(nidus_insert_entry(filter, &entry));
		expect_equal(nidus_count_key_u64(filter, 5), 1001);
		expect_status(nidus_insert_entry(filter, &strange), NIDUS_E_RANGE);
		nidus_free(filter);
	}
}

static void copies_never_grow_a_filter(void **state)
{
	(void)state;
	each_with(NIDUS_GROW, repeat_a_key);
}

/* Nor do they when they take the last places before it grows, alone or in a batch. */
static void repeat_all_keys(const nidus_options *options)
{
	enum { COPIES = 20 };
	nidus_options grows = *options;
	grows.capacity = 500;
	if (reserve_most(&grows, 3) == 0 || !counts_copies(&grows))
		return;
	check_note("%s, fpr %g", nidus_family_name(options->family), options->fpr);
	nidus_filter *filter = filter_create(&grows);
	for (uint64_t key = 0; key < grows.max_capacity / COPIES; key++) {
		uint64_t hashes[COPIES];
		size_t done;
		for (unsigned i = 0; i < COPIES; i++)
			hashes[i] = nidus_hash_u64(filter, key);
		expect_ok(nidus_insert_u64(filter, key));
		uint64_t slots = info_of(filter).total_slots;
		expect_ok(nidus_insert_u64(filter, key));
		expect_equal(info_of(filter).total_slots, slots);
		expect_ok(nidus_insert_batch(filter, hashes, key % COPIES, &done));
		expect_equal(info_of(filter).total_slots, slots);
		expect(nidus_count_key_u64(filter, key) >= 2 + key % COPIES);
	}
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

static void copies_in_the_last_places_do_not_grow_it_either(void **state)
{
	(void)state;
	unsigned slots = family_segment_slots;
	take_small_segments(64);
	each_with(NIDUS_GROW, repeat_all_keys);
	take_small_segments(slots);
}

/* ------------------------------------------------------------------ growth by call -- */

static void grow_by_call(const nidus_options *options)
{
	unsigned times;
	nidus_options grows = growing(options, 5, &times);
	nidus_filter *filter = filter_create(&grows);
	insert_keys(filter, 0, BASE);
	for (unsigned i = 0; i <= times; i++) {
		/* Odd sizes too; and what is large enough stays as it is. */
		uint64_t wanted = i < times ? (BASE << i) + 137 : BASE << i;
		expect_ok(nidus_grow(filter, wanted));
		nidus_info info = info_of(filter);
		expect(info.capacity >= wanted);
		expect_equal(info.count, BASE);
		struct bytes bytes = bytes_save(filter);
		expect_ok(nidus_grow(filter, wanted));
		expect_ok(nidus_grow(filter, 1));
		expect(bytes_match(&bytes, filter));
		bytes_free(&bytes);
		expect_ok(nidus_verify(filter, NULL));
		expect_keys(filter, 0, BASE);
	}
	insert_keys(filter, BASE, BASE << times);
	expect_keys(filter, 0, BASE << times);
	nidus_free(filter);
}

static void grow_makes_room_and_keeps_every_key(void **state)
{
	(void)state;
	each_with(NIDUS_GROW, grow_by_call);
}

static void grow_too_far(const nidus_options *options)
{
	for (unsigned most = 0; most <= 3; most += 3) {
		unsigned times;
		nidus_options grows = growing(options, most, &times);
		nidus_filter *filter = filter_create(&grows);
		insert_keys(filter, 0, BASE);
		struct bytes bytes = bytes_save(filter);
		/* A little more may fit into the last size; a hundred times as much does not. */
		expect_status(nidus_grow(filter, 100 * grows.max_capacity), NIDUS_E_RANGE);
		expect(nidus_reason()[0] != '\0');
		expect_status(nidus_grow(filter, UINT64_MAX), NIDUS_E_RANGE);
		expect(bytes_match(&bytes, filter));
		bytes_free(&bytes);
		nidus_free(filter);
	}
}

static void growing_beyond_the_reserve_is_refused_and_changes_nothing(void **state)
{
	(void)state;
	each_with(NIDUS_GROW, grow_too_far);
}

/* ---------------------------------------------------------------- growth by inserts -- */

#define SMALL 256 /* slots of a body */

/* Every insert does a bounded share of the growth, and all shares together are few. */
static void count_the_work(const nidus_options *options)
{
	unsigned times;
	nidus_options grows = growing(options, 6, &times);
	nidus_filter *filter = filter_create(&grows);
	uint64_t keys = BASE << times, most = 0, all = 0;
	for (uint64_t key = 0; key < keys; key++) {
		uint64_t before = effort_of_thread()->moved;
		expect_ok(nidus_insert_u64(filter, key));
		uint64_t work = effort_of_thread()->moved - before;
		most = work > most ? work : most;
		all += work;
	}
	check_note("%s, fpr %g: %llu at most, %.2f per key", nidus_family_name(options->family),
	           options->fpr, (unsigned long long)most, (double)all / (double)keys);
	/* Three bodies, each as full as it can be; those of breadcrumb filters are larger. */
	expect(most <= 3 * 3 * family_segment_slots);
	expect(all <= 5 * keys);
	expect_ok(nidus_verify(filter, NULL));
	expect_keys(filter, 0, keys);
	nidus_free(filter);
}

static void no_insert_does_more_work_than_a_leaf(void **state)
{
	(void)state;
	unsigned slots = family_segment_slots;
	each_with(NIDUS_GROW, count_the_work);
	take_small_segments(SMALL);
	each_with(NIDUS_GROW, count_the_work);
	take_small_segments(slots);
}

/* Where no memory is to be had for a split, inserts go on as long as there are places. */
static void insert_without_memory(const nidus_options *options)
{
	struct ledger ledger = { 0 };
	unsigned times;
	nidus_options grows = growing(options, 3, &times);
	if (times < 3)
		return;
	grows.allocator = ledger_allocator(&ledger);
	nidus_filter *filter = filter_create(&grows);
	uint64_t keys = 0, in = 0;
	while (!has_segments(filter))
		expect_ok(nidus_insert_u64(filter, keys++));
	uint64_t segments = info_of(filter).chunks;
	for (uint64_t key = keys; key < keys + 2 * SMALL; key++) {
		ledger.fail_at = ledger.requests + 1;
		nidus_status status = nidus_insert_u64(filter, key);
		expect(status == NIDUS_OK || status == NIDUS_E_NOMEM);
		expect_equal(nidus_contains_u64(filter, key) || status != NIDUS_OK, true);
		in += status == NIDUS_OK;
	}
	expect(in > 0);
	expect_equal(info_of(filter).chunks, segments);
	ledger.fail_at = 0;
	expect_equal(info_of(filter).count, keys + in);
	expect_ok(nidus_verify(filter, NULL));
	insert_keys(filter, keys + 2 * SMALL, BASE << times);
	expect_keys(filter, keys + 2 * SMALL, BASE << times);
	expect(info_of(filter).chunks > segments);
	nidus_free(filter);
	expect_equal(ledger.blocks, 0);
}

static void inserts_go_on_where_there_is_no_memory_to_split(void **state)
{
	(void)state;
	unsigned slots = family_segment_slots;
	take_small_segments(SMALL);
	each_with(NIDUS_GROW, insert_without_memory);
	take_small_segments(slots);
}

/* ----------------------------------------------------------------- memory that fails -- */

/* Calls `act` with request 1, 2, 3 ... failing, until none does. */
static void fail_each_request(struct ledger *ledger, nidus_filter *filter,
                              nidus_status (*act)(nidus_filter *filter))
{
	struct bytes bytes = bytes_save(filter);
	uint64_t blocks = ledger->blocks, failures = 0, size = info_of(filter).bytes;
	uint64_t before = ledger->requests;
	for (;;) {
		ledger->fail_at = ledger->requests + failures + 1;
		nidus_status status = act(filter);
		if (status == NIDUS_OK)
			break;
		expect_status(status, NIDUS_E_NOMEM);
		expect_equal(ledger->blocks, blocks);
		expect(bytes_match(&bytes, filter));
		expect(++failures < 100);
	}
	/* Growth within what the table has room for anyway asks for nothing. */
	bool asked = ledger->requests > before;
	expect(failures > 0 || (!asked && info_of(filter).bytes == size));
	ledger->fail_at = 0;
	bytes_free(&bytes);
}

static nidus_status act_grow(nidus_filter *filter)
{
	return nidus_grow(filter, info_of(filter).max_capacity);
}

/* The filter is as full as it promised to become: it grows first. */
static nidus_status act_insert(nidus_filter *filter)
{
	return nidus_insert_u64(filter, info_of(filter).capacity);
}

static nidus_filter *partner; /* of the next act_merge */

static nidus_status act_merge(nidus_filter *filter)
{
	nidus_filter *merged;
	nidus_status status = nidus_merge(filter, partner, &merged);
	expect((status == NIDUS_OK) == (merged != NULL));
	if (status == NIDUS_OK)
		expect_equal(info_of(merged).count, info_of(filter).count + 100);
	nidus_free(merged);
	return status;
}

static void run_out_of_memory(const nidus_options *options)
{
	static nidus_status (*const acts[])(nidus_filter *) = { act_grow, act_insert, act_merge };
	for (size_t i = 0; i < 3; i++) {
		struct ledger ledger = { 0 };
		unsigned times;
		nidus_options grows = growing(options, 2, &times);
		if (times == 0)
			return;
		grows.allocator = ledger_allocator(&ledger);
		nidus_filter *filter = filter_create(&grows);
		uint64_t keys = info_of(filter).capacity;
		insert_keys(filter, 0, keys);
		partner = filter_create(&grows);
		insert_keys(partner, keys, keys + 100);
		check_note("%s, fpr %g, act %zu", nidus_family_name(options->family), options->fpr,
		           i);
		fail_each_request(&ledger, filter, acts[i]);
		expect_ok(nidus_verify(filter, NULL));
		expect_keys(filter, 0, keys);
		nidus_free(partner);
		nidus_free(filter);
		expect_equal(ledger.blocks, 0);
	}
}

static void growth_and_merge_without_memory_change_nothing(void **state)
{
	(void)state;
	each_with(NIDUS_GROW | NIDUS_MERGE, run_out_of_memory);
}

/* ------------------------------------------------------------------------- merging -- */

static void expect_merged(const nidus_filter *a, const nidus_filter *b, uint64_t keys)
{
	nidus_filter *merged;
	nidus_info of_a = info_of(a), of_b = info_of(b);
	struct bytes bytes_a = bytes_save(a), bytes_b = bytes_save(b);
	expect_ok(nidus_merge(a, b, &merged));
	expect(bytes_match(&bytes_a, a) && bytes_match(&bytes_b, b));
	nidus_info info = info_of(merged);
	expect_equal(info.count, of_a.count + of_b.count);
	expect(info.capacity >= info.count);
	if (info.features & NIDUS_GROW) /* Bloom filters' rate rises faster; it is true below */
		expect(info.fpr_target <= of_a.fpr_target + of_b.fpr_target);
	expect_ok(nidus_verify(merged, NULL));
	expect_keys(merged, 0, keys);
	expect_rate(merged, info.fpr_target);
	/* It is a filter like any other: everything can be taken out again. */
	for (uint64_t key = 0; key < keys && (info.features & NIDUS_DELETE); key++)
		expect_ok(nidus_remove_u64(merged, key));
	expect_equal(info_of(merged).count, info.features & NIDUS_DELETE ? 0 : keys);
	expect_ok(nidus_verify(merged, NULL));
	bytes_free(&bytes_a);
	bytes_free(&bytes_b);
	nidus_free(merged);
}

static void merge_full_ones(const nidus_options *options)
{
	nidus_filter *a = filter_create(options), *b = filter_create(options);
	uint64_t capacity = info_of(a).capacity;
	insert_keys(a, 0, capacity);
	insert_keys(b, capacity, 2 * capacity);
	expect_merged(a, b, 2 * capacity);
	nidus_free(a);
	nidus_free(b);
}

static void merging_two_full_filters_loses_nothing(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_full_ones);
}

static void merge_across_levels(const nidus_options *options)
{
	unsigned times;
	nidus_options grows = growing(options, 3, &times);
	for (unsigned i = 0; i <= times; i++) {
		nidus_filter *a = filter_create(&grows), *b = filter_create(&grows);
		insert_keys(a, 0, BASE << i);
		insert_keys(b, BASE << i, (BASE << i) + BASE / 2);
		expect_merged(a, b, (BASE << i) + BASE / 2);
		expect_merged(b, a, (BASE << i) + BASE / 2);
		nidus_free(a);
		nidus_free(b);
	}
}

static void filters_at_different_levels_merge(void **state)
{
	(void)state;
	each_with(NIDUS_GROW | NIDUS_MERGE, merge_across_levels);
}

static void merge_with_nothing(const nidus_options *options)
{
	nidus_filter *a = filter_create(options), *b = filter_create(options);
	insert_keys(a, 0, BASE);
	expect_merged(a, b, BASE);
	expect_merged(b, a, BASE);
	nidus_free(a);
	nidus_free(b);
}

static void merging_with_an_empty_filter_keeps_the_other(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_with_nothing);
}

/* The reason must have one of two words in it. */
static void expect_mismatch(const nidus_filter *a, const nidus_options *options, const char *word,
                            const char *or_word)
{
	nidus_filter *b = filter_create(options), *merged = b;
	expect_status(nidus_merge(a, b, &merged), NIDUS_E_MISMATCH);
	expect(merged == NULL);
	if (strstr(nidus_reason(), word) == NULL && strstr(nidus_reason(), or_word) == NULL)
		check_failed(nidus_reason(), __FILE__, __LINE__);
	nidus_free(b);
}

static void try_to_merge_misfits(const nidus_options *options)
{
	nidus_filter *a = filter_create(options);
	nidus_options other = *options;
	other.seed++;
	expect_mismatch(a, &other, "seeds differ", "seeds differ");
	/* Other sizes and rates may come with other fingerprints, or other numbers of slots. */
	other = *options;
	other.capacity *= 50;
	expect_mismatch(a, &other, "sizes differ", "fingerprints differ");
	other = *options;
	other.fpr /= 1 << 8;
	expect_mismatch(a, &other, "fingerprints differ", "sizes differ");
	for (const struct family *const *family = families; *family != NULL; family++) {
		other = *options;
		other.features = 0; /* not every family can be compact */
		other.family = (*family)->id;
		if (other.family != options->family)
			expect_mismatch(a, &other, "families differ", (*family)->name);
	}
	nidus_free(a);
}

static void misfits_are_told_what_differs(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, try_to_merge_misfits);
}

static void families_without_these_features_say_so(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		nidus_options options = filter_options(100, 0.01, 3);
		options.family = (*family)->id;
		nidus_filter *filter = filter_create(&options), *merged;
		uint32_t features = nidus_family_features(options.family);
		check_note("%s", (*family)->name);
		if (!(features & NIDUS_GROW))
			expect_status(nidus_grow(filter, 10000), NIDUS_E_UNSUPPORTED);
		if (!(features & NIDUS_MERGE))
			expect_status(nidus_merge(filter, filter, &merged), NIDUS_E_UNSUPPORTED);
		nidus_free(filter);
	}
}

/* -------------------------------------------------------------- files and entries -- */

/* A loaded filter goes on growing exactly as the one that was saved. */
static void save_grown(const nidus_options *options)
{
	unsigned times;
	nidus_options grows = growing(options, 4, &times);
	nidus_filter *filter = filter_create(&grows);
	for (unsigned i = 0; i <= times; i++) {
		nidus_filter *loaded;
		insert_keys(filter, i == 0 ? 0 : BASE << (i - 1), BASE << i);
		struct bytes bytes = bytes_save(filter);
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
		bytes_free(&bytes);
		expect(filters_equal(filter, loaded));
		expect_keys(loaded, 0, BASE << i);
		if (i < times) {
			insert_keys(loaded, BASE << i, BASE << (i + 1));
			expect_grown_to(loaded, BASE << (i + 1), &grows);
		}
		nidus_free(loaded);
	}
	nidus_free(filter);
}

static void grown_filters_can_be_saved_and_go_on(void **state)
{
	(void)state;
	each_with(NIDUS_GROW, save_grown);
}

static void transfer_by_entries(const nidus_filter *from, nidus_filter *to)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	uint64_t walked = 0;
	while (nidus_next(from, &cursor, &entry)) {
		expect_ok(nidus_insert_entry(to, &entry));
		walked++;
	}
	expect_equal(walked, info_of(from).count);
	expect_equal(info_of(to).count, walked);
	expect_ok(nidus_verify(to, NULL));
}

static void rebuild_across_levels(const nidus_options *options)
{
	unsigned times;
	nidus_options grows = growing(options, 4, &times);
	nidus_filter *small = filter_create(&grows);
	insert_keys(small, 0, BASE);
	for (unsigned i = 1; i <= times; i++) {
		nidus_filter *large = filter_create(&grows), *again = filter_create(&grows);
		expect_ok(nidus_grow(large, BASE << i));
		transfer_by_entries(small, large);
		expect_keys(large, 0, BASE);
		transfer_by_entries(large, again);
		expect_keys(again, 0, BASE);
		nidus_free(large);
		nidus_free(again);
	}
	nidus_free(small);
}

static void entries_walk_from_any_level_to_any_other(void **state)
{
	(void)state;
	each_with(NIDUS_GROW | NIDUS_ENUMERATE, rebuild_across_levels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inserts_beyond_the_capacity_grow_the_filter),
		cmocka_unit_test(common_rates_leave_room_for_growth),
		cmocka_unit_test(grown_filters_take_as_much_as_new_ones),
		cmocka_unit_test(beyond_all_growth_full_is_answered_and_nothing_is_lost),
		cmocka_unit_test(copies_never_grow_a_filter),
		cmocka_unit_test(copies_in_the_last_places_do_not_grow_it_either),
		cmocka_unit_test(grow_makes_room_and_keeps_every_key),
		cmocka_unit_test(growing_beyond_the_reserve_is_refused_and_changes_nothing),
		cmocka_unit_test(no_insert_does_more_work_than_a_leaf),
		cmocka_unit_test(inserts_go_on_where_there_is_no_memory_to_split),
		cmocka_unit_test(growth_and_merge_without_memory_change_nothing),
		cmocka_unit_test(merging_two_full_filters_loses_nothing),
		cmocka_unit_test(filters_at_different_levels_merge),
		cmocka_unit_test(merging_with_an_empty_filter_keeps_the_other),
		cmocka_unit_test(misfits_are_told_what_differs),
		cmocka_unit_test(families_without_these_features_say_so),
		cmocka_unit_test(grown_filters_can_be_saved_and_go_on),
		cmocka_unit_test(entries_walk_from_any_level_to_any_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

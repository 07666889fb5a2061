/* SPDX-License-Identifier: MIT
 *
 * Merging many filters, for every family that can: size and target follow the
 * entries, in whatever order and state the filters come.
 *
 * Rates are measured as in test_fpr.c: a limit is passed by chance with odds of
 * ODDS, and there are fewer than a thousand comparisons.
 */
#include <math.h>
#include <pthread.h>

#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"
#include "support/folder.h"

#define ODDS 1e-10
#define SEED 2026
#define FIRST_ABSENT (UINT64_C(1) << 60)

/* ---------------------------------------------------------------------- the tour -- */

typedef void (*merge_visitor)(const struct family *family);

static void each_with(uint32_t features, merge_visitor visit)
{
	unsigned visited = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (((*family)->features & features) != features)
			continue;
		check_note("%s", (*family)->name);
		visit(*family);
		visited++;
	}
	expect(visited > 1);
}

/* Whether a family keeps entries and no bare bits. */
static bool lists(const struct family *family)
{
	return family->features & NIDUS_ENUMERATE;
}

static nidus_options options_of(const struct family *family, uint64_t capacity, double fpr,
                                uint64_t max_capacity)
{
	nidus_options options = filter_options(capacity, fpr, SEED);
	options.family = family->id;
	options.max_capacity = max_capacity;
	return options;
}

/* A filter with the keys from `from` on, `n` of them. */
static nidus_filter *filled(const nidus_options *options, uint64_t from, uint64_t n)
{
	nidus_filter *filter = filter_create(options);
	insert_keys(filter, from, from + n);
	return filter;
}

static nidus_filter *merged_of(nidus_filter *const *filters, size_t n, nidus_merge_how how)
{
	nidus_filter *merged;
	expect_ok(nidus_merge_many((const nidus_filter *const *)filters, n, how, &merged));
	return merged;
}

static void free_all(nidus_filter **filters, size_t n)
{
	for (size_t i = 0; i < n; i++)
		nidus_free(filters[i]);
}

static void expect_rate(const nidus_filter *filter)
{
	uint64_t trials = check_small() ? 1 << 15 : 1 << 18, found = 0;
	for (uint64_t i = 0; i < trials; i++)
		found += nidus_contains_u64(filter, FIRST_ABSENT + i);
	expect(found <= chance_most(trials, info_of(filter).fpr_target, ODDS));
}

/* The keys 0 to n - 1 and nothing else, at the promised rate. */
static void expect_whole(const nidus_filter *filter, uint64_t n)
{
	nidus_info info = info_of(filter);
	expect_ok(nidus_verify(filter, NULL));
	expect_equal(info.count, n);
	expect(info.capacity >= n);
	expect(info.fpr_now <= info.fpr_target * 1.005); /* windows of a chunk end: see merge.c */
	expect_keys(filter, 0, n);
	expect_rate(filter);
}

/* --------------------------------------------------------------- a thousand filters -- */

#define EACH UINT64_C(1000) /* keys per filter */
#define ATONCE 100

static uint64_t parts_of_all(void)
{
	return check_small() ? 2 * ATONCE : 10 * ATONCE;
}

/* Merges so many filters of EACH keys, some at once and the results of that again. */
static nidus_filter *merge_in_two_steps(const nidus_options *options, uint64_t parts)
{
	nidus_filter *some[ATONCE], *sums[10], *all;
	uint64_t steps = parts / ATONCE;
	for (uint64_t step = 0; step < steps; step++) {
		for (uint64_t i = 0; i < ATONCE; i++)
			some[i] = filled(options, (step * ATONCE + i) * EACH, EACH);
		sums[step] = merged_of(some, ATONCE, NIDUS_MERGE_COPIES);
		free_all(some, ATONCE);
	}
	all = merged_of(sums, steps, NIDUS_MERGE_COPIES);
	free_all(sums, steps);
	return all;
}

static nidus_filter *merge_at_once(const nidus_options *options, uint64_t parts)
{
	nidus_filter **filters = check_alloc(parts * sizeof *filters);
	for (uint64_t i = 0; i < parts; i++)
		filters[i] = filled(options, i * EACH, EACH);
	nidus_filter *all = merged_of(filters, parts, NIDUS_MERGE_COPIES);
	free_all(filters, parts);
	free(filters);
	return all;
}

/* Sizes of one base double: not much more than twice what full tables take. */
static void expect_small(const nidus_filter *filter, const nidus_options *options)
{
	nidus_filter *part = filter_create(options);
	nidus_info info = info_of(filter);
	check_note("%s: %.1f bits per key at %g", nidus_family_name(info.family), info.bits_per_key,
	           info.fpr_target);
	expect(info.bits_per_key <= 2.2 * (info_of(part).fingerprint_bits + 3));
	expect(info.capacity < 3 * info.count);
	nidus_free(part);
}

/* No larger than a filter that has taken all the keys itself. */
static void expect_as_grown(const nidus_filter *filter, const nidus_options *options)
{
	nidus_info info = info_of(filter);
	nidus_filter *grown = filled(options, 0, info.count);
	check_note("%s: %.1f bits per key, as inserts: %.1f", nidus_family_name(info.family),
	           info.bits_per_key, info_of(grown).bits_per_key);
	expect(info.total_slots <= info_of(grown).total_slots);
	expect(info.fpr_target == info_of(grown).fpr_target);
	nidus_free(grown);
}

static void merge_growing_thousand(const struct family *family)
{
	uint64_t parts = parts_of_all(), keys = parts * EACH;
	nidus_options options = options_of(family, EACH, 0.001, keys);
	nidus_filter *all = merge_at_once(&options, parts), *steps;
	expect_whole(all, keys);
	expect_small(all, &options);
	expect_as_grown(all, &options);
	steps = merge_in_two_steps(&options, parts);
	expect_whole(steps, keys);
	expect(info_of(steps).fpr_target == info_of(all).fpr_target);
	expect_equal(info_of(steps).total_slots, info_of(all).total_slots);
	nidus_free(all);
	nidus_free(steps);
}

static void a_thousand_growing_filters_make_one_at_their_rate(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE | NIDUS_GROW, merge_growing_thousand);
}

static void merge_fixed_thousand(const struct family *family)
{
	uint64_t parts = parts_of_all(), keys = parts * EACH;
	nidus_options options = options_of(family, EACH, 0x1p-20, 0);
	nidus_filter *all = merge_at_once(&options, parts), *steps;
	expect_whole(all, keys);
	expect_small(all, &options);
	expect(info_of(all).fpr_target <= (double)parts * 0x1p-20 * (1 + 1e-9));
	steps = merge_in_two_steps(&options, parts);
	expect_whole(steps, keys);
	expect(info_of(steps).fpr_target <= info_of(all).fpr_target * (1 + 1e-9));
	expect_equal(info_of(steps).total_slots, info_of(all).total_slots);
	nidus_free(all);
	nidus_free(steps);
}

static void a_thousand_fixed_filters_make_one_at_the_sum_of_their_rates(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE | NIDUS_GROW, merge_fixed_thousand);
}

static void merge_thousand_of_bits(const struct family *family)
{
	uint64_t parts = parts_of_all(), keys = parts * EACH;
	if (lists(family))
		return;
	nidus_options options = options_of(family, keys, 0.001, 0);
	nidus_filter *one = filter_create(&options), *all = merge_in_two_steps(&options, parts);
	expect_whole(all, keys);
	expect(info_of(all).fpr_target == 0.001);
	expect_equal(info_of(all).bytes, info_of(one).bytes);
	expect_equal(info_of(all).capacity, info_of(one).capacity);
	nidus_free(one);
	nidus_free(all);
}

static void a_thousand_bloom_filters_made_for_all_keys_keep_size_and_rate(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_thousand_of_bits);
}

/* ----------------------------------------------------------------------------- chains -- */

#define LINKS 24
#define LINK UINT64_C(1300)

static void expect_same_promises(const nidus_filter *a, const nidus_filter *b)
{
	nidus_info of_a = info_of(a), of_b = info_of(b);
	expect_equal(of_a.count, of_b.count);
	expect_equal(of_a.total_slots, of_b.total_slots);
	expect(fabs(of_a.fpr_target / of_b.fpr_target - 1) < 1e-9);
	/* Where the search for the most keys begins decides about the last few of them. */
	expect(fabs((double)of_a.capacity / (double)of_b.capacity - 1) < 1e-3);
	expect(fabs((double)of_a.max_capacity / (double)of_b.max_capacity - 1) < 1e-3);
}

static void merge_chain(const struct family *family, uint64_t max_capacity)
{
	nidus_options options = options_of(family, LINK, 0.001, max_capacity);
	nidus_filter *links[LINKS], *sum, *next;
	for (uint64_t i = 0; i < LINKS; i++)
		links[i] = filled(&options, i * LINK, LINK);
	expect_ok(nidus_clone(links[0], &sum));
	double targets = info_of(sum).fpr_target;
	for (uint64_t i = 1; i < LINKS; i++) {
		check_note("%s, link %d, max_capacity %llu", family->name, (int)i,
		           (unsigned long long)max_capacity);
		expect_ok(nidus_merge(sum, links[i], &next));
		targets += info_of(links[i]).fpr_target;
		expect(info_of(next).fpr_target <= targets * (1 + 1e-9));
		nidus_filter *at_once = merged_of(links, i + 1, NIDUS_MERGE_COPIES);
		expect_same_promises(next, at_once);
		nidus_free(at_once);
		nidus_free(sum);
		sum = next;
	}
	expect_whole(sum, LINKS * LINK);
	nidus_free(sum);
	free_all(links, LINKS);
}

static void merge_chains(const struct family *family)
{
	if (!lists(family))
		return;
	merge_chain(family, 0);
	merge_chain(family, 4 * LINK);
	merge_chain(family, LINKS * LINK);
}

static void a_chain_of_merges_is_as_good_as_one_merge(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_chains);
}

/* Sets that may become large are no larger than their keys. */
static void merge_huge_promises(const struct family *family)
{
	nidus_options options = options_of(family, 8000, 0.01, UINT64_C(1) << 24);
	nidus_filter *parts[14], *sum;
	if (!(family->features & NIDUS_GROW) || nidus_create(&options, &sum) != NIDUS_OK)
		return;
	nidus_free(sum);
	for (uint64_t i = 0; i < 14; i++)
		parts[i] = filled(&options, 8000 * i, 8000);
	sum = merged_of(parts, 14, NIDUS_MERGE_COPIES);
	expect_whole(sum, 14 * 8000);
	expect(info_of(sum).capacity < 3 * 14 * 8000);
	expect(info_of(sum).max_capacity >= UINT64_C(1) << 24);
	expect(info_of(sum).fpr_target == info_of(parts[0]).fpr_target);
	insert_keys(sum, 14 * 8000, 40 * 8000); /* and it grows on by itself */
	expect_whole(sum, 40 * 8000);
	nidus_free(sum);
	free_all(parts, 14);
}

static void large_promises_cost_nothing(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_huge_promises);
}

/* ------------------------------------------------------- empty and overfull filters -- */

static void expect_no_worse(nidus_filter *filter, nidus_filter *empty)
{
	nidus_info before = info_of(filter);
	nidus_filter *both[2][3] = { { filter, empty, empty }, { empty, filter, empty } };
	for (unsigned order = 0; order < 2; order++) {
		nidus_filter *merged = merged_of(both[order], 3, NIDUS_MERGE_COPIES);
		nidus_info info = info_of(merged);
		expect_equal(info.count, before.count);
		expect(info.fpr_target <= before.fpr_target);
		expect(info.bytes <= before.bytes + before.bytes / 8);
		expect_ok(nidus_verify(merged, NULL));
		nidus_free(merged);
	}
}

static void merge_with_empty(const struct family *family)
{
	nidus_options fixed = options_of(family, EACH, 0.001, 0);
	nidus_options grows = options_of(family, EACH, 0.001, 8 * EACH);
	nidus_filter *empty = filter_create(&fixed), *filter = filter_create(&fixed), *full[2];
	expect_no_worse(filter, empty);
	insert_keys(filter, 0, EACH / 2);
	expect_no_worse(filter, empty);
	insert_keys(filter, EACH / 2, info_of(filter).capacity);
	expect_no_worse(filter, empty);
	full[0] = filter;
	full[1] = filled(&fixed, 5 * EACH, EACH);
	nidus_filter *merged = merged_of(full, 2, NIDUS_MERGE_COPIES);
	expect_no_worse(merged, empty);
	nidus_free(merged);
	free_all(full, 2);
	nidus_free(empty);
	if (!(family->features & NIDUS_GROW))
		return;
	empty = filter_create(&grows);
	filter = filled(&grows, 0, 5 * EACH);
	expect_no_worse(filter, empty);
	nidus_free(empty);
	nidus_free(filter);
}

static void an_empty_filter_costs_nothing(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_with_empty);
}

/* Filters beyond their capacity make one that is as far beyond its own. */
static void merge_overfull(const struct family *family)
{
	nidus_options options = options_of(family, EACH, 0.001, 0);
	nidus_filter *parts[2] = { filter_create(&options), filter_create(&options) };
	if (!lists(family)) {
		free_all(parts, 2);
		return;
	}
	uint64_t counts[2];
	for (uint64_t i = 0; i < 2; i++) {
		counts[i] = 0;
		while (counts[i] < info_of(parts[i]).capacity + 10 &&
		       nidus_insert_u64(parts[i], (i << 32) + counts[i]) == NIDUS_OK)
			counts[i]++;
	}
	nidus_filter *merged = merged_of(parts, 2, NIDUS_MERGE_COPIES);
	expect_equal(info_of(merged).count, counts[0] + counts[1]);
	expect(info_of(merged).fpr_target <= 0.002 * (1 + 1e-9));
	for (uint64_t i = 0; i < 2; i++)
		expect_keys(merged, i << 32, (i << 32) + counts[i]);
	nidus_free(merged);
	free_all(parts, 2);
}

static void overfull_filters_raise_no_target(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_overfull);
}

/* --------------------------------------------------------------- states of filters -- */

static nidus_filter *reopened(nidus_filter *filter, unsigned number)
{
	char name[16];
	nidus_filter *opened;
	snprintf(name, sizeof name, "part%u", number);
	expect_ok(nidus_save(filter, folder_path(name)));
	expect_ok(nidus_open(folder_path(name), 0, &opened));
	nidus_free(filter);
	return opened;
}

/* Empty, small, grown, relaxed, amid growth, opened, shared: all at once. */
static void merge_any_states(const struct family *family)
{
	enum { STATES = 12 };
	static const uint64_t counts[STATES] = { 0,    1,    700,  1000, 1001, 1300,
		                                 2100, 3700, 4100, 5000, 7900, 900 };
	nidus_options options = options_of(family, EACH, 0.001, 8 * EACH);
	nidus_filter *parts[STATES];
	uint64_t keys = 0;
	for (unsigned i = 0; i < STATES; i++) {
		options.features = i % 4 == 1 ? NIDUS_CONCURRENT : 0;
		parts[i] = filled(&options, keys, counts[i]);
		keys += counts[i];
		if (i == 2)
			expect_ok(nidus_grow(parts[i], 6 * EACH));
		if (i == 11)
			expect_ok(nidus_grow_relaxed(parts[i], 30 * EACH));
		if (i % 3 == 2)
			parts[i] = reopened(parts[i], i);
	}
	nidus_filter *merged = merged_of(parts, STATES, NIDUS_MERGE_COPIES);
	expect_whole(merged, keys);
	nidus_filter *unique = merged_of(parts, STATES, NIDUS_MERGE_UNIQUE);
	expect_ok(nidus_verify(unique, NULL));
	expect(info_of(unique).count <= keys && info_of(unique).count > keys - keys / 100);
	expect_keys(unique, 0, keys);
	expect_rate(unique);
	nidus_free(unique);
	nidus_free(merged);
	free_all(parts, STATES);
}

static void filters_in_any_state_merge(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE | NIDUS_GROW, merge_any_states);
}

static void merge_one_alone(const struct family *family)
{
	nidus_options options = options_of(family, EACH, 0.001, 0);
	nidus_filter *filter = filled(&options, 0, EACH);
	nidus_filter *merged = merged_of(&filter, 1, NIDUS_MERGE_COPIES);
	expect_whole(merged, EACH);
	expect_equal(info_of(merged).total_slots, info_of(filter).total_slots);
	nidus_free(merged);
	nidus_free(filter);
}

static void one_filter_alone_is_copied(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_one_alone);
}

/* ------------------------------------------------------------------ copies and twins -- */

static void merge_with_itself(const struct family *family)
{
	nidus_options options = options_of(family, EACH, 0x1p-16, 0);
	nidus_filter *filter = filled(&options, 0, EACH);
	nidus_filter *twice[2] = { filter, filter };
	nidus_filter *copies = merged_of(twice, 2, NIDUS_MERGE_COPIES);
	nidus_filter *once = merged_of(twice, 2, NIDUS_MERGE_UNIQUE);
	expect_equal(info_of(copies).count, 2 * EACH);
	if (lists(family)) {
		for (uint64_t key = 0; key < EACH; key++)
			expect(nidus_count_key_u64(copies, key) >= 2);
		expect(info_of(once).count <= EACH && info_of(once).count > EACH - EACH / 50);
		expect(info_of(once).fpr_target == 0x1p-16);
		expect_equal(info_of(once).total_slots, info_of(filter).total_slots);
	}
	expect_keys(once, 0, EACH);
	nidus_free(filter);
	nidus_free(copies);
	nidus_free(once);
}

/* The filter that was saved and loaded. */
static nidus_filter *through_buffer(const nidus_filter *filter)
{
	struct bytes saved = bytes_save(filter);
	nidus_filter *loaded;
	expect_ok(nidus_load_buffer(saved.data, saved.size, NULL, &loaded));
	bytes_free(&saved);
	return loaded;
}

/* Twins share an entry in a union: a remove could take the other one's. */
static void unite_and_remove(const struct family *family)
{
	nidus_options options = options_of(family, EACH, 0x1p-16, 0);
	nidus_filter *parts[2] = { filled(&options, 0, EACH / 2),
		                   filled(&options, EACH / 2, EACH / 2) };
	nidus_filter *copies = merged_of(parts, 2, NIDUS_MERGE_COPIES);
	nidus_filter *more[2] = { parts[0], NULL }, *again, *loaded;
	expect_status(nidus_remove_u64(copies, 0), NIDUS_OK);
	for (nidus_merge_how how = NIDUS_MERGE_UNIQUE; how <= NIDUS_MERGE_OR; how++) {
		nidus_filter *once = merged_of(parts, 2, how);
		expect_status(nidus_remove_u64(once, 0), NIDUS_E_UNSUPPORTED);
		expect(strstr(nidus_reason(), "NIDUS_MERGE_COPIES") != NULL);
		expect(!(info_of(once).features & NIDUS_DELETE));
		loaded = through_buffer(once);
		expect_status(nidus_remove_u64(loaded, 0), NIDUS_E_UNSUPPORTED);
		expect_status(nidus_insert_u64(loaded, EACH), NIDUS_OK);
		more[1] = loaded;
		again = merged_of(more, 2, NIDUS_MERGE_COPIES);
		expect_keys(again, 0, EACH + 1);
		expect_status(nidus_remove_u64(again, 0), NIDUS_E_UNSUPPORTED);
		nidus_free(once);
		nidus_free(loaded);
		nidus_free(again);
	}
	nidus_free(parts[0]);
	nidus_free(parts[1]);
	nidus_free(copies);
}

static void a_union_refuses_removes_and_a_merge_of_copies_does_not(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE | NIDUS_DELETE, unite_and_remove);
}

static void a_filter_merged_with_itself_has_all_twice_or_once(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_with_itself);
}

/* Workers that all saw the same keys, and a few of their own. */
static void merge_overlapping(const struct family *family)
{
	enum { WORKERS = 40 };
	nidus_options options = options_of(family, EACH, 0.001, 0);
	nidus_filter *workers[WORKERS], *merged;
	if (!lists(family))
		options.capacity = 100 * EACH; /* for all inserts of all */
	for (uint64_t i = 0; i < WORKERS; i++) {
		workers[i] = filled(&options, 0, EACH / 2);
		insert_keys(workers[i], (i + 1) << 32, ((i + 1) << 32) + 25);
	}
	if (lists(family) && counts_copies(&options)) {
		merged = merged_of(workers, WORKERS, NIDUS_MERGE_COPIES);
		expect_equal(nidus_size(merged), WORKERS * (EACH / 2 + 25));
		for (uint64_t key = 0; key < EACH / 2; key++)
			expect(nidus_count_key_u64(merged, key) >= WORKERS);
		expect_ok(nidus_verify(merged, NULL));
		nidus_free(merged);
	}
	merged = merged_of(workers, WORKERS, NIDUS_MERGE_UNIQUE);
	nidus_info info = info_of(merged);
	uint64_t keys = EACH / 2 + WORKERS * 25;
	expect_ok(nidus_verify(merged, NULL));
	expect_keys(merged, 0, EACH / 2);
	for (uint64_t i = 0; i < WORKERS; i++)
		expect_keys(merged, (i + 1) << 32, ((i + 1) << 32) + 25);
	if (lists(family)) {
		expect(info.count <= keys && info.count > keys - keys / 50);
		expect(info.fpr_target <= 0.0016);
		expect(info.total_slots < 6 * info_of(workers[0]).total_slots);
		expect_rate(merged);
	}
	nidus_free(merged);
	free_all(workers, WORKERS);
}

static void what_all_hold_is_kept_once_and_counted_once(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE, merge_overlapping);
}

/* -------------------------------------------------------------------------- refusals -- */

/* Puts each of some keys in as often as a filter takes it, or 40 times, with values from 0 on. */
static void insert_hot(nidus_filter *filter, uint64_t keys, bool valued)
{
	for (uint64_t key = 0; key < keys; key++) {
		nidus_status status = NIDUS_OK;
		for (uint64_t value = 0; status == NIDUS_OK && value < 40; value++)
			status = valued ? nidus_insert_value_u64(filter, key, value)
			                : nidus_insert_u64(filter, key);
		expect(status == NIDUS_OK || status == NIDUS_COPIES);
	}
}

static void merge_hot(const struct family *family)
{
	enum { HOT = 100 };
	for (unsigned bits = 0; bits <= 8; bits += 8) {
		nidus_options options = options_of(family, 200, 0x1p-16, 6400);
		options.value_bits = bits;
		nidus_filter *parts[2] = { filter_create(&options), filter_create(&options) };
		insert_hot(parts[0], HOT, bits > 0);
		nidus_filter *all = merged_of(parts, 2, NIDUS_MERGE_COPIES);
		nidus_filter *once = merged_of(parts, 2, NIDUS_MERGE_UNIQUE);
		expect_ok(nidus_verify(all, NULL));
		expect_ok(nidus_verify(once, NULL));
		expect_equal(nidus_size(all), nidus_size(parts[0]));
		for (uint64_t key = 0; key < HOT; key++) {
			uint64_t copies = nidus_count_key_u64(parts[0], key);
			expect_equal(nidus_count_key_u64(all, key), copies);
			expect_equal(nidus_count_key_u64(once, key), bits > 0 ? copies : 1);
		}
		nidus_free(all);
		nidus_free(once);
		free_all(parts, 2);
	}
}

static void hot_keys_that_one_filter_holds_merge_with_another(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE | NIDUS_GROW, merge_hot);
}

static void senseless_merges_are_refused(void **state)
{
	(void)state;
	nidus_options options = filter_options(100, 0.01, SEED);
	nidus_filter *filter = filter_create(&options), *merged = filter;
	const nidus_filter *parts[3] = { filter, filter, NULL };
	expect_status(nidus_merge_many(parts, 2, NIDUS_MERGE_COPIES, NULL), NIDUS_E_ARG);
	expect_status(nidus_merge_many(parts, 0, NIDUS_MERGE_COPIES, &merged), NIDUS_E_ARG);
	expect(merged == NULL);
	expect_status(nidus_merge_many(NULL, 2, NIDUS_MERGE_COPIES, &merged), NIDUS_E_ARG);
	expect_status(nidus_merge_many(parts, 3, NIDUS_MERGE_COPIES, &merged), NIDUS_E_ARG);
	expect(strstr(nidus_reason(), "filter 3 of 3") != NULL);
	expect_status(nidus_merge_many(parts, 2, (nidus_merge_how)5, &merged), NIDUS_E_ARG);
	options.seed++;
	nidus_filter *other = filter_create(&options);
	parts[2] = other;
	expect_status(nidus_merge_many(parts, 3, NIDUS_MERGE_UNIQUE, &merged), NIDUS_E_MISMATCH);
	expect(strstr(nidus_reason(), "filter 3 of 3") != NULL);
	expect(merged == NULL);
	nidus_free(other);
	nidus_free(filter);
}

static void merge_to_the_limit(const struct family *family)
{
	enum { MOST = 1024 };
	nidus_options options = options_of(family, 100, 0x1p-4, 0);
	nidus_filter *parts[MOST], *merged;
	nidus_status status = NIDUS_OK;
	size_t n;
	for (size_t i = 0; i < MOST; i++)
		parts[i] = filled(&options, 100 * i, 100);
	for (n = 1; n <= MOST && status == NIDUS_OK; n *= 2) {
		status = nidus_merge_many((const nidus_filter *const *)parts, n, NIDUS_MERGE_UNIQUE,
		                          &merged);
		expect((status == NIDUS_OK) == (merged != NULL));
		expect(merged == NULL || info_of(merged).fpr_target <= 0.5);
		nidus_free(merged);
	}
	expect_status(status, NIDUS_E_RANGE);
	expect(n > 4);
	free_all(parts, MOST);
}

static void a_rate_above_one_half_is_refused(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE | NIDUS_GROW, merge_to_the_limit);
}

static void merge_without_memory(const struct family *family)
{
	struct ledger ledger = { 0 };
	nidus_options options = options_of(family, 60, 0x1p-12, 0);
	options.allocator = ledger_allocator(&ledger);
	options.features = NIDUS_CONCURRENT;
	nidus_filter *parts[3], *merged;
	for (uint64_t i = 0; i < 3; i++)
		parts[i] = filled(&options, 30 * i, 60);
	uint64_t blocks = ledger.blocks, refused = 0;
	for (uint64_t at = 1;; at++) {
		ledger.fail_at = ledger.requests + at;
		nidus_status status = nidus_merge_many((const nidus_filter *const *)parts, 3,
		                                       NIDUS_MERGE_UNIQUE, &merged);
		if (ledger.requests < ledger.fail_at) {
			expect_ok(status);
			break;
		}
		expect_status(status, NIDUS_E_NOMEM);
		expect(merged == NULL);
		expect_equal(ledger.blocks, blocks);
		refused++;
	}
	ledger.fail_at = 0;
	expect(refused > 3);
	expect_keys(merged, 0, 120);
	nidus_free(merged);
	free_all(parts, 3);
	expect_equal(ledger.blocks, 0);
}

static void a_merge_without_memory_leaves_no_trace(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE | NIDUS_CONCURRENT, merge_without_memory);
}

/* --------------------------------------------------------------------------- threads -- */

#define CROWD 5

struct turn {
	nidus_filter *parts[2 * CROWD];
	unsigned failures;
};

static void *merge_in_turn(void *context)
{
	struct turn *turn = context;
	for (unsigned i = 0; i < 20; i++) {
		nidus_filter *merged;
		nidus_merge_how how = i % 2 == 0 ? NIDUS_MERGE_UNIQUE : NIDUS_MERGE_COPIES;
		if (nidus_merge_many((const nidus_filter *const *)turn->parts, 2 * CROWD, how,
		                     &merged) == NIDUS_OK)
			nidus_free(merged);
		else
			turn->failures++;
	}
	return NULL;
}

/* Each thread has the filters in another order, some twice, while keys go in. */
static void merge_crowd(const struct family *family)
{
	nidus_options options = options_of(family, lists(family) ? 300 : 3000, 0.001, 0);
	options.features = NIDUS_CONCURRENT;
	nidus_filter *parts[CROWD];
	struct turn turns[3] = { 0 };
	pthread_t threads[3];
	for (unsigned i = 0; i < CROWD; i++)
		parts[i] = filter_create(&options);
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned j = 0; j < 2 * CROWD; j++)
			turns[i].parts[j] = parts[(i + j * (i + 1)) % CROWD];
		expect_equal(pthread_create(&threads[i], NULL, merge_in_turn, &turns[i]), 0);
	}
	for (uint64_t key = 0; key < 200; key++) {
		for (uint64_t i = 0; i < CROWD; i++)
			expect_ok(nidus_insert_u64(parts[i], (i << 32) + key));
	}
	for (unsigned i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		expect_equal(turns[i].failures, 0);
	}
	free_all(parts, CROWD);
}

static void merges_in_any_order_do_not_wait_in_a_circle(void **state)
{
	(void)state;
	each_with(NIDUS_MERGE | NIDUS_CONCURRENT, merge_crowd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thousand_growing_filters_make_one_at_their_rate),
		cmocka_unit_test(a_thousand_fixed_filters_make_one_at_the_sum_of_their_rates),
		cmocka_unit_test(a_thousand_bloom_filters_made_for_all_keys_keep_size_and_rate),
		cmocka_unit_test(a_chain_of_merges_is_as_good_as_one_merge),
		cmocka_unit_test(large_promises_cost_nothing),
		cmocka_unit_test(an_empty_filter_costs_nothing),
		cmocka_unit_test(overfull_filters_raise_no_target),
		cmocka_unit_test_setup_teardown(filters_in_any_state_merge, folder_setup,
		                                folder_teardown),
		cmocka_unit_test(one_filter_alone_is_copied),
		cmocka_unit_test(a_union_refuses_removes_and_a_merge_of_copies_does_not),
		cmocka_unit_test(a_filter_merged_with_itself_has_all_twice_or_once),
		cmocka_unit_test(what_all_hold_is_kept_once_and_counted_once),
		cmocka_unit_test(hot_keys_that_one_filter_holds_merge_with_another),
		cmocka_unit_test(senseless_merges_are_refused),
		cmocka_unit_test(a_rate_above_one_half_is_refused),
		cmocka_unit_test(a_merge_without_memory_leaves_no_trace),
		cmocka_unit_test(merges_in_any_order_do_not_wait_in_a_circle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

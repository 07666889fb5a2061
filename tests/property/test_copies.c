/* SPDX-License-Identifier: MIT
 *
 * Bulk builds of keys with copies that size themselves: every copy is kept, in the
 * least space that a family takes for it.
 */
#include <math.h>

#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

/* Keys and their copies. */
struct keys {
	uint64_t *key;
	uint64_t *copies; /* of key i */
	size_t n, distinct;
};

static void add_key(struct keys *keys, uint64_t copies)
{
	for (uint64_t i = 0; i < copies; i++)
		keys->key[keys->n++] = keys->distinct;
	keys->copies[keys->distinct++] = copies;
}

static struct keys room_for(size_t n)
{
	return (struct keys){ .key = check_alloc((n + 64) * sizeof(uint64_t)),
		              .copies = check_alloc((n + 64) * sizeof(uint64_t)) };
}

static void keys_free(struct keys *keys)
{
	free(keys->key);
	free(keys->copies);
}

/* Every key so often. */
static struct keys evenly(size_t n, uint64_t copies)
{
	struct keys keys = room_for(n);
	while (keys.n < n)
		add_key(&keys, copies);
	return keys;
}

/* Key i has most / (i + 1)^slope copies, at least one. */
static struct keys zipf(size_t n, double most, double slope)
{
	struct keys keys = room_for(n);
	for (size_t i = 0; keys.n < n; i++) {
		double copies = most * (double)n / pow((double)i + 1, slope);
		add_key(&keys, copies > 16 ? 16 : copies < 1 ? 1 : (uint64_t)copies);
	}
	return keys;
}

/* Most keys once, some of them 2 to 16 times. */
static struct keys mixed(size_t n, unsigned percent, struct chance *chance)
{
	struct keys keys = room_for(n);
	while (keys.n < n)
		add_key(&keys, chance_percent(chance, percent) ? 2 + chance_below(chance, 15) : 1);
	return keys;
}

static nidus_options multiset(nidus_family family, double fpr)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = family;
	options.fpr = fpr;
	options.seed = 4711;
	options.features = NIDUS_MULTISET;
	return options;
}

static void expect_counted(const nidus_filter *filter, const struct keys *keys)
{
	expect_equal(info_of(filter).count, keys->n);
	expect_ok(nidus_verify(filter, NULL));
	for (size_t i = 0; i < keys->distinct; i++) {
		if (nidus_count_key_u64(filter, i) < keys->copies[i])
			expect_equal(i, UINT64_MAX);
	}
}

static void expect_all(const nidus_filter *filter, const struct keys *keys)
{
	expect(info_of(filter).capacity >= keys->n);
	expect_counted(filter, keys);
}

/* The bytes of the smallest filter that a family named by itself makes; 0 if none does. */
static uint64_t smallest_named(const struct keys *keys, double fpr)
{
	uint64_t least = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_MULTISET))
			continue;
		nidus_options options = multiset((*family)->id, fpr);
		nidus_filter *filter;
		nidus_status status = nidus_build_u64(&options, keys->key, keys->n, 1, &filter);
		if (status != NIDUS_OK) {
			expect_status(status, NIDUS_COPIES);
			continue;
		}
		uint64_t bytes = info_of(filter).bytes;
		least = least == 0 || bytes < least ? bytes : least;
		nidus_free(filter);
	}
	return least;
}

static void build_and_compare(const char *what, struct keys keys, double fpr)
{
	nidus_options options = multiset(NIDUS_AUTO, fpr);
	nidus_filter *filter;
	check_note("%s, %zu keys of %zu, fpr %g", what, keys.n, keys.distinct, fpr);
	expect_ok(nidus_build_u64(&options, keys.key, keys.n, 1, &filter));
	expect_counted(filter, &keys);
	expect(info_of(filter).fpr_target <= fpr);
	expect((double)info_of(filter).bytes <= 1.2 * (double)smallest_named(&keys, fpr) + 512);
	nidus_free(filter);
	keys_free(&keys);
}

static const double rates[] = { 0x1p-7, 0.001, 1e-6 };
#define RATES (sizeof rates / sizeof *rates)

static size_t size_of_round(unsigned round)
{
	static const size_t sizes[] = { 20, 3000, 60000 };
	return check_small() && round == 2 ? 10000 : sizes[round];
}

static void every_key_as_often_fits(void **state)
{
	static const uint64_t copies[] = { 1, 2, 3, 5, 8, 10, 16 };
	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
			for (size_t rate = 0; rate < RATES; rate++)
				build_and_compare("evenly", evenly(size_of_round(round), copies[i]),
				                  rates[rate]);
		}
	}
}

static void uneven_copies_fit(void **state)
{
	struct chance chance = { chance_seed() };
	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		size_t n = size_of_round(round);
		for (size_t rate = 0; rate < RATES; rate++) {
			build_and_compare("Zipf, slope 1", zipf(n, 0.01, 1), rates[rate]);
			build_and_compare("Zipf, slope 1/2", zipf(n, 0.001, 0.5), rates[rate]);
			build_and_compare("1 % with copies", mixed(n, 1, &chance), rates[rate]);
			build_and_compare("half with copies", mixed(n, 50, &chance), rates[rate]);
		}
	}
}

static void families_by_name_hold_what_they_can(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_MULTISET))
			continue;
		struct keys keys = evenly(10000, 2);
		nidus_options options = multiset((*family)->id, 0.001);
		nidus_filter *filter;
		check_note("%s", (*family)->name);
		expect_ok(nidus_build_u64(&options, keys.key, keys.n, 1, &filter));
		expect_equal(info_of(filter).family, (*family)->id);
		expect_all(filter, &keys);
		nidus_free(filter);
		keys_free(&keys);
	}
}

static void growing_filters_hold_copies_too(void **state)
{
	(void)state;
	struct keys keys = evenly(30000, 3);
	nidus_options options = multiset(NIDUS_AUTO, 0.001);
	nidus_filter *filter;
	options.max_capacity = 200000;
	expect_ok(nidus_build_u64(&options, keys.key, keys.n, 1, &filter));
	expect_all(filter, &keys);
	expect(info_of(filter).max_capacity >= 200000);
	nidus_free(filter);
	keys_free(&keys);
}

/* Hot keys among others, up to 100,000 copies: they need no larger table. */
static void any_number_of_copies_fits(void **state)
{
	(void)state;
	for (uint64_t most = 40; most <= 100000; most *= 50) {
		nidus_options options = multiset(NIDUS_AUTO, 0.001);
		struct keys keys = room_for(5000 + 3 * most);
		for (unsigned i = 0; i < 5000; i++)
			add_key(&keys, 1);
		nidus_filter *without, *filter;
		expect_ok(nidus_build_u64(&options, keys.key, keys.n, 1, &without));
		for (unsigned i = 0; i < 3; i++)
			add_key(&keys, most);
		expect_ok(nidus_build_u64(&options, keys.key, keys.n, 1, &filter));
		expect_counted(filter, &keys);
		expect(info_of(filter).bytes <= info_of(without).bytes * 5 / 4);
		nidus_free(filter);
		nidus_free(without);
		keys_free(&keys);
	}
}

/* At least as many copies of one key as a plan says; where that is a small number, not one more. */
static void plans_tell_how_many_copies_of_a_key_fit(void **state)
{
	(void)state;
	nidus_options options = filter_options(1000, 0.001, 4711);
	nidus_plan_row rows[32];
	size_t n;
	for (unsigned stash = 0; stash < 2; stash++) {
		options.family = NIDUS_AUTO;
		options.stash = stash == 0 ? 0 : NIDUS_STASH_OFF;
		expect_ok(nidus_plan(&options, rows, 32, &n));
		for (size_t i = 0; i < n; i++) {
			if (!(rows[i].features & NIDUS_MULTISET)) {
				expect_equal(rows[i].copies, 0);
				continue;
			}
			options.family = rows[i].family;
			check_note("%s", nidus_family_name(options.family));
			nidus_filter *filter = filter_create(&options);
			bool few = rows[i].copies < 1000;
			for (unsigned copy = 0; copy < (few ? rows[i].copies : 1000); copy++)
				expect_ok(nidus_insert_u64(filter, 7));
			expect_status(nidus_insert_u64(filter, 7), few ? NIDUS_COPIES : NIDUS_OK);
			nidus_free(filter);
		}
	}
}

static void copies_do_not_depend_on_order_and_threads(void **state)
{
	(void)state;
	struct keys keys = evenly(50000, 3);
	nidus_options options = multiset(NIDUS_AUTO, 0.001);
	nidus_filter *a, *b;
	expect_ok(nidus_build_u64(&options, keys.key, keys.n, 1, &a));
	for (size_t i = 0; i < keys.n / 2; i++) {
		uint64_t key = keys.key[i];
		keys.key[i] = keys.key[keys.n - 1 - i];
		keys.key[keys.n - 1 - i] = key;
	}
	expect_ok(nidus_build_u64(&options, keys.key, keys.n, 3, &b));
	expect(filters_equal(a, b));
	nidus_free(a);
	nidus_free(b);
	keys_free(&keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_as_often_fits),
		cmocka_unit_test(uneven_copies_fit),
		cmocka_unit_test(families_by_name_hold_what_they_can),
		cmocka_unit_test(growing_filters_hold_copies_too),
		cmocka_unit_test(any_number_of_copies_fits),
		cmocka_unit_test(plans_tell_how_many_copies_of_a_key_fit),
		cmocka_unit_test(copies_do_not_depend_on_order_and_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

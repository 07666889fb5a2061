/* SPDX-License-Identifier: MIT
 *
 * Tests of the simplified family: partners, subtables, the least width, and the
 * stash.
 */
#include "api/filter.h"

#include <math.h>

#include "nest/nest.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

static nidus_options simplified(uint64_t capacity, unsigned slots, unsigned k)
{
	nidus_options options = filter_options(capacity, ldexp(1, -(int)k), 11);
	options.family = NIDUS_SIMPLIFIED;
	options.slots = slots;
	return options;
}

static const struct nest *nest_of(const nidus_filter *filter)
{
	return (const struct nest *)(const void *)filter_body(filter);
}

/* ------------------------------------------------------------------- addresses -- */

static void expect_partners(const nidus_filter *filter, struct chance *chance)
{
	const struct nest *nest = nest_of(filter);
	for (unsigned i = 0; i < 2000; i++) {
		struct nest_key key = nest_locate(nest, nest->layout->kind, chance_next(chance));
		uint64_t fingerprint = key.value, low = fingerprint & (nest->layout->groups - 1);
		expect(key.chunk < nest->layout->chunks);
		expect(key.group[0] < nest->layout->groups && key.group[1] < nest->layout->groups);
		expect(low != 0);
		expect_equal(key.group[1], key.group[0] ^ low);
	}
}

static void the_partner_is_the_index_xor_the_fingerprint(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned slots = 2; slots <= 8; slots *= 2) {
		for (unsigned k = 4; k <= 24; k++) {
			for (uint64_t keys = 1; keys <= 1000000; keys *= 31) {
				nidus_options options = simplified(keys, slots, k);
				check_note("%llu keys, slots %u, k %u", (unsigned long long)keys,
				           slots, k);
				nidus_filter *filter = filter_create(&options);
				expect_partners(filter, &chance);
				nidus_free(filter);
			}
		}
	}
}

/* The paper's own case: all f bits lead to the partner, a subtable has 2^f cells. */
static void subtables_have_2_to_the_f_cells_where_keys_suffice(void **state)
{
	(void)state;
	nidus_options options = simplified(1000000, 4, 4);
	nidus_filter *filter = filter_create(&options);
	nidus_info info = info_of(filter);
	expect_equal(nest_of(filter)->layout->groups, UINT64_C(1) << info.fingerprint_bits);
	expect(info.chunks > 1 && (info.chunks & (info.chunks - 1)) != 0);
	nidus_free(filter);
}

static uint64_t bytes_in_use(const struct nest *nest, uint64_t chunk)
{
	const unsigned char *bits = nest_chunk_bits(nest, chunk);
	uint64_t used = 0;
	for (uint64_t i = 0; i < nest->layout->stride; i++)
		used += bits[i] != 0;
	return used;
}

/* Keys of one subtable until it refuses; the others neither change nor care. */
static void subtables_are_independent(void **state)
{
	(void)state;
	nidus_options options = simplified(5000, 4, 8);
	nidus_filter *filter = filter_create(&options);
	const struct nest *nest = nest_of(filter);
	nidus_status status = NIDUS_OK;
	uint64_t key = 0, inserted = 0;
	expect(nest->layout->chunks >= 3);
	for (; status == NIDUS_OK; key++) {
		uint64_t hash = nidus_hash_u64(filter, key);
		if (nest_locate(nest, nest->layout->kind, hash).chunk != 1)
			continue;
		status = nidus_insert_hash(filter, hash);
		inserted += status == NIDUS_OK;
	}
	expect_equal(status, NIDUS_FULL);
	expect_equal(nest->chunk[1].used + nest->surplus, inserted);
	expect(nest->chunk[1].stash.nodes > 0);
	expect(info_of(filter).headroom == 0);
	for (uint64_t chunk = 0; chunk < nest->layout->chunks; chunk++)
		expect_equal(bytes_in_use(nest, chunk) > 0, chunk == 1);
	for (unsigned i = 0; i < 1000; key++) {
		uint64_t hash = nidus_hash_u64(filter, key);
		if (nest_locate(nest, nest->layout->kind, hash).chunk == 1)
			continue;
		expect_ok(nidus_insert_hash(filter, hash));
		i++;
	}
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

/* ----------------------------------------------------------------------- width -- */

static nidus_plan_row plan_row(const nidus_options *options)
{
	nidus_plan_row rows[16];
	size_t n;
	expect_ok(nidus_plan(options, rows, 16, &n));
	for (size_t i = 0; i < n; i++) {
		if (rows[i].family == NIDUS_SIMPLIFIED)
			return rows[i];
	}
	check_failed("the plan has a row of the family", __FILE__, __LINE__);
}

static void expect_width(uint64_t keys, unsigned slots, unsigned k)
{
	nidus_options options = simplified(keys, slots, k);
	nidus_plan_row row = plan_row(&options);
	nidus_filter *filter = filter_create(&options);
	nidus_info info = info_of(filter);
	double bound = (log2((double)keys) + 20) / slots;
	check_note("%llu keys, slots %u, k %u: f = %u, bound %.3f, target %g",
	           (unsigned long long)keys, slots, k, info.fingerprint_bits, bound,
	           info.fpr_target);
	expect(info.fingerprint_bits > bound);
	expect(info.fpr_target <= options.fpr);
	expect_ok(row.status);
	expect_equal(row.fingerprint_bits, info.fingerprint_bits);
	expect(row.fpr <= info.fpr_target);
	/* More bits than the rate needs by a factor of two and more: the target tells. */
	bool bounded = (double)info.fingerprint_bits <= bound + 1 + 1.0 / slots;
	if (row.fpr < options.fpr / 2)
		expect(bounded && info.fpr_target < options.fpr / 2);
	else
		expect(info.fpr_target == options.fpr);
	nidus_free(filter);
}

static void the_width_keeps_the_bound_and_is_told(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned slots = 2; slots <= 8; slots *= 2) {
		for (unsigned k = 4; k <= 24; k += 2) {
			for (unsigned log = 0; log <= 24; log += 3) {
				uint64_t keys = UINT64_C(1) << log;
				expect_width(keys, slots, k);
				expect_width(keys + chance_below(&chance, keys), slots, k);
			}
		}
	}
}

static void a_loose_rate_becomes_a_lower_one(void **state)
{
	(void)state;
	/* (log2 10^6 + 20) / 4 = 9.98; b = 2: 19.97; b = 8: 4.99, and the rate asks for more */
	nidus_options options = simplified(1000000, 2, 4);
	nidus_filter *filter = filter_create(&options);
	nidus_info info = info_of(filter);
	expect(info.fingerprint_bits >= 20);
	expect(info.fpr_target < 1.0 / 100000);
	nidus_free(filter);
	options = simplified(1000000, 8, 4);
	filter = filter_create(&options);
	info = info_of(filter);
	expect(info.fpr_target == 1.0 / 16);
	nidus_free(filter);
}

/* ----------------------------------------------------------------------- stash -- */

/* Inserts keys from 0 on until the first is refused; gives how many went in. */
static uint64_t fill_up(nidus_filter *filter)
{
	uint64_t keys = 0;
	nidus_status status;
	while ((status = nidus_insert_u64(filter, keys)) == NIDUS_OK)
		keys++;
	expect_equal(status, NIDUS_FULL);
	return keys;
}

static void expect_all_found(const nidus_filter *filter, uint64_t from, uint64_t to)
{
	for (uint64_t key = from; key < to; key++)
		expect(nidus_contains_u64(filter, key));
}

static void without_a_stash_there_is_none(void **state)
{
	(void)state;
	for (unsigned slots = 2; slots <= 8; slots *= 2) {
		nidus_options options = simplified(3000, slots, 8);
		options.stash = NIDUS_STASH_OFF;
		nidus_filter *filter = filter_create(&options);
		uint64_t keys = fill_up(filter);
		struct bytes before = bytes_save(filter);
		check_note("slots %u, full at %llu keys", slots, (unsigned long long)keys);
		expect_equal(info_of(filter).stashed, 0);
		expect_status(nidus_insert_u64(filter, keys), NIDUS_FULL);
		expect(bytes_match(&before, filter));
		expect_all_found(filter, 0, keys);
		bytes_free(&before);
		nidus_free(filter);
	}
}

static void a_stash_takes_more_and_gives_it_back(void **state)
{
	(void)state;
	for (unsigned slots = 2; slots <= 8; slots *= 2) {
		nidus_options options = simplified(3000, slots, 8);
		nidus_filter *filter = filter_create(&options);
		uint64_t keys = fill_up(filter);
		check_note("slots %u, full at %llu keys", slots, (unsigned long long)keys);
		options.stash = NIDUS_STASH_OFF;
		nidus_filter *without = filter_create(&options);
		expect(fill_up(without) < keys);
		expect(info_of(filter).stashed > 0);
		expect_all_found(filter, 0, keys);
		for (uint64_t key = 0; key < keys / 2; key++)
			expect_ok(nidus_remove_u64(filter, key));
		expect_ok(nidus_verify(filter, NULL));
		expect_all_found(filter, keys / 2, keys);
		for (uint64_t key = keys / 2; key < keys; key++)
			expect_ok(nidus_remove_u64(filter, key));
		expect_equal(info_of(filter).count, 0);
		expect_equal(info_of(filter).stashed, 0);
		nidus_free(without);
		nidus_free(filter);
	}
}

static void a_stash_keeps_its_limit(void **state)
{
	(void)state;
	nidus_options options = simplified(3000, 4, 8);
	options.stash = 5;
	nidus_filter *filter = filter_create(&options);
	const struct nest *nest = nest_of(filter);
	fill_up(filter);
	uint64_t most = 0;
	for (uint64_t chunk = 0; chunk < nest->layout->chunks; chunk++)
		most = nest->chunk[chunk].stash.nodes > most ? nest->chunk[chunk].stash.nodes
		                                             : most;
	expect_equal(most, 5);
	nidus_free(filter);
}

/*
 * Theorem 5.1: n entries in N cells answer yes to an absent key with 2n / N times the
 * odds of equal fingerprints, wherever they lie. Measured above it with odds of
 * less than 10^-7. With bare fingerprints in it, a stash as full as this would more
 * than double the rate.
 */
static void a_full_stash_adds_nothing_to_the_rate(void **state)
{
	(void)state;
	nidus_options options = simplified(10000, 4, 8);
	nidus_filter *filter = filter_create(&options);
	for (uint64_t key = 0, refused = 0; refused < 3000; key++)
		refused += nidus_insert_u64(filter, key) != NIDUS_OK;
	nidus_info info = info_of(filter);
	double cells = (double)info.total_slots / info.slots;
	double per_table = cells / (double)info.chunks;
	double values = ldexp(1, (int)info.fingerprint_bits) * (1 - 1 / per_table);
	double theorem = 2 * (double)info.count / (cells * values);
	uint64_t absent = check_small() ? 200000 : 2000000, found = 0;
	for (uint64_t i = 0; i < absent; i++)
		found += nidus_contains_u64(filter, i + (UINT64_C(1) << 40));
	check_note("%llu stashed, %llu of %llu found, theorem %g", (unsigned long long)info.stashed,
	           (unsigned long long)found, (unsigned long long)absent, theorem);
	expect(info.stashed > 8 * info.chunks);
	expect(found <= chance_most(absent, theorem, 1e-7));
	nidus_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_partner_is_the_index_xor_the_fingerprint),
		cmocka_unit_test(subtables_have_2_to_the_f_cells_where_keys_suffice),
		cmocka_unit_test(subtables_are_independent),
		cmocka_unit_test(the_width_keeps_the_bound_and_is_told),
		cmocka_unit_test(a_loose_rate_becomes_a_lower_one),
		cmocka_unit_test(without_a_stash_there_is_none),
		cmocka_unit_test(a_stash_takes_more_and_gives_it_back),
		cmocka_unit_test(a_stash_keeps_its_limit),
		cmocka_unit_test(a_full_stash_adds_nothing_to_the_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Keys of a growing filter that look the same to a body and are of different parts of it. Lookups
 * may take one for the other; whatever counts, puts in or takes out may not, as a split parts them.
 */
#include "api/directory_parts.h"
#include "api/filter.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#define TWINS 12
#define ROUNDS 20
#define OTHERS 4000

static nidus_options growing(const struct family *family, uint32_t features, unsigned value_bits)
{
	nidus_options options = filter_options(60, 0.01, 5);
	options.family = family->id;
	options.features = features;
	options.value_bits = value_bits;
	options.max_capacity = 3 * OTHERS;
	return options;
}

/* A filter that has bodies, with some keys. */
static nidus_filter *make(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	for (uint64_t key = 0; key < 300 || !has_segments(filter); key++)
		expect_ok(nidus_insert_u64(filter, key));
	return filter;
}

/* Hashes of one group and core in different parts of one body, none of which is there. */
static size_t find_twins(const nidus_filter *filter, struct chance *chance, uint64_t *hashes)
{
	const struct directory *directory = filter_directory(filter);
	const struct family *inner = directory->inner;
	uint64_t hash = chance_next(chance);
	const void *body = directory_body(directory, hash);
	uint64_t first = body_head(body)->first, last = body_head(body)->last;
	nidus_entry entry = inner->identity(directory->trunk->model, hash);
	size_t n = 0;
	for (uint64_t part = first; part <= last && n < TWINS; part++) {
		hashes[n] = inner->body_hash(directory->trunk->model, &entry, part);
		n += directory_body(directory, hashes[n]) == body &&
		     nidus_count_key_hash(filter, hashes[n]) == 0;
	}
	return n;
}

/* Each is there as often as it is to be, before and after bodies are split. */
static void expect_twins(const nidus_filter *filter, const uint64_t *hashes, size_t n,
                         uint64_t copies)
{
	for (size_t i = 0; i < n; i++) {
		expect_equal(nidus_count_key_hash(filter, hashes[i]), copies);
		expect(copies == 0 || nidus_contains_hash(filter, hashes[i]));
	}
	expect_ok(nidus_verify(filter, NULL));
}

static void grow(nidus_filter *filter)
{
	uint64_t before = info_of(filter).total_slots;
	insert_keys(filter, 10000, 10000 + OTHERS);
	expect(info_of(filter).total_slots > 2 * before);
}

/* Families that grow, by one thread and by several. */
static void each_growing(unsigned value_bits, void (*visit)(const nidus_options *options))
{
	take_small_segments(256);
	for (const struct family *const *family = families; *family != NULL; family++) {
		for (unsigned shared = 0; shared < 2; shared++) {
			if (!((*family)->features & NIDUS_GROW) || (*family)->plan_segment == NULL)
				continue;
			nidus_options options =
				growing(*family, shared ? NIDUS_CONCURRENT : 0, value_bits);
			check_note("%s, shared %u", (*family)->name, shared);
			visit(&options);
		}
	}
}

static void put_in_new_ones(const nidus_options *options)
{
	struct chance chance = { chance_seed() + 1 };
	uint64_t hashes[ROUNDS][TWINS];
	uint8_t fresh[TWINS];
	size_t n[ROUNDS], done, all = 0;
	nidus_filter *filter = make(options);
	for (unsigned round = 0; round < ROUNDS; round++) {
		all += n[round] = find_twins(filter, &chance, hashes[round]);
		if (round % 2 == 0) {
			expect_ok(nidus_insert_new_batch(filter, hashes[round], n[round], fresh,
			                                 &done));
			for (size_t i = 0; i < n[round]; i++)
				expect(fresh[i]);
		}
		for (size_t i = 0; i < n[round]; i++)
			expect_status(nidus_insert_new_hash(filter, hashes[round][i]),
			              round % 2 == 0 ? NIDUS_PRESENT : NIDUS_OK);
		expect_twins(filter, hashes[round], n[round], 1);
	}
	expect(all > 3 * ROUNDS);
	grow(filter);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < n[round]; i++)
			expect(nidus_count_key_hash(filter, hashes[round][i]) > 0);
	}
	nidus_free(filter);
}

static void a_twin_of_another_part_is_not_present(void **state)
{
	(void)state;
	each_growing(0, put_in_new_ones);
}

static void take_out(const nidus_options *options)
{
	struct chance chance = { chance_seed() + 2 };
	nidus_filter *filter = make(options);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t hashes[TWINS];
		size_t n = find_twins(filter, &chance, hashes), half = n / 2, done;
		for (unsigned copy = 0; copy < 3; copy++)
			expect_ok(nidus_insert_batch(filter, hashes, n, &done));
		expect_twins(filter, hashes, n, 3);
		/* One half goes, one by one or all at once, and the other is as it was. */
		for (unsigned copy = 0; copy < 3; copy++) {
			if (round % 2 == 0)
				expect_ok(nidus_remove_batch(filter, hashes, half, &done));
			for (size_t i = 0; i < half && round % 2 == 1; i++)
				expect_ok(nidus_remove_hash(filter, hashes[i]));
		}
		for (size_t i = 0; i < half; i++)
			expect_status(nidus_remove_hash(filter, hashes[i]), NIDUS_NOT_FOUND);
		expect_twins(filter, hashes, half, 0);
		expect_twins(filter, hashes + half, n - half, 3);
	}
	nidus_free(filter);
}

static void removes_take_no_twin_of_another_part(void **state)
{
	(void)state;
	each_growing(0, take_out);
}

static void with_values(const nidus_options *options)
{
	struct chance chance = { chance_seed() + 3 };
	nidus_filter *filter = make(options);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t hashes[TWINS], value;
		size_t n = find_twins(filter, &chance, hashes);
		for (size_t i = 0; i < n; i++)
			expect_ok(nidus_insert_value_hash(filter, hashes[i], i));
		for (size_t i = 0; i < n; i++) {
			expect_equal(nidus_find_hash(filter, hashes[i], &value, 1), 1);
			expect_equal(value, i);
			expect_ok(nidus_add_count_hash(filter, hashes[i], 100));
			expect_equal(nidus_get_count_hash(filter, hashes[i]), 100 + i);
		}
		expect_twins(filter, hashes, n, 1);
	}
	nidus_free(filter);
}

static void values_are_those_of_the_very_key(void **state)
{
	(void)state;
	each_growing(8, with_values);
}

/* Two filters that share some keys: each identity is there once, and none is lost. */
static void merge_once(const nidus_options *options)
{
	struct chance chance = { chance_seed() + 4 };
	nidus_filter *one = make(options), *other = filter_create(options), *merged;
	uint64_t hashes[ROUNDS][TWINS];
	size_t n[ROUNDS];
	for (unsigned round = 0; round < ROUNDS; round++) {
		n[round] = find_twins(one, &chance, hashes[round]);
		for (size_t i = 0; i < n[round]; i++) {
			if (i % 3 < 2)
				expect_ok(nidus_insert_hash(one, hashes[round][i]));
			if (i % 3 > 0)
				expect_ok(nidus_insert_hash(other, hashes[round][i]));
		}
	}
	const nidus_filter *const both[] = { one, other };
	expect_ok(nidus_merge_many(both, 2, NIDUS_MERGE_UNIQUE, &merged));
	for (unsigned round = 0; round < ROUNDS; round++)
		expect_twins(merged, hashes[round], n[round], 1);
	nidus_free(one);
	nidus_free(other);
	nidus_free(merged);
}

static void merges_of_unique_entries_keep_twins_of_other_parts(void **state)
{
	(void)state;
	each_growing(0, merge_once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_twin_of_another_part_is_not_present),
		cmocka_unit_test(removes_take_no_twin_of_another_part),
		cmocka_unit_test(values_are_those_of_the_very_key),
		cmocka_unit_test(merges_of_unique_entries_keep_twins_of_other_parts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * An adversary who knows one filter's seed: what is prepared against it must be
 * harmless to a filter with another.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#define TWINS 64

/* -------------------------------------------------------------------------- twins -- */

/* Finds keys that a filter with one key in it takes for that key. */
static void prepare(const nidus_filter *victim, uint64_t *keys)
{
	unsigned found = 0;
	for (uint64_t key = 2; found < TWINS; key++) {
		if (nidus_contains_u64(victim, key))
			keys[found++] = key;
	}
}

static unsigned how_many_fit(const struct shape *shape, uint64_t seed, const uint64_t *keys)
{
	nidus_filter *filter = shape_create(shape, TWINS, seed);
	unsigned fit = 0;
	while (fit < TWINS && nidus_insert_u64(filter, keys[fit]) == NIDUS_OK)
		fit++;
	nidus_free(filter);
	return fit;
}

/* How many of the others are taken for the first one. */
static uint64_t strangers_found(const struct shape *shape, uint64_t seed, const uint64_t *keys)
{
	nidus_filter *filter = shape_create(shape, TWINS, seed);
	uint64_t found = 0;
	expect_ok(nidus_insert_u64(filter, keys[0]));
	for (unsigned i = 1; i < TWINS; i++)
		found += nidus_contains_u64(filter, keys[i]);
	nidus_free(filter);
	return found;
}

static void attack(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	uint64_t keys[TWINS], known = 1 + chance_next(chance) / 2, secret = known + 1;
	if (!(nidus_family_features(shape->family->id) & NIDUS_DELETE))
		return;
	nidus_filter *victim = shape_create(shape, TWINS, known);
	expect_ok(nidus_insert_u64(victim, 1));
	prepare(victim, keys);
	nidus_free(victim);
	/* Where the seed is known they are all one key, and counted as that. */
	nidus_options options = shape_options(shape, TWINS, known);
	expect_equal(strangers_found(shape, known, keys), TWINS - 1);
	if (counts_copies(&options))
		expect_equal(how_many_fit(shape, known, keys), TWINS);
	/* With the next seed they are keys like any: one in fifteen at most takes another's place. */
	expect_equal(how_many_fit(shape, secret, keys), TWINS);
	expect(strangers_found(shape, secret, keys) <= chance_most(TWINS, 0x1p-4, 1e-9));
}

static void keys_that_collide_under_one_seed_do_not_under_another(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 6, attack, &chance);
}

/* ----------------------------------------------------------------------- crowding -- */

#define REGION 64 /* prepared hashes lie in one of so many equal parts of all */

/* Keys whose hashes under one seed are the lowest: those of the first chunk, or of a part of it. */
static uint64_t *prepare_crowd(const nidus_filter *victim, uint64_t n)
{
	uint64_t *keys = check_alloc(n * sizeof *keys), found = 0;
	for (uint64_t key = 0; found < n; key++) {
		if (nidus_hash_u64(victim, key) < UINT64_MAX / REGION)
			keys[found++] = key;
	}
	return keys;
}

static uint64_t how_many_of_a_crowd_fit(const struct shape *shape, uint64_t capacity, uint64_t seed,
                                        const uint64_t *keys)
{
	nidus_filter *filter = shape_create(shape, capacity, seed);
	uint64_t fit = 0;
	while (fit < capacity && nidus_insert_u64(filter, keys[fit]) == NIDUS_OK)
		fit++;
	expect_ok(nidus_verify(filter, NULL));
	for (uint64_t i = 0; i < fit; i++)
		expect(nidus_contains_u64(filter, keys[i])); /* refused, but nothing lost */
	nidus_free(filter);
	return fit;
}

static void crowd_a_chunk(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	uint64_t known = 1 + chance_next(chance) / 2, secret = known + 1;
	/* Several chunks in every family that has them. */
	uint64_t capacity = check_small() ? 20000 : 100000;
	if (!(shape->family->features & NIDUS_DELETE))
		return;
	nidus_filter *victim = shape_create(shape, capacity, known);
	uint64_t *keys = prepare_crowd(victim, capacity);
	nidus_free(victim);
	/* What finds no place is listed: that takes more memory than the table, but nothing is lost. */
	nidus_options options = shape_options(shape, capacity, known);
	if (counts_copies(&options))
		expect_equal(how_many_of_a_crowd_fit(shape, capacity, known, keys), capacity);
	expect_equal(how_many_of_a_crowd_fit(shape, capacity, secret, keys), capacity);
	free(keys);
}

static void keys_that_fill_one_chunk_under_one_seed_fill_none_under_another(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(8, 8, crowd_a_chunk, &chance);
}

/* -------------------------------------------------------------------- Bloom filters -- */

#define BLOOM_KEYS 2000
#define ASKED 400

static nidus_filter *bloom_with(const struct shape *shape, uint64_t seed, const uint64_t *keys)
{
	nidus_filter *filter = shape_create(shape, BLOOM_KEYS, seed);
	for (uint64_t i = 0; i < BLOOM_KEYS; i++)
		expect_ok(nidus_insert_u64(filter, keys[i]));
	return filter;
}

static uint64_t count_found(const nidus_filter *filter, const uint64_t *keys)
{
	uint64_t found = 0;
	for (unsigned i = 0; i < ASKED; i++)
		found += nidus_contains_u64(filter, keys[i]);
	return found;
}

/* Under the known seed all of them are found; under another as many as of any absent keys. */
static void expect_worth_nothing(const struct shape *shape, uint64_t known, const uint64_t *keys,
                                 const uint64_t *asked)
{
	nidus_filter *victim = bloom_with(shape, known, keys);
	expect(count_found(victim, asked) >= ASKED - ASKED / 20);
	nidus_free(victim);
	nidus_filter *other = bloom_with(shape, known + 1, keys);
	double rate = info_of(other).fpr_target;
	expect(count_found(other, asked) <= chance_most(ASKED, rate, 1e-9));
	nidus_free(other);
}

/* False positives that were collected by asking. */
static void collect(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	uint64_t known = 1 + chance_next(chance) / 2, keys[BLOOM_KEYS], asked[ASKED], found = 0;
	if (shape->family->features & NIDUS_DELETE)
		return;
	for (uint64_t i = 0; i < BLOOM_KEYS; i++)
		keys[i] = i;
	nidus_filter *victim = bloom_with(shape, known, keys);
	for (uint64_t key = BLOOM_KEYS; found < ASKED; key++) {
		if (nidus_contains_u64(victim, key))
			asked[found++] = key;
	}
	nidus_free(victim);
	expect_worth_nothing(shape, known, keys, asked);
}

static void collected_false_positives_are_worthless_under_another_seed(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 8, collect, &chance);
}

/* Keys that crowd a few blocks: whatever else lies there is found too. */
static void crowd_blocks(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	uint64_t known = 1 + chance_next(chance) / 2;
	if (shape->family->id != NIDUS_BLOCKED_BLOOM)
		return;
	nidus_filter *victim = shape_create(shape, BLOOM_KEYS, known);
	uint64_t *keys = prepare_crowd(victim, BLOOM_KEYS + ASKED);
	nidus_free(victim);
	expect_worth_nothing(shape, known, keys, keys + BLOOM_KEYS);
	free(keys);
}

static void keys_that_crowd_a_block_under_one_seed_do_not_under_another(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_layout(4, 8, crowd_blocks, &chance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_that_collide_under_one_seed_do_not_under_another),
		cmocka_unit_test(keys_that_fill_one_chunk_under_one_seed_fill_none_under_another),
		cmocka_unit_test(collected_false_positives_are_worthless_under_another_seed),
		cmocka_unit_test(keys_that_crowd_a_block_under_one_seed_do_not_under_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

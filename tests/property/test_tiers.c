/* SPDX-License-Identifier: MIT
 *
 * Tests of the tiers: whatever instruction set is in use, the same calls give
 * the same answers and leave the same bytes, all from one binary.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/model.h"
#include "support/yards.h"

#define BATCH 70

/* ------------------------------------------------------------------- environment -- */

/*
 * Which tier a process begins with when NIDUS_ISA has this value (NULL: is not
 * set): 0 scalar, 1 avx2. The first use must be in the child, so this comes
 * before all other tests.
 */
static int first_tier(const char *value)
{
	static const char *const names[] = { "scalar", "avx2" };
	int status;
	pid_t child = fork();
	expect(child >= 0);
	if (child == 0) {
		if (value == NULL)
			unsetenv("NIDUS_ISA");
		else
			setenv("NIDUS_ISA", value, 1);
		for (int i = 0; i < 2; i++) {
			if (strcmp(nidus_isa(), names[i]) == 0)
				_exit(i);
		}
		_exit(9);
	}
	expect(waitpid(child, &status, 0) == child);
	expect(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

static void the_environment_chooses_the_first_tier(void **state)
{
	(void)state;
	int best = first_tier(NULL);
	expect_equal(first_tier("scalar"), 0);
	if (best == 1)
		expect_equal(first_tier("avx2"), 1);
}

/* A wish that cannot be granted must not keep a program from running. */
static void an_unknown_wish_in_the_environment_is_no_wish(void **state)
{
	(void)state;
	int best = first_tier(NULL);
	expect_equal(first_tier(""), best);
	expect_equal(first_tier("quantum"), best);
	expect_equal(first_tier("SCALAR"), best);
}

/* ------------------------------------------------------------------------- names -- */

static void unknown_names_are_errors_and_change_nothing(void **state)
{
	(void)state;
	static const char *const wrong[] = { "", "SCALAR", "avx", "avx2 ", "avx512", "sse2" };
	expect_ok(nidus_set_isa("scalar"));
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		check_note("name \"%s\"", wrong[i]);
		expect_status(nidus_set_isa(wrong[i]), NIDUS_E_ARG);
		expect(nidus_reason()[0] != '\0');
		expect(strcmp(nidus_isa(), "scalar") == 0);
	}
	expect_status(nidus_set_isa(NULL), NIDUS_E_ARG);
}

static void a_tier_that_is_not_here_is_unsupported(void **state)
{
	(void)state;
	expect_ok(nidus_set_isa("scalar"));
	nidus_status status = nidus_set_isa("avx2");
	if (status != NIDUS_OK)
		expect_status(status, NIDUS_E_UNSUPPORTED);
	expect(strcmp(nidus_isa(), status == NIDUS_OK ? "avx2" : "scalar") == 0);
}

/* -------------------------------------------------------------------- same bytes -- */

struct twins {
	nidus_filter *scalar, *fast;
	struct model model;
	struct chance chance;
	bool removes;
};

static void insert_in_both(struct twins *twins)
{
	uint64_t key = chance_below(&twins->chance, twins->model.keys);
	if (chance_percent(&twins->chance, 3))
		key = 1; /* copies */
	nidus_status status = spelled_insert(twins->scalar, key);
	expect_status(spelled_insert(twins->fast, key), status);
	if (status == NIDUS_OK)
		model_add(&twins->model, key);
}

static void remove_from_both(struct twins *twins)
{
	uint64_t key;
	if (!twins->removes || !model_any(&twins->model, &twins->chance, &key))
		return;
	expect_ok(spelled_remove(twins->scalar, key));
	expect_ok(spelled_remove(twins->fast, key));
	model_drop(&twins->model, key);
}

static void look_in_both(struct twins *twins)
{
	uint64_t hashes[BATCH];
	uint8_t yes[2][BATCH];
	for (unsigned i = 0; i < BATCH; i++) {
		hashes[i] =
			chance_percent(&twins->chance, 50)
				? chance_next(&twins->chance)
				: nidus_hash_u64(twins->scalar,
		                                 chance_below(&twins->chance, twins->model.keys));
		uint64_t count = nidus_count_key_hash(twins->scalar, hashes[i]);
		expect_equal(nidus_count_key_hash(twins->fast, hashes[i]), count);
		expect_equal(nidus_contains_hash(twins->scalar, hashes[i]), count > 0);
		expect_equal(nidus_contains_hash(twins->fast, hashes[i]), count > 0);
	}
	nidus_contains_batch(twins->scalar, hashes, BATCH, yes[0]);
	nidus_contains_batch(twins->fast, hashes, BATCH, yes[1]);
	expect(memcmp(yes[0], yes[1], BATCH) == 0);
}

static void insert_batch_in_both(struct twins *twins)
{
	uint64_t hashes[BATCH], keys[BATCH];
	size_t done[2];
	for (unsigned i = 0; i < BATCH; i++) {
		keys[i] = chance_below(&twins->chance, twins->model.keys);
		hashes[i] = spelled_hash(twins->scalar, keys[i]);
	}
	nidus_status status = nidus_insert_batch(twins->scalar, hashes, BATCH, &done[0]);
	expect_status(nidus_insert_batch(twins->fast, hashes, BATCH, &done[1]), status);
	expect_equal(done[0], done[1]);
	for (size_t i = 0; i < done[0]; i++)
		model_add(&twins->model, keys[i]);
}

static nidus_filter *create_with(const char *tier, const nidus_options *options)
{
	expect_ok(nidus_set_isa(tier));
	return filter_create(options);
}

static void compare_tiers(const nidus_options *options, const char *fast, uint64_t seed)
{
	struct twins twins = { .chance = { seed } };
	twins.scalar = create_with("scalar", options);
	twins.fast = create_with(fast, options);
	twins.removes = nidus_family_features(options->family) & NIDUS_DELETE;
	uint64_t places = info_of(twins.scalar).total_slots;
	uint64_t steps = options->capacity + 300;
	model_create(&twins.model, places + places / 8 + 8);
	for (uint64_t step = 0; step < 3 * steps; step++) {
		if (chance_percent(&twins.chance, step / steps == 1 ? 35 : 85))
			insert_in_both(&twins);
		else
			remove_from_both(&twins);
		if (step % 200 == 0) {
			look_in_both(&twins);
			expect(filters_equal(twins.scalar, twins.fast));
		}
		if (step % 250 == 0)
			insert_batch_in_both(&twins);
	}
	look_in_both(&twins);
	expect(filters_equal(twins.scalar, twins.fast));
	expect_ok(nidus_verify(twins.scalar, NULL));
	expect_ok(nidus_verify(twins.fast, NULL));
	model_free(&twins.model);
	nidus_free(twins.scalar);
	nidus_free(twins.fast);
}

/* The tier to compare with scalar; the test is skipped if there is none. */
static const char *fast_tier(void)
{
	if (nidus_set_isa("avx2") != NIDUS_OK)
		skip();
	return "avx2";
}

struct tour {
	const char *fast;
	struct chance chance;
};

static void compare_shape(const struct shape *shape, void *context)
{
	struct tour *tour = context;
	uint64_t seed = chance_next(&tour->chance);
	uint64_t capacity = 1 + chance_below(&tour->chance, check_small() ? 200 : 600);
	nidus_options options = shape_options(shape, capacity, 1 + seed / 2);
	check_note("%s, slots %u, fpr 2^-%u, capacity %llu, run seed %llu", shape->family->name,
	           shape->slots, shape->k, (unsigned long long)capacity, (unsigned long long)seed);
	compare_tiers(&options, tour->fast, seed);
}

static void every_family_leaves_the_same_bytes_in_every_tier(void **state)
{
	(void)state;
	struct tour tour = { .fast = fast_tier(), .chance = { chance_seed() } };
	each_layout(4, 24, compare_shape, &tour);
}

/* The families with tiers of their own, longer, and for each of their widths. */
static void every_width_of_remainders_leaves_the_same_bytes(void **state)
{
	(void)state;
	const char *fast = fast_tier();
	struct chance chance = { chance_seed() + 1 };
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		for (unsigned round = 0; round < 4; round++) {
			uint64_t capacity = 1 + chance_below(&chance, UINT64_C(20) << 2 * round);
			uint64_t seed = chance_next(&chance);
			check_note("%u slots, capacity %llu, run seed %llu", yard_shapes[w],
			           (unsigned long long)capacity, (unsigned long long)seed);
			nidus_options options = yard_options(yard_shapes[w], capacity, 77 + round);
			compare_tiers(&options, fast, seed);
		}
	}
}

/* A filter goes on in the other tier after a save and a load. */
static void a_file_is_the_same_filter_in_every_tier(void **state)
{
	(void)state;
	const char *fast = fast_tier();
	for (unsigned w = 0; w < YARD_SHAPES; w++) {
		nidus_options options = yard_options(yard_shapes[w], 900, 5);
		nidus_filter *scalar = create_with("scalar", &options), *loaded;
		for (uint64_t key = 0; key < 600; key++)
			expect_ok(nidus_insert_u64(scalar, key));
		struct bytes bytes = bytes_save(scalar);
		expect_ok(nidus_set_isa(fast));
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &loaded));
		bytes_free(&bytes);
		for (uint64_t key = 0; key < 300; key++) {
			expect_ok(nidus_remove_u64(scalar, key));
			expect_ok(nidus_remove_u64(loaded, key));
			expect_ok(nidus_insert_u64(scalar, 1000 + key));
			expect_ok(nidus_insert_u64(loaded, 1000 + key));
		}
		expect(filters_equal(scalar, loaded));
		nidus_free(scalar);
		nidus_free(loaded);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_chooses_the_first_tier),
		cmocka_unit_test(an_unknown_wish_in_the_environment_is_no_wish),
		cmocka_unit_test(unknown_names_are_errors_and_change_nothing),
		cmocka_unit_test(a_tier_that_is_not_here_is_unsupported),
		cmocka_unit_test(every_family_leaves_the_same_bytes_in_every_tier),
		cmocka_unit_test(every_width_of_remainders_leaves_the_same_bytes),
		cmocka_unit_test(a_file_is_the_same_filter_in_every_tier),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Filters that threads share, in every family that can, through the public calls:
 * no key is lost, no update either, whatever the neighbours do.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "api/generations.h"
#include "support/check.h"
#include "support/crowd.h"
#include "support/filters.h"

static bool can(nidus_family family, uint32_t feature)
{
	return (nidus_family_features(family) & feature) != 0;
}

static nidus_filter *make(nidus_family family, uint64_t capacity, uint64_t max_capacity, double fpr)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = family;
	options.capacity = capacity;
	options.max_capacity = max_capacity;
	options.fpr = fpr;
	options.features = NIDUS_CONCURRENT;
	options.seed = 4711;
	nidus_filter *filter;
	check_note("%s, %llu to %llu keys at %g", nidus_family_name(family),
	           (unsigned long long)capacity, (unsigned long long)max_capacity, fpr);
	expect_ok(nidus_create(&options, &filter));
	return filter;
}

static void expect_sound(nidus_filter *filter, const struct crowd_plan *plan)
{
	struct crowd_result result = crowd_run(filter, plan);
	expect_equal(result.misses, 0);
	expect_equal(result.wrong, 0);
	expect_equal(result.snapshot_faults, 0);
	expect(result.operations > 0);
	nidus_info info = NIDUS_INFO_INIT;
	expect_ok(nidus_get_info(filter, &info));
	expect(info.concurrent);
	expect_equal(info.count, result.held);
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
}

/* A fixed size, filled to the brim and churned. */
static void no_key_is_lost_in_churn(void **state)
{
	(void)state;
	for (unsigned family = NIDUS_CUCKOO; family <= NIDUS_BLOCKED_BLOOM; family++) {
		if (!can(family, NIDUS_CONCURRENT))
			continue;
		for (unsigned k = 5; k <= 13; k += 8) {
			nidus_filter *filter = make(family, 4000, 0, 1.0 / (1u << k));
			struct crowd_plan plan = {
				.workers = 4,
				.rounds = check_small() ? 8 : 40,
				.share = 990,
				.fixed = 40,
				.whole = k > 5,
			};
			expect_sound(filter, &plan);
		}
	}
}

/* Four workers who put so many keys in, most of them in the last round. */
static struct crowd_plan crowd_up_to(uint64_t most)
{
	return (struct crowd_plan){
		.workers = 4,
		.rounds = 12,
		.share = 50,
		.last_share = most / 4 - 50,
		.fixed = 100,
		.whole = true,
	};
}

/* From a few keys to many times as many, with everybody inside all the time. */
static void no_key_is_lost_in_growth(void **state)
{
	(void)state;
	for (unsigned family = NIDUS_CUCKOO; family <= NIDUS_BLOCKED_BLOOM; family++) {
		if (!can(family, NIDUS_CONCURRENT) || !can(family, NIDUS_GROW))
			continue;
		uint64_t most = check_small() ? 8000 : 60000;
		nidus_filter *filter = make(family, 500, most, 1.0 / 256);
		struct crowd_plan plan = crowd_up_to(most);
		nidus_info before = NIDUS_INFO_INIT;
		expect_ok(nidus_get_info(filter, &before));
		expect(before.capacity < most);
		expect_sound(filter, &plan);
	}
}

/* The same without a size: generations follow each other meanwhile. */
static void no_key_is_lost_in_generations(void **state)
{
	(void)state;
	for (unsigned family = NIDUS_CUCKOO; family <= NIDUS_BREADCRUMB; family++) {
		if (!generations_nest(family_find((nidus_family)family)))
			continue;
		uint64_t most = check_small() ? 8000 : 60000;
		nidus_filter *filter = make(family, 0, NIDUS_UNLIMITED, 1.0 / 256);
		struct crowd_plan plan = crowd_up_to(most);
		expect_sound(filter, &plan);
	}
}

/* Two threads that insert_new the same keys: each key is taken exactly once. */
#define SAME 3000

struct rival {
	nidus_filter *filter;
	uint64_t taken;
};

static void *insert_same(void *context)
{
	struct rival *me = context;
	for (uint64_t key = 0; key < SAME; key++)
		me->taken += nidus_insert_new_u64(me->filter, key) == NIDUS_OK;
	return NULL;
}

static void a_key_is_new_only_once(void **state)
{
	(void)state;
	for (unsigned family = NIDUS_CUCKOO; family <= NIDUS_BLOCKED_BLOOM; family++) {
		if (!can(family, NIDUS_CONCURRENT))
			continue;
		bool unlimited = family == NIDUS_WINDOWED; /* twins are as rare there */
		nidus_filter *filter = unlimited ? make(family, 0, NIDUS_UNLIMITED, 1e-6)
		                                 : make(family, SAME, 0, 1e-6);
		struct rival rivals[3];
		pthread_t threads[3];
		uint64_t taken = 0;
		for (unsigned i = 0; i < 3; i++) {
			rivals[i] = (struct rival){ filter, 0 };
			expect_equal(pthread_create(&threads[i], NULL, insert_same, &rivals[i]), 0);
		}
		for (unsigned i = 0; i < 3; i++) {
			pthread_join(threads[i], NULL);
			taken += rivals[i].taken;
		}
		nidus_info info = NIDUS_INFO_INIT;
		expect_ok(nidus_get_info(filter, &info));
		expect_equal(info.count, taken);
		expect(taken <= SAME && taken + 5 >= SAME); /* but for twins */
		nidus_free(filter);
	}
}

/* Merging two filters in both directions at once must not wait in a circle. */
struct pair {
	nidus_filter *a, *b;
	unsigned failures;
};

static void *merge_pair(void *context)
{
	struct pair *pair = context;
	for (unsigned i = 0; i < 50; i++) {
		nidus_filter *merged;
		if (nidus_merge(pair->a, pair->b, &merged) == NIDUS_OK)
			nidus_free(merged);
		else
			pair->failures++;
	}
	return NULL;
}

static void merges_in_both_directions_do_not_wait_in_a_circle(void **state)
{
	(void)state;
	for (unsigned family = NIDUS_CUCKOO; family <= NIDUS_BLOCKED_BLOOM; family++) {
		if (!can(family, NIDUS_CONCURRENT) || !can(family, NIDUS_MERGE))
			continue;
		nidus_filter *a = make(family, 300, 0, 1e-3), *b = make(family, 300, 0, 1e-3);
		struct pair pairs[] = { { a, b, 0 }, { b, a, 0 }, { a, a, 0 } };
		pthread_t threads[3];
		for (unsigned i = 0; i < 3; i++)
			expect_equal(pthread_create(&threads[i], NULL, merge_pair, &pairs[i]), 0);
		for (uint64_t key = 0; key < 200; key++) {
			expect_ok(nidus_insert_u64(a, key));
			expect_ok(nidus_insert_u64(b, key + 1000));
		}
		for (unsigned i = 0; i < 3; i++) {
			pthread_join(threads[i], NULL);
			expect_equal(pairs[i].failures, 0);
		}
		nidus_free(a);
		nidus_free(b);
	}
}

struct builder {
	nidus_filter *like;
	atomic_bool done;
	unsigned failures;
};

static void *build_like(void *context)
{
	struct builder *me = context;
	while (!me->done) {
		uint64_t hashes[] = { 1, 2, 3 };
		nidus_filter *built;
		me->failures += nidus_build_like(me->like, hashes, NULL, 3, false, 1, NULL,
		                                 &built) != NIDUS_OK;
		nidus_free(built);
	}
	return NULL;
}

static void a_growing_filter_can_be_built_like(void **state)
{
	(void)state;
	for (unsigned family = NIDUS_CUCKOO; family <= NIDUS_BLOCKED_BLOOM; family++) {
		if (!can(family, NIDUS_CONCURRENT) || !can(family, NIDUS_GROW))
			continue;
		struct builder builder = { .like = make(family, 100, 3200, 1e-3) };
		pthread_t thread;
		expect_equal(pthread_create(&thread, NULL, build_like, &builder), 0);
		for (uint64_t key = 0; key < 3000; key++)
			expect_ok(nidus_insert_u64(builder.like, key));
		builder.done = true;
		pthread_join(thread, NULL);
		expect_equal(builder.failures, 0);
		nidus_free(builder.like);
	}
}

int main(void)
{
	take_small_segments(256);
	generation_bits_first = generation_bits = 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_key_is_lost_in_churn),
		cmocka_unit_test(no_key_is_lost_in_growth),
		cmocka_unit_test(no_key_is_lost_in_generations),
		cmocka_unit_test(a_key_is_new_only_once),
		cmocka_unit_test(merges_in_both_directions_do_not_wait_in_a_circle),
		cmocka_unit_test(a_growing_filter_can_be_built_like),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * What a file claims: every plan that the library makes passes, at any size, rate and
 * level; forged ones do not, and never make it ask for more memory than the file explains.
 */
#include "api/claims.h"
#include "api/filter.h"
#include "api/options.h"
#include "base/os.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

/* ----------------------------------------------------------------- honest plans -- */

static void expect_honest(const struct family *family, const struct blueprint *plan)
{
	check_note("%s: capacity %llu to %llu, fpr %g, slots %u, %u + %u bits, stride %u, "
	           "shares %u, chunks %llu, groups %llu, stash %u",
	           family->name, (unsigned long long)plan->capacity,
	           (unsigned long long)plan->max_capacity, plan->fpr, plan->slots, plan->core_bits,
	           plan->growth_bits, plan->stride, plan->shares, (unsigned long long)plan->chunks,
	           (unsigned long long)plan->groups, plan->stash_limit);
	expect_ok(claims_check(family, plan));
}

static void expect_plan_honest(const nidus_options *options, const struct family *family)
{
	struct blueprint plan;
	if (options_plan_family(options, family, &plan) != NIDUS_OK)
		return;
	expect_honest(family, &plan);
}

static void plans_of_shape(const struct shape *shape, void *context)
{
	struct chance *chance = context;
	for (unsigned i = 0; i < (check_small() ? 20 : 60); i++) {
		uint64_t low = UINT64_C(1) << chance_below(chance, 36);
		nidus_options options = shape_options(shape, low + chance_below(chance, low), 1);
		if (i < 12)
			options.capacity = i + 1;
		expect_plan_honest(&options, shape->family);
		options.max_capacity = options.capacity << chance_below(chance, 30);
		options.features = i % 3 == 0 ? NIDUS_FAST : 0;
		options.stash = i % 4 == 0 ? UINT32_MAX - 1 : i % 4 == 1 ? NIDUS_STASH_OFF : 0;
		expect_plan_honest(&options, shape->family);
	}
}

static void every_plan_keeps_what_it_claims(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	each_shape(4, 24, plans_of_shape, &chance);
}

/* ------------------------------------------------------------------ forged files -- */

/* The largest block that was asked for, and no block of more than LARGE is given. */
#define LARGE ((size_t)1 << 28)

static struct os_calls real;
static size_t largest;

static void *allocate(size_t size)
{
	largest = size > largest ? size : largest;
	return size <= LARGE ? real.allocate(size) : NULL;
}

static void *map_zeroed(size_t size)
{
	largest = size > largest ? size : largest;
	return size <= LARGE ? real.map_zeroed(size) : NULL;
}

static int watch_memory(void **state)
{
	(void)state;
	real = os;
	os.allocate = allocate;
	os.map_zeroed = map_zeroed;
	return 0;
}

static int watch_no_more(void **state)
{
	(void)state;
	os = real;
	return 0;
}

/* Fields of the header, see docs/format.md. */
#define AT_FEATURES 20
#define AT_CAPACITY 32
#define AT_MAX_CAPACITY 40
#define AT_FPR 48
#define AT_STASH_LIMIT 96

static struct bytes saved_keys(const struct family *family, uint64_t keys)
{
	nidus_options options = filter_options(keys, 0.001, 7);
	options.family = family->id;
	nidus_filter *filter = filter_of_keys(&options, 0, keys);
	struct bytes bytes = bytes_save(filter);
	nidus_free(filter);
	return bytes;
}

static void expect_forged(struct bytes *bytes, const char *word)
{
	nidus_filter *filter;
	bytes_seal(bytes);
	largest = 0;
	expect_status(nidus_load_buffer(bytes->data, bytes->size, NULL, &filter), NIDUS_E_FORMAT);
	expect(filter == NULL);
	expect_equal(largest, 0); /* nothing was taken for it */
	check_note("%s", nidus_reason());
	expect(strstr(nidus_reason(), word) != NULL);
}

static void store_rate(struct bytes *bytes, double rate)
{
	uint64_t bits;
	memcpy(&bits, &rate, sizeof bits);
	store64(bytes->data + AT_FPR, bits);
}

static void rates_that_no_fingerprint_gives_are_refused(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct bytes bytes = saved_keys(*family, 200);
		for (double rate = 1e-8; rate > 1e-300; rate *= rate) {
			store_rate(&bytes, rate);
			expect_forged(&bytes, "rate");
			/* With few keys in it a table does give a lower rate, but not any. */
			store64(bytes.data + AT_CAPACITY, 1);
			store64(bytes.data + AT_MAX_CAPACITY, 1);
			if (!((*family)->features & NIDUS_STATIC) &&
			    ((*family)->features & NIDUS_ENUMERATE || rate < 1e-20))
				expect_forged(&bytes, "rate");
			store64(bytes.data + AT_CAPACITY, 200);
			store64(bytes.data + AT_MAX_CAPACITY, 200);
		}
		bytes_free(&bytes);
	}
}

static void capacities_beyond_the_slots_are_refused(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if ((*family)->features & NIDUS_STATIC) /* its table follows from its capacity */
			continue;
		struct bytes bytes = saved_keys(*family, 200);
		store_rate(&bytes, 0.999);
		for (uint64_t capacity = 10000; capacity != 0; capacity *= 1024) {
			store64(bytes.data + AT_CAPACITY, capacity);
			store64(bytes.data + AT_MAX_CAPACITY, capacity);
			expect_forged(&bytes, "promises");
		}
		bytes_free(&bytes);
	}
}

static void stashes_out_of_proportion_are_refused(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		struct bytes bytes = saved_keys(*family, 200);
		store32(bytes.data + AT_FEATURES,
		        (*family)->features & (NIDUS_CONCURRENT | NIDUS_STATIC));
		store32(bytes.data + AT_STASH_LIMIT, 0xfffffffe);
		expect_forged(&bytes, (*family)->id == NIDUS_BREADCRUMB ? "searches" : "stash");
		bytes_free(&bytes);
	}
}

/* ---------------------------------------------------------------- wild requests -- */

static void no_stash_is_longer_than_its_chunk_can_use(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		nidus_filter *filter;
		nidus_options options = filter_options(50, 0.01, 7);
		options.family = (*family)->id;
		options.features = (*family)->features & NIDUS_CONCURRENT;
		options.stash = NIDUS_STASH_OFF - 1;
		largest = 0;
		expect_ok(nidus_create(&options, &filter));
		for (uint64_t i = 0; i < 1000; i++)
			(void)nidus_insert_u64(filter, i % 5); /* copies go to the stash */
		check_note("%s: %zu bytes", (*family)->name, largest);
		expect(largest < (size_t)1 << 16);
		nidus_free(filter);
	}
}

static void growth_beyond_every_table_is_refused(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_GROW))
			continue;
		nidus_options options = filter_options(1000, 0x1p-24, 7);
		options.family = (*family)->id;
		nidus_filter *filter = filter_create(&options);
		struct bytes before = bytes_save(filter);
		for (unsigned log = 45; log < 64; log++) {
			check_note("%s: 2^%u keys", (*family)->name, log);
			nidus_status status = nidus_grow_relaxed(filter, UINT64_C(1) << log);
			expect(status == NIDUS_E_RANGE || status == NIDUS_E_NOMEM);
			expect(bytes_match(&before, filter));
		}
		expect_status(nidus_grow_relaxed(filter, UINT64_MAX), NIDUS_E_RANGE);
		bytes_free(&before);
		nidus_free(filter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_plan_keeps_what_it_claims),
		cmocka_unit_test(rates_that_no_fingerprint_gives_are_refused),
		cmocka_unit_test(capacities_beyond_the_slots_are_refused),
		cmocka_unit_test(stashes_out_of_proportion_are_refused),
		cmocka_unit_test(no_stash_is_longer_than_its_chunk_can_use),
		cmocka_unit_test(growth_beyond_every_table_is_refused),
	};
	return cmocka_run_group_tests(tests, watch_memory, watch_no_more);
}

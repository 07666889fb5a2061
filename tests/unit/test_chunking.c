/* SPDX-License-Identifier: MIT
 *
 * Tests of nest/chunking: the fullest chunk against the exact tail and against
 * thrown keys, and the choice of chunks against trying all of them.
 */
#include "nest/chunking.h"

#include <math.h>

#include "support/chance.h"
#include "support/check.h"

/* ------------------------------------------------------------ the fullest chunk -- */

/* The probability that a binomial variable exceeds `most`. */
static double binomial_tail(uint64_t n, double p, double most)
{
	double sum = 0;
	for (uint64_t k = (uint64_t)most + 1; k <= n; k++) {
		double yes = (double)k, no = (double)(n - k);
		double term = exp(lgamma((double)n + 1) - lgamma(yes + 1) - lgamma(no + 1) +
		                  yes * log(p) + no * log1p(-p));
		sum += term;
		if (term < sum * 1e-12)
			break;
	}
	return sum;
}

/* With C chunks the odds are at most C times those of one. */
static void no_chunk_exceeds_the_fullest_but_with_the_odds_promised(void **state)
{
	(void)state;
	for (uint64_t chunks = 2; chunks <= UINT64_C(1) << 24; chunks = chunks * 3 / 2 + 1) {
		for (uint64_t mean = 4; mean <= 1000000; mean = mean * 7 / 2) {
			uint64_t keys = mean * chunks;
			double most = chunking_fullest(keys, chunks);
			double odds =
				(double)chunks * binomial_tail(keys, 1 / (double)chunks, most);
			check_note("%llu keys in %llu chunks: most %.1f, odds %.3g",
			           (unsigned long long)keys, (unsigned long long)chunks, most,
			           odds);
			expect(odds <= CHUNKING_ODDS);
			/* Nor is room wasted: a spread less would already be too little. */
			double tighter = most - 1.5 * sqrt((double)mean) - 2;
			if (mean > 100)
				expect((double)chunks *
				               binomial_tail(keys, 1 / (double)chunks, tighter) >
				       CHUNKING_ODDS);
		}
	}
}

static void one_chunk_gets_all_keys(void **state)
{
	(void)state;
	expect(chunking_fullest(12345, 1) == 12345);
}

static uint64_t throw_keys(uint64_t keys, uint64_t chunks, uint32_t *counts, struct chance *chance)
{
	uint64_t most = 0;
	memset(counts, 0, chunks * sizeof *counts);
	for (uint64_t i = 0; i < keys; i++) {
		uint32_t count = ++counts[chance_below(chance, chunks)];
		most = count > most ? count : most;
	}
	return most;
}

/*
 * Thrown keys exceed the bound as seldom as promised: over all throws one
 * excess is a chance of less than 10^-3, so as many are allowed as happen with
 * odds of 10^-7. The mean of the fullest is well below it and well above n / C.
 */
static void thrown_keys_stay_below_the_fullest(void **state)
{
	(void)state;
	static uint32_t counts[1024];
	struct chance chance = { chance_seed() };
	uint64_t throws = 0, exceeded = 0;
	for (uint64_t chunks = 2; chunks <= 1024; chunks *= 4) {
		uint64_t keys = chunks * 200;
		double bound = chunking_fullest(keys, chunks), sum = 0;
		unsigned rounds = check_small() ? 20 : 200;
		for (unsigned round = 0; round < rounds; round++) {
			uint64_t most = throw_keys(keys, chunks, counts, &chance);
			exceeded += (double)most > bound;
			sum += (double)most;
			throws++;
		}
		check_note("%llu chunks: bound %.1f, mean of the fullest %.1f",
		           (unsigned long long)chunks, bound, sum / rounds);
		expect(sum / rounds < bound && sum / rounds > 200);
	}
	expect(exceeded <= chance_most(throws, CHUNKING_ODDS, 1e-7));
}

/* ------------------------------------------------------------------ the choice -- */

static const struct chunking_limits limits = {
	.slots = 4, .log_least = 1, .log_most = 16, .mean = 0.955, .full = 0.975
};

static bool holds(uint64_t keys, uint64_t chunks, double slots)
{
	return (double)keys / (double)chunks <= limits.mean * slots &&
	       (chunks == 1 ||
	        chunking_fullest(keys, chunks) <= limits.full * slots + CHUNKING_STASH(slots));
}

/* The fewest slots of all numbers of chunks of all sizes. */
static uint64_t fewest_slots(uint64_t keys)
{
	uint64_t least = UINT64_MAX;
	/* One of the largest holds them all: small ones, which may never do, end there. */
	for (unsigned log = limits.log_most; log >= limits.log_least; log--) {
		uint64_t slots = limits.slots << log;
		for (uint64_t chunks = 1; chunks * slots < least; chunks++) {
			if (holds(keys, chunks, (double)slots))
				least = chunks * slots;
		}
	}
	return least;
}

static void the_choice_takes_the_fewest_slots(void **state)
{
	(void)state;
	for (uint64_t keys = 1; keys <= 4000; keys += 1 + keys / 50) {
		uint64_t chunks, groups;
		expect(chunking_choose(&limits, keys, &chunks, &groups));
		check_note("%llu keys: %llu chunks of %llu groups", (unsigned long long)keys,
		           (unsigned long long)chunks, (unsigned long long)groups);
		expect_equal(chunks * groups * limits.slots, fewest_slots(keys));
	}
}

static void the_choice_holds_the_keys(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t keys = 1 + (chance_next(&chance) >> (20 + chance_below(&chance, 44)));
		uint64_t chunks, groups;
		expect(chunking_choose(&limits, keys, &chunks, &groups));
		check_note("%llu keys: %llu chunks of %llu groups", (unsigned long long)keys,
		           (unsigned long long)chunks, (unsigned long long)groups);
		expect(groups >= 2 && groups <= UINT64_C(1) << limits.log_most);
		expect((groups & (groups - 1)) == 0);
		expect(holds(keys, chunks, (double)(groups * limits.slots)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_chunk_exceeds_the_fullest_but_with_the_odds_promised),
		cmocka_unit_test(one_chunk_gets_all_keys),
		cmocka_unit_test(thrown_keys_stay_below_the_fullest),
		cmocka_unit_test(the_choice_takes_the_fewest_slots),
		cmocka_unit_test(the_choice_holds_the_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

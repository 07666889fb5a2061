/* SPDX-License-Identifier: MIT
 *
 * chance: random numbers that can be repeated, and the odds of what they show.
 */
#ifndef NIDUS_TESTS_SUPPORT_CHANCE_H
#define NIDUS_TESTS_SUPPORT_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The seed of this run: NIDUS_TEST_SEED; or, if that is not set, NIDUS_TEST_PINNED_SEED,
 * which ctest sets, so that its runs are all alike; or else a fresh one, as also with
 * NIDUS_TEST_SEED=random. Printed at the first call, so that a failure can be repeated.
 */
uint64_t chance_seed(void);

/* splitmix64: unlike anything in the library, so that no weakness is shared. */
struct chance {
	uint64_t state;
};

uint64_t chance_next(struct chance *chance);
/* 0 to below - 1. */
uint64_t chance_below(struct chance *chance, uint64_t below);
/* True in `percent` of 100 calls. */
bool chance_percent(struct chance *chance, unsigned percent);
/* True in one of n calls. */
bool chance_one_in(struct chance *chance, unsigned n);

/*
 * The least count that `trials` events of probability at most `p` exceed with
 * odds of at most `odds` (Chernoff: exp(-trials * KL(count / trials || p))).
 */
uint64_t chance_most(uint64_t trials, double p, double odds);

/* The same from below: a smaller count has odds of at most `odds`. */
uint64_t chance_least(uint64_t trials, double p, double odds);

/*
 * What chi-square of `freedom` degrees exceeds with odds of at most `odds`
 * (Laurent and Massart's bound: freedom + 2 sqrt(freedom x) + 2x, x = ln(1 / odds)).
 */
double chance_chi_square_most(double freedom, double odds);

/* Chi-square of counts that should all be the same. */
double chance_chi_square(const uint32_t *counts, uint64_t n);

#endif

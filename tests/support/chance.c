/* SPDX-License-Identifier: MIT
 *
 * chance: a generator and three bounds.
 */
#include "support/chance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"

/* The seed that a variable of the environment names; false if it is not set. */
static bool named_seed(const char *variable, uint64_t *seed)
{
	const char *text = getenv(variable);
	if (text == NULL || text[0] == '\0')
		return false;
	*seed = strtoull(text, NULL, 0);
	return true;
}

static bool wants_chance(void)
{
	const char *text = getenv("NIDUS_TEST_SEED");
	return text != NULL && strcmp(text, "random") == 0;
}

static uint64_t choose_seed(void)
{
	uint64_t seed;
	if (!wants_chance() &&
	    (named_seed("NIDUS_TEST_SEED", &seed) || named_seed("NIDUS_TEST_PINNED_SEED", &seed)))
		return seed;
	return random_seed(&seed) == NIDUS_OK ? seed : (uint64_t)time(NULL);
}

uint64_t chance_seed(void)
{
	static uint64_t seed;
	static bool known;
	if (!known) {
		seed = choose_seed();
		/* On stderr, which nothing buffers: a crash must not swallow it. */
		fprintf(stderr, "NIDUS_TEST_SEED=%llu\n", (unsigned long long)seed);
		known = true;
	}
	return seed;
}

uint64_t chance_next(struct chance *chance)
{
	uint64_t x = chance->state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t chance_below(struct chance *chance, uint64_t below)
{
	return chance_next(chance) % below;
}

bool chance_percent(struct chance *chance, unsigned percent)
{
	return chance_below(chance, 100) < percent;
}

bool chance_one_in(struct chance *chance, unsigned n)
{
	return chance_below(chance, n) == 0;
}

/* Kullback-Leibler divergence of two coins. */
static double divergence(double a, double p)
{
	double heads = a > 0 ? a * log(a / p) : 0;
	double tails = a < 1 ? (1 - a) * log((1 - a) / (1 - p)) : 0;
	return heads + tails;
}

uint64_t chance_most(uint64_t trials, double p, double odds)
{
	uint64_t low = (uint64_t)((double)trials * p), high = trials;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		double a = (double)(middle + 1) / (double)trials;
		if (a > p && (double)trials * divergence(a < 1 ? a : 1, p) >= -log(odds))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint64_t chance_least(uint64_t trials, double p, double odds)
{
	uint64_t low = 0, high = (uint64_t)((double)trials * p);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		double a = (double)middle / (double)trials;
		if ((double)trials * divergence(a, p) >= -log(odds))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

double chance_chi_square_most(double freedom, double odds)
{
	double x = -log(odds);
	return freedom + 2 * sqrt(freedom * x) + 2 * x;
}

double chance_chi_square(const uint32_t *counts, uint64_t n)
{
	double sum = 0, squares = 0;
	for (uint64_t i = 0; i < n; i++) {
		sum += counts[i];
		squares += (double)counts[i] * counts[i];
	}
	return squares * (double)n / sum - sum;
}

/* SPDX-License-Identifier: MIT
 *
 * bench_breadcrumb_load: how densely breadcrumb filters can be filled.
 *
 *     ./dev bench breadcrumb_load [--width 8] [--fronts 4096] [--keys-per-line 49.6]
 *                                 [--churn 50] [--filters 20] [--seed 1]
 *
 * A simulation of counts: how many keys each front bucket has, how many of them
 * lie in its even and its odd backyard line, and how full those lines are. Who
 * spills, who returns and who moves aside is as in table/yard_ops.h; remainders
 * and mini-buckets do not matter for it. Each filter is filled, then churned
 * (one random key out, a new one in, so many times its slots), and the table
 * shows what happened to the fullest of them:
 *
 *     crowded   inserts that found both backyard lines full and moved an entry
 *     failed    filters that at some time found no place at all
 *     tail      mean share of backyard lines with at least so many entries
 *
 * The tail falls geometrically near its end, and a failure needs two full lines
 * whose entries all have full other lines; the odds printed are an upper bound
 * from the share p of full lines: inserts * p^(2 + slots), far too small to see.
 * What can be seen are crowded inserts: they are the warning.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The shapes of table/yard_widths.h; width 108 stands for 8 bits in lines of 32 bytes. */
static const struct shape {
	unsigned width, front_slots, back_slots, line_bits;
} shapes[] = {
	{ 8, 51, 35, 512 },  { 12, 36, 27, 512 },  { 16, 28, 22, 512 },
	{ 24, 19, 16, 512 }, { 108, 25, 17, 256 },
};

#define FAN 16 /* front buckets per line of each half */

struct simulation {
	uint64_t fronts, half;
	unsigned front_slots, back_slots;
	uint32_t *keys;       /* per front bucket */
	uint16_t *spilled[2]; /* per front bucket and half */
	uint16_t *taken[2];   /* per line and half */
	uint64_t *key_bucket; /* per key: its front bucket */
	uint64_t n, crowded, failed, state;
};

static uint64_t random_below(struct simulation *sim, uint64_t limit)
{
	sim->state ^= sim->state << 13;
	sim->state ^= sim->state >> 7;
	sim->state ^= sim->state << 17;
	return (sim->state * UINT64_C(0x9e3779b97f4a7c15) >> 32) * limit >> 32;
}

static uint64_t line_of(const struct simulation *sim, uint64_t bucket, unsigned half)
{
	return half == 0 ? bucket / FAN : bucket % sim->half;
}

/* Front bucket number i of a line, or UINT64_MAX. */
static uint64_t owner_of(const struct simulation *sim, unsigned half, uint64_t line, unsigned i)
{
	uint64_t bucket = half == 0 ? line * FAN + i : i * sim->half + line;
	return bucket < sim->fronts ? bucket : UINT64_MAX;
}

/* Moves an entry of a full line aside; false if all other lines are full too. */
static bool make_room(struct simulation *sim, uint64_t bucket, unsigned *half)
{
	unsigned best = sim->back_slots;
	uint64_t best_owner = 0;
	for (unsigned h = 0; h < 2; h++) {
		for (unsigned i = 0; i < FAN; i++) {
			uint64_t owner = owner_of(sim, h, line_of(sim, bucket, h), i);
			if (owner == UINT64_MAX || sim->spilled[h][owner] == 0)
				continue;
			unsigned other = sim->taken[!h][line_of(sim, owner, !h)];
			if (other < best) {
				best = other;
				best_owner = owner;
				*half = h;
			}
		}
	}
	if (best == sim->back_slots)
		return false;
	sim->spilled[*half][best_owner]--;
	sim->spilled[!*half][best_owner]++;
	sim->taken[*half][line_of(sim, bucket, *half)]--;
	sim->taken[!*half][line_of(sim, best_owner, !*half)]++;
	return true;
}

static bool insert(struct simulation *sim, uint64_t bucket)
{
	if (sim->keys[bucket] >= sim->front_slots) {
		unsigned even = sim->taken[0][line_of(sim, bucket, 0)];
		unsigned odd = sim->taken[1][line_of(sim, bucket, 1)];
		unsigned half = odd < even;
		if ((half ? odd : even) >= sim->back_slots) {
			sim->crowded++;
			if (!make_room(sim, bucket, &half))
				return false;
		}
		sim->spilled[half][bucket]++;
		sim->taken[half][line_of(sim, bucket, half)]++;
	}
	sim->keys[bucket]++;
	return true;
}

static void take(struct simulation *sim, uint64_t bucket)
{
	uint64_t even = sim->spilled[0][bucket], odd = sim->spilled[1][bucket];
	sim->keys[bucket]--;
	if (even + odd == 0)
		return;
	unsigned half = random_below(sim, even + odd) >= even;
	sim->spilled[half][bucket]--;
	sim->taken[half][line_of(sim, bucket, half)]--;
}

static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n, size);
	if (memory == NULL) {
		fprintf(stderr, "bench_breadcrumb_load: no memory\n");
		exit(1);
	}
	return memory;
}

/* Fills and churns one filter; false if it failed. */
static bool run(struct simulation *sim, uint64_t n, double churn)
{
	uint64_t slots = sim->fronts * sim->front_slots + 2 * sim->half * sim->back_slots;
	for (sim->n = 0; sim->n < n; sim->n++) {
		sim->key_bucket[sim->n] = random_below(sim, sim->fronts);
		if (!insert(sim, sim->key_bucket[sim->n]))
			return false;
	}
	for (uint64_t i = 0; i < (uint64_t)(churn * (double)slots); i++) {
		uint64_t key = random_below(sim, n);
		take(sim, sim->key_bucket[key]);
		sim->key_bucket[key] = random_below(sim, sim->fronts);
		if (!insert(sim, sim->key_bucket[key]))
			return false;
	}
	return true;
}

struct arguments {
	unsigned width, filters;
	uint64_t fronts, seed;
	double keys_per_line, churn;
};

static struct arguments parse(int count, char **words)
{
	struct arguments arguments = { .width = 8,
		                       .filters = 20,
		                       .fronts = 4096,
		                       .seed = 1,
		                       .keys_per_line = 49.6,
		                       .churn = 50 };
	for (int i = 1; i + 1 < count; i += 2) {
		double number = strtod(words[i + 1], NULL);
		if (strcmp(words[i], "--width") == 0)
			arguments.width = (unsigned)number;
		else if (strcmp(words[i], "--filters") == 0)
			arguments.filters = (unsigned)number;
		else if (strcmp(words[i], "--fronts") == 0)
			arguments.fronts = (uint64_t)number;
		else if (strcmp(words[i], "--seed") == 0)
			arguments.seed = (uint64_t)number;
		else if (strcmp(words[i], "--keys-per-line") == 0)
			arguments.keys_per_line = number;
		else if (strcmp(words[i], "--churn") == 0)
			arguments.churn = number;
		else {
			fprintf(stderr, "bench_breadcrumb_load: %s is no option\n", words[i]);
			exit(2);
		}
	}
	return arguments;
}

int main(int count, char **words)
{
	struct arguments arguments = parse(count, words);
	const struct shape *shape = NULL;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		if (shapes[i].width == arguments.width)
			shape = &shapes[i];
	}
	if (shape == NULL || arguments.fronts < 1 || arguments.keys_per_line <= 0) {
		fprintf(stderr,
		        "bench_breadcrumb_load: widths are 8, 12, 16, 24 and 108 (short lines)\n");
		return 2;
	}
	uint64_t n = (uint64_t)(arguments.keys_per_line * (double)arguments.fronts);
	uint64_t half = (arguments.fronts + FAN - 1) / FAN, crowded = 0, failed = 0;
	double tail[64] = { 0 };
	for (unsigned filter = 0; filter < arguments.filters; filter++) {
		struct simulation sim = {
			.fronts = arguments.fronts,
			.half = half,
			.front_slots = shape->front_slots,
			.back_slots = shape->back_slots,
			.state = (arguments.seed + filter) * UINT64_C(0xd6e8feb86659fd93) | 1,
			.keys = allocate(arguments.fronts, sizeof *sim.keys),
			.key_bucket = allocate(n + 1, sizeof *sim.key_bucket),
		};
		for (unsigned h = 0; h < 2; h++) {
			sim.spilled[h] = allocate(arguments.fronts, sizeof **sim.spilled);
			sim.taken[h] = allocate(half, sizeof **sim.taken);
		}
		failed += !run(&sim, n, arguments.churn);
		crowded += sim.crowded;
		for (uint64_t line = 0; line < 2 * half; line++) {
			for (unsigned at = 0; at <= sim.taken[line % 2][line / 2]; at++)
				tail[at] += 1.0 / (double)(2 * half * arguments.filters);
		}
		for (unsigned h = 0; h < 2; h++) {
			free(sim.spilled[h]);
			free(sim.taken[h]);
		}
		free(sim.keys);
		free(sim.key_bucket);
	}
	double bits = (double)shape->line_bits * (double)(arguments.fronts + 2 * half) / (double)n;
	printf("width %u, %" PRIu64 " front buckets, %" PRIu64
	       " keys (%.2f per line, %.3f bits per "
	       "key), churn %.0f x slots, %u filters\n",
	       arguments.width, arguments.fronts, n, arguments.keys_per_line, bits, arguments.churn,
	       arguments.filters);
	printf("  crowded %" PRIu64 "   failed %" PRIu64 "   tail", crowded, failed);
	unsigned slots = shape->back_slots;
	for (unsigned at = slots / 2; at <= slots; at += (slots - slots / 2) / 6 + (at == 0))
		printf("  >=%u: %.2g", at, tail[at]);
	printf("  >=%u: %.2g\n", slots, tail[slots]);
	return failed > 0;
}

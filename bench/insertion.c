/* SPDX-License-Identifier: MIT
 *
 * insertion: the fillings that are compared.
 */
#include "insertion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "misses.h"

#define CLASSIC_KICKS 500 /* after which a walk gives up */

const struct insertion insertions[] = {
	{ "cuckoo", NIDUS_CUCKOO, 0, INSIDE_RESERVE_PLANNED, false, NULL },
	{ "chunked, p = 1", NIDUS_CHUNKED, 0, 1, true, NULL },
	{ "chunked, p = 2", NIDUS_CHUNKED, 0, 2, true, NULL },
	{ "chunked, p = 0", NIDUS_CHUNKED, 0, 0, true, NULL },
	{ "classic walk", NIDUS_AUTO, WALK_CLASSIC, 0, false, "cuckoo filter" },
	{ "better-choice walk", NIDUS_AUTO, WALK_BETTER, 0, false, "better choice" },
	{ "vacuum walk", NIDUS_AUTO, WALK_VACUUM, 0, false, "vacuum filter" },
	{ "CPCF walk, p = 1", NIDUS_AUTO, WALK_CPCF, 1, false, "CPCF" },
};

const size_t insertions_number = sizeof insertions / sizeof *insertions;

const struct insertion_said insertions_said[] = {
	{ "cuckoo filter", 8.53, 29879, 18.2 },
	{ "better choice", 7.00, 50146, 20.5 },
	{ "vacuum filter", 3.31, 41614, 20.3 },
	{ "CPCF", 2.05, 26223, 15.4 },
};

const size_t insertions_said_number = sizeof insertions_said / sizeof *insertions_said;

const struct insertion_said *insertion_said(const struct insertion *insertion)
{
	for (size_t i = 0; insertion->said != NULL && i < insertions_said_number; i++) {
		if (strcmp(insertions_said[i].name, insertion->said) == 0)
			return &insertions_said[i];
	}
	return NULL;
}

struct inside *insertion_table(const struct insertion *insertion, uint64_t keys, uint64_t seed)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = insertion->family;
	options.slots = INSERTION_SLOTS;
	options.fpr = INSERTION_FPR;
	options.capacity = keys;
	options.seed = seed;
	struct inside *table = inside_create(&options, insertion->reserve);
	if (table == NULL) {
		fprintf(stderr, "%s: %s\n", insertion->name, nidus_reason());
		exit(1);
	}
	return table;
}

static struct insertion_cost fill_table(const struct insertion *insertion, uint64_t keys,
                                        uint64_t seed, bool counting)
{
	struct inside *table = insertion_table(insertion, keys, seed);
	struct insertion_cost cost = { 0 };
	for (uint64_t key = 0; key < keys; key++) {
		if (counting)
			cost.checks += inside_direct_checks(table, key);
		uint64_t before = inside_look(table).moves;
		cost.refused += inside_insert(table, key) != NIDUS_OK;
		uint64_t moves = inside_look(table).moves - before;
		cost.longest = moves > cost.longest ? moves : cost.longest;
	}
	struct inside_figures figures = inside_look(table);
	cost.chunks = figures.chunks;
	cost.buckets = figures.buckets;
	cost.relocations = figures.relocations;
	cost.kicks = figures.moves;
	cost.checks += figures.checks;
	cost.stashed = figures.stashed;
	inside_free(table);
	return cost;
}

static uint64_t power_of_two_from(double least)
{
	uint64_t power = 32;
	while ((double)power < least)
		power *= 2;
	return power;
}

struct walk insertion_walk(const struct insertion *insertion, uint64_t keys, uint64_t seed)
{
	struct walk walk = { .kind = insertion->kind,
		             .buckets = power_of_two_from((double)keys / INSERTION_SLOTS),
		             .slots = INSERTION_SLOTS,
		             .fingerprint_bits = INSERTION_BITS,
		             .reserve = (unsigned)insertion->reserve,
		             .max_kicks = CLASSIC_KICKS,
		             .seed = seed };
	if (!walk_create(&walk)) {
		fprintf(stderr, "%s: no memory\n", insertion->name);
		exit(1);
	}
	return walk;
}

static struct insertion_cost fill_walk(const struct insertion *insertion, uint64_t keys,
                                       uint64_t seed)
{
	struct walk walk = insertion_walk(insertion, keys, seed);
	struct insertion_cost cost = { .chunks = 1, .buckets = walk.buckets };
	for (uint64_t key = 0; key < keys; key++)
		cost.refused += !walk_insert(&walk, (seed << 40) + key);
	cost.relocations = walk.relocations;
	cost.kicks = walk.kicks;
	cost.checks = walk.checks;
	cost.longest = walk.longest;
	walk_free(&walk);
	return cost;
}

struct insertion_cost insertion_fill(const struct insertion *insertion, uint64_t keys,
                                     uint64_t seed, bool counting)
{
	return insertion->family == NIDUS_AUTO ? fill_walk(insertion, keys, seed)
	                                       : fill_table(insertion, keys, seed, counting);
}

double insertion_misses(const struct insertion *insertion, uint64_t keys, uint64_t seeds)
{
	uint64_t references, missed;
	if (!misses_start())
		return -1;
	for (uint64_t seed = 1; seed <= seeds; seed++)
		insertion_fill(insertion, keys, seed, false);
	return misses_stop(&references, &missed) ? 100 * (double)missed / (double)references : -1;
}

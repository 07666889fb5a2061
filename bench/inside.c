/* SPDX-License-Identifier: MIT
 *
 * inside: a nest of its own, planned by a family.
 */
#include "inside.h"

#include <stdlib.h>

#include "family/chunked.h"
#include "family/family.h"
#include "nest/nest.h"

struct inside {
	struct nest nest;
	struct hash_key key;
};

struct inside *inside_create(const nidus_options *options, int reserve)
{
	struct blueprint plan = { .family = options->family,
		                  .seed = options->seed,
		                  .fpr = options->fpr };
	const struct family *family = family_find(options->family);
	if (family == NULL || family->plan(options, &plan) != NIDUS_OK)
		return NULL;
	if (reserve != INSIDE_RESERVE_PLANNED)
		plan.reserve = (uint32_t)reserve;
	struct inside *inside = malloc(sizeof *inside);
	if (inside == NULL)
		return NULL;
	inside->key = hash_key_of(plan.seed);
	if (nest_check(&plan, NEST_XOR) != NIDUS_OK ||
	    nest_create(&inside->nest, &plan, NEST_XOR, NULL, &options->allocator, NULL) !=
	            NIDUS_OK) {
		free(inside);
		return NULL;
	}
	return inside;
}

void inside_free(struct inside *inside)
{
	if (inside == NULL)
		return;
	nest_free(&inside->nest);
	free(inside);
}

nidus_status inside_insert(struct inside *inside, uint64_t key)
{
	return nest_ops(&inside->nest)->insert(&inside->nest, hash_u64(&inside->key, key));
}

/* Looks at slots `from` to `to` of a group; true at the first empty one. */
static bool meets_empty(const struct nest *nest, const struct nest_key *key, unsigned choice,
                        unsigned from, unsigned to, unsigned *checks)
{
	const unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	uint64_t first = nest_first_slot(nest, NEST_XOR, key->group[choice]);
	for (unsigned at = from; at < to; at++) {
		++*checks;
		if (nest_get(nest, NEST_XOR, bits, first + at) == 0)
			return true;
	}
	return false;
}

unsigned inside_direct_checks(const struct inside *inside, uint64_t key)
{
	const struct nest *nest = &inside->nest;
	struct nest_key where = nest_locate(nest, NEST_XOR, hash_u64(&inside->key, key));
	unsigned checks = 0, open = nest->layout->slots - nest->layout->reserve;
	(void)(meets_empty(nest, &where, 0, 0, open, &checks) ||
	       meets_empty(nest, &where, 1, 0, nest->layout->slots, &checks) ||
	       meets_empty(nest, &where, 0, open, nest->layout->slots, &checks));
	return checks;
}

struct inside_figures inside_look(const struct inside *inside)
{
	const struct nest *nest = &inside->nest;
	return (struct inside_figures){
		.chunks = nest->layout->chunks,
		.buckets = nest->layout->groups,
		.slots = nest->layout->slots,
		.fingerprint_bits = nest->layout->core_bits,
		.relocations = nest->effort.relocations,
		.moves = nest->effort.moves,
		.checks = nest->effort.checks,
		.stashed = nest->stashed,
	};
}

void inside_algorithm_1(uint64_t keys, double load, unsigned slots, double a, uint64_t *chunks,
                        uint64_t *buckets)
{
	chunked_algorithm_1(keys, load, slots, a, chunks, buckets);
}

unsigned inside_max_kicks(uint64_t chunks, uint64_t buckets, unsigned slots)
{
	return chunked_max_kicks(chunks, buckets, slots);
}

/* SPDX-License-Identifier: MIT
 *
 * bloom: the classic, for insert-only users and to compare with.
 *
 * Paper: B. H. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable
 * Errors" (CACM 1970).
 *
 * A table of m bits; a key sets k of them, anywhere, and is found when all k are
 * set. bloom/spread.c says which.
 *
 *     m = 192:  ..1......1..1.....  ...      k = 3, one key
 *                 |      |  |
 *                 +------+--+--- the first digits of the hash to the base m
 *
 * The rate: after n keys a bit is still 0 with a chance of (1 - 1/m)^(kn), about
 * exp(-kn/m), and an absent key is found with 1 minus that, to the power of k.
 * Sizing tries every k and takes the one with the smallest table. That is near
 * k = log2(1/fpr) and m = 1.44 k n, with half of the bits set.
 *
 * Worked example: 1000 keys at 1 %: k = 6 and 157 words, 10048 bits. Filled,
 * exp(-0.5971) = 0.550 of the bits are 0, and 0.450^6 = 0.0083 is the mean rate;
 * five spreads above it is just below 0.01.
 *
 * What is promised: see family/blooms.h for "full", and nidus.h for merging.
 */
#include "base/reason.h"
#include "bloom/shared.h"
#include "family/blooms.h"
#include "family/registry.h"

#include <assert.h>
#include <math.h>

#define WORD_BYTES 8
#define WORD_BITS 64
#define SPREADS 5 /* odds of less than one in a million that a table is worse */

/* ------------------------------------------------------------------- sizing -- */

static double power(double base, unsigned exponent)
{
	double product = 1;
	for (unsigned i = 0; i < exponent; i++)
		product *= base;
	return product;
}

static struct bloom_rate rate_of(uint64_t words, unsigned probes, uint64_t keys)
{
	double bits = (double)words * WORD_BITS,
	       load = blooms_load(words * WORD_BITS, probes, keys);
	double per_bit = (double)probes * (double)keys / bits;
	/* Set bits are not independent: if one is, the others are a little less often. */
	double variance = (1 - load) * (1 - (1 + per_bit) * (1 - load)) / bits;
	double high = load + (variance > 0 ? SPREADS * sqrt(variance) : 0);
	struct bloom_rate rate = { power(load, probes), power(high < 1 ? high : 1, probes) };
	rate.mean += blooms_same_hash(keys);
	rate.most += blooms_same_hash(keys);
	return rate;
}

static nidus_status bloom_plan(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = blooms_check_options(options, "bloom");
	if (status != NIDUS_OK)
		return status;
	for (unsigned probes = 1; probes <= BLOOM_SPREAD_PROBES; probes++) {
		uint64_t words = blooms_size(rate_of, probes, options->capacity, plan->fpr,
		                             BLOOM_SPREAD_WORDS);
		if (words != 0 && (plan->groups == 0 || words < plan->groups)) {
			plan->groups = words;
			plan->core_bits = probes;
		}
	}
	if (plan->groups == 0)
		return fail(NIDUS_E_RANGE,
		            "so many keys at so low a rate need more than a 64-bit hash");
	plan->chunks = 1;
	plan->capacity = plan->max_capacity = options->capacity;
	return NIDUS_OK;
}

static nidus_status bloom_check(const struct blueprint *plan)
{
	if (plan->core_bits < 1 || plan->core_bits > BLOOM_SPREAD_PROBES)
		return fail(NIDUS_E_RANGE, "a key of a Bloom filter sets 1 to %u bits, not %u",
		            BLOOM_SPREAD_PROBES, plan->core_bits);
	if (plan->groups < BLOOM_SPREAD_WORDS)
		return fail(NIDUS_E_RANGE, "a Bloom filter has at least %u words, not %llu",
		            BLOOM_SPREAD_WORDS, (unsigned long long)plan->groups);
	return blooms_check(plan);
}

static struct forecast bloom_forecast(const struct blueprint *plan, uint64_t keys)
{
	double load = blooms_load(plan->groups * WORD_BITS, plan->core_bits, keys);
	struct forecast forecast = {
		.bytes = plan->groups * WORD_BYTES,
		.total_slots = plan->groups * WORD_BITS,
		.slot_bits = 1,
		.load = load,
		.fpr = rate_of(plan->groups, plan->core_bits, keys).mean,
	};
	/* Every bit that is set leads on to the next one, in another line. */
	for (unsigned i = 0; i < plan->core_bits; i++)
		forecast.lines += power(load, i);
	return forecast;
}

static nidus_status bloom_joint(const struct blueprint *plan, uint64_t keys,
                                struct blueprint *joint)
{
	return blooms_joint(plan, keys, rate_of, joint);
}

/* ----------------------------------------------------------------- adapters -- */

static nidus_status bloom_make(void *body, const struct blueprint *plan,
                               const struct segment *segment, const nidus_allocator *allocator,
                               unsigned char *table)
{
	assert(segment == NULL); /* Bloom filters do not grow */
	(void)segment;
	return bloom_create(body, plan, WORD_BYTES, bloom_spread_find(plan->core_bits),
	                    &bloom_spread_shared_ops, allocator, table);
}

/* Of this very table: an absent key's bits lie anywhere. */
static double bloom_rate_now(const void *body, double load)
{
	const struct bloom *bloom = body;
	return power(load, bloom->probes);
}

static nidus_status bloom_verify(const void *body)
{
	return bloom_check_count(body);
}

static nidus_status bloom_import(void *body, const unsigned char *stash, uint64_t stashed,
                                 uint64_t count)
{
	(void)stash;
	nidus_status status = blooms_take_count(body, stashed, count);
	return status == NIDUS_OK && !blooms_mapped(body) ? bloom_verify(body) : status;
}

const struct family family_bloom = {
	.id = NIDUS_BLOOM,
	.name = "bloom",
	.fpr_least = BLOOMS_FPR_LEAST,
	.features = NIDUS_MERGE | NIDUS_CONCURRENT,
	.body_size = sizeof(struct bloom),
	.plan = bloom_plan,
	.check = bloom_check,
	.forecast = bloom_forecast,
	.create = bloom_make,
	.free = blooms_free,
	.clear = blooms_clear,
	.copy = blooms_copy,
	.ops = blooms_ops,
	.count = blooms_count,
	.fill = blooms_fill,
	.rate_now = bloom_rate_now,
	.verify = bloom_verify,
	.joint = bloom_joint,
	.transfer = blooms_transfer,
	.pace = 9,
	.speed = NIDUS_SPEED_SLOW,
	.table = blooms_table,
	.export_stash = blooms_export_stash,
	.import = bloom_import,
};

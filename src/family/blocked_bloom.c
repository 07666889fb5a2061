/* SPDX-License-Identifier: MIT
 *
 * blocked-bloom: one cache line per operation, and the least work of all.
 *
 * Paper: F. Putze, P. Sanders, J. Singler, "Cache-, Hash- and Space-Efficient
 * Bloom Filters" (WEA 2007). That a block is cut into sectors, one bit of the key
 * in each, is from H. Lang, T. Neumann, A. Kemper, P. Boncz, "Performance-Optimal
 * Filtering" (VLDB 2019).
 *
 *     table    [block 0][block 1] ... [block B-1]       64 bytes each
 *                   |
 *     block    [sector 0][sector 1] ... [sector k-1]    512/k bits each
 *                ..1...   .....1..       1.......       one bit each
 *
 * k is 4, 8 or 16, whichever needs the fewest blocks; bloom/blocked.h says which
 * bits they are.
 *
 * The rate: of n keys, j fall into a block, binomially; a bit of a sector of s
 * bits is then set with p(j) = 1 - (1 - 1/s)^j, and an absent key that falls
 * there is found with p(j)^k. The rate is the mean over all j. Crowded blocks
 * weigh most: that is why 12 bits per key give 0.42 % where a plain Bloom filter
 * has 0.31 %.
 *
 * Worked example: 10^8 keys at 1 %: k = 8 and 1,973,613 blocks, 10.10 bits per
 * key. 50.7 keys fall into a block on average: p(50.7)^8 = 0.0083, but the mean
 * over all blocks is 0.00997.
 */
#include "base/reason.h"
#include "bloom/blocked.h"
#include "family/blooms.h"
#include "family/registry.h"

#include <assert.h>
#include <math.h>

#define SPREADS 5
#define CROWD_MOST 512 /* keys per block on average: beyond it every answer is yes */

static const unsigned shapes[] = { 4, 8, 16 }; /* bits per key */

/* ------------------------------------------------------------------- sizing -- */

/* To the power of 4, 8 or 16. */
static double power(double base, unsigned exponent)
{
	for (unsigned i = 1; i < exponent; i *= 2)
		base *= base;
	return base;
}

/* What j keys make of a block; `next` goes on to j + 1. */
struct crowd {
	double sector;          /* bits in it */
	double missed, missed2; /* the chance that no key set a bit, or neither of two */
};

static struct crowd crowd_next(struct crowd crowd)
{
	crowd.missed *= 1 - 1 / crowd.sector;
	crowd.missed2 *= 1 - 2 / crowd.sector;
	return crowd;
}

/* The mean rate in such a block, and the mean of its square. */
static double crowd_rate(struct crowd crowd, unsigned probes, double *square)
{
	double one = 1 - crowd.missed, both = 1 - 2 * crowd.missed + crowd.missed2;
	*square = power(one / crowd.sector + (1 - 1 / crowd.sector) * both, probes);
	return power(one, probes);
}

static struct bloom_rate rate_of(uint64_t blocks, unsigned probes, uint64_t keys)
{
	double n = (double)keys, others = (double)blocks - 1, mean = n / (double)blocks;
	if (mean > CROWD_MOST)
		return (struct bloom_rate){ 1, 1 };
	struct crowd crowd = { (double)BLOCKED_BITS / probes, 1, 1 };
	double weight = 1, weights = 0, rates = 0, squares = 0;
	/* Binomial weights by their ratios; the common factor is divided out at the end. */
	for (double j = 0; j <= n; j++) {
		double square, rate = crowd_rate(crowd, probes, &square);
		if (others > 0 || j == n) {
			weights += weight;
			rates += weight * rate;
			squares += weight * square;
		}
		if (j > mean && weight < weights * 1e-30)
			break;
		if (others > 0)
			weight *= (n - j) / (j + 1) / others;
		crowd = crowd_next(crowd);
	}
	struct bloom_rate rate = { .mean = rates / weights };
	double variance = squares / weights - rate.mean * rate.mean;
	rate.mean += blooms_same_hash(keys);
	rate.most = rate.mean;
	if (variance > 0)
		rate.most += SPREADS * sqrt(variance / (double)blocks);
	return rate;
}

static nidus_status blocked_bloom_plan(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = blooms_check_options(options, "blocked-bloom");
	if (status != NIDUS_OK)
		return status;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		uint64_t blocks = blooms_size(rate_of, shapes[i], options->capacity, plan->fpr,
		                              options->capacity / CROWD_MOST + 1);
		if (blocks != 0 && (plan->groups == 0 || blocks < plan->groups)) {
			plan->groups = blocks;
			plan->core_bits = shapes[i];
		}
	}
	if (plan->groups == 0)
		return fail(NIDUS_E_RANGE,
		            "so many keys at so low a rate need more than a 64-bit hash");
	plan->chunks = 1;
	plan->capacity = plan->max_capacity = options->capacity;
	return NIDUS_OK;
}

static nidus_status blocked_bloom_check(const struct blueprint *plan)
{
	if (blocked_find(plan->core_bits) == NULL)
		return fail(NIDUS_E_RANGE,
		            "a key of a blocked Bloom filter sets 4, 8 or 16 bits, not %u",
		            plan->core_bits);
	return blooms_check(plan);
}

static struct forecast blocked_bloom_forecast(const struct blueprint *plan, uint64_t keys)
{
	return (struct forecast){
		.bytes = plan->groups * BLOCKED_BYTES,
		.total_slots = plan->groups * BLOCKED_BITS,
		.slot_bits = 1,
		.load = blooms_load(plan->groups * BLOCKED_BITS, plan->core_bits, keys),
		.fpr = rate_of(plan->groups, plan->core_bits, keys).mean,
		.lines = 1,
	};
}

static nidus_status blocked_bloom_joint(const struct blueprint *plan, uint64_t keys,
                                        struct blueprint *joint)
{
	return blooms_joint(plan, keys, rate_of, joint);
}

/* ----------------------------------------------------------------- adapters -- */

static nidus_status blocked_bloom_make(void *body, const struct blueprint *plan,
                                       const struct segment *segment,
                                       const nidus_allocator *allocator, unsigned char *table)
{
	assert(segment == NULL); /* Bloom filters do not grow */
	(void)segment;
	return bloom_create(body, plan, BLOCKED_BYTES, blocked_find(plan->core_bits),
	                    blocked_find_shared(plan->core_bits), allocator, table);
}

/* Of this very table: an absent key falls into any block, and anywhere in its sectors. */
static double blocked_bloom_rate_now(const void *body, double load)
{
	(void)load; /* crowded blocks weigh more */
	const struct bloom *bloom = body;
	double sector = (double)BLOCKED_BITS / bloom->probes, sum = 0;
	for (uint64_t block = 0; block < bloom->groups; block++) {
		unsigned set[BLOCKED_PROBES];
		double rate = 1;
		blocked_sectors(bloom, block, set);
		for (unsigned i = 0; i < bloom->probes; i++)
			rate *= set[i] / sector;
		sum += rate;
	}
	return sum / (double)bloom->groups;
}

static nidus_status blocked_bloom_verify(const void *body)
{
	nidus_status status = blocked_verify(body);
	return status == NIDUS_OK ? bloom_check_count(body) : status;
}

static nidus_status blocked_bloom_import(void *body, const unsigned char *stash, uint64_t stashed,
                                         uint64_t count)
{
	(void)stash;
	nidus_status status = blooms_take_count(body, stashed, count);
	return status == NIDUS_OK && !blooms_mapped(body) ? blocked_bloom_verify(body) : status;
}

const struct family family_blocked_bloom = {
	.id = NIDUS_BLOCKED_BLOOM,
	.name = "blocked-bloom",
	.fpr_least = BLOOMS_FPR_LEAST,
	.features = NIDUS_MERGE | NIDUS_CONCURRENT,
	.body_size = sizeof(struct bloom),
	.plan = blocked_bloom_plan,
	.check = blocked_bloom_check,
	.forecast = blocked_bloom_forecast,
	.create = blocked_bloom_make,
	.free = blooms_free,
	.clear = blooms_clear,
	.copy = blooms_copy,
	.ranges = &blocked_ranges,
	.ops = blooms_ops,
	.count = blooms_count,
	.fill = blooms_fill,
	.rate_now = blocked_bloom_rate_now,
	.verify = blocked_bloom_verify,
	.joint = blocked_bloom_joint,
	.transfer = blooms_transfer,
	.pace = 0,
	.speed = NIDUS_SPEED_FASTEST,
	.table = blooms_table,
	.export_stash = blooms_export_stash,
	.import = blocked_bloom_import,
};

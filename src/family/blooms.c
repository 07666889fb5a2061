/* SPDX-License-Identifier: MIT
 *
 * blooms: sizing by search, merging by "or", and the shared adapters.
 */
#include "family/blooms.h"

#include "base/reason.h"

#define GROUPS_MOST (UINT64_C(1) << 48)
#define RATE_MOST 0.5 /* a merge that would answer yes more often than not is refused */

/* exp(-x) from basic arithmetic, for sizes that are the same on every machine. */
static double exp_minus(double x)
{
	if (x > 700)
		return 0;
	double small = x / 1024, term = 1, sum = 1;
	for (int i = 1; i <= 8; i++) {
		term *= -small / i;
		sum += term;
	}
	for (int i = 0; i < 10; i++)
		sum *= sum;
	return sum;
}

double blooms_load(uint64_t bits, unsigned probes, uint64_t keys)
{
	double per_bit = (double)probes * (double)keys / (double)bits;
	/* (1 - 1/m)^(kn) is a little less than exp(-kn/m), and more than this. */
	return 1 - exp_minus(per_bit * (1 + 1 / (double)bits));
}

uint64_t blooms_size(bloom_rate_of rate_of, unsigned probes, uint64_t keys, double fpr,
                     uint64_t least)
{
	uint64_t low = least - 1, high = least; /* too small, and perhaps large enough */
	while (rate_of(high, probes, keys).most > fpr) {
		if (high > GROUPS_MOST)
			return 0;
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (rate_of(middle, probes, keys).most > fpr)
			low = middle;
		else
			high = middle;
	}
	return high | 1;
}

nidus_status blooms_check_options(const nidus_options *options, const char *family)
{
	if (options->slots != 0)
		return fail(NIDUS_E_RANGE, "the %s family has no slots: leave slots 0", family);
	if (options->max_steps != 0)
		return fail(NIDUS_E_RANGE, "the %s family does not search: leave max_steps 0",
		            family);
	if (family_must_reserve(options))
		return fail(NIDUS_E_UNSUPPORTED, "only the chunked family reserves slots");
	if (options->max_capacity > options->capacity)
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot grow: leave max_capacity 0",
		            family);
	return NIDUS_OK;
}

nidus_status blooms_check(const struct blueprint *plan)
{
	if (plan->slots != 0 || plan->growth_bits != 0 || plan->reserve != 0 ||
	    plan->max_steps != 0 || plan->stash_limit != 0 ||
	    plan->chunks != 1 || plan->max_capacity != plan->capacity)
		return fail(NIDUS_E_RANGE, "a Bloom filter has no slots, stash or growth");
	if (plan->groups < 1 || plan->groups > GROUPS_MOST)
		return fail(NIDUS_E_RANGE, "a table of so many bits is not possible");
	if (plan->groups % 2 == 0)
		return fail(NIDUS_E_RANGE,
		            "the table of a Bloom filter has an odd number of words or blocks");
	return NIDUS_OK;
}

nidus_status blooms_joint(const struct blueprint *plan, uint64_t keys, bloom_rate_of rate_of,
                          struct blueprint *joint)
{
	if (keys > BLOOM_COUNT_MOST)
		return fail(NIDUS_E_RANGE, "the counts add up to more than any filter has");
	*joint = *plan;
	if (joint->capacity < keys)
		joint->capacity = keys;
	joint->max_capacity = joint->capacity;
	double rate = rate_of(joint->groups, joint->core_bits, joint->capacity).most;
	if (rate > joint->fpr)
		joint->fpr = rate;
	if (joint->fpr > RATE_MOST)
		return fail(NIDUS_E_RANGE,
		            "%llu keys in a table of this size would make the rate %.2f; make "
		            "the filters with the capacity of all together",
		            (unsigned long long)keys, joint->fpr);
	return NIDUS_OK;
}

double blooms_same_hash(uint64_t keys)
{
	return (double)keys * 0x1p-64;
}

/* ----------------------------------------------------------------- adapters -- */

void blooms_free(void *body)
{
	bloom_free(body);
}

void blooms_clear(void *body)
{
	bloom_clear(body);
}

nidus_status blooms_copy(void *to, const void *from)
{
	struct bloom *bloom = to;
	const struct bloom *other = from;
	memcpy(bloom->table, other->table, other->memory.size);
	bloom->count = bloom_count(other);
	return NIDUS_OK;
}

const struct body_ops *blooms_ops(const void *body)
{
	return ((const struct bloom *)body)->ops;
}

bool blooms_mapped(const void *body)
{
	return ((const struct bloom *)body)->mapped;
}

uint64_t blooms_count(const void *body)
{
	return bloom_count(body);
}

struct fill blooms_fill(const void *body)
{
	const struct bloom *bloom = body;
	/* What is mapped is not read for a figure: the one to be expected will do. */
	double load = bloom->mapped ? blooms_load(bloom_bits(bloom), bloom->probes, bloom->count)
	                            : (double)bloom_bits_set(bloom) / (double)bloom_bits(bloom);
	return (struct fill){
		.count = bloom_count(bloom),
		.bytes = bloom_bytes(bloom),
		.load = load,
		.headroom = 1 - load,
	};
}

nidus_status blooms_transfer(void *to, const void *from)
{
	bloom_unite(to, from);
	return NIDUS_OK;
}

unsigned char *blooms_table(const void *body, uint64_t *size)
{
	const struct bloom *bloom = body;
	*size = bloom->memory.size;
	return bloom->table;
}

void blooms_export_stash(const void *body, unsigned char *bytes)
{
	(void)body, (void)bytes; /* there is none */
}

nidus_status blooms_take_count(void *body, uint64_t stashed, uint64_t count)
{
	struct bloom *bloom = body;
	if (stashed > 0)
		return fail(NIDUS_E_CORRUPT, "a Bloom filter has no stash");
	if (count > BLOOM_COUNT_MOST)
		return fail(NIDUS_E_CORRUPT, "%llu inserts are not possible",
		            (unsigned long long)count);
	bloom->count = count;
	return NIDUS_OK;
}

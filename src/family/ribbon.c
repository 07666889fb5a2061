/* SPDX-License-Identifier: MIT
 *
 * ribbon: built once from all its keys, then only read; the smallest of all.
 *
 * Papers: P. C. Dillinger, S. Walzer, "Ribbon filter: practically smaller than Bloom and Xor"
 * (2021); P. C. Dillinger, L. Hübschle-Schneider, P. Sanders, S. Walzer, "Fast Succinct
 * Retrieval and Approximate Membership Using Ribbon" (SEA 2022).
 *
 * The drawing is in ribbon/ribbon.h. A table of k columns finds an absent key with odds of
 * 2^-k, whatever is in it, and takes little more than k bits per key. Odds between two powers of
 * two: a share f of the blocks has k + 1 columns, the others k, and the rate is
 *
 *     f * 2^-(k+1) + (1 - f) * 2^-k
 *
 * which takes at most 0.086 bits more than log2(1/rate). With a verdict (keys that must not
 * match, nidus_build_exclude) half of what passes is turned away, too.
 *
 * In a blueprint core_bits is k, reserve is f in 2^-16, judged is the number of keys in the
 * verdict, chunks the number of shards of the first layer, and everything that has to do
 * with slots, growth or moves is 0. All sizes follow from capacity, columns, f and judged.
 *
 * Worked example: 10^6 keys at 2^-8: windows for 975,040 keys, in 15 shards of 15,250 blocks
 * altogether; a second layer for 27,777 keys, a third for 771: 1.0054 * 8 bits per key.
 */
#include "base/reason.h"
#include "family/family.h"
#include "family/registry.h"
#include "ribbon/build.h"

#define SHARES (UINT64_C(1) << RIBBON_SHARE_LOG)
#define RATE_MOST 0.5
#define CAPACITY_MOST (UINT64_C(2) * FAMILY_CAPACITY_MOST) /* of the verdict */

/* -------------------------------------------------------------------------- sizing -- */

/* 2^-bits, exactly. */
static double power_of_half(unsigned bits)
{
	return 1 / (double)(UINT64_C(1) << bits);
}

/* The rate of a layer: of its windows, some have a bit more. */
static double layer_rate(const struct ribbon_layer *layer, unsigned bits)
{
	double longer = (double)ribbon_windows_before(layer) / (double)layer->windows;
	return power_of_half(bits) * (1 - longer / 2);
}

/* The largest rate of any layer: little differs. */
static double rate_of(const struct ribbon_matrix *keys, const struct blueprint *plan)
{
	double rate = 0;
	for (unsigned i = 0; i < keys->layers; i++) {
		double here = layer_rate(&keys->layer[i], plan->core_bits);
		rate = here > rate ? here : rate;
	}
	return plan->judged > 0 ? rate / 2 : rate;
}

static nidus_status check_options(const nidus_options *options)
{
	if (options->slots != 0)
		return fail(NIDUS_E_RANGE, "the ribbon family has no slots: leave slots 0");
	if (options->max_steps != 0)
		return fail(NIDUS_E_RANGE, "the ribbon family does not search: leave max_steps 0");
	if (family_must_reserve(options))
		return fail(NIDUS_E_UNSUPPORTED, "only the chunked family reserves slots");
	if (options->max_capacity > options->capacity)
		return fail(NIDUS_E_UNSUPPORTED,
		            "the ribbon family cannot grow: leave max_capacity 0");
	return NIDUS_OK;
}

/* Whole bits, and the share of windows with one more, for a rate of 2^-32 to 1/2. */
static void choose_bits(struct blueprint *plan, double rate)
{
	plan->core_bits = 1;
	while (plan->core_bits < RIBBON_PRINT_MOST && power_of_half(plan->core_bits + 1) >= rate)
		plan->core_bits++;
	/* rate = 2^-k (1 - f/2) */
	double f = 2 * (1 - rate * (double)(UINT64_C(1) << plan->core_bits));
	uint64_t share = f > 0 ? (uint64_t)(f * (double)SHARES) + 1 : 0;
	if (share < SHARES) {
		plan->reserve = (uint16_t)share;
		return;
	}
	plan->core_bits++;
	plan->reserve = 0;
}

static void set_shards(struct blueprint *plan)
{
	struct ribbon_matrix keys, verdict;
	ribbon_plan(plan, &keys, &verdict);
	plan->chunks = ribbon_shards(&keys.layer[0]);
}

static nidus_status ribbon_family_plan(const nidus_options *options, struct blueprint *plan)
{
	nidus_status status = check_options(options);
	if (status != NIDUS_OK)
		return status;
	plan->features |= NIDUS_STATIC;
	plan->capacity = plan->max_capacity = options->capacity;
	plan->judged = 0;
	/* Keys with the same hash are one key to a filter: they must not matter. */
	if ((double)options->capacity * 0x1p-64 > plan->fpr / 8)
		return fail(NIDUS_E_RANGE,
		            "so many keys at so low a rate need more than a 64-bit hash");
	choose_bits(plan, plan->fpr);
	set_shards(plan);
	return NIDUS_OK;
}

static nidus_status ribbon_family_check(const struct blueprint *plan)
{
	if (plan->slots != 0 || plan->growth_bits != 0 || plan->groups != 0 ||
	    plan->max_steps != 0 || plan->stash_limit != 0 ||
	    plan->max_capacity != plan->capacity || !(plan->features & NIDUS_STATIC))
		return fail(NIDUS_E_RANGE, "a ribbon filter has no slots, stash limit or growth");
	if (plan->core_bits < 1 || plan->core_bits > RIBBON_PRINT_MOST ||
	    (plan->core_bits == RIBBON_PRINT_MOST && plan->reserve > 0))
		return fail(NIDUS_E_RANGE, "a ribbon filter has fingerprints of 1 to %d bits",
		            RIBBON_PRINT_MOST);
	if (plan->value_bits > VALUE_BITS_MOST || (plan->judged > 0 && plan->value_bits > 0))
		return fail(NIDUS_E_RANGE, "a ribbon filter cannot have such values");
	if (plan->capacity < 1 || plan->capacity > FAMILY_CAPACITY_MOST ||
	    plan->judged > CAPACITY_MOST)
		return fail(NIDUS_E_RANGE, "a ribbon filter of so many keys is not possible");
	struct blueprint again = *plan;
	set_shards(&again);
	return again.chunks == plan->chunks
	               ? NIDUS_OK
	               : fail(NIDUS_E_RANGE, "the number of shards does not follow from the keys");
}

static struct forecast ribbon_family_forecast(const struct blueprint *plan, uint64_t keys)
{
	struct ribbon_matrix first, verdict;
	ribbon_plan(plan, &first, &verdict);
	uint64_t rows = ribbon_rows(&first);
	return (struct forecast){
		.bytes = ribbon_bytes(&first, &verdict),
		.total_slots = rows,
		.slot_bits = first.columns,
		.load = (double)keys / (double)rows,
		.fpr = rate_of(&first, plan),
		.lines = 2, /* neighbours; the marks stay in the cache */
	};
}

/* ------------------------------------------------------------------------- adapters -- */

static nidus_status ribbon_family_create(void *body, const struct blueprint *plan,
                                         const struct segment *segment,
                                         const nidus_allocator *allocator, unsigned char *table)
{
	(void)segment; /* only filters that grow have several */
	return ribbon_create(body, plan, allocator, table);
}

static void ribbon_family_free(void *body)
{
	ribbon_free(body);
}

static void ribbon_family_clear(void *body)
{
	ribbon_clear(body);
}

static nidus_status ribbon_family_copy(void *to, const void *from)
{
	return ribbon_copy(to, from);
}

static nidus_status ribbon_family_build(void *body, const uint64_t *hashes, const uint64_t *values,
                                        size_t n, unsigned threads)
{
	return ribbon_build(body, hashes, values, n, threads);
}

static nidus_status ribbon_family_judge(void *body, const void *first, const uint64_t *in, size_t n,
                                        const uint64_t *out, size_t m, unsigned threads)
{
	return ribbon_judge(body, first, in, n, out, m, threads);
}

static const struct body_ops *ribbon_family_ops(const void *body)
{
	return &((const struct ribbon *)body)->ops->body;
}

static uint64_t ribbon_family_count(const void *body)
{
	return ((const struct ribbon *)body)->count;
}

static struct fill ribbon_family_fill(const void *body)
{
	const struct ribbon *ribbon = body;
	return (struct fill){
		.count = ribbon->count,
		.stashed = ribbon->listed,
		.listed = ribbon->listed,
		.bytes = ribbon->memory.size + ribbon->listed * RIBBON_LIST_ENTRY,
		.load = (double)ribbon->count / (double)ribbon_rows(&ribbon->keys),
	};
}

static nidus_status ribbon_family_verify(const void *body)
{
	return ribbon_verify(body);
}

static unsigned char *ribbon_family_table(const void *body, uint64_t *size)
{
	const struct ribbon *ribbon = body;
	*size = ribbon->memory.size;
	return ribbon->memory.bytes;
}

static void ribbon_family_export(const void *body, unsigned char *bytes)
{
	ribbon_export(body, bytes);
}

static nidus_status ribbon_family_import(void *body, const unsigned char *stash, uint64_t stashed,
                                         uint64_t count)
{
	return ribbon_import(body, stash, stashed, count);
}

const struct family family_ribbon = {
	.id = NIDUS_RIBBON,
	.name = "ribbon",
	.features = NIDUS_STATIC,
	.pace = 8,
	.speed = NIDUS_SPEED_SLOW,
	.fpr_most = RATE_MOST,
	.body_size = sizeof(struct ribbon),
	.stash_entry = RIBBON_LIST_ENTRY,
	.plan = ribbon_family_plan,
	.check = ribbon_family_check,
	.forecast = ribbon_family_forecast,
	.create = ribbon_family_create,
	.free = ribbon_family_free,
	.clear = ribbon_family_clear,
	.copy = ribbon_family_copy,
	.build = ribbon_family_build,
	.ranges = &ribbon_ranges,
	.judge = ribbon_family_judge,
	.ops = ribbon_family_ops,
	.count = ribbon_family_count,
	.fill = ribbon_family_fill,
	.verify = ribbon_family_verify,
	.table = ribbon_family_table,
	.export_stash = ribbon_family_export,
	.import = ribbon_family_import,
};

/* SPDX-License-Identifier: MIT
 *
 * offset: how many chunks, how many slots, how many bits.
 *
 * A chunk is sized for the keys of the fullest one (nest/chunking.h), at a
 * load that stays under the layout's threshold T (the paper's Table 2):
 *
 *     slots = keys / load + slack * keys^(1/4)
 *
 * `load` is where the search still succeeds but for odds that the stash covers;
 * `slack` pays for small tables, whose fate varies more. Both are measured:
 * `./dev soak capacity` prints how often the stash was needed and how far.
 *
 * Chunks have about CHUNK_SLOTS slots: fewer and larger ones waste less on
 * unevenness, but those of 2^18 slots stay in a core's second-level cache while
 * they are filled, and the waste is about one per cent. Compact filters are made to be
 * small: their chunks are larger, and waste half as much.
 */
#include "family/offset.h"

#include "base/reason.h"
#include "nest/chunking.h"
#include "nest/search.h"

#include <assert.h>
#include <math.h>

#define CHUNK_SLOTS (UINT64_C(1) << 18)
#define COMPACT_CHUNK_SLOTS (UINT64_C(1) << 20)
#define STASH_LEAST 48
#define STASH_SHARE 65536 /* one more for so many slots of a chunk */

/*
 * Below this many fingerprint values there are too few different offsets for
 * the table to behave like a random one.
 */
#define THIN_VALUES 64

static double layout_load(const struct offset_layout *layout, unsigned core_bits)
{
	return bits_low(core_bits) < THIN_VALUES ? layout->load_thin : layout->load;
}

/* Slots for a chunk of so many keys. */
static double slots_for(const struct offset_layout *layout, unsigned core_bits, double keys)
{
	/* Square roots are the same on every machine; other roots are not. */
	return keys / layout_load(layout, core_bits) + layout->slack * sqrt(sqrt(keys));
}

/* Slots that a chunk has, about. */
static uint64_t chunk_slots_for(const struct blueprint *plan)
{
	return nest_coded(nesting_kind(plan)) ? COMPACT_CHUNK_SLOTS : CHUNK_SLOTS;
}

/*
 * Sets chunks and groups for `keys` keys with at least `least` slots in all that a group
 * can begin at or, of buckets, that are in one: what the rate depends on.
 */
static void lay_out(struct blueprint *plan, const struct offset_layout *layout, uint64_t keys,
                    double least)
{
	enum nest_kind kind = nesting_kind(plan);
	unsigned last = kind == NEST_WINDOWS ? plan->slots - 1 : 0; /* no window begins there */
	double rough = slots_for(layout, plan->core_bits, (double)keys);
	plan->chunks = (uint64_t)(rough / (double)chunk_slots_for(plan) + 0.5);
	if (plan->chunks < 1)
		plan->chunks = 1;
	double slots = slots_for(layout, plan->core_bits, chunking_fullest(keys, plan->chunks));
	if ((slots - last) * (double)plan->chunks < least)
		slots = least / (double)plan->chunks + last;
	uint64_t whole = (uint64_t)ceil(slots);
	if (kind == NEST_WINDOWS)
		plan->groups = whole > plan->slots ? whole - plan->slots + 1 : 2;
	else
		plan->groups = divide_up(whole, plan->slots);
	if (plan->groups < 2)
		plan->groups = 2;
}

/*
 * Takes the number of core bits that makes the smallest table: one bit less
 * may need a thinner table to keep the rate, which is sometimes cheaper.
 * Errors: E_RANGE (none can be laid out).
 */
static nidus_status choose(struct blueprint *plan, const struct offset_layout *layout,
                           uint64_t keys)
{
	enum nest_kind kind = nesting_kind(plan);
	struct blueprint best = *plan;
	uint64_t least_bytes = UINT64_MAX;
	assert(keys > 0 && plan->fpr > 0 && plan->fpr < 1);
	nidus_status status = NIDUS_OK;
	unsigned enough = nesting_core_bits(plan->fpr, layout->compared, 1);
	for (unsigned bits = enough - 1; bits <= enough; bits++) {
		plan->core_bits = bits;
		double most_load = plan->fpr / nesting_fpr(bits, layout->compared, 1);
		lay_out(plan, layout, keys, (double)keys / most_load);
		status = nest_check(plan, kind);
		if (status == NIDUS_OK && nest_table_bytes(plan, kind) < least_bytes) {
			least_bytes = nest_table_bytes(plan, kind);
			best = *plan;
		}
	}
	*plan = best;
	return least_bytes == UINT64_MAX ? status : NIDUS_OK;
}

const struct offset_layout *offset_find(const struct offset_layout *layouts, size_t n,
                                        unsigned slots)
{
	for (size_t i = 0; i < n; i++) {
		if (layouts[i].slots == slots)
			return &layouts[i];
	}
	return NULL;
}

static const struct offset_layout *layout_of(const struct blueprint *plan)
{
	return nesting_kind(plan) == NEST_WINDOWS ? windowed_layout(plan->slots)
	                                      : bucketed_layout(plan->slots);
}

/* ------------------------------------------------------------------- sizing -- */

/*
 * Whether a chunk of so many slots, `homes` of which the rate depends on, takes its share of the
 * keys, at the plan's rate.
 */
static bool chunk_fits(const struct blueprint *plan, uint64_t chunk_slots, uint64_t homes,
                       uint64_t keys)
{
	const struct offset_layout *layout = layout_of(plan);
	double fullest = chunking_fullest(keys, plan->chunks);
	if (slots_for(layout, plan->core_bits, fullest) > (double)chunk_slots)
		return false;
	double load = (double)keys / ((double)plan->chunks * (double)homes);
	return nesting_fpr(plan->core_bits, layout->compared, load) <= plan->fpr;
}

static bool buckets_fit(const struct blueprint *plan, uint64_t keys)
{
	uint64_t chunk_slots = plan->groups * plan->slots;
	return chunk_fits(plan, chunk_slots, chunk_slots, keys);
}

static bool windows_fit(const struct blueprint *plan, uint64_t keys)
{
	return chunk_fits(plan, plan->groups + plan->slots - 1, plan->groups, keys);
}

static uint64_t stash(uint64_t chunk_slots)
{
	return STASH_LEAST + chunk_slots / STASH_SHARE;
}

static const struct nesting_sizing bucket_sizing = { .fits = buckets_fit,
	                                             .stash = stash,
	                                             .any_size = true };
static const struct nesting_sizing window_sizing = {
	.fits = windows_fit, .stash = stash, .overlap = true, .any_size = true
};

static const struct nesting_sizing *sizing_of(const struct blueprint *plan)
{
	return nesting_kind(plan) == NEST_WINDOWS ? &window_sizing : &bucket_sizing;
}

struct forecast offset_forecast(const struct blueprint *plan, uint64_t keys)
{
	return nesting_forecast_for(plan, keys, layout_of(plan)->compared);
}

nidus_status offset_plan(const nidus_options *options, struct blueprint *plan,
                         const struct offset_layout *layout)
{
	nidus_status status = nesting_check_options(options, false);
	if (status != NIDUS_OK)
		return status;
	plan->slots = layout->slots;
	plan->max_steps = layout->steps;
	status = choose(plan, layout, options->capacity);
	if (status != NIDUS_OK)
		return status;
	plan->capacity = options->capacity;
	nesting_complete(options, plan, sizing_of(plan), layout->steps);
	return NIDUS_OK;
}

nidus_status offset_plan_segment(const nidus_options *options, struct blueprint *plan,
                                 const struct offset_layout *layout)
{
	nidus_status status = nesting_check_options(options, false);
	if (status != NIDUS_OK)
		return status;
	plan->slots = layout->slots;
	plan->core_bits = nesting_core_bits(plan->fpr, layout->compared, NESTING_SEGMENT_LOAD);
	nesting_lay_out_segment(options, plan, sizing_of(plan), layout->steps);
	return NIDUS_OK;
}

uint64_t offset_segment_keys(const struct blueprint *plan)
{
	return nesting_segment_keys(plan, sizing_of(plan));
}

void offset_fit_segment(struct blueprint *plan, uint64_t keys)
{
	struct blueprint body = *plan;
	body.chunks = 1;
	uint64_t had = offset_segment_keys(&body);
	body.groups = (uint64_t)ceil((double)body.groups * (double)keys / (double)had) + 1;
	while (offset_segment_keys(&body) < keys)
		body.groups++;
	plan->groups = family_divisible(plan, body.groups);
}

bool offset_pack(struct blueprint *plan, uint64_t groups, uint64_t keys)
{
	uint64_t in_chunk =
		chunk_slots_for(plan) / (nesting_kind(plan) == NEST_WINDOWS ? 1 : plan->slots);
	plan->chunks = 1;
	plan->groups = groups;
	/* Half as large again is the most that lay_out() makes a chunk, but for odd numbers. */
	while (plan->groups / 3 > in_chunk / 2 && plan->groups % 2 == 0) {
		plan->chunks *= 2;
		plan->groups /= 2;
	}
	return nesting_pack(plan, sizing_of(plan), keys);
}

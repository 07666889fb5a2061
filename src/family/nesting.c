/* SPDX-License-Identifier: MIT
 *
 * nesting: adapters from a family's body to its nest, and shared arithmetic.
 */
#include "family/nesting.h"

#include "base/atomic.h"
#include "base/reason.h"
#include "nest/build.h"

#include <assert.h>

enum nest_kind nesting_kind(const struct blueprint *plan)
{
	const struct family *family = family_find(plan->family);
	assert(family != NULL && family->searches);
	return (enum nest_kind)(family->compact && plan->features & NIDUS_COMPACT
	                                ? family->compact_kind
	                                : family->kind);
}

nidus_status nesting_create(void *body, const struct blueprint *plan, const struct segment *segment,
                            const nidus_allocator *allocator, unsigned char *table)
{
	return nest_create(body, plan, nesting_kind(plan), segment, allocator, table);
}

nidus_status nesting_lay_out(const struct blueprint *plan, const struct segment *segment,
                             const void *model, const nidus_allocator *allocator, void **layout)
{
	struct nest_layout *made;
	nidus_status status =
		nest_lay_out(plan, nesting_kind(plan), segment, model, allocator, &made);
	*layout = made;
	return status;
}

void nesting_free_layout(void *layout)
{
	nest_free_layout(layout);
}

uint64_t nesting_segment_room(const struct blueprint *plan)
{
	return nest_segment_room(plan, nesting_kind(plan));
}

void nesting_moved(void *body, unsigned char *room)
{
	nest_moved(body, room);
}

unsigned nesting_copies(const struct blueprint *plan)
{
	return plan->stash_limit > 0 ? OVERFLOW_COPIES_MOST : 2 * plan->slots;
}

void nesting_free(void *body)
{
	nest_free(body);
}

void nesting_clear(void *body)
{
	nest_clear(body);
}

nidus_status nesting_copy(void *to, const void *from)
{
	return nest_copy(to, from);
}

nidus_status nesting_build(void *body, const uint64_t *hashes, const uint64_t *values, size_t n,
                           unsigned threads)
{
	return nest_build(body, hashes, values, n, threads);
}

const struct body_ops *nesting_ops(const void *body)
{
	return nest_ops(body);
}

uint64_t nesting_count(const void *body)
{
	return nest_count(body);
}

uint64_t nesting_surplus(const void *body)
{
	return counter_read(&((const struct nest *)body)->surplus);
}

void nesting_promise(void *body, uint64_t capacity)
{
	((struct nest *)body)->capacity = capacity;
}

struct fill nesting_fill(const void *body)
{
	const struct nest *nest = body;
	uint64_t slots = nest->layout->chunks * nest_chunk_slots(nest->layout);
	struct fill fill = {
		.count = nest_count(nest),
		.stashed = nest->stashed + nest->surplus,
		.listed = nest->stashed,
		.bytes = nest_bytes(nest),
		.headroom = nest_headroom(nest),
	};
	fill.load = (double)(fill.count - fill.stashed) / (double)slots;
	return fill;
}

nidus_status nesting_verify(const void *body)
{
	return nest_verify(body);
}

bool nesting_next(const void *body, nidus_cursor *cursor, nidus_entry *entry)
{
	return nest_next(body, cursor, entry);
}

bool nesting_next_wanted(const void *body, const uint8_t *wanted, nidus_cursor *cursor,
                         nidus_entry *entry)
{
	return nest_next_wanted(body, wanted, cursor, entry);
}

nidus_status nesting_entry_hash(const void *body, const nidus_entry *entry, uint64_t *hash)
{
	return nest_entry_hash(body, entry, hash);
}

unsigned char *nesting_table(const void *body, uint64_t *size)
{
	const struct nest *nest = body;
	*size = nest_slots_bytes(nest->layout);
	return nest->bits;
}

void nesting_export_stash(const void *body, unsigned char *bytes)
{
	nest_export_stash(body, bytes);
}

nidus_status nesting_import(void *body, const unsigned char *stash, uint64_t stashed,
                            uint64_t count)
{
	return nest_import(body, stash, stashed, count);
}

nidus_status nesting_transfer(void *to, const void *from)
{
	return nest_transfer(to, from);
}

nidus_entry nesting_identity(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	struct nest_key key = nest_locate(nest, nest->layout->kind, hash);
	return nest_entry(nest, key.chunk, nest_identity(nest, nest->layout->kind, &key));
}

uint64_t nesting_body_hash(const void *body, const nidus_entry *entry, uint64_t part)
{
	return nest_part_hash(body, entry, part);
}

struct lender nesting_lender(const void *body)
{
	return nest_lender(body);
}

uint64_t nesting_borrow(const void *body, uint64_t hash)
{
	return nest_borrowed_bits(body, hash);
}

_Static_assert(sizeof(struct nest_sketch) <= FAMILY_SKETCH, "a sketch has room");

const void *nesting_sketch(void *room, const struct blueprint *plan, const struct segment *segment,
                           uint64_t partner_key)
{
	nest_sketch(room, plan, nesting_kind(plan), segment, partner_key);
	return room;
}

nidus_status nesting_prepare(void *model)
{
	return nest_prepare(model);
}

nidus_status nesting_spread(const void *from, const struct spread *spread)
{
	return nest_spread(from, spread);
}

unsigned nesting_tag_at(const struct blueprint *plan)
{
	return plan->core_bits;
}

nidus_status nesting_check_options(const nidus_options *options, bool reserves)
{
	if (family_must_reserve(options) && !reserves)
		return fail(NIDUS_E_UNSUPPORTED, "only the chunked family reserves slots");
	return NIDUS_OK;
}

/* The highest stash limit that a chunk may have: more cannot help, and lookups would ask long stashes. */
#define STASH_SURELY 1024
#define STASH_SLOTS 4 /* one more for so many slots of a chunk */

static uint32_t stash_most(const struct blueprint *plan)
{
	uint64_t most = STASH_SURELY + plan->groups * plan->slots / STASH_SLOTS;
	return most < NIDUS_STASH_OFF ? (uint32_t)most : NIDUS_STASH_OFF - 1;
}

static uint32_t stash_within(const struct blueprint *plan, uint32_t limit)
{
	uint32_t most = stash_most(plan);
	return limit < most ? limit : most;
}

nidus_status nesting_check_segment(const struct blueprint *plan, const struct segment *segment)
{
	(void)segment;
	nidus_status status = nest_check(plan, nesting_kind(plan));
	if (status == NIDUS_OK && plan->stash_limit > stash_most(plan))
		return fail(NIDUS_E_RANGE, "a chunk of this size has no stash of %u entries",
		            plan->stash_limit);
	return status;
}

nidus_status nesting_check(const struct blueprint *plan)
{
	if (plan->growth_bits != 0)
		return fail(NIDUS_E_RANGE, "a filter of fixed size has no growth bits");
	return nesting_check_segment(plan, NULL);
}

/* The best stash limit of a plan. */
static uint32_t best_stash(const struct blueprint *plan, const struct nesting_sizing *sizing)
{
	uint64_t best = sizing->stash(plan->groups * plan->slots);
	return stash_within(plan, best < UINT32_MAX ? (uint32_t)best : UINT32_MAX);
}

/* The most keys that fit; `keys` do. */
static uint64_t most_keys(const struct blueprint *plan, const struct nesting_sizing *sizing,
                          uint64_t keys)
{
	uint64_t step = keys > 1 ? keys : 1;
	while (step < FAMILY_CAPACITY_MOST && sizing->fits(plan, keys + step))
		step *= 2;
	for (; step > 0; step /= 2) {
		if (sizing->fits(plan, keys + step))
			keys += step;
	}
	return keys;
}

void nesting_complete(const nidus_options *options, struct blueprint *plan,
                      const struct nesting_sizing *sizing, uint32_t steps)
{
	plan->max_steps = options->max_steps != 0 ? options->max_steps : steps;
	plan->stash_limit =
		options->stash != 0 ? stash_within(plan, options->stash) : best_stash(plan, sizing);
	if (options->stash == NIDUS_STASH_OFF)
		plan->stash_limit = 0;
	plan->max_capacity = plan->capacity;
}

void nesting_lay_out_segment(const nidus_options *options, struct blueprint *plan,
                             const struct nesting_sizing *sizing, uint32_t steps)
{
	/* Where tables can have any size, large ones take fewer records. */
	unsigned slots = (sizing->any_size ? 2 : 1) * family_segment_slots;
	plan->chunks = 1;
	plan->groups = sizing->overlap ? slots - plan->slots + 1 : slots / plan->slots;
	nesting_complete(options, plan, sizing, steps);
}

bool nesting_pack(struct blueprint *plan, const struct nesting_sizing *sizing, uint64_t keys)
{
	if (plan->groups < 2 || !sizing->fits(plan, keys))
		return false;
	plan->capacity = plan->max_capacity = most_keys(plan, sizing, keys);
	plan->stash_limit = best_stash(plan, sizing);
	return true;
}

uint64_t nesting_segment_keys(const struct blueprint *plan, const struct nesting_sizing *sizing)
{
	return most_keys(plan, sizing, 1);
}

double nesting_fpr(unsigned core_bits, double compared, double load)
{
	return compared * load / (double)bits_low(core_bits);
}

double nesting_rate(const struct blueprint *plan, double compared, double load)
{
	double rate = nesting_fpr(plan->core_bits, compared, load);
	for (unsigned bit = 0; bit < plan->growth_bits; bit++)
		rate /= 2;
	return rate;
}

unsigned nesting_core_bits(double fpr, double compared, double load)
{
	unsigned bits = 2;
	while (nesting_fpr(bits, compared, load) > fpr)
		bits++;
	return bits;
}

uint64_t nesting_keys_at_rate(const struct blueprint *plan, uint64_t slots, uint64_t fits)
{
	double load = plan->fpr / nesting_fpr(plan->core_bits, 2.0 * plan->slots, 1.0);
	double keys = load * (double)slots;
	return keys < (double)fits ? (uint64_t)keys : fits;
}

struct forecast nesting_forecast_for(const struct blueprint *plan, uint64_t keys, double compared)
{
	enum nest_kind kind = nesting_kind(plan);
	unsigned width = nest_slot_width(plan, kind);
	struct forecast forecast = {
		.bytes = nest_table_bytes(plan, kind),
		.total_slots = nest_total_slots(plan, kind),
		.slot_bits = nest_coded(kind) ? width - 1 : width,
	};
	forecast.load = (double)keys / (double)forecast.total_slots;
	/* Windows overlap: in the last slots of a chunk none begins. */
	double homes = kind == NEST_WINDOWS ? (double)plan->chunks * (double)plan->groups
	                                    : (double)forecast.total_slots;
	forecast.fpr = nesting_rate(plan, compared, (double)keys / homes);
	/* Two groups, and the odds that one lies across the border of two lines. */
	uint64_t line = 8 * MEMORY_LINE, bits = (uint64_t)plan->slots * forecast.slot_bits;
	bool aligned = kind != NEST_WINDOWS && line % bits == 0;
	forecast.lines = 2 + (aligned ? 0 : 2 * (double)(bits - 1) / (double)line);
	return forecast;
}

struct forecast nesting_forecast(const struct blueprint *plan, uint64_t keys)
{
	return nesting_forecast_for(plan, keys, 2.0 * plan->slots);
}

nidus_status nesting_insert_copies(void *body, uint64_t hash, uint64_t value, uint64_t copies)
{
	struct nest *nest = body;
	struct nest_key key = nest_locate(nest, nest->layout->kind, hash);
	key.value = nest_with_payload(nest, key.value, value);
	return nest_insert_copies(nest, &key, &copies);
}

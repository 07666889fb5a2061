/* SPDX-License-Identifier: MIT
 *
 * nesting: adapters from a family's body to its nest, and shared arithmetic.
 */
#include "family/nesting.h"

#include "base/reason.h"

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

const struct body_ops *nesting_ops(const void *body)
{
	return nest_ops(body);
}

uint64_t nesting_count(const void *body)
{
	return nest_count(body);
}

struct fill nesting_fill(const void *body)
{
	const struct nest *nest = body;
	uint64_t slots = nest->chunks * nest_chunk_slots(nest);
	struct fill fill = {
		.count = nest_count(nest),
		.stashed = nest->stashed,
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

nidus_status nesting_insert_entry(void *body, const nidus_entry *entry)
{
	return nest_insert_entry(body, entry);
}

unsigned char *nesting_table(const void *body, uint64_t *size)
{
	const struct nest *nest = body;
	*size = nest->bits_memory.size;
	return nest->bits;
}

void nesting_export_stash(const void *body, unsigned char *bytes)
{
	nest_export_stash(body, bytes);
}

nidus_status nesting_import(void *body, const unsigned char *stash, uint64_t stashed)
{
	return nest_import(body, stash, stashed);
}

nidus_status nesting_check_options(const nidus_options *options)
{
	if (options->max_capacity > options->capacity)
		return fail(
			NIDUS_E_UNSUPPORTED,
			"this family cannot grow yet: leave max_capacity 0, or take breadcrumb");
	if (options->reserve != 0 && options->family != NIDUS_CHUNKED)
		return fail(NIDUS_E_UNSUPPORTED, "only the chunked family reserves slots");
	return NIDUS_OK;
}

uint32_t nesting_stash_limit(const nidus_options *options, uint64_t best)
{
	if (options->stash == NIDUS_STASH_OFF)
		return 0;
	if (options->stash != 0)
		return options->stash;
	return best < UINT32_MAX ? (uint32_t)best : UINT32_MAX;
}

double nesting_fpr(unsigned core_bits, double compared, double load)
{
	return compared * load / (double)bits_low(core_bits);
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

struct forecast nesting_forecast(const struct blueprint *plan, uint64_t keys, enum nest_kind kind)
{
	struct forecast forecast = {
		.bytes = nest_table_bytes(plan, kind),
		.total_slots = nest_total_slots(plan, kind),
		.slot_bits = nest_slot_width(plan, kind),
	};
	double load = (double)keys / (double)forecast.total_slots;
	forecast.fpr = nesting_fpr(plan->core_bits + plan->growth_bits - plan->level,
	                           2.0 * plan->slots, load < 1 ? load : 1);
	/* Two buckets, and the odds that one lies across the border of two lines. */
	uint64_t step = nest_group_bits(kind, plan->slots, forecast.slot_bits),
		 line = 8 * MEMORY_LINE;
	forecast.lines = 2 + (line % step == 0 ? 0 : 2 * (double)(step - 1) / (double)line);
	forecast.slot_bits = (unsigned)(step / plan->slots); /* coded ones are shorter */
	return forecast;
}

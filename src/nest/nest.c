/* SPDX-License-Identifier: MIT
 *
 * nest: layout, life, and the parts of the operations that are not hot.
 */
#include "nest/nest.h"

#include <assert.h>

#include "base/probe.h"
#include "base/reason.h"
#include "nest/change.h"
#include "nest/instances.h"

/* Hops are written down if that takes at most this share of the slots. */
#define HOP_SHARE 128

#define SLOT_INDEX_MAX (UINT64_C(1) << 46) /* a search packs it with place and parent */

/* ------------------------------------------------------------------ layout -- */

unsigned nest_slot_width(const struct blueprint *plan, enum nest_kind kind)
{
	return plan->core_bits + nest_extra_bits(kind, plan->slots) + plan->growth_bits +
	       plan->value_bits;
}

static uint64_t slots_per_chunk(const struct blueprint *plan, enum nest_kind kind)
{
	return kind == NEST_WINDOWS ? plan->groups + plan->slots - 1 : plan->groups * plan->slots;
}

uint64_t nest_total_slots(const struct blueprint *plan, enum nest_kind kind)
{
	return plan->chunks * slots_per_chunk(plan, kind);
}

/* Bytes from chunk to chunk: no two chunks share a line, so threads may fill them. */
static uint64_t chunk_stride(const struct blueprint *plan, enum nest_kind kind)
{
	unsigned width = nest_slot_width(plan, kind);
	uint64_t bits = slots_per_chunk(plan, kind) * width;
	if (nest_coded(kind))
		bits = plan->groups * CODED_BITS(width);
	uint64_t bytes = divide_up(bits, 8) + SLOTS_PADDING;
	return plan->chunks == 1 ? bytes : divide_up(bytes, MEMORY_LINE) * MEMORY_LINE;
}

uint64_t nest_table_bytes(const struct blueprint *plan, enum nest_kind kind)
{
	return plan->chunks * chunk_stride(plan, kind);
}

static nidus_status check_fields(const struct blueprint *plan, enum nest_kind kind)
{
	bool eight = kind == NEST_XOR || kind == NEST_DIRECT;
	if (plan->slots != 4 && (plan->slots != 2 || nest_coded(kind)) &&
	    (plan->slots != 8 || !eight))
		return fail(NIDUS_E_RANGE, "%u slots per bucket or window are not possible here",
		            plan->slots);
	if (plan->reserve >= plan->slots)
		return fail(NIDUS_E_RANGE, "of %u slots %u cannot be held back", plan->slots,
		            plan->reserve);
	if (plan->value_bits > VALUE_BITS_MOST)
		return fail(NIDUS_E_RANGE, "values of %u bits; at most %d are possible",
		            plan->value_bits, VALUE_BITS_MOST);
	if (plan->core_bits < 1 || plan->core_bits > SLOTS_WIDTH_MAX ||
	    plan->growth_bits > SLOTS_WIDTH_MAX)
		return fail(NIDUS_E_RANGE, "%u core and %u growth bits are no fingerprint",
		            plan->core_bits, plan->growth_bits);
	unsigned width = nest_slot_width(plan, kind);
	if (width > SLOTS_WIDTH_MAX && plan->value_bits > 0)
		return fail(NIDUS_E_RANGE,
		            "fingerprints of this rate and growth with values of %u bits need "
		            "slots of %u bits; %d are possible",
		            plan->value_bits, width, SLOTS_WIDTH_MAX);
	if (width > SLOTS_WIDTH_MAX || width < SLOTS_WIDTH_MIN)
		return fail(NIDUS_E_RANGE, "slots of %u bits; %d to %d are possible", width,
		            SLOTS_WIDTH_MIN, SLOTS_WIDTH_MAX);
	if (nest_coded(kind) && plan->core_bits < CODED_CORE_MIN)
		return fail(NIDUS_E_RANGE, "coded buckets need at least %d core bits",
		            CODED_CORE_MIN);
	if (plan->max_steps < 1 || plan->max_steps > SEARCH_STEPS_MAX)
		return fail(NIDUS_E_RANGE, "max_steps must be 1 to %d, not %u", SEARCH_STEPS_MAX,
		            plan->max_steps);
	return NIDUS_OK;
}

nidus_status nest_check(const struct blueprint *plan, enum nest_kind kind)
{
	nidus_status status = check_fields(plan, kind);
	if (status != NIDUS_OK)
		return status;
	if (plan->chunks < 1 || plan->groups < 2)
		return fail(NIDUS_E_RANGE,
		            "a table needs at least 1 chunk of 2 buckets or windows");
	if (nest_symmetric(kind) && !is_power_of_two(plan->groups))
		return fail(NIDUS_E_RANGE, "buckets of a chunk must be a power of two");
	if (kind == NEST_DIRECT && log2_floor(plan->groups) > plan->core_bits)
		return fail(NIDUS_E_RANGE,
		            "a chunk has more buckets than fingerprints can tell apart");
	uint64_t all, slots, bytes;
	if (multiply_overflows(plan->chunks, plan->groups, &all) || plan->groups > SLOT_INDEX_MAX ||
	    all > SLOT_INDEX_MAX || multiply_overflows(plan->groups, plan->slots, &slots) ||
	    slots_per_chunk(plan, kind) > SLOT_INDEX_MAX ||
	    slots_bytes_overflow(slots + plan->slots, nest_slot_width(plan, kind), &bytes) ||
	    multiply_overflows(bytes + MEMORY_LINE, plan->chunks, &bytes) || bytes > INT64_MAX ||
	    multiply_overflows(slots + plan->slots, plan->chunks, &slots))
		return fail(NIDUS_E_RANGE, "the table would be too large for this library");
	/* Below this a hash of 64 bits has none left for some of the choices. */
	if (log2_floor(all) + plan->core_bits + plan->growth_bits > 63)
		return fail(NIDUS_E_RANGE,
		            "so many keys at so low a rate need more than a 64-bit hash");
	return NIDUS_OK;
}

/* ------------------------------------------------------------------- words -- */

/* Bits of a word that a load of eight bytes holds wherever in a byte it begins. */
#define LOAD_BITS 57
/* The same if it begins up to 14 bits behind the byte from which it is loaded. */
#define HALF_BITS 50

/* The same of a group: buckets of four slots begin at every fourth bit of a byte at most. */
static unsigned group_load_bits(enum nest_kind kind, unsigned slots)
{
	return kind == NEST_WINDOWS ? LOAD_BITS : 64 - (8 - slots);
}

/* Whether a group is in eight bytes from the one it begins in; of bodies, with any tag. */
static bool fits_word(enum nest_kind kind, unsigned slots, unsigned width, bool part)
{
	unsigned span = slots * width;
	if (span <= group_load_bits(kind, slots))
		return true;
	/* Those of 64 bits begin with a byte. Narrower buckets of four fit, too. */
	return span == 64 && slots == 4 && (!part || kind != NEST_WINDOWS);
}

/* NEST_MANY for all shapes without an instance of their own. */
static enum nest_words words_of(enum nest_kind kind, unsigned slots, unsigned width, bool part)
{
	if (slots > 4)
		return NEST_MANY;
	if (nest_coded(kind))
		return width <= CODED_WORD_WIDTH ? NEST_ONE : NEST_MANY;
	if (fits_word(kind, slots, width, part))
		return NEST_ONE;
	return slots * width / 2 <= HALF_BITS && slots > 2 ? NEST_TWO : NEST_MANY;
}

static unsigned fields_of(enum nest_words words, unsigned slots, unsigned width)
{
	unsigned fields = words < NEST_TWO ? slots : slots / 2;
	while (words == NEST_MANY && fields > 1 && fields * width > LOAD_BITS)
		fields /= 2;
	return fields;
}

/*
 * The bodies of a growing filter keep tags of different widths and are looked at by the same code:
 * that for the widest, which is `more` bits wider. No code that only one width has.
 */
static void lay_out_words(struct nest_layout *layout, unsigned more)
{
	layout->in_words = words_of(layout->kind, layout->slots, layout->width + more,
	                            layout->parts != 0);
	layout->fields = fields_of(layout->in_words, layout->slots, layout->width);
	layout->words = layout->slots / layout->fields;
	layout->word_bits = layout->fields * layout->width;
	layout->half_bytes = layout->word_bits / 8;
	layout->half_bits = layout->word_bits % 8;
	layout->span = layout->slots * layout->width;
	if (layout->kind == NEST_WINDOWS)
		layout->near = 2 * layout->span + 1;
	layout->group_bits = nest_group_bits(layout->kind, layout->slots, layout->width);
	layout->also_in = layout->in_words;
	if (layout->in_words == NEST_ONE && layout->slots == 2 &&
	    2 * (layout->width + more) <= 32)
		layout->also_in = NEST_PAIRED;
	else if (layout->in_words == NEST_ONE && layout->group_bits % 8 == 0)
		layout->also_in = NEST_BYTES;
	layout->load_bits = layout->word_bits;
	layout->last_byte = (layout->words - 1) * layout->word_bits / 8 + 8;
	if (nest_coded(layout->kind)) {
		layout->load_bits = (unsigned)layout->group_bits;
		layout->last_byte = (unsigned)layout->group_bits / 8 + 8;
	}
	if (nest_coded(layout->kind) && layout->in_words == NEST_ONE)
		layout->coding = coded_masks_of(layout->width, layout->payload_at);
	if (layout->kind == NEST_CODED_BUCKETS)
		layout->coded_choices = layout->coding.ones << (layout->core_bits - 4);
}

static void fill_patterns(struct nest_layout *layout)
{
	const struct nest nest = { .layout = layout };
	unsigned fields = layout->fields;
	assert(fields * layout->words == layout->slots && fields * layout->width <= 64);
	assert(layout->payload_at + layout->payload_bits == layout->width);
	layout->high = layout->payload_at - 1;
	layout->ones = fields_ones(layout->width, fields);
	layout->highs = layout->ones << layout->high;
	layout->lows = layout->highs - layout->ones;
	layout->most = layout->ones - 1;
	for (unsigned at = 0; at < layout->slots; at++) {
		unsigned word = at / fields, shift = at % fields * layout->width;
		for (unsigned choice = 0; choice < 2; choice++)
			layout->pattern[choice][word] |=
				nest_encode(&nest, layout->kind, 0, choice, at) << shift;
		if (at < layout->slots - layout->reserve)
			layout->open[word] |= UINT64_C(1) << layout->high << shift;
	}
	layout->ones_of_both = layout->ones | layout->ones << 32;
	layout->highs_of_both = layout->highs | layout->highs << 32;
	layout->pattern_of_both = layout->pattern[0][0] | layout->pattern[1][0] << 32;
	for (unsigned choice = 0; choice < 2; choice++) {
		layout->both_ones[choice] = layout->ones;
		layout->both_highs[choice] = layout->highs;
		layout->both_patterns[choice] = layout->pattern[choice][0];
	}
	layout->behind = layout->width - layout->high;
	for (unsigned bit = 0; bit < 8; bit++) {
		layout->ones_at[bit] = layout->ones << bit;
		layout->highs_at[bit] = layout->highs << bit;
		layout->open_at[bit] = layout->open[0] << bit;
		for (unsigned choice = 0; choice < 2; choice++)
			layout->pattern_at[choice][bit] = layout->pattern[choice][0] << bit;
	}
}

/* -------------------------------------------------------------------- life -- */

static uint64_t hop_count(const struct nest_layout *layout)
{
	unsigned bits = layout->core_bits < NEST_HOP_BITS ? layout->core_bits : NEST_HOP_BITS;
	return UINT64_C(1) << bits;
}

/* Bytes of the table of hops; 0 if there is to be none beside a table of so many bytes. */
static uint64_t hop_bytes(const struct nest_layout *layout, uint64_t table_bytes)
{
	if (layout->kind == NEST_DIRECT || layout->groups > UINT32_MAX)
		return 0;
	uint64_t bytes = sizeof *layout->hops * hop_count(layout);
	return bytes <= table_bytes / HOP_SHARE ? bytes : 0;
}

/* Writes hops down, if it is worth that. Errors: E_NOMEM; nothing changed then. */
static nidus_status write_hops(struct nest_layout *layout, uint64_t table_bytes)
{
	const struct nest nest = { .layout = layout };
	uint64_t bytes = layout->hops == NULL ? hop_bytes(layout, table_bytes) : 0;
	assert(!nest_symmetric(layout->kind) || is_power_of_two(layout->groups));
	if (bytes == 0)
		return NIDUS_OK;
	nidus_status status = memory_take(&layout->allocator, bytes, &layout->hop_memory);
	if (status != NIDUS_OK)
		return status;
	uint32_t *hops = (uint32_t *)(void *)layout->hop_memory.bytes;
	for (uint64_t core = 0; core < hop_count(layout); core++)
		hops[core] = (uint32_t)nest_hop(&nest, layout->kind, core);
	layout->hops = hops;
	return NIDUS_OK;
}

/* Makes a layout that of bodies of a growing filter, with the hops of its model. */
static void lay_out_part(struct nest_layout *layout, const struct segment *segment,
                         const struct nest *model)
{
	assert(layout->chunks == 1 && segment->tag_bits == layout->tag_bits);
	layout->parts = segment->parts;
	if (model != NULL)
		layout->hops = model->layout->hops;
}

void nest_sketch(struct nest_sketch *sketch, const struct blueprint *plan, enum nest_kind kind,
                 const struct segment *segment, uint64_t partner_key)
{
	struct nest_layout *layout = &sketch->layout;
	const unsigned extra_bits = nest_extra_bits(kind, plan->slots);
	/* One by one: to clear all the rest takes longer than a lookup in a list. */
	layout->kind = kind;
	layout->chunks = 1;
	layout->parts = segment->parts;
	layout->groups = layout->round = plan->groups;
	layout->core_bits = plan->core_bits;
	layout->core_values = bits_low(plan->core_bits);
	if (kind == NEST_DIRECT)
		layout->direct_values = (bits_low(plan->core_bits) + 1) / plan->groups;
	layout->partner_key = partner_key;
	layout->hops = NULL;
	layout->tag_at = plan->core_bits + extra_bits;
	layout->tag_bits = segment->tag_bits;
	layout->fingerprints = bits_low(plan->core_bits + segment->tag_bits);
	layout->payload_bits = plan->value_bits;
	layout->payload_at = layout->tag_at + segment->tag_bits;
	sketch->nest.layout = layout;
	sketch->nest.first_part = segment->first;
}

static void lay_out(struct nest_layout *layout, const struct blueprint *plan, enum nest_kind kind,
                    const struct segment *segment, const struct nest *model)
{
	const struct hash_key key = hash_key_of(plan->seed);
	const unsigned extra_bits = nest_extra_bits(kind, plan->slots);
	const unsigned width = nest_slot_width(plan, kind);
	*layout = (struct nest_layout){
		.chunks = plan->chunks,
		.stride = chunk_stride(plan, kind),
		.stride_bits = chunk_stride(plan, kind) * 8,
		.groups = plan->groups,
		.round = plan->groups,
		.core_values = bits_low(plan->core_bits),
		.direct_values = (bits_low(plan->core_bits) + 1) / plan->groups,
		.partner_key = hash_partner_key(&key),
		.slots = plan->slots,
		.width = width,
		.core_bits = plan->core_bits,
		.extra_bits = extra_bits,
		.tag_at = plan->core_bits + extra_bits,
		.tag_bits = plan->growth_bits,
		.payload_bits = plan->value_bits,
		.payload_at = width - plan->value_bits,
		.fingerprints = bits_low(plan->core_bits + plan->growth_bits),
		.slot_mask = bits_low(width),
		.payload_behind = bits_low(plan->value_bits) << 1,
		.extra_mask = bits_low(extra_bits) << plan->core_bits,
		.max_steps = plan->max_steps,
		.stash_limit = plan->stash_limit,
		.reserve = plan->reserve,
		.kind = kind,
	};
	if (segment != NULL)
		lay_out_part(layout, segment, model);
	layout->short_steps = search_short_steps(layout);
	layout->step_most = search_step_most(layout);
	lay_out_words(layout, segment != NULL ? segment->most_bits - segment->tag_bits : 0);
	fill_patterns(layout);
	if (nest_coded(kind))
		coded_prepare();
}

nidus_status nest_lay_out(const struct blueprint *plan, enum nest_kind kind,
                          const struct segment *segment, const struct nest *model,
                          const nidus_allocator *allocator, struct nest_layout **made)
{
	struct block memory;
	*made = NULL;
	nidus_status status = memory_take(allocator, sizeof(struct nest_layout), &memory);
	if (status != NIDUS_OK)
		return status;
	struct nest_layout *layout = (struct nest_layout *)(void *)memory.bytes;
	lay_out(layout, plan, kind, segment, model);
	layout->memory = memory;
	layout->allocator = *allocator;
	*made = layout;
	return NIDUS_OK;
}

void nest_free_layout(struct nest_layout *layout)
{
	if (layout == NULL)
		return;
	const nidus_allocator allocator = layout->allocator;
	struct block memory = layout->memory;
	memory_give(&allocator, &layout->hop_memory);
	memory_give(&allocator, &memory);
}

/* The layout of a nest that has its own. */
static struct nest_layout *own_layout(struct nest *nest)
{
	return (struct nest_layout *)(void *)nest->layout->memory.bytes;
}

/* In the room of a body its chunk record is behind its slots. */
static uint64_t record_at(uint64_t table_bytes)
{
	return divide_up(table_bytes, sizeof(uint64_t)) * sizeof(uint64_t);
}

uint64_t nest_segment_room(const struct blueprint *plan, enum nest_kind kind)
{
	return record_at(nest_table_bytes(plan, kind)) + sizeof(struct nest_chunk);
}

void nest_moved(struct nest *nest, unsigned char *room)
{
	uint64_t at = record_at(nest_slots_bytes(nest->layout));
	nest->bits_memory = memory_lent(room, at + sizeof *nest->chunk);
	nest->bits = room;
	nest->chunk = (struct nest_chunk *)(void *)(room + at);
}

/*
 * Takes memory for slots, unless `table` are the slots, and for chunk records. Errors: E_NOMEM; the
 * nest can be freed then.
 */
static nidus_status take_memory(struct nest *nest, unsigned char *table)
{
	uint64_t bytes = nest_slots_bytes(nest->layout);
	nidus_status status = NIDUS_OK;
	if (table != NULL)
		nest->bits_memory = memory_lent(table, bytes);
	else
		status = memory_take(nest->allocator, bytes, &nest->bits_memory);
	if (status == NIDUS_OK)
		status = memory_take(nest->allocator, nest->layout->chunks * sizeof *nest->chunk,
		                     &nest->chunk_memory);
	if (status != NIDUS_OK)
		return status;
	nest->bits = nest->bits_memory.bytes;
	nest->chunk = (struct nest_chunk *)(void *)nest->chunk_memory.bytes;
	return NIDUS_OK;
}

/* Takes the layout of the segment, or makes one. Errors: E_NOMEM. */
static nidus_status take_layout(struct nest *nest, const struct blueprint *plan,
                                enum nest_kind kind, const struct segment *segment,
                                const nidus_allocator *allocator)
{
	struct nest_layout *own;
	if (segment != NULL && segment->layout != NULL) {
		nest->layout = segment->layout;
		return NIDUS_OK;
	}
	nidus_status status = nest_lay_out(
		plan, kind, segment, segment != NULL ? segment->model : NULL, allocator, &own);
	nest->layout = own;
	nest->owns_layout = status == NIDUS_OK;
	if (status == NIDUS_OK)
		status = write_hops(own, nest_slots_bytes(nest->layout));
	return status;
}

nidus_status nest_create(struct nest *nest, const struct blueprint *plan, enum nest_kind kind,
                         const struct segment *segment, const nidus_allocator *allocator,
                         unsigned char *table)
{
	assert(segment != NULL || plan->growth_bits == 0);
	*nest = (struct nest){
		.capacity = plan->capacity,
		.version = probe_version(),
		.first_part = segment != NULL ? segment->first : 0,
		.mapped = table != NULL,
	};
	nidus_status status = take_layout(nest, plan, kind, segment, allocator);
	if (nest->layout != NULL)
		nest->allocator = &nest->layout->allocator;
	if (status == NIDUS_OK && segment != NULL && segment->room != NULL)
		nest_moved(nest, segment->room);
	else if (status == NIDUS_OK)
		status = take_memory(nest, table);
	if (status == NIDUS_OK && plan->features & NIDUS_CONCURRENT)
		status = nest_share(nest);
	nest->remote = nest->bits_memory.size > NEST_REMOTE_FROM;
	nest->far = nest->bits_memory.size > NEST_FAR_FROM;
	if (status != NIDUS_OK) {
		nest_free(nest);
		*nest = (struct nest){ 0 };
	}
	return status;
}

nidus_status nest_prepare(struct nest *model)
{
	return write_hops(own_layout(model), UINT64_MAX / 2);
}

static void free_stashes(struct nest *nest)
{
	for (uint64_t i = 0; i < nest->layout->chunks; i++) {
		overflow_free(&nest->chunk[i].stash, nest->allocator);
		nest->chunk[i].used = 0;
	}
	nest->stashed = nest->surplus = 0;
}

void nest_free(struct nest *nest)
{
	/* The chunks of a mapped nest may be many, and their records never touched. */
	if (nest->chunk != NULL && (!nest->mapped || nest->stashed > 0))
		free_stashes(nest);
	nest_unshare(nest);
	memory_give(nest->allocator, &nest->bits_memory);
	memory_give(nest->allocator, &nest->chunk_memory);
	if (nest->owns_layout)
		nest_free_layout(own_layout(nest));
}

void nest_clear(struct nest *nest)
{
	assert(!nest->mapped);
	free_stashes(nest);
	nest_shared_forget(nest);
	memset(nest->bits, 0, nest_slots_bytes(nest->layout));
}

uint64_t nest_used_in(const struct nest *nest, uint64_t chunk)
{
	return counter_read(&nest->chunk[chunk].used) + nest_shared_used(nest, chunk);
}

nidus_status nest_copy(struct nest *to, const struct nest *from)
{
	assert(!to->mapped && nest_slots_bytes(to->layout) == nest_slots_bytes(from->layout));
	memcpy(to->bits, from->bits, nest_slots_bytes(from->layout));
	for (uint64_t i = 0; i < from->layout->chunks; i++) {
		nidus_status status =
			overflow_copy(&to->chunk[i].stash, &from->chunk[i].stash, to->allocator);
		if (status != NIDUS_OK)
			return status;
		to->chunk[i].used = nest_used_in(from, i);
	}
	to->stashed = from->stashed;
	to->surplus = from->surplus;
	return NIDUS_OK;
}

/* ----------------------------------------------------------------- figures -- */

/* Taken slots and different stashed entries of all chunks. */
static uint64_t used(const struct nest *nest)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < nest->layout->chunks; i++)
		count += nest_used_in(nest, i);
	return count;
}

uint64_t nest_count(const struct nest *nest)
{
	return nest->mapped ? nest->mapped_count : used(nest) + counter_read(&nest->surplus);
}

uint64_t nest_bytes(const struct nest *nest)
{
	uint64_t bytes = nest->bits_memory.size + nest_shared_bytes(nest);
	/* The chunks of a mapped nest may be many, and their records never touched. */
	for (uint64_t i = 0; i < nest->layout->chunks && !(nest->mapped && nest->stashed == 0); i++)
		bytes += nest->chunk[i].stash.bytes;
	return bytes;
}

double nest_headroom(const struct nest *nest)
{
	uint64_t most = 0, slots = nest_chunk_slots(nest->layout);
	if (nest->mapped)
		most = divide_up(nest->mapped_count - nest->surplus, nest->layout->chunks);
	for (uint64_t i = 0; i < nest->layout->chunks && !nest->mapped; i++) {
		uint64_t used = nest_used_in(nest, i);
		most = used > most ? used : most;
	}
	return most >= slots ? 0 : 1 - (double)most / (double)slots;
}

/* ---------------------------------------------------------------- identity -- */

struct nest_key nest_locate(const struct nest *nest, enum nest_kind kind, uint64_t hash)
{
	return nest_locate_as(nest, kind, NEST_ANY_PATH, hash);
}

nidus_entry nest_identity(const struct nest *nest, enum nest_kind kind, const struct nest_key *key)
{
	uint64_t core = key->value & nest->layout->core_values;
	uint64_t tag = key->value >> nest->layout->tag_at & bits_low(nest->layout->tag_bits);
	return (nidus_entry){ nest_home_group(kind, key), core | tag << nest->layout->core_bits,
		              key->value >> nest->layout->payload_at };
}

struct nest_key nest_key_of_identity(const struct nest *nest, enum nest_kind kind, uint64_t chunk,
                                     nidus_entry entry)
{
	uint64_t core = entry.fingerprint & nest->layout->core_values,
		 hop = nest_hop(nest, kind, core);
	assert(entry.home < nest->layout->groups && core != 0);
	assert(entry.value <= bits_low(nest->layout->payload_bits));
	uint64_t other =
		nest_symmetric(kind) ? entry.home ^ hop : nest_forward(nest, entry.home, hop);
	uint64_t tag = entry.fingerprint >> nest->layout->core_bits;
	return (struct nest_key){
		.chunk = chunk,
		.group = { entry.home, other },
		.value = core | tag << nest->layout->tag_at |
		         entry.value << nest->layout->payload_at,
	};
}

bool nest_encode_at(const struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                    uint64_t slot, uint64_t *value)
{
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(nest, kind, key->group[choice]);
		if (slot >= first && slot - first < nest->layout->slots) {
			*value = nest_encode(nest, kind, key->value, choice, slot - first);
			return true;
		}
	}
	return false;
}

/* --------------------------------------------------- parts of the operations -- */

unsigned nest_places(const struct nest *nest, enum nest_kind kind, const struct nest_key *key)
{
	uint64_t low = key->group[0] < key->group[1] ? key->group[0] : key->group[1];
	uint64_t apart = key->group[0] + key->group[1] - 2 * low;
	bool overlap = kind == NEST_WINDOWS && apart < nest->layout->slots;
	return nest->layout->slots + (overlap ? (unsigned)apart : nest->layout->slots);
}

void nest_tally(const struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                unsigned *empty, unsigned *copies)
{
	const unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	*empty = *copies = 0;
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(nest, kind, key->group[choice]);
		for (unsigned at = 0; at < nest->layout->slots; at++) {
			uint64_t value = nest_get(nest, kind, bits, first + at);
			*empty += value == 0;
			*copies += nest_same(nest, value,
			                     nest_encode(nest, kind, key->value, choice, at));
		}
	}
}

bool nest_home_open(const struct nest *nest, enum nest_kind kind, const struct nest_key *key)
{
	const unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	uint64_t first = nest_first_slot(nest, kind, nest_home_group(kind, key));
	for (unsigned at = 0; at < nest->layout->slots; at++) {
		if (nest_get(nest, kind, bits, first + at) == 0)
			return true;
	}
	return false;
}

/* What the stash adds to a key's copies. */
static uint64_t stashed_copies(const struct nest *nest, const struct nest_key *key)
{
	const struct overflow *stash = &nest->chunk[key->chunk].stash;
	if (stash->nodes == 0 || nest_home_open(nest, nest->layout->kind, key))
		return 0;
	nidus_entry identity = nest_identity(nest, nest->layout->kind, key);
	return overflow_count_all(stash, &identity);
}

bool nest_look_again(const struct nest *nest, uint64_t hash)
{
	if (nest->shared != NULL)
		return nest_shared_look(nest, hash);
	struct nest_key key = nest_locate(nest, nest->layout->kind, hash);
	return stashed_copies(nest, &key) > 0;
}

uint64_t nest_count_copies(const void *body, uint64_t hash)
{
	const struct nest *nest = body;
	if (nest->shared != NULL)
		return nest_shared_count(nest, hash);
	struct nest_spot spot;
	struct nest_key key = nest_find(nest, nest_shape_of(nest), hash, &spot);
	return nest_copies(nest, nest_shape_of(nest), &spot) +
	       (nest->stashed > 0 ? stashed_copies(nest, &key) : 0);
}

/* ------------------------------------------------------------------- the stash -- */

bool nest_is_stashed(const struct nest *nest, enum nest_kind kind, const struct nest_key *key)
{
	const struct overflow *stash = &nest->chunk[key->chunk].stash;
	if (stash->nodes == 0)
		return false;
	nidus_entry identity = nest_identity(nest, kind, key);
	return overflow_find(stash, &identity, true) != NULL;
}

bool nest_stash_full(const struct nest *nest, uint64_t chunk)
{
	if (nest->chunk[chunk].stash.nodes < nest->layout->stash_limit)
		return false;
	uint64_t here = nest_used_in(nest, chunk);
	if (nest->layout->stash_limit == 0 || here >= nest->capacity)
		return true;
	if (here < nest->capacity / nest->layout->chunks)
		return false;
	uint64_t all = nest->built != NULL ? here + counter_read(nest->built) : used(nest);
	return all >= nest->capacity;
}

void nest_stash_changed(struct nest *nest, uint64_t chunk, uint64_t nodes, uint64_t entries)
{
	const struct overflow *stash = &nest->chunk[chunk].stash;
	uint64_t more = stash->nodes - nodes, copies = stash->entries - entries; /* or less */
	counter_add(&nest->surplus, copies - more);
	if (more == 0)
		return;
	counter_add(&nest->chunk[chunk].used, more);
	(void)__atomic_fetch_add(&nest->stashed, more, __ATOMIC_ACQ_REL);
}

nidus_status nest_stash_key(struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                            uint64_t copies)
{
	struct overflow *stash = &nest->chunk[key->chunk].stash;
	nidus_entry identity = nest_identity(nest, kind, key);
	uint64_t nodes = stash->nodes, entries = stash->entries;
	assert(copies > 0 && !nest->mapped);
	if (nest_stash_full(nest, key->chunk) && overflow_find(stash, &identity, true) == NULL)
		return fail(NIDUS_FULL, "no place for this key was found; the filter is full");
	nidus_status status = overflow_add(stash, nest->allocator, &identity, copies);
	if (status == NIDUS_OK)
		nest_stash_changed(nest, key->chunk, nodes, entries);
	return status;
}

/* After copies left a stash: an empty one keeps no memory, unless others may look at it. */
static void stash_shrank(struct nest *nest, uint64_t chunk, uint64_t nodes, uint64_t entries)
{
	struct overflow *stash = &nest->chunk[chunk].stash;
	nest_stash_changed(nest, chunk, nodes, entries);
	if (stash->nodes == 0 && nest->shared == NULL)
		overflow_free(stash, nest->allocator);
}

void nest_stash_take(struct nest *nest, uint64_t chunk, const nidus_entry *entry, uint64_t copies)
{
	struct overflow *stash = &nest->chunk[chunk].stash;
	uint64_t nodes = stash->nodes, entries = stash->entries;
	overflow_take(stash, entry, copies);
	stash_shrank(nest, chunk, nodes, entries);
}

const struct overflow_node *nest_stashed_for(const struct nest *nest, uint64_t chunk, uint64_t slot,
                                             uint64_t *value)
{
	const struct overflow *stash = &nest->chunk[chunk].stash;
	uint64_t low = slot / nest->layout->slots, high = low;
	if (nest->layout->kind == NEST_WINDOWS) {
		low = slot < nest->layout->slots ? 0 : slot - nest->layout->slots + 1;
		high = slot < nest->layout->groups ? slot : nest->layout->groups - 1;
	}
	/* Entries are in the order of their homes. */
	const nidus_entry first = { .home = low };
	const struct overflow_node *node = overflow_from(stash, &first);
	for (; node != NULL; node = overflow_next(stash, &node->entry)) {
		struct nest_key key =
			nest_key_of_identity(nest, nest->layout->kind, chunk, node->entry);
		if (node->entry.home > high)
			break;
		if (nest_encode_at(nest, nest->layout->kind, &key, slot, value))
			return node;
	}
	return NULL;
}

void nest_bring_home(struct nest *nest, uint64_t chunk, uint64_t slot)
{
	uint64_t value;
	if (nest->chunk[chunk].stash.nodes == 0)
		return;
	if (nest_coded(nest->layout->kind)) /* sorted: the empty slot is the bucket's first now */
		slot -= slot % nest->layout->slots;
	const struct overflow_node *node = nest_stashed_for(nest, chunk, slot, &value);
	if (node == NULL)
		return;
	assert(nest_get(nest, nest->layout->kind, nest_chunk_bits(nest, chunk), slot) == 0);
	nest_set(nest, nest->layout->kind, nest_chunk_bits(nest, chunk), slot, value);
	nest->chunk[chunk].used++;
	nest_stash_take(nest, chunk, &node->entry, 1);
}

/* Takes a stashed copy, which frees no slot; false if there is none. */
static bool take_from_stash(struct nest *nest, const struct nest_key *key)
{
	nidus_entry identity = nest_identity(nest, nest->layout->kind, key);
	const struct overflow_node *node =
		overflow_find(&nest->chunk[key->chunk].stash, &identity, true);
	if (node != NULL)
		nest_stash_take(nest, key->chunk, &node->entry, 1);
	return node != NULL;
}

/* ------------------------------------------------------------- insert and remove -- */

/* Whether all slots of the key hold copies of it, which have no other place to go to. */
static bool full_of_copies(const struct nest *nest, enum nest_kind kind, const struct nest_key *key)
{
	unsigned empty, copies;
	nest_tally(nest, kind, key, &empty, &copies);
	return copies == nest_places(nest, kind, key);
}

nidus_status nest_no_stash(void)
{
	return fail(NIDUS_COPIES, "no room for another copy of this key: the filter was made with "
	                          "NIDUS_STASH_OFF");
}

nidus_status nest_insert_crowded(struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                                 bool copies, nest_room *room)
{
	uint64_t slot, value = 0;
	bool only_copies = copies && full_of_copies(nest, kind, key);
	if (!only_copies &&
	    (room != NULL ? room(nest, key, &slot) : search_room(nest, kind, key, &slot))) {
		(void)nest_encode_at(nest, kind, key, slot, &value);
		nest_set(nest, kind, nest_chunk_bits(nest, key->chunk), slot, value);
		nest->chunk[key->chunk].used++;
		return NIDUS_OK;
	}
	if (nest->layout->stash_limit == 0 && only_copies)
		return nest_no_stash();
	return nest_stash_key(nest, kind, key, 1);
}

nidus_status nest_remove_slow(struct nest *nest, uint64_t hash)
{
	if (nest->shared != NULL)
		return nest_shared_remove(nest, hash);
	struct nest_shape shape = nest_shape_of(nest);
	struct nest_spot spot;
	struct nest_key key = nest_find(nest, shape, hash, &spot);
	struct nest_site site;
	unsigned choice;
	if (take_from_stash(nest, &key))
		return NIDUS_OK;
	if (!nest_find_copy(nest, shape, &spot, &site, &choice))
		return NIDUS_NOT_FOUND;
	nest_clear_at(nest, shape, &site);
	nest->chunk[key.chunk].used--;
	nest_bring_home(nest, key.chunk,
	                nest_first_slot(nest, nest->layout->kind, key.group[choice]) +
	                        (site.bit - spot.bit[choice]) / nest->layout->width);
	return NIDUS_OK;
}

/* ---------------------------------------------------------------- instances -- */

/* For one path from a hash to its groups; nests that threads share add what a lookup watches. */
ALWAYS_INLINE struct nest_key prepare(const struct nest *nest, enum nest_kind kind,
                                      enum nest_path path, uint64_t hash, nidus_probe *probe)
{
	struct nest_key key = nest_locate_as(nest, kind, path, hash);
	uint64_t from = key.chunk * nest->layout->stride_bits;
	probe->hash = hash;
	probe->version = nest->version;
	probe->number[NEST_PROBE_VALUE] = key.value;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t bit = from + key.group[i] * nest->layout->group_bits;
		const unsigned char *at = nest->bits + (bit >> 3);
		probe->number[i] = bit;
		PREFETCH(at);
		PREFETCH(at + nest->layout->last_byte); /* it may lie in two lines */
	}
	return key;
}

void nest_prepare_xor(const struct nest *nest, uint64_t hash, nidus_probe *probe)
{
	prepare(nest, NEST_XOR, NEST_WHOLE_PATH, hash, probe);
}

void nest_prepare_offset(const struct nest *nest, uint64_t hash, nidus_probe *probe)
{
	prepare(nest, NEST_WINDOWS, NEST_WHOLE_PATH, hash, probe);
}

void nest_prepare_any(const struct nest *nest, uint64_t hash, nidus_probe *probe)
{
	prepare(nest, nest->layout->kind, NEST_ANY_PATH, hash, probe);
}

/* The stripes of both groups; false if one of them lies across a border. */
static bool stripes_watched(const struct nest *nest, uint64_t chunk, nidus_probe *probe)
{
	const struct stripes *stripes = &nest->shared->stripes;
	uint64_t from = chunk * nest->layout->stride_bits, crosses = 0;
	probe->number[NEST_PROBE_WATCHED] = 0;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t bit = probe->number[i] - from;
		uint64_t stripe = stripe_in_chunk(stripes, chunk, bit >> 3);
		PREFETCH(&stripes->stripe[stripe]);
		probe->number[NEST_PROBE_WATCHED] |= stripe << 32 * i;
		crosses |= bit ^ (bit + nest->layout->group_bits - 1);
	}
	return crosses >> (STRIPES_REGION_LOG + 3) == 0;
}

void nest_prepare_shared(const struct nest *nest, uint64_t hash, nidus_probe *probe)
{
	const enum nest_kind kind = nest->layout->kind;
	struct nest_key key = prepare(nest, kind, NEST_ANY_PATH, hash, probe);
	if (!nest_coded(kind)) {
		uint32_t pair = nest_pair(&nest->shared->stripes, &key);
		probe->number[NEST_PROBE_WATCHED] = pair;
		PREFETCH(&nest->shared->pair_version[pair]);
	} else if (!stripes_watched(nest, key.chunk, probe)) {
		probe_by_hash(probe, hash);
	}
}

bool nest_ask_by_hash(const struct nest *nest, uint64_t hash)
{
	return nest_ops(nest)->contains(nest, hash);
}

const struct body_ops *nest_ops(const struct nest *nest)
{
	switch (nest->layout->kind) {
	case NEST_CODED_XOR:
	case NEST_CODED_BUCKETS:
		return nest_ops_coded(nest);
	case NEST_BUCKETS:
	case NEST_WINDOWS:
		return nest_ops_windows(nest);
	default:
		return nest_ops_xor(nest);
	}
}

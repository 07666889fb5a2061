/* SPDX-License-Identifier: MIT
 *
 * nest: layout, life, and the parts of the operations that are not hot.
 */
#include "nest/nest.h"

#include <assert.h>

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
	if (plan->level != 0 || plan->borrowed != 0)
		return fail(NIDUS_E_RANGE, "a table has no level, and no borrowed bits");
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
	if (multiply_overflows(plan->chunks, plan->groups, &all) ||
	    plan->groups > SLOT_INDEX_MAX || all > SLOT_INDEX_MAX ||
	    multiply_overflows(plan->groups, plan->slots, &slots) ||
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

/* NEST_MANY for all shapes without an instance of their own. */
static enum nest_words words_of(enum nest_kind kind, unsigned slots, unsigned width, bool shared)
{
	unsigned span = slots * width;
	if (slots > 4)
		return NEST_MANY;
	if (nest_coded(kind))
		return width <= CODED_WORD_WIDTH ? NEST_ONE : NEST_MANY;
	if (span <= 32 && slots == 2)
		return NEST_PAIRED;
	if (span <= LOAD_BITS)
		return !shared && kind != NEST_WINDOWS && slots == 4 && span % 8 == 0 ? NEST_BYTES
		                                                                      : NEST_ONE;
	if (span == 64 && slots == 4)
		return NEST_WHOLE;
	return span / 2 <= HALF_BITS && slots > 2 ? NEST_TWO : NEST_MANY;
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
static void lay_out_words(struct nest *nest, bool shared, unsigned more)
{
	bool part = nest->special & NEST_PART;
	nest->in_words = words_of(nest->kind, nest->slots, nest->width + more, shared || part);
	if (part && nest->in_words == NEST_WHOLE)
		nest->in_words = NEST_TWO;
	nest->fields = fields_of(nest->in_words, nest->slots, nest->width);
	nest->words = nest->slots / nest->fields;
	nest->word_bits = nest->fields * nest->width;
	nest->half_bytes = nest->word_bits / 8;
	nest->half_bits = nest->word_bits % 8;
	nest->span = nest->slots * nest->width;
	nest->near = 2 * nest->span + 1;
	nest->group_bits = nest_group_bits(nest->kind, nest->slots, nest->width);
	nest->load_bits = nest->word_bits;
	nest->last_byte = (nest->words - 1) * nest->word_bits / 8 + 8;
	if (nest_coded(nest->kind)) {
		nest->load_bits = (unsigned)nest->group_bits;
		nest->last_byte = (unsigned)nest->group_bits / 8 + 8;
	}
	if (nest_coded(nest->kind) && nest->in_words == NEST_ONE)
		nest->coding = coded_masks_of(nest->width, nest->payload_at);
	if (nest->kind == NEST_CODED_BUCKETS)
		nest->coded_choices = nest->coding.ones << (nest->core_bits - 4);
}

static void fill_patterns(struct nest *nest)
{
	unsigned fields = nest->fields;
	nest->high = nest->payload_at - 1;
	nest->ones = fields_ones(nest->width, fields);
	nest->highs = nest->ones << nest->high;
	nest->lows = nest->highs - nest->ones;
	nest->most = nest->ones - 1;
	for (unsigned at = 0; at < nest->slots; at++) {
		unsigned word = at / fields, shift = at % fields * nest->width;
		for (unsigned choice = 0; choice < 2; choice++)
			nest->pattern[choice][word] |= nest_encode(nest, nest->kind, 0, choice, at)
			                               << shift;
		if (at < nest->slots - nest->reserve)
			nest->open[word] |= UINT64_C(1) << nest->high << shift;
	}
	nest->ones_of_both = nest->ones | nest->ones << 32;
	nest->highs_of_both = nest->highs | nest->highs << 32;
	nest->pattern_of_both = nest->pattern[0][0] | nest->pattern[1][0] << 32;
	for (unsigned choice = 0; choice < 2; choice++) {
		nest->both_ones[choice] = nest->ones;
		nest->both_highs[choice] = nest->highs;
		nest->both_patterns[choice] = nest->pattern[choice][0];
	}
	nest->behind = nest->width - nest->high;
	for (unsigned bit = 0; bit < 8; bit++) {
		nest->ones_at[bit] = nest->ones << bit;
		nest->highs_at[bit] = nest->highs << bit;
		nest->open_at[bit] = nest->open[0] << bit;
		for (unsigned choice = 0; choice < 2; choice++)
			nest->pattern_at[choice][bit] = nest->pattern[choice][0] << bit;
	}
}

/* -------------------------------------------------------------------- life -- */

static uint64_t hop_count(const struct nest *nest)
{
	return UINT64_C(1) << (nest->core_bits < NEST_HOP_BITS ? nest->core_bits : NEST_HOP_BITS);
}

/* Bytes of the table of hops; 0 if there is to be none. */
static uint64_t hop_bytes(const struct nest *nest, uint64_t table_bytes)
{
	if (nest->kind == NEST_DIRECT || nest->groups > UINT32_MAX)
		return 0;
	uint64_t bytes = sizeof *nest->hops * hop_count(nest);
	return bytes <= table_bytes / HOP_SHARE ? bytes : 0;
}

static void write_hops(struct nest *nest)
{
	uint32_t *hops = (uint32_t *)(void *)nest->hop_memory.bytes;
	for (uint64_t core = 0; core < hop_count(nest); core++)
		hops[core] = (uint32_t)nest_hop(nest, nest->kind, core);
	nest->hops = hops;
	nest->special &= ~(uint64_t)NEST_HASHED;
}

static uint64_t special_of(const struct blueprint *plan, enum nest_kind kind)
{
	uint64_t special = kind == NEST_DIRECT ? NEST_TAKEN : NEST_HASHED;
	return plan->chunks > 1 ? special | NEST_CHUNKS : special;
}

/* Memory for slots, unless `table` are the slots, for chunk records and for hops. */
static nidus_status take_memory(struct nest *nest, const struct blueprint *plan,
                                unsigned char *table)
{
	const nidus_allocator *allocator = &nest->allocator;
	uint64_t bytes = nest_table_bytes(plan, nest->kind);
	uint64_t hops = nest->hops == NULL ? hop_bytes(nest, bytes) : 0;
	nidus_status status = NIDUS_OK;
	if (table == NULL)
		status = memory_take(allocator, bytes, &nest->bits_memory);
	else
		nest->bits_memory = memory_lent(table, bytes);
	if (status == NIDUS_OK)
		status = memory_take(allocator, plan->chunks * sizeof *nest->chunk,
		                     &nest->chunk_memory);
	if (status == NIDUS_OK && hops > 0)
		status = memory_take(allocator, hops, &nest->hop_memory);
	if (status != NIDUS_OK) {
		memory_give(allocator, &nest->bits_memory);
		memory_give(allocator, &nest->chunk_memory);
	}
	return status;
}

/* Makes a nest that is not a filter the body of a part of one. */
static void lay_out_part(struct nest *nest, const struct segment *segment)
{
	const struct nest *model = segment->model;
	assert(nest->chunks == 1 && segment->tag_bits == nest->tag_bits);
	nest->parts = segment->parts;
	nest->first_part = segment->first;
	nest->special |= NEST_PART;
	if (model != NULL && model->hops != NULL) {
		nest->hops = model->hops;
		nest->special &= ~(uint64_t)NEST_HASHED;
	}
}

nidus_status nest_create(struct nest *nest, const struct blueprint *plan, enum nest_kind kind,
                         const struct segment *segment, const nidus_allocator *allocator,
                         unsigned char *table)
{
	*nest = (struct nest){
		.chunks = plan->chunks,
		.stride = chunk_stride(plan, kind),
		.stride_bits = chunk_stride(plan, kind) * 8,
		.groups = plan->groups,
		.core_values = bits_low(plan->core_bits),
		.direct_values = (bits_low(plan->core_bits) + 1) / plan->groups,
		.partner_key = hash_key_of(plan->seed).partner,
		.slots = plan->slots,
		.width = nest_slot_width(plan, kind),
		.core_bits = plan->core_bits,
		.extra_bits = nest_extra_bits(kind, plan->slots),
		.payload_bits = plan->value_bits,
		.payload_at = nest_slot_width(plan, kind) - plan->value_bits,
		.fingerprints = bits_low(plan->core_bits + plan->growth_bits),
		.tag_bits = plan->growth_bits,
		.tag_at = plan->core_bits + nest_extra_bits(kind, plan->slots),
		.slot_mask = bits_low(nest_slot_width(plan, kind)),
		.payload_behind = bits_low(plan->value_bits) << 1,
		.extra_mask = bits_low(nest_extra_bits(kind, plan->slots)) << plan->core_bits,
		.special = special_of(plan, kind),
		.max_steps = plan->max_steps,
		.stash_limit = plan->stash_limit,
		.capacity = plan->capacity,
		.reserve = plan->reserve,
		.kind = kind,
		.mapped = table != NULL,
		.allocator = *allocator,
	};
	if (segment != NULL)
		lay_out_part(nest, segment);
	nest->short_steps = search_short_steps(nest);
	nest->step_most = search_step_most(nest);
	lay_out_words(nest, plan->features & NIDUS_CONCURRENT,
	              segment != NULL ? segment->most_bits - segment->tag_bits : 0);
	fill_patterns(nest);
	if (nest_coded(kind))
		coded_prepare();
	nidus_status status = take_memory(nest, plan, table);
	if (status != NIDUS_OK)
		return status;
	nest->bits = nest->bits_memory.bytes;
	nest->chunk = (struct nest_chunk *)(void *)nest->chunk_memory.bytes;
	nest->remote = nest->bits_memory.size > NEST_REMOTE_FROM;
	nest->far = nest->bits_memory.size > NEST_FAR_FROM;
	if (nest->hop_memory.size > 0)
		write_hops(nest);
	if (!(plan->features & NIDUS_CONCURRENT))
		return NIDUS_OK;
	status = nest_share(nest);
	if (status != NIDUS_OK)
		nest_free(nest);
	return status;
}

nidus_status nest_prepare(struct nest *model)
{
	uint64_t bytes = model->hops == NULL ? hop_bytes(model, UINT64_MAX / 2) : 0;
	if (bytes == 0)
		return NIDUS_OK;
	nidus_status status = memory_take(&model->allocator, bytes, &model->hop_memory);
	if (status == NIDUS_OK)
		write_hops(model);
	return status;
}

static void free_stashes(struct nest *nest)
{
	for (uint64_t i = 0; i < nest->chunks; i++) {
		overflow_free(&nest->chunk[i].stash, &nest->allocator);
		nest->chunk[i].used = 0;
	}
	nest->stashed = nest->surplus = 0;
}

void nest_free(struct nest *nest)
{
	/* The chunks of a mapped nest may be many, and their records never touched. */
	if (!nest->mapped || nest->stashed > 0)
		free_stashes(nest);
	nest_unshare(nest);
	memory_give(&nest->allocator, &nest->bits_memory);
	memory_give(&nest->allocator, &nest->chunk_memory);
	memory_give(&nest->allocator, &nest->hop_memory);
}

void nest_clear(struct nest *nest)
{
	free_stashes(nest);
	nest_shared_forget(nest);
	memset(nest->bits, 0, nest->bits_memory.size);
}

uint64_t nest_used_in(const struct nest *nest, uint64_t chunk)
{
	return counter_read(&nest->chunk[chunk].used) + nest_shared_used(nest, chunk);
}

nidus_status nest_copy(struct nest *to, const struct nest *from)
{
	memcpy(to->bits, from->bits, from->bits_memory.size);
	for (uint64_t i = 0; i < from->chunks; i++) {
		nidus_status status =
			overflow_copy(&to->chunk[i].stash, &from->chunk[i].stash, &to->allocator);
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
	for (uint64_t i = 0; i < nest->chunks; i++)
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
	for (uint64_t i = 0; i < nest->chunks && !(nest->mapped && nest->stashed == 0); i++)
		bytes += nest->chunk[i].stash.bytes;
	return bytes;
}

double nest_headroom(const struct nest *nest)
{
	uint64_t most = 0, slots = nest_chunk_slots(nest);
	if (nest->mapped)
		most = divide_up(nest->mapped_count - nest->surplus, nest->chunks);
	for (uint64_t i = 0; i < nest->chunks && !nest->mapped; i++) {
		uint64_t used = nest_used_in(nest, i);
		most = used > most ? used : most;
	}
	return most >= slots ? 0 : 1 - (double)most / (double)slots;
}

/* ---------------------------------------------------------------- identity -- */

struct nest_key nest_locate(const struct nest *nest, enum nest_kind kind, uint64_t hash)
{
	return nest_locate_as(nest, kind, nest->special, hash);
}

struct nest_key nest_key_in(const struct nest *nest, enum nest_kind kind, uint64_t chunk,
                            uint64_t slot, uint64_t value)
{
	uint64_t core = value & nest->core_values;
	uint64_t extra = (value >> nest->core_bits) & bits_low(nest->extra_bits);
	struct nest_key key = { .chunk = chunk };
	key.value = value & ~(bits_low(nest->extra_bits) << nest->core_bits);
	uint64_t group = kind == NEST_WINDOWS ? slot - (extra >> 1) : slot / nest->slots;
	if (nest_symmetric(kind)) {
		key.group[0] = group;
		key.group[1] = group ^ nest_hop(nest, kind, core);
		return key;
	}
	uint64_t distance = nest_hop(nest, kind, core);
	key.group[0] = extra & 1 ? nest_backward(nest, group, distance) : group;
	key.group[1] = nest_forward(nest, key.group[0], distance);
	return key;
}

nidus_entry nest_identity(const struct nest *nest, enum nest_kind kind, const struct nest_key *key)
{
	uint64_t core = key->value & nest->core_values;
	uint64_t tag = key->value >> nest->tag_at & bits_low(nest->tag_bits);
	return (nidus_entry){ nest_home_group(kind, key), core | tag << nest->core_bits,
		              key->value >> nest->payload_at };
}

struct nest_key nest_key_of_identity(const struct nest *nest, enum nest_kind kind, uint64_t chunk,
                                     nidus_entry entry)
{
	uint64_t core = entry.fingerprint & nest->core_values, hop = nest_hop(nest, kind, core);
	uint64_t other = nest_symmetric(kind) ? entry.home ^ hop
	                                      : nest_forward(nest, entry.home, hop);
	uint64_t tag = entry.fingerprint >> nest->core_bits;
	return (struct nest_key){
		.chunk = chunk,
		.group = { entry.home, other },
		.value = core | tag << nest->tag_at | entry.value << nest->payload_at,
	};
}

bool nest_encode_at(const struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                    uint64_t slot, uint64_t *value)
{
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(nest, kind, key->group[choice]);
		if (slot >= first && slot - first < nest->slots) {
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
	bool overlap = kind == NEST_WINDOWS && apart < nest->slots;
	return nest->slots + (overlap ? (unsigned)apart : nest->slots);
}

void nest_tally(const struct nest *nest, enum nest_kind kind, const struct nest_key *key,
                unsigned *empty, unsigned *copies)
{
	const unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	*empty = *copies = 0;
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(nest, kind, key->group[choice]);
		for (unsigned at = 0; at < nest->slots; at++) {
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
	for (unsigned at = 0; at < nest->slots; at++) {
		if (nest_get(nest, kind, bits, first + at) == 0)
			return true;
	}
	return false;
}

/* What the stash adds to a key's copies. */
static uint64_t stashed_copies(const struct nest *nest, const struct nest_key *key)
{
	const struct overflow *stash = &nest->chunk[key->chunk].stash;
	if (stash->nodes == 0 || nest_home_open(nest, nest->kind, key))
		return 0;
	nidus_entry identity = nest_identity(nest, nest->kind, key);
	return overflow_count_all(stash, &identity);
}

bool nest_look_again(const struct nest *nest, uint64_t hash)
{
	if (nest->shared != NULL)
		return nest_shared_look(nest, hash);
	struct nest_key key = nest_locate(nest, nest->kind, hash);
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
	if (nest->chunk[chunk].stash.nodes < nest->stash_limit)
		return false;
	uint64_t here = nest_used_in(nest, chunk);
	if (nest->stash_limit == 0 || here >= nest->capacity)
		return true;
	if (here < nest->capacity / nest->chunks)
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
	if (nest_stash_full(nest, key->chunk) && overflow_find(stash, &identity, true) == NULL)
		return fail(NIDUS_FULL, "no place for this key was found; the filter is full");
	nidus_status status = overflow_add(stash, &nest->allocator, &identity, copies);
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
		overflow_free(stash, &nest->allocator);
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
	uint64_t low = slot / nest->slots, high = low;
	if (nest->kind == NEST_WINDOWS) {
		low = slot < nest->slots ? 0 : slot - nest->slots + 1;
		high = slot < nest->groups ? slot : nest->groups - 1;
	}
	/* Entries are in the order of their homes. */
	const nidus_entry first = { .home = low };
	const struct overflow_node *node = overflow_from(stash, &first);
	for (; node != NULL; node = overflow_next(stash, &node->entry)) {
		struct nest_key key = nest_key_of_identity(nest, nest->kind, chunk, node->entry);
		if (node->entry.home > high)
			break;
		if (nest_encode_at(nest, nest->kind, &key, slot, value))
			return node;
	}
	return NULL;
}

void nest_bring_home(struct nest *nest, uint64_t chunk, uint64_t slot)
{
	uint64_t value;
	if (nest->chunk[chunk].stash.nodes == 0)
		return;
	if (nest_coded(nest->kind)) /* sorted: the empty slot is the bucket's first now */
		slot -= slot % nest->slots;
	const struct overflow_node *node = nest_stashed_for(nest, chunk, slot, &value);
	if (node == NULL)
		return;
	nest_set(nest, nest->kind, nest_chunk_bits(nest, chunk), slot, value);
	nest->chunk[chunk].used++;
	nest_stash_take(nest, chunk, &node->entry, 1);
}

/* Takes a stashed copy, which frees no slot; false if there is none. */
static bool take_from_stash(struct nest *nest, const struct nest_key *key)
{
	nidus_entry identity = nest_identity(nest, nest->kind, key);
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
	if (nest->stash_limit == 0 && only_copies)
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
	                nest_first_slot(nest, nest->kind, key.group[choice]) +
	                        (site.bit - spot.bit[choice]) / nest->width);
	return NIDUS_OK;
}

/* ---------------------------------------------------------------- instances -- */

ALWAYS_INLINE void prefetch(const struct nest *nest, enum nest_kind kind, uint64_t special,
                            uint64_t hash)
{
	const unsigned char *bits = nest->bits;
	struct nest_key key;
	uint64_t tag;
	bits += nest_take_chunk(nest, special, &hash, &tag) * nest->stride;
	nest_locate_in(nest, kind, special, hash, &key);
	for (unsigned i = 0; i < 2; i++) {
		const unsigned char *at = bits + (key.group[i] * nest->group_bits >> 3);
		PREFETCH(at);
		PREFETCH(at + nest->last_byte); /* it may lie in two lines */
	}
}

/* Out of line, but not as a function without effects, whose call the compiler leaves out. */
NEVER_INLINE void prefetch_any(const struct nest *nest, uint64_t hash)
{
	uint64_t special = nest->special | NEST_CHUNKS;
	__asm__ volatile("");
	if (special == (NEST_CHUNKS | NEST_TAKEN))
		prefetch(nest, NEST_XOR, NEST_CHUNKS | NEST_TAKEN, hash);
	else
		prefetch(nest, nest->kind, special, hash);
}

/* Code of their own for the ways that large nests of fixed size have, which needs no stack. */
void nest_prefetch(const struct nest *nest, uint64_t hash)
{
	if (UNLIKELY((nest->special | NEST_CHUNKS) != NEST_CHUNKS)) /* there may be one */
		prefetch_any(nest, hash);
	else if (nest_symmetric(nest->kind))
		prefetch(nest, NEST_XOR, NEST_CHUNKS, hash);
	else
		prefetch(nest, NEST_WINDOWS, NEST_CHUNKS, hash);
}

const struct body_ops *nest_ops(const struct nest *nest)
{
	switch (nest->kind) {
	case NEST_CODED_XOR:
	case NEST_CODED_BUCKETS:
		return nest_ops_coded(nest);
	case NEST_BUCKETS:
		return nest_ops_buckets(nest);
	case NEST_WINDOWS:
		return nest_ops_windows(nest);
	default:
		return nest_ops_xor(nest);
	}
}

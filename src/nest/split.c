/* SPDX-License-Identifier: MIT
 *
 * split: how the entries of a nest get to bodies of a growing filter (base/spread.h).
 *
 * When a body is split its entries go to two others at most. Each stays in its slot, gets another
 * tag, and slots become narrower or stay as wide. So the slots of a body are read and written as
 * rows, as many at a time as a word has room for, without a branch on what they hold:
 *
 *     row      | slot 0 | empty  | slot 2 | slot 3 |     fields as wide as slots of the body
 *     taken    |      1 |      0 |      1 |      1 |
 *     second   |      1 |      0 |      0 |      1 |     tags from the limit on
 *     first    |      0 |      0 | slot 2'|      0 |     with another tag
 *              |   0 |   0 |slt 2|   0 |                 fields as wide as slots of the target
 *
 * Where entries of two bodies come together, some find their slots taken. Of every eight slots, a
 * block, those entries come last, in order, and go to another slot that they may have, as an
 * insert would put them. With AVX2 a block is one row (split_avx2.c).
 *
 * Entries of files, and those that are merged into a directory, go one by one.
 */
#include "nest/split.h"
#include "base/reason.h"
#include "simd/isa.h"

/* --------------------------------------------------------------- one by one -- */

/*
 * The borrowed bits of a key, the highest first. They follow from its home and its core: short
 * cores alone have too few values to be spread evenly.
 */
ALWAYS_INLINE uint64_t borrowed_bits(const struct nest *nest, enum nest_kind kind,
                                     const struct nest_key *key)
{
	const uint64_t cores = nest->layout->core_values;
	return lender_spread(nest_home_group(kind, key) * cores + (key->value & cores) - 1);
}

uint64_t nest_borrowed_bits(const struct nest *nest, uint64_t hash)
{
	const enum nest_kind kind = nest->layout->kind;
	struct nest_key key = nest_locate(nest, kind, hash);
	return borrowed_bits(nest, kind, &key);
}

struct lender nest_lender(const struct nest *nest)
{
	const struct nest_layout *layout = nest->layout;
	struct lender lender = { .groups = layout->groups, .cores = layout->core_values };
	const bool direct = layout->kind == NEST_DIRECT;
	lender.lower = nest_symmetric(layout->kind);
	if (direct) {
		lender.direct = layout->direct_values;
	} else if (lender.lower) {
		lender.hops = layout->hops;
		lender.hop_mask = bits_low(NEST_HOP_BITS);
	}
	if ((lender.lower && !direct && layout->hops == NULL) ||
	    multiply_overflows(lender.groups, lender.cores, &lender.identities))
		lender.identities = 0;
	return lender;
}

/* The same of a slot, with the kind as a constant. */
uint64_t split_borrowed(const struct nest *nest, uint64_t slot, uint64_t value)
{
	struct nest_key key;
	switch (nest->layout->kind) {
	case NEST_WINDOWS:
		key = nest_key_in(nest, NEST_WINDOWS, 0, slot, value);
		return borrowed_bits(nest, NEST_WINDOWS, &key);
	case NEST_BUCKETS:
	case NEST_CODED_BUCKETS:
		key = nest_key_in(nest, NEST_BUCKETS, 0, slot, value);
		return borrowed_bits(nest, NEST_BUCKETS, &key);
	default:
		key = nest_key_in(nest, nest->layout->kind, 0, slot, value);
		return borrowed_bits(nest, NEST_XOR, &key);
	}
}

/* What a slot is to hold in another body: core, choice and offset stay, the tag is another one. */
ALWAYS_INLINE uint64_t with_tag(const struct nest *from, const struct nest *to, uint64_t value,
                                uint64_t tag)
{
	uint64_t payload = from->layout->payload_bits > 0 ? value >> from->layout->payload_at : 0;
	value &= bits_low(from->layout->tag_at);
	value |= tag << to->layout->tag_at;
	return to->layout->payload_bits > 0 ? value | payload << to->layout->payload_at : value;
}

/* The body that a key goes to, and its tag there. */
ALWAYS_INLINE struct spread_target target_of(const struct nest *from, enum nest_kind kind,
                                             const struct nest_key *key,
                                             const struct spread *spread)
{
	uint64_t tag = key->chunk;
	if (from->layout->parts > 0)
		tag = key->value >> from->layout->tag_at & bits_low(from->layout->tag_bits);
	return spread_choose(spread, tag, spread->borrows ? borrowed_bits(from, kind, key) : 0);
}

/* Puts a value into a slot, of a coded bucket into any; false if that is taken. */
ALWAYS_INLINE bool fill_slot(struct nest *to, enum nest_kind kind, uint64_t slot, uint64_t value)
{
	if (nest_coded(kind)) {
		uint64_t first = slot - slot % CODED_SLOTS; /* sorted: empty if any slot is */
		if (nest_get(to, kind, to->bits, first) != 0)
			return false;
		nest_set(to, kind, to->bits, first, value);
		return true;
	}
	uint64_t bit = slot * to->layout->width;
	unsigned char *at = to->bits + (bit >> 3);
	uint64_t word = load64(at);
	if ((word >> (bit & 7) & to->layout->slot_mask) != 0)
		return false;
	store64(at, word | value << (bit & 7));
	return true;
}

/* Puts the entry of a slot that is taken into another one, as nest_insert_key does, but quicker. */
ALWAYS_INLINE nidus_status put_elsewhere(struct nest *to, enum nest_kind kind, uint64_t slot,
                                         uint64_t value)
{
	struct nest_key key = nest_key_in(to, kind, 0, slot, value);
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(to, kind, key.group[choice]);
		for (unsigned at = 0; at < to->layout->slots; at++) {
			if (!fill_slot(to, kind, first + at,
			               nest_encode(to, kind, key.value, choice, at)))
				continue;
			to->chunk[0].used++;
			return NIDUS_OK;
		}
	}
	return nest_insert_key(to, &key);
}

/*
 * Puts an entry into a body: into this slot, which is empty unless entries of several bodies
 * come together.
 */
ALWAYS_INLINE nidus_status put_into_slot(struct nest *to, enum nest_kind kind, uint64_t slot,
                                         uint64_t value)
{
	if (LIKELY(fill_slot(to, kind, slot, value))) {
		to->chunk[0].used++;
		return NIDUS_OK;
	}
	return put_elsewhere(to, kind, slot, value);
}

/* The same with the kind as a constant. */
nidus_status split_put_late(struct nest *to, struct split_late *late)
{
	const enum nest_kind kind = to->layout->kind;
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < late->count && status == NIDUS_OK; i++) {
		uint64_t slot = late->slot[i], value = late->value[i];
		status = kind == NEST_WINDOWS   ? put_elsewhere(to, NEST_WINDOWS, slot, value)
		         : kind == NEST_BUCKETS ? put_elsewhere(to, NEST_BUCKETS, slot, value)
		         : kind == NEST_XOR     ? put_elsewhere(to, NEST_XOR, slot, value)
		                                : put_elsewhere(to, kind, slot, value);
	}
	late->count = 0;
	return status;
}

/* Puts the entry of a slot into the body where it goes. */
ALWAYS_INLINE nidus_status spread_slot(const struct nest *from, enum nest_kind kind, uint64_t chunk,
                                       uint64_t slot, uint64_t value, const struct spread *spread)
{
	struct nest_key key = { .chunk = chunk, .value = value };
	if (spread->borrows)
		key = nest_key_in(from, kind, chunk, slot, value);
	struct spread_target target = target_of(from, kind, &key, spread);
	return put_into_slot(target.body, kind, slot,
	                     with_tag(from, target.body, value, target.tag));
}

static nidus_status impossible_entry(uint64_t chunk)
{
	return fail(NIDUS_E_CORRUPT, "chunk %llu holds no possible entry",
	            (unsigned long long)chunk);
}

static nidus_status spread_stash(const struct nest *from, uint64_t chunk,
                                 const struct spread *spread)
{
	const enum nest_kind kind = from->layout->kind;
	const struct overflow *stash = &from->chunk[chunk].stash;
	const struct overflow_node *node = overflow_next(stash, NULL);
	nidus_status status = NIDUS_OK;
	for (; node != NULL && status == NIDUS_OK; node = overflow_next(stash, &node->entry)) {
		struct nest_key key = nest_key_of_identity(from, kind, chunk, node->entry);
		struct spread_target target = target_of(from, kind, &key, spread);
		uint64_t left = node->copies;
		if (target.body == NULL)
			return impossible_entry(chunk);
		key.chunk = 0;
		key.value = with_tag(from, target.body, key.value, target.tag);
		status = nest_insert_copies(target.body, &key, &left);
	}
	return status;
}

/* Puts the entries of all slots of a chunk, from one on, where they go. */
ALWAYS_INLINE nidus_status spread_slots(const struct nest *from, enum nest_kind kind,
                                        uint64_t chunk, uint64_t slot, const struct spread *spread)
{
	const unsigned char *bits = nest_chunk_bits(from, chunk);
	const uint64_t slots = nest_chunk_slots(from->layout);
	nidus_status status = NIDUS_OK;
	for (; slot < slots && status == NIDUS_OK; slot++) {
		uint64_t value = nest_get(from, kind, bits, slot);
		if (value != 0)
			status = spread_slot(from, kind, chunk, slot, value, spread);
	}
	return status;
}

/* The same of slots of a file, which may be anything, even after a check. */
static nidus_status spread_mapped(const struct nest *from, uint64_t chunk,
                                  const struct spread *spread)
{
	const enum nest_kind kind = from->layout->kind;
	const unsigned char *bits = nest_chunk_bits(from, chunk);
	const uint64_t slots = nest_chunk_slots(from->layout);
	nidus_status status = NIDUS_OK;
	for (uint64_t slot = 0; slot < slots && status == NIDUS_OK; slot++) {
		uint64_t value = nest_get(from, kind, bits, slot);
		if (value == 0)
			continue;
		if (!nest_slot_possible(from, slot, value))
			return impossible_entry(chunk);
		struct nest_key key = nest_key_in(from, kind, chunk, slot, value);
		if (target_of(from, kind, &key, spread).body == NULL)
			return impossible_entry(chunk);
		status = spread_slot(from, kind, chunk, slot, value, spread);
	}
	return status;
}

/* The same with the kind as a constant where a slot is read in no time. */
static nidus_status spread_slots_of(const struct nest *from, uint64_t chunk, uint64_t slot,
                                    const struct spread *spread)
{
	switch (from->layout->kind) {
	case NEST_CODED_XOR:
	case NEST_CODED_BUCKETS:
		return spread_slots(from, from->layout->kind, chunk, slot, spread);
	case NEST_BUCKETS:
		return spread_slots(from, NEST_BUCKETS, chunk, slot, spread);
	case NEST_WINDOWS:
		return spread_slots(from, NEST_WINDOWS, chunk, slot, spread);
	default:
		return spread_slots(from, NEST_XOR, chunk, slot, spread);
	}
}

/* ---------------------------------------------------------------------- rows -- */

#define ROW_MOST 4 /* slots */

/* Slots of a row: as many as a word has room for, wherever in a byte they begin. */
static unsigned row_slots(unsigned width)
{
	return width <= 16 ? ROW_MOST : width <= 30 ? 2 : 1;
}

ALWAYS_INLINE uint64_t row_load(const struct row *row, const unsigned char *bits, uint64_t slot)
{
	uint64_t bit = slot * row->width;
	return load64(bits + (bit >> 3)) >> (bit & 7) & row->all;
}

/* How many fields these lowest bits are of. */
ALWAYS_INLINE uint64_t row_count(const struct row *row, uint64_t ones)
{
	return (ones * row->ones & row->all) >> (row->bits - row->width);
}

/* --------------------------------------------------------------------- lanes -- */

/* A body that entries go to, row by row. */
struct lane {
	struct nest *to;
	struct row row;
	uint64_t added;            /* to a slot: what its tag becomes more */
	unsigned narrower;         /* a slot is by so many bits */
	uint64_t below, payloads;  /* of a row that comes: what lies below payloads, and these */
	uint64_t narrow[ROW_MOST]; /* each field, where it lies when it is narrower */
	bool fresh;                /* no slot was taken before */
	struct split_late late;    /* entries of this block */
	unsigned char *at;         /* the next word of the table, */
	uint64_t word;             /* and its lowest bits, which were not written yet */
	unsigned bits;
};

/* Goes on writing at a slot. */
static void lane_seek(struct lane *lane, uint64_t slot)
{
	uint64_t bit = slot * lane->row.width;
	lane->at = lane->to->bits + (bit >> 3);
	lane->bits = bit & 7;
	lane->word = load64(lane->at) & bits_low(lane->bits);
}

/* Writes what is left. */
static void lane_flush(struct lane *lane)
{
	store64(lane->at, (load64(lane->at) & ~bits_low(lane->bits)) | lane->word);
}

static struct lane lane_of(const struct nest *from, const struct spread_range *range,
                           unsigned slots)
{
	struct nest *to = range->body;
	const unsigned width = from->layout->width, payload_at = from->layout->payload_at;
	struct lane lane = {
		.to = to,
		.row = row_of(to->layout, slots),
		.added = range->added << from->layout->tag_at,
		.narrower = width - to->layout->width,
		.below = fields_ones(width, slots) * bits_low(payload_at),
		.fresh = to->chunk[0].used == 0,
	};
	lane.payloads = bits_low(slots * width) & ~lane.below;
	for (unsigned i = 0; i < slots; i++)
		lane.narrow[i] = bits_low(to->layout->width) << i * to->layout->width;
	return lane;
}

/* Fields as they are in the lane's body, from fields of the width that they come with. */
ALWAYS_INLINE uint64_t lane_narrow(const struct lane *lane, unsigned slots, uint64_t fields)
{
	if (lane->payloads != 0)
		fields = (fields & lane->below) | (fields & lane->payloads) >> lane->narrower;
	uint64_t narrow = fields & lane->narrow[0];
	for (unsigned i = 1; i < slots; i++) {
		fields >>= lane->narrower;
		narrow |= fields & lane->narrow[i];
	}
	return narrow;
}

/* Writes the next row. */
ALWAYS_INLINE void lane_write(struct lane *lane, uint64_t fields)
{
	lane->word |= fields << lane->bits;
	unsigned bits = lane->bits + lane->row.bits;
	if (bits >= 64) {
		store64(lane->at, lane->word);
		lane->at += 8;
		lane->word = fields >> 1 >> (63 - lane->bits);
		bits -= 64;
	}
	lane->bits = bits;
}

/* Keeps the entries of a row back whose slots are taken, by their lowest bits; what is left. */
NEVER_INLINE uint64_t lane_hold_back(struct lane *lane, uint64_t slot, uint64_t fields,
                                     uint64_t taken)
{
	struct split_late *late = &lane->late;
	for (; taken != 0; taken &= taken - 1, late->count++) {
		unsigned bit = (unsigned)__builtin_ctzll(taken);
		late->slot[late->count] = slot + bit / lane->row.width;
		late->value[late->count] = fields >> bit & lane->narrow[0];
		fields &= ~(lane->narrow[0] << bit);
	}
	return fields;
}

/* Puts the entries of a row, so many, into the lane's body, to the slots from one on. */
ALWAYS_INLINE void lane_put(struct lane *lane, uint64_t slot, uint64_t fields, uint64_t count)
{
	if (!lane->fresh) {
		uint64_t there = row_load(&lane->row, lane->to->bits, slot);
		uint64_t both = row_taken(&lane->row, there) & row_taken(&lane->row, fields);
		if (both != 0) {
			count -= row_count(&lane->row, both);
			fields = lane_hold_back(lane, slot, fields, both);
		}
		fields |= there;
	}
	lane->to->chunk[0].used += count;
	lane_write(lane, fields);
}

/* Puts those in that were held back, and goes on at a slot. */
NEVER_INLINE nidus_status lane_end_block(struct lane *lane, uint64_t slot)
{
	lane_flush(lane);
	nidus_status status = split_put_late(lane->to, &lane->late);
	lane_seek(lane, slot);
	return status;
}

/* -------------------------------------------------------------------- splits -- */

/* A body that is split. */
struct split {
	const struct nest *from;
	const struct spread *spread;
	struct row row;
	struct row_limit limit; /* the lowest fields of the second lane */
	unsigned lanes;
	struct lane lane[2];
};

static struct split split_of(const struct nest *from, const struct spread *spread, unsigned slots)
{
	const struct nest_layout *layout = from->layout;
	struct split split = {
		.from = from,
		.spread = spread,
		.row = row_of(layout, slots),
		.limit = row_limit_of(layout, slots, spread->limit),
		.lanes = spread->range[0].body == spread->range[1].body ? 1 : 2,
	};
	for (unsigned i = 0; i < split.lanes; i++)
		split.lane[i] = lane_of(from, &spread->range[i], slots);
	return split;
}

uint64_t split_by_borrowed(const struct nest *from, const struct spread *spread, unsigned slots,
                           uint64_t slot, uint64_t fields, uint64_t second)
{
	const struct nest_layout *layout = from->layout;
	for (unsigned i = 0; i < slots; i++, fields >>= layout->width) {
		uint64_t tag = fields >> layout->tag_at & bits_low(layout->tag_bits);
		if (tag == spread->limit &&
		    split_borrowed(from, slot + i, fields & layout->slot_mask) < spread->borrowed)
			second &= ~(UINT64_C(1) << i * layout->width);
	}
	return second;
}

/* The lowest bits of fields that go to the second lane; those of empty ones may be anything. */
ALWAYS_INLINE uint64_t split_second(const struct split *split, unsigned slots, uint64_t slot,
                                    uint64_t fields)
{
	uint64_t second = row_from(&split->limit, fields);
	if (UNLIKELY(split->spread->borrows))
		second = split_by_borrowed(split->from, split->spread, slots, slot, fields, second);
	return second;
}

/* Puts the entries of a row, whose lowest bits are `taken`, into a lane. */
ALWAYS_INLINE void split_to(struct split *split, struct lane *lane, unsigned slots, uint64_t slot,
                            uint64_t fields, uint64_t taken)
{
	fields = lane_narrow(lane, slots, fields + taken * lane->added);
	lane_put(lane, slot, fields, row_count(&split->row, taken));
}

ALWAYS_INLINE void split_row(struct split *split, unsigned slots, uint64_t slot)
{
	uint64_t fields = row_load(&split->row, split->from->bits, slot);
	uint64_t taken = row_taken(&split->row, fields), second = 0;
	if (split->lanes > 1) {
		second = split_second(split, slots, slot, fields) & taken;
		uint64_t there = fields & second * split->from->layout->slot_mask;
		split_to(split, &split->lane[1], slots, slot, there, second);
		fields ^= there;
	}
	split_to(split, &split->lane[0], slots, slot, fields, taken ^ second);
}

/* Splits all blocks of a body from a slot on. */
ALWAYS_INLINE nidus_status split_rows(const struct nest *from, const struct spread *spread,
                                      unsigned slots, uint64_t slot, uint64_t end)
{
	struct split split = split_of(from, spread, slots);
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < split.lanes; i++)
		lane_seek(&split.lane[i], slot);
	while (slot < end && status == NIDUS_OK) {
		for (unsigned i = 0; i < SPLIT_BLOCK / slots; i++, slot += slots)
			split_row(&split, slots, slot);
		for (unsigned i = 0; i < split.lanes && status == NIDUS_OK; i++) {
			if (split.lane[i].late.count > 0)
				status = lane_end_block(&split.lane[i], slot);
		}
	}
	for (unsigned i = 0; i < split.lanes && status == NIDUS_OK; i++)
		lane_flush(&split.lane[i]);
	return status;
}

/* Whether a body is split, into others whose slots are no wider, nor too narrow to be counted. */
static bool is_split(const struct nest *from, const struct spread *spread)
{
	const struct nest_layout *layout = from->layout;
	if (spread->choose != NULL || from->mapped || spread->limit > bits_low(layout->tag_bits))
		return false;
	for (unsigned i = 0; i < 2; i++) {
		const struct nest *to = spread->range[i].body;
		if (to->layout->width > layout->width || to->layout->width < 3)
			return false;
	}
	return true;
}

/* Splits a body, one block after the other; what is no whole block slot by slot. */
static nidus_status spread_rows(const struct nest *from, const struct spread *spread)
{
	const uint64_t end = nest_chunk_slots(from->layout) / SPLIT_BLOCK * SPLIT_BLOCK;
	uint64_t done = 0;
	nidus_status status = NIDUS_OK;
#ifdef NIDUS_HAVE_AVX2
	if (isa_tier() == ISA_AVX2)
		status = split_blocks_avx2(from, spread, &done);
#endif
	if (status != NIDUS_OK)
		return status;
	switch (row_slots(from->layout->width)) {
	case ROW_MOST:
		status = split_rows(from, spread, ROW_MOST, done, end);
		break;
	case 2:
		status = split_rows(from, spread, 2, done, end);
		break;
	default:
		status = split_rows(from, spread, 1, done, end);
	}
	return status == NIDUS_OK ? spread_slots_of(from, 0, end, spread) : status;
}

/* -------------------------------------------------------------- coded buckets -- */

/*
 * A body whose buckets are coded is split bucket by bucket: as rows, but each is sorted and coded
 * once. Entries stay in order: what comes to an empty bucket need not be sorted.
 */

/* Puts an entry whose bucket is full into the other one that it may have, as put_elsewhere does. */
static nidus_status put_into_other_bucket(struct nest *to, uint64_t bucket, uint64_t value)
{
	const enum nest_kind kind = to->layout->kind;
	const struct coded_masks *masks = &to->layout->coding;
	struct nest_key key = nest_key_in(to, kind, 0, bucket * CODED_SLOTS, value);
	unsigned choice = key.group[0] == bucket;
	uint64_t bit = key.group[choice] * to->layout->group_bits;
	struct coded_parts parts = coded_parts_in(masks, coded_load(to->bits, bit));
	if (!coded_first_empty(masks, parts))
		return nest_insert_key(to, &key);
	parts = coded_filled(masks, parts, nest_encode(to, kind, key.value, choice, 0));
	coded_store(masks, to->bits, bit, coded_bits_of(parts));
	to->chunk[0].used++;
	return NIDUS_OK;
}

nidus_status split_join_bucket(struct nest *to, uint64_t bucket, uint64_t fields)
{
	const struct nest_layout *layout = to->layout;
	const struct coded_masks *masks = &layout->coding;
	const uint64_t bit = bucket * layout->group_bits;
	struct coded_parts parts = coded_parts_in(masks, coded_load(to->bits, bit));
	nidus_status status = NIDUS_OK;
	for (; fields != 0 && status == NIDUS_OK; fields >>= layout->width) {
		uint64_t value = fields & layout->slot_mask;
		if (value == 0)
			continue;
		if (coded_first_empty(masks, parts)) {
			parts = coded_filled(masks, parts, value);
			to->chunk[0].used++;
			continue;
		}
		coded_store(masks, to->bits, bit, coded_bits_of(parts));
		status = put_into_other_bucket(to, bucket, value);
		parts = coded_parts_in(masks, coded_load(to->bits, bit));
	}
	coded_store(masks, to->bits, bit, coded_bits_of(parts));
	return status;
}

/* Fields in ascending order, some of them empty, as a bucket: empty slots first. */
ALWAYS_INLINE uint64_t bucket_of_row(const struct nest_layout *layout, uint64_t fields)
{
	const unsigned rest_bits = layout->coding.rest_bits;
	struct coded_parts parts = { 0, 0 };
	for (unsigned i = 0; i < CODED_SLOTS; i++, fields >>= layout->width) {
		uint64_t value = fields & layout->slot_mask;
		unsigned any = 0 - (unsigned)(value != 0);
		parts.nibbles = parts.nibbles >> (4 & any) | (value & 15) << 12;
		parts.rests = parts.rests >> (rest_bits & any) | value >> 4 << 3 * rest_bits;
	}
	return coded_bits_of(parts);
}

/* Puts the entries of a row, whose lowest bits are `taken`, into a bucket of a lane. */
ALWAYS_INLINE nidus_status bucket_to(const struct split *split, const struct lane *lane,
                                     uint64_t bucket, uint64_t fields, uint64_t taken)
{
	struct nest *to = lane->to;
	const uint64_t bit = bucket * to->layout->group_bits;
	fields = lane_narrow(lane, CODED_SLOTS, fields + taken * lane->added);
	if ((coded_load(to->bits, bit) & to->layout->coding.all) != 0)
		return split_join_bucket(to, bucket, fields);
	coded_store(&to->layout->coding, to->bits, bit, bucket_of_row(to->layout, fields));
	to->chunk[0].used += row_count(&split->row, taken);
	return NIDUS_OK;
}

static nidus_status spread_buckets(const struct nest *from, const struct spread *spread)
{
	const struct nest_layout *layout = from->layout;
	const struct split split = split_of(from, spread, CODED_SLOTS);
	nidus_status status = NIDUS_OK;
	for (uint64_t bucket = 0; bucket < layout->groups && status == NIDUS_OK; bucket++) {
		uint64_t bits = coded_load(from->bits, bucket * layout->group_bits);
		uint64_t fields = coded_fields_in(&layout->coding, bits & layout->coding.all);
		uint64_t taken = row_taken(&split.row, fields), second = 0;
		if (split.lanes > 1) {
			second = split_second(&split, CODED_SLOTS, bucket * CODED_SLOTS, fields);
			second &= taken;
			uint64_t there = fields & second * layout->slot_mask;
			status = bucket_to(&split, &split.lane[1], bucket, there, second);
			fields ^= there;
		}
		if (status == NIDUS_OK)
			status = bucket_to(&split, &split.lane[0], bucket, fields, taken ^ second);
	}
	return status;
}

/* ----------------------------------------------------------------------- all -- */

/* Whether buckets are coded, and worked on in a word in all bodies. */
static bool goes_by_buckets(const struct nest *from, const struct spread *spread)
{
	const struct nest *first = spread->range[0].body, *second = spread->range[1].body;
	return nest_coded(from->layout->kind) && from->layout->in_words == NEST_ONE &&
	       first->layout->in_words == NEST_ONE && second->layout->in_words == NEST_ONE;
}

static nidus_status spread_chunk(const struct nest *from, uint64_t chunk,
                                 const struct spread *spread)
{
	const bool split = is_split(from, spread);
	if (split && !nest_coded(from->layout->kind))
		return spread_rows(from, spread);
	if (split && goes_by_buckets(from, spread)) {
#ifdef NIDUS_HAVE_AVX2
		if (isa_tier() == ISA_AVX2)
			return split_buckets_avx2(from, spread);
#endif
		return spread_buckets(from, spread);
	}
	return from->mapped ? spread_mapped(from, chunk, spread)
	                    : spread_slots_of(from, chunk, 0, spread);
}

nidus_status nest_spread(const struct nest *from, const struct spread *spread)
{
	nidus_status status = NIDUS_OK;
	for (uint64_t chunk = 0; chunk < from->layout->chunks && status == NIDUS_OK; chunk++) {
		status = spread_chunk(from, chunk, spread);
		if (status == NIDUS_OK)
			status = spread_stash(from, chunk, spread);
	}
	return status;
}

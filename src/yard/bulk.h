/* SPDX-License-Identifier: MIT
 *
 * yard_bulk: many entries at once: builds from ascending hashes, one yard into another, and bodies
 * of growing filters that are split.
 *
 * But for the front lines of a build, which are hot, the code is compiled once per tier.
 */
#ifndef NIDUS_YARD_BULK_H
#define NIDUS_YARD_BULK_H

#include "yard/split.h"
#include "yard/trio.h"

#define YARD_MOST (3 * MINI_SLOTS_MOST) /* entries of a front bucket, and an end */

/* ------------------------------------------------------- from ascending hashes -- */

/* Whether the hashes before this one, which ascend, are as many copies as there may be. */
static inline bool yard_copied(const struct yard *yard, const uint64_t *hashes, size_t at,
                               struct yard_key key)
{
	if (at < YARD_COPIES)
		return false;
	struct yard_key other = yard_locate(yard, hashes[at - YARD_COPIES]);
	return other.bucket == key.bucket && other.m == key.m && other.remainder == key.remainder;
}

NEVER_INLINE bool yard_any_copied(const struct yard *yard, const uint64_t *hashes, size_t n)
{
	bool any = false;
	for (size_t at = YARD_COPIES; at < n; at++)
		any |= yard_copied(yard, hashes, at, yard_locate(yard, hashes[at]));
	return any;
}

/* Whether n ascending hashes of a front bucket have more copies of a key than there may be. */
ALWAYS_INLINE bool yard_crowds(const struct yard *yard, struct yard_shape shape,
                               const uint64_t *hashes, size_t n)
{
	const unsigned step = YARD_COPIES / 2;
	bool any = false;
	/* Copies that are too many have two of every eighth hash among them. */
	for (size_t at = step; at < n; at += step) {
		unsigned buckets = shape.front.buckets, width = shape.front.width;
		any |= yard_locate_in(yard, hashes[at], buckets, width).m ==
		       yard_locate_in(yard, hashes[at - step], buckets, width).m;
	}
	return UNLIKELY(any) && yard_any_copied(yard, hashes, n);
}

/*
 * Writes the line of a front bucket, as if ascending hashes had been put into an empty one until
 * another bucket's comes or it is full; gives how many there are.
 */
ALWAYS_INLINE unsigned yard_fill_front(const struct yard *yard, struct yard_shape shape,
                                       uint64_t bucket, const uint64_t *hashes, size_t n)
{
	unsigned char *line = yard_front_line(yard, shape, bucket);
	unsigned most = n < shape.front.slots ? (unsigned)n : shape.front.slots, count = 0;
	uint64_t zeros[2] = { 0, 0 };
	mini_clear(shape.front, line);
	for (unsigned word = 0; word < 2; word++) {
		uint64_t here = 0;
		for (; count < most; count++) {
			struct yard_key key = yard_locate_in(
				yard, hashes[count], shape.front.buckets, shape.front.width);
			unsigned zero = key.m + count;
			if (key.bucket != bucket || (word == 0 && zero >= 64))
				break;
			here |= UINT64_C(1) << (zero & 63);
			mini_set_remainder(shape.front, line, count, key.remainder);
		}
		zeros[word] = here;
	}
	mini_store_zeros(shape.front, line, (struct mini_sizes){ zeros[0], zeros[1] }, count);
	return count;
}

/* Hashes of a front bucket at the beginning of some. */
ALWAYS_INLINE size_t yard_hashes_of(const struct yard *yard, struct yard_shape shape,
                                    uint64_t bucket, const uint64_t *hashes, size_t n)
{
	size_t count = 0;
	while (count < n &&
	       yard_locate_in(yard, hashes[count], shape.front.buckets, shape.front.width).bucket ==
	               bucket)
		count++;
	return count;
}

ALWAYS_INLINE bool yard_fill_fronts(struct yard *yard, struct yard_shape shape,
                                    const uint64_t *hashes, const uint64_t *values, size_t n)
{
	/* Its numbers stay in registers while lines are written. */
	const struct yard copy = *yard;
	for (size_t at = 0; at < n;) {
		uint64_t bucket =
			yard_locate_in(&copy, hashes[at], shape.front.buckets, shape.front.width)
				.bucket;
		unsigned count = yard_fill_front(&copy, shape, bucket, hashes + at, n - at);
		if (UNLIKELY(yard_crowds(&copy, shape, hashes + at, count)))
			return false;
		if (values != NULL)
			yard_fill_values(yard_front_values(yard, bucket), values + at, count);
		at += count;
		if (count == shape.front.slots) /* the others spill, later */
			at += yard_hashes_of(&copy, shape, bucket, hashes + at, n - at);
	}
	return true;
}

/* Puts the highest entry of a front bucket whose line is full into the backyard. */
NEVER_INLINE nidus_status yard_put_highest_any(struct yard *yard, struct yard_key key)
{
	struct yard_trio trio = yard_trio_of(yard, yard->ops->shape, key.bucket);
	while (UNLIKELY(yard_put_back(yard->ops->shape, &trio, key) != NIDUS_OK)) {
		if (!yard_make_room(yard, key.bucket)) {
			nidus_status status = yard_list_spill(yard, key);
			yard->count += status == NIDUS_OK;
			return status;
		}
	}
	yard->count++;
	return NIDUS_OK;
}

/* The same, quicker where most filters need no more. */
static nidus_status yard_put_highest(struct yard *yard, struct yard_key key)
{
	static const struct yard_shape frequent = YARD_SHAPE_OF(YARD_MOST_FREQUENT);
	if (UNLIKELY(yard->ops->shape.front.slots != frequent.front.slots) ||
	    UNLIKELY(yard->values != NULL))
		return yard_put_highest_any(yard, key);
	unsigned char *line = yard_back_line_in(yard, frequent, key.bucket, 0);
	unsigned char *odd = yard_back_line_in(yard, frequent, key.bucket, 1);
	if (yard_back_count(frequent, odd) < yard_back_count(frequent, line))
		line = odd;
	if (UNLIKELY(mini_full(frequent.back, line)))
		return yard_put_highest_any(yard, key);
	mini_insert(frequent.back, line, key.m, key.remainder, yard_crumb(key.bucket));
	yard->count++;
	return NIDUS_OK;
}

/* What front buckets from `bucket` up to `end` could not take of their hashes. */
static nidus_status yard_fill_back(struct yard *yard, const uint64_t *hashes,
                                   const uint64_t *values, size_t n, uint64_t bucket, uint64_t end)
{
	const struct mini_shape shape = yard->ops->shape.front;
	for (size_t at = 0; bucket < end && at < n; bucket++) {
		const unsigned char *line = yard->front + bucket * mini_line(shape);
		unsigned here = mini_count(shape, mini_sizes_of(shape, line));
		at += here;
		yard->count += here;
		while (here == shape.slots && at < n) {
			struct yard_key key = yard_locate(yard, hashes[at]);
			if (key.bucket != bucket)
				break;
			if (UNLIKELY(yard_copied(yard, hashes, at, key)))
				return NIDUS_COPIES; /* the caller does it another way */
			key.beside = values != NULL ? values[at] : 0;
			nidus_status status = yard_put_highest(yard, key);
			if (status != NIDUS_OK)
				return status;
			at++;
		}
	}
	return NIDUS_OK;
}

/* ------------------------------------------------------------------- transferring -- */

/* Entries of a front bucket in one of its backyard lines, packed; gives how many. */
NEVER_INLINE unsigned yard_gather_half(const struct yard *yard, uint64_t bucket, unsigned half,
                                       uint32_t *packed)
{
	const struct mini_shape shape = yard->ops->shape.back;
	unsigned count = 0;
	const unsigned char *line = yard_back_line(yard, bucket, half);
	YARD_TOUCH(line);
	struct mini_sizes sizes = mini_sizes_of(shape, line);
	uint64_t there = bits_low(mini_count(shape, sizes));
	uint64_t ours = mini_match_crumb(shape, line, there, yard_crumb(bucket));
	for (; ours != 0; ours &= ours - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(ours);
		packed[count++] = MINI_PACK(mini_bucket_of(shape, sizes, slot),
		                            mini_remainder(shape, line, slot));
	}
	packed[count] = MINI_PACK_END;
	return count;
}

/* All entries of a front bucket, wherever they are, in mini-bucket order. */
static inline unsigned yard_gather(const struct yard *yard, uint64_t bucket, uint32_t *packed)
{
	const struct yard_shape shape = yard->ops->shape;
	unsigned count = mini_unpack(shape.front, yard_front_line(yard, shape, bucket), packed);
	if (count < shape.front.slots)
		return count;
	uint32_t even[MINI_SLOTS_MOST + 1], odd[MINI_SLOTS_MOST + 1];
	unsigned spilled = yard_gather_half(yard, bucket, 0, even);
	spilled += yard_gather_half(yard, bucket, 1, odd);
	mini_merge(even, odd, packed + count, spilled);
	return count + spilled;
}

/* How an entry goes into its front bucket. */
typedef nidus_status (*yard_putter)(struct yard *yard, struct yard_key key);

ALWAYS_INLINE nidus_status yard_put_each(struct yard *yard, uint64_t bucket, const uint32_t *packed,
                                         unsigned n, yard_putter put)
{
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < n && status == NIDUS_OK; i++) {
		struct yard_key key = { bucket, MINI_PACK_BUCKET(packed[i]),
			                MINI_PACK_REMAINDER(packed[i]), 0 };
		status = put(yard, key);
	}
	return status;
}

NEVER_INLINE nidus_status yard_put_packed(struct yard *yard, uint64_t bucket,
                                          const uint32_t *packed, unsigned n)
{
	return yard_put_each(yard, bucket, packed, n, yard->ops->put);
}

/* Puts entries that are above all of a full front line into the backyard. Errors: FULL. */
NEVER_INLINE nidus_status yard_spill_packed(struct yard *yard, uint64_t bucket,
                                            const uint32_t *packed, unsigned n)
{
	return yard_put_each(yard, bucket, packed, n, yard_put_highest);
}

/* Whether some mini-bucket is so full that copies must be counted. */
static inline bool yard_any_crowded(const uint32_t *packed, unsigned n)
{
	const unsigned step = YARD_COPIES / 2;
	bool any = false;
	/* Equal neighbours that are too many have two of every eighth one among them. */
	for (unsigned i = step; i < n; i += step)
		any |= MINI_PACK_BUCKET(packed[i]) == MINI_PACK_BUCKET(packed[i - step]);
	if (LIKELY(!any))
		return false;
	any = false;
	for (unsigned i = YARD_COPIES; i < n; i++)
		any |= MINI_PACK_BUCKET(packed[i]) == MINI_PACK_BUCKET(packed[i - YARD_COPIES]);
	return any;
}

/* What a front line has and n fresh entries, both in mini-bucket order; gives how many. */
NEVER_INLINE unsigned yard_merge_front(const struct yard *yard, uint64_t bucket, uint32_t *fresh,
                                       unsigned n, uint32_t *all)
{
	const struct mini_shape shape = yard->ops->shape.front;
	uint32_t old[MINI_SLOTS_MOST + 1];
	unsigned here = mini_unpack(shape, yard->front + bucket * mini_line(shape), old);
	old[here] = fresh[n] = MINI_PACK_END;
	if (here == 0)
		memcpy(all, fresh, n * sizeof *all);
	else
		mini_merge(old, fresh, all, here + n);
	return here + n;
}

/*
 * Adds entries in mini-bucket order to a front bucket: its line is written anew
 * with the lowest of old and new ones, the others go to the backyard. What is
 * there already is no lower than the line's last one was, and stays.
 */
static nidus_status yard_put_sorted(struct yard *yard, uint64_t bucket, uint32_t *fresh, unsigned n)
{
	const struct mini_shape shape = yard->ops->shape.front;
	unsigned char *line = yard->front + bucket * mini_line(shape);
	uint32_t all[YARD_MOST + MINI_SLOTS_MOST];
	unsigned total = yard_merge_front(yard, bucket, fresh, n, all), here = total - n;
	if (UNLIKELY(yard_any_crowded(all, total)))
		return yard_put_packed(yard, bucket, fresh, n);
	unsigned stay = total < shape.slots ? total : shape.slots;
	mini_fill(shape, line, all, stay);
	yard->count += stay - here;
	/* Nothing of a line that had room is in the backyard: all copies were seen above. */
	if (LIKELY(here < shape.slots))
		return yard_spill_packed(yard, bucket, all + stay, total - stay);
	return yard_put_packed(yard, bucket, all + stay, total - stay);
}

static nidus_status yard_transfer_all(struct yard *to, const struct yard *from)
{
	uint32_t all[YARD_MOST];
	nidus_status status = NIDUS_OK;
	for (uint64_t bucket = 0; bucket < from->fronts && status == NIDUS_OK; bucket++) {
		unsigned n = yard_gather(from, bucket, all);
		if (n > 0)
			status = yard_put_sorted(to, bucket, all, n);
	}
	return status;
}

/* ---------------------------------------------------------------------- spreading -- */

/* Entries of a front bucket in mini-bucket order, packed, and what lies beside each. */
struct yard_entries {
	unsigned count;
	uint32_t packed[YARD_MOST];
	uint64_t beside[YARD_MOST];
};

/* Adds an entry behind all whose mini-bucket is not above its own. */
static inline void yard_sort_in(struct yard_entries *all, uint32_t packed, uint64_t beside)
{
	const uint32_t last_equal = packed | (uint32_t)bits_low(MINI_PACK_BITS);
	unsigned at = all->count++;
	for (; at > 0 && all->packed[at - 1] > last_equal; at--) {
		all->packed[at] = all->packed[at - 1];
		all->beside[at] = all->beside[at - 1];
	}
	all->packed[at] = packed;
	all->beside[at] = beside;
}

/* What lies beside the first entries of a front line; a word from any of them on must be there. */
static inline void yard_read_besides(const struct yard *yard, uint64_t bucket, unsigned count,
                                     uint64_t *beside)
{
	struct yard_values values = yard_front_values(yard, bucket);
	const unsigned bits = yard->beside_bits;
	if (values.bytes == NULL) {
		memset(beside, 0, count * sizeof *beside);
		return;
	}
	for (unsigned slot = 0, bit = 0; slot < count; slot++, bit += bits)
		beside[slot] = load64(values.bytes + bit / 8) >> bit % 8 & bits_low(bits);
}

/* Adds those of a front bucket's entries that are in one of its backyard lines. */
NEVER_INLINE void yard_gather_spilled(const struct yard *yard, uint64_t bucket, unsigned half,
                                      struct yard_entries *all)
{
	const struct mini_shape shape = yard->ops->shape.back;
	struct yard_back back = yard_back_of(yard, yard_back_line(yard, bucket, half));
	struct mini_sizes sizes = mini_sizes_of(shape, back.line);
	uint64_t there = bits_low(mini_count(shape, sizes));
	uint64_t ours = mini_match_crumb(shape, back.line, there, yard_crumb(bucket));
	for (; ours != 0; ours &= ours - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(ours);
		uint32_t packed = MINI_PACK(mini_bucket_of(shape, sizes, slot),
		                            mini_remainder(shape, back.line, slot));
		yard_sort_in(all, packed, yard_value(back.values, slot));
	}
}

/* All entries of a front bucket that its lines hold. */
ALWAYS_INLINE void yard_gather_entries(const struct yard *yard, struct yard_shape shape,
                                       uint64_t bucket, struct yard_entries *all)
{
	all->count = mini_unpack(shape.front, yard_front_line(yard, shape, bucket), all->packed);
	yard_read_besides(yard, bucket, all->count, all->beside);
	for (unsigned half = 0; half < 2 && all->count >= shape.front.slots; half++)
		yard_gather_spilled(yard, bucket, half, all);
}

/* Entry number i of a front bucket. */
static inline struct yard_key yard_entry_at(const struct yard_entries *all, unsigned i,
                                            uint64_t bucket)
{
	return (struct yard_key){ bucket, MINI_PACK_BUCKET(all->packed[i]),
		                  MINI_PACK_REMAINDER(all->packed[i]), all->beside[i] };
}

/*
 * Adds entries to a front bucket. One that is empty is written at once: nothing of it is in the
 * backyard or the list, and lines never give more copies of a key than lines may hold.
 */
ALWAYS_INLINE nidus_status yard_put_entries(struct yard *to, struct yard_shape shape,
                                            uint64_t bucket, const struct yard_entries *some)
{
	const struct mini_shape front = shape.front;
	unsigned char *line = yard_front_line(to, shape, bucket);
	nidus_status status = NIDUS_OK;
	if (mini_count(front, mini_sizes_of(front, line)) > 0) {
		for (unsigned i = 0; i < some->count && status == NIDUS_OK; i++)
			status = to->ops->put(to, yard_entry_at(some, i, bucket));
		return status;
	}
	unsigned stay = some->count < front.slots ? some->count : front.slots;
	mini_fill(front, line, some->packed, stay);
	if (to->values != NULL)
		yard_fill_values(yard_front_values(to, bucket), some->beside, stay);
	to->count += stay;
	for (unsigned i = stay; i < some->count && status == NIDUS_OK; i++)
		status = yard_put_highest(to, yard_entry_at(some, i, bucket));
	return status;
}

/* What lies beside an entry of `from` in the body that it goes to. */
static inline uint64_t yard_retagged(const struct yard *from, struct spread_target target,
                                     uint64_t beside)
{
	const struct yard *to = target.body;
	return beside >> from->tag_bits << to->tag_bits | target.tag;
}

static inline struct spread_target yard_choose(const struct yard *from, const struct spread *spread,
                                               struct yard_key key)
{
	return spread_choose(spread, key.beside & bits_low(from->tag_bits),
	                     spread->borrows ? yard_borrowed(from, key) : 0);
}

#define YARD_LANES 4     /* bodies that the entries of one go to at once */
#define YARD_TAG_BITS 10 /* of tags that are asked for once, if they decide alone */

/* Where the entries of a body go. */
struct yard_lanes {
	const struct yard *from;
	const struct spread *spread;
	unsigned number; /* of bodies */
	struct yard *body[YARD_LANES];
	uint8_t lane[1 << YARD_TAG_BITS]; /* by tag, counted from 1; 0: not yet known */
	uint32_t tag[1 << YARD_TAG_BITS]; /* there */
	struct yard_entries entries[YARD_LANES];
};

/* The lane of a body; YARD_LANES if there are too many. No branch depends on which it is. */
static inline unsigned yard_lane_of(struct yard_lanes *lanes, struct yard *body)
{
	unsigned lane = 0;
	for (unsigned i = 1; i < YARD_LANES; i++)
		lane += i * (lanes->body[i] == body);
	if (LIKELY(lanes->body[lane] == body))
		return lane;
	if (lanes->number == YARD_LANES)
		return YARD_LANES;
	lanes->body[lanes->number] = body;
	return lanes->number++;
}

static inline void yard_put_in_lane(struct yard_lanes *lanes, unsigned lane, uint32_t packed,
                                    uint64_t value, uint64_t tag)
{
	struct yard_entries *to = &lanes->entries[lane];
	unsigned at = to->count++;
	to->packed[at] = packed;
	to->beside[at] = value << lanes->body[lane]->tag_bits | tag;
}

/* Asks where entries with a tag go; false if they go to too many bodies. */
NEVER_INLINE bool yard_learn_tag(struct yard_lanes *lanes, uint64_t tag)
{
	struct spread_target target = spread_choose(lanes->spread, tag, 0);
	unsigned lane = yard_lane_of(lanes, target.body);
	if (lane == YARD_LANES)
		return false;
	lanes->lane[tag] = (uint8_t)(lane + 1);
	lanes->tag[tag] = (uint32_t)target.tag;
	return true;
}

/* Parts the entries of a front bucket by the bodies that they go to; false as above. */
static inline bool yard_part_by_tags(struct yard_lanes *lanes, const struct yard_entries *all)
{
	const unsigned tag_bits = lanes->from->tag_bits;
	for (unsigned i = 0; i < all->count; i++) {
		uint64_t beside = all->beside[i], tag = beside & bits_low(tag_bits);
		if (UNLIKELY(lanes->lane[tag] == 0) && !yard_learn_tag(lanes, tag))
			return false;
		yard_put_in_lane(lanes, lanes->lane[tag] - 1u, all->packed[i], beside >> tag_bits,
		                 lanes->tag[tag]);
	}
	return true;
}

/* The same where tags are long, or bits are borrowed. */
static bool yard_part_by_bits(struct yard_lanes *lanes, const struct yard_entries *all,
                              uint64_t bucket)
{
	for (unsigned i = 0; i < all->count; i++) {
		struct spread_target target =
			yard_choose(lanes->from, lanes->spread, yard_entry_at(all, i, bucket));
		unsigned lane = yard_lane_of(lanes, target.body);
		if (lane == YARD_LANES)
			return false;
		yard_put_in_lane(lanes, lane, all->packed[i],
		                 all->beside[i] >> lanes->from->tag_bits, target.tag);
	}
	return true;
}

static inline bool yard_part(struct yard_lanes *lanes, const struct yard_entries *all,
                             uint64_t bucket)
{
	for (unsigned lane = 0; lane < YARD_LANES; lane++)
		lanes->entries[lane].count = 0;
	return lanes->spread->borrows || lanes->from->tag_bits > YARD_TAG_BITS
	               ? yard_part_by_bits(lanes, all, bucket)
	               : yard_part_by_tags(lanes, all);
}

/* The entries of a front bucket go to their bodies, whole lines at a time. */
ALWAYS_INLINE nidus_status yard_spread_lanes(struct yard_lanes *lanes, struct yard_shape shape,
                                             uint64_t bucket, bool *parted)
{
	struct yard_entries all;
	nidus_status status = NIDUS_OK;
	yard_gather_entries(lanes->from, shape, bucket, &all);
	*parted = yard_part(lanes, &all, bucket);
	for (unsigned lane = 0; *parted && lane < lanes->number && status == NIDUS_OK; lane++) {
		if (lanes->entries[lane].count > 0)
			status = yard_put_entries(lanes->body[lane], shape, bucket,
			                          &lanes->entries[lane]);
	}
	return status;
}

/* Entry by entry: lines of a file, which may be anything, and whatever goes to many bodies. */
static nidus_status yard_spread_singly(const struct yard *from, const struct spread *spread,
                                       uint64_t bucket)
{
	struct yard_key key;
	uint64_t at = 0;
	nidus_status status = NIDUS_OK;
	while (status == NIDUS_OK && yard_next_in(from, bucket, &at, &key)) {
		struct spread_target target = yard_choose(from, spread, key);
		struct yard *to = target.body;
		if (to == NULL || key.m >= to->buckets)
			return fail(NIDUS_E_CORRUPT, "a line holds what no insert leaves");
		key.beside = yard_retagged(from, target, key.beside);
		status = to->ops->put(to, key);
	}
	return status;
}

static nidus_status yard_spread_list(const struct yard *from, const struct spread *spread)
{
	nidus_status status = NIDUS_OK;
	const struct overflow_node *node = overflow_next(&from->list, NULL);
	for (; node != NULL && status == NIDUS_OK;
	     node = overflow_next(&from->list, &node->entry)) {
		struct yard_key key = yard_list_key(from, &node->entry);
		struct spread_target target = yard_choose(from, spread, key);
		if (target.body == NULL)
			return fail(NIDUS_E_CORRUPT, "a stash holds what no insert leaves");
		key.beside = yard_retagged(from, target, key.beside);
		status = yard_put_copies(target.body, key, node->copies);
	}
	return status;
}

#ifdef YARD_SPLITS_LINES
/* Entries of a front bucket that are in the backyard. */
NEVER_INLINE nidus_status yard_spread_spilled(const struct yard *from, const struct spread *spread,
                                              uint64_t bucket)
{
	struct yard_entries spilled;
	nidus_status status = NIDUS_OK;
	spilled.count = 0;
	for (unsigned half = 0; half < 2; half++)
		yard_gather_spilled(from, bucket, half, &spilled);
	for (unsigned i = 0; i < spilled.count && status == NIDUS_OK; i++) {
		struct yard_key key = yard_entry_at(&spilled, i, bucket);
		struct spread_target target = yard_choose(from, spread, key);
		struct yard *to = target.body;
		key.beside = yard_retagged(from, target, key.beside);
		status = to->ops->put(to, key);
	}
	return status;
}
#endif

/* Splits a body by whole lines where that is possible (split.h); *done tells. */
static nidus_status yard_split(const struct yard *from, const struct spread *spread, bool *done)
{
	nidus_status status = NIDUS_OK;
#ifdef YARD_SPLITS_LINES
	static const struct yard_shape frequent = YARD_SHAPE_OF(YARD_MOST_FREQUENT);
	*done = spread->choose == NULL && from->ops->shape.front.slots == frequent.front.slots &&
	        split_possible(from) && split_possible(spread->range[0].body) &&
	        split_possible(spread->range[1].body);
	for (uint64_t bucket = 0; *done && bucket < from->fronts && status == NIDUS_OK; bucket++) {
		status = split_line(from, frequent, spread, bucket);
		if (status == NIDUS_OK &&
		    mini_full(frequent.front, yard_front_line(from, frequent, bucket)))
			status = yard_spread_spilled(from, spread, bucket);
	}
#else
	(void)from, (void)spread;
	*done = false;
#endif
	return status;
}

/* Whether a front bucket's entries can go by whole lines: a word is behind what lies beside them. */
static inline bool yard_goes_by_lines(const struct yard *from, uint64_t bucket)
{
	if (from->mapped || from->values == NULL)
		return !from->mapped;
	uint64_t size = yard_values_size(from->ops->shape.front.slots, from->beside_bits);
	uint64_t end = (uint64_t)(from->values - from->front) + (bucket + 1) * size;
	return end + 8 <= from->memory.size;
}

static nidus_status yard_spread_all(const struct yard *from, const struct spread *spread)
{
	static const struct yard_shape frequent = YARD_SHAPE_OF(YARD_MOST_FREQUENT);
	const struct yard_shape shape = from->ops->shape;
	struct yard_lanes lanes = { .from = from, .spread = spread };
	bool split;
	nidus_status status = yard_split(from, spread, &split);
	for (uint64_t bucket = 0; !split && bucket < from->fronts && status == NIDUS_OK; bucket++) {
		bool parted = yard_goes_by_lines(from, bucket);
		if (parted && shape.front.slots == frequent.front.slots)
			status = yard_spread_lanes(&lanes, frequent, bucket, &parted);
		else if (parted)
			status = yard_spread_lanes(&lanes, shape, bucket, &parted);
		if (!parted)
			status = yard_spread_singly(from, spread, bucket);
	}
	return status == NIDUS_OK ? yard_spread_list(from, spread) : status;
}

#endif

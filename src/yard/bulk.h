/* SPDX-License-Identifier: MIT
 *
 * yard_bulk: many entries at once: builds from ascending hashes, one yard into another, and
 * front buckets that move to a larger yard.
 *
 * But for the front lines of a build, which are hot, the code is compiled once per tier.
 */
#ifndef NIDUS_YARD_BULK_H
#define NIDUS_YARD_BULK_H

#include "yard/trio.h"

#define YARD_SPREAD_BITS 2
#define YARD_SPREAD (1 << YARD_SPREAD_BITS) /* buckets that one is shared out to at once */
#define YARD_MOST (3 * MINI_SLOTS_MOST)     /* entries of a front bucket, and an end */

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
	/* Its numbers stay in registers while lines are written, and builds know the level. */
	struct yard copy = *yard;
	copy.level = 0;
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

/* Puts entries that are above all of a full front line into the backyard, uncounted. Errors: FULL. */
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

/* The entries of a front bucket, by which of the buckets that take its place they go to. */
struct yard_shares {
	unsigned number, n;           /* of these buckets; of entries */
	unsigned counts[YARD_SPREAD]; /* of entries of each */
	uint32_t packed[YARD_SPREAD][YARD_MOST];
};

/* Which bucket of `to` share number `share` of a bucket of `from` goes to. */
static inline uint64_t yard_share_bucket(const struct yard *to, const struct yard *from,
                                         uint64_t bucket, uint64_t share)
{
	return bucket >> from->level << to->level | share << from->level |
	       (bucket & bits_low(from->level));
}

/* Shares the entries of a front bucket out to at most YARD_SPREAD others. */
NEVER_INLINE void yard_share_out(const struct yard *to, const struct yard *from, uint64_t bucket,
                                 struct yard_shares *shares)
{
	const unsigned deeper = to->level - from->level;
	uint32_t all[YARD_MOST];
	shares->number = 1u << deeper;
	shares->n = yard_gather(from, bucket, all);
	for (unsigned share = 0; share < YARD_SPREAD; share++)
		shares->counts[share] = 0;
	for (unsigned i = 0; i < shares->n; i++) {
		uint32_t remainder = MINI_PACK_REMAINDER(all[i]);
		uint32_t share = remainder & (shares->number - 1);
		shares->packed[share][shares->counts[share]++] =
			MINI_PACK(MINI_PACK_BUCKET(all[i]), remainder >> deeper);
	}
}

/* yard_transfer_bucket to many buckets, a few entries to each. */
static nidus_status yard_scatter_bucket(struct yard *to, const struct yard *from, uint64_t bucket)
{
	const unsigned deeper = to->level - from->level;
	uint32_t all[YARD_MOST];
	unsigned n = yard_gather(from, bucket, all);
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < n && status == NIDUS_OK; i++) {
		uint64_t remainder = MINI_PACK_REMAINDER(all[i]);
		uint32_t one = MINI_PACK(MINI_PACK_BUCKET(all[i]), remainder >> deeper);
		uint64_t share = remainder & bits_low(deeper);
		status = yard_put_packed(to, yard_share_bucket(to, from, bucket, share), &one, 1);
	}
	return status;
}

static nidus_status yard_transfer_bucket(struct yard *to, const struct yard *from, uint64_t bucket)
{
	struct yard_shares shares;
	nidus_status status = NIDUS_OK;
	if (to->level - from->level > YARD_SPREAD_BITS)
		return yard_scatter_bucket(to, from, bucket);
	yard_share_out(to, from, bucket, &shares);
	for (unsigned share = 0; share < shares.number && status == NIDUS_OK; share++) {
		if (shares.counts[share] > 0)
			status = yard_put_sorted(to, yard_share_bucket(to, from, bucket, share),
			                         shares.packed[share], shares.counts[share]);
	}
	return status;
}

static nidus_status yard_transfer_all(struct yard *to, const struct yard *from)
{
	nidus_status status = NIDUS_OK;
	for (uint64_t bucket = 0; bucket < from->fronts && status == NIDUS_OK; bucket++)
		status = yard_transfer_bucket(to, from, bucket);
	return status;
}

/* ------------------------------------------------------------------------- moving -- */

/* Takes the entries with a crumb out of a backyard line. */
NEVER_INLINE void yard_empty_half(struct yard *yard, uint64_t bucket, unsigned half)
{
	const struct mini_shape shape = yard->ops->shape.back;
	struct yard_back back = yard_back_of(yard, yard_back_line(yard, bucket, half));
	struct mini_sizes sizes = mini_sizes_of(shape, back.line);
	uint64_t there = bits_low(mini_count(shape, sizes));
	uint64_t ours = mini_match_crumb(shape, back.line, there, yard_crumb(bucket));
	while (ours != 0) { /* the last first: those before it keep their slots */
		unsigned slot = 63 - (unsigned)__builtin_clzll(ours);
		mini_remove(shape, back.line, mini_bucket_of(shape, sizes, slot), slot);
		yard_pull_value(back.values, slot);
		ours ^= UINT64_C(1) << slot;
	}
}

/* Takes all entries of a front bucket out of its lines; yard->count is the caller's. */
static void yard_empty_bucket(struct yard *yard, uint64_t bucket)
{
	const struct mini_shape shape = yard->ops->shape.front;
	unsigned char *line = yard->front + bucket * mini_line(shape);
	struct yard_values values = yard_front_values(yard, bucket);
	bool spilled = mini_full(shape, line);
	mini_clear(shape, line);
	if (values.bytes != NULL)
		memset(values.bytes, 0, yard_values_size(values.slots, values.bits));
	for (unsigned half = 0; half < 2 && spilled; half++)
		yard_empty_half(yard, bucket, half);
}

/*
 * Copies a front bucket's entries to the lines that take its place, each written once, where
 * all of them find room there and no copies must be counted; gives how many. Otherwise
 * nothing changes: YARD_NOT_BY_LINES.
 */
static unsigned yard_copy_lines(struct yard *to, const struct yard *from, uint64_t bucket)
{
	const struct mini_shape shape = to->ops->shape.front;
	struct yard_shares shares;
	uint32_t all[YARD_SPREAD][2 * MINI_SLOTS_MOST];
	unsigned totals[YARD_SPREAD];
	uint64_t bucket_of[YARD_SPREAD];
	if (to->values != NULL || to->level - from->level > YARD_SPREAD_BITS)
		return YARD_NOT_BY_LINES;
	yard_share_out(to, from, bucket, &shares);
	for (unsigned share = 0; share < shares.number; share++) {
		if (shares.counts[share] > MINI_SLOTS_MOST)
			return YARD_NOT_BY_LINES;
		bucket_of[share] = yard_share_bucket(to, from, bucket, share);
		totals[share] = yard_merge_front(to, bucket_of[share], shares.packed[share],
		                                 shares.counts[share], all[share]);
		if (totals[share] > shape.slots || yard_any_crowded(all[share], totals[share]))
			return YARD_NOT_BY_LINES;
	}
	for (unsigned share = 0; share < shares.number; share++)
		mini_fill(shape, to->front + bucket_of[share] * mini_line(shape), all[share],
		          totals[share]);
	to->count += shares.n;
	return shares.n;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * yard_bulk: many entries at once: builds from ascending hashes, and one yard into another.
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

ALWAYS_INLINE bool yard_fill_fronts(struct yard *yard, struct yard_shape shape,
                                    const uint64_t *hashes, const uint64_t *values, size_t n)
{
	const unsigned buckets = shape.front.buckets, width = shape.front.width;
	uint32_t packed[MINI_SLOTS_MOST];
	for (size_t at = 0; at < n;) {
		const uint64_t bucket = yard_locate_in(yard, hashes[at], buckets, width).bucket;
		const size_t start = at;
		unsigned count = 0;
		for (; at < n; at++) {
			struct yard_key key = yard_locate_in(yard, hashes[at], buckets, width);
			if (key.bucket != bucket)
				break;
			if (count == shape.front.slots)
				continue; /* spills, later */
			packed[count] = MINI_PACK(key.m, key.remainder);
			/* They ascend: equal ones are neighbours. */
			if (UNLIKELY(count >= YARD_COPIES &&
			             packed[count] == packed[count - YARD_COPIES]))
				return false;
			count++;
		}
		mini_fill(shape.front, yard_front_line(yard, shape, bucket), packed, count);
		if (values != NULL)
			yard_fill_values(yard_front_values(yard, bucket), values + start, count);
	}
	return true;
}

/* Whether the hashes before this one, which ascend, are as many copies as there may be. */
static inline bool yard_copied(const struct yard *yard, const uint64_t *hashes, size_t at,
                               struct yard_key key)
{
	if (at < YARD_COPIES)
		return false;
	struct yard_key other = yard_locate(yard, hashes[at - YARD_COPIES]);
	return other.bucket == key.bucket && other.m == key.m && other.remainder == key.remainder;
}

/* Puts the highest entry of a front bucket whose line is full into the backyard. */
static inline nidus_status yard_put_highest(struct yard *yard, struct yard_key key)
{
	struct yard_trio trio = yard_trio_of(yard, yard->ops->shape, key.bucket);
	while (UNLIKELY(yard_put_back(yard->ops->shape, &trio, key) != NIDUS_OK)) {
		if (!yard_make_room(yard, key.bucket))
			return yard_no_place();
	}
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
				return yard_too_many();
			key.value = values != NULL ? values[at] : 0;
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

NEVER_INLINE nidus_status yard_put_packed(struct yard *yard, uint64_t bucket,
                                          const uint32_t *packed, unsigned n)
{
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < n && status == NIDUS_OK; i++) {
		struct yard_key key = { bucket, MINI_PACK_BUCKET(packed[i]),
			                MINI_PACK_REMAINDER(packed[i]), 0 };
		status = yard->ops->put(yard, key);
	}
	return status;
}

/* Whether some mini-bucket is so full that copies must be counted. */
static inline bool yard_any_crowded(const uint32_t *packed, unsigned n)
{
	bool any = false;
	for (unsigned i = YARD_COPIES; i < n; i++)
		any |= MINI_PACK_BUCKET(packed[i]) == MINI_PACK_BUCKET(packed[i - YARD_COPIES]);
	return any;
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
	uint32_t old[MINI_SLOTS_MOST + 1], all[YARD_MOST + MINI_SLOTS_MOST];
	unsigned here = mini_unpack(shape, line, old), total = here + n;
	old[here] = fresh[n] = MINI_PACK_END;
	mini_merge(old, fresh, all, total);
	if (UNLIKELY(yard_any_crowded(all, total)))
		return yard_put_packed(yard, bucket, fresh, n);
	unsigned stay = total < shape.slots ? total : shape.slots;
	mini_fill(shape, line, all, stay);
	yard->count += stay - here;
	return yard_put_packed(yard, bucket, all + stay, total - stay);
}

/* Shares the entries of a front bucket out to the buckets that take its place. */
static nidus_status yard_transfer_bucket(struct yard *to, const struct yard *from, uint64_t bucket)
{
	unsigned deeper = to->level - from->level, counts[YARD_SPREAD] = { 0 };
	uint32_t all[YARD_MOST], shares[YARD_SPREAD][YARD_MOST];
	unsigned n = yard_gather(from, bucket, all);
	uint64_t base = bucket >> from->level << to->level, low = bucket & bits_low(from->level);
	nidus_status status = NIDUS_OK;
	if (deeper > YARD_SPREAD_BITS) { /* many buckets for a few entries each */
		for (unsigned i = 0; i < n && status == NIDUS_OK; i++) {
			uint64_t remainder = MINI_PACK_REMAINDER(all[i]);
			uint32_t one = MINI_PACK(MINI_PACK_BUCKET(all[i]), remainder >> deeper);
			uint64_t share = remainder & bits_low(deeper);
			status = yard_put_packed(to, base | share << from->level | low, &one, 1);
		}
		return status;
	}
	for (unsigned i = 0; i < n; i++) {
		uint32_t remainder = MINI_PACK_REMAINDER(all[i]);
		uint32_t share = remainder & (uint32_t)bits_low(deeper);
		shares[share][counts[share]++] =
			MINI_PACK(MINI_PACK_BUCKET(all[i]), remainder >> deeper);
	}
	for (uint64_t share = 0; share < UINT64_C(1) << deeper && status == NIDUS_OK; share++) {
		if (counts[share] > 0)
			status = yard_put_sorted(to, base | share << from->level | low,
			                         shares[share], counts[share]);
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

#endif

/* SPDX-License-Identifier: MIT
 *
 * yard_split: lines of a body that is split, each at once: only with AVX2 and BMI2, for the most
 * frequent lines, whose remainders are bytes, and for tags that fit into bytes, too. Whatever this
 * file does not do is done entry by entry (bulk.h), with the same result.
 *
 * Which body an entry goes to is a bit per slot. With those bits
 *
 *     a word of 8 remainders, or tags, keeps those of one body:      pext
 *     two words of remainders become one, in mini-bucket order:      pdep
 *     the sizes, as a string of bits, lose zeros or get others:      pext, pdep
 */
#ifndef NIDUS_YARD_SPLIT_H
#define NIDUS_YARD_SPLIT_H

#include "yard/trio.h"

#if defined(MATCH_LINES) && defined(__BMI2__)
#define YARD_SPLITS_LINES

#define SPLIT_BYTES (MINI_SLOTS_MOST + 8) /* words that begin in a slot end here */
#define SPLIT_ONES UINT64_C(0x0101010101010101)

/* A line without crumbs, unpacked. Behind the last entry all is 0. */
struct split_line {
	unsigned count;
	struct mini_sizes sizes;
	unsigned char remainders[SPLIT_BYTES], tags[SPLIT_BYTES];
};

/* The bytes of a word of 8 whose bits are set. */
static inline uint64_t split_mask(uint64_t bits)
{
	return _pdep_u64(bits, SPLIT_ONES) * 0xff;
}

/* Whether lines of a yard can be unpacked: a word is there from each tag of a front line on. */
static inline bool split_possible(const struct yard *yard)
{
	const struct yard_shape *shape = &yard->ops->shape;
	return !yard->mapped && yard->value_bits == 0 && yard->tag_bits <= 8 &&
	       (yard->tag_bits == 0 ||
	        2 * yard->half * yard_values_size(shape->back.slots, yard->tag_bits) >= 8);
}

ALWAYS_INLINE void split_read(const struct yard *yard, struct yard_shape shape, uint64_t bucket,
                              struct split_line *to)
{
	const unsigned char *line = yard_front_line(yard, shape, bucket);
	const unsigned bits = yard->tag_bits;
	*to = (struct split_line){ .sizes = mini_sizes_of(shape.front, line) };
	to->count = mini_count(shape.front, to->sizes);
	memcpy(to->remainders, line + mini_byte_at(shape.front, 0), shape.front.slots);
	if (bits == 0)
		return;
	const unsigned char *tags =
		yard->values + bucket * yard_values_size(shape.front.slots, bits);
	for (unsigned i = 0; i < to->count; i += 8, tags += bits)
		store64(to->tags + i, _pdep_u64(load64(tags), bits_low(bits) * SPLIT_ONES));
}

ALWAYS_INLINE void split_write(const struct yard *yard, struct yard_shape shape, uint64_t bucket,
                               const struct split_line *from)
{
	unsigned char *line = yard_front_line(yard, shape, bucket);
	const unsigned bits = yard->tag_bits;
	mini_store_sizes(shape.front, line, from->sizes);
	memcpy(line + mini_byte_at(shape.front, 0), from->remainders, shape.front.slots);
	if (bits == 0)
		return;
	unsigned char packed[SPLIT_BYTES] = { 0 }, *to = packed;
	unsigned size = yard_values_size(shape.front.slots, bits);
	for (unsigned i = 0; i < from->count; i += 8, to += bits)
		store64(to, _pext_u64(load64(from->tags + i), bits_low(bits) * SPLIT_ONES));
	memcpy(yard->values + bucket * size, packed, size);
}

/* The sizes without the zeros of some slots. */
static inline struct mini_sizes split_less(struct mini_sizes sizes, uint64_t slots)
{
	uint64_t low = _pdep_u64(slots, ~sizes.low), fewer = POPCOUNT64(low);
	uint64_t high = _pdep_u64(slots >> (64 - POPCOUNT64(sizes.low)), ~sizes.high);
	uint64_t above = _pext_u64(sizes.high, ~high);
	return (struct mini_sizes){
		.low = _pext_u64(sizes.low, ~low) | above << 1 << (63 - fewer),
		.high = above >> fewer,
	};
}

/* The entries of some slots, whose tags become larger. */
ALWAYS_INLINE void split_pick(const struct split_line *from, uint64_t slots, uint64_t added,
                              struct split_line *to)
{
	const uint64_t low = SPLIT_ONES * 0x7f, more = (added & 0xff) * SPLIT_ONES;
	unsigned at = 0;
	*to = (struct split_line){ .count = (unsigned)POPCOUNT64(slots) };
	to->sizes = split_less(from->sizes, bits_low(from->count) & ~slots);
	for (unsigned i = 0; i < from->count; i += 8) {
		uint64_t some = slots >> i & 0xff, mask = split_mask(some),
			 tags = load64(from->tags + i);
		/* Byte by byte: none takes from the next. */
		tags = ((tags & low) + (more & low)) ^ ((tags ^ more) & ~low);
		store64(to->remainders + at, _pext_u64(load64(from->remainders + i), mask));
		store64(to->tags + at, _pext_u64(tags, mask));
		at += (unsigned)POPCOUNT64(some);
	}
}

/* Whether eight zeros of the sizes fill a byte: some mini-bucket may have too many copies. */
static inline bool split_crowded(struct mini_sizes sizes, unsigned bits)
{
	const uint64_t high = SPLIT_ONES << 7;
	sizes.low |= bits < 64 ? ~bits_low(bits) : 0;
	sizes.high |= bits < 64 ? ~UINT64_C(0) : ~bits_low(bits - 64);
	return (((sizes.low - SPLIT_ONES) & ~sizes.low) |
	        ((sizes.high - SPLIT_ONES) & ~sizes.high)) &
	       high;
}

/* The slots of entries of `fresh` behind those of a line that are in their mini-buckets. */
ALWAYS_INLINE uint64_t split_places(struct yard_shape shape, const unsigned char *line,
                                    const struct split_line *fresh, uint64_t zeros[2])
{
	uint64_t slots = 0;
	zeros[0] = zeros[1] = 0;
	for (unsigned i = 0; i < fresh->count; i++) {
		unsigned m = mini_bucket_of(shape.front, fresh->sizes, i);
		unsigned slot = mini_find(shape.front, line, m).end + i, zero = slot + m;
		slots |= UINT64_C(1) << slot;
		zeros[zero / 64] |= UINT64_C(1) << zero % 64;
	}
	return slots;
}

/* Sizes with other zeros at given places. */
static inline struct mini_sizes split_more(struct mini_sizes sizes, const uint64_t zeros[2])
{
	unsigned more = (unsigned)POPCOUNT64(zeros[0]);
	uint64_t above = sizes.high << more | sizes.low >> 1 >> (63 - more);
	return (struct mini_sizes){ _pdep_u64(sizes.low, ~zeros[0]), _pdep_u64(above, ~zeros[1]) };
}

/* Adds entries to those of a front line; false if they are to be put in one by one. */
ALWAYS_INLINE bool split_merge(const struct yard *to, struct yard_shape shape, uint64_t bucket,
                               const struct split_line *fresh)
{
	struct split_line old, all = { 0 };
	uint64_t zeros[2];
	split_read(to, shape, bucket, &old);
	all.count = old.count + fresh->count;
	if (UNLIKELY(all.count > shape.front.slots))
		return false;
	uint64_t slots = split_places(shape, yard_front_line(to, shape, bucket), fresh, zeros);
	all.sizes = split_more(old.sizes, zeros);
	if (UNLIKELY(split_crowded(all.sizes, shape.front.buckets + all.count)))
		return false;
	for (unsigned i = 0, at = 0; i < all.count; i += 8) {
		uint64_t some = slots >> i & 0xff, mask = split_mask(some);
		store64(all.remainders + i,
		        _pdep_u64(load64(fresh->remainders + at), mask) |
		                _pdep_u64(load64(old.remainders + i - at), ~mask));
		store64(all.tags + i, _pdep_u64(load64(fresh->tags + at), mask) |
		                              _pdep_u64(load64(old.tags + i - at), ~mask));
		at += (unsigned)POPCOUNT64(some);
	}
	split_write(to, shape, bucket, &all);
	return true;
}

/* One by one: a line that has no room for all, or many copies. */
NEVER_INLINE nidus_status split_put_singly(struct yard *to, uint64_t bucket,
                                           const struct split_line *fresh)
{
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < fresh->count && status == NIDUS_OK; i++) {
		unsigned m = mini_bucket_of(to->ops->shape.front, fresh->sizes, i);
		status = to->ops->put(to, (struct yard_key){ bucket, m, fresh->remainders[i],
		                                             fresh->tags[i] });
	}
	return status;
}

ALWAYS_INLINE nidus_status split_put(struct yard *to, struct yard_shape shape, uint64_t bucket,
                                     const struct split_line *fresh)
{
	const unsigned char *line = yard_front_line(to, shape, bucket);
	if (mini_count(shape.front, mini_sizes_of(shape.front, line)) == 0)
		split_write(to, shape, bucket, fresh);
	else if (!split_merge(to, shape, bucket, fresh))
		return split_put_singly(to, bucket, fresh);
	to->count += fresh->count;
	return NIDUS_OK;
}

/* The slots with tags not below a limit, and those with that one. */
static inline uint64_t split_from(const struct split_line *line, uint8_t limit, uint64_t *equal)
{
	__m256i wanted = match_spread(limit);
	__m256i low = _mm256_loadu_si256((const __m256i *)(const void *)line->tags);
	__m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(line->tags + 32));
	__m256i low_from = _mm256_cmpeq_epi8(_mm256_max_epu8(low, wanted), low);
	__m256i high_from = _mm256_cmpeq_epi8(_mm256_max_epu8(high, wanted), high);
	uint64_t from = (uint64_t)(uint32_t)_mm256_movemask_epi8(high_from) << 32 |
	                (uint32_t)_mm256_movemask_epi8(low_from);
	*equal = match_bytes(line->tags, wanted) & bits_low(line->count);
	return from & bits_low(line->count);
}

/* The slots of a line whose entries are of the second range. */
ALWAYS_INLINE uint64_t split_second(const struct yard *from, struct yard_shape shape,
                                    const struct spread *spread, uint64_t bucket,
                                    const struct split_line *line)
{
	uint64_t unsure, second;
	if (spread->limit > UINT8_MAX)
		return 0;
	second = split_from(line, (uint8_t)spread->limit, &unsure);
	if (!spread->borrows)
		return second;
	for (second ^= unsure; unsure != 0; unsure &= unsure - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(unsure);
		struct yard_key key = { bucket, mini_bucket_of(shape.front, line->sizes, slot),
			                line->remainders[slot], 0 };
		second |= (uint64_t)(yard_borrowed(from, key) >= spread->borrowed) << slot;
	}
	return second;
}

/* The entries of a front line go where they belong. */
ALWAYS_INLINE nidus_status split_line(const struct yard *from, struct yard_shape shape,
                                      const struct spread *spread, uint64_t bucket)
{
	struct split_line all, some;
	nidus_status status = NIDUS_OK;
	split_read(from, shape, bucket, &all);
	uint64_t second = split_second(from, shape, spread, bucket, &all);
	for (unsigned i = 0; i < 2 && status == NIDUS_OK; i++) {
		uint64_t slots = i == 0 ? bits_low(all.count) & ~second : second;
		if (slots == 0)
			continue;
		split_pick(&all, slots, spread->range[i].added, &some);
		status = split_put(spread->range[i].body, shape, bucket, &some);
	}
	return status;
}

#endif
#endif

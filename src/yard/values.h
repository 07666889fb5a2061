/* SPDX-License-Identifier: MIT
 *
 * yard_values: the values beside the entries of a line.
 *
 *     lines:   [front 0][front 1] ... [even 0][odd 0] ...      64 bytes each
 *     values:  [of front 0][of front 1] ... [of even 0] ...    slots * value bits, in whole bytes
 *
 * They lie in an array of their own behind all lines, in the order of the lines, and within a
 * line in the order of its slots: the value of slot i is bits i * b to i * b + b - 1. What
 * moves an entry moves its value. Lookups that do not ask for values never come here.
 *
 * Bodies of growing filters keep an entry's tag here (base/segment.h), below its value. Values in
 * this file are both, but where it says a user's value.
 */
#ifndef NIDUS_YARD_VALUES_H
#define NIDUS_YARD_VALUES_H

#include "base/bits.h"
#include "simd/shift.h"

/* The values of one line. */
struct yard_values {
	unsigned char *bytes; /* NULL: the yard keeps none, and all are 0 */
	unsigned slots;
	uint16_t bits, tag_bits; /* tags are the lowest bits, below a user's value */
};

#define YARD_BESIDE_MOST 56  /* bits of tag and value, so that a word holds them from any bit on */
#define YARD_VALUES_MOST 448 /* bytes: 64 slots of those */

/* Bytes of the values of a line. */
static inline unsigned yard_values_size(unsigned slots, unsigned bits)
{
	return (slots * bits + 7) / 8;
}

static inline uint64_t yard_value(struct yard_values values, unsigned slot)
{
	uint64_t word = 0;
	unsigned bit = slot * values.bits, end = (bit + values.bits + 7) / 8;
	if (values.bytes == NULL)
		return 0;
	for (unsigned byte = end; byte-- > bit / 8;)
		word = word << 8 | values.bytes[byte];
	return word >> (bit & 7) & bits_low(values.bits);
}

static inline void yard_set_value(struct yard_values values, unsigned slot, uint64_t value)
{
	unsigned bit = slot * values.bits, end = (bit + values.bits + 7) / 8;
	uint64_t mask = bits_low(values.bits) << (bit & 7), word = value << (bit & 7);
	if (values.bytes == NULL)
		return;
	for (unsigned byte = bit / 8; byte < end; byte++, mask >>= 8, word >>= 8)
		values.bytes[byte] = (unsigned char)((values.bytes[byte] & ~mask) | (word & mask));
}

/*
 * Values of whole bytes move as bytes. Others move in words; the last word is as short as the line's
 * values leave it, whose neighbours may be another thread's.
 */

/* Up to 8 bytes as a word. */
ALWAYS_INLINE uint64_t yard_load_some(const unsigned char *bytes, unsigned count)
{
	uint64_t word = 0;
	if (count >= 8)
		return load64(bytes);
	if (count >= 4)
		return load32(bytes) | (uint64_t)load32(bytes + count - 4) << 8 * (count - 4);
	for (unsigned i = 0; i < count; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

ALWAYS_INLINE void yard_store_some(unsigned char *bytes, unsigned count, uint64_t word)
{
	if (count >= 8) {
		store64(bytes, word);
	} else if (count >= 4) {
		store32(bytes, (uint32_t)word);
		store32(bytes + count - 4, (uint32_t)(word >> 8 * (count - 4)));
	} else {
		for (unsigned i = 0; i < count; i++)
			bytes[i] = (unsigned char)(word >> 8 * i);
	}
}

/*
 * yard_push_value_in for values that are not of whole bytes. What is below the new value stays, all
 * else goes up; the value may end in the next word.
 */
ALWAYS_INLINE void yard_push_bits(struct yard_values values, unsigned slot, uint64_t value)
{
	const unsigned bits = values.bits, size = yard_values_size(values.slots, bits);
	const unsigned all = values.slots * bits, bit = slot * bits, in = bit % 64;
	unsigned at = bit / 64 * 8;
	uint64_t word = yard_load_some(values.bytes + at, size - at), keep = bits_low(in);
	uint64_t moved = word & ~keep, fresh = (word & keep) | moved << bits | value << in;
	uint64_t over = value >> 1 >> (63 - in);
	for (; at + 8 < size; at += 8) {
		store64(values.bytes + at, fresh);
		word = yard_load_some(values.bytes + at + 8, size - at - 8);
		fresh = word << bits | moved >> (64 - bits) | over;
		moved = word;
		over = 0;
	}
	/* What was the last one's is gone. */
	yard_store_some(values.bytes + at, size - at, fresh & bits_low(all - at * 8));
}

/* Puts a value in before a slot's; those behind move up, and the last one goes. */
void yard_push_value_in(struct yard_values values, unsigned slot, uint64_t value);

/* Takes a slot's value out; those behind move down, and the last one becomes 0. */
void yard_pull_value_from(struct yard_values values, unsigned slot);

/* yard_push_value_in for values of 8 bits. */
ALWAYS_INLINE void yard_push_byte(unsigned char *bytes, unsigned slots, unsigned slot,
                                  uint64_t value)
{
	shift_bytes_up(bytes, slots, slot);
	bytes[slot] = (unsigned char)value;
}

/* Writes the first values of a line in which all are 0. */
void yard_fill_values(struct yard_values line, const uint64_t *values, unsigned count);

ALWAYS_INLINE void yard_push_value(struct yard_values values, unsigned slot, uint64_t value)
{
	if (values.bytes != NULL && LIKELY(values.bits == 8))
		yard_push_byte(values.bytes, values.slots, slot, value);
	else if (values.bytes != NULL)
		yard_push_value_in(values, slot, value);
}

static inline void yard_pull_value(struct yard_values values, unsigned slot)
{
	if (values.bytes != NULL)
		yard_pull_value_from(values, slot);
}

/* A user's value. */
static inline uint64_t yard_users_value(struct yard_values values, unsigned slot)
{
	return yard_value(values, slot) >> values.tag_bits;
}

/* Of some slots, as bits, those with this value under a mask. */
uint64_t yard_with_value(struct yard_values values, uint64_t slots, uint64_t mask, uint64_t value);

/* Whether the values from a slot on are 0, and the bits behind the last too. */
bool yard_values_end(struct yard_values values, unsigned slot);

/* A copy of values that other threads may be writing; and back, by the one that may write. */
void yard_read_values(unsigned char *copy, const unsigned char *bytes, unsigned size);
void yard_write_values(unsigned char *bytes, const unsigned char *copy, unsigned size);

#endif

/* SPDX-License-Identifier: MIT
 *
 * yard_values: moving values about within their line.
 */
#include "yard/values.h"

void yard_push_value_in(struct yard_values values, unsigned slot, uint64_t value)
{
	const unsigned bits = values.bits, bit = slot * bits, end = values.slots * bits;
	if (bits % 8 == 0) {
		unsigned char *at = values.bytes + bit / 8;
		memmove(at + bits / 8, at, (end - bit - bits) / 8);
		yard_set_value(values, slot, value);
		return;
	}
	yard_push_bits(values, slot, value);
}

void yard_pull_value_from(struct yard_values values, unsigned slot)
{
	const unsigned size = yard_values_size(values.slots, values.bits), bits = values.bits;
	unsigned bit = slot * bits, end = values.slots * bits;
	if (bits % 8 == 0) {
		unsigned char *at = values.bytes + bit / 8;
		memmove(at, at + bits / 8, (end - bit - bits) / 8);
		yard_set_value(values, values.slots - 1, 0);
		return;
	}
	uint64_t keep = bits_low(bit & 7),
		 word = yard_load_some(values.bytes + bit / 8, size - bit / 8);
	for (unsigned at = bit / 8; at < size; at += 8) {
		uint64_t next =
			at + 8 < size ? yard_load_some(values.bytes + at + 8, size - at - 8) : 0;
		uint64_t moved = word >> bits | next << (64 - bits);
		yard_store_some(values.bytes + at, size - at, (word & keep) | (moved & ~keep));
		word = next;
		keep = 0;
	}
}

void yard_fill_values(struct yard_values line, const uint64_t *values, unsigned count)
{
	const unsigned bits = line.bits;
	unsigned char *to = line.bytes;
	uint64_t word = 0;
	unsigned filled = 0;
	for (unsigned slot = 0; slot < count && bits > 32; slot++)
		yard_set_value(line, slot, values[slot]);
	for (unsigned slot = 0; slot < count && bits <= 32; slot++) {
		word |= values[slot] << filled;
		filled += bits;
		if (filled < 32)
			continue;
		store32(to, (uint32_t)word);
		to += 4;
		word >>= 32;
		filled -= 32;
	}
	for (; filled > 0; filled -= filled < 8 ? filled : 8, word >>= 8)
		*to++ = (unsigned char)word;
}

uint64_t yard_with_value(struct yard_values values, uint64_t slots, uint64_t mask, uint64_t value)
{
	uint64_t with = 0;
	for (; slots != 0; slots &= slots - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(slots);
		with |= (uint64_t)(((yard_value(values, slot) ^ value) & mask) == 0) << slot;
	}
	return with;
}

bool yard_values_end(struct yard_values values, unsigned slot)
{
	unsigned size = yard_values_size(values.slots, values.bits);
	for (unsigned bit = slot * values.bits; bit < size * 8; bit++) {
		if (values.bytes[bit / 8] >> (bit & 7) & 1)
			return false;
	}
	return true;
}

/* Lines do not share a byte, but they share words. */

void yard_read_values(unsigned char *copy, const unsigned char *bytes, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		copy[i] = __atomic_load_n(bytes + i, __ATOMIC_ACQUIRE);
}

void yard_write_values(unsigned char *bytes, const unsigned char *copy, unsigned size)
{
	for (unsigned i = 0; i < size; i++) {
		if (bytes[i] != copy[i])
			__atomic_store_n(bytes + i, copy[i], __ATOMIC_RELEASE);
	}
}

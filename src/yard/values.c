/* SPDX-License-Identifier: MIT
 *
 * yard_values: moving values about within their line.
 */
#include "yard/values.h"

/* Values of whole bytes move as bytes; others in a copy, which has room for loads of words. */
#define PIECE 56

static uint64_t get(const unsigned char *copy, unsigned bit, unsigned count)
{
	return load64(copy + bit / 8) >> (bit & 7) & bits_low(count);
}

static void put(unsigned char *copy, unsigned bit, unsigned count, uint64_t bits)
{
	uint64_t word = load64(copy + bit / 8) & ~(bits_low(count) << (bit & 7));
	store64(copy + bit / 8, word | bits << (bit & 7));
}

static void move_up(unsigned char *copy, unsigned from, unsigned count, unsigned by)
{
	while (count > 0) {
		unsigned some = count < PIECE ? count : PIECE;
		count -= some;
		put(copy, from + count + by, some, get(copy, from + count, some));
	}
}

static void move_down(unsigned char *copy, unsigned from, unsigned count, unsigned by)
{
	while (count > 0) {
		unsigned some = count < PIECE ? count : PIECE;
		put(copy, from - by, some, get(copy, from, some));
		from += some;
		count -= some;
	}
}

/* Moves `count` values by one slot. */
static void shift(struct yard_values values, unsigned from, unsigned to, unsigned count)
{
	unsigned char copy[YARD_VALUES_MOST + 8] = { 0 };
	unsigned size = yard_values_size(values.slots, values.bits), bits = values.bits;
	if (bits % 8 == 0) {
		memmove(values.bytes + to * bits / 8, values.bytes + from * bits / 8,
		        (size_t)count * bits / 8);
		return;
	}
	memcpy(copy, values.bytes, size);
	if (to > from)
		move_up(copy, from * bits, count * bits, bits);
	else
		move_down(copy, from * bits, count * bits, bits);
	memcpy(values.bytes, copy, size);
}

void yard_push_value_in(struct yard_values values, unsigned slot, uint64_t value)
{
	shift(values, slot, slot + 1, values.slots - 1 - slot);
	yard_set_value(values, slot, value);
}

void yard_pull_value_from(struct yard_values values, unsigned slot)
{
	shift(values, slot + 1, slot, values.slots - 1 - slot);
	yard_set_value(values, values.slots - 1, 0);
}

void yard_fill_values(struct yard_values line, const uint64_t *values, unsigned count)
{
	for (unsigned slot = 0; slot < count; slot++) {
		if (line.bits == 8)
			line.bytes[slot] = (unsigned char)values[slot];
		else
			yard_set_value(line, slot, values[slot]);
	}
}

uint64_t yard_with_value(struct yard_values values, uint64_t slots, uint64_t value)
{
	uint64_t with = 0;
	for (; slots != 0; slots &= slots - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(slots);
		with |= (uint64_t)(yard_value(values, slot) == value) << slot;
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

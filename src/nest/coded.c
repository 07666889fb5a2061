/* SPDX-License-Identifier: MIT
 *
 * coded: ranks, and buckets put in order.
 */
#include "nest/coded.h"

#include <pthread.h>

uint16_t coded_nibbles[4096];
uint8_t coded_lower[256];
uint16_t coded_upper[256];

/* n choose 1 to 4, for n up to 18. */
static unsigned choose(unsigned n, unsigned of)
{
	unsigned product = 1;
	for (unsigned i = 0; i < of; i++)
		product = product * (n - i) / (i + 1);
	return n < of ? 0 : product;
}

static void fill_tables(void)
{
	unsigned n[CODED_SLOTS];
	for (unsigned two = 0; two < 256; two++) {
		coded_lower[two] = (uint8_t)(two % 16 + choose(two / 16 + 1, 2));
		coded_upper[two] = (uint16_t)(choose(two % 16 + 2, 3) + choose(two / 16 + 3, 4));
	}
	for (n[3] = 0; n[3] < 16; n[3]++)
		for (n[2] = 0; n[2] <= n[3]; n[2]++)
			for (n[1] = 0; n[1] <= n[2]; n[1]++)
				for (n[0] = 0; n[0] <= n[1]; n[0]++) {
					unsigned all = n[0] | n[1] << 4 | n[2] << 8 | n[3] << 12;
					coded_nibbles[coded_code(all)] = (uint16_t)all;
				}
}

void coded_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)pthread_once(&once, fill_tables);
}

struct coded_masks coded_masks_of(unsigned width, unsigned compared)
{
	const unsigned rest = width - 4, high = compared - 5;
	struct coded_masks masks = {
		.rest_bits = rest,
		.high = high,
		.steps = ((4u << 16) + rest - 1) / rest,
		.all = bits_low((unsigned)CODED_BITS(width)),
		.rest = bits_low(rest),
		.pair = bits_low(2 * rest),
		.evens = bits_low(rest) | bits_low(rest) << 2 * width,
		.nibbles = UINT64_C(15) | UINT64_C(15) << 2 * width,
		.ones = fields_ones(rest, CODED_SLOTS),
	};
	masks.highs = masks.ones << high;
	masks.lows = masks.highs - masks.ones;
	for (unsigned some = 0; some < 1u << CODED_SLOTS; some++) {
		for (unsigned i = 0; i < CODED_SLOTS; i++)
			masks.some[some] |= (uint64_t)(some >> i & 1) << (i * rest + high);
	}
	return masks;
}

/* Values in the order of their nibbles, then of their rests. */
static bool in_order(uint64_t a, uint64_t b)
{
	return (a & 15) != (b & 15) ? (a & 15) < (b & 15) : a <= b;
}

static void set_bits(unsigned char *array, uint64_t bit, unsigned count, uint64_t value)
{
	unsigned char *at = array + (bit >> 3);
	uint64_t mask = bits_low(count) << (bit & 7);
	store64(at, (load64(at) & ~mask) | value << (bit & 7));
}

void coded_set_at(unsigned char *array, unsigned width, uint64_t bit, unsigned slot, uint64_t value)
{
	uint64_t values[CODED_SLOTS], nibbles = 0;
	unsigned kept = 0, at = 0;
	for (unsigned i = 0; i < CODED_SLOTS; i++) {
		if (i != slot)
			values[kept++] = coded_get_at(array, width, bit, i);
	}
	/* The other three are in order: the new one goes between them. */
	while (at < kept && in_order(values[at], value))
		at++;
	for (unsigned i = kept; i > at; i--)
		values[i] = values[i - 1];
	values[at] = value;
	for (unsigned i = 0; i < CODED_SLOTS; i++) {
		nibbles |= (values[i] & 15) << 4 * i;
		set_bits(array, bit + 12 + (uint64_t)i * (width - 4), width - 4, values[i] >> 4);
	}
	set_bits(array, bit, 12, coded_code(nibbles));
}

bool coded_valid(const unsigned char *array, unsigned width, uint64_t bucket)
{
	if (coded_bits_at(array, bucket * CODED_BITS(width), 12) >= CODED_CODES)
		return false;
	for (unsigned i = 1; i < CODED_SLOTS; i++) {
		if (!in_order(coded_get(array, width, bucket * CODED_SLOTS + i - 1),
		              coded_get(array, width, bucket * CODED_SLOTS + i)))
			return false;
	}
	return true;
}

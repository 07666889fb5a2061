/* SPDX-License-Identifier: MIT */
/* A counter, mixed; and steps of the golden ratio around a circle of indices. */

#include "bench_keys.h"

/* Shifts and odd factors can be undone, so that no two indices give one key. */
uint64_t keys_at(uint64_t index)
{
	index ^= index >> 29;
	index *= UINT64_C(0xd6e8feb86659fd93);
	index ^= index >> 32;
	index *= UINT64_C(0xa0761d6478bd642f);
	index ^= index >> 31;
	return index;
}

void keys_fill(uint64_t first, uint64_t *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		keys[i] = keys_at(first + i);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

struct key_order key_order_of(uint64_t n)
{
	struct key_order order = { n, (uint64_t)((double)n * 0.6180339887), 0 };

	while (common_divisor(n, order.step) != 1)
		order.step++;
	return order;
}

void key_order_fill(struct key_order *order, uint64_t *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		keys[i] = keys_at(KEYS_INSERTED + order->at);
		order->at += order->step;
		if (order->at >= order->n)
			order->at -= order->n;
	}
}

/* SPDX-License-Identifier: MIT
 *
 * tally: one count per line.
 */
#include "tally.h"

#include <stdlib.h>

#include "bench_keys.h"
#include "gauge.h"

#define FAN 8 /* front lines per backyard line */

const struct tally_shape tally_shapes[TALLIES] = {
	{ "64 bytes, 53 buckets, 8 bits", 51, 35 },
	{ "64 bytes, 62 buckets, 8 bits", 50, 34 },
	{ "64 bytes, 36 buckets, 16 bits", 28, 22 },
	{ "32 bytes, 26 buckets, 8 bits", 22, 18 },
};

struct pair {
	uint64_t line[2];
};

static struct pair lines_of(enum tally_map map, uint64_t fronts, uint64_t f)
{
	uint64_t digit = f % FAN, first = f / FAN, back = (fronts + FAN - 1) / FAN;
	if (map == TALLY_XOR)
		return (struct pair){ { first, first ^ digit } };
	return (struct pair){ { first, first / FAN + digit * (back / FAN + 1) } };
}

double tally_load(unsigned shape, enum tally_map map, uint64_t fronts, uint64_t seed)
{
	const struct tally_shape *lines = &tally_shapes[shape];
	uint8_t *front = gauge_take((size_t)fronts, 1);
	uint8_t *back = gauge_take((size_t)(fronts / FAN + 2 * FAN), 1);
	uint64_t keys = 0;
	for (bool room = true; room; keys += room) {
		uint64_t f = (keys_at((seed << 44) + keys) >> 16) % fronts;
		if (front[f] < lines->front) {
			front[f]++;
			continue;
		}
		struct pair pair = lines_of(map, fronts, f);
		unsigned which = back[pair.line[1]] < back[pair.line[0]];
		room = back[pair.line[which]] < lines->back;
		back[pair.line[which]]++;
	}
	free(front);
	free(back);
	return (double)keys / (1.125 * lines->front * (double)fronts);
}

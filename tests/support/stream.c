/* SPDX-License-Identifier: MIT
 *
 * stream: six kinds, from one hot key to Zipf's law.
 */
#include "support/stream.h"

#include <math.h>

const struct stream streams[STREAMS] = {
	{ "1 hot key", 1, 30 },        { "40 hot keys", 40, 30 },      { "500 hot keys", 500, 50 },
	{ "5000 hot keys", 5000, 60 }, { "only hot keys", 5000, 100 }, { "Zipf", 0, 0 },
};

/* A Zipf key is 2^u for an even u: the odds of k fall like 1 / k. */
uint64_t stream_key(const struct stream *stream, uint64_t n, struct chance *chance)
{
	uint64_t x = chance_next(chance);
	if (stream->share == 0)
		return (uint64_t)exp2((double)(x >> 40) / (1 << 24) * 20);
	return x % 100 < stream->share ? (x >> 8) % stream->hot : STREAM_FRESH + n;
}

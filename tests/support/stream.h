/* SPDX-License-Identifier: MIT
 *
 * stream: keys of which some come again and again.
 */
#ifndef NIDUS_TESTS_SUPPORT_STREAM_H
#define NIDUS_TESTS_SUPPORT_STREAM_H

#include "support/chance.h"

#define STREAM_FRESH (UINT64_C(1) << 40) /* keys from here on come once */

struct stream {
	const char *name;
	uint64_t hot;   /* this many keys come again and again, */
	unsigned share; /* so many times of a hundred; 0: by Zipf's law */
};

#define STREAMS 6
extern const struct stream streams[STREAMS];

/* The next key: a hot one, or STREAM_FRESH + n. */
uint64_t stream_key(const struct stream *stream, uint64_t n, struct chance *chance);

#endif

/* SPDX-License-Identifier: MIT
 *
 * partition: hashes into ranges of the hash space, by several threads.
 *
 * With 2^bits parts, part p gets the hashes whose highest `bits` bits are p.
 * Parts are ranges, so sorting each by itself sorts all.
 */
#ifndef NIDUS_BASE_PARTITION_H
#define NIDUS_BASE_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARTITION_BITS_MOST 11 /* more would push the line buffers out of the cache */

/*
 * Where hashes come from: read() gives hashes [from, from + n). It is called
 * up to three times for each, from any thread, and must always answer the same.
 */
struct hash_source {
	size_t n;
	const void *context;
	void (*read)(const void *context, size_t from, size_t n, uint64_t *hashes);
	const uint64_t *values; /* beside the hashes, for partition_spread; or NULL */
};

/* Bytes of working memory that partition_spread needs. */
size_t partition_work_size(unsigned bits, unsigned threads);

/*
 * Puts the hashes of a source into 2^bits parts of `to`, which has room for all
 * of them and starts at a cache line, as `work` does. end[p] becomes the end of
 * part p; it begins where the one before it ends. Within a part hashes keep the
 * order of the source. `threads` is at most THREADS_MOST.
 *
 * With values, of at most `bits` bits each, what a part gets is hash << bits | value: the bits
 * that the number of the part tells make room for them.
 */
void partition_spread(const struct hash_source *source, unsigned bits, unsigned threads,
                      unsigned char *work, uint64_t *to, size_t *end);

/*
 * Places for each thread's share of each of 2^bits parts that hold n evenly spread hashes but for
 * one case in thousands; a multiple of eight.
 */
size_t partition_spacing(size_t n, unsigned bits, unsigned threads);

/*
 * partition_spread without counting first, which reads the source only once. Every part has
 * a share for each thread: that of thread t in part p begins at (p * threads + t) * spacing and ends
 * before end[t * 2^bits + p]. False if the hashes are spread so unevenly that a share has no room
 * for all; `to` and `end` hold nothing then.
 */
bool partition_scatter(const struct hash_source *source, unsigned bits, unsigned threads,
                       size_t spacing, unsigned char *work, uint64_t *to, size_t *end);

#endif

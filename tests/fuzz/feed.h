/* SPDX-License-Identifier: MIT
 *
 * feed: the bytes of one fuzz input, taken off piece by piece.
 *
 * A feed never runs dry: past its end everything is zero. So every input means
 * something, and the meaning of a prefix stays when bytes are added.
 */
#ifndef NIDUS_TESTS_FUZZ_FEED_H
#define NIDUS_TESTS_FUZZ_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nidus.h"

struct feed {
	const unsigned char *next;
	size_t left;
};

/* What every target defines: libFuzzer calls it, and so does replay.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

unsigned feed_byte(struct feed *feed);
/* A number of so many bytes (at most 8), little-endian. */
uint64_t feed_number(struct feed *feed, unsigned bytes);
/* 0 to below - 1; takes no more bytes than it needs. */
uint64_t feed_below(struct feed *feed, uint64_t below);

/*
 * Options for nidus_create. Most inputs get a family that exists and numbers that
 * are small and likely to be accepted; some get every field as it comes.
 */
nidus_options feed_options(struct feed *feed);

/*
 * From now on the library is refused every block that is larger (at most 1 MiB), so
 * that no input takes long and E_NOMEM comes up too; and a random seed is always the
 * same one.
 */
void feed_tame_system(size_t largest_block);

/*
 * Whether a filter can be saved: one of many segments needs memory for their records, which
 * may be more than the largest block.
 */
bool feed_can_save(const nidus_filter *filter);

#endif

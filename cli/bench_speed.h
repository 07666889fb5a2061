/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_SPEED_H
#define NIDUS_CLI_BENCH_SPEED_H

/** @file bench_speed.h  nidus bench speed: every row, one thread at work, beside the ceilings. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_settings {
	uint64_t keys;
	const char *rows; /* names with commas; NULL: all */
	unsigned groups;  /* a sum of enum bench_group */
	unsigned rounds;
	uint64_t seconds; /* after so many no further round begins; 0: any time */
	unsigned threads;
	size_t batch;
	bool bars;
	bool json;
};

/** Returns an exit code; with `bars` EXIT_NOTHING if one was missed. */
int bench_speed(const struct bench_settings *settings);

#endif

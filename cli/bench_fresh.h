/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_FRESH_H
#define NIDUS_CLI_BENCH_FRESH_H

/**
 * @file bench_fresh.h  Memory for a filter that grows: all zero, and there already.
 *
 * What the system takes to hand out a page, which on a virtual machine may be ten
 * milliseconds, is then no part of the insert that touches it first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nidus.h"

struct fresh {
	unsigned char *memory;
	size_t size, used;
};

/** Takes and touches so many bytes. False if the system does not have them. */
bool fresh_open(struct fresh *fresh, uint64_t bytes);

/** Filters from it must be free. Also for what could not be opened. */
void fresh_close(struct fresh *fresh);

/**
 * For the options of filters of one thread at a time. Each byte is given once; when there are no
 * more, and for small pieces, the memory is the system's.
 */
nidus_allocator fresh_allocator(struct fresh *fresh);

#endif

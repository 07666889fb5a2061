/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_SITE_H
#define NIDUS_CLI_BENCH_SITE_H

/**
 * @file bench_site.h  Where measured filters lie: in the array of the ceilings.
 *
 * Memory is not the same everywhere: on a virtual machine one stretch of it may be
 * a fifth faster than another, for as long as a program runs. A filter in the array
 * in which the ceilings are measured meets what they meet, and in every round
 * it lies elsewhere in it.
 */

#include <stddef.h>

#include "bench_ceiling.h"
#include "nidus.h"

struct site {
	unsigned char *memory;
	size_t size;
	size_t start; /* of this round's filters, */
	size_t end;   /* and of those that are there */
	unsigned lent;
};

/** A site in the array of open ceilings, which are not measured while filters lie there. */
void site_open(struct site *site, const struct ceilings *ceilings);

/** Chooses another place; no filter may be there. */
void site_turn(struct site *site, unsigned round);

/**
 * For the options of filters, which must be free before the ceilings are closed. Tables
 * that are small, or larger than what is left of the array, lie elsewhere. One
 * filter at a time may be made or freed.
 */
nidus_allocator site_allocator(struct site *site);

#endif

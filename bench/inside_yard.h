/* SPDX-License-Identifier: MIT
 *
 * inside_yard: front yards and backyards whose operations count the cache lines
 * that they touch.
 *
 * The same code as the library's, compiled once more with a counter in its hook;
 * inside_yard.c includes private headers as inside.c does.
 */
#ifndef NIDUS_BENCH_INSIDE_YARD_H
#define NIDUS_BENCH_INSIDE_YARD_H

#include <nidus.h>

struct inside_yard;

/*
 * Empty yards as the breadcrumb family plans them for these options (seed
 * included). NULL if it refuses (nidus_reason tells) or memory is short.
 */
struct inside_yard *inside_yard_create(const nidus_options *options);
void inside_yard_free(struct inside_yard *inside);

nidus_status inside_yard_insert(struct inside_yard *inside, uint64_t key);
nidus_status inside_yard_remove(struct inside_yard *inside, uint64_t key);
bool inside_yard_contains(const struct inside_yard *inside, uint64_t key);

/* Different lines that the last of these calls touched. */
unsigned inside_yard_lines(void);

/* Bits of a remainder, and bits of both yards together. */
unsigned inside_yard_width(const struct inside_yard *inside);
uint64_t inside_yard_bits(const struct inside_yard *inside);

#endif

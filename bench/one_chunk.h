/* SPDX-License-Identifier: MIT
 *
 * one_chunk: filters whose table is a single chunk, however large.
 *
 * nidus_create divides large tables into chunks; load thresholds are about one
 * undivided table. The file format allows any number of chunks, so an empty
 * filter of one chunk is written as docs/format.md says, and loaded.
 */
#ifndef NIDUS_BENCH_ONE_CHUNK_H
#define NIDUS_BENCH_ONE_CHUNK_H

#include <nidus.h>

/*
 * Makes an empty filter of these options (family and slots are set in them) with
 * one chunk of about so many slots, a power of two where the family wants that.
 * options->capacity and options->stash are not looked at: there is no stash.
 * Fingerprints have `bits` bits, also fewer than any option makes; 0: as many as
 * options->fpr asks for.
 * Errors: those of nidus_create and nidus_load; *filter is NULL then.
 */
nidus_status one_chunk_create(const nidus_options *options, uint64_t total_slots, unsigned bits,
                              nidus_filter **filter);

#endif

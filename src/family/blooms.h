/* SPDX-License-Identifier: MIT
 *
 * blooms: what the two Bloom families have in common.
 *
 * Both keep a table of bits (bloom/bloom.h). They differ in where a key's bits
 * lie, hence in the rate of a table of a given size, hence in their sizing.
 *
 * In a blueprint of theirs core_bits is the number of bits that a key sets and
 * groups the size of the table, which is odd; chunks is 1, and everything that has to do with
 * slots, growth or a stash is 0.
 *
 * Full is a word that Bloom filters do not know: inserts beyond the capacity go
 * on, and the rate rises.
 */
#ifndef NIDUS_FAMILY_BLOOMS_H
#define NIDUS_FAMILY_BLOOMS_H

#include "bloom/bloom.h"
#include "family/family.h"

/* Below this nothing has been measured: the bits of a key must be independent. */
#define BLOOMS_FPR_LEAST 0x1p-24

/*
 * The rate that a table comes to. Keys fall as they like, so tables of one size
 * differ a little; `most` is five spreads above the mean, and what sizes are
 * chosen by.
 */
struct bloom_rate {
	double mean, most;
};

typedef struct bloom_rate (*bloom_rate_of)(uint64_t groups, unsigned probes, uint64_t keys);

/*
 * The fewest groups, from `least` on, whose rate is at most `fpr`, and one more if that
 * makes it odd; 0 if there is no such number.
 */
uint64_t blooms_size(bloom_rate_of rate_of, unsigned probes, uint64_t keys, double fpr,
                     uint64_t least);

/* Whether the options ask for nothing that bits cannot do. Errors: E_RANGE, E_UNSUPPORTED. */
nidus_status blooms_check_options(const nidus_options *options, const char *family);

/* Whether a plan's numbers are those of a table of bits. Errors: E_RANGE. */
nidus_status blooms_check(const struct blueprint *plan);

/* As `joint` of struct family, which see. */
nidus_status blooms_joint(const struct blueprint *plan, uint64_t keys, bloom_rate_of rate_of,
                          struct blueprint *joint);

/* The share of bits that so many keys set on average. */
double blooms_load(uint64_t bits, unsigned probes, uint64_t keys);

/* The chance that an absent key has the very hash of one of the keys. */
double blooms_same_hash(uint64_t keys);

/* The adapters that both families use as they are. */
void blooms_free(void *body);
void blooms_clear(void *body);
nidus_status blooms_copy(void *to, const void *from);
const struct body_ops *blooms_ops(const void *body);
uint64_t blooms_count(const void *body);
bool blooms_mapped(const void *body);
struct fill blooms_fill(const void *body);
nidus_status blooms_transfer(void *to, const void *from);
unsigned char *blooms_table(const void *body, uint64_t *size);
void blooms_export_stash(const void *body, unsigned char *bytes);

/* Sets the count, which only the file knows; the caller then verifies. Errors: E_CORRUPT. */
nidus_status blooms_take_count(void *body, uint64_t stashed, uint64_t count);

/* Builds of blocked Bloom filters by ranges of blocks. */
extern const struct ranges_ops blocked_ranges;

#endif

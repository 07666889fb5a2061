/* SPDX-License-Identifier: MIT
 *
 * recent: filters that forget (options.slices).
 *
 * Time is cut into slices; nidus_tick begins the next. A key is found as long as it was put in or
 * refreshed in this slice or in one of the `slices` - 1 before it. A recent filter is a directory
 * (api/directory.h), also where its size is fixed, in which a stamp takes the place of a value: the
 * tick of an entry's last refresh, modulo 2^bits, where
 *
 *     bits = ceil(log2(slices + 2))
 *
 * So stamps come again. Each body keeps the tick at which it was last swept, when no expired
 * entry was left in it. Entries have been stamped at one of these ticks since:
 *
 *     swept - slices + 1 ... swept ... swept + 2^bits - slices        2^bits ticks: each stamp is one
 *
 * and an insert at a later one sweeps its body first. So a tick is a number that rises, nothing comes back
 * however many ticks pass, and an insert sweeps at most its leaf. An expired entry is
 * only there until then: lookups do not find it, but to them its slot is taken, so that stashes need no
 * look (docs/algorithms/nest.md). Sweeping takes it out as a remove does.
 *
 * A leaf without room is swept before it may grow, and grows only if that makes too little room. The list of
 * a filter with few entries is swept like a body.
 *
 * An identity has one entry: an insert stamps it anew where it is, expired or not. Live entries are counted
 * by their slices.
 *
 * Threads: an insert, and the sweep before it, hold the lock of their leaf. Lookups hold nothing: who sees a stamp
 * and the same last sweep before and after it has read it rightly. A tick keeps inserts out.
 */
#ifndef NIDUS_API_RECENT_H
#define NIDUS_API_RECENT_H

#include "api/directory.h"

#define RECENT_SLICES_MOST 254
#define RECENT_TICK_BITS 56 /* ticks are counted modulo 2^56 */

struct recent {
	struct directory directory; /* first: whatever works on a directory works on this */
	uint64_t tick;              /* now */
	uint64_t list_swept;        /* the tick up to which the list was swept */
	uint32_t now;               /* the place of this slice in `live` */
	uint32_t locked;            /* threads: bits of the leaves that are locked */
	uint64_t live[];            /* keys by the slice of their last refresh, in a ring */
};

/* Bits of a stamp. */
unsigned recent_bits(unsigned slices);

/* Whether filters of a family can forget. */
bool recent_family_can(const struct family *family);

/* Whether what a plan says of slices can be so. */
bool recent_plan_possible(const struct blueprint *plan);

/* The family of filters that forget, of bodies of another one. */
const struct family *recent_family(const struct family *inner);

/* Bytes of the struct of a filter of a plan. */
size_t recent_size(const struct blueprint *plan);

/* Begins a slice; no insert is under way. */
void recent_tick(struct recent *recent);

/* How old a key is, in slices; -1: it is not there. */
int recent_age(const struct recent *recent, uint64_t hash);

/* The live keys of an age, and of all. */
uint64_t recent_of_age(const struct recent *recent, unsigned age);
uint64_t recent_count(const struct recent *recent);

/* The age of an entry of a body, or of the list if that is NULL: its value is a stamp. */
int recent_age_of_entry(const struct recent *recent, const void *body, const nidus_entry *entry);

extern const struct body_ops recent_ops, recent_shared_ops;

/* The filter that a directory is; NULL: it does not forget. */
static inline struct recent *recent_of(const struct directory *directory)
{
	return directory->ground->plan.slices > 0 ? (struct recent *)(uintptr_t)directory : NULL;
}

/* For directories: the tick at which bodies are made, 0 of those that do not forget. */
uint64_t recent_tick_of(const struct directory *directory);

/* Takes what expired out of a leaf. False: there was nothing to be done. */
bool recent_sweep_leaf(struct directory *directory, struct leaf *leaf);

/* directory_used() but for what expired. */
uint64_t recent_used(const struct directory *directory);

/*
 * For files: ticks since a body was swept, or the list if that is NULL, as far as they matter; and back.
 * Errors: E_FORMAT (no filter says so).
 */
unsigned recent_lag(const struct recent *recent, const void *body);
nidus_status recent_set_lag(struct recent *recent, void *body, uint64_t lag);

/* Bytes of the counts in a file, and these, by age. Errors: E_FORMAT. */
uint64_t recent_counts_size(const struct blueprint *plan);
void recent_save_counts(const struct recent *recent, unsigned char *bytes);
nidus_status recent_load_counts(struct recent *recent, const unsigned char *bytes, uint64_t most);

#endif

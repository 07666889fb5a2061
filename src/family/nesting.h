/* SPDX-License-Identifier: MIT
 *
 * nesting: what the families whose body is a nest share.
 */
#ifndef NIDUS_FAMILY_NESTING_H
#define NIDUS_FAMILY_NESTING_H

#include "family/family.h"
#include "nest/nest.h"

/* The kind of nest that the body of a plan is. */
enum nest_kind nesting_kind(const struct blueprint *plan);

unsigned nesting_copies(const struct blueprint *plan);
nidus_status nesting_create(void *body, const struct blueprint *plan, const struct segment *segment,
                            const nidus_allocator *allocator, unsigned char *table);
void nesting_free(void *body);
void nesting_clear(void *body);
nidus_status nesting_copy(void *to, const void *from);
nidus_status nesting_build(void *body, const uint64_t *hashes, const uint64_t *values, size_t n,
                           unsigned threads);
const struct body_ops *nesting_ops(const void *body);
uint64_t nesting_count(const void *body);
uint64_t nesting_surplus(const void *body);
void nesting_promise(void *body, uint64_t capacity);
struct fill nesting_fill(const void *body);
nidus_status nesting_verify(const void *body);
bool nesting_next(const void *body, nidus_cursor *cursor, nidus_entry *entry);
bool nesting_next_wanted(const void *body, const uint8_t *wanted, nidus_cursor *cursor,
                         nidus_entry *entry);
nidus_status nesting_entry_hash(const void *body, const nidus_entry *entry, uint64_t *hash);
unsigned char *nesting_table(const void *body, uint64_t *size);
void nesting_export_stash(const void *body, unsigned char *bytes);
nidus_status nesting_import(void *body, const unsigned char *stash, uint64_t stashed,
                            uint64_t count);

/* Builds by ranges of chunks, for families that have those. */
extern const struct ranges_ops nesting_ranges;
nidus_status nesting_check_segment(const struct blueprint *plan, const struct segment *segment);
uint64_t nesting_body_hash(const void *body, const nidus_entry *entry, uint64_t part);
uint64_t nesting_borrow(const void *body, uint64_t hash);
struct lender nesting_lender(const void *body);
const void *nesting_sketch(void *room, const struct blueprint *plan, const struct segment *segment,
                           uint64_t partner_key);
nidus_status nesting_prepare(void *model);
nidus_status nesting_lay_out(const struct blueprint *plan, const struct segment *segment,
                             const void *model, const nidus_allocator *allocator, void **layout);
void nesting_free_layout(void *layout);
uint64_t nesting_segment_room(const struct blueprint *plan);
void nesting_moved(void *body, unsigned char *room);
nidus_status nesting_spread(const void *from, const struct spread *spread);
unsigned nesting_tag_at(const struct blueprint *plan);
nidus_status nesting_insert_copies(void *body, uint64_t hash, uint64_t value, uint64_t copies);

/* The members of a struct family that are the same for all of them. */
#define NESTING_MEMBERS                                                                           \
	.body_size = sizeof(struct nest), .stash_entry = OVERFLOW_ENTRY, .searches = true,        \
	.copies = nesting_copies, .create = nesting_create, .free = nesting_free,                 \
	.clear = nesting_clear, .copy = nesting_copy, .build = nesting_build, .ops = nesting_ops, \
	.count = nesting_count, .surplus = nesting_surplus,         \
	.promise = nesting_promise, .fill = nesting_fill, .verify = nesting_verify,               \
	.next = nesting_next,                                      \
	.next_wanted = nesting_next_wanted, .entry_hash = nesting_entry_hash, .transfer = nesting_transfer,     \
	.identity = nesting_identity, .table = nesting_table,                                     \
	.export_stash = nesting_export_stash, .import = nesting_import,                           \
	.check_segment = nesting_check_segment, .body_hash = nesting_body_hash,                   \
	.borrow = nesting_borrow, .lender = nesting_lender, .sketch = nesting_sketch,             \
	.prepare = nesting_prepare, .spread = nesting_spread, .tag_at = nesting_tag_at,           \
	.insert_copies = nesting_insert_copies, .lay_out = nesting_lay_out,                       \
	.free_layout = nesting_free_layout, .segment_room = nesting_segment_room,                 \
	.moved = nesting_moved,                                                                   \
	.features = NIDUS_DELETE | NIDUS_ENUMERATE | NIDUS_MERGE | NIDUS_GROW | NIDUS_MULTISET |  \
	            NIDUS_CONCURRENT

/*
 * What is wrong for every nest; `reserves` if the family holds slots back.
 * Errors: E_UNSUPPORTED, E_RANGE.
 */
nidus_status nesting_check_options(const nidus_options *options, bool reserves);

/* Whether a plan from anywhere can be laid out as a whole filter. Errors: E_RANGE. */
nidus_status nesting_check(const struct blueprint *plan);

/* How a family's tables can be filled. */
struct nesting_sizing {
	/* Whether `keys` keys have room and keep the rate. */
	bool (*fits)(const struct blueprint *plan, uint64_t keys);
	/* The best stash limit for a chunk of so many slots. */
	uint64_t (*stash)(uint64_t chunk_slots);
	bool overlap;  /* groups are windows: each adds one slot to its chunk */
	bool any_size; /* chunks may have any number of groups */
};

/*
 * Makes a plan whose widths are settled that of a segment: one chunk of about family_segment_slots slots,
 * the search limit (`steps` unless asked otherwise) and the stash.
 */
void nesting_lay_out_segment(const nidus_options *options, struct blueprint *plan,
                             const struct nesting_sizing *sizing, uint32_t steps);

/* A family's segment_keys() in terms of its sizing. */
uint64_t nesting_segment_keys(const struct blueprint *plan, const struct nesting_sizing *sizing);

/* Completes the plan of a family's pack(), laid out: capacity and stash; false if `keys` do not fit. */
bool nesting_pack(struct blueprint *plan, const struct nesting_sizing *sizing, uint64_t keys);

/*
 * Completes a plan that is laid out for options->capacity: the search limit (`steps` unless asked
 * otherwise) and the stash. plan->capacity is set.
 */
void nesting_complete(const nidus_options *options, struct blueprint *plan,
                      const struct nesting_sizing *sizing, uint32_t steps);

nidus_status nesting_transfer(void *to, const void *from);
nidus_entry nesting_identity(const void *body, uint64_t hash);

/* All bodies of a growing filter together are never fuller: those of a leaf are uneven. */
#define NESTING_SEGMENT_LOAD 0.975

/*
 * The core bits with which `compared` slots that are taken with probability
 * `load` match an absent key with at most the rate `fpr`.
 */
unsigned nesting_core_bits(double fpr, double compared, double load);

/* The rate that so many core bits give. */
double nesting_fpr(unsigned core_bits, double compared, double load);

/* The rate of a plan: that of a body is lower by the bits of its tags. */
double nesting_rate(const struct blueprint *plan, double compared, double load);

/* XOR kinds: the keys that keep the plan's rate, `fits` at most. */
uint64_t nesting_keys_at_rate(const struct blueprint *plan, uint64_t slots, uint64_t fits);

/* The forecast of a plan if an absent key's fingerprint may match in `compared` slots. */
struct forecast nesting_forecast_for(const struct blueprint *plan, uint64_t keys, double compared);

/* The same for all slots of two buckets. */
struct forecast nesting_forecast(const struct blueprint *plan, uint64_t keys);

#endif

/* SPDX-License-Identifier: MIT
 *
 * family: what a filter design must bring to be one of nidus' families.
 *
 * A family is one file that fills a `struct family`, and one line in
 * registry.c. Everything above this layer (arguments, files, planner, tests)
 * goes through the table and knows no family by name: the test repo.layers checks it.
 */
#ifndef NIDUS_FAMILY_FAMILY_H
#define NIDUS_FAMILY_FAMILY_H

#include "base/blueprint.h"
#include "base/hash.h"
#include "base/lender.h"
#include "base/memory.h"
#include "base/ops.h"
#include "base/overflow.h"
#include "base/ranges.h"
#include "base/segment.h"
#include "base/spread.h"

/* How full a body is. */
struct fill {
	uint64_t count; /* entries, stashed ones included */
	uint64_t stashed;
	uint64_t listed; /* of those, different ones */
	uint64_t bytes;  /* table, stash and locks */
	double load;     /* taken slots / slots */
	double headroom; /* share of places left in the fullest chunk */
	uint64_t bodies; /* of a directory, */
	uint64_t slots;  /* and of all of them */
};

/* What follows from a plan. */
struct forecast {
	uint64_t bytes; /* of an empty filter */
	uint64_t total_slots;
	unsigned slot_bits;
	double load;  /* taken slots / slots, with that many keys in it */
	double fpr;   /* expected with that many keys in it */
	double lines; /* cache lines that the lookup of an absent key touches */
};

#define FAMILY_SKETCH 1536 /* bytes: see sketch() */

struct family {
	nidus_family id;
	const char *name;
	uint32_t features;
	unsigned pace; /* place in the order of measured speed: NIDUS_FAST takes the lowest */
	nidus_speed speed;
	/* Whether growth beyond the reserve takes core bits, so that only their sum with
	 * the growth bits is a filter's own; otherwise core bits are what entries depend on. */
	bool core_shrinks;
	unsigned kind;  /* of a family whose bodies are nests: an enum nest_kind (family/nesting.h), */
	unsigned compact_kind; /* and that of compact ones */
	bool compact;          /* whether NIDUS_COMPACT is possible */
	bool searches;  /* entries make room for others: two groups of slots each */
	bool grows;     /* bodies are directories of those of a family (api/directory.h) */
	bool unlimited; /* or generations of such directories (api/generations.h) */
	/* The rates it can be planned for; 0: what all families can do (api/options.h). */
	double fpr_least, fpr_most;
	size_t body_size;
	unsigned stash_entry; /* bytes of an entry of the stash in files; 0: there is no stash */

	/* Copies of one key, and of its twins, that a filter of a plan holds at most; NULL:
	 * it keeps no copies. */
	unsigned (*copies)(const struct blueprint *plan);

	/*
	 * Chooses the numbers for options whose capacity and fpr are in order (fpr
	 * 2^-32 to 2^-4). Seed, features and fpr are in the plan already.
	 * Errors: E_RANGE, E_UNSUPPORTED.
	 */
	nidus_status (*plan)(const nidus_options *options, struct blueprint *plan);

	/* Whether a plan from anywhere can be laid out. Errors: E_RANGE. */
	nidus_status (*check)(const struct blueprint *plan);

	/* What follows from a checked plan, with `keys` keys in the filter. */
	struct forecast (*forecast)(const struct blueprint *plan, uint64_t keys);

	/*
	 * Lays out a body of a checked plan: an empty one, or, where `table` is not
	 * NULL, one over those bytes (a mapped file). They are never written to, and
	 * whatever their bits are, the calls that read a body stay inside them.
	 * `segment`: which part of a growing filter the body is; NULL: it is a whole filter.
	 * Errors: E_NOMEM.
	 */
	nidus_status (*create)(void *body, const struct blueprint *plan,
	                       const struct segment *segment, const nidus_allocator *allocator,
	                       unsigned char *table);
	void (*free)(void *body);
	void (*clear)(void *body);
	/* Into an empty body of the same plan. Errors: E_NOMEM. */
	nidus_status (*copy)(void *to, const void *from);

	/*
	 * Puts hashes in ascending order into an empty body, with their values unless those
	 * are NULL (ascending for equal hashes), with up to `threads` threads
	 * (1 to THREADS_MOST); what it becomes does not depend on their number. NULL where
	 * ops->insert_batch does as well. Errors: FULL, COPIES, E_NOMEM; then clear or
	 * free the body.
	 */
	nidus_status (*build)(void *body, const uint64_t *hashes, const uint64_t *values, size_t n,
	                      unsigned threads);

	/*
	 * The same with memory for a part of the table; the bytes are the same. NULL where a key may
	 * lie anywhere in the table.
	 */
	const struct ranges_ops *ranges;

	/*
	 * NIDUS_STATIC: fills an empty body whose plan has `judged` keys from `first`, which
	 * was built for the hashes `in` and finds those of `out`, too; here it does not. Both
	 * ascend, and no hash is in both. Errors: E_NOMEM; then clear or free the body.
	 */
	nidus_status (*judge)(void *body, const void *first, const uint64_t *in, size_t n,
	                      const uint64_t *out, size_t m, unsigned threads);

	const struct body_ops *(*ops)(const void *body);
	uint64_t (*count)(const void *body); /* entries; quick, unlike fill */
	/*
	 * Of those, copies that take no room as they are only counted in a list. NULL: there are
	 * none. promise() tells a body that its plan's capacity is another; NULL: it does not care.
	 */
	uint64_t (*surplus)(const void *body);
	void (*promise)(void *body, uint64_t capacity);
	struct fill (*fill)(const void *body);
	/* The rate of this very table, by its load or all of it; NULL where forecast() tells it. */
	double (*rate_now)(const void *body, double load);
	nidus_status (*verify)(const void *body);
	bool (*next)(const void *body, nidus_cursor *cursor, nidus_entry *entry);
	/* The same for entries whose value has a 1 in `wanted`, which is quicker; NULL: there is no such way. */
	bool (*next_wanted)(const void *body, const uint8_t *wanted, nidus_cursor *cursor,
	                    nidus_entry *entry);
	/* A hash whose key has the entry's identity: what is done with that is done with the
	 * entry. Errors: E_RANGE (no filter of this base geometry has such an entry). */
	nidus_status (*entry_hash)(const void *body, const nidus_entry *entry, uint64_t *hash);
	/* Puts an entry in, where that is not done with its hash alone. Errors: those of insert, E_RANGE. */
	nidus_status (*insert_entry)(void *body, const nidus_entry *entry);

	/*
	 * NIDUS_MERGE. transfer() puts all entries of `from` into a body of the same plan.
	 * Errors: FULL, COPIES, E_NOMEM. joint(), of families without entries, is the plan of a
	 * filter of the same size that holds so many keys; NULL where filters become larger
	 * instead. Errors: E_RANGE.
	 */
	nidus_status (*transfer)(void *to, const void *from);
	nidus_status (*joint)(const struct blueprint *plan, uint64_t keys, struct blueprint *joint);

	/* The identity of a hash's key: entry_hash gives a hash of it. */
	nidus_entry (*identity)(const void *body, uint64_t hash);

	/*
	 * For bodies that are parts of a growing filter; NULL where none can be. check_segment()
	 * is check() of such a body's plan: level 0, and core_bits is all that its entries
	 * compare. body_hash() is a hash whose key has an entry's identity and is of this part,
	 * whose tag the entry has. borrow() gives pseudo-random bits that follow from what a
	 * body keeps of a key without its part: keys of one identity have the same. lender() says
	 * how they follow from a hash, after prepare().
	 * plan_segment() is plan() of such a body, as large as segments of the family are, whose
	 * entries keep the rate even if its table is full; segment_keys() says how many keys
	 * it takes. fit_segment() makes its table larger or smaller, so that it takes so many and
	 * hardly more; NULL where tables have one size. prepare() makes what a model shares with
	 * other bodies; it may be NULL. lay_out() makes what all bodies with as many tag bits
	 * have in common, which is read only: for segment->layout of each; free_layout() when none
	 * of them is left, and before the model. NULL where bodies have nothing in common.
	 * spread() puts the entries of a body into others of the same filter. segment_room() is
	 * the size of segment->room for a body of a plan; after such a body was moved, moved() tells it
	 * where its room is now.
	 */
	nidus_status (*plan_segment)(const nidus_options *options, struct blueprint *plan);
	uint64_t (*segment_keys)(const struct blueprint *plan);
	void (*fit_segment)(struct blueprint *plan, uint64_t keys);
	nidus_status (*check_segment)(const struct blueprint *plan, const struct segment *segment);
	uint64_t (*body_hash)(const void *body, const nidus_entry *entry, uint64_t part);
	uint64_t (*borrow)(const void *body, uint64_t hash);
	struct lender (*lender)(const void *model);
	/*
	 * sketch() makes a body without a table in `room`, of FAMILY_SKETCH bytes at a cache line, for
	 * identity(), entry_hash() and body_hash() alone. It takes no memory. `partner_key` is the
	 * seed's (base/hash.h).
	 */
	const void *(*sketch)(void *room, const struct blueprint *plan,
	                      const struct segment *segment, uint64_t partner_key);
	nidus_status (*prepare)(void *model);
	nidus_status (*lay_out)(const struct blueprint *plan, const struct segment *segment,
	                        const void *model, const nidus_allocator *allocator, void **layout);
	void (*free_layout)(void *layout);
	nidus_status (*spread)(const void *from, const struct spread *spread);
	uint64_t (*segment_room)(const struct blueprint *plan);
	void (*moved)(void *body, unsigned char *room);
	/*
	 * Makes a plan that of a table of fixed size with so many groups in all, and of its capacity all
	 * keys that this takes; false if those are fewer than `keys`. An entry of the table has a
	 * place in any other whose groups divide its own (api/pack.c). NULL where that is not so, as of
	 * two groups an entry does not tell which one its hash chose.
	 */
	bool (*pack)(struct blueprint *plan, uint64_t groups, uint64_t keys);
	/* Puts copies of a key in, one or more. Errors: FULL, COPIES, E_NOMEM. */
	nidus_status (*insert_copies)(void *body, uint64_t hash, uint64_t value, uint64_t copies);
	/* The first bit of a fingerprint that is its tag's. */
	unsigned (*tag_at)(const struct blueprint *plan);

	/* For files: the table's bytes, and the stash, stash_entry bytes for each that fill() says is listed. */
	unsigned char *(*table)(const void *body, uint64_t *size);
	void (*export_stash)(const void *body, unsigned char *bytes);
	/*
	 * After the table's bytes were filled from outside: takes the stash, `stashed` different entries, and checks
	 * everything, also that there are `count` entries in all, where they can be
	 * counted. Over a mapped table only what needs no look at it is checked, in
	 * constant time but for the stash.
	 * Errors: E_CORRUPT, E_NOMEM; free the body then.
	 */
	nidus_status (*import)(void *body, const unsigned char *stash, uint64_t stashed,
	                       uint64_t count);
};

/* Whether slots are to be held back, which most families do not do. */
static inline bool family_must_reserve(const nidus_options *options)
{
	return options->reserve != 0 && options->reserve != NIDUS_RESERVE_NONE;
}

/* Slots that one body of a growing filter has, about; a multiple of 8. Tests take fewer. */
extern unsigned family_segment_slots;

/*
 * So many groups or a few more, so that the places of a growing filter of the plan have many divisors:
 * the sizes that it can be packed to.
 */
uint64_t family_divisible(const struct blueprint *plan, uint64_t groups);

/* Keys that a filter can be made for. */
#define FAMILY_CAPACITY_MOST_LOG 44
#define FAMILY_CAPACITY_MOST (UINT64_C(1) << FAMILY_CAPACITY_MOST_LOG)

/* The families of this library, in the order of nidus_family; NULL ends them. */
#define FAMILIES 10
extern const struct family *const families[FAMILIES + 1];

/* NULL if this library does not have it. */
const struct family *family_find(nidus_family id);

#endif

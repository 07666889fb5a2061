/* SPDX-License-Identifier: MIT
 *
 * yard: the front yard and the backyard of the breadcrumb family.
 *
 * Both yards are arrays of mini-filters (mini.h). A key has one front bucket,
 * one mini-bucket in it, and a remainder. When a front bucket is full, what has
 * the highest mini-bucket goes to the backyard; so a front bucket holds a prefix
 * of its entries in mini-bucket order, and a lookup leaves the front line only
 * if that line is full and the key's mini-bucket is not below its last one.
 *
 * Every front bucket has two backyard lines, one in each half of the backyard.
 * With F front buckets a half has H = ceil(F / 16) lines:
 *
 *     front bucket f  -->  crumb c = f mod 16
 *                     -->  even half: line e = f / 16
 *                     -->  odd half:  line (e + hop[c]) mod H
 *
 *     backyard lines:   even 0, odd 0, even 1, odd 1, ...
 *
 * Line and crumb together name f in both halves, so every backyard entry can find
 * its way back, and to its other line. The two lines are never the same, and each
 * line has at most 16 front buckets, one per crumb.
 *
 * The hops (yard.c) are a ruler on which no two pairs of marks are equally far
 * apart. So two even lines share at most one odd line (if H > 824), and load that
 * is too much for a few lines leaves by as many ways as there can be. Two hops differ
 * by 2 and two by 3, so the whole backyard is connected for every H. (The paper's CRUMB
 * hashing has one backyard, and a crumb is 3 bits of digit and a bit that says
 * which hash was used; here the half says that, and the crumb has 4 bits. The
 * paper's two lines coincide for some front buckets, which fail first.)
 *
 * Identity of an entry: home = front bucket; fingerprint = mini-bucket + 1 (7 bits) above the
 * remainder, so that it is never 0.
 *
 * A yard can be a body of a growing filter (base/segment.h). A hash is cut into part, front bucket,
 * mini-bucket and remainder; what an entry keeps of its part, its tag, lies beside it as a value
 * does, below the value, and in its identity above all else. Lookups do not compare tags, which
 * keeps the rate. Whatever counts, finds or changes the entries of a key does: one with another tag
 * is another key's, and goes elsewhere when the body is split.
 *
 * Values and tags, if the yard keeps any, lie behind both yards: yard/values.h. The table of a
 * yard is the lines of the front yard, those of the backyard, and then the values.
 *
 * What the lines have no place for is in an exact list: yard/list.h.
 *
 * Invariants (yard_verify checks them):
 *  - every line is a valid mini-filter;
 *  - a backyard entry's front bucket exists, is full, and ends with a mini-bucket
 *    not above the entry's;
 *  - where no entry is there is no value.
 */
#ifndef NIDUS_YARD_YARD_H
#define NIDUS_YARD_YARD_H

#include <assert.h>

#include "base/blueprint.h"
#include "base/hash.h"
#include "base/lender.h"
#include "base/memory.h"
#include "base/ops.h"
#include "base/overflow.h"
#include "base/segment.h"
#include "base/spread.h"
#include "base/stripes.h"
#include "yard/mini.h"
#include "yard/values.h"

#define YARD_FAN 16    /* front buckets per backyard line and half */
#define YARD_COPIES 16 /* of one key in its lines; others are listed */

#define YARD_BUCKET_BITS 7    /* of a mini-bucket's number + 1 */
#define YARD_TAG_BITS_MOST 24 /* that an entry keeps of its part */

/* The two kinds of lines of a yard. */
struct yard_shape {
	struct mini_shape front, back;
};

struct yard;

/* A place in the yards, and what is stored there. */
struct yard_key {
	uint64_t bucket; /* in the front yard */
	unsigned m;      /* mini-bucket */
	uint64_t remainder;
	uint64_t beside; /* it: its value, above its tag; of keys that are changed the tag */
};

/* All lines in which a front bucket's entries can be, and its crumb in two of them. */
struct yard_trio {
	unsigned char *front, *back[2];
	struct yard_values front_values, back_values[2];
	unsigned crumb;
};

/* The operations of one shape and tier; `body` must be the first member. */
struct yard_ops {
	struct body_ops body;
	struct body_ops shared; /* the same for a yard that threads share: shared.h */
	struct yard_shape shape;
	nidus_status (*put)(struct yard *yard, struct yard_key key);
	bool (*fill_fronts)(struct yard *yard, const uint64_t *hashes, const uint64_t *values,
	                    size_t n);
	nidus_status (*fill_back)(struct yard *yard, const uint64_t *hashes, const uint64_t *values,
	                          size_t n, uint64_t bucket, uint64_t end);
	nidus_status (*transfer)(struct yard *to, const struct yard *from);
	nidus_status (*spread)(const struct yard *from, const struct spread *spread);
};

/* A filter may have thousands of them: fields are ordered so that none wastes bytes. */
struct yard {
	unsigned char *front, *back;
	unsigned char *values; /* and tags; NULL if there are none */
	uint64_t fronts;       /* front buckets */
	uint64_t half;         /* lines in each half of the backyard */
	uint64_t parts;        /* of the growing filter whose body this is; 1: a whole filter */
	uint64_t first_part;   /* that the body holds */
	uint64_t count;        /* entries, but for those that the stripes count */
	uint64_t version;      /* of probes (base/probe.h) */
	const struct yard_ops *ops;
	struct stripes stripes; /* none unless threads share the yard */
	uint16_t hop[YARD_FAN]; /* from even lines to odd ones, mod half */
	uint8_t width, buckets; /* of remainders; mini-buckets of a line */
	uint8_t tag_bits, value_bits;
	uint8_t beside_bits;   /* of both together */
	bool careful;          /* there are values, tags, or entries in the list; for one thread */
	bool mapped;           /* the lines are a file's: any bits, not counted */
	uint32_t list_version; /* where threads share the yard: odd while the list changes */
	uint64_t capacity;     /* entries below which none is refused */
	struct overflow list;  /* entries without a place in the lines: list.h */
	struct block memory;
	nidus_allocator allocator;
};

/* What the numbers of a probe are. */
enum { YARD_PROBE_BUCKET, YARD_PROBE_MINI, YARD_PROBE_REMAINDER };

/* Whether threads share the yard. */
ALWAYS_INLINE bool yard_shared(const struct yard *yard)
{
	return yard->stripes.stripe != NULL;
}

/* Entries in both yards and in the list. */
static inline uint64_t yard_count(const struct yard *yard)
{
	return yard->count + (yard_shared(yard) ? stripes_count(&yard->stripes, 0) : 0);
}

/* Where a hash belongs, for callers that know the number of mini-buckets and the width. */
ALWAYS_INLINE struct yard_key yard_locate_in(const struct yard *yard, uint64_t hash,
                                             unsigned buckets, unsigned width)
{
	struct yard_key key;
	key.bucket = multiply_wide(hash * yard->parts, yard->fronts, &hash);
	key.m = (unsigned)multiply_wide(hash, buckets, &hash);
	key.remainder = hash >> (64 - width);
	key.beside = 0;
	return key;
}

static inline struct yard_key yard_locate(const struct yard *yard, uint64_t hash)
{
	return yard_locate_in(yard, hash, yard->buckets, yard->width);
}

/* What lies beside an entry of a hash with a value. */
ALWAYS_INLINE uint64_t yard_beside(const struct yard *yard, uint64_t hash, uint64_t value)
{
	if (LIKELY(yard->tag_bits == 0))
		return value;
	uint64_t tag = multiply_high(hash, yard->parts) - yard->first_part;
	assert(tag <= bits_low(yard->tag_bits));
	return value << yard->tag_bits | tag;
}

/* Where a hash belongs, and its tag. */
static inline struct yard_key yard_locate_tagged(const struct yard *yard, uint64_t hash)
{
	struct yard_key key = yard_locate(yard, hash);
	key.beside = yard_beside(yard, hash, 0);
	return key;
}

/* What names a front bucket among those that share a backyard line with it. */
static inline unsigned yard_crumb(uint64_t bucket)
{
	return (unsigned)(bucket % YARD_FAN);
}

/* The number of a front bucket's line in the even (0) or odd (1) half of the backyard. */
static inline uint64_t yard_line_in(const struct yard *yard, uint64_t bucket, unsigned half)
{
	uint64_t line = bucket / YARD_FAN;
	if (half == 0)
		return line;
	return less_if_not_below(line + yard->hop[yard_crumb(bucket)], yard->half);
}

/* A front bucket's line in the even (0) or odd (1) half; the shape may be a constant. */
ALWAYS_INLINE unsigned char *yard_back_line_in(const struct yard *yard, struct yard_shape shape,
                                               uint64_t bucket, unsigned half)
{
	unsigned size = mini_line(shape.back);
	return yard->back + yard_line_in(yard, bucket, half) * 2 * size + half * size;
}

static inline unsigned char *yard_back_line(const struct yard *yard, uint64_t bucket, unsigned half)
{
	return yard_back_line_in(yard, yard->ops->shape, bucket, half);
}

/* The front bucket that a backyard line's crumb names. It may not exist. */
static inline uint64_t yard_front_of(const struct yard *yard, uint64_t line, unsigned crumb)
{
	uint64_t even = line / 2, hop = line % 2 == 0 ? 0 : yard->hop[crumb];
	even += hop > even ? yard->half : 0;
	return (even - hop) * YARD_FAN + crumb;
}

/* The values of a front line. */
static inline struct yard_values yard_front_values(const struct yard *yard, uint64_t bucket)
{
	struct yard_values values = { NULL, yard->ops->shape.front.slots, yard->beside_bits,
		                      yard->tag_bits };
	if (yard->values != NULL)
		values.bytes = yard->values + bucket * yard_values_size(values.slots, values.bits);
	return values;
}

/* The values of a line of the backyard, by its number. */
static inline struct yard_values yard_back_values(const struct yard *yard, uint64_t line)
{
	struct yard_values values = { NULL, yard->ops->shape.back.slots, yard->beside_bits,
		                      yard->tag_bits };
	uint64_t behind =
		yard->fronts * yard_values_size(yard->ops->shape.front.slots, yard->beside_bits);
	if (yard->values != NULL)
		values.bytes =
			yard->values + behind + line * yard_values_size(values.slots, values.bits);
	return values;
}

/*
 * Whether so many entries are there that one front line in ten is full, or more. Of a yard that
 * threads share, entries that came since it was made or read do not count.
 */
ALWAYS_INLINE bool yard_nearly_full(const struct yard *yard, struct yard_shape shape)
{
	return yard->count > yard->fronts * (shape.front.slots * 13 / 16);
}

/* The operations on lines of a shape, by the slots of its front lines; NULL if there is none. */
const struct yard_ops *yard_find(unsigned slots);

/* Bytes of the table of a checked plan: lines, values and tags. */
uint64_t yard_table_bytes(const struct blueprint *plan, unsigned tag_bits);

/* Lines of both yards for so many front buckets. */
uint64_t yard_lines(uint64_t fronts);

/* Lays out the backyard that so many front buckets as the yard has need. */
void yard_lay_back(struct yard *yard);

/* Whether a yard can be laid out from a plan. Errors: E_RANGE. */
nidus_status yard_check(const struct blueprint *plan);

/* Whether a body of a growing filter can. Its growth bits are its tag's. Errors: E_RANGE. */
nidus_status yard_check_segment(const struct blueprint *plan, const struct segment *segment);

/*
 * Makes a yard without a table of a growing filter: for yard_locate, identities and hashes of entries
 * alone. It takes no memory.
 */
void yard_sketch(struct yard *yard, const struct blueprint *plan, const struct segment *segment);

/*
 * Lays out a yard of a checked plan: an empty one, or, where `table` is not NULL,
 * one over those lines, which are never written to. With a segment it is a body of
 * a growing filter. Errors: E_NOMEM.
 */
nidus_status yard_create(struct yard *yard, const struct blueprint *plan,
                         const struct segment *segment, const nidus_allocator *allocator,
                         unsigned char *table);

/* segment->room of a body is elsewhere now. */
void yard_moved(struct yard *yard, unsigned char *room);

/* Slots of both yards. */
uint64_t yard_slots(const struct yard *yard);
void yard_free(struct yard *yard);

/* Bytes in memory, stripes and list included. */
uint64_t yard_bytes(const struct yard *yard);
const struct body_ops *yard_body_ops(const struct yard *yard);

/* find_batch of a yard that threads share, or whose list is not empty. */
void yard_find_one_by_one(const void *yard, const uint64_t *hashes, size_t n, uint64_t *first,
                          uint32_t *found);

void yard_clear(struct yard *yard);

/* Checks all invariants and counts. Errors: E_CORRUPT with a reason. */
nidus_status yard_verify(const struct yard *yard, uint64_t *count);

/* The next entry of one front bucket, its backyard included; *at is 0 at first. */
bool yard_next_in(const struct yard *yard, uint64_t bucket, uint64_t *at, struct yard_key *key);

/* The identity of what belongs to a place. */
nidus_entry yard_identity(const struct yard *yard, struct yard_key key);

bool yard_next(const struct yard *yard, nidus_cursor *cursor, nidus_entry *entry);

/* A hash whose key has the entry's identity. Errors: E_RANGE (there is none). */
nidus_status yard_entry_hash(const struct yard *yard, const nidus_entry *entry, uint64_t *hash);

/* Of a body of a growing filter: the same, for a key of a part whose tag the entry has. */
uint64_t yard_body_hash(const struct yard *yard, const nidus_entry *entry, uint64_t part);

/* Puts all entries into bodies of a growing filter (base/spread.h). Errors: FULL, E_NOMEM. */
nidus_status yard_spread(const struct yard *from, const struct spread *spread);

/* Bits that follow from all that the yard knows of a key but for its part: of a place, or a hash. */
uint64_t yard_borrowed(const struct yard *yard, struct yard_key key);
uint64_t yard_borrow(const struct yard *yard, uint64_t hash);
struct lender yard_lender(const struct yard *yard);

/*
 * Fills an empty yard, a whole filter, from all its hashes at once. They ascend, so that
 * front buckets do, and within these mini-buckets. The bytes are those that
 * inserting the hashes one by one in this order leaves.
 *
 * Part `index` of `parts` has its share of the front buckets. yard_build_fronts fills
 * their lines, each at once; parts touch different lines, so threads may share them
 * out. yard_build_back puts what did not fit into the backyard and counts the part's
 * entries: part after part in order, each after its front lines, by one thread at a
 * time, while others fill front lines of later parts.
 *
 * `values` is NULL if all are 0. Errors: COPIES from either, FULL from the second; clear the
 * yard then.
 */
nidus_status yard_build_fronts(struct yard *yard, const uint64_t *hashes, const uint64_t *values,
                               size_t n, unsigned index, unsigned parts);
nidus_status yard_build_back(struct yard *yard, const uint64_t *hashes, const uint64_t *values,
                             size_t n, unsigned index, unsigned parts);

/*
 * Adds all entries of a whole filter to another of the same geometry, front bucket by front
 * bucket: both walk through their memory, and lines are written whole. Errors: FULL, COPIES;
 * clear or free `to` then.
 */
nidus_status yard_transfer(struct yard *to, const struct yard *from);

#endif

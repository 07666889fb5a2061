/* SPDX-License-Identifier: MIT
 *
 * directory_parts: what the files of the directory share.
 */
#ifndef NIDUS_API_DIRECTORY_PARTS_H
#define NIDUS_API_DIRECTORY_PARTS_H

#include <string.h>

#include "api/directory.h"

/* The bodies of a leaf are never quite even: so much of what they could take together. */
#define UNEVEN 0.975

/* Bits of a part, borrowed ones too, that lead to a leaf. */
#define LEAF_DEPTH_MOST 44
/* And behind the base segments, in an index. */
#define CELL_BITS 5 /* a leaf's parts are as many cells as these can number */
#define CELLS (1u << CELL_BITS)

extern const struct body_ops directory_ops;

/*
 * What lies before each body: its leaf and the range of its parts. It takes half a line, so that what
 * lookups read first of a body is in the other half.
 */
struct body_head {
	struct leaf *leaf;
	/* Its parts; the first and the last may be other bodies', too, where bits are borrowed. */
	uint64_t first, last;
	/* Bits of a tag in the lowest byte; above it the tick up to which a filter that forgets swept the body. */
	uint64_t swept_and_tag;
};

#define BODY_HEAD (MEMORY_LINE / 2)
_Static_assert(sizeof(struct body_head) <= BODY_HEAD, "a body's head is before it, in half a line");

static inline struct body_head *body_head(const void *body)
{
	return (struct body_head *)(void *)((unsigned char *)(uintptr_t)body - BODY_HEAD);
}

static inline unsigned body_tag_bits(const void *body)
{
	return (unsigned)(body_head(body)->swept_and_tag & 0xff);
}

/* How many base segments there are. */
static inline uint64_t directory_base(const struct directory *directory)
{
	return directory->parts >> directory->ground->plan.growth_bits;
}

/* Keys from which on leaves without bits may refuse some. */
static inline uint64_t directory_most(const struct directory *directory)
{
	return directory->unbounded ? UINT64_MAX : directory->ground->plan.max_capacity;
}

/* Entries of the index. */
static inline uint64_t directory_entries(const struct directory *directory)
{
	return directory->index != NULL ? directory_base(directory) << directory->depth : 0;
}

/*
 * The highest bits of a part, so many behind the base segment. Borrowed bits, of which `borrowed`
 * has the highest first, are needed from growth_bits on.
 */
static inline uint64_t part_above(const struct directory *directory, uint64_t part,
                                  uint64_t borrowed, unsigned depth)
{
	unsigned growth = directory->ground->plan.growth_bits;
	return depth <= growth ? part >> (growth - depth)
	                       : part << (depth - growth) | borrowed >> (64 - (depth - growth));
}

/* The next body, or leaf, from an entry of the index on; NULL behind the last. */
void *directory_next_body(const struct directory *directory, uint64_t *index);
struct leaf *directory_next_leaf(const struct directory *directory, uint64_t *index);

/* The body that holds a hash, of a directory that has leaves. */
void *directory_body(const struct directory *directory, uint64_t hash);

/* Makes a leaf, its bodies empty or over tables. Errors: E_NOMEM. */
nidus_status directory_make_leaf(const struct directory *directory, uint64_t number, unsigned depth,
                                 unsigned bodies, unsigned char *const *tables, struct leaf **made);
void directory_free_leaf(const struct directory *directory, struct leaf *leaf);

/* Bytes of the table of a body of such a leaf. */
uint64_t directory_table_bytes(const struct directory *directory, uint64_t number, unsigned depth,
                               unsigned bodies, unsigned which);

/* Bytes of the block of a body whose tag has so many bits, and of all blocks there are. */
uint64_t directory_block_bytes(const struct family *inner, const struct blueprint *body,
                               unsigned tag_bits);
uint64_t directory_slab_bytes(const struct directory *directory);

/* Bits that the bodies of a leaf need in the index. */
unsigned directory_index_depth(unsigned depth, unsigned bodies);

/*
 * Makes what a directory needs before its first leaf, with an index of this depth. `expected` are the
 * bytes of all bodies, 0 if that is not known. Errors: E_NOMEM; to be uprooted or freed then.
 */
nidus_status directory_prepare(struct directory *directory, unsigned index_depth,
                               uint64_t expected);

/* The plan of a body without a tag, of a directory of a plan. */
struct blueprint directory_body_plan(const struct blueprint *plan);

/* Makes a leaf part of the directory, whose index is deep enough. */
void directory_enter(struct directory *directory, struct leaf *leaf);

/* Entries from which on there are leaves, by keys that a body takes, and bits of a record. */
uint64_t directory_list_most(const struct blueprint *plan, uint64_t keys, unsigned bits,
                             bool shared);
/* Bits of a record of the list, but for its value; 0: there can be no list. */
unsigned directory_list_bits(const struct family *inner, const struct blueprint *plan);

/* Whether a file may have a list of so many records; and whether they are as inserts leave them. */
bool directory_list_allowed(const struct directory *directory, uint64_t records);
bool directory_list_valid(const struct directory *directory);

/* Entries of a leaf, and how many it takes. */
uint64_t directory_leaf_count(const struct directory *directory, const struct leaf *leaf);
uint64_t directory_leaf_keys(const struct directory *directory, unsigned bodies);

/* After so many inserts into a leaf; splits it if that is due, and it may `grow` now. */
void directory_look_at(struct directory *directory, struct leaf *leaf, bool grow);

/* Sets when leaves are to be looked at, by the entries that they have. */
void directory_recount(struct directory *directory);

/* Whether a leaf that is overfull and cannot be split takes no other key. */
bool directory_is_full(struct directory *directory, struct leaf *leaf);

/* The first leaves, empty; frees all leaves. */
nidus_status directory_plant(struct directory *directory);
void directory_uproot(struct directory *directory);

/* Makes leaves of a list. Errors: E_NOMEM; nothing changed then. */
nidus_status directory_leave_list(struct directory *directory);

/* Puts what is in a list into another directory, or into the leaves of the same one. Errors: E_NOMEM. */
nidus_status directory_put_list(struct directory *to, const struct directory *from);

/* The part of an entry of a body. */
uint64_t directory_part_of_entry(const struct directory *directory, const void *body,
                                 const nidus_entry *entry);

/* The entry of a record. */
nidus_entry directory_listed_entry(const struct directory *directory, struct few_record record);

/* The calls on a directory that is a list. */
uint64_t directory_few_copies(const struct directory *directory, uint64_t hash);
nidus_status directory_few_put(struct directory *directory, uint64_t hash, uint64_t value,
                               uint64_t copies);
nidus_status directory_few_take(struct directory *directory, uint64_t hash);
nidus_status directory_few_change(struct directory *directory, uint64_t hash,
                                  struct value_change change);
size_t directory_few_values(const struct directory *directory, uint64_t hash, uint64_t *values,
                            size_t cap);

/* The plan of a body without a tag. */
struct blueprint directory_body_plan(const struct blueprint *plan);

/* What a struct family has for bodies, on directories. */
nidus_status directory_check(const struct family *inner, const struct blueprint *plan);
struct forecast directory_forecast(const struct family *inner, const struct blueprint *plan,
                                   uint64_t keys);
void directory_free(struct directory *directory);
void directory_clear(struct directory *directory);
nidus_status directory_copy(struct directory *to, const struct directory *from);
nidus_status directory_build(struct directory *directory, const uint64_t *hashes,
                             const uint64_t *values, size_t n);
uint64_t directory_count(const struct directory *directory);
struct fill directory_fill(const struct directory *directory);
nidus_status directory_verify(const struct directory *directory);
bool directory_next(const struct directory *directory, nidus_cursor *cursor, nidus_entry *entry);
nidus_status directory_entry_hash(const struct directory *directory, const nidus_entry *entry,
                                  uint64_t *hash);

nidus_entry directory_identity(const struct directory *directory, uint64_t hash);

/* Puts an entry into its leaf. */
nidus_status directory_put(struct directory *directory, uint64_t hash, uint64_t value);

/* The same for copies of an entry, one or more, also of a list. Errors: E_NOMEM, COPIES. */
nidus_status directory_put_copies(struct directory *directory, uint64_t hash, uint64_t value,
                                  uint64_t copies);

#endif

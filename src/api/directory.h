/* SPDX-License-Identifier: MIT
 *
 * directory: a filter that can grow, as a directory of small bodies of its family.
 *
 * Extendible hashing, with filters in it. A hash begins with its part: one of `base` segments,
 * and behind that the growth bits (base/segment.h). The index leads from the highest bits of a
 * part to a body. Bodies that are split together are a leaf:
 *
 *     index       | a a a a | b b b b | c c c d d d e e | ...
 *                  \_______/ \_______/ \_______________/
 *     bodies           a         b        c     d    e       each: a range of parts
 *                  \_________________/ \_______________/
 *     leaves             two bodies        three bodies
 *
 * A leaf has one body, then two, then three; one that has three is split into two leaves of two,
 * by the next bit. So the memory follows the keys in steps of a third to a half. Group and core of an entry
 * never change: bodies are split slot by slot, entries only get another tag. No insert does more
 * work than one leaf has entries, and nothing can fail but memory.
 *
 * A leaf of three has them by 32nds of its parts: 11, 10 and 11. So the index has one more bit
 * than the deepest leaf with two bodies, and five more than the deepest with three.
 *
 * When a leaf is split follows from the number of its entries alone, and from its place:
 * neighbours are split at different loads, so that not all of them are at the same time.
 *
 * Behind the growth bits a part goes on with borrowed bits, pseudo-random ones that follow from what
 * bodies keep of a key (struct family): no identity is lost, and the rate of n entries
 * is still n times that of one. The last few sizes of three bodies need them, leaves that
 * are far too full, nidus_grow_relaxed and merges.
 *
 * A filter of a few entries has no leaves: it is a list of them (base/few.h).
 *
 * Depths differ by at most DIRECTORY_SPREAD. Hashes may be chosen: a leaf that would have to be
 * deeper stays as it is, and its bodies' exact lists grow instead.
 *
 * All functions of a struct family that work on a body work on a directory (directory_family).
 */
#ifndef NIDUS_API_DIRECTORY_H
#define NIDUS_API_DIRECTORY_H

#include "base/few.h"
#include "base/lender.h"
#include "base/segment.h"
#include "base/slabs.h"
#include "family/family.h"

#define DIRECTORY_SPREAD 4
#define LEAF_BODIES 3

struct leaf {
	void *body[LEAF_BODIES];
	uint64_t number; /* among the leaves that there would be if all had its depth */
	int64_t room;    /* inserts before the leaf has to be looked at */
	uint8_t bodies;  /* 1 to 3 */
	uint8_t depth;   /* bits of a part, behind the base segment, that lead here */
	bool last;       /* it cannot be split any further */
	bool entered;    /* the index leads to it */
	struct block memory;
};

/*
 * The bodies of a directory whose tags have as many bits: what they have in common, made for the
 * first of them, and their memory. A body and all that it needs is one block:
 *
 *     | head | struct of the family | table, and what the family keeps behind it |
 *
 * Blocks move when others go (base/slabs.h); nothing but the leaf and the index leads to a body.
 */
struct body_class {
	void *layout;
	struct slabs slabs;
};

/* How many leaves there are, by their depths, and by the bits that their bodies need in the index. */
struct leaf_counts {
	uint64_t at_depth[64], at_index_depth[64];
};

enum directory_way {
	DIRECTORY_ELSE,   /* there is none, or borrow() is to be asked */
	DIRECTORY_GROWTH, /* growth bits alone */
	DIRECTORY_LENT,   /* and borrowed bits, which the lender knows */
};

/* What only leaves need. It is made before the first of them: many filters stay lists. */
struct trunk {
	struct lender lender;  /* where the borrowed bits of the index come from */
	void *model;           /* a body without a table: identities, and what bodies share */
	struct blueprint plan; /* of a body, but for the bits of its tag */
	uint64_t keys;         /* that one body takes */
	uint64_t expected;     /* bytes of all bodies, if it is known before they are made */
	struct block index_memory, model_memory;
	struct block memory; /* of this struct and the classes */
	struct leaf_counts counts;
	struct body_class classes[]; /* of bodies, by the bits of their tags */
};

/*
 * What a directory is made of. It lies outside, as a filter needs the same; whoever moves it tells the
 * directory.
 */
struct ground {
	struct hash_key key;
	struct blueprint plan;
	nidus_allocator allocator;
};

struct directory {
	void **index;   /* bodies, by the highest bits of a part; NULL: there are none yet */
	uint64_t parts; /* base segments, times the values of all growth bits */
	const struct body_ops *ops; /* of all bodies */
	const struct family *inner; /* the family of the bodies */
	const struct ground *ground;
	struct trunk *trunk; /* NULL: there are no leaves */
	struct few few;      /* the list, if there are none */
	uint16_t few_most;   /* entries that it takes */
	uint8_t behind;      /* growth bits that the index leaves out, */
	uint8_t borrowed;    /* or borrowed bits that it has */
	uint8_t depth;       /* bits of a part, behind the base segment, that the index has */
	uint8_t way;         /* from a hash to its body: an enum directory_way */
	uint8_t due;         /* shared: 1 if leaves have to be looked at */
	bool shared : 1, mapped : 1;
	bool unbounded : 1; /* more keys than max_capacity are taken: see directory_most */
	unsigned spare : 5; /* growth bits for the rate: only overfull leaves use them */
};

_Static_assert(sizeof(struct directory) <= 80, "a filter of few keys is small");

/* The family of filters that are directories of bodies of another one. */
const struct family *directory_family(const struct family *inner);

/* Slots that a directory of a checked plan can have when all its bits lead to segments. */
uint64_t directory_slots(const struct family *inner, const struct blueprint *plan);

/* The family whose functions work on the body of a plan: a family's own, that, or that of generations. */
const struct family *family_of_plan(const struct family *inner, const struct blueprint *plan);

/*
 * Makes an empty list. The ground stays where it is, or directory_move() is called.
 * `shared` for threads, `mapped` over a file.
 */
void directory_create(struct directory *directory, const struct family *inner,
                      const struct ground *ground, bool shared, bool mapped);
void directory_move(struct directory *directory, const struct ground *ground);

/* Makes an empty directory as large as it is to be at first. Errors: E_NOMEM. */
nidus_status directory_begin(struct directory *directory, uint64_t capacity);

/* plan() of a filter that can grow. Errors: those of plan(). */
nidus_status directory_plan(const struct family *inner, const nidus_options *options,
                            struct blueprint *plan);

/*
 * Makes room for so many keys at once. `relax`: beyond the growth bits, too.
 * Errors: E_RANGE, E_NOMEM; all entries are still there then.
 */
nidus_status directory_grow(struct directory *directory, uint64_t capacity, bool relax);

/* Entries that take room: copies that are only counted do not. */
uint64_t directory_used(const struct directory *directory);

/* Keys that it has room for as it is. */
uint64_t directory_capacity(const struct directory *directory);

/* Splits what is due, for a thread that has the filter for itself. */
void directory_look_after(struct directory *directory);

/* Puts all entries of another directory of the same base geometry in. Errors: E_NOMEM, FULL. */
nidus_status directory_absorb(struct directory *to, const struct directory *from);

/* The same whatever of the two is a list. */
nidus_status directory_take_all(struct directory *to, const struct directory *from);

/* Where an entry of a part goes, by its borrowed bits if it needs them. */
struct spread_target directory_target(const struct directory *directory, uint64_t part,
                                      uint64_t borrowed);

#endif

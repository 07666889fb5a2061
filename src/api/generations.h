/* SPDX-License-Identifier: MIT
 *
 * generations: a filter that need not be sized, as a short chain of directories.
 *
 * Every doubling that a filter may ever see costs a bit per key from the first key on. So a filter
 * without a size reserves only a few of them in its first directory. When that one has as many keys
 * as its bits are good for, it stays as it is, an old generation, and new keys go to a fresh
 * directory with fingerprints as long as the first ones were:
 *
 *     generation   0  |##########|                      full: nothing is put in any more
 *                  1  |##############################|  full, 64 times as large
 *                  2  |####                             the youngest, grows leaf by leaf
 *
 * The first has 3 bits for doublings, and each of the others 6 more than the one before (the plan's
 * growth_bits and stride): generation j takes 64^j times the keys of the first. The first begins as a
 * list, the others as one leaf, and all grow as any directory does (api/directory.h): no insert does
 * more work than one leaf. Lookups ask all generations. There are few, as each is 64 times as large
 * as the one before, and all but the last two are small.
 *
 * Rates add up. Where lookups compare tags, each generation takes at most half of what the older ones
 * left of the target: so the sum stays below it, however many there are. Fingerprints have whole
 * bits: the first has a rate r of 1/4 to 1/2 of the target, and the others r, r/2, r/4 ..., by a bit more of
 * a part for each halving. With 0.36 those are 0.36, 0.18, 0.18, 0.09, 0.09 ... of the target. The plan keeps 1/r in
 * eighths, rounded down (its shares), as the target itself rises with some merges. Where lookups do
 * not compare tags (breadcrumb) each has 1/GENERATIONS_MOST of the target, and the plan no shares.
 *
 * Removes are exact. A hash h, as a fraction, has the identity
 *
 *     floor(h * parts * groups * cores)
 *
 * in a generation (api/pack.c; cores are never zero as they are counted from 1: there are 2^bits - 1
 * of them; in a yard mini-buckets * 2^bits instead). Generations differ in their parts alone, and those of
 * a younger one are a multiple of those of an older one. As floor(floor(h * kM) / k) = floor(h * M),
 * the identity in a younger generation tells those in all older ones: keys that are twins there
 * are twins in all that came before. A remove takes an entry of the youngest generation that
 * has one of the key. Say each key is matched with an entry of its own identity, k with e in generation
 * i, and the remove takes f, matched with t, of generation j. Then j >= i, as j is the youngest;
 * k and t are twins in j, so they are in i, and t can have e instead of f. So after any
 * removes of keys that are in, the others can still be matched, and are found. The same holds for
 * pairs of an identity and a value, where values are removed or replaced.
 *
 * XOR kinds do not nest: their identity has the lower of two buckets, which does not tell which one
 * the hash chose. They have generations only if nothing is removed and there are no values.
 *
 * When the youngest generation is full follows from the entries that take room in it: copies that are
 * only counted do not. They are counted when `room` inserts have been made, not at each of them;
 * files keep that number, so that a loaded filter goes on as the saved one would.
 *
 * All functions of a struct family that work on a body work on generations (generations_family).
 */
#ifndef NIDUS_API_GENERATIONS_H
#define NIDUS_API_GENERATIONS_H

#include "api/directory.h"

#define GENERATIONS_MOST 8

/*
 * Doublings that the first generation has bits for, and how many more each of the others; tests take
 * other numbers, up to GENERATION_BITS_MOST and not 0 for the latter.
 */
extern unsigned generation_bits_first, generation_bits;
#define GENERATION_BITS_MOST 16

/* The rate of the first generation, as the plan's shares count. */
#define GENERATION_SHARE 8

/* A generation that is not the first. */
struct generation {
	struct directory directory;
	struct ground ground;
	struct block memory;
};

/* All but the first, the oldest first. */
struct younger {
	struct generation *of[GENERATIONS_MOST - 1];
	unsigned n; /* 1 or more */
	struct block memory;
};

/* Many filters are their first generation and nothing else, which has the filter's own ground. */
struct generations {
	struct directory first;
	struct younger *younger; /* NULL: there are none */
	int64_t room;            /* inserts into the youngest before its entries are counted */
	uint64_t due;            /* shared: the youngest has to be looked at */
};

static inline unsigned generations_n(const struct generations *generations)
{
	return generations->younger != NULL ? 1 + generations->younger->n : 1;
}

static inline struct directory *generations_at(const struct generations *generations, unsigned i)
{
	const struct directory *directory =
		i == 0 ? &generations->first : &generations->younger->of[i - 1]->directory;
	return (struct directory *)(uintptr_t)directory;
}

static inline struct directory *generations_youngest(const struct generations *generations)
{
	return generations_at(generations, generations_n(generations) - 1);
}

/* Keys that the youngest takes. */
uint64_t generations_most(const struct generations *generations);

/* The family of filters that are generations of directories of bodies of another one. */
const struct family *generations_family(const struct family *inner);

/* plan() of a filter without a size. Errors: those of plan(), E_UNSUPPORTED. */
nidus_status generations_plan(const struct family *inner, const nidus_options *options,
                              struct blueprint *plan);

/* The plan of a generation, a directory's; false if it would need more bits than there are. */
bool generations_plan_of(const struct family *inner, const struct blueprint *plan, unsigned number,
                         struct blueprint *made);

/* Whether entries of a younger generation tell those of older ones. */
bool generations_nest(const struct family *inner);

/*
 * Makes the first generation, empty. The ground stays where it is, or generations_move() is called.
 * `shared` for threads, `mapped` over a file.
 */
void generations_create(struct generations *generations, const struct family *inner,
                        const struct ground *ground, bool shared, bool mapped);
void generations_move(struct generations *generations, const struct ground *ground);

/* Makes the first generation as large as it is to be at first. Errors: E_NOMEM. */
nidus_status generations_begin(struct generations *generations, uint64_t capacity);

/* Makes one more generation, which is empty. Errors: E_NOMEM, E_RANGE (there can be none). */
nidus_status generations_add(struct generations *generations);

/* Frees the youngest generation, which is not the only one. */
void generations_drop(struct generations *generations);

/* Keys that there is room for as it is. */
uint64_t generations_capacity(const struct generations *generations);

/* The rate that is expected with what is in it. */
double generations_rate(const struct generations *generations);

/* After inserts of threads: does what is due, for one that has the filter for itself. */
void generations_look_after(struct generations *generations);
bool generations_due(const struct generations *generations);

/* Counts the entries of the youngest generation; sets after how many inserts to do so again. */
void generations_recount(struct generations *generations);

/* Makes room for so many keys, as far as the youngest generation can have it. Errors: E_NOMEM. */
nidus_status generations_grow(struct generations *generations, uint64_t capacity);

/*
 * For merges: before entries are put right into the youngest generation, so many at once, and after the
 * last of them. In between it takes more than it was made for. Errors: E_NOMEM.
 */
nidus_status generations_expect(struct generations *generations, uint64_t keys);
void generations_settle(struct generations *generations);

/* Puts an entry of a walk into its generation. Errors: E_RANGE, FULL, COPIES, E_NOMEM. */
nidus_status generations_insert_entry(void *body, const nidus_entry *entry);

#endif

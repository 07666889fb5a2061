/* SPDX-License-Identifier: MIT
 *
 * yard_shared: a yard that threads share (NIDUS_CONCURRENT).
 *
 * The lines are the same, bit for bit; beside them are versioned locks
 * (stripes.h), each for the lines of some regions. (The paper has a lock bit in
 * every line, which costs a slot and makes every lookup write to its line. Here a
 * lookup writes nothing, and files do not depend on the flag; what was measured
 * is in docs/concurrency.md.)
 *
 *   lookup   the front line alone, between two looks at its version; if that says
 *            "perhaps in the backyard", all three lines between two looks at their
 *            versions
 *   change   locks the front line, or all three lines if the front line is full;
 *            works on copies; writes them back as atomic words; unlocks
 *   room     when both backyard lines are full, everything is unlocked, an entry
 *            that could go to its other line is looked for without locks, moved
 *            under the locks of these two lines if it is still there, and the
 *            insert begins again (after a move one step further it meets full
 *            lines once more, and a move into the place that is free now)
 *
 * Entries are counted beside the version of their front line, by whoever has its lock.
 *
 * Values are guarded by the version of their line. Readers of values, and all changes in a
 * yard that keeps any, take the way of three lines.
 *
 * Why a lookup misses nothing: an entry of a front bucket moves only between that
 * bucket's three lines, and the thread that moves it holds both lines that change. A
 * front line that is unlocked tells the truth about whether the backyard matters.
 *
 * Why no threads wait in a circle: each set of locks is taken at once in ascending
 * order, and given back whole before another one is asked for.
 */
#ifndef NIDUS_YARD_SHARED_H
#define NIDUS_YARD_SHARED_H

#include "simd/words.h"
#include "yard/yard.h"

/* Who is at work: one thread alone, or one of many that reads or changes. */
enum yard_use { YARD_ALONE, YARD_READ, YARD_CHANGE };

/* An entry of a full backyard line, and the line that it could go to. */
struct yard_move {
	unsigned char *from, *to;
	unsigned slot, crumb;
	bool near; /* it leaves a place where one is needed, and not a step further */
};

/* The most such moves that lead from a line to different ones. */
#define YARD_WAYS YARD_FAN

/* How a search for such a move sees a line: itself, or a copy of it. */
typedef const unsigned char *(*yard_look_at)(const struct yard *yard, unsigned char *line,
                                             unsigned char *copy);

/* The lines of a front bucket, their locks, and copies to work on. */
struct yard_hold {
	struct yard_trio lines, copies;
	struct stripe_watch watch;
	struct stripe_set set; /* while they are locked */
	_Alignas(32) unsigned char bytes[3][MINI_LINE];
	unsigned char values[3][YARD_VALUES_MOST];
};

/* Which keys an insert puts in. */
enum yard_demand {
	YARD_ANY,       /* each */
	YARD_ONLY_NEW,  /* only one that is not there; otherwise PRESENT */
	YARD_ADD_OR_NEW /* the same, but the value of one that is there is added to */
};

static inline uint32_t yard_stripe(const struct yard *yard, const unsigned char *line)
{
	return stripe_of(&yard->stripes, (uint64_t)(line - yard->front));
}

static inline uint32_t *yard_version(const struct yard *yard, const unsigned char *line)
{
	return &yard->stripes.stripe[yard_stripe(yard, line)].version;
}

/* Counts entries of a front line that came, or went; with its lock. */
ALWAYS_INLINE void yard_tally(const struct yard *yard, const unsigned char *front, uint32_t more)
{
	stripe_count(&yard->stripes.stripe[yard_stripe(yard, front)], more);
}

/* Whether a front line is full at this moment: a hint, unless one has its lock. */
ALWAYS_INLINE bool yard_full_now(struct yard_shape shape, const unsigned char *line)
{
	unsigned last = mini_size_bits(shape.front) - 1;
	return word_load(line, last / 64) >> (last % 64) & 1;
}

#endif

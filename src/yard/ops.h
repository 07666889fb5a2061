/* SPDX-License-Identifier: MIT
 *
 * yard_ops: looking keys up, putting them in and taking them out, one by one and in batches.
 *
 * All that is here is hot: it is always inlined, takes the shape as a constant, and is compiled
 * for every shape (instances.h). What most calls do not come to is in trio.h.
 */
#ifndef NIDUS_YARD_OPS_H
#define NIDUS_YARD_OPS_H

#include "yard/trio.h"

#define YARD_INSERTS 32 /* keys whose backyard lines are fetched together */
#define YARD_REMOVES 16
#define YARD_AHEAD 32 /* keys between the fetch of a line and the look at it */
#define YARD_BLOCK 64 /* lookups between a visit to the backyard and the next */

/* Where a hash belongs. */
ALWAYS_INLINE struct yard_key yard_locate_hot(const struct yard *yard, struct yard_shape shape,
                                              uint64_t hash)
{
	return yard_locate_in(yard, hash, shape.front.buckets, shape.front.width);
}

/* ------------------------------------------------------------------- lookups -- */

/* Looks a key up in its front line; *elsewhere tells whether all lines must be asked. */
ALWAYS_INLINE bool yard_in_front(const struct yard *yard, struct yard_shape shape,
                                 struct yard_key key, bool *elsewhere)
{
	const unsigned char *line = yard_front_line(yard, shape, key.bucket);
	YARD_TOUCH(line);
	return mini_has(shape.front, line, key.m, key.remainder, elsewhere);
}

/* Fetches both backyard lines of a front bucket. */
ALWAYS_INLINE void yard_approach_back(const struct yard *yard, struct yard_shape shape,
                                      uint64_t bucket)
{
	PREFETCH(yard_back_line_in(yard, shape, bucket, 0));
	PREFETCH(yard_back_line_in(yard, shape, bucket, 1));
}

/*
 * Looks a key up wherever it can be. Both backyard lines are asked for at once, and no branch
 * depends on what the first of them says: a wrong guess would wait for memory.
 */
ALWAYS_INLINE bool yard_in_any(const struct yard *yard, struct yard_shape shape, uint64_t hash)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	const unsigned char *line = yard_front_line(yard, shape, key.bucket);
	struct mini_run run = mini_find(shape.front, line, key.m);
	uint64_t hits = mini_match(shape.front, line, run.slots, key.remainder);
	if (hits == 0 && yard_spilled(shape, run)) {
		yard_approach_back(yard, shape, key.bucket);
		for (unsigned half = 0; half < 2; half++)
			hits |= yard_back_hits(
				shape, yard_back_line_in(yard, shape, key.bucket, half), key);
		if (UNLIKELY(yard_listed(yard)) && hits == 0)
			return yard_list_has(yard, key);
	}
	return hits != 0;
}

/* How a lookup looks into all lines; called last, as the front line alone needs no stack. */
typedef bool (*yard_in_any_fn)(const struct yard *yard, uint64_t hash);

ALWAYS_INLINE bool yard_contains(const struct yard *yard, struct yard_shape shape, uint64_t hash,
                                 yard_in_any_fn in_any)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	bool elsewhere, hit = yard_in_front(yard, shape, key, &elsewhere);
	return UNLIKELY(elsewhere) ? in_any(yard, hash) : hit;
}

/* How to look a key up in its front line. */
typedef bool (*yard_in_front_fn)(const struct yard *yard, struct yard_shape shape,
                                 struct yard_key key, bool *elsewhere);

/*
 * The first step of a lookup in two (base/probe.h): fetches the front line, and the backyard lines
 * if the lookup may well need them. Lines spill their highest mini-buckets: in a full filter one
 * lookup in sixteen needs the backyard, and nine in ten of those are of the upper fifth.
 */
ALWAYS_INLINE void yard_prepare(const struct yard *yard, struct yard_shape shape, uint64_t hash,
                                enum yard_use use, nidus_probe *probe)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	const unsigned char *line = yard_front_line(yard, shape, key.bucket);
	PREFETCH(line);
	if (use == YARD_READ)
		PREFETCH(yard_version(yard, line));
	if (key.m >= shape.front.buckets * 4 / 5 && yard_nearly_full(yard, shape))
		yard_approach_back(yard, shape, key.bucket);
	probe->hash = hash;
	probe->version = yard->version;
	probe->number[YARD_PROBE_BUCKET] = key.bucket;
	probe->number[YARD_PROBE_MINI] = key.m;
	probe->number[YARD_PROBE_REMAINDER] = key.remainder;
}

/* yard_contains by what that left. */
ALWAYS_INLINE bool yard_ask(const struct yard *yard, struct yard_shape shape,
                            const nidus_probe *probe, yard_in_front_fn in_front,
                            yard_in_any_fn in_any)
{
	if (UNLIKELY(probe->version != yard->version))
		return in_any(yard, probe->hash);
	struct yard_key key = { probe->number[YARD_PROBE_BUCKET],
		                (unsigned)probe->number[YARD_PROBE_MINI],
		                probe->number[YARD_PROBE_REMAINDER], 0 };
	bool elsewhere, hit = in_front(yard, shape, key, &elsewhere);
	return UNLIKELY(elsewhere) ? in_any(yard, probe->hash) : hit;
}

/* -------------------------------------------------------------------- inserts -- */

/* Puts what lies beside an entry in that came into a slot of a front line. */
ALWAYS_INLINE nidus_status yard_push_front(const struct yard *yard, struct yard_shape shape,
                                           uint64_t bucket, unsigned slot, uint64_t beside)
{
	unsigned slots = shape.front.slots;
	if (LIKELY(yard->beside_bits == 8))
		yard_push_byte(yard->values + bucket * slots, slots, slot, beside);
	else
		yard_push_value_in(yard_front_values(yard, bucket), slot, beside);
	return NIDUS_OK;
}

/* The same for tags, which are short where most keys are: in a filter that has grown. */
ALWAYS_INLINE nidus_status yard_push_tag(const struct yard *yard, struct yard_shape shape,
                                         uint64_t bucket, unsigned slot, uint64_t beside)
{
	const unsigned slots = shape.front.slots, bits = yard->beside_bits;
	struct yard_values values = { yard->values + bucket * yard_values_size(slots, bits), slots,
		                      (uint16_t)bits, yard->tag_bits };
	if (bits == 1) {
		values.bits = 1; /* as a constant */
		values.bytes = yard->values + bucket * yard_values_size(slots, 1);
		yard_push_bits(values, slot, beside);
	} else if (bits < 8) {
		yard_push_bits(values, slot, beside);
	} else {
		yard_push_value_in(values, slot, beside);
	}
	return NIDUS_OK;
}

/* Puts a key into a full front line, if the last entry there goes to the backyard for it. */
ALWAYS_INLINE bool yard_put_in_full(struct yard *yard, struct yard_shape shape, struct yard_key key)
{
	struct yard_trio trio = yard_trio_of(yard, shape, key.bucket);
	struct mini_run run = mini_find(shape.front, trio.front, key.m);
	if (!mini_full(shape.front, trio.front) || yard_spilled(shape, run) || yard_crowded(run) ||
	    UNLIKELY(yard_push_out(shape, &trio, key, run) != NIDUS_OK))
		return false;
	yard->count++;
	return true;
}

ALWAYS_INLINE nidus_status yard_put_slow(struct yard *yard, struct yard_shape shape,
                                         struct yard_key key)
{
	return LIKELY(yard_put_in_full(yard, shape, key)) ? NIDUS_OK : yard_put_any(yard, key);
}

/*
 * How an insert goes on where the front line is not enough, and with values; the parts of the key
 * are arguments of their own, as calls with a yard_key need a stack.
 */
typedef nidus_status (*yard_put_fn)(struct yard *yard, uint64_t bucket, unsigned m,
                                    uint64_t remainder, uint64_t beside);
typedef nidus_status (*yard_push_fn)(const struct yard *yard, uint64_t bucket, unsigned slot,
                                     uint64_t beside);

/*
 * Puts a key into its front line if a look at that tells how. Without values that needs no stack:
 * what is called is called last.
 */
ALWAYS_INLINE nidus_status yard_put(struct yard *yard, struct yard_shape shape, struct yard_key key,
                                    yard_put_fn put_slow, yard_push_fn push_value)
{
	unsigned char *line = yard_front_line(yard, shape, key.bucket);
	YARD_TOUCH(line);
	struct mini_view view = mini_view_of(shape.front, line, key.m);
	if (UNLIKELY(mini_full(shape.front, line)) || UNLIKELY(mini_crowded(view, YARD_COPIES)))
		return put_slow(yard, key.bucket, key.m, key.remainder, key.beside);
	unsigned end = PLACE64(view.own) - view.turn;
	mini_insert_at(shape.front, line, key.m, end, key.remainder, 0);
	yard->count++;
	return LIKELY(yard->values == NULL) ? NIDUS_OK
	                                    : push_value(yard, key.bucket, end, key.beside);
}

/* -------------------------------------------------------------------- removes -- */

/* Takes a key out that its front line does not show: mostly from the backyard. Errors: NOT_FOUND. */
ALWAYS_INLINE nidus_status yard_take_slow(struct yard *yard, struct yard_shape shape,
                                          const unsigned char *front, uint64_t m,
                                          uint64_t remainder)
{
	struct yard_key key = { yard_bucket_of(yard, shape, front), (unsigned)m, remainder, 0 };
	struct mini_view view = mini_view_of(shape.front, front, key.m);
	if (UNLIKELY(view.own == 0))
		return yard_take_any(yard, key);
	for (unsigned half = 0; half < 2 && mini_unsure(shape.front, view, false); half++) {
		unsigned char *line = yard_back_line_in(yard, shape, key.bucket, half);
		uint64_t hits = yard_back_hits(shape, line, key);
		if (hits != 0) {
			mini_remove(shape.back, line, key.m, (unsigned)__builtin_ctzll(hits));
			yard->count--;
			return NIDUS_OK;
		}
	}
	return NIDUS_NOT_FOUND;
}

/* How a remove goes on if the front line shows no entry, and after one from a full line. */
typedef nidus_status (*yard_take_fn)(struct yard *yard, const unsigned char *front, uint64_t m,
                                     uint64_t remainder);
typedef nidus_status (*yard_bring_back_fn)(const struct yard *yard, unsigned char *front);

/*
 * Takes a key out. The front line alone needs no stack and, with AVX2 and 8-bit remainders, no
 * registers that would have to be saved: what is called is called last. In a full filter half of
 * the removes come to the backyard: unless its lines were asked for long ago, they are fetched
 * `now`, together with the front line.
 */
ALWAYS_INLINE nidus_status yard_take(struct yard *yard, struct yard_shape shape, uint64_t hash,
                                     bool now, yard_take_fn take_slow,
                                     yard_bring_back_fn bring_back)
{
	if (UNLIKELY(yard->careful))
		return yard_take_beside(yard, hash);
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	OPAQUE64(key.remainder); /* taken from its product before m is, whose register stays */
	unsigned char *line = yard_front_line(yard, shape, key.bucket);
	YARD_TOUCH(line);
	if (now)
		yard_approach_back(yard, shape, key.bucket);
	MATCH_SPREAD spread = mini_spread(key.remainder);
	struct mini_view view = mini_view_of(shape.front, line, key.m);
	uint64_t places = mini_places(shape.front, line, view, key.remainder, spread);
	if (UNLIKELY(places == 0) || UNLIKELY(mini_unseen(view)))
		return take_slow(yard, line, key.m,
		                 mini_unspread(shape.front, key.remainder, spread));
	bool full = mini_full(shape.front, line);
	mini_remove(shape.front, line, key.m, PLACE64(places) - view.turn);
	yard->count--;
	return full ? bring_back(yard, line) : NIDUS_OK;
}

/* ------------------------------------------------------------------- batches -- */

/* Fetches the front line of a hash, and the version that guards it. */
ALWAYS_INLINE void yard_fetch(const struct yard *yard, struct yard_shape shape, uint64_t hash,
                              enum yard_use use)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	const unsigned char *line = yard_front_line(yard, shape, key.bucket);
	PREFETCH(line);
	if (use == YARD_READ)
		PREFETCH(yard_version(yard, line));
	if (use == YARD_CHANGE)
		PREFETCH_WRITE(yard_version(yard, line));
}

/* Fetches the values of the front line of a hash. */
ALWAYS_INLINE void yard_fetch_values(const struct yard *yard, struct yard_shape shape,
                                     uint64_t hash)
{
	unsigned size = yard_values_size(shape.front.slots, yard->beside_bits);
	const unsigned char *at = yard->values + yard_locate_hot(yard, shape, hash).bucket * size;
	PREFETCH_WRITE(at);
	if (size > MINI_LINE / 4)
		PREFETCH_WRITE(at + size - 1);
}

/*
 * The hashes of a batch, in blocks; front lines are fetched some hashes ahead. They are all one
 * yard's, or each has its own (`each`, which is a constant: one text, two loops).
 */
struct yard_batch {
	const struct yard *yard;
	const void *const *bodies;
	bool each;
	const uint64_t *hashes;
	size_t n, fetched;
};

/* The yard of hash number i. */
ALWAYS_INLINE const struct yard *yard_of(const struct yard_batch *batch, size_t i)
{
	return batch->each ? batch->bodies[i] : batch->yard;
}

/* Fetches for hash number i. */
ALWAYS_INLINE void yard_fetch_one(const struct yard_batch *batch, struct yard_shape shape, size_t i,
                                  enum yard_use use)
{
	yard_fetch(yard_of(batch, i), shape, batch->hashes[i], use);
}

/*
 * The first of the hashes to fetch while a block of `some` is worked on. Where so many are not
 * left, those that are left are fetched here, and the block itself once more.
 */
ALWAYS_INLINE size_t yard_fetch_next(struct yard_batch *batch, struct yard_shape shape, size_t now,
                                     size_t some, enum yard_use use)
{
	size_t next = batch->fetched;
	if (batch->n - next >= some) {
		batch->fetched += some;
		return next;
	}
	for (; next < batch->n; next++)
		yard_fetch_one(batch, shape, next, use);
	batch->fetched = batch->n;
	return now;
}

/* Fetches the first hashes of a batch, `ahead` of them. */
ALWAYS_INLINE void yard_begin(struct yard_batch *batch, struct yard_shape shape, size_t ahead,
                              enum yard_use use)
{
	batch->fetched = batch->n < ahead ? batch->n : ahead;
	for (size_t i = 0; i < batch->fetched; i++)
		yard_fetch_one(batch, shape, i, use);
}

/* Fetches the values beside both backyard lines of a front bucket. */
NEVER_INLINE void yard_approach_back_values(const struct yard *yard, uint64_t bucket)
{
	unsigned size = yard_values_size(yard->ops->shape.back.slots, yard->beside_bits);
	for (unsigned half = 0; half < 2; half++) {
		uint64_t line = yard_line_in(yard, bucket, half) * 2 + half;
		const unsigned char *at = yard_back_values(yard, line).bytes;
		PREFETCH_WRITE(at);
		PREFETCH_WRITE(at + size - 1);
	}
}

/*
 * Lookups: front lines are fetched YARD_AHEAD keys before they are read, one for each
 * that is read, so that memory is never idle and never flooded. Keys that the front
 * line says too little about are put aside; at the end of each block of YARD_BLOCK keys
 * their backyard lines are fetched, and at the end of the next block they are read.
 */
ALWAYS_INLINE void yard_look_all(struct yard_batch batch, struct yard_shape shape, uint8_t *yes,
                                 yard_in_front_fn in_front, yard_in_any_fn in_any,
                                 enum yard_use use)
{
	const size_t n = batch.n;
	const uint64_t *hashes = batch.hashes;
	/* Its numbers stay in registers while answers are written. */
	const struct yard *one = batch.yard;
	struct yard copy;
	if (!batch.each) {
		copy = *one;
		batch.yard = &copy;
	}
	uint32_t aside[2][YARD_BLOCK];
	size_t waiting = 0;
	yard_begin(&batch, shape, YARD_AHEAD, use);
	for (size_t from = 0, turn = 0; from < n || waiting > 0; from += YARD_BLOCK, turn ^= 1) {
		size_t some = from >= n ? 0 : n - from < YARD_BLOCK ? n - from : YARD_BLOCK;
		size_t late = 0;
		size_t next = yard_fetch_next(&batch, shape, from, some, use);
		for (size_t i = 0; i < some; i++) {
			yard_fetch_one(&batch, shape, next + i, use);
			const struct yard *yard = yard_of(&batch, from + i);
			struct yard_key key = yard_locate_hot(yard, shape, hashes[from + i]);
			bool elsewhere;
			yes[from + i] = in_front(yard, shape, key, &elsewhere);
			aside[turn][late] = (uint32_t)i;
			late += elsewhere;
		}
		for (size_t i = 0; i < late; i++) {
			size_t at = from + aside[turn][i];
			const struct yard *yard = batch.each ? batch.bodies[at] : one;
			yard_approach_back(yard, shape,
			                   yard_locate_hot(yard, shape, hashes[at]).bucket);
		}
		for (size_t i = 0; i < waiting; i++) {
			size_t at = from - YARD_BLOCK + aside[!turn][i];
			yes[at] = in_any(batch.each ? batch.bodies[at] : one, hashes[at]);
		}
		waiting = late;
	}
}

/* Whether a front line is full; a hint if other threads may be writing. */
ALWAYS_INLINE bool yard_seems_full(struct yard_shape shape, const unsigned char *line,
                                   enum yard_use use)
{
	return use == YARD_ALONE ? mini_full(shape.front, line) : yard_full_now(shape, line);
}

/* An insert with a value, or a remove. */
typedef nidus_status (*yard_change_fn)(struct yard *yard, uint64_t hash, uint64_t value);

/*
 * Does the same to all keys in input order, up to the first failure. Front lines are
 * fetched two groups ahead, one for each key that is worked on. A group ahead it is
 * noted which are full, and between the groups those ones' backyard lines are fetched.
 * The more of them are read, the smaller the groups that memory can serve at once.
 */
ALWAYS_INLINE nidus_status yard_change_all(struct yard_batch batch, struct yard_shape shape,
                                           struct yard *one, void *const *bodies,
                                           const uint64_t *values, size_t *done, size_t group,
                                           yard_change_fn change, enum yard_use use)
{
	uint64_t full[YARD_INSERTS];            /* front buckets */
	const struct yard *whose[YARD_INSERTS]; /* if each has its own yard */
	const size_t n = batch.n;
	*done = 0;
	yard_begin(&batch, shape, 2 * group, use);
	for (size_t from = 0; from < n; from += group) {
		size_t some = n - from < group ? n - from : group, count = 0;
		size_t next = yard_fetch_next(&batch, shape, from, some, use);
		size_t soon = n - from >= 2 * group ? from + group : from;
		for (size_t i = 0; i < some; i++) {
			const struct yard *yard = yard_of(&batch, next + i);
			yard_fetch(yard, shape, batch.hashes[next + i], use);
			if (yard->values != NULL)
				yard_fetch_values(yard, shape, batch.hashes[next + i]);
			yard = yard_of(&batch, soon + i);
			full[count] = yard_locate_hot(yard, shape, batch.hashes[soon + i]).bucket;
			if (batch.each)
				whose[count] = yard;
			count += yard_seems_full(shape, yard_front_line(yard, shape, full[count]),
			                         use);
			nidus_status status =
				change(batch.each ? bodies[from + i] : one, batch.hashes[from + i],
			               values != NULL ? values[from + i] : 0);
			if (UNLIKELY(status != NIDUS_OK))
				return status;
			++*done;
		}
		for (size_t i = 0; i < count; i++) {
			const struct yard *yard = batch.each ? whose[i] : one;
			yard_approach_back(yard, shape, full[i]);
			if (yard->values != NULL)
				yard_approach_back_values(yard, full[i]);
		}
	}
	return NIDUS_OK;
}

/* --------------------------------------------------- batches of different bodies -- */

/*
 * Keys of different bodies of a growing filter, for one thread. Bodies have as many parts and front
 * buckets each, so where a key belongs is worked out once; what is left of its hash behind the front
 * bucket is kept until the line is there.
 */
struct yard_place {
	unsigned char *line;
	uint64_t bucket, rest;
};

/* Finds the front lines of up to YARD_BLOCK keys and fetches them, and what lies beside them. */
ALWAYS_INLINE void yard_find_places(const void *const *bodies, struct yard_shape shape,
                                    const uint64_t *hashes, size_t n, bool change,
                                    struct yard_place *places)
{
	const struct yard *one = bodies[0];
	const uint64_t parts = one->parts, fronts = one->fronts;
	for (size_t i = 0; i < n; i++) {
		const struct yard *yard = bodies[i];
		struct yard_place *place = &places[i];
		assert(yard->parts == parts && yard->fronts == fronts);
		place->bucket = multiply_wide(hashes[i] * parts, fronts, &place->rest);
		place->line = yard_front_line(yard, shape, place->bucket);
		PREFETCH(place->line);
		if (change && yard->values != NULL)
			PREFETCH_WRITE(yard->values +
			               place->bucket * yard_values_size(shape.front.slots,
			                                                yard->beside_bits));
	}
}

/* The key of a place. */
ALWAYS_INLINE struct yard_key yard_key_of(struct yard_shape shape, const struct yard_place *place)
{
	struct yard_key key = { .bucket = place->bucket };
	uint64_t rest;
	key.m = (unsigned)multiply_wide(place->rest, shape.front.buckets, &rest);
	key.remainder = rest >> (64 - shape.front.width);
	return key;
}

/* Lookups: a block's front lines, then the backyard lines of keys that these say too little about. */
ALWAYS_INLINE void yard_look_each(const void *const *bodies, struct yard_shape shape,
                                  const uint64_t *hashes, size_t n, uint8_t *yes,
                                  yard_in_any_fn in_any)
{
	struct yard_place places[YARD_BLOCK];
	for (size_t some; n > 0; n -= some, bodies += some, hashes += some, yes += some) {
		uint32_t aside[YARD_BLOCK];
		size_t late = 0;
		some = n < YARD_BLOCK ? n : YARD_BLOCK;
		yard_find_places(bodies, shape, hashes, some, false, places);
		for (size_t i = 0; i < some; i++) {
			struct yard_key key = yard_key_of(shape, &places[i]);
			bool elsewhere;
			YARD_TOUCH(places[i].line);
			yes[i] = mini_has(shape.front, places[i].line, key.m, key.remainder,
			                  &elsewhere);
			aside[late] = (uint32_t)i;
			late += elsewhere;
		}
		for (size_t i = 0; i < late; i++)
			yard_approach_back(bodies[aside[i]], shape, places[aside[i]].bucket);
		for (size_t i = 0; i < late; i++)
			yes[aside[i]] = in_any(bodies[aside[i]], hashes[aside[i]]);
	}
}

/* Inserts in input order, up to the first failure. */
ALWAYS_INLINE nidus_status yard_insert_each(void *const *bodies, struct yard_shape shape,
                                            const uint64_t *hashes, const uint64_t *values,
                                            size_t n, size_t *done, yard_put_fn put_slow,
                                            yard_push_fn push_value)
{
	struct yard_place places[YARD_BLOCK];
	for (*done = 0; *done < n;) {
		void *const *those = bodies + *done;
		const uint64_t *these = hashes + *done;
		size_t some = n - *done < YARD_BLOCK ? n - *done : YARD_BLOCK;
		yard_find_places((const void *const *)those, shape, these, some, true, places);
		for (size_t i = 0; i < some; i++) {
			if (mini_full(shape.front, places[i].line))
				yard_approach_back(those[i], shape, places[i].bucket);
		}
		for (size_t i = 0; i < some; i++) {
			struct yard_key key = yard_key_of(shape, &places[i]);
			key.beside =
				yard_beside(those[i], these[i], values != NULL ? values[*done] : 0);
			nidus_status status = yard_put(those[i], shape, key, put_slow, push_value);
			if (UNLIKELY(status != NIDUS_OK))
				return status;
			++*done;
		}
	}
	return NIDUS_OK;
}

/* ------------------------------------------------------------------- finding -- */

/* `to` if there is any, and 0 if not, without a branch. */
ALWAYS_INLINE uint64_t yard_if_any(uint64_t any, uint64_t to)
{
	uint64_t mask = 0 - (uint64_t)(any != 0);
	OPAQUE64(mask);
	return to & mask;
}

/*
 * Where the first user's value of a front line begins, and that of a backyard line, as a number of
 * bits from the first line on.
 */
ALWAYS_INLINE uint64_t yard_front_bit(const struct yard *yard, struct yard_shape shape,
                                      uint64_t bucket)
{
	uint64_t size = yard_values_size(shape.front.slots, yard->beside_bits);
	return ((uint64_t)(yard->values - yard->front) + bucket * size) * 8 + yard->tag_bits;
}

ALWAYS_INLINE uint64_t yard_back_bit(const struct yard *yard, struct yard_shape shape,
                                     uint64_t bucket, unsigned half)
{
	uint64_t size = yard_values_size(shape.back.slots, yard->beside_bits);
	uint64_t line = yard_line_in(yard, bucket, half) * 2 + half;
	return yard_front_bit(yard, shape, yard->fronts) + line * size * 8;
}

/* The value at a bit. A word may end behind the last line: it is read from before that. */
ALWAYS_INLINE uint64_t yard_value_at(const struct yard *yard, uint64_t bit)
{
	uint64_t last = yard->memory.size - 8, byte = bit / 8 < last ? bit / 8 : last;
	return load64(yard->front + byte) >> ((bit - byte * 8) & 63) & bits_low(yard->value_bits);
}

/*
 * How many entries of a key its front line has, and the bit of the first one's value: 0 without
 * any, so that strangers fetch no values. *elsewhere: other lines may hold entries, too, or the
 * answer is worth nothing.
 */
ALWAYS_INLINE uint64_t yard_find_front(const struct yard *yard, struct yard_shape shape,
                                       struct yard_key key, uint32_t *found, bool *elsewhere)
{
	const unsigned char *line = yard_front_line(yard, shape, key.bucket);
	YARD_TOUCH(line);
	MATCH_SPREAD spread = mini_spread(key.remainder);
	struct mini_view view = mini_view_of(shape.front, line, key.m);
	uint64_t places = mini_places(shape.front, line, view, key.remainder, spread);
	uint64_t slot = (PLACE64(places) - view.turn) & 63;
	*elsewhere = mini_unsure(shape.front, view, false);
	*found = (uint32_t)POPCOUNT64(places);
	return yard_if_any(places,
	                   yard_front_bit(yard, shape, key.bucket) + slot * yard->beside_bits);
}

/* The same in all lines of a key. */
ALWAYS_INLINE uint64_t yard_find_any(const struct yard *yard, struct yard_shape shape,
                                     uint64_t hash, uint32_t *found)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	const unsigned char *line = yard_front_line(yard, shape, key.bucket);
	struct mini_run run = mini_find(shape.front, line, key.m);
	uint64_t hits = mini_match(shape.front, line, run.slots, key.remainder);
	uint64_t slot = PLACE64(hits), first = yard_front_bit(yard, shape, key.bucket);
	first = yard_if_any(hits, first + slot * yard->beside_bits);
	*found = (uint32_t)POPCOUNT64(hits);
	for (unsigned half = 0; half < 2 && yard_spilled(shape, run); half++) {
		hits = yard_back_hits(shape, yard_back_line_in(yard, shape, key.bucket, half), key);
		slot = PLACE64(hits);
		uint64_t bit = yard_back_bit(yard, shape, key.bucket, half);
		first |= yard_if_any(hits & (0 - (uint64_t)(first == 0)),
		                     bit + slot * yard->beside_bits);
		*found += (uint32_t)POPCOUNT64(hits);
	}
	return first;
}

ALWAYS_INLINE size_t yard_find_values(const struct yard *yard, struct yard_shape shape,
                                      uint64_t hash, uint64_t *values, size_t cap)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	key.beside = yard_beside(yard, hash, 0);
	struct yard_trio trio = yard_trio_of(yard, shape, key.bucket);
	size_t found = yard_find_in(shape, &trio, key, values, cap);
	return LIKELY(!yard_listed(yard)) ? found : yard_list_find(yard, key, values, cap, found);
}

/* Reads the values of keys that were found, whose bits are known. */
ALWAYS_INLINE void yard_read_all(const struct yard *yard, size_t n, uint64_t *first,
                                 const uint32_t *found)
{
	for (size_t i = 0; i < n; i++)
		first[i] = yard_if_any(found[i], yard_value_at(yard, first[i]));
}

/* yard_find_any of some shape. */
typedef uint64_t (*yard_find_any_fn)(const struct yard *yard, uint64_t hash, uint32_t *found);

/*
 * Front lines are fetched as for lookups. What is found there tells the places of the values,
 * which are fetched and, two blocks later, read. Keys that may have entries in the backyard are put
 * aside as lookups put them: a block later the places of their values are known, too.
 */
ALWAYS_INLINE void yard_find_all(const struct yard *body, struct yard_shape shape,
                                 const uint64_t *hashes, size_t n, uint64_t *first, uint32_t *found,
                                 yard_find_any_fn find_any)
{
	const struct yard copy = *body, *yard = &copy;
	uint32_t aside[2][YARD_BLOCK];
	size_t waiting = 0, before = 0, known = 0;
	struct yard_batch batch = { .yard = yard, .hashes = hashes, .n = n };
	yard_begin(&batch, shape, YARD_AHEAD, YARD_ALONE);
	for (size_t from = 0, turn = 0; from < n || before + known > 0;
	     from += YARD_BLOCK, turn ^= 1) {
		size_t some = from >= n ? 0 : n - from < YARD_BLOCK ? n - from : YARD_BLOCK;
		size_t late = 0;
		const uint64_t *now = hashes + from;
		size_t next = yard_fetch_next(&batch, shape, from, some, YARD_ALONE);
		for (size_t i = 0; i < some; i++) {
			yard_fetch_one(&batch, shape, next + i, YARD_ALONE);
			bool elsewhere;
			struct yard_key key = yard_locate_hot(yard, shape, now[i]);
			uint64_t bit =
				yard_find_front(yard, shape, key, &found[from + i], &elsewhere);
			PREFETCH(yard->front + bit / 8);
			first[from + i] = bit;
			aside[turn][late] = (uint32_t)i;
			late += elsewhere;
		}
		for (size_t i = 0; i < late; i++) {
			uint64_t hash = now[aside[turn][i]];
			yard_approach_back(yard, shape, yard_locate_hot(yard, shape, hash).bucket);
		}
		for (size_t i = 0; i < waiting; i++) {
			size_t at = from - YARD_BLOCK + aside[!turn][i];
			first[at] = find_any(body, hashes[at], &found[at]);
			PREFETCH(yard->front + first[at] / 8);
		}
		if (known > 0)
			yard_read_all(yard, known, first + from - 2 * YARD_BLOCK,
			              found + from - 2 * YARD_BLOCK);
		waiting = late;
		known = before;
		before = some;
	}
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * yard_shared_ops: the operations on a yard that threads share. The protocol is in shared.h.
 *
 * Lines are only ever read and written as atomic words (simd/words.h), but for reads by the
 * holder of their lock. As in ops.h and trio.h, hot functions take a constant shape; the others
 * are compiled once per tier, for all shapes.
 */
#ifndef NIDUS_YARD_SHARED_OPS_H
#define NIDUS_YARD_SHARED_OPS_H

#include "base/slots.h"
#include "yard/ops.h"

/* ---------------------------------------------------------------------- holds -- */

/* Names all lines of a front bucket and their stripes. */
NEVER_INLINE void yard_cover(const struct yard *yard, uint64_t bucket, struct yard_hold *hold)
{
	hold->lines = yard_trio_of(yard, yard->ops->shape, bucket);
	hold->copies = hold->lines;
	hold->copies.front = hold->bytes[0];
	if (yard->values != NULL)
		hold->copies.front_values.bytes = hold->values[0];
	/* Three lines: the last stripe of the four is the front line's once more. */
	hold->watch.stripe[0] = hold->watch.stripe[3] = yard_stripe(yard, hold->lines.front);
	for (unsigned half = 0; half < 2; half++) {
		hold->copies.back[half] = hold->bytes[1 + half];
		if (yard->values != NULL)
			hold->copies.back_values[half].bytes = hold->values[1 + half];
		hold->watch.stripe[1 + half] = yard_stripe(yard, hold->lines.back[half]);
	}
}

/* Copies the values of a line, or writes them back. */
static inline void yard_copy_values(struct yard_values from, struct yard_values to, bool back)
{
	if (from.bytes == NULL)
		return;
	unsigned size = yard_values_size(from.slots, from.bits);
	if (back)
		yard_write_values(to.bytes, from.bytes, size);
	else
		yard_read_values(to.bytes, from.bytes, size);
}

/* The values of all three lines likewise. */
static inline void yard_copy_all_values(const struct yard_trio *from, const struct yard_trio *to,
                                        bool back)
{
	yard_copy_values(from->front_values, to->front_values, back);
	for (unsigned half = 0; half < 2; half++)
		yard_copy_values(from->back_values[half], to->back_values[half], back);
}

NEVER_INLINE void yard_lock_all(const struct yard *yard, uint64_t bucket, struct yard_hold *hold)
{
	const struct mini_shape shape = yard->ops->shape.front;
	yard_cover(yard, bucket, hold);
	hold->set = stripes_lock(&yard->stripes, &hold->watch);
	mini_copy(shape, hold->copies.front, hold->lines.front);
	for (unsigned half = 0; half < 2; half++)
		mini_copy(shape, hold->copies.back[half], hold->lines.back[half]);
	yard_copy_all_values(&hold->lines, &hold->copies, false);
}

/* Writes a line whose lock one has, if its copy says something else. */
static inline void yard_write_changed(unsigned size, unsigned char *line, const unsigned char *copy)
{
	if (memcmp(line, copy, size) != 0)
		words_write(line, copy, size);
}

NEVER_INLINE void yard_unlock_all(const struct yard *yard, const struct yard_hold *hold)
{
	unsigned size = mini_line(yard->ops->shape.front);
	yard_write_changed(size, hold->lines.front, hold->copies.front);
	for (unsigned half = 0; half < 2; half++)
		yard_write_changed(size, hold->lines.back[half], hold->copies.back[half]);
	yard_copy_all_values(&hold->copies, &hold->lines, true);
	stripes_unlock(&yard->stripes, &hold->set);
}

/*
 * Locks a front line, unless it is full: false then, and no lock. For what concerns
 * entries of lines that are not full, the backyard does not matter.
 */
ALWAYS_INLINE bool yard_lock_front(struct yard_shape shape, const unsigned char *line,
                                   uint32_t *version)
{
	if (UNLIKELY(yard_full_now(shape, line)))
		return false;
	version_lock(version);
	if (LIKELY(!mini_full(shape.front, line)))
		return true;
	version_unlock(version);
	return false;
}

/* Whether lines can be changed in registers: remainders are bytes. */
#ifdef WORDS_EDIT
ALWAYS_INLINE bool yard_edits(struct mini_shape shape)
{
	return shape.width == 8 && mini_size_bytes(shape) <= 16;
}
#endif

/* mini_insert_at in a front line that is locked, by atomic words. */
ALWAYS_INLINE void yard_insert_words(struct mini_shape shape, unsigned char *line, unsigned m,
                                     unsigned slot, uint64_t remainder)
{
#ifdef WORDS_EDIT
	if (yard_edits(shape)) {
		struct mini_sizes sizes = mini_turned_in(
			shape, mini_wider(shape, mini_windows_of(shape, line), slot + m));
		words_push(line, mini_line(shape), mini_remainder_at(shape, slot) / 8,
		           mini_remainder_at(shape, shape.slots) / 8, (unsigned char)remainder,
		           (uint64_t[]){ sizes.low, sizes.high }, mini_size_bytes(shape));
		return;
	}
#endif
	_Alignas(32) unsigned char copy[MINI_LINE];
	mini_copy(shape, copy, line);
	mini_insert_at(shape, copy, m, slot, remainder, 0);
	words_write(line, copy, mini_line(shape));
}

/* mini_remove likewise. */
ALWAYS_INLINE void yard_remove_words(struct mini_shape shape, unsigned char *line, unsigned m,
                                     unsigned slot)
{
#ifdef WORDS_EDIT
	if (yard_edits(shape)) {
		struct mini_sizes sizes = mini_turned_in(
			shape, mini_narrower(shape, mini_windows_of(shape, line), slot + m));
		words_pull(line, mini_line(shape), mini_remainder_at(shape, slot) / 8,
		           mini_remainder_at(shape, shape.slots) / 8,
		           (uint64_t[]){ sizes.low, sizes.high }, mini_size_bytes(shape));
		return;
	}
#endif
	_Alignas(32) unsigned char copy[MINI_LINE];
	mini_copy(shape, copy, line);
	mini_remove(shape, copy, m, slot);
	words_write(line, copy, mini_line(shape));
}

/* -------------------------------------------------------------------- lookups -- */

/* Copies all lines of a front bucket, and their values if asked to. False: somebody is writing. */
ALWAYS_INLINE bool yard_see_all(const struct yard *yard, struct yard_shape shape,
                                struct yard_hold *hold, struct stripe_versions *versions,
                                bool values)
{
	if (!stripes_begin(&yard->stripes, &hold->watch, versions))
		return false;
	words_read(hold->copies.front, hold->lines.front, mini_line(shape.front));
	for (unsigned half = 0; half < 2; half++)
		words_read(hold->copies.back[half], hold->lines.back[half], mini_line(shape.back));
	if (values)
		yard_copy_all_values(&hold->lines, &hold->copies, false);
	return true;
}

/* Entries of a key, at one moment. */
static size_t yard_shared_find(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	const struct yard *yard = body;
	const struct yard_shape shape = yard->ops->shape;
	struct yard_key key = yard_locate_tagged(yard, hash);
	bool beside = cap > 0 || yard->tag_bits > 0;
	struct yard_hold hold;
	yard_cover(yard, key.bucket, &hold);
	for (unsigned tries = 0;; tries++) {
		struct stripe_versions versions;
		if (yard_see_all(yard, shape, &hold, &versions, beside)) {
			size_t found = yard_find_in(shape, &hold.copies, key, values, cap);
			if (UNLIKELY(yard_listed(yard)))
				found = yard_list_find(yard, key, values, cap, found);
			if (LIKELY(stripes_same(&yard->stripes, &hold.watch, &versions)))
				return found;
		}
		stripes_pause(tries);
	}
}

static uint64_t yard_shared_count(const void *body, uint64_t hash)
{
	return yard_shared_find(body, hash, NULL, 0);
}

/* yard_in_any at one moment. */
ALWAYS_INLINE bool yard_shared_in_any(const struct yard *yard, struct yard_shape shape,
                                      uint64_t hash)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	struct yard_hold hold;
	yard_cover(yard, key.bucket, &hold);
	for (unsigned tries = 0;; tries++) {
		struct stripe_versions versions;
		if (yard_see_all(yard, shape, &hold, &versions, false)) {
			bool hit = yard_copies_in(shape, &hold.copies, key) > 0 ||
			           (UNLIKELY(yard_listed(yard)) && yard_list_has(yard, key));
			if (LIKELY(stripes_same(&yard->stripes, &hold.watch, &versions)))
				return hit;
		}
		stripes_pause(tries);
	}
}

/* The sizes of a line as somebody may be writing it: see mini_view_of. */
ALWAYS_INLINE struct mini_view yard_shared_view(struct mini_shape shape, const unsigned char *line,
                                                unsigned m)
{
	uint64_t first = word_load(line, 0) ^ mini_no_sizes(shape), last = 0;
	if (mini_size_bits(shape) > 64) {
		struct mini_sizes sizes = { first,
			                    word_load(line, 1) ^ mini_no_sizes_from(shape, 64) };
		last = mini_from_bit(sizes, mini_size_skip(shape));
	}
	return mini_view_in(shape, first, last, m);
}

/* 64 bits of a line from any bit on; those beyond its end are others of the line. */
ALWAYS_INLINE uint64_t yard_shared_bits(struct mini_shape shape, const unsigned char *line,
                                        unsigned bit)
{
	const unsigned most = mini_line(shape) / 8 - 1;
	unsigned shift = bit & 63;
	uint64_t low = word_load(line, bit >> 6 & most);
	uint64_t high = word_load(line, (bit + 63) >> 6 & most);
	return low >> shift | high << (-shift & 63);
}

/* Remainders that one word holds. */
ALWAYS_INLINE unsigned yard_fields(struct mini_shape shape)
{
	return 64 / shape.width;
}

/* Whether one of `count` slots from a first one on, at most yard_fields, has a remainder. */
ALWAYS_INLINE bool yard_shared_match(struct mini_shape shape, const unsigned char *line,
                                     unsigned slot, unsigned count, uint64_t remainder)
{
	const unsigned width = shape.width;
#ifdef WORDS_FIND
	if (width == 8)
		return words_find(line, mini_line(shape), mini_size_bytes(shape) + slot, count,
		                  (unsigned char)remainder);
#endif
	const uint64_t ones = fields_ones(width, yard_fields(shape)), highs = ones << (width - 1);
	uint64_t here = yard_shared_bits(shape, line, mini_remainder_at(shape, slot));
	uint64_t hits = fields_zero_in(here ^ remainder * ones, highs - ones, highs);
	return PLACE64(hits) < count * width;
}

/*
 * Looks a key up in its front line. *elsewhere tells that the answer is worth nothing:
 * the backyard matters, or somebody is writing. Only the sizes are read, and as many
 * remainders as one word holds: a mini-bucket hardly ever has more.
 */
ALWAYS_INLINE bool yard_shared_in_front(const struct yard *yard, struct yard_shape shape,
                                        struct yard_key key, bool *elsewhere)
{
	const unsigned char *line = yard_front_line(yard, shape, key.bucket);
	const uint32_t *version = yard_version(yard, line);
	uint32_t before = __atomic_load_n(version, __ATOMIC_ACQUIRE) & ~UINT32_C(1);
	struct mini_view view = yard_shared_view(shape.front, line, key.m);
	unsigned from = PLACE64(view.behind), count = PLACE64(view.own) - from;
	bool hit = yard_shared_match(shape.front, line, from - view.turn, count, key.remainder);
	uint32_t differ = before ^ __atomic_load_n(version, __ATOMIC_ACQUIRE);
	bool long_run = count > yard_fields(shape.front),
	     unsure = mini_unsure(shape.front, view, hit);
	*elsewhere = (differ != 0) | long_run | unsure;
	return hit;
}

ALWAYS_INLINE bool yard_shared_contains(const struct yard *yard, struct yard_shape shape,
                                        uint64_t hash, yard_in_any_fn in_any)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	bool elsewhere, hit = yard_shared_in_front(yard, shape, key, &elsewhere);
	return UNLIKELY(elsewhere) ? in_any(yard, hash) : hit;
}

/* --------------------------------------------------------------------- room -- */

/* A backyard line as it was at one moment. */
static const unsigned char *yard_look_at_copy(const struct yard *yard, unsigned char *line,
                                              unsigned char *copy)
{
	const uint32_t *version = yard_version(yard, line);
	for (unsigned tries = 0;; tries++) {
		uint32_t before = __atomic_load_n(version, __ATOMIC_ACQUIRE);
		words_read(copy, line, mini_line(yard->ops->shape.back));
		if (before % 2 == 0 && before == __atomic_load_n(version, __ATOMIC_ACQUIRE))
			return copy;
		stripes_pause(tries);
	}
}

/* Moves an entry if it is still where it was, and has still room to go to. */
static void yard_shared_move(const struct yard *yard, const struct yard_move *move)
{
	const struct mini_shape shape = yard->ops->shape.back;
	unsigned char from[MINI_LINE], to[MINI_LINE], values[2][YARD_VALUES_MOST];
	struct yard_back source = yard_back_of(yard, move->from);
	struct yard_back target = yard_back_of(yard, move->to);
	struct yard_back left = { from, source.values }, taken = { to, target.values };
	uint32_t one = yard_stripe(yard, move->from), other = yard_stripe(yard, move->to);
	struct stripe_watch watch = { { one, other, one, other } };
	struct stripe_set set = stripes_lock(&yard->stripes, &watch);
	mini_copy(shape, from, move->from);
	mini_copy(shape, to, move->to);
	if (move->slot < mini_count(shape, mini_sizes_of(shape, from)) &&
	    mini_crumb(shape, from, move->slot) == move->crumb && !mini_full(shape, to)) {
		if (yard->values != NULL) {
			left.values.bytes = values[0];
			taken.values.bytes = values[1];
		}
		yard_copy_values(source.values, left.values, false);
		yard_copy_values(target.values, taken.values, false);
		yard_move_entry(yard, left, move->slot, taken, move->crumb);
		words_write(move->to, to, mini_line(shape));
		words_write(move->from, from, mini_line(shape));
		yard_copy_values(taken.values, target.values, true);
		yard_copy_values(left.values, source.values, true);
	}
	stripes_unlock(&yard->stripes, &set);
}

/* False if no entry can make room; true says only that it is worth another look. */
NEVER_INLINE bool yard_shared_make_room(const struct yard *yard, uint64_t bucket)
{
	struct yard_move move = { 0 };
	if (!yard_find_move(yard, bucket, yard_look_at_copy, &move))
		return false;
	yard_shared_move(yard, &move);
	return true;
}

/* ------------------------------------------------------------------- inserts -- */

/* yard_put_trio under the locks of all lines. */
NEVER_INLINE nidus_status yard_shared_put_all(struct yard *yard, struct yard_key key,
                                              enum yard_demand demand)
{
	for (bool last = false;;) {
		struct yard_hold hold;
		bool added;
		yard_lock_all(yard, key.bucket, &hold);
		nidus_status status = yard_put_trio(yard, &hold.copies, key, demand, last, &added);
		if (status == NIDUS_OK && !added)
			yard_tally(yard, hold.lines.front, 1);
		yard_unlock_all(yard, &hold);
		if (LIKELY(status != NIDUS_FULL) || last)
			return status;
		last = !yard_shared_make_room(yard, key.bucket);
	}
}

/* Puts a key that is not there into a front line that is not full, and locked. */
static inline nidus_status yard_put_new(struct mini_shape shape, unsigned char *line,
                                        struct yard_key key)
{
	struct mini_run run = mini_find(shape, line, key.m);
	if (mini_match(shape, line, run.slots, key.remainder) != 0)
		return NIDUS_PRESENT;
	yard_insert_words(shape, line, key.m, run.end, key.remainder);
	return NIDUS_OK;
}

static nidus_status yard_shared_insert_new(void *body, uint64_t hash)
{
	struct yard *yard = body;
	const struct yard_shape shape = yard->ops->shape;
	struct yard_key key = yard_locate_tagged(yard, hash);
	unsigned char *line = yard_front_line(yard, shape, key.bucket);
	uint32_t *version = yard_version(yard, line);
	if (UNLIKELY(yard->values != NULL) || UNLIKELY(!yard_lock_front(shape, line, version)))
		return yard_shared_put_all(yard, key, YARD_ONLY_NEW);
	nidus_status status = yard_put_new(shape.front, line, key);
	if (status == NIDUS_OK)
		yard_tally(yard, line, 1);
	version_unlock(version);
	return status;
}

/*
 * Puts a key into its front line if a look at its sizes tells how. They are read before
 * the lock is taken, which succeeds only if nothing changed since: little is left to do
 * between the lock, which waits for all that came before it, and the stores.
 */
ALWAYS_INLINE bool yard_shared_put_simply(const struct yard *yard, struct yard_shape shape,
                                          struct yard_key key)
{
	unsigned char *line = yard_front_line(yard, shape, key.bucket);
	uint32_t *version = yard_version(yard, line);
	uint32_t before = version_seen(version);
	struct mini_view view = yard_shared_view(shape.front, line, key.m);
	bool crowded = POPCOUNT64(view.own - view.behind) >= YARD_COPIES;
	if (UNLIKELY(yard_full_now(shape, line) | (view.own == 0) | crowded) ||
	    UNLIKELY(!version_lock_from(version, before)))
		return false;
	yard_insert_words(shape.front, line, key.m, PLACE64(view.own) - view.turn, key.remainder);
	yard_tally(yard, line, 1);
	version_unlock_from(version, before);
	return true;
}

ALWAYS_INLINE nidus_status yard_shared_put(struct yard *yard, struct yard_shape shape,
                                           uint64_t hash, uint64_t value)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	if (LIKELY(yard->values == NULL) && LIKELY(yard_shared_put_simply(yard, shape, key)))
		return NIDUS_OK;
	key.beside = yard_beside(yard, hash, value);
	return yard_shared_put_all(yard, key, YARD_ANY);
}

/* An insert of any kind into a yard that keeps values. */
static nidus_status yard_shared_insert_as(struct yard *yard, uint64_t hash, uint64_t value,
                                          enum yard_demand demand)
{
	struct yard_key key = yard_locate(yard, hash);
	key.beside = yard_beside(yard, hash, value);
	return yard_shared_put_all(yard, key, demand);
}

static nidus_status yard_shared_insert_value(void *body, uint64_t hash, uint64_t value)
{
	return yard_shared_insert_as(body, hash, value, YARD_ANY);
}

static nidus_status yard_shared_add(void *body, uint64_t hash, uint64_t value)
{
	return yard_shared_insert_as(body, hash, value, YARD_ADD_OR_NEW);
}

/* ------------------------------------------------------------------- removes -- */

static void yard_shared_come_home(struct yard *yard, uint64_t bucket)
{
	struct yard_hold hold;
	yard_lock_all(yard, bucket, &hold);
	yard_come_home(yard, &hold.copies, bucket);
	yard_unlock_all(yard, &hold);
}

/* yard_change_trio under the locks of all lines. */
NEVER_INLINE nidus_status yard_shared_change_all(struct yard *yard, struct yard_key key,
                                                 const struct value_change *change)
{
	struct yard_hold hold;
	bool freed = false;
	yard_lock_all(yard, key.bucket, &hold);
	nidus_status status =
		UNLIKELY(yard_listed(yard))
			? yard_change_beside_list(yard, &hold.copies, key, change, &freed)
			: yard_change_trio(yard, &hold.copies, key, change);
	if (status == NIDUS_OK && yard_removes(change))
		yard_tally(yard, hold.lines.front, UINT32_MAX);
	yard_unlock_all(yard, &hold);
	if (freed)
		yard_others_come_home(yard, key.bucket, yard_shared_come_home);
	return status;
}

static nidus_status yard_shared_change(void *body, uint64_t hash, struct value_change change)
{
	return yard_shared_change_all(body, yard_locate_tagged(body, hash), &change);
}

/* Takes a key out of a front line that is not full, and locked. */
ALWAYS_INLINE nidus_status yard_take_front(struct mini_shape shape, unsigned char *line,
                                           struct yard_key key)
{
	struct mini_run run = mini_find(shape, line, key.m);
	uint64_t hits = mini_match(shape, line, run.slots, key.remainder);
	if (hits == 0)
		return NIDUS_NOT_FOUND;
	yard_remove_words(shape, line, key.m, (unsigned)__builtin_ctzll(hits));
	return NIDUS_OK;
}

ALWAYS_INLINE nidus_status yard_shared_take(struct yard *yard, struct yard_shape shape,
                                            uint64_t hash)
{
	struct yard_key key = yard_locate_hot(yard, shape, hash);
	unsigned char *line = yard_front_line(yard, shape, key.bucket);
	uint32_t *version = yard_version(yard, line);
	if (UNLIKELY(yard->values != NULL) || UNLIKELY(!yard_lock_front(shape, line, version))) {
		key.beside = yard_beside(yard, hash, 0);
		return yard_shared_change_all(yard, key, NULL);
	}
	if (UNLIKELY(yard_listed(yard))) { /* looked at under the lock: it may be this key */
		version_unlock(version);
		key.beside = yard_beside(yard, hash, 0);
		return yard_shared_change_all(yard, key, NULL);
	}
	nidus_status status = yard_take_front(shape.front, line, key);
	if (status == NIDUS_OK)
		yard_tally(yard, line, UINT32_MAX);
	version_unlock(version);
	return status;
}

#endif

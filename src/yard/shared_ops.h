/* SPDX-License-Identifier: MIT
 *
 * yard_shared_ops: the operations on a yard that threads share, for ops.h to
 * include. The protocol is in shared.h.
 *
 * A template: no include guard. Lines are only ever read and written as atomic
 * words (simd/words.h), but for reads by the holder of their lock.
 */

/* ---------------------------------------------------------------------- holds -- */

/* Names all lines of a front bucket and their stripes. */
static inline void YARD_ID(cover)(const struct yard *yard, uint64_t bucket, struct yard_hold *hold)
{
	hold->lines = YARD_ID(trio)(yard, bucket);
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
static inline void YARD_ID(copy_values)(struct yard_values from, struct yard_values to, bool back)
{
	unsigned size = yard_values_size(from.slots, from.bits);
	if (from.bytes == NULL)
		return;
	if (back)
		yard_write_values(to.bytes, from.bytes, size);
	else
		yard_read_values(to.bytes, from.bytes, size);
}

static inline void YARD_ID(read_values)(struct yard_hold *hold)
{
	YARD_ID(copy_values)(hold->lines.front_values, hold->copies.front_values, false);
	for (unsigned half = 0; half < 2; half++)
		YARD_ID(copy_values)(hold->lines.back_values[half], hold->copies.back_values[half],
		                     false);
}

static inline void YARD_ID(lock_all)(const struct yard *yard, uint64_t bucket,
                                     struct yard_hold *hold)
{
	YARD_ID(cover)(yard, bucket, hold);
	hold->set = stripes_lock(&yard->locks->stripes, &hold->watch);
	memcpy(hold->copies.front, hold->lines.front, mini_line(YARD_FRONT));
	for (unsigned half = 0; half < 2; half++)
		memcpy(hold->copies.back[half], hold->lines.back[half], mini_line(YARD_BACK));
	YARD_ID(read_values)(hold);
}

/* Writes a line whose lock one has, if its copy says something else. */
static inline void YARD_ID(write_changed)(unsigned char *line, const unsigned char *copy)
{
	if (memcmp(line, copy, mini_line(YARD_BACK)) != 0)
		words_write(line, copy, mini_line(YARD_BACK));
}

static inline void YARD_ID(unlock_all)(const struct yard *yard, const struct yard_hold *hold)
{
	YARD_ID(write_changed)(hold->lines.front, hold->copies.front);
	YARD_ID(copy_values)(hold->copies.front_values, hold->lines.front_values, true);
	for (unsigned half = 0; half < 2; half++) {
		YARD_ID(write_changed)(hold->lines.back[half], hold->copies.back[half]);
		YARD_ID(copy_values)(hold->copies.back_values[half], hold->lines.back_values[half],
		                     true);
	}
	stripes_unlock(&yard->locks->stripes, &hold->set);
}

/* Whether a front line is full at this moment: a hint, unless one has its lock. */
static inline bool YARD_ID(full_now)(const unsigned char *line)
{
	unsigned last = mini_size_bits(YARD_FRONT) - 1;
	return word_load(line, last / 64) >> (last % 64) & 1;
}

/*
 * Locks a front line, unless it is full: false then, and no lock. For what concerns
 * entries of lines that are not full, the backyard does not matter.
 */
ALWAYS_INLINE bool YARD_ID(lock_front)(const unsigned char *line, uint32_t *version)
{
	if (UNLIKELY(YARD_ID(full_now)(line)))
		return false;
	version_lock(version);
	if (LIKELY(!mini_full(YARD_FRONT, line)))
		return true;
	version_unlock(version);
	return false;
}

/* Whether lines can be changed in registers: remainders are bytes. */
#ifdef WORDS_EDIT
#define YARD_EDIT (YARD_FRONT.width == 8 && mini_size_bytes(YARD_FRONT) <= 16)
#else
#define YARD_EDIT false
#endif

/* mini_insert_at in a front line that is locked, by atomic words. */
ALWAYS_INLINE void YARD_ID(insert_words)(unsigned char *line, unsigned m, unsigned slot,
                                         uint64_t remainder)
{
#ifdef WORDS_EDIT
	if (YARD_EDIT) {
		struct mini_sizes sizes =
			mini_sizes_wider(YARD_FRONT, mini_sizes_of(YARD_FRONT, line), slot + m);
		words_push(line, mini_line(YARD_FRONT), mini_remainder_at(YARD_FRONT, slot) / 8,
		           mini_remainder_at(YARD_FRONT, YARD_FRONT.slots) / 8,
		           (unsigned char)remainder, (uint64_t[]){ sizes.low, sizes.high },
		           mini_size_bytes(YARD_FRONT));
		return;
	}
#endif
	_Alignas(32) unsigned char copy[MINI_LINE];
	memcpy(copy, line, mini_line(YARD_FRONT));
	mini_insert_at(YARD_FRONT, copy, m, slot, remainder, 0);
	words_write(line, copy, mini_line(YARD_FRONT));
}

/* mini_remove likewise. */
ALWAYS_INLINE void YARD_ID(remove_words)(unsigned char *line, unsigned m, unsigned slot)
{
#ifdef WORDS_EDIT
	if (YARD_EDIT) {
		struct mini_sizes sizes =
			mini_sizes_narrower(YARD_FRONT, mini_sizes_of(YARD_FRONT, line), slot + m);
		words_pull(line, mini_line(YARD_FRONT), mini_remainder_at(YARD_FRONT, slot) / 8,
		           mini_remainder_at(YARD_FRONT, YARD_FRONT.slots) / 8,
		           (uint64_t[]){ sizes.low, sizes.high }, mini_size_bytes(YARD_FRONT));
		return;
	}
#endif
	_Alignas(32) unsigned char copy[MINI_LINE];
	memcpy(copy, line, mini_line(YARD_FRONT));
	mini_remove(YARD_FRONT, copy, m, slot);
	words_write(line, copy, mini_line(YARD_FRONT));
}
#undef YARD_EDIT

/* -------------------------------------------------------------------- lookups -- */

/* find_in of all lines at one moment. */
NEVER_INLINE size_t YARD_ID(shared_find_key)(const struct yard *yard, struct yard_key key,
                                             uint64_t *values, size_t cap)
{
	struct yard_hold hold;
	YARD_ID(cover)(yard, key.bucket, &hold);
	for (unsigned tries = 0;; tries++) {
		struct stripe_versions versions;
		if (stripes_begin(&yard->locks->stripes, &hold.watch, &versions)) {
			words_read(hold.copies.front, hold.lines.front, mini_line(YARD_FRONT));
			for (unsigned half = 0; half < 2; half++)
				words_read(hold.copies.back[half], hold.lines.back[half],
				           mini_line(YARD_BACK));
			if (cap > 0)
				YARD_ID(read_values)(&hold);
			size_t found = YARD_ID(find_in)(&hold.copies, key, values, cap);
			if (LIKELY(stripes_same(&yard->locks->stripes, &hold.watch, &versions)))
				return found;
		}
		stripes_pause(tries);
	}
}

static inline uint64_t YARD_ID(shared_copies)(const struct yard *yard, struct yard_key key)
{
	return YARD_ID(shared_find_key)(yard, key, NULL, 0);
}

static size_t YARD_ID(shared_find)(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	return YARD_ID(shared_find_key)(body, yard_locate(body, hash), values, cap);
}

/* Remainders that one word holds. */
#define YARD_FIELDS (64 / YARD_FRONT.width)

/* The sizes of a line as somebody may be writing it: see mini_view_of. */
ALWAYS_INLINE struct mini_view YARD_ID(shared_view)(const unsigned char *line, unsigned m)
{
	uint64_t first = word_load(line, 0), last = 0;
	if (mini_size_bits(YARD_FRONT) > 64) {
		unsigned skip = mini_size_skip(YARD_FRONT) & 63;
		last = first >> skip | word_load(line, 1) << (64 - skip);
	}
	return mini_view_in(YARD_FRONT, first, last, m);
}

/* 64 bits of a line from any bit on; those beyond its end are others of the line. */
ALWAYS_INLINE uint64_t YARD_ID(shared_bits)(const unsigned char *line, unsigned bit)
{
	const unsigned most = mini_line(YARD_FRONT) / 8 - 1;
	unsigned shift = bit & 63;
	uint64_t low = word_load(line, bit >> 6 & most);
	uint64_t high = word_load(line, (bit + 63) >> 6 & most);
	return low >> shift | high << (-shift & 63);
}

/* Whether one of `count` slots from a first one on, at most YARD_FIELDS, has a remainder. */
ALWAYS_INLINE bool YARD_ID(shared_match)(const unsigned char *line, unsigned slot, unsigned count,
                                         uint64_t remainder)
{
	const unsigned width = YARD_FRONT.width;
#ifdef WORDS_FIND
	if (width == 8)
		return words_find(line, mini_line(YARD_FRONT), mini_size_bytes(YARD_FRONT) + slot,
		                  count, (unsigned char)remainder);
#endif
	const uint64_t ones = fields_ones(width, YARD_FIELDS), highs = ones << (width - 1);
	uint64_t here = YARD_ID(shared_bits)(line, mini_remainder_at(YARD_FRONT, slot));
	uint64_t hits = fields_zero_in(here ^ remainder * ones, highs - ones, highs);
	return PLACE64(hits) < count * width;
}

/*
 * Looks a key up in its front line. *elsewhere tells that the answer is worth nothing:
 * the backyard matters, or somebody is writing. Only the sizes are read, and as many
 * remainders as one word holds: a mini-bucket hardly ever has more.
 */
ALWAYS_INLINE bool YARD_ID(shared_in_front)(const struct yard *yard, struct yard_key key,
                                            bool *elsewhere)
{
	const unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	const uint32_t *version = yard_version(yard, line);
	uint32_t before = __atomic_load_n(version, __ATOMIC_ACQUIRE) & ~UINT32_C(1);
	struct mini_view view = YARD_ID(shared_view)(line, key.m);
	unsigned from = PLACE64(view.behind), count = PLACE64(view.own) - from;
	bool hit = YARD_ID(shared_match)(line, from - view.turn, count, key.remainder);
	uint32_t differ = before ^ __atomic_load_n(version, __ATOMIC_ACQUIRE);
	*elsewhere = (differ != 0) | (count > YARD_FIELDS) | mini_unsure(YARD_FRONT, view, hit);
	return hit;
}
#undef YARD_FIELDS

static bool YARD_ID(shared_contains)(const void *body, uint64_t hash)
{
	const struct yard *yard = body;
	struct yard_key key = YARD_ID(locate)(yard, hash);
	bool elsewhere, hit = YARD_ID(shared_in_front)(yard, key, &elsewhere);
	return UNLIKELY(elsewhere) ? YARD_ID(shared_copies)(yard, key) > 0 : hit;
}

static uint64_t YARD_ID(shared_count)(const void *body, uint64_t hash)
{
	const struct yard *yard = body;
	return YARD_ID(shared_copies)(yard, yard_locate(yard, hash));
}

/* --------------------------------------------------------------------- room -- */

/* A backyard line as it was at one moment. */
static const unsigned char *YARD_ID(look_at_copy)(const struct yard *yard, unsigned char *line,
                                                  unsigned char *copy)
{
	const uint32_t *version = yard_version(yard, line);
	for (unsigned tries = 0;; tries++) {
		uint32_t before = __atomic_load_n(version, __ATOMIC_ACQUIRE);
		words_read(copy, line, mini_line(YARD_BACK));
		if (before % 2 == 0 && before == __atomic_load_n(version, __ATOMIC_ACQUIRE))
			return copy;
		stripes_pause(tries);
	}
}

/* Moves an entry if it is still where it was, and has still room to go to. */
static void YARD_ID(shared_move)(const struct yard *yard, const struct yard_move *move)
{
	unsigned char from[MINI_LINE], to[MINI_LINE], values[2][YARD_VALUES_MOST];
	struct YARD_ID(backyard) source = YARD_ID(backyard_of)(yard, move->from);
	struct YARD_ID(backyard) target = YARD_ID(backyard_of)(yard, move->to);
	struct YARD_ID(backyard) left = { from, source.values }, taken = { to, target.values };
	uint32_t one = yard_stripe(yard, move->from), other = yard_stripe(yard, move->to);
	struct stripe_watch watch = { { one, other, one, other } };
	struct stripe_set set = stripes_lock(&yard->locks->stripes, &watch);
	memcpy(from, move->from, mini_line(YARD_BACK));
	memcpy(to, move->to, mini_line(YARD_BACK));
	if (move->slot < mini_count(YARD_BACK, mini_sizes_of(YARD_BACK, from)) &&
	    mini_crumb(YARD_BACK, from, move->slot) == move->crumb && !mini_full(YARD_BACK, to)) {
		if (yard->values != NULL) {
			left.values.bytes = values[0];
			taken.values.bytes = values[1];
		}
		YARD_ID(copy_values)(source.values, left.values, false);
		YARD_ID(copy_values)(target.values, taken.values, false);
		YARD_ID(move_entry)(left, move->slot, taken, move->crumb);
		words_write(move->to, to, mini_line(YARD_BACK));
		words_write(move->from, from, mini_line(YARD_BACK));
		YARD_ID(copy_values)(taken.values, target.values, true);
		YARD_ID(copy_values)(left.values, source.values, true);
	}
	stripes_unlock(&yard->locks->stripes, &set);
}

/* False if no entry can make room; true says only that it is worth another look. */
NEVER_INLINE bool YARD_ID(shared_make_room)(const struct yard *yard, uint64_t bucket)
{
	struct yard_move move = { 0 };
	if (!YARD_ID(find_move)(yard, bucket, YARD_ID(look_at_copy), &move))
		return false;
	YARD_ID(shared_move)(yard, &move);
	return true;
}

/* ------------------------------------------------------------------- changes -- */

/* Puts a key into a front line that is not full. */
ALWAYS_INLINE nidus_status YARD_ID(put_front)(unsigned char *line, struct yard_key key,
                                              bool only_new)
{
	struct mini_run run = mini_find(YARD_FRONT, line, key.m);
	if (only_new || UNLIKELY(YARD_ID(crowded)(run))) {
		uint64_t hits = mini_match(YARD_FRONT, line, run.slots, key.remainder);
		if (only_new && hits != 0)
			return NIDUS_PRESENT;
		if (POPCOUNT64(hits) >= YARD_COPIES)
			return YARD_ID(too_many)();
	}
	YARD_ID(insert_words)(line, key.m, run.end, key.remainder);
	return NIDUS_OK;
}

/* The same under the locks of all lines. FULL: there may be room after a move. */
static inline nidus_status YARD_ID(put_in)(const struct yard_trio *trio, struct yard_key key,
                                           enum yard_demand demand, bool *added)
{
	struct value_change add = { .what = VALUE_ADD, .fresh = key.value };
	*added = demand == YARD_ADD_OR_NEW && YARD_ID(change_in)(trio, key, add) == NIDUS_OK;
	if (*added)
		return NIDUS_OK;
	if (!mini_full(YARD_FRONT, trio->front)) {
		unsigned slot = mini_find(YARD_FRONT, trio->front, key.m).end;
		nidus_status status =
			YARD_ID(put_front)(trio->front, key, demand == YARD_ONLY_NEW);
		if (status == NIDUS_OK)
			yard_push_value(trio->front_values, slot, key.value);
		return status;
	}
	if (demand == YARD_ONLY_NEW && YARD_ID(copies_in)(trio, key) > 0)
		return NIDUS_PRESENT;
	return YARD_ID(spill)(trio, key);
}

/* *added: no entry came, as there was one to add to. */
NEVER_INLINE nidus_status YARD_ID(shared_put_all)(const struct yard *yard, struct yard_key key,
                                                  enum yard_demand demand, bool *added)
{
	for (;;) {
		struct yard_hold hold;
		YARD_ID(lock_all)(yard, key.bucket, &hold);
		nidus_status status = YARD_ID(put_in)(&hold.copies, key, demand, added);
		YARD_ID(unlock_all)(yard, &hold);
		if (LIKELY(status != NIDUS_FULL))
			return status;
		if (!YARD_ID(shared_make_room)(yard, key.bucket))
			return YARD_ID(no_place)();
	}
}

ALWAYS_INLINE nidus_status YARD_ID(shared_put_new)(const struct yard *yard, struct yard_key key)
{
	bool added;
	unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	uint32_t *version = yard_version(yard, line);
	if (UNLIKELY(yard->values != NULL) || UNLIKELY(!YARD_ID(lock_front)(line, version)))
		return YARD_ID(shared_put_all)(yard, key, YARD_ONLY_NEW, &added);
	nidus_status status = YARD_ID(put_front)(line, key, true);
	version_unlock(version);
	return status;
}

/*
 * Puts a key into its front line if a look at its sizes tells how. They are read before
 * the lock is taken, which succeeds only if nothing changed since: little is left to do
 * between the lock, which waits for all that came before it, and the stores.
 */
ALWAYS_INLINE bool YARD_ID(shared_put_simply)(const struct yard *yard, struct yard_key key)
{
	unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	uint32_t *version = yard_version(yard, line);
	uint32_t before = version_seen(version);
	struct mini_view view = YARD_ID(shared_view)(line, key.m);
	bool crowded = POPCOUNT64(view.own - view.behind) >= YARD_COPIES;
	if (UNLIKELY(YARD_ID(full_now)(line) | (view.own == 0) | crowded) ||
	    UNLIKELY(!version_lock_from(version, before)))
		return false;
	YARD_ID(insert_words)(line, key.m, PLACE64(view.own) - view.turn, key.remainder);
	version_unlock_from(version, before);
	return true;
}

ALWAYS_INLINE nidus_status YARD_ID(shared_put)(struct yard *yard, struct yard_key key)
{
	bool added;
	return LIKELY(yard->values == NULL) && LIKELY(YARD_ID(shared_put_simply)(yard, key))
	               ? NIDUS_OK
	               : YARD_ID(shared_put_all)(yard, key, YARD_ANY, &added);
}

static nidus_status YARD_ID(shared_insert_value)(void *body, uint64_t hash, uint64_t value)
{
	struct yard *yard = body;
	struct yard_key key = yard_locate(yard, hash);
	key.value = value;
	nidus_status status = YARD_ID(shared_put)(yard, key);
	if (LIKELY(status == NIDUS_OK))
		tally_add(&yard->locks->added, 1);
	return status;
}

static nidus_status YARD_ID(shared_insert)(void *body, uint64_t hash)
{
	return YARD_ID(shared_insert_value)(body, hash, 0);
}

static nidus_status YARD_ID(shared_add)(void *body, uint64_t hash, uint64_t value)
{
	bool added;
	struct yard *yard = body;
	struct yard_key key = yard_locate(yard, hash);
	key.value = value;
	nidus_status status = YARD_ID(shared_put_all)(yard, key, YARD_ADD_OR_NEW, &added);
	if (status == NIDUS_OK && !added)
		tally_add(&yard->locks->added, 1);
	return status;
}

static nidus_status YARD_ID(shared_insert_new)(void *body, uint64_t hash)
{
	struct yard *yard = body;
	nidus_status status = YARD_ID(shared_put_new)(yard, yard_locate(yard, hash));
	if (status == NIDUS_OK)
		tally_add(&yard->locks->added, 1);
	return status;
}

/* Takes a key out of a front line that is not full. */
ALWAYS_INLINE nidus_status YARD_ID(take_front)(unsigned char *line, struct yard_key key)
{
	struct mini_run run = mini_find(YARD_FRONT, line, key.m);
	uint64_t hits = mini_match(YARD_FRONT, line, run.slots, key.remainder);
	if (hits == 0)
		return NIDUS_NOT_FOUND;
	YARD_ID(remove_words)(line, key.m, (unsigned)__builtin_ctzll(hits));
	return NIDUS_OK;
}

/* The same under the locks of all lines. */
NEVER_INLINE nidus_status YARD_ID(shared_take_all)(const struct yard *yard, struct yard_key key)
{
	struct yard_hold hold;
	YARD_ID(lock_all)(yard, key.bucket, &hold);
	nidus_status status = YARD_ID(take_in)(&hold.copies, key);
	YARD_ID(unlock_all)(yard, &hold);
	return status;
}

ALWAYS_INLINE nidus_status YARD_ID(shared_take)(struct yard *yard, struct yard_key key)
{
	unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	uint32_t *version = yard_version(yard, line);
	if (UNLIKELY(yard->values != NULL) || UNLIKELY(!YARD_ID(lock_front)(line, version)))
		return YARD_ID(shared_take_all)(yard, key);
	nidus_status status = YARD_ID(take_front)(line, key);
	version_unlock(version);
	return status;
}

static nidus_status YARD_ID(shared_remove)(void *body, uint64_t hash)
{
	struct yard *yard = body;
	nidus_status status = YARD_ID(shared_take)(yard, yard_locate(yard, hash));
	if (LIKELY(status == NIDUS_OK))
		tally_add(&yard->locks->added, UINT64_MAX);
	return status;
}

static nidus_status YARD_ID(shared_change)(void *body, uint64_t hash, struct value_change change)
{
	struct yard *yard = body;
	struct yard_key key = yard_locate(yard, hash);
	struct yard_hold hold;
	YARD_ID(lock_all)(yard, key.bucket, &hold);
	nidus_status status = YARD_ID(change_in)(&hold.copies, key, change);
	YARD_ID(unlock_all)(yard, &hold);
	if (status == NIDUS_OK && change.what == VALUE_REMOVE)
		tally_add(&yard->locks->added, UINT64_MAX);
	return status;
}

/* ------------------------------------------------------------------- batches -- */

static inline bool YARD_ID(shared_in_any)(const struct yard *yard, struct yard_key key)
{
	return YARD_ID(shared_copies)(yard, key) > 0;
}

static void YARD_ID(shared_contains_batch)(const void *body, const uint64_t *hashes, size_t n,
                                           uint8_t *yes)
{
	YARD_ID(look_all)
	(body, hashes, n, yes, YARD_ID(shared_in_front), YARD_ID(shared_in_any), YARD_READ);
}

static void YARD_ID(shared_find_batch)(const void *body, const uint64_t *hashes, size_t n,
                                       uint64_t *first, uint32_t *found)
{
	YARD_ID(find_all)
	(body, hashes, n, first, found, YARD_ID(shared_contains_batch), YARD_ID(shared_find));
}

static nidus_status YARD_ID(shared_insert_batch)(void *body, const uint64_t *hashes,
                                                 const uint64_t *values, size_t n, size_t *done)
{
	struct yard *yard = body;
	nidus_status status =
		YARD_ID(change_all)(yard, hashes, values, n, done, YARD_INSERTS, YARD_ID(full_now),
	                            YARD_ID(shared_put), YARD_CHANGE);
	tally_add(&yard->locks->added, *done);
	return status;
}

static nidus_status YARD_ID(shared_remove_batch)(void *body, const uint64_t *hashes, size_t n,
                                                 size_t *done)
{
	struct yard *yard = body;
	nidus_status status =
		YARD_ID(change_all)(yard, hashes, NULL, n, done, YARD_REMOVES, YARD_ID(full_now),
	                            YARD_ID(shared_take), YARD_CHANGE);
	tally_add(&yard->locks->added, -(uint64_t)*done);
	return status;
}

/* SPDX-License-Identifier: MIT
 *
 * yard_ops: the operations on yards, written once, compiled per width and tier.
 *
 * A template: no include guard. The including file defines
 *
 *   YARD_FRONT, YARD_BACK   the two struct mini_shape values, as constants
 *   YARD_ID(x)              the name of x in this instance
 *   YARD_TOUCH(line)        what to do for each line touched (nothing, or count)
 *
 * and gets `static const struct yard_ops YARD_ID(ops)`.
 */

/* Copies of a key in a backyard line, as bits; the slots of its mini-bucket only. */
static inline uint64_t YARD_ID(back_hits)(const unsigned char *line, struct yard_key key)
{
	YARD_TOUCH(line);
	struct mini_run run = mini_find(YARD_BACK, line, key.m);
	uint64_t hits = mini_match(YARD_BACK, line, run.slots, key.remainder);
	return hits & mini_match_crumb(YARD_BACK, line, yard_crumb(key.bucket));
}

ALWAYS_INLINE unsigned char *YARD_ID(front_line)(const struct yard *yard, uint64_t bucket)
{
	return yard->front + bucket * mini_line(YARD_FRONT);
}

static inline struct yard_trio YARD_ID(trio)(const struct yard *yard, uint64_t bucket)
{
	struct yard_trio trio = { .front = YARD_ID(front_line)(yard, bucket),
		                  .front_values = yard_front_values(yard, bucket),
		                  .crumb = yard_crumb(bucket) };
	for (unsigned half = 0; half < 2; half++) {
		trio.back[half] = yard_back_line(yard, bucket, half);
		trio.back_values[half] =
			yard_back_values(yard, yard_line_in(yard, bucket, half) * 2 + half);
	}
	return trio;
}

/*
 * Whether entries of a mini-bucket of a front line may be in the backyard. No
 * slot is behind its own: the line is full, and none of a higher one is in it.
 */
ALWAYS_INLINE bool YARD_ID(spilled)(struct mini_run run)
{
	return run.end == YARD_FRONT.slots;
}

NEVER_INLINE bool YARD_ID(in_backyard)(const struct yard *yard, struct yard_key key)
{
	for (unsigned half = 0; half < 2; half++) {
		const unsigned char *line = yard_back_line(yard, key.bucket, half);
		if (YARD_ID(back_hits)(line, key) != 0)
			return true;
	}
	return false;
}

/* Where a hash belongs. */
ALWAYS_INLINE struct yard_key YARD_ID(locate)(const struct yard *yard, uint64_t hash)
{
	return yard_locate_in(yard, hash, YARD_FRONT.buckets, YARD_FRONT.width);
}

/* Looks a key up in its front line; *elsewhere tells whether all lines must be asked. */
ALWAYS_INLINE bool YARD_ID(in_front)(const struct yard *yard, struct yard_key key, bool *elsewhere)
{
	const unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	YARD_TOUCH(line);
	return mini_has(YARD_FRONT, line, key.m, key.remainder, elsewhere);
}

/* Looks a key up wherever it can be. */
static inline bool YARD_ID(in_any)(const struct yard *yard, struct yard_key key)
{
	const unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	struct mini_run run = mini_find(YARD_FRONT, line, key.m);
	if (mini_match(YARD_FRONT, line, run.slots, key.remainder) != 0)
		return true;
	return YARD_ID(spilled)(run) && YARD_ID(in_backyard)(yard, key);
}

/* The rest of a lookup, called last: the front line alone needs no stack. */
NEVER_INLINE bool YARD_ID(contains_anywhere)(const struct yard *yard, uint64_t hash)
{
	return YARD_ID(in_any)(yard, YARD_ID(locate)(yard, hash));
}

static bool YARD_ID(contains)(const void *body, uint64_t hash)
{
	const struct yard *yard = body;
	bool elsewhere, hit = YARD_ID(in_front)(yard, YARD_ID(locate)(yard, hash), &elsewhere);
	return UNLIKELY(elsewhere) ? YARD_ID(contains_anywhere)(yard, hash) : hit;
}

static inline uint64_t YARD_ID(copies_in)(const struct yard_trio *trio, struct yard_key key)
{
	YARD_TOUCH(trio->front);
	struct mini_run run = mini_find(YARD_FRONT, trio->front, key.m);
	uint64_t count = POPCOUNT64(mini_match(YARD_FRONT, trio->front, run.slots, key.remainder));
	if (!YARD_ID(spilled)(run))
		return count;
	for (unsigned half = 0; half < 2; half++)
		count += POPCOUNT64(YARD_ID(back_hits)(trio->back[half], key));
	return count;
}

NEVER_INLINE uint64_t YARD_ID(copies)(const struct yard *yard, struct yard_key key)
{
	struct yard_trio trio = YARD_ID(trio)(yard, key.bucket);
	return YARD_ID(copies_in)(&trio, key);
}

static uint64_t YARD_ID(count)(const void *body, uint64_t hash)
{
	const struct yard *yard = body;
	return YARD_ID(copies)(yard, YARD_ID(locate)(yard, hash));
}

/* Tells the values of some slots, behind the first `found`; gives how many there are then. */
static inline size_t YARD_ID(tell)(struct yard_values beside, uint64_t slots, uint64_t *values,
                                   size_t cap, size_t found)
{
	for (; slots != 0; slots &= slots - 1, found++) {
		if (found < cap)
			values[found] = yard_value(beside, (unsigned)__builtin_ctzll(slots));
	}
	return found;
}

/* copies_in, with their values. */
static inline size_t YARD_ID(find_in)(const struct yard_trio *trio, struct yard_key key,
                                      uint64_t *values, size_t cap)
{
	struct mini_run run = mini_find(YARD_FRONT, trio->front, key.m);
	uint64_t hits = mini_match(YARD_FRONT, trio->front, run.slots, key.remainder);
	size_t found = YARD_ID(tell)(trio->front_values, hits, values, cap, 0);
	if (!YARD_ID(spilled)(run))
		return found;
	for (unsigned half = 0; half < 2; half++)
		found = YARD_ID(tell)(trio->back_values[half],
		                      YARD_ID(back_hits)(trio->back[half], key), values, cap,
		                      found);
	return found;
}

static size_t YARD_ID(find)(const void *body, uint64_t hash, uint64_t *values, size_t cap)
{
	const struct yard *yard = body;
	struct yard_key key = YARD_ID(locate)(yard, hash);
	struct yard_trio trio = YARD_ID(trio)(yard, key.bucket);
	return YARD_ID(find_in)(&trio, key, values, cap);
}

/* -------------------------------------------------------------------- insert -- */

/* A backyard line as it is; threads that share a yard look at a copy instead. */
static const unsigned char *YARD_ID(line_itself)(const struct yard *yard, unsigned char *line,
                                                 unsigned char *copy)
{
	(void)yard, (void)copy;
	return line;
}

/* The ways out of a backyard line: for each crumb in it a first entry and its other line. */
static inline unsigned YARD_ID(ways_out)(const struct yard *yard, unsigned char *from, bool near,
                                         yard_look_at look_at, struct yard_move *ways)
{
	unsigned char copy[MINI_LINE];
	const unsigned char *line = look_at(yard, from, copy);
	YARD_TOUCH(from);
	uint64_t number = (uint64_t)(from - yard->back) / mini_line(YARD_BACK);
	unsigned count = mini_count(YARD_BACK, mini_sizes_of(YARD_BACK, line)), seen = 0, n = 0;
	for (unsigned slot = 0; slot < count; slot++) {
		unsigned crumb = mini_crumb(YARD_BACK, line, slot);
		if (seen >> crumb & 1)
			continue;
		seen |= 1u << crumb;
		uint64_t owner = yard_front_of(yard, number, crumb);
		unsigned char *to = yard_back_line(yard, owner, number % 2 == 0);
		ways[n++] = (struct yard_move){ from, to, slot, crumb, near };
	}
	return n;
}

/* The way to the emptiest line; false if those are all full. */
static inline bool YARD_ID(best_way)(const struct yard *yard, const struct yard_move *ways,
                                     unsigned n, yard_look_at look_at, struct yard_move *best)
{
	unsigned char copy[MINI_LINE];
	unsigned least = YARD_BACK.slots;
	for (unsigned i = 0; i < n; i++) {
		const unsigned char *line = look_at(yard, ways[i].to, copy);
		YARD_TOUCH(ways[i].to);
		unsigned count = mini_count(YARD_BACK, mini_sizes_of(YARD_BACK, line));
		if (count < least) {
			least = count;
			*best = ways[i];
		}
	}
	return least < YARD_BACK.slots;
}

/*
 * Both backyard lines of some front bucket are full: finds an entry of either that can
 * go to its other line, or an entry of such a line that can make room there.
 */
static inline bool YARD_ID(find_move)(const struct yard *yard, uint64_t bucket,
                                      yard_look_at look_at, struct yard_move *move)
{
	struct yard_move near[2 * YARD_WAYS], far[YARD_WAYS];
	unsigned n = 0;
	for (unsigned half = 0; half < 2; half++)
		n += YARD_ID(ways_out)(yard, yard_back_line(yard, bucket, half), true, look_at,
		                       near + n);
	bool found = YARD_ID(best_way)(yard, near, n, look_at, move);
	for (unsigned i = 0; i < n && !found; i++) {
		unsigned m = YARD_ID(ways_out)(yard, near[i].to, false, look_at, far);
		found = YARD_ID(best_way)(yard, far, m, look_at, move);
	}
	return found;
}

/* Puts an entry into a backyard line, which has room. */
static inline void YARD_ID(put_in_back)(unsigned char *line, struct yard_values values, unsigned m,
                                        uint64_t remainder, unsigned crumb, uint64_t value)
{
	unsigned slot = mini_find(YARD_BACK, line, m).end;
	mini_insert_at(YARD_BACK, line, m, slot, remainder, crumb);
	yard_push_value(values, slot, value);
}

/* A backyard line and its values: those of the yard, or copies. */
struct YARD_ID(backyard) {
	unsigned char *line;
	struct yard_values values;
};

/* Moves the entry of a slot from one backyard line to another, which has room. */
static inline void YARD_ID(move_entry)(struct YARD_ID(backyard) from, unsigned slot,
                                       struct YARD_ID(backyard) to, unsigned crumb)
{
	unsigned m = mini_bucket_of(YARD_BACK, mini_sizes_of(YARD_BACK, from.line), slot);
	YARD_ID(put_in_back)(to.line, to.values, m, mini_remainder(YARD_BACK, from.line, slot),
	                     crumb, yard_value(from.values, slot));
	mini_remove(YARD_BACK, from.line, m, slot);
	yard_pull_value(from.values, slot);
}

static inline struct YARD_ID(backyard) YARD_ID(backyard_of)(const struct yard *yard,
                                                            unsigned char *line)
{
	uint64_t number = (uint64_t)(line - yard->back) / mini_line(YARD_BACK);
	return (struct YARD_ID(backyard)){ line, yard_back_values(yard, number) };
}

/* Makes room in either backyard line of a front bucket. If false, nothing changed. */
NEVER_INLINE bool YARD_ID(make_room)(const struct yard *yard, uint64_t bucket)
{
	struct yard_move move = { 0 };
	while (!move.near) { /* twice at most: a move further away makes room for a near one */
		if (!YARD_ID(find_move)(yard, bucket, YARD_ID(line_itself), &move))
			return false;
		YARD_ID(move_entry)(YARD_ID(backyard_of)(yard, move.from), move.slot,
		                    YARD_ID(backyard_of)(yard, move.to), move.crumb);
	}
	return true;
}

/* Puts an entry into the emptier of its backyard lines. Errors: FULL. */
static inline nidus_status YARD_ID(put_back)(const struct yard_trio *trio, struct yard_key key)
{
	unsigned count[2];
	for (unsigned half = 0; half < 2; half++) {
		YARD_TOUCH(trio->back[half]);
		count[half] = mini_count(YARD_BACK, mini_sizes_of(YARD_BACK, trio->back[half]));
	}
	unsigned half = count[1] < count[0];
	if (UNLIKELY(count[half] >= YARD_BACK.slots))
		return NIDUS_FULL;
	YARD_ID(put_in_back)(trio->back[half], trio->back_values[half], key.m, key.remainder,
	                     trio->crumb, key.value);
	return NIDUS_OK;
}

/* Whether a mini-bucket can hold as many copies of a key as there may be: hardly ever. */
ALWAYS_INLINE bool YARD_ID(crowded)(struct mini_run run)
{
	return POPCOUNT64(run.slots) >= YARD_COPIES;
}

NEVER_INLINE nidus_status YARD_ID(too_many)(void)
{
	return fail(NIDUS_COPIES, "no room for another copy of this key");
}

NEVER_INLINE nidus_status YARD_ID(no_place)(void)
{
	return fail(NIDUS_FULL, "no place for this key was found; the filter is full");
}

/*
 * The front line is full: either the new entry or its last one goes to the backyard.
 * FULL, with no word of it yet, if both lines there are full.
 */
static inline nidus_status YARD_ID(spill)(const struct yard_trio *trio, struct yard_key key)
{
	unsigned char *line = trio->front;
	YARD_TOUCH(line);
	struct mini_run run = mini_find(YARD_FRONT, line, key.m);
	bool spilled = YARD_ID(spilled)(run);
	if ((spilled || YARD_ID(crowded)(run)) && YARD_ID(copies_in)(trio, key) >= YARD_COPIES)
		return YARD_ID(too_many)();
	struct yard_key out = key;
	if (!spilled) {
		out.m = mini_last_bucket(YARD_FRONT, mini_sizes_of(YARD_FRONT, line));
		out.remainder = mini_remainder(YARD_FRONT, line, YARD_FRONT.slots - 1);
		out.value = yard_value(trio->front_values, YARD_FRONT.slots - 1);
	}
	if (UNLIKELY(YARD_ID(put_back)(trio, out) != NIDUS_OK))
		return NIDUS_FULL;
	if (!spilled) {
		mini_replace_last(YARD_FRONT, line, out.m, key.m, run.end, key.remainder);
		yard_push_value(trio->front_values, run.end, key.value);
	}
	return NIDUS_OK;
}

NEVER_INLINE nidus_status YARD_ID(put_spilling)(struct yard *yard, struct yard_key key)
{
	struct yard_trio trio = YARD_ID(trio)(yard, key.bucket);
	nidus_status status = YARD_ID(spill)(&trio, key);
	if (UNLIKELY(status == NIDUS_FULL)) {
		if (!YARD_ID(make_room)(yard, key.bucket))
			return YARD_ID(no_place)();
		status = YARD_ID(spill)(&trio, key);
	}
	yard->count += status == NIDUS_OK;
	return status;
}

/* Puts a key into its front line if that takes no more than a look at it. */
ALWAYS_INLINE bool YARD_ID(put_simply)(struct yard *yard, struct yard_key key)
{
	unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	YARD_TOUCH(line);
	struct mini_view view = mini_view_of(YARD_FRONT, line, key.m);
	bool crowded = POPCOUNT64(view.own - view.behind) >= YARD_COPIES;
	if (UNLIKELY(mini_full(YARD_FRONT, line) | (view.own == 0) | crowded))
		return false;
	unsigned end = PLACE64(view.own) - view.turn;
	mini_insert_at(YARD_FRONT, line, key.m, end, key.remainder, 0);
	if (UNLIKELY(yard->values != NULL))
		yard_push_value_in(yard_front_values(yard, key.bucket), end, key.value);
	yard->count++;
	return true;
}

NEVER_INLINE nidus_status YARD_ID(put_slow)(struct yard *yard, struct yard_key key)
{
	unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	if (mini_full(YARD_FRONT, line))
		return YARD_ID(put_spilling)(yard, key);
	if (YARD_ID(copies)(yard, key) >= YARD_COPIES)
		return YARD_ID(too_many)();
	unsigned slot = mini_find(YARD_FRONT, line, key.m).end;
	mini_insert_at(YARD_FRONT, line, key.m, slot, key.remainder, 0);
	yard_push_value(yard_front_values(yard, key.bucket), slot, key.value);
	yard->count++;
	return NIDUS_OK;
}

ALWAYS_INLINE nidus_status YARD_ID(put)(struct yard *yard, struct yard_key key)
{
	return LIKELY(YARD_ID(put_simply)(yard, key)) ? NIDUS_OK : YARD_ID(put_slow)(yard, key);
}

static nidus_status YARD_ID(put_key)(struct yard *yard, struct yard_key key)
{
	return YARD_ID(put)(yard, key);
}

static nidus_status YARD_ID(insert_value)(void *body, uint64_t hash, uint64_t value)
{
	struct yard_key key = YARD_ID(locate)(body, hash);
	key.value = value;
	return YARD_ID(put)(body, key);
}

/* The rest of an insert, called last: the front line alone needs no stack. */
NEVER_INLINE nidus_status YARD_ID(insert_slow)(struct yard *yard, uint64_t hash)
{
	return YARD_ID(put_slow)(yard, YARD_ID(locate)(yard, hash));
}

static nidus_status YARD_ID(insert)(void *body, uint64_t hash)
{
	struct yard *yard = body;
	return LIKELY(YARD_ID(put_simply)(yard, YARD_ID(locate)(yard, hash)))
	               ? NIDUS_OK
	               : YARD_ID(insert_slow)(yard, hash);
}

/* -------------------------------------------------------------------- remove -- */

/* Entries of a front bucket in a backyard line, as bits. */
static inline uint64_t YARD_ID(all_of)(const unsigned char *line, unsigned crumb)
{
	YARD_TOUCH(line);
	unsigned count = mini_count(YARD_BACK, mini_sizes_of(YARD_BACK, line));
	return mini_match_crumb(YARD_BACK, line, crumb) & bits_low(count);
}

/*
 * Takes an entry out of a full front line. The lowest of the bucket's spilled entries, if
 * there is one, returns for it: to the last slot, as none that stayed is above it.
 */
static inline void YARD_ID(take_from_full)(const struct yard_trio *trio, unsigned m, unsigned slot)
{
	unsigned lowest[2], at[2];
	for (unsigned half = 0; half < 2; half++) {
		const unsigned char *line = trio->back[half];
		YARD_TOUCH(line);
		/* Before an empty slot, which crumb 0 may match, and behind the last one (if
		 * nothing matches) there are the ones of all mini-buckets. */
		uint64_t ours = mini_match_crumb(YARD_BACK, line, trio->crumb);
		at[half] = (unsigned)__builtin_ctzll(ours | UINT64_C(1) << YARD_BACK.slots);
		lowest[half] =
			mini_ones_before(YARD_BACK, mini_sizes_of(YARD_BACK, line), at[half]);
	}
	unsigned half = lowest[1] < lowest[0];
	yard_pull_value(trio->front_values, slot);
	if (lowest[half] >= YARD_BACK.buckets) {
		mini_remove(YARD_FRONT, trio->front, m, slot);
		return;
	}
	yard_set_value(trio->front_values, YARD_FRONT.slots - 1,
	               yard_value(trio->back_values[half], at[half]));
	yard_pull_value(trio->back_values[half], at[half]);
	unsigned char *from = trio->back[half];
	mini_take_over(YARD_FRONT, trio->front, m, slot, lowest[half],
	               mini_remainder(YARD_BACK, from, at[half]));
	mini_remove(YARD_BACK, from, lowest[half], at[half]);
}

NEVER_INLINE void YARD_ID(take_spilling)(struct yard *yard, struct yard_key key, uint64_t hits)
{
	struct yard_trio trio = YARD_ID(trio)(yard, key.bucket);
	YARD_ID(take_from_full)(&trio, key.m, (unsigned)__builtin_ctzll(hits));
}

static inline bool YARD_ID(take_back_in)(const struct yard_trio *trio, struct yard_key key)
{
	for (unsigned half = 0; half < 2; half++) {
		unsigned char *line = trio->back[half];
		uint64_t hits = YARD_ID(back_hits)(line, key);
		if (hits != 0) {
			mini_remove(YARD_BACK, line, key.m, (unsigned)__builtin_ctzll(hits));
			yard_pull_value(trio->back_values[half], (unsigned)__builtin_ctzll(hits));
			return true;
		}
	}
	return false;
}

NEVER_INLINE bool YARD_ID(take_back)(struct yard *yard, struct yard_key key)
{
	struct yard_trio trio = YARD_ID(trio)(yard, key.bucket);
	return YARD_ID(take_back_in)(&trio, key);
}

/* Takes the entry of a slot out of the front line. */
static inline void YARD_ID(take_front_slot)(const struct yard_trio *trio, unsigned m, unsigned slot)
{
	if (mini_full(YARD_FRONT, trio->front)) {
		YARD_ID(take_from_full)(trio, m, slot);
	} else {
		mini_remove(YARD_FRONT, trio->front, m, slot);
		yard_pull_value(trio->front_values, slot);
	}
}

/* Of the slots that hold a key, those whose entry a change may be made to. */
static inline uint64_t YARD_ID(changeable)(struct yard_values values, uint64_t hits,
                                           struct value_change change)
{
	return change.what == VALUE_ADD ? hits : yard_with_value(values, hits, change.old);
}

static inline void YARD_ID(change_slot)(struct yard_values values, unsigned slot,
                                        struct value_change change)
{
	uint64_t fresh = change.fresh;
	if (change.what == VALUE_ADD)
		fresh = value_sum(yard_value(values, slot), fresh, values.bits);
	yard_set_value(values, slot, fresh);
}

/* Changes an entry of a key in its three lines. Errors: NOT_FOUND. */
static inline nidus_status YARD_ID(change_in)(const struct yard_trio *trio, struct yard_key key,
                                              struct value_change change)
{
	struct mini_run run = mini_find(YARD_FRONT, trio->front, key.m);
	uint64_t hits = mini_match(YARD_FRONT, trio->front, run.slots, key.remainder);
	hits = YARD_ID(changeable)(trio->front_values, hits, change);
	if (hits != 0) {
		unsigned slot = (unsigned)__builtin_ctzll(hits);
		if (change.what == VALUE_REMOVE)
			YARD_ID(take_front_slot)(trio, key.m, slot);
		else
			YARD_ID(change_slot)(trio->front_values, slot, change);
		return NIDUS_OK;
	}
	for (unsigned half = 0; half < 2 && YARD_ID(spilled)(run); half++) {
		struct yard_values values = trio->back_values[half];
		hits = YARD_ID(changeable)(values, YARD_ID(back_hits)(trio->back[half], key),
		                           change);
		if (hits == 0)
			continue;
		unsigned slot = (unsigned)__builtin_ctzll(hits);
		if (change.what == VALUE_REMOVE) {
			mini_remove(YARD_BACK, trio->back[half], key.m, slot);
			yard_pull_value(values, slot);
		} else {
			YARD_ID(change_slot)(values, slot, change);
		}
		return NIDUS_OK;
	}
	return NIDUS_NOT_FOUND;
}

static nidus_status YARD_ID(change_key)(struct yard *yard, struct yard_key key,
                                        struct value_change change)
{
	struct yard_trio trio = YARD_ID(trio)(yard, key.bucket);
	nidus_status status = YARD_ID(change_in)(&trio, key, change);
	yard->count -= status == NIDUS_OK && change.what == VALUE_REMOVE;
	return status;
}

static nidus_status YARD_ID(change)(void *body, uint64_t hash, struct value_change change)
{
	return YARD_ID(change_key)(body, YARD_ID(locate)(body, hash), change);
}

/* Takes a key out of its three lines. */
static inline nidus_status YARD_ID(take_in)(const struct yard_trio *trio, struct yard_key key)
{
	struct mini_run run = mini_find(YARD_FRONT, trio->front, key.m);
	uint64_t hits = mini_match(YARD_FRONT, trio->front, run.slots, key.remainder);
	if (hits == 0)
		return YARD_ID(spilled)(run) && YARD_ID(take_back_in)(trio, key) ? NIDUS_OK
		                                                                 : NIDUS_NOT_FOUND;
	YARD_ID(take_front_slot)(trio, key.m, (unsigned)__builtin_ctzll(hits));
	return NIDUS_OK;
}

ALWAYS_INLINE nidus_status YARD_ID(take)(struct yard *yard, struct yard_key key)
{
	unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	YARD_TOUCH(line);
	struct mini_run run = mini_find(YARD_FRONT, line, key.m);
	uint64_t hits = mini_match(YARD_FRONT, line, run.slots, key.remainder);
	if (hits != 0) {
		bool mini_was_full = mini_full(YARD_FRONT, line);
		if (mini_was_full)
			YARD_ID(take_spilling)(yard, key, hits);
		else
			mini_remove(YARD_FRONT, line, key.m, (unsigned)__builtin_ctzll(hits));
		if (UNLIKELY(yard->values != NULL) && !mini_was_full)
			yard_pull_value_from(yard_front_values(yard, key.bucket),
			                     (unsigned)__builtin_ctzll(hits));
	} else if (!YARD_ID(spilled)(run) || !YARD_ID(take_back)(yard, key)) {
		return NIDUS_NOT_FOUND;
	}
	yard->count--;
	return NIDUS_OK;
}

static nidus_status YARD_ID(remove)(void *body, uint64_t hash)
{
	struct yard *yard = body;
	return YARD_ID(take)(yard, YARD_ID(locate)(yard, hash));
}

/* ------------------------------------------------------- from ascending hashes -- */

static bool YARD_ID(fill_fronts)(struct yard *yard, const uint64_t *hashes, size_t n)
{
	uint32_t packed[MINI_SLOTS_MOST];
	for (size_t at = 0; at < n;) {
		const uint64_t bucket = YARD_ID(locate)(yard, hashes[at]).bucket;
		unsigned count = 0;
		for (; at < n; at++) {
			struct yard_key key = YARD_ID(locate)(yard, hashes[at]);
			if (key.bucket != bucket)
				break;
			if (count == YARD_FRONT.slots)
				continue; /* spills, later */
			packed[count] = MINI_PACK(key.m, key.remainder);
			/* They ascend: equal ones are neighbours. */
			if (UNLIKELY(count >= YARD_COPIES &&
			             packed[count] == packed[count - YARD_COPIES]))
				return false;
			count++;
		}
		mini_fill(YARD_FRONT, yard->front + bucket * mini_line(YARD_FRONT), packed, count);
	}
	return true;
}

/* Whether the hashes before this one, which ascend, are as many copies as there may be. */
static inline bool YARD_ID(copied)(const struct yard *yard, const uint64_t *hashes, size_t at,
                                   struct yard_key key)
{
	if (at < YARD_COPIES)
		return false;
	struct yard_key other = YARD_ID(locate)(yard, hashes[at - YARD_COPIES]);
	return other.bucket == key.bucket && other.m == key.m && other.remainder == key.remainder;
}

/* Puts the highest entry of a front bucket whose line is full into the backyard. */
static inline nidus_status YARD_ID(put_highest)(struct yard *yard, struct yard_key key)
{
	struct yard_trio trio = YARD_ID(trio)(yard, key.bucket);
	nidus_status status = YARD_ID(put_back)(&trio, key);
	if (UNLIKELY(status == NIDUS_FULL)) {
		if (!YARD_ID(make_room)(yard, key.bucket))
			return YARD_ID(no_place)();
		status = YARD_ID(put_back)(&trio, key);
	}
	yard->count += status == NIDUS_OK;
	return status;
}

/* What front buckets from `bucket` up to `end` could not take of their hashes. */
static nidus_status YARD_ID(fill_back)(struct yard *yard, const uint64_t *hashes, size_t n,
                                       uint64_t bucket, uint64_t end)
{
	for (size_t at = 0; bucket < end && at < n; bucket++) {
		const unsigned char *line = yard->front + bucket * mini_line(YARD_FRONT);
		unsigned here = mini_count(YARD_FRONT, mini_sizes_of(YARD_FRONT, line));
		at += here;
		yard->count += here;
		while (here == YARD_FRONT.slots && at < n) {
			struct yard_key key = YARD_ID(locate)(yard, hashes[at]);
			if (key.bucket != bucket)
				break;
			if (UNLIKELY(YARD_ID(copied)(yard, hashes, at, key)))
				return YARD_ID(too_many)();
			nidus_status status = YARD_ID(put_highest)(yard, key);
			if (status != NIDUS_OK)
				return status;
			at++;
		}
	}
	return NIDUS_OK;
}

/* ------------------------------------------------------------------- transferring -- */

/* Entries of a front bucket in one of its backyard lines, packed; gives how many. */
static inline unsigned YARD_ID(gather_half)(const struct yard *yard, uint64_t bucket, unsigned half,
                                            uint32_t *packed)
{
	unsigned count = 0;
	const unsigned char *line = yard_back_line(yard, bucket, half);
	struct mini_sizes sizes = mini_sizes_of(YARD_BACK, line);
	uint64_t ours = YARD_ID(all_of)(line, yard_crumb(bucket));
	for (; ours != 0; ours &= ours - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(ours);
		packed[count++] = MINI_PACK(mini_bucket_of(YARD_BACK, sizes, slot),
		                            mini_remainder(YARD_BACK, line, slot));
	}
	packed[count] = MINI_PACK_END;
	return count;
}

/* All entries of a front bucket, wherever they are, in mini-bucket order. */
static inline unsigned YARD_ID(gather)(const struct yard *yard, uint64_t bucket, uint32_t *packed)
{
	const unsigned char *line = YARD_ID(front_line)(yard, bucket);
	unsigned count = mini_unpack(YARD_FRONT, line, packed);
	if (count < YARD_FRONT.slots)
		return count;
	uint32_t even[MINI_SLOTS_MOST + 1], odd[MINI_SLOTS_MOST + 1];
	unsigned spilled = YARD_ID(gather_half)(yard, bucket, 0, even);
	spilled += YARD_ID(gather_half)(yard, bucket, 1, odd);
	mini_merge(even, odd, packed + count, spilled);
	return count + spilled;
}

static nidus_status YARD_ID(put_packed)(struct yard *yard, uint64_t bucket, const uint32_t *packed,
                                        unsigned n)
{
	nidus_status status = NIDUS_OK;
	for (unsigned i = 0; i < n && status == NIDUS_OK; i++) {
		struct yard_key key = { bucket, MINI_PACK_BUCKET(packed[i]),
			                MINI_PACK_REMAINDER(packed[i]), 0 };
		status = YARD_ID(put)(yard, key);
	}
	return status;
}

/* Whether some mini-bucket is so full that copies must be counted. */
static inline bool YARD_ID(any_crowded)(const uint32_t *packed, unsigned n)
{
	bool any = false;
	for (unsigned i = YARD_COPIES; i < n; i++)
		any |= MINI_PACK_BUCKET(packed[i]) == MINI_PACK_BUCKET(packed[i - YARD_COPIES]);
	return any;
}

/*
 * Adds entries in mini-bucket order to a front bucket: its line is written anew
 * with the lowest of old and new ones, the others go to the backyard. What is
 * there already is no lower than the line's last one was, and stays.
 */
static nidus_status YARD_ID(add)(struct yard *yard, uint64_t bucket, uint32_t *fresh, unsigned n)
{
	unsigned char *line = YARD_ID(front_line)(yard, bucket);
	uint32_t old[MINI_SLOTS_MOST + 1], all[YARD_MOST + MINI_SLOTS_MOST];
	unsigned here = mini_unpack(YARD_FRONT, line, old), total = here + n;
	old[here] = fresh[n] = MINI_PACK_END;
	mini_merge(old, fresh, all, total);
	if (UNLIKELY(YARD_ID(any_crowded)(all, total)))
		return YARD_ID(put_packed)(yard, bucket, fresh, n);
	unsigned stay = total < YARD_FRONT.slots ? total : YARD_FRONT.slots;
	mini_fill(YARD_FRONT, line, all, stay);
	yard->count += stay - here;
	return YARD_ID(put_packed)(yard, bucket, all + stay, total - stay);
}

/* Shares the entries of a front bucket out to the buckets that take its place. */
static nidus_status YARD_ID(transfer_bucket)(struct yard *to, const struct yard *from,
                                             uint64_t bucket)
{
	unsigned deeper = to->level - from->level, counts[YARD_SPREAD] = { 0 };
	uint32_t all[YARD_MOST], shares[YARD_SPREAD][YARD_MOST];
	unsigned n = YARD_ID(gather)(from, bucket, all);
	uint64_t base = bucket >> from->level << to->level, low = bucket & bits_low(from->level);
	nidus_status status = NIDUS_OK;
	if (deeper > YARD_SPREAD_BITS) { /* many buckets for a few entries each */
		for (unsigned i = 0; i < n && status == NIDUS_OK; i++) {
			uint64_t remainder = MINI_PACK_REMAINDER(all[i]);
			uint32_t one = MINI_PACK(MINI_PACK_BUCKET(all[i]), remainder >> deeper);
			uint64_t share = remainder & bits_low(deeper);
			status =
				YARD_ID(put_packed)(to, base | share << from->level | low, &one, 1);
		}
		return status;
	}
	for (unsigned i = 0; i < n; i++) {
		uint32_t remainder = MINI_PACK_REMAINDER(all[i]);
		uint32_t share = remainder & (uint32_t)bits_low(deeper);
		shares[share][counts[share]++] =
			MINI_PACK(MINI_PACK_BUCKET(all[i]), remainder >> deeper);
	}
	for (uint64_t share = 0; share < UINT64_C(1) << deeper && status == NIDUS_OK; share++) {
		if (counts[share] > 0)
			status = YARD_ID(add)(to, base | share << from->level | low, shares[share],
			                      counts[share]);
	}
	return status;
}

static nidus_status YARD_ID(transfer)(struct yard *to, const struct yard *from)
{
	nidus_status status = NIDUS_OK;
	for (uint64_t bucket = 0; bucket < from->fronts && status == NIDUS_OK; bucket++)
		status = YARD_ID(transfer_bucket)(to, from, bucket);
	return status;
}

/* ------------------------------------------------------------------- batches -- */

/* Fetches the front line of a hash, and the version that guards it. */
ALWAYS_INLINE void YARD_ID(fetch)(const struct yard *yard, uint64_t hash, enum yard_use use)
{
	struct yard_key key = YARD_ID(locate)(yard, hash);
	const unsigned char *line = YARD_ID(front_line)(yard, key.bucket);
	PREFETCH(line);
	if (use == YARD_READ)
		PREFETCH(yard_version(yard, line));
	if (use == YARD_CHANGE)
		PREFETCH_WRITE(yard_version(yard, line));
}

/* The hashes of a batch, in blocks; front lines are fetched some hashes ahead. */
struct YARD_ID(batch) {
	const uint64_t *hashes;
	size_t n, fetched;
};

/*
 * The hashes to fetch while a block of `some` is worked on. Where so many are not
 * left, those that are left are fetched here, and the block itself once more.
 */
ALWAYS_INLINE const uint64_t *YARD_ID(fetch_next)(const struct yard *yard,
                                                  struct YARD_ID(batch) * batch,
                                                  const uint64_t *now, size_t some,
                                                  enum yard_use use)
{
	const uint64_t *next = batch->hashes + batch->fetched;
	size_t left = batch->n - batch->fetched;
	if (left >= some) {
		batch->fetched += some;
		return next;
	}
	for (size_t i = 0; i < left; i++)
		YARD_ID(fetch)(yard, next[i], use);
	batch->fetched = batch->n;
	return now;
}

/* A batch whose first hashes, `ahead` of them, are fetched. */
ALWAYS_INLINE struct YARD_ID(batch) YARD_ID(begin)(const struct yard *yard, const uint64_t *hashes,
                                                   size_t n, size_t ahead, enum yard_use use)
{
	struct YARD_ID(batch) batch = { hashes, n, n < ahead ? n : ahead };
	for (size_t i = 0; i < batch.fetched; i++)
		YARD_ID(fetch)(yard, hashes[i], use);
	return batch;
}

/* Fetches both backyard lines of a front bucket. */
static inline void YARD_ID(approach_back)(const struct yard *yard, uint64_t bucket)
{
	PREFETCH(yard_back_line(yard, bucket, 0));
	PREFETCH(yard_back_line(yard, bucket, 1));
}

/* How to look a key up in its front line, and how in all lines. */
typedef bool (*YARD_ID(in_front_fn))(const struct yard *yard, struct yard_key key, bool *elsewhere);
typedef bool (*YARD_ID(in_all_fn))(const struct yard *yard, struct yard_key key);

/*
 * Lookups: front lines are fetched YARD_AHEAD keys before they are read, one for each
 * that is read, so that memory is never idle and never flooded. Keys that the front
 * line says too little about are put aside; at the end of each block of YARD_BLOCK keys
 * their backyard lines are fetched, and at the end of the next block they are read.
 */
ALWAYS_INLINE void YARD_ID(look_all)(const struct yard *yard, const uint64_t *hashes, size_t n,
                                     uint8_t *yes, YARD_ID(in_front_fn) in_front,
                                     YARD_ID(in_all_fn) in_all, enum yard_use use)
{
	const struct yard copy =
		*yard; /* its numbers stay in registers while answers are written */
	uint32_t aside[2][YARD_BLOCK];
	size_t waiting = 0;
	struct YARD_ID(batch) batch = YARD_ID(begin)(&copy, hashes, n, YARD_AHEAD, use);
	for (size_t from = 0, turn = 0; from < n || waiting > 0; from += YARD_BLOCK, turn ^= 1) {
		size_t some = from >= n ? 0 : n - from < YARD_BLOCK ? n - from : YARD_BLOCK;
		size_t late = 0;
		const uint64_t *now = hashes + from;
		const uint64_t *next = YARD_ID(fetch_next)(&copy, &batch, now, some, use);
		for (size_t i = 0; i < some; i++) {
			YARD_ID(fetch)(&copy, next[i], use);
			bool elsewhere;
			yes[from + i] = in_front(&copy, YARD_ID(locate)(&copy, now[i]), &elsewhere);
			aside[turn][late] = (uint32_t)i;
			late += elsewhere;
		}
		for (size_t i = 0; i < late; i++)
			YARD_ID(approach_back)
		(yard, YARD_ID(locate)(yard, now[aside[turn][i]]).bucket);
		for (size_t i = 0; i < waiting; i++) {
			size_t at = from - YARD_BLOCK + aside[!turn][i];
			yes[at] = in_all(yard, YARD_ID(locate)(yard, hashes[at]));
		}
		waiting = late;
	}
}

static void YARD_ID(contains_batch)(const void *body, const uint64_t *hashes, size_t n,
                                    uint8_t *yes)
{
	YARD_ID(look_all)
	(body, hashes, n, yes, YARD_ID(in_front), YARD_ID(in_any), YARD_ALONE);
}

/* Whether a front line is full. */
ALWAYS_INLINE bool YARD_ID(is_full)(const unsigned char *line)
{
	return mini_full(YARD_FRONT, line);
}

/*
 * Does the same to all keys in input order, up to the first failure. Front lines are
 * fetched two groups ahead, one for each key that is worked on. A group ahead it is
 * noted which are full, and between the groups those ones' backyard lines are fetched.
 * The more of them are read, the smaller the groups that memory can serve at once.
 */
ALWAYS_INLINE nidus_status YARD_ID(change_all)(
	struct yard *yard, const uint64_t *hashes, const uint64_t *values, size_t n, size_t *done,
	size_t group,
	bool (*is_full)(const unsigned char *line),
	nidus_status (*change)(struct yard *yard, struct yard_key key), enum yard_use use)
{
	struct YARD_ID(batch) batch = YARD_ID(begin)(yard, hashes, n, 2 * group, use);
	uint64_t full[YARD_INSERTS]; /* front buckets */
	*done = 0;
	for (size_t from = 0; from < n; from += group) {
		size_t some = n - from < group ? n - from : group, count = 0;
		const uint64_t *now = hashes + from, *next, *soon = now;
		next = YARD_ID(fetch_next)(yard, &batch, now, some, use);
		if (n - from >= 2 * group)
			soon += group;
		for (size_t i = 0; i < some; i++) {
			YARD_ID(fetch)(yard, next[i], use);
			full[count] = YARD_ID(locate)(yard, soon[i]).bucket;
			count += is_full(YARD_ID(front_line)(yard, full[count]));
			struct yard_key key = YARD_ID(locate)(yard, now[i]);
			if (values != NULL)
				key.value = values[from + i];
			nidus_status status = change(yard, key);
			if (UNLIKELY(status != NIDUS_OK))
				return status;
			++*done;
		}
		for (size_t i = 0; i < count; i++)
			YARD_ID(approach_back)(yard, full[i]);
	}
	return NIDUS_OK;
}

static nidus_status YARD_ID(insert_batch)(void *body, const uint64_t *hashes,
                                          const uint64_t *values, size_t n, size_t *done)
{
	return YARD_ID(change_all)(body, hashes, values, n, done, YARD_INSERTS, YARD_ID(is_full),
	                           YARD_ID(put), YARD_ALONE);
}

static nidus_status YARD_ID(remove_batch)(void *body, const uint64_t *hashes, size_t n,
                                          size_t *done)
{
	return YARD_ID(change_all)(body, hashes, NULL, n, done, YARD_REMOVES, YARD_ID(is_full),
	                           YARD_ID(take), YARD_ALONE);
}

/*
 * Finds: first which keys are there, so that strangers touch no values, then the values of
 * those, whose lines are on their way by then.
 */
ALWAYS_INLINE void YARD_ID(find_all)(const struct yard *yard, const uint64_t *hashes, size_t n,
                                     uint64_t *first, uint32_t *found,
                                     void (*look)(const void *body, const uint64_t *hashes,
                                                  size_t n, uint8_t *yes),
                                     size_t (*find)(const void *body, uint64_t hash,
                                                    uint64_t *values, size_t cap))
{
	uint8_t yes[YARD_BLOCK];
	for (size_t from = 0; from < n; from += YARD_BLOCK) {
		size_t some = n - from < YARD_BLOCK ? n - from : YARD_BLOCK;
		look(yard, hashes + from, some, yes);
		for (size_t i = 0; i < some; i++) {
			uint64_t bucket = YARD_ID(locate)(yard, hashes[from + i]).bucket;
			struct yard_values values = yard_front_values(yard, bucket);
			if (yes[i] && values.bytes != NULL)
				PREFETCH(values.bytes);
		}
		for (size_t i = from; i < from + some; i++) {
			first[i] = 0;
			found[i] = yes[i - from] ? (uint32_t)find(yard, hashes[i], &first[i], 1) : 0;
		}
	}
}

static void YARD_ID(find_batch)(const void *body, const uint64_t *hashes, size_t n,
                                uint64_t *first, uint32_t *found)
{
	YARD_ID(find_all)
	(body, hashes, n, first, found, YARD_ID(contains_batch), YARD_ID(find));
}

#ifndef NIDUS_ONE_THREAD
#include "yard/shared_ops.h"
#endif

static const struct yard_ops YARD_ID(ops) = {
	.body = {
		.contains = YARD_ID(contains),
		.count = YARD_ID(count),
		.find = YARD_ID(find),
		.insert = YARD_ID(insert),
		.insert_value = YARD_ID(insert_value),
		.remove = YARD_ID(remove),
		.change = YARD_ID(change),
		.contains_batch = YARD_ID(contains_batch),
		.find_batch = YARD_ID(find_batch),
		.insert_batch = YARD_ID(insert_batch),
		.remove_batch = YARD_ID(remove_batch),
	},
#ifndef NIDUS_ONE_THREAD
	.shared = {
		.contains = YARD_ID(shared_contains),
		.count = YARD_ID(shared_count),
		.find = YARD_ID(shared_find),
		.insert = YARD_ID(shared_insert),
		.insert_value = YARD_ID(shared_insert_value),
		.insert_new = YARD_ID(shared_insert_new),
		.remove = YARD_ID(shared_remove),
		.change = YARD_ID(shared_change),
		.add = YARD_ID(shared_add),
		.contains_batch = YARD_ID(shared_contains_batch),
		.find_batch = YARD_ID(shared_find_batch),
		.insert_batch = YARD_ID(shared_insert_batch),
		.remove_batch = YARD_ID(shared_remove_batch),
	},
#endif
	.shape = {.front = YARD_FRONT_INIT, .back = YARD_BACK_INIT},
	.put = YARD_ID(put_key),
	.fill_fronts = YARD_ID(fill_fronts),
	.fill_back = YARD_ID(fill_back),
	.transfer = YARD_ID(transfer),
	.change = YARD_ID(change_key),
};

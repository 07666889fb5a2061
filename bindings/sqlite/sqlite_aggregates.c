/* SPDX-License-Identifier: MIT
 *
 * The aggregates of the SQLite extension, which are window functions too:
 *
 *     nidus_build(person) OVER (ORDER BY time ROWS 999 PRECEDING)
 *     nidus_merge(filter) OVER (ORDER BY day ROWS 6 PRECEDING)
 *
 * SQLite does not tell an aggregate whether it serves a window. A frame that moves on gives rows
 * back, and a filter alone cannot tell whether a key that is given back is still in the frame. So
 * nidus_build notes the hashes of its rows, for the first million; a frame that then gives one
 * back turns the notes into a count for each hash. Without a window they go in the end, or when
 * there are too many. Likewise nidus_merge keeps filters apart for a while.
 */
#include "nidus_sqlite.h"
SQLITE_EXTENSION_INIT3

#include <assert.h>
#include <string.h>

#define NOTES_MOST (1u << 20)
#define WAITING_MOST 1024
#define WAITING_BYTES (64u << 20)

#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)

/* --------------------------------------------------------- hashes and how often -- */

struct tally_slot {
	uint64_t hash;
	uint32_t count; /* 0: once it was there */
	bool used;
};

/* A table with linear probing; room is a power of two, at most three quarters are used. */
struct tally {
	struct tally_slot *slots;
	size_t room;
	size_t used;
};

static struct tally_slot *tally_find(const struct tally *tally, uint64_t hash)
{
	size_t i = (size_t)hash & (tally->room - 1);
	while (tally->slots[i].used && tally->slots[i].hash != hash)
		i = (i + 1) & (tally->room - 1);
	return &tally->slots[i];
}

/* Moves what is there into a table with room for one more. */
static bool tally_make_room(struct tally *tally)
{
	struct tally bigger = { 0 };
	size_t there = 0;
	if (tally->used + 1 <= tally->room / 4 * 3)
		return true;
	for (size_t i = 0; i < tally->room; i++)
		there += tally->slots[i].count > 0;
	for (bigger.room = 64; bigger.room / 2 < there + 1; bigger.room *= 2)
		continue;
	bigger.slots = sqlite3_malloc64(bigger.room * sizeof *bigger.slots);
	if (bigger.slots == NULL)
		return false;
	memset(bigger.slots, 0, bigger.room * sizeof *bigger.slots);
	for (size_t i = 0; i < tally->room; i++)
		if (tally->slots[i].count > 0) {
			*tally_find(&bigger, tally->slots[i].hash) = tally->slots[i];
			bigger.used++;
		}
	sqlite3_free(tally->slots);
	*tally = bigger;
	return true;
}

/* One more of a hash; NULL without memory. */
static struct tally_slot *tally_add(struct tally *tally, uint64_t hash)
{
	if (!tally_make_room(tally))
		return NULL;
	struct tally_slot *slot = tally_find(tally, hash);
	if (!slot->used) {
		*slot = (struct tally_slot){ .hash = hash, .used = true };
		tally->used++;
	}
	slot->count++;
	return slot;
}

/* ------------------------------------------------------------------- building -- */

/* What nidus_build holds; all zero at first. */
struct building {
	nidus_filter *filter;
	nidus_options options; /* of the filter, to make it again */
	bool failed;           /* an error was reported: the rest is passed over */
	bool moves;            /* the frame has given a row back: the tally is in use */
	uint64_t *notes;       /* before: the hashes of all rows; NULL if they were too many */
	uint32_t noted;
	bool too_many;
	struct tally tally;
};

static void forget_notes(struct building *building)
{
	sqlite3_free(building->notes);
	building->notes = NULL;
}

/* Without memory the notes are given up, as if there were too many. */
static void note(struct building *building, uint64_t hash)
{
	if (building->too_many)
		return;
	uint32_t n = building->noted;
	if (n == NOTES_MOST) {
		building->too_many = true;
	} else if (n == 0 || (n >= 64 && (n & (n - 1)) == 0)) {
		uint64_t *more = sqlite3_realloc64(building->notes,
		                                   (n == 0 ? 64 : 2 * (size_t)n) * sizeof *more);
		building->too_many = more == NULL;
		building->notes = more != NULL ? more : building->notes;
	}
	if (building->too_many)
		forget_notes(building);
	else
		building->notes[building->noted++] = hash;
}

/* A key of a frame that does not move on: once is enough. */
static bool insert_once(sqlite3_context *context, struct building *building, uint64_t hash)
{
	nidus_status status = nidus_insert_new_hash(building->filter, hash);
	note(building, hash);
	return status == NIDUS_PRESENT || went_well(context, status);
}

/* A key of a frame that does: an entry for each hash, so that each can be taken out. */
static bool insert_counted(sqlite3_context *context, struct building *building, uint64_t hash)
{
	struct tally_slot *slot = tally_add(&building->tally, hash);
	if (slot == NULL)
		return went_well(context, NIDUS_E_NOMEM);
	return slot->count > 1 || went_well(context, nidus_insert_hash(building->filter, hash));
}

static bool begin(sqlite3_context *context, struct building *building, int n,
                  sqlite3_value **values)
{
	return read_options(context, n - 1, values + 1, &building->options) &&
	       went_well(context, nidus_create(&building->options, &building->filter));
}

static bool build_one(sqlite3_context *context, struct building *building, int n,
                      sqlite3_value **values)
{
	uint64_t hash;
	if (building->filter == NULL && !begin(context, building, n, values))
		return false;
	if (!hash_key(context, building->filter, values[0], &hash))
		return false;
	return building->moves ? insert_counted(context, building, hash)
	                       : insert_once(context, building, hash);
}

static void build_step(sqlite3_context *context, int n, sqlite3_value **values)
{
	struct building *building = sqlite3_aggregate_context(context, sizeof *building);
	if (building == NULL)
		sqlite3_result_error_nomem(context);
	else if (!building->failed && sqlite3_value_type(values[0]) != SQLITE_NULL)
		building->failed = !build_one(context, building, n, values);
}

/* Makes counts and a filter with an entry for each of what was noted. */
static bool start_moving(sqlite3_context *context, struct building *building)
{
	if (building->too_many)
		return refuse(context,
		              "nidus_build: a window frame that moves on may have 2^20 rows; begin "
		              "it with UNBOUNDED PRECEDING, or make it smaller");
	nidus_free(building->filter);
	building->filter = NULL;
	building->moves = true;
	if (!went_well(context, nidus_create(&building->options, &building->filter)))
		return false;
	for (uint32_t i = 0; i < building->noted; i++)
		if (!insert_counted(context, building, building->notes[i]))
			return false;
	forget_notes(building);
	return true;
}

static bool take_out(sqlite3_context *context, struct building *building, sqlite3_value *key)
{
	uint64_t hash;
	if (!building->moves && !start_moving(context, building))
		return false;
	if (!hash_key(context, building->filter, key, &hash))
		return false;
	struct tally_slot *slot = tally_find(&building->tally, hash);
	assert(slot->count > 0); /* SQLite gives back what it gave */
	if (--slot->count > 0)
		return true;
	return went_well(context, nidus_remove_hash(building->filter, hash));
}

static void build_inverse(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	struct building *building = sqlite3_aggregate_context(context, sizeof *building);
	if (building != NULL && !building->failed && sqlite3_value_type(values[0]) != SQLITE_NULL)
		building->failed = !take_out(context, building, values[0]);
}

/* NULL if there is no key. */
static void build_value(sqlite3_context *context)
{
	struct building *building = sqlite3_aggregate_context(context, 0);
	if (building == NULL || building->failed || nidus_size(building->filter) == 0)
		return;
	give_blob(context, building->filter);
}

static void build_final(sqlite3_context *context)
{
	struct building *building = sqlite3_aggregate_context(context, 0);
	build_value(context);
	if (building == NULL)
		return;
	nidus_free(building->filter);
	forget_notes(building);
	sqlite3_free(building->tally.slots);
}

/* -------------------------------------------------------------------- merging -- */

/*
 * Filters that wait, in their order, and one that others have gone into. They wait until
 * there are many, or they take more memory than the one: so a union of n filters takes
 * O(log n) looks at each entry, and a frame can give back the first of those that wait.
 */
struct merging {
	nidus_filter *filter;
	nidus_filter *waiting[WAITING_MOST];
	unsigned first;
	unsigned count;
	uint64_t bytes; /* of those that wait */
	bool failed;
};

static nidus_filter *pop_first(struct merging *merging)
{
	nidus_filter *filter = merging->waiting[merging->first];
	merging->first = (merging->first + 1) % WAITING_MOST;
	merging->count--;
	merging->bytes -= nidus_saved_size(filter);
	return filter;
}

/* All of them in one; a key that is in several is in it once. */
static nidus_status merge_all(const struct merging *merging, nidus_filter **merged)
{
	const nidus_filter *parts[WAITING_MOST + 1];
	size_t n = 0;
	if (merging->filter != NULL)
		parts[n++] = merging->filter;
	for (unsigned i = 0; i < merging->count; i++)
		parts[n++] = merging->waiting[(merging->first + i) % WAITING_MOST];
	return n == 1 ? nidus_clone(parts[0], merged)
	              : nidus_merge_many(parts, n, NIDUS_MERGE_UNIQUE, merged);
}

static nidus_status settle(struct merging *merging)
{
	nidus_filter *merged;
	nidus_status status = merge_all(merging, &merged);
	if (status != NIDUS_OK)
		return status;
	nidus_free(merging->filter);
	while (merging->count > 0)
		nidus_free(pop_first(merging));
	merging->filter = merged;
	return NIDUS_OK;
}

static nidus_status take_in(struct merging *merging, nidus_filter *filter)
{
	merging->waiting[(merging->first + merging->count++) % WAITING_MOST] = filter;
	merging->bytes += nidus_saved_size(filter);
	bool many = merging->bytes > WAITING_BYTES &&
	            merging->bytes > nidus_saved_size(merging->filter);
	return many || merging->count == WAITING_MOST ? settle(merging) : NIDUS_OK;
}

static void merge_step(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	struct merging *merging = sqlite3_aggregate_context(context, sizeof *merging);
	nidus_filter *filter;
	if (merging == NULL) {
		sqlite3_result_error_nomem(context);
		return;
	}
	if (merging->failed || sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	nidus_status status = load_blob(values[0], &filter);
	if (status == NIDUS_OK)
		status = take_in(merging, filter);
	merging->failed = !went_well(context, status);
}

/* The row that is given back is the first that came. */
static void merge_inverse(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	struct merging *merging = sqlite3_aggregate_context(context, sizeof *merging);
	if (merging == NULL || merging->failed || sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	if (merging->filter == NULL)
		nidus_free(pop_first(merging));
	else
		merging->failed = !refuse(
			context,
			"nidus_merge: a window frame that moves on may have fewer than " TEXT(
				WAITING_MOST) " filters, of 64 MiB together; begin it with "
					      "UNBOUNDED PRECEDING, or make it smaller");
}

/* NULL if there is no filter. */
static void merge_value(sqlite3_context *context)
{
	struct merging *merging = sqlite3_aggregate_context(context, 0);
	nidus_filter *merged;
	if (merging == NULL || merging->failed || (merging->filter == NULL && merging->count == 0))
		return;
	if (!went_well(context, merge_all(merging, &merged)))
		return;
	give_blob(context, merged);
	nidus_free(merged);
}

static void merge_final(sqlite3_context *context)
{
	struct merging *merging = sqlite3_aggregate_context(context, 0);
	merge_value(context);
	if (merging == NULL)
		return;
	nidus_free(merging->filter);
	while (merging->count > 0)
		nidus_free(pop_first(merging));
}

int register_aggregates(sqlite3 *db, int flags)
{
	int answer = SQLITE_OK;
	for (int n = 1; n <= 3 && answer == SQLITE_OK; n++)
		answer = sqlite3_create_window_function(db, "nidus_build", n, flags, NULL,
		                                        build_step, build_final, build_value,
		                                        build_inverse, NULL);
	if (answer == SQLITE_OK)
		answer = sqlite3_create_window_function(db, "nidus_merge", 1, flags, NULL,
		                                        merge_step, merge_final, merge_value,
		                                        merge_inverse, NULL);
	return answer;
}

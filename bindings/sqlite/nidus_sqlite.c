/* SPDX-License-Identifier: MIT
 *
 * nidus_sqlite: filters in SQLite, as a loadable extension.
 *
 *     sqlite> .load build/nidus_sqlite
 *     sqlite> CREATE TABLE seen(day, filter);
 *     sqlite> INSERT INTO seen SELECT '2026-11-16', nidus_build(user, 0.001) FROM visits;
 *     sqlite> SELECT nidus_contains(filter, 42) FROM seen;
 *     sqlite> SELECT nidus_merge(filter) FROM seen;                 -- all days in one
 *     sqlite> SELECT nidus_info(filter) ->> 'bits_per_key' FROM seen;
 *
 *     nidus_build(key [, fpr [, seed]])   aggregate: a filter of all keys, as a blob
 *     nidus_merge(blob)                   aggregate: one filter of several
 *     nidus_contains(blob, key)           1, or 0; NULL if either is NULL
 *     nidus_count(blob)                   entries
 *     nidus_info(blob)                    what the filter is, as JSON
 *
 * Keys are INTEGER (64 bits), TEXT (its bytes as UTF-8) and BLOB. NULLs are passed
 * over. A REAL is an error: which 0.1 would be meant?
 *
 * A blob is a saved filter (docs/format.md): the nidus command and every binding
 * read it. All filters begin with the same few slots and grow, so any two with the
 * same rate and seed merge. The seed is the same for all unless one is given; give a
 * secret one where keys come from people who may wish for collisions.
 *
 * Blobs that nidus_contains gets are opened in place. Where SQLite says that the
 * argument stays the same for the whole statement, the filter is kept with it.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "nidus.h"

#define KEYS_AT_FIRST 256
#define KEYS_AT_MOST (UINT64_C(1) << 30)
#define DEFAULT_FPR 0.01
#define DEFAULT_SEED UINT64_C(0x6e69647573) /* "nidus" */

int sqlite3_nidussqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

/* ------------------------------------------------------------------- errors -- */

/* Reports a failure in the library's own words; true if there was none. */
static bool went_well(sqlite3_context *context, nidus_status status)
{
	if (status == NIDUS_OK)
		return true;
	if (status == NIDUS_E_NOMEM)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_error(context, nidus_reason(), -1);
	return false;
}

static bool refuse(sqlite3_context *context, const char *why)
{
	sqlite3_result_error(context, why, -1);
	return false;
}

/* --------------------------------------------------------------------- keys -- */

/* The hash of an SQL value that is not NULL. */
static bool hash_key(sqlite3_context *context, const nidus_filter *filter, sqlite3_value *key,
                     uint64_t *hash)
{
	const void *bytes;
	switch (sqlite3_value_type(key)) {
	case SQLITE_INTEGER:
		*hash = nidus_hash_u64(filter, (uint64_t)sqlite3_value_int64(key));
		return true;
	case SQLITE_TEXT:
		bytes = sqlite3_value_text(key);
		break;
	case SQLITE_BLOB:
		bytes = sqlite3_value_blob(key);
		break;
	default:
		return refuse(context, "nidus: a key is an INTEGER, a TEXT or a BLOB; "
		                       "cast a REAL to one of them");
	}
	size_t size = (size_t)sqlite3_value_bytes(key);
	if (bytes == NULL && size > 0) {
		sqlite3_result_error_nomem(context);
		return false;
	}
	*hash = nidus_hash(filter, bytes, size);
	return true;
}

/* ------------------------------------------------------------------- building -- */

/* What an aggregate holds; all zero at first. */
struct building {
	nidus_filter *filter;
	bool failed; /* an error was reported: the rest is passed over */
};

static bool read_rate(sqlite3_context *context, sqlite3_value *value, double *fpr)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return true;
	*fpr = sqlite3_value_double(value);
	if (*fpr > 0 && *fpr < 1)
		return true;
	return refuse(context, "nidus_build: the false-positive rate must be between 0 and 1, "
	                       "for example 0.01");
}

static bool read_seed(sqlite3_context *context, sqlite3_value *value, uint64_t *seed)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return true;
	if (sqlite3_value_type(value) != SQLITE_INTEGER || sqlite3_value_int64(value) == 0)
		return refuse(context, "nidus_build: the seed must be an INTEGER other than 0");
	*seed = (uint64_t)sqlite3_value_int64(value);
	return true;
}

static bool begin(sqlite3_context *context, int n, sqlite3_value **values, nidus_filter **filter)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = NIDUS_BUCKETED;
	options.capacity = KEYS_AT_FIRST;
	options.max_capacity = KEYS_AT_MOST;
	options.fpr = DEFAULT_FPR;
	options.seed = DEFAULT_SEED;
	if (n > 1 && !read_rate(context, values[1], &options.fpr))
		return false;
	if (n > 2 && !read_seed(context, values[2], &options.seed))
		return false;
	return went_well(context, nidus_create(&options, filter));
}

static bool insert_once(sqlite3_context *context, nidus_filter *filter, sqlite3_value *key)
{
	uint64_t hash;
	if (!hash_key(context, filter, key, &hash))
		return false;
	nidus_status status = nidus_insert_new_hash(filter, hash);
	return status == NIDUS_PRESENT || went_well(context, status);
}

static void build_step(sqlite3_context *context, int n, sqlite3_value **values)
{
	struct building *building = sqlite3_aggregate_context(context, sizeof *building);
	if (building == NULL) {
		sqlite3_result_error_nomem(context);
		return;
	}
	if (building->failed || sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	building->failed =
		(building->filter == NULL && !begin(context, n, values, &building->filter)) ||
		!insert_once(context, building->filter, values[0]);
}

/* The filter as the result, a blob. */
static void give_blob(sqlite3_context *context, const nidus_filter *filter)
{
	size_t size = nidus_saved_size(filter);
	void *bytes = sqlite3_malloc64(size);
	if (bytes == NULL)
		sqlite3_result_error_nomem(context);
	else if (went_well(context, nidus_save_buffer(filter, bytes, size, NULL)))
		sqlite3_result_blob64(context, bytes, size,
		                      sqlite3_free); /* says if it is too big */
	else
		sqlite3_free(bytes);
}

/* NULL if there was no key. */
static void build_final(sqlite3_context *context)
{
	struct building *building = sqlite3_aggregate_context(context, 0);
	if (building == NULL || building->filter == NULL)
		return;
	if (!building->failed)
		give_blob(context, building->filter);
	nidus_free(building->filter);
}

/* -------------------------------------------------------------------- merging -- */

#define WAITING_MOST 64

/*
 * One filter, and others that are yet to be merged with it. They wait until they are
 * worth a merge, so that a union of n filters takes O(log n) looks at each entry.
 */
struct merging {
	nidus_filter *filter;
	nidus_filter *waiting[WAITING_MOST];
	unsigned count;
	uint64_t entries; /* of those that wait */
	bool failed;
};

static void free_waiting(struct merging *merging)
{
	for (unsigned i = 0; i < merging->count; i++)
		nidus_free(merging->waiting[i]);
	merging->count = 0;
	merging->entries = 0;
}

/* Merges what waits; a key that is in several is in the result once. */
static nidus_status settle(struct merging *merging)
{
	const nidus_filter *parts[WAITING_MOST + 1] = { merging->filter };
	nidus_filter *merged;
	if (merging->count == 0)
		return NIDUS_OK;
	for (unsigned i = 0; i < merging->count; i++)
		parts[i + 1] = merging->waiting[i];
	nidus_status status =
		nidus_merge_many(parts, merging->count + 1, NIDUS_MERGE_UNIQUE, &merged);
	if (status != NIDUS_OK)
		return status;
	nidus_free(merging->filter);
	free_waiting(merging);
	merging->filter = merged;
	return NIDUS_OK;
}

static nidus_status take_in(struct merging *merging, nidus_filter *filter)
{
	if (merging->filter == NULL) {
		merging->filter = filter;
		return NIDUS_OK;
	}
	merging->waiting[merging->count++] = filter;
	merging->entries += nidus_size(filter);
	bool worth =
		merging->count == WAITING_MOST || merging->entries > nidus_size(merging->filter);
	return worth ? settle(merging) : NIDUS_OK;
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
	const void *bytes = sqlite3_value_blob(values[0]);
	nidus_status status = nidus_load_buffer(
		bytes != NULL ? bytes : "", (size_t)sqlite3_value_bytes(values[0]), NULL, &filter);
	if (status == NIDUS_OK)
		status = take_in(merging, filter);
	merging->failed = !went_well(context, status);
}

static void merge_final(sqlite3_context *context)
{
	struct merging *merging = sqlite3_aggregate_context(context, 0);
	if (merging == NULL || merging->filter == NULL)
		return;
	if (!merging->failed && went_well(context, settle(merging)))
		give_blob(context, merging->filter);
	nidus_free(merging->filter);
	free_waiting(merging);
}

/* -------------------------------------------------------------------- asking -- */

/*
 * What SQLite keeps for an argument that stays the same. The first call with it leaves
 * only a mark; a second call that finds the mark knows that keeping is worth a copy.
 */
struct kept {
	nidus_filter *filter; /* NULL: the mark */
	void *copy;
};

static void free_kept(void *memory)
{
	struct kept *kept = memory;
	nidus_free(kept->filter);
	sqlite3_free(kept->copy);
	sqlite3_free(kept);
}

static void leave_mark(sqlite3_context *context)
{
	struct kept *kept = sqlite3_malloc64(sizeof *kept);
	if (kept == NULL)
		return; /* the next call does without */
	*kept = (struct kept){ 0 };
	sqlite3_set_auxdata(context, 0, kept, free_kept);
}

static nidus_status open_blob(sqlite3_value *blob, nidus_filter **filter)
{
	const void *bytes = sqlite3_value_blob(blob);
	return nidus_open_buffer(bytes != NULL ? bytes : "", (size_t)sqlite3_value_bytes(blob), 0,
	                         filter);
}

/* Opens a copy that lasts as long as the statement. Without memory: not at all. */
static void keep(struct kept *kept, sqlite3_value *blob)
{
	size_t size = (size_t)sqlite3_value_bytes(blob);
	const void *bytes = sqlite3_value_blob(blob);
	kept->copy = bytes != NULL ? sqlite3_malloc64(size) : NULL;
	if (kept->copy == NULL)
		return;
	memcpy(kept->copy, bytes, size);
	if (nidus_open_buffer(kept->copy, size, 0, &kept->filter) == NIDUS_OK)
		return;
	sqlite3_free(kept->copy);
	kept->copy = NULL;
}

/* The filter of argument 0; *mine has to be freed after the call. */
static bool open_argument(sqlite3_context *context, sqlite3_value *blob, nidus_filter **filter,
                          nidus_filter **mine)
{
	struct kept *kept = sqlite3_get_auxdata(context, 0);
	*mine = NULL;
	if (kept != NULL && kept->filter == NULL)
		keep(kept, blob);
	if (kept != NULL && kept->filter != NULL) {
		*filter = kept->filter;
		return true;
	}
	if (!went_well(context, open_blob(blob, mine)))
		return false;
	*filter = *mine;
	return true;
}

static void contains(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	nidus_filter *filter, *mine;
	uint64_t hash;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL ||
	    sqlite3_value_type(values[1]) == SQLITE_NULL)
		return;
	if (!open_argument(context, values[0], &filter, &mine))
		return;
	if (hash_key(context, filter, values[1], &hash))
		sqlite3_result_int(context, nidus_contains_hash(filter, hash));
	nidus_free(mine);
	if (mine != NULL && sqlite3_get_auxdata(context, 0) == NULL)
		leave_mark(context);
}

static void count(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	nidus_filter *filter;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL ||
	    !went_well(context, open_blob(values[0], &filter)))
		return;
	sqlite3_result_int64(context, (sqlite3_int64)nidus_size(filter));
	nidus_free(filter);
}

static void describe(sqlite3_context *context, int n, sqlite3_value **values)
{
	(void)n;
	nidus_filter *filter;
	nidus_info info = NIDUS_INFO_INIT;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL ||
	    !went_well(context, open_blob(values[0], &filter)))
		return;
	(void)nidus_get_info(filter, &info); /* both arguments are right */
	nidus_free(filter);
	char *json = sqlite3_mprintf(
		"{\"family\":\"%s\",\"count\":%llu,\"capacity\":%llu,\"max_capacity\":%llu,"
		"\"bytes\":%llu,\"bits_per_key\":%.3f,\"load\":%.4f,\"fpr_target\":%.6g,"
		"\"fpr_now\":%.6g,\"seed\":\"%llu\"}",
		nidus_family_name(info.family), (unsigned long long)info.count,
		(unsigned long long)info.capacity, (unsigned long long)info.max_capacity,
		(unsigned long long)info.bytes, info.bits_per_key, info.load, info.fpr_target,
		info.fpr_now, (unsigned long long)info.seed);
	if (json == NULL)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text(context, json, -1, sqlite3_free);
}

/* ------------------------------------------------------------------ the extension -- */

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int sqlite3_nidussqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	SQLITE_EXTENSION_INIT2(api);
	(void)error;
	const int pure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int answer = SQLITE_OK;
	for (int n = 1; n <= 3 && answer == SQLITE_OK; n++)
		answer = sqlite3_create_function(db, "nidus_build", n, pure, NULL, NULL, build_step,
		                                 build_final);
	if (answer == SQLITE_OK)
		answer = sqlite3_create_function(db, "nidus_merge", 1, pure, NULL, NULL, merge_step,
		                                 merge_final);
	if (answer == SQLITE_OK)
		answer = sqlite3_create_function(db, "nidus_contains", 2, pure, NULL, contains,
		                                 NULL, NULL);
	if (answer == SQLITE_OK)
		answer = sqlite3_create_function(db, "nidus_count", 1, pure, NULL, count, NULL,
		                                 NULL);
	if (answer == SQLITE_OK)
		answer = sqlite3_create_function(db, "nidus_info", 1, pure, NULL, describe, NULL,
		                                 NULL);
	return answer;
}

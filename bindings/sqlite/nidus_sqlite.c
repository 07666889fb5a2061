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
 *     nidus_merge(blob, blob)             the same of two
 *     nidus_empty([fpr [, seed]])         a filter without keys
 *     nidus_contains(blob, key)           1, or 0; NULL if either is NULL
 *     nidus_add(blob, key)                a blob with the key
 *     nidus_remove(blob, key)             a blob without the key
 *     nidus_count(blob)                   entries
 *     nidus_pack(blob)                    the same filter, finished, in fewer bytes
 *     nidus_info(blob)                    what the filter is, as JSON
 *
 * The aggregates are in sqlite_aggregates.c, and are window functions, too.
 *
 * Keys are INTEGER (64 bits), TEXT (its bytes as UTF-8) and BLOB. A REAL that is a whole
 * number is that integer: JavaScript binds its numbers so. Any other REAL is an error: which
 * 0.1 would be meant? NULLs are passed over.
 *
 * A blob is a saved filter (docs/format.md): the nidus command and every binding
 * read it. All filters begin with the same few slots and grow, so any two with the
 * same rate and seed merge. The seed is the same for all unless one is given; give a
 * secret one where keys come from people who may wish for collisions.
 *
 * Blobs that nidus_contains gets are opened in place. Where SQLite says that the
 * argument stays the same for the whole statement, the filter is kept with it.
 */
#include "nidus_sqlite.h"
SQLITE_EXTENSION_INIT1

#include <math.h>
#include <string.h>

#define KEYS_AT_FIRST 256
#define KEYS_AT_MOST (UINT64_C(1) << 30)
#define DEFAULT_FPR 0.01
#define DEFAULT_SEED UINT64_C(0x6e69647573) /* "nidus" */

int sqlite3_nidussqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

/* ------------------------------------------------------------------- errors -- */

bool went_well(sqlite3_context *context, nidus_status status)
{
	if (status == NIDUS_OK)
		return true;
	if (status == NIDUS_E_NOMEM)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_error(context, nidus_reason(), -1);
	return false;
}

bool refuse(sqlite3_context *context, const char *why)
{
	sqlite3_result_error(context, why, -1);
	return false;
}

/* --------------------------------------------------------------------- keys -- */

/* A REAL that is a whole number of 64 bits. */
static bool is_whole(double number)
{
	return number >= -0x1p63 && number < 0x1p63 && number == floor(number);
}

bool hash_key(sqlite3_context *context, const nidus_filter *filter, sqlite3_value *key,
              uint64_t *hash)
{
	const void *bytes;
	switch (sqlite3_value_type(key)) {
	case SQLITE_INTEGER:
		*hash = nidus_hash_u64(filter, (uint64_t)sqlite3_value_int64(key));
		return true;
	case SQLITE_FLOAT:
		if (!is_whole(sqlite3_value_double(key)))
			return refuse(context,
			              "nidus: a REAL is a key if it is a whole number of 64 "
			              "bits; cast it to INTEGER or TEXT");
		*hash = nidus_hash_u64(filter, (uint64_t)(int64_t)sqlite3_value_double(key));
		return true;
	case SQLITE_TEXT:
		bytes = sqlite3_value_text(key);
		break;
	case SQLITE_BLOB:
		bytes = sqlite3_value_blob(key);
		break;
	default:
		return refuse(context, "nidus: a key is an INTEGER, a TEXT or a BLOB");
	}
	size_t size = (size_t)sqlite3_value_bytes(key);
	if (bytes == NULL && size > 0) {
		sqlite3_result_error_nomem(context);
		return false;
	}
	*hash = nidus_hash(filter, bytes, size);
	return true;
}

/* ------------------------------------------------------------------ new filters -- */

static bool read_rate(sqlite3_context *context, sqlite3_value *value, double *fpr)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return true;
	*fpr = sqlite3_value_double(value);
	if (*fpr > 0 && *fpr < 1)
		return true;
	return refuse(context, "nidus: the false-positive rate must be between 0 and 1, "
	                       "for example 0.01");
}

static bool read_seed(sqlite3_context *context, sqlite3_value *value, uint64_t *seed)
{
	if (sqlite3_value_type(value) == SQLITE_NULL)
		return true;
	if (sqlite3_value_type(value) != SQLITE_INTEGER || sqlite3_value_int64(value) == 0)
		return refuse(context, "nidus: the seed must be an INTEGER other than 0");
	*seed = (uint64_t)sqlite3_value_int64(value);
	return true;
}

bool read_options(sqlite3_context *context, int n, sqlite3_value **values, nidus_options *options)
{
	*options = (nidus_options)NIDUS_OPTIONS_INIT;
	options->family = NIDUS_BUCKETED;
	options->capacity = KEYS_AT_FIRST;
	options->max_capacity = KEYS_AT_MOST;
	options->fpr = DEFAULT_FPR;
	options->seed = DEFAULT_SEED;
	return (n < 1 || read_rate(context, values[0], &options->fpr)) &&
	       (n < 2 || read_seed(context, values[1], &options->seed));
}

/* ---------------------------------------------------------------------- blobs -- */

void give_blob(sqlite3_context *context, const nidus_filter *filter)
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

nidus_status load_blob(sqlite3_value *blob, nidus_filter **filter)
{
	const void *bytes = sqlite3_value_blob(blob);
	return nidus_load_buffer(bytes != NULL ? bytes : "", (size_t)sqlite3_value_bytes(blob),
	                         NULL, filter);
}

static void empty(sqlite3_context *context, int n, sqlite3_value **values)
{
	nidus_options options;
	nidus_filter *filter;
	if (!read_options(context, n, values, &options) ||
	    !went_well(context, nidus_create(&options, &filter)))
		return;
	give_blob(context, filter);
	nidus_free(filter);
}

static bool any_null(int n, sqlite3_value **values)
{
	for (int i = 0; i < n; i++)
		if (sqlite3_value_type(values[i]) == SQLITE_NULL)
			return true;
	return false;
}

/* A filter as it is after a change with one key: a blob of its own. */
static void changed(sqlite3_context *context, int n, sqlite3_value **values,
                    nidus_status (*change)(nidus_filter *, uint64_t), nidus_status harmless)
{
	nidus_filter *filter;
	uint64_t hash;
	if (any_null(n, values) || !went_well(context, load_blob(values[0], &filter)))
		return;
	if (hash_key(context, filter, values[1], &hash)) {
		nidus_status status = change(filter, hash);
		if (status == harmless || went_well(context, status))
			give_blob(context, filter);
	}
	nidus_free(filter);
}

static void add(sqlite3_context *context, int n, sqlite3_value **values)
{
	changed(context, n, values, nidus_insert_new_hash, NIDUS_PRESENT);
}

static void take_away(sqlite3_context *context, int n, sqlite3_value **values)
{
	changed(context, n, values, nidus_remove_hash, NIDUS_NOT_FOUND);
}

static void packed(sqlite3_context *context, int n, sqlite3_value **values)
{
	nidus_filter *filter;
	if (any_null(n, values) || !went_well(context, load_blob(values[0], &filter)))
		return;
	if (went_well(context, nidus_pack(filter)))
		give_blob(context, filter);
	nidus_free(filter);
}

static void merge_two(sqlite3_context *context, int n, sqlite3_value **values)
{
	nidus_filter *both[2] = { NULL, NULL }, *merged;
	if (any_null(n, values))
		return;
	if (went_well(context, load_blob(values[0], &both[0])) &&
	    went_well(context, load_blob(values[1], &both[1])) &&
	    went_well(context, nidus_merge_many((const nidus_filter *const *)both, 2,
	                                        NIDUS_MERGE_UNIQUE, &merged))) {
		give_blob(context, merged);
		nidus_free(merged);
	}
	nidus_free(both[0]);
	nidus_free(both[1]);
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
	nidus_filter *filter, *mine;
	uint64_t hash;
	if (any_null(n, values) || !open_argument(context, values[0], &filter, &mine))
		return;
	if (hash_key(context, filter, values[1], &hash))
		sqlite3_result_int(context, nidus_contains_hash(filter, hash));
	nidus_free(mine);
	if (mine != NULL && sqlite3_get_auxdata(context, 0) == NULL)
		leave_mark(context);
}

static void count(sqlite3_context *context, int n, sqlite3_value **values)
{
	nidus_filter *filter;
	if (any_null(n, values) || !went_well(context, open_blob(values[0], &filter)))
		return;
	sqlite3_result_int64(context, (sqlite3_int64)nidus_size(filter));
	nidus_free(filter);
}

static void describe(sqlite3_context *context, int n, sqlite3_value **values)
{
	nidus_filter *filter;
	nidus_info info = NIDUS_INFO_INIT;
	if (any_null(n, values) || !went_well(context, open_blob(values[0], &filter)))
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

static const struct {
	const char *name;
	int arguments;
	void (*function)(sqlite3_context *, int, sqlite3_value **);
} functions[] = {
	{ "nidus_empty", 0, empty },     { "nidus_empty", 1, empty },
	{ "nidus_empty", 2, empty },     { "nidus_contains", 2, contains },
	{ "nidus_add", 2, add },         { "nidus_remove", 2, take_away },
	{ "nidus_merge", 2, merge_two }, { "nidus_count", 1, count },
	{ "nidus_pack", 1, packed },     { "nidus_info", 1, describe },
};

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int sqlite3_nidussqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	SQLITE_EXTENSION_INIT2(api);
	const int pure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	if (sqlite3_libversion_number() < 3025000) {
		*error = sqlite3_mprintf("nidus needs SQLite 3.25 or later, for window functions");
		return SQLITE_ERROR;
	}
	int answer = register_aggregates(db, pure);
	for (size_t i = 0; i < sizeof functions / sizeof *functions && answer == SQLITE_OK; i++)
		answer = sqlite3_create_function(db, functions[i].name, functions[i].arguments,
		                                 pure, NULL, functions[i].function, NULL, NULL);
	return answer;
}

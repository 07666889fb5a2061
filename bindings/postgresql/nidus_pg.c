/* SPDX-License-Identifier: MIT
 *
 * nidus_pg: filters in PostgreSQL, as a type, aggregates and functions.
 *
 *     CREATE EXTENSION nidus;
 *     CREATE TABLE seen AS SELECT nidus_agg(id, 0.001) AS filter FROM visits;
 *     SELECT nidus_contains(filter, 42) FROM seen;        -- or: filter @> 42
 *     SELECT count(*) FROM orders
 *      WHERE (SELECT filter FROM seen) @> customer;       -- asks before it joins
 *     SELECT nidus_union_agg(filter) FROM seen_by_day;    -- filters of one database unite
 *
 * A value of type nidus is a saved filter (docs/format.md) inside a varlena:
 *
 *     | varlena header, 4 bytes | filter header, 256 | table | stash |
 *
 * Whatever enters from outside (text, binary, a cast from bytea) is loaded and
 * checked whole, checksums and every entry. What lies in a table was checked then;
 * lookups open it in place, and stay inside it even if the disk changed its bits.
 *
 * All filters of a database start with the same few slots and the same seed and
 * grow from there. So any two with the same rate can unite, on any machine that
 * has the same nidus.seed; that is also how parallel plans combine theirs.
 *
 * Memory comes from the server's contexts and goes with them. Not here: the SQL
 * declarations (nidus--0.2.0.sql).
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/uuid.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "nidus.h"

PG_MODULE_MAGIC;

void _PG_init(void);

/* Every filter begins with room for so many keys, and may grow to so many. */
#define KEYS_AT_FIRST 256
#define KEYS_AT_MOST (UINT64_C(1) << 30)
#define DEFAULT_FPR 0.01

/* The first bytes of a saved filter: its header, with checksums of all the rest. */
#define HEADER 256

static char *seed_text; /* nidus.seed */

/* ------------------------------------------------------------------- errors -- */

static int sqlstate_of(nidus_status status)
{
	switch (status) {
	case NIDUS_E_NOMEM:
		return ERRCODE_OUT_OF_MEMORY;
	case NIDUS_FULL:
	case NIDUS_COPIES:
		return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
	case NIDUS_E_FORMAT:
	case NIDUS_E_VERSION:
	case NIDUS_E_TRUNCATED:
	case NIDUS_E_CORRUPT:
		return ERRCODE_INVALID_BINARY_REPRESENTATION;
	case NIDUS_E_ARG:
	case NIDUS_E_RANGE:
	case NIDUS_E_MISMATCH:
		return ERRCODE_INVALID_PARAMETER_VALUE;
	default:
		return ERRCODE_INTERNAL_ERROR;
	}
}

/* Ends the query with the library's own words, unless all is well. */
static void check(nidus_status status)
{
	if (status != NIDUS_OK)
		ereport(ERROR, errcode(sqlstate_of(status)), errmsg("nidus: %s", nidus_reason()));
}

/* ------------------------------------------------------------------- memory -- */

static void *context_alloc(void *context, size_t size)
{
	return MemoryContextAllocExtended(context, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void *context_alloc_zeroed(void *context, size_t size)
{
	return MemoryContextAllocExtended(context, size,
	                                  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
}

static void context_free(void *context, void *memory, size_t size)
{
	(void)context;
	(void)size;
	pfree(memory);
}

static nidus_allocator allocator_in(MemoryContext context)
{
	return (nidus_allocator){ .alloc = context_alloc,
		                  .free = context_free,
		                  .alloc_zeroed = context_alloc_zeroed,
		                  .context = context };
}

/* ---------------------------------------------------------- settings and seed -- */

static bool parse_seed(const char *text, uint64_t *seed)
{
	char *end;
	errno = 0;
	*seed = strtoull(text, &end, 10);
	/* strtoull takes blanks and a sign, too, and makes a large number of " -1". */
	return errno == 0 && *end == '\0' && text[0] >= '0' && text[0] <= '9';
}

static bool check_seed(char **text, void **extra, GucSource source)
{
	uint64_t seed;
	(void)extra;
	(void)source;
	if (parse_seed(*text, &seed))
		return true;
	GUC_check_errdetail("A seed is a whole number from 0 to 18446744073709551615.");
	return false;
}

/* The setting, or a number that is this database's own. Never 0, which means random. */
static uint64_t database_seed(void)
{
	uint64_t seed;
	if (!parse_seed(seed_text, &seed) || seed == 0) {
		uint64_t system = GetSystemIdentifier();
		seed = hash_bytes_extended((unsigned char *)&system, sizeof system, MyDatabaseId);
	}
	return seed != 0 ? seed : 1;
}

void _PG_init(void)
{
	DefineCustomStringVariable(
		"nidus.seed",
		"Seed of new filters; filters unite only with others of the same seed.",
		"0 takes one that belongs to this database. Set the same number in several "
		"databases to unite their filters.",
		&seed_text, "0", PGC_SUSET, 0, check_seed, NULL, NULL);
#if PG_VERSION_NUM >= 150000
	MarkGUCPrefixReserved("nidus");
#endif
}

static nidus_filter *new_filter(double fpr, MemoryContext context)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	nidus_filter *filter;
	if (!(fpr > 0 && fpr < 1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("nidus: the false-positive rate must be between 0 and 1"),
		        errhint("For example 0.01: one stranger of a hundred passes."));
	options.family = NIDUS_BUCKETED;
	options.capacity = KEYS_AT_FIRST;
	options.max_capacity = KEYS_AT_MOST;
	options.fpr = fpr;
	options.seed = database_seed();
	options.allocator = allocator_in(context);
	check(nidus_create(&options, &filter));
	return filter;
}

/* --------------------------------------------------------- values and filters -- */

/* A saved filter as a value, in the current context. */
static bytea *to_value(const nidus_filter *filter)
{
	size_t size = nidus_saved_size(filter);
	bytea *value;
	if (size > MaxAllocSize - VARHDRSZ)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		        errmsg("nidus: a filter of %zu bytes is larger than a value may be", size),
		        errdetail("PostgreSQL's values end at 1 GB."),
		        errhint("Give a higher rate, or make several filters, each of a part of "
		                "the keys."));
	value = palloc(VARHDRSZ + size);
	check(nidus_save_buffer(filter, VARDATA(value), size, NULL));
	SET_VARSIZE(value, VARHDRSZ + size);
	return value;
}

/* Loads and checks bytes from anywhere. */
static nidus_filter *from_bytes(const void *bytes, size_t size, MemoryContext context)
{
	nidus_allocator allocator = allocator_in(context);
	nidus_filter *filter;
	check(nidus_load_buffer(bytes, size, &allocator, &filter));
	return filter;
}

static nidus_filter *from_value(const struct varlena *value, MemoryContext context)
{
	return from_bytes(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), context);
}

/* Bytes that claim to be a filter: checked whole, and returned as they were. */
static struct varlena *checked(struct varlena *value)
{
	nidus_free(from_value(value, CurrentMemoryContext));
	return value;
}

PG_FUNCTION_INFO_V1(nidus_in);
Datum nidus_in(PG_FUNCTION_ARGS)
{
	Datum value = DirectFunctionCall1(byteain, PG_GETARG_DATUM(0));
	PG_RETURN_POINTER(checked((struct varlena *)DatumGetPointer(value)));
}

PG_FUNCTION_INFO_V1(nidus_out);
Datum nidus_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(DirectFunctionCall1(byteaout, PG_GETARG_DATUM(0)));
}

PG_FUNCTION_INFO_V1(nidus_recv);
Datum nidus_recv(PG_FUNCTION_ARGS)
{
	Datum value = DirectFunctionCall1(bytearecv, PG_GETARG_DATUM(0));
	PG_RETURN_POINTER(checked((struct varlena *)DatumGetPointer(value)));
}

PG_FUNCTION_INFO_V1(nidus_send);
Datum nidus_send(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(DirectFunctionCall1(byteasend, PG_GETARG_DATUM(0)));
}

PG_FUNCTION_INFO_V1(nidus_from_bytea);
Datum nidus_from_bytea(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(checked(PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0))));
}

/* ----------------------------------------------------------------------- keys -- */

enum key_type { KEY_BIGINT, KEY_BYTES, KEY_UUID };

/*
 * The hash of a key. Integers, strings of bytes and UUIDs are key spaces of the
 * library: u64, bytes, and 16 bytes. Texts are bytes in the database's encoding.
 */
static uint64_t hash_key(const nidus_filter *filter, Datum key, enum key_type type)
{
	const struct varlena *bytes;
	uint64_t hash;
	if (type == KEY_BIGINT)
		return nidus_hash_u64(filter, (uint64_t)DatumGetInt64(key));
	if (type == KEY_UUID)
		return nidus_hash(filter, DatumGetUUIDP(key)->data, UUID_LEN);
	bytes = PG_DETOAST_DATUM_PACKED(key);
	hash = nidus_hash(filter, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	if (DatumGetPointer(key) != (Pointer)bytes)
		pfree((void *)bytes);
	return hash;
}

static void insert_once(nidus_filter *filter, uint64_t hash)
{
	nidus_status status = nidus_insert_new_hash(filter, hash);
	if (status != NIDUS_PRESENT)
		check(status);
}

/* ------------------------------------------------- the filter of a running query -- */

/*
 * What nidus_contains keeps between calls: its own copy of the value it saw last,
 * opened. The next value is the same one if its pointer into the toast table is, or
 * if its header is: that has checksums of the rest.
 */
struct kept {
	nidus_filter *filter;
	struct varlena *copy;
	struct varatt_external toast; /* all zero unless the value came from there */
	MemoryContextCallback callback;
};

static void free_kept(void *argument)
{
	struct kept *kept = argument;
	nidus_free(kept->filter);
	kept->filter = NULL;
}

static struct kept *kept_of(FmgrInfo *function)
{
	struct kept *kept = function->fn_extra;
	if (kept == NULL) {
		kept = MemoryContextAllocZero(function->fn_mcxt, sizeof *kept);
		kept->callback.func = free_kept;
		kept->callback.arg = kept;
		MemoryContextRegisterResetCallback(function->fn_mcxt, &kept->callback);
		function->fn_extra = kept;
	}
	return kept;
}

static struct varatt_external toast_pointer_of(struct varlena *value)
{
	struct varatt_external toast;
	memset(&toast, 0, sizeof toast);
	if (VARATT_IS_EXTERNAL_ONDISK(value))
		VARATT_EXTERNAL_GET_POINTER(toast, value);
	return toast;
}

static bool same_toast(const struct varatt_external *a, const struct varatt_external *b)
{
	return a->va_valueid != InvalidOid && a->va_valueid == b->va_valueid &&
	       a->va_toastrelid == b->va_toastrelid;
}

static bool same_header(const struct varlena *a, const struct varlena *b)
{
	return a != NULL && VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
	       VARSIZE_ANY_EXHDR(a) >= HEADER &&
	       memcmp(VARDATA_ANY(a), VARDATA_ANY(b), HEADER) == 0;
}

static void drop_kept(struct kept *kept)
{
	free_kept(kept);
	if (kept->copy != NULL)
		pfree(kept->copy);
	kept->copy = NULL;
	memset(&kept->toast, 0, sizeof kept->toast);
}

/* Copies a value into the memory of the query and opens it there. */
static void keep(struct kept *kept, MemoryContext context, const struct varlena *plain)
{
	drop_kept(kept);
	kept->copy = MemoryContextAllocExtended(context, VARSIZE_ANY(plain), MCXT_ALLOC_HUGE);
	memcpy(kept->copy, plain, VARSIZE_ANY(plain));
	check(nidus_open_buffer(VARDATA_ANY(kept->copy), VARSIZE_ANY_EXHDR(kept->copy), 0,
	                        &kept->filter));
}

/* The filter of a value, opened; it stays the function's. */
static const nidus_filter *open_value(FmgrInfo *function, Datum datum)
{
	struct kept *kept = kept_of(function);
	struct varlena *value = (struct varlena *)DatumGetPointer(datum), *plain;
	struct varatt_external toast = toast_pointer_of(value);
	if (kept->filter != NULL && same_toast(&kept->toast, &toast))
		return kept->filter;
	plain = pg_detoast_datum_packed(value);
	if (kept->filter == NULL || !same_header(kept->copy, plain))
		keep(kept, function->fn_mcxt, plain);
	kept->toast = toast;
	if (plain != value)
		pfree(plain);
	return kept->filter;
}

/* ------------------------------------------------------------ one filter, one key -- */

static Datum contains(FmgrInfo *function, Datum value, Datum key, enum key_type type)
{
	const nidus_filter *filter = open_value(function, value);
	return BoolGetDatum(nidus_contains_hash(filter, hash_key(filter, key, type)));
}

static Datum add(Datum value, Datum key, enum key_type type)
{
	nidus_filter *filter = from_value(PG_DETOAST_DATUM_PACKED(value), CurrentMemoryContext);
	insert_once(filter, hash_key(filter, key, type));
	return PointerGetDatum(to_value(filter));
}

static Datum take_out(Datum value, Datum key, enum key_type type)
{
	nidus_filter *filter = from_value(PG_DETOAST_DATUM_PACKED(value), CurrentMemoryContext);
	nidus_status status = nidus_remove_hash(filter, hash_key(filter, key, type));
	if (status != NIDUS_NOT_FOUND)
		check(status);
	return PointerGetDatum(to_value(filter));
}

/* The SQL functions of one type of key; texts and byteas share theirs. */
#define KEY_FUNCTIONS(name, type)                                                              \
	PG_FUNCTION_INFO_V1(nidus_contains_##name);                                            \
	Datum nidus_contains_##name(PG_FUNCTION_ARGS)                                          \
	{                                                                                      \
		return contains(fcinfo->flinfo, PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), type); \
	}                                                                                      \
	PG_FUNCTION_INFO_V1(nidus_in_filter_##name);                                           \
	Datum nidus_in_filter_##name(PG_FUNCTION_ARGS)                                         \
	{                                                                                      \
		return contains(fcinfo->flinfo, PG_GETARG_DATUM(1), PG_GETARG_DATUM(0), type); \
	}                                                                                      \
	PG_FUNCTION_INFO_V1(nidus_add_##name);                                                 \
	Datum nidus_add_##name(PG_FUNCTION_ARGS)                                               \
	{                                                                                      \
		return add(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), type);                      \
	}                                                                                      \
	PG_FUNCTION_INFO_V1(nidus_remove_##name);                                              \
	Datum nidus_remove_##name(PG_FUNCTION_ARGS)                                            \
	{                                                                                      \
		return take_out(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), type);                 \
	}                                                                                      \
	PG_FUNCTION_INFO_V1(nidus_agg_##name);                                                 \
	Datum nidus_agg_##name(PG_FUNCTION_ARGS)                                               \
	{                                                                                      \
		return aggregate(fcinfo, type);                                                \
	}

/* ------------------------------------------------------------------- aggregates -- */

#define WAITING_MOST 64

/*
 * The state of both aggregates: one filter, and others that are yet to be merged with
 * it. They wait until they are worth a merge, so that a union of n filters takes
 * O(log n) looks at each entry and not n.
 */
struct state {
	MemoryContext context;
	nidus_filter *filter; /* NULL before the first key */
	nidus_filter *waiting[WAITING_MOST];
	int waiting_count;
	uint64_t waiting_entries;
};

static struct state *new_state(MemoryContext context)
{
	struct state *state = MemoryContextAllocZero(context, sizeof *state);
	state->context = context;
	return state;
}

static MemoryContext aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;
	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "nidus: this function is only for aggregates");
	return context;
}

/* The state that is argument 0, or a fresh one. */
static struct state *state_of(FunctionCallInfo fcinfo)
{
	MemoryContext context = aggregate_context(fcinfo);
	return PG_ARGISNULL(0) ? new_state(context) : (struct state *)PG_GETARG_POINTER(0);
}

/* Merges what waits, each identity once: a key may have been in several. */
static void settle(struct state *state)
{
	const nidus_filter *parts[WAITING_MOST + 1];
	nidus_filter *merged;
	size_t n = 0;
	if (state->waiting_count == 0)
		return;
	if (state->filter != NULL)
		parts[n++] = state->filter;
	for (int i = 0; i < state->waiting_count; i++)
		parts[n++] = state->waiting[i];
	check(nidus_merge_many(parts, n, NIDUS_MERGE_UNIQUE, &merged));
	nidus_free(state->filter);
	for (int i = 0; i < state->waiting_count; i++)
		nidus_free(state->waiting[i]);
	state->filter = merged;
	state->waiting_count = 0;
	state->waiting_entries = 0;
}

/* Takes a filter over, which lies in the state's memory. */
static void add_filter(struct state *state, nidus_filter *filter)
{
	if (state->filter == NULL) {
		state->filter = filter;
		return;
	}
	state->waiting[state->waiting_count++] = filter;
	state->waiting_entries += nidus_size(filter);
	if (state->waiting_count == WAITING_MOST ||
	    state->waiting_entries > nidus_size(state->filter))
		settle(state);
}

/* One more key: (state, key [, rate]). NULL keys are passed over. */
static Datum aggregate(FunctionCallInfo fcinfo, enum key_type type)
{
	struct state *state = state_of(fcinfo);
	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);
	if (state->filter == NULL) {
		bool given = PG_NARGS() > 2 && !PG_ARGISNULL(2);
		state->filter =
			new_filter(given ? PG_GETARG_FLOAT8(2) : DEFAULT_FPR, state->context);
	}
	insert_once(state->filter, hash_key(state->filter, PG_GETARG_DATUM(1), type));
	PG_RETURN_POINTER(state);
}

KEY_FUNCTIONS(bigint, KEY_BIGINT)
KEY_FUNCTIONS(bytes, KEY_BYTES)
KEY_FUNCTIONS(uuid, KEY_UUID)

PG_FUNCTION_INFO_V1(nidus_union_step);
Datum nidus_union_step(PG_FUNCTION_ARGS)
{
	struct state *state = state_of(fcinfo);
	if (!PG_ARGISNULL(1))
		add_filter(state, from_value(PG_GETARG_BYTEA_PP(1), state->context));
	PG_RETURN_POINTER(state);
}

/* Takes the second state into the first; the second's memory may end before ours. */
PG_FUNCTION_INFO_V1(nidus_agg_combine);
Datum nidus_agg_combine(PG_FUNCTION_ARGS)
{
	struct state *state = state_of(fcinfo), *other;
	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);
	other = (struct state *)PG_GETARG_POINTER(1);
	settle(other);
	if (other->filter != NULL) {
		bytea *bytes = to_value(other->filter);
		add_filter(state, from_value(bytes, state->context));
		pfree(bytes);
	}
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(nidus_agg_serialize);
Datum nidus_agg_serialize(PG_FUNCTION_ARGS)
{
	struct state *state = (struct state *)PG_GETARG_POINTER(0);
	(void)aggregate_context(fcinfo);
	settle(state);
	if (state->filter != NULL)
		PG_RETURN_BYTEA_P(to_value(state->filter));
	PG_RETURN_BYTEA_P(cstring_to_text("")); /* no key was seen */
}

PG_FUNCTION_INFO_V1(nidus_agg_deserialize);
Datum nidus_agg_deserialize(PG_FUNCTION_ARGS)
{
	struct state *state = new_state(aggregate_context(fcinfo));
	const bytea *bytes = PG_GETARG_BYTEA_PP(0);
	/* What a worker of this very query wrote. It is checked all the same. */
	if (VARSIZE_ANY_EXHDR(bytes) > 0)
		state->filter = from_value(bytes, state->context);
	PG_RETURN_POINTER(state);
}

/* NULL if there was no key: there is no rate to make an empty filter of. */
PG_FUNCTION_INFO_V1(nidus_agg_final);
Datum nidus_agg_final(PG_FUNCTION_ARGS)
{
	struct state *state;
	(void)aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (struct state *)PG_GETARG_POINTER(0);
	settle(state);
	if (state->filter == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(to_value(state->filter));
}

/* -------------------------------------------------------------- whole filters -- */

PG_FUNCTION_INFO_V1(nidus_make);
Datum nidus_make(PG_FUNCTION_ARGS)
{
	nidus_filter *filter = new_filter(PG_GETARG_FLOAT8(0), CurrentMemoryContext);
	PG_RETURN_BYTEA_P(to_value(filter));
}

PG_FUNCTION_INFO_V1(nidus_union);
Datum nidus_union(PG_FUNCTION_ARGS)
{
	struct state *state = new_state(CurrentMemoryContext);
	state->filter = from_value(PG_GETARG_BYTEA_PP(0), CurrentMemoryContext);
	state->waiting[state->waiting_count++] =
		from_value(PG_GETARG_BYTEA_PP(1), CurrentMemoryContext);
	settle(state);
	PG_RETURN_BYTEA_P(to_value(state->filter));
}

PG_FUNCTION_INFO_V1(nidus_count);
Datum nidus_count(PG_FUNCTION_ARGS)
{
	const nidus_filter *filter = open_value(fcinfo->flinfo, PG_GETARG_DATUM(0));
	PG_RETURN_INT64((int64)nidus_size(filter));
}

PG_FUNCTION_INFO_V1(nidus_describe);
Datum nidus_describe(PG_FUNCTION_ARGS)
{
	const nidus_filter *filter = open_value(fcinfo->flinfo, PG_GETARG_DATUM(0));
	nidus_info info = NIDUS_INFO_INIT;
	StringInfoData json;
	check(nidus_get_info(filter, &info));
	initStringInfo(&json);
	appendStringInfo(&json,
	                 "{\"family\": \"%s\", \"count\": " UINT64_FORMAT
	                 ", \"capacity\": " UINT64_FORMAT ", \"max_capacity\": " UINT64_FORMAT
	                 ", \"bytes\": " UINT64_FORMAT
	                 ", \"bits_per_key\": %.3f, \"load\": %.4f, \"fpr_target\": %.6g"
	                 ", \"fpr_now\": %.6g, \"seed\": \"" UINT64_FORMAT "\"}",
	                 nidus_family_name(info.family), info.count, info.capacity,
	                 info.max_capacity, info.bytes, info.bits_per_key, info.load,
	                 info.fpr_target, info.fpr_now, info.seed);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(json.data, json.len));
}

/* SPDX-License-Identifier: MIT
 *
 * nidus_pg: filters in PostgreSQL, as a type, aggregates and functions.
 *
 *     CREATE EXTENSION nidus;
 *     CREATE TABLE seen AS SELECT nidus_agg(id, 0.001) AS filter FROM visits;
 *     SELECT nidus_contains(filter, 42) FROM seen;        -- or: filter @> 42
 *     SELECT count(*) FROM orders
 *      WHERE (SELECT filter FROM seen) @> customer;       -- asks before it joins
 *     SELECT nidus_union_agg(filter) FROM seen_by_day;    -- filters of one rate unite
 *
 * Here are the functions for one filter: lookups, changes, comparison and information.
 * Values, text and settings are in pg_values.c, keys in pg_keys.c, what a query keeps in
 * pg_kept.c, aggregates and unions in pg_aggregates.c, what the planner asks in
 * pg_estimates.c, and the SQL declarations in nidus--0.2.0.sql.
 *
 * Memory comes from the server's contexts and goes with them.
 */
#include "nidus_pg.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* ------------------------------------------------------------ one filter, one key -- */

static Datum contains(FunctionCallInfo fcinfo, int value, int key)
{
	struct kept *kept = kept_of(fcinfo->flinfo);
	struct key_reader *reader = kept_reader(kept);
	struct typed_filter typed;
	prepare_reader(reader, fcinfo, key, fcinfo->flinfo->fn_mcxt);
	typed = open_value(kept, PG_GETARG_DATUM(value));
	PG_RETURN_BOOL(nidus_contains_hash(typed.filter, hash_key(reader, typed.filter, typed.kind,
	                                                          PG_GETARG_DATUM(key))));
}

PG_FUNCTION_INFO_V1(nidus_contains_key);
Datum nidus_contains_key(PG_FUNCTION_ARGS)
{
	return contains(fcinfo, 0, 1);
}

PG_FUNCTION_INFO_V1(nidus_key_in);
Datum nidus_key_in(PG_FUNCTION_ARGS)
{
	return contains(fcinfo, 1, 0);
}

/* The filter of argument 0, and the hash of the key that is argument 1. */
static struct typed_filter filter_and_hash(FunctionCallInfo fcinfo, uint64_t *hash)
{
	struct typed_filter typed = from_value(PG_GETARG_BYTEA_PP(0), CurrentMemoryContext);
	struct key_reader reader = { 0 };
	prepare_reader(&reader, fcinfo, 1, CurrentMemoryContext);
	*hash = hash_key(&reader, typed.filter, typed.kind, PG_GETARG_DATUM(1));
	if (typed.kind == KIND_ANY)
		typed.kind = reader.kind;
	return typed;
}

PG_FUNCTION_INFO_V1(nidus_add_key);
Datum nidus_add_key(PG_FUNCTION_ARGS)
{
	uint64_t hash;
	struct typed_filter typed = filter_and_hash(fcinfo, &hash);
	nidus_status status = nidus_insert_new_hash(typed.filter, hash);
	if (status != NIDUS_PRESENT)
		check(status);
	PG_RETURN_BYTEA_P(to_value(typed));
}

PG_FUNCTION_INFO_V1(nidus_remove_key);
Datum nidus_remove_key(PG_FUNCTION_ARGS)
{
	uint64_t hash;
	struct typed_filter typed = filter_and_hash(fcinfo, &hash);
	nidus_status status = nidus_remove_hash(typed.filter, hash);
	if (status != NIDUS_NOT_FOUND)
		check(status);
	PG_RETURN_BYTEA_P(to_value(typed));
}

/* -------------------------------------------------------------- whole filters -- */

/* (rate, type of keys or NULL, capacity or NULL) */
PG_FUNCTION_INFO_V1(nidus_empty_filter);
Datum nidus_empty_filter(PG_FUNCTION_ARGS)
{
	struct typed_filter typed = { NULL, KIND_ANY };
	if (!PG_ARGISNULL(1))
		typed.kind = kind_of_type(PG_GETARG_OID(1));
	typed.filter = new_filter(PG_ARGISNULL(0) ? DEFAULT_FPR : PG_GETARG_FLOAT8(0),
	                          capacity_argument(fcinfo, 2), CurrentMemoryContext);
	PG_RETURN_BYTEA_P(to_value(typed));
}

PG_FUNCTION_INFO_V1(nidus_count);
Datum nidus_count(PG_FUNCTION_ARGS)
{
	struct typed_filter typed = open_plain(PG_GETARG_BYTEA_PP(0));
	int64 count = (int64)nidus_size(typed.filter);
	nidus_free(typed.filter);
	PG_RETURN_INT64(count);
}

PG_FUNCTION_INFO_V1(nidus_packed);
Datum nidus_packed(PG_FUNCTION_ARGS)
{
	struct typed_filter typed = from_value(PG_GETARG_BYTEA_PP(0), CurrentMemoryContext);
	check(nidus_pack(typed.filter));
	PG_RETURN_BYTEA_P(to_value(typed));
}

PG_FUNCTION_INFO_V1(nidus_describe);
Datum nidus_describe(PG_FUNCTION_ARGS)
{
	struct typed_filter typed = open_plain(PG_GETARG_BYTEA_PP(0));
	nidus_info info = NIDUS_INFO_INIT;
	StringInfoData json;
	(void)nidus_get_info(typed.filter, &info); /* both arguments are right */
	nidus_free(typed.filter);
	initStringInfo(&json);
	appendStringInfo(&json,
	                 "{\"keys\": \"%s\", \"family\": \"%s\", \"count\": " UINT64_FORMAT
	                 ", \"capacity\": " UINT64_FORMAT ", \"max_capacity\": " UINT64_FORMAT
	                 ", \"bytes\": " UINT64_FORMAT
	                 ", \"bits_per_key\": %.3f, \"load\": %.4f, \"fpr_target\": %.6g"
	                 ", \"fpr_now\": %.6g, \"seed\": \"" UINT64_FORMAT "\"}",
	                 kind_name(typed.kind), nidus_family_name(info.family), info.count,
	                 info.capacity, info.max_capacity, info.bytes, info.bits_per_key, info.load,
	                 info.fpr_target, info.fpr_now, info.seed);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(json.data, json.len));
}

/* --------------------------------------------------------------------- equality -- */

/*
 * Filters are equal if they hold the same entries of keys of one type (nidus_same): a | b is
 * b | a, in whatever order the entries lie and however far each has grown.
 */
static bool same_content(const struct varlena *a, const struct varlena *b)
{
	struct typed_filter of_a, of_b;
	bool same;
	if (VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
	    memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0)
		return true;
	if (parts_of(a).kind != parts_of(b).kind)
		return false;
	of_a = open_plain(a);
	of_b = open_plain(b);
	same = nidus_same(of_a.filter, of_b.filter);
	nidus_free(of_a.filter);
	nidus_free(of_b.filter);
	return same;
}

PG_FUNCTION_INFO_V1(nidus_eq);
Datum nidus_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(same_content(PG_GETARG_BYTEA_PP(0), PG_GETARG_BYTEA_PP(1)));
}

PG_FUNCTION_INFO_V1(nidus_ne);
Datum nidus_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!same_content(PG_GETARG_BYTEA_PP(0), PG_GETARG_BYTEA_PP(1)));
}

/*
 * A number that is the same for the same entries in any order; 0 for what has none to show. The
 * server wants the extended hash with seed 0 to end like the plain one.
 */
static uint64 digest_of(const struct varlena *value)
{
	struct typed_filter typed = open_plain(value);
	nidus_cursor cursor = { { 0 } };
	nidus_entry entry;
	uint64 digest = 0;
	while (nidus_next(typed.filter, &cursor, &entry))
		digest += hash_bytes_extended((unsigned char *)&entry, sizeof entry, 0);
	nidus_free(typed.filter);
	return digest;
}

PG_FUNCTION_INFO_V1(nidus_hash_value);
Datum nidus_hash_value(PG_FUNCTION_ARGS)
{
	PG_RETURN_UINT32((uint32)digest_of(PG_GETARG_BYTEA_PP(0)));
}

PG_FUNCTION_INFO_V1(nidus_hash_value_extended);
Datum nidus_hash_value_extended(PG_FUNCTION_ARGS)
{
	uint64 digest = digest_of(PG_GETARG_BYTEA_PP(0)), seed = (uint64)PG_GETARG_INT64(1);
	PG_RETURN_UINT64(seed != 0 ? hash_combine64(digest, seed) : digest);
}

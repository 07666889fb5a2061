/* SPDX-License-Identifier: MIT
 *
 * The aggregates of the PostgreSQL extension: a filter of keys, and one of filters.
 *
 * All filters with the same rate (and capacity, if one was given) have the same first size
 * and seed, so any two unite; that is also how parallel plans combine theirs.
 */
#include "nidus_pg.h"

#include "utils/builtins.h"
#include "utils/memutils.h"

#define WAITING_MOST 64

/*
 * The state of both aggregates: one filter, and others that are yet to be merged with
 * it. They wait until they are worth a merge, so that a union of n filters takes
 * O(log n) looks at each entry and not n.
 */
struct state {
	MemoryContext context;
	struct typed_filter typed; /* filter: NULL before the first key */
	struct key_reader reader;
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

/* ------------------------------------------------------------------- filters -- */

/* check, with what to do about filters that do not fit together. */
static void check_merge(nidus_status status)
{
	if (status == NIDUS_E_MISMATCH)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		        errmsg("nidus: %s", nidus_reason()),
		        errhint("Filters unite if they were made with the same rate, the same capacity "
		                "(or none) and the same nidus.seed; nidus_info shows them."));
	check(status);
}

/* Merges what waits, each identity once: a key may have been in several. */
static void settle(struct state *state)
{
	const nidus_filter *parts[WAITING_MOST + 1];
	nidus_filter *merged;
	size_t n = 0;
	if (state->waiting_count == 0)
		return;
	if (state->typed.filter != NULL)
		parts[n++] = state->typed.filter;
	for (int i = 0; i < state->waiting_count; i++)
		parts[n++] = state->waiting[i];
	check_merge(nidus_merge_many(parts, n, NIDUS_MERGE_UNIQUE, &merged));
	nidus_free(state->typed.filter);
	for (int i = 0; i < state->waiting_count; i++)
		nidus_free(state->waiting[i]);
	state->typed.filter = merged;
	state->waiting_count = 0;
	state->waiting_entries = 0;
}

/* The state's filter as a value. */
static bytea *finished(struct state *state)
{
	settle(state);
	return to_value(state->typed);
}

/* Takes a filter over, which lies in the state's memory. */
static void add_filter(struct state *state, struct typed_filter typed)
{
	if (state->typed.filter == NULL) {
		state->typed = typed;
		return;
	}
	state->typed.kind = common_kind(state->typed.kind, typed.kind);
	state->waiting[state->waiting_count++] = typed.filter;
	state->waiting_entries += nidus_size(typed.filter);
	if (state->waiting_count == WAITING_MOST ||
	    state->waiting_entries > nidus_size(state->typed.filter))
		settle(state);
}

PG_FUNCTION_INFO_V1(nidus_union_step);
Datum nidus_union_step(PG_FUNCTION_ARGS)
{
	struct state *state = state_of(fcinfo);
	if (!PG_ARGISNULL(1))
		add_filter(state, from_value(PG_GETARG_BYTEA_PP(1), state->context));
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(nidus_union);
Datum nidus_union(PG_FUNCTION_ARGS)
{
	struct state *state = new_state(CurrentMemoryContext);
	add_filter(state, from_value(PG_GETARG_BYTEA_PP(0), CurrentMemoryContext));
	add_filter(state, from_value(PG_GETARG_BYTEA_PP(1), CurrentMemoryContext));
	PG_RETURN_BYTEA_P(finished(state));
}

/* ---------------------------------------------------------------------- keys -- */

static void begin(struct state *state, FunctionCallInfo fcinfo)
{
	bool given = PG_NARGS() > 2 && !PG_ARGISNULL(2);
	state->typed.filter = new_filter(given ? PG_GETARG_FLOAT8(2) : DEFAULT_FPR,
	                                 capacity_argument(fcinfo, 3), state->context);
	state->typed.kind = state->reader.kind;
}

/* One more key: (state, key [, rate [, capacity]]). NULL keys are passed over. */
PG_FUNCTION_INFO_V1(nidus_agg_step);
Datum nidus_agg_step(PG_FUNCTION_ARGS)
{
	struct state *state = state_of(fcinfo);
	struct typed_filter *typed = &state->typed;
	nidus_status status;
	prepare_reader(&state->reader, fcinfo, 1, state->context);
	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);
	if (typed->filter == NULL)
		begin(state, fcinfo);
	status = nidus_insert_new_hash(typed->filter, hash_key(&state->reader, typed->filter,
	                                                       typed->kind, PG_GETARG_DATUM(1)));
	if (status == NIDUS_FULL)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		        errmsg("nidus: the filter is full with " UINT64_FORMAT " keys",
		               nidus_size(typed->filter)),
		        errhint("Give nidus_agg a larger capacity, or none."));
	if (status != NIDUS_PRESENT)
		check(status);
	PG_RETURN_POINTER(state);
}

/* -------------------------------------------------------------- parallel plans -- */

/* Takes the second state into the first; the second's memory may end before ours. */
PG_FUNCTION_INFO_V1(nidus_agg_combine);
Datum nidus_agg_combine(PG_FUNCTION_ARGS)
{
	struct state *state = state_of(fcinfo), *other;
	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(state);
	other = (struct state *)PG_GETARG_POINTER(1);
	settle(other);
	if (other->typed.filter != NULL) {
		bytea *value = to_value(other->typed);
		add_filter(state, from_value(value, state->context));
		pfree(value);
	}
	PG_RETURN_POINTER(state);
}

PG_FUNCTION_INFO_V1(nidus_agg_serialize);
Datum nidus_agg_serialize(PG_FUNCTION_ARGS)
{
	struct state *state = (struct state *)PG_GETARG_POINTER(0);
	(void)aggregate_context(fcinfo);
	settle(state);
	if (state->typed.filter != NULL)
		PG_RETURN_BYTEA_P(to_value(state->typed));
	PG_RETURN_BYTEA_P(cstring_to_text("")); /* no key was seen */
}

PG_FUNCTION_INFO_V1(nidus_agg_deserialize);
Datum nidus_agg_deserialize(PG_FUNCTION_ARGS)
{
	struct state *state = new_state(aggregate_context(fcinfo));
	const bytea *bytes = PG_GETARG_BYTEA_PP(0);
	/* What a worker of this very query wrote. It is checked all the same. */
	if (VARSIZE_ANY_EXHDR(bytes) > 0)
		state->typed = from_value(bytes, state->context);
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
	if (state->typed.filter == NULL)
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(finished(state));
}

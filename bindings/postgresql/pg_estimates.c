/* SPDX-License-Identifier: MIT
 *
 * What the planner asks: how many rows `filter @> key` lets pass, and what a lookup costs.
 *
 * A filter that the planner can see (a constant, a parameter of a custom plan) is asked itself:
 * for the column's most common values, and for its histogram as a sample of the others. No
 * more of them can pass than the filter has keys among the column's distinct values, plus the
 * false positives. Of a filter that it cannot see, as that of (SELECT filter FROM t), we know
 * only that somebody thought it worth asking.
 */
#include "nidus_pg.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

/* The share of rows that pass a filter of which nothing is known. */
#define DEFAULT_SHARE 0.1

/*
 * In units of cpu_operator_cost, by the processor time of lookups over that of a comparison of
 * integers: 6 in a filter of a thousand keys, 32 in one of a million, which is out of the cache.
 * A filter of another row has to be found among those that are kept, or fetched: that is from 30
 * to many thousands.
 */
#define COST_OF_LOOKUP 10
#define COST_OF_OTHER_FILTER 100

/* ------------------------------------------------------------------ selectivity -- */

/* A filter that the planner sees, and how it reads values of the column. */
struct question {
	struct typed_filter typed;
	struct key_reader reader;
	nidus_info info;
};

static bool passes(struct question *question, Datum key)
{
	return nidus_contains_hash(question->typed.filter,
	                           hash_key(&question->reader, question->typed.filter,
	                                    question->typed.kind, key));
}

/* The share of rows that have one of the most common values and pass; *all: that have one. */
static double share_of_common(struct question *question, VariableStatData *column, double *all)
{
	AttStatsSlot slot;
	double share = 0;
	*all = 0;
	if (!get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_MCV, InvalidOid,
	                      ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
		return 0;
	for (int i = 0; i < slot.nvalues && i < slot.nnumbers; i++) {
		*all += slot.numbers[i];
		if (passes(question, slot.values[i]))
			share += slot.numbers[i];
	}
	free_attstatsslot(&slot);
	return share;
}

/* The share of the histogram's values that pass, or -1 without a histogram. */
static double share_of_sample(struct question *question, VariableStatData *column)
{
	AttStatsSlot slot;
	int found = 0, n;
	if (!get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
	                      ATTSTATSSLOT_VALUES))
		return -1;
	n = slot.nvalues;
	for (int i = 0; i < n; i++)
		found += passes(question, slot.values[i]);
	free_attstatsslot(&slot);
	if (n < 10)
		return -1;
	/* None of n values says no more than: fewer than about one in n. */
	return found > 0 ? (double)found / n : 0.5 / n;
}

static double share_of_rows(struct question *question, VariableStatData *column)
{
	bool guessed;
	double distinct = get_variable_numdistinct(column, &guessed);
	double limit = Min(1.0, (double)question->info.count / distinct) + question->info.fpr_now;
	double common, passing, nulls, sample;
	if (!HeapTupleIsValid(column->statsTuple))
		return guessed ? DEFAULT_SHARE : limit;
	nulls = ((Form_pg_statistic)GETSTRUCT(column->statsTuple))->stanullfrac;
	passing = share_of_common(question, column, &common);
	sample = share_of_sample(question, column);
	if (sample >= 0)
		limit = Min(limit, sample);
	return passing + Max(0.0, 1 - common - nulls) * Min(1.0, limit);
}

/* Sets up how values of the column are read; false if none of them may be asked for. */
static bool may_ask(struct question *question, VariableStatData *column, Oid function)
{
	enum key_kind kind = find_kind(column->atttype);
	question->reader.type = getBaseType(column->atttype);
	question->reader.kind = kind;
	/* Texts that would have to be read could be errors, which only the query may raise. */
	if (question->typed.kind != kind && question->typed.kind != KIND_ANY)
		return false;
	return column->statsTuple == NULL || statistic_proc_security_check(column, function);
}

/* The share of rows for which a constant filter has the key, a column. */
static double ask(const Const *constant, VariableStatData *column, Oid function)
{
	struct question question = { { 0 }, { 0 }, NIDUS_INFO_INIT };
	double share = DEFAULT_SHARE;
	if (constant->constisnull)
		return 0;
	question.typed = open_plain(PG_DETOAST_DATUM_PACKED(constant->constvalue));
	(void)nidus_get_info(question.typed.filter, &question.info);
	if (may_ask(&question, column, function))
		share = share_of_rows(&question, column);
	nidus_free(question.typed.filter);
	return share;
}

/* The share of rows that pass, for the arguments of a lookup in either order. */
static double share_of(PlannerInfo *root, List *args, int relation, Oid function)
{
	VariableStatData column;
	Node *other;
	bool on_left;
	double share = DEFAULT_SHARE;
	if (!get_restriction_variable(root, args, relation, &column, &other, &on_left))
		return DEFAULT_SHARE;
	/* The column may also be the filter. */
	if (find_kind(column.vartype) != KINDS && IsA(other, Const))
		share = ask((Const *)other, &column, function);
	ReleaseVariableStats(column);
	CLAMP_PROBABILITY(share);
	return share;
}

PG_FUNCTION_INFO_V1(nidus_sel);
Datum nidus_sel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(share_of((PlannerInfo *)PG_GETARG_POINTER(0), (List *)PG_GETARG_POINTER(2),
	                          PG_GETARG_INT32(3), get_opcode(PG_GETARG_OID(1))));
}

/* Keys of one table and filters of another: nothing is known of both at once. */
PG_FUNCTION_INFO_V1(nidus_joinsel);
Datum nidus_joinsel(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(DEFAULT_SHARE);
}

/* ------------------------------------------------------------------------- cost -- */

static List *arguments_of(Node *node)
{
	if (node != NULL && IsA(node, FuncExpr))
		return ((FuncExpr *)node)->args;
	if (node != NULL && IsA(node, OpExpr))
		return ((OpExpr *)node)->args;
	return NIL;
}

/* Whether rows bring filters of their own: then each may have to be fetched and opened. */
static bool filter_varies(List *args)
{
	ListCell *cell;
	foreach (cell, args) {
		Node *argument = lfirst(cell);
		if (find_kind(exprType(argument)) == KINDS && contain_var_clause(argument))
			return true;
	}
	return false;
}

PG_FUNCTION_INFO_V1(nidus_support);
Datum nidus_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *)PG_GETARG_POINTER(0);
	if (IsA(request, SupportRequestSelectivity)) {
		SupportRequestSelectivity *asked = (SupportRequestSelectivity *)request;
		asked->selectivity = asked->is_join ? DEFAULT_SHARE
		                                    : share_of(asked->root, asked->args,
		                                               asked->varRelid, asked->funcid);
		PG_RETURN_POINTER(request);
	}
	if (IsA(request, SupportRequestCost)) {
		SupportRequestCost *asked = (SupportRequestCost *)request;
		bool varies = filter_varies(arguments_of(asked->node));
		asked->startup = 0;
		asked->per_tuple =
			(varies ? COST_OF_OTHER_FILTER : COST_OF_LOOKUP) * cpu_operator_cost;
		PG_RETURN_POINTER(request);
	}
	PG_RETURN_POINTER(NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * CF.MERGE and BF.MERGE: the items of several filters into the first.
 */
#include "commands.h"

#include "keys.h"
#include "memory.h"

/* Filters to be merged; `to` is the value that receives them, NULL if it is new. */
struct merging {
	RedisModuleCtx *ctx;
	RedisModuleString *key;
	enum kind kind;
	struct value *to;
	const struct value *first;
	const nidus_filter **filters; /* the destination's, then those of other keys */
	size_t n;
	uint64_t bytes;
};

/* False: it cannot be merged, and that has been answered. */
static bool add_to_merge(struct merging *merging, const struct value *value)
{
	if (value->legacy != NULL) {
		server.ReplyWithError(merging->ctx, "ERR a filter of RedisBloom cannot be merged");
		return false;
	}
	if (value_forgets(value)) {
		server.ReplyWithError(merging->ctx,
		                      "ERR a filter with a WINDOW cannot be merged: slices of two "
		                      "begin at different times");
		return false;
	}
	if (merging->n == 0)
		merging->first = value;
	merging->filters[merging->n++] = value->filter;
	merging->bytes += value_bytes(value);
	return true;
}

/* Finds all that is to be merged. False: an error has been answered. */
static bool find_to_merge(struct merging *merging, RedisModuleString **from, int n)
{
	if (keys_write(merging->ctx, merging->key, merging->kind, &merging->to) == REFUSED)
		return false;
	if (merging->to != NULL && !add_to_merge(merging, merging->to))
		return false;
	for (int i = 0; i < n; i++) {
		struct value *value;
		enum found found = keys_read(merging->ctx, from[i], merging->kind, &value);
		if (found == MISSING)
			server.ReplyWithError(merging->ctx, "ERR not found");
		if (found != FOUND || (value != merging->to && !add_to_merge(merging, value)))
			return false;
	}
	return true;
}

/* BF has each item once, and nothing is deleted: what looks the same is kept once. */
static nidus_status merge_filters(const struct merging *merging, nidus_filter **merged)
{
	nidus_merge_how how = merging->kind == KIND_CF ? NIDUS_MERGE_COPIES : NIDUS_MERGE_UNIQUE;
	return nidus_merge_many(merging->filters, merging->n, how, merged);
}

/* Makes the merged filter that of the destination. NULL, or the error to answer with. */
static const char *merge(const struct merging *merging)
{
	nidus_filter *merged;
	uint64_t before = memory_balance();
	if (!memory_has_room(merging->ctx, merging->bytes))
		return "OOM no memory for the merged filter";
	nidus_status status = merge_filters(merging, &merged);
	if (status != NIDUS_OK)
		return value_failure(status);
	uint64_t memory = memory_balance() - before;
	struct value *to = merging->to;
	if (to == NULL)
		to = value_create_empty(&merging->first->recipe);
	if (to == NULL) {
		nidus_free(merged);
		return "OOM no memory for the merged filter";
	}
	value_take(to, merged, memory);
	if (merging->to == NULL)
		keys_set(merging->ctx, merging->key, to);
	return NULL;
}

static int merge_keys(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, enum kind kind,
                      const char *event)
{
	if (argc < 3)
		return server.WrongArity(ctx);
	struct merging merging = { .ctx = ctx, .key = argv[1], .kind = kind };
	merging.filters = memory_try((size_t)argc * sizeof *merging.filters);
	if (merging.filters == NULL)
		return server.ReplyWithError(ctx, "OOM no memory for so many keys");
	if (find_to_merge(&merging, argv + 2, argc - 2)) {
		const char *error = merge(&merging);
		if (error != NULL) {
			server.ReplyWithError(ctx, error);
		} else {
			server.ReplicateVerbatim(ctx);
			keys_notify(ctx, event, argv[1]);
			server.ReplyWithSimpleString(ctx, "OK");
		}
	}
	server.Free(merging.filters);
	return SERVER_OK;
}

int cf_merge(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return merge_keys(ctx, argv, argc, KIND_CF, "cf.merge");
}

int bf_merge(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return merge_keys(ctx, argv, argc, KIND_BF, "bf.merge");
}

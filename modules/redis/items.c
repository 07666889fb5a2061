/* SPDX-License-Identifier: MIT
 *
 * Commands on items: add, look up, count and delete.
 *
 * What is replicated is what changed: an item that was refused or already there is
 * left out, so that a replica with more memory does not take what its master did not. A filter
 * that an add makes goes out as a RESERVE: an add that comes from a server with this module
 * makes none, so that a replica that has lost a filter does not put another one in its place.
 */
#include "commands.h"

#include "keys.h"
#include "memory.h"

#define BATCH 256 /* items that are hashed and looked up together */

/* --------------------------------------------------------------------------- hashes -- */

static uint64_t hash_item(const struct value *value, RedisModuleString *item)
{
	size_t len;
	const char *bytes = server.StringPtrLen(item, &len);
	return nidus_hash(value->filter, bytes, len);
}

static void hash_items(const struct value *value, RedisModuleString **items, size_t n,
                       uint64_t *hashes)
{
	const void *keys[BATCH];
	size_t lens[BATCH];
	for (size_t i = 0; i < n; i++)
		keys[i] = server.StringPtrLen(items[i], &lens[i]);
	nidus_hash_batch(value->filter, keys, lens, n, hashes);
}

/* ------------------------------------------------------------------- looking things up -- */

static bool has_item(const struct value *value, RedisModuleString *item)
{
	size_t len;
	const char *bytes = server.StringPtrLen(item, &len);
	return value_has(value, bytes, len);
}

static int exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, enum kind kind)
{
	struct value *value;
	if (argc != 3)
		return server.WrongArity(ctx);
	enum found found = keys_read(ctx, argv[1], kind, &value);
	if (found == REFUSED)
		return SERVER_OK;
	return server.ReplyWithBool(ctx, found == FOUND && has_item(value, argv[2]));
}

/* Looks items up in a filter of ours. */
static void ask_batch(const struct value *value, RedisModuleString **items, size_t n, uint8_t *yes)
{
	uint64_t hashes[BATCH];
	uint64_t due = value_forgets(value) ? value_due(value) : 0;
	hash_items(value, items, n, hashes);
	if (due == 0)
		nidus_contains_batch(value->filter, hashes, n, yes);
	else
		for (size_t i = 0; i < n; i++)
			yes[i] = value_has_recent(value, hashes[i], due);
}

static void reply_batch(RedisModuleCtx *ctx, const struct value *value, RedisModuleString **items,
                        size_t n)
{
	uint8_t yes[BATCH] = { 0 };
	if (value != NULL && value->legacy == NULL) {
		ask_batch(value, items, n, yes);
	} else if (value != NULL) {
		for (size_t i = 0; i < n; i++)
			yes[i] = has_item(value, items[i]);
	}
	for (size_t i = 0; i < n; i++)
		server.ReplyWithBool(ctx, yes[i]);
}

static int mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, enum kind kind)
{
	struct value *value;
	if (argc < 3)
		return server.WrongArity(ctx);
	if (keys_read(ctx, argv[1], kind, &value) == REFUSED)
		return SERVER_OK;
	size_t n = (size_t)argc - 2;
	server.ReplyWithArray(ctx, (long)n);
	for (size_t at = 0; at < n; at += BATCH)
		reply_batch(ctx, value, argv + 2 + at, n - at < BATCH ? n - at : BATCH);
	return SERVER_OK;
}

int cf_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return exists(ctx, argv, argc, KIND_CF);
}

int bf_exists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return exists(ctx, argv, argc, KIND_BF);
}

int cf_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return mexists(ctx, argv, argc, KIND_CF);
}

int bf_mexists(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return mexists(ctx, argv, argc, KIND_BF);
}

static uint64_t count_item(const struct value *value, RedisModuleString *item)
{
	size_t len;
	const char *bytes = server.StringPtrLen(item, &len);
	uint64_t count = 0;
	if (value_forgets(value))
		return value_has(value, bytes, len);
	if (value->legacy != NULL)
		count += legacy_count(value->legacy, bytes, len);
	if (value->filter != NULL)
		count += nidus_count_key(value->filter, bytes, len);
	return count;
}

int cf_count(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 3)
		return server.WrongArity(ctx);
	enum found found = keys_read(ctx, argv[1], KIND_CF, &value);
	if (found == REFUSED)
		return SERVER_OK;
	uint64_t count = found == FOUND ? count_item(value, argv[2]) : 0;
	return server.ReplyWithLongLong(ctx, (long long)count);
}

/* -------------------------------------------------------------------------- adding -- */

/* How a command adds, and what it is called elsewhere. */
struct way {
	enum kind kind;
	bool fresh;         /* unless it seems to be there */
	const char *insert; /* the command that adds a list of items like that */
	const char *event;
};

/* A command that adds, under way. */
struct adding {
	RedisModuleCtx *ctx;
	RedisModuleString *key;
	struct value *value;
	bool created;
	bool refused; /* one of the items that replicas are told of */
	const struct way *way;
};

static const char *refusal(const struct value *value, nidus_status status)
{
	if (status == NIDUS_COPIES)
		return "ERR Maximum copies of this item reached";
	if (status == NIDUS_E_NOMEM)
		return "OOM this filter cannot grow: there is no memory, or the setting "
		       "nidus.max-filter-bytes forbids it";
	if (status != NIDUS_FULL)
		return value_failure(status);
	if (!value->recipe.fixed)
		return "Maximum expansions reached";
	return value->recipe.kind == KIND_BF ? "ERR non scaling filter is full" : "Filter is full";
}

/* Finds the filter or makes one. False: an error has been answered. */
static bool begin(struct adding *adding, struct recipe *recipe, bool nocreate)
{
	const char *error = "ERR not found";
	enum found found = keys_write(adding->ctx, adding->key, adding->way->kind, &adding->value);
	if (found == FOUND)
		memory_allow(value_allowance(adding->ctx, adding->value));
	if (found != MISSING)
		return found == FOUND;
	if (!nocreate && !seed_is_followed(adding->ctx)) {
		adding->value = value_create(adding->ctx, recipe, &error);
		adding->created = true;
	}
	if (adding->value == NULL) {
		server.ReplyWithError(adding->ctx, error);
		return false;
	}
	keys_set(adding->ctx, adding->key, adding->value);
	memory_allow(value_allowance(adding->ctx, adding->value));
	return true;
}

/*
 * Whether replicas are to be told of an item: it went in or was refreshed. A filter that forgets has swept out what
 * expired before it refuses an item as full: replicas are told, so that they sweep as well. Not so for lack of
 * memory, which they may have.
 */
static bool is_told(struct adding *adding, nidus_status status)
{
	bool forgets = value_forgets(adding->value);
	adding->refused |= forgets && status == NIDUS_FULL;
	return status == NIDUS_OK || (forgets && status == NIDUS_FULL) ||
	       (forgets && status == NIDUS_PRESENT && !adding->way->fresh);
}

/* Tells everybody about the `n` items that went in, of `all` that were asked for. */
static void end(const struct adding *adding, RedisModuleString **in, size_t n, size_t all)
{
	memory_allow(UINT64_MAX);
	if (adding->created)
		recipe_replicate(&adding->value->recipe, adding->value->since, adding->ctx,
		                 adding->key);
	if (n == 0 && !adding->created)
		return;
	if (n == all && !adding->created && !adding->refused)
		server.ReplicateVerbatim(adding->ctx);
	else if (n > 0)
		server.Replicate(adding->ctx, adding->way->insert, "sccv", adding->key, "NOCREATE",
		                 "ITEMS", in, n);
	keys_notify(adding->ctx, adding->way->event, adding->key);
}

/*
 * Adds an item beside a legacy filter. The first makes the filter for it, of which replicas
 * hear as of any filter that is made.
 */
static nidus_status add_beside(struct adding *adding, RedisModuleString *item)
{
	struct value *value = adding->value;
	size_t len;
	const char *bytes = server.StringPtrLen(item, &len);
	if (adding->way->fresh && legacy_contains(value->legacy, bytes, len))
		return NIDUS_PRESENT;
	if (value->filter == NULL) {
		nidus_status status = value_extend(adding->ctx, value);
		if (status != NIDUS_OK)
			return status;
		adding->created = true;
		keys_settle(adding->ctx, adding->key, value);
	}
	return value_add(value, hash_item(value, item), adding->way->fresh);
}

static nidus_status add_item(struct adding *adding, RedisModuleString *item)
{
	if (adding->value->legacy != NULL)
		return add_beside(adding, item);
	return value_add(adding->value, hash_item(adding->value, item), adding->way->fresh);
}

static int add_one(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct way *way)
{
	if (argc != 3)
		return server.WrongArity(ctx);
	struct adding adding = { .ctx = ctx, .key = argv[1], .way = way };
	struct recipe recipe = recipe_default(way->kind);
	(void)recipe_finish(&recipe);
	if (!begin(&adding, &recipe, false))
		return SERVER_OK;
	nidus_status status = add_item(&adding, argv[2]);
	if (status == NIDUS_OK || status == NIDUS_PRESENT)
		server.ReplyWithBool(ctx, status == NIDUS_OK);
	else
		server.ReplyWithError(ctx, refusal(adding.value, status));
	end(&adding, argv + 2, is_told(&adding, status), 1);
	return SERVER_OK;
}

/* One place of the array that answers for a list of items. */
static void reply_added(const struct adding *adding, nidus_status status)
{
	bool cf = adding->way->kind == KIND_CF;
	if (status != NIDUS_OK && status != NIDUS_PRESENT) {
		if (cf)
			server.ReplyWithLongLong(adding->ctx, -1);
		else
			server.ReplyWithError(adding->ctx, refusal(adding->value, status));
	} else if (cf && adding->way->fresh) {
		server.ReplyWithLongLong(adding->ctx, status == NIDUS_OK);
	} else {
		server.ReplyWithBool(adding->ctx, status == NIDUS_OK);
	}
}

/* Adds items and answers for each; those that went in are listed in `in`. */
static size_t add_items(struct adding *adding, RedisModuleString **items, size_t n,
                        RedisModuleString **in)
{
	bool legacy = adding->value->legacy != NULL;
	uint64_t hashes[BATCH];
	size_t added = 0;
	server.ReplyWithArray(adding->ctx, (long)n);
	for (size_t i = 0; i < n; i++) {
		if (i % BATCH == 0 && !legacy)
			hash_items(adding->value, items + i, n - i < BATCH ? n - i : BATCH, hashes);
		nidus_status status =
			legacy ? add_beside(adding, items[i])
			       : value_add(adding->value, hashes[i % BATCH], adding->way->fresh);
		if (is_told(adding, status))
			in[added++] = items[i];
		reply_added(adding, status);
	}
	return added;
}

static int add_list(struct adding *adding, RedisModuleString **items, size_t n,
                    struct recipe *recipe, bool nocreate)
{
	RedisModuleString **in = memory_try(n * sizeof *in);
	if (in == NULL)
		return server.ReplyWithError(adding->ctx, "OOM no memory for so many items");
	if (begin(adding, recipe, nocreate))
		end(adding, in, add_items(adding, items, n, in), n);
	server.Free(in);
	return SERVER_OK;
}

static int insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, const struct way *way)
{
	if (argc < 4)
		return server.WrongArity(ctx);
	struct adding adding = { .ctx = ctx, .key = argv[1], .way = way };
	struct recipe recipe = recipe_default(way->kind);
	struct arguments arguments = { argv, argc, 2, 0 };
	bool nocreate = false;
	const char *wrong = recipe_parse(&recipe, &arguments, &nocreate);
	if (wrong == NULL)
		wrong = recipe_finish(&recipe);
	if (wrong != NULL)
		return server.ReplyWithError(ctx, wrong);
	if (arguments.at >= argc)
		return server.WrongArity(ctx);
	return add_list(&adding, argv + arguments.at, (size_t)(argc - arguments.at), &recipe,
	                nocreate);
}

int cf_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	static const struct way way = { KIND_CF, false, "CF.INSERT", "cf.add" };
	return add_one(ctx, argv, argc, &way);
}

int cf_addnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	static const struct way way = { KIND_CF, true, "CF.INSERTNX", "cf.addnx" };
	return add_one(ctx, argv, argc, &way);
}

int cf_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	static const struct way way = { KIND_CF, false, "CF.INSERT", "cf.insert" };
	return insert(ctx, argv, argc, &way);
}

int cf_insertnx(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	static const struct way way = { KIND_CF, true, "CF.INSERTNX", "cf.insertnx" };
	return insert(ctx, argv, argc, &way);
}

int bf_add(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	static const struct way way = { KIND_BF, true, "BF.INSERT", "bf.add" };
	return add_one(ctx, argv, argc, &way);
}

int bf_madd(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	static const struct way way = { KIND_BF, true, "BF.INSERT", "bf.madd" };
	if (argc < 3)
		return server.WrongArity(ctx);
	struct adding adding = { .ctx = ctx, .key = argv[1], .way = &way };
	struct recipe recipe = recipe_default(KIND_BF);
	(void)recipe_finish(&recipe);
	return add_list(&adding, argv + 2, (size_t)argc - 2, &recipe, false);
}

int bf_insert(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	static const struct way way = { KIND_BF, true, "BF.INSERT", "bf.insert" };
	return insert(ctx, argv, argc, &way);
}

/* ------------------------------------------------------------------------ deleting -- */

static nidus_status delete_item(struct value *value, RedisModuleString *item)
{
	size_t len;
	const char *bytes = server.StringPtrLen(item, &len);
	return value_remove(value, bytes, len);
}

/* Finds a filter to delete from. False: an error has been answered. */
static bool find_to_delete(RedisModuleCtx *ctx, RedisModuleString *key, struct value **value)
{
	enum found found = keys_write(ctx, key, KIND_CF, value);
	if (found == MISSING)
		server.ReplyWithError(ctx, "Not found");
	if (found == FOUND && (*value)->legacy != NULL && (*value)->filter != NULL) {
		server.ReplyWithError(ctx,
		                      "ERR items were added to this filter of RedisBloom since "
		                      "it was moved here: nothing can be deleted from it any "
		                      "more. Make a new filter and add all items to that");
		return false;
	}
	if (found == FOUND && value_forgets(*value)) {
		server.ReplyWithError(ctx,
		                      "ERR nothing can be deleted from a filter with a WINDOW: "
		                      "it could take another item that looks the same. "
		                      "Items go when their time is over");
		return false;
	}
	return found == FOUND;
}

int cf_del(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	if (argc != 3)
		return server.WrongArity(ctx);
	if (!find_to_delete(ctx, argv[1], &value))
		return SERVER_OK;
	bool deleted = delete_item(value, argv[2]) == NIDUS_OK;
	if (deleted) {
		server.ReplicateVerbatim(ctx);
		keys_notify(ctx, "cf.del", argv[1]);
	}
	return server.ReplyWithBool(ctx, deleted);
}

int cf_mdel(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	struct value *value;
	bool any = false;
	if (argc < 3)
		return server.WrongArity(ctx);
	if (!find_to_delete(ctx, argv[1], &value))
		return SERVER_OK;
	server.ReplyWithArray(ctx, argc - 2);
	for (int i = 2; i < argc; i++) {
		bool deleted = delete_item(value, argv[i]) == NIDUS_OK;
		any = any || deleted;
		server.ReplyWithBool(ctx, deleted);
	}
	if (any) {
		server.ReplicateVerbatim(ctx);
		keys_notify(ctx, "cf.mdel", argv[1]);
	}
	return SERVER_OK;
}

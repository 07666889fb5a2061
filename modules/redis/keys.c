/* SPDX-License-Identifier: MIT */
#include "keys.h"

#include "type.h"

static enum found refuse(RedisModuleCtx *ctx, const char *error)
{
	server.ReplyWithError(ctx, error);
	return REFUSED;
}

/* The server's functions take a NULL key for one that is not there. */
static enum found find(RedisModuleCtx *ctx, RedisModuleKey *key, enum kind kind,
                       struct value **value)
{
	RedisModuleType *type = server.ModuleTypeGetType(key);
	*value = NULL;
	if (type != NULL && (type == type_of(kind) || type == type_of_legacy(kind))) {
		*value = server.ModuleTypeGetValue(key);
		return FOUND;
	}
	if (server.KeyType(key) == SERVER_KEY_EMPTY)
		return MISSING;
	return refuse(ctx, "WRONGTYPE Operation against a key holding the wrong kind of value");
}

/* Values stay where they are, so keys need not stay open. */
static enum found open_any(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind, int mode,
                           struct value **value)
{
	RedisModuleKey *key = server.OpenKey(ctx, name, mode);
	enum found found = find(ctx, key, kind, value);
	server.CloseKey(key);
	return found;
}

static enum found open_whole(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind, int mode,
                             struct value **value)
{
	enum found found = open_any(ctx, name, kind, mode, value);
	if (found == FOUND && (*value)->incoming != NULL)
		return refuse(ctx, "ERR this filter is incomplete: more chunks are to be loaded");
	return found;
}

enum found keys_read(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                     struct value **value)
{
	return open_whole(ctx, name, kind, SERVER_READ, value);
}

enum found keys_read_any(RedisModuleCtx *ctx, RedisModuleString *name, struct value **value)
{
	RedisModuleKey *key = server.OpenKey(ctx, name, SERVER_READ);
	RedisModuleType *type = server.ModuleTypeGetType(key);
	bool bf = type != NULL && (type == type_of(KIND_BF) || type == type_of_legacy(KIND_BF));
	server.CloseKey(key);
	return keys_read(ctx, name, bf ? KIND_BF : KIND_CF, value);
}

enum found keys_write_unticked(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                               struct value **value)
{
	return open_whole(ctx, name, kind, SERVER_READ | SERVER_WRITE, value);
}

bool keys_are_ticked(RedisModuleCtx *ctx)
{
	return (server.GetContextFlags(ctx) & (SERVER_IS_REPLICATED | SERVER_IS_LOADING)) != 0;
}

void keys_tick(RedisModuleCtx *ctx, RedisModuleString *name, struct value *value, uint64_t n)
{
	if (n == 0)
		return;
	value_tick(value, n);
	server.Replicate(ctx, "NIDUS.TICK", "sl", name, (long long)n);
}

enum found keys_write(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                      struct value **value)
{
	enum found found = keys_write_unticked(ctx, name, kind, value);
	if (found == FOUND && value_forgets(*value) && !keys_are_ticked(ctx))
		keys_tick(ctx, name, *value, value_due(*value));
	return found;
}

enum found keys_write_incoming(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                               struct value **value)
{
	return open_any(ctx, name, kind, SERVER_READ | SERVER_WRITE, value);
}

bool keys_exist(RedisModuleCtx *ctx, RedisModuleString *name)
{
	RedisModuleKey *key = server.OpenKey(ctx, name, SERVER_READ);
	bool there = server.KeyType(key) != SERVER_KEY_EMPTY;
	server.CloseKey(key);
	return there;
}

void keys_set(RedisModuleCtx *ctx, RedisModuleString *name, struct value *value)
{
	RedisModuleKey *key = server.OpenKey(ctx, name, SERVER_READ | SERVER_WRITE);
	server.ModuleTypeSetValue(key, type_for(value), value);
	server.CloseKey(key);
}

/* Another type is another value to the server: the old one goes, without what it points to. */
void keys_settle(RedisModuleCtx *ctx, RedisModuleString *name, struct value *value)
{
	RedisModuleKey *key = server.OpenKey(ctx, name, SERVER_READ | SERVER_WRITE);
	RedisModuleType *type = server.ModuleTypeGetType(key);
	if (type != type_for(value)) {
		long long expire = server.GetExpire(key);
		void *old;
		server.ModuleTypeReplaceValue(key, type, NULL, &old);
		server.ModuleTypeSetValue(key, type_for(value), value);
		if (expire >= 0)
			server.SetExpire(key, expire);
	}
	server.CloseKey(key);
}

void keys_delete(RedisModuleCtx *ctx, RedisModuleString *name)
{
	RedisModuleKey *key = server.OpenKey(ctx, name, SERVER_READ | SERVER_WRITE);
	server.DeleteKey(key);
	server.CloseKey(key);
}

void keys_notify(RedisModuleCtx *ctx, const char *event, RedisModuleString *name)
{
	server.NotifyKeyspaceEvent(ctx, SERVER_NOTIFY_MODULE, event, name);
}

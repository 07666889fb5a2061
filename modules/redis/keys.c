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
	*value = NULL;
	if (server.ModuleTypeGetType(key) == type_of(kind)) {
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
	if (found == FOUND && (*value)->filter == NULL)
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
	bool bf = key != NULL && server.ModuleTypeGetType(key) == type_of(KIND_BF);
	server.CloseKey(key);
	return keys_read(ctx, name, bf ? KIND_BF : KIND_CF, value);
}

enum found keys_write(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                      struct value **value)
{
	return open_whole(ctx, name, kind, SERVER_READ | SERVER_WRITE, value);
}

enum found keys_write_incoming(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                               struct value **value)
{
	return open_any(ctx, name, kind, SERVER_READ | SERVER_WRITE, value);
}

void keys_set(RedisModuleCtx *ctx, RedisModuleString *name, struct value *value)
{
	RedisModuleKey *key = server.OpenKey(ctx, name, SERVER_READ | SERVER_WRITE);
	server.ModuleTypeSetValue(key, type_of(value->recipe.kind), value);
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

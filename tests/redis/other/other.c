/* SPDX-License-Identifier: MIT
 *
 * Another module, for the tests: it has the commands whose names are its arguments, and the type
 * of RedisBloom's filters if one of the names is TYPE. They only answer.
 */
#include "server.h"

#include <string.h>

static int answer(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	(void)argv;
	(void)argc;
	return server.ReplyWithSimpleString(ctx, "the other module");
}

static void save(RedisModuleIO *io, void *value)
{
	(void)io;
	(void)value;
}

static void *load(RedisModuleIO *io, int version)
{
	(void)io;
	(void)version;
	return NULL;
}

static void release(void *value)
{
	(void)value;
}

static bool take_type(RedisModuleCtx *ctx)
{
	struct server_type_methods methods = {
		.version = 1, .rdb_load = load, .rdb_save = save, .free = release
	};
	return server.CreateDataType(ctx, "MBbloom--", 4, &methods) != NULL;
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc)
{
	const char *missing;
	if (!server_connect(ctx, &missing))
		return SERVER_ERR;
	server.SetModuleAttribs(ctx, "other", 1, 1);
	for (int i = 0; i < argc; i++) {
		size_t len;
		const char *name = server.StringPtrLen(argv[i], &len);
		bool ok = strcmp(name, "TYPE") == 0
		                  ? take_type(ctx)
		                  : server.CreateCommand(ctx, name, answer, "readonly", 1, 1, 1) ==
		                            SERVER_OK;
		if (!ok)
			return SERVER_ERR;
	}
	return SERVER_OK;
}

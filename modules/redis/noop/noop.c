/* SPDX-License-Identifier: MIT
 *
 * noop: a module whose commands open a key and answer, and nothing else. What any command
 * costs the server, for modules/redis/bench.py to compare with.
 */
#include "server.h"

static int noop(RedisModuleCtx *ctx, RedisModuleString **argv, int argc, int mode)
{
	if (argc != 3)
		return server.WrongArity(ctx);
	server.CloseKey(server.OpenKey(ctx, argv[1], mode));
	return server.ReplyWithBool(ctx, 1);
}

static int noop_read(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	return noop(ctx, argv, argc, SERVER_READ);
}

static int noop_write(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
{
	server.ReplicateVerbatim(ctx);
	return noop(ctx, argv, argc, SERVER_READ | SERVER_WRITE);
}

int RedisModule_OnLoad(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);

__attribute__((visibility("default"))) int RedisModule_OnLoad(RedisModuleCtx *ctx,
                                                              RedisModuleString **argv, int argc)
{
	const char *missing;
	(void)argv;
	(void)argc;
	if (!server_connect(ctx, &missing))
		return SERVER_ERR;
	server.SetModuleAttribs(ctx, "noop", 1, 1);
	if (server.CreateCommand(ctx, "NOOP.READ", noop_read, "readonly fast", 1, 1, 1) !=
	    SERVER_OK)
		return SERVER_ERR;
	return server.CreateCommand(ctx, "NOOP.WRITE", noop_write, "write deny-oom fast", 1, 1, 1);
}

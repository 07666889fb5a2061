/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <string.h>

struct server server;

typedef int getter(const char *name, void *function);

bool server_connect(RedisModuleCtx *ctx, const char **missing)
{
	getter *get;
	memcpy(&get, ctx, sizeof get); /* the context's first field */
#define FETCH(type, name, arguments)                        \
	if (get("RedisModule_" #name, &server.name) != 0) { \
		*missing = "RedisModule_" #name;            \
		return false;                               \
	}
	SERVER_FUNCTIONS(FETCH)
#undef FETCH
#define FETCH(type, name, arguments)                      \
	if (get("RedisModule_" #name, &server.name) != 0) \
		server.name = NULL;
	SERVER_NEWER_FUNCTIONS(FETCH)
#undef FETCH
	return true;
}

/* SPDX-License-Identifier: MIT
 *
 * server: the part of the module interface of Redis and Valkey that this module uses.
 *
 * No package ships a header for it. The server hands every module a getter that
 * finds functions by name; server_connect fetches all that are listed here. The
 * names are the server's own, without the prefix `RedisModule_`:
 *
 *     server.ReplyWithError(ctx, "ERR not found");
 */
#ifndef NIDUS_REDIS_SERVER_H
#define NIDUS_REDIS_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVER_OK = 0, SERVER_ERR = 1 };
enum { SERVER_READ = 1, SERVER_WRITE = 2 };
enum { SERVER_KEY_EMPTY = 0, SERVER_KEY_MODULE = 6 };
enum { SERVER_HANDLE_IO_ERRORS = 1 << 0 };
enum { SERVER_NOTIFY_MODULE = 1 << 13 };
/* GetContextFlags */
enum {
	SERVER_HAS_MAXMEMORY = 1 << 8,
	SERVER_EVICTS = 1 << 9,
	SERVER_IS_REPLICATED = 1 << 12,
	SERVER_IS_LOADING = 1 << 13,
	SERVER_IS_RESP3 = 1 << 22
};

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleIO RedisModuleIO;
typedef struct RedisModuleType RedisModuleType;
typedef struct RedisModuleDigest RedisModuleDigest;
typedef struct RedisModuleCommand RedisModuleCommand;
typedef struct RedisModuleInfoCtx RedisModuleInfoCtx;
typedef struct RedisModuleServerInfoData RedisModuleServerInfoData;

/* What the server tells about itself. */
struct server_event {
	uint64_t id, version;
};
enum { SERVER_EVENT_LOADING = 3, SERVER_EVENT_VERSION = 1 };
enum { SERVER_LOADING_ENDED = 3, SERVER_LOADING_FAILED = 4 }; /* less: it starts */
typedef void server_event_callback(RedisModuleCtx *ctx, struct server_event event, uint64_t which,
                                   void *data);

typedef int server_command(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
typedef void server_info(RedisModuleInfoCtx *ctx, int for_crash_report);

/* Version 4 of the methods of a data type; what is NULL or 0 is not there. */
struct server_type_methods {
	uint64_t version;
	void *(*rdb_load)(RedisModuleIO *io, int version);
	void (*rdb_save)(RedisModuleIO *io, void *value);
	void (*aof_rewrite)(RedisModuleIO *io, RedisModuleString *key, void *value);
	size_t (*mem_usage)(const void *value);
	void (*digest)(RedisModuleDigest *digest, void *value);
	void (*free)(void *value);
	int (*aux_load)(RedisModuleIO *io, int version, int when);
	void (*aux_save)(RedisModuleIO *io, int when);
	int aux_save_triggers;
	size_t (*free_effort)(RedisModuleString *key, const void *value);
	void (*unlink)(RedisModuleString *key, const void *value);
	void *(*copy)(RedisModuleString *from, RedisModuleString *to, const void *value);
	void *defrag;
	void *mem_usage2, *free_effort2, *unlink2, *copy2;
};

/* What COMMAND DOCS tells of an argument; a list of them ends with a NULL name. */
enum server_arg_type {
	SERVER_ARG_STRING = 0,
	SERVER_ARG_INTEGER = 1,
	SERVER_ARG_DOUBLE = 2,
	SERVER_ARG_KEY = 3,
	SERVER_ARG_PURE_TOKEN = 6
};
enum { SERVER_ARG_OPTIONAL = 1 << 0, SERVER_ARG_MULTIPLE = 1 << 1 };

struct server_arg {
	const char *name;
	int type; /* enum server_arg_type */
	int key_spec_index;
	const char *token, *summary, *since;
	int flags;
	const char *deprecated_since;
	struct server_arg *subargs;
	const char *display_text;
};

/* What a command does with a key: one of the first three, and any of the others. */
enum {
	SERVER_KEY_RO = 1 << 0,
	SERVER_KEY_RW = 1 << 1,
	SERVER_KEY_OW = 1 << 2,
	SERVER_KEY_ACCESS = 1 << 4,
	SERVER_KEY_UPDATE = 1 << 5,
	SERVER_KEY_INSERT = 1 << 6,
	SERVER_KEY_DELETE = 1 << 7
};
enum { SERVER_KEYS_BEGIN_AT_INDEX = 2 };
enum { SERVER_KEYS_ARE_RANGE = 2 };

/*
 * Which arguments are keys: from argv[bs.index.pos] on every `keystep`th, up to `lastkey`
 * after it (negative: from the end). A list of these ends with one that is all zero.
 */
struct server_key_spec {
	const char *notes;
	uint64_t flags;
	int begin_search_type;
	union {
		struct {
			int pos;
		} index;
		struct {
			const char *keyword;
			int startfrom;
		} keyword;
	} bs;
	int find_keys_type;
	union {
		struct {
			int lastkey, keystep, limit;
		} range;
		struct {
			int keynumidx, firstkey, keystep;
		} keynum;
	} fk;
};

struct server_history {
	const char *since, *changes;
};

struct server_command_info_version {
	int version;
	size_t sizeof_history, sizeof_key_spec, sizeof_arg;
};

struct server_command_info {
	const struct server_command_info_version *version;
	const char *summary, *complexity, *since;
	struct server_history *history;
	const char *tips;
	int arity; /* negative: at least so many, the command's name counts */
	struct server_key_spec *key_specs;
	struct server_arg *args;
};

/* Settings of CONFIG: how the server asks for them and sets them. */
enum { SERVER_CONFIG_MEMORY = 1 << 7 };
typedef RedisModuleString *server_get_string(const char *name, void *context);
typedef int server_set_string(const char *name, RedisModuleString *text, void *context,
                              RedisModuleString **error);
typedef long long server_get_number(const char *name, void *context);
typedef int server_set_number(const char *name, long long value, void *context,
                              RedisModuleString **error);
typedef int server_apply(RedisModuleCtx *ctx, void *context, RedisModuleString **error);

/* X(type, name, arguments): what every server from Redis 6.2 on has. */
#define SERVER_FUNCTIONS(X)                                                                     \
	X(void, SetModuleAttribs, (RedisModuleCtx *, const char *, int, int))                   \
	X(int, IsModuleNameBusy, (const char *))                                                \
	X(void, SetModuleOptions, (RedisModuleCtx *, int))                                      \
	X(int, CreateCommand,                                                                   \
	  (RedisModuleCtx *, const char *, server_command *, const char *, int, int, int))      \
	X(RedisModuleType *, CreateDataType,                                                    \
	  (RedisModuleCtx *, const char *, int, struct server_type_methods *))                  \
	X(int, RegisterInfoFunc, (RedisModuleCtx *, server_info *))                             \
	X(int, InfoAddSection, (RedisModuleInfoCtx *, const char *))                            \
	X(int, InfoAddFieldCString, (RedisModuleInfoCtx *, const char *, const char *))         \
	X(int, InfoAddFieldULongLong, (RedisModuleInfoCtx *, const char *, unsigned long long)) \
	X(int, SubscribeToServerEvent,                                                          \
	  (RedisModuleCtx *, struct server_event, server_event_callback *))                     \
	X(int, GetContextFlags, (RedisModuleCtx *))                                             \
	X(RedisModuleCtx *, GetContextFromIO, (RedisModuleIO *))                                \
	X(void, Log, (RedisModuleCtx *, const char *, const char *, ...))                       \
	X(void, LogIOError, (RedisModuleIO *, const char *, const char *, ...))                 \
	X(void, GetRandomBytes, (unsigned char *, size_t))                                      \
	X(long long, Milliseconds, (void))                                                      \
	X(RedisModuleServerInfoData *, GetServerInfo, (RedisModuleCtx *, const char *))         \
	X(void, FreeServerInfo, (RedisModuleCtx *, RedisModuleServerInfoData *))                \
	X(unsigned long long, ServerInfoGetFieldUnsigned,                                       \
	  (RedisModuleServerInfoData *, const char *, int *))                                   \
	X(void *, TryAlloc, (size_t))                                                           \
	X(void *, Calloc, (size_t, size_t))                                                     \
	X(void, Free, (void *))                                                                 \
	X(size_t, MallocSize, (void *))                                                         \
	X(RedisModuleString *, CreateString, (RedisModuleCtx *, const char *, size_t))          \
	X(void, FreeString, (RedisModuleCtx *, RedisModuleString *))                            \
	X(const char *, StringPtrLen, (const RedisModuleString *, size_t *))                    \
	X(int, StringToLongLong, (const RedisModuleString *, long long *))                      \
	X(int, StringToDouble, (const RedisModuleString *, double *))                           \
	X(RedisModuleKey *, OpenKey, (RedisModuleCtx *, RedisModuleString *, int))              \
	X(void, CloseKey, (RedisModuleKey *))                                                   \
	X(int, KeyType, (RedisModuleKey *))                                                     \
	X(int, DeleteKey, (RedisModuleKey *))                                                   \
	X(RedisModuleType *, ModuleTypeGetType, (RedisModuleKey *))                             \
	X(void *, ModuleTypeGetValue, (RedisModuleKey *))                                       \
	X(int, ModuleTypeReplaceValue, (RedisModuleKey *, RedisModuleType *, void *, void **))  \
	X(long long, GetExpire, (RedisModuleKey *))                                             \
	X(int, SetExpire, (RedisModuleKey *, long long))                                        \
	X(int, ModuleTypeSetValue, (RedisModuleKey *, RedisModuleType *, void *))               \
	X(int, NotifyKeyspaceEvent, (RedisModuleCtx *, int, const char *, RedisModuleString *)) \
	X(int, Replicate, (RedisModuleCtx *, const char *, const char *, ...))                  \
	X(int, ReplicateVerbatim, (RedisModuleCtx *))                                           \
	X(int, WrongArity, (RedisModuleCtx *))                                                  \
	X(int, ReplyWithError, (RedisModuleCtx *, const char *))                                \
	X(int, ReplyWithSimpleString, (RedisModuleCtx *, const char *))                         \
	X(int, ReplyWithStringBuffer, (RedisModuleCtx *, const char *, size_t))                 \
	X(int, ReplyWithLongLong, (RedisModuleCtx *, long long))                                \
	X(int, ReplyWithDouble, (RedisModuleCtx *, double))                                     \
	X(int, ReplyWithNull, (RedisModuleCtx *))                                               \
	X(int, ReplyWithBool, (RedisModuleCtx *, int))                                          \
	X(int, ReplyWithArray, (RedisModuleCtx *, long))                                        \
	X(int, ReplyWithMap, (RedisModuleCtx *, long))                                          \
	X(void, SaveUnsigned, (RedisModuleIO *, uint64_t))                                      \
	X(uint64_t, LoadUnsigned, (RedisModuleIO *))                                            \
	X(void, SaveDouble, (RedisModuleIO *, double))                                          \
	X(double, LoadDouble, (RedisModuleIO *))                                                \
	X(void, SaveStringBuffer, (RedisModuleIO *, const char *, size_t))                      \
	X(char *, LoadStringBuffer, (RedisModuleIO *, size_t *))                                \
	X(int, IsIOError, (RedisModuleIO *))                                                    \
	X(void, EmitAOF, (RedisModuleIO *, const char *, const char *, ...))                    \
	X(void, DigestAddStringBuffer, (RedisModuleDigest *, const char *, size_t))             \
	X(void, DigestEndSequence, (RedisModuleDigest *))

/* What only newer ones have: NULL on others. */
#define SERVER_NEWER_FUNCTIONS(X)                                                          \
	X(void *, TryCalloc, (size_t, size_t))                                             \
	X(RedisModuleCommand *, GetCommand, (RedisModuleCtx *, const char *))              \
	X(int, SetCommandInfo, (RedisModuleCommand *, const struct server_command_info *)) \
	X(int, RegisterStringConfig,                                                       \
	  (RedisModuleCtx *, const char *, const char *, unsigned, server_get_string *,    \
	   server_set_string *, server_apply *, void *))                                   \
	X(int, RegisterNumericConfig,                                                      \
	  (RedisModuleCtx *, const char *, long long, unsigned, long long, long long,      \
	   server_get_number *, server_set_number *, server_apply *, void *))              \
	X(int, LoadConfigs, (RedisModuleCtx *))                                            \
	X(int, AddACLCategory, (RedisModuleCtx *, const char *))                           \
	X(int, SetCommandACLCategories, (RedisModuleCommand *, const char *))

#define SERVER_POINTER(type, name, arguments) type(*name) arguments;
struct server {
	SERVER_FUNCTIONS(SERVER_POINTER)
	SERVER_NEWER_FUNCTIONS(SERVER_POINTER)
};
#undef SERVER_POINTER

extern struct server server;

/* Fetches the functions. False: one that is needed is missing, and *missing is its name. */
bool server_connect(RedisModuleCtx *ctx, const char **missing);

#endif

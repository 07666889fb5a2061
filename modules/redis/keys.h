/* SPDX-License-Identifier: MIT
 *
 * keys: from the name of a key to its value, and what is answered if there is none.
 */
#ifndef NIDUS_REDIS_KEYS_H
#define NIDUS_REDIS_KEYS_H

#include "value.h"

/* REFUSED: an error has been answered; the command has nothing left to do. */
enum found { FOUND, MISSING, REFUSED };

/* The value of a key, to look at. */
enum found keys_read(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                     struct value **value);

/* The same of either kind. */
enum found keys_read_any(RedisModuleCtx *ctx, RedisModuleString *name, struct value **value);

/*
 * The value of a key, to change it. A missing key is created by keys_set. A filter that forgets has
 * ticked what was due by the clock, and replicas and the AOF are told so before anything else: they never look
 * at the clock themselves.
 */
enum found keys_write(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                      struct value **value);

/* The same, without a tick. */
enum found keys_write_unticked(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                               struct value **value);

/* Ticks so many slices of a filter that forgets, and says so to replicas and the AOF. */
void keys_tick(RedisModuleCtx *ctx, RedisModuleString *name, struct value *value, uint64_t n);

/* Whether somebody else has looked at the clock for this command: it is replicated or loaded. */
bool keys_are_ticked(RedisModuleCtx *ctx);

/* The same, but a value that LOADCHUNK brings is found before it is whole. */
enum found keys_write_incoming(RedisModuleCtx *ctx, RedisModuleString *name, enum kind kind,
                               struct value **value);

/* Whether there is a key of any type. */
bool keys_exist(RedisModuleCtx *ctx, RedisModuleString *name);

/* Makes a value that of a key; what it had is freed. */
void keys_set(RedisModuleCtx *ctx, RedisModuleString *name, struct value *value);

/* Gives a key the type that its value should have by now (type_for); the expiry stays. */
void keys_settle(RedisModuleCtx *ctx, RedisModuleString *name, struct value *value);

void keys_delete(RedisModuleCtx *ctx, RedisModuleString *name);

/* Tells those who listen that a command changed a key. */
void keys_notify(RedisModuleCtx *ctx, const char *event, RedisModuleString *name);

#endif

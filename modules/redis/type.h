/* SPDX-License-Identifier: MIT
 *
 * type: the data types of the module, and what the server does with their values by itself.
 */
#ifndef NIDUS_REDIS_TYPE_H
#define NIDUS_REDIS_TYPE_H

#include "value.h"

/* Registers our types, and RedisBloom's if they are free. False: the server refused. */
bool type_register(RedisModuleCtx *ctx);

RedisModuleType *type_of(enum kind kind);

/* RedisBloom's type of this kind; NULL if another module has it. */
RedisModuleType *type_of_legacy(enum kind kind);

/* The type that a value should have: RedisBloom's if it is a filter of that, untouched. */
RedisModuleType *type_for(const struct value *value);

#endif

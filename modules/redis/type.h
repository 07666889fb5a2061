/* SPDX-License-Identifier: MIT
 *
 * type: the two data types of the module, and what the server does with their values by itself.
 */
#ifndef NIDUS_REDIS_TYPE_H
#define NIDUS_REDIS_TYPE_H

#include "value.h"

/* Registers both types. False: the server refused. */
bool type_register(RedisModuleCtx *ctx);

RedisModuleType *type_of(enum kind kind);

#endif

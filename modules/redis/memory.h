/* SPDX-License-Identifier: MIT
 *
 * memory: filters live in the server's memory, so that maxmemory and INFO see them.
 */
#ifndef NIDUS_REDIS_MEMORY_H
#define NIDUS_REDIS_MEMORY_H

#include "nidus.h"
#include "server.h"

/* What filters take their memory from. */
const nidus_allocator *memory_allocator(void);

/* Bytes that filters have now. Threads: free; the server frees in the background. */
uint64_t memory_used(void);

/*
 * What this thread has taken for filters less what it gave back, modulo 2^64: the difference
 * between two moments is what was taken in between, as the server's allocator sees it.
 */
uint64_t memory_balance(void);

/*
 * Whether so many bytes fit into this machine and below maxmemory. A server that evicts makes
 * room for the next command, as after any write. What a master accepted, or an AOF holds, is
 * not for this server to refuse: its own maxmemory does not count then.
 */
bool memory_has_room(RedisModuleCtx *ctx, uint64_t bytes);

/*
 * Lets this thread take at most so many bytes for filters, beyond what it gives back, until
 * it is told otherwise; UINT64_MAX: any number.
 */
void memory_allow(uint64_t bytes);

/* A block that may be refused: NULL. Give it back with server.Free. */
void *memory_try(size_t size);

#endif

/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <stdatomic.h>
#include <unistd.h>

#define LARGE ((uint64_t)1 << 20) /* from here on it pays to ask the server what it has */

static _Atomic uint64_t used;

static uint64_t machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

void *memory_try(size_t size)
{
	return size <= machine_memory() ? server.TryAlloc(size) : NULL;
}

static void *count_in(void *memory, size_t size)
{
	if (memory != NULL)
		atomic_fetch_add_explicit(&used, size, memory_order_relaxed);
	return memory;
}

static void *take(void *context, size_t size)
{
	(void)context;
	return count_in(memory_try(size), size);
}

static void give(void *context, void *memory, size_t size)
{
	(void)context;
	if (memory != NULL)
		atomic_fetch_sub_explicit(&used, size, memory_order_relaxed);
	server.Free(memory);
}

const nidus_allocator *memory_allocator(void)
{
	static const nidus_allocator allocator = { .alloc = take, .free = give };
	return &allocator;
}

uint64_t memory_used(void)
{
	return atomic_load_explicit(&used, memory_order_relaxed);
}

bool memory_has_room(RedisModuleCtx *ctx, uint64_t bytes)
{
	if (bytes > machine_memory())
		return false;
	if (bytes < LARGE)
		return true; /* deny-oom has decided already */
	RedisModuleServerInfoData *info = server.GetServerInfo(ctx, "memory");
	if (info == NULL)
		return true;
	int wrong_most = 0, wrong_now = 0;
	uint64_t most = server.ServerInfoGetFieldUnsigned(info, "maxmemory", &wrong_most);
	uint64_t now = server.ServerInfoGetFieldUnsigned(info, "used_memory", &wrong_now);
	server.FreeServerInfo(ctx, info);
	return wrong_most || wrong_now || most == 0 || (now <= most && bytes <= most - now);
}

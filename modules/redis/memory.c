/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE ((size_t)1 << 20) /* from here on it pays to leave zeroing to the system */

static _Atomic uint64_t used;
static _Thread_local uint64_t balance;
static _Thread_local struct {
	bool set;
	uint64_t bytes, from; /* so many more than the balance was */
} ceiling;

static uint64_t machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

void *memory_try(size_t size)
{
	return size <= machine_memory() ? server.TryAlloc(size) : NULL;
}

/*
 * Whether the system would grant that much now. Calloc of older servers ends the
 * process where this function says no; the margin is for its size classes.
 */
static bool granted(size_t size)
{
	size_t with_margin = size + size / 4 + 4 * LARGE;
	void *memory =
		mmap(NULL, with_margin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory != MAP_FAILED && munmap(memory, with_margin) == 0;
}

static void *try_zeroed(size_t size)
{
	if (server.TryCalloc != NULL)
		return server.TryCalloc(1, size);
	if (size >= LARGE)
		return granted(size) ? server.Calloc(1, size) : NULL;
	void *memory = server.TryAlloc(size);
	return memory != NULL ? memset(memory, 0, size) : NULL;
}

/* Adds what a block really takes to the counts; MallocSize is what INFO memory counts, too. */
static void *count_in(void *memory)
{
	if (memory == NULL)
		return NULL;
	size_t size = server.MallocSize(memory);
	atomic_fetch_add_explicit(&used, size, memory_order_relaxed);
	balance += size;
	return memory;
}

static bool is_allowed(size_t size)
{
	if (size > machine_memory())
		return false;
	int64_t taken = (int64_t)(balance - ceiling.from);
	return !ceiling.set || taken + (int64_t)size <= (int64_t)ceiling.bytes;
}

void memory_allow(uint64_t bytes)
{
	ceiling.set = bytes <= INT64_MAX;
	ceiling.bytes = bytes;
	ceiling.from = balance;
}

static void *take(void *context, size_t size)
{
	(void)context;
	return is_allowed(size) ? count_in(memory_try(size)) : NULL;
}

static void *take_zeroed(void *context, size_t size)
{
	(void)context;
	return is_allowed(size) ? count_in(try_zeroed(size)) : NULL;
}

static void give(void *context, void *memory, size_t size)
{
	(void)context;
	(void)size;
	if (memory == NULL)
		return;
	size_t taken = server.MallocSize(memory);
	atomic_fetch_sub_explicit(&used, taken, memory_order_relaxed);
	balance -= taken;
	server.Free(memory);
}

const nidus_allocator *memory_allocator(void)
{
	static const nidus_allocator allocator = { .alloc = take,
		                                   .free = give,
		                                   .alloc_zeroed = take_zeroed };
	return &allocator;
}

uint64_t memory_balance(void)
{
	return balance;
}

uint64_t memory_used(void)
{
	return atomic_load_explicit(&used, memory_order_relaxed);
}

/* Whether maxmemory allows it: all that is left, or all that eviction can make room for. */
static bool allowed(RedisModuleCtx *ctx, uint64_t bytes, bool evicts)
{
	RedisModuleServerInfoData *info = server.GetServerInfo(ctx, "memory");
	if (info == NULL)
		return true;
	int wrong_most = 0, wrong_now = 0;
	uint64_t most = server.ServerInfoGetFieldUnsigned(info, "maxmemory", &wrong_most);
	uint64_t now = server.ServerInfoGetFieldUnsigned(info, "used_memory", &wrong_now);
	server.FreeServerInfo(ctx, info);
	if (wrong_most || wrong_now || most == 0)
		return true;
	return evicts ? bytes <= most : now <= most && bytes <= most - now;
}

bool memory_has_room(RedisModuleCtx *ctx, uint64_t bytes)
{
	if (bytes > machine_memory())
		return false;
	if (bytes < LARGE)
		return true; /* deny-oom has decided already */
	int flags = server.GetContextFlags(ctx);
	if (!(flags & SERVER_HAS_MAXMEMORY) || (flags & (SERVER_IS_REPLICATED | SERVER_IS_LOADING)))
		return true;
	return allowed(ctx, bytes, flags & SERVER_EVICTS);
}

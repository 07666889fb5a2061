/* SPDX-License-Identifier: MIT
 *
 * stripes: their number, and how to wait.
 */
#include "base/stripes.h"

#include <sched.h>

#define SPINS 64 /* tries before the processor is offered to another thread */

/* As many for a chunk as it has regions, but not too many for all of them. */
static unsigned stripes_log(uint64_t chunks, uint64_t chunk_bytes)
{
	uint64_t regions = divide_up(chunk_bytes, UINT64_C(1) << STRIPES_REGION_LOG);
	unsigned log = 0;
	while (UINT64_C(1) << log < regions && chunks << log < STRIPES_MOST)
		log++;
	return log;
}

nidus_status stripes_make(struct stripes *stripes, uint64_t chunks, uint64_t chunk_bytes,
                          const nidus_allocator *allocator)
{
	unsigned log = stripes_log(chunks, chunk_bytes);
	nidus_status status =
		memory_take(allocator, (chunks << log) * sizeof(struct stripe), &stripes->memory);
	if (status != NIDUS_OK)
		return status;
	stripes->stripe = (struct stripe *)(void *)stripes->memory.bytes;
	stripes->chunk_log = log;
	stripes->mask = (uint32_t)bits_low(log);
	return NIDUS_OK;
}

void stripes_unmake(struct stripes *stripes, const nidus_allocator *allocator)
{
	memory_give(allocator, &stripes->memory);
	*stripes = (struct stripes){ 0 };
}

uint64_t stripes_count(const struct stripes *stripes, uint64_t chunk)
{
	const struct stripe *stripe = stripes->stripe + (chunk << stripes->chunk_log);
	uint64_t count = 0;
	for (uint64_t i = 0; i <= stripes->mask; i++) {
		uint32_t here = __atomic_load_n(&stripe[i].count, __ATOMIC_RELAXED);
		count += (uint64_t)(int32_t)here; /* entries may be gone that came in other ways */
	}
	return count;
}

void stripes_forget(struct stripes *stripes)
{
	for (size_t i = 0; i < stripes->memory.size / sizeof(struct stripe); i++)
		__atomic_store_n(&stripes->stripe[i].count, 0, __ATOMIC_RELAXED);
}

void stripes_pause(unsigned tries)
{
	if (tries % SPINS != SPINS - 1) {
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
		return;
	}
	sched_yield();
}

uint32_t version_wait(uint32_t *version)
{
	for (unsigned tries = 0;; tries++) {
		uint32_t now = __atomic_load_n(version, __ATOMIC_RELAXED);
		if (now % 2 == 0 && __atomic_compare_exchange_n(version, &now, now + 1, true,
		                                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return now;
		stripes_pause(tries);
	}
}

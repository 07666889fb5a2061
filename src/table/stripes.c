/* SPDX-License-Identifier: MIT
 *
 * stripes: their number, and how to wait.
 */
#include "table/stripes.h"

#include <sched.h>

#define SPINS 64 /* looks before the processor is offered to somebody else */

nidus_status stripes_make(struct stripes *stripes, uint64_t table_bytes,
                          const nidus_allocator *allocator)
{
	uint64_t regions = divide_up(table_bytes, UINT64_C(1) << STRIPES_REGION_LOG);
	uint64_t count = regions < STRIPES_MOST ? power_of_two_from(regions) : STRIPES_MOST;
	nidus_status status = memory_take(allocator, count * sizeof(uint32_t), &stripes->memory);
	if (status != NIDUS_OK)
		return status;
	stripes->word = (uint32_t *)(void *)stripes->memory.bytes;
	stripes->mask = count - 1;
	return NIDUS_OK;
}

void stripes_unmake(struct stripes *stripes, const nidus_allocator *allocator)
{
	memory_give(allocator, &stripes->memory);
	*stripes = (struct stripes){ 0 };
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

void version_wait(uint32_t *version)
{
	for (unsigned tries = 0;; tries++) {
		uint32_t now = __atomic_load_n(version, __ATOMIC_RELAXED);
		if (now % 2 == 0 && __atomic_compare_exchange_n(version, &now, now + 1, true,
		                                                __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return;
		stripes_pause(tries);
	}
}

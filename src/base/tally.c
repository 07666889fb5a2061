/* SPDX-License-Identifier: MIT
 *
 * tally: which part a thread adds to.
 */
#include "base/tally.h"

#include "base/atomic.h"

/* Threads get their parts in turn. 0: none yet. */
static _Thread_local __attribute__((tls_model("initial-exec"))) unsigned my_turn;
static unsigned turns;

unsigned tally_part(void)
{
	if (UNLIKELY(my_turn == 0))
		my_turn = __atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED) % TALLY_PARTS + 1;
	return my_turn - 1;
}

void tally_add(struct tally *tally, uint64_t amount)
{
	counter_add(&tally->part[tally_part()].sum, amount);
}

uint64_t tally_sum(const struct tally *tally)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < TALLY_PARTS; i++)
		sum += counter_read(&tally->part[i].sum);
	return sum;
}

void tally_clear(struct tally *tally)
{
	for (unsigned i = 0; i < TALLY_PARTS; i++)
		__atomic_store_n(&tally->part[i].sum, 0, __ATOMIC_RELAXED);
}

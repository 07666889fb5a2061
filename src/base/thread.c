/* SPDX-License-Identifier: MIT
 *
 * thread: started for one piece of work and joined at its end; no pool, no
 * locks, nothing that outlives a call.
 */
#include "base/thread.h"

#include "base/os.h"

struct share {
	void (*work)(void *context, unsigned share);
	void *context;
	unsigned number;
	pthread_t thread;
};

static void *run_share(void *context)
{
	const struct share *share = context;
	share->work(share->context, share->number);
	return NULL;
}

unsigned threads_wanted(unsigned threads)
{
	if (threads == 0)
		return 1;
	return threads < THREADS_MOST ? threads : THREADS_MOST;
}

void threads_run(unsigned shares, void (*work)(void *context, unsigned share), void *context)
{
	struct share share[THREADS_MOST];
	unsigned started = 1; /* share 0 is the caller's */
	for (; started < shares; started++) {
		share[started] =
			(struct share){ .work = work, .context = context, .number = started };
		if (os.start_thread(&share[started].thread, run_share, &share[started]) != 0)
			break;
	}
	work(context, 0);
	for (unsigned i = started; i < shares; i++)
		work(context, i);
	for (unsigned i = 1; i < started; i++)
		(void)pthread_join(share[i].thread, NULL);
}

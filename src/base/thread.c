/* SPDX-License-Identifier: MIT
 *
 * thread: started for one piece of work and joined at its end; no pool, no
 * locks, nothing that outlives a call.
 */
#include "base/thread.h"

#include <assert.h>
#include <time.h>

#include "base/os.h"
#include "base/watch.h"

#define ASK_NANOSECONDS 10000000 /* between questions while the caller only waits */

/* How many of the threads of one call have ended. */
struct crew {
	pthread_mutex_t turn;
	pthread_cond_t turned;
	unsigned ended;
};

struct share {
	void (*work)(void *context, unsigned share);
	void *context;
	unsigned number;
	pthread_t thread;
	struct crew *crew;
	struct watch *watch;
};

static void *run_share(void *context)
{
	const struct share *share = context;
	watch_lend(share->watch);
	share->work(share->context, share->number);
	pthread_mutex_lock(&share->crew->turn);
	share->crew->ended++;
	pthread_cond_signal(&share->crew->turned);
	pthread_mutex_unlock(&share->crew->turn);
	return NULL;
}

/* Until when to wait before asking again. A clock that is set while we wait does no harm. */
static struct timespec soon(void)
{
	struct timespec time;
	(void)clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += ASK_NANOSECONDS;
	time.tv_sec += time.tv_nsec / 1000000000;
	time.tv_nsec %= 1000000000;
	return time;
}

/* Waits for the other threads. The caller's function is asked meanwhile, too. */
static void wait_for(struct crew *crew, unsigned threads)
{
	pthread_mutex_lock(&crew->turn);
	while (crew->ended < threads) {
		struct timespec until = soon();
		if (pthread_cond_timedwait(&crew->turned, &crew->turn, &until) == 0)
			continue;
		pthread_mutex_unlock(&crew->turn);
		watch_ask();
		pthread_mutex_lock(&crew->turn);
	}
	pthread_mutex_unlock(&crew->turn);
}

unsigned threads_wanted(unsigned threads)
{
	if (threads == 0)
		return 1;
	return threads < THREADS_MOST ? threads : THREADS_MOST;
}

void threads_run(unsigned shares, void (*work)(void *context, unsigned share), void *context)
{
	assert(shares >= 1 && shares <= THREADS_MOST);
	struct share share[THREADS_MOST];
	struct crew crew = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
	struct watch *watch = watch_of_thread();
	unsigned started = 1; /* share 0 is the caller's */
	for (; started < shares; started++) {
		share[started] = (struct share){ .work = work,
			                         .context = context,
			                         .number = started,
			                         .crew = &crew,
			                         .watch = watch };
		if (os.start_thread(&share[started].thread, run_share, &share[started]) != 0)
			break;
	}
	work(context, 0);
	for (unsigned i = started; i < shares; i++)
		work(context, i);
	if (watch != NULL)
		wait_for(&crew, started - 1);
	for (unsigned i = 1; i < started; i++)
		(void)pthread_join(share[i].thread, NULL);
}

/* SPDX-License-Identifier: MIT */
/* A gate that opens when the whole crew stands before it. */

#include "bench_crew.h"

#include <pthread.h>
#include <stdbool.h>

#include "machine.h"

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned waiting; /* members at the gate */
	bool open;
	bool sent_home; /* the crew is not complete: do nothing */
	crew_work work;
	void *context;
};

struct member {
	struct crew *crew;
	unsigned number;
};

static bool pass_gate(struct crew *crew)
{
	bool go;

	pthread_mutex_lock(&crew->lock);
	crew->waiting++;
	pthread_cond_broadcast(&crew->changed);
	while (!crew->open)
		pthread_cond_wait(&crew->changed, &crew->lock);
	go = !crew->sent_home;
	pthread_mutex_unlock(&crew->lock);
	return go;
}

static void *member_main(void *argument)
{
	const struct member *member = argument;

	if (pass_gate(member->crew))
		member->crew->work(member->crew->context, member->number);
	return NULL;
}

/* Waits until `members` are there (none, if they go home), opens, and tells when that was. */
static double open_gate(struct crew *crew, unsigned members, bool sent_home)
{
	double began;

	pthread_mutex_lock(&crew->lock);
	while (!sent_home && crew->waiting < members)
		pthread_cond_wait(&crew->changed, &crew->lock);
	crew->open = true;
	crew->sent_home = sent_home;
	began = machine_seconds();
	pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
	return began;
}

static double run_threads(struct crew *crew, unsigned threads)
{
	pthread_t thread[CREW_MOST];
	struct member member[CREW_MOST];
	unsigned started = 0;
	double began;

	while (started < threads) {
		member[started] = (struct member){ crew, started };
		if (pthread_create(&thread[started], NULL, member_main, &member[started]) != 0)
			break;
		started++;
	}
	began = open_gate(crew, started, started < threads);
	for (unsigned i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return started < threads ? -1 : machine_seconds() - began;
}

double crew_run(unsigned threads, crew_work work, void *context)
{
	struct crew crew = { .work = work, .context = context };
	double seconds = machine_seconds();

	if (threads <= 1) {
		work(context, 0);
		return machine_seconds() - seconds;
	}
	pthread_mutex_init(&crew.lock, NULL);
	pthread_cond_init(&crew.changed, NULL);
	seconds = run_threads(&crew, threads < CREW_MOST ? threads : CREW_MOST);
	pthread_cond_destroy(&crew.changed);
	pthread_mutex_destroy(&crew.lock);
	return seconds;
}

/* SPDX-License-Identifier: MIT
 *
 * gate: places of threads, and the wait for them to empty.
 */
#include "base/gate.h"

#include <sched.h>

#define PLACES 512 /* threads at a time that need no counting */

static struct gate_place places[PLACES];

/* Places from here on were never taken. */
static atomic_uint places_end;

/* The thread's place goes back when the thread ends. */
GATE_PER_THREAD struct gate_place *gate_my_place;
static GATE_PER_THREAD bool asked;

static pthread_key_t thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_thread_end;

static void give_place(void *place)
{
	gate_my_place = NULL; /* other destructors of this thread may still enter: they are counted */
	atomic_store_explicit(&((struct gate_place *)place)->taken, false, memory_order_release);
}

static void prepare(void)
{
	have_thread_end = pthread_key_create(&thread_end, give_place) == 0;
}

/* A library that is unloaded leaves no destructor behind. */
__attribute__((destructor)) static void forget(void)
{
	if (have_thread_end)
		(void)pthread_key_delete(thread_end);
}

static void raise_end(unsigned end)
{
	unsigned now = atomic_load(&places_end);
	while (now < end && !atomic_compare_exchange_weak(&places_end, &now, end))
		continue;
}

/* Looks for a free place, once in a thread's life. */
static struct gate_place *take_place(void)
{
	asked = true;
	(void)pthread_once(&once, prepare);
	for (unsigned i = 0; have_thread_end && i < PLACES; i++) {
		bool free = false;
		if (!atomic_compare_exchange_strong(&places[i].taken, &free, true))
			continue;
		if (pthread_setspecific(thread_end, &places[i]) != 0) {
			give_place(&places[i]);
			return NULL;
		}
		raise_end(i + 1);
		return gate_my_place = &places[i];
	}
	return NULL;
}

bool gate_make(struct gate *gate)
{
	for (unsigned side = 0; side < GATE_SIDES; side++) {
		atomic_init(&gate->closed[side], false);
		atomic_init(&gate->extra[side], 0);
	}
	gate->drawn = gate->turn = 0;
	if (pthread_mutex_init(&gate->mutex, NULL) != 0)
		return false;
	if (pthread_cond_init(&gate->next, NULL) == 0)
		return true;
	(void)pthread_mutex_destroy(&gate->mutex);
	return false;
}

void gate_unmake(struct gate *gate)
{
	(void)pthread_cond_destroy(&gate->next);
	(void)pthread_mutex_destroy(&gate->mutex);
}

static void take_turn(struct gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	uint64_t mine = gate->drawn++;
	while (gate->turn != mine)
		pthread_cond_wait(&gate->next, &gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
}

static void end_turn(struct gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	gate->turn++;
	if (gate->turn != gate->drawn)
		pthread_cond_broadcast(&gate->next);
	pthread_mutex_unlock(&gate->mutex);
}

uint64_t gate_drawn(struct gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	uint64_t drawn = gate->drawn;
	pthread_mutex_unlock(&gate->mutex);
	return drawn;
}

static void come_in(struct gate *gate, enum gate_side side, struct gate_pass pass)
{
	if (pass.place != NULL)
		atomic_store(pass.place, gate_name(gate, side));
	else
		atomic_fetch_add(&gate->extra[side], 1);
}

struct gate_pass gate_enter_counted(struct gate *gate, enum gate_side side)
{
	if (gate_my_place == NULL && !asked && take_place() != NULL)
		return gate_enter(gate, side);
	struct gate_pass pass = { NULL };
	come_in(gate, side, pass);
	return atomic_load(&gate->closed[side]) ? gate_enter_later(gate, side, pass) : pass;
}

struct gate_pass gate_enter_later(struct gate *gate, enum gate_side side, struct gate_pass pass)
{
	gate_leave(gate, side, pass);
	take_turn(gate); /* open now, until the turn is another's */
	come_in(gate, side, pass);
	end_turn(gate);
	return pass;
}

static void wait_for(struct gate *gate, enum gate_side side)
{
	uintptr_t name = gate_name(gate, side);
	while (atomic_load(&gate->extra[side]) > 0)
		sched_yield();
	/* A thread that takes its place later sees that the gate is closed. */
	unsigned end = atomic_load(&places_end);
	for (unsigned i = 0; i < end; i++) {
		while (atomic_load(&places[i].inside) == name)
			sched_yield();
	}
}

void gate_close(struct gate *gate, bool all)
{
	take_turn(gate);
	atomic_store(&gate->closed[GATE_WORKERS], true);
	if (all)
		atomic_store(&gate->closed[GATE_VISITORS], true);
	wait_for(gate, GATE_WORKERS);
	if (all)
		wait_for(gate, GATE_VISITORS);
}

void gate_open(struct gate *gate)
{
	atomic_store(&gate->closed[GATE_VISITORS], false);
	atomic_store(&gate->closed[GATE_WORKERS], false);
	end_turn(gate);
}

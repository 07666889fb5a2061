/* SPDX-License-Identifier: MIT
 *
 * The gate: many inside, or one alone; more threads than places; one thread in
 * two gates; no thread kept out for ever.
 */
#include "base/gate.h"
#include "support/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct hall {
	struct gate gate;
	atomic_int visitors, workers;
	atomic_int faults;
	uint64_t plain; /* changed by a thread alone, read by all: TSan watches it */
	atomic_bool stop;
};

static void make(struct hall *hall)
{
	memset(hall, 0, sizeof *hall);
	expect(gate_make(&hall->gate));
}

static void pass_once(struct hall *hall, enum gate_side side)
{
	atomic_int *inside = side == GATE_VISITORS ? &hall->visitors : &hall->workers;
	struct gate_pass pass = gate_enter(&hall->gate, side);
	(*inside)++;
	uint64_t seen = hall->plain;
	(*inside)--;
	hall->faults += seen % 2 == 1; /* only odd while a thread is alone */
	gate_leave(&hall->gate, side, pass);
}

static void *pass_often(void *context)
{
	struct hall *hall = context;
	for (unsigned i = 0; i < (check_small() ? 500 : 5000); i++)
		pass_once(hall, i % 3 == 0 ? GATE_WORKERS : GATE_VISITORS);
	return NULL;
}

static void *be_alone_often(void *context)
{
	struct hall *hall = context;
	while (!atomic_load(&hall->stop)) {
		gate_close(&hall->gate, true);
		hall->plain++;
		hall->faults += hall->visitors != 0 || hall->workers != 0;
		hall->plain++;
		gate_open(&hall->gate);
		gate_close(&hall->gate, false);
		hall->faults += hall->workers != 0;
		gate_open(&hall->gate);
	}
	return NULL;
}

static void run(unsigned passing)
{
	struct hall *hall = aligned_alloc(64, (sizeof *hall + 63) / 64 * 64);
	expect(hall != NULL);
	make(hall);
	pthread_t *threads = check_alloc(passing * sizeof *threads), alone[2];
	unsigned started = 0;
	for (unsigned i = 0; i < 2; i++)
		expect_equal(pthread_create(&alone[i], NULL, be_alone_often, hall), 0);
	while (started < passing && pthread_create(&threads[started], NULL, pass_often, hall) == 0)
		started++;
	expect(started > 0);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&hall->stop, true);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(alone[i], NULL);
	expect_equal(hall->faults, 0);
	gate_unmake(&hall->gate);
	free(threads);
	free(hall);
}

static void many_are_inside_or_one_alone(void **state)
{
	(void)state;
	run(4);
}

/* All at once: they hold their places until all have come. */
#define MANY 600

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_came = PTHREAD_COND_INITIALIZER;
static unsigned came, expected;

static void *stay_until_all_came(void *context)
{
	struct hall *hall = context;
	struct gate_pass pass = gate_enter(&hall->gate, GATE_VISITORS);
	pthread_mutex_lock(&mutex);
	if (++came >= expected)
		pthread_cond_broadcast(&all_came);
	while (came < expected)
		pthread_cond_wait(&all_came, &mutex);
	pthread_mutex_unlock(&mutex);
	gate_leave(&hall->gate, GATE_VISITORS, pass);
	return NULL;
}

static void more_threads_than_places_are_counted(void **state)
{
	(void)state;
	struct hall *hall = aligned_alloc(64, (sizeof *hall + 63) / 64 * 64);
	expect(hall != NULL);
	make(hall);
	static pthread_t threads[MANY];
	unsigned started = 0;
	expected = MANY;
	while (started < MANY &&
	       pthread_create(&threads[started], NULL, stay_until_all_came, hall) == 0)
		started++;
	pthread_mutex_lock(&mutex);
	expected = started; /* fewer if the system does not give so many */
	pthread_cond_broadcast(&all_came);
	while (came < expected) /* those at a closed gate would never come */
		pthread_cond_wait(&all_came, &mutex);
	pthread_mutex_unlock(&mutex);
	gate_close(&hall->gate, true);
	expect_equal(came, started);
	gate_open(&hall->gate);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	/* Their places are free again, and the gate knows of nobody. */
	gate_close(&hall->gate, true);
	gate_open(&hall->gate);
	gate_unmake(&hall->gate);
	free(hall);
}

struct guest {
	struct hall *hall;
	enum gate_side side;
	atomic_bool passed;
};

static void *pass_when_possible(void *context)
{
	struct guest *guest = context;
	struct gate_pass pass = gate_enter(&guest->hall->gate, guest->side);
	guest->passed = true;
	gate_leave(&guest->hall->gate, guest->side, pass);
	return NULL;
}

/* Closed, opened and closed again at once: threads that waited meanwhile came through. */
static void closing_again_lets_others_through(void **state)
{
	(void)state;
	struct hall *hall = aligned_alloc(64, (sizeof *hall + 63) / 64 * 64);
	expect(hall != NULL);
	make(hall);
	for (unsigned i = 0; i < 200; i++) {
		struct guest guest = { .hall = hall, .side = i % GATE_SIDES };
		pthread_t thread;
		gate_close(&hall->gate, true);
		uint64_t drawn = gate_drawn(&hall->gate);
		expect_equal(pthread_create(&thread, NULL, pass_when_possible, &guest), 0);
		while (gate_drawn(&hall->gate) == drawn)
			sched_yield();
		expect(!guest.passed);
		gate_open(&hall->gate);
		gate_close(&hall->gate, true);
		expect(guest.passed);
		gate_open(&hall->gate);
		pthread_join(thread, NULL);
	}
	gate_unmake(&hall->gate);
	free(hall);
}

static void a_thread_can_be_in_two_gates(void **state)
{
	(void)state;
	struct hall *first = aligned_alloc(64, (sizeof *first + 63) / 64 * 64);
	struct hall *second = aligned_alloc(64, (sizeof *second + 63) / 64 * 64);
	expect(first != NULL && second != NULL);
	make(first);
	make(second);
	struct gate_pass outer = gate_enter(&first->gate, GATE_WORKERS);
	struct gate_pass inner = gate_enter(&second->gate, GATE_WORKERS);
	expect(outer.place != NULL);
	expect(inner.place == NULL);
	expect_equal(second->gate.extra[GATE_WORKERS], 1);
	gate_leave(&second->gate, GATE_WORKERS, inner);
	gate_close(&second->gate, true); /* nobody is in the second any more */
	gate_open(&second->gate);
	gate_leave(&first->gate, GATE_WORKERS, outer);
	gate_close(&first->gate, true);
	gate_open(&first->gate);
	gate_unmake(&first->gate);
	gate_unmake(&second->gate);
	free(first);
	free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_are_inside_or_one_alone),
		cmocka_unit_test(more_threads_than_places_are_counted),
		cmocka_unit_test(closing_again_lets_others_through),
		cmocka_unit_test(a_thread_can_be_in_two_gates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

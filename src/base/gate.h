/* SPDX-License-Identifier: MIT
 *
 * gate: lets many threads through at once, and now and then one alone.
 *
 * Calls on a filter that threads share pass its gate: lookups as visitors, calls
 * that change entries as workers. Calls that need the filter to stand still close
 * the gate: to workers (a save, a walk), or to all (a table is about to move).
 *
 * Passing an open gate writes only the thread's own place, a cache line of which
 * no other thread writes: threads that only pass do not slow each other down.
 *
 *     thread                             closer
 *     place := gate          \ /        closed := true
 *     look whether closed     X         wait until no place names the gate
 *                            / \
 *
 * Both write first and look afterwards, in one order that all threads agree on
 * (sequentially consistent): at least one of them sees the other.
 *
 * A thread that cannot pass at once waits in line: one closer after the other, and those
 * who found the gate closed between them. So a thread that closes the gate again
 * and again (a walk, a save in a loop) keeps no thread out for ever.
 *
 * A thread has one place for all gates, and is inside one gate at a time. When it
 * enters a second one (an allocator that calls the library), or when there are
 * more threads than places, it is counted in the gate itself instead.
 */
#ifndef NIDUS_BASE_GATE_H
#define NIDUS_BASE_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

enum gate_side { GATE_VISITORS, GATE_WORKERS, GATE_SIDES };

struct gate {
	_Alignas(64) atomic_bool closed[GATE_SIDES];
	atomic_uint extra[GATE_SIDES]; /* threads inside that have no place */
	/* The line: who comes draws a number; the gate is closed only by whose turn it is. */
	pthread_mutex_t mutex;
	pthread_cond_t next;
	uint64_t drawn, turn;
};

/* A place of a thread. What is in it: 0, or a gate's address with the side in its lowest bit. */
struct gate_place {
	_Alignas(64) _Atomic(uintptr_t) inside;
	atomic_bool taken;
};

#define GATE_PER_THREAD __attribute__((tls_model("initial-exec"))) _Thread_local

/* This thread's; NULL: it has none, or none yet. */
extern GATE_PER_THREAD struct gate_place *gate_my_place;

/* A thread's presence inside a gate, kept by the caller until it leaves. */
struct gate_pass {
	_Atomic(uintptr_t) *place; /* NULL: counted in the gate */
};

/* False if the system has no room for a lock. */
bool gate_make(struct gate *gate);
void gate_unmake(struct gate *gate);

static inline uintptr_t gate_name(const struct gate *gate, enum gate_side side)
{
	return (uintptr_t)gate | (uintptr_t)side;
}

static inline void gate_leave(struct gate *gate, enum gate_side side, struct gate_pass pass)
{
	if (LIKELY(pass.place != NULL))
		atomic_store_explicit(pass.place, 0, memory_order_release);
	else
		atomic_fetch_sub_explicit(&gate->extra[side], 1, memory_order_release);
}

/*
 * The rare ways of gate_enter: of a thread that has no place or is inside another gate, and of one that
 * found the gate closed.
 */
struct gate_pass gate_enter_counted(struct gate *gate, enum gate_side side);
struct gate_pass gate_enter_later(struct gate *gate, enum gate_side side, struct gate_pass pass);

/* Waits while the gate is closed to this side. */
static inline struct gate_pass gate_enter(struct gate *gate, enum gate_side side)
{
	struct gate_place *place = gate_my_place;
	if (UNLIKELY(place == NULL) ||
	    UNLIKELY(atomic_load_explicit(&place->inside, memory_order_relaxed) != 0))
		return gate_enter_counted(gate, side);
	struct gate_pass pass = { &place->inside };
	atomic_store(pass.place, gate_name(gate, side));
	return LIKELY(!atomic_load(&gate->closed[side])) ? pass
	                                                 : gate_enter_later(gate, side, pass);
}

/* Numbers drawn so far: for tests, to see that a thread waits. */
uint64_t gate_drawn(struct gate *gate);

/*
 * Waits for its turn, keeps workers out, and visitors too if `all`; returns when
 * those who were inside have left. Not from inside the same gate.
 */
void gate_close(struct gate *gate, bool all);
void gate_open(struct gate *gate);

#endif

/* SPDX-License-Identifier: MIT
 *
 * reason: this thread's last failure in words.
 *
 * Every error is made by `fail`, so that status and words go together:
 *
 *     return fail(NIDUS_E_RANGE, "slots must be 2, 4 or 8, not %u", slots);
 */
#ifndef NIDUS_BASE_REASON_H
#define NIDUS_BASE_REASON_H

#include "nidus.h"

#include <pthread.h>

/* Keeps the words for nidus_reason and gives the status back. errno stays. */
nidus_status fail(nidus_status status, const char *format, ...)
	__attribute__((format(printf, 2, 3), cold));

const char *reason_text(void);

/* Copies as much of the reason as there is room for. */
void reason_copy(char *to, size_t size);

/*
 * For calls that try something and have another way if it fails. After the first, words are
 * kept aside; the second makes the last of them the reason if the call failed in the end,
 * and returns its status.
 */
void reason_set_aside(void);
nidus_status reason_decide(nidus_status status);

#define REASON_SIZE 256

/* How the shares of some work ended, for the thread that waits for the others. */
struct outcome {
	pthread_mutex_t turn;
	nidus_status status; /* of the lowest share that failed */
	unsigned share;
	char reason[REASON_SIZE];
};

#define OUTCOME_INIT                              \
	{                                         \
		.turn = PTHREAD_MUTEX_INITIALIZER \
	}

/* Keeps how a share ended, with this thread's reason for it. */
void outcome_keep(struct outcome *outcome, unsigned share, nidus_status status);

/* The failure of the lowest share as if it were this thread's own; OK if there is none. */
nidus_status outcome_tell(const struct outcome *outcome);

#endif

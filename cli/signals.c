/* SPDX-License-Identifier: MIT */
/* Signals that must not leave half a job behind. */

#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700 /* SIGXFSZ */

#include "signals.h"

#include <signal.h>
#include <stddef.h>

static sigset_t before; /* what was held already, by the parent */

void signals_prepare(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void signals_hold(void)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGQUIT);
	sigprocmask(SIG_BLOCK, &ends, &before);
}

void signals_release(void)
{
	sigprocmask(SIG_SETMASK, &before, NULL);
}

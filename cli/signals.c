/* SPDX-License-Identifier: MIT */
/* Signals that must not leave half a job behind. */

#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700 /* SIGXFSZ */

#include "signals.h"

#include <signal.h>
#include <stddef.h>

/* Signals that ask to end. */
static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define ENDS (sizeof(ends) / sizeof(*ends))

static void (*tidy_up)(void);
static sigset_t before; /* what was held already, by the parent */

void signals_prepare(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

void signals_hold(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ENDS; i++)
		sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, &before);
}

void signals_release(void)
{
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static volatile sig_atomic_t noted; /* a signal; 0: none */
static struct sigaction found[ENDS];

static void note(int number)
{
	noted = number;
}

void signals_note(void)
{
	struct sigaction caught = { .sa_handler = note, .sa_flags = SA_RESTART };

	sigemptyset(&caught.sa_mask);
	for (size_t i = 0; i < ENDS; i++) {
		/* Under nohup, say, a signal is ignored, and stays so. */
		if (sigaction(ends[i], NULL, &found[i]) == 0 && found[i].sa_handler != SIG_IGN)
			sigaction(ends[i], &caught, NULL);
	}
}

bool signals_noted(void)
{
	return noted != 0;
}

void signals_act(void)
{
	for (size_t i = 0; i < ENDS; i++)
		sigaction(ends[i], &found[i], NULL);
	if (noted != 0)
		raise(noted);
}

/* The signal is held until this returns, and then ends the process as if it had not been caught. */
static void tidy_and_end(int number)
{
	tidy_up();
	signal(number, SIG_DFL);
	raise(number);
}

void signals_tidy(void (*tidy)(void))
{
	struct sigaction caught = { .sa_handler = tidy_and_end }, before_us;

	tidy_up = tidy;
	sigemptyset(&caught.sa_mask);
	for (size_t i = 0; i < ENDS; i++) {
		/* Under nohup, say, a signal is ignored, and stays so. */
		if (sigaction(ends[i], NULL, &before_us) == 0 && before_us.sa_handler == SIG_DFL)
			sigaction(ends[i], &caught, NULL);
	}
}

/* SPDX-License-Identifier: MIT */
/* The progress line: drawn on stderr if that is a terminal, else nothing happens. */

#define _POSIX_C_SOURCE 200809L

#include "progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "number.h"

/* Work that is over sooner needs no line; and a line needs no more than ten redraws per second. */
#define FIRST_DRAW 0.4
#define NEXT_DRAW 0.1

/* An estimate of the time that is left needs some share done, and is not worth telling below. */
#define LEAST_SHARE 0.02
#define LEAST_LEFT 5

static struct {
	bool disabled;
	bool known;
	bool terminal;
	bool drawn;
	const char *work;
	uint64_t total;
	double began;
	double next;
} line;

static double now(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_MONOTONIC, &time) != 0)
		return 0;
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool wanted(void)
{
	if (!line.known) {
		line.terminal = isatty(STDERR_FILENO);
		line.known = true;
	}
	return line.terminal && !line.disabled;
}

void progress_disable(void)
{
	line.disabled = true;
}

void progress_start(const char *work, uint64_t total)
{
	if (!wanted())
		return;
	progress_clear();
	line.work = work;
	line.total = total;
	line.began = now();
	line.next = line.began + FIRST_DRAW;
}

/* How much is done and, when that says something, how long the rest will take at this pace. */
static void draw_share(double share, double seconds)
{
	double left = share > 0 ? seconds / share - seconds : 0;

	fprintf(stderr, ", %.0f %%", 100 * share);
	if (share < LEAST_SHARE || left < LEAST_LEFT)
		return;
	if (left < 2 * 60)
		fprintf(stderr, ", %.0f s left", left);
	else if (left < 2 * 60 * 60)
		fprintf(stderr, ", %.0f min left", left / 60);
	else
		fprintf(stderr, ", %.1f h left", left / (60 * 60));
}

static void draw(uint64_t keys, uint64_t part, double seconds)
{
	char count[NUMBER_TEXT], rate[NUMBER_TEXT];

	number_text_count(keys, count);
	number_text_count((uint64_t)((double)keys / seconds), rate);
	fprintf(stderr, "\r%s: %s keys, %s keys/s", line.work, count, rate);
	if (line.total > 0 && part <= line.total)
		draw_share((double)part / (double)line.total, seconds);
	fputs("\033[K", stderr);
	fflush(stderr);
	line.drawn = true;
}

void progress_update(uint64_t keys, uint64_t part)
{
	double time;

	if (!line.work || !wanted())
		return;
	time = now();
	if (time < line.next)
		return;
	line.next = time + NEXT_DRAW;
	draw(keys, part, time - line.began);
}

void progress_clear(void)
{
	if (!line.drawn)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	line.drawn = false;
}

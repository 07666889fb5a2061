/* SPDX-License-Identifier: MIT
 *
 * disturbance: /proc/stat before and after.
 */
#include "disturbance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "machine.h"

/* Seconds of all processors since the system has been up. */
struct ticks {
	double busy, stolen;
};

static double own_seconds(void)
{
	struct timespec time;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct ticks read_ticks(void)
{
	unsigned long long user, nice, system, idle, wait, interrupt, soft, steal;
	double second = (double)sysconf(_SC_CLK_TCK);
	FILE *file = fopen("/proc/stat", "r");
	int read = file == NULL ? 0
	                        : fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user,
	                                 &nice, &system, &idle, &wait, &interrupt, &soft, &steal);
	if (file != NULL)
		fclose(file);
	if (read != 8)
		return (struct ticks){ NAN, NAN };
	return (struct ticks){ (double)(user + nice + system + interrupt + soft) / second,
		               (double)steal / second };
}

void disturbance_begin(struct disturbance *disturbance)
{
	struct ticks ticks = read_ticks();
	disturbance->seconds = machine_seconds();
	disturbance->others = ticks.busy - own_seconds();
	disturbance->stolen = ticks.stolen;
	disturbance->load = NAN;
}

/* A share of this time, which is short: ticks are a hundredth of a second. */
static double share(double seconds, double of)
{
	return isnan(seconds) ? NAN : fmax(0, seconds) / fmax(of, 1e-3);
}

void disturbance_end(struct disturbance *disturbance)
{
	struct ticks ticks = read_ticks();
	disturbance->seconds = machine_seconds() - disturbance->seconds;
	disturbance->others =
		share(ticks.busy - own_seconds() - disturbance->others, disturbance->seconds);
	disturbance->stolen = share(ticks.stolen - disturbance->stolen, disturbance->seconds);
	if (getloadavg(&disturbance->load, 1) != 1)
		disturbance->load = NAN;
}

bool disturbance_matters(const struct disturbance *disturbance)
{
	if (disturbance->seconds < 0.2) /* ticks are too coarse */
		return false;
	return disturbance->others > 0.1 || disturbance->stolen > 0.02;
}

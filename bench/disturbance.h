/* SPDX-License-Identifier: MIT
 *
 * disturbance: what else happened on the machine while something was measured.
 */
#ifndef NIDUS_BENCH_DISTURBANCE_H
#define NIDUS_BENCH_DISTURBANCE_H

#include <stdbool.h>

/* Not a number: the system does not tell. */
struct disturbance {
	double seconds;
	double others; /* processors that other programs kept busy, on average */
	double stolen; /* processors that the host gave to other machines */
	double load;   /* average of the last minute, at the end */
};

void disturbance_begin(struct disturbance *disturbance);
void disturbance_end(struct disturbance *disturbance);

/* Whether speeds from this time say little: others had a tenth of a processor, or the host two hundredths. */
bool disturbance_matters(const struct disturbance *disturbance);

#endif

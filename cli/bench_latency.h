/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_LATENCY_H
#define NIDUS_CLI_BENCH_LATENCY_H

/** @file bench_latency.h  nidus bench latency: how long one call takes, and how long the worst do. */

#include "bench_speed.h"

/** Operations that it can be told to measure: a sum of enum bench_group. */
#define LATENCY_GROUPS (GROUP_LOOKUP | GROUP_INSERT | GROUP_GROW)

/** Returns an exit code. */
int bench_latency(const struct bench_settings *settings);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_REPORT_H
#define NIDUS_CLI_BENCH_REPORT_H

/** @file bench_report.h  The figures of a run: as a table, as JSON, against the bars. */

#include "bench_ceiling.h"
#include "bench_pass.h"
#include "bench_rows.h"

/** Everything that a run has measured. */
struct bench_result {
	uint64_t n; /* keys that were asked for */
	unsigned rounds;
	bool bars; /* judge against them */
	const struct pass_room *room;
	const struct ceilings *ceilings;
	const struct samples *hashing;
	const struct bench_rows *rows;
};

/** The library, the compiler and the machine: two lines, or the members of an object. */
void bench_print_machine(void);
void bench_json_machine(void);

void bench_print_table(const struct bench_result *result);
void bench_print_json(const struct bench_result *result);

/** How many bars were reached and how many were not. */
struct bench_verdict {
	unsigned reached, missed;
};

struct bench_verdict bench_judge(const struct bench_result *result);

#endif

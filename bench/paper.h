/* SPDX-License-Identifier: MIT
 *
 * paper: the rows of a run of bench_paper, what a paper says beside what was
 * measured here, as a table and as JSON.
 */
#ifndef NIDUS_BENCH_PAPER_H
#define NIDUS_BENCH_PAPER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PAPER_ROUNDS_MOST 8

/* How long a run may take, and what it may need. */
struct paper_scale {
	bool quick;
	double seconds;    /* that are left when the run begins; 0: no limit */
	unsigned retries;  /* of a round that other programs disturbed */
	uint64_t keys;     /* of filters whose speed is measured */
	uint64_t slots;    /* of tables that are filled until a key is refused */
	unsigned rounds;   /* of each speed; medians are reported */
	unsigned fills;    /* filters per point where chance matters */
	uint64_t lookups;  /* per speed */
	uint64_t trials;   /* foreign keys that are looked up to measure a rate */
	unsigned threads;  /* at most */
	unsigned log_most; /* the largest power of two of sweeps over sizes */
};

/* What a row's figures may be compared with. */
enum paper_compare {
	PAPER_VALUE, /* the paper's figure: loads, rates and bits are the same everywhere */
	PAPER_RATIO, /* only ratios to the reference row of the same machine */
};

/* One table or figure of a paper. Texts are static. */
struct experiment {
	const char *paper; /* "windowed" */
	const char *id;    /* unique within the paper: "table-3-speed" */
	const char *place; /* "Table 3" */
	const char *title;
	const char *x;    /* what rows of one series differ in; NULL: nothing */
	const char *unit; /* of the values */
	enum paper_compare compare;
	const char *reference; /* the series of which ratios are taken, at the same x */
	bool log_x, log_y;     /* axes of a plot */
	double keys,
		slots;    /* of the filters, for the title; keys of speeds: 0: as the scale says */
	const char *note; /* what differs from the paper; NULL: nothing */
};

#define PAPER_NONE NAN /* the paper has no such value, or there is no x */

struct paper_run; /* everything measured so far */

/* Ends the program with a message if memory runs out. */
struct paper_run *paper_run_new(const struct paper_scale *scale);
void paper_run_free(struct paper_run *run);
const struct paper_scale *paper_scale(const struct paper_run *run);

/* Begins an experiment; rows go there until the next one begins. */
void paper_begin(struct paper_run *run, const struct experiment *experiment);

/*
 * Whether to make one more round of the experiment, or of what several experiments are made from:
 *
 *     paper_prepare(run, "cpcf", "figures 4 and 5"); // or paper_begin
 *     while (paper_again(run))
 *             measure(run, paper_round(run));
 *
 * There are as many rounds as the scale says, and fewer, but at least one, where time is
 * short. A round during which other programs worked, or the host took the processors away, is
 * made once more under the same number, and what it has added is forgotten: as often as
 * scale.retries says, and no more once that has been in vain four times in a row. What happened is in the JSON.
 */
void paper_prepare(struct paper_run *run, const char *paper, const char *what);
bool paper_again(struct paper_run *run);
unsigned paper_round(const struct paper_run *run); /* from 0 on */

/*
 * Adds a value. Values of the same series and x are samples of one row: the median
 * counts, the least and the most are kept. `series` is copied.
 */
void paper_add(struct paper_run *run, const char *series, double x, double said, double ours);

/* Prints the experiment that is under way as a table. */
void paper_end(struct paper_run *run);

/* What a run was, for its JSON. */
struct paper_words {
	const char *commit, *note; /* may be "" */
	double seconds, share;     /* it took, and the share of a processor that it had */
};

/*
 * Opens the file for a run's JSON (NULL for NULL), before hours of work, so that a wrong
 * path is known at once; and writes the whole run to it and closes it. Both end the program
 * with exit code 3 if the system refuses.
 */
FILE *paper_open_json(const char *path);
void paper_save_json(const struct paper_run *run, FILE *file, const struct paper_words *words);

/* The papers, by name. */
struct paper {
	const char *name, *title, *machine;
	void (*measure)(struct paper_run *run);
};

extern const struct paper papers[];
extern const size_t papers_number;

void paper_windowed(struct paper_run *run);
void paper_cpcf(struct paper_run *run);
void paper_cuckoo(struct paper_run *run);
void paper_simplified(struct paper_run *run);
void paper_breadcrumb(struct paper_run *run);

#endif

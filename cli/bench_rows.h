/* SPDX-License-Identifier: MIT */
#ifndef NIDUS_CLI_BENCH_ROWS_H
#define NIDUS_CLI_BENCH_ROWS_H

/**
 * @file bench_rows.h  What nidus bench speed measures: filters, operations, and the bars.
 *
 * A row is a family with a shape. A bar is the least share of a ceiling that
 * an operation should reach.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench_ceiling.h"
#include "bench_samples.h"
#include "nidus.h"

enum bench_op {
	OP_LOOKUP_PRESENT,
	OP_LOOKUP_ABSENT,
	OP_SINGLE_PRESENT,
	OP_SINGLE_ABSENT,
	OP_PREFETCHED_PRESENT,
	OP_PREFETCHED_ABSENT,
	OP_INSERT,
	OP_INSERT_LAST,
	OP_SINGLE_INSERT,
	OP_SINGLE_INSERT_LAST,
	OP_BUILD,
	OP_BUILD_CREW,
	OP_MERGE,
	OP_REMOVE,
	OP_SINGLE_REMOVE,
	OP_VALUES_FIND,
	OP_VALUES_ABSENT,
	OP_VALUES_INSERT,
	OP_VALUES_BUILD,
	OPS
};

/** Operations that are measured together, as bits of a set. */
enum bench_group {
	GROUP_LOOKUP = 1 << 0,
	GROUP_INSERT = 1 << 1,
	GROUP_BUILD = 1 << 2,
	GROUP_MERGE = 1 << 3,
	GROUP_REMOVE = 1 << 4,
	GROUP_GROW = 1 << 5,   /* of nidus bench latency alone */
	GROUP_VALUES = 1 << 6, /* of nidus bench speed alone */
	GROUPS = 7,
	GROUP_ALL = (1 << GROUPS) - 1
};

struct op_words {
	const char *name;  /* in JSON */
	const char *label; /* in the table */
	/* What it is compared with if not with a ceiling: another operation of the row. */
	const char *against; /* NULL: a ceiling */
	enum bench_op base;
};

extern const struct op_words op_words[OPS];
extern const char *const group_names[GROUPS]; /* by the number of the bit */

/** How the rate of a row is chosen. */
enum row_measure {
	BY_RATE,        /* fpr = 2^-amount */
	BY_FINGERPRINT, /* the highest fpr with fingerprints of `amount` bits */
	BY_SPACE        /* the lowest fpr that takes `amount` bits per key */
};

/** Shares of ceilings, by column of the table of bars; 0: no bar. */
struct row_bars {
	double lookup, single;        /* present and absent, of the row's lookup ceiling */
	double insert, single_insert; /* whole fill, of CW */
	double build, merge;          /* of CW */
	double build_gain;            /* of two threads over one */
	double remove, single_remove; /* of the row's remove ceiling */
	double cached_lookup;         /* when the table is in the cache, of C1 */
};

struct row_spec {
	const char *name;
	nidus_family family;
	unsigned slots;
	enum row_measure measure;
	double amount;
	uint32_t features; /* of its options */
	bool power_of_two; /* filled to 0.95 of a power of two of slots */
	bool merges;       /* merging is measured */
	enum ceiling lookup, remove;
	struct row_bars bars;
};

/** A row of this run. */
struct bench_row {
	struct row_spec spec;
	nidus_options options;
	uint64_t keys;
	nidus_info info; /* when it was full last */
	double fpr;      /* as absent lookups found it; negative: not measured */
	struct samples rates[OPS];
};

/** The most rows of a run. */
#define ROWS_MOST 30

struct bench_rows {
	size_t n;
	struct bench_row *row[ROWS_MOST];
};

/**
 * Adds the rows that the text names ("windowed-2,cuckoo"; NULL: all that this
 * library has), sized for about n keys. A name takes all rows that begin with
 * it and go on with a dash. Returns an exit code, after a message if it is not
 * EXIT_OK; free the rows in any case.
 */
int rows_select(struct bench_rows *rows, const char *names, uint64_t n);
void rows_free(struct bench_rows *rows);

/** The names of all rows as one text. */
void rows_list(char *text, size_t size);

/** Tables up to here (in keys) count as being in the cache. */
#define ROWS_CACHED 10000000u

/** A bar: at least `share` of what `ceiling` allows, or of what op_words[].base reached. */
struct row_bar {
	double share; /* 0: none */
	enum ceiling ceiling;
};

/** The ceiling of an operation, and its bar. */
struct row_bar row_bar(const struct bench_row *row, enum bench_op op);

#endif

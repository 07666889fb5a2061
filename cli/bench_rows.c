/* SPDX-License-Identifier: MIT */
/* The table of rows and bars, and the options that give a row what its name says. */

#include "bench_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* More than any numbering of families will ever need. */
#define MOST_FAMILIES 64

/* Rates are sought in steps of a sixteenth of a bit, from 2^-4 to 2^-24. */
#define RATE_STEPS 320
#define RATE_STEPS_PER_BIT 16.0
#define RATE_FIRST_BITS 4.0

const struct op_words op_words[OPS] = {
	[OP_LOOKUP_PRESENT] = { .name = "lookup_batch_present", .label = "lookup, batch, present" },
	[OP_LOOKUP_ABSENT] = { .name = "lookup_batch_absent", .label = "lookup, batch, absent" },
	[OP_SINGLE_PRESENT] = { .name = "lookup_single_present",
	                        .label = "lookup, single, present" },
	[OP_SINGLE_ABSENT] = { .name = "lookup_single_absent", .label = "lookup, single, absent" },
	[OP_PREFETCHED_PRESENT] = { "lookup_prefetched_present", "lookup, prefetched, present",
	                            "batch", OP_LOOKUP_PRESENT },
	[OP_PREFETCHED_ABSENT] = { "lookup_prefetched_absent", "lookup, prefetched, absent",
	                           "batch", OP_LOOKUP_ABSENT },
	[OP_INSERT] = { .name = "insert_batch", .label = "insert, batch, whole fill" },
	[OP_INSERT_LAST] = { .name = "insert_batch_last", .label = "insert, batch, last 5 %" },
	[OP_SINGLE_INSERT] = { .name = "insert_single", .label = "insert, single, whole fill" },
	[OP_SINGLE_INSERT_LAST] = { .name = "insert_single_last",
	                            .label = "insert, single, last 5 %" },
	[OP_BUILD] = { .name = "build", .label = "build, 1 thread" },
	[OP_BUILD_CREW] = { "build_threads", "build, threads", "one thread", OP_BUILD },
	[OP_MERGE] = { .name = "merge", .label = "merge, keys of both" },
	[OP_REMOVE] = { .name = "remove_batch", .label = "remove, batch" },
	[OP_SINGLE_REMOVE] = { .name = "remove_single", .label = "remove, single" },
	[OP_VALUES_FIND] = { "values_find", "values, find, present", "without", OP_LOOKUP_PRESENT },
	[OP_VALUES_ABSENT] = { "values_lookup_absent", "values, lookup, absent", "without",
	                       OP_LOOKUP_ABSENT },
	[OP_VALUES_INSERT] = { "values_insert", "values, insert, whole fill", "without",
	                       OP_INSERT },
	[OP_VALUES_BUILD] = { "values_build", "values, build, 1 thread", "without", OP_BUILD },
};

const char *const group_names[GROUPS] = { "lookup", "insert", "build", "merge",
	                                  "remove", "grow",   "values" };

/* Single lookups of keys that were prefetched, of batch lookups: the same for every row. */
#define PREFETCHED_BAR 0.9

/* Batches on filters that keep values, of the same without values: the same for every row. */
#define VALUES_FIND_BAR 0.7
#define VALUES_ABSENT_BAR 0.9
#define VALUES_INSERT_BAR 0.85
#define VALUES_BUILD_BAR 0.75

#define WINDOW2_BARS                     \
	.bars = { .lookup = 0.80,        \
		  .single = 0.30,        \
		  .insert = 0.06,        \
		  .single_insert = 0.04, \
		  .build = 0.18,         \
		  .build_gain = 1.6,     \
		  .remove = 0.35,        \
		  .single_remove = 0.28, \
		  .cached_lookup = 0.9 }
#define WINDOW4_BARS                     \
	.bars = { .lookup = 0.80,        \
		  .single = 0.30,        \
		  .insert = 0.08,        \
		  .single_insert = 0.06, \
		  .build = 0.20,         \
		  .build_gain = 1.6,     \
		  .remove = 0.35,        \
		  .single_remove = 0.28 }
#define BUCKET_BARS                      \
	.bars = { .lookup = 0.80,        \
		  .single = 0.30,        \
		  .insert = 0.08,        \
		  .single_insert = 0.06, \
		  .build = 0.20,         \
		  .build_gain = 1.6,     \
		  .remove = 0.35,        \
		  .single_remove = 0.28, \
		  .cached_lookup = 0.9 }
#define COMPACT_BARS .bars = { .lookup = 0.60, .build = 0.10 }
#define TWO_LINES .lookup = CEILING_TWO, .remove = CEILING_TWO
#define ONE_LINE .lookup = CEILING_ONE, .remove = CEILING_WRITE

static const struct row_spec specs[] = {
	{ .name = "breadcrumb-k8",
	  .family = NIDUS_BREADCRUMB,
	  .measure = BY_RATE,
	  .amount = 8,
	  .merges = true,
	  ONE_LINE,
	  .bars = { .lookup = 0.45,
	            .single = 0.15,
	            .insert = 0.35,
	            .single_insert = 0.12,
	            .build = 0.35,
	            .merge = 0.45,
	            .build_gain = 1.6,
	            .remove = 0.18,
	            .single_remove = 0.08,
	            .cached_lookup = 0.55 } },
	{ "windowed-2-k8", NIDUS_WINDOWED, 2, BY_RATE, 8, TWO_LINES, WINDOW2_BARS },
	{ "windowed-2-k14", NIDUS_WINDOWED, 2, BY_RATE, 14, TWO_LINES, WINDOW2_BARS },
	{ "windowed-4-k8", NIDUS_WINDOWED, 4, BY_RATE, 8, TWO_LINES, WINDOW4_BARS },
	{ "windowed-4-k13", NIDUS_WINDOWED, 4, BY_RATE, 13, TWO_LINES, WINDOW4_BARS },
	{ "bucketed-2-k8", NIDUS_BUCKETED, 2, BY_RATE, 8, TWO_LINES, BUCKET_BARS },
	{ "bucketed-2-k13", NIDUS_BUCKETED, 2, BY_RATE, 13, TWO_LINES, BUCKET_BARS },
	{ "bucketed-4-k8", NIDUS_BUCKETED, 4, BY_RATE, 8, TWO_LINES, BUCKET_BARS },
	{ "bucketed-4-k13", NIDUS_BUCKETED, 4, BY_RATE, 13, TWO_LINES, BUCKET_BARS },
	{ .name = "bucketed-compact-k8",
	  .family = NIDUS_BUCKETED,
	  .measure = BY_RATE,
	  .amount = 8,
	  .features = NIDUS_COMPACT,
	  TWO_LINES,
	  COMPACT_BARS },
	{ .name = "bucketed-compact-k13",
	  .family = NIDUS_BUCKETED,
	  .measure = BY_RATE,
	  .amount = 13,
	  .features = NIDUS_COMPACT,
	  TWO_LINES,
	  COMPACT_BARS },
	{ .name = "chunked-f12",
	  .family = NIDUS_CHUNKED,
	  .measure = BY_FINGERPRINT,
	  .amount = 12,
	  TWO_LINES,
	  .bars = { .lookup = 0.85,
	            .single = 0.34,
	            .insert = 0.12,
	            .single_insert = 0.09,
	            .build = 0.25,
	            .build_gain = 1.6,
	            .remove = 0.40,
	            .single_remove = 0.28,
	            .cached_lookup = 0.9 } },
	{ .name = "cuckoo-f12",
	  .family = NIDUS_CUCKOO,
	  .slots = 4,
	  .measure = BY_FINGERPRINT,
	  .amount = 12,
	  .power_of_two = true,
	  TWO_LINES,
	  .bars = { .lookup = 0.80,
	            .single = 0.34,
	            .insert = 0.05,
	            .single_insert = 0.04,
	            .remove = 0.40,
	            .single_remove = 0.28,
	            .cached_lookup = 0.8 } },
	{ .name = "semisort-f12",
	  .family = NIDUS_SEMISORT,
	  .measure = BY_FINGERPRINT,
	  .amount = 12,
	  .power_of_two = true,
	  TWO_LINES },
	{ .name = "semisort-k8",
	  .family = NIDUS_SEMISORT,
	  .measure = BY_RATE,
	  .amount = 8,
	  .power_of_two = true,
	  TWO_LINES,
	  .bars = { .lookup = 0.60 } },
	{ .name = "simplified-k8",
	  .family = NIDUS_SIMPLIFIED,
	  .measure = BY_RATE,
	  .amount = 8,
	  TWO_LINES },
	{ .name = "blocked-bloom-12",
	  .family = NIDUS_BLOCKED_BLOOM,
	  .measure = BY_SPACE,
	  .amount = 12,
	  ONE_LINE,
	  .bars = { .lookup = 0.75, .single = 0.27, .insert = 0.60, .single_insert = 0.33 } },
	{ .name = "bloom-12", .family = NIDUS_BLOOM, .measure = BY_SPACE, .amount = 12, ONE_LINE },
	{ .name = "ribbon-k8",
	  .family = NIDUS_RIBBON,
	  .measure = BY_RATE,
	  .amount = 8,
	  TWO_LINES,
	  .bars = { .lookup = 0.5, .single = 0.2, .build_gain = 1.7 } },
	{ .name = "ribbon-k32",
	  .family = NIDUS_RIBBON,
	  .measure = BY_RATE,
	  .amount = 32,
	  TWO_LINES },
};

#define SPECS (sizeof(specs) / sizeof(specs[0]))

/* ---------------------------------------------------------------- sizing -- */

static bool plan_of(const nidus_options *options, nidus_plan_row *found)
{
	nidus_plan_row rows[MOST_FAMILIES];
	size_t n = 0;

	if (nidus_plan(options, rows, MOST_FAMILIES, &n) != NIDUS_OK)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (rows[i].family == options->family && rows[i].status == NIDUS_OK) {
			*found = rows[i];
			return true;
		}
	}
	return false;
}

static double rate_at(unsigned step)
{
	return exp2(-(RATE_FIRST_BITS + step / RATE_STEPS_PER_BIT));
}

/* Whether the filter of this rate has reached the amount that the row is named after. */
static bool reaches(const struct bench_row *row, unsigned step)
{
	nidus_options options = row->options;
	nidus_plan_row plan;

	options.fpr = rate_at(step);
	if (!plan_of(&options, &plan))
		return false;
	if (row->spec.measure == BY_FINGERPRINT)
		return plan.fingerprint_bits >= row->spec.amount;
	return plan.bits_per_key > row->spec.amount;
}

/* The first step that reaches it, by halving; RATE_STEPS if none does. */
static unsigned first_reaching(const struct bench_row *row)
{
	unsigned low = 0, high = RATE_STEPS;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (reaches(row, middle))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static double rate_of(const struct bench_row *row)
{
	unsigned step;

	if (row->spec.measure == BY_RATE)
		return exp2(-row->spec.amount);
	step = first_reaching(row);
	if (row->spec.measure == BY_SPACE && step > 0)
		step--; /* the last one that does not take more */
	return rate_at(step);
}

/* 0.95 of the power of two that comes nearest: 0.95 * 2^27 for 10^8. */
static uint64_t near_power_of_two(uint64_t n)
{
	double power = exp2(floor(log2((double)n / 0.95) + 0.5));

	return (uint64_t)(0.95 * power);
}

static bool add_row(struct bench_rows *rows, const struct row_spec *spec, uint64_t n)
{
	struct bench_row *row = calloc(1, sizeof(*row));

	if (!row)
		return false;
	row->spec = *spec;
	row->keys = spec->power_of_two ? near_power_of_two(n) : n;
	row->options = (nidus_options)NIDUS_OPTIONS_INIT;
	row->options.family = spec->family;
	row->options.slots = spec->slots;
	row->options.features = spec->features;
	row->options.capacity = row->keys;
	row->options.seed = 1; /* every run measures the same filters */
	row->options.fpr = rate_of(row);
	row->fpr = -1;
	rows->row[rows->n++] = row;
	return true;
}

/* ------------------------------------------------------------- selecting -- */

static bool has_spec(nidus_family family)
{
	for (size_t i = 0; i < SPECS; i++) {
		if (specs[i].family == family)
			return true;
	}
	return false;
}

/* The rows of this library: those of the table, and families that the table does not know. */
static size_t known_rows(struct row_spec known[ROWS_MOST])
{
	size_t n = 0;

	for (size_t i = 0; i < SPECS; i++) {
		if (nidus_family_features(specs[i].family) != 0)
			known[n++] = specs[i];
	}
	for (int i = 1; i < MOST_FAMILIES && n < ROWS_MOST; i++) {
		nidus_family family = (nidus_family)i;

		if (nidus_family_features(family) != 0 && !has_spec(family))
			known[n++] = (struct row_spec){ .name = nidus_family_name(family),
				                        .family = family,
				                        .measure = BY_RATE,
				                        .amount = 8,
				                        TWO_LINES };
	}
	return n;
}

static bool is_named(const char *row, const char *name, size_t length)
{
	return strncmp(row, name, length) == 0 && (row[length] == '\0' || row[length] == '-');
}

/* Whether a list of names, separated by commas, has this row. */
static bool is_listed(const char *row, const char *names)
{
	while (*names) {
		size_t length = strcspn(names, ",");

		if (is_named(row, names, length))
			return true;
		names += length;
		names += *names == ',';
	}
	return false;
}

/* Every name must mean something: EXIT_OK, or EXIT_USAGE after a message. */
static int check_names(const char *names, const struct row_spec *known, size_t n)
{
	char list[512];

	for (;;) {
		size_t length = strcspn(names, ","), i = 0;

		while (i < n && (length == 0 || !is_named(known[i].name, names, length)))
			i++;
		if (i == n) {
			rows_list(list, sizeof(list));
			return report_usage("bench", "-f: unknown row '%.*s'; choose from: %s",
			                    (int)length, names, list);
		}
		if (names[length] == '\0')
			return EXIT_OK;
		names += length + 1;
	}
}

int rows_select(struct bench_rows *rows, const char *names, uint64_t n)
{
	struct row_spec known[ROWS_MOST];
	size_t count = known_rows(known);
	int code = names ? check_names(names, known, count) : EXIT_OK;

	rows->n = 0;
	for (size_t i = 0; i < count && code == EXIT_OK; i++) {
		if (names && !is_listed(known[i].name, names))
			continue;
		if (!add_row(rows, &known[i], n))
			code = report_memory("benchmarking");
	}
	return code;
}

void rows_free(struct bench_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->row[i]);
	rows->n = 0;
}

void rows_list(char *text, size_t size)
{
	struct row_spec known[ROWS_MOST];
	size_t n = known_rows(known), used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
		                         known[i].name);
}

/* ------------------------------------------------------------------ bars -- */

/* The bars for tables in memory. */
static struct row_bar memory_bar(const struct row_spec *spec, enum bench_op op)
{
	const struct row_bars *bars = &spec->bars;

	switch (op) {
	case OP_LOOKUP_PRESENT:
	case OP_LOOKUP_ABSENT:
		return (struct row_bar){ bars->lookup, spec->lookup };
	case OP_SINGLE_PRESENT:
	case OP_SINGLE_ABSENT:
		return (struct row_bar){ bars->single, spec->lookup };
	case OP_PREFETCHED_PRESENT:
	case OP_PREFETCHED_ABSENT:
		return (struct row_bar){ PREFETCHED_BAR, spec->lookup };
	case OP_INSERT:
		return (struct row_bar){ bars->insert, CEILING_WRITE };
	case OP_SINGLE_INSERT:
		return (struct row_bar){ bars->single_insert, CEILING_WRITE };
	case OP_BUILD:
		return (struct row_bar){ bars->build, CEILING_WRITE };
	case OP_BUILD_CREW:
		return (struct row_bar){ bars->build_gain, CEILING_WRITE };
	case OP_MERGE:
		return (struct row_bar){ bars->merge, CEILING_WRITE };
	case OP_REMOVE:
		return (struct row_bar){ bars->remove, spec->remove };
	case OP_SINGLE_REMOVE:
		return (struct row_bar){ bars->single_remove, spec->remove };
	case OP_VALUES_FIND:
		return (struct row_bar){ VALUES_FIND_BAR, spec->lookup };
	case OP_VALUES_ABSENT:
		return (struct row_bar){ VALUES_ABSENT_BAR, spec->lookup };
	case OP_VALUES_INSERT:
		return (struct row_bar){ VALUES_INSERT_BAR, CEILING_WRITE };
	case OP_VALUES_BUILD:
		return (struct row_bar){ VALUES_BUILD_BAR, CEILING_WRITE };
	default:
		return (struct row_bar){ 0, CEILING_WRITE };
	}
}

struct row_bar row_bar(const struct bench_row *row, enum bench_op op)
{
	struct row_bar bar = memory_bar(&row->spec, op);

	if (row->keys > ROWS_CACHED)
		return bar;
	bar.share = 0;
	if (op == OP_LOOKUP_PRESENT || op == OP_LOOKUP_ABSENT)
		bar = (struct row_bar){ row->spec.bars.cached_lookup, CEILING_ONE };
	return bar;
}

/* SPDX-License-Identifier: MIT
 *
 * paper_breadcrumb: the tables and figures of "Breadcrumb Filters: Fast Fully Featured
 * Filters". Its Table 5, WiredTiger, is bench_wiredtiger.
 *
 * The paper's load L counts backyard lines as if they were full front lines: keys per
 * front line are 57.375 * L with 8 bits (BCF53) and 31.5 * L with 16 (BCF36).
 */
#include <stdlib.h>

#include "bench_keys.h"
#include "gauge.h"
#include "insertion.h"
#include "paper.h"
#include "tally.h"

#define CACHED_SLOTS (UINT64_C(1) << 22) /* what the paper measures in the cache */
#define CHURN_MOST 50
#define LINE_BYTES 64
#define YARDS_PER_FRONT 1.125 /* lines of both yards for each front line */

enum kind { BCF8, BCF16, CUCKOO, CHUNKED, WINDOWED, BLOCKED, KINDS };

static const struct {
	const char *name;
	nidus_family family;
	unsigned slots;
	double fpr;
	double per_line; /* keys per front line at L = 1 */
} kinds[KINDS] = {
	[BCF8] = { "breadcrumb, 8 bits", NIDUS_BREADCRUMB, 0, 1.0 / 256, 57.375 },
	[BCF16] = { "breadcrumb, 16 bits", NIDUS_BREADCRUMB, 0, 0.000012, 31.5 },
	[CUCKOO] = { "cuckoo, 12 bits", NIDUS_CUCKOO, 4, 1.0 / 512, 0 },
	[CHUNKED] = { "chunked, 12 bits", NIDUS_CHUNKED, 4, 1.0 / 512, 0 },
	[WINDOWED] = { "windowed, k = 8", NIDUS_WINDOWED, 2, 1.0 / 256, 0 },
	[BLOCKED] = { "blocked Bloom, k = 8", NIDUS_BLOCKED_BLOOM, 0, 1.0 / 256, 0 },
};

static nidus_options options_of(enum kind kind, uint64_t keys)
{
	if (kind == CUCKOO) /* a power of two, filled as far as it goes */
		keys = (uint64_t)(0.95 * exp2(floor(log2((double)keys))));
	return gauge_options(kinds[kind].family, kinds[kind].slots, keys, kinds[kind].fpr);
}

/* The keys of a breadcrumb filter at the paper's load L; of others, at this share of slots. */
static uint64_t keys_at_load(enum kind kind, const nidus_info *info, double load)
{
	double fronts = (double)info->bytes / LINE_BYTES / YARDS_PER_FRONT;
	double per_line = kinds[kind].per_line;
	return (uint64_t)(load * (per_line > 0 ? per_line * fronts : (double)info->total_slots));
}

static double load_of(enum kind kind, const nidus_info *info, double keys)
{
	return keys / (double)keys_at_load(kind, info, 1);
}

/* ---------------------------------------------------------------------- Fig. 1 -- */

enum operation { INSERT, RANDOM, POSITIVE, REMOVE, MERGE, OPERATIONS };

static const struct {
	const char *id, *title;
	double said[KINDS];
} figure_1_said[OPERATIONS] = {
	[INSERT] = { "figure-1-insert",
	             "inserts, a whole fill",
	             { 19.9, NAN, 6.3, NAN, NAN, NAN } },
	[RANDOM] = { "figure-1-random",
	             "lookups of random keys",
	             { 28.6, NAN, NAN, NAN, NAN, NAN } },
	[POSITIVE] = { "figure-1-positive",
	               "lookups of present keys",
	               { 21.0, NAN, NAN, NAN, NAN, NAN } },
	[REMOVE] = { "figure-1-remove",
	             "removes, down to empty",
	             { 16.6, NAN, NAN, NAN, NAN, NAN } },
	[MERGE] = { "figure-1-merge", "merging two filters", { 14.9, NAN, NAN, NAN, NAN, NAN } },
};

static double measure_operation(enum kind kind, enum operation operation, uint64_t keys,
                                uint64_t lookups)
{
	nidus_options options = options_of(kind, keys);
	if (operation == MERGE)
		return gauge_rate(gauge_merge(&options));
	nidus_filter *filter = gauge_make(&options);
	struct gauge_speed speed = gauge_insert(filter, 0, options.capacity, GAUGE_BATCH);
	if (operation == RANDOM || operation == POSITIVE)
		speed = gauge_lookup(filter, speed.keys, operation == POSITIVE, lookups,
		                     GAUGE_BATCH);
	else if (operation == REMOVE)
		speed = gauge_remove(filter, 0, speed.keys, GAUGE_BATCH);
	nidus_free(filter);
	return gauge_rate(speed);
}

static bool can(enum kind kind, enum operation operation)
{
	return operation != REMOVE || kind != BLOCKED;
}

static void figure_1(struct paper_run *run, enum operation operation)
{
	const struct paper_scale *scale = paper_scale(run);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = figure_1_said[operation].id,
			.place = "Fig. 1",
			.title = figure_1_said[operation].title,
			.unit = "M keys/s",
			.compare = PAPER_RATIO,
			.reference = "breadcrumb, 8 bits",
			.note = "the paper: 2^30 slots, one call per key; here batch calls. It also "
				"has vector quotient (insert 14.8, remove 15.7) and Morton filters "
				"(6.7, 8.7)" });
	while (paper_again(run)) {
		for (unsigned kind = 0; kind < KINDS; kind++) {
			if (can(kind, operation))
				paper_add(run, kinds[kind].name, PAPER_NONE,
				          figure_1_said[operation].said[kind],
				          measure_operation(kind, operation, scale->keys,
				                            scale->lookups));
		}
	}
	paper_end(run);
}

/* ------------------------------------------------------------------- section 2 -- */

#define SINGLE_SLOTS 64

/* The load of lines that have nowhere to spill to, when a key meets a full one. */
static double load_of_single_choice(uint64_t lines, uint64_t seed)
{
	uint8_t *line = gauge_take(lines, 1);
	uint64_t keys = 0;
	while (line[keys_at((seed << 40) + keys) % lines]++ < SINGLE_SLOTS)
		keys++;
	free(line);
	return (double)keys / (double)(lines * SINGLE_SLOTS);
}

static void section_2(struct paper_run *run)
{
	const struct paper_scale *scale = paper_scale(run);
	uint64_t lines = UINT64_C(1) << (scale->quick ? 18 : 24);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "section-2",
			.slots = (double)lines * SINGLE_SLOTS,
			.place = "section 2",
			.title = "load of lines of 64 slots without a backyard",
			.unit = "load",
			.note = "a simulation there as here: random keys until one meets a full "
				"line, 2^24 lines (quick: 2^18, which reach more)" });
	for (unsigned seed = 1; seed <= scale->rounds; seed++)
		paper_add(run, "single choice", PAPER_NONE, 0.476,
		          load_of_single_choice(lines, seed));
	paper_end(run);
}

/* ------------------------------------------------------------ Table 1 and Fig. 5 -- */

static void table_1(struct paper_run *run)
{
	static const struct {
		enum kind kind;
		double said;
	} rows[] = { { BCF8, 0.39 }, { BCF16, 0.0018 } };
	paper_begin(run,
	            &(struct experiment){
			    .paper = "breadcrumb",
			    .id = "table-1",
			    .keys = (double)paper_scale(run)->keys,
			    .place = "Table 1",
			    .title = "rate at full capacity",
			    .unit = "percent",
			    .note = "36 mini-buckets at 16 bits give at most 0.0012 %, so that the "
				    "paper's 0.0018 % cannot be its filter's rate" });
	for (unsigned i = 0; i < 2; i++) {
		nidus_options options = options_of(rows[i].kind, paper_scale(run)->keys);
		nidus_filter *filter = gauge_full(&options);
		paper_add(run, kinds[rows[i].kind].name, PAPER_NONE, rows[i].said,
		          100 * gauge_foreign(filter, 2 * paper_scale(run)->trials));
		nidus_free(filter);
	}
	paper_end(run);
}

static double said_efficiency(enum kind kind, double load)
{
	return kind == BCF8 && load == 0.9 ? 0.718 : PAPER_NONE;
}

/* Efficiency at growing loads, and the highest one, where a key is refused. */
static void efficiency_of(struct paper_run *run, enum kind kind, double most)
{
	nidus_options options = options_of(kind, paper_scale(run)->slots);
	nidus_filter *filter = gauge_make(&options);
	nidus_info empty = gauge_look(filter), info = empty;
	uint64_t in = 0;
	for (unsigned percent = 10; percent <= 100; percent += percent < 80 ? 10 : 5) {
		uint64_t to = keys_at_load(kind, &empty, percent / 100.0);
		struct gauge_speed speed = gauge_insert(filter, in, to, GAUGE_BATCH);
		bool full = speed.keys < to - in;
		in += speed.keys;
		info = gauge_look(filter);
		if (full)
			break;
		paper_add(run, kinds[kind].name, percent / 100.0,
		          said_efficiency(kind, percent / 100.0), gauge_efficiency(&info));
	}
	char name[48];
	snprintf(name, sizeof name, "%s, at most", kinds[kind].name);
	paper_add(run, name, round(100 * load_of(kind, &empty, (double)in)) / 100, most,
	          gauge_efficiency(&info));
	nidus_free(filter);
}

static void figure_5(struct paper_run *run)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "figure-5",
			.slots = (double)paper_scale(run)->slots,
			.place = "Fig. 5",
			.title = "space efficiency by load",
			.x = "load",
			.unit = "n log2(1 / fpr) / bits",
			.note = "breadcrumb loads in the paper's unit, of which backyards are part; "
				"\"at most\": where a key is refused" });
	efficiency_of(run, BCF8, 0.7307);
	efficiency_of(run, BCF16, PAPER_NONE);
	efficiency_of(run, CUCKOO, 0.715);
	efficiency_of(run, WINDOWED, PAPER_NONE);
	paper_end(run);
}

/* ---------------------------------------------------------------------- Fig. 4 -- */

static void figure_4(struct paper_run *run)
{
	static const struct {
		nidus_family family;
		unsigned slots;
	} families[] = { { NIDUS_BREADCRUMB, 0 }, { NIDUS_CUCKOO, 4 }, { NIDUS_WINDOWED, 2 },
		         { NIDUS_SEMISORT, 4 },   { NIDUS_BLOOM, 0 },  { NIDUS_BLOCKED_BLOOM, 0 } };
	const struct paper_scale *scale = paper_scale(run);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "figure-4",
			.keys = (double)(scale->slots / 4),
			.place = "Fig. 4",
			.title = "rate by space, full filters",
			.x = "bits per key",
			.unit = "false-positive rate",
			.log_y = true,
			.note = "the paper shows points of several configurations only, filled as far as a "
				"run succeeds; here every width between rates of 2^-4 and 2^-18, "
				"filled until a key is refused, no stash; Bloom filters to their capacity" });
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		double before = 0;
		bool bloom = families[i].family == NIDUS_BLOOM ||
		             families[i].family == NIDUS_BLOCKED_BLOOM;
		for (int k = 4; k <= 18; k++) {
			nidus_options options = gauge_options(families[i].family, families[i].slots,
			                                      scale->slots / 4, ldexp(1, -k));
			if (!bloom)
				options.stash = NIDUS_STASH_OFF;
			nidus_filter *filter = gauge_make(&options);
			uint64_t most = bloom ? options.capacity : UINT64_C(1) << 40;
			gauge_insert(filter, 0, most, GAUGE_BATCH);
			nidus_info info = gauge_look(filter);
			double bits = round(800 * (double)info.bytes / (double)info.count) / 100;
			double rate = gauge_foreign(filter, scale->trials);
			nidus_free(filter);
			if (bits > before + 0.2 && rate > 0) /* else the same width again */
				paper_add(run, nidus_family_name(families[i].family), bits,
				          PAPER_NONE, rate);
			before = fmax(before, bits);
		}
	}
	paper_end(run);
}

/* --------------------------------------------- section 3.3 and lines of 32 bytes -- */

static void section_3_3(struct paper_run *run)
{
	unsigned most = paper_scale(run)->quick ? 15 : 21;
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "section-3-3",
			.place = "section 3.3",
			.title = "load that the XOR trick loses against the paper's map",
			.x = "log2 front lines",
			.unit = "percent",
			.note = "counts of the paper's own design without moves, until a key is "
				"refused. The paper: 12 to 20 %, by configuration" });
	for (unsigned shape = 0; shape < TALLIES; shape++) {
		for (unsigned log = 9; log <= most; log += 3) {
			for (unsigned seed = 1; seed <= 8; seed++) {
				uint64_t fronts = UINT64_C(1) << log;
				double crumbs = tally_load(shape, TALLY_CRUMBS, fronts, seed);
				double trick = tally_load(shape, TALLY_XOR, fronts, seed);
				paper_add(run, tally_shapes[shape].name, log, PAPER_NONE,
				          100 * (1 - trick / crumbs));
			}
		}
	}
	paper_end(run);
}

static void section_5(struct paper_run *run)
{
	unsigned most = paper_scale(run)->quick ? 15 : 21;
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "section-5",
			.place = "sections 5 and 6",
			.title = "load at the first refused key by shape of a line, 32 bytes too",
			.x = "log2 front lines",
			.unit = "load",
			.note = "counts of the paper's own design without moves; loads in its unit. The paper: "
				"0.75 to 0.85 for lines of 32 bytes, over 0.9 for those of 64. nidus has no "
				"lines of 32 bytes" });
	for (unsigned shape = 0; shape < TALLIES; shape++) {
		for (unsigned log = 9; log <= most; log += 3) {
			for (unsigned seed = 1; seed <= 8; seed++)
				paper_add(run, tally_shapes[shape].name, log, PAPER_NONE,
				          tally_load(shape, TALLY_CRUMBS, UINT64_C(1) << log,
				                     seed));
		}
	}
	paper_end(run);
}

/* --------------------------------------------------------------- Fig. 6 and 7 -- */

static const double loads[] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1 };

#define LOADS (sizeof loads / sizeof *loads)

enum speed { SPEED_INSERT, SPEED_REMOVE, SPEED_PRESENT, SPEED_ABSENT, SPEEDS };

static const struct {
	const char *memory, *cache, *title;
} figure_6_words[SPEEDS] = {
	{ "figure-6-insert", "figure-7-insert", "inserts by space efficiency" },
	{ "figure-6-remove", "figure-7-remove", "removes by space efficiency" },
	{ "figure-6-present", "figure-7-present", "lookups of present keys by space efficiency" },
	{ "figure-6-absent", "figure-7-absent", "lookups of absent keys by space efficiency" },
};

static double value_of(const struct gauge_step *step, enum speed speed)
{
	double values[SPEEDS] = { step->insert, step->remove, step->present, step->absent };
	return values[speed];
}

/* One sweep per kind and round gives all four figures. */
struct sweeps {
	unsigned rounds;
	unsigned n[PAPER_ROUNDS_MOST][KINDS];
	struct gauge_step step[PAPER_ROUNDS_MOST][KINDS][GAUGE_STEPS];
};

static void sweep_all(struct paper_run *run, struct sweeps *sweeps, uint64_t keys, const char *what)
{
	const struct paper_scale *scale = paper_scale(run);
	paper_prepare(run, "breadcrumb", what);
	while (paper_again(run)) {
		unsigned round = paper_round(run);
		sweeps->rounds = round + 1;
		for (unsigned kind = 0; kind < KINDS; kind++) {
			nidus_options options = options_of(kind, keys);
			options.stash = NIDUS_STASH_OFF; /* it would slow the last step down */
			sweeps->n[round][kind] =
				gauge_sweep(&options, loads, LOADS, scale->lookups / 4, GAUGE_BATCH,
			                    sweeps->step[round][kind]);
		}
	}
}

/* x is rounded, so that the same step of all rounds is one row. */
static double rounded(double efficiency)
{
	return round(1000 * efficiency) / 1000;
}

static uint64_t cached_keys(const struct paper_scale *scale)
{
	return scale->keys / 4 < CACHED_SLOTS ? scale->keys / 4 : CACHED_SLOTS;
}

static void figure_6(struct paper_run *run, const struct sweeps *sweeps, bool cache,
                     enum speed speed)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = cache ? figure_6_words[speed].cache : figure_6_words[speed].memory,
			.keys = cache ? (double)cached_keys(paper_scale(run)) : 0,
			.place = cache ? "Fig. 7" : "Fig. 6",
			.title = figure_6_words[speed].title,
			.x = "efficiency",
			.unit = "M keys/s",
			.compare = PAPER_RATIO,
			.note = cache ? "2^22 keys or fewer, in the last cache; no stash. The "
	                                "paper shows curves only"
	                              : "up to the first key that is refused, no stash. The paper "
	                                "shows curves only" });
	for (unsigned kind = 0; kind < KINDS; kind++) {
		for (unsigned round = 0; round < sweeps->rounds; round++) {
			for (unsigned i = 0; i < sweeps->n[round][kind]; i++) {
				const struct gauge_step *step = &sweeps->step[round][kind][i];
				if (!isnan(value_of(step, speed)))
					paper_add(run, kinds[kind].name, rounded(step->efficiency),
					          PAPER_NONE, value_of(step, speed));
			}
		}
	}
	paper_end(run);
}

#define FULLEST 0 /* instead of an efficiency: the highest one that a filter reached */

/* A speed at an efficiency, between the two steps around it. */
static double speed_at(const struct sweeps *sweeps, unsigned round, enum kind kind,
                       enum speed speed, double at)
{
	const struct gauge_step *step = sweeps->step[round][kind];
	unsigned n = sweeps->n[round][kind];
	if (at == FULLEST)
		return n == 0 ? NAN : value_of(&step[n - 1], speed);
	for (unsigned i = 1; i < n; i++) {
		double from = step[i - 1].efficiency, to = step[i].efficiency;
		double before = value_of(&step[i - 1], speed), after = value_of(&step[i], speed);
		if (from <= at && at <= to)
			return before + (after - before) * (at - from) / (to - from);
	}
	return NAN;
}

/* The points of the curves that the paper's text names. */
static void figure_6_ratios(struct paper_run *run, const struct sweeps *sweeps)
{
	static const struct {
		enum speed speed;
		enum kind kind;
		double at, said;
		const char *name;
	} rows[] = {
		{ SPEED_INSERT, BCF8, 0.6, 3.5, "inserts at 0.6, 8 bits" },
		{ SPEED_INSERT, BCF16, 0.6, 4, "inserts at 0.6, 16 bits" },
		{ SPEED_INSERT, BCF8, 0.715, 10, "inserts at 0.715, 8 bits" },
		{ SPEED_INSERT, BCF16, 0.715, 10, "inserts at 0.715, 16 bits" },
		{ SPEED_ABSENT, BCF8, 0.6, 1.46, "absent keys at 0.6, 8 bits" },
		{ SPEED_PRESENT, BCF8, 0.6, 1.01, "present keys at 0.6, 8 bits" },
		{ SPEED_ABSENT, BCF8, FULLEST, 1, "absent keys, full, 8 bits" },
		{ SPEED_PRESENT, BCF8, FULLEST, 0.73, "present keys, full, 8 bits" },
		{ SPEED_REMOVE, BCF8, FULLEST, 0.38, "removes, full, 8 bits" },
	};
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "figure-6-ratio",
			.place = "Fig. 6",
			.title = "breadcrumb over cuckoo at the same efficiency, and when full",
			.unit = "times",
			.note = "what the paper's text names. Its cuckoo filter walks at random, ours "
				"searches, and comes less far behind in inserts; its 10 is \"over 10\". "
				"Below 0.6 removes of its filter are faster than cuckoo's, without a figure" });
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (unsigned round = 0; round < sweeps->rounds; round++)
			paper_add(run, rows[i].name, PAPER_NONE, rows[i].said,
			          speed_at(sweeps, round, rows[i].kind, rows[i].speed, rows[i].at) /
			                  speed_at(sweeps, round, CUCKOO, rows[i].speed,
			                           rows[i].at));
	}
	paper_end(run);
}

static void figures_6_and_7(struct paper_run *run)
{
	const struct paper_scale *scale = paper_scale(run);
	struct sweeps *sweeps = gauge_take(1, sizeof *sweeps);
	sweep_all(run, sweeps, scale->keys, "figure 6");
	for (unsigned speed = 0; speed < SPEEDS; speed++)
		figure_6(run, sweeps, false, speed);
	figure_6_ratios(run, sweeps);
	sweep_all(run, sweeps, cached_keys(scale), "figure 7");
	for (unsigned speed = 0; speed < SPEEDS; speed++)
		figure_6(run, sweeps, true, speed);
	free(sweeps);
}

/* ---------------------------------------------------------------------- Fig. 8 -- */

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Loads of the paper at which fills of such filters failed, ascending. */
static void failing_loads(enum kind kind, uint64_t keys, unsigned fills, double *load)
{
	for (unsigned i = 0; i < fills; i++) {
		nidus_options options = options_of(kind, keys);
		options.seed = i + 1;
		options.stash = NIDUS_STASH_OFF;
		nidus_filter *filter = gauge_make(&options);
		nidus_info info = gauge_look(filter);
		double share = gauge_load_at_full(filter);
		load[i] = load_of(kind, &info, share * (double)info.total_slots);
	}
	qsort(load, fills, sizeof *load, ascending);
}

static void figure_8_rows(struct paper_run *run, enum kind kind, double said)
{
	static const unsigned percents[] = { 1, 10, 50 };
	const struct paper_scale *scale = paper_scale(run);
	unsigned fills = scale->fills;
	double *load = gauge_take(fills, sizeof *load);
	unsigned log_most = (unsigned)log2((double)scale->slots) - 4;
	for (unsigned log = log_most < 19 ? log_most - 2 : 15; log <= log_most; log += 2) {
		failing_loads(kind, UINT64_C(1) << log, fills, load);
		for (unsigned i = 0; i < 3; i++) {
			char name[48];
			snprintf(name, sizeof name, "%s, %u %%", kinds[kind].name, percents[i]);
			paper_add(run, name, log, percents[i] == 1 ? said : PAPER_NONE,
			          load[fills * percents[i] / 100]);
		}
	}
	free(load);
}

static void figure_8(struct paper_run *run)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "figure-8",
			.place = "Fig. 8",
			.title = "load at which 1, 10 and 50 % of fills have failed",
			.x = "log2 keys",
			.unit = "load",
			.note = "breadcrumb loads in the paper's unit; no stash. The paper's values "
				"hold for 2^15 to 2^30 slots; it also has the vector quotient filter "
				"(0.93)" });
	figure_8_rows(run, BCF8, 0.92);
	figure_8_rows(run, BCF16, PAPER_NONE);
	figure_8_rows(run, CUCKOO, 0.95);
	paper_end(run);
}

/* --------------------------------------------------------------------- Table 2 -- */

/* Keys at which the efficiency is reached; 0 if a key is refused before. */
static uint64_t fill_to_efficiency(nidus_filter *filter, double efficiency)
{
	uint64_t in = 0, slots = gauge_look(filter).total_slots;
	for (uint64_t step = slots / 2; step > 0;) {
		struct gauge_speed speed = gauge_insert(filter, in, in + step, GAUGE_BATCH);
		in += speed.keys;
		nidus_info info = gauge_look(filter);
		if (gauge_efficiency(&info) >= efficiency)
			return in;
		if (speed.keys < step)
			return 0;
		step = slots / 2000 + 1;
	}
	return 0;
}

static uint64_t fill_to_load(nidus_filter *filter, enum kind kind, double load)
{
	nidus_info info = gauge_look(filter);
	uint64_t to = keys_at_load(kind, &info, load);
	return gauge_insert(filter, 0, to, GAUGE_BATCH).keys == to ? to : 0;
}

static uint64_t aged_keys(const struct paper_scale *scale)
{
	uint64_t most = CACHED_SLOTS / 4, few = scale->keys / 32;
	return few < most ? few : most;
}

static void age(struct paper_run *run, enum kind kind, bool by_load, double x, double said)
{
	nidus_options options = options_of(kind, aged_keys(paper_scale(run)));
	options.stash = NIDUS_STASH_OFF;
	nidus_filter *filter = gauge_make(&options);
	uint64_t keys = by_load ? fill_to_load(filter, kind, x) : fill_to_efficiency(filter, x);
	paper_add(run, kinds[kind].name, x, said,
	          keys == 0 ? NAN : gauge_churn(filter, keys, CHURN_MOST));
	nidus_free(filter);
}

static void table_2(struct paper_run *run, bool by_load)
{
	static const struct {
		double x, said[3]; /* breadcrumb 8 and 16 bits, cuckoo */
	} by[2][4] = {
		{ { 0.63, { 50, 50, 50 } },
		  { 0.68, { 50, 50, 50 } },
		  { 0.70, { 50, 50, 50 } },
		  { 0.73, { 0.028, 50, NAN } } },
		{ { 0.8, { 50, 50, 50 } },
		  { 0.85, { 50, 19.24, 50 } },
		  { 0.9, { 1.33, NAN, 50 } } },
	};
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = by_load ? "table-2-load" : "table-2-efficiency",
			.keys = (double)aged_keys(paper_scale(run)),
			.place = "Table 2",
			.title =
				by_load ? "churn survived by load" : "churn survived by efficiency",
			.x = by_load ? "load" : "efficiency",
			.unit = "times the slots, 50 at most",
			.note = "the paper: 2^22 slots, here a quarter of that at most; no stash. No "
				"value: so many keys do not fit" });
	for (unsigned i = 0; i < (by_load ? 3 : 4); i++) {
		for (unsigned kind = 0; kind < 3; kind++) {
			if (!isnan(by[by_load][i]
			                   .said[kind])) /* else the paper's filter is too full */
				age(run, kind, by_load, by[by_load][i].x,
				    by[by_load][i].said[kind]);
		}
	}
	paper_end(run);
}

/* -------------------------------------------------------------- Tables 3 and 4 -- */

static const struct {
	const char *name;
	double said[6]; /* 1, 2, 4 ... 32 threads */
} table_3_works[GAUGE_WORKS] = {
	[GAUGE_INSERTS] = { "inserts", { 13.0, 25.8, 50.6, 93.3, 170.8, 304.3 } },
	[GAUGE_LOOKUPS] = { "lookups", { 11.5, 23.5, 46.3, 89.6, 166.8, 237.3 } },
	[GAUGE_MIXED] = { "mixed", { 6.3, 12.0, 23.4, 44.8, 81.6, 116.7 } },
};

/* The claim is how speed grows with threads, so each work is compared with its own first row. */
static void table_3_scaling(struct paper_run *run)
{
	const struct paper_scale *scale = paper_scale(run);
	paper_begin(run,
	            &(struct experiment){
			    .paper = "breadcrumb",
			    .id = "table-3",
			    .keys = (double)scale->keys,
			    .place = "Table 3",
			    .title = "threads that share a filter: speed over that of one thread",
			    .x = "threads",
			    .unit = "times one thread",
			    .note = "mixed: 30 % inserts, 40 % lookups, 30 % removes at capacity. "
				    "Threads as many as there are processors" });
	while (paper_again(run)) {
		double alone[GAUGE_WORKS] = { 0 }, speed[GAUGE_WORKS];
		for (unsigned threads = 1, i = 0; threads <= scale->threads && i < 6;
		     threads *= 2, i++) {
			nidus_options options = options_of(BCF8, scale->keys);
			gauge_threads(&options, threads, speed);
			for (unsigned work = 0; work < GAUGE_WORKS; work++) {
				const double *said = table_3_works[work].said;
				alone[work] = threads == 1 ? speed[work] : alone[work];
				paper_add(run, table_3_works[work].name, threads, said[i] / said[0],
				          speed[work] / alone[work]);
			}
		}
	}
	paper_end(run);
}

static void table_3_mixed(struct paper_run *run)
{
	static const double said[KINDS] = { 6.3, NAN, 1.3, NAN, NAN, NAN };
	const struct paper_scale *scale = paper_scale(run);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "table-3-mixed",
			.place = "Table 3",
			.title = "mixed work of one thread",
			.unit = "M operations/s",
			.compare = PAPER_RATIO,
			.reference = "cuckoo, 12 bits",
			.note = "the paper's cuckoo filter takes no locks; here every family is made "
				"to be shared. It also has the vector quotient (9.3) and Morton "
				"filters (4.4)" });
	while (paper_again(run)) {
		for (unsigned kind = 0; kind < KINDS; kind++) {
			double speed[GAUGE_WORKS];
			nidus_options options = options_of(kind, scale->keys);
			if (!can(kind, REMOVE))
				continue;
			gauge_threads(&options, 1, speed);
			paper_add(run, kinds[kind].name, PAPER_NONE, said[kind],
			          speed[GAUGE_MIXED]);
		}
	}
	paper_end(run);
}

/* Bytes of memory that nobody uses now; 0 if the system does not tell. */
static double free_memory(void)
{
	char line[128];
	double kibibytes = 0;
	FILE *file = fopen("/proc/meminfo", "r");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		(void)sscanf(line, "MemAvailable: %lf", &kibibytes);
	if (file != NULL)
		fclose(file);
	return 1024 * kibibytes;
}

static void table_4(struct paper_run *run)
{
	static const struct {
		unsigned log;
		double said[2];
	} rows[] = { { 14, { NAN, NAN } },   { 18, { NAN, NAN } },   { 20, { NAN, NAN } },
		     { 22, { 11.8, 12.5 } }, { 24, { 16.3, 16.9 } }, { 26, { 16.1, 16.7 } },
		     { 28, { 15.4, 15.9 } }, { 30, { 14.9, 15.5 } } };
	const struct paper_scale *scale = paper_scale(run);
	/* Two filters and the merged one, of 20 bits per key, in half of what is free. A run for a
	   few keys does not ask for the largest. */
	double most = free_memory() / 2 / (4 * 20 / 8.0);
	if (scale->keys < UINT64_C(1) << 24)
		most = fmin(most, (double)scale->keys);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "table-4",
			.place = "Table 4",
			.title = "merging two filters by size, to the largest that memory allows",
			.x = "log2 keys",
			.unit = "M keys/s of both",
			.compare = PAPER_RATIO,
			.reference = "breadcrumb, 8 bits",
			.note = "the paper also has the counting quotient filter (2.9). From 2^27 "
				"keys on one round" });
	while (paper_again(run)) {
		for (size_t i = 0;
		     i < sizeof rows / sizeof *rows && ldexp(1, (int)rows[i].log) <= most; i++) {
			for (unsigned kind = 0; kind < 2; kind++) {
				if (rows[i].log >= 27 && paper_round(run) > 0)
					continue;
				paper_add(run, kinds[kind].name, rows[i].log, rows[i].said[kind],
				          measure_operation(kind, MERGE, UINT64_C(1) << rows[i].log,
				                            0));
			}
		}
	}
	paper_end(run);
}

/* ---------------------------------------------------------------------- Fig. 9 -- */

/* Speeds of the plain C tier over those of AVX2, operation by operation. */
static void figure_9(struct paper_run *run)
{
	static const char *const names[] = { "insert", "random lookup", "positive lookup",
		                             "remove" };
	const struct paper_scale *scale = paper_scale(run);
	const char *before = nidus_isa();
	if (nidus_set_isa("avx2") != NIDUS_OK)
		return; /* nothing to compare with */
	paper_begin(
		run,
		&(struct experiment){
			.paper = "breadcrumb",
			.id = "figure-9",
			.place = "Fig. 9",
			.title = "plain C instead of AVX2, breadcrumb with 8 bits",
			.unit = "times the speed with AVX2",
			.compare = PAPER_RATIO,
			.note = "the paper compares AVX2 with AVX-512, which is not used here: 12 to "
				"40 % slower" });
	while (paper_again(run)) {
		for (unsigned operation = INSERT; operation < MERGE; operation++) {
			double speed[2];
			for (unsigned tier = 0; tier < 2; tier++) {
				(void)nidus_set_isa(tier == 0 ? "scalar" : "avx2");
				speed[tier] = measure_operation(BCF8, operation, scale->keys,
				                                scale->lookups);
			}
			paper_add(run, names[operation], PAPER_NONE, PAPER_NONE,
			          speed[0] / speed[1]);
		}
	}
	(void)nidus_set_isa(before);
	paper_end(run);
}

void paper_breadcrumb(struct paper_run *run)
{
	for (unsigned operation = 0; operation < OPERATIONS; operation++)
		figure_1(run, operation);
	section_2(run);
	table_1(run);
	figure_4(run);
	section_3_3(run);
	section_5(run);
	figure_5(run);
	figures_6_and_7(run);
	figure_8(run);
	table_2(run, false);
	table_2(run, true);
	table_3_scaling(run);
	table_3_mixed(run);
	table_4(run);
	figure_9(run);
}

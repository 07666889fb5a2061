/* SPDX-License-Identifier: MIT
 *
 * paper_windowed: the tables and figures of "Smaller and More Flexible Cuckoo Filters".
 */
#include <string.h>

#include "gauge.h"
#include "one_chunk.h"
#include "paper.h"

#define LOAD_OF_THRESHOLD 0.98 /* what the paper fills to */

static const struct layout {
	const char *name;
	nidus_family family;
	unsigned slots;
	double threshold;   /* Table 2 */
	unsigned extra;     /* bits of a fingerprint more than k */
	double overhead[3]; /* Table 3, k = 8, 13, 14 */
	double insert[3], lookup[3];
} layouts[] = {
	{ "buckets of 2",
	  NIDUS_BUCKETED,
	  2,
	  0.8970,
	  1,
	  { 1.39, 1.29, 1.28 },
	  { 4.11, 4.19, 4.34 },
	  { 42.88, 41.85, 51.67 } },
	{ "buckets of 4",
	  NIDUS_BUCKETED,
	  4,
	  0.9804,
	  2,
	  { 1.42, 1.28, 1.26 },
	  { 6.06, 6.43, 5.81 },
	  { 36.27, 46.61, 22.25 } },
	{ "windows of 2",
	  NIDUS_WINDOWED,
	  2,
	  0.9650,
	  0,
	  { 1.31, 1.21, 1.20 },
	  { 3.04, 3.02, 3.12 },
	  { 30.01, 28.07, 35.26 } },
	{ "windows of 4",
	  NIDUS_WINDOWED,
	  4,
	  0.9990,
	  0,
	  { 1.40, 1.25, 1.24 },
	  { 7.83, 8.56, 7.35 },
	  { 28.45, 33.16, 18.41 } },
};

#define LAYOUTS (sizeof layouts / sizeof *layouts)

static const unsigned table_3_k[] = { 8, 13, 14 };

static nidus_options options_for(const struct layout *layout, uint64_t keys, unsigned k)
{
	return gauge_options(layout->family, layout->slots, keys, ldexp(1, -(int)k));
}

/* --------------------------------------------------------------------- Table 1 -- */

/* The least and the most bits per key and k that a family plans for any of many sizes. */
struct overhead {
	double best, worst; /* not a number: it is not made for this rate */
};

static struct overhead overhead_of(nidus_family family, unsigned k)
{
	struct overhead overhead = { NAN, NAN };
	for (unsigned i = 0; i < 64; i++) {
		uint64_t keys = (uint64_t)ldexp(1 + i / 64.0, 22);
		nidus_options options = gauge_options(family, 0, keys, ldexp(1, -(int)k));
		nidus_plan_row rows[64];
		size_t n;
		if (nidus_plan(&options, rows, 64, &n) != NIDUS_OK)
			gauge_fail("no plan");
		for (size_t row = 0; row < n; row++) {
			if (rows[row].family != family || rows[row].status != NIDUS_OK)
				continue;
			overhead.best = fmin(overhead.best, rows[row].bits_per_key / k);
			overhead.worst = fmax(overhead.worst, rows[row].bits_per_key / k);
		}
	}
	return overhead;
}

static void table_1(struct paper_run *run)
{
	static const struct {
		nidus_family family;
		double said;
	} rows[] = { { NIDUS_BLOOM, 1.443 },
		     { NIDUS_CUCKOO, 2.887 },
		     { NIDUS_WINDOWED, 1.321 },
		     { NIDUS_BUCKETED, PAPER_NONE },
		     { NIDUS_CHUNKED, PAPER_NONE },
		     { NIDUS_SEMISORT, PAPER_NONE },
		     { NIDUS_SIMPLIFIED, PAPER_NONE },
		     { NIDUS_BREADCRUMB, PAPER_NONE },
		     { NIDUS_BLOCKED_BLOOM, PAPER_NONE } };
	paper_begin(run,
	            &(struct experiment){
			    .paper = "windowed",
			    .id = "table-1",
			    .place = "Table 1",
			    .title = "worst overhead factor C at k = 8, any number of keys",
			    .unit = "bits per key / k",
			    .note = "64 numbers of keys from 2^22 to 2^23, as planned; the paper's "
				    "quotient 2.665, vector quotient 2.933 and prefix filter 1.359 "
				    "have no family here" });
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		paper_add(run, nidus_family_name(rows[i].family), PAPER_NONE, rows[i].said,
		          overhead_of(rows[i].family, 8).worst);
	paper_end(run);
}

/* ---------------------------------------------------------------------- Fig. 1 -- */

static void figure_1a(struct paper_run *run)
{
	static const struct {
		nidus_family family;
		double factor,
			more; /* the paper's C(k) = factor (1 + more / k), from its Table 1 */
	} rows[] = { { NIDUS_BLOOM, 1.443, 0 },
		     { NIDUS_CUCKOO, 1.05, 3 },
		     { NIDUS_WINDOWED, 1.057, 2 },
		     { NIDUS_BUCKETED, NAN, NAN } };
	paper_begin(run,
	            &(struct experiment){
			    .paper = "windowed",
			    .id = "figure-1a",
			    .place = "Fig. 1A",
			    .title = "overhead factor C at the best of 64 sizes by k",
			    .x = "k",
			    .unit = "bits per key / k",
			    .note = "as planned for 2^22 to 2^23 keys; the paper's values by the "
				    "formulas of its Table 1. It also has quotient, vector "
				    "quotient and prefix filters" });
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (unsigned k = 5; k <= 20; k++)
			paper_add(run, nidus_family_name(rows[i].family), k,
			          rows[i].factor * (1 + rows[i].more / k),
			          overhead_of(rows[i].family, k).best);
	}
	paper_end(run);
}

/* Slots that a family plans for so many keys at k = 8. */
static double planned_slots(nidus_family family, uint64_t keys)
{
	nidus_options options = gauge_options(family, 4, keys, ldexp(1, -8));
	nidus_filter *filter = gauge_make(&options);
	double slots = (double)gauge_look(filter).total_slots;
	nidus_free(filter);
	return slots;
}

static void figure_1b(struct paper_run *run)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "windowed",
			.id = "figure-1b",
			.place = "Fig. 1B",
			.title = "buckets of 4 by number of keys",
			.x = "keys",
			.unit = "buckets",
			.note = "the paper: powers of two (a staircase) against the optimal size "
				"(a straight line); its values for loads of 1 / 1.05" });
	for (unsigned i = 0; i <= 32; i++) {
		uint64_t keys = (uint64_t)exp2(16 + i / 16.0);
		double least = 1.05 * (double)keys / 4;
		paper_add(run, "cuckoo", (double)keys, exp2(ceil(log2(least))),
		          planned_slots(NIDUS_CUCKOO, keys) / 4);
		paper_add(run, "bucketed", (double)keys, ceil(least),
		          planned_slots(NIDUS_BUCKETED, keys) / 4);
	}
	paper_end(run);
}

/* --------------------------------------------------- loads: Table 2 and Fig. 6 -- */

/* The load at which one chunk of so many slots refuses a key. */
static double load_at_full(const struct layout *layout, unsigned k, uint64_t slots, unsigned steps,
                           uint64_t seed)
{
	nidus_options options = options_for(layout, 1, k);
	options.max_steps = steps;
	options.seed = seed;
	nidus_filter *filter;
	if (one_chunk_create(&options, slots, 0, &filter) != NIDUS_OK)
		gauge_fail("no filter of one chunk");
	return gauge_load_at_full(filter);
}

static void table_2(struct paper_run *run)
{
	const struct paper_scale *scale = paper_scale(run);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "windowed",
			.id = "table-2",
			.slots = (double)scale->slots,
			.place = "Table 2",
			.title = "load threshold, and the load at which a key is refused",
			.unit = "load",
			.note = "the paper's values are asymptotic thresholds; here one chunk at "
				"k = 8, no stash" });
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (unsigned seed = 1; seed <= scale->rounds; seed++)
			paper_add(run, layouts[i].name, PAPER_NONE, layouts[i].threshold,
			          load_at_full(&layouts[i], 8, scale->slots, 0, seed));
	}
	paper_end(run);
}

static void figure_6_left(struct paper_run *run)
{
	static const unsigned steps[] = { 8, 32, 128, 512, 2048, 8192 };
	uint64_t slots = paper_scale(run)->slots;
	paper_begin(
		run,
		&(struct experiment){
			.paper = "windowed",
			.id = "figure-6-left",
			.slots = (double)slots,
			.place = "Fig. 6 left",
			.title = "achieved load by length of a search, k = 14",
			.x = "steps",
			.unit = "load",
			.log_x = true,
			.note = "the paper walks at random, and 10,000 to 20,000 steps suffice; "
				"here a step is a slot that a breadth-first search looks at" });
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (size_t j = 0; j < sizeof steps / sizeof *steps; j++)
			paper_add(run, layouts[i].name, steps[j], PAPER_NONE,
			          load_at_full(&layouts[i], 14, slots, steps[j], 1));
	}
	paper_end(run);
}

static void figure_6_right(struct paper_run *run)
{
	static const unsigned ks[] = { 4, 8, 14 };
	paper_begin(
		run,
		&(struct experiment){
			.paper = "windowed",
			.id = "figure-6-right",
			.place = "Fig. 6 right",
			.title = "achieved load by size and rate",
			.x = "slots",
			.unit = "load",
			.log_x = true,
			.note = "the paper: the same for every size and k, but lower at k = 4" });
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (size_t j = 0; j < sizeof ks / sizeof *ks; j++) {
			char name[40];
			snprintf(name, sizeof name, "%s, k = %u", layouts[i].name, ks[j]);
			for (uint64_t slots = 10000; slots <= paper_scale(run)->slots; slots *= 10)
				paper_add(run, name, (double)slots, PAPER_NONE,
				          load_at_full(&layouts[i], ks[j], slots, 0, 1));
		}
	}
	paper_end(run);
}

/* --------------------------------------------------------------------- Table 3 -- */

static void table_3_space(struct paper_run *run)
{
	paper_begin(run, &(struct experiment){
				 .paper = "windowed",
				 .id = "table-3-space",
				 .keys = (double)paper_scale(run)->keys,
				 .place = "Table 3",
				 .title = "overhead factor C",
				 .x = "k",
				 .unit = "bits per key / log2(1 / actual fpr)",
				 .note = "with the measured rate, as the paper's values are" });
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (unsigned j = 0; j < 3; j++) {
			nidus_options options =
				options_for(&layouts[i], paper_scale(run)->keys, table_3_k[j]);
			nidus_filter *filter = gauge_full(&options);
			double rate = gauge_foreign(filter, paper_scale(run)->trials);
			paper_add(run, layouts[i].name, table_3_k[j], layouts[i].overhead[j],
			          gauge_look(filter).bits_per_key / log2(1 / rate));
			nidus_free(filter);
		}
	}
	paper_end(run);
}

/* One fill of each row and lookups of which half hit. */
static void table_3_round(struct paper_run *run, bool lookups)
{
	uint64_t keys = paper_scale(run)->keys;
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (unsigned j = 0; j < 3; j++) {
			const struct layout *layout = &layouts[i];
			nidus_options options = options_for(layout, keys, table_3_k[j]);
			nidus_filter *filter = gauge_make(&options);
			double insert = gauge_rate(gauge_insert(filter, 0, keys, GAUGE_BATCH));
			if (lookups)
				paper_add(run, layout->name, table_3_k[j], layout->lookup[j],
				          gauge_rate(gauge_lookup(filter, keys, 0.5,
				                                  paper_scale(run)->lookups,
				                                  GAUGE_BATCH)));
			else
				paper_add(run, layout->name, table_3_k[j], layout->insert[j],
				          insert);
			nidus_free(filter);
		}
	}
}

static void table_3_speed(struct paper_run *run, bool lookups)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "windowed",
			.id = lookups ? "table-3-lookup" : "table-3-insert",
			.place = "Table 3",
			.title = lookups ? "lookups, half of them hits" : "inserts, a whole fill",
			.x = "k",
			.unit = "M keys/s",
			.compare = PAPER_RATIO,
			.reference = "windows of 2",
			.note = "the paper: 2^30 slots, also prefix filters (insert 31.3, lookup "
				"43.8 at k = 8) and the vector quotient filter (21.6, 27.8); here "
				"batch calls" });
	while (paper_again(run))
		table_3_round(run, lookups);
	paper_end(run);
}

/* --------------------------------------------------------------- Fig. 3, 4, 5 -- */

static double said_time(const struct layout *layout, double load)
{
	bool windows_2 = strcmp(layout->name, "windows of 2") == 0, four = layout->slots == 4;
	if (load == 0.8)
		return windows_2 ? 85 : four ? 65 : PAPER_NONE;
	if (load == 0.9)
		return windows_2 ? 140 : four ? 94 : PAPER_NONE;
	return PAPER_NONE;
}

#define FIGURE_3_LOADS 9

static const double figure_3_loads[FIGURE_3_LOADS] = { 0.5, 0.6,  0.7,  0.8, 0.85,
	                                               0.9, 0.93, 0.95, 0.97 };

/* Bits per key at each load that a layout reached; 0 for the others. */
struct figure_3_bits {
	double bits[LAYOUTS][FIGURE_3_LOADS];
};

static struct figure_3_bits figure_3_left(struct paper_run *run)
{
	struct figure_3_bits reached = { 0 };
	struct gauge_step steps[GAUGE_STEPS];
	paper_begin(
		run,
		&(struct experiment){
			.paper = "windowed",
			.id = "figure-3",
			.place = "Fig. 3 left",
			.title = "time of inserts by final load, k = 10",
			.x = "load",
			.unit = "ns per key (s per 10^9 keys)",
			.compare = PAPER_RATIO,
			.reference = "windows of 2",
			.note = "the paper's 94 s at a load of 0.9 is an upper bound of both layouts "
				"of 4; it looks each key up before the insert" });
	while (paper_again(run)) {
		for (size_t i = 0; i < LAYOUTS; i++) {
			nidus_options options =
				options_for(&layouts[i], paper_scale(run)->keys, 10);
			unsigned n = gauge_sweep(&options, figure_3_loads, FIGURE_3_LOADS, 4096,
			                         GAUGE_BATCH, steps);
			for (unsigned j = 0; j < n && steps[j].load > figure_3_loads[j] - 0.001;
			     j++) {
				paper_add(run, layouts[i].name, figure_3_loads[j],
				          said_time(&layouts[i], figure_3_loads[j]),
				          steps[j].nanoseconds);
				reached.bits[i][j] = steps[j].bits;
			}
		}
	}
	paper_end(run);
	return reached;
}

static void figure_3_right(struct paper_run *run, const struct figure_3_bits *reached)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "windowed",
			.id = "figure-3-right",
			.keys = (double)paper_scale(run)->keys,
			.place = "Fig. 3 right",
			.title = "space by final load, k = 10",
			.x = "load",
			.unit = "bits per key (1/8 GB per 10^9 keys)",
			.note = "the paper shows curves only, which are the same for windows and "
				"buckets: its values here are slot bits over load, k + 2 for 2 slots and "
				"k + 3 for 4" });
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (unsigned j = 0; j < FIGURE_3_LOADS; j++) {
			if (reached->bits[i][j] > 0)
				paper_add(run, layouts[i].name, figure_3_loads[j],
				          (layouts[i].slots == 2 ? 12 : 13) / figure_3_loads[j],
				          reached->bits[i][j]);
		}
	}
	paper_end(run);
}

/* One chunk into which as many keys as 0.98 of its threshold allows are put, if they are new. */
struct actual {
	double overhead, load,
		error; /* bits / (n k); of the slots; log2 of the measured rate over 2^-k */
};

static struct actual actual_of(const struct layout *layout, unsigned k,
                               const struct paper_scale *scale)
{
	nidus_options options = options_for(layout, 1, 8);
	uint64_t slots = scale->slots / 4;
	nidus_filter *filter;
	if (one_chunk_create(&options, slots, k + layout->extra, &filter) != NIDUS_OK)
		return (struct actual){ NAN, NAN, NAN };
	nidus_info info = gauge_look(filter);
	uint64_t keys =
		(uint64_t)(LOAD_OF_THRESHOLD * layout->threshold * (double)info.total_slots);
	double in = (double)gauge_insert_new(filter, keys);
	double rate = gauge_foreign(filter, k > 10 ? scale->trials : scale->trials / 4);
	nidus_free(filter);
	return (struct actual){ 8 * (double)info.bytes / ((double)keys * k),
		                in / (double)info.total_slots, log2(rate) + k };
}

enum actual_column { OVERHEAD, LOAD, ERROR, COLUMNS };

#define K_LEAST 3
#define K_MOST 14

static void figure_4_column(struct paper_run *run, enum actual_column column,
                            struct actual actual[LAYOUTS][K_MOST + 1])
{
	static const struct {
		const char *id, *place, *title, *unit, *note;
	} words[COLUMNS] = {
		{ "figure-4-left", "Fig. 4 left", "overhead factor by k", "bits / (n k)",
		  "one chunk made for 0.98 of the threshold; the paper shows curves only: its values here "
		  "are k + 2 bits (2 slots) or k + 3 (4) over that load" },
		{ "figure-4-middle", "Fig. 4 middle", "load after lookup-and-insert by k", "load",
		  "a key that is found already is not put in, as in the paper: 0.98 of the "
		  "threshold from k = 8 on, less below" },
		{ "figure-4", "Fig. 4 right", "measured rate by k, also below what options allow",
		  "log2(fpr / 2^-k)",
		  "one chunk, keys put in if they are new; the paper: below 0 from k = 5 on" },
	};
	paper_begin(run, &(struct experiment){ .paper = "windowed",
	                                       .id = words[column].id,
	                                       .slots = (double)(paper_scale(run)->slots / 4),
	                                       .place = words[column].place,
	                                       .title = words[column].title,
	                                       .x = "k",
	                                       .unit = words[column].unit,
	                                       .note = words[column].note });
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (unsigned k = K_LEAST; k <= K_MOST; k++) {
			const struct actual *one = &actual[i][k];
			double load = LOAD_OF_THRESHOLD * layouts[i].threshold;
			double bits = k + (layouts[i].slots == 2 ? 2 : 3);
			double said = column == OVERHEAD         ? bits / (load * k)
			              : column == LOAD && k >= 8 ? load
			                                         : PAPER_NONE;
			paper_add(run, layouts[i].name, k, said,
			          column == OVERHEAD ? one->overhead
			          : column == LOAD   ? one->load
			                             : one->error);
		}
	}
	paper_end(run);
}

static void figure_4(struct paper_run *run)
{
	struct actual actual[LAYOUTS][K_MOST + 1];
	paper_prepare(run, "windowed", "figure 4");
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (unsigned k = K_LEAST; k <= K_MOST; k++)
			actual[i][k] = actual_of(&layouts[i], k, paper_scale(run));
	}
	for (unsigned column = 0; column < COLUMNS; column++)
		figure_4_column(run, column, actual);
}

enum figure_5_work { BUILD, SHARED, PRESENT, ABSENT, FIGURE_5_WORKS };

/* Speeds with several threads, of one layout. */
static void figure_5_speeds(const struct layout *layout, uint64_t keys, unsigned k,
                            unsigned threads, double speed[FIGURE_5_WORKS])
{
	nidus_options options = options_for(layout, keys, k);
	nidus_filter *filter;
	speed[BUILD] = gauge_rate(gauge_build(&options, threads, &filter));
	speed[PRESENT] = gauge_rate(gauge_lookups_by(filter, keys, true, threads));
	speed[ABSENT] = gauge_rate(gauge_lookups_by(filter, keys, false, threads));
	nidus_free(filter);
}

static void figure_5_top(struct paper_run *run)
{
	static const unsigned ks[] = { 5, 6, 8, 10, 13, 14, 15, 18 };
	static const char *const works[] = { [BUILD] = "inserts by sub-filters",
		                             [PRESENT] = "lookups, present",
		                             [ABSENT] = "lookups, absent" };
	const struct paper_scale *scale = paper_scale(run);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "windowed",
			.id = "figure-5-top",
			.place = "Fig. 5 top",
			.title = "all threads together by k",
			.x = "k",
			.unit = "M keys/s",
			.compare = PAPER_RATIO,
			.note = "the paper: five threads and 2 * 10^9 keys, curves only; here as "
				"many threads as there are processors. Sub-filters: nidus_build_u64, "
				"which gives each thread chunks of its own" });
	while (paper_again(run)) {
		for (size_t i = 0; i < LAYOUTS; i++) {
			for (size_t j = 0; j < sizeof ks / sizeof *ks; j++) {
				double speed[FIGURE_5_WORKS] = { 0 };
				figure_5_speeds(&layouts[i], scale->keys, ks[j], scale->threads,
				                speed);
				for (unsigned work = 0; work < FIGURE_5_WORKS; work++) {
					char name[48];
					if (works[work] == NULL)
						continue;
					snprintf(name, sizeof name, "%s, %s", layouts[i].name,
					         works[work]);
					paper_add(run, name, ks[j], PAPER_NONE, speed[work]);
				}
			}
		}
	}
	paper_end(run);
}

static void figure_5_bottom(struct paper_run *run)
{
	static const char *const works[] = { [BUILD] = "inserts by sub-filters",
		                             [SHARED] = "inserts, shared filter",
		                             [PRESENT] = "lookups, present",
		                             [ABSENT] = "lookups, absent" };
	const struct paper_scale *scale = paper_scale(run);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "windowed",
			.id = "figure-5",
			.keys = (double)scale->keys,
			.place = "Fig. 5 bottom",
			.title = "speedup by threads, k = 10",
			.x = "threads",
			.unit = "times one thread",
			.note = "the paper: almost linear up to 5 threads, for sub-filters that "
				"belong to one thread each and for lookups. A filter that threads "
				"share is not in the paper" });
	while (paper_again(run)) {
		for (size_t i = 0; i < LAYOUTS; i++) {
			double alone[FIGURE_5_WORKS] = { 0 };
			for (unsigned threads = 1; threads <= scale->threads; threads *= 2) {
				nidus_options options = options_for(&layouts[i], scale->keys, 10);
				double speed[FIGURE_5_WORKS], shared[GAUGE_WORKS];
				figure_5_speeds(&layouts[i], scale->keys, 10, threads, speed);
				gauge_threads(&options, threads, shared);
				speed[SHARED] = shared[GAUGE_INSERTS];
				for (unsigned work = 0; work < FIGURE_5_WORKS; work++) {
					char name[48];
					alone[work] = threads == 1 ? speed[work] : alone[work];
					snprintf(name, sizeof name, "%s, %s", layouts[i].name,
					         works[work]);
					paper_add(run, name, threads, PAPER_NONE,
					          speed[work] / alone[work]);
				}
			}
		}
	}
	paper_end(run);
}

void paper_windowed(struct paper_run *run)
{
	table_1(run);
	figure_1a(run);
	figure_1b(run);
	table_2(run);
	table_3_space(run);
	table_3_speed(run, false);
	table_3_speed(run, true);
	struct figure_3_bits bits = figure_3_left(run);
	figure_3_right(run, &bits);
	figure_4(run);
	figure_5_top(run);
	figure_5_bottom(run);
	figure_6_left(run);
	figure_6_right(run);
}

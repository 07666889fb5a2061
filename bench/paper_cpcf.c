/* SPDX-License-Identifier: MIT
 *
 * paper_cpcf: the tables and figures of "CPCF: A Flexible Chunking and Proactive
 * Insertion Cuckoo Filter". Beside the library's families stand the random walks of
 * walk.h, so that there is a row for each filter of the paper.
 */
#include <stdlib.h>
#include <string.h>

#include "bench_keys.h"
#include "gauge.h"
#include "insertion.h"
#include "machine.h"
#include "paper.h"

#define TABLE_1_KEYS 3891 /* 0.95 * 2^12 */

/* Rows of the figures: walks first, in the paper's order, then our own. */
static const char *const walk_names[] = { "classic walk", "better-choice walk", "vacuum walk",
	                                  "CPCF walk, p = 1" };

#define WALKS (sizeof walk_names / sizeof *walk_names)

static const struct insertion *insertion_named(const char *name)
{
	size_t i = 0;
	while (strcmp(insertions[i].name, name) != 0)
		i++;
	return &insertions[i];
}

static nidus_options options_for(nidus_family family, uint64_t keys)
{
	return gauge_options(family, INSERTION_SLOTS, keys, INSERTION_FPR);
}

/* 0.95 of the largest power of two that is at most n. */
static uint64_t near_power_of_two(uint64_t n)
{
	return (uint64_t)(INSERTION_LOAD * exp2(floor(log2((double)n))));
}

/* --------------------------------------------------------------------- Table 1 -- */

enum column { KICKS, CHECKS, MISSES };

static double said_of(const struct insertion *insertion, enum column column)
{
	const struct insertion_said *said = insertion_said(insertion);
	if (said == NULL)
		return PAPER_NONE;
	return column == KICKS ? said->kicks : column == CHECKS ? said->checks : said->misses;
}

static double mean_cost(const struct insertion *insertion, uint64_t seeds, enum column column)
{
	double sum = 0;
	if (column == MISSES) {
		double misses = insertion_misses(insertion, TABLE_1_KEYS, seeds);
		return misses < 0 ? NAN : misses;
	}
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct insertion_cost cost = insertion_fill(insertion, TABLE_1_KEYS, seed, true);
		sum += column == CHECKS ? (double)cost.checks
		                        : (double)cost.kicks / fmax(1, (double)cost.relocations);
	}
	return sum / (double)seeds;
}

static void table_1(struct paper_run *run, enum column column)
{
	static const struct {
		const char *id, *title, *unit;
	} words[] = {
		{ "table-1-kicks", "kick-outs per relocation", "entries moved" },
		{ "table-1-checks", "slots looked at by all inserts", "slots" },
		{ "table-1-misses", "cache misses", "percent of references" },
	};
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cpcf",
			.id = words[column].id,
			.place = "Table 1",
			.title = words[column].title,
			.unit = words[column].unit,
			.note = column == MISSES
	                                ? "no value where the machine counts no cache misses"
	                                : "0.95 * 2^12 keys, 4 slots, 12 bits; the walks are the "
	                                  "papers' own insertions in a few lines. p: slots held back" });
	for (size_t i = 0; i < insertions_number; i++)
		paper_add(run, insertions[i].name, PAPER_NONE, said_of(&insertions[i], column),
		          mean_cost(&insertions[i], paper_scale(run)->fills, column));
	paper_end(run);
}

/* ------------------------------------------------- chunks: Table 3, Fig. 1 and 3 -- */

static struct inside_figures chunks_of(nidus_family family, uint64_t keys)
{
	struct insertion planned = { .name = "planned",
		                     .family = family,
		                     .reserve = INSIDE_RESERVE_PLANNED };
	struct inside *table = insertion_table(&planned, keys, 1);
	struct inside_figures figures = inside_look(table);
	inside_free(table);
	return figures;
}

/* Algorithm 1 with the coefficient that Table 3 names. */
static void algorithm_1(uint64_t keys, uint64_t *chunks, uint64_t *buckets)
{
	double a = keys <= UINT64_C(1) << 23 ? 1.0 : 1.5;
	inside_algorithm_1(keys, INSERTION_LOAD, INSERTION_SLOTS, a, chunks, buckets);
}

static void table_3(struct paper_run *run)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cpcf",
			.id = "table-3",
			.place = "Table 3, Fig. 1",
			.title = "buckets of a chunk by number of keys",
			.x = "keys",
			.unit = "buckets",
			.log_x = true,
			.log_y = true,
			.note = "\"chunked\" is free to take larger chunks where they waste less" });
	for (unsigned log = 15; log <= 26; log++) {
		uint64_t keys = UINT64_C(1) << log, chunks, buckets;
		algorithm_1(keys, &chunks, &buckets);
		double said = log <= 23 ? 4096 : 8192;
		paper_add(run, "Algorithm 1", (double)keys, said, (double)buckets);
		paper_add(run, "chunked", (double)keys, said,
		          (double)chunks_of(NIDUS_CHUNKED, keys).buckets);
	}
	paper_end(run);
}

static void figure_3(struct paper_run *run)
{
	paper_begin(run, &(struct experiment){
				 .paper = "cpcf",
				 .id = "figure-3",
				 .place = "Fig. 3",
				 .title = "slots of the table by number of keys",
				 .x = "keys",
				 .unit = "slots over n / 0.95",
				 .note = "the paper: CPCF close to 1, the cuckoo filter up to 2" });
	for (unsigned i = 0; i <= 16; i++) {
		uint64_t keys = (uint64_t)exp2(19 + i / 16.0), chunks, buckets;
		double least = (double)keys / INSERTION_LOAD;
		algorithm_1(keys, &chunks, &buckets);
		paper_add(run, "Algorithm 1", (double)keys, PAPER_NONE,
		          (double)(chunks * buckets * INSERTION_SLOTS) / least);
		struct inside_figures chunked = chunks_of(NIDUS_CHUNKED, keys),
				      cuckoo = chunks_of(NIDUS_CUCKOO, keys);
		paper_add(run, "chunked", (double)keys, PAPER_NONE,
		          (double)(chunked.chunks * chunked.buckets * chunked.slots) / least);
		paper_add(run, "cuckoo", (double)keys, PAPER_NONE,
		          (double)(cuckoo.chunks * cuckoo.buckets * cuckoo.slots) / least);
	}
	paper_end(run);
}

/* --------------------------------------------------------- speeds: Fig. 4 to 7 -- */

/* Key i of a walk; those from KEYS_ABSENT on are never put in. */
static double walk_lookups(const struct walk *walk, uint64_t n, double hits, uint64_t lookups)
{
	struct key_order order = key_order_of(n);
	uint64_t found = 0, present = 0;
	double seconds = 0;
	for (uint64_t done = 0; done < lookups; done += 4096) {
		uint64_t keys[4096];
		for (unsigned i = 0; i < 4096; i++) {
			bool hit = (double)(keys_at(done + i) >> 11) < hits * 0x1p53;
			if (hit)
				key_order_fill(&order, &keys[i], 1);
			else
				keys[i] = keys_at(KEYS_ABSENT + done + i);
			present += hit;
		}
		double start = machine_worked();
		for (unsigned i = 0; i < 4096; i++)
			found += walk_contains(walk, keys[i]);
		seconds += machine_worked() - start;
	}
	/* A walk that gave up has lost a key, but hardly more than one. */
	return found + found / 100 < present ? NAN : (double)lookups / seconds / 1e6;
}

static double walk_change(struct walk *walk, uint64_t from, uint64_t to,
                          bool (*change)(struct walk *, uint64_t))
{
	double start = machine_worked();
	for (uint64_t i = from; i < to; i++)
		(void)change(walk, keys_at(KEYS_INSERTED + i));
	return (double)(to - from) / (machine_worked() - start) / 1e6;
}

static const double loads[] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95 };

#define LOADS (sizeof loads / sizeof *loads)

static unsigned sweep_walk(const struct paper_scale *scale, const char *name,
                           struct gauge_step *steps)
{
	struct walk walk = insertion_walk(insertion_named(name), near_power_of_two(scale->keys), 1);
	uint64_t at[LOADS + 1] = { 0 };
	for (unsigned i = 0; i < LOADS; i++) {
		at[i + 1] = (uint64_t)(loads[i] * (double)(walk.buckets * walk.slots));
		steps[i].insert = walk_change(&walk, at[i], at[i + 1], walk_insert);
		steps[i].present = walk_lookups(&walk, at[i + 1], 1, scale->lookups);
		steps[i].mixed = walk_lookups(&walk, at[i + 1], 0.5, scale->lookups);
		steps[i].absent = walk_lookups(&walk, at[i + 1], 0, scale->lookups);
	}
	for (unsigned i = LOADS; i-- > 0;)
		steps[i].remove = walk_change(&walk, at[i], at[i + 1], walk_remove);
	walk_free(&walk);
	return LOADS;
}

/* The library's rows of Fig. 4, 5 and 7. */
static const struct {
	const char *name;
	nidus_family family;
	enum gauge_call call;
} ours[] = { { "chunked, single", NIDUS_CHUNKED, GAUGE_SINGLE },
	     { "cuckoo, single", NIDUS_CUCKOO, GAUGE_SINGLE },
	     { "chunked, batch", NIDUS_CHUNKED, GAUGE_BATCH },
	     { "cuckoo, batch", NIDUS_CUCKOO, GAUGE_BATCH } };

#define OURS (sizeof ours / sizeof *ours)
#define SERIES (WALKS + OURS)

/* One sweep per series and round gives all four figures. */
struct sweeps {
	unsigned rounds, n[PAPER_ROUNDS_MOST][SERIES];
	struct gauge_step step[PAPER_ROUNDS_MOST][SERIES][GAUGE_STEPS];
};

static void sweep_all(struct sweeps *sweeps, struct paper_run *run)
{
	const struct paper_scale *scale = paper_scale(run);
	paper_prepare(run, "cpcf", "figures 4 and 5");
	while (paper_again(run)) {
		unsigned round = paper_round(run);
		sweeps->rounds = round + 1;
		for (unsigned i = 0; i < WALKS; i++)
			sweeps->n[round][i] =
				sweep_walk(scale, walk_names[i], sweeps->step[round][i]);
		for (unsigned i = 0; i < OURS; i++) {
			nidus_options options =
				options_for(ours[i].family, near_power_of_two(scale->keys));
			sweeps->n[round][WALKS + i] =
				gauge_sweep(&options, loads, LOADS, scale->lookups, ours[i].call,
			                    sweeps->step[round][WALKS + i]);
		}
	}
}

enum work { INSERT, REMOVE, PRESENT, MIXED, ABSENT, WORKS };

static double value_of(const struct gauge_step *step, enum work work)
{
	double values[WORKS] = { step->insert, step->remove, step->present, step->mixed,
		                 step->absent };
	return values[work];
}

static void figure_4_and_5(struct paper_run *run, const struct sweeps *sweeps, enum work work)
{
	static const struct {
		const char *id, *place, *title;
	} words[WORKS] = { { "figure-4a", "Fig. 4a", "inserts by load" },
		           { "figure-4b", "Fig. 4b", "removes by load" },
		           { "figure-5a", "Fig. 5", "lookups of present keys by load" },
		           { "figure-5c", "Fig. 5", "lookups, half of them present, by load" },
		           { "figure-5b", "Fig. 5", "lookups of absent keys by load" } };
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cpcf",
			.id = words[work].id,
			.place = words[work].place,
			.title = words[work].title,
			.x = "load",
			.unit = "M keys/s",
			.compare = PAPER_RATIO,
			.reference = "classic walk",
			.note = "the paper shows curves only. Walks keep 16 bits per slot and are "
				"called key by key; of ours both ways to call are shown" });
	for (unsigned i = 0; i < SERIES; i++) {
		for (unsigned round = 0; round < sweeps->rounds; round++) {
			for (unsigned j = 0; j < sweeps->n[round][i]; j++)
				paper_add(run, i < WALKS ? walk_names[i] : ours[i - WALKS].name,
				          loads[j], PAPER_NONE,
				          value_of(&sweeps->step[round][i][j], work));
		}
	}
	paper_end(run);
}

static void figures_4_and_5(struct paper_run *run)
{
	struct sweeps *sweeps = gauge_take(1, sizeof *sweeps);
	sweep_all(sweeps, run);
	for (unsigned work = 0; work < WORKS; work++)
		figure_4_and_5(run, sweeps, work);
	free(sweeps);
}

/* What the paper says of inserts at a load of 0.95, as multiples of the cuckoo filter. */
static double said_gain(const char *name)
{
	if (strncmp(name, "classic", 7) == 0)
		return 1;
	if (strncmp(name, "better", 6) == 0)
		return 2.01 / 1.65;
	return strncmp(name, "vacuum", 6) == 0 ? 2.01 / 1.21 : 2.01;
}

/* Speed of filling to 0.95, all keys, or of taking them out again. */
static double fill_speed(const char *name, uint64_t keys, bool removes)
{
	struct walk walk = insertion_walk(insertion_named(name), keys, 1);
	double speed = walk_change(&walk, 0, keys, walk_insert);
	if (removes)
		speed = walk_change(&walk, 0, keys, walk_remove);
	walk_free(&walk);
	return speed;
}

static double family_fill_speed(nidus_family family, uint64_t keys, bool removes)
{
	nidus_options options = options_for(family, keys);
	nidus_filter *filter = gauge_make(&options);
	struct gauge_speed speed = gauge_insert(filter, 0, keys, GAUGE_SINGLE);
	if (removes)
		speed = gauge_remove(filter, 0, speed.keys, GAUGE_SINGLE);
	nidus_free(filter);
	return gauge_rate(speed);
}

static void figure_6(struct paper_run *run, bool removes)
{
	const struct paper_scale *scale = paper_scale(run);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cpcf",
			.id = removes ? "figure-6b" : "figure-6",
			.place = removes ? "Fig. 6b" : "Fig. 6a",
			.title = removes ? "removes from a load of 0.95 by number of keys"
	                                 : "inserts up to a load of 0.95 by number of keys",
			.x = "log2 slots",
			.unit = "M keys/s",
			.compare = PAPER_RATIO,
			.reference = "classic walk",
			.note = removes ? "the paper shows curves only, which hardly differ"
	                                : "the paper's values are multiples of its cuckoo filter: "
	                                  "CPCF inserts 101, 65 and 21 % faster than cuckoo, better "
	                                  "choice and vacuum" });
	while (paper_again(run)) {
		for (unsigned log = scale->log_most - 4; log <= scale->log_most; log += 2) {
			uint64_t keys = (uint64_t)(INSERTION_LOAD * exp2(log));
			for (size_t i = 0; i < WALKS; i++)
				paper_add(run, walk_names[i], log,
				          removes ? PAPER_NONE : said_gain(walk_names[i]),
				          fill_speed(walk_names[i], keys, removes));
			paper_add(run, "chunked, single", log, PAPER_NONE,
			          family_fill_speed(NIDUS_CHUNKED, keys, removes));
			paper_add(run, "cuckoo, single", log, PAPER_NONE,
			          family_fill_speed(NIDUS_CUCKOO, keys, removes));
		}
	}
	paper_end(run);
}

static void hits_of_family(struct paper_run *run, const char *name, nidus_family family,
                           enum gauge_call call)
{
	nidus_options options = options_for(family, near_power_of_two(paper_scale(run)->keys));
	nidus_filter *filter = gauge_make(&options);
	uint64_t keys = gauge_insert(filter, 0, options.capacity, GAUGE_BATCH).keys;
	for (unsigned hits = 0; hits <= 100; hits += 20)
		paper_add(run, name, hits, PAPER_NONE,
		          gauge_rate(gauge_lookup(filter, keys, hits / 100.0,
		                                  paper_scale(run)->lookups, call)));
	nidus_free(filter);
}

static void hits_of_walk(struct paper_run *run, const char *name)
{
	uint64_t keys = near_power_of_two(paper_scale(run)->keys);
	struct walk walk = insertion_walk(insertion_named(name), keys, 1);
	walk_change(&walk, 0, keys, walk_insert);
	for (unsigned hits = 0; hits <= 100; hits += 20)
		paper_add(run, name, hits, PAPER_NONE,
		          walk_lookups(&walk, keys, hits / 100.0, paper_scale(run)->lookups));
	walk_free(&walk);
}

static void figure_7(struct paper_run *run)
{
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cpcf",
			.id = "figure-7",
			.place = "Fig. 7",
			.title = "lookups by share of hits, load 0.95",
			.x = "hits, %",
			.unit = "M keys/s",
			.compare = PAPER_RATIO,
			.reference = "classic walk",
			.note = "the paper shows curves only: CPCF is 4.5 M/s above the others at "
				"every share" });
	while (paper_again(run)) {
		for (size_t i = 0; i < WALKS; i++)
			hits_of_walk(run, walk_names[i]);
		for (size_t i = 0; i < OURS; i++)
			hits_of_family(run, ours[i].name, ours[i].family, ours[i].call);
	}
	paper_end(run);
}

/* ------------------------------------------------------------ one chunk and Eq. 4 -- */

/* Eq. 4 as it is printed: with one chunk its factor log C is 0, and so is the limit. */
static unsigned printed_max_kicks(uint64_t chunks, uint64_t buckets, unsigned slots)
{
	double depth = log((double)(buckets * slots - buckets + 1)) / log(slots);
	return (unsigned)ceil(2 * slots * log((double)chunks) * depth);
}

/* Keys that a walk takes before it gives up with this limit. */
static uint64_t keys_until_refused(unsigned max_kicks, uint64_t keys, uint64_t seed)
{
	struct walk walk = insertion_walk(insertion_named("CPCF walk, p = 1"), keys, seed);
	uint64_t in = 0;
	walk.max_kicks = max_kicks;
	while (in < keys && walk_insert(&walk, keys_at(KEYS_INSERTED + in)))
		in++;
	walk_free(&walk);
	return in;
}

static void equation_4(struct paper_run *run)
{
	uint64_t buckets = 1024;
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cpcf",
			.id = "equation-4",
			.place = "Eq. 4, one chunk",
			.title = "keys that fit into one chunk before one is refused",
			.unit = "keys of 3,891",
			.note = "the limit of kick-outs has the factor log C, which is 0 for one chunk: "
				"with the formula as printed nothing is ever relocated. Ours takes at least "
				"1. The paper's value is what it means to hold: 0.95 of 4,096 slots. The "
				"walk is ours, after the paper's description" });
	for (uint64_t seed = 1; seed <= 20; seed++) {
		paper_add(run, "Eq. 4 as printed", PAPER_NONE, TABLE_1_KEYS,
		          (double)keys_until_refused(printed_max_kicks(1, buckets, INSERTION_SLOTS),
		                                     TABLE_1_KEYS, seed));
		paper_add(run, "with log C at least 1", PAPER_NONE, TABLE_1_KEYS,
		          (double)keys_until_refused(inside_max_kicks(1, buckets, INSERTION_SLOTS),
		                                     TABLE_1_KEYS, seed));
	}
	paper_end(run);
}

/* ---------------------------------------------------------------------- Fig. 8 -- */

static void figure_8(struct paper_run *run)
{
	static const char *const names[] = { "classic walk", "CPCF walk, p = 1", "chunked, p = 1" };
	unsigned most = paper_scale(run)->log_most;
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cpcf",
			.id = "figure-8",
			.place = "Fig. 8",
			.title = "kick-outs of the longest relocation, and the threshold of Eq. 4",
			.x = "log2 slots",
			.unit = "kick-outs",
			.log_y = true,
			.note = "the paper: thresholds below 500 up to 0.95 * 2^27 keys. Ours is a "
				"breadth-first search, whose chains are as short as they can be" });
	for (unsigned log = 14; log <= most; log += 2) {
		uint64_t keys = (uint64_t)(INSERTION_LOAD * exp2(log)), chunks, buckets;
		algorithm_1(keys, &chunks, &buckets);
		paper_add(run, "threshold of Eq. 4", log, PAPER_NONE,
		          inside_max_kicks(chunks, buckets, INSERTION_SLOTS));
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			paper_add(run, names[i], log, PAPER_NONE,
			          (double)insertion_fill(insertion_named(names[i]), keys, 1, false)
			                  .longest);
	}
	paper_end(run);
}

/* --------------------------------------------------------------------- latency -- */

static void latency_of(struct paper_run *run, const char *name, const nidus_options *options)
{
	nidus_filter *filter = gauge_make(options);
	double slots = (double)gauge_look(filter).total_slots;
	uint64_t from = 0;
	for (unsigned i = 0; i < LOADS; i++) {
		uint64_t to = (uint64_t)(loads[i] * slots);
		char series[40];
		if (to > options->capacity)
			break;
		struct gauge_latency insert = gauge_insert_latency(filter, from, to);
		from = to;
		snprintf(series, sizeof series, "%s, median", name);
		paper_add(run, series, loads[i], PAPER_NONE, insert.median);
		snprintf(series, sizeof series, "%s, 99.9 %%", name);
		paper_add(run, series, loads[i], PAPER_NONE, insert.p999);
	}
	nidus_free(filter);
}

static void latency(struct paper_run *run)
{
	uint64_t keys = near_power_of_two(paper_scale(run)->keys);
	paper_begin(
		run,
		&(struct experiment){
			.paper = "cpcf",
			.id = "latency",
			.place = "section 1",
			.title = "time of single inserts by load",
			.x = "load",
			.unit = "ns",
			.log_y = true,
			.compare = PAPER_RATIO,
			.note = "the paper names insertion latency as the problem and gives no "
				"figures. Each call is timed, and the clock's own time taken off" });
	while (paper_again(run)) {
		nidus_options chunked = options_for(NIDUS_CHUNKED, keys),
			      cuckoo = options_for(NIDUS_CUCKOO, keys),
			      windowed = gauge_options(NIDUS_WINDOWED, 2, keys, INSERTION_FPR),
			      breadcrumb = gauge_options(NIDUS_BREADCRUMB, 0, keys, 0);
		latency_of(run, "chunked", &chunked);
		latency_of(run, "cuckoo", &cuckoo);
		latency_of(run, "windowed", &windowed);
		latency_of(run, "breadcrumb", &breadcrumb);
	}
	paper_end(run);
}

void paper_cpcf(struct paper_run *run)
{
	table_1(run, KICKS);
	table_1(run, CHECKS);
	table_1(run, MISSES);
	table_3(run);
	figure_3(run);
	figures_4_and_5(run);
	figure_6(run, false);
	figure_6(run, true);
	figure_7(run);
	equation_4(run);
	figure_8(run);
	latency(run);
}

/* SPDX-License-Identifier: MIT
 *
 * soak_model: everything that filters can do, mixed at random, against an exact multiset.
 *
 *     soak_model [SECONDS | OPERATIONS [SEED [HISTORY]]]
 *
 * A number below a million is a time in seconds (60 if left out), a larger one such as
 * 1e10 a number of operations. A run is a row of histories. Each one makes a filter of
 * random options and uses it at random; tides fill it to the brim and drain it again.
 * What a history does follows from the run's seed and its own number: SEED and HISTORY
 * repeat one alone, step by step (but for the order in which threads have their turns).
 *
 * Every answer is checked against a ledger of the identities (support/ledger.h): lookups,
 * counts, insert_new and walks exactly, refusals against the promises. An operation is a
 * call for one key, alone or in a batch, whose answer was checked. Exit 1 at the first
 * wrong answer, with the options, the step, and how to repeat it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "api/filter.h"
#include "base/effort.h"
#include "base/os.h"
#include "support/check.h"
#include "support/filters.h"
#include "support/folder.h"
#include "support/history.h"

#define SECONDS_MOST 1e6 /* a larger number means operations */
#define CAPACITY_BITS 13 /* capacities up to 2^13; now and then 16 times as much */
#define REACH_MOST 60000 /* keys that a filter may grow to */

/* The run as a whole. */
static struct {
	uint64_t operations, histories, valued;
	double seconds, operations_most;
	struct timespec start;
	bool progress;
	uint64_t by_family[32];
} run;

/* Often to what it promises and not further, sometimes less, seldom more. */
static void choose_tide(struct history *h)
{
	unsigned roll = (unsigned)chance_below(&h->chance, 16);
	uint64_t most = h->promise < h->ledger.keys ? h->promise : h->ledger.keys;
	h->high = most;
	if (roll < 6)
		h->high = most / 4 + chance_below(&h->chance, most - most / 4 + 1);
	else if (roll == 6 && chance_one_in(&h->chance, 4)) /* searches in vain are slow */
		h->high = h->ledger.keys;
	h->low = roll % 2 == 0 ? h->high - h->high / 50 : chance_below(&h->chance, h->high + 1);
}

static void turn_tide(struct history *h, struct actor *actor)
{
	uint64_t total = (uint64_t)(h->sums.total + actor->sums.total);
	bool turns = actor->filling ? total >= h->high : total <= h->low;
	if (!h->removes || !turns)
		return;
	actor->filling = !actor->filling;
	if (actor->filling)
		choose_tide(h);
}

static uint64_t any_capacity(struct chance *chance)
{
	unsigned bits = (unsigned)chance_below(chance, CAPACITY_BITS);
	uint64_t capacity = (UINT64_C(1) << bits) + chance_below(chance, UINT64_C(1) << bits);
	return chance_one_in(chance, 128) ? 16 * capacity : capacity;
}

/* Options that hardly anybody sets; some of them make the capacity an expectation. */
static void choose_whims(struct chance *chance, nidus_options *options)
{
	static const unsigned nest_slots[] = { 2, 4, 8 };
	static const unsigned yard_slots[] = { 63, 56, 51, 46, 42, 39, 36, 34, 32, 30, 28, 19, 25 };
	if (chance_one_in(chance, 2))
		options->slots = options->family == NIDUS_BREADCRUMB
		                         ? yard_slots[chance_below(chance, 13)]
		                         : nest_slots[chance_below(chance, 3)];
	if (chance_one_in(chance, 10))
		options->max_steps = 1 + (unsigned)chance_below(chance, 1000);
	if (chance_one_in(chance, 10))
		options->reserve = (unsigned)chance_below(chance, 4);
	if (chance_one_in(chance, 10))
		options->stash = (unsigned)chance_below(chance, 40);
	if (chance_one_in(chance, 20))
		options->stash = NIDUS_STASH_OFF;
}

/* 2^-4 to 2^-32. The short fingerprints more often: they have twins, and are quicker. */
static unsigned any_rate(struct chance *chance)
{
	unsigned a = (unsigned)chance_below(chance, 29), b = (unsigned)chance_below(chance, 29);
	return 4 + (a < b ? a : b);
}

/* A family whose filters can be changed. */
static const struct family *any_family(struct chance *chance)
{
	const struct family *changeable[FAMILIES];
	unsigned n = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_STATIC))
			changeable[n++] = *family;
	}
	return changeable[chance_below(chance, n)];
}

static nidus_options any_options(struct chance *chance)
{
	const struct family *family = any_family(chance);
	nidus_options options =
		filter_options(any_capacity(chance), 0, 1 + chance_next(chance) / 2);
	options.family = family->id;
	options.fpr = ldexp(1, -(int)any_rate(chance));
	if (family->features & NIDUS_GROW && chance_one_in(chance, 2)) {
		options.max_capacity = options.capacity << (1 + chance_below(chance, 6));
		if (options.max_capacity > REACH_MOST)
			options.max_capacity = options.capacity;
	}
	if (chance_one_in(chance, 3))
		options.features = NIDUS_CONCURRENT & family->features;
	if (chance_one_in(chance, 8))
		options.features |= NIDUS_NO_DELETE;
	if (family->compact && chance_one_in(chance, 2))
		options.features |= NIDUS_COMPACT;
	if (chance_one_in(chance, 4))
		options.value_bits =
			1 + (unsigned)chance_below(chance, chance_one_in(chance, 2) ? 8 : 32);
	if (family->compact && chance_one_in(chance, 2))
		options.features |= NIDUS_COMPACT;
	choose_whims(chance, &options);
	/* Small segments, so that a few thousand keys are in many of them. */
	take_small_segments(UINT32_C(1) << (5 + chance_below(chance, 8)));
	return options;
}

static void make_first(struct history *h)
{
	nidus_status status;
	do {
		h->options = any_options(&h->chance);
		status = nidus_create(&h->options, &h->filter);
		DEMAND(status == NIDUS_OK || status == NIDUS_E_RANGE ||
		       status == NIDUS_E_UNSUPPORTED);
	} while (status != NIDUS_OK);
}

static void choose_keys(struct history *h)
{
	if (chance_one_in(&h->chance, 2)) {
		h->hot_percent = 1 + (unsigned)chance_below(&h->chance, 40);
		h->hot = 1 + chance_below(&h->chance, chance_one_in(&h->chance, 2) ? 4 : 50);
	} else if (chance_one_in(&h->chance, 4)) {
		h->skew = 1 + (unsigned)chance_below(&h->chance, 5);
	} else {
		h->distinct = chance_one_in(&h->chance, 2);
	}
	uint64_t keys = h->promise + h->promise / 4 + 8;
	h->hot = h->hot < keys ? h->hot : keys;
	ledger_create(&h->ledger, h->filter, keys);
}

static void begin(struct history *h, uint64_t number)
{
	struct chance chance = { history_run_seed ^ number * UINT64_C(0x9e3779b97f4a7c15) };
	*h = (struct history){ .number = number, .chance = { chance_next(&chance) } };
	h->act = "create";
	history_now = h;
	DEMAND_OK(nidus_set_isa("scalar"));
	if (!chance_one_in(&h->chance, 4))
		(void)nidus_set_isa("avx2");
	make_first(h);
	uint32_t features = info_of(h->filter).features;
	h->removes = features & NIDUS_DELETE;
	h->grows = features & NIDUS_GROW;
	h->merges = features & NIDUS_MERGE;
	h->promises = h->options.stash == 0 && h->options.max_steps == 0;
	history_learn_promises(h, true);
	choose_keys(h);
	choose_tide(h);
	h->looked = effort_of_thread()->looked;
	h->budget = 200000 + 40 * h->ledger.keys;
}

/* A pause before its time, so that whole filters are used amid growth, too. */
static bool interrupted(struct history *h)
{
	return has_segments(h->filter) &&
	       chance_one_in(&h->chance, 4 + (unsigned)(h->ledger.keys / 256));
}

static void live(struct history *h)
{
	struct actor actor = {
		.history = h,
		.parts = 1,
		.chance = { chance_next(&h->chance) },
		.filling = true,
	};
	while (h->operations < h->budget) {
		uint64_t pause = 1000 + chance_below(&h->chance, 16 * h->ledger.keys);
		h->act = "single calls and batches";
		do {
			history_use(&actor);
			turn_tide(h, &actor);
			h->step++;
		} while (actor.operations < pause && !interrupted(h));
		history_met.moving += has_segments(h->filter);
		history_fold(h, &actor);
		history_act(h);
		h->step++;
	}
}

static void end(struct history *h)
{
	run.operations += h->operations;
	run.by_family[h->options.family % 32] += h->operations;
	run.histories++;
	run.valued += h->ledger.values != NULL ? h->operations : 0;
	nidus_free(h->filter);
	ledger_free(&h->ledger);
	history_now = NULL;
}

static void one_history(uint64_t number)
{
	struct history history;
	begin(&history, number);
	live(&history);
	end(&history);
}

/* ----------------------------------------------------------------------- the run -- */

static double seconds_gone(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - run.start.tv_sec) +
	       (double)(now.tv_nsec - run.start.tv_nsec) * 1e-9;
}

/* By the processor time of this program's threads: other programs do not matter. */
static double millions_per_second(void)
{
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)run.operations / ((double)used.tv_sec * 1e6 + (double)used.tv_nsec * 1e-3);
}

static void show_progress(void)
{
	static double shown;
	double now = seconds_gone();
	if (!run.progress || now < shown + 0.5)
		return;
	shown = now;
	fprintf(stderr,
	        "\r%.0f s, %" PRIu64 " histories, %.4g operations, %.1f million per second ", now,
	        run.histories, (double)run.operations, millions_per_second());
}

static bool done(void)
{
	return run.operations_most > 0 ? (double)run.operations >= run.operations_most
	                               : seconds_gone() >= run.seconds;
}

static void summarize(void)
{
	if (run.progress)
		fputc('\n', stderr);
	for (unsigned i = 0; i < 32; i++) {
		if (run.by_family[i] > 0)
			printf("%-14s %14" PRIu64 " operations\n",
			       nidus_family_name((nidus_family)i), run.by_family[i]);
	}
	printf("%-14s %14" PRIu64 " operations in %" PRIu64 " histories, %.1f s, %.1f million per "
	       "second of processor time\n",
	       "all", run.operations, run.histories, seconds_gone(), millions_per_second());
	printf("seen: %.3g operations with values, %.3g changes, %" PRIu64 " FULL, %" PRIu64
	       " COPIES; %" PRIu64 " pauses amid growth, %" PRIu64 " saves and %" PRIu64
	       " clones then\n",
	       (double)run.valued, (double)history_met.changes, history_met.full,
	       history_met.copies, history_met.moving, history_met.saved_amid,
	       history_met.cloned_amid);
	printf("      %" PRIu64 " merges, %" PRIu64 " growths, %" PRIu64
	       " of them relaxed, %" PRIu64 " shrinks, %" PRIu64 " packed, %" PRIu64
	       " builds, %" PRIu64 " times threads\n",
	       history_met.merged, history_met.grown + history_met.relaxed, history_met.relaxed,
	       history_met.shrunk, history_met.packed, history_met.built, history_met.threads);
}

static int no_sync(int file)
{
	(void)file; /* kills are soak_kill's business */
	return 0;
}

static bool read_number(const char *text, double *number)
{
	char *end;
	*number = strtod(text, &end);
	return end != text && *end == '\0' && *number >= 0;
}

int main(int argc, char **argv)
{
	double much = 60;
	if (argc > 4 || (argc > 1 && !read_number(argv[1], &much))) {
		fprintf(stderr, "usage: soak_model [SECONDS | OPERATIONS [SEED [HISTORY]]]\n"
		                "a number below a million is a time in seconds\n");
		return 2;
	}
	run.seconds = much < SECONDS_MOST ? much : 0;
	run.operations_most = much < SECONDS_MOST ? 0 : much;
	history_run_seed = argc > 2 ? strtoull(argv[2], NULL, 0) : chance_seed();
	run.progress = isatty(STDERR_FILENO);
	clock_gettime(CLOCK_MONOTONIC, &run.start);
	os.sync = no_sync;
	history_watch_for_crashes();
	printf("seed %" PRIu64 "\n", history_run_seed);
	fflush(stdout);
	expect_equal(folder_setup(NULL), 0);
	if (argc > 3)
		one_history(strtoull(argv[3], NULL, 0));
	for (uint64_t number = 0; argc <= 3 && !done(); number++) {
		one_history(number);
		show_progress();
	}
	(void)folder_teardown(NULL);
	summarize();
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * soak_capacity: whether a filter made for n keys takes n keys, many times over.
 *
 *     soak_capacity [FILTERS [LARGE]]     per layout; 100000 and 300 if left out
 *
 * For each family and each number of slots that it accepts: FILTERS filters of
 * 1 to 2,000 keys and LARGE ones of up to 4 million, at rates from 2^-4 to
 * 2^-16, each filled to the capacity that it promises, which may be more than
 * was asked for. NIDUS_TEST_SEED repeats a run.
 *
 * No run is long enough to see failures of one in a million directly. What can
 * be seen is how far the stash of the fullest chunk is used: a filter fails when
 * one entry more than the stash's limit needs it. The table shows which share of
 * the filters stashed 1, 2, 4, 8 and 16 entries or more, a geometric tail fitted
 * to those that went furthest (each further entry is q times as likely), and
 * what that tail says of the limit. Exit 1 if any key was refused.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/filter.h"
#include "family/nesting.h"
#include "support/chance.h"

#define SLOTS_TRIED 16 /* options.slots from 1 to this are tried */
#define LAYOUTS_MAX 32
#define THREADS_MAX 8
#define DEPTHS 64 /* a stash used further counts as DEPTHS - 1 */

#define SMALL_MOST 2000
#define LARGE_MOST 4000000
#define RATE_FIRST 4 /* 2^-4 */
#define RATE_LAST 16
#define RATE_SHORT 7 /* up to here fingerprints are short, which is its own case */

static const uint64_t class_most[] = { 20, 200, SMALL_MOST, 200000, LARGE_MOST };
static const char *const class_names[] = { "1-20", "21-200", "201-2k", "2k-200k", "200k-4M" };

#define CLASSES (sizeof class_most / sizeof *class_most)

struct layout {
	nidus_family family;
	unsigned slots; /* 0: the family has no such option */
};

/* What was seen of one layout, size class and rate class. */
struct tally {
	uint64_t filters, failures;
	uint64_t depth[DEPTHS]; /* filters whose fullest stash held so many entries */
	uint64_t limit;         /* the least of the stashes' limits; 0: no filter yet */
};

struct tallies {
	struct tally of[LAYOUTS_MAX][CLASSES][2];
};

/* One filter to make. Follows from the run's seed and the number of the filter. */
struct task {
	const struct layout *layout;
	size_t layout_index, class_index;
	uint64_t keys, first_key, seed; /* keys: what to ask for */
	unsigned rate;
};

struct soak {
	struct layout layout[LAYOUTS_MAX];
	size_t layouts;
	uint64_t small, large; /* filters per layout */
	uint64_t seed;
	bool progress;
	pthread_mutex_t lock; /* for what follows */
	uint64_t next, total;
	struct tallies sum;
};

/* ------------------------------------------------------------------- layouts -- */

static bool accepts(nidus_family family, unsigned slots)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = family;
	options.capacity = 100;
	options.slots = slots;
	nidus_filter *filter;
	if (nidus_create(&options, &filter) != NIDUS_OK)
		return false;
	nidus_free(filter);
	return true;
}

static void find_layouts(struct soak *soak)
{
	for (const struct family *const *family = families; *family != NULL; family++) {
		size_t before = soak->layouts;
		for (unsigned slots = 1; slots <= SLOTS_TRIED; slots++) {
			if (accepts((*family)->id, slots) && soak->layouts < LAYOUTS_MAX)
				soak->layout[soak->layouts++] =
					(struct layout){ (*family)->id, slots };
		}
		if (soak->layouts == before && soak->layouts < LAYOUTS_MAX)
			soak->layout[soak->layouts++] = (struct layout){ (*family)->id, 0 };
	}
}

/* --------------------------------------------------------------- one filter -- */

static uint64_t small_size(struct chance *chance)
{
	/* A third of each: below 20 and below 200 the odds are others than above. */
	static const uint64_t most[] = { 20, 200, SMALL_MOST };
	return 1 + chance_below(chance, most[chance_below(chance, 3)]);
}

/* Evenly by logarithm. */
static uint64_t large_size(struct chance *chance)
{
	double share = (double)(chance_next(chance) >> 11) * 0x1p-53;
	return (uint64_t)(SMALL_MOST * pow((double)LARGE_MOST / SMALL_MOST, share)) + 1;
}

/* The large ones come first, so that no thread ends long after the others. */
static struct task make_task(const struct soak *soak, uint64_t number)
{
	struct task task = { 0 };
	struct chance chance = { soak->seed ^ number * UINT64_C(0x9fb21c651e98df25) };
	uint64_t large = soak->large * soak->layouts;
	task.layout_index = (size_t)(number % soak->layouts);
	task.layout = &soak->layout[task.layout_index];
	task.keys = number < large ? large_size(&chance) : small_size(&chance);
	while (task.keys > class_most[task.class_index] && task.class_index < CLASSES - 1)
		task.class_index++;
	task.rate = RATE_FIRST + (unsigned)chance_below(&chance, RATE_LAST - RATE_FIRST + 1);
	task.first_key = chance_next(&chance);
	task.seed = chance_next(&chance) | 1;
	return task;
}

/* Puts distinct keys in; the hash makes them random. */
static nidus_status fill(nidus_filter *filter, uint64_t first, uint64_t keys)
{
	uint64_t key[256], hash[256];
	for (uint64_t done = 0; done < keys;) {
		size_t some = keys - done < 256 ? (size_t)(keys - done) : 256;
		for (size_t i = 0; i < some; i++)
			key[i] = first + done + i;
		nidus_hash_u64_batch(filter, key, some, hash);
		nidus_status status = nidus_insert_batch(filter, hash, some, NULL);
		if (status != NIDUS_OK)
			return status;
		done += some;
	}
	return NIDUS_OK;
}

/* Entries in the fullest stash; the whole filter's where there are no chunks. */
static uint64_t deepest_stash(const nidus_filter *filter)
{
	if (filter->family->fill != nesting_fill)
		return filter->family->fill(filter_body(filter)).stashed;
	const struct nest *nest = (const struct nest *)(const void *)filter_body(filter);
	uint64_t deepest = 0;
	for (uint64_t i = 0; i < nest->layout->chunks; i++) {
		if (nest->chunk[i].stash.nodes > deepest)
			deepest = nest->chunk[i].stash.nodes;
	}
	return deepest;
}

static void report_failure(const struct task *task, nidus_status status)
{
	printf("FAILED: %s, slots %u, 2^-%u, made for %llu keys, from %llu, seed %llu: %s\n",
	       nidus_family_name(task->layout->family), task->layout->slots, task->rate,
	       (unsigned long long)task->keys, (unsigned long long)task->first_key,
	       (unsigned long long)task->seed, nidus_status_name(status));
}

static void run_task(const struct task *task, struct tallies *tallies)
{
	struct tally *tally =
		&tallies->of[task->layout_index][task->class_index][task->rate > RATE_SHORT];
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = task->layout->family;
	options.slots = task->layout->slots;
	options.capacity = task->keys;
	options.fpr = ldexp(1, -(int)task->rate);
	options.seed = task->seed;
	nidus_filter *filter;
	nidus_status status = nidus_create(&options, &filter);
	tally->filters++;
	if (status == NIDUS_OK)
		status = fill(filter, task->first_key, filter->plan.capacity);
	if (status != NIDUS_OK) {
		tally->failures++;
		report_failure(task, status);
	}
	if (filter == NULL)
		return;
	uint64_t depth = deepest_stash(filter);
	tally->depth[depth < DEPTHS ? depth : DEPTHS - 1]++;
	if (tally->limit == 0 || filter->plan.stash_limit < tally->limit)
		tally->limit = filter->plan.stash_limit;
	nidus_free(filter);
}

/* -------------------------------------------------------------------- threads -- */

static void show_progress(const struct soak *soak)
{
	uint64_t step = soak->total / 1000 + 1;
	if (soak->progress && (soak->next % step == 0 || soak->next == soak->total))
		fprintf(stderr, "\r%5.1f %% of %llu filters%s",
		        100.0 * (double)soak->next / (double)soak->total,
		        (unsigned long long)soak->total, soak->next == soak->total ? "\n" : "");
}

static bool take_task(struct soak *soak, uint64_t *number)
{
	pthread_mutex_lock(&soak->lock);
	bool more = soak->next < soak->total;
	if (more) {
		*number = soak->next++;
		show_progress(soak);
	}
	pthread_mutex_unlock(&soak->lock);
	return more;
}

static void add_tally(struct tally *to, const struct tally *from)
{
	to->filters += from->filters;
	to->failures += from->failures;
	for (size_t i = 0; i < DEPTHS; i++)
		to->depth[i] += from->depth[i];
	if (from->limit != 0 && (to->limit == 0 || from->limit < to->limit))
		to->limit = from->limit;
}

static void *work(void *context)
{
	struct soak *soak = context;
	struct tallies *own = calloc(1, sizeof *own);
	uint64_t number;
	if (own == NULL)
		abort();
	while (take_task(soak, &number)) {
		struct task task = make_task(soak, number);
		run_task(&task, own);
	}
	pthread_mutex_lock(&soak->lock);
	for (size_t i = 0; i < soak->layouts; i++) {
		for (size_t j = 0; j < CLASSES; j++) {
			for (size_t k = 0; k < 2; k++)
				add_tally(&soak->sum.of[i][j][k], &own->of[i][j][k]);
		}
	}
	pthread_mutex_unlock(&soak->lock);
	free(own);
	return NULL;
}

static void run_all(struct soak *soak)
{
	pthread_t thread[THREADS_MAX];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (int)cores;
	int started = 0;
	while (started < threads - 1 && pthread_create(&thread[started], NULL, work, soak) == 0)
		started++;
	(void)work(soak);
	for (int i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
}

/* ----------------------------------------------------------------- the table -- */

/* Filters that stashed `depth` entries or more. */
static uint64_t at_least(const struct tally *tally, uint64_t depth)
{
	uint64_t filters = 0;
	for (uint64_t i = depth; i < DEPTHS; i++)
		filters += tally->depth[i];
	return filters;
}

struct tail {
	uint64_t from; /* where it starts; 0: nothing was stashed */
	double share;  /* of the filters get there */
	double q;      /* and each entry further is so likely */
};

/*
 * Starts where the last ENOUGH filters are, to follow the end and not the bulk.
 * One entry more than was seen is counted, so that q errs upwards.
 */
static struct tail fit_tail(const struct tally *tally)
{
	enum { ENOUGH = 100 };
	struct tail tail = { 0 };
	uint64_t beyond = 1;
	if (at_least(tally, 1) == 0)
		return tail;
	tail.from = 1;
	while (tail.from + 1 < DEPTHS && at_least(tally, tail.from + 1) >= ENOUGH)
		tail.from++;
	uint64_t reached = at_least(tally, tail.from);
	for (uint64_t i = tail.from + 1; i < DEPTHS; i++)
		beyond += (i - tail.from) * tally->depth[i];
	tail.share = (double)reached / (double)tally->filters;
	tail.q = (double)beyond / (double)(reached + beyond);
	return tail;
}

static void print_share(const struct tally *tally, uint64_t depth)
{
	uint64_t filters = at_least(tally, depth);
	if (filters == 0)
		printf(" %7s", "-");
	else
		printf(" %7.1e", (double)filters / (double)tally->filters);
}

static void print_row(const struct layout *layout, size_t class_index, bool low,
                      const struct tally *tally)
{
	static const uint64_t depths[] = { 1, 2, 4, 8, 16 };
	uint64_t most = DEPTHS - 1;
	printf("%-10s %5u  %-8s 2^-%-2d to -%-2d %8llu %8llu", nidus_family_name(layout->family),
	       layout->slots, class_names[class_index], low ? RATE_SHORT + 1 : RATE_FIRST,
	       low ? RATE_LAST : RATE_SHORT, (unsigned long long)tally->filters,
	       (unsigned long long)tally->failures);
	for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
		print_share(tally, depths[i]);
	while (most > 0 && tally->depth[most] == 0)
		most--;
	printf(" %4llu %5llu", (unsigned long long)most, (unsigned long long)tally->limit);
	struct tail tail = fit_tail(tally);
	if (tail.from == 0)
		printf(" %10s %8s\n", "none", "-");
	else
		printf(" %4.2f from %-2llu %6.0e\n", tail.q, (unsigned long long)tail.from,
		       tail.share * pow(tail.q, (double)(tally->limit + 1 - tail.from)));
}

static uint64_t print_table(const struct soak *soak)
{
	uint64_t failures = 0;
	printf("\n%46s %s\n", "", "share of filters that stashed at least");
	printf("%-10s %5s  %-8s %-11s %8s %8s %7d %7d %7d %7d %7d %4s %5s %-12s %s\n", "family",
	       "slots", "keys", "rates", "filters", "failed", 1, 2, 4, 8, 16, "most", "limit",
	       "tail q", "odds");
	for (size_t i = 0; i < soak->layouts; i++) {
		for (size_t j = 0; j < CLASSES; j++) {
			for (size_t k = 0; k < 2; k++) {
				const struct tally *tally = &soak->sum.of[i][j][k];
				failures += tally->failures;
				if (tally->filters > 0)
					print_row(&soak->layout[i], j, k == 1, tally);
			}
		}
	}
	printf("\nodds: that a filter of this row needs more than its stash's limit, by the tail\n");
	printf("%llu filters, %llu failed\n", (unsigned long long)soak->total,
	       (unsigned long long)failures);
	return failures;
}

/* ----------------------------------------------------------------------- main -- */

static uint64_t count_argument(int argc, char **argv, int index, uint64_t otherwise)
{
	if (index >= argc)
		return otherwise;
	char *end;
	unsigned long long count = strtoull(argv[index], &end, 10);
	if (end == argv[index] || *end != '\0') {
		fprintf(stderr, "usage: soak_capacity [FILTERS [LARGE]]\n");
		exit(2);
	}
	return count;
}

int main(int argc, char **argv)
{
	static struct soak soak;
	soak.small = count_argument(argc, argv, 1, 100000);
	soak.large = count_argument(argc, argv, 2, 300);
	soak.seed = chance_seed();
	soak.progress = isatty(STDERR_FILENO);
	pthread_mutex_init(&soak.lock, NULL);
	find_layouts(&soak);
	soak.total = (soak.small + soak.large) * soak.layouts;
	printf("%llu filters of up to %d keys and %llu of up to %d per layout, seed %llu\n",
	       (unsigned long long)soak.small, SMALL_MOST, (unsigned long long)soak.large,
	       LARGE_MOST, (unsigned long long)soak.seed);
	run_all(&soak);
	return print_table(&soak) > 0;
}

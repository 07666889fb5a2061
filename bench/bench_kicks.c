/* SPDX-License-Identifier: MIT
 *
 * bench_kicks: what inserting at high load costs, and how tables are chunked.
 *
 *     bench_kicks [SLOTS...] [--only kicks|chunks] [--seeds N] [--keys LIST] [--json]
 *
 * Two tables, both after "CPCF: A Flexible Chunking and Proactive Insertion
 * Cuckoo Filter" (2024):
 *  kicks   its Table 1: buckets of 4, fingerprints of 12 bits, SLOTS slots (2^12)
 *          filled to 95 %. Kick-outs per relocation (entries moved per insert
 *          that found both buckets full), slots looked at by all inserts, and
 *          cache misses where the system counts them. Mean and standard
 *          deviation over N seeds (1000). Beside the library's own insertion the
 *          random walks of the papers, see walk.h.
 *  chunks  its Fig. 1 and Table 3: our chunks and buckets for some numbers of
 *          keys, and those of its Algorithm 1.
 *
 * Exit 1 if the chunked family moves more than 2.1 entries per relocation, takes
 * more than 1.03 * n / 0.95 slots for n >= 2^19 keys, or refuses a key.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insertion.h"
#include "machine.h"

#define SLOTS INSERTION_SLOTS
#define LOAD INSERTION_LOAD
#define KICKS_MOST 2.1
#define EXTRA_MOST 1.03
#define EXTRA_FROM (UINT64_C(1) << 19)
#define FULL 0.975       /* load of a chunk at which inserts begin to fail */
#define STASH_SHARE 54.0 /* slots of a chunk for each place in its stash */
#define LIST_MAX 64

struct list {
	size_t n;
	uint64_t item[LIST_MAX];
};

struct settings {
	bool json, kicks, chunks;
	struct list slots, keys;
	uint64_t seeds;
	size_t printed; /* rows so far, for the commas of JSON */
	bool failed;
};

/* ---------------------------------------------------------------------- spread -- */

struct spread {
	double n, sum, squares, most;
};

static void add(struct spread *spread, double value)
{
	spread->n++;
	spread->sum += value;
	spread->squares += value * value;
	spread->most = fmax(spread->most, value);
}

static double mean(const struct spread *spread)
{
	return spread->sum / spread->n;
}

static double deviation(const struct spread *spread)
{
	double m = mean(spread);
	return sqrt(fmax(0, spread->squares / spread->n - m * m));
}

struct row {
	const struct insertion *way;
	uint64_t keys, chunks, buckets, stashed, refused;
	struct spread relocations, kicks, checks;
	double misses; /* percent; negative: not available */
};

static struct row measure(const struct insertion *way, uint64_t keys, uint64_t seeds)
{
	struct row row = { .way = way, .keys = keys };
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct insertion_cost cost = insertion_fill(way, keys, seed, true);
		row.chunks = cost.chunks;
		row.buckets = cost.buckets;
		row.stashed += cost.stashed;
		row.refused += cost.refused;
		add(&row.relocations, (double)cost.relocations);
		add(&row.kicks, (double)cost.kicks / fmax(1, (double)cost.relocations));
		add(&row.checks, (double)cost.checks);
	}
	row.misses = insertion_misses(way, keys, seeds);
	return row;
}

/* ---------------------------------------------------------------------- output -- */

static void begin(const struct settings *settings)
{
	if (settings->json)
		printf("{\"cpu\": \"%s\", \"compiler\": \"%s\", \"nidus\": \"%s\", \"rows\": [",
		       machine_cpu(), machine_compiler(), nidus_version());
	else
		printf("cpu       %s\ncompiler  %s\nnidus     %s\n", machine_cpu(),
		       machine_compiler(), nidus_version());
}

static const char *comma(struct settings *settings)
{
	return settings->printed++ == 0 ? "\n " : ",\n ";
}

static void percent_text(char text[16], double percent)
{
	if (percent < 0)
		snprintf(text, 16, "not available");
	else
		snprintf(text, 16, "%.1f%%", percent);
}

static void print_row(struct settings *settings, const struct row *row)
{
	bool pass = row->refused == 0 && mean(&row->kicks) <= KICKS_MOST;
	double load = (double)row->keys / (double)(row->chunks * row->buckets * SLOTS);
	char misses[16];
	percent_text(misses, row->misses);
	if (settings->json)
		printf("%s{\"table\": \"kicks\", \"insertion\": \"%s\", \"keys\": %llu, "
		       "\"chunks\": %llu, \"buckets\": %llu, \"load\": %.4f, \"seeds\": %.0f, "
		       "\"relocations\": %.2f, \"kicks\": %.4f, \"kicks_deviation\": %.4f, "
		       "\"kicks_most\": %.4f, \"checks\": %.1f, \"checks_deviation\": %.1f, "
		       "\"misses_percent\": %.2f, \"stashed\": %llu, \"refused\": %llu, \"pass\": %s}",
		       comma(settings), row->way->name, (unsigned long long)row->keys,
		       (unsigned long long)row->chunks, (unsigned long long)row->buckets, load,
		       row->kicks.n, mean(&row->relocations), mean(&row->kicks),
		       deviation(&row->kicks), row->kicks.most, mean(&row->checks),
		       deviation(&row->checks), row->misses, (unsigned long long)row->stashed,
		       (unsigned long long)row->refused,
		       !row->way->barred ? "null"
		       : pass            ? "true"
		                         : "false");
	else
		printf("%-18s %4llu x %-7llu %.4f %9.1f  %6.3f +- %.3f %6.2f %9.0f +- %-6.0f %7.3f  "
		       "%-13s %7llu %7llu  %s\n",
		       row->way->name, (unsigned long long)row->chunks,
		       (unsigned long long)row->buckets, load, mean(&row->relocations),
		       mean(&row->kicks), deviation(&row->kicks), row->kicks.most,
		       mean(&row->checks), deviation(&row->checks),
		       mean(&row->checks) / (double)row->keys, misses,
		       (unsigned long long)row->stashed, (unsigned long long)row->refused,
		       !row->way->barred ? "-"
		       : pass            ? "pass"
		                         : "FAIL");
	settings->failed |= row->way->barred && !pass;
	fflush(stdout);
}

static void print_paper(void)
{
	printf("the paper's Table 1, 2^12 slots:\n");
	for (size_t i = 0; i < insertions_said_number; i++) {
		const struct insertion_said *said = &insertions_said[i];
		printf("%-17s %31s  %6.2f %23.0f          %7.3f  %.1f%%\n", said->name, "",
		       said->kicks, said->checks, said->checks / 3891.0, said->misses);
	}
}

static void run_kicks(struct settings *settings)
{
	for (size_t i = 0; i < settings->slots.n; i++) {
		uint64_t slots = settings->slots.item[i], keys = (uint64_t)(LOAD * (double)slots);
		if (!settings->json)
			printf("\n%llu keys for %llu slots, b = %d, f = %d, seeds 1 to %llu; at most %.1f "
			       "kick-outs per relocation allowed\n"
			       "insertion          chunks x buckets  load relocations  kick-outs      "
			       "   most  slot checks       per key  cache misses  stashed refused\n",
			       (unsigned long long)keys, (unsigned long long)slots, SLOTS,
			       INSERTION_BITS, (unsigned long long)settings->seeds, KICKS_MOST);
		for (size_t j = 0; j < insertions_number; j++) {
			struct row row = measure(&insertions[j], keys, settings->seeds);
			print_row(settings, &row);
		}
		if (!settings->json)
			print_paper();
	}
}

/* ---------------------------------------------------------------------- chunks -- */

struct chunking {
	uint64_t chunks, buckets;
	double extra;    /* slots over those of a table of load 0.95 */
	double overflow; /* odds that some chunk gets more keys than it holds */
	unsigned kicks;  /* Eq. 4 */
};

/* Normal tail, summed over the chunks: a bound that is nearly exact where it is small. */
static double overflow_odds(uint64_t keys, uint64_t chunks, double holds)
{
	double share = (double)keys / (double)chunks;
	if (chunks == 1)
		return share > holds;
	double spreads = (holds - share) / sqrt(share * (1 - 1 / (double)chunks));
	return fmin(1, (double)chunks * 0.5 * erfc(spreads / sqrt(2)));
}

static void complete(struct chunking *chunking, uint64_t keys, double stash_share)
{
	double slots = (double)(chunking->buckets * SLOTS);
	chunking->extra = (double)chunking->chunks * slots / ((double)keys / LOAD);
	chunking->overflow =
		overflow_odds(keys, chunking->chunks, FULL * slots + stash_share * slots);
	chunking->kicks = inside_max_kicks(chunking->chunks, chunking->buckets, SLOTS);
}

static struct chunking our_chunks(uint64_t keys)
{
	static const struct insertion planned = { "chunked", NIDUS_CHUNKED,
		                                  0,         INSIDE_RESERVE_PLANNED,
		                                  false,     NULL };
	struct inside *table = insertion_table(&planned, keys, 1);
	struct inside_figures figures = inside_look(table);
	struct chunking ours = { .chunks = figures.chunks, .buckets = figures.buckets };
	inside_free(table);
	complete(&ours, keys, 1 / STASH_SHARE);
	return ours;
}

/* The coefficient that Table 3 names for so many keys. */
static double coefficient(uint64_t keys)
{
	return keys <= UINT64_C(1) << 23 ? 1.0 : 1.5;
}

static void print_chunks(struct settings *settings, uint64_t keys, const struct chunking *ours,
                         const struct chunking *theirs)
{
	bool barred = keys >= EXTRA_FROM, pass = ours->extra <= EXTRA_MOST;
	if (settings->json)
		printf("%s{\"table\": \"chunks\", \"keys\": %llu, \"chunks\": %llu, \"buckets\": %llu, "
		       "\"extra\": %.5f, \"overflow\": %.3g, \"max_kicks\": %u, \"a\": %.1f, "
		       "\"algorithm_1\": {\"chunks\": %llu, \"buckets\": %llu, \"extra\": %.5f, "
		       "\"overflow\": %.3g, \"max_kicks\": %u}, \"pass\": %s}",
		       comma(settings), (unsigned long long)keys, (unsigned long long)ours->chunks,
		       (unsigned long long)ours->buckets, ours->extra, ours->overflow, ours->kicks,
		       coefficient(keys), (unsigned long long)theirs->chunks,
		       (unsigned long long)theirs->buckets, theirs->extra, theirs->overflow,
		       theirs->kicks,
		       !barred ? "null"
		       : pass  ? "true"
		               : "false");
	else
		printf("%10llu  %5llu %6llu  %.4f  %7.1e %5u  %s  %.1f %5llu %6llu  %.4f  %7.1e %5u\n",
		       (unsigned long long)keys, (unsigned long long)ours->chunks,
		       (unsigned long long)ours->buckets, ours->extra, ours->overflow, ours->kicks,
		       !barred ? "-   "
		       : pass  ? "pass"
		               : "FAIL",
		       coefficient(keys), (unsigned long long)theirs->chunks,
		       (unsigned long long)theirs->buckets, theirs->extra, theirs->overflow,
		       theirs->kicks);
	settings->failed |= barred && !pass;
	fflush(stdout);
}

static void run_chunks(struct settings *settings)
{
	if (!settings->json)
		printf("\nchunks C of B buckets; slots: of n / 0.95, at most %.2f from 2^19 keys on\n"
		       "odds: that a chunk gets more keys than fit (%.3f of its slots, ours and the "
		       "stash); kicks: Eq. 4\n"
		       "            ours                                        Algorithm 1, a as in "
		       "Table 3\n"
		       "      keys      C      B   slots     odds kicks          a     C      B   slots "
		       "    odds kicks\n",
		       EXTRA_MOST, FULL);
	for (size_t i = 0; i < settings->keys.n; i++) {
		uint64_t keys = settings->keys.item[i];
		struct chunking ours = our_chunks(keys), theirs = { 0 };
		inside_algorithm_1(keys, LOAD, SLOTS, coefficient(keys), &theirs.chunks,
		                   &theirs.buckets);
		complete(&theirs, keys, 0);
		print_chunks(settings, keys, &ours, &theirs);
	}
}

/* --------------------------------------------------------------------- options -- */

static void usage(void)
{
	fprintf(stderr, "usage: bench_kicks [SLOTS...] [--only kicks|chunks] [--seeds N]\n"
	                "                   [--keys N,N,...] [--json]\n");
	exit(2);
}

static uint64_t read_number(const char **text)
{
	char *after;
	unsigned long long number = strtoull(*text, &after, 10);
	if (after == *text || number < 1)
		usage();
	*text = after;
	return number;
}

static void append(struct list *list, uint64_t number)
{
	if (list->n == LIST_MAX)
		usage();
	list->item[list->n++] = number;
}

static void read_list(const char *text, struct list *list)
{
	append(list, read_number(&text));
	while (*text == ',') {
		text++;
		append(list, read_number(&text));
	}
	if (*text != '\0')
		usage();
}

static void read_valued(const char *name, const char *value, struct settings *settings)
{
	if (value == NULL)
		usage();
	if (strcmp(name, "--seeds") == 0)
		settings->seeds = read_number(&value);
	else if (strcmp(name, "--keys") == 0)
		read_list(value, &settings->keys);
	else if (strcmp(name, "--only") == 0 && strcmp(value, "kicks") == 0)
		settings->chunks = false;
	else if (strcmp(name, "--only") == 0 && strcmp(value, "chunks") == 0)
		settings->kicks = false;
	else
		usage();
}

static void fill_in_defaults(struct settings *settings)
{
	if (settings->slots.n == 0)
		append(&settings->slots, 4096);
	if (settings->keys.n > 0)
		return;
	append(&settings->keys, UINT64_C(1) << 15);
	for (unsigned log = 19; log <= 26; log++)
		append(&settings->keys, UINT64_C(1) << log);
	read_list("600000,777777,1000003,3141593,10000019,31622777,100000007", &settings->keys);
}

int main(int argc, char **argv)
{
	struct settings settings = { .kicks = true, .chunks = true, .seeds = 1000 };
	for (int i = 1; i < argc; i++) {
		const char *text = argv[i];
		if (strcmp(text, "--json") == 0)
			settings.json = true;
		else if (text[0] == '-')
			read_valued(text, argv[++i], &settings);
		else
			read_list(text, &settings.slots);
	}
	fill_in_defaults(&settings);
	begin(&settings);
	if (settings.kicks)
		run_kicks(&settings);
	if (settings.chunks)
		run_chunks(&settings);
	if (settings.json)
		printf("\n]}\n");
	return settings.failed;
}

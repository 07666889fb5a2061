/* SPDX-License-Identifier: MIT
 *
 * bench_simplified: how far the simplified family can be filled, and its stash.
 *
 *     bench_simplified [--only load|failures|stash] [--keys LIST] [--slots LIST]
 *                      [--rates LIST] [--seed N] [--runs N] [--json]
 *
 * Three tables, for "Cuckoo Filter: Simplification and Analysis" (2016):
 *  load      with and without a stash: load with all keys in, and at the first FULL
 *            when filling goes on (with a stash up to 10^6 keys only: each key
 *            that goes there has searched without success); for every n, b and rate 2^-k
 *            (f follows);
 *  failures  the share of many small and medium filters that refuse one of
 *            their n keys, and how much of the stash they use;
 *  stash     the rate of filters that are full to the last place, with a stash
 *            and without, beside Theorem 5.1, which says that it depends on the
 *            number of entries and not on where they lie, and beside the rate
 *            that a stash of bare fingerprints would have.
 *
 * Beside the load stands the one that the paper proves for this b (Theorem 4.3): ours
 * are higher, and only measured.
 *
 * Exit 1 if a filter of b = 4, f >= 12 and n >= 10^6 has a load below 0.88, if one
 * with a stash refuses a key of its n, or if a measured rate is above the theorem's.
 *
 * Rates that come to the same f, since f has a lower bound, are measured once.
 * Keys are consecutive integers: the filter's seeded hash makes them random.
 */
#include <math.h>
#include <nidus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

#define LOAD_LEAST 0.88
#define LOAD_FROM 1000000
#define LOAD_FROM_BITS 12
#define QUERIES 5000000
#define INTERVAL 4.9       /* spreads: odds of one in a million, both sides together */
#define STASH_MOST 1000000 /* keys: a stash of more takes minutes to fill */
#define LIST_MAX 32

struct list {
	size_t n;
	uint64_t item[LIST_MAX];
};

struct settings {
	bool json, load, failures, stash;
	struct list keys, slots, rates;
	uint64_t seed, runs;
	size_t printed; /* rows so far, for the commas of JSON */
	bool failed;
};

/* ---------------------------------------------------------------- measurement -- */

static nidus_filter *make_filter(uint64_t keys, uint64_t slots, uint64_t k, uint64_t seed,
                                 bool stash)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = NIDUS_SIMPLIFIED;
	options.capacity = keys;
	options.slots = (unsigned)slots;
	options.fpr = ldexp(1, -(int)k);
	options.seed = seed;
	options.stash = stash ? 0 : NIDUS_STASH_OFF;
	nidus_filter *filter;
	if (nidus_create(&options, &filter) != NIDUS_OK) {
		fprintf(stderr, "bench_simplified: %llu keys, b = %llu, k = %llu: %s\n",
		        (unsigned long long)keys, (unsigned long long)slots, (unsigned long long)k,
		        nidus_reason());
		exit(1);
	}
	return filter;
}

static nidus_info look(const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;
	nidus_get_info(filter, &info);
	return info;
}

/* Puts keys `from` to `to` in, up to the first that fails; gives how many went in. */
static uint64_t fill(nidus_filter *filter, uint64_t from, uint64_t to)
{
	enum { BATCH = 4096 };
	static uint64_t key[BATCH], hash[BATCH];
	nidus_status status = NIDUS_OK;
	uint64_t done = from;
	while (done < to && status == NIDUS_OK) {
		size_t some = to - done < BATCH ? (size_t)(to - done) : BATCH, in;
		for (size_t i = 0; i < some; i++)
			key[i] = done + i;
		nidus_hash_u64_batch(filter, key, some, hash);
		status = nidus_insert_batch(filter, hash, some, &in);
		done += in;
	}
	return done - from;
}

/* Goes on past keys that are refused until nearly all are; gives the next key. */
static uint64_t fill_to_the_brim(nidus_filter *filter)
{
	uint64_t key = 0, in_row = 0, places = look(filter).total_slots;
	while (in_row < 1000 && key < 4 * places) {
		uint64_t done = fill(filter, key, key + 1000);
		in_row = done > 0 ? 0 : in_row + 1;
		key += done + 1;
	}
	return key;
}

/* Of keys that were never put in, how many the filter knows. */
static uint64_t count_absent(const nidus_filter *filter, uint64_t from, uint64_t queries)
{
	enum { BATCH = 4096 };
	static uint64_t key[BATCH], hash[BATCH];
	static uint8_t yes[BATCH];
	uint64_t found = 0;
	for (uint64_t done = 0; done < queries; done += BATCH) {
		for (size_t i = 0; i < BATCH; i++)
			key[i] = from + done + i;
		nidus_hash_u64_batch(filter, key, BATCH, hash);
		nidus_contains_batch(filter, hash, BATCH, yes);
		for (size_t i = 0; i < BATCH; i++)
			found += yes[i];
	}
	return found;
}

typedef void (*measurement)(struct settings *settings, uint64_t keys, uint64_t slots, uint64_t k,
                            bool stash);

/* Measures every fingerprint width that the rates come to, with a stash and without. */
static void each_width(struct settings *settings, uint64_t keys, uint64_t slots,
                       measurement measure)
{
	unsigned last = 0;
	for (size_t i = 0; i < settings->rates.n; i++) {
		uint64_t k = settings->rates.item[i];
		nidus_filter *filter = make_filter(keys, slots, k, settings->seed, false);
		unsigned bits = look(filter).fingerprint_bits;
		nidus_free(filter);
		if (bits == last)
			continue;
		last = bits;
		measure(settings, keys, slots, k, true);
		measure(settings, keys, slots, k, false);
	}
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

static uint64_t cells_of(const nidus_info *info)
{
	return info->total_slots / info->chunks / info->slots;
}

/* ------------------------------------------------------------------------ load -- */

/* Theorem 4.3: 1 - d - d^2, where b = 1 + ln(1/d) / (1 - ln 2); below 0 there is none. */
static double proven_load(uint64_t slots)
{
	double d = exp((1 - (double)slots) * (1 - log(2)));
	return fmax(1 - d - d * d, 0);
}

struct load_row {
	uint64_t keys, k;
	bool stash, refused;
	nidus_info full;  /* with all keys in, or at the first that was refused */
	nidus_info first; /* at the first FULL; as `full` if that was not tried */
	double seconds;
};

static void print_load(struct settings *settings, const struct load_row *row)
{
	double planned = (double)row->full.count / (double)row->full.total_slots;
	double first = (double)row->first.count / (double)row->first.total_slots;
	char first_text[32] = "     -        -", proven_text[16] = "  none";
	if (proven_load(row->full.slots) > 0)
		snprintf(proven_text, sizeof proven_text, "%6.3f", proven_load(row->full.slots));
	if (row->refused || row->first.count > row->full.count)
		snprintf(first_text, sizeof first_text, "%.4f %8llu", first,
		         (unsigned long long)row->first.stashed);
	bool barred = row->full.slots == 4 && row->full.fingerprint_bits >= LOAD_FROM_BITS &&
	              row->keys >= LOAD_FROM;
	bool pass = planned >= LOAD_LEAST && first >= LOAD_LEAST && (!row->refused || !row->stash);
	if (settings->json)
		printf("%s{\"table\": \"load\", \"keys\": %llu, \"slots\": %u, \"k\": %llu, \"f\": %u, "
		       "\"stash\": %s, \"subtables\": %llu, \"cells\": %llu, \"proven\": %.5f, "
		       "\"load\": %.5f, \"stashed\": %llu, \"refused\": %s, \"first_full\": %.5f, "
		       "\"stashed_first_full\": %llu, \"fpr_target\": %.4g, \"seconds\": %.1f, "
		       "\"pass\": %s}",
		       comma(settings), (unsigned long long)row->keys, row->full.slots,
		       (unsigned long long)row->k, row->full.fingerprint_bits,
		       row->stash ? "true" : "false", (unsigned long long)row->full.chunks,
		       (unsigned long long)cells_of(&row->full), proven_load(row->full.slots),
		       planned, (unsigned long long)row->full.stashed,
		       row->refused ? "true" : "false", first,
		       (unsigned long long)row->first.stashed, row->full.fpr_target, row->seconds,
		       !barred ? "null"
		       : pass  ? "true"
		               : "false");
	else
		printf("%9llu %2u %3llu %3u  %-3s %6llu x %-6llu %s %.4f %8llu  %-3s   %s %8.1f  %s\n",
		       (unsigned long long)row->keys, row->full.slots, (unsigned long long)row->k,
		       row->full.fingerprint_bits, row->stash ? "yes" : "no",
		       (unsigned long long)row->full.chunks,
		       (unsigned long long)cells_of(&row->full), proven_text, planned,
		       (unsigned long long)row->full.stashed, row->refused ? "yes" : "no",
		       first_text, row->seconds,
		       !barred ? "-"
		       : pass  ? "pass"
		               : "FAIL");
	settings->failed |= (barred && !pass) || (row->refused && row->stash);
	fflush(stdout);
}

static void measure_load(struct settings *settings, uint64_t keys, uint64_t slots, uint64_t k,
                         bool stash)
{
	struct load_row row = { .keys = keys, .k = k, .stash = stash };
	nidus_filter *filter = make_filter(keys, slots, k, settings->seed, stash);
	double start = machine_seconds();
	uint64_t done = fill(filter, 0, keys);
	row.refused = done < keys;
	row.full = look(filter);
	if (!row.refused && (!stash || keys <= STASH_MOST))
		fill(filter, keys, UINT64_MAX);
	row.first = look(filter);
	row.seconds = machine_seconds() - start;
	nidus_free(filter);
	print_load(settings, &row);
}

static void run_load(struct settings *settings)
{
	if (!settings->json)
		printf("\nload, seed %llu; at least %.2f demanded for b = 4, f >= %d, n >= 10^6\n"
		       "                                      at n keys               at the first FULL\n"
		       "        n  b   k   f stash subtables  proven   load  stashed refused load  stashed "
		       " seconds\n",
		       (unsigned long long)settings->seed, LOAD_LEAST, LOAD_FROM_BITS);
	for (size_t i = 0; i < settings->keys.n; i++) {
		for (size_t j = 0; j < settings->slots.n; j++)
			each_width(settings, settings->keys.item[i], settings->slots.item[j],
			           measure_load);
	}
}

/* -------------------------------------------------------------------- failures -- */

struct failure_row {
	uint64_t keys, slots, k, runs;
	unsigned bits;
	bool stash;
	uint64_t refused;  /* filters */
	uint64_t stashing; /* filters with a stash in use at n keys */
	uint64_t most;     /* entries in the stashes of one filter */
	double load;
};

static void print_failures(struct settings *settings, const struct failure_row *row)
{
	if (settings->json)
		printf("%s{\"table\": \"failures\", \"keys\": %llu, \"slots\": %llu, \"k\": %llu, "
		       "\"f\": %u, \"stash\": %s, \"load\": %.4f, \"filters\": %llu, \"refused\": %llu, "
		       "\"stashing\": %llu, \"most_stashed\": %llu}",
		       comma(settings), (unsigned long long)row->keys,
		       (unsigned long long)row->slots, (unsigned long long)row->k, row->bits,
		       row->stash ? "true" : "false", row->load, (unsigned long long)row->runs,
		       (unsigned long long)row->refused, (unsigned long long)row->stashing,
		       (unsigned long long)row->most);
	else
		printf("%9llu %2llu %3llu %3u  %-3s  %.4f %8llu %8llu  %9.5f%% %9llu %9llu\n",
		       (unsigned long long)row->keys, (unsigned long long)row->slots,
		       (unsigned long long)row->k, row->bits, row->stash ? "yes" : "no", row->load,
		       (unsigned long long)row->runs, (unsigned long long)row->refused,
		       100 * (double)row->refused / (double)row->runs,
		       (unsigned long long)row->stashing, (unsigned long long)row->most);
	settings->failed |= row->stash && row->refused > 0;
	fflush(stdout);
}

static void measure_failures(struct settings *settings, uint64_t keys, uint64_t slots, uint64_t k,
                             bool stash)
{
	struct failure_row row = { .keys = keys, .slots = slots, .k = k, .stash = stash };
	row.runs = settings->runs * 100 / keys;
	for (uint64_t seed = 1; seed <= row.runs; seed++) {
		nidus_filter *filter = make_filter(row.keys, row.slots, row.k, seed, row.stash);
		row.refused += fill(filter, 0, row.keys) < row.keys;
		nidus_info info = look(filter);
		row.bits = info.fingerprint_bits;
		row.load = (double)row.keys / (double)info.total_slots;
		row.stashing += info.stashed > 0;
		row.most = info.stashed > row.most ? info.stashed : row.most;
		nidus_free(filter);
	}
	print_failures(settings, &row);
}

static void run_failures(struct settings *settings)
{
	static const uint64_t sizes[] = { 100, 1000, 10000, 100000 };
	if (!settings->json)
		printf("\nfilters that refuse one of their n keys\n"
		       "        n  b   k   f stash   load  filters  refused      share  stashing  "
		       "most stashed\n");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (size_t j = 0; j < settings->slots.n; j++)
			each_width(settings, sizes[i], settings->slots.item[j], measure_failures);
	}
}

/* ----------------------------------------------------------------------- stash -- */

struct stash_row {
	bool stash;
	nidus_info info;
	uint64_t queries, found;
	double theorem, bare;
};

/* The share of values of a fingerprint that exist: its lowest bits are not all zero. */
static double values_of(const nidus_info *info)
{
	double cells = (double)cells_of(info);
	return ldexp(1, (int)info->fingerprint_bits) * (cells - 1) / cells;
}

static void print_stash(struct settings *settings, const struct stash_row *row)
{
	double rate = (double)row->found / (double)row->queries;
	double spread = INTERVAL * sqrt(rate * (1 - rate) / (double)row->queries);
	bool pass = rate - spread <= row->theorem;
	if (settings->json)
		printf("%s{\"table\": \"stash\", \"slots\": %u, \"f\": %u, \"stash\": %s, \"entries\": %llu, "
		       "\"stashed\": %llu, \"load\": %.5f, \"queries\": %llu, \"fpr\": %.6g, "
		       "\"interval\": %.2g, \"theorem\": %.6g, \"bare\": %.6g, \"pass\": %s}",
		       comma(settings), row->info.slots, row->info.fingerprint_bits,
		       row->stash ? "true" : "false", (unsigned long long)row->info.count,
		       (unsigned long long)row->info.stashed, row->info.load,
		       (unsigned long long)row->queries, rate, spread, row->theorem, row->bare,
		       pass ? "true" : "false");
	else
		printf("%2u %3u  %-3s %8llu %8llu  %.4f  %.5f%% +- %.5f%%  %.5f%%  %8.5f%%  %s\n",
		       row->info.slots, row->info.fingerprint_bits, row->stash ? "yes" : "no",
		       (unsigned long long)row->info.count, (unsigned long long)row->info.stashed,
		       row->info.load, 100 * rate, 100 * spread, 100 * row->theorem,
		       100 * row->bare, pass ? "pass" : "FAIL");
	settings->failed |= !pass;
	fflush(stdout);
}

static void measure_stash(struct settings *settings, uint64_t keys, uint64_t slots, uint64_t k,
                          bool stash)
{
	struct stash_row row = { .stash = stash, .queries = QUERIES / 4096 * 4096 };
	nidus_filter *filter = make_filter(keys, slots, k, settings->seed, stash);
	uint64_t filled = fill_to_the_brim(filter);
	row.info = look(filter);
	row.found = count_absent(filter, filled + (UINT64_C(1) << 40), row.queries);
	nidus_free(filter);
	double cells = (double)row.info.total_slots / row.info.slots, values = values_of(&row.info);
	row.theorem = 2 * (double)row.info.count / (cells * values);
	/* Fingerprints alone: each entry of a subtable's stash would match like a slot. */
	row.bare = (2 * row.info.load * row.info.slots +
	            (double)row.info.stashed / (double)row.info.chunks) /
	           values;
	print_stash(settings, &row);
}

static void run_stash(struct settings *settings)
{
	if (!settings->json)
		printf("\nrate when slots and stash are full: measured with %d absent keys, the interval "
		       "misses with odds of 10^-6\n"
		       " b   f stash entries  stashed    load  fpr                     Theorem 5.1  "
		       "bare stash\n",
		       QUERIES);
	for (size_t j = 0; j < settings->slots.n; j++)
		each_width(settings, 100000, settings->slots.item[j], measure_stash);
}

/* --------------------------------------------------------------------- options -- */

static void usage(void)
{
	fprintf(stderr, "usage: bench_simplified [--only load|failures|stash] [--keys LIST]\n"
	                "                        [--slots LIST] [--rates LIST] [--seed N] "
	                "[--runs N] [--json]\n"
	                "a LIST is 4,8,12; rates are the k of 2^-k\n");
	exit(2);
}

static struct list read_list(const char *text)
{
	struct list list = { 0 };
	for (;; text++) {
		char *after;
		unsigned long long number = strtoull(text, &after, 10);
		if (after == text || number == 0 || list.n == LIST_MAX)
			usage();
		list.item[list.n++] = number;
		text = after;
		if (*text != ',')
			break;
	}
	if (*text != '\0')
		usage();
	return list;
}

static void read_only(const char *text, struct settings *settings)
{
	settings->load = strcmp(text, "load") == 0;
	settings->failures = strcmp(text, "failures") == 0;
	settings->stash = strcmp(text, "stash") == 0;
	if (!settings->load && !settings->failures && !settings->stash)
		usage();
}

static void read_valued(const char *name, const char *value, struct settings *settings)
{
	if (value == NULL)
		usage();
	if (strcmp(name, "--only") == 0)
		read_only(value, settings);
	else if (strcmp(name, "--keys") == 0)
		settings->keys = read_list(value);
	else if (strcmp(name, "--slots") == 0)
		settings->slots = read_list(value);
	else if (strcmp(name, "--rates") == 0)
		settings->rates = read_list(value);
	else if (strcmp(name, "--seed") == 0)
		settings->seed = read_list(value).item[0];
	else if (strcmp(name, "--runs") == 0)
		settings->runs = read_list(value).item[0];
	else
		usage();
}

int main(int argc, char **argv)
{
	struct settings settings = { .load = true,
		                     .failures = true,
		                     .stash = true,
		                     .seed = 1,
		                     .runs = 10000,
		                     .keys = read_list("10000,100000,1000000,10000000"),
		                     .slots = read_list("2,4,8"),
		                     .rates = read_list("4,8,9,12,16") };
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			settings.json = true;
		} else {
			const char *name = argv[i++];
			read_valued(name, argv[i], &settings);
		}
	}
	begin(&settings);
	if (settings.load)
		run_load(&settings);
	if (settings.failures)
		run_failures(&settings);
	if (settings.stash)
		run_stash(&settings);
	if (settings.json)
		printf("\n]}\n");
	return settings.failed;
}

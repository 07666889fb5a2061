/* SPDX-License-Identifier: MIT
 *
 * bench_load: how full tables get, and how much space filters take.
 *
 *     bench_load [SLOTS] [--only load|short|space] [--bars] [--layouts LIST]
 *                [--rates LIST] [--keys LIST] [--seeds LIST] [--steps N] [--json]
 *
 * Without --bars, two tables for every layout and rate 2^-k, and one between them:
 *  load   how full one chunk of SLOTS slots (10^7) is at the first FULL, without
 *         a stash, beside the threshold of Table 2 of "Smaller and More Flexible
 *         Cuckoo Filters" (2025);
 *  short  the same for fingerprints from 2 bits on, shorter than any option makes, in
 *         a tenth as many slots: mean and spread of all --seeds, for the cuckoo layouts
 *         beside Table 2 of "Cuckoo Filter: Better Than Bloom" (2013);
 *  space  the overhead factor C = bits per key / k of a filter for --keys keys
 *         (10^6) with all of them in it, beside the best cases of its Table 1.
 *
 * With --bars, the bits per key of the windowed and bucketed families for many
 * numbers of keys and seeds against the most that we allow them.
 *
 * Exit 1 if a filter takes more than that, or refuses a key.
 *
 * Keys are consecutive integers: the filter's seeded hash makes them random.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "one_chunk.h"

struct layout {
	const char *name;
	nidus_family family;
	unsigned slots;
	unsigned extra;   /* slot bits more than k */
	double threshold; /* Table 2; its formula for what is not in it */
	double bar;       /* bits per key at most, over k + extra; 0: none */
};

static const struct layout layouts[] = {
	{ "cuckoo-2", NIDUS_CUCKOO, 2, 2, 0.8970118682, 0 },
	{ "cuckoo-4", NIDUS_CUCKOO, 4, 3, 0.9803697743, 0 },
	{ "cuckoo-8", NIDUS_CUCKOO, 8, 4, 0.9978532830, 0 },
	{ "bucketed-2", NIDUS_BUCKETED, 2, 2, 0.8970118682, 1.145 },
	{ "bucketed-4", NIDUS_BUCKETED, 4, 3, 0.9803697743, 1.05 },
	{ "windowed-2", NIDUS_WINDOWED, 2, 2, 0.9649949234, 1.065 },
	{ "windowed-4", NIDUS_WINDOWED, 4, 3, 0.9989515932, 1.03 },
};

#define LAYOUTS (sizeof layouts / sizeof *layouts)
#define LIST_MAX 64

struct list {
	size_t n;
	uint64_t item[LIST_MAX];
};

struct settings {
	bool bars, json, load, shorts, space;
	bool layout[LAYOUTS];
	uint64_t slots;
	unsigned steps; /* of a search for load; 0: the family's best */
	struct list rates, keys, seeds;
	size_t printed; /* rows so far, for the commas of JSON */
	bool failed;
};

/* ---------------------------------------------------------------- measurement -- */

/* Puts `keys` keys in, up to the first that fails; *done of them are in. */
static nidus_status fill(nidus_filter *filter, uint64_t keys, uint64_t *done)
{
	enum { BATCH = 4096 };
	static uint64_t key[BATCH], hash[BATCH];
	nidus_status status = NIDUS_OK;
	for (*done = 0; *done < keys && status == NIDUS_OK;) {
		size_t some = keys - *done < BATCH ? (size_t)(keys - *done) : BATCH, in;
		for (size_t i = 0; i < some; i++)
			key[i] = *done + i;
		nidus_hash_u64_batch(filter, key, some, hash);
		status = nidus_insert_batch(filter, hash, some, &in);
		*done += in;
	}
	return status;
}

struct result {
	nidus_status status; /* OK, or what ended the filling */
	nidus_info info;     /* at the end */
	uint64_t done;       /* keys in it */
	double seconds;      /* of the filling */
};

static struct result fill_and_free(nidus_filter *filter, uint64_t keys)
{
	struct result result = { .info = NIDUS_INFO_INIT };
	double start = machine_seconds();
	result.status = fill(filter, keys, &result.done);
	result.seconds = machine_seconds() - start;
	nidus_get_info(filter, &result.info);
	nidus_free(filter);
	return result;
}

static nidus_options options_for(const struct layout *layout, unsigned k, uint64_t seed)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = layout->family;
	options.slots = layout->slots;
	options.fpr = ldexp(1, -(int)k);
	options.seed = seed;
	return options;
}

static struct result measure_load(const struct settings *settings, const struct layout *layout,
                                  unsigned k)
{
	nidus_filter *filter;
	struct result result = { .info = NIDUS_INFO_INIT };
	nidus_options options = options_for(layout, k, settings->seeds.item[0]);
	options.max_steps = settings->steps;
	result.status = one_chunk_create(&options, settings->slots, 0, &filter);
	return result.status == NIDUS_OK ? fill_and_free(filter, UINT64_MAX) : result;
}

/* Mean and spread of the load of tables with short fingerprints. */
struct spread {
	nidus_status status; /* OK, or why a table could not be made */
	double mean, deviation;
	uint64_t slots;
};

static struct spread measure_short(const struct settings *settings, const struct layout *layout,
                                   unsigned bits)
{
	struct spread spread = { .status = NIDUS_OK };
	double n = (double)settings->seeds.n, squares = 0;
	for (size_t i = 0; i < settings->seeds.n; i++) {
		nidus_filter *filter;
		nidus_options options = options_for(layout, 8, settings->seeds.item[i]);
		options.max_steps = settings->steps;
		spread.status = one_chunk_create(&options, settings->slots / 10, bits, &filter);
		if (spread.status != NIDUS_OK)
			return spread;
		struct result result = fill_and_free(filter, UINT64_MAX);
		spread.slots = result.info.total_slots;
		double load = (double)result.done / (double)spread.slots;
		spread.mean += load / n;
		squares += load * load / n;
	}
	spread.deviation = sqrt(fmax(squares - spread.mean * spread.mean, 0));
	return spread;
}

/* Fills to the promised capacity, or with `keys` keys if that is said. */
static struct result measure_space(const struct layout *layout, unsigned k, uint64_t keys,
                                   uint64_t seed, bool to_capacity)
{
	nidus_filter *filter;
	struct result result = { .info = NIDUS_INFO_INIT };
	nidus_options options = options_for(layout, k, seed);
	options.capacity = keys;
	result.status = nidus_create(&options, &filter);
	if (result.status != NIDUS_OK)
		return result;
	nidus_get_info(filter, &result.info);
	return fill_and_free(filter, to_capacity ? result.info.capacity : keys);
}

/* Bits per key at most; 0 where nothing is demanded. */
static double most_bits(const struct layout *layout, unsigned k, uint64_t keys)
{
	double factor = layout->bar;
	if (keys < 1000000) /* small tables: the default layout only */
		factor = keys == 1000 && strcmp(layout->name, "windowed-2") == 0 ? 1.25 : 0;
	/* Short fingerprints have few offsets: 5 % more. */
	return factor * (k + layout->extra) * (k < 8 ? 1.05 : 1);
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

static void end(const struct settings *settings)
{
	if (settings->json)
		printf("\n]}\n");
}

/* What goes before a row of JSON. */
static const char *comma(struct settings *settings)
{
	return settings->printed++ == 0 ? "\n " : ",\n ";
}

static void print_load(struct settings *settings, const struct layout *layout, unsigned k,
                       const struct result *result)
{
	double load = (double)result->done / (double)result->info.total_slots;
	if (settings->json)
		printf("%s{\"table\": \"load\", \"layout\": \"%s\", \"k\": %u, \"slots\": %llu, "
		       "\"slot_bits\": %u, \"load\": %.6f, \"threshold\": %.6f, \"ratio\": %.6f, "
		       "\"seconds\": %.2f}",
		       comma(settings), layout->name, k,
		       (unsigned long long)result->info.total_slots, result->info.slot_bits, load,
		       layout->threshold, load / layout->threshold, result->seconds);
	else
		printf("%-11s %2u %5u %9llu  %.5f    %.5f  %6.4f %8.1f\n", layout->name, k,
		       result->info.slot_bits, (unsigned long long)result->info.total_slots, load,
		       layout->threshold, load / layout->threshold, result->seconds);
	fflush(stdout);
}

/* The paper's mean load of two buckets of four slots; 0: not measured there. */
static double table_2(const struct layout *layout, unsigned bits)
{
	static const double loads[] = {
		[2] = 0.1753, [4] = 0.6767, [6] = 0.9539, [8] = 0.9562, [12] = 0.9577, [16] = 0.9580
	};
	bool there = strcmp(layout->name, "cuckoo-4") == 0 && bits < sizeof loads / sizeof *loads;
	return there ? loads[bits] : 0;
}

static void print_short(struct settings *settings, const struct layout *layout, unsigned bits,
                        const struct spread *spread)
{
	double paper = table_2(layout, bits);
	char paper_text[16] = "     -";
	if (paper > 0)
		snprintf(paper_text, sizeof paper_text, "%.4f", paper);
	if (settings->json)
		printf("%s{\"table\": \"short\", \"layout\": \"%s\", \"bits\": %u, \"slots\": %llu, "
		       "\"seeds\": %zu, \"load\": %.6f, \"deviation\": %.6f, \"paper\": %.4f, "
		       "\"threshold\": %.6f}",
		       comma(settings), layout->name, bits, (unsigned long long)spread->slots,
		       settings->seeds.n, spread->mean, spread->deviation, paper,
		       layout->threshold);
	else
		printf("%-11s %2u %9llu %5zu  %.4f  %.4f     %.5f  %s\n", layout->name, bits,
		       (unsigned long long)spread->slots, settings->seeds.n, spread->mean,
		       spread->deviation, layout->threshold, paper_text);
	fflush(stdout);
}

static void print_space(struct settings *settings, const struct layout *layout, unsigned k,
                        const struct result *result)
{
	double c = result->info.bits_per_key / k;
	double standard = 1.05 * (1 + 3.0 / k), improved = 1.057 * (1 + 2.0 / k);
	double most = most_bits(layout, k, result->done) / k;
	char most_text[16] = "     -";
	if (most > 0)
		snprintf(most_text, sizeof most_text, "%6.4f", most);
	const char *verdict = most == 0 ? "-" : c <= most ? "ok" : "over";
	if (settings->json)
		printf("%s{\"table\": \"space\", \"layout\": \"%s\", \"k\": %u, \"keys\": %llu, "
		       "\"bits_per_key\": %.4f, \"load\": %.4f, \"c\": %.4f, \"standard\": %.4f, "
		       "\"improved\": %.4f, \"most\": %.4f, \"verdict\": \"%s\"}",
		       comma(settings), layout->name, k, (unsigned long long)result->done,
		       result->info.bits_per_key, result->info.load, c, standard, improved, most,
		       verdict);
	else
		printf("%-11s %2u %9llu  %.4f  %8.3f  %6.4f    %6.4f    %6.4f  %s  %s\n",
		       layout->name, k, (unsigned long long)result->done, result->info.load,
		       result->info.bits_per_key, c, standard, improved, most_text, verdict);
	settings->failed |= c > most && most > 0;
	fflush(stdout);
}

/* One row of the bars: the worst of several seeds. */
struct bar_row {
	const struct layout *layout;
	unsigned k;
	uint64_t keys;
	double most, worst, seconds;
	size_t runs, refused; /* refused: filters that refused a key */
	uint64_t stashed;     /* most of all seeds */
};

static void print_bar(struct settings *settings, const struct bar_row *row)
{
	bool pass = row->refused == 0 && row->worst <= row->most;
	if (settings->json)
		printf("%s{\"table\": \"bars\", \"layout\": \"%s\", \"k\": %u, \"keys\": %llu, "
		       "\"seeds\": %zu, \"bits_per_key\": %.4f, \"most\": %.4f, \"refused\": %zu, "
		       "\"stashed\": %llu, \"pass\": %s}",
		       comma(settings), row->layout->name, row->k, (unsigned long long)row->keys,
		       row->runs, row->worst, row->most, row->refused,
		       (unsigned long long)row->stashed, pass ? "true" : "false");
	else
		printf("%-11s %10llu %2u %5zu %9.4f %9.4f  %6.4f %8zu %8llu %7.1f  %s\n",
		       row->layout->name, (unsigned long long)row->keys, row->k, row->runs,
		       row->worst, row->most, row->worst / row->most, row->refused,
		       (unsigned long long)row->stashed, row->seconds, pass ? "pass" : "FAIL");
	settings->failed |= !pass;
	fflush(stdout);
}

/* ------------------------------------------------------------------ the tables -- */

/* Says what cannot be measured at all. */
static bool failed_to_make(struct settings *settings, const struct layout *layout, unsigned k,
                           const struct result *result)
{
	if (result->status < NIDUS_E_ARG)
		return false;
	fprintf(stderr, "bench_load: %s, k = %u: %s\n", layout->name, k, nidus_reason());
	settings->failed = true;
	return true;
}

static void run_load(struct settings *settings)
{
	if (!settings->json)
		printf("\nload at the first FULL, one chunk, no stash, seed %llu\n"
		       "layout       k width     slots  load     threshold   ratio  seconds\n",
		       (unsigned long long)settings->seeds.item[0]);
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (size_t j = 0; settings->layout[i] && j < settings->rates.n; j++) {
			unsigned k = (unsigned)settings->rates.item[j];
			struct result result = measure_load(settings, &layouts[i], k);
			if (!failed_to_make(settings, &layouts[i], k, &result))
				print_load(settings, &layouts[i], k, &result);
		}
	}
}

static void run_short(struct settings *settings)
{
	static const unsigned widths[] = { 2, 3, 4, 5, 6, 7, 8, 12, 16 };
	if (!settings->json)
		printf("\nload at the first FULL by bits of a fingerprint, one chunk, no stash\n"
		       "layout    bits     slots seeds  load    deviation  threshold  paper\n");
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (size_t j = 0; settings->layout[i] && j < sizeof widths / sizeof *widths; j++) {
			struct spread spread = measure_short(settings, &layouts[i], widths[j]);
			if (spread.status == NIDUS_OK) {
				print_short(settings, &layouts[i], widths[j], &spread);
			} else {
				fprintf(stderr, "bench_load: %s, %u bits: %s\n", layouts[i].name,
				        widths[j], nidus_reason());
				settings->failed = true;
			}
		}
	}
}

static void run_space(struct settings *settings)
{
	if (!settings->json)
		printf("\noverhead factor C = bits per key / k of a full filter, seed %llu\n"
		       "standard: 1.05 (1 + 3/k), improved: 1.057 (1 + 2/k), most: what we allow\n"
		       "layout       k      keys    load  bits/key       C  standard  improved    most\n",
		       (unsigned long long)settings->seeds.item[0]);
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (size_t j = 0; settings->layout[i] && j < settings->rates.n; j++) {
			unsigned k = (unsigned)settings->rates.item[j];
			struct result result = measure_space(&layouts[i], k, settings->keys.item[0],
			                                     settings->seeds.item[0], true);
			if (failed_to_make(settings, &layouts[i], k, &result))
				continue;
			print_space(settings, &layouts[i], k, &result);
			if (result.status != NIDUS_OK) {
				fprintf(stderr, "bench_load: %s, k = %u: refused key %llu\n",
				        layouts[i].name, k, (unsigned long long)result.done);
				settings->failed = true;
			}
		}
	}
}

static void run_bar(struct settings *settings, struct bar_row *row)
{
	for (size_t i = 0; i < settings->seeds.n; i++) {
		struct result result = measure_space(row->layout, row->k, row->keys,
		                                     settings->seeds.item[i], false);
		if (failed_to_make(settings, row->layout, row->k, &result))
			return;
		row->runs++;
		row->refused += result.status != NIDUS_OK;
		row->worst = fmax(row->worst, result.info.bits_per_key);
		row->seconds += result.seconds;
		if (result.info.stashed > row->stashed)
			row->stashed = result.info.stashed;
	}
	print_bar(settings, row);
}

static void run_bars(struct settings *settings)
{
	if (!settings->json)
		printf("\nbits per key with all keys in, the worst of the seeds, and the most allowed\n"
		       "layout            keys  k seeds  bits/key   allowed   ratio  refused  stashed "
		       "seconds\n");
	for (size_t i = 0; i < LAYOUTS; i++) {
		for (size_t j = 0; settings->layout[i] && j < settings->keys.n; j++) {
			for (size_t l = 0; l < settings->rates.n; l++) {
				struct bar_row row = { .layout = &layouts[i],
					               .k = (unsigned)settings->rates.item[l],
					               .keys = settings->keys.item[j] };
				row.most = most_bits(row.layout, row.k, row.keys);
				if (row.most > 0)
					run_bar(settings, &row);
			}
		}
	}
}

/* --------------------------------------------------------------------- options -- */

static void usage(void)
{
	fprintf(stderr, "usage: bench_load [SLOTS] [--only load|short|space] [--bars] [--json]\n"
	                "                  [--layouts LIST] [--rates LIST] [--keys LIST] "
	                "[--seeds LIST]\n"
	                "                  [--steps N]\n"
	                "a LIST is 8,10,14 or 1-5; layouts are called cuckoo-4, windowed-2 ...\n");
	exit(2);
}

static uint64_t read_number(const char **text)
{
	char *after;
	unsigned long long number = strtoull(*text, &after, 10);
	if (after == *text || number == 0)
		usage();
	*text = after;
	return number;
}

static struct list read_list(const char *text)
{
	struct list list = { 0 };
	for (;; text++) {
		uint64_t first = read_number(&text), last = first;
		if (*text == '-') {
			text++;
			last = read_number(&text);
		}
		for (; first <= last && list.n < LIST_MAX; first++)
			list.item[list.n++] = first;
		if (*text != ',')
			break;
	}
	if (*text != '\0')
		usage();
	return list;
}

static void read_layouts(const char *text, bool *chosen)
{
	memset(chosen, 0, LAYOUTS * sizeof *chosen);
	while (*text != '\0') {
		size_t length = strcspn(text, ","), i = 0;
		while (i < LAYOUTS && (strlen(layouts[i].name) != length ||
		                       strncmp(layouts[i].name, text, length) != 0))
			i++;
		if (i == LAYOUTS)
			usage();
		chosen[i] = true;
		text += length + (text[length] == ',');
	}
}

static void read_only(const char *text, struct settings *settings)
{
	settings->load = strcmp(text, "load") == 0;
	settings->shorts = strcmp(text, "short") == 0;
	settings->space = strcmp(text, "space") == 0;
	if (!settings->load && !settings->shorts && !settings->space)
		usage();
}

/* An option that has a value. */
static void read_valued(const char *name, const char *value, struct settings *settings)
{
	if (value == NULL)
		usage();
	if (strcmp(name, "--rates") == 0)
		settings->rates = read_list(value);
	else if (strcmp(name, "--keys") == 0)
		settings->keys = read_list(value);
	else if (strcmp(name, "--seeds") == 0)
		settings->seeds = read_list(value);
	else if (strcmp(name, "--steps") == 0)
		settings->steps = (unsigned)read_list(value).item[0];
	else if (strcmp(name, "--layouts") == 0)
		read_layouts(value, settings->layout);
	else if (strcmp(name, "--only") == 0)
		read_only(value, settings);
	else
		usage();
}

static void read_arguments(int argc, char **argv, struct settings *settings)
{
	for (int i = 1; i < argc; i++) {
		const char *text = argv[i];
		if (strcmp(text, "--bars") == 0)
			settings->bars = true;
		else if (strcmp(text, "--json") == 0)
			settings->json = true;
		else if (text[0] == '-')
			read_valued(text, argv[++i], settings);
		else
			settings->slots = read_number(&text);
	}
	for (size_t i = 0; i < settings->rates.n; i++) {
		if (settings->rates.item[i] > 24)
			usage();
	}
}

static void fill_in_defaults(struct settings *settings)
{
	if (settings->rates.n == 0)
		settings->rates = read_list("4-8,10,13,14,16,20");
	if (settings->keys.n == 0)
		settings->keys =
			read_list(settings->bars ? "1000,1000000,10000019,100000007" : "1000000");
	if (settings->seeds.n == 0)
		settings->seeds = read_list(settings->bars ? "1-5" : "1");
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.load = true, .shorts = true, .space = true, .slots = 10000000
	};
	for (size_t i = 0; i < LAYOUTS; i++)
		settings.layout[i] = true;
	read_arguments(argc, argv, &settings);
	fill_in_defaults(&settings);
	begin(&settings);
	if (settings.bars)
		run_bars(&settings);
	if (!settings.bars && settings.load)
		run_load(&settings);
	if (!settings.bars && settings.shorts)
		run_short(&settings);
	if (!settings.bars && settings.space)
		run_space(&settings);
	end(&settings);
	return settings.failed;
}

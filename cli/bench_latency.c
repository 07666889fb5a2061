/* SPDX-License-Identifier: MIT */
/*
 * Lookups, each of which waits for the one before, in a table in the cache and in one in memory,
 * beside reads of random cache lines that wait for each other too; and single inserts, each
 * timed, where they are slowest: at the end of a fill and while a filter grows.
 */

#include "bench_latency.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_fresh.h"
#include "bench_keys.h"
#include "bench_report.h"
#include "bench_rows.h"
#include "bench_site.h"
#include "bench_spans.h"
#include "json.h"
#include "machine.h"
#include "number.h"
#include "out.h"
#include "progress.h"
#include "report.h"

/* Keys of a filter that fits into the second-level cache, and bytes of an array that does. */
#define CACHED_KEYS 100000
#define CACHED_BYTES ((size_t)256 << 10)

#define MOST_LOOKUPS ((size_t)1 << 18) /* per figure */
#define LEAST_LOOKUPS ((size_t)1 << 14)
#define LAST_PART 0.95 /* of a fill: the inserts after it are timed */
#define GROWTH 100     /* times */
#define MOST_ROWS 64   /* of a plan */
#define LINE_WORDS 8

enum place { CACHE, MEMORY, PLACES };

static const char *const place_names[PLACES] = { "cache", "memory" };

enum inserts { FILL, FILL_SHARED, GROW, GROW_SHARED, INSERTS };

static const char *const insert_names[INSERTS] = { "fill", "fill_shared", "growth",
	                                           "growth_shared" };

/* What was measured of a row. */
struct latency_row {
	struct samples lookup[PLACES][2]; /* absent or present */
	struct spans inserts[INSERTS];
	char why_not[160]; /* it does not grow */
};

struct latency {
	const struct bench_settings *settings;
	struct bench_rows rows;
	struct ceilings ceilings; /* for their array: where filters lie, and to read from */
	struct site site;
	struct latency_row *row;
	size_t read_bytes[PLACES]; /* of the array, a power of two: about as large as the tables */
	struct samples reads[PLACES];
	struct samples hashing; /* of lookups: hash, loop and fence */
	struct spans clock;     /* of inserts: nothing between two looks at the clock */
	size_t lookups;         /* per figure */
	uint64_t *keys;         /* so many */
};

/* --------------------------------------------------------------- waiting -- */

/* Nothing after it begins before everything before it is done. */
static inline void fence(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ volatile("dsb sy\n\tisb" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Always 0, but compilers cannot know: what is masked with it depends on what it was before. */
static volatile uint64_t nothing;

/* What was read last goes here, so that compilers do not leave the reading out. */
static volatile uint64_t last_read;

/* ------------------------------------------------------------ dependent -- */

/* Clocked is the processor's time: what other programs take of it is no part of a lookup. */
static uint64_t look_up(const struct latency *latency, const nidus_filter *filter,
                        struct samples *samples)
{
	const uint64_t *keys = latency->keys;
	size_t n = latency->lookups;
	double began = machine_worked();
	uint64_t found = 0, zero = nothing, yes = 0;

	for (size_t i = 0; i < n; i++) {
		yes = nidus_contains_u64(filter, keys[i] ^ (yes & zero));
		fence();
		found += yes;
	}
	samples_add(samples, (double)n, machine_worked() - began);
	return found;
}

static void hash_only(const struct latency *latency, const nidus_filter *filter,
                      struct samples *samples)
{
	const uint64_t *keys = latency->keys;
	size_t n = latency->lookups;
	double began = machine_worked();
	uint64_t zero = nothing, hash = 0;

	for (size_t i = 0; i < n; i++) {
		hash = nidus_hash_u64(filter, keys[i] ^ (hash & zero));
		fence();
	}
	last_read = hash;
	samples_add(samples, (double)n, machine_worked() - began);
}

static void read_lines(const struct latency *latency, size_t bytes, struct samples *samples)
{
	const uint64_t *array = latency->ceilings.array, *keys = latency->keys;
	size_t n = latency->lookups;
	double began = machine_worked();
	uint64_t zero = nothing, word = 0;
	uint64_t lines = bytes / (LINE_WORDS * sizeof(*array)); /* a power of two */

	for (size_t i = 0; i < n; i++) {
		word = array[((keys[i] ^ (word & zero)) & (lines - 1)) * LINE_WORDS];
		fence();
	}
	last_read = word;
	samples_add(samples, (double)n, machine_worked() - began);
}

static int check_found(const struct latency *latency, const struct bench_row *row, uint64_t found)
{
	if (found == latency->lookups)
		return EXIT_OK;
	report_error("bench: %s did not find keys that are in it; please report this",
	             row->spec.name);
	return EXIT_NOTHING;
}

/* Lookups and what they are compared with take turns. */
static int look_up_row(struct latency *latency, size_t number, const nidus_filter *filter,
                       enum place place, uint64_t keys)
{
	struct latency_row *row = &latency->row[number];
	struct key_order order = key_order_of(keys);
	size_t bytes = latency->read_bytes[place];
	struct samples warming = { 0 };
	size_t n = latency->lookups;
	int code = EXIT_OK;

	for (unsigned round = 0; round < latency->settings->rounds && code == EXIT_OK; round++) {
		key_order_fill(&order, latency->keys, n);
		if (place == CACHE && round == 0)
			look_up(latency, filter, &warming);
		code = check_found(latency, latency->rows.row[number],
		                   look_up(latency, filter, &row->lookup[place][true]));
		keys_fill(KEYS_ABSENT + round * n, latency->keys, n);
		look_up(latency, filter, &row->lookup[place][false]);
		if (place == CACHE) {
			hash_only(latency, filter, &latency->hashing);
			read_lines(latency, bytes, &warming);
		}
		read_lines(latency, bytes, &latency->reads[place]);
	}
	return code;
}

/* --------------------------------------------------------------- inserts -- */

static uint64_t nanoseconds(double seconds)
{
	return seconds > 0 ? (uint64_t)(seconds * 1e9 + 0.5) : 0;
}

static nidus_status insert_timed(nidus_filter *filter, uint64_t from, uint64_t to,
                                 struct spans *spans)
{
	for (uint64_t i = from; i < to; i++) {
		uint64_t key = keys_at(KEYS_INSERTED + i);
		double began = machine_seconds();
		nidus_status status = nidus_insert_u64(filter, key);

		spans_add(spans, nanoseconds(machine_seconds() - began));
		if (status != NIDUS_OK)
			return status;
		if (i % 4096 == 0)
			progress_update(i, i);
	}
	return NIDUS_OK;
}

static nidus_status insert_quickly(struct latency *latency, nidus_filter *filter, uint64_t to)
{
	size_t batch = latency->settings->batch;

	if (batch > latency->lookups)
		batch = latency->lookups;

	for (uint64_t done = 0; done < to;) {
		size_t n = to - done < batch ? (size_t)(to - done) : batch;
		nidus_status status;

		keys_fill(KEYS_INSERTED + done, latency->keys, n);
		nidus_hash_u64_batch(filter, latency->keys, n, latency->keys);
		status = nidus_insert_batch(filter, latency->keys, n, NULL);
		if (status != NIDUS_OK)
			return status;
		done += n;
		progress_update(done, done);
	}
	return NIDUS_OK;
}

/* The last part of a fill is timed, or, if inserts are not measured, nothing. */
static nidus_status fill(struct latency *latency, nidus_filter *filter, uint64_t keys,
                         struct spans *spans)
{
	uint64_t last = spans ? (uint64_t)((double)keys * LAST_PART) : keys;
	nidus_status status = insert_quickly(latency, filter, last);

	return status == NIDUS_OK && spans ? insert_timed(filter, last, keys, spans) : status;
}

static void time_clock(struct spans *spans)
{
	for (size_t i = 0; i < MOST_LOOKUPS; i++) {
		double began = machine_seconds();

		spans_add(spans, nanoseconds(machine_seconds() - began));
	}
}

/* ---------------------------------------------------------------- filters -- */

/* A full filter in the cache or in memory, looked up in. */
static int measure_place(struct latency *latency, size_t number, enum place place)
{
	const struct bench_row *row = latency->rows.row[number];
	unsigned groups = latency->settings->groups;
	nidus_options options = row->options;
	struct spans *spans = NULL;
	nidus_filter *filter;
	nidus_status status;
	int code = EXIT_OK;

	if (place == CACHE)
		options.capacity = CACHED_KEYS;
	else if (groups & GROUP_INSERT)
		spans = &latency->row[number].inserts[FILL];
	options.allocator = site_allocator(&latency->site);
	progress_start(row->spec.name, options.capacity);
	status = nidus_create(&options, &filter);
	if (status == NIDUS_OK)
		status = fill(latency, filter, options.capacity, spans);
	if (status == NIDUS_OK && (groups & GROUP_LOOKUP))
		code = look_up_row(latency, number, filter, place, options.capacity);
	nidus_free(filter);
	progress_clear();
	return status == NIDUS_OK ? code : report_status(row->spec.name, status);
}

static int measure_shared_fill(struct latency *latency, size_t number)
{
	const struct bench_row *row = latency->rows.row[number];
	nidus_options options = row->options;
	nidus_filter *filter;
	nidus_status status;

	options.features |= NIDUS_CONCURRENT;
	options.allocator = site_allocator(&latency->site);
	progress_start(row->spec.name, options.capacity);
	status = nidus_create(&options, &filter);
	if (status == NIDUS_OK)
		status = fill(latency, filter, options.capacity,
		              &latency->row[number].inserts[FILL_SHARED]);
	nidus_free(filter);
	progress_clear();
	return status == NIDUS_OK ? EXIT_OK : report_status(row->spec.name, status);
}

/* Room for all segments that a growth goes through. None comes back here. */
static bool open_for_growth(struct fresh *fresh, const nidus_options *options)
{
	nidus_plan_row rows[MOST_ROWS];
	uint64_t bytes = 0;
	size_t n = 0;

	if (nidus_plan(options, rows, MOST_ROWS, &n) != NIDUS_OK)
		return true; /* nidus_create will say why */
	for (size_t i = 0; i < n; i++) {
		if (rows[i].chosen)
			bytes = 4 * rows[i].bytes_growing;
	}
	return fresh_open(fresh, bytes);
}

static nidus_status grow_timed(struct latency *latency, const nidus_options *options,
                               struct spans *spans)
{
	nidus_filter *filter;
	nidus_status status = nidus_create(options, &filter);

	if (status == NIDUS_OK)
		status = insert_quickly(latency, filter, options->capacity);
	if (status == NIDUS_OK)
		status = insert_timed(filter, options->capacity, options->max_capacity, spans);
	nidus_free(filter);
	return status;
}

/* From a hundredth of the keys to all of them. */
static int measure_growth(struct latency *latency, size_t number, enum inserts inserts)
{
	const struct bench_row *row = latency->rows.row[number];
	struct latency_row *measured = &latency->row[number];
	nidus_options options = row->options;
	struct fresh fresh = { 0 };
	nidus_status status;

	options.max_capacity = row->keys;
	options.capacity = row->keys / GROWTH;
	options.features |= inserts == GROW_SHARED ? NIDUS_CONCURRENT : 0;
	if (!open_for_growth(&fresh, &options))
		return report_memory("benchmarking");
	options.allocator = fresh_allocator(&fresh);
	progress_start(row->spec.name, row->keys);
	status = grow_timed(latency, &options, &measured->inserts[inserts]);
	fresh_close(&fresh);
	progress_clear();
	if (status == NIDUS_E_RANGE || status == NIDUS_E_UNSUPPORTED) {
		snprintf(measured->why_not, sizeof(measured->why_not), "%s", nidus_reason());
		return EXIT_OK;
	}
	return status == NIDUS_OK ? EXIT_OK : report_status(row->spec.name, status);
}

/* Growth is measured once per family: shapes differ little there, and it takes long. */
static bool is_first_of_family(const struct bench_rows *rows, size_t number)
{
	for (size_t i = 0; i < number; i++) {
		if (rows->row[i]->spec.family == rows->row[number]->spec.family)
			return false;
	}
	return true;
}

static int measure_row(struct latency *latency, size_t number)
{
	unsigned groups = latency->settings->groups;
	nidus_family family = latency->rows.row[number]->spec.family;
	int code = EXIT_OK;

	if (nidus_family_features(family) & NIDUS_STATIC)
		return EXIT_OK; /* nothing is put in one by one */
	if (groups & GROUP_LOOKUP)
		code = measure_place(latency, number, CACHE);
	if (code == EXIT_OK && (groups & (GROUP_LOOKUP | GROUP_INSERT)))
		code = measure_place(latency, number, MEMORY);
	if (code == EXIT_OK && (groups & GROUP_INSERT))
		code = measure_shared_fill(latency, number);
	if (!(groups & GROUP_GROW) || !(nidus_family_features(family) & NIDUS_GROW) ||
	    !is_first_of_family(&latency->rows, number))
		return code;
	if (code == EXIT_OK)
		code = measure_growth(latency, number, GROW);
	return code == EXIT_OK ? measure_growth(latency, number, GROW_SHARED) : code;
}

/* ----------------------------------------------------------------- table -- */

/* The inverse of a rate in million keys per second. */
static double span_of(double rate)
{
	return rate > 0 ? 1e3 / rate : 0;
}

static void print_samples(const struct samples *samples)
{
	struct summary rate = samples_summary(samples);

	if (rate.n == 0)
		out_format("  %21s", "-");
	else
		out_format("  %6.1f %6.1f ..%6.1f", span_of(rate.median), span_of(rate.high),
		           span_of(rate.low));
}

static void print_lookups(const struct latency *latency)
{
	out_format("\nlookups that wait for each other, ns: median, least and most of %u\n",
	           latency->settings->rounds);
	out_format("  %-18s  %-44s  %s\n", "", "in the cache (100000 keys): present, absent",
	           "in memory: present, absent");
	out_format("  %-18s", "one line read");
	print_samples(&latency->reads[CACHE]);
	out_format("  %21s", "");
	print_samples(&latency->reads[MEMORY]);
	out_format("\n  %-18s", "hash and fence");
	print_samples(&latency->hashing);
	out_byte('\n');
	for (size_t i = 0; i < latency->rows.n; i++) {
		out_format("  %-18s", latency->rows.row[i]->spec.name);
		for (unsigned place = 0; place < PLACES; place++) {
			print_samples(&latency->row[i].lookup[place][true]);
			print_samples(&latency->row[i].lookup[place][false]);
		}
		out_byte('\n');
	}
}

static void print_spans(const char *name, const char *more, const struct spans *spans)
{
	out_format("  %-18s %-7s  %8" PRIu64 "  %8" PRIu64 "  %8" PRIu64 "  %10" PRIu64 "\n", name,
	           more, spans_quantile(spans, 0.5), spans_quantile(spans, 0.99),
	           spans_quantile(spans, 0.999), spans->most);
}

static void print_inserts(const struct latency *latency, enum inserts plain)
{
	for (size_t i = 0; i < latency->rows.n; i++) {
		const struct latency_row *row = &latency->row[i];
		const char *name = latency->rows.row[i]->spec.name;

		if (row->inserts[plain].n > 0)
			print_spans(name, "", &row->inserts[plain]);
		if (row->inserts[plain + 1].n > 0)
			print_spans(name, "shared", &row->inserts[plain + 1]);
		if (plain == GROW && row->why_not[0] != '\0')
			out_format("  %-18s does not grow so far: %s\n", name, row->why_not);
	}
}

static void print_insert_tables(const struct latency *latency)
{
	uint64_t keys = latency->settings->keys;
	unsigned groups = latency->settings->groups;

	out_format("\nsingle inserts, ns        %10s  %8s  %8s  %10s\n", "p50", "p99", "p99.9",
	           "most");
	print_spans("the clock alone", "", &latency->clock);
	if (groups & GROUP_INSERT) {
		out_format(" the last 5 %% of a fill\n");
		print_inserts(latency, FILL);
	}
	if (groups & GROUP_GROW) {
		out_format(" growth from %" PRIu64 " to %" PRIu64 " keys\n", keys / GROWTH, keys);
		print_inserts(latency, GROW);
	}
}

static void print_table(const struct latency *latency)
{
	const struct bench_settings *settings = latency->settings;
	char reads[NUMBER_TEXT], size[NUMBER_TEXT], huge[NUMBER_TEXT];

	number_text_bytes(latency->read_bytes[MEMORY], reads);
	number_text_bytes(latency->ceilings.bytes, size);
	number_text_bytes(latency->ceilings.huge, huge);
	bench_print_machine();
	out_format("huge pages: %s; %s of the %s array where filters lie; lines are read from %s\n",
	           machine_huge_pages(), huge, size, reads);
	out_format("%" PRIu64 " keys in memory; hashing counts\n", settings->keys);
	if (settings->groups & GROUP_LOOKUP)
		print_lookups(latency);
	if (settings->groups & (GROUP_INSERT | GROUP_GROW))
		print_insert_tables(latency);
}

/* ------------------------------------------------------------------ JSON -- */

static void json_samples(const char *name, const struct samples *samples)
{
	struct summary rate = samples_summary(samples);

	if (rate.n == 0)
		return;
	json_open(name, '{');
	json_real("median", span_of(rate.median));
	json_real("low", span_of(rate.high));
	json_real("high", span_of(rate.low));
	json_close('}');
}

static void json_spans(const char *name, const struct spans *spans)
{
	if (spans->n == 0)
		return;
	json_open(name, '{');
	json_count("calls", spans->n);
	json_count("p50", spans_quantile(spans, 0.5));
	json_count("p99", spans_quantile(spans, 0.99));
	json_count("p99_9", spans_quantile(spans, 0.999));
	json_count("most", spans->most);
	json_close('}');
}

static void json_row(const struct latency *latency, size_t number)
{
	const struct bench_row *row = latency->rows.row[number];
	const struct latency_row *measured = &latency->row[number];

	json_open(NULL, '{');
	json_text("row", row->spec.name);
	json_text("family", nidus_family_name(row->spec.family));
	json_count("keys", row->keys);
	for (unsigned place = 0; place < PLACES; place++) {
		json_open(place_names[place], '{');
		json_samples("present", &measured->lookup[place][true]);
		json_samples("absent", &measured->lookup[place][false]);
		json_close('}');
	}
	json_open("inserts", '{');
	for (unsigned i = 0; i < INSERTS; i++)
		json_spans(insert_names[i], &measured->inserts[i]);
	json_close('}');
	json_close('}');
}

static void print_json(const struct latency *latency)
{
	json_open(NULL, '{');
	bench_json_machine();
	json_count("keys", latency->settings->keys);
	json_count("cached_keys", CACHED_KEYS);
	json_count("rounds", latency->settings->rounds);
	json_text("unit", "nanoseconds, hashing included");
	json_open("reads", '{');
	for (unsigned place = 0; place < PLACES; place++)
		json_samples(place_names[place], &latency->reads[place]);
	json_close('}');
	json_count("read_bytes", latency->read_bytes[MEMORY]);
	json_samples("hash_and_fence", &latency->hashing);
	json_spans("clock", &latency->clock);
	json_open("rows", '[');
	for (size_t i = 0; i < latency->rows.n; i++)
		json_row(latency, i);
	json_close(']');
	json_close('}');
}

/* --------------------------------------------------------------- the run -- */

/* About a byte per key, and no more than there is. */
static size_t span_for(uint64_t keys, size_t most)
{
	size_t bytes = CACHED_BYTES;

	while (bytes < keys && bytes < most)
		bytes *= 2;
	return bytes;
}

static int run(struct latency *latency)
{
	const struct bench_settings *settings = latency->settings;
	int code = rows_select(&latency->rows, settings->rows, settings->keys);

	if (code != EXIT_OK)
		return code;
	latency->row = calloc(latency->rows.n, sizeof(*latency->row));
	latency->lookups = settings->keys < LEAST_LOOKUPS  ? LEAST_LOOKUPS
	                   : settings->keys < MOST_LOOKUPS ? (size_t)settings->keys
	                                                   : MOST_LOOKUPS;
	latency->keys = calloc(latency->lookups, sizeof(*latency->keys));
	if (!latency->row || !latency->keys ||
	    !ceilings_open(&latency->ceilings, ceilings_size(settings->keys), 1, 1))
		return report_memory("benchmarking");
	site_open(&latency->site, &latency->ceilings);
	latency->read_bytes[CACHE] = CACHED_BYTES;
	latency->read_bytes[MEMORY] = span_for(settings->keys, latency->ceilings.bytes);
	time_clock(&latency->clock);
	for (size_t i = 0; i < latency->rows.n && code == EXIT_OK; i++) {
		report_talk("%s", latency->rows.row[i]->spec.name);
		code = measure_row(latency, i);
	}
	if (code != EXIT_OK)
		return code;
	if (settings->json)
		print_json(latency);
	else
		print_table(latency);
	return EXIT_OK;
}

int bench_latency(const struct bench_settings *settings)
{
	struct latency *latency = calloc(1, sizeof(*latency));
	int code;

	if (!latency)
		return report_memory("benchmarking");
	latency->settings = settings;
	code = run(latency);
	ceilings_close(&latency->ceilings);
	rows_free(&latency->rows);
	free(latency->row);
	free(latency->keys);
	free(latency);
	return code;
}

/* SPDX-License-Identifier: MIT
 *
 * paper: rows in memory, and how they are shown.
 */
#include "paper.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nidus.h>

#include "disturbance.h"
#include "machine.h"

#define SERIES_TEXT 48
#define SAMPLES 32
#define TITLE_TEXT 120
#define IN_VAIN_MOST 4 /* rounds disturbed to the last, after which none is made again */

const struct paper papers[] = {
	{ "windowed", "Schmitz, Zentgraf, Rahmann: Smaller and More Flexible Cuckoo Filters (2025)",
	  "AMD Ryzen 9 9950X, 16 cores, DDR5-6000", paper_windowed },
	{ "cpcf",
	  "Hua et al.: CPCF: A Flexible Chunking and Proactive Insertion Cuckoo Filter (2024)",
	  "Intel Xeon Gold 6326, 2.9 GHz, 24 MB L3", paper_cpcf },
	{ "cuckoo", "Fan, Andersen, Kaminsky: Cuckoo Filter: Better Than Bloom (2013)",
	  "Intel Xeon L5640, 2.27 GHz, 12 MB L3", paper_cuckoo },
	{ "simplified", "Eppstein: Cuckoo Filter: Simplification and Analysis (2016)",
	  "none: theorems", paper_simplified },
	{ "breadcrumb", "Krapivin et al.: Breadcrumb Filters: Fast Fully Featured Filters (2026)",
	  "Intel Xeon Gold 6338, 32 cores, AVX-512, 48 MB L3 per socket", paper_breadcrumb },
};

const size_t papers_number = sizeof papers / sizeof *papers;

struct row {
	char series[SERIES_TEXT];
	double x, said;
	unsigned samples;
	double sample[SAMPLES]; /* ascending */
	size_t block[SAMPLES];  /* in which each was taken */
};

struct part {
	struct experiment experiment;
	char title[TITLE_TEXT];
	size_t n, room;
	struct row *row;
};

/* A round of an experiment, and what else happened on the machine. */
struct block {
	const char *paper, *what;
	unsigned round, attempt;
	bool kept;
	struct disturbance disturbance;
};

struct paper_run {
	struct paper_scale scale;
	double began;
	size_t n, room;
	struct part *part;
	size_t blocks, block_room;
	struct block *block;
	unsigned round, attempt; /* of the block that is under way */
	unsigned made;           /* rounds of its experiment, all attempts */
	unsigned in_vain;
	double experiment_began;
	bool begun, under_way; /* the rounds; a block */
};

/* ------------------------------------------------------------------------ rows -- */

/* Room for one more of n things. */
static void *extend(void *things, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return things;
	*room = 2 * *room + 8;
	things = realloc(things, *room * size);
	if (things == NULL) {
		fprintf(stderr, "bench_paper: no memory\n");
		exit(5);
	}
	return things;
}

struct paper_run *paper_run_new(const struct paper_scale *scale)
{
	size_t room = 0;
	struct paper_run *run = extend(NULL, 0, &room, sizeof *run);
	*run = (struct paper_run){ .scale = *scale, .began = machine_seconds() };
	return run;
}

void paper_run_free(struct paper_run *run)
{
	for (size_t i = 0; i < run->n; i++)
		free(run->part[i].row);
	free(run->part);
	free(run->block);
	free(run);
}

const struct paper_scale *paper_scale(const struct paper_run *run)
{
	return &run->scale;
}

/* Whether rows differ in the size of their filters. */
static bool sized_by_x(const struct experiment *experiment)
{
	return experiment->x != NULL &&
	       (strstr(experiment->x, "keys") != NULL || strstr(experiment->x, "slots") != NULL);
}

/* "2^20", "100 million", "8,000". */
static const char *size_text(double number, char text[32])
{
	double power = log2(number);
	if (number >= 1024 && power == floor(power))
		snprintf(text, 32, "2^%.0f", power);
	else if (number >= 1e6)
		snprintf(text, 32, "%.3g million", number / 1e6);
	else if (number >= 1000)
		snprintf(text, 32, "%.0f,%03.0f", floor(number / 1000), fmod(floor(number), 1000));
	else
		snprintf(text, 32, "%.0f", number);
	return text;
}

static void title_of(const struct paper_run *run, const struct experiment *experiment, char *title)
{
	bool speed = experiment->compare == PAPER_RATIO && !sized_by_x(experiment);
	double keys = experiment->keys > 0 ? experiment->keys : speed ? (double)run->scale.keys : 0;
	double size = keys > 0 ? keys : experiment->slots;
	char text[32];
	if (size > 0)
		snprintf(title, TITLE_TEXT, "%s; %s %s", experiment->title, size_text(size, text),
		         keys > 0 ? "keys" : "slots");
	else
		snprintf(title, TITLE_TEXT, "%s", experiment->title);
}

void paper_begin(struct paper_run *run, const struct experiment *experiment)
{
	run->part = extend(run->part, run->n, &run->room, sizeof *run->part);
	struct part *part = &run->part[run->n++];
	*part = (struct part){ .experiment = *experiment };
	title_of(run, experiment, part->title);
	paper_prepare(run, experiment->paper, experiment->id);
}

/* ---------------------------------------------------------------------- rounds -- */

static void begin_block(struct paper_run *run)
{
	disturbance_begin(&run->block[run->blocks - 1].disturbance);
}

static void add_block(struct paper_run *run, const char *paper, const char *what)
{
	run->block = extend(run->block, run->blocks, &run->block_room, sizeof *run->block);
	run->block[run->blocks++] = (struct block){ .paper = paper,
		                                    .what = what,
		                                    .round = run->round,
		                                    .attempt = run->attempt,
		                                    .kept = true };
	begin_block(run);
}

/* The round that is under way ends; the last of an experiment ends where the next one begins. */
static struct block *end_block(struct paper_run *run)
{
	struct block *block = &run->block[run->blocks - 1];
	if (run->under_way)
		disturbance_end(&block->disturbance);
	run->under_way = false;
	return block;
}

void paper_prepare(struct paper_run *run, const char *paper, const char *what)
{
	if (run->blocks > 0)
		end_block(run);
	run->round = run->attempt = run->made = 0;
	run->experiment_began = machine_seconds();
	add_block(run, paper, what);
	run->under_way = true;
	run->begun = false;
}

/* What a disturbed round has added. */
static void forget(struct row *row, size_t block)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < row->samples; i++) {
		row->sample[kept] = row->sample[i];
		row->block[kept] = row->block[i];
		kept += row->block[i] != block;
	}
	row->samples = kept;
}

static void forget_block(struct paper_run *run)
{
	struct part *part = run->n > 0 ? &run->part[run->n - 1] : NULL;
	run->block[run->blocks - 1].kept = false;
	for (size_t i = 0; part != NULL && i < part->n; i++)
		forget(&part->row[i], run->blocks - 1);
}

/* Whether the round that has ended is made once more. */
static bool repeat(struct paper_run *run, const struct block *block)
{
	if (!disturbance_matters(&block->disturbance)) {
		run->in_vain = 0;
		return false;
	}
	if (run->attempt < run->scale.retries && run->in_vain < IN_VAIN_MOST)
		return true;
	run->in_vain++;
	return false;
}

/* Whether there is time for a round like those of this experiment so far. */
static bool in_time(const struct paper_run *run)
{
	double now = machine_seconds();
	double like = (now - run->experiment_began) / run->made;
	return run->scale.seconds <= 0 || now - run->began + like <= run->scale.seconds;
}

bool paper_again(struct paper_run *run)
{
	struct block *block = end_block(run);
	if (run->begun) {
		const char *paper = block->paper, *what = block->what;
		run->made++;
		if (repeat(run, block) && in_time(run)) {
			forget_block(run);
			run->attempt++;
		} else {
			run->attempt = 0;
			run->round++;
			if (run->round >= run->scale.rounds || !in_time(run))
				return false;
		}
		add_block(run, paper, what);
	}
	begin_block(run);
	run->begun = run->under_way = true;
	return true;
}

unsigned paper_round(const struct paper_run *run)
{
	return run->round;
}

/* ----------------------------------------------------------------------- values -- */

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static struct row *find(const struct part *part, const char *series, double x)
{
	for (size_t i = 0; i < part->n; i++) {
		if (strcmp(part->row[i].series, series) == 0 && same(part->row[i].x, x))
			return &part->row[i];
	}
	return NULL;
}

/* A sample beyond the most is left out. */
static void add_sample(struct row *row, double value, size_t block)
{
	unsigned at = row->samples;
	if (at == SAMPLES)
		return;
	for (; at > 0 && row->sample[at - 1] > value; at--) {
		row->sample[at] = row->sample[at - 1];
		row->block[at] = row->block[at - 1];
	}
	row->sample[at] = value;
	row->block[at] = block;
	row->samples++;
}

void paper_add(struct paper_run *run, const char *series, double x, double said, double ours)
{
	struct part *part = &run->part[run->n - 1];
	struct row *row = find(part, series, x);
	if (row == NULL) {
		part->row = extend(part->row, part->n, &part->room, sizeof *part->row);
		row = &part->row[part->n++];
		*row = (struct row){ .x = x, .said = said };
		snprintf(row->series, sizeof row->series, "%s", series);
	}
	if (!isnan(ours))
		add_sample(row, ours, run->blocks - 1);
}

static double median(const struct row *row)
{
	unsigned n = row->samples;
	return n == 0 ? NAN : (row->sample[(n - 1) / 2] + row->sample[n / 2]) / 2;
}

/* ----------------------------------------------------------------------- table -- */

static const char *number_text(double value, char text[24])
{
	if (isnan(value))
		return "-";
	snprintf(text, 24, fabs(value) >= 1e4 && fabs(value) < 1e9 ? "%.0f" : "%.4g", value);
	return text;
}

static double ratio_to(double value, double reference)
{
	return value / reference; /* of nothing or by nothing: not a number */
}

/* What a row is compared by: itself, or its ratio to the reference row. */
struct comparison {
	double said, ours;
};

static struct comparison compare(const struct part *part, const struct row *row)
{
	struct comparison plain = { row->said, median(row) };
	if (part->experiment.compare == PAPER_VALUE)
		return plain;
	const struct row *reference = part->experiment.reference == NULL
	                                      ? NULL
	                                      : find(part, part->experiment.reference, row->x);
	if (reference == NULL)
		return (struct comparison){ NAN, NAN };
	return (struct comparison){ ratio_to(plain.said, reference->said),
		                    ratio_to(plain.ours, median(reference)) };
}

static void print_row(const struct part *part, const struct row *row)
{
	char x[24], said[24], ours[24], said_ratio[24], our_ratio[24];
	printf("%-30s", row->series);
	if (part->experiment.x != NULL)
		printf(" %10s", number_text(row->x, x));
	printf(" %10s %10s", number_text(row->said, said), number_text(median(row), ours));
	struct comparison by = compare(part, row);
	if (part->experiment.compare == PAPER_VALUE)
		printf(" %10s\n", number_text(ratio_to(by.ours, by.said), our_ratio));
	else if (part->experiment.reference == NULL)
		printf("\n");
	else
		printf(" %10s %10s\n", number_text(by.said, said_ratio),
		       number_text(by.ours, our_ratio));
}

static const struct paper *paper_named(const char *name)
{
	size_t i = 0;
	while (strcmp(papers[i].name, name) != 0)
		i++;
	return &papers[i];
}

static void print_head(const struct experiment *experiment, const char *title)
{
	printf("\n%s, %s: %s, %s\n", experiment->paper, experiment->place, title, experiment->unit);
	printf("paper: %s\n", paper_named(experiment->paper)->machine);
	if (experiment->note != NULL)
		printf("note: %s\n", experiment->note);
	printf("%-30s", "");
	if (experiment->x != NULL)
		printf(" %10s", experiment->x);
	printf(" %10s %10s", "paper", "here");
	if (experiment->compare == PAPER_VALUE)
		printf(" %10s\n", "here/paper");
	else if (experiment->reference != NULL)
		printf("  as ratios to %s, paper and here\n", experiment->reference);
	else
		printf("\n");
}

void paper_end(struct paper_run *run)
{
	end_block(run);
	const struct part *part = &run->part[run->n - 1];
	print_head(&part->experiment, part->title);
	for (size_t i = 0; i < part->n; i++)
		print_row(part, &part->row[i]);
	fflush(stdout);
}

/* ------------------------------------------------------------------------ JSON -- */

static void json_text(FILE *file, const char *name, const char *text)
{
	fprintf(file, "\"%s\": ", name);
	if (text == NULL) {
		fprintf(file, "null");
		return;
	}
	fputc('"', file);
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;
		if (byte < 0x20)
			fprintf(file, "\\u%04x", byte);
		else
			fprintf(file, byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
	}
	fputc('"', file);
}

static void json_number(FILE *file, const char *name, double number)
{
	if (isfinite(number))
		fprintf(file, "\"%s\": %.7g", name, number);
	else
		fprintf(file, "\"%s\": null", name);
}

static void json_row(FILE *file, const struct part *part, const struct row *row)
{
	struct comparison by = compare(part, row);
	fprintf(file, "{");
	json_text(file, "series", row->series);
	fprintf(file, ", ");
	json_number(file, "x", row->x);
	fprintf(file, ", ");
	json_number(file, "paper", row->said);
	fprintf(file, ", ");
	json_number(file, "here", median(row));
	fprintf(file, ", ");
	json_number(file, "least", row->samples > 0 ? row->sample[0] : NAN);
	fprintf(file, ", ");
	json_number(file, "most", row->samples > 0 ? row->sample[row->samples - 1] : NAN);
	fprintf(file, ", \"samples\": %u, ", row->samples);
	json_number(file, "paper_ratio", part->experiment.compare == PAPER_RATIO ? by.said : NAN);
	fprintf(file, ", ");
	json_number(file, "here_ratio",
	            part->experiment.compare == PAPER_RATIO ? by.ours : ratio_to(by.ours, by.said));
	fprintf(file, "}");
}

static void json_part(FILE *file, const struct part *part)
{
	const struct experiment *experiment = &part->experiment;
	fprintf(file, "   {");
	json_text(file, "id", experiment->id);
	fprintf(file, ", ");
	json_text(file, "place", experiment->place);
	fprintf(file, ", ");
	json_text(file, "title", part->title);
	fprintf(file, ",\n    ");
	json_text(file, "x", experiment->x);
	fprintf(file, ", ");
	json_text(file, "unit", experiment->unit);
	fprintf(file, ", ");
	json_text(file, "compare", experiment->compare == PAPER_VALUE ? "value" : "ratio");
	fprintf(file, ", ");
	json_text(file, "reference", experiment->reference);
	fprintf(file, ", \"log_x\": %s, \"log_y\": %s,\n    ", experiment->log_x ? "true" : "false",
	        experiment->log_y ? "true" : "false");
	json_text(file, "note", experiment->note);
	fprintf(file, ", \"rows\": [");
	for (size_t i = 0; i < part->n; i++) {
		fprintf(file, "%s\n     ", i > 0 ? "," : "");
		json_row(file, part, &part->row[i]);
	}
	fprintf(file, "\n    ]}");
}

static void json_paper(FILE *file, const struct paper_run *run, const struct paper *paper)
{
	bool first = true;
	fprintf(file, "  {");
	json_text(file, "name", paper->name);
	fprintf(file, ", ");
	json_text(file, "title", paper->title);
	fprintf(file, ", ");
	json_text(file, "machine", paper->machine);
	fprintf(file, ", \"experiments\": [");
	for (size_t i = 0; i < run->n; i++) {
		if (strcmp(run->part[i].experiment.paper, paper->name) != 0)
			continue;
		fprintf(file, "%s\n", first ? "" : ",");
		json_part(file, &run->part[i]);
		first = false;
	}
	fprintf(file, "\n  ]}");
}

static bool measured(const struct paper_run *run, const struct paper *paper)
{
	for (size_t i = 0; i < run->n; i++) {
		if (strcmp(run->part[i].experiment.paper, paper->name) == 0)
			return true;
	}
	return false;
}

static void json_head(FILE *file, const struct paper_run *run, const struct paper_words *words)
{
	const struct paper_scale *scale = &run->scale;
	char date[32];
	time_t now = time(NULL);
	strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime(&now));
	fprintf(file, " ");
	json_text(file, "nidus", nidus_version());
	fprintf(file, ", ");
	json_text(file, "commit", words->commit);
	fprintf(file, ", ");
	json_text(file, "date", date);
	fprintf(file, ", ");
	json_text(file, "note", words->note);
	fprintf(file, ",\n ");
	json_text(file, "cpu", machine_cpu());
	fprintf(file, ", \"processors\": %u, ", machine_processors());
	json_text(file, "caches", machine_caches());
	fprintf(file, ", ");
	json_text(file, "huge_pages", machine_huge_pages());
	fprintf(file, ", ");
	json_text(file, "compiler", machine_compiler());
	fprintf(file, ", ");
	json_text(file, "isa", nidus_isa());
	fprintf(file, ",\n ");
	json_number(file, "seconds", words->seconds);
	fprintf(file, ", ");
	json_number(file, "processor_share", words->share);
	fprintf(file, ", \"quick\": %s, \"keys\": %llu, \"slots\": %llu, \"rounds\": %u",
	        scale->quick ? "true" : "false", (unsigned long long)scale->keys,
	        (unsigned long long)scale->slots, scale->rounds);
}

static void json_block(FILE *file, const struct block *block)
{
	const struct disturbance *by = &block->disturbance;
	fprintf(file, "{");
	json_text(file, "paper", block->paper);
	fprintf(file, ", ");
	json_text(file, "of", block->what);
	fprintf(file, ", \"round\": %u, \"attempt\": %u, \"kept\": %s, ", block->round,
	        block->attempt, block->kept ? "true" : "false");
	json_number(file, "seconds", by->seconds);
	fprintf(file, ", ");
	json_number(file, "others", by->others);
	fprintf(file, ", ");
	json_number(file, "stolen", by->stolen);
	fprintf(file, ", ");
	json_number(file, "load", by->load);
	fprintf(file, "}");
}

/* Every round in the order of the run, also those that were made again. */
static void json_blocks(FILE *file, const struct paper_run *run)
{
	fprintf(file, ",\n \"blocks\": [");
	for (size_t i = 0; i < run->blocks; i++) {
		fprintf(file, "%s\n  ", i > 0 ? "," : "");
		json_block(file, &run->block[i]);
	}
	fprintf(file, "\n ]");
}

static void write_json(const struct paper_run *run, const struct paper_words *words, FILE *file)
{
	bool first = true;
	fprintf(file, "{\n");
	json_head(file, run, words);
	fprintf(file, ",\n \"papers\": [");
	for (size_t i = 0; i < papers_number; i++) {
		if (!measured(run, &papers[i]))
			continue;
		fprintf(file, "%s\n", first ? "" : ",");
		json_paper(file, run, &papers[i]);
		first = false;
	}
	fprintf(file, "\n ]");
	json_blocks(file, run);
	fprintf(file, "\n}\n");
}

FILE *paper_open_json(const char *path)
{
	FILE *file = path == NULL ? NULL : fopen(path, "w");
	if (path != NULL && file == NULL) {
		fprintf(stderr, "bench_paper: --json: ");
		perror(path);
		exit(3);
	}
	return file;
}

void paper_save_json(const struct paper_run *run, FILE *file, const struct paper_words *words)
{
	write_json(run, words, file);
	if (ferror(file) | (fclose(file) != 0)) {
		fprintf(stderr, "bench_paper: --json: the file could not be written\n");
		exit(3);
	}
}

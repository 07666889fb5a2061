/* SPDX-License-Identifier: MIT */
/*
 * The run: in every round each row has its turn, with the ceilings before it,
 * so that whatever slows the machine down for a while slows all of them.
 */

#include "bench_speed.h"

#include <stdlib.h>

#include "bench_report.h"
#include "machine.h"
#include "report.h"

/* Visits and lookups per figure: enough for a clock, and little beside a fill. */
#define MOST_VISITS (UINT64_C(1) << 21)
#define MOST_LOOKUPS (UINT64_C(1) << 23)
#define LEAST_LOOKUPS (UINT64_C(1) << 14)

/* Below this share of a processor something else was at work. */
#define DISTURBED 0.97

struct speed {
	const struct bench_settings *settings;
	struct bench_rows rows;
	struct pass_room room;
	struct ceilings ceilings;
	struct site site;
	struct samples hashing;
	nidus_filter *hasher; /* any filter, for its hash */
	unsigned rounds;      /* done */
};

static uint64_t at_most(uint64_t number, uint64_t most)
{
	return number < most ? number : most;
}

static uint64_t most_keys(const struct bench_rows *rows)
{
	uint64_t most = 0;

	for (size_t i = 0; i < rows->n; i++) {
		if (rows->row[i]->keys > most)
			most = rows->row[i]->keys;
	}
	return most;
}

static bool open_all(struct speed *speed)
{
	const struct bench_settings *settings = speed->settings;
	nidus_options options = NIDUS_OPTIONS_INIT;
	uint64_t keys = settings->keys;
	unsigned groups = settings->groups;

	if (groups & GROUP_VALUES) /* they are compared with these */
		groups |= GROUP_LOOKUP | GROUP_INSERT | GROUP_BUILD;
	options.capacity = 1;
	speed->room = (struct pass_room){
		.batch = settings->batch,
		.threads = settings->threads,
		.groups = groups,
		.lookups = at_most(keys > LEAST_LOOKUPS ? keys : LEAST_LOOKUPS, MOST_LOOKUPS),
	};
	if (nidus_create(&options, &speed->hasher) != NIDUS_OK)
		return false;
	if (!ceilings_open(&speed->ceilings, ceilings_size(keys),
	                   at_most(speed->room.lookups, MOST_VISITS), settings->threads))
		return false;
	site_open(&speed->site, &speed->ceilings);
	speed->room.site = &speed->site;
	return pass_open(&speed->room, most_keys(&speed->rows));
}

static void close_all(struct speed *speed)
{
	pass_close(&speed->room);
	ceilings_close(&speed->ceilings);
	nidus_free(speed->hasher);
	rows_free(&speed->rows);
}

static int run_round(struct speed *speed)
{
	int code = EXIT_OK;

	if (speed->settings->threads > 1 && !ceilings_measure_crew(&speed->ceilings)) {
		report_error("bench: cannot start %u threads", speed->settings->threads);
		return EXIT_MEMORY;
	}
	pass_hash(speed->hasher, &speed->room, &speed->hashing);
	site_turn(&speed->site, speed->rounds);
	for (size_t i = 0; i < speed->rows.n && code == EXIT_OK; i++) {
		ceilings_measure(&speed->ceilings);
		code = pass_run(speed->rows.row[i], &speed->room);
	}
	return code;
}

static int print(const struct speed *speed)
{
	struct bench_result result = {
		.n = speed->settings->keys,
		.rounds = speed->rounds,
		.bars = speed->settings->bars,
		.room = &speed->room,
		.ceilings = &speed->ceilings,
		.hashing = &speed->hashing,
		.rows = &speed->rows,
	};

	if (speed->settings->json)
		bench_print_json(&result);
	else
		bench_print_table(&result);
	return result.bars && bench_judge(&result).missed > 0 ? EXIT_NOTHING : EXIT_OK;
}

/* Figures of a busy machine are worth little, and readers should know. */
static void warn_if_disturbed(const struct speed *speed)
{
	double share = ceilings_share(&speed->ceilings);

	if (share < DISTURBED)
		report_warning("bench: other programs were at work: one thread had a processor "
		               "only %.0f %% of the time; measure again when the machine is quiet",
		               100 * share);
}

/* At least one round, whatever the time. */
static int run_rounds(struct speed *speed)
{
	const struct bench_settings *settings = speed->settings;
	double began = machine_seconds();
	int code;

	do {
		report_talk("round %u of %u", speed->rounds + 1, settings->rounds);
		code = run_round(speed);
		if (code != EXIT_OK)
			return code;
		speed->rounds++;
	} while (speed->rounds < settings->rounds &&
	         (settings->seconds == 0 || machine_seconds() - began < (double)settings->seconds));
	return EXIT_OK;
}

static int run(struct speed *speed)
{
	int code = rows_select(&speed->rows, speed->settings->rows, speed->settings->keys);

	if (code != EXIT_OK)
		return code;
	if (!open_all(speed))
		return report_memory("benchmarking");
	code = run_rounds(speed);
	warn_if_disturbed(speed);
	return code == EXIT_OK ? print(speed) : code;
}

int bench_speed(const struct bench_settings *settings)
{
	struct speed *speed = calloc(1, sizeof(*speed));
	int code;

	if (!speed)
		return report_memory("benchmarking");
	speed->settings = settings;
	code = run(speed);
	close_all(speed);
	free(speed);
	return code;
}

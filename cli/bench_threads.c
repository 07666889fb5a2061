/* SPDX-License-Identifier: MIT */
/*
 * Every row three times: without NIDUS_CONCURRENT and one thread, with it and
 * one thread, with it and a crew. The clock runs from the crew's common start until
 * its last member is done.
 *
 * Lookups and the mixed work are shared out beforehand: each member has keys of its
 * own. Inserts are taken batch by batch by the next free thread, as the last tenth of them
 * can take half of the time: a member that was a little faster than the other would
 * leave that tenth to it alone.
 */

#include "bench_threads.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "bench_crew.h"
#include "bench_keys.h"
#include "bench_rows.h"
#include "bench_site.h"
#include "json.h"
#include "machine.h"
#include "out.h"
#include "report.h"

/* The keys of a member are its own range of indices. */
#define MEMBER_RANGE (UINT64_C(1) << 42)

/* Of ten operations of the mixed work: three inserts, four lookups, three removes. */
#define MIX_CHANGED 77
#define MIX_LOOKED_UP 102

/* The mixed work goes over this part of the keys. */
#define MIX_PART 10

enum variant { PLAIN_ONE, SHARED_ONE, SHARED_CREW, VARIANTS };
enum work { WORK_INSERT, WORK_LOOKUP, WORK_MIXED, WORKS };

static const char *const variant_names[VARIANTS] = { "plain", "shared", "shared_threads" };
static const char *const work_names[WORKS] = { "insert", "lookup", "mixed" };

/*
 * What a crew must gain over one thread, and what the locks may cost one thread; Bloom
 * families have no locks, and no bar for what atomics cost.
 */
#define INSERT_GAIN 1.6
#define LOOKUP_GAIN 1.7
#define COST_BREADCRUMB 0.25
#define COST_OTHERS 0.35

struct thread_row {
	struct bench_row *row;
	struct samples rates[VARIANTS][WORKS];
};

struct threads {
	const struct bench_settings *settings;
	struct bench_rows rows;
	struct ceilings ceilings;
	struct site site;
	struct thread_row *row; /* as many as rows.n */
	unsigned rounds;
};

/* ---------------------------------------------------------------- members -- */

struct team {
	nidus_filter *filter;
	const struct bench_settings *settings;
	unsigned members;
	uint64_t share; /* keys per member */
	bool removes;
	bool failed[CREW_MOST];
	_Atomic uint64_t next; /* the batch of inserts to be taken next */
};

struct room {
	uint64_t *keys, *hashes;
	uint8_t *yes;
};

static bool room_open(struct room *room, size_t batch)
{
	room->keys = malloc(batch * sizeof(*room->keys));
	room->hashes = malloc(batch * sizeof(*room->hashes));
	room->yes = malloc(batch);
	return room->keys && room->hashes && room->yes;
}

static void room_close(struct room *room)
{
	free(room->keys);
	free(room->hashes);
	free(room->yes);
}

static uint64_t first_key(unsigned member)
{
	return KEYS_INSERTED + member * MEMBER_RANGE;
}

static size_t batch_of(const struct team *team, uint64_t left)
{
	return left < team->settings->batch ? (size_t)left : team->settings->batch;
}

/* Hashes of the keys from an index on, into room->hashes. */
static void prepare(const struct team *team, struct room *room, uint64_t index, size_t n)
{
	keys_fill(index, room->keys, n);
	nidus_hash_u64_batch(team->filter, room->keys, n, room->hashes);
}

/* Batches of all members' keys in turn. */
static bool fill(struct team *team, unsigned member, struct room *room)
{
	(void)member;
	for (;;) {
		uint64_t batch = atomic_fetch_add(&team->next, 1);
		uint64_t from = batch / team->members * team->settings->batch;
		size_t n;

		if (from >= team->share)
			return true;
		n = batch_of(team, team->share - from);
		prepare(team, room, first_key((unsigned)(batch % team->members)) + from, n);
		if (nidus_insert_batch(team->filter, room->hashes, n, NULL) != NIDUS_OK)
			return false;
	}
}

/* All keys of the member, far from the order in which they were put in. */
static bool look_up(struct team *team, unsigned member, struct room *room)
{
	struct key_order order = key_order_of(team->share);
	bool all = true;

	for (uint64_t done = 0; done < team->share;) {
		size_t n = batch_of(team, team->share - done);

		for (size_t i = 0; i < n; i++) {
			room->keys[i] = keys_at(first_key(member) + order.at);
			order.at += order.step;
			order.at -= order.at >= order.n ? order.n : 0;
		}
		nidus_hash_u64_batch(team->filter, room->keys, n, room->hashes);
		nidus_contains_batch(team->filter, room->hashes, n, room->yes);
		for (size_t i = 0; i < n; i++)
			all &= room->yes[i] != 0;
		done += n;
	}
	return all;
}

/* Takes the oldest keys out, looks others up, puts new ones in. */
static bool mix(struct team *team, unsigned member, struct room *room)
{
	uint64_t oldest = first_key(member), newest = oldest + team->share;

	for (uint64_t done = 0; done + MIX_CHANGED <= team->share / MIX_PART; done += MIX_CHANGED) {
		prepare(team, room, oldest, MIX_CHANGED);
		if (nidus_remove_batch(team->filter, room->hashes, MIX_CHANGED, NULL) != NIDUS_OK)
			return false;
		oldest += MIX_CHANGED;
		prepare(team, room, oldest + team->share / 3, MIX_LOOKED_UP);
		nidus_contains_batch(team->filter, room->hashes, MIX_LOOKED_UP, room->yes);
		prepare(team, room, newest, MIX_CHANGED);
		if (nidus_insert_batch(team->filter, room->hashes, MIX_CHANGED, NULL) != NIDUS_OK)
			return false;
		newest += MIX_CHANGED;
	}
	return true;
}

struct assignment {
	struct team *team;
	bool (*work)(struct team *team, unsigned member, struct room *room);
	struct room room[CREW_MOST];
};

static void do_work(void *context, unsigned member)
{
	struct assignment *assignment = context;
	struct team *team = assignment->team;

	team->failed[member] |= !assignment->work(team, member, &assignment->room[member]);
}

/* ---------------------------------------------------------------- passes -- */

static bool (*const works[WORKS])(struct team *, unsigned, struct room *) = {
	[WORK_INSERT] = fill,
	[WORK_LOOKUP] = look_up,
	[WORK_MIXED] = mix,
};

static double work_keys(const struct team *team, enum work work)
{
	double keys = (double)team->share * team->members;

	if (work != WORK_MIXED)
		return keys;
	return keys / MIX_PART * (2 * MIX_CHANGED + MIX_LOOKED_UP) / MIX_CHANGED;
}

static int run_works(struct team *team, struct samples *rates)
{
	struct assignment *assignment = calloc(1, sizeof(*assignment));
	size_t batch =
		team->settings->batch > MIX_LOOKED_UP ? team->settings->batch : MIX_LOOKED_UP;
	bool ready = true;
	int code = EXIT_OK;

	if (assignment == NULL)
		return report_memory("benchmarking");
	assignment->team = team;
	for (unsigned i = 0; i < team->members; i++)
		ready &= room_open(&assignment->room[i], batch);
	for (unsigned work = 0; ready && code == EXIT_OK && work < WORKS; work++) {
		double seconds;

		if (work == WORK_MIXED && !team->removes)
			continue;
		assignment->work = works[work];
		seconds = crew_run(team->members, do_work, assignment);
		if (seconds < 0) {
			report_error("bench: cannot start %u threads", team->members);
			code = EXIT_MEMORY;
			break;
		}
		samples_add(&rates[work], work_keys(team, (enum work)work), seconds);
		for (unsigned i = 0; i < team->members; i++) {
			if (team->failed[i]) {
				report_error("bench: keys were refused or not found again");
				code = EXIT_FULL;
			}
		}
	}
	for (unsigned i = 0; i < team->members; i++)
		room_close(&assignment->room[i]);
	free(assignment);
	return ready ? code : report_memory("benchmarking");
}

static int run_variant(struct threads *threads, struct thread_row *row, enum variant variant)
{
	nidus_options options = row->row->options;
	struct team team = {
		.settings = threads->settings,
		.members = variant == SHARED_CREW ? threads->settings->threads : 1,
		.removes = nidus_family_features(options.family) & NIDUS_DELETE,
	};
	nidus_status status;
	int code;

	if (variant != PLAIN_ONE)
		options.features |= NIDUS_CONCURRENT;
	/* A little room is left for those whose neighbours are between remove and insert. */
	team.share = (options.capacity - options.capacity / 100) / team.members;
	options.allocator = site_allocator(&threads->site);
	status = nidus_create(&options, &team.filter);
	if (status != NIDUS_OK)
		return report_status("bench", status);
	code = run_works(&team, row->rates[variant]);
	nidus_free(team.filter);
	return code;
}

static int run_round(struct threads *threads)
{
	int code = EXIT_OK;

	ceilings_measure(&threads->ceilings);
	if (!ceilings_measure_crew(&threads->ceilings)) {
		report_error("bench: cannot start %u threads", threads->settings->threads);
		return EXIT_MEMORY;
	}
	site_turn(&threads->site, threads->rounds);
	for (size_t i = 0; i < threads->rows.n && code == EXIT_OK; i++) {
		for (unsigned variant = 0; variant < VARIANTS && code == EXIT_OK; variant++)
			code = run_variant(threads, &threads->row[i], (enum variant)variant);
	}
	return code;
}

/* ---------------------------------------------------------------- figures -- */

static double median(const struct thread_row *row, enum variant variant, enum work work)
{
	return samples_summary(&row->rates[variant][work]).median;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double gain(const struct thread_row *row, enum work work)
{
	return ratio(median(row, SHARED_CREW, work), median(row, SHARED_ONE, work));
}

/* How much slower one thread is with the locks than without, as a share. */
static double cost(const struct thread_row *row, enum work work)
{
	double plain = median(row, PLAIN_ONE, work);

	return plain > 0 ? 1 - median(row, SHARED_ONE, work) / plain : 0;
}

/* The most that a family's locks may cost; 0: no bar. */
static double cost_bar(nidus_family family)
{
	if (family == NIDUS_BLOOM || family == NIDUS_BLOCKED_BLOOM)
		return 0;
	return family == NIDUS_BREADCRUMB ? COST_BREADCRUMB : COST_OTHERS;
}

struct score {
	unsigned missed, bars;
};

static struct score score_of(const struct thread_row *row)
{
	double most = cost_bar(row->row->spec.family);
	struct score score = { .bars = 2 };

	score.missed += gain(row, WORK_INSERT) < INSERT_GAIN;
	score.missed += gain(row, WORK_LOOKUP) < LOOKUP_GAIN;
	if (most > 0) {
		score.bars += 2;
		score.missed += cost(row, WORK_INSERT) > most;
		score.missed += cost(row, WORK_LOOKUP) > most;
	}
	return score;
}

static double ceiling_gain(const struct threads *threads, enum ceiling ceiling)
{
	return ratio(ceilings_best(&threads->ceilings, ceiling, true).summary.median,
	             ceilings_best(&threads->ceilings, ceiling, false).summary.median);
}

static void print_ceilings(const struct threads *threads)
{
	out_format("what memory gains from %u threads:", threads->settings->threads);
	for (unsigned i = 0; i < CEILINGS; i++)
		out_format("  %s %.2fx", ceiling_name((enum ceiling)i),
		           ceiling_gain(threads, (enum ceiling)i));
	out_format("\n\n");
}

static void print_table(const struct threads *threads)
{
	out_format("%s, nidus %s, %s; %llu keys, %u rounds\n", machine_cpu(), nidus_version(),
	           nidus_isa(), (unsigned long long)threads->settings->keys, threads->rounds);
	print_ceilings(threads);
	out_format("%-18s %-7s %8s %8s %6s %8s %6s   million keys per second, medians\n", "row",
	           "work", "plain", "shared", "cost", "threads", "gain");
	for (size_t i = 0; i < threads->rows.n; i++) {
		const struct thread_row *row = &threads->row[i];

		for (unsigned work = 0; work < WORKS; work++) {
			if (row->rates[PLAIN_ONE][work].n == 0)
				continue;
			out_format("%-18s %-7s %8.1f %8.1f %5.0f%% %8.1f %5.2fx\n",
			           row->row->spec.name, work_names[work],
			           median(row, PLAIN_ONE, (enum work)work),
			           median(row, SHARED_ONE, (enum work)work),
			           100 * cost(row, (enum work)work),
			           median(row, SHARED_CREW, (enum work)work),
			           gain(row, (enum work)work));
		}
		if (threads->settings->bars)
			out_format("%-18s %u of %u bars missed\n", row->row->spec.name,
			           score_of(row).missed, score_of(row).bars);
	}
}

static void json_samples(const char *name, const struct samples *samples)
{
	struct summary summary = samples_summary(samples);

	json_open(name, '{');
	json_real("median", summary.median);
	json_real("low", summary.low);
	json_real("high", summary.high);
	json_close('}');
}

static void print_json(const struct threads *threads)
{
	json_open(NULL, '{');
	json_text("cpu", machine_cpu());
	json_text("nidus", nidus_version());
	json_text("isa", nidus_isa());
	json_count("keys", threads->settings->keys);
	json_count("rounds", threads->rounds);
	json_count("threads", threads->settings->threads);
	json_text("unit", "million keys per second, hashing included");
	json_real("processor_share", ceilings_share(&threads->ceilings));
	json_open("ceiling_gain", '{');
	for (unsigned i = 0; i < CEILINGS; i++)
		json_real(ceiling_name((enum ceiling)i), ceiling_gain(threads, (enum ceiling)i));
	json_close('}');
	json_open("rows", '[');
	for (size_t i = 0; i < threads->rows.n; i++) {
		const struct thread_row *row = &threads->row[i];

		json_open(NULL, '{');
		json_text("name", row->row->spec.name);
		for (unsigned work = 0; work < WORKS; work++) {
			if (row->rates[PLAIN_ONE][work].n == 0)
				continue;
			json_open(work_names[work], '{');
			for (unsigned variant = 0; variant < VARIANTS; variant++)
				json_samples(variant_names[variant], &row->rates[variant][work]);
			json_real("cost", cost(row, (enum work)work));
			json_real("gain", gain(row, (enum work)work));
			json_close('}');
		}
		json_count("bars", score_of(row).bars);
		json_count("bars_missed", score_of(row).missed);
		json_close('}');
	}
	json_close(']');
	json_close('}');
}

/* ---------------------------------------------------------------- the run -- */

/* Rows of families that threads cannot share are left out. */
static void keep_shareable(struct bench_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->n; i++) {
		if (nidus_family_features(rows->row[i]->spec.family) & NIDUS_CONCURRENT)
			rows->row[kept++] = rows->row[i];
		else
			free(rows->row[i]);
	}
	rows->n = kept;
}

static int run_rounds(struct threads *threads)
{
	const struct bench_settings *settings = threads->settings;
	double began = machine_seconds();
	int code;

	do {
		report_talk("round %u of %u", threads->rounds + 1, settings->rounds);
		code = run_round(threads);
		if (code != EXIT_OK)
			return code;
		threads->rounds++;
	} while (threads->rounds < settings->rounds &&
	         (settings->seconds == 0 || machine_seconds() - began < (double)settings->seconds));
	return EXIT_OK;
}

#define ARRAY_VISITS (UINT64_C(1) << 22)

static int run(struct threads *threads)
{
	int code = rows_select(&threads->rows, threads->settings->rows, threads->settings->keys);
	unsigned missed = 0;

	if (code != EXIT_OK)
		return code;
	keep_shareable(&threads->rows);
	threads->row = calloc(threads->rows.n + 1, sizeof(*threads->row));
	if (!threads->row ||
	    !ceilings_open(&threads->ceilings, ceilings_size(threads->settings->keys), ARRAY_VISITS,
	                   threads->settings->threads))
		return report_memory("benchmarking");
	site_open(&threads->site, &threads->ceilings);
	for (size_t i = 0; i < threads->rows.n; i++)
		threads->row[i].row = threads->rows.row[i];
	code = run_rounds(threads);
	if (code != EXIT_OK)
		return code;
	if (threads->settings->json)
		print_json(threads);
	else
		print_table(threads);
	for (size_t i = 0; i < threads->rows.n; i++)
		missed += score_of(&threads->row[i]).missed;
	return threads->settings->bars && missed > 0 ? EXIT_NOTHING : EXIT_OK;
}

int bench_threads(const struct bench_settings *settings)
{
	struct threads *threads = calloc(1, sizeof(*threads));
	int code;

	if (!threads)
		return report_memory("benchmarking");
	threads->settings = settings;
	code = run(threads);
	ceilings_close(&threads->ceilings);
	rows_free(&threads->rows);
	free(threads->row);
	free(threads);
	return code;
}

/* SPDX-License-Identifier: MIT
 *
 * bench_paper: the experiments of the five papers, re-run here.
 *
 *     nidus bench paper [windowed|cpcf|cuckoo|simplified|breadcrumb|all...] [--quick]
 *                       [-n KEYS] [--slots N] [--fills N] [--rounds N]
 *                       [--hours N] [--retries N] [--json FILE] [--commit ID]
 *                       [--note TEXT]
 *
 * Each row has the paper's value, ours, and what may be compared: loads, rates and
 * bits directly, speeds only as ratios to another row of the same machine. --quick
 * takes less than five minutes on a quiet machine, with filters that fit into its
 * last cache. Without it filters have 10^8 keys (-n), and all five papers take hours.
 *
 * `nidus bench paper` starts this program, which needs the library's insides and is
 * not installed.
 */
#include <stdlib.h>
#include <string.h>

#include <nidus.h>

#include "machine.h"
#include "paper.h"

#define KEYS_MOST 100000000
#define KEYS_PER_HOUR \
	(UINT64_C(1) << 23) /* that an hour suffices for, all papers and three rounds */
#define THREADS_MOST 32
#define LOOKUPS_MOST (UINT64_C(1) << 20)
#define TRIALS_MOST (UINT64_C(1) << 25)

struct settings {
	bool quick, chosen[16], any;
	uint64_t keys, slots; /* 0: as the length of the run says */
	unsigned rounds, fills, retries;
	double hours;
	const char *json, *commit, *note;
};

static _Noreturn void usage(FILE *file, int code)
{
	fprintf(file,
	        "usage: nidus bench paper [PAPER...] [--quick] [-n KEYS] [--slots N] [--rounds N]\n"
	        "                         [--fills N] [--hours N] [--retries N] [--json FILE]\n"
	        "                         [--commit ID] [--note TEXT]\n"
	        "\n"
	        "Re-runs the experiments of the papers and prints what they say beside what is\n"
	        "measured here. Papers: windowed, cpcf, cuckoo, simplified, breadcrumb, all.\n"
	        "\n"
	        "  --quick      small filters: all papers in less than five minutes\n"
	        "  -n KEYS      keys of filters whose speed is measured (10^8; quick: 2^20)\n"
	        "  --slots N    slots of tables that are filled until a key is refused (10^7; quick:\n"
	        "               10^6)\n"
	        "  --fills N    filters per point where chance matters (1000; quick: 100)\n"
	        "  --rounds N   of each speed, of which the median counts (3)\n"
	        "  --hours N    filters of a size that so many hours suffice for, and fewer rounds\n"
	        "               where time runs short; for all papers\n"
	        "  --retries N  how often a round is made again that other programs disturbed (0)\n"
	        "  --json FILE  write every row there too\n"
	        "  --commit ID, --note TEXT\n"
	        "               kept in the JSON: what was measured, and how\n");
	exit(code);
}

static uint64_t read_count(const char *name, const char *text, uint64_t least, uint64_t most)
{
	char *after;
	unsigned long long number = strtoull(text, &after, 10);
	if (*text < '0' || *text > '9' || *after != '\0' || number < least || number > most) {
		fprintf(stderr, "bench_paper: %s: '%s' is not a number between %llu and %llu\n",
		        name, text, (unsigned long long)least, (unsigned long long)most);
		exit(2);
	}
	return number;
}

static double read_hours(const char *text)
{
	char *after;
	double hours = strtod(text, &after);
	if (*text == '\0' || *after != '\0' || !(hours >= 0.1 && hours <= 1000)) {
		fprintf(stderr, "bench_paper: --hours: '%s' is not a number between 0.1 and 1000\n",
		        text);
		exit(2);
	}
	return hours;
}

static void choose(struct settings *settings, const char *name)
{
	bool all = strcmp(name, "all") == 0, known = all;
	for (size_t i = 0; i < papers_number; i++) {
		bool this = all || strcmp(papers[i].name, name) == 0;
		settings->chosen[i] |= this;
		known |= this;
	}
	if (!known) {
		fprintf(stderr,
		        "bench_paper: no paper '%s'; there are: windowed, cpcf, cuckoo, "
		        "simplified, breadcrumb, all\n",
		        name);
		exit(2);
	}
	settings->any = true;
}

static void read_valued(struct settings *settings, const char *name, const char *value)
{
	if (value == NULL) {
		fprintf(stderr, "bench_paper: %s needs a value; --help tells more\n", name);
		exit(2);
	}
	if (strcmp(name, "-n") == 0)
		settings->keys = read_count(name, value, 10000, UINT64_C(1) << 32);
	else if (strcmp(name, "--rounds") == 0)
		settings->rounds = (unsigned)read_count(name, value, 1, PAPER_ROUNDS_MOST);
	else if (strcmp(name, "--retries") == 0)
		settings->retries = (unsigned)read_count(name, value, 0, 10);
	else if (strcmp(name, "--hours") == 0)
		settings->hours = read_hours(value);
	else if (strcmp(name, "--slots") == 0)
		settings->slots = read_count(name, value, 10000, UINT64_C(1) << 32);
	else if (strcmp(name, "--fills") == 0)
		settings->fills = (unsigned)read_count(name, value, 1, 1000000);
	else if (strcmp(name, "--json") == 0)
		settings->json = value;
	else if (strcmp(name, "--commit") == 0)
		settings->commit = value;
	else if (strcmp(name, "--note") == 0)
		settings->note = value;
	else {
		fprintf(stderr, "bench_paper: no option %s; --help tells what there is\n", name);
		exit(2);
	}
}

static struct settings read_arguments(int argc, char **argv)
{
	struct settings settings = { .commit = "", .note = "", .rounds = 3 };
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			usage(stdout, 0);
		else if (strcmp(argv[i], "--quick") == 0)
			settings.quick = true;
		else if (argv[i][0] != '-')
			choose(&settings, argv[i]);
		else {
			const char *name = argv[i++];
			read_valued(&settings, name, argv[i]);
		}
	}
	if (!settings.any)
		choose(&settings, "all");
	return settings;
}

static struct paper_scale scale_of(const struct settings *settings)
{
	unsigned threads = machine_processors();
	struct paper_scale scale = {
		.quick = settings->quick,
		.seconds = 3600 * settings->hours,
		.retries = settings->retries,
		.keys = settings->quick ? UINT64_C(1) << 20 : KEYS_MOST,
		.slots = settings->quick ? 1000000 : 10000000,
		.rounds = settings->rounds,
		.fills = settings->quick ? 100 : 1000,
		.threads = threads < THREADS_MOST ? threads : THREADS_MOST,
	};
	if (settings->hours > 0)
		scale.keys = (uint64_t)fmin(KEYS_MOST, settings->hours * (double)KEYS_PER_HOUR);
	if (settings->keys > 0)
		scale.keys = settings->keys;
	if (settings->slots > 0)
		scale.slots = settings->slots;
	if (settings->fills > 0)
		scale.fills = settings->fills;
	scale.lookups = scale.keys < LOOKUPS_MOST / 4 ? 4 * scale.keys : LOOKUPS_MOST;
	scale.trials = scale.keys < TRIALS_MOST / 16 ? 16 * scale.keys : TRIALS_MOST;
	scale.log_most = (unsigned)log2((double)scale.keys);
	return scale;
}

static void print_head(const struct paper_scale *scale)
{
	printf("here: %s, %u processors, %s, %s, nidus %s\n", machine_cpu(), machine_processors(),
	       machine_compiler(), nidus_isa(), nidus_version());
	printf("speeds: filters of %llu keys, medians of %u rounds; loads: tables of %llu slots\n",
	       (unsigned long long)scale->keys, scale->rounds, (unsigned long long)scale->slots);
}

int main(int argc, char **argv)
{
	struct settings settings = read_arguments(argc, argv);
	struct paper_scale scale = scale_of(&settings);
	FILE *json = paper_open_json(settings.json);
	struct paper_run *run = paper_run_new(&scale);
	double start = machine_seconds(), worked = machine_worked();
	print_head(&scale);
	for (size_t i = 0; i < papers_number; i++) {
		if (settings.chosen[i])
			papers[i].measure(run);
	}
	double seconds = machine_seconds() - start;
	double share = (machine_worked() - worked) / seconds;
	printf("\n%.0f s; the main thread had a processor %.0f %% of the time%s\n", seconds,
	       100 * share,
	       share < 0.9 ? ": other programs were at work, and speeds are worth little" : "");
	if (json != NULL)
		paper_save_json(run, json,
		                &(struct paper_words){ .commit = settings.commit,
		                                       .note = settings.note,
		                                       .seconds = seconds,
		                                       .share = share });
	paper_run_free(run);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* nidus bench: how fast filters are on this machine. */

#include "commands.h"

#include <limits.h>
#include <string.h>

#include "bench_beside.h"
#include "bench_crew.h"
#include "bench_latency.h"
#include "bench_rows.h"
#include "bench_speed.h"
#include "bench_threads.h"
#include "machine.h"
#include "out.h"
#include "report.h"
#include "shape.h"

enum { OPTION_ONLY = 300, OPTION_ROUNDS, OPTION_SECONDS, OPTION_BATCH, OPTION_BARS, OPTION_ROWS };

/* Work on fewer keys is over before a clock notices. */
#define LEAST_KEYS 1000
#define SPEED_KEYS 100000000
#define THREADS_KEYS 20000000
#define MOST_KEYS (UINT64_C(1) << 36)
#define MOST_ROUNDS 32
#define MOST_SECONDS 1000000
#define MOST_BATCH (1u << 24)

#define BENCHMARKS "speed, threads, latency, paper, wiredtiger"

/* The benchmarks of this program. */
static const struct benchmark {
	const char *name;
	int (*run)(const struct bench_settings *settings);
	uint64_t keys;   /* by default */
	unsigned groups; /* operations that it knows */
} benchmarks[] = {
	{ "speed", bench_speed, SPEED_KEYS, GROUP_ALL & ~GROUP_GROW },
	{ "threads", bench_threads, THREADS_KEYS, GROUP_ALL & ~(GROUP_GROW | GROUP_VALUES) },
	{ "latency", bench_latency, SPEED_KEYS, LATENCY_GROUPS },
};

struct bench {
	struct bench_settings settings;
	bool list;
};

/* A count between two bounds: ARGS_GO, or an exit code after a message. */
static int take_count(const char *option, const char *value, uint64_t least, uint64_t most,
                      uint64_t *count)
{
	int code = shape_count(&bench_command, option, value, count);

	if (code == ARGS_GO && (*count < least || *count > most))
		return report_usage(bench_command.name, "%s: %s is not between %llu and %llu",
		                    option, value, (unsigned long long)least,
		                    (unsigned long long)most);
	return code;
}

static int take_unsigned(const char *option, const char *value, unsigned most, unsigned *number)
{
	uint64_t count;
	int code = take_count(option, value, 1, most, &count);

	if (code == ARGS_GO)
		*number = (unsigned)count;
	return code;
}

static unsigned group_named(const char *name, size_t length)
{
	for (unsigned i = 0; i < GROUPS; i++) {
		if (strlen(group_names[i]) == length && memcmp(group_names[i], name, length) == 0)
			return 1u << i;
	}
	return 0;
}

static int take_groups(const char *value, unsigned *groups)
{
	*groups = 0;
	for (;;) {
		size_t length = strcspn(value, ",");
		unsigned group = group_named(value, length);

		if (group == 0)
			return report_usage(bench_command.name,
			                    "--only: unknown operation '%.*s'; choose from: "
			                    "lookup, "
			                    "insert, build, merge, remove, grow, values",
			                    (int)length, value);
		*groups |= group;
		if (value[length] == '\0')
			return ARGS_GO;
		value += length + 1;
	}
}

static int take_option(void *context, int id, const char *value)
{
	struct bench *bench = context;
	struct bench_settings *settings = &bench->settings;
	unsigned batch;
	int code = ARGS_GO;

	switch (id) {
	case 'n':
		return take_count("-n", value, LEAST_KEYS, MOST_KEYS, &settings->keys);
	case 'f':
		settings->rows = value;
		return ARGS_GO;
	case 't':
		return take_unsigned("-t", value, CREW_MOST, &settings->threads);
	case OPTION_ROUNDS:
		return take_unsigned("--repeat", value, MOST_ROUNDS, &settings->rounds);
	case OPTION_SECONDS:
		return take_count("--time", value, 1, MOST_SECONDS, &settings->seconds);
	case OPTION_BATCH:
		code = take_unsigned("--batch", value, MOST_BATCH, &batch);
		if (code == ARGS_GO)
			settings->batch = batch;
		return code;
	case OPTION_ONLY:
		return take_groups(value, &settings->groups);
	case OPTION_BARS:
		settings->bars = true;
		return ARGS_GO;
	case OPTION_ROWS:
		bench->list = true;
		return ARGS_GO;
	default:
		settings->json = true;
		return ARGS_GO;
	}
}

static int list_rows(void)
{
	char list[1024];

	rows_list(list, sizeof(list));
	for (char *comma = list; (comma = strstr(comma, ", ")) != NULL;) {
		*comma = '\n';
		memmove(comma + 1, comma + 2, strlen(comma + 2) + 1);
	}
	out_format("%s\n", list);
	return EXIT_OK;
}

static const struct benchmark *benchmark_named(const char *name)
{
	for (size_t i = 0; i < sizeof(benchmarks) / sizeof(benchmarks[0]); i++) {
		if (strcmp(benchmarks[i].name, name) == 0)
			return &benchmarks[i];
	}
	return NULL;
}

/* What was left out gets the benchmark's default; what it cannot do is refused. */
static int fit(struct bench_settings *settings, const struct benchmark *benchmark)
{
	unsigned foreign = settings->groups & ~benchmark->groups;

	if (settings->groups == 0)
		settings->groups = benchmark->groups;
	if (settings->keys == 0)
		settings->keys = benchmark->keys;
	for (unsigned i = 0; i < GROUPS; i++) {
		if (foreign & 1u << i)
			return report_usage(bench_command.name,
			                    "--only: bench %s does not measure %s", benchmark->name,
			                    group_names[i]);
	}
	if (settings->bars && benchmark->run == bench_latency)
		return report_usage(bench_command.name, "there are no bars for latency");
	return ARGS_GO;
}

static int run(int argc, char **argv)
{
	struct bench bench = { .settings = {
				       .rounds = 5,
				       .threads = machine_processors() < CREW_MOST
		                                          ? machine_processors()
		                                          : CREW_MOST,
				       .batch = 4096,
			       } };
	struct args args;
	const struct benchmark *benchmark;
	int code;

	if (argc > 1 && bench_is_beside(argv[1]))
		return bench_start_beside(argv[1], argv + 1);
	code = args_parse(&bench_command, argc, argv, take_option, &bench, &args);
	if (code != ARGS_GO)
		return code;
	if (args.n == 0)
		return report_usage(bench_command.name,
		                    "which benchmark? Choose from: " BENCHMARKS);
	benchmark = benchmark_named(args.operand[0]);
	if (!benchmark)
		return report_usage(bench_command.name,
		                    "unknown benchmark '%s'; choose from: " BENCHMARKS,
		                    args.operand[0]);
	if (args.n > 1)
		return report_usage(bench_command.name, "unexpected operand '%s'", args.operand[1]);
	if (bench.list)
		return list_rows();
	code = fit(&bench.settings, benchmark);
	return code == ARGS_GO ? benchmark->run(&bench.settings) : code;
}

static const struct option_spec options[] = {
	{ 'n', "keys", "KEYS", "keys per filter (default 100M; threads: 20M)" },
	{ 'f', "family", "ROW,...", "only these families or rows: windowed, windowed-2-k8" },
	{ OPTION_ROWS, "list", NULL, "list the rows instead of measuring them" },
	{ OPTION_ONLY, "only", "OP,...",
	  "only these operations: lookup, insert, build, merge,\nremove; values (speed); grow (latency)" },
	{ OPTION_ROUNDS, "repeat", "R", "rounds; the medians of them are printed (default 5)" },
	{ OPTION_SECONDS, "time", "SECONDS", "begin no further round after so many seconds" },
	{ OPTION_BATCH, "batch", "B", "keys per batch call (default 4096)" },
	{ 't', "threads", "T",
	  "threads of the second bulk build and of the second\nceilings "
	  "(default: all processors)" },
	{ OPTION_BARS, "bars", NULL, "say which of the project's bars are reached" },
	{ OPTION_JSON, "json", NULL, "print one JSON object with every sample" },
	{ 0, NULL, NULL, NULL },
};

const struct command bench_command = {
	.name = "bench",
	.synopsis = "speed|threads|latency [-n KEYS] [-f ROW,...] [OPTION...]",
	.summary = "measure how fast filters are on this machine",
	.about =
		"Measures lookups, inserts, bulk builds, merges and removes of every family, in\n"
		"million keys per second, beside the ceilings that memory itself sets: C1 and\n"
		"C2, one and two random cache lines read per key, and CW, one line changed per\n"
		"key. All take turns, round after round; the medians are printed, with the\n"
		"least and the most. 100M keys take up to an hour and 6 GB; choose fewer keys,\n"
		"rows, operations or rounds for less. The machine should have nothing else to do.\n"
		"\n"
		"threads: what NIDUS_CONCURRENT costs one thread, and what several threads gain\n"
		"from sharing a filter: inserts, lookups, and a mix of 30 % inserts, 40 %\n"
		"lookups and 30 % removes at high load.\n"
		"\n"
		"latency: nanoseconds of a lookup that waits for the one before, in a table in the\n"
		"cache and in one in memory, beside reads of random cache lines that do the same;\n"
		"and of single inserts, half of them, 99 %, 99.9 % and all, in the last 5 % of a\n"
		"fill and during growth from a hundredth of KEYS to KEYS, in filters for one thread\n"
		"and in those that threads share.\n"
		"\n"
		"paper: the experiments of the papers behind the families, what they say beside\n"
		"what is measured here. wiredtiger: filters in front of a storage engine. Both\n"
		"have options of their own (nidus bench paper --help), and are there where the\n"
		"command was built from the source tree, not where it was installed.\n",
	.options = options,
	.examples = "  nidus bench speed -n 4M --bars\n"
		    "  nidus bench speed -n 100M -f breadcrumb,windowed-2 --only lookup --json\n"
		    "  nidus bench threads -n 10M -t 2 --bars\n"
		    "  nidus bench latency -n 10M -f breadcrumb,windowed-2-k8\n"
		    "  nidus bench paper cuckoo --quick --json cuckoo.json\n",
	.run = run,
};

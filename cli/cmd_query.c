/* SPDX-License-Identifier: MIT */
/* nidus query: which keys are in a set, or in which of several sets; the habits are grep's. */

#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "key_reader.h"
#include "out.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "set.h"
#include "sorted.h"

/* One set that is asked. */
struct asked {
	const char *name;
	nidus_filter *filter;
	uint64_t found[2]; /* keys that are not in the set, and keys that are */
	uint8_t yes[KEYS_BATCH];
	uint64_t hash[KEYS_BATCH];
};

struct query {
	bool absent; /* -v: the others */
	bool count;
	bool json;
	bool verify;
	bool values;     /* --values: lines end with a tab and a value, one for each */
	bool counts;     /* --counts: the same with the key's count */
	bool sorts;      /* --sort-batches, or a set is larger than memory */
	char *keys_from; /* -k: the operands are all sets, and lines begin with their names */
	struct key_form form;
	struct keys keys;
	struct asked *asked;
	size_t sets;
};

static int take_option(void *context, int id, const char *value)
{
	struct query *query = context;

	if (keys_take(&query->form, id))
		return ARGS_GO;
	switch (id) {
	case 'v':
		query->absent = true;
		break;
	case 'c':
		query->count = true;
		break;
	case OPTION_JSON:
		query->json = true;
		break;
	case OPTION_VERIFY:
		query->verify = true;
		break;
	case OPTION_VALUES:
		query->values = true;
		break;
	case OPTION_COUNTS:
		query->counts = true;
		break;
	case OPTION_SORT_BATCHES:
		query->sorts = true;
		break;
	case 'k':
		query->keys_from = (char *)value;
		break;
	}
	return ARGS_GO;
}

static void print_name(const struct query *query, const struct asked *asked)
{
	if (!query->keys_from)
		return;
	out_text(asked->name);
	out_byte(':');
}

static void print_line(const struct query *query, const struct asked *asked, const void *key,
                       size_t length, const uint64_t *value)
{
	print_name(query, asked);
	out_write(key, length);
	if (value)
		out_format("\t%" PRIu64, *value);
	out_byte(query->form.delimiter);
}

/* A line for each value of a key, or one with its count. */
static void print_values(const struct query *query, const struct asked *asked, size_t i)
{
	uint64_t values[SET_VALUES_MOST];
	size_t found = 1;

	if (query->counts)
		values[0] = nidus_get_count_hash(asked->filter, asked->hash[i]);
	else
		found = nidus_find_hash(asked->filter, asked->hash[i], values, SET_VALUES_MOST);
	for (size_t j = 0; j < found && j < SET_VALUES_MOST; j++)
		print_line(query, asked, query->keys.key[i], query->keys.length[i], &values[j]);
}

/* Key by key, so that what belongs together stands together. */
static void print_keys(const struct query *query, size_t n)
{
	uint8_t wanted = query->absent ? 0 : 1;

	for (size_t i = 0; i < n; i++) {
		for (size_t set = 0; set < query->sets; set++) {
			if (query->asked[set].yes[i] != wanted)
				continue;
			if (query->values || query->counts)
				print_values(query, &query->asked[set], i);
			else
				print_line(query, &query->asked[set], query->keys.key[i],
				           query->keys.length[i], NULL);
		}
	}
}

static void ask(const struct keys *keys, struct asked *asked, size_t n)
{
	keys_hash(keys, asked->filter, n, asked->hash);
	nidus_contains_batch(asked->filter, asked->hash, n, asked->yes);
	for (size_t i = 0; i < n; i++)
		asked->found[asked->yes[i]]++;
}

static bool prints_keys(const struct query *query)
{
	return !query->count && !query->json;
}

static int open_keys(struct query *query, const struct args *args)
{
	char **path = query->keys_from ? &query->keys_from : args->operand + 1;
	size_t paths = query->keys_from ? 1 : args->n - 1;
	int code = EXIT_OK;

	if (prints_keys(query))
		code = output_check_printed(&query_command, path, paths);
	return code == EXIT_OK ? keys_open(&query->keys, path, paths, query->form) : code;
}

static int look_up(struct query *query)
{
	struct keys *keys = &query->keys;
	bool print = prints_keys(query);
	size_t n;

	progress_start("looking up", keys->total);
	while (!out_failed() && (n = keys_read(keys)) > 0) {
		for (size_t set = 0; set < query->sets; set++)
			ask(keys, &query->asked[set], n);
		if (print)
			print_keys(query, n);
		progress_update(keys->count, keys->bytes);
	}
	progress_clear();
	return keys->failure;
}

/* ------------------------------------------------------------ --sort-batches -- */

#define PAUSE 200 /* milliseconds without keys after which those that came are answered */

static void print_sorted(const struct query *query, const struct sorted *sorted)
{
	uint8_t wanted = query->absent ? 0 : 1;
	size_t length;

	for (size_t i = 0; i < sorted->n; i++) {
		for (size_t set = 0; set < query->sets; set++) {
			const char *key;

			if (sorted->yes[set * sorted->most + i] != wanted)
				continue;
			key = sorted_key(sorted, i, &length);
			print_line(query, &query->asked[set], key, length, NULL);
		}
	}
}

/* Answers all keys that wait. */
static void answer_sorted(struct query *query, struct sorted *sorted)
{
	for (size_t set = 0; set < query->sets; set++) {
		struct asked *asked = &query->asked[set];
		uint64_t found = sorted_ask(sorted, set, asked->filter);

		asked->found[1] += found;
		asked->found[0] += sorted->n - found;
	}
	if (sorted->text)
		print_sorted(query, sorted);
	sorted_forget(sorted);
}

static int keep_keys(struct query *query, struct sorted *sorted, nidus_filter *const *filter)
{
	struct keys *keys = &query->keys;
	int code = EXIT_OK;
	size_t n;

	progress_start("looking up", keys->total);
	while (code == EXIT_OK && !out_failed() && (n = keys_read(keys)) > 0) {
		code = sorted_keep(sorted, keys, n, filter);
		if (code == EXIT_OK && (!sorted_has_room(sorted) || keys_pause(keys, PAUSE)))
			answer_sorted(query, sorted);
		progress_update(keys->count, keys->bytes);
	}
	if (code == EXIT_OK)
		answer_sorted(query, sorted);
	progress_clear();
	return code == EXIT_OK ? keys->failure : code;
}

static int look_up_sorted(struct query *query)
{
	struct sorted sorted = { 0 };
	nidus_filter **filter = calloc(query->sets, sizeof(*filter));
	int code = filter ? sorted_begin(&sorted, query->sets, prints_keys(query))
	                  : report_memory("the list of sets");

	for (size_t set = 0; code == EXIT_OK && set < query->sets; set++)
		filter[set] = query->asked[set].filter;
	if (code == EXIT_OK)
		code = keep_keys(query, &sorted, filter);
	sorted_end(&sorted);
	free(filter);
	return code;
}

/* ------------------------------------------------------------------- answers -- */

static void answer_one(const struct query *query, const struct asked *asked)
{
	if (query->json) {
		json_open(NULL, '{');
		if (query->keys_from)
			json_text("set", asked->name);
		json_count("present", asked->found[1]);
		json_count("absent", asked->found[0]);
		json_close('}');
	} else if (query->count) {
		print_name(query, asked);
		out_format("%" PRIu64 "\n", asked->found[query->absent ? 0 : 1]);
	}
	report_talk("%s: %" PRIu64 " keys: %" PRIu64 " present, %" PRIu64 " absent", asked->name,
	            query->keys.count, asked->found[1], asked->found[0]);
}

static int answer(const struct query *query)
{
	int code = EXIT_NOTHING;

	for (size_t set = 0; set < query->sets; set++) {
		answer_one(query, &query->asked[set]);
		if (query->asked[set].found[query->absent ? 0 : 1] > 0)
			code = EXIT_OK;
	}
	return code;
}

/* Whether a set has what is to be printed. */
static int check_values(const struct query *query, const struct asked *asked)
{
	nidus_info info = NIDUS_INFO_INIT;

	nidus_get_info(asked->filter, &info);
	if (info.value_bits > 0 || (!query->values && !query->counts))
		return EXIT_OK;
	report_error("%s keeps no values: nidus build --values and nidus count make sets that do",
	             asked->name);
	return EXIT_UNSUPPORTED;
}

static int open_sets(struct query *query, char **path)
{
	int code = EXIT_OK;

	query->asked = calloc(query->sets, sizeof(*query->asked));
	if (!query->asked)
		return report_memory("the list of sets");
	for (size_t set = 0; set < query->sets && code == EXIT_OK; set++) {
		struct asked *asked = &query->asked[set];

		asked->name = set_input_name(path[set]);
		code = query->verify ? set_open_verified(path[set], &asked->filter)
		                     : set_open(path[set], &asked->filter);
		if (code == EXIT_OK)
			code = check_values(query, asked);
		if (code == EXIT_OK && !query->values && !query->counts)
			query->sorts = query->sorts || sorted_is_worth_it(path[set]);
	}
	return code;
}

static void close_sets(struct query *query)
{
	for (size_t set = 0; query->asked && set < query->sets; set++)
		nidus_free(query->asked[set].filter);
	free(query->asked);
}

/* Which operands are sets and which are files of keys. ARGS_GO or an exit code. */
static int sort_operands(struct query *query, const struct args *args)
{
	if ((query->values || query->counts) &&
	    (query->absent || query->count || query->json || (query->values && query->counts)))
		return report_usage(query_command.name,
		                    "--values and --counts print lines: give one of them, and "
		                    "neither -v, -c nor --json");
	if ((query->values || query->counts) && query->sorts)
		return report_usage(query_command.name,
		                    "--sort-batches cannot be combined with --values or --counts");

	query->sets = query->keys_from ? args->n : 1;
	if (!query->keys_from || args->n == 0)
		return set_operand(&query_command, args, true);
	return set_operands(&query_command, args, strcmp(query->keys_from, "-") == 0);
}

static int run(int argc, char **argv)
{
	struct query query = { .form = KEY_FORM_LINES };
	struct args args;
	int code = args_parse(&query_command, argc, argv, take_option, &query, &args);

	if (code == ARGS_GO)
		code = sort_operands(&query, &args);
	if (code != ARGS_GO)
		return code;
	code = open_sets(&query, args.operand);
	if (code == EXIT_OK)
		code = open_keys(&query, &args);
	if (code == EXIT_OK)
		code = query.sorts ? look_up_sorted(&query) : look_up(&query);
	if (code == EXIT_OK)
		code = answer(&query);
	keys_close(&query.keys);
	close_sets(&query);
	return code;
}

static const struct option_spec options[] = {
	{ 'v', "invert", NULL, "print the keys that are not in the set" },
	{ 'c', "count", NULL, "print only how many there are" },
	{ OPTION_VALUES, "values", NULL,
	  "print the keys with a tab and their values, a line each" },
	{ OPTION_COUNTS, "counts", NULL,
	  "print the keys with a tab and their counts: nidus count" },
	{ OPTION_JSON, "json", NULL, "print both counts: {\"present\": N, \"absent\": N}" },
	{ OPTION_VERIFY, "verify", NULL, "read and check all of SET first" },
	{ 'k', "keys", "FILE",
	  "read the keys from FILE ('-': stdin), and query every SET that\n"
	  "follows: lines begin with the SET that may have the key" },
	{ OPTION_SORT_BATCHES, "sort-batches", NULL,
	  "look many keys up at a time, in the order of the table; for sets\n"
	  "that are larger than memory, where it is done by itself" },
	{ '0', "null", NULL, "keys end with a NUL byte instead of a newline, in and out" },
	{ KEYS_U64 },
	{ KEYS_CRLF },
	{ KEYS_PLAIN },
	{ 0, NULL, NULL, NULL },
};

const struct command query_command = {
	.name = "query",
	.synopsis = "[-v] [-c] [-0] [OPTION...] SET [FILE...] | -k FILE [OPTION...] SET...",
	.summary = "print the keys that are in a set",
	.about = "Reads keys, one per line, from the FILEs (or stdin, also for '-') and prints\n"
		 "those that are probably in SET: all that are, and a few of the others, at the\n"
		 "set's false-positive rate. What -v prints is certainly not in it. Exits with 0\n"
		 "if there was something to print or count, with 1 if not.\n"
		 "Answers come at once, however large SET is: only the parts they need are read.\n",
	.options = options,
	.examples = "  nidus query words.nidus letter.txt\n"
		    "  nidus query -v seen.nidus today.log > new.log\n"
		    "  seq 1 1000000 | nidus query -c numbers.nidus\n"
		    "  echo heron | nidus query -k - day-*.nidus\n"
		    "  nidus query --u64 ids.nidus ids.txt\n",
	.run = run,
};

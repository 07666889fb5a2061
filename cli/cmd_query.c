/* SPDX-License-Identifier: MIT */
/* nidus query: which keys are in a set; the habits are grep's. */

#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>

#include "json.h"
#include "key_reader.h"
#include "out.h"
#include "progress.h"
#include "report.h"
#include "set.h"

struct query {
	bool absent; /* -v: the others */
	bool count;
	bool json;
	bool verify;
	struct key_form form;
	struct keys keys;
	nidus_filter *filter;
	uint64_t found[2]; /* keys that are not in the set, and keys that are */
};

static int take_option(void *context, int id, const char *value)
{
	struct query *query = context;

	(void)value;
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
	}
	return ARGS_GO;
}

static void print_keys(const struct query *query, const uint8_t *yes, size_t n)
{
	uint8_t wanted = query->absent ? 0 : 1;

	for (size_t i = 0; i < n; i++) {
		if (yes[i] != wanted)
			continue;
		out_write(query->keys.key[i], query->keys.length[i]);
		out_byte(query->form.delimiter);
	}
	out_show();
}

static int look_up(struct query *query)
{
	struct keys *keys = &query->keys;
	bool print = !query->count && !query->json;
	uint64_t hash[KEYS_BATCH];
	uint8_t yes[KEYS_BATCH];
	size_t n;

	progress_start("looking up", keys->total);
	while (!out_failed() && (n = keys_read(keys)) > 0) {
		keys_hash(keys, query->filter, n, hash);
		nidus_contains_batch(query->filter, hash, n, yes);
		for (size_t i = 0; i < n; i++)
			query->found[yes[i]]++;
		if (print)
			print_keys(query, yes, n);
		progress_update(keys->count, keys->bytes);
	}
	progress_clear();
	return keys->failure;
}

static int answer(const struct query *query)
{
	uint64_t wanted = query->found[query->absent ? 0 : 1];

	if (query->json) {
		json_open(NULL, '{');
		json_count("present", query->found[1]);
		json_count("absent", query->found[0]);
		json_close('}');
	} else if (query->count) {
		out_format("%" PRIu64 "\n", wanted);
	}
	report_talk("%" PRIu64 " keys: %" PRIu64 " present, %" PRIu64 " absent", query->keys.count,
	            query->found[1], query->found[0]);
	return wanted > 0 ? EXIT_OK : EXIT_NOTHING;
}

static int run(int argc, char **argv)
{
	struct query query = { .form = KEY_FORM_LINES };
	struct args args;
	int code = args_parse(&query_command, argc, argv, take_option, &query, &args);

	if (code != ARGS_GO)
		return code;
	code = set_operand(&query_command, &args, true);
	if (code != ARGS_GO)
		return code;
	code = query.verify ? set_open_verified(args.operand[0], &query.filter)
	                    : set_open(args.operand[0], &query.filter);
	if (code == EXIT_OK)
		code = keys_open(&query.keys, args.operand + 1, args.n - 1, query.form);
	if (code == EXIT_OK)
		code = look_up(&query);
	if (code == EXIT_OK)
		code = answer(&query);
	keys_close(&query.keys);
	nidus_free(query.filter);
	return code;
}

static const struct option_spec options[] = {
	{ 'v', "invert", NULL, "print the keys that are not in the set" },
	{ 'c', "count", NULL, "print only how many there are" },
	{ OPTION_JSON, "json", NULL, "print both counts: {\"present\": N, \"absent\": N}" },
	{ OPTION_VERIFY, "verify", NULL, "read and check all of SET first" },
	{ '0', "null", NULL, "keys end with a NUL byte instead of a newline, in and out" },
	{ KEYS_U64 },
	{ 0, NULL, NULL, NULL },
};

const struct command query_command = {
	.name = "query",
	.synopsis = "[-v] [-c] [-0] [OPTION...] SET [FILE...]",
	.summary = "print the keys that are in a set",
	.about = "Reads keys, one per line, from the FILEs (or stdin, also for '-') and prints\n"
		 "those that are probably in SET: all that are, and of the others a few, at the\n"
		 "set's false-positive rate. What -v prints is certainly not in it. Exits with 0\n"
		 "if there was something to print or count, with 1 if there was nothing.\n"
		 "Answers come at once, however large SET is: only what they need is read of it.\n",
	.options = options,
	.examples = "  nidus query words.nidus letter.txt\n"
		    "  nidus query -v seen.nidus today.log > new.log\n"
		    "  seq 1 1000000 | nidus query -c numbers.nidus\n"
		    "  nidus query --u64 ids.nidus ids.txt\n",
	.run = run,
};

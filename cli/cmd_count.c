/* SPDX-License-Identifier: MIT */
/*
 * nidus count: how often the keys of a stream come, in a set that keeps a count beside each.
 *
 * The set begins small and grows with the keys, as that of nidus dedup.
 */

#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>

#include "json.h"
#include "kept.h"
#include "key_reader.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "room.h"
#include "set.h"
#include "shape.h"

static const struct kept_defaults defaults = { .fpr = 0.001, .value_bits = 16 };

struct count {
	nidus_options options; /* 0: not given */
	struct output output;
	struct key_form form;
	bool json;
	bool sums; /* lines are a key, a tab and how often it came */
	struct keys keys;
	nidus_filter *filter;
};

static int take_option(void *context, int id, const char *value)
{
	struct count *count = context;

	if (keys_take(&count->form, id))
		return ARGS_GO;
	if (id == OPTION_NO_WAIT)
		count->output.no_wait = true;
	else if (id == OPTION_JSON)
		count->json = true;
	else if (id == OPTION_SUMS)
		count->sums = true;
	else
		return shape_take(&count_command, &count->options, id, value);
	return ARGS_GO;
}

static int open_set(struct count *count, const struct args *args)
{
	struct args inputs = { args->operand + 1, args->n - 1 };
	int code;

	count->output.path = args->operand[0];
	code = kept_open(&count_command, &count->output, "SET", &inputs, &count->options,
	                 &count->filter);
	if (code != EXIT_OK)
		return code;
	if (!count->filter)
		return kept_create(&count_command, &count->options, &defaults, &count->filter);
	if (set_value_bits(count->filter) > 0)
		return EXIT_OK;
	report_error("%s: the set keeps no counts; nidus count makes another one that does",
	             count->output.path);
	return EXIT_UNSUPPORTED;
}

static int add_batch(struct count *count, size_t n)
{
	const struct keys *keys = &count->keys;
	uint64_t hash[KEYS_BATCH];
	nidus_status status;

	keys_hash(keys, count->filter, n, hash);
	status = nidus_add_count_batch(count->filter, hash, count->sums ? keys->value : NULL, n,
	                               NULL);
	if (status == NIDUS_OK && nidus_size(count->filter) <= room_in(count->filter))
		return EXIT_OK;
	if (status != NIDUS_OK && status != NIDUS_FULL && status != NIDUS_COPIES)
		return report_status(count_command.name, status);
	report_error(
		"%s: more than %" PRIu64
		" different keys have come; the set was not changed; begin one with a larger -n",
		count->output.path, room_in(count->filter));
	return EXIT_FULL;
}

static int count_all(struct count *count)
{
	struct keys *keys = &count->keys;
	int code = EXIT_OK;
	size_t n;

	progress_start("counting", keys->total);
	while (code == EXIT_OK && (n = keys_read(keys)) > 0) {
		code = add_batch(count, n);
		progress_update(keys->count, keys->bytes);
	}
	progress_clear();
	return code == EXIT_OK ? keys->failure : code;
}

static int finish(struct count *count)
{
	uint64_t different = nidus_size(count->filter);
	int code = output_save(count->filter, &count->output);

	if (code != EXIT_OK)
		return code;
	if (count->json) {
		json_open(NULL, '{');
		json_count("counted", count->keys.count);
		json_count("distinct", different);
		json_close('}');
	}
	report_talk("%" PRIu64 " keys counted, %" PRIu64 " different ones in the set",
	            count->keys.count, different);
	return EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct count count = { .options = NIDUS_OPTIONS_INIT, .form = KEY_FORM_LINES };
	struct args args;
	int code = args_parse(&count_command, argc, argv, take_option, &count, &args);

	if (code == ARGS_GO)
		code = set_operand(&count_command, &args, true);
	if (code != ARGS_GO)
		return code;
	if (count.sums)
		count.form.value_bits = KEYS_ANY_VALUE;
	code = open_set(&count, &args);
	if (code == EXIT_OK)
		code = keys_open(&count.keys, args.operand + 1, args.n - 1, count.form);
	if (code == EXIT_OK)
		code = count_all(&count);
	if (code == EXIT_OK)
		code = finish(&count);
	output_release(&count.output);
	keys_close(&count.keys);
	nidus_free(count.filter);
	return code;
}

static const struct option_spec options[] = {
	{ 'n', "capacity", "N",
	  "different keys at most (default: any number); memory grows\n"
	  "with them" },
	{ 'p', "fpr", "FPR", "how often a key shares its count with others (default 0.001)" },
	{ OPTION_VALUES, "values", "BITS",
	  "count up to 2^BITS - 1, which means \"so often or more\"\n(default 16, at most 32)" },
	{ SHAPE_FAMILY },
	{ OPTION_SEED, "seed", "S", "key the hashing of a new set with S (default: random)" },
	{ OPTION_SUMS, "sums", NULL, "lines are a key, a tab, and how often it came" },
	{ OPTION_JSON, "json", NULL,
	  "print {\"counted\": N, \"distinct\": N}: the keys that came now,\n"
	  "and the different ones in the set" },
	{ KEYS_NULL },
	{ KEYS_U64 },
	{ KEYS_CRLF },
	{ KEYS_PLAIN },
	{ OUTPUT_NO_WAIT },
	{ 0, NULL, NULL, NULL },
};

const struct command count_command = {
	.name = "count",
	.synopsis = "[-n N] [-p FPR] [--values BITS] [OPTION...] SET [FILE...]",
	.summary = "count how often keys occur",
	.about = "Reads keys, one per line, from the FILEs (or stdin, also for '-') and adds one\n"
		 "to the count of each in SET, which is made if it is not there. It is\n"
		 "sort | uniq -c in a few bytes per different key. 'nidus query --counts SET'\n"
		 "prints the counts of keys. A count is never too low. For about FPR of the keys\n"
		 "it is too high, because they share it with others.\n",
	.options = options,
	.examples =
		"  nidus count urls.nidus access.log\n"
		"  cut -f1 access.log | nidus count -n 10M clients.nidus\n"
		"  sort -u clients.txt | nidus query --counts clients.nidus | sort -t$'\\t' -k2nr\n",
	.run = run,
};

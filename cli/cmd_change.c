/* SPDX-License-Identifier: MIT */
/*
 * nidus add and nidus remove: the keys of a set, changed.
 *
 * Both work on a copy in memory and write it only when all went well, so the
 * file is at any moment the old set or the new one. It is locked meanwhile.
 */

#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>

#include "json.h"
#include "key_reader.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "room.h"
#include "set.h"

struct change {
	const struct command *command;
	nidus_status (*apply)(nidus_filter *filter, uint64_t hash);
	nidus_status (*apply_value)(nidus_filter *filter, uint64_t hash, uint64_t value);
	nidus_status skipped; /* the answer that means: this key changed nothing */
	const char *set;
	struct output output;
	bool json;
	bool strict;
	bool bounded; /* stop at what is promised to fit */
	struct key_form form;
	struct keys keys;
	nidus_filter *filter;
	uint64_t room; /* new keys that fit */
	uint64_t changed;
	uint64_t unchanged;
};

static int take_option(void *context, int id, const char *value)
{
	struct change *change = context;

	if (output_take(&change->output, id, value) || keys_take(&change->form, id))
		return ARGS_GO;
	switch (id) {
	case OPTION_MULTISET:
		change->apply = nidus_insert_hash;
		change->apply_value = nidus_insert_value_hash;
		break;
	case OPTION_OVERFILL:
		change->bounded = false;
		break;
	case OPTION_STRICT:
		change->strict = true;
		break;
	case OPTION_JSON:
		change->json = true;
		break;
	}
	return ARGS_GO;
}

static int refused(const struct change *change, nidus_status status)
{
	const char *name = set_input_name(change->set);

	if (status == NIDUS_FULL && change->changed == 0)
		report_error("%s: the set is complete and takes no more keys; make room with nidus "
		             "grow --relax -n N, or rebuild it with -n or --grow",
		             name);
	else if (status == NIDUS_FULL)
		report_error("%s: the set has room for %" PRIu64 " more keys and not for all of "
		             "these; nothing was written; make room with nidus grow --relax -n N, "
		             "or build a larger one",
		             name, change->changed);
	else if (status == NIDUS_COPIES)
		report_error("%s: no more copies of one key can be counted after %" PRIu64
		             " keys; nothing was written",
		             name, change->changed);
	else
		return report_status(name, status);
	return EXIT_FULL;
}

/* Pairs of key and value that are equal in both are stored once. */
static nidus_status insert_new_value(nidus_filter *filter, uint64_t hash, uint64_t value)
{
	uint64_t values[SET_VALUES_MOST];
	size_t found = nidus_find_hash(filter, hash, values, SET_VALUES_MOST);

	for (size_t i = 0; i < found && i < SET_VALUES_MOST; i++) {
		if (values[i] == value)
			return NIDUS_PRESENT;
	}
	return nidus_insert_value_hash(filter, hash, value);
}

static nidus_status apply_one(struct change *change, uint64_t hash, uint64_t value)
{
	return change->form.value_bits > 0 ? change->apply_value(change->filter, hash, value)
	                                   : change->apply(change->filter, hash);
}

static nidus_status apply_batch(struct change *change, const uint64_t *hash, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		nidus_status status = apply_one(change, hash[i], change->keys.value[i]);

		if (status == NIDUS_OK && change->changed == change->room)
			return NIDUS_FULL;
		if (status == NIDUS_OK)
			change->changed++;
		else if (status == change->skipped)
			change->unchanged++;
		else
			return status;
	}
	return NIDUS_OK;
}

static int apply_keys(struct change *change)
{
	struct keys *keys = &change->keys;
	uint64_t hash[KEYS_BATCH];
	size_t n;

	progress_start(change->command->name, keys->total);
	while ((n = keys_read(keys)) > 0) {
		nidus_status status;

		keys_hash(keys, change->filter, n, hash);
		status = apply_batch(change, hash, n);
		if (status != NIDUS_OK)
			return refused(change, status);
		progress_update(keys->count, keys->bytes);
	}
	progress_clear();
	return keys->failure;
}

static int choose_output(struct change *change, const struct args *args)
{
	struct output *output = &change->output;
	int code = EXIT_OK;

	output_default(output, change->set);
	if (change->json)
		code = output_check_json(change->command, output);
	if (code == EXIT_OK)
		code = output_check_set(change->command, output, change->set);
	if (code == EXIT_OK)
		code = output_check_inputs(change->command, output, args->operand + 1, args->n - 1);
	return code == EXIT_OK ? output_prepare(change->command, output) : code;
}

static int work(struct change *change, struct args *args)
{
	int code;

	change->set = args->operand[0];
	code = choose_output(change, args);
	if (code == EXIT_OK)
		code = set_load(change->set, &change->filter);
	if (code != EXIT_OK)
		return code;
	change->room = change->bounded ? room_left(change->filter) : UINT64_MAX;
	change->form.value_bits = set_value_bits(change->filter);
	code = keys_open(&change->keys, args->operand + 1, args->n - 1, change->form);
	return code == EXIT_OK ? apply_keys(change) : code;
}

/* A set that did not change stays as it is, date and all. */
static int save(struct change *change)
{
	if (change->changed == 0 && change->output.in_place)
		return EXIT_OK;
	return output_save(change->filter, &change->output);
}

static void print_json(const struct change *change, const char *changed, const char *unchanged)
{
	json_open(NULL, '{');
	json_count(changed, change->changed);
	json_count(unchanged, change->unchanged);
	json_close('}');
}

static int finish_add(struct change *change)
{
	int code = save(change);

	if (code != EXIT_OK)
		return code;
	room_warn(set_input_name(change->set), change->filter);
	if (change->json)
		print_json(change, "added", "present");
	report_talk("%s: %" PRIu64 " keys added, %" PRIu64 " were already present",
	            set_input_name(change->set), change->changed, change->unchanged);
	return EXIT_OK;
}

static int finish_remove(struct change *change)
{
	const char *name = set_input_name(change->set);
	int code;

	if (change->strict && change->unchanged > 0) {
		report_error("%s: %" PRIu64 " of %" PRIu64
		             " keys are not in it; nothing was written",
		             name, change->unchanged, change->keys.count);
		return EXIT_NOTHING;
	}
	code = save(change);
	if (code != EXIT_OK)
		return code;
	if (change->json)
		print_json(change, "removed", "missing");
	report_talk("%s: %" PRIu64 " keys removed", name, change->changed);
	if (change->unchanged == 0)
		return EXIT_OK;
	report_warning("%s: %" PRIu64 " of %" PRIu64 " keys were not in it", name,
	               change->unchanged, change->keys.count);
	return EXIT_NOTHING;
}

static int run_change(struct change *change, int argc, char **argv,
                      int (*finish)(struct change *change))
{
	struct args args;
	int code = args_parse(change->command, argc, argv, take_option, change, &args);

	if (code == ARGS_GO)
		code = set_operand(change->command, &args, true);
	if (code != ARGS_GO)
		return code;
	code = work(change, &args);
	if (code == EXIT_OK)
		code = finish(change);
	output_release(&change->output);
	keys_close(&change->keys);
	nidus_free(change->filter);
	return code;
}

static int run_add(int argc, char **argv)
{
	struct change change = { .command = &add_command,
		                 .apply = nidus_insert_new_hash,
		                 .apply_value = insert_new_value,
		                 .skipped = NIDUS_PRESENT,
		                 .bounded = true,
		                 .form = KEY_FORM_LINES };

	return run_change(&change, argc, argv, finish_add);
}

static int run_remove(int argc, char **argv)
{
	struct change change = { .command = &remove_command,
		                 .apply = nidus_remove_hash,
		                 .apply_value = nidus_remove_value_hash,
		                 .skipped = NIDUS_NOT_FOUND,
		                 .form = KEY_FORM_LINES };

	return run_change(&change, argc, argv, finish_remove);
}

static const struct option_spec add_options[] = {
	{ OUTPUT_CHANGED },
	{ KEYS_NULL },
	{ KEYS_U64 },
	{ KEYS_CRLF },
	{ KEYS_PLAIN },
	{ OPTION_MULTISET, "multiset", NULL, "store every key, even if it is already present" },
	{ OPTION_OVERFILL, "overfill", NULL,
	  "go on beyond the capacity as long as there is room: the\n"
	  "rate rises, and how many keys fit depends on the seed" },
	{ OPTION_JSON, "json", NULL, "print {\"added\": N, \"present\": N}" },
	{ OUTPUT_FORCE },
	{ OUTPUT_NO_WAIT },
	{ 0, NULL, NULL, NULL },
};

static const struct option_spec remove_options[] = {
	{ OUTPUT_CHANGED },
	{ KEYS_NULL },
	{ KEYS_U64 },
	{ KEYS_CRLF },
	{ KEYS_PLAIN },
	{ OPTION_STRICT, "strict", NULL, "change nothing if any of the keys is not in the set" },
	{ OPTION_JSON, "json", NULL, "print {\"removed\": N, \"missing\": N}" },
	{ OUTPUT_FORCE },
	{ OUTPUT_NO_WAIT },
	{ 0, NULL, NULL, NULL },
};

const struct command add_command = {
	.name = "add",
	.synopsis = "[-o OUT] [-0] [--multiset] [OPTION...] SET [FILE...]",
	.summary = "put more keys into a set",
	.about =
		"Reads keys, one per line, from the FILEs (or stdin, also for '-') and puts\n"
		"them into SET. The file is replaced when all of them are in; if they are more\n"
		"than SET was made for, it stays as it was and the exit code is 4. nidus info tells\n"
		"how many fit: none into a set that was built without -n and --grow, which is\n"
		"complete. nidus grow --relax makes room in it.\n"
		"\n"
		"A key for which the set already answers yes is not stored again. That answer\n"
		"may be a false positive: the key then shares another key's entry, and\n"
		"removing either of them removes both. If you will remove keys later, add them\n"
		"with --multiset, each key once.\n"
		"\n"
		"For a set that keeps values, lines are a key, a tab and its value.\n",
	.options = add_options,
	.examples = "  nidus add seen.nidus today.txt\n"
		    "  nidus add -o larger.nidus base.nidus more.txt\n",
	.run = run_add,
};

const struct command remove_command = {
	.name = "remove",
	.synopsis = "[-o OUT] [-0] [--strict] [OPTION...] SET [FILE...]",
	.summary = "take keys out of a set: only keys that were stored",
	.about = "Reads keys, one per line, from the FILEs (or stdin, also for '-') and takes\n"
		 "one copy of each out of SET. Keys that are not in it are counted on stderr and\n"
		 "make the exit code 1; the others are removed all the same, unless --strict is\n"
		 "given.\n"
		 "\n"
		 "Remove only keys that were stored. Removing one that never was may, at the\n"
		 "false-positive rate, remove the entry of another key, which is then no\n"
		 "longer found. A key that nidus add found already present was not stored.\n"
		 "\n"
		 "For a set that keeps values, lines are a key, a tab and its value, as\n"
		 "nidus query --values prints them.\n",
	.options = remove_options,
	.examples = "  nidus remove seen.nidus expired.txt\n"
		    "  nidus remove --strict -o smaller.nidus seen.nidus expired.txt\n",
	.run = run_remove,
};

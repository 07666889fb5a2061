/* SPDX-License-Identifier: MIT */
/* nidus info, verify and dump: what is in a set file. */

#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>

#include "features.h"
#include "inspect.h"
#include "json.h"
#include "number.h"
#include "out.h"
#include "report.h"
#include "room.h"
#include "set.h"

static int take_option(void *context, int id, const char *value)
{
	bool *json = context;

	(void)value;
	if (id == OPTION_JSON)
		*json = true;
	return ARGS_GO;
}

/* What is done with one of several SETs. EXIT_OK, or an exit code after a message. */
typedef int (*set_visitor)(const char *path, bool json, bool several);

/* All SETs get their turn; the first bad one decides the exit code. */
static int visit_operands(const struct command *command, int argc, char **argv, set_visitor visit)
{
	struct args args;
	bool json = false;
	int worst = EXIT_OK;
	int code = args_parse(command, argc, argv, take_option, &json, &args);

	if (code != ARGS_GO)
		return code;
	if (args.n == 0)
		return report_usage(command->name, "which SET?");
	code = set_operands(command, &args, false);
	if (code != ARGS_GO)
		return code;
	for (size_t i = 0; i < args.n; i++) {
		code = visit(args.operand[i], json, args.n > 1);
		if (worst == EXIT_OK)
			worst = code;
	}
	return worst;
}

/* ------------------------------------------------------------------ info -- */

static void row_text(const char *name, const char *text)
{
	out_format("%-17s %s\n", name, text);
}

static void row_count(const char *name, uint64_t number)
{
	out_format("%-17s %" PRIu64 "\n", name, number);
}

static void row_percent(const char *name, double share)
{
	out_format("%-17s %.2f %%\n", name, share * 100);
}

static void row_rate(const char *name, double rate)
{
	if (rate > 0)
		out_format("%-17s %.3g (1 in %.0f)\n", name, rate, 1 / rate);
	else
		out_format("%-17s 0\n", name);
}

static void row_bytes(const char *name, uint64_t bytes)
{
	char size[NUMBER_TEXT];

	number_text_bytes(bytes, size);
	if (bytes < 1024)
		row_text(name, size);
	else
		out_format("%-17s %s (%" PRIu64 " bytes)\n", name, size, bytes);
}

/* How many more keys are promised to fit, which headroom does not tell. */
static void row_room(const nidus_info *info)
{
	uint64_t room = room_of(info);

	if (info->features & NIDUS_STATIC)
		row_text("room for", "no more keys: a static set never changes");
	else if (room == NIDUS_UNLIMITED)
		row_text("room for", "any number of keys");
	else if (info->count < room)
		out_format("%-17s %" PRIu64 " more keys\n", "room for", room - info->count);
	else if (!(info->features & NIDUS_ENUMERATE))
		row_text("room for", "no more keys at this rate; more raise it");
	else
		row_text("room for",
		         "no more keys: the set is complete; nidus grow --relax makes room");
}

/* How many keys each slice of a set that forgets has, the youngest first. */
static void row_slices(const nidus_filter *filter, unsigned slices)
{
	out_format("%-17s %u:", "slices", slices);
	for (unsigned age = 0; age < slices; age++)
		out_format(" %" PRIu64, nidus_slice_count(filter, age));
	out_byte('\n');
}

static void print_info(const nidus_filter *filter, const nidus_info *info)
{
	char features[128];

	feature_names(info->features, features, sizeof(features));
	row_text("family", nidus_family_name(info->family));
	row_text("features", features);
	row_count("count", info->count);
	row_count("capacity", info->capacity);
	if (info->max_capacity == NIDUS_UNLIMITED)
		row_text("max capacity", "unlimited");
	else
		row_count("max capacity", info->max_capacity);
	row_room(info);
	row_bytes("size", info->bytes);
	out_format("%-17s %.3f\n", "bits per key", info->bits_per_key);
	row_rate("fpr target", info->fpr_target);
	row_rate("fpr now", info->fpr_now);
	if (info->judged > 0)
		row_text("exact", "on the keys and the excluded ones; fpr is that of others");
	row_percent("load", info->load);
	row_percent("headroom", info->headroom);
	row_count("slots per bucket", info->slots);
	row_count("slots in all", info->total_slots);
	row_count("slot bits", info->slot_bits);
	row_count("fingerprint bits", info->fingerprint_bits);
	row_count("growth bits", info->growth_bits);
	if (info->value_bits > 0)
		row_count("value bits", info->value_bits);
	if (info->slices > 0)
		row_slices(filter, info->slices);
	row_count("chunks", info->chunks);
	row_count("stashed", info->stashed);
	out_format("%-17s 0x%016" PRIx64 "\n", "seed", info->seed);
}

#define LINE_LABELS "%-13s  %12s  %12s  %9s  %8s  %9s  %8s  %s\n"
#define LINE_VALUES "%-13s  %12" PRIu64 "  %12" PRIu64 "  %9s  %8.3f  %9.3g  %6.2f %%  %s\n"

/* One of several sets on a line, below what the columns are. */
static void print_line(const char *name, const nidus_info *info)
{
	static bool headed;
	char size[NUMBER_TEXT];

	if (!headed)
		out_format(LINE_LABELS, "family", "count", "capacity", "size", "bits/key",
		           "fpr now", "load", "set");
	headed = true;
	number_text_bytes(info->bytes, size);
	out_format(LINE_VALUES, nidus_family_name(info->family), info->count, info->capacity, size,
	           info->bits_per_key, info->fpr_now, info->load * 100, name);
}

static void print_info_json(const char *name, const nidus_info *info)
{
	json_open(NULL, '{');
	json_text("set", name);
	json_text("family", nidus_family_name(info->family));
	json_features("features", info->features);
	json_count("count", info->count);
	json_count("capacity", info->capacity);
	if (info->max_capacity == NIDUS_UNLIMITED) {
		json_null("max_capacity");
		json_null("room");
	} else {
		json_count("max_capacity", info->max_capacity);
		json_count("room", info->count < room_of(info) ? room_of(info) - info->count : 0);
	}
	json_count("bytes", info->bytes);
	json_real("bits_per_key", info->bits_per_key);
	json_real("fpr_target", info->fpr_target);
	json_real("fpr_now", info->fpr_now);
	json_real("load", info->load);
	json_real("headroom", info->headroom);
	json_count("slots", info->slots);
	json_count("total_slots", info->total_slots);
	json_count("slot_bits", info->slot_bits);
	json_count("fingerprint_bits", info->fingerprint_bits);
	json_count("growth_bits", info->growth_bits);
	json_count("value_bits", info->value_bits);
	json_count("chunks", info->chunks);
	json_count("stashed", info->stashed);
	json_count("judged", info->judged);
	json_bool("readonly", info->readonly);
	json_bits("seed", info->seed);
}

void inspect_json_begin(const char *name, const nidus_filter *filter)
{
	nidus_info info = NIDUS_INFO_INIT;

	nidus_get_info(filter, &info);
	print_info_json(name, &info);
	if (info.slices == 0)
		return;
	json_open("slices", '[');
	for (unsigned age = 0; age < info.slices; age++)
		json_count(NULL, nidus_slice_count(filter, age));
	json_close(']');
}

void inspect_json(const char *name, const nidus_filter *filter)
{
	inspect_json_begin(name, filter);
	json_close('}');
}

static int show_info(const char *path, bool json, bool several)
{
	const char *name = set_input_name(path);
	nidus_info info = NIDUS_INFO_INIT;
	nidus_filter *filter;
	int code = set_open(path, &filter);

	if (code != EXIT_OK)
		return code;
	nidus_get_info(filter, &info);
	if (json)
		inspect_json(name, filter);
	else if (several)
		print_line(name, &info);
	else
		print_info(filter, &info);
	nidus_free(filter);
	return EXIT_OK;
}

static int run_info(int argc, char **argv)
{
	return visit_operands(&info_command, argc, argv, show_info);
}

/* ---------------------------------------------------------------- verify -- */

/* Loading checks the file; nidus_verify then checks what was made of it. */
static int verify(const char *path)
{
	nidus_filter *filter;
	const char *why = "";
	nidus_status status;
	int code = set_load(path, &filter);

	if (code != EXIT_OK)
		return code;
	status = nidus_verify(filter, &why);
	if (status != NIDUS_OK)
		code = report_status(set_input_name(path), status);
	nidus_free(filter);
	return code;
}

static int show_verdict(const char *path, bool json, bool several)
{
	const char *name = set_input_name(path);
	int code = verify(path);

	if (json) {
		json_open(NULL, '{');
		json_text("set", name);
		json_bool("ok", code == EXIT_OK);
		json_close('}');
	} else if (code == EXIT_OK && several) {
		out_format("%s: ok\n", name);
	} else if (code == EXIT_OK) {
		out_text("ok\n");
	}
	return code;
}

static int run_verify(int argc, char **argv)
{
	return visit_operands(&verify_command, argc, argv, show_verdict);
}

/* ------------------------------------------------------------------ dump -- */

static void print_entry(const nidus_entry *entry, bool values, bool json)
{
	if (!json) {
		out_format("%" PRIu64 " %" PRIu64, entry->home, entry->fingerprint);
		if (values)
			out_format(" %" PRIu64, entry->value);
		out_byte('\n');
		return;
	}
	json_open(NULL, '{');
	json_count("home", entry->home);
	json_count("fingerprint", entry->fingerprint);
	if (values)
		json_count("value", entry->value);
	json_close('}');
}

static int dump(const nidus_filter *filter, const char *name, bool json)
{
	nidus_info info = NIDUS_INFO_INIT;
	nidus_cursor cursor = { 0 };
	nidus_entry entry;

	nidus_get_info(filter, &info);
	if (!(info.features & NIDUS_ENUMERATE)) {
		report_error("%s: the entries of a %s filter cannot be listed", name,
		             nidus_family_name(info.family));
		return EXIT_UNSUPPORTED;
	}
	while (!out_failed() && nidus_next(filter, &cursor, &entry))
		print_entry(&entry, info.value_bits > 0, json);
	return EXIT_OK;
}

static int run_dump(int argc, char **argv)
{
	nidus_filter *filter;
	struct args args;
	bool json = false;
	int code = args_parse(&dump_command, argc, argv, take_option, &json, &args);

	if (code == ARGS_GO)
		code = set_operand(&dump_command, &args, false);
	if (code != ARGS_GO)
		return code;
	code = set_open(args.operand[0], &filter);
	if (code != EXIT_OK)
		return code;
	code = dump(filter, set_input_name(args.operand[0]), json);
	nidus_free(filter);
	return code;
}

/* -------------------------------------------------------------- commands -- */

static const struct option_spec info_options[] = {
	{ OPTION_JSON, "json", NULL, "print one JSON object per SET" },
	{ 0, NULL, NULL, NULL },
};

static const struct option_spec verify_options[] = {
	{ OPTION_JSON, "json", NULL,
	  "print one JSON object per SET: {\"set\": NAME, \"ok\": true}" },
	{ 0, NULL, NULL, NULL },
};

static const struct option_spec dump_options[] = {
	{ OPTION_JSON, "json", NULL, "print one JSON object per line" },
	{ 0, NULL, NULL, NULL },
};

const struct command info_command = {
	.name = "info",
	.synopsis = "[--json] SET...",
	.summary = "show what a set is and how full it is",
	.about = "Prints the family, size, load and false-positive rate of SET and how it is\n"
		 "laid out. Several SETs get a line each.\n",
	.options = info_options,
	.examples = "  nidus info words.nidus\n"
		    "  nidus info *.nidus\n"
		    "  nidus info --json words.nidus | jq .bits_per_key\n",
	.run = run_info,
};

const struct command verify_command = {
	.name = "verify",
	.synopsis = "[--json] SET...",
	.summary = "check that a set file is whole",
	.about = "Checks the header, the sizes, the checksums and every entry of each SET and\n"
		 "prints 'ok'. Says what is wrong and exits with 3 otherwise.\n",
	.options = verify_options,
	.examples = "  nidus verify words.nidus\n",
	.run = run_verify,
};

const struct command dump_command = {
	.name = "dump",
	.synopsis = "[--json] SET",
	.summary = "list the entries of a set",
	.about = "Prints one line 'home fingerprint' for each entry of SET: all that a set knows\n"
		 "of a key. The keys themselves are not in it.\n",
	.options = dump_options,
	.examples = "  nidus dump words.nidus | sort -n | head\n",
	.run = run_dump,
};

/* SPDX-License-Identifier: MIT */
/*
 * nidus plan: what each family would need for a set, before there is one.
 *
 * A plan that is saved is an empty set that can grow: a few hundred bytes that settle family,
 * seed, fingerprints and base geometry of all sets that are built like it.
 */

#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "features.h"
#include "inspect.h"
#include "json.h"
#include "number.h"
#include "out.h"
#include "output.h"
#include "report.h"
#include "room.h"
#include "shape.h"

struct plan {
	nidus_options options;
	struct output output; /* with --save */
	bool json;
	nidus_plan_row *row;
	size_t rows;
};

static int take_option(void *context, int id, const char *value)
{
	struct plan *plan = context;
	int code = shape_take(&plan_command, &plan->options, id, value);

	if (code != SHAPE_OTHER || output_take(&plan->output, id, value))
		return code != SHAPE_OTHER ? code : ARGS_GO;
	if (id == OPTION_SAVE)
		plan->output.path = value;
	if (id == OPTION_JSON)
		plan->json = true;
	return ARGS_GO;
}

/* The library says how many rows there are; the second call fills them. */
static int fill(struct plan *plan)
{
	nidus_status status = nidus_plan(&plan->options, NULL, 0, &plan->rows);

	if (status == NIDUS_OK || status == NIDUS_E_BUFFER) {
		plan->row = calloc(plan->rows, sizeof(*plan->row));
		if (!plan->row)
			return report_memory("planning");
		status = nidus_plan(&plan->options, plan->row, plan->rows, &plan->rows);
	}
	return status == NIDUS_OK ? EXIT_OK : shape_refused(&plan_command, status);
}

static void print_row(const nidus_plan_row *row)
{
	char letters[FEATURES + 1], size[NUMBER_TEXT];

	if (row->status != NIDUS_OK) {
		out_format("  %-13s  %s\n", nidus_family_name(row->family),
		           *row->why_not ? row->why_not : nidus_status_text(row->status));
		return;
	}
	feature_letters(row->features, letters);
	number_text_bytes(row->bytes, size);
	out_format("%c %-13s  %8.2f  %9s  %8.3f  %9.3g  %5.2f  %-7s  %s\n", row->chosen ? '*' : ' ',
	           nidus_family_name(row->family), row->bits_per_key, size, row->overhead, row->fpr,
	           row->lines_per_lookup, nidus_speed_name(row->speed), letters);
}

static void print_choice(const struct plan *plan, const nidus_plan_row *row)
{
	uint64_t most = plan->options.max_capacity;
	char growing[NUMBER_TEXT];

	out_format("%s is taken: %s\n", nidus_family_name(row->family), row->why);
	if (most <= row->capacity)
		return;
	number_text_bytes(row->bytes_growing, growing);
	if (most == NIDUS_UNLIMITED) {
		out_format("it grows to any size; with 2^24 keys it takes about %s\n", growing);
		return;
	}
	out_format("growing to %" PRIu64 " keys it takes up to %s\n", most, growing);
}

static void print_table(const struct plan *plan)
{
	out_format("  %-13s  %8s  %9s  %8s  %9s  %5s  %-7s  %s\n", "family", "bits/key", "size",
	           "overhead", "fpr", "lines", "speed", "features");
	for (size_t i = 0; i < plan->rows; i++)
		print_row(&plan->row[i]);
	for (size_t i = 0; i < plan->rows; i++) {
		if (plan->row[i].chosen)
			print_choice(plan, &plan->row[i]);
	}
	report_talk(
		"* is taken by default; overhead is against log2(1/fpr); lines are cache lines "
		"per lookup; speed: slow, medium, fast, fastest; features: D delete, E enumerate, M merge, "
		"G grow, C concurrent, K copies");
}

static void print_row_json(const nidus_plan_row *row)
{
	json_open(NULL, '{');
	json_text("family", nidus_family_name(row->family));
	json_bool("chosen", row->chosen);
	json_text("status", nidus_status_name(row->status));
	if (row->status != NIDUS_OK)
		json_text("why_not", row->why_not);
	if (row->chosen)
		json_text("why", row->why);
	json_features("features", row->features);
	json_text("speed", nidus_speed_name(row->speed));
	if (row->status == NIDUS_OK) {
		json_count("capacity", row->capacity);
		json_count("bytes", row->bytes);
		json_real("bits_per_key", row->bits_per_key);
		json_real("overhead", row->overhead);
		json_real("fpr", row->fpr);
		json_real("load", row->load);
		json_real("lines_per_lookup", row->lines_per_lookup);
		json_count("slots", row->slots);
		json_count("fingerprint_bits", row->fingerprint_bits);
		json_count("copies", row->copies);
		json_count("pace", row->pace);
		json_count("bytes_growing", row->bytes_growing);
	}
	json_close('}');
}

static void print_json(const struct plan *plan)
{
	json_open(NULL, '[');
	for (size_t i = 0; i < plan->rows; i++)
		print_row_json(&plan->row[i]);
	json_close(']');
}

/* Good if the family that was asked for (or, by default, any) can do it. */
static int verdict(const struct plan *plan)
{
	nidus_family asked = plan->options.family;
	int code = EXIT_UNSUPPORTED;

	for (size_t i = 0; i < plan->rows; i++) {
		const nidus_plan_row *row = &plan->row[i];

		if (asked != NIDUS_AUTO && row->family != asked)
			continue;
		code = report_code(row->status);
		if (code == EXIT_OK)
			return code;
	}
	report_error("%s do this; the rows say why",
	             asked == NIDUS_AUTO ? "no family can" : "the family cannot");
	return code;
}

/* ---------------------------------------------------------------------- --save -- */

/*
 * The empty set that sets are built like: as small as can be and growing to all keys, but for
 * families that merge and do not grow, whose sets are all as large as the merged one.
 */
static int make_empty(const struct plan *plan, nidus_filter **empty)
{
	nidus_options options = plan->options;
	bool grows =
		options.family == NIDUS_AUTO || nidus_family_features(options.family) & NIDUS_GROW;
	nidus_status status;

	options.features |= NIDUS_MERGE;
	if (grows) {
		options.features |= NIDUS_GROW;
		options.max_capacity = options.max_capacity > options.capacity
		                               ? options.max_capacity
		                               : options.capacity;
		options.capacity = 1;
	}
	status = nidus_create(&options, empty);
	return status == NIDUS_OK ? EXIT_OK : shape_refused(&plan_command, status);
}

static void tell_saved(const struct plan *plan, const nidus_filter *empty)
{
	nidus_info info = NIDUS_INFO_INIT;

	nidus_get_info(empty, &info);
	if (info.max_capacity == NIDUS_UNLIMITED) {
		report_talk("%s: %s, fpr %.3g; build sets with --like %s, in any size, and merge "
		            "them",
		            plan->output.path, nidus_family_name(info.family), info.fpr_target,
		            plan->output.path);
		return;
	}
	report_talk("%s: %s, fpr %.3g for %" PRIu64 " keys of all sets together; build each with "
	            "--like %s, in any size, and merge them",
	            plan->output.path, nidus_family_name(info.family), info.fpr_target,
	            room_of(&info), plan->output.path);
}

static int save(struct plan *plan)
{
	nidus_filter *empty = NULL;
	int code = plan->json ? output_check_json(&plan_command, &plan->output) : EXIT_OK;

	if (code == EXIT_OK)
		code = output_prepare(&plan_command, &plan->output);
	if (code == EXIT_OK)
		code = make_empty(plan, &empty);
	if (code == EXIT_OK)
		code = output_save(empty, &plan->output);
	if (code == EXIT_OK && plan->json)
		inspect_json(plan->output.path, empty);
	if (code == EXIT_OK)
		tell_saved(plan, empty);
	output_release(&plan->output);
	nidus_free(empty);
	return code;
}

/* ------------------------------------------------------------------ everything -- */

static int run(int argc, char **argv)
{
	struct plan plan = { .options = NIDUS_OPTIONS_INIT };
	struct args args;
	int code = args_parse(&plan_command, argc, argv, take_option, &plan, &args);

	if (code != ARGS_GO)
		return code;
	if (plan.options.capacity == 0)
		return report_usage(plan_command.name, "-n is needed: for how many keys?");
	if (args.n > 0)
		return report_usage(plan_command.name, "unexpected operand '%s'", args.operand[0]);
	code = shape_check(&plan_command, &plan.options);
	if (code != ARGS_GO)
		return code;
	if (plan.output.path)
		return save(&plan);
	code = fill(&plan);
	if (code == EXIT_OK) {
		if (plan.json)
			print_json(&plan);
		else
			print_table(&plan);
		code = verdict(&plan);
	}
	free(plan.row);
	return code;
}

static const struct option_spec options[] = {
	{ SHAPE_CAPACITY },
	{ SHAPE_RATE },
	{ SHAPE_FAMILY },
	{ SHAPE_SLOTS },
	{ SHAPE_FAST },
	{ SHAPE_DELETE },
	{ SHAPE_NO_DELETE },
	{ SHAPE_COMPACT },
	{ SHAPE_STATIC },
	{ SHAPE_ENUMERATE },
	{ SHAPE_MERGE },
	{ SHAPE_GROW },
	{ SHAPE_VALUES },
	{ SHAPE_CONCURRENT },
	{ OPTION_FEATURE + 6, "multiset", NULL, "copies of equal keys will be stored" },
	{ OPTION_SAVE, "save", "PLAN",
	  "print nothing, but write a plan for nidus build --like: an\n"
	  "empty set of a few hundred bytes" },
	{ OPTION_SEED, "seed", "S", "of a plan that is saved (default: random)" },
	{ OPTION_JSON, "json", NULL, "print a JSON array of objects; of --save what info prints" },
	{ OUTPUT_FORCE },
	{ OUTPUT_NO_WAIT },
	{ 0, NULL, NULL, NULL },
};

const struct command plan_command = {
	.name = "plan",
	.synopsis = "-n N [-p FPR] [-f FAMILY] [--delete] [--merge] [OPTION...]",
	.summary = "show what each family would need",
	.about = "Prints for every family what a set of N keys at the rate FPR would take: bits\n"
		 "per key, size, overhead (bits per key over log2(1/FPR), the least possible),\n"
		 "the expected rate, cache lines per lookup of an absent key, the class of\n"
		 "measured speed (slow, medium, fast, fastest), and features: D delete, E\n"
		 "enumerate, M merge, G grow, C concurrent, K copies. '*' marks the\n"
		 "family that nidus build takes: the smallest, or one that is less than 3 %\n"
		 "larger and of a faster class. The line below the table says why, and with\n"
		 "--grow how much memory the growth takes. A family that cannot do what is asked\n"
		 "says why not.\n"
		 "\n"
		 "With --save it writes a plan for parts of a set that are built separately, say\n"
		 "on many machines: N is the number of keys of all parts together. Sets built\n"
		 "like it may have any number of keys, and always merge.\n",
	.options = options,
	.examples = "  nidus plan -n 1G -p 0.1% --delete --merge --grow 4G\n"
		    "  nidus plan -n 5M -p 0.001 --save plan.nidus\n",
	.run = run,
};

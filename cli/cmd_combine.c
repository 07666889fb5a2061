/* SPDX-License-Identifier: MIT */
/* nidus merge, grow, shrink and pack: larger and smaller sets from sets, without the keys. */

#include "commands.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "inspect.h"
#include "output.h"
#include "report.h"
#include "set.h"
#include "shape.h"

struct combine {
	struct output output;
	uint64_t capacity;
	nidus_merge_how how;
	bool relax;
	bool json;
};

static int take_common(struct combine *combine, int id, const char *value)
{
	if (id == OPTION_JSON)
		combine->json = true;
	(void)output_take(&combine->output, id, value);
	return ARGS_GO;
}

static int take_merge_option(void *context, int id, const char *value)
{
	struct combine *combine = context;

	switch (id) {
	case OPTION_UNIQUE:
		combine->how = NIDUS_MERGE_UNIQUE;
		break;
	case OPTION_SUM:
		combine->how = NIDUS_MERGE_SUM;
		break;
	case OPTION_MAX:
		combine->how = NIDUS_MERGE_MAX;
		break;
	case OPTION_OR:
		combine->how = NIDUS_MERGE_OR;
		break;
	}
	return take_common(combine, id, value);
}

static int take_grow_option(void *context, int id, const char *value)
{
	struct combine *combine = context;

	if (id == 'n')
		return shape_count(&grow_command, "-n", value, &combine->capacity);
	if (id == OPTION_RELAX)
		combine->relax = true;
	return take_common(combine, id, value);
}

static int take_shrink_option(void *context, int id, const char *value)
{
	struct combine *combine = context;

	if (id == 'n')
		return shape_count(&shrink_command, "-n", value, &combine->capacity);
	return take_common(combine, id, value);
}

/* Readies the output, unless it would be mixed with what --json prints. */
static int prepare(const struct command *command, struct combine *combine)
{
	if (combine->json) {
		int code = output_check_json(command, &combine->output);

		if (code != EXIT_OK)
			return code;
	}
	return output_prepare(command, &combine->output);
}

static int save(struct combine *combine, const nidus_filter *filter)
{
	int code = output_save(filter, &combine->output);

	if (code == EXIT_OK && combine->json)
		inspect_json(combine->output.path, filter);
	return code;
}

/* Which of several sets a reason is about, if it says so. */
static const char *blamed(const struct args *args)
{
	size_t number, all;

	if (sscanf(nidus_reason(), "filter %zu of %zu", &number, &all) == 2 && number >= 1 &&
	    number <= args->n)
		return set_input_name(args->operand[number - 1]);
	return args->n == 2 ? set_input_name(args->operand[1]) : "the sets";
}

/* The rate of a merged set is that of all its keys: higher than those of sets that are as full as they may be. */
static void warn_of_rate(const nidus_filter *merged, nidus_filter *const *sets, size_t n)
{
	nidus_info info = NIDUS_INFO_INIT;
	double target = 1;

	for (size_t i = 0; i < n; i++) {
		nidus_get_info(sets[i], &info);
		target = info.fpr_target < target ? info.fpr_target : target;
	}
	nidus_get_info(merged, &info);
	if (info.fpr_target > 1.005 * target)
		report_warning("%" PRIu64 " keys are more than a set of this shape is made for: "
		               "the fpr is %.3g instead of %.3g; plan for all keys: "
		               "nidus plan -n %" PRIu64 " --save",
		               info.count, info.fpr_target, target, info.count);
}

/* Merges sets that are open, and saves the result. */
static int merge_open(struct combine *combine, const struct args *args, nidus_filter *const *sets)
{
	nidus_filter *merged;
	nidus_status status =
		nidus_merge_many((const nidus_filter *const *)sets, args->n, combine->how, &merged);
	int code;

	if (status == NIDUS_COPIES) {
		report_error("a key has more copies in these sets than one set can hold; --unique "
		             "keeps equal entries once");
		return report_code(status);
	}
	if (status != NIDUS_OK)
		return report_status(blamed(args), status);
	code = save(combine, merged);
	if (code == EXIT_OK)
		warn_of_rate(merged, sets, args->n);
	nidus_free(merged);
	return code;
}

/* Files are only mapped here: the merge itself checks them, and reads one after another. */
static int merge_sets(struct combine *combine, const struct args *args)
{
	nidus_filter **sets = calloc(args->n, sizeof *sets);
	int code = EXIT_OK;

	if (!sets)
		return report_memory("the list of sets");
	for (size_t i = 0; i < args->n && code == EXIT_OK; i++)
		code = set_open(args->operand[i], &sets[i]);
	if (code == EXIT_OK)
		code = merge_open(combine, args, sets);
	for (size_t i = 0; i < args->n; i++)
		nidus_free(sets[i]);
	free(sets);
	return code;
}

static int run_merge(int argc, char **argv)
{
	struct combine combine = { 0 };
	struct args args;
	int code = args_parse(&merge_command, argc, argv, take_merge_option, &combine, &args);

	if (code != ARGS_GO)
		return code;
	if (args.n < 1)
		return report_usage(merge_command.name, "which SETs?");
	code = set_operands(&merge_command, &args, false);
	if (code != ARGS_GO)
		return code;
	code = output_check_inputs(&merge_command, &combine.output, args.operand, args.n);
	if (code == EXIT_OK)
		code = prepare(&merge_command, &combine);
	if (code == EXIT_OK)
		code = merge_sets(&combine, &args);
	output_release(&combine.output);
	return code;
}

/* What grow, shrink and pack do with a filter. */
typedef nidus_status (*resize)(nidus_filter *filter, uint64_t capacity);

static int refused(const nidus_filter *filter, const char *path, const struct combine *combine,
                   nidus_status status)
{
	const char *name = set_input_name(path);
	nidus_info info = NIDUS_INFO_INIT;

	if (status != NIDUS_E_RANGE || nidus_get_info(filter, &info) != NIDUS_OK ||
	    combine->relax || combine->capacity <= info.max_capacity)
		return report_status(name, status);
	report_error("%s: the set was built for %" PRIu64
	             " keys at most; with --relax it grows on, and "
	             "its rate doubles each time",
	             name, info.max_capacity);
	return report_code(status);
}

static int resize_set(struct combine *combine, const char *path, resize act)
{
	nidus_filter *filter;
	nidus_status status;
	int code = set_load(path, &filter);

	if (code != EXIT_OK)
		return code;
	status = act(filter, combine->capacity);
	if (status == NIDUS_OK)
		code = save(combine, filter);
	else
		code = refused(filter, path, combine, status);
	nidus_free(filter);
	return code;
}

/* The set is changed in place unless another output was named. */
static int resize_operand(const struct command *command, struct combine *combine,
                          const struct args *args, resize act)
{
	const char *set = args->operand[0];
	int code;

	output_default(&combine->output, set);
	code = output_check_set(command, &combine->output, set);
	if (code == EXIT_OK)
		code = prepare(command, combine);
	if (code == EXIT_OK)
		code = resize_set(combine, set, act);
	output_release(&combine->output);
	return code;
}

static int run_grow(int argc, char **argv)
{
	struct combine combine = { 0 };
	struct args args;
	int code = args_parse(&grow_command, argc, argv, take_grow_option, &combine, &args);

	if (code == ARGS_GO)
		code = set_operand(&grow_command, &args, false);
	if (code != ARGS_GO)
		return code;
	if (combine.capacity == 0)
		return report_usage(grow_command.name, "-n is needed: for how many keys?");
	return resize_operand(&grow_command, &combine, &args,
	                      combine.relax ? nidus_grow_relaxed : nidus_grow);
}

static int run_shrink(int argc, char **argv)
{
	struct combine combine = { 0 };
	struct args args;
	int code = args_parse(&shrink_command, argc, argv, take_shrink_option, &combine, &args);

	if (code == ARGS_GO)
		code = set_operand(&shrink_command, &args, false);
	return code == ARGS_GO ? resize_operand(&shrink_command, &combine, &args, nidus_shrink)
	                       : code;
}

static int take_pack_option(void *context, int id, const char *value)
{
	return take_common(context, id, value);
}

static nidus_status pack(nidus_filter *filter, uint64_t capacity)
{
	(void)capacity;
	return nidus_pack(filter);
}

static int run_pack(int argc, char **argv)
{
	struct combine combine = { 0 };
	struct args args;
	int code = args_parse(&pack_command, argc, argv, take_pack_option, &combine, &args);

	if (code == ARGS_GO)
		code = set_operand(&pack_command, &args, false);
	return code == ARGS_GO ? resize_operand(&pack_command, &combine, &args, pack) : code;
}

static const struct option_spec merge_options[] = {
	{ OUTPUT_NEW },
	{ OUTPUT_FORCE },
	{ OUTPUT_NO_WAIT },
	{ INSPECT_JSON },
	{ OPTION_UNIQUE, "unique", NULL, "keep equal entries once; remove no keys afterwards" },
	{ OPTION_SUM, "sum", NULL, "keep entries once, with the sum of their values: for counts" },
	{ OPTION_MAX, "max", NULL, "keep entries once, with the highest of their values" },
	{ OPTION_OR, "or", NULL, "keep entries once, with the bits of all their values" },
	{ 0, NULL, NULL, NULL },
};

static const struct option_spec grow_options[] = {
	{ SHAPE_CAPACITY },
	{ OUTPUT_CHANGED },
	{ OUTPUT_FORCE },
	{ OUTPUT_NO_WAIT },
	{ INSPECT_JSON },
	{ OPTION_RELAX, "relax", NULL, "go on where no bits are left: the rate doubles each time" },
	{ 0, NULL, NULL, NULL },
};

static const struct option_spec shrink_options[] = {
	{ 'n', "capacity", "N", "keys that must still fit (default: those that are in it)" },
	{ OUTPUT_CHANGED },
	{ OUTPUT_FORCE },
	{ OUTPUT_NO_WAIT },
	{ INSPECT_JSON },
	{ 0, NULL, NULL, NULL },
};

static const struct option_spec pack_options[] = {
	{ OUTPUT_CHANGED }, { OUTPUT_FORCE },        { OUTPUT_NO_WAIT },
	{ INSPECT_JSON },   { 0, NULL, NULL, NULL },
};

const struct command merge_command = {
	.name = "merge",
	.synopsis = "-o OUT [OPTION...] SET...",
	.summary = "make one set of several",
	.about =
		"Writes a set that holds what any of the SETs holds, all copies of keys included:\n"
		"a set merged with itself has every key twice. With --unique it has them once.\n"
		"The SETs must be of the same family, seed and shape: build all of them with\n"
		"--like one plan (nidus plan --save), and they always merge, however many keys\n"
		"each has. Files are read one after another; only the new set is in memory.\n"
		"Exits with 6 if the family cannot merge, with 3 if the sets do not fit\n"
		"together, with 4 if a key has too many copies.\n",
	.options = merge_options,
	.examples = "  nidus plan -n 5M -p 0.001 --save plan.nidus\n"
		    "  nidus build --like plan.nidus -o part1.nidus part1.txt\n"
		    "  nidus build --like plan.nidus -o part2.nidus part2.txt\n"
		    "  nidus merge -o all.nidus part1.nidus part2.nidus\n",
	.run = run_merge,
};

const struct command grow_command = {
	.name = "grow",
	.synopsis = "-n N [-o OUT] [OPTION...] SET",
	.summary = "make room for more keys in a set",
	.about = "Makes room for N keys in SET, keeping its false-positive rate. Only a set that\n"
		 "was built with --grow can, and only up to what was given there; with --relax\n"
		 "any set, but beyond that each doubling doubles its rate. Exits with 6 if the\n"
		 "family cannot grow.\n",
	.options = grow_options,
	.examples = "  nidus build -n 1M --grow 100M -o s.nidus keys.txt\n"
		    "  nidus grow -n 20M s.nidus\n",
	.run = run_grow,
};

const struct command shrink_command = {
	.name = "shrink",
	.synopsis = "[-n N] [-o OUT] [OPTION...] SET",
	.summary = "give back what a grown set no longer needs",
	.about = "Makes SET as small as it can be with the keys that are in it, or with room for\n"
		 "N: what growth has doubled is halved again. A set is never smaller than it was\n"
		 "built. Exits with 6 if the family cannot shrink.\n",
	.options = shrink_options,
	.examples = "  nidus remove s.nidus gone.txt\n"
		    "  nidus shrink s.nidus\n",
	.run = run_shrink,
};

const struct command pack_command = {
	.name = "pack",
	.synopsis = "[-o OUT] [OPTION...] SET",
	.summary = "make a finished set as small as it can be",
	.about =
		"Gives up what SET could still grow and puts its keys into the smallest table that\n"
		"keeps its rate, for sets that are finished. Sets that are to be merged are\n"
		"merged first: a packed one fits only those that were packed to its size. A set\n"
		"that has no smaller table stays as it is. Families that can be packed are\n"
		"bucketed, windowed and breadcrumb; others exit with 6.\n",
	.options = pack_options,
	.examples = "  nidus merge -o all.nidus day1.nidus day2.nidus\n"
		    "  nidus pack all.nidus\n",
	.run = run_pack,
};

/* SPDX-License-Identifier: MIT */
/* Turns -n, -p, -f, -s, --seed, --grow, --values and features into nidus_options. */

#include "shape.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "features.h"
#include "nearest.h"
#include "number.h"
#include "report.h"

/* More than any numbering of families will ever need. */
#define MOST_FAMILIES 64

int shape_count(const struct command *command, const char *option, const char *value,
                uint64_t *count)
{
	if (number_parse_count(value, count))
		return ARGS_GO;
	return report_usage(
		command->name,
		"%s: '%s' is not a whole number from 1 to 2^63 - 1 (1000000, 1e6, 10M, 2^20)",
		option, value);
}

static int take_rate(const struct command *command, const char *value, double *rate)
{
	if (number_parse_rate(value, rate))
		return ARGS_GO;
	return report_usage(command->name,
	                    "-p: '%s' is not a rate between 0 and 1 (0.001, 0.1%%, 2^-10, 1/1000)",
	                    value);
}

static int take_seed(const struct command *command, const char *value, uint64_t *seed)
{
	if (number_parse_seed(value, seed))
		return ARGS_GO;
	return report_usage(command->name,
	                    "--seed: '%s' is not a number from 1 to 2^64 - 1 (decimal or 0x...)",
	                    value);
}

static int take_slots(const struct command *command, const char *value, unsigned *slots)
{
	uint64_t count;
	int code = shape_count(command, "-s", value, &count);

	if (code != ARGS_GO)
		return code;
	if (count > UINT_MAX)
		return report_usage(command->name, "-s: %s slots are too many", value);
	*slots = (unsigned)count;
	return ARGS_GO;
}

static int take_values(const struct command *command, const char *value, unsigned *bits)
{
	uint64_t count;

	if (!number_parse_count(value, &count) || count > 32)
		return report_usage(command->name,
		                    "--values: '%s' is not a number of bits from 1 to 32", value);
	*bits = (unsigned)count;
	return ARGS_GO;
}

/* The families that this library really has, as one text. */
static void list_families(char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "auto");

	for (int i = 1; i < MOST_FAMILIES && used < size; i++) {
		const char *name = nidus_family_name((nidus_family)i);

		if (name && nidus_family_features((nidus_family)i) != 0)
			used += (size_t)snprintf(text + used, size - used, ", %s", name);
	}
}

static int unknown_family(const struct command *command, const char *value, const char *families)
{
	struct nearest nearest = NEAREST_TO(value, strlen(value));
	const char *found;

	for (int i = 0; i < MOST_FAMILIES; i++) {
		const char *name = nidus_family_name((nidus_family)i);

		if (name)
			nearest_offer(&nearest, name);
	}
	found = nearest_found(&nearest);
	if (found)
		return report_usage(command->name,
		                    "-f: unknown family '%s'; did you mean %s? Choose from: %s",
		                    value, found, families);
	return report_usage(command->name, "-f: unknown family '%s'; choose from: %s", value,
	                    families);
}

static int take_family(const struct command *command, const char *value, nidus_family *family)
{
	char families[512];

	list_families(families, sizeof(families));
	if (nidus_family_by_name(value, family) != NIDUS_OK)
		return unknown_family(command, value, families);
	if (*family == NIDUS_AUTO || nidus_family_features(*family) != 0)
		return ARGS_GO;
	report_error("the family %s is not in this version of nidus; choose from: %s", value,
	             families);
	return EXIT_UNSUPPORTED;
}

int shape_take(const struct command *command, nidus_options *options, int id, const char *value)
{
	switch (id) {
	case 'n':
		return shape_count(command, "-n", value, &options->capacity);
	case 'p':
		return take_rate(command, value, &options->fpr);
	case 'f':
		return take_family(command, value, &options->family);
	case 's':
		return take_slots(command, value, &options->slots);
	case OPTION_SEED:
		return take_seed(command, value, &options->seed);
	case OPTION_VALUES:
		return take_values(command, value, &options->value_bits);
	case OPTION_GROW:
		options->features |= NIDUS_GROW;
		if (!value) {
			options->max_capacity = NIDUS_UNLIMITED;
			return ARGS_GO;
		}
		return shape_count(command, "--grow", value, &options->max_capacity);
	case OPTION_COMPACT:
		options->features |= NIDUS_COMPACT;
		return ARGS_GO;
	case OPTION_STATIC:
		options->features |= NIDUS_STATIC;
		return ARGS_GO;
	case OPTION_NO_DELETE:
		options->features |= NIDUS_NO_DELETE;
		return ARGS_GO;
	default:
		if (id < OPTION_FEATURE || id >= OPTION_FEATURE + (int)FEATURES)
			return SHAPE_OTHER;
		options->features |= feature_list[id - OPTION_FEATURE].bit;
		return ARGS_GO;
	}
}

bool shape_is_static(const nidus_options *options)
{
	return (options->features | nidus_family_features(options->family)) & NIDUS_STATIC;
}

int shape_check(const struct command *command, const nidus_options *options)
{
	double most = shape_is_static(options) ? 0.5 : NIDUS_FPR_MOST;

	if (options->fpr > most)
		report_warning("-p %g: rates above %g are unsupported; using %g", options->fpr,
		               most, most);
	if (options->max_capacity != 0 && options->max_capacity < options->capacity)
		return report_usage(command->name,
		                    "--grow %" PRIu64 " is less than -n %" PRIu64
		                    ": it is the number of keys to grow to",
		                    options->max_capacity, options->capacity);
	if (options->features & NIDUS_DELETE && options->features & NIDUS_NO_DELETE)
		return report_usage(command->name,
		                    "--delete and --no-delete contradict each other: give one");
	return ARGS_GO;
}

int shape_refused(const struct command *command, nidus_status status)
{
	const char *reason = nidus_reason();

	if (status != NIDUS_E_ARG && status != NIDUS_E_RANGE)
		return report_status(command->name, status);
	return report_usage(command->name, "%s", *reason ? reason : nidus_status_text(status));
}

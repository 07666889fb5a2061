/* SPDX-License-Identifier: MIT
 *
 * plan: families by name, and what each of them would take.
 */
#include "api/filter.h"
#include "api/options.h"

#include <math.h>
#include <stdio.h>

#define AUTO_NAME "auto"

const char *nidus_family_name(nidus_family family)
{
	const struct family *found = family_find(family);
	return family == NIDUS_AUTO ? AUTO_NAME : found != NULL ? found->name : NULL;
}

nidus_status nidus_family_by_name(const char *name, nidus_family *family)
{
	if (name == NULL || family == NULL)
		return filter_null(name == NULL ? "name" : "family");
	if (strcmp(name, AUTO_NAME) == 0) {
		*family = NIDUS_AUTO;
		return NIDUS_OK;
	}
	for (unsigned i = 0; i < FAMILIES; i++) {
		if (strcmp(name, families[i]->name) == 0) {
			*family = families[i]->id;
			return NIDUS_OK;
		}
	}
	return fail(NIDUS_E_ARG, "no family is called %.40s", name);
}

uint32_t nidus_family_features(nidus_family family)
{
	const struct family *found = family_find(family);
	return found != NULL ? found->features : 0;
}

const char *nidus_speed_name(nidus_speed speed)
{
	static const char *const words[] = { NULL, "slow", "medium", "fast", "fastest" };
	return (unsigned)speed < sizeof words / sizeof *words ? words[speed] : NULL;
}

static nidus_plan_row plan_row(const nidus_options *options, const struct family *family)
{
	nidus_plan_row row = { .family = family->id,
		               .features = family->features,
		               .pace = family->pace,
		               .speed = options->features & NIDUS_COMPACT ? NIDUS_SPEED_SLOW
		                                                          : family->speed };
	struct blueprint plan;
	row.status = options_plan_family(options, family, &plan);
	if (row.status != NIDUS_OK) {
		reason_copy(row.why_not, sizeof row.why_not);
		return row;
	}
	const struct family *body = family_of_plan(family, &plan);
	struct forecast forecast = body->forecast(&plan, options->capacity);
	uint64_t most = options_most(options);
	double keys = (double)options->capacity;
	row.bytes = forecast.bytes;
	row.capacity = plan.capacity;
	row.bits_per_key = 8.0 * (double)forecast.bytes / keys;
	row.overhead = row.bits_per_key / log2(1 / options->fpr);
	row.fpr = forecast.fpr;
	row.load = forecast.load;
	row.lines_per_lookup = forecast.lines;
	row.slots = plan.slots;
	row.fingerprint_bits = plan.core_bits + plan.growth_bits;
	row.bytes_growing = body->forecast(&plan, most).bytes;
	row.copies = family->copies != NULL ? family->copies(&plan) : 0;
	return row;
}

/* What the choice was made from: families that will do and may be chosen. */
struct choice {
	const struct family *chosen;
	uint64_t bytes; /* of the chosen one */
	unsigned others;
	const struct family *next; /* the smallest of the others */
	uint64_t next_bytes;
};

static void consider(struct choice *choice, const nidus_options *options,
                     const struct family *family, const nidus_plan_row *row)
{
	if (row->status != NIDUS_OK)
		return;
	if (family == choice->chosen) {
		choice->bytes = row->bytes_growing;
		return;
	}
	if (!options_may_choose(options, family))
		return;
	choice->others++;
	if (choice->next == NULL || row->bytes_growing < choice->next_bytes) {
		choice->next = family;
		choice->next_bytes = row->bytes_growing;
	}
}

static void explain(const nidus_options *options, const struct choice *choice, char *why,
                    size_t size)
{
	double more = 100 * ((double)choice->next_bytes / (double)choice->bytes - 1);
	if (options->family != NIDUS_AUTO)
		snprintf(why, size, "it was asked for");
	else if (choice->others == 0)
		snprintf(why, size, "no other family will do");
	else if (options->features & NIDUS_FAST)
		snprintf(why, size,
		         "the quickest in batches beyond the cache, of %u families that will do",
		         choice->others + 1);
	else if (choice->next_bytes < choice->bytes)
		snprintf(why, size,
		         "clearly faster than %s, the smallest of %u families that will do, and "
		         "%.1f %% larger",
		         choice->next->name, choice->others + 1,
		         100 * ((double)choice->bytes / (double)choice->next_bytes - 1));
	else if (choice->next_bytes == choice->bytes)
		snprintf(why, size, "the smallest of %u families that will do; %s takes as much",
		         choice->others + 1, choice->next->name);
	else
		snprintf(why, size,
		         "the smallest of %u families that will do; %s takes %.1f %% more",
		         choice->others + 1, choice->next->name, more);
}

nidus_status nidus_plan(const nidus_options *options, nidus_plan_row *rows, size_t cap, size_t *n)
{
	if (n == NULL)
		return filter_null("n");
	*n = 0;
	if (rows == NULL && cap > 0)
		return filter_null("rows");
	nidus_options checked;
	nidus_status status = options_read(options, &checked);
	if (status == NIDUS_OK)
		status = options_check(&checked);
	if (status != NIDUS_OK)
		return status;
	struct choice choice = { 0 };
	struct blueprint plan;
	if (options_plan(&checked, &choice.chosen, &plan) != NIDUS_OK)
		choice.chosen = NULL;
	for (const struct family *const *family = families; *family != NULL; family++, ++*n) {
		nidus_plan_row row = plan_row(&checked, *family);
		consider(&choice, &checked, *family, &row);
		row.chosen = *family == choice.chosen;
		if (*n < cap)
			rows[*n] = row;
	}
	for (size_t i = 0; i < *n && i < cap; i++) {
		if (rows[i].chosen)
			explain(&checked, &choice, rows[i].why, sizeof rows[i].why);
	}
	if (*n > cap && cap > 0)
		return fail(NIDUS_E_BUFFER, "there are %zu rows; room was given for %zu", *n, cap);
	return NIDUS_OK;
}

/* SPDX-License-Identifier: MIT
 *
 * golden: descriptions of filters.
 */
#include "support/golden.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/filter.h"
#include "support/check.h"
#include "support/filters.h"

#define KEYS 400   /* more than any golden filter holds */
#define HASHES 100 /* from nowhere in particular */
#define TEXT_MOST 400
#define LINE_MOST (TEXT_MOST + 50)

/* Mostly short; every 32nd is long enough for the hash's other ways. */
static size_t text_of(uint64_t i, char text[TEXT_MOST])
{
	int n = snprintf(text, TEXT_MOST, "key-%" PRIu64, i);
	for (unsigned more = i % 32 == 0 ? (unsigned)(i & 255) : 0; more > 0; more--)
		text[n++] = (char)('a' + more % 26);
	text[n] = '\0';
	return (size_t)n;
}

static uint64_t number_of(uint64_t i)
{
	return i * i * UINT64_C(0x100000001);
}

uint64_t golden_hash(const nidus_filter *filter, uint64_t i)
{
	char text[TEXT_MOST];
	if (i % 2 == 0)
		return nidus_hash(filter, text, text_of(i, text));
	return nidus_hash_u64(filter, number_of(i));
}

static void describe_shape(const nidus_filter *filter, FILE *to)
{
	nidus_info info = info_of(filter);
	uint64_t fpr;
	memcpy(&fpr, &info.fpr_target, sizeof fpr);
	fprintf(to, "family %s\n", nidus_family_name(info.family));
	fprintf(to, "seed %" PRIu64 "\n", info.seed);
	/* Of a filter that grows, capacity and chunks are what it makes of its bodies. */
	bool grows = filter->plan.segmented != PLAN_WHOLE;
	if (!grows)
		fprintf(to, "capacity %" PRIu64 "\n", info.capacity);
	fprintf(to, "max_capacity %" PRIu64 "\n", info.max_capacity);
	fprintf(to, "slots %u\n", info.slots);
	if (info.slices > 0)
		fprintf(to, "slices %u\n", info.slices);
	for (unsigned age = 0; age < info.slices; age++)
		fprintf(to, "age %u %" PRIu64 "\n", age, nidus_slice_count(filter, age));
	fprintf(to, "count %" PRIu64 "\n", info.count);
	fprintf(to, "stashed %" PRIu64 "\n", info.stashed);
	if (!grows)
		fprintf(to, "chunks %" PRIu64 "\n", (uint64_t)info.chunks);
	fprintf(to, "fpr 0x%016" PRIx64 "\n", fpr);
}

static int compare_entries(const void *one, const void *other)
{
	const nidus_entry *a = one, *b = other;
	if (a->home != b->home)
		return a->home < b->home ? -1 : 1;
	if (a->fingerprint != b->fingerprint)
		return a->fingerprint < b->fingerprint ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

static void describe_entries(const nidus_filter *filter, FILE *to)
{
	nidus_info info = info_of(filter);
	if (!(nidus_family_features(info.family) & NIDUS_ENUMERATE))
		return;
	nidus_cursor cursor = { 0 };
	nidus_entry *entries = check_alloc((info.count + 1) * sizeof *entries);
	size_t n = 0;
	while (n <= info.count && nidus_next(filter, &cursor, &entries[n]))
		n++;
	expect_equal(n, info.count);
	qsort(entries, n, sizeof *entries, compare_entries);
	for (size_t i = 0; i < n; i++) {
		fprintf(to, "entry %" PRIu64 " %" PRIu64, entries[i].home, entries[i].fingerprint);
		if (info.value_bits > 0 || info.slices > 0)
			fprintf(to, " %" PRIu64, entries[i].value);
		putc('\n', to);
	}
	free(entries);
}

/* The line of key i without what a filter says of it; the hash goes to *hash. */
static void spell_key(const nidus_filter *filter, uint64_t i, char line[LINE_MOST], uint64_t *hash)
{
	char text[TEXT_MOST];
	if (i >= KEYS) {
		*hash = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
		snprintf(line, LINE_MOST, "hash %" PRIu64, *hash);
		return;
	}
	*hash = filter != NULL ? golden_hash(filter, i) : 0;
	(void)text_of(i, text);
	if (i % 2 == 0)
		snprintf(line, LINE_MOST, "text %s", text);
	else
		snprintf(line, LINE_MOST, "u64 %" PRIu64, number_of(i));
}

void golden_describe(const nidus_filter *filter, FILE *to)
{
	describe_shape(filter, to);
	describe_entries(filter, to);
	for (uint64_t i = 0; i < KEYS + HASHES; i++) {
		char line[LINE_MOST];
		uint64_t hash;
		spell_key(filter, i, line, &hash);
		uint64_t copies = nidus_count_key_hash(filter, hash);
		bool found = nidus_contains_hash(filter, hash); /* it may be one without copies */
		expect(found || copies == 0);
		if (found)
			fprintf(to, "%s %" PRIu64 "\n", line, copies);
		if (found && info_of(filter).slices > 0)
			fprintf(to, "ago %s %d\n", line, nidus_age_hash(filter, hash));
	}
}

void golden_list_keys(FILE *to)
{
	for (uint64_t i = 0; i < KEYS + HASHES; i++) {
		char line[LINE_MOST];
		uint64_t hash;
		spell_key(NULL, i, line, &hash);
		fprintf(to, "%s\n", line);
	}
}

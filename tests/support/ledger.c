/* SPDX-License-Identifier: MIT
 *
 * ledger: identities from the library's own way of cutting a hash, sorted and numbered.
 */
#include "support/ledger.h"

#include "api/filter.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/model.h"

/* A key's entry, to be sorted. */
struct named {
	nidus_entry entry;
	uint64_t key;
};

static nidus_entry entry_of(const nidus_filter *filter, uint64_t hash)
{
	if (!(filter->family->features & NIDUS_ENUMERATE))
		return (nidus_entry){ hash, 0, 0 };
	return filter->family->identity(filter_body(filter), hash);
}

static int compare_entries(const nidus_entry *a, const nidus_entry *b)
{
	if (a->home != b->home)
		return a->home < b->home ? -1 : 1;
	return (a->fingerprint > b->fingerprint) - (a->fingerprint < b->fingerprint);
}

static int compare_named(const void *a, const void *b)
{
	return compare_entries(&((const struct named *)a)->entry,
	                       &((const struct named *)b)->entry);
}

static void number_identities(struct ledger *ledger, const struct named *named)
{
	for (uint64_t i = 0; i < ledger->keys; i++) {
		if (i == 0 || compare_named(&named[i - 1], &named[i]) != 0)
			ledger->entries[ledger->identities++] = named[i].entry;
		ledger->identity[named[i].key] = ledger->identities - 1;
	}
}

void ledger_create(struct ledger *ledger, const nidus_filter *filter, uint64_t keys)
{
	*ledger = (struct ledger){ .keys = keys };
	ledger->exact = filter->family->features & NIDUS_ENUMERATE;
	ledger->sees_all = ledger->exact && !(filter->family->id == NIDUS_BREADCRUMB &&
	                                      filter_directory(filter) != NULL);
	ledger->hashes = check_alloc(keys * sizeof *ledger->hashes);
	ledger->identity = check_alloc(keys * sizeof *ledger->identity);
	ledger->copies = check_alloc(keys * sizeof *ledger->copies);
	ledger->held = check_alloc(keys * sizeof *ledger->held);
	ledger->seen = check_alloc(keys * sizeof *ledger->seen);
	ledger->entries = check_alloc(keys * sizeof *ledger->entries);
	if (filter->plan.value_bits > 0) {
		ledger->sums = check_alloc(keys * sizeof *ledger->sums);
		ledger->values = check_alloc(keys * sizeof *ledger->values);
		for (uint64_t i = 0; i < keys; i++)
			ledger->values[i] = NULL;
	}
	struct named *named = check_alloc(keys * sizeof *named);
	for (uint64_t key = 0; key < keys; key++) {
		ledger->hashes[key] = spelled_hash(filter, key);
		named[key] = (struct named){ entry_of(filter, ledger->hashes[key]), key };
	}
	qsort(named, keys, sizeof *named, compare_named);
	number_identities(ledger, named);
	free(named);
	ledger_clear(ledger);
}

void ledger_free(struct ledger *ledger)
{
	free(ledger->hashes);
	free(ledger->identity);
	free(ledger->copies);
	free(ledger->held);
	free(ledger->seen);
	free(ledger->entries);
	for (uint32_t i = 0; ledger->values != NULL && i < ledger->identities; i++)
		free(ledger->values[i]);
	free(ledger->values);
	free(ledger->sums);
}

void ledger_clear(struct ledger *ledger)
{
	memset(ledger->copies, 0, ledger->keys * sizeof *ledger->copies);
	memset(ledger->held, 0, ledger->keys * sizeof *ledger->held);
}

/* ------------------------------------------------------------------------ values -- */

/* There is room for a power of two of them. */
void ledger_keep_value(struct ledger *ledger, uint32_t identity, uint64_t value)
{
	unsigned held = ledger->held[identity];
	uint32_t **values = &ledger->values[identity];
	if ((held & (held - 1)) == 0) {
		*values = realloc(*values, (held == 0 ? 1 : 2 * held) * sizeof **values);
		expect(*values != NULL);
	}
	(*values)[held] = (uint32_t)value;
}

bool ledger_forget_value(struct ledger *ledger, uint32_t identity, uint64_t value)
{
	uint32_t *values = ledger->values[identity];
	for (unsigned i = 0; i < ledger->held[identity]; i++) {
		if (values[i] != value)
			continue;
		values[i] = values[ledger->held[identity] - 1];
		return true;
	}
	return false;
}

bool ledger_has_value(const struct ledger *ledger, uint64_t key, uint64_t value)
{
	const uint32_t *values = ledger->values[ledger->identity[key]];
	for (unsigned i = 0; i < ledger_held(ledger, key); i++) {
		if (values[i] == value)
			return true;
	}
	return false;
}

/* As random as the value: sums of them are equal only if the values are. */
static uint64_t blurred(uint64_t value)
{
	struct chance chance = { value };
	return chance_next(&chance);
}

static uint64_t blurred_sum(const struct ledger *ledger, uint32_t identity)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < ledger->held[identity]; i++)
		sum += blurred(ledger->values[identity][i]);
	return sum;
}

bool ledger_matches(const struct ledger *ledger, uint64_t key, const uint64_t *values, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += blurred(values[i]);
	return n == ledger_held(ledger, key) && sum == blurred_sum(ledger, ledger->identity[key]);
}

static bool sums_match(const struct ledger *ledger)
{
	uint32_t i = 0;
	while (i < ledger->identities && ledger->sums[i] == blurred_sum(ledger, i))
		i++;
	return i == ledger->identities;
}

/* ------------------------------------------------------------------------- walks -- */

static int compare_plain(const void *a, const void *b)
{
	return compare_entries(a, b);
}

bool ledger_walk(struct ledger *ledger, const nidus_filter *filter)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	memset(ledger->seen, 0, ledger->keys * sizeof *ledger->seen);
	if (ledger->values != NULL)
		memset(ledger->sums, 0, ledger->keys * sizeof *ledger->sums);
	while (nidus_next(filter, &cursor, &entry)) {
		const nidus_entry *found = bsearch(&entry, ledger->entries, ledger->identities,
		                                   sizeof entry, compare_plain);
		if (found == NULL)
			return false;
		size_t i = (size_t)(found - ledger->entries);
		if (++ledger->seen[i] > ledger->held[i])
			return false;
		if (ledger->values != NULL)
			ledger->sums[i] += blurred(entry.value);
	}
	return memcmp(ledger->seen, ledger->held, ledger->identities * sizeof *ledger->seen) == 0 &&
	       (ledger->values == NULL || sums_match(ledger));
}

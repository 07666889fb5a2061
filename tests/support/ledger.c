/* SPDX-License-Identifier: MIT
 *
 * ledger: identities from the library's own way of cutting a hash, sorted and numbered.
 */
#include "support/ledger.h"

#include "api/filter.h"
#include "support/check.h"
#include "support/model.h"
#include "support/nests.h"
#include "yard/yard.h"

/* A key's entry, to be sorted. */
struct named {
	nidus_entry entry;
	uint64_t key;
};

static nidus_entry yard_entry_of(const struct yard *yard, uint64_t hash)
{
	struct yard_key key = yard_locate(yard, hash);
	return (nidus_entry){ key.bucket, (uint64_t)(key.m + 1) << yard->width | key.remainder, 0 };
}

static nidus_entry entry_of(const nidus_filter *filter, uint64_t hash)
{
	if (!(filter->family->features & NIDUS_ENUMERATE))
		return (nidus_entry){ hash, 0, 0 };
	if (filter->family->id == NIDUS_BREADCRUMB)
		return yard_entry_of((const struct yard *)(const void *)filter->body, hash);
	return nest_entry_of((const struct nest *)(const void *)filter->body, hash);
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
	ledger->hashes = check_alloc(keys * sizeof *ledger->hashes);
	ledger->identity = check_alloc(keys * sizeof *ledger->identity);
	ledger->copies = check_alloc(keys * sizeof *ledger->copies);
	ledger->held = check_alloc(keys * sizeof *ledger->held);
	ledger->seen = check_alloc(keys * sizeof *ledger->seen);
	ledger->entries = check_alloc(keys * sizeof *ledger->entries);
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
}

void ledger_clear(struct ledger *ledger)
{
	memset(ledger->copies, 0, ledger->keys * sizeof *ledger->copies);
	memset(ledger->held, 0, ledger->keys * sizeof *ledger->held);
}

static int compare_plain(const void *a, const void *b)
{
	return compare_entries(a, b);
}

bool ledger_walk(struct ledger *ledger, const nidus_filter *filter)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	memset(ledger->seen, 0, ledger->keys * sizeof *ledger->seen);
	while (nidus_next(filter, &cursor, &entry)) {
		const nidus_entry *found = bsearch(&entry, ledger->entries, ledger->identities,
		                                   sizeof entry, compare_plain);
		if (found == NULL)
			return false;
		size_t i = (size_t)(found - ledger->entries);
		if (++ledger->seen[i] > ledger->held[i])
			return false;
	}
	return memcmp(ledger->seen, ledger->held, ledger->identities * sizeof *ledger->seen) == 0;
}

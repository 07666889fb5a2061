/* SPDX-License-Identifier: MIT
 *
 * ledger: an exact multiset of keys that knows which of them a filter cannot tell apart.
 *
 * Twins share an identity (src/README.md), and what a filter answers for a key follows
 * from the copies of its identity alone. So the ledger foretells every answer, false
 * positives too. Keys are numbers from 0 on, in the spellings of support/model.h. Values are
 * those of an identity, not of a key, as the filter has them.
 *
 * Threads may change different identities at the same time; the sums that a thread
 * changes are its own (struct ledger_sums).
 */
#ifndef NIDUS_TESTS_SUPPORT_LEDGER_H
#define NIDUS_TESTS_SUPPORT_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "nidus.h"

struct ledger {
	uint64_t keys;
	uint64_t *hashes;     /* of the keys */
	uint32_t *identity;   /* of a key: its number among the identities */
	uint16_t *copies;     /* of a key */
	uint16_t *held;       /* entries of an identity */
	nidus_entry *entries; /* the identities, in ascending order */
	uint16_t *seen;       /* room for a walk */
	uint32_t **values; /* of the entries of an identity, held[] of them; NULL: there are none */
	uint64_t *sums;    /* room for a walk: of the values, each made a random number */
	uint32_t identities;
	bool sees_all; /* false where lookups do not compare all of an identity, too */
	bool exact; /* false for Bloom filters: there yes may be wrong, and is a chance of its own */
};

struct ledger_sums {
	int64_t total;    /* copies of all keys */
	int64_t repeated; /* keys with more than one copy */
};

/* For filters like this one, which is empty and has not grown yet. */
void ledger_create(struct ledger *ledger, const nidus_filter *filter, uint64_t keys);
void ledger_free(struct ledger *ledger);
void ledger_clear(struct ledger *ledger);

/* How many entries of the key's identity there are. */
static inline unsigned ledger_held(const struct ledger *ledger, uint64_t key)
{
	return ledger->held[ledger->identity[key]];
}

/* Keeps the value of an entry that comes, or forgets that of one that goes; false: none has it. */
void ledger_keep_value(struct ledger *ledger, uint32_t identity, uint64_t value);
bool ledger_forget_value(struct ledger *ledger, uint32_t identity, uint64_t value);

/* Whether an entry of the key's identity has this value. */
bool ledger_has_value(const struct ledger *ledger, uint64_t key, uint64_t value);

/* Whether these are the values of the key's identity, in any order. */
bool ledger_matches(const struct ledger *ledger, uint64_t key, const uint64_t *values, size_t n);

static inline void ledger_add(struct ledger *ledger, struct ledger_sums *sums, uint64_t key,
                              uint64_t value)
{
	if (ledger->values != NULL)
		ledger_keep_value(ledger, ledger->identity[key], value);
	ledger->held[ledger->identity[key]]++;
	sums->total++;
	sums->repeated += ++ledger->copies[key] == 2;
}

/* With values: forget that of the entry first, unless it is the only one. */
static inline void ledger_drop(struct ledger *ledger, struct ledger_sums *sums, uint64_t key)
{
	ledger->held[ledger->identity[key]]--;
	sums->total--;
	sums->repeated -= ledger->copies[key]-- == 2;
}

/* Whether a walk yields each entry once, and no other. */
bool ledger_walk(struct ledger *ledger, const nidus_filter *filter);

#endif

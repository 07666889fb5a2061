/* SPDX-License-Identifier: MIT
 *
 * history: keys with values, and counts.
 */
#include "support/history.h"
#include "support/model.h"

/* Which a value of the history's filters can be at most. */
static uint64_t highest(const struct history *h)
{
	return (UINT64_C(1) << h->options.value_bits) - 1;
}

/* Often one of a few, so that pairs come twice, and at times the highest. */
uint64_t history_any_value(struct actor *actor)
{
	const struct history *h = actor->history;
	uint64_t random = chance_next(&actor->chance);
	unsigned kind = (unsigned)(random >> 61);
	if (kind == 0)
		return highest(h);
	return (kind < 4 ? random & 3 : random) & highest(h);
}

/* A value that an entry of the key's identity has; there is one. */
static uint64_t value_here(struct actor *actor, uint64_t key)
{
	const struct ledger *ledger = &actor->history->ledger;
	return ledger->values[ledger->identity[key]]
	                     [chance_below(&actor->chance, ledger_held(ledger, key))];
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#define ADDED_UP 256 /* entries at most, as nidus_get_count has it */

static uint64_t count_of(const struct history *h, uint64_t key)
{
	const uint32_t *values = h->ledger.values[h->ledger.identity[key]];
	unsigned held = ledger_held(&h->ledger, key);
	uint64_t sum = 0;
	for (unsigned i = 0; i < held; i++)
		sum += values[i];
	return held > ADDED_UP ? highest(h) : least(sum, highest(h));
}

/* ------------------------------------------------------------------------ looking -- */

bool history_finds(const struct history *h, const nidus_filter *filter, uint64_t key)
{
	uint64_t values[HISTORY_COPIES_MOST];
	size_t n = spelled_find(filter, key, values, HISTORY_COPIES_MOST);
	return n <= HISTORY_COPIES_MOST && ledger_matches(&h->ledger, key, values, n);
}

void history_find_range(struct actor *actor, const nidus_filter *filter, uint64_t from, size_t n)
{
	const struct ledger *ledger = &actor->history->ledger;
	uint64_t first[HISTORY_BATCH];
	uint32_t found[HISTORY_BATCH];
	nidus_find_batch(filter, ledger->hashes + from, n, first, found);
	for (size_t i = 0; i < n; i++) {
		if (ledger->identity[from + i] % actor->parts != actor->part)
			continue; /* another thread's */
		DEMAND_EQUAL(found[i], ledger_held(ledger, from + i));
		DEMAND(found[i] > 0 ? ledger_has_value(ledger, from + i, first[i]) : first[i] == 0);
	}
	actor->operations += n;
}

static void look(struct actor *actor, uint64_t key)
{
	const struct history *h = actor->history;
	if (key % 2 == 0)
		DEMAND(history_finds(h, h->filter, key));
	else
		DEMAND_EQUAL(nidus_get_count_hash(h->filter, h->ledger.hashes[key]),
		             count_of(h, key));
}

/* ----------------------------------------------------------------------- changing -- */

static void drop(struct actor *actor, uint64_t key, uint64_t value)
{
	struct ledger *ledger = &actor->history->ledger;
	DEMAND(ledger_forget_value(ledger, ledger->identity[key], value));
	ledger_drop(ledger, &actor->sums, key);
	actor->changes++;
}

/* One entry has another value now. */
static void exchange(struct ledger *ledger, uint64_t key, uint64_t old, uint64_t fresh)
{
	uint32_t identity = ledger->identity[key];
	DEMAND(ledger_forget_value(ledger, identity, old));
	ledger->values[identity][ledger->held[identity] - 1] = (uint32_t)fresh;
}

/* The sum that is missing tells the value. */
void history_learn_removed(struct actor *actor, uint64_t key)
{
	struct history *h = actor->history;
	uint64_t values[HISTORY_COPIES_MOST], gone = 0;
	unsigned held = ledger_held(&h->ledger, key);
	if (h->ledger.values != NULL && held > 1) {
		DEMAND_EQUAL(spelled_find(h->filter, key, values, HISTORY_COPIES_MOST), held - 1);
		for (unsigned i = 0; i < held; i++)
			gone += h->ledger.values[h->ledger.identity[key]][i];
		for (unsigned i = 0; i + 1 < held; i++)
			gone -= values[i];
		DEMAND(ledger_forget_value(&h->ledger, h->ledger.identity[key], gone));
	}
	ledger_drop(&h->ledger, &actor->sums, key);
	if (h->ledger.values != NULL && held > 1)
		DEMAND(ledger_matches(&h->ledger, key, values, held - 1));
}

static void put_value(struct actor *actor, uint64_t key)
{
	const struct history *h = actor->history;
	uint64_t value = history_any_value(actor);
	if ((h->distinct && h->ledger.copies[key] > 0) || history_likely_refused(actor, key))
		look(actor, key);
	else
		history_took(actor, spelled_insert_value(h->filter, key, value), key, value);
}

static void take_value(struct actor *actor, uint64_t key)
{
	struct history *h = actor->history;
	bool own = h->ledger.copies[key] > 0;
	uint64_t value = own && !chance_one_in(&actor->chance, 8) ? value_here(actor, key)
	                                                          : history_any_value(actor);
	if (!h->removes) {
		DEMAND_STATUS(spelled_remove_value(h->filter, key, value), NIDUS_E_UNSUPPORTED);
	} else if (!ledger_has_value(&h->ledger, key, value)) {
		DEMAND_STATUS(spelled_remove_value(h->filter, key, value), NIDUS_NOT_FOUND);
	} else if (own) {
		DEMAND_OK(spelled_remove_value(h->filter, key, value));
		drop(actor, key, value);
	} else {
		look(actor, key);
	}
}

static void replace_value(struct actor *actor, uint64_t key)
{
	struct history *h = actor->history;
	unsigned held = ledger_held(&h->ledger, key);
	uint64_t fresh = history_any_value(actor);
	uint64_t old = held > 0 && !chance_one_in(&actor->chance, 8) ? value_here(actor, key)
	                                                             : history_any_value(actor);
	bool there = ledger_has_value(&h->ledger, key, old);
	nidus_status status = spelled_replace_value(h->filter, key, old, fresh);
	if (status == NIDUS_COPIES && h->grows && held > 1)
		return;
	DEMAND_STATUS(status, there ? NIDUS_OK : NIDUS_NOT_FOUND);
	if (there)
		exchange(&h->ledger, key, old, fresh);
	actor->changes += there;
}

/* Some entry of the key's identity became larger; which, is the library's choice. */
static void learn_counted(struct history *h, uint64_t key, uint64_t delta)
{
	unsigned held = ledger_held(&h->ledger, key);
	uint32_t *values = h->ledger.values[h->ledger.identity[key]];
	for (unsigned i = 0; i < held; i++) {
		uint32_t old = values[i];
		values[i] = (uint32_t)least(old + delta, highest(h));
		if (held == 1 || history_finds(h, h->filter, key))
			return;
		values[i] = old;
	}
	DEMAND(!"an entry of the key was counted");
}

static void counted(struct actor *actor, nidus_status status, uint64_t key, uint64_t delta)
{
	struct history *h = actor->history;
	if (ledger_held(&h->ledger, key) == 0) {
		history_took(actor, status, key, least(delta, highest(h)));
		return;
	}
	DEMAND_OK(status);
	learn_counted(h, key, delta);
	actor->changes++;
}

static uint64_t any_delta(struct actor *actor)
{
	return chance_one_in(&actor->chance, 64) ? chance_next(&actor->chance) >> 8
	                                         : 1 + chance_below(&actor->chance, 3);
}

static void count(struct actor *actor, uint64_t key)
{
	const struct history *h = actor->history;
	uint64_t delta = any_delta(actor);
	if (ledger_held(&h->ledger, key) == 0 && history_likely_refused(actor, key))
		look(actor, key);
	else
		counted(actor, spelled_add_count(h->filter, key, delta), key, delta);
}

void history_use_values(struct actor *actor)
{
	unsigned more = actor->filling ? 6 : 2;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t key = history_any_key(actor);
		unsigned roll = (unsigned)chance_below(&actor->chance, 16);
		if (roll < more)
			put_value(actor, key);
		else if (roll < 10)
			take_value(actor, key);
		else if (roll < 12)
			replace_value(actor, key);
		else if (roll < 14)
			count(actor, key);
		else
			look(actor, key);
	}
	actor->operations += 64;
}

/* Keys of one entry at most: which of several is counted would be seen too late. */
static size_t keep_single(const struct ledger *ledger, uint64_t *keys, uint64_t *hashes, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (ledger_held(ledger, keys[i]) > 1)
			continue;
		keys[kept] = keys[i];
		hashes[kept++] = hashes[i];
	}
	return kept;
}

void history_count_batch(struct actor *actor)
{
	struct history *h = actor->history;
	uint64_t keys[HISTORY_BATCH], hashes[HISTORY_BATCH], deltas[HISTORY_BATCH];
	bool ones = chance_one_in(&actor->chance, 4);
	if (history_tired(actor))
		return;
	size_t n = history_choose(actor, false, keys, hashes), done = SIZE_MAX;
	n = keep_single(&h->ledger, keys, hashes, n);
	for (size_t i = 0; i < n; i++)
		deltas[i] = ones ? 1 : any_delta(actor);
	nidus_status status =
		nidus_add_count_batch(h->filter, hashes, ones ? NULL : deltas, n, &done);
	DEMAND(done <= n && (status == NIDUS_OK) == (done == n));
	for (size_t i = 0; i < done + (done < n); i++)
		counted(actor, i < done ? NIDUS_OK : status, keys[i], deltas[i]);
	actor->operations += done + (done < n);
}

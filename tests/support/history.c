/* SPDX-License-Identifier: MIT
 *
 * history: faults, calls for single keys, and batches.
 */
#include "support/history.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/effort.h"
#include "support/filters.h"
#include "support/model.h"

#define COPIES_LIKELY 4  /* from here on an identity may be at its bound */
#define LOOKS_FREE 20000 /* slots that searches may look at, */
#define LOOKS_PAID 2     /* and so many more for each operation */

struct history *history_now;
uint64_t history_run_seed;
struct history_met history_met;

/* ------------------------------------------------------------------------ faults -- */

static void describe(char *text, size_t size)
{
	const struct history *h = history_now;
	if (h == NULL) {
		snprintf(text, size, "FAILED outside of a history\n");
		return;
	}
	const nidus_options *o = &h->options;
	snprintf(text, size,
	         "FAILED in history %" PRIu64 " of seed %" PRIu64 ", step %" PRIu64 ": %s\n"
	         "  %s, capacity %" PRIu64 " to %" PRIu64 ", fpr 2^%g, slots %u, features %#x, "
	         "max_steps %u, reserve %u, stash %u, value_bits %u, seed %" PRIu64 ", %s\n"
	         "  %" PRId64 " entries, %u %% of the keys among %" PRIu64 " hot ones, skew %u\n"
	         "  to repeat it: ./dev soak model 1 %" PRIu64 " %" PRIu64 "\n",
	         h->number, history_run_seed, h->step, h->act, nidus_family_name(o->family),
	         o->capacity, o->max_capacity, log2(o->fpr), o->slots, (unsigned)o->features,
	         o->max_steps, o->reserve, o->stash, o->value_bits, o->seed, nidus_isa(),
	         h->sums.total, h->hot_percent, h->hot, h->skew, history_run_seed, h->number);
}

static void complain(void)
{
	char text[1200];
	describe(text, sizeof text);
	ssize_t written = write(STDERR_FILENO, text, strlen(text));
	(void)written;
}

/* The first thread that finds a fault ends the program; the others wait for that. */
_Noreturn void history_fault(const char *what, const char *file, int line)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	fprintf(stderr, "\n%s:%d: does not hold: %s\n  the last reason given: \"%s\"\n", file, line,
	        what, nidus_reason());
	complain();
	_exit(1);
}

/* Somebody else's check ended the program in the middle of a history. */
static void left(void)
{
	if (history_now != NULL)
		complain();
}

static void crashed(int signal_number)
{
	complain();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

void history_watch_for_crashes(void)
{
	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	signal(SIGABRT, crashed);
	signal(SIGFPE, crashed);
	signal(SIGILL, crashed);
	(void)atexit(left);
}

void history_demand_status(nidus_status got, nidus_status wanted, const char *call,
                           const char *file, int line)
{
	char text[400];
	if (got == wanted)
		return;
	snprintf(text, sizeof text, "%s is %s; it was %s", call, nidus_status_name(wanted),
	         nidus_status_name(got));
	history_fault(text, file, line);
}

void history_demand_equal(uint64_t a, uint64_t b, const char *texts, const char *file, int line)
{
	char text[400];
	if (a == b)
		return;
	snprintf(text, sizeof text, "%s (%" PRIu64 " and %" PRIu64 ")", texts, a, b);
	history_fault(text, file, line);
}

/* ------------------------------------------------------------------ single calls -- */

/* The first key from this one on that belongs to the actor. */
static uint64_t own_from(const struct actor *actor, uint64_t key)
{
	const struct ledger *ledger = &actor->history->ledger;
	while (ledger->identity[key] % actor->parts != actor->part)
		key = key + 1 < ledger->keys ? key + 1 : 0;
	return key;
}

/* A part of a number as random as the 32 bits given. */
static uint64_t part_of(uint64_t number, uint64_t random)
{
	return number * (random & UINT32_MAX) >> 32;
}

uint64_t history_any_key(struct actor *actor)
{
	const struct history *h = actor->history;
	uint64_t random = chance_next(&actor->chance), below = h->ledger.keys;
	if (part_of(100, random >> 32) < h->hot_percent)
		below = h->hot;
	uint64_t key = part_of(below, random);
	for (unsigned i = 0; i < h->skew; i++)
		key = part_of(key, chance_next(&actor->chance));
	return actor->parts == 1 ? key : own_from(actor, key);
}

/* Threads begin with an effort of 0. */
bool history_tired(const struct actor *actor)
{
	bool alone = actor->parts == 1;
	uint64_t before = alone ? actor->history->looked : 0;
	uint64_t operations = actor->operations + (alone ? actor->history->operations : 0);
	return effort_of_thread()->looked - before > LOOKS_FREE + LOOKS_PAID * operations;
}

/* Full: the tide goes out, to some lower mark. */
static void ebb(struct actor *actor)
{
	struct history *h = actor->history;
	actor->filling = false;
	if (actor->parts > 1)
		return;
	uint64_t total = (uint64_t)(h->sums.total + actor->sums.total);
	h->low = chance_below(&actor->chance, total + 1);
}

/* A refusal must be one that the promises allow. */
static void accept_refusal(struct actor *actor, nidus_status status, uint64_t key)
{
	struct history *h = actor->history;
	if (status == NIDUS_COPIES) {
		if (actor->parts == 1)
			history_met.copies++;
		DEMAND(ledger_held(&h->ledger, key) > 1);
		return;
	}
	DEMAND_STATUS(status, NIDUS_FULL);
	ebb(actor);
	if (actor->parts > 1) /* nobody knows how many entries there are */
		return;
	history_met.full++;
	if (h->promises && h->sums.repeated + actor->sums.repeated == 0)
		DEMAND((uint64_t)(h->sums.total + actor->sums.total) >= h->promise);
}

void history_took(struct actor *actor, nidus_status status, uint64_t key, uint64_t value)
{
	struct ledger *ledger = &actor->history->ledger;
	if (status != NIDUS_OK) {
		accept_refusal(actor, status, key);
		return;
	}
	actor->changes++;
	ledger_add(ledger, &actor->sums, key, value);
	if (actor->history->removes)
		DEMAND(ledger_held(ledger, key) < HISTORY_COPIES_MOST);
}

static void look(struct actor *actor, uint64_t key)
{
	const struct history *h = actor->history;
	unsigned held = ledger_held(&h->ledger, key);
	if (!h->ledger.exact) {
		DEMAND(spelled_contains(h->filter, key) || held == 0);
		DEMAND(spelled_count(h->filter, key) == 1 || held == 0);
	} else if (key % 2 == 0) {
		bool yes = spelled_contains(h->filter, key);
		DEMAND(h->ledger.sees_all ? yes == (held > 0) : yes >= (held > 0));
	} else {
		DEMAND_EQUAL(spelled_count(h->filter, key), held);
	}
}

bool history_likely_refused(struct actor *actor, uint64_t key)
{
	bool crowded = ledger_held(&actor->history->ledger, key) >= COPIES_LIKELY;
	return history_tired(actor) || (crowded && !chance_one_in(&actor->chance, 64));
}

static void put(struct actor *actor, uint64_t key)
{
	const struct history *h = actor->history;
	if ((h->distinct && h->ledger.copies[key] > 0) || history_likely_refused(actor, key))
		look(actor, key);
	else
		history_took(actor, spelled_insert(h->filter, key), key, 0);
}

static void put_new(struct actor *actor, uint64_t key)
{
	const struct history *h = actor->history;
	unsigned held = ledger_held(&h->ledger, key);
	if (held == 0 && history_likely_refused(actor, key)) {
		look(actor, key);
		return;
	}
	nidus_status status = spelled_insert_new(h->filter, key);
	if (h->ledger.exact)
		DEMAND_EQUAL(status == NIDUS_PRESENT, held > 0);
	else
		DEMAND(status == NIDUS_PRESENT || held == 0);
	if (status != NIDUS_PRESENT)
		history_took(actor, status, key, 0);
}

static void take(struct actor *actor, uint64_t key)
{
	struct history *h = actor->history;
	if (!h->removes) {
		DEMAND_STATUS(spelled_remove(h->filter, key), NIDUS_E_UNSUPPORTED);
	} else if (h->ledger.copies[key] > 0) {
		DEMAND_OK(spelled_remove(h->filter, key));
		actor->changes++;
		history_learn_removed(actor, key);
	} else if (ledger_held(&h->ledger, key) == 0) {
		DEMAND_STATUS(spelled_remove(h->filter, key), NIDUS_NOT_FOUND);
	} else {
		look(actor, key);
	}
}

static void do_singles(struct actor *actor)
{
	unsigned more = actor->filling ? 10 : 3;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t key = history_any_key(actor);
		unsigned roll = (unsigned)chance_next(&actor->chance) % 16;
		if (roll < more)
			put(actor, key);
		else if (roll == more)
			put_new(actor, key);
		else if (roll <= 13)
			take(actor, key);
		else
			look(actor, key);
	}
	actor->operations += 64;
}

/* ----------------------------------------------------------------------- batches -- */

static void look_at_range(struct actor *actor, const nidus_filter *filter, uint64_t from, size_t n)
{
	const struct ledger *ledger = &actor->history->ledger;
	uint8_t yes[HISTORY_BATCH];
	nidus_contains_batch(filter, ledger->hashes + from, n, yes);
	for (size_t i = 0; i < n; i++) {
		if (actor->parts > 1 && ledger->identity[from + i] % actor->parts != actor->part)
			continue; /* another thread's */
		bool held = ledger_held(ledger, from + i) > 0;
		DEMAND(ledger->sees_all ? yes[i] == held : yes[i] >= held);
	}
	actor->operations += n;
}

/* Where a run of at most HISTORY_BATCH keys begins, and how many they are. */
static uint64_t any_range(struct actor *actor, size_t *n)
{
	uint64_t keys = actor->history->ledger.keys;
	uint64_t from = history_any_key(actor),
		 most = keys - from < HISTORY_BATCH ? keys - from : HISTORY_BATCH;
	*n = 1 + (size_t)chance_below(&actor->chance, most);
	return from;
}

static void do_contains_batch(struct actor *actor)
{
	size_t n;
	uint64_t from = any_range(actor, &n);
	if (actor->history->ledger.values != NULL && chance_percent(&actor->chance, 30))
		history_find_range(actor, actor->history->filter, from, n);
	else
		look_at_range(actor, actor->history->filter, from, n);
}

/* The keys of a range that the actor may put in, or take out. */
size_t history_choose(struct actor *actor, bool out, uint64_t keys[HISTORY_BATCH],
                      uint64_t hashes[HISTORY_BATCH])
{
	const struct history *h = actor->history;
	size_t n, chosen = 0;
	uint64_t from = any_range(actor, &n);
	if (!out && actor->batch > 0 && n > actor->batch)
		n = actor->batch;
	for (uint64_t key = from; key < from + n; key++) {
		if (h->ledger.identity[key] % actor->parts != actor->part)
			continue; /* another thread's */
		bool here = h->ledger.copies[key] > 0;
		if (out && h->ledger.values != NULL && ledger_held(&h->ledger, key) > 1)
			continue; /* nobody knows which entry would go */
		if (out ? !here : here && h->distinct)
			continue;
		keys[chosen] = key;
		hashes[chosen++] = h->ledger.hashes[key];
	}
	return chosen;
}

/* With values, or all of them 0. */
static nidus_status insert_batch(struct actor *actor, const uint64_t *hashes, uint64_t *values,
                                 size_t n, size_t *done)
{
	struct history *h = actor->history;
	bool valued = h->ledger.values != NULL && chance_percent(&actor->chance, 70);
	for (size_t i = 0; i < n; i++)
		values[i] = valued ? history_any_value(actor) : 0;
	return valued ? nidus_insert_value_batch(h->filter, hashes, values, n, done)
	              : nidus_insert_batch(h->filter, hashes, n, done);
}

static void do_insert_batch(struct actor *actor)
{
	uint64_t keys[HISTORY_BATCH], hashes[HISTORY_BATCH], values[HISTORY_BATCH];
	if (history_tired(actor))
		return;
	size_t n = history_choose(actor, false, keys, hashes), done = SIZE_MAX;
	uint64_t looked = effort_of_thread()->looked;
	nidus_status status = insert_batch(actor, hashes, values, n, &done);
	looked = effort_of_thread()->looked - looked;
	DEMAND(done <= n && (status == NIDUS_OK) == (done == n));
	for (size_t i = 0; i < done; i++)
		history_took(actor, NIDUS_OK, keys[i], values[i]);
	if (done < n)
		accept_refusal(actor, status, keys[done]);
	actor->operations += done + (done < n);
	if (n > 0)
		actor->batch = 1 + (size_t)(LOOKS_FREE / (looked / n + 1));
}

static void do_remove_batch(struct actor *actor)
{
	struct history *h = actor->history;
	uint64_t keys[HISTORY_BATCH], hashes[HISTORY_BATCH];
	if (!h->removes)
		return;
	size_t n = history_choose(actor, true, keys, hashes), done = SIZE_MAX;
	DEMAND_OK(nidus_remove_batch(h->filter, hashes, n, &done));
	DEMAND_EQUAL(done, n);
	for (size_t i = 0; i < n; i++)
		ledger_drop(&h->ledger, &actor->sums, keys[i]);
	actor->operations += n;
	actor->changes += n;
}

void history_use(struct actor *actor)
{
	unsigned roll = (unsigned)chance_below(&actor->chance, 16);
	if (actor->history->ledger.values != NULL && roll < 2)
		history_use_values(actor);
	else if (actor->history->ledger.values != NULL && roll == 9)
		history_count_batch(actor);
	else if (roll < 5)
		do_singles(actor);
	else if (roll < 10)
		do_contains_batch(actor);
	else if ((roll < 14) == actor->filling)
		do_insert_batch(actor);
	else
		do_remove_batch(actor);
}

/* ----------------------------------------------------------------- whole filters -- */

void history_fold(struct history *h, struct actor *actor)
{
	h->sums.total += actor->sums.total;
	h->sums.repeated += actor->sums.repeated;
	h->operations += actor->operations;
	history_met.changes += actor->changes;
	actor->sums = (struct ledger_sums){ 0 };
	actor->operations = 0;
	actor->changes = 0;
}

void history_look_for_all(struct history *h, const nidus_filter *filter)
{
	struct actor actor = { .history = h, .parts = 1 };
	for (uint64_t from = 0; from < h->ledger.keys; from += HISTORY_BATCH) {
		uint64_t left_over = h->ledger.keys - from;
		look_at_range(&actor, filter, from,
		              left_over < HISTORY_BATCH ? (size_t)left_over : HISTORY_BATCH);
	}
	history_fold(h, &actor);
}

void history_check_contents(struct history *h, const nidus_filter *filter)
{
	const struct ledger *ledger = &h->ledger;
	history_look_for_all(h, filter);
	for (uint64_t key = h->step % 8; key < ledger->keys && ledger->exact; key += 8) {
		if (ledger->values != NULL)
			DEMAND(history_finds(h, filter, key));
		else
			DEMAND_EQUAL(nidus_count_key_hash(filter, ledger->hashes[key]),
			             ledger_held(ledger, key));
		h->operations++;
	}
	if (h->removes)
		DEMAND_EQUAL(info_of(filter).count, h->sums.total);
}

/* What the filter promises now; the rate may only change if the act before may do so. */
void history_learn_promises(struct history *h, bool rate_may_change)
{
	nidus_info info = info_of(h->filter);
	if (!rate_may_change)
		DEMAND(info.fpr_target <= h->target && info.fpr_target >= h->target);
	h->target = info.fpr_target;
	h->promise = info.capacity > info.max_capacity ? info.capacity : info.max_capacity;
}

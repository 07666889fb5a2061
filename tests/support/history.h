/* SPDX-License-Identifier: MIT
 *
 * history: one filter, used at random, and what it must answer.
 *
 * What a history does follows from its seed alone, but for the order in which threads
 * have their turns. Every answer is checked: lookups, counts, insert_new and walks
 * exactly (support/ledger.h), refusals against the promises of nidus.h. The first wrong
 * answer ends the program and tells how to repeat the history.
 */
#ifndef NIDUS_TESTS_SUPPORT_HISTORY_H
#define NIDUS_TESTS_SUPPORT_HISTORY_H

#include "support/chance.h"
#include "support/ledger.h"

#define HISTORY_BATCH 1024

struct history {
	uint64_t number;
	struct chance chance;
	nidus_options options;
	nidus_filter *filter;
	struct ledger ledger;
	struct ledger_sums sums;
	uint64_t promise;   /* distinct keys that fit */
	double target;      /* the rate it promises */
	uint64_t high, low; /* where the tides turn */
	bool removes, grows, merges;
	bool promises;        /* no whim of the options voids the capacity promise */
	bool distinct;        /* no key is put in twice */
	unsigned hot_percent; /* of the keys are from the first `hot` ones */
	uint64_t hot;
	unsigned skew; /* keys are the more likely the lower, by this power */
	uint64_t operations, step, budget;
	uint64_t looked; /* what the thread's effort (base/effort.h) was at the beginning */
	const char *act;
};

/* Somebody who uses the filter of a history; threads have identities of their own. */
struct actor {
	struct history *history;
	struct chance chance;
	unsigned part, parts; /* identities whose number mod parts is part */
	struct ledger_sums sums;
	uint64_t operations, changes, limit;
	int64_t room; /* for entries of a thread's own */
	bool filling;
	size_t batch; /* keys of his next insert batch at most; 0: HISTORY_BATCH */
};

/* The one that is under way, of which run; for what is printed when it fails. */
extern struct history *history_now;
extern uint64_t history_run_seed;

/* What came up: histories that never moved anything would prove little. */
struct history_met {
	uint64_t changes, moving, saved_amid, cloned_amid, merged, relaxed, grown, shrunk, packed,
		full, copies, built, threads;
};
extern struct history_met history_met;

/* --------------------------------------------------------------------- faults -- */

/* Ends the program with a description of the history. */
_Noreturn void history_fault(const char *what, const char *file, int line);
/* The same at crashes. */
void history_watch_for_crashes(void);

void history_demand_status(nidus_status got, nidus_status wanted, const char *call,
                           const char *file, int line);
void history_demand_equal(uint64_t a, uint64_t b, const char *texts, const char *file, int line);

#define DEMAND(condition) ((condition) ? (void)0 : history_fault(#condition, __FILE__, __LINE__))
#define DEMAND_EQUAL(a, b) \
	history_demand_equal((uint64_t)(a), (uint64_t)(b), #a " == " #b, __FILE__, __LINE__)
#define DEMAND_STATUS(call, wanted) \
	history_demand_status((call), (wanted), #call, __FILE__, __LINE__)
#define DEMAND_OK(call) DEMAND_STATUS(call, NIDUS_OK)

/* ------------------------------------------------------------------------ use -- */

/*
 * A search in a crowded table takes as long as thousands of other calls: whether searches
 * have looked at more slots than the operations so far pay for. Inserts are spared then.
 */
bool history_tired(const struct actor *actor);

/* An insert of a key came to this: notes it, or sees that it may be refused. */
void history_took(struct actor *actor, nidus_status status, uint64_t key, uint64_t value);
bool history_likely_refused(struct actor *actor, uint64_t key);
uint64_t history_any_key(struct actor *actor);

/* Single calls, or one batch. */
void history_use(struct actor *actor);

/* Adds what an actor did to the history's sums, and sets his own to 0. */
void history_fold(struct history *h, struct actor *actor);

/* The keys of a random range that an actor may put in, or take out; how many they are. */
size_t history_choose(struct actor *actor, bool out, uint64_t keys[HISTORY_BATCH],
                      uint64_t hashes[HISTORY_BATCH]);

/* ---------------------------------------------------------------------- values -- */

#define HISTORY_COPIES_MOST 4096 /* of an identity: more than histories come to */

uint64_t history_any_value(struct actor *actor);

/* Single calls for keys and their values. */
void history_use_values(struct actor *actor);

/* Whether a filter has the values of a key that the ledger has. */
bool history_finds(const struct history *h, const nidus_filter *filter, uint64_t key);

/* nidus_find_batch for n keys; what it finds of the actor's own is checked. */
void history_find_range(struct actor *actor, const nidus_filter *filter, uint64_t from, size_t n);

/* nidus_add_count_batch. */
void history_count_batch(struct actor *actor);

/* A remove without a value took an entry of the key: learns which, and drops it. */
void history_learn_removed(struct actor *actor, uint64_t key);

/* ----------------------------------------------------------------- whole filters -- */

/* Looks for all keys in a filter that should hold the same ones. */
void history_look_for_all(struct history *h, const nidus_filter *filter);

/* The same, and counts copies, in a filter that should hold as many of each. */
void history_check_contents(struct history *h, const nidus_filter *filter);

/* What the filter promises now; the rate may only change if the act before may do so. */
void history_learn_promises(struct history *h, bool rate_may_change);

/* Something with the whole filter: a copy, a file, growth, a merge, threads and so on. */
void history_act(struct history *h);

#endif

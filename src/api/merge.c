/* SPDX-License-Identifier: MIT
 *
 * merge: one filter that holds the entries of several.
 *
 * The rate of a table depends on its entries alone: n entries are n identities of
 * one space, however large the table is. So everything follows from the number of
 * entries. The target is that of the parts, or the rate of so many entries if that is
 * higher; the size is the smallest that has room. Capacities of the parts do not
 * matter, and neither does the order in which filters are merged.
 *
 *     parts' entries --> target --> level --> empty filter --> transfer part after part
 *
 * If entries are kept once, their number is not known before: the size begins with that
 * of the largest part and doubles as needed.
 */
#include "api/merge.h"
#include "api/claims.h"
#include "api/growth.h"
#include "api/moving.h"
#include "api/shared.h"

#include <math.h>
#include <stdlib.h>

#define RATE_MOST 0.5 /* a filter that would answer yes more often than not is refused */
#define TRIES 4       /* sizes: copies of keys crowd some tables and not others */

struct merger {
	const nidus_filter *const *filters;
	size_t n;
	nidus_merge_how how;
	const struct family *family;
	uint64_t keys;    /* entries of all, but of each no more than its capacity */
	uint64_t largest; /* the most of one */
	double targets;   /* of all, added up */
	/* What the parts have in common, at level 0: its fpr is the lowest target,
	 * its max_capacity the sum of theirs. */
	struct blueprint base;
};

/* ------------------------------------------------------------------ the parts -- */

nidus_status merge_check_match(const struct blueprint *a, const struct blueprint *b,
                               bool core_shrinks)
{
	if (a->family != b->family)
		return fail(NIDUS_E_MISMATCH, "the families differ: %s and %s",
		            nidus_family_name((nidus_family)a->family),
		            nidus_family_name((nidus_family)b->family));
	if (a->seed != b->seed)
		return fail(NIDUS_E_MISMATCH,
		            "the seeds differ: make both filters with the same seed");
	bool same_core = a->core_bits == b->core_bits && a->growth_bits == b->growth_bits;
	bool same_sum = a->core_bits + a->growth_bits == b->core_bits + b->growth_bits;
	if (!same_sum || (!same_core && !core_shrinks) || a->slots != b->slots)
		return fail(NIDUS_E_MISMATCH,
		            "the fingerprints differ: make both filters with the same rate, slots "
		            "and max_capacity");
	if (a->value_bits != b->value_bits)
		return fail(NIDUS_E_MISMATCH, "the values differ: %u and %u bits", a->value_bits,
		            b->value_bits);
	if (a->groups != b->groups || a->chunks != b->chunks)
		return fail(NIDUS_E_MISMATCH,
		            "the base sizes differ: make both filters with the same capacity and "
		            "rate");
	return NIDUS_OK;
}

/* A failure of one part of many, with its number. */
static nidus_status blame(const struct merger *merger, size_t part, nidus_status status)
{
	char reason[REASON_SIZE];
	if (status == NIDUS_OK || merger->n <= 2)
		return status;
	strcpy(reason, reason_text());
	return fail(status, "filter %zu of %zu: %s", part + 1, merger->n, reason);
}

/* Whether all can be merged. Errors: E_MISMATCH, E_UNSUPPORTED, E_CORRUPT. */
static nidus_status check_parts(const struct merger *merger)
{
	const nidus_filter *first = merger->filters[0];
	if (!(first->family->features & NIDUS_MERGE))
		return fail(NIDUS_E_UNSUPPORTED, "the %s family cannot merge", first->family->name);
	for (size_t i = 0; i < merger->n; i++) {
		const nidus_filter *part = merger->filters[i];
		nidus_status status =
			merge_check_match(&first->plan, &part->plan, first->family->core_shrinks);
		if (status == NIDUS_OK)
			status = filter_check_mapped(part);
		if (status != NIDUS_OK)
			return blame(merger, i, status);
	}
	return NIDUS_OK;
}

/* Adds to a sum of sizes. Errors: E_RANGE. */
static nidus_status add_to(uint64_t *sum, uint64_t more)
{
	if (add_overflows(*sum, more, sum))
		return fail(NIDUS_E_RANGE, "the sizes add up to more than any filter has");
	return NIDUS_OK;
}

/* What a part brings to keys, largest and base. Errors: E_RANGE. */
static nidus_status add_part(struct merger *merger, const nidus_filter *part)
{
	const struct blueprint *plan = &part->plan;
	struct blueprint *base = &merger->base;
	uint64_t count = moving_held(part);
	bool bits = merger->family->joint != NULL; /* Bloom families: never full */
	if (!bits && count > plan->capacity)
		count = plan->capacity; /* the result may be overfull to the same degree */
	if (merger->largest < count)
		merger->largest = count;
	if (plan->fpr < base->fpr) {
		base->fpr = plan->fpr;
		base->capacity = plan->capacity;
	}
	if (plan->growth_bits < base->growth_bits) { /* the other turned core bits into them */
		base->growth_bits = plan->growth_bits;
		base->core_bits = plan->core_bits;
	}
	base->features |= plan->features & NIDUS_NO_DELETE;
	if (base->features & NIDUS_NO_DELETE)
		base->features &= ~(uint32_t)NIDUS_DELETE;
	merger->targets += plan->fpr;
	nidus_status status = add_to(&merger->keys, count);
	return status == NIDUS_OK ? add_to(&base->max_capacity, plan->max_capacity) : status;
}

/*
 * The target that a part was made with, at least. Relaxed growth doubles it with each
 * borrowed bit, merges raise it by no more than that.
 */
static double made_with(const struct blueprint *plan)
{
	return ldexp(plan->fpr, -(int)plan->borrowed);
}

/* Finds what the parts have in common. Errors: E_RANGE. */
static nidus_status survey(struct merger *merger)
{
	double made = 0;
	nidus_status status = NIDUS_OK;
	merger->family = merger->filters[0]->family;
	merger->base = merger->filters[0]->plan;
	merger->base.max_capacity = 0;
	if (merger->how != NIDUS_MERGE_COPIES && merger->family->joint == NULL)
		merger->base.features |= NIDUS_NO_DELETE; /* twins share an entry */
	for (size_t i = 0; i < merger->n && status == NIDUS_OK; i++) {
		made = fmax(made, made_with(&merger->filters[i]->plan));
		status = add_part(merger, merger->filters[i]);
	}
	merger->base.level = 0;
	merger->base.borrowed = 0;
	merger->base.fpr = fmin(merger->base.fpr, made);
	return status;
}

/* ------------------------------------------------------------------- the plan -- */

/* Goes to the next level; where no growth bits are left the core gives one. */
static void add_level(struct blueprint *plan, const struct family *family)
{
	if (plan->level++ < plan->growth_bits + plan->borrowed)
		return;
	if (!family->core_shrinks) {
		plan->borrowed++;
	} else {
		plan->core_bits--;
		plan->growth_bits++;
	}
}

/* How far the plan can grow by itself: to max_capacity, if its bits, rate and size allow. */
static uint64_t growth_limit(const struct blueprint *plan, const struct family *family)
{
	struct blueprint last = *plan, largest;
	if (family->larger(plan, plan->max_capacity, false, &largest) == NIDUS_OK)
		return plan->max_capacity;
	for (last.level = plan->growth_bits + plan->borrowed; last.level > plan->level;
	     last.level--) {
		if (family->larger(&last, plan->capacity, false, &largest) != NIDUS_OK)
			continue;
		uint64_t limit = largest.capacity;
		if (family->larger(plan, limit, false, &largest) == NIDUS_OK)
			return limit;
	}
	return plan->capacity;
}

/* Raises the target to the rate of so many keys, if that is higher, with all its bits used. */
static void allow_rate(struct blueprint *plan, const struct family *family, uint64_t keys)
{
	struct blueprint grown = *plan;
	grown.level = plan->growth_bits + plan->borrowed;
	/* Linear in the keys; a hair more, as families round in their own order. */
	double rate = family->forecast(&grown, 1).fpr * (double)keys * (1 + 0x1p-40);
	if (plan->fpr < rate)
		plan->fpr = rate;
}

/*
 * The plan for so many keys, of `level` at least. Its target is the base's, or the
 * rate of so many, which is the same at every level. Errors: E_RANGE.
 */
static nidus_status plan_for(const struct merger *merger, uint64_t keys, unsigned level,
                             struct blueprint *plan)
{
	const struct family *family = merger->family;
	struct blueprint from = merger->base;
	keys = keys > 1 ? keys : 1;
	if (family->joint != NULL)
		return family->joint(&from, keys, plan);
	while (from.level < level)
		add_level(&from, family);
	allow_rate(&from, family, keys);
	while (family->larger(&from, keys, false, plan) != NIDUS_OK) {
		from.level = from.growth_bits + from.borrowed;
		add_level(&from, family);
		allow_rate(&from, family, keys);
		nidus_status status = family->check(&from);
		if (status != NIDUS_OK)
			return status;
	}
	if (plan->fpr > RATE_MOST)
		return fail(NIDUS_E_RANGE,
		            "%llu keys with fingerprints this short would make the rate %.2f; make "
		            "the filters with a lower rate or a larger max_capacity",
		            (unsigned long long)keys, plan->fpr);
	plan->max_capacity = growth_limit(plan, family);
	if (plan->fpr > merger->targets) /* by a hair: the last windows of a chunk overlap less */
		plan->fpr = merger->targets;
	if (claims_check(family, plan) != NIDUS_OK) /* no file could hold it */
		return fail(NIDUS_E_RANGE,
		            "the merged filter would be far larger than its %llu keys explain",
		            (unsigned long long)keys);
	return NIDUS_OK;
}

/* ------------------------------------------------------------------- the filter -- */

/* Entries on their way into one filter. */
struct gathering {
	const struct merger *merger;
	nidus_filter *to;
	uint64_t count; /* of entries that are kept once, */
	uint64_t room;  /* and for how many there is room */
};

/* Puts all entries of a filter into another: growth_transfer, or put_all. */
typedef nidus_status (*putter)(nidus_filter *to, const nidus_filter *from);

/* Makes a filter of a plan the gathering's. Errors: as the putter, E_NOMEM; nothing changed then. */
typedef nidus_status (*filler)(struct gathering *gathering, const struct blueprint *plan,
                               putter put);

/*
 * growth_transfer entry by entry: a filter that can grow keeps what finds no place in its
 * overflow list. Errors: FULL, COPIES, E_NOMEM.
 */
static nidus_status put_all(nidus_filter *to, const nidus_filter *from)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	uint64_t hash;
	nidus_status status = NIDUS_OK;
	while (status == NIDUS_OK && moving_next(from, &cursor, &entry)) {
		status = to->family->entry_hash(to->body, &entry, &hash);
		if (status == NIDUS_OK)
			status = growth_put(to, hash, entry.value);
	}
	return status;
}

/*
 * Fills a filter for so many keys, of at least `level`. Copies of keys crowd some sizes and not
 * others, so several are tried. Hot keys may crowd all of them: then the first size takes an
 * overflow list, if it can grow. Errors: as the filler, E_RANGE.
 */
static nidus_status fill_some_size(struct gathering *gathering, uint64_t keys, unsigned level,
                                   filler fill)
{
	struct blueprint first, plan;
	nidus_status status = plan_for(gathering->merger, keys, level, &first);
	if (status != NIDUS_OK)
		return status;
	reason_set_aside();
	status = fill(gathering, &first, growth_transfer);
	level = first.level + 1;
	for (unsigned tries = 1; tries < TRIES && status == NIDUS_FULL; tries++) {
		if (plan_for(gathering->merger, keys, level, &plan) != NIDUS_OK)
			break;
		status = fill(gathering, &plan, growth_transfer);
		level = plan.level + 1;
	}
	if (overflow_helps(status) && first.growth_bits > 0)
		status = fill(gathering, &first, put_all);
	return reason_decide(status);
}

/* ---------------------------------------------------------------- all entries -- */

/* A filler: all entries of all parts. */
static nidus_status fill_with_parts(struct gathering *gathering, const struct blueprint *plan,
                                    putter put)
{
	const struct merger *merger = gathering->merger;
	const nidus_filter *first = merger->filters[0];
	nidus_filter *made;
	nidus_status status = filter_make(first->family, plan, &first->allocator, NULL, &made);
	for (size_t i = 0; i < merger->n && status == NIDUS_OK; i++)
		status = put(made, merger->filters[i]);
	if (status == NIDUS_OK)
		gathering->to = made;
	else
		nidus_free(made);
	return status;
}

static nidus_status too_many_copies(void)
{
	return fail(NIDUS_COPIES, "a key has more copies in these filters than one filter can "
	                          "hold; keep equal entries once (NIDUS_MERGE_UNIQUE)");
}

/* The filter with all entries. Errors: as nidus_merge_many. */
static nidus_status merge_all(const struct merger *merger, nidus_filter **merged)
{
	struct gathering gathering = { .merger = merger };
	nidus_status status = fill_some_size(&gathering, merger->keys, 0, fill_with_parts);
	*merged = gathering.to;
	return overflow_helps(status) ? too_many_copies() : status;
}

/* --------------------------------------------------------------- entries once -- */

/* A filler: what was gathered so far. A plan of the present level only promises more. */
static nidus_status go_on_with(struct gathering *gathering, const struct blueprint *plan,
                               putter put)
{
	const nidus_filter *first = gathering->merger->filters[0];
	nidus_filter *made;
	if (gathering->to != NULL && gathering->to->plan.level == plan->level) {
		growth_promise(gathering->to, plan);
		return NIDUS_OK;
	}
	nidus_status status = filter_make(first->family, plan, &first->allocator, NULL, &made);
	if (status == NIDUS_OK && gathering->to != NULL)
		status = put(made, gathering->to);
	if (status != NIDUS_OK) {
		nidus_free(made);
		return status;
	}
	nidus_free(gathering->to);
	gathering->to = made;
	return NIDUS_OK;
}

/* How many entries to make room for next: twice as many, but no more than can come. */
static uint64_t next_room(const struct gathering *gathering)
{
	const struct merger *merger = gathering->merger;
	uint64_t count = gathering->count, next = 2 * count;
	double most = 0.99 * RATE_MOST / merger->family->forecast(&merger->base, 1).fpr;
	next = next > merger->largest ? next : merger->largest;
	next = next < merger->keys ? next : merger->keys;
	if ((double)next > most)
		next = (uint64_t)most;
	return next > count ? next : count + 1;
}

/* What two values of an identity become. */
static uint64_t combined(const struct merger *merger, uint64_t a, uint64_t b)
{
	switch (merger->how) {
	case NIDUS_MERGE_SUM:
		return value_sum(a, b, merger->base.value_bits);
	case NIDUS_MERGE_MAX:
		return a > b ? a : b;
	default:
		return a | b;
	}
}

/* Joins an entry with what is there already. Errors: NOT_FOUND (nothing is). */
static nidus_status join(const struct merger *merger, nidus_filter *to, uint64_t hash,
                         uint64_t value)
{
	struct value_change change = { VALUE_REPLACE, value, value };
	if (merger->base.value_bits == 0)
		return to->ops->contains(to->body, hash) ? NIDUS_OK : NIDUS_NOT_FOUND;
	if (merger->how != NIDUS_MERGE_UNIQUE) {
		if (to->ops->find(to->body, hash, &change.old, 1) == 0)
			return NIDUS_NOT_FOUND;
		change.fresh = combined(merger, change.old, value);
	}
	return to->ops->change(to->body, hash, change);
}

/* Puts in an entry that is not there, into a larger filter if need be. */
static nidus_status gather_new(struct gathering *gathering, uint64_t hash, uint64_t value)
{
	nidus_filter *to = gathering->to;
	nidus_status status = body_insert(to->ops, to->body, hash, value);
	if (status == NIDUS_FULL) {
		status = fill_some_size(gathering, gathering->room, to->plan.level + 1, go_on_with);
		to = gathering->to;
		if (status == NIDUS_OK)
			status = body_insert(to->ops, to->body, hash, value);
	}
	return overflow_helps(status) && to->grows ? growth_put(to, hash, value) : status;
}

static nidus_status gather_entry(struct gathering *gathering, const nidus_entry *entry)
{
	uint64_t hash;
	nidus_status status = NIDUS_OK;
	if (gathering->count == gathering->room) {
		gathering->room = next_room(gathering);
		status = fill_some_size(gathering, gathering->room, 0, go_on_with);
	}
	if (status == NIDUS_OK)
		status = gathering->to->family->entry_hash(gathering->to->body, entry, &hash);
	if (status == NIDUS_OK)
		status = join(gathering->merger, gathering->to, hash, entry->value);
	if (status != NIDUS_NOT_FOUND)
		return status;
	status = gather_new(gathering, hash, entry->value);
	gathering->count += status == NIDUS_OK;
	return status;
}

static nidus_status gather(struct gathering *gathering, const nidus_filter *part)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	nidus_status status = NIDUS_OK;
	while (status == NIDUS_OK && moving_next(part, &cursor, &entry))
		status = gather_entry(gathering, &entry);
	return status;
}

/* The filter with every entry once. Errors: as nidus_merge_many. */
static nidus_status merge_unique(const struct merger *merger, nidus_filter **merged)
{
	struct gathering gathering = { .merger = merger };
	nidus_status status = NIDUS_OK;
	for (size_t i = 0; i < merger->n && status == NIDUS_OK; i++)
		status = gather(&gathering, merger->filters[i]);
	/* Size and target are those of the entries that there are in the end. */
	uint64_t keys = gathering.count < merger->keys ? gathering.count : merger->keys;
	if (status == NIDUS_OK)
		status = fill_some_size(&gathering, keys, 0, go_on_with);
	if (status == NIDUS_OK)
		*merged = gathering.to;
	else
		nidus_free(gathering.to);
	return status;
}

/* -------------------------------------------------------------------- the call -- */

static nidus_status merge(struct merger *merger, nidus_filter **merged)
{
	nidus_status status = check_parts(merger);
	if (status == NIDUS_OK)
		status = survey(merger);
	if (status != NIDUS_OK)
		return status;
	bool once = merger->how != NIDUS_MERGE_COPIES && merger->family->joint == NULL;
	return once ? merge_unique(merger, merged) : merge_all(merger, merged);
}

static int by_address(const void *a, const void *b)
{
	uintptr_t first = (uintptr_t) * (const nidus_filter *const *)a;
	uintptr_t second = (uintptr_t) * (const nidus_filter *const *)b;
	return (first > second) - (first < second);
}

/* The filters that threads share, each once, in an order that all threads agree on. */
struct shared_parts {
	struct block memory;
	const nidus_filter **filters;
	size_t n;
};

/* Errors: E_NOMEM. */
static nidus_status find_shared(const struct merger *merger, struct shared_parts *shared)
{
	size_t n = 0, different = 0;
	*shared = (struct shared_parts){ 0 };
	for (size_t i = 0; i < merger->n; i++)
		n += merger->filters[i]->gate != NULL;
	if (n == 0)
		return NIDUS_OK;
	nidus_status status = memory_take(&merger->filters[0]->allocator,
	                                  n * sizeof *shared->filters, &shared->memory);
	if (status != NIDUS_OK)
		return status;
	shared->filters = (const nidus_filter **)(void *)shared->memory.bytes;
	for (size_t i = 0; i < merger->n; i++) {
		if (merger->filters[i]->gate != NULL)
			shared->filters[shared->n++] = merger->filters[i];
	}
	qsort(shared->filters, n, sizeof *shared->filters, by_address);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || shared->filters[i] != shared->filters[i - 1])
			shared->filters[different++] = shared->filters[i];
	}
	shared->n = different;
	return NIDUS_OK;
}

static nidus_status merge_stopped(struct merger *merger, nidus_filter **merged)
{
	struct shared_parts shared;
	nidus_status status = find_shared(merger, &shared);
	if (status != NIDUS_OK)
		return status;
	for (size_t i = 0; i < shared.n; i++)
		shared_stop(shared.filters[i], false);
	status = merge(merger, merged);
	for (size_t i = 0; i < shared.n; i++)
		shared_go_on(shared.filters[i]);
	memory_give(&merger->filters[0]->allocator, &shared.memory);
	return status;
}

nidus_status nidus_merge_many(const nidus_filter *const *filters, size_t n, nidus_merge_how how,
                              nidus_filter **merged)
{
	if (merged == NULL)
		return filter_null("merged");
	*merged = NULL;
	if (n == 0)
		return fail(NIDUS_E_ARG, "a merge needs at least one filter");
	if (filters == NULL)
		return filter_null("filters");
	for (size_t i = 0; i < n; i++) {
		if (filters[i] == NULL)
			return fail(NIDUS_E_ARG, "filter %zu of %zu is NULL", i + 1, n);
	}
	if ((unsigned)how > NIDUS_MERGE_OR)
		return fail(
			NIDUS_E_ARG,
			"%d is no way to merge: NIDUS_MERGE_COPIES, UNIQUE, SUM, MAX and OR are",
			(int)how);
	struct merger merger = { .filters = filters, .n = n, .how = how };
	return merge_stopped(&merger, merged);
}

nidus_status nidus_merge(const nidus_filter *a, const nidus_filter *b, nidus_filter **merged)
{
	const nidus_filter *both[] = { a, b };
	return nidus_merge_many(both, 2, NIDUS_MERGE_COPIES, merged);
}

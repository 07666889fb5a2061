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
 *  - Filters of fixed size whose entries fit into one of that size: into such a one.
 *  - All others: into a directory (api/directory.h) that is large enough for all entries
 *    before the first comes, segment by segment. If entries are kept once their number is not
 *    known before: then the directory grows as they come.
 *
 * Filters that were opened are read one after another, and their pages leave the memory when
 * they are done: a merge of a thousand files takes the memory of its result and of one file.
 */
#include "api/merge.h"
#include "api/claims.h"
#include "api/directory_parts.h"
#include "api/growth.h"
#include "api/shared.h"

#include <math.h>
#include <stdlib.h>

#define RATE_MOST 0.5 /* a filter that would answer yes more often than not is refused */

#define OVERFULL 1.5 /* times the targets of all: parts that are fuller raise the target */

struct merger {
	const nidus_filter *const *filters;
	size_t n;
	nidus_merge_how how;
	const struct family *family; /* of the first */
	bool grows;                  /* some of them are directories */
	uint64_t keys;               /* entries of all */
	double targets;              /* of all, added up */
	uint64_t largest;            /* max_capacity of any */
	/* What the parts have in common: its fpr is the lowest target, its max_capacity the sum of
	 * theirs. */
	struct blueprint base;
};

/* ------------------------------------------------------------------ the parts -- */

nidus_status merge_check_match(const struct blueprint *a, const struct blueprint *b)
{
	if (a->family != b->family)
		return fail(NIDUS_E_MISMATCH, "the families differ: %s and %s",
		            nidus_family_name((nidus_family)a->family),
		            nidus_family_name((nidus_family)b->family));
	if (a->seed != b->seed)
		return fail(NIDUS_E_MISMATCH,
		            "the seeds differ: make both filters with the same seed");
	if ((a->segmented == PLAN_GENERATIONS) != (b->segmented == PLAN_GENERATIONS))
		return fail(NIDUS_E_MISMATCH,
		            "one filter is of unlimited size, the other is not: make both with the "
		            "same max_capacity");
	if (a->segmented != b->segmented && a->growth_bits != b->growth_bits)
		return fail(
			NIDUS_E_MISMATCH,
			"one can grow, the other was packed or made without max_capacity: merge "
			"first, and pack what comes of it");
	if (a->core_bits != b->core_bits || a->growth_bits != b->growth_bits ||
	    a->stride != b->stride || a->shares != b->shares || a->slots != b->slots)
		return fail(NIDUS_E_MISMATCH,
		            "the fingerprints differ: make both filters with the same rate, slots "
		            "and max_capacity");
	if (a->slices != b->slices)
		return fail(NIDUS_E_MISMATCH, "the slices differ: %u and %u", a->slices, b->slices);
	if (a->value_bits != b->value_bits)
		return fail(NIDUS_E_MISMATCH, "the values differ: %u and %u bits", a->value_bits,
		            b->value_bits);
	if (a->groups != b->groups || a->chunks != b->chunks)
		return fail(NIDUS_E_MISMATCH,
		            "the base sizes differ: make both filters with the same capacity and "
		            "rate, and pack them only when they are merged");
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
		nidus_status status = merge_check_match(&first->plan, &part->plan);
		if (status == NIDUS_OK)
			status = filter_check_mapped(part);
		filter_forget_map(part);
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

/* What a part brings to the sums and to what all have in common. Errors: E_RANGE. */
static nidus_status add_part(struct merger *merger, const nidus_filter *part)
{
	const struct blueprint *plan = &part->plan;
	struct blueprint *base = &merger->base;
	merger->grows = merger->grows || plan->segmented;
	if (plan->fpr < base->fpr) {
		base->fpr = plan->fpr;
		base->capacity = plan->capacity;
	}
	base->features |= plan->features & NIDUS_NO_DELETE;
	if (base->features & NIDUS_NO_DELETE)
		base->features &= ~(uint32_t)NIDUS_DELETE;
	merger->targets += plan->fpr;
	merger->largest =
		plan->max_capacity > merger->largest ? plan->max_capacity : merger->largest;
	nidus_status status = add_to(&merger->keys, part->family->count(filter_body(part)));
	if (status != NIDUS_OK || plan->segmented == PLAN_GENERATIONS)
		return status;
	return add_to(&base->max_capacity, plan->max_capacity);
}

/* Finds what the parts have in common. Errors: E_RANGE. */
static nidus_status survey(struct merger *merger)
{
	nidus_status status = NIDUS_OK;
	merger->family = merger->filters[0]->family;
	merger->base = merger->filters[0]->plan;
	merger->base.max_capacity = 0;
	if (merger->how != NIDUS_MERGE_COPIES && merger->family->joint == NULL &&
	    merger->base.slices == 0)
		merger->base.features |= NIDUS_NO_DELETE; /* twins share an entry */
	for (size_t i = 0; i < merger->n && status == NIDUS_OK; i++)
		status = add_part(merger, merger->filters[i]);
	return status;
}

/* ------------------------------------------------------------------ the result -- */

static nidus_status rate_too_high(uint64_t keys, double rate)
{
	return fail(NIDUS_E_RANGE,
	            "%llu keys with fingerprints this short would make the rate %.2f; make "
	            "the filters with a lower rate or a larger max_capacity",
	            (unsigned long long)keys, rate);
}

/* An empty filter of fixed size. */
static nidus_status make_fixed(const struct merger *merger, nidus_filter **made)
{
	const nidus_filter *first = merger->filters[0];
	struct blueprint plan = merger->base;
	plan.max_capacity = plan.capacity;
	return filter_make(first->family, &plan, &first->allocator, NULL, made);
}

/* An empty directory with room for so many keys. Errors: E_NOMEM, E_RANGE. */
static nidus_status make_growing(const struct merger *merger, uint64_t keys, nidus_filter **made)
{
	const nidus_filter *first = merger->filters[0];
	struct blueprint plan = merger->base;
	const struct family *inner = family_find(first->family->id);
	plan.segmented = 1;
	plan.stride = plan.shares = 0;
	/* Beyond what its bits give room for, the rate rises: that is nobody's wish. */
	uint64_t slots = directory_slots(inner, &plan);
	plan.max_capacity =
		plan.max_capacity < slots / 16 * 15 ? plan.max_capacity : slots / 16 * 15;
	double at_rate = plan.fpr / family_of_plan(inner, &plan)->forecast(&plan, 1).fpr;
	if ((double)plan.max_capacity > at_rate)
		plan.max_capacity = (uint64_t)at_rate;
	plan.capacity = 1;
	/* What a part promises at this very rate stays, by a hair. */
	if (plan.max_capacity < merger->largest && (double)merger->largest <= at_rate * 1.001)
		plan.max_capacity = merger->largest;
	plan.max_capacity = plan.max_capacity > 1 ? plan.max_capacity : 1;
	nidus_status status = growth_make_empty(first, &plan, made);
	if (status != NIDUS_OK)
		return status;
	struct directory *directory = filter_directory(*made);
	if (directory->shared)
		status = directory_plant(directory);
	if (status == NIDUS_OK)
		status = directory_grow(directory, keys, true);
	if (status != NIDUS_OK) {
		nidus_free(*made);
		*made = NULL;
	}
	return status;
}

/* What a result with so many entries promises. Errors: E_RANGE. */
static nidus_status promise(const struct merger *merger, nidus_filter *made)
{
	uint64_t keys = made->family->count(filter_body(made));
	if (filter_directory(made) == NULL)
		return NIDUS_OK;
	directory_recount(filter_directory(made));
	directory_look_after(filter_directory(made));
	growth_promise(made, keys > 1 ? keys : 1);
	if (made->plan.fpr > RATE_MOST)
		return rate_too_high(keys, made->plan.fpr);
	/* By a hair, or as parts have a few keys more than their capacity. */
	if (made->plan.fpr > merger->targets && made->plan.fpr <= merger->targets * OVERFULL)
		made->plan.fpr = merger->targets;
	return NIDUS_OK;
}

/* Puts all entries of a filter into another. Errors: FULL, E_NOMEM. */
static nidus_status transfer(nidus_filter *to, const nidus_filter *from)
{
	nidus_status status = filter_directory(to) != NULL
	                              ? growth_absorb(to, from)
	                              : to->family->transfer(filter_body(to), filter_body(from));
	filter_forget_map(from);
	return status;
}

/* Bloom families: the bits of all. */
static nidus_status merge_bits(const struct merger *merger, nidus_filter **merged)
{
	const nidus_filter *first = merger->filters[0];
	struct blueprint plan;
	uint64_t keys = merger->keys > 1 ? merger->keys : 1;
	nidus_status status = first->family->joint(&merger->base, keys, &plan);
	if (status == NIDUS_OK && plan.fpr > RATE_MOST)
		status = rate_too_high(keys, plan.fpr);
	if (status == NIDUS_OK)
		status = filter_make(first->family, &plan, &first->allocator, NULL, merged);
	for (size_t i = 0; i < merger->n && status == NIDUS_OK; i++)
		status = transfer(*merged, merger->filters[i]);
	return status;
}

/* Puts all parts into a filter that was just made, or frees it. */
static nidus_status transfer_all(const struct merger *merger, nidus_filter **merged)
{
	nidus_status status = NIDUS_OK;
	for (size_t i = 0; i < merger->n && status == NIDUS_OK; i++)
		status = transfer(*merged, merger->filters[i]);
	if (status != NIDUS_OK) {
		nidus_free(*merged);
		*merged = NULL;
	}
	return status;
}

/* The filter with all entries. Errors: as nidus_merge_many. */
static nidus_status merge_all(const struct merger *merger, nidus_filter **merged)
{
	nidus_status status = NIDUS_FULL;
	if (!merger->grows && merger->keys <= merger->base.capacity) {
		status = make_fixed(merger, merged);
		if (status == NIDUS_OK)
			status = transfer_all(merger, merged);
	}
	if (overflow_helps(status)) { /* keys that are too many, or without a list too uneven */
		status = make_growing(merger, merger->keys, merged);
		if (status == NIDUS_OK)
			status = transfer_all(merger, merged);
	}
	return status == NIDUS_OK ? promise(merger, *merged) : status;
}

/* --------------------------------------------------------------- entries once -- */

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
static nidus_status join(const struct merger *merger, const struct body_ops *ops, void *body,
                         uint64_t hash, uint64_t value)
{
	struct value_change change = { VALUE_REPLACE, value, value };
	if (merger->base.slices > 0)
		return NIDUS_NOT_FOUND; /* an insert keeps the younger of two ages */
	if (merger->base.value_bits == 0)
		return ops->count(body, hash) > 0 ? NIDUS_OK : NIDUS_NOT_FOUND;
	if (merger->how != NIDUS_MERGE_UNIQUE) {
		if (ops->find(body, hash, &change.old, 1) == 0)
			return NIDUS_NOT_FOUND;
		change.fresh = combined(merger, change.old, value);
	}
	return ops->change(body, hash, change);
}

/* Puts in an entry that is not there; a filter that is as full as promised becomes a directory. */
static nidus_status gather_new(nidus_filter *to, uint64_t hash, uint64_t value, uint64_t *count)
{
	nidus_status status = NIDUS_OK;
	if (filter_directory(to) == NULL && *count >= to->plan.capacity)
		status = growth_make_directory(to);
	if (filter_directory(to) != NULL && *count >= to->plan.capacity) {
		uint64_t room = *count + *count / 4 + 1;
		if (status == NIDUS_OK)
			status = directory_grow(filter_directory(to), room, true);
		to->plan.capacity = room; /* for now: see promise */
		filter_directory(to)->unbounded = true;
	}
	if (status == NIDUS_OK)
		status = body_insert(to->ops, filter_body(to), hash, value);
	if (to->plan.slices > 0)
		*count = to->family->count(filter_body(to));
	else
		*count += status == NIDUS_OK;
	return status;
}

static nidus_status gather(const struct merger *merger, nidus_filter *to, const nidus_filter *part,
                           uint64_t *count)
{
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry;
	nidus_status status = NIDUS_OK;
	uint64_t hash;
	while (status == NIDUS_OK && part->family->next(filter_body(part), &cursor, &entry)) {
		status = to->family->entry_hash(filter_body(to), &entry, &hash);
		if (status == NIDUS_OK)
			status = join(merger, to->ops, filter_body(to), hash, entry.value);
		if (status == NIDUS_NOT_FOUND)
			status = gather_new(to, hash, entry.value, count);
	}
	filter_forget_map(part);
	return status;
}

/* The filter with every entry once. Errors: as nidus_merge_many. */
static nidus_status merge_unique(const struct merger *merger, nidus_filter **merged)
{
	uint64_t count = 0;
	nidus_status status =
		merger->grows ? make_growing(merger, 1, merged) : make_fixed(merger, merged);
	for (size_t i = 0; i < merger->n && status == NIDUS_OK; i++)
		status = gather(merger, *merged, merger->filters[i], &count);
	if (status == NIDUS_OK && filter_directory(*merged) != NULL)
		(*merged)->plan.capacity = 1;
	return status == NIDUS_OK ? promise(merger, *merged) : status;
}

/* ----------------------------------------------------------------- generations -- */

/*
 * Filters without a size are merged generation by generation, the oldest first, however many each
 * has. Entries of old generations become more than they were made for, so rates of these add up.
 */

/* Puts an entry of a generation in, which is the result's youngest for now; once if it is to be. */
static nidus_status gather_young(const struct merger *merger, nidus_filter *to, uint64_t hash,
                                 uint64_t value)
{
	struct generations *generations = filter_generations(to);
	struct directory *youngest = generations_youngest(generations);
	nidus_status status;
	/* What an older generation has covers it, where that can be told. */
	if (generations_nest(generations->first.inner))
		status = join(merger, to->ops, filter_body(to), hash, value);
	else
		status = join(merger, &directory_ops, youngest, hash, value);
	return status == NIDUS_NOT_FOUND ? directory_ops.insert_value(youngest, hash, value)
	                                 : status;
}

/* The entries of a generation of a part, each once. */
static nidus_status gather_generation(const struct merger *merger, nidus_filter *to,
                                      const struct directory *from)
{
	struct directory *youngest = generations_youngest(filter_generations(to));
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry;
	nidus_status status = NIDUS_OK;
	uint64_t hash;
	while (status == NIDUS_OK && directory_next(from, &cursor, &entry)) {
		status = directory_entry_hash(youngest, &entry, &hash);
		if (status == NIDUS_OK)
			status = gather_young(merger, to, hash, entry.value);
		if (youngest->due != 0)
			directory_look_after(youngest);
	}
	return status;
}

/* Entries of a generation of all parts that take room. */
static uint64_t keys_of_generation(const struct merger *merger, unsigned number)
{
	uint64_t keys = 0;
	for (size_t i = 0; i < merger->n; i++) {
		const struct generations *part = filter_generations(merger->filters[i]);
		if (number < generations_n(part))
			keys += directory_used(generations_at(part, number));
	}
	return keys;
}

/* The entries of one generation of all parts, into the youngest of the result. */
static nidus_status merge_generation(const struct merger *merger, nidus_filter *to)
{
	struct generations *generations = filter_generations(to);
	unsigned number = generations_n(generations) - 1;
	bool all = merger->how == NIDUS_MERGE_COPIES;
	uint64_t keys = all ? keys_of_generation(merger, number) : 1;
	nidus_status status = generations_expect(generations, keys);
	for (size_t i = 0; i < merger->n && status == NIDUS_OK; i++) {
		const struct generations *part = filter_generations(merger->filters[i]);
		if (number < generations_n(part))
			status = all ? directory_take_all(generations_youngest(generations),
			                                  generations_at(part, number))
			             : gather_generation(merger, to, generations_at(part, number));
		filter_forget_map(merger->filters[i]);
	}
	generations_settle(generations);
	return status;
}

/* Generations of the part that has most. */
static unsigned generations_of_parts(const struct merger *merger)
{
	unsigned most = 1;
	for (size_t i = 0; i < merger->n; i++) {
		unsigned n = generations_n(filter_generations(merger->filters[i]));
		most = n > most ? n : most;
	}
	return most;
}

static nidus_status merge_generations(const struct merger *merger, nidus_filter **merged)
{
	const nidus_filter *first = merger->filters[0];
	struct blueprint plan = merger->base;
	plan.capacity = 1;
	plan.max_capacity = NIDUS_UNLIMITED;
	nidus_status status = filter_make(first->family, &plan, &first->allocator, NULL, merged);
	if (status != NIDUS_OK)
		return status;
	struct generations *generations = filter_generations(*merged);
	for (unsigned i = 0; i < generations_of_parts(merger) && status == NIDUS_OK; i++) {
		if (i > 0)
			status = generations_add(generations);
		if (status == NIDUS_OK)
			status = merge_generation(merger, *merged);
	}
	if (status != NIDUS_OK)
		return status;
	double rate = generations_rate(generations) * (1 + 0x1p-40);
	if (rate > (*merged)->plan.fpr)
		(*merged)->plan.fpr = rate;
	return rate > RATE_MOST ? rate_too_high(merger->keys, rate) : NIDUS_OK;
}

/* -------------------------------------------------------------------- the call -- */

static nidus_status merge(struct merger *merger, nidus_filter **merged)
{
	nidus_status status = check_parts(merger);
	if (status == NIDUS_OK)
		status = survey(merger);
	if (status != NIDUS_OK)
		return status;
	if (merger->family->joint != NULL)
		status = merge_bits(merger, merged);
	else if (merger->family->unlimited)
		status = merge_generations(merger, merged);
	else if (merger->how == NIDUS_MERGE_COPIES && merger->base.slices == 0)
		status = merge_all(merger, merged);
	else
		status = merge_unique(merger, merged);
	if (status != NIDUS_OK) {
		nidus_free(*merged);
		*merged = NULL;
	}
	return status;
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

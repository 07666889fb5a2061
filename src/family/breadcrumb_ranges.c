/* SPDX-License-Identifier: MIT
 *
 * breadcrumb_ranges: yards whose front lines are built a stretch at a time.
 *
 * Front lines are written as soon as they are filled. What they have no room for goes to the
 * backyard, which is an eighth of the front yard and stays in memory to the end: which of its
 * lines gets an entry depends on all that came before.
 */
#include "family/breadcrumb_ranges.h"

#include "base/reason.h"
#include "base/thread.h"
#include "base/watch.h"
#include "family/family.h"
#include "family/registry.h"
#include "yard/yard.h"

#define PART_BUCKETS 4096 /* front lines that a thread fills at a time */

struct state {
	struct yard yard;
	struct block window, values; /* `most` front lines, and their values */
	struct block back, back_values;
	struct block stash;
	uint64_t most, next; /* `next`: the first front bucket that is not written yet */
};

/* Bytes of a front line and of its values; the same for lines of the backyard. */
static uint64_t line_bytes(const struct yard *yard)
{
	return mini_line(yard->ops->shape.front);
}

static uint64_t value_bytes(const struct yard *yard)
{
	return yard_values_size(yard->ops->shape.front.slots, yard->beside_bits);
}

static uint64_t back_value_bytes(const struct yard *yard)
{
	return 2 * yard->half * yard_values_size(yard->ops->shape.back.slots, yard->beside_bits);
}

/* A yard of a plan that has no memory at all: only its numbers are right. */
static struct yard numbers_of(const struct blueprint *plan, const nidus_allocator *allocator)
{
	static unsigned char nothing[1];
	struct yard yard;
	/* Over a table that is there already, which it is not, this takes none and cannot fail. */
	(void)yard_create(&yard, plan, NULL, allocator, nothing);
	return yard;
}

static uint64_t fronts_in(const struct yard *yard, uint64_t window)
{
	uint64_t fronts = window / (line_bytes(yard) + value_bytes(yard));
	fronts = fronts < yard->fronts ? fronts : yard->fronts;
	return fronts > 0 ? fronts : 1;
}

static uint64_t memory(const struct blueprint *plan, uint64_t window, unsigned threads)
{
	struct yard yard = numbers_of(plan, &(nidus_allocator){ 0 });
	(void)threads;
	return fronts_in(&yard, window) * (line_bytes(&yard) + value_bytes(&yard)) +
	       2 * yard.half * line_bytes(&yard) + back_value_bytes(&yard);
}

/* Some bucketfuls, whatever the shape. */
static uint64_t hashes(const struct blueprint *plan)
{
	(void)plan;
	return 1024;
}

static void free_state(void *context)
{
	struct state *state = context;
	const nidus_allocator *allocator = &state->yard.allocator;
	struct block *const blocks[] = { &state->window, &state->values, &state->back,
		                         &state->back_values, &state->stash };
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		memory_give(allocator, blocks[i]);
	yard_free(&state->yard);
}

static nidus_status begin(void *context, const struct blueprint *plan, uint64_t window,
                          const nidus_allocator *allocator, unsigned *passes)
{
	struct state *state = context;
	*state = (struct state){ .yard = numbers_of(plan, allocator) };
	struct yard *yard = &state->yard;
	*passes = 1;
	yard->mapped = false;
	state->most = fronts_in(yard, window);
	nidus_status status =
		memory_take(allocator, state->most * line_bytes(yard), &state->window);
	if (status == NIDUS_OK)
		status = memory_take(allocator, state->most * value_bytes(yard), &state->values);
	if (status == NIDUS_OK)
		status = memory_take(allocator, 2 * yard->half * line_bytes(yard), &state->back);
	if (status == NIDUS_OK)
		status = memory_take(allocator, back_value_bytes(yard), &state->back_values);
	if (status != NIDUS_OK) {
		free_state(state);
		return status;
	}
	yard->back = state->back.bytes;
	return NIDUS_OK;
}

/* ------------------------------------------------------------------------------- ranges -- */

/* Hashes of some front buckets, and the yard as those who fill them need it. */
struct filling {
	struct yard yard;
	const uint64_t *hashes, *values;
	size_t n;
	uint64_t bucket, end;
	unsigned parts;
	struct outcome outcome;
};

/* The first hash that belongs to a front bucket or a later one. */
static size_t hashes_before_bucket(const struct yard *yard, const uint64_t *all, size_t n,
                                   uint64_t bucket)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (yard_locate(yard, all[middle]).bucket < bucket)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A thread's share of the front lines, some at a time. */
static void fill_fronts(void *context, unsigned number)
{
	struct filling *filling = context;
	const struct yard *yard = &filling->yard;
	uint64_t all = filling->end - filling->bucket;
	uint64_t bucket = filling->bucket + all * number / filling->parts;
	uint64_t end = filling->bucket + all * (number + 1) / filling->parts;
	size_t from = hashes_before_bucket(yard, filling->hashes, filling->n, bucket);
	nidus_status status = NIDUS_OK;
	for (; bucket < end && status == NIDUS_OK; bucket += PART_BUCKETS) {
		uint64_t last = end - bucket < PART_BUCKETS ? end : bucket + PART_BUCKETS;
		size_t to = hashes_before_bucket(yard, filling->hashes, filling->n, last);
		if (to > from &&
		    !yard->ops->fill_fronts(&filling->yard, filling->hashes + from,
		                            values_from(filling->values, from), to - from))
			status = fail(NIDUS_COPIES, "no room for so many copies of a key");
		if (watch_step(to - from))
			break;
		from = to;
	}
	outcome_keep(&filling->outcome, number, status);
}

/* As if the whole array, of elements of so many bytes, were in memory: only a window is touched. */
static unsigned char *array_of(const struct block *window, uint64_t first, uint64_t bytes)
{
	return (unsigned char *)((uintptr_t)window->bytes - (uintptr_t)(first * bytes));
}

/* Fills the front lines up to `last`, then the backyard with what they have no room for. */
static nidus_status fill_window(struct state *state, const uint64_t *all, const uint64_t *values,
                                size_t n, uint64_t last, unsigned threads)
{
	struct yard *yard = &state->yard;
	bool beside = yard->beside_bits > 0;
	uint64_t fronts = last - state->next;
	memset(state->window.bytes, 0, fronts * line_bytes(yard));
	if (beside)
		memset(state->values.bytes, 0, fronts * value_bytes(yard));
	yard->front = array_of(&state->window, state->next, line_bytes(yard));
	yard->values = beside ? array_of(&state->values, state->next, value_bytes(yard)) : NULL;
	struct filling filling = {
		.yard = *yard,
		.hashes = all,
		.values = beside ? values : NULL,
		.n = n,
		.bucket = state->next,
		.end = last,
		.parts = fronts / PART_BUCKETS + 1 < threads ? (unsigned)(fronts / PART_BUCKETS + 1)
		                                             : threads,
		.outcome = OUTCOME_INIT,
	};
	if (n == 0)
		return NIDUS_OK;
	threads_run(filling.parts, fill_fronts, &filling);
	nidus_status status = outcome_tell(&filling.outcome);
	if (status == NIDUS_OK)
		status = watch_status();
	if (status != NIDUS_OK)
		return status;
	/* Here values are those of the backyard, which lie behind those of all front lines. */
	if (beside)
		yard->values = array_of(&state->back_values, yard->fronts, value_bytes(yard));
	return yard->ops->fill_back(yard, all, filling.values, n, state->next, last);
}

static nidus_status put_window(const struct state *state, uint64_t last,
                               const struct ranges_out *out)
{
	const struct yard *yard = &state->yard;
	uint64_t line = line_bytes(yard), value = value_bytes(yard), fronts = last - state->next;
	nidus_status status =
		out->put(out->context, state->next * line, state->window.bytes, fronts * line);
	if (status == NIDUS_OK && value > 0)
		status = out->put(out->context,
		                  yard_lines(yard->fronts) * line + state->next * value,
		                  state->values.bytes, fronts * value);
	return status;
}

static nidus_status add(void *context, const struct portion *portion, unsigned threads,
                        const struct ranges_out *out, size_t *taken)
{
	struct state *state = context;
	const struct yard *yard = &state->yard;
	uint64_t end = portion->last ? yard->fronts : yard_locate(yard, portion->end).bucket;
	nidus_status status = NIDUS_OK;
	for (*taken = 0; state->next < end && status == NIDUS_OK;) {
		uint64_t last = end - state->next < state->most ? end : state->next + state->most;
		size_t from = *taken;
		size_t to = hashes_before_bucket(yard, portion->hashes, portion->n, last);
		bool any = to > from; /* without any there may be no array either */
		status = fill_window(state, any ? portion->hashes + from : NULL,
		                     any ? values_from(portion->values, from) : NULL, to - from,
		                     last, threads);
		if (status == NIDUS_OK)
			status = put_window(state, last, out);
		*taken = to;
		state->next = last;
	}
	return status;
}

static nidus_status end(void *context, const struct ranges_out *out, struct ranges_end *end)
{
	struct state *state = context;
	const struct yard *yard = &state->yard;
	uint64_t line = line_bytes(yard);
	struct fill fill = family_breadcrumb.fill(yard);
	nidus_status status =
		out->put(out->context, yard->fronts * line, state->back.bytes, state->back.size);
	if (status == NIDUS_OK && yard->beside_bits > 0)
		status =
			out->put(out->context,
		                 yard_lines(yard->fronts) * line + yard->fronts * value_bytes(yard),
		                 state->back_values.bytes, state->back_values.size);
	if (status == NIDUS_OK)
		status = memory_take(&yard->allocator, family_breadcrumb.stash_entry * fill.listed,
		                     &state->stash);
	if (status != NIDUS_OK)
		return status;
	if (fill.listed > 0)
		family_breadcrumb.export_stash(yard, state->stash.bytes);
	*end = (struct ranges_end){ .count = fill.count,
		                    .stashed = fill.stashed,
		                    .listed = fill.listed,
		                    .stash = state->stash.bytes };
	return NIDUS_OK;
}

const struct ranges_ops breadcrumb_ranges = {
	.state_size = sizeof(struct state),
	.memory = memory,
	.hashes = hashes,
	.begin = begin,
	.add = add,
	.end = end,
	.free = free_state,
};

/* SPDX-License-Identifier: MIT
 *
 * nesting_ranges: nests that are built a few chunks at a time.
 *
 * The nest is whole but for its slots: of those only a window is in memory, the chunks that are
 * being built. Stashes stay until the end.
 */
#include "base/watch.h"
#include "family/nesting.h"
#include "nest/build.h"
#include "nest/chunking.h"

struct state {
	struct nest nest;
	struct block window; /* slots of `most` chunks */
	struct block stash;
	uint64_t most, next; /* `next`: the first chunk that is not built yet */
	uint64_t built;
};

static uint64_t chunk_bytes(const struct blueprint *plan)
{
	return nest_table_bytes(plan, nesting_kind(plan)) / plan->chunks;
}

/* Chunks that a window of about so many bytes holds. */
static uint64_t chunks_in(const struct blueprint *plan, uint64_t window)
{
	uint64_t chunks = window / chunk_bytes(plan);
	if (chunks > plan->chunks)
		chunks = plan->chunks;
	return chunks > 0 ? chunks : 1;
}

static uint64_t memory(const struct blueprint *plan, uint64_t window, unsigned threads)
{
	(void)threads;
	return chunks_in(plan, window) * chunk_bytes(plan) +
	       plan->chunks * sizeof(struct nest_chunk);
}

static uint64_t hashes(const struct blueprint *plan)
{
	return (uint64_t)chunking_fullest(plan->capacity, plan->chunks) + 1;
}

static nidus_status begin(void *context, const struct blueprint *plan, uint64_t window,
                          const nidus_allocator *allocator, unsigned *passes)
{
	struct state *state = context;
	struct blueprint alone = *plan;
	*state = (struct state){ .most = chunks_in(plan, window) };
	*passes = 1;
	nidus_status status =
		memory_take(allocator, state->most * chunk_bytes(plan), &state->window);
	if (status != NIDUS_OK)
		return status;
	alone.features &= ~(uint32_t)NIDUS_CONCURRENT; /* nobody else sees it */
	/* As if it were mapped, so that it takes no memory for all slots. */
	status = nest_create(&state->nest, &alone, nesting_kind(plan), NULL, allocator,
	                     state->window.bytes);
	if (status != NIDUS_OK)
		memory_give(allocator, &state->window);
	state->nest.mapped = false;
	return status;
}

static void free_state(void *context)
{
	struct state *state = context;
	memory_give(state->nest.allocator, &state->window);
	memory_give(state->nest.allocator, &state->stash);
	nest_free(&state->nest);
}

/*
 * Builds the chunks up to `last` from the hashes [from, to). Code that works on a nest counts from
 * the slots of chunk 0, which may be anywhere but in memory: only those of the window are touched.
 */
static nidus_status build_window(struct state *state, const struct portion *portion, uint64_t last,
                                 size_t from, size_t to, unsigned threads,
                                 const struct ranges_out *out)
{
	struct nest *nest = &state->nest;
	uint64_t at = state->next * nest->layout->stride,
		 size = (last - state->next) * nest->layout->stride;
	memset(state->window.bytes, 0, size);
	nest->bits = (unsigned char *)((uintptr_t)state->window.bytes - (uintptr_t)at);
	nidus_status status =
		nest_build_chunks(nest, state->next, last,
	                          from < to ? portion->hashes + from : NULL,
	                          from < to ? values_from(portion->values, from) : NULL, to - from,
	                          threads, &state->built);
	if (status == NIDUS_OK)
		status = watch_status();
	if (status == NIDUS_OK)
		status = out->put(out->context, at, state->window.bytes, size);
	state->next = last;
	return status;
}

static nidus_status add(void *context, const struct portion *portion, unsigned threads,
                        const struct ranges_out *out, size_t *taken)
{
	struct state *state = context;
	const struct nest *nest = &state->nest;
	uint64_t end = portion->last ? nest->layout->chunks
	                             : multiply_high(portion->end, nest->layout->chunks);
	nidus_status status = NIDUS_OK;
	*taken = 0;
	while (state->next < end && status == NIDUS_OK) {
		uint64_t last = end - state->next < state->most ? end : state->next + state->most;
		size_t to = hashes_before(portion->hashes, portion->n, nest->layout->chunks, last);
		status = build_window(state, portion, last, *taken, to, threads, out);
		*taken = to;
	}
	return status;
}

static nidus_status end(void *context, const struct ranges_out *out, struct ranges_end *end)
{
	struct state *state = context;
	struct nest *nest = &state->nest;
	(void)out; /* all of the table was written with its chunks */
	nidus_status status = nest_build_check(nest, state->built);
	if (status == NIDUS_OK)
		status =
			memory_take(nest->allocator, nest->stashed * OVERFLOW_ENTRY, &state->stash);
	if (status != NIDUS_OK)
		return status;
	nest_export_stash(nest, state->stash.bytes);
	*end = (struct ranges_end){ .count = nest_count(nest),
		                    .stashed = nest->stashed + nest->surplus,
		                    .listed = nest->stashed,
		                    .stash = state->stash.bytes };
	return NIDUS_OK;
}

const struct ranges_ops nesting_ranges = {
	.state_size = sizeof(struct state),
	.memory = memory,
	.hashes = hashes,
	.begin = begin,
	.add = add,
	.end = end,
	.free = free_state,
};

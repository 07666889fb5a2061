/* SPDX-License-Identifier: MIT
 *
 * blocked_ranges: blocked Bloom filters that are built a stretch of blocks at a time.
 */
#include "base/watch.h"
#include "bloom/blocked.h"
#include "family/blooms.h"

struct state {
	struct bloom bloom;  /* all but its table */
	struct block window; /* `most` blocks of it */
	uint64_t most, next; /* `next`: the first block that is not written yet */
};

/* Blocks that a window of about so many bytes holds. */
static uint64_t blocks_in(const struct blueprint *plan, uint64_t window)
{
	uint64_t blocks = window / BLOCKED_BYTES;
	if (blocks > plan->groups)
		blocks = plan->groups;
	return blocks > 0 ? blocks : 1;
}

static uint64_t memory(const struct blueprint *plan, uint64_t window, unsigned threads)
{
	(void)threads;
	return blocks_in(plan, window) * BLOCKED_BYTES;
}

/* A block takes any number. */
static uint64_t hashes(const struct blueprint *plan)
{
	(void)plan;
	return 1;
}

static nidus_status begin(void *context, const struct blueprint *plan, uint64_t window,
                          const nidus_allocator *allocator, unsigned *passes)
{
	struct state *state = context;
	struct block block;
	*state = (struct state){ .most = blocks_in(plan, window) };
	*passes = 1;
	nidus_status status = memory_take(allocator, state->most * BLOCKED_BYTES, &block);
	if (status != NIDUS_OK)
		return status;
	/* As if it were mapped: it takes no memory, and there is nothing to lock. */
	status = bloom_create(&state->bloom, plan, BLOCKED_BYTES, blocked_find(plan->core_bits),
	                      NULL, allocator, block.bytes);
	state->window = block;
	return status;
}

static void free_state(void *context)
{
	struct state *state = context;
	memory_give(&state->bloom.allocator, &state->window);
	bloom_free(&state->bloom);
}

/*
 * Puts hashes [from, to) into the blocks of the window, and writes those up to `complete`, to which
 * no more will come. Code that works on the table counts from block 0 on.
 */
static nidus_status fill_window(struct state *state, const struct portion *portion, size_t from,
                                size_t to, uint64_t complete, const struct ranges_out *out)
{
	unsigned char *window = state->window.bytes;
	uint64_t at = state->next * BLOCKED_BYTES;
	uint64_t size = (complete - state->next) * BLOCKED_BYTES;
	nidus_status status = NIDUS_OK;
	state->bloom.table = (unsigned char *)((uintptr_t)window - (uintptr_t)at);
	if (from < to)
		status = watch_insert_batch(state->bloom.ops, &state->bloom, portion->hashes + from,
		                            NULL, to - from);
	if (status == NIDUS_OK && size > 0)
		status = out->put(out->context, at, window, size);
	/* At most one block is not complete: it comes first now. */
	if (size > 0 && size < state->window.size)
		memmove(window, window + size, BLOCKED_BYTES);
	else if (size > 0)
		memset(window, 0, BLOCKED_BYTES);
	if (size > 0)
		memset(window + BLOCKED_BYTES, 0, state->window.size - BLOCKED_BYTES);
	state->next = complete;
	return status;
}

static nidus_status add(void *context, const struct portion *portion, unsigned threads,
                        const struct ranges_out *out, size_t *taken)
{
	struct state *state = context;
	uint64_t blocks = state->bloom.groups;
	uint64_t end = portion->last ? blocks : multiply_high(portion->end, blocks);
	uint64_t reach = portion->last ? blocks : end + 1; /* the last of them is not complete */
	nidus_status status = NIDUS_OK;
	(void)threads; /* memory is what it waits for */
	for (*taken = 0; *taken < portion->n || state->next < end;) {
		uint64_t last =
			reach - state->next < state->most ? reach : state->next + state->most;
		size_t to = hashes_before(portion->hashes, portion->n, state->bloom.groups, last);
		status = fill_window(state, portion, *taken, to, last < end ? last : end, out);
		*taken = to;
		if (status != NIDUS_OK)
			break;
	}
	return status;
}

static nidus_status end(void *context, const struct ranges_out *out, struct ranges_end *end)
{
	const struct state *state = context;
	(void)out; /* all of the table was written */
	*end = (struct ranges_end){ .count = bloom_count(&state->bloom) };
	return NIDUS_OK;
}

const struct ranges_ops blocked_ranges = {
	.state_size = sizeof(struct state),
	.memory = memory,
	.hashes = hashes,
	.begin = begin,
	.add = add,
	.end = end,
	.free = free_state,
};

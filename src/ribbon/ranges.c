/* SPDX-License-Identifier: MIT
 *
 * ribbon_ranges: tables that are solved a few shards at a time.
 *
 * Shards do not depend on each other, so each is written as soon as it is solved. What a layer bumps
 * comes again for the next one, which lies behind it in the table. Marks lie behind all layers,
 * are small, and stay in memory until the end.
 *
 *     pass 0    [shard 0][shard 1] ... of layer 0      bumped keys: about 3 %
 *     pass 1    [shard 0] ...          of layer 1      and of those again
 *     end       [marks of all layers]
 */
#include "base/reason.h"
#include "ribbon/build.h"
#include "ribbon/shards.h"

struct state {
	struct ribbon ribbon;
	const unsigned char *base;  /* where the table would begin in memory, to measure from */
	struct block window;        /* blocks of some shards */
	struct block marks, counts; /* counts: bumped keys of each shard of a layer */
	struct block room;          /* for the equations of each thread */
	struct block stash;
	uint64_t marks_at;
	uint64_t most;    /* shards in a window */
	unsigned threads; /* that there is room for */
	unsigned pass;
	uint64_t next; /* the first shard of the layer that is not solved yet */
	uint64_t keys, last_hash, last_value; /* of the first layer so far */
	struct ribbon_bumped left;            /* what the last layer has bumped */
};

/* ------------------------------------------------------------------------------ memory -- */

/* Of the keys of a shard, so many are bumped at most, or nearly so. */
#define BUMPED_SHARE 20

static uint64_t shard_bytes(const struct ribbon_matrix *matrix)
{
	return (RIBBON_SHARD / RIBBON_WIDTH + 1) * 8 * (matrix->columns + 1);
}

/* Shards that a window of about so many bytes holds, with what they bump. */
static uint64_t shards_in(const struct ribbon_matrix *matrix, uint64_t window)
{
	uint64_t bumped = RIBBON_SHARD / BUMPED_SHARE * sizeof(struct ribbon_entry);
	uint64_t most = window / (shard_bytes(matrix) + bumped);
	uint64_t shards = ribbon_shards(&matrix->layer[0]);
	most = most < shards ? most : shards;
	return most > 0 ? most : 1;
}

static uint64_t room_bytes(unsigned threads)
{
	return (uint64_t)threads * RIBBON_SHARD_ROWS * 2 * sizeof(uint64_t);
}

static uint64_t marks_bytes(const struct ribbon_matrix *matrix)
{
	uint64_t bytes = RIBBON_SLACK;
	for (unsigned i = 0; i < matrix->layers; i++)
		bytes += matrix->layer[i].windows / (RIBBON_BUCKET * 4) + 1;
	return bytes;
}

static uint64_t memory(const struct blueprint *plan, uint64_t window, unsigned threads)
{
	struct ribbon_matrix keys, verdict;
	ribbon_plan(plan, &keys, &verdict);
	uint64_t bumped = RIBBON_SHARD / BUMPED_SHARE * sizeof(struct ribbon_entry);
	return shards_in(&keys, window) * (shard_bytes(&keys) + bumped) + marks_bytes(&keys) +
	       ribbon_shards(&keys.layer[0]) * sizeof(uint64_t) + room_bytes(threads);
}

/* A shard has about as many keys as windows; few are ever much fuller. */
static uint64_t hashes(const struct blueprint *plan)
{
	uint64_t keys = RIBBON_SHARD + RIBBON_SHARD / 8;
	return plan->capacity < keys ? plan->capacity : keys;
}

/* -------------------------------------------------------------------------------- life -- */

static void free_state(void *context)
{
	struct state *state = context;
	const nidus_allocator *allocator = &state->ribbon.allocator;
	struct block *const blocks[] = { &state->window, &state->marks, &state->counts,
		                         &state->room, &state->stash };
	ribbon_give_bumped(&state->left, allocator);
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		memory_give(allocator, blocks[i]);
	ribbon_free(&state->ribbon);
}

static nidus_status take_memory(struct state *state)
{
	const struct ribbon_matrix *keys = &state->ribbon.keys;
	const nidus_allocator *allocator = &state->ribbon.allocator;
	nidus_status status =
		memory_take(allocator, state->most * shard_bytes(keys), &state->window);
	if (status == NIDUS_OK)
		status = memory_take(allocator, state->ribbon.memory.size - state->marks_at,
		                     &state->marks);
	if (status == NIDUS_OK)
		status = memory_take(allocator, ribbon_shards(&keys->layer[0]) * sizeof(uint64_t),
		                     &state->counts);
	return status;
}

static nidus_status begin(void *context, const struct blueprint *plan, uint64_t window,
                          const nidus_allocator *allocator, unsigned *passes)
{
	static unsigned char nothing[1]; /* stands for the table: only places in it count */
	struct state *state = context;
	*state = (struct state){ .base = nothing };
	nidus_status status = ribbon_create(&state->ribbon, plan, allocator, nothing);
	if (status != NIDUS_OK)
		return status;
	struct ribbon_matrix *keys = &state->ribbon.keys;
	state->most = shards_in(keys, window);
	state->marks_at = (uint64_t)(keys->layer[0].marks - state->base);
	status = take_memory(state);
	if (status != NIDUS_OK) {
		free_state(state);
		return status;
	}
	for (unsigned i = keys->layers; i-- > 0;)
		keys->layer[i].marks =
			state->marks.bytes + (keys->layer[i].marks - keys->layer[0].marks);
	*passes = keys->layers;
	return NIDUS_OK;
}

/* ------------------------------------------------------------------------------- ranges -- */

/* Where the blocks of a shard begin, counted from those of its layer. */
static uint64_t shard_at(const struct state *state, const struct ribbon_layer *layer,
                         uint64_t shard)
{
	uint64_t windows =
		shard * RIBBON_SHARD < layer->windows ? shard * RIBBON_SHARD : layer->windows;
	uint64_t block = windows / RIBBON_WIDTH + shard;
	return 8 * ribbon_words(layer, state->ribbon.keys.columns, block);
}

/* Writes the blocks of shards, and behind the last the zeros up to the next layer. */
static nidus_status put_shards(const struct state *state, const struct ribbon_layer *layer,
                               uint64_t first, uint64_t last, const struct ranges_out *out)
{
	static const unsigned char zeros[MEMORY_LINE];
	uint64_t at = (uint64_t)(layer->blocks - state->base);
	uint64_t from = shard_at(state, layer, first), to = shard_at(state, layer, last);
	nidus_status status = out->put(out->context, at + from, state->window.bytes, to - from);
	uint64_t rest = (MEMORY_LINE - (at + to) % MEMORY_LINE) % MEMORY_LINE;
	if (status == NIDUS_OK && last == ribbon_shards(layer) && rest > 0)
		status = out->put(out->context, at + to, zeros, rest);
	return status;
}

/* Hands bumped keys on: to the next pass or, from the last layer, to the list. */
static nidus_status hand_on(struct state *state, struct ribbon_work *work, unsigned threads,
                            const struct ranges_out *out)
{
	struct ribbon_bumped bumped = { 0 };
	const nidus_allocator *allocator = &state->ribbon.allocator;
	nidus_status status = ribbon_gather(work, threads, allocator, &bumped);
	if (status == NIDUS_OK && state->pass + 1 == state->ribbon.keys.layers) {
		ribbon_give_bumped(&state->left, allocator); /* it has one shard only */
		state->left = bumped;
		return NIDUS_OK;
	}
	if (status == NIDUS_OK && bumped.keys.n > 0)
		status = out->again(out->context, bumped.keys.hashes, bumped.keys.values,
		                    bumped.keys.n);
	ribbon_give_bumped(&bumped, allocator);
	return status;
}

/* Solves the shards up to `last`. Code that works on them counts from the layer's first block on. */
static nidus_status solve_window(struct state *state, struct ribbon_keys keys, uint64_t last,
                                 unsigned threads, const struct ranges_out *out)
{
	const struct ribbon_matrix *matrix = &state->ribbon.keys;
	struct ribbon_layer layer = matrix->layer[state->pass];
	uint64_t from = shard_at(state, &layer, state->next);
	layer.blocks = (unsigned char *)((uintptr_t)state->window.bytes - (uintptr_t)from);
	struct ribbon_work work = {
		.ops = state->ribbon.ops,
		.matrix = matrix,
		.layer = &layer,
		.first = state->pass == 0,
		.print_bits = state->ribbon.print_bits,
		.keys = keys,
		.room = (uint64_t *)(void *)state->room.bytes,
		.bumped = (uint64_t *)(void *)state->counts.bytes,
		.from = state->next,
		.last = last,
	};
	threads = last - state->next < threads ? (unsigned)(last - state->next) : threads;
	memset(state->window.bytes, 0, state->window.size);
	nidus_status status = ribbon_solve(&work, threads);
	if (status == NIDUS_OK)
		status = put_shards(state, &matrix->layer[state->pass], state->next, last, out);
	if (status == NIDUS_OK)
		status = hand_on(state, &work, threads, out);
	state->next = last;
	return status;
}

/* Counts the keys of the first layer. Errors: FULL, E_ARG (a hash with two values). */
static nidus_status count(struct state *state, const struct ribbon_keys *keys)
{
	for (size_t i = 0; i < keys->n; i++) {
		uint64_t hash = keys->hashes[i], value = keys->values != NULL ? keys->values[i] : 0;
		bool again = state->keys > 0 && hash == state->last_hash;
		if (again && value != state->last_value)
			return fail(NIDUS_E_ARG,
			            "two keys with the same hash have the values %llu and %llu: a "
			            "ribbon filter keeps one value per key",
			            (unsigned long long)state->last_value,
			            (unsigned long long)value);
		state->keys += !again;
		state->last_hash = hash;
		state->last_value = value;
	}
	if (state->keys > state->ribbon.capacity)
		return fail(NIDUS_FULL, "there are more keys than the capacity of %llu",
		            (unsigned long long)state->ribbon.capacity);
	return NIDUS_OK;
}

/* Room for the equations of so many threads. */
static nidus_status take_room(struct state *state, unsigned threads)
{
	const nidus_allocator *allocator = &state->ribbon.allocator;
	if (threads <= state->threads)
		return NIDUS_OK;
	memory_give(allocator, &state->room);
	state->threads = 0;
	nidus_status status = memory_take(allocator, room_bytes(threads), &state->room);
	if (status == NIDUS_OK)
		state->threads = threads;
	return status;
}

/* Keys of a portion before the first whose window is `window` or a later one. */
static size_t keys_before(const struct portion *portion, const struct ribbon_layer *layer,
                          uint64_t window)
{
	size_t low = 0, high = portion->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ribbon_window(layer, portion->hashes[middle]) < window)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static nidus_status add(void *context, const struct portion *portion, unsigned threads,
                        const struct ranges_out *out, size_t *taken)
{
	struct state *state = context;
	const struct ribbon_layer *layer = &state->ribbon.keys.layer[state->pass];
	uint64_t end = portion->last ? ribbon_shards(layer)
	                             : ribbon_window(layer, portion->end) / RIBBON_SHARD;
	nidus_status status = take_room(state, threads);
	for (*taken = 0; state->next < end && status == NIDUS_OK;) {
		uint64_t last = end - state->next < state->most ? end : state->next + state->most;
		size_t to = keys_before(portion, layer, last * RIBBON_SHARD), from = *taken;
		struct ribbon_keys keys = { .n = to - from };
		if (keys.n > 0) { /* without any there may be no array either */
			keys.hashes = portion->hashes + from;
			keys.values = values_from(portion->values, from);
		}
		if (state->pass == 0)
			status = count(state, &keys);
		if (status == NIDUS_OK)
			status = solve_window(state, keys, last, threads, out);
		*taken = to;
	}
	if (portion->last) {
		state->pass++;
		state->next = 0;
	}
	return status;
}

static nidus_status end(void *context, const struct ranges_out *out, struct ranges_end *end)
{
	struct state *state = context;
	struct ribbon *ribbon = &state->ribbon;
	nidus_status status =
		ribbon_restore(&state->left, ribbon->keys.layers, 1, &ribbon->allocator);
	if (status == NIDUS_OK)
		status = ribbon_list(ribbon, &state->left.keys);
	if (status == NIDUS_OK)
		status = memory_take(&ribbon->allocator, ribbon->listed * RIBBON_LIST_ENTRY,
		                     &state->stash);
	if (status == NIDUS_OK)
		status = out->put(out->context, state->marks_at, state->marks.bytes,
		                  state->marks.size);
	if (status != NIDUS_OK)
		return status;
	ribbon_export(ribbon, state->stash.bytes);
	*end = (struct ranges_end){ .count = state->keys,
		                    .stashed = ribbon->listed,
		                    .listed = ribbon->listed,
		                    .stash = state->stash.bytes };
	return NIDUS_OK;
}

const struct ranges_ops ribbon_ranges = {
	.state_size = sizeof(struct state),
	.memory = memory,
	.hashes = hashes,
	.begin = begin,
	.add = add,
	.end = end,
	.free = free_state,
};

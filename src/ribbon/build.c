/* SPDX-License-Identifier: MIT
 *
 * ribbon build: elimination, shard by shard, then back substitution.
 *
 * Ascending hashes have ascending windows. A bucket's keys are put in from the last to the first:
 * what came before has spilled over into the bucket's lowest rows, so it is the keys that start
 * there that find no room. The first one without room decides how many are bumped; keys
 * beyond it that the two bits of a mark cannot spare are taken out again.
 */
#include "ribbon/build.h"

#include "base/hash_sort.h"
#include "base/pair_sort.h"
#include "base/reason.h"
#include "base/thread.h"
#include "base/watch.h"
#include "ribbon/shards.h"

#define REACH (RIBBON_BUCKET + RIBBON_WIDTH)   /* rows that the windows of a bucket have */
#define TELLING (UINT64_C(64) * RIBBON_BUCKET) /* windows between two looks at the caller */

/* The first key whose window is `window` or a later one. */
static size_t keys_before(const struct ribbon_work *work, uint64_t window)
{
	size_t low = 0, high = work->keys.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ribbon_window(work->layer, work->keys.hashes[middle]) < window)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ------------------------------------------------------------------- elimination -- */

/* What the table has to tell a key: fingerprint, value, and a bit more if some have that. */
static inline uint64_t right_side(const struct ribbon_work *work, uint64_t mask, size_t key)
{
	unsigned bits = work->print_bits;
	uint64_t print = ribbon_print(mask), right = print & bits_low(bits);
	if (work->keys.values != NULL)
		right |= work->keys.values[key] << bits;
	if (work->layer->split > 0)
		right |= (print >> bits & 1) << work->matrix->columns;
	return right;
}

#define NO_ROW UINT64_MAX /* an equation that follows from others */

/* Finds a row for an equation and leaves it there; false if it contradicts others. */
static inline bool eliminate(uint64_t *equations, uint64_t *row, uint64_t mask, uint64_t right)
{
	uint64_t *at = equations + 2 * *row;
	while (at[0] != 0) {
		mask ^= at[0];
		right ^= at[1];
		if (mask == 0) {
			*row = NO_ROW;
			return right == 0;
		}
		unsigned zeros = (unsigned)__builtin_ctzll(mask);
		mask >>= zeros;
		at += 2 * zeros;
	}
	at[0] = mask;
	at[1] = right;
	*row = (uint64_t)(at - equations) / 2;
	return true;
}

/* The rows that keys of a bucket have got, in this order. */
struct placed {
	unsigned n;
	struct {
		uint32_t row, place; /* of the window in the bucket */
	} key[REACH];
};

/* The mark that bumps the windows up to this one, and the fewest others. */
static unsigned mark_for(unsigned place)
{
	unsigned mark = 0;
	while (ribbon_bumped_before(mark) <= place)
		mark++;
	return mark;
}

/*
 * Puts keys [from, to) of the bucket that begins with window `start` into the equations of
 * its shard, which begins with window `base`. Gives the bucket's mark.
 */
static unsigned fill_bucket(const struct ribbon_work *work, uint64_t *equations, uint64_t base,
                            uint64_t start, size_t from, size_t to)
{
	const uint64_t *hashes = work->keys.hashes;
	struct placed placed;
	placed.n = 0;
	for (size_t key = to; key-- > from;) {
		if (key > from && hashes[key] == hashes[key - 1])
			continue;
		uint64_t window = ribbon_window(work->layer, hashes[key]), row = window - base;
		uint64_t mask = ribbon_mask(hashes[key]);
		uint32_t place = (uint32_t)(window - start);
		if (LIKELY(eliminate(equations, &row, mask | 1, right_side(work, mask, key)))) {
			if (row == NO_ROW)
				continue;
			placed.key[placed.n].row = (uint32_t)row;
			placed.key[placed.n++].place = place;
			continue;
		}
		unsigned mark = mark_for(place);
		while (placed.n > 0 &&
		       placed.key[placed.n - 1].place < ribbon_bumped_before(mark)) {
			uint64_t *equation = equations + 2 * (uint64_t)placed.key[--placed.n].row;
			equation[0] = equation[1] = 0;
		}
		return mark;
	}
	return 0;
}

static uint64_t count_bumped(const struct ribbon_work *work, uint64_t start, unsigned mark,
                             size_t from, size_t to)
{
	size_t key = from;
	uint64_t before = start + ribbon_bumped_before(mark);
	while (key < to && ribbon_window(work->layer, work->keys.hashes[key]) < before)
		key++;
	return key - from;
}

/* Tells how far the work is, every few thousand windows. True: end early. */
static bool tell_progress(const struct ribbon_work *work, uint64_t window)
{
	return window % TELLING == 0 && watch_step(work->first ? TELLING : 0);
}

static void build_shard(const struct ribbon_work *work, uint64_t shard, uint64_t *equations)
{
	const struct ribbon_layer *layer = work->layer;
	uint64_t base = shard * RIBBON_SHARD, bumped = 0;
	uint64_t end = base + RIBBON_SHARD < layer->windows ? base + RIBBON_SHARD : layer->windows;
	uint64_t rows = end - base + RIBBON_WIDTH, block = ribbon_block(base);
	size_t from = keys_before(work, base), to = from;
	memset(equations, 0, (size_t)(2 * rows * sizeof *equations));
	for (uint64_t start = base; start < end; start += RIBBON_BUCKET, from = to) {
		uint64_t behind = start + RIBBON_BUCKET < end ? start + RIBBON_BUCKET : end;
		while (to < work->keys.n && ribbon_window(layer, work->keys.hashes[to]) < behind)
			to++;
		unsigned mark = fill_bucket(work, equations, base, start, from, to);
		if (mark > 0)
			bumped += count_bumped(work, start, mark, from, to);
		uint64_t bucket = start / RIBBON_BUCKET;
		layer->marks[bucket / 4] |= (unsigned char)(mark << 2 * (bucket % 4));
		if (tell_progress(work, behind))
			return;
	}
	work->bumped[shard] = bumped;
	work->ops->solve(equations, rows, work->matrix->columns,
	                 layer->split > block ? layer->split - block : 0,
	                 layer->blocks + 8 * ribbon_words(layer, work->matrix->columns, block));
}

static void build_shards(void *context, unsigned share)
{
	struct ribbon_work *work = context;
	uint64_t shard;
	while (!watch_stopped() && (shard = atomic_fetch_add(&work->shard, 1)) < work->last)
		build_shard(work, shard, work->room + 2 * RIBBON_SHARD_ROWS * share);
}

nidus_status ribbon_solve(struct ribbon_work *work, unsigned threads)
{
	atomic_store(&work->shard, work->from);
	threads_run(threads, build_shards, work);
	return watch_status();
}

/* --------------------------------------------------------------------- bumped keys -- */

/* Hands the bumped keys of the shards on, with the hashes that they have in the next layer. */
static void collect_shards(void *context, unsigned share)
{
	struct ribbon_work *work = context;
	uint64_t shard;
	(void)share;
	while ((shard = atomic_fetch_add(&work->shard, 1)) < work->last) {
		uint64_t to = work->bumped[shard], end = (shard + 1) * RIBBON_SHARD;
		for (size_t key = keys_before(work, shard * RIBBON_SHARD); key < work->keys.n;
		     key++) {
			uint64_t hash = work->keys.hashes[key];
			uint64_t window = ribbon_window(work->layer, hash);
			if (window >= end)
				break;
			if (!ribbon_bumped(work->layer, window))
				continue;
			work->next[to] = ribbon_next(hash);
			if (work->keys.values != NULL)
				work->next_values[to] = work->keys.values[key];
			to++;
		}
	}
}

/* Turns how many keys each shard has bumped into where they begin; gives how many there are. */
static uint64_t add_up(const struct ribbon_work *work)
{
	uint64_t sum = 0;
	for (uint64_t shard = work->from; shard < work->last; shard++) {
		uint64_t some = work->bumped[shard];
		work->bumped[shard] = sum;
		sum += some;
	}
	return sum;
}

void ribbon_give_bumped(struct ribbon_bumped *bumped, const nidus_allocator *allocator)
{
	memory_give(allocator, &bumped->hashes);
	memory_give(allocator, &bumped->values);
	*bumped = (struct ribbon_bumped){ 0 };
}

static nidus_status take_bumped(struct ribbon_bumped *bumped, uint64_t n, bool values,
                                const nidus_allocator *allocator)
{
	*bumped = (struct ribbon_bumped){ 0 };
	nidus_status status = memory_take(allocator, n * sizeof(uint64_t), &bumped->hashes);
	if (status == NIDUS_OK && values)
		status = memory_take(allocator, n * sizeof(uint64_t), &bumped->values);
	if (status != NIDUS_OK)
		ribbon_give_bumped(bumped, allocator);
	return status;
}

static nidus_status sort_bumped(struct ribbon_bumped *bumped, uint64_t n, bool values,
                                unsigned threads, const nidus_allocator *allocator)
{
	uint64_t *hashes = (uint64_t *)(void *)bumped->hashes.bytes;
	uint64_t *beside = values ? (uint64_t *)(void *)bumped->values.bytes : NULL;
	nidus_status status = values ? pair_sort(hashes, beside, (size_t)n, VALUE_BITS_MOST, true,
	                                         threads, allocator, &bumped->keys.n)
	                             : hash_sort_in_place(hashes, (size_t)n, true, threads,
	                                                  allocator, &bumped->keys.n);
	bumped->keys.hashes = hashes;
	bumped->keys.values = beside;
	return status;
}

nidus_status ribbon_gather(struct ribbon_work *work, unsigned threads,
                           const nidus_allocator *allocator, struct ribbon_bumped *bumped)
{
	bool values = work->keys.values != NULL;
	uint64_t n = add_up(work);
	nidus_status status = take_bumped(bumped, n, values, allocator);
	if (status != NIDUS_OK || n == 0)
		return status;
	work->next = (uint64_t *)(void *)bumped->hashes.bytes;
	work->next_values = (uint64_t *)(void *)bumped->values.bytes;
	atomic_store(&work->shard, work->from);
	threads_run(threads, collect_shards, work);
	status = sort_bumped(bumped, n, values, threads, allocator);
	if (status == NIDUS_OK)
		status = watch_status(); /* half sorted, perhaps */
	if (status != NIDUS_OK)
		ribbon_give_bumped(bumped, allocator);
	return status;
}

/* -------------------------------------------------------------------------- layers -- */

/* Solves one layer and gathers what it bumps. */
static nidus_status build_layer(struct ribbon_work *work, unsigned threads,
                                const nidus_allocator *allocator, struct ribbon_bumped *bumped)
{
	uint64_t shards = ribbon_shards(work->layer);
	uint64_t rows = shards > 1 ? RIBBON_SHARD_ROWS : work->layer->windows + RIBBON_WIDTH;
	struct block room, counts;
	if (threads > shards)
		threads = (unsigned)shards;
	nidus_status status = memory_take(allocator, threads * rows * 2 * sizeof(uint64_t), &room);
	if (status != NIDUS_OK)
		return status;
	status = memory_take(allocator, shards * sizeof(uint64_t), &counts);
	if (status == NIDUS_OK) {
		work->room = (uint64_t *)(void *)room.bytes;
		work->bumped = (uint64_t *)(void *)counts.bytes;
		work->from = 0;
		work->last = shards;
		status = ribbon_solve(work, threads);
	}
	if (status == NIDUS_OK) {
		status = ribbon_gather(work, threads, allocator, bumped);
	}
	memory_give(allocator, &room);
	memory_give(allocator, &counts);
	return status;
}

nidus_status ribbon_restore(struct ribbon_bumped *left, unsigned layers, unsigned threads,
                            const nidus_allocator *allocator)
{
	uint64_t *hashes = (uint64_t *)(void *)left->hashes.bytes;
	for (size_t i = 0; i < left->keys.n; i++) {
		for (unsigned layer = 0; layer < layers; layer++)
			hashes[i] = ribbon_previous(hashes[i]);
	}
	return sort_bumped(left, left->keys.n, left->keys.values != NULL, threads, allocator);
}

/* Solves all layers of a matrix. What is left over is to be given back, after a failure too. */
static nidus_status build_matrix(const struct ribbon *ribbon, const struct ribbon_matrix *matrix,
                                 unsigned print_bits, struct ribbon_keys keys, unsigned threads,
                                 struct ribbon_bumped *left)
{
	struct ribbon_work work = {
		.ops = ribbon->ops,
		.matrix = matrix,
		.print_bits = print_bits,
		.keys = keys,
	};
	nidus_status status = NIDUS_OK;
	*left = (struct ribbon_bumped){ 0 };
	for (unsigned i = 0; i < matrix->layers && status == NIDUS_OK; i++) {
		struct ribbon_bumped bumped = { 0 };
		work.layer = &matrix->layer[i];
		work.first = i == 0;
		status = build_layer(&work, threads, &ribbon->allocator, &bumped);
		ribbon_give_bumped(left, &ribbon->allocator);
		*left = bumped;
		work.keys = bumped.keys;
	}
	return status == NIDUS_OK
	               ? ribbon_restore(left, matrix->layers, threads, &ribbon->allocator)
	               : status;
}

/* ---------------------------------------------------------------------------- list -- */

static uint64_t value_of(const struct ribbon_keys *keys, size_t key)
{
	return keys->values != NULL ? keys->values[key] : 0;
}

/*
 * Makes the list of what the matrices have left over: of the first, if there are two, the
 * entries, all of which are keys. No hash is in it twice. Errors: E_NOMEM.
 */
static nidus_status make_list(struct ribbon *ribbon, const struct ribbon_entry *first,
                              uint64_t entries, const struct ribbon_keys *left)
{
	nidus_status status = ribbon_take_list(ribbon, entries + left->n);
	uint64_t listed = 0, i = 0;
	size_t key = 0;
	if (status != NIDUS_OK)
		return status;
	while (i < entries || key < left->n) {
		if (key == left->n || (i < entries && first[i].hash < left->hashes[key])) {
			ribbon->list[listed++] = (struct ribbon_entry){ first[i++].hash, 1 };
			continue;
		}
		i += i < entries && first[i].hash == left->hashes[key];
		ribbon->list[listed++] =
			(struct ribbon_entry){ left->hashes[key], value_of(left, key) };
		key++;
	}
	ribbon->listed = listed;
	return NIDUS_OK;
}

nidus_status ribbon_list(struct ribbon *ribbon, const struct ribbon_keys *left)
{
	return make_list(ribbon, NULL, 0, left);
}

/* ---------------------------------------------------------------------- whole tables -- */

/* Distinct hashes. Errors: E_ARG (with two values). */
static nidus_status count_keys(const struct ribbon_keys *keys, uint64_t *distinct)
{
	*distinct = keys->n > 0;
	for (size_t i = 1; i < keys->n; i++) {
		if (keys->hashes[i] != keys->hashes[i - 1])
			++*distinct;
		else if (keys->values != NULL && keys->values[i] != keys->values[i - 1])
			return fail(NIDUS_E_ARG,
			            "keys %zu and %zu, in ascending order of their hashes, have "
			            "the same hash and the values %llu and %llu: a ribbon filter "
			            "keeps one value per key",
			            i - 1, i, (unsigned long long)keys->values[i - 1],
			            (unsigned long long)keys->values[i]);
	}
	return NIDUS_OK;
}

nidus_status ribbon_build(struct ribbon *ribbon, const uint64_t *hashes, const uint64_t *values,
                          size_t n, unsigned threads)
{
	struct ribbon_keys keys = { hashes, ribbon->value_bits > 0 ? values : NULL, n };
	struct ribbon_bumped left;
	uint64_t distinct;
	nidus_status status = count_keys(&keys, &distinct);
	if (status == NIDUS_OK && distinct > ribbon->capacity)
		return fail(NIDUS_FULL, "%llu keys are more than the capacity of %llu",
		            (unsigned long long)distinct, (unsigned long long)ribbon->capacity);
	if (status != NIDUS_OK || n == 0)
		return status;
	status = build_matrix(ribbon, &ribbon->keys, ribbon->print_bits, keys, threads, &left);
	if (status == NIDUS_OK)
		status = ribbon_list(ribbon, &left.keys);
	if (status == NIDUS_OK)
		ribbon->count = distinct;
	ribbon_give_bumped(&left, &ribbon->allocator);
	return status;
}

/* Both lists as one, ascending, with 1 beside each hash of the first and 0 beside the others. */
static void unite(const uint64_t *in, size_t n, const uint64_t *out, size_t m, uint64_t *hashes,
                  uint64_t *values)
{
	for (size_t i = 0, j = 0; i < n || j < m;) {
		bool ours = j == m || (i < n && in[i] < out[j]);
		*hashes++ = ours ? in[i++] : out[j++];
		*values++ = ours;
	}
}

/* Takes over the layers of a table of the same keys. */
static void copy_layers(struct ribbon_matrix *to, const struct ribbon_matrix *from)
{
	for (unsigned i = 0; i < to->layers; i++) {
		const struct ribbon_layer *layer = &from->layer[i];
		memcpy(to->layer[i].blocks, layer->blocks,
		       8 * ribbon_words(layer, from->columns, ribbon_blocks(layer)));
		memcpy(to->layer[i].marks, layer->marks,
		       divide_up(layer->windows, (uint64_t)RIBBON_BUCKET * 4));
	}
}

nidus_status ribbon_judge(struct ribbon *ribbon, const struct ribbon *first, const uint64_t *in,
                          size_t n, const uint64_t *out, size_t m, unsigned threads)
{
	struct ribbon_bumped both, left;
	nidus_status status = take_bumped(&both, n + m, true, &ribbon->allocator);
	if (status != NIDUS_OK)
		return status;
	uint64_t *hashes = (uint64_t *)(void *)both.hashes.bytes;
	uint64_t *values = (uint64_t *)(void *)both.values.bytes;
	unite(in, n, out, m, hashes, values);
	struct ribbon_keys keys = { hashes, values, n + m };
	status = build_matrix(ribbon, &ribbon->verdict, 0, keys, threads, &left);
	ribbon_give_bumped(&both, &ribbon->allocator);
	if (status == NIDUS_OK)
		status = make_list(ribbon, first->list, first->listed, &left.keys);
	ribbon_give_bumped(&left, &ribbon->allocator);
	if (status != NIDUS_OK)
		return status;
	copy_layers(&ribbon->keys, &first->keys);
	ribbon->count = first->count;
	return NIDUS_OK;
}

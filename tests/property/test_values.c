/* SPDX-License-Identifier: MIT
 *
 * Values beside keys: every family and width against an exact multimap of identities, with
 * growth, files, merges and threads.
 */
#include <pthread.h>
#include <stdlib.h>

#include "api/filter.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/filters.h"

#define KEYS 96
#define MOST 4096

/* What a filter holds: entries in no order. */
struct model {
	nidus_entry entry[MOST];
	size_t n;
};

/* A filter with its model, and keys to play with. */
struct game {
	nidus_filter *filter;
	struct model model;
	uint64_t hash[KEYS];
	nidus_entry identity[KEYS];
	struct chance chance;
	unsigned bits;
};

/* --------------------------------------------------------------------- model -- */

static bool same_identity(const nidus_entry *a, const nidus_entry *b)
{
	return a->home == b->home && a->fingerprint == b->fingerprint;
}

static void model_put(struct model *model, nidus_entry entry, uint64_t value)
{
	expect(model->n < MOST);
	entry.value = value;
	model->entry[model->n++] = entry;
}

/* The place of an entry; model->n if there is none. */
static size_t model_find(const struct model *model, const nidus_entry *identity, uint64_t value)
{
	size_t i = 0;
	while (i < model->n &&
	       !(same_identity(&model->entry[i], identity) && model->entry[i].value == value))
		i++;
	return i;
}

static bool model_take(struct model *model, const nidus_entry *identity, uint64_t value)
{
	size_t i = model_find(model, identity, value);
	if (i == model->n)
		return false;
	model->entry[i] = model->entry[--model->n];
	return true;
}

static size_t model_values(const struct model *model, const nidus_entry *identity, uint64_t *values)
{
	size_t found = 0;
	for (size_t i = 0; i < model->n; i++) {
		if (same_identity(&model->entry[i], identity))
			values[found++] = model->entry[i].value;
	}
	return found;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static int by_entry(const void *a, const void *b)
{
	const nidus_entry *x = a, *y = b;
	if (x->home != y->home)
		return x->home < y->home ? -1 : 1;
	if (x->fingerprint != y->fingerprint)
		return x->fingerprint < y->fingerprint ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/* -------------------------------------------------------------------- checks -- */

static uint64_t highest(const struct game *game)
{
	return (UINT64_C(1) << game->bits) - 1;
}

/* Every way to ask for a key tells the values of the model. */
static void expect_key(struct game *game, const nidus_filter *filter, unsigned key)
{
	uint64_t wanted[MOST], values[MOST] = { 0 }, first, sum = 0;
	uint32_t found;
	size_t n = model_values(&game->model, &game->identity[key], wanted);
	expect_equal(nidus_find_hash(filter, game->hash[key], values, MOST), n);
	qsort(wanted, n, sizeof *wanted, by_number);
	qsort(values, n, sizeof *values, by_number);
	bool first_is_one = n == 0;
	nidus_find_batch(filter, &game->hash[key], 1, &first, &found);
	for (size_t i = 0; i < n; i++) {
		expect_equal(values[i], wanted[i]);
		first_is_one |= first == wanted[i];
		sum += wanted[i];
	}
	expect_equal(found, n);
	expect(first_is_one);
	expect_equal(nidus_find_hash(filter, game->hash[key], NULL, 0), n);
	expect_equal(nidus_count_key_hash(filter, game->hash[key]), n);
	expect_equal(nidus_contains_hash(filter, game->hash[key]), n > 0);
	if (n <= 32)
		expect_equal(nidus_get_count_hash(filter, game->hash[key]),
		             sum < highest(game) ? sum : highest(game));
}

/* The filter holds the entries of the model and no others. */
static void expect_all(struct game *game, const nidus_filter *filter)
{
	static nidus_entry walked[MOST];
	nidus_cursor cursor = { 0 };
	size_t n = 0;
	while (n < MOST && nidus_next(filter, &cursor, &walked[n]))
		n++;
	expect_equal(n, game->model.n);
	qsort(walked, n, sizeof *walked, by_entry);
	qsort(game->model.entry, n, sizeof *walked, by_entry);
	for (size_t i = 0; i < n; i++)
		expect(by_entry(&walked[i], &game->model.entry[i]) == 0);
	for (unsigned key = 0; key < KEYS; key++)
		expect_key(game, filter, key);
	expect_ok(nidus_verify(filter, NULL));
}

/* ---------------------------------------------------------------------- acts -- */

static uint64_t some_value(struct game *game)
{
	return chance_one_in(&game->chance, 8) ? highest(game)
	                                       : chance_below(&game->chance, 5) & highest(game);
}

static bool refused(nidus_status status)
{
	return status == NIDUS_FULL || status == NIDUS_COPIES;
}

static void act_insert(struct game *game, unsigned key, uint64_t value)
{
	bool plain = value == 0 && chance_percent(&game->chance, 50);
	nidus_status status = plain ? nidus_insert_hash(game->filter, game->hash[key])
	                            : nidus_insert_value_hash(game->filter, game->hash[key], value);
	if (status == NIDUS_OK)
		model_put(&game->model, game->identity[key], value);
	else
		expect(refused(status));
}

static void act_batch(struct game *game, unsigned key)
{
	uint64_t values[8];
	size_t n = 8 < KEYS - key ? 8 : KEYS - key, done;
	for (size_t i = 0; i < n; i++)
		values[i] = some_value(game);
	nidus_status status =
		nidus_insert_value_batch(game->filter, game->hash + key, values, n, &done);
	expect(done <= n && (status == NIDUS_OK ? done == n : refused(status)));
	for (size_t i = 0; i < done; i++)
		model_put(&game->model, game->identity[key + i], values[i]);
}

static void act_remove_value(struct game *game, unsigned key, uint64_t value)
{
	bool there = model_take(&game->model, &game->identity[key], value);
	expect_status(nidus_remove_value_hash(game->filter, game->hash[key], value),
	              there ? NIDUS_OK : NIDUS_NOT_FOUND);
}

/* Takes one entry, whichever: the model learns which by what is left. */
static void act_remove(struct game *game, unsigned key)
{
	uint64_t before[MOST], after[MOST];
	size_t n = model_values(&game->model, &game->identity[key], before), i = 0;
	expect_status(nidus_remove_hash(game->filter, game->hash[key]),
	              n > 0 ? NIDUS_OK : NIDUS_NOT_FOUND);
	if (n == 0)
		return;
	expect_equal(nidus_find_hash(game->filter, game->hash[key], after, MOST), n - 1);
	qsort(before, n, sizeof *before, by_number);
	qsort(after, n - 1, sizeof *after, by_number);
	while (i < n - 1 && before[i] == after[i])
		i++;
	expect(model_take(&game->model, &game->identity[key], before[i]));
}

static void act_replace(struct game *game, unsigned key, uint64_t old, uint64_t fresh)
{
	bool there = model_take(&game->model, &game->identity[key], old);
	nidus_status status = nidus_replace_value_hash(game->filter, game->hash[key], old, fresh);
	expect_status(status, there ? NIDUS_OK : NIDUS_NOT_FOUND);
	if (there)
		model_put(&game->model, game->identity[key], fresh);
}

/* One of the key's values grows, or there is a new one. */
static void act_add(struct game *game, unsigned key, uint64_t delta)
{
	uint64_t before[MOST], after[MOST];
	size_t n = model_values(&game->model, &game->identity[key], before), i = 0;
	nidus_status status = nidus_add_count_hash(game->filter, game->hash[key], delta);
	uint64_t most = highest(game), put = delta < most ? delta : most;
	if (n == 0 && status == NIDUS_OK)
		model_put(&game->model, game->identity[key], put);
	expect(status == NIDUS_OK || (n == 0 && refused(status)));
	if (n == 0)
		return;
	expect_equal(nidus_find_hash(game->filter, game->hash[key], after, MOST), n);
	/* What is gone from `before` has become what is new in `after`. */
	for (size_t j = 0; j < n; j++) {
		for (i = 0; i < n && after[i] != before[j]; i++)
			;
		if (i < n) {
			after[i] = UINT64_MAX;
			before[j] = UINT64_MAX;
		}
	}
	for (size_t j = 0; j < n; j++) {
		if (before[j] == UINT64_MAX)
			continue;
		uint64_t sum = put < most - before[j] ? before[j] + put : most;
		for (i = 0; i < n && after[i] == UINT64_MAX; i++)
			;
		expect(i < n && after[i] == sum);
		expect(model_take(&game->model, &game->identity[key], before[j]));
		model_put(&game->model, game->identity[key], sum);
	}
}

static void act(struct game *game)
{
	unsigned key = (unsigned)chance_below(&game->chance, KEYS);
	uint64_t value = some_value(game);
	switch (chance_below(&game->chance, 10)) {
	case 0:
	case 1:
	case 2:
		act_insert(game, key, value);
		break;
	case 3:
		act_batch(game, key);
		break;
	case 4:
		act_remove_value(game, key, value);
		break;
	case 5:
		act_remove(game, key);
		break;
	case 6:
		act_replace(game, key, value, some_value(game));
		break;
	default:
		act_add(game, key, value);
	}
	expect_key(game, game->filter, key);
}

/* Copies by every way there is hold the same entries. */
static void expect_copies(struct game *game)
{
	nidus_filter *copy, *opened;
	struct bytes bytes = bytes_save(game->filter);
	expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &copy));
	expect_all(game, copy);
	expect(filters_equal(game->filter, copy));
	nidus_free(copy);
	expect_ok(nidus_open_buffer(bytes.data, bytes.size, NIDUS_OPEN_VERIFY, &opened));
	expect_all(game, opened);
	expect_ok(nidus_clone(opened, &copy));
	expect_all(game, copy);
	nidus_free(copy);
	nidus_free(opened);
	expect_ok(nidus_clone(game->filter, &copy));
	expect_all(game, copy);
	nidus_free(copy);
	bytes_free(&bytes);
}

/* ---------------------------------------------------------------------- games -- */

static bool game_begin(struct game *game, const nidus_options *options, uint64_t seed)
{
	nidus_status status = nidus_create(options, &game->filter);
	if (status != NIDUS_OK) {
		expect(status == NIDUS_E_RANGE || status == NIDUS_E_UNSUPPORTED);
		return false;
	}
	game->chance.state = seed;
	game->bits = options->value_bits;
	game->model.n = 0;
	expect_equal(info_of(game->filter).value_bits, options->value_bits);
	for (unsigned key = 0; key < KEYS; key++) {
		game->hash[key] = chance_next(&game->chance);
		game->identity[key] =
			game->filter->family->identity(filter_body(game->filter), game->hash[key]);
	}
	return true;
}

static const unsigned widths[] = { 1, 2, 5, 8, 11, 16, 20, 24, 32 };
#define WIDTHS (sizeof widths / sizeof *widths)

struct tour {
	uint32_t features;
	unsigned growth, acts, games;
	unsigned seen; /* families, as bits */
};

static void play(const struct shape *shape, void *context)
{
	struct tour *tour = context;
	static struct game game;
	for (size_t i = 0; i < WIDTHS; i++) {
		nidus_options options = shape_options(shape, 150, chance_seed() | 1);
		options.value_bits = widths[i];
		options.features |= tour->features;
		if (tour->growth > 0) {
			options.capacity = 20;
			options.max_capacity = 20 << tour->growth;
		}
		check_note("%s, %u slots, 2^-%u, %u bits", shape->family->name, shape->slots,
		           shape->k, widths[i]);
		if (!game_begin(&game, &options, chance_seed() + tour->games))
			continue;
		for (unsigned n = 0; n < tour->acts; n++)
			act(&game);
		expect_all(&game, game.filter);
		expect_copies(&game);
		nidus_free(game.filter);
		tour->games++;
		tour->seen |= 1u << shape->family->id;
	}
}

static unsigned families_with_values(void)
{
	unsigned all = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if ((*family)->features & NIDUS_ENUMERATE)
			all |= 1u << (*family)->id;
	}
	return all;
}

static void entries_are_those_of_an_exact_multimap(void **state)
{
	(void)state;
	for (unsigned k = 4; k <= 24; k += 5) {
		struct tour tour = { .acts = 400 };
		each_layout(k, k, play, &tour);
		expect_equal(tour.seen, k < 24 ? families_with_values() : tour.seen);
	}
}

static void the_same_in_a_filter_that_grows(void **state)
{
	struct tour tour = { .acts = 900, .growth = 6 };
	(void)state;
	each_shape(7, 7, play, &tour);
	expect_equal(tour.seen, families_with_values());
}

static void the_same_in_a_filter_that_threads_share(void **state)
{
	(void)state;
	for (unsigned growth = 0; growth <= 6; growth += 6) {
		struct tour tour = { .acts = 600, .growth = growth, .features = NIDUS_CONCURRENT };
		each_layout(8, 8, play, &tour);
		expect_equal(tour.seen, families_with_values());
	}
}

/* --------------------------------------------------------------------- merges -- */

/* The value of an identity in the model of two filters, merged. */
static void merge_models(struct model *to, const struct model *from, nidus_merge_how how,
                         unsigned bits)
{
	uint64_t most = (UINT64_C(1) << bits) - 1;
	for (size_t i = 0; i < from->n; i++) {
		const nidus_entry *entry = &from->entry[i];
		uint64_t there[MOST], value = entry->value;
		size_t n = model_values(to, entry, there);
		if (how == NIDUS_MERGE_UNIQUE && model_find(to, entry, value) < to->n)
			continue;
		if (how >= NIDUS_MERGE_SUM && n > 0) {
			expect(n == 1 && model_take(to, entry, there[0]));
			value = how == NIDUS_MERGE_OR                        ? there[0] | value
			        : how == NIDUS_MERGE_MAX && there[0] > value ? there[0]
			        : how == NIDUS_MERGE_MAX                     ? value
			        : there[0] + value < most                    ? there[0] + value
			                                                     : most;
		}
		model_put(to, *entry, value);
	}
}

static void merge_both(const struct shape *shape, void *context)
{
	static struct game a, b, merged;
	unsigned *visited = context;
	for (nidus_merge_how how = NIDUS_MERGE_COPIES; how <= NIDUS_MERGE_OR; how++) {
		nidus_options options = shape_options(shape, 400, 4711);
		options.value_bits = 9;
		check_note("%s, %u slots, merged by %d", shape->family->name, shape->slots, how);
		if (!game_begin(&a, &options, 1) || !game_begin(&b, &options, 1))
			return;
		for (unsigned n = 0; n < 150; n++) {
			act_insert(&a, n % KEYS, some_value(&a));
			act_insert(&b, (n * 5) % KEYS, (some_value(&b) & 127) + 250);
		}
		const nidus_filter *parts[] = { a.filter, b.filter };
		merged = a;
		merged.model.n = 0;
		merge_models(&merged.model, &a.model, how, 9);
		merge_models(&merged.model, &b.model, how, 9);
		expect_ok(nidus_merge_many(parts, 2, how, &merged.filter));
		expect_all(&merged, merged.filter);
		nidus_free(merged.filter);
		nidus_free(a.filter);
		nidus_free(b.filter);
		++*visited;
	}
}

static void merges_keep_or_combine_values(void **state)
{
	unsigned visited = 0;
	(void)state;
	each_shape(10, 10, merge_both, &visited);
	expect(visited > 50);
}

/* ----------------------------------------------------------------------- bulk -- */

#define PAIRS 3000

static void build_one(const struct shape *shape, void *context)
{
	static uint64_t hashes[PAIRS], values[PAIRS], keys[PAIRS], beside[PAIRS];
	nidus_options options = shape_options(shape, 0, 99);
	unsigned *visited = context;
	struct chance chance = { chance_seed() };
	nidus_filter *filter, *again;
	options.value_bits = *visited % 2 == 0 ? 12 : 8; /* sorted as pairs, and as words */
	for (unsigned i = 0; i < PAIRS; i++) {
		bool copy = i > 0 && chance_one_in(&chance, 10);
		hashes[i] = keys[i] = copy ? keys[i - 1] : chance_next(&chance);
		values[i] = beside[i] = copy && chance_one_in(&chance, 2)
		                                ? beside[i - 1]
		                                : chance_next(&chance) >> (64 - options.value_bits);
	}
	check_note("%s, %u slots", shape->family->name, shape->slots);
	nidus_status status = nidus_build_values(&options, hashes, values, PAIRS, 1, &filter);
	if (status == NIDUS_E_UNSUPPORTED || status == NIDUS_E_RANGE)
		return;
	expect_ok(status);
	for (unsigned i = 0; i < PAIRS; i++) {
		uint64_t found[64];
		size_t n = nidus_find_hash(filter, keys[i], found, 64), same = 0;
		for (size_t j = 0; j < n; j++)
			same += found[j] == beside[i];
		expect(same >= 1);
		/* In another order, by more threads: the same filter. */
		hashes[PAIRS - 1 - i] = keys[i];
		values[PAIRS - 1 - i] = beside[i];
	}
	expect(info_of(filter).count < PAIRS); /* equal pairs once */
	expect_ok(nidus_build_values(&options, hashes, values, PAIRS, 3, &again));
	expect(filters_equal(filter, again));
	nidus_free(again);
	memcpy(hashes, keys, sizeof hashes);
	memcpy(values, beside, sizeof values);
	expect_ok(nidus_build_like(filter, hashes, values, PAIRS, false, 2, NULL, &again));
	expect(filters_equal(filter, again));
	nidus_free(again);
	values[0] = UINT64_C(1) << options.value_bits;
	expect_status(nidus_build_like(filter, hashes, values, 1, false, 1, NULL, &again),
	              NIDUS_E_RANGE);
	expect(again == NULL);
	nidus_free(filter);
	++*visited;
}

static void bulk_builds_find_every_value_and_depend_on_pairs_alone(void **state)
{
	unsigned visited = 0;
	(void)state;
	each_shape(12, 12, build_one, &visited);
	expect(visited >= 12);
}

/* -------------------------------------------------------------------- threads -- */

#define THREADS 4
#define COUNTED 64

struct counter {
	nidus_filter *filter;
	pthread_t thread;
	unsigned number, low;
};

static unsigned rounds(void)
{
	return check_small() ? 40 : 200;
}

static void *count_up(void *context)
{
	struct counter *me = context;
	uint64_t last[COUNTED] = { 0 };
	for (unsigned round = 0; round < rounds(); round++) {
		for (unsigned i = 0; i < COUNTED; i++) {
			unsigned key = (i * 7 + me->number * 13) % COUNTED;
			/* Others come and go, and make the table move. */
			uint64_t other = 1000 + me->number * 100000u + round * COUNTED + i;
			me->low += nidus_add_count_u64(me->filter, key, 1) != NIDUS_OK;
			uint64_t now = nidus_get_count_u64(me->filter, key);
			me->low += now < last[key];
			last[key] = now;
			/* Twins of counted keys would share their counts; all of these are in now. */
			if (round == 0 || nidus_contains_u64(me->filter, other))
				continue;
			if (nidus_insert_value_u64(me->filter, other, i) == NIDUS_OK) {
				uint64_t values[32];
				size_t n = nidus_find_u64(me->filter, other, values, 32), same = 0;
				for (size_t j = 0; j < n && j < 32; j++)
					same += values[j] == i;
				me->low += same == 0;
				me->low += nidus_remove_value_u64(me->filter, other, i) != NIDUS_OK;
			}
		}
	}
	return NULL;
}

static void count_together(const struct shape *shape, void *context)
{
	unsigned *visited = context;
	for (unsigned growth = 0; growth < 2; growth++) {
		nidus_options options = shape_options(shape, growth ? 10 : 80, 5);
		options.max_capacity = growth ? 2000 : 0;
		options.value_bits = 20;
		options.features = NIDUS_CONCURRENT;
		check_note("%s, %u slots, growth %u", shape->family->name, shape->slots, growth);
		nidus_filter *filter;
		if (nidus_create(&options, &filter) != NIDUS_OK)
			return;
		struct counter counters[THREADS];
		for (unsigned i = 0; i < THREADS; i++) {
			counters[i] = (struct counter){ .filter = filter, .number = i };
			expect(pthread_create(&counters[i].thread, NULL, count_up, &counters[i]) ==
			       0);
		}
		for (unsigned i = 0; i < THREADS; i++) {
			expect(pthread_join(counters[i].thread, NULL) == 0);
			expect_equal(counters[i].low, 0);
		}
		/* Twins share a count: none is too low, and most are exact. */
		unsigned exact = 0;
		for (unsigned key = 0; key < COUNTED; key++) {
			uint64_t count = nidus_get_count_u64(filter, key);
			expect(count >= THREADS * rounds());
			exact += count == THREADS * rounds();
		}
		expect(exact > COUNTED / 2);
		expect_ok(nidus_verify(filter, NULL));
		nidus_free(filter);
		++*visited;
	}
}

static void threads_that_count_lose_nothing(void **state)
{
	unsigned visited = 0;
	(void)state;
	each_layout(12, 12, count_together, &visited);
	expect(visited >= 12);
}

/* ---------------------------------------------------------------------- batches -- */

/* Batches of present and absent keys tell what each key by itself does. */
static void expect_batch(const nidus_filter *filter, uint64_t keys)
{
	enum { SOME = 1000 };
	uint64_t hashes[SOME], first[SOME], values[64];
	uint32_t found[SOME];
	for (uint64_t from = 0; from < keys; from += SOME / 2) {
		for (uint64_t i = 0; i < SOME; i++)
			hashes[i] = nidus_hash_u64(filter, from + i / 2 + (i % 2 ? keys : 0));
		nidus_find_batch(filter, hashes, SOME, first, found);
		for (unsigned i = 0; i < SOME; i++) {
			size_t n = nidus_find_hash(filter, hashes[i], values, 64), at = 0;
			expect_equal(found[i], n);
			while (at < n && at < 64 && values[at] != first[i])
				at++;
			expect(n > 0 ? at < n && at < 64 : first[i] == 0);
		}
	}
}

static void find_in_batches(const struct shape *shape, void *context)
{
	unsigned *visited = context;
	const uint64_t keys = 20000;
	for (unsigned shared = 0; shared < 2; shared++) {
		nidus_options options = shape_options(shape, 10, 5);
		nidus_filter *filter;
		options.max_capacity = 2 * keys;
		options.value_bits = 8;
		options.features = shared ? NIDUS_CONCURRENT : 0;
		check_note("%s, %u slots, shared %u", shape->family->name, shape->slots, shared);
		if (nidus_create(&options, &filter) != NIDUS_OK)
			return;
		for (uint64_t i = 0; i < keys; i++)
			expect_ok(nidus_insert_value_u64(filter, i, i % 251));
		expect_batch(filter, keys);
		for (uint64_t i = 0; i < 2000; i++) /* some have lists then */
			expect_ok(nidus_insert_value_u64(filter, i % 50, i % 7));
		expect_batch(filter, keys);
		nidus_free(filter);
		++*visited;
	}
}

static void batches_of_a_filter_that_grew_find_what_single_calls_find(void **state)
{
	unsigned visited = 0;
	(void)state;
	each_layout(12, 12, find_in_batches, &visited);
	expect(visited >= 12);
}

/* ----------------------------------------------------------------------- edges -- */

static void counts_saturate_and_stay(void **state)
{
	nidus_options options = filter_options(100, 0.01, 3);
	nidus_filter *filter;
	(void)state;
	options.value_bits = 4;
	expect_ok(nidus_create(&options, &filter));
	expect_ok(nidus_add_count(filter, "heron", 5, 14));
	expect_equal(nidus_get_count(filter, "heron", 5), 14);
	expect_ok(nidus_add_count(filter, "heron", 5, 3));
	expect_equal(nidus_get_count(filter, "heron", 5), 15);
	expect_ok(nidus_add_count(filter, "heron", 5, UINT64_MAX));
	expect_equal(nidus_get_count(filter, "heron", 5), 15);
	expect_ok(nidus_add_count(filter, "crane", 5, UINT64_MAX));
	expect_equal(nidus_get_count(filter, "crane", 5), 15);
	expect_equal(info_of(filter).count, 2);
	uint64_t hashes[3] = { nidus_hash(filter, "stork", 5), 7, nidus_hash(filter, "stork", 5) };
	size_t done;
	expect_ok(nidus_add_count_batch(filter, hashes, NULL, 3, &done));
	expect_equal(done, 3);
	expect_equal(nidus_get_count(filter, "stork", 5), 2);
	nidus_free(filter);
}

static void values_that_do_not_fit_are_refused(void **state)
{
	nidus_options options = filter_options(100, 0.01, 3);
	nidus_filter *filter, *plain;
	uint64_t hashes[3] = { 1, 2, 3 }, values[3] = { 7, 8, 1 };
	size_t done;
	(void)state;
	options.value_bits = 33;
	expect_status(nidus_create(&options, &filter), NIDUS_E_RANGE);
	options.value_bits = 3;
	options.family = NIDUS_BLOOM;
	expect_status(nidus_create(&options, &filter), NIDUS_E_UNSUPPORTED);
	options.family = NIDUS_AUTO;
	expect_ok(nidus_create(&options, &filter));
	expect_status(nidus_insert_value_u64(filter, 1, 8), NIDUS_E_RANGE);
	expect_status(nidus_remove_value_u64(filter, 1, 8), NIDUS_E_RANGE);
	expect_status(nidus_replace_value_u64(filter, 1, 8, 1), NIDUS_E_RANGE);
	expect_status(nidus_replace_value_u64(filter, 1, 1, 8), NIDUS_E_RANGE);
	expect_status(nidus_insert_value_batch(filter, hashes, values, 3, &done), NIDUS_E_RANGE);
	expect_equal(done, 1);
	expect_equal(info_of(filter).count, 1);
	nidus_entry entry = { 0 };
	nidus_cursor cursor = { 0 };
	expect(nidus_next(filter, &cursor, &entry) && entry.value == 7);
	entry.value = 8;
	expect_status(nidus_insert_entry(filter, &entry), NIDUS_E_RANGE);
	entry.value = 6;
	expect_ok(nidus_insert_entry(filter, &entry));
	expect_equal(nidus_find_hash(filter, 1, values, 3), 2);
	expect_equal(values[0] + values[1], 13);
	expect_status(nidus_insert_value(filter, NULL, 1, 1), NIDUS_E_ARG);
	expect_status(nidus_insert_value(NULL, "", 0, 1), NIDUS_E_ARG);
	expect_equal(nidus_find(NULL, "", 0, values, 3), 0);
	options.value_bits = 0;
	expect_ok(nidus_create(&options, &plain));
	expect_status(nidus_insert_value_u64(plain, 1, 0), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_add_count_u64(plain, 1, 1), NIDUS_E_UNSUPPORTED);
	expect_ok(nidus_insert_u64(plain, 1));
	expect_equal(nidus_find_u64(plain, 1, values, 3), 1);
	expect_equal(values[0], 0);
	const nidus_filter *both[] = { filter, plain };
	nidus_filter *merged;
	expect_status(nidus_merge_many(both, 2, NIDUS_MERGE_SUM, &merged), NIDUS_E_MISMATCH);
	nidus_free(plain);
	nidus_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_are_those_of_an_exact_multimap),
		cmocka_unit_test(the_same_in_a_filter_that_grows),
		cmocka_unit_test(the_same_in_a_filter_that_threads_share),
		cmocka_unit_test(merges_keep_or_combine_values),
		cmocka_unit_test(bulk_builds_find_every_value_and_depend_on_pairs_alone),
		cmocka_unit_test(threads_that_count_lose_nothing),
		cmocka_unit_test(batches_of_a_filter_that_grew_find_what_single_calls_find),
		cmocka_unit_test(counts_saturate_and_stay),
		cmocka_unit_test(values_that_do_not_fit_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

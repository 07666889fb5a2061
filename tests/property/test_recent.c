/* SPDX-License-Identifier: MIT
 *
 * Filters that forget, against an exact model of ages that knows the twins: no key is forgotten too early,
 * none comes back, and the counts are those of the model, whatever happens in between.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "api/filter.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"

#define LONG_AGO (-1000000)

/* A family with slots or features, fixed or not. */
struct kind {
	nidus_family family;
	uint32_t features;
	bool grows;
};

static const struct kind kinds[] = {
	{ NIDUS_WINDOWED, 0, false },   { NIDUS_WINDOWED, 0, true },
	{ NIDUS_BUCKETED, 0, false },   { NIDUS_BUCKETED, 0, true },
	{ NIDUS_BREADCRUMB, 0, false }, { NIDUS_BREADCRUMB, 0, true },
	{ NIDUS_BUCKETED, NIDUS_COMPACT, false },
	{ NIDUS_BUCKETED, NIDUS_COMPACT, true },
};

#define KINDS (sizeof kinds / sizeof *kinds)

static nidus_options options_of(const struct kind *kind, uint64_t capacity, unsigned slices)
{
	nidus_options options = NIDUS_OPTIONS_INIT;
	options.family = kind->family;
	options.features = kind->features;
	options.capacity = kind->grows ? 1 : capacity;
	options.max_capacity = kind->grows ? 2 * capacity : 0;
	options.fpr = 0.004;
	options.slices = slices;
	options.seed = 4711;
	check_note("%s%s%s, %u slices", nidus_family_name(kind->family),
	           kind->features ? " (compact)" : "", kind->grows ? ", growing" : "", slices);
	return options;
}

static nidus_filter *make(const nidus_options *options)
{
	nidus_filter *filter;
	expect_ok(nidus_create(options, &filter));
	return filter;
}

/* -------------------------------------------------------------------------- model -- */

/* Keys are numbers; those that look the same share the tick of their last refresh. */
struct model {
	uint64_t keys;
	uint64_t *hash, *twin; /* twin: the first key that looks the same */
	int64_t *last;         /* tick, by twin */
	int64_t now;
	unsigned slices;
};

struct identity {
	nidus_entry entry;
	uint64_t key;
};

static int by_identity(const void *a, const void *b)
{
	const struct identity *x = a, *y = b;
	if (x->entry.home != y->entry.home)
		return x->entry.home < y->entry.home ? -1 : 1;
	if (x->entry.fingerprint != y->entry.fingerprint)
		return x->entry.fingerprint < y->entry.fingerprint ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static struct model model_of(const nidus_filter *filter, uint64_t keys, unsigned slices)
{
	struct model model = { .keys = keys, .slices = slices };
	struct identity *identity = check_alloc(keys * sizeof *identity);
	model.hash = check_alloc(keys * sizeof *model.hash);
	model.twin = check_alloc(keys * sizeof *model.twin);
	model.last = check_alloc(keys * sizeof *model.last);
	for (uint64_t i = 0; i < keys; i++) {
		model.last[i] = LONG_AGO;
		model.hash[i] = nidus_hash_u64(filter, i);
		identity[i].key = i;
		identity[i].entry =
			filter->family->identity(filter_body(filter), model.hash[i]);
	}
	qsort(identity, keys, sizeof *identity, by_identity);
	for (uint64_t i = 0; i < keys; i++) {
		bool again = i > 0 && identity[i].entry.home == identity[i - 1].entry.home &&
		             identity[i].entry.fingerprint == identity[i - 1].entry.fingerprint;
		model.twin[identity[i].key] =
			again ? model.twin[identity[i - 1].key] : identity[i].key;
	}
	free(identity);
	return model;
}

static void model_free(struct model *model)
{
	free(model->hash);
	free(model->twin);
	free(model->last);
}

/* -1: it is not there. */
static int model_age(const struct model *model, uint64_t key)
{
	int64_t age = model->now - model->last[model->twin[key]];
	return age < model->slices ? (int)age : -1;
}

static void model_refresh(struct model *model, uint64_t key)
{
	model->last[model->twin[key]] = model->now;
}

static void expect_ages(const nidus_filter *filter, const struct model *model)
{
	uint64_t of_age[254] = { 0 }, live = 0;
	for (uint64_t i = 0; i < model->keys; i++) {
		int age = model_age(model, i);
		expect_equal(nidus_age_hash(filter, model->hash[i]) + 1, age + 1);
		expect(age < 0 || nidus_contains_hash(filter, model->hash[i]));
		if (age >= 0 && model->twin[i] == i)
			of_age[age]++;
		live += age >= 0 && model->twin[i] == i;
	}
	for (unsigned age = 0; age < model->slices; age++)
		expect_equal(nidus_slice_count(filter, age), of_age[age]);
	expect_equal(nidus_slice_count(filter, model->slices), 0);
	expect_equal(nidus_size(filter), live);
	expect_equal(info_of(filter).count, live);
	expect_equal(info_of(filter).slices, model->slices);
}

/* A batch says what single lookups say; a walk yields each live entry with its age. */
static void expect_walks(const nidus_filter *filter, const struct model *model)
{
	uint8_t *yes = check_alloc(model->keys);
	uint64_t seen[254] = { 0 };
	nidus_cursor cursor = { { 0 } };
	nidus_entry entry;
	nidus_contains_batch(filter, model->hash, model->keys, yes);
	for (uint64_t i = 0; i < model->keys; i++)
		expect_equal(yes[i], nidus_contains_hash(filter, model->hash[i]));
	while (nidus_next(filter, &cursor, &entry)) {
		expect(entry.value < model->slices);
		seen[entry.value]++;
	}
	for (unsigned age = 0; age < model->slices; age++)
		expect_equal(seen[age], nidus_slice_count(filter, age));
	free(yes);
}

static void tick(nidus_filter *filter, struct model *model, uint64_t ticks)
{
	for (uint64_t i = 0; i < ticks; i++)
		expect_ok(nidus_tick(filter));
	model->now += (int64_t)ticks;
}

/* Puts keys in: one by one, as new ones, or in a batch. */
static void put_some(nidus_filter *filter, struct model *model, struct chance *chance, uint64_t n)
{
	uint64_t batch[512];
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key = chance_below(chance, model->keys);
		expect_ok(nidus_insert_hash(filter, model->hash[key]));
		model_refresh(model, key);
		key = chance_below(chance, model->keys);
		int age = model_age(model, key);
		expect_status(nidus_insert_new_hash(filter, model->hash[key]),
		              age >= 0 ? NIDUS_PRESENT : NIDUS_OK);
		if (age < 0)
			model_refresh(model, key);
	}
	for (unsigned i = 0; i < 512; i++) {
		uint64_t key = chance_below(chance, model->keys / (i % 2 + 1));
		batch[i] = model->hash[key];
		model_refresh(model, key);
	}
	expect_ok(nidus_insert_batch(filter, batch, 512, NULL));
}

/* Takes a filter through a file, a map, a clone and a merge with itself: none makes a difference. */
static nidus_filter *travel(nidus_filter *filter)
{
	nidus_filter *loaded, *opened, *copy, *merged;
	size_t size = nidus_saved_size(filter);
	void *bytes = check_alloc(size);
	expect_ok(nidus_save_buffer(filter, bytes, size, NULL));
	expect_ok(nidus_load_buffer(bytes, size, NULL, &loaded));
	expect_ok(nidus_open_buffer(bytes, size, NIDUS_OPEN_VERIFY, &opened));
	expect(nidus_same(filter, loaded));
	expect(nidus_same(filter, opened));
	expect_equal(nidus_size(opened), nidus_size(filter));
	expect_status(nidus_tick(opened), NIDUS_E_READONLY);
	const nidus_filter *both[] = { opened, loaded };
	expect_ok(nidus_merge_many(both, 2, NIDUS_MERGE_COPIES, &merged));
	expect(nidus_same(filter, merged));
	expect_ok(nidus_verify(merged, NULL));
	nidus_free(merged);
	expect_ok(nidus_clone(opened, &copy));
	expect(nidus_same(filter, copy));
	nidus_free(copy);
	nidus_free(opened);
	free(bytes);
	expect_ok(nidus_clone(loaded, &copy));
	nidus_free(loaded);
	nidus_free(filter);
	return copy;
}

static void live_long(const struct kind *kind, uint64_t capacity, unsigned slices)
{
	nidus_options options = options_of(kind, capacity, slices);
	nidus_filter *filter = make(&options);
	struct model model = model_of(filter, capacity, slices);
	struct chance chance = { chance_seed() };
	unsigned steps = check_small() ? 12 : 40;
	for (unsigned step = 0; step < steps; step++) {
		put_some(filter, &model, &chance, capacity / 16);
		expect_ages(filter, &model);
		if (step % 4 == 0)
			expect_walks(filter, &model);
		expect_ok(nidus_verify(filter, NULL));
		if (step % 8 == 3)
			filter = travel(filter);
		if (step % 16 == 7)
			expect_ok(nidus_shrink(filter, 0));
		tick(filter, &model, step % 10 == 5 ? chance_below(&chance, 600) : 1);
	}
	tick(filter, &model, 10000);
	expect_ages(filter, &model);
	put_some(filter, &model, &chance, 8);
	expect_ages(filter, &model);
	expect_ok(nidus_clear(filter));
	for (uint64_t i = 0; i < capacity; i++)
		model.last[i] = LONG_AGO;
	expect_ages(filter, &model);
	put_some(filter, &model, &chance, 8);
	expect_ages(filter, &model);
	model_free(&model);
	nidus_free(filter);
}

static void ages_are_exact(void **state)
{
	(void)state;
	static const unsigned slices[] = { 2, 3, 16, 254 };
	static const uint64_t capacities[] = { 700, 6000, 20000 };
	for (size_t i = 0; i < KINDS; i++) {
		for (unsigned k = 0; k < 4; k++)
			live_long(&kinds[i], capacities[(i + k) % (check_small() ? 2 : 3)],
			          slices[k]);
	}
}

static void nothing_comes_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		for (unsigned ticks = 1; ticks <= 200; ticks++) {
			nidus_options options = options_of(&kinds[i], 300, 5);
			nidus_filter *filter = make(&options);
			struct model model = model_of(filter, 300, 5);
			for (uint64_t key = 0; key < 200; key++) {
				expect_ok(nidus_insert_hash(filter, model.hash[key]));
				model_refresh(&model, key);
			}
			tick(filter, &model, ticks);
			expect_ages(filter, &model);
			expect_ok(nidus_insert_hash(filter, model.hash[250]));
			model_refresh(&model, 250);
			expect_ages(filter, &model);
			model_free(&model);
			nidus_free(filter);
		}
	}
}

/* ------------------------------------------------------------------------- memory -- */

static void steady_traffic_keeps_its_size(void **state)
{
	(void)state;
	const uint64_t in_slice = check_small() ? 400 : 1600;
	for (size_t i = 0; i < KINDS; i++) {
		uint64_t key = 0, least = UINT64_MAX, most = 0;
		nidus_options options = options_of(&kinds[i], 20 * in_slice, 16);
		if (!kinds[i].grows)
			continue;
		options.max_capacity *= 8;
		nidus_filter *filter = make(&options);
		for (unsigned slice = 0; slice < 16 * 100; slice++) {
			uint64_t bytes = info_of(filter).bytes;
			if (slice > 16 * 20) {
				least = bytes < least ? bytes : least;
				most = bytes > most ? bytes : most;
			}
			insert_keys(filter, key, key + in_slice);
			key += in_slice;
			expect_ok(nidus_tick(filter));
		}
		check_note("%s %u: %llu to %llu bytes", nidus_family_name(kinds[i].family),
		           kinds[i].grows, (unsigned long long)least, (unsigned long long)most);
		expect((double)most <= (check_small() ? 1.15 : 1.05) * (double)least);
		nidus_free(filter);
	}
}

/* A filter of fixed size takes the keys that it was made for, slice after slice. */
static void capacity_is_kept_in_traffic(void **state)
{
	(void)state;
	const uint64_t in_slice = check_small() ? 500 : 2000;
	for (size_t i = 0; i < KINDS; i++) {
		nidus_options options = options_of(&kinds[i], 17 * in_slice, 16);
		options.max_capacity = 0;
		options.capacity = 17 * in_slice;
		nidus_filter *filter = make(&options);
		for (uint64_t slice = 0; slice < 100; slice++) {
			insert_keys(filter, slice * in_slice, (slice + 1) * in_slice);
			expect(info_of(filter).load <= 1);
			expect_ok(nidus_tick(filter));
		}
		expect_equal(info_of(filter).capacity, 17 * in_slice);
		nidus_free(filter);
	}
}

static void a_failed_insert_changes_nothing(void **state)
{
	(void)state;
	static struct ledger ledger;
	for (size_t i = 0; i < KINDS; i++) {
		nidus_options options = options_of(&kinds[i], 9000, 3);
		ledger = (struct ledger){ 0 };
		options.allocator = ledger_allocator(&ledger);
		nidus_filter *filter = make(&options), *before;
		for (uint64_t key = 0; key < 9000; key++) {
			uint64_t requests = ledger.requests;
			if (key % 500 == 0)
				expect_ok(nidus_clone(filter, &before));
			ledger.fail_at = ledger.requests + 1;
			nidus_status status = nidus_insert_u64(filter, key);
			ledger.fail_at = 0;
			if (status != NIDUS_OK) {
				expect_status(status, NIDUS_E_NOMEM);
				expect(key % 500 != 0 || nidus_same(filter, before));
				expect(ledger.requests > requests);
				expect_ok(nidus_verify(filter, NULL));
				expect_ok(nidus_insert_u64(filter, key));
			}
			if (key % 500 == 0)
				nidus_free(before);
			if (key % 1700 == 1699)
				expect_ok(nidus_tick(filter));
		}
		nidus_free(filter);
		expect_equal(ledger.blocks, 0);
	}
}

/* --------------------------------------------------------------- batches, merges -- */

static void batches_leave_the_bytes_of_singles(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		nidus_options options = options_of(&kinds[i], 20000, 6);
		nidus_filter *one = make(&options), *many = make(&options);
		struct chance chance = { chance_seed() };
		uint64_t hashes[700];
		for (unsigned round = 0; round < 120; round++) {
			for (unsigned k = 0; k < 700; k++) {
				hashes[k] =
					nidus_hash_u64(one, chance_below(&chance, 4000) +
				                                    chance_below(&chance, 2) * round * 900);
				expect_ok(nidus_insert_hash(one, hashes[k]));
			}
			expect_ok(nidus_insert_batch(many, hashes, 700, NULL));
			if (round % 3 == 2) {
				expect_ok(nidus_tick(one));
				expect_ok(nidus_tick(many));
			}
		}
		size_t size = nidus_saved_size(one);
		expect_equal(nidus_saved_size(many), size);
		unsigned char *a = check_alloc(size), *b = check_alloc(size);
		expect_ok(nidus_save_buffer(one, a, size, NULL));
		expect_ok(nidus_save_buffer(many, b, size, NULL));
		expect(memcmp(a, b, size) == 0);
		free(a);
		free(b);
		nidus_free(one);
		nidus_free(many);
	}
}

/* Filters that have ticked differently often, with some keys in common. */
static void merges_keep_the_younger_age(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		nidus_options options = options_of(&kinds[i], 8000, 9);
		nidus_filter *part[2] = { make(&options), make(&options) }, *merged;
		struct model model[2] = { model_of(part[0], 8000, 9), model_of(part[1], 8000, 9) };
		for (unsigned slice = 0; slice < 40; slice++) {
			for (unsigned k = 0; k < 2; k++) {
				for (uint64_t n = 0; n < 200; n++) {
					uint64_t key = (slice * (k + 1) * 151 + n * 3 + k) % 8000;
					expect_ok(nidus_insert_hash(part[k], model[k].hash[key]));
					model_refresh(&model[k], key);
				}
				tick(part[k], &model[k], slice < 3 ? 7 * k : 1);
			}
		}
		for (unsigned how = NIDUS_MERGE_COPIES; how <= NIDUS_MERGE_OR; how++) {
			const nidus_filter *both[] = { part[0], part[1] };
			expect_ok(nidus_merge_many(both, 2, (nidus_merge_how)how, &merged));
			expect_ok(nidus_verify(merged, NULL));
			for (uint64_t key = 0; key < 8000; key++) {
				int a = model_age(&model[0], key), b = model_age(&model[1], key);
				int younger = a < 0 || (b >= 0 && b < a) ? b : a;
				expect_equal(nidus_age_hash(merged, model[0].hash[key]) + 1,
				             younger + 1);
			}
			/* It goes on forgetting. */
			for (unsigned t = 0; t < 9; t++)
				expect_ok(nidus_tick(merged));
			expect_equal(nidus_size(merged), 0);
			nidus_free(merged);
		}
		for (unsigned k = 0; k < 2; k++) {
			model_free(&model[k]);
			nidus_free(part[k]);
		}
	}
}

static void bulk_builds_have_age_0(void **state)
{
	(void)state;
	uint64_t keys[3000];
	for (uint64_t i = 0; i < 3000; i++)
		keys[i] = i;
	for (size_t i = 0; i < KINDS; i++) {
		nidus_options options = options_of(&kinds[i], 3000, 4);
		nidus_filter *filter, *like;
		expect_ok(nidus_build_u64(&options, keys, 3000, 2, &filter));
		expect_equal(nidus_slice_count(filter, 0), nidus_size(filter));
		for (uint64_t key = 0; key < 3000; key++)
			expect_equal(nidus_age_u64(filter, key), 0);
		uint64_t hashes[3000];
		nidus_hash_u64_batch(filter, keys, 3000, hashes);
		expect_ok(nidus_build_like(filter, hashes, NULL, 3000, false, 1, NULL, &like));
		expect(nidus_same(filter, like));
		nidus_free(like);
		nidus_free(filter);
	}
}

/* -------------------------------------------------------------------------- files -- */

/* A mapped file that is damaged gives wrong answers at worst; a loaded one is refused. */
static void forged_ticks_do_no_harm(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		nidus_options options = options_of(&kinds[i], 2500, 6);
		nidus_filter *filter = make(&options), *opened;
		for (uint64_t key = 0; key < 2500; key++) {
			expect_ok(nidus_insert_u64(filter, key));
			if (key % 300 == 299)
				expect_ok(nidus_tick(filter));
		}
		size_t size = nidus_saved_size(filter);
		unsigned char *bytes = check_alloc(size);
		expect_ok(nidus_save_buffer(filter, bytes, size, NULL));
		/* The head of the table, its counts and the first records. */
		for (size_t at = 256; at < 256 + 320 && at < size; at += 1 + (at > 288) * 6) {
			for (unsigned flip = 1; flip < 256; flip *= 128) {
				uint64_t found = 0;
				bytes[at] ^= (unsigned char)flip;
				if (nidus_open_buffer(bytes, size, 0, &opened) == NIDUS_OK) {
					for (uint64_t key = 0; key < 2500; key += 97)
						found += nidus_contains_u64(opened, key);
					expect(found <= 2500);
					(void)nidus_verify(opened, NULL);
					expect_status(nidus_clone(opened, &(nidus_filter *){ NULL }),
					              NIDUS_E_CORRUPT);
				}
				nidus_free(opened);
				expect(nidus_load_buffer(bytes, size, NULL, &opened) != NIDUS_OK);
				bytes[at] ^= (unsigned char)flip;
			}
		}
		free(bytes);
		nidus_free(filter);
	}
}

/* ------------------------------------------------------------------------ threads -- */

#define WORKERS 4
#define OWN 1500 /* keys of a worker */

struct party {
	nidus_filter *filter;
	unsigned number;
	unsigned rounds;
	atomic_uint *begun, *done; /* ticks */
	uint64_t misses;
};

/* Refreshes its keys in turn; what it put in less than `slices` ticks ago is found. */
static void *work(void *context)
{
	struct party *party = context;
	uint64_t hashes[OWN];
	uint8_t yes[OWN];
	for (uint64_t i = 0; i < OWN; i++)
		hashes[i] = nidus_hash_u64(party->filter, party->number * OWN + i);
	for (unsigned round = 0; round < party->rounds; round++) {
		unsigned before = atomic_load(party->done);
		for (unsigned i = 0; i < OWN / 2; i++) {
			if (nidus_insert_hash(party->filter, hashes[i]) != NIDUS_OK)
				party->misses++;
		}
		if (nidus_insert_batch(party->filter, hashes + OWN / 2, OWN - OWN / 2, NULL) !=
		    NIDUS_OK)
			party->misses++;
		nidus_contains_batch(party->filter, hashes, OWN, yes);
		uint64_t missing = 0;
		for (unsigned i = 0; i < OWN; i++)
			missing += !yes[i] || nidus_age_hash(party->filter, hashes[i]) < 0;
		if (atomic_load(party->begun) - before < 12) /* what ticks there may have been */
			party->misses += missing;
		if (party->number == 0 || round % 5 == party->number) {
			atomic_fetch_add(party->begun, 1);
			expect_ok(nidus_tick(party->filter));
			atomic_fetch_add(party->done, 1);
		}
	}
	return NULL;
}

static void threads_lose_no_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		nidus_options options = options_of(&kinds[i], WORKERS * OWN * 2, 12);
		options.features |= NIDUS_CONCURRENT;
		nidus_filter *filter = make(&options);
		struct party party[WORKERS];
		pthread_t thread[WORKERS];
		atomic_uint begun = 0, done = 0;
		for (unsigned k = 0; k < WORKERS; k++) {
			party[k] = (struct party){ filter, k, check_small() ? 10 : 60, &begun,
				                   &done, 0 };
			expect(pthread_create(&thread[k], NULL, work, &party[k]) == 0);
		}
		for (unsigned k = 0; k < WORKERS; k++) {
			expect(pthread_join(thread[k], NULL) == 0);
			expect_equal(party[k].misses, 0);
		}
		expect_ok(nidus_verify(filter, NULL));
		expect(nidus_size(filter) <= WORKERS * OWN);
		filter = travel(filter);
		expect_ok(nidus_verify(filter, NULL));
		nidus_free(filter);
	}
}

/* ------------------------------------------------------------------------ refusals -- */

static void expect_refused(nidus_options options, nidus_status wanted)
{
	nidus_filter *filter;
	expect_status(nidus_create(&options, &filter), wanted);
	expect(filter == NULL);
}

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	nidus_options options = options_of(&kinds[0], 1000, 16), other = options;
	for (unsigned family = NIDUS_CUCKOO; family <= NIDUS_RIBBON; family++) {
		other.family = (nidus_family)family;
		bool can = family == NIDUS_BUCKETED || family == NIDUS_WINDOWED ||
		           family == NIDUS_BREADCRUMB;
		if (!can)
			expect_refused(other, NIDUS_E_UNSUPPORTED);
	}
	other = options, other.slices = 1;
	expect_refused(other, NIDUS_E_RANGE);
	other = options, other.slices = 255;
	expect_refused(other, NIDUS_E_RANGE);
	other = options, other.value_bits = 3;
	expect_refused(other, NIDUS_E_UNSUPPORTED);
	other = options, other.features = NIDUS_DELETE;
	expect_refused(other, NIDUS_E_UNSUPPORTED);
	other = options, other.features = NIDUS_MULTISET;
	expect_refused(other, NIDUS_E_UNSUPPORTED);
	nidus_builder *builder;
	expect_status(nidus_builder_create(&options, 1u << 24, NULL, 1, &builder),
	              NIDUS_E_UNSUPPORTED);
	nidus_filter *filter = make(&options), *fixed;
	expect_ok(nidus_insert_u64(filter, 1));
	expect_status(nidus_remove_u64(filter, 1), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_insert_value_u64(filter, 1, 0), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_pack(filter), NIDUS_E_UNSUPPORTED);
	expect(!(info_of(filter).features & NIDUS_DELETE));
	expect_equal(nidus_age_u64(filter, 1), 0);
	expect_equal(nidus_age_u64(filter, 2) + 1, 0);
	nidus_entry old = { 0, 1, 16 };
	expect_status(nidus_insert_entry(filter, &old), NIDUS_E_RANGE);
	options.slices = 0;
	expect_ok(nidus_create(&options, &fixed));
	expect_status(nidus_tick(fixed), NIDUS_E_UNSUPPORTED);
	expect_status(nidus_tick(NULL), NIDUS_E_ARG);
	expect_equal(nidus_age_u64(fixed, 1) + 1, 0);
	const nidus_filter *both[] = { filter, fixed };
	nidus_filter *merged;
	expect_status(nidus_merge_many(both, 2, NIDUS_MERGE_COPIES, &merged), NIDUS_E_MISMATCH);
	nidus_free(fixed);
	nidus_free(filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ages_are_exact),
		cmocka_unit_test(nothing_comes_back),
		cmocka_unit_test(steady_traffic_keeps_its_size),
		cmocka_unit_test(capacity_is_kept_in_traffic),
		cmocka_unit_test(a_failed_insert_changes_nothing),
		cmocka_unit_test(batches_leave_the_bytes_of_singles),
		cmocka_unit_test(merges_keep_the_younger_age),
		cmocka_unit_test(bulk_builds_have_age_0),
		cmocka_unit_test(forged_ticks_do_no_harm),
		cmocka_unit_test(threads_lose_no_key),
		cmocka_unit_test(what_cannot_be_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

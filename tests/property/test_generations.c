/* SPDX-License-Identifier: MIT
 *
 * Filters without a size (NIDUS_UNLIMITED): chains of generations, through the public calls.
 */
#include "api/filter.h"
#include "api/generations_parts.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"
#include "support/nests.h"

#include <math.h>

/* Options of a filter without a size. */
static nidus_options unlimited(nidus_family family, unsigned k, uint64_t seed)
{
	nidus_options options = filter_options(0, ldexp(1, -(int)k), seed);
	options.family = family;
	options.max_capacity = NIDUS_UNLIMITED;
	if (family != NIDUS_AUTO && !generations_nest(family_find(family)))
		options.features = NIDUS_NO_DELETE;
	check_note("%s, fpr 2^-%u, seed %llu", nidus_family_name(family), k,
	           (unsigned long long)seed);
	return options;
}

static unsigned generations_in(const nidus_filter *filter)
{
	return generations_n(filter_generations(filter));
}

/* Calls a test for every family that grows. */
static void each_family(void (*test)(const nidus_options *options))
{
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_GROW))
			continue;
		nidus_options options = unlimited((*family)->id, 7, 11);
		test(&options);
		if ((*family)->compact) {
			options.features |= NIDUS_COMPACT;
			test(&options);
		}
	}
}

/* The same for those that remove. */
static bool removes(const nidus_options *options)
{
	return !(options->features & NIDUS_NO_DELETE);
}

/* -------------------------------------------------------------------------- sizes -- */

static void grow_through_generations(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	nidus_info info = info_of(filter);
	expect(info.bytes <= 1024);
	expect_equal(info.max_capacity, NIDUS_UNLIMITED);
	expect_equal(info.count, 0);
	uint64_t key = 0, reach = check_small() ? 20000 : 40000;
	for (unsigned last = 1; key < reach; key++) {
		expect_ok(nidus_insert_u64(filter, key));
		if (generations_in(filter) == last)
			continue;
		last = generations_in(filter);
		info = info_of(filter);
		expect(info.fpr_now <= options->fpr);
		expect_ok(nidus_verify(filter, NULL));
		expect_keys(filter, 0, key + 1);
	}
	expect(generations_in(filter) >= 4);
	info = info_of(filter);
	expect_equal(info.count, reach);
	expect(info.capacity >= info.count && info.max_capacity == NIDUS_UNLIMITED);
	expect(info.fpr_now <= options->fpr && info.fpr_target == options->fpr);
	expect_keys(filter, 0, reach);
	expect_ok(nidus_verify(filter, NULL));
	uint64_t walked = 0;
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry;
	while (nidus_next(filter, &cursor, &entry))
		walked++;
	expect_equal(walked, reach);
	nidus_free(filter);
}

static void a_filter_need_not_be_sized(void **state)
{
	(void)state;
	each_family(grow_through_generations);
}

/* Absent keys that are found, of so many. */
static uint64_t false_positives(const nidus_filter *filter, uint64_t tries)
{
	uint64_t found = 0;
	for (uint64_t key = 0; key < tries; key++)
		found += nidus_contains_u64(filter, key + (UINT64_C(1) << 40));
	return found;
}

static void keep_the_rate(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	uint64_t tries = check_small() ? 20000 : 100000, reach = check_small() ? 10000 : 50000;
	for (uint64_t n = 0, next = 100; next < reach; next += next / 2 + 1) {
		for (; n < next; n++)
			expect_ok(nidus_insert_u64(filter, n));
		uint64_t found = false_positives(filter, tries);
		expect(found <= chance_most(tries, options->fpr, 1e-9));
		expect(found <= chance_most(tries, info_of(filter).fpr_now, 1e-9));
	}
	nidus_free(filter);
}

static void the_rate_is_kept_at_every_size(void **state)
{
	(void)state;
	each_family(keep_the_rate);
}

/* However many generations there are, the shares of their rates are at most the target. */
static void shares_add_up_to_the_target(void **state)
{
	(void)state;
	for (const struct family *const *family = families; *family != NULL; family++) {
		if (!((*family)->features & NIDUS_GROW))
			continue;
		for (unsigned k = 4; k <= 20; k++) {
			nidus_options options = unlimited((*family)->id, k, 1);
			nidus_filter *filter = filter_create(&options);
			struct blueprint plan;
			double rate = 0;
			unsigned n = 0;
			for (; n < GENERATIONS_MOST &&
			       generations_plan_of(*family, &filter->plan, n, &plan);
			     n++)
				rate += directory_forecast(*family, &plan, plan.max_capacity).fpr;
			expect(n >= 3 && rate <= options.fpr);
			nidus_free(filter);
		}
	}
}

/* Bits of a part that are there for the rate alone do not split the leaves of an old generation. */
static void fill_old_generations(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	struct generations *generations = filter_generations(filter);
	for (uint64_t key = 0; generations_n(generations) < 4; key++)
		expect_ok(nidus_insert_u64(filter, key));
	for (unsigned i = 0; i < 3; i++) {
		const struct directory *directory = generations_at(generations, i);
		uint64_t parts = directory->parts >> directory->spare;
		uint64_t bodies = directory_fill(directory).bodies;
		check_note("generation %u: %llu bodies, %llu parts", i, (unsigned long long)bodies,
		           (unsigned long long)parts);
		expect(bodies <= parts + parts / 8 + 1);
	}
	nidus_free(filter);
}

static void old_generations_are_full(void **state)
{
	(void)state;
	each_family(fill_old_generations);
}

/* A capacity is how many keys the first generation takes. */
static void a_capacity_sizes_the_first_generation(void **state)
{
	(void)state;
	nidus_options options = unlimited(NIDUS_AUTO, 8, 3);
	options.capacity = 20000;
	nidus_filter *filter = filter_create(&options);
	expect(info_of(filter).capacity >= 20000);
	insert_keys(filter, 0, 20000 - 20000 / 32);
	expect_equal(generations_in(filter), 1);
	insert_keys(filter, 20000, 60000);
	expect_equal(generations_in(filter), 2);
	expect_keys(filter, 20000, 60000);
	expect_ok(nidus_clear(filter));
	expect_equal(generations_in(filter), 1);
	expect(info_of(filter).capacity >= 20000 && nidus_size(filter) == 0);
	nidus_free(filter);
}

/* Copies never make a filter grow. */
static void count_copies(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	uint64_t most = generations_most(filter_generations(filter));
	insert_keys(filter, 0, most - most / GENERATION_LEFT);
	expect_equal(generations_in(filter), 1);
	for (unsigned i = 0; i < 5000; i++)
		expect_ok(nidus_insert_u64(filter, 3));
	expect_equal(generations_in(filter), 1);
	expect(nidus_count_key_u64(filter, 3) >= 5001);
	insert_keys(filter, most, 2 * most);
	expect_equal(generations_in(filter), 2);
	for (unsigned i = 0; i < 5000 && removes(options); i++)
		expect_ok(nidus_remove_u64(filter, 3));
	expect(nidus_contains_u64(filter, 3));
	nidus_free(filter);
}

static void copies_are_counted(void **state)
{
	(void)state;
	each_family(count_copies);
}

/* ------------------------------------------------------------------------ removes -- */

/* The identity of a hash in a generation. */
static nidus_entry identity_in(const nidus_filter *filter, unsigned number, uint64_t hash)
{
	return directory_identity(generations_at(filter_generations(filter), number), hash);
}

static bool same_entry(const nidus_entry *a, const nidus_entry *b)
{
	return a->home == b->home && a->fingerprint == b->fingerprint;
}

/* An identity tells those in older generations: what removes rely on. */
static void nest_identities(const nidus_options *options)
{
	struct chance chance = { chance_seed() };
	if (!removes(options))
		return;
	nidus_filter *filter = filter_create(options);
	while (generations_in(filter) < 5)
		expect_ok(generations_add(filter_generations(filter)));
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t hash = chance_next(&chance), twin;
		unsigned young = 1 + (unsigned)chance_below(&chance, 4);
		if (i % 8 == 0)
			hash = i % 16 == 0 ? i / 16 : ~(uint64_t)(i / 16);
		nidus_entry entry = identity_in(filter, young, hash);
		expect_ok(directory_entry_hash(generations_at(filter_generations(filter), young),
		                               &entry, &twin));
		/* Any hash of the cell will do, as cells are ranges of hashes. */
		for (unsigned step = 0; step < 64; step++) {
			uint64_t middle = twin < hash ? twin + (hash - twin) / 64 * step
			                              : hash + (twin - hash) / 64 * step;
			nidus_entry other = identity_in(filter, young, middle);
			expect(same_entry(&entry, &other));
			for (unsigned old = 0; old < young; old++) {
				nidus_entry a = identity_in(filter, old, hash);
				nidus_entry b = identity_in(filter, old, middle);
				expect(same_entry(&a, &b));
			}
		}
	}
	nidus_free(filter);
}

static void identities_nest(void **state)
{
	(void)state;
	each_family(nest_identities);
}

/* Keys that are twins in the first generation; the first two in all of them. */
static void choose_twins(const nidus_filter *filter, struct chance *chance, uint64_t twins[4])
{
	for (;;) {
		uint64_t hash = chance_next(chance), near = UINT64_C(1) << 46;
		twins[0] = hash;
		twins[1] = hash ^ 1;
		nidus_entry entry = identity_in(filter, 0, hash), other;
		unsigned found = 2;
		for (unsigned i = 0; i < 64 && found < 4; i++) {
			twins[found] = hash + chance_below(chance, 2 * near) - near;
			other = identity_in(filter, 0, twins[found]);
			nidus_entry young = identity_in(filter, 1, twins[found]);
			nidus_entry mine = identity_in(filter, 1, hash);
			found += same_entry(&entry, &other) && !same_entry(&young, &mine);
		}
		other = identity_in(filter, 1, twins[1]);
		entry = identity_in(filter, 1, hash);
		if (found == 4 && same_entry(&entry, &other))
			return;
	}
}

/* Takes keys out in the order of a permutation; those that are left are found at any time. */
static void remove_in_order(const nidus_filter *full, const uint64_t *keys, unsigned n,
                            unsigned permutation)
{
	nidus_filter *filter;
	uint64_t left[6];
	expect_ok(nidus_clone(full, &filter));
	memcpy(left, keys, n * sizeof *left);
	for (; n > 0; n--) {
		unsigned which = permutation % n;
		permutation /= n;
		expect_ok(nidus_remove_hash(filter, left[which]));
		left[which] = left[n - 1];
		for (unsigned i = 0; i + 1 < n; i++) {
			uint64_t copies = 0;
			for (unsigned k = 0; k + 1 < n; k++)
				copies += left[k] == left[i];
			expect(nidus_contains_hash(filter, left[i]));
			expect(nidus_count_key_hash(filter, left[i]) >= copies);
		}
	}
	nidus_free(filter);
}

/* Old and new twins are in, in different generations, and go in every order. */
static void remove_twins(const nidus_options *options)
{
	struct chance chance = { chance_seed() };
	if (!removes(options))
		return;
	nidus_filter *empty = filter_create(options);
	expect_ok(generations_add(filter_generations(empty)));
	for (unsigned round = 0; round < (check_small() ? 3 : 12); round++) {
		uint64_t twins[4], keys[6];
		unsigned n = 0;
		choose_twins(empty, &chance, twins);
		nidus_filter *filter = filter_create(options);
		uint64_t most = generations_most(filter_generations(filter));
		for (unsigned i = 0; i < 4; i++) {
			if (chance_percent(&chance, 60)) {
				expect_ok(nidus_insert_hash(filter, twins[i]));
				keys[n++] = twins[i];
			}
		}
		insert_keys(filter, 0, most + 50);
		expect_equal(generations_in(filter), 2);
		for (unsigned i = 0; i < 4 && n < 6; i++) {
			if (chance_percent(&chance, 60)) {
				expect_ok(nidus_insert_hash(filter, twins[i]));
				keys[n++] = twins[i];
			}
		}
		unsigned permutations = 1;
		for (unsigned i = 2; i <= n; i++)
			permutations *= i;
		for (unsigned i = 0; i < permutations; i++)
			remove_in_order(filter, keys, n, i);
		nidus_free(filter);
	}
	nidus_free(empty);
}

static void twins_of_all_generations_go_in_any_order(void **state)
{
	(void)state;
	each_family(remove_twins);
}

/* ------------------------------------------------------------------ random histories -- */

#define CLUSTERS 700
#define CLUSTER 8
#define POOL (CLUSTERS * CLUSTER)

/* Keys that are twins in old generations and often not in young ones, and how often each is in. */
struct pool {
	uint64_t hash[POOL];
	uint32_t copies[POOL];
	uint64_t total;
	struct chance chance;
};

static void pool_fill(struct pool *pool, uint64_t seed)
{
	pool->chance.state = seed;
	pool->total = 0;
	for (unsigned i = 0; i < POOL; i++) {
		unsigned bits = 36 + (unsigned)chance_below(&pool->chance, 14);
		uint64_t delta = chance_next(&pool->chance) >> (64 - bits);
		pool->hash[i] = i % CLUSTER == 0 ? chance_next(&pool->chance)
		                                 : pool->hash[i - i % CLUSTER] + delta;
		pool->copies[i] = 0;
	}
}

static void pool_expect(const struct pool *pool, const nidus_filter *filter)
{
	uint8_t yes[POOL];
	expect_equal(nidus_size(filter), pool->total);
	expect_ok(nidus_verify(filter, NULL));
	nidus_contains_batch(filter, pool->hash, POOL, yes);
	for (unsigned i = 0; i < POOL; i++) {
		uint64_t count = nidus_count_key_hash(filter, pool->hash[i]);
		expect(count >= pool->copies[i]);
		expect(yes[i] == nidus_contains_hash(filter, pool->hash[i]));
		expect(yes[i] || count == 0);
	}
}

/* Replaces a filter by a copy that came about in another way. */
static void swap(nidus_filter **filter, nidus_filter *by)
{
	expect(entries_equal(*filter, by) && nidus_same(*filter, by));
	nidus_free(*filter);
	*filter = by;
}

static void through_a_file(nidus_filter **filter, bool open)
{
	struct bytes bytes = bytes_save(*filter);
	nidus_filter *read, *copy;
	if (!open) {
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &read));
		expect(bytes_match(&bytes, read));
		swap(filter, read);
		bytes_free(&bytes);
		return;
	}
	expect_ok(nidus_open_buffer(bytes.data, bytes.size, NIDUS_OPEN_VERIFY, &read));
	expect_status(nidus_insert_u64(read, 1), NIDUS_E_READONLY);
	expect(bytes_match(&bytes, read));
	expect_ok(nidus_clone(read, &copy));
	expect(bytes_match(&bytes, copy));
	swap(filter, copy);
	nidus_free(read);
	bytes_free(&bytes);
}

static void by_entries(nidus_filter **filter)
{
	nidus_filter *copy;
	nidus_cursor cursor = { { 0, 0 } };
	nidus_entry entry;
	expect_ok(nidus_clone(*filter, &copy));
	expect_ok(nidus_clear(copy));
	while (nidus_next(*filter, &cursor, &entry))
		expect_ok(nidus_insert_entry(copy, &entry));
	swap(filter, copy);
}

static void whole(struct pool *pool, nidus_filter **filter)
{
	nidus_filter *other;
	uint64_t bytes = info_of(*filter).bytes;
	switch (chance_below(&pool->chance, 7)) {
	case 0:
		expect_ok(nidus_clone(*filter, &other));
		expect(filters_equal(*filter, other));
		swap(filter, other);
		break;
	case 1:
		through_a_file(filter, false);
		break;
	case 2:
		through_a_file(filter, true);
		break;
	case 3:
		by_entries(filter);
		break;
	case 4:
		expect_ok(nidus_shrink(*filter, 0));
		expect(info_of(*filter).bytes <= bytes);
		break;
	case 5:
		expect_ok(nidus_grow(*filter, chance_below(&pool->chance, 3000)));
		break;
	default:
		expect_ok(nidus_merge_many((const nidus_filter *const[]){ *filter }, 1,
		                           NIDUS_MERGE_COPIES, &other));
		swap(filter, other);
	}
}

static void use_some(struct pool *pool, nidus_filter *filter, bool filling)
{
	uint64_t hashes[100];
	unsigned at[100];
	size_t n = 1 + chance_below(&pool->chance, 100), done = 0;
	bool batch = chance_percent(&pool->chance, 50);
	for (size_t i = 0; i < n; i++) {
		at[i] = (unsigned)chance_below(&pool->chance, POOL);
		hashes[i] = pool->hash[at[i]];
	}
	if (filling && batch) {
		expect_ok(nidus_insert_batch(filter, hashes, n, &done));
		for (size_t i = 0; i < n; i++)
			pool->copies[at[i]]++;
		pool->total += n;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		nidus_status status;
		if (filling && chance_percent(&pool->chance, 50)) {
			status = nidus_insert_new_hash(filter, hashes[i]);
			expect(status == NIDUS_PRESENT || status == NIDUS_OK);
			expect(status == NIDUS_PRESENT || pool->copies[at[i]] == 0);
			pool->copies[at[i]] += status == NIDUS_OK;
			pool->total += status == NIDUS_OK;
		} else if (filling) {
			expect_ok(nidus_insert_hash(filter, hashes[i]));
			pool->copies[at[i]]++;
			pool->total++;
		} else if (pool->copies[at[i]] > 0) {
			expect_ok(nidus_remove_batch(filter, &hashes[i], 1, &done));
			pool->copies[at[i]]--;
			pool->total--;
		}
	}
}

/* Takes all out, in batches that go through all generations. */
static void drain(struct pool *pool, nidus_filter *filter)
{
	uint64_t *hashes = check_alloc((pool->total + 1) * sizeof *hashes);
	size_t n = 0, done;
	for (unsigned i = 0; i < POOL; i++) {
		for (; pool->copies[i] > 0; pool->copies[i]--)
			hashes[n++] = pool->hash[i];
	}
	for (size_t i = n; i > 1; i--) {
		size_t other = chance_below(&pool->chance, i);
		uint64_t kept = hashes[i - 1];
		hashes[i - 1] = hashes[other];
		hashes[other] = kept;
	}
	expect_equal(n, pool->total);
	expect_ok(nidus_remove_batch(filter, hashes, n, &done));
	expect_equal(nidus_size(filter), 0);
	pool->total = 0;
	free(hashes);
}

static void live(const nidus_options *options)
{
	static struct pool pool;
	unsigned steps = check_small() ? 200 : 600, most = 1;
	if (!removes(options))
		return;
	pool_fill(&pool, chance_seed());
	nidus_filter *filter = filter_create(options);
	for (unsigned step = 0; step < steps; step++) {
		/* It becomes larger and smaller, in the long run larger. */
		bool filling = chance_percent(&pool.chance, step / 40 % 3 == 2 ? 35 : 65);
		use_some(&pool, filter, filling);
		if (step % 16 == 15)
			whole(&pool, &filter);
		if (step % 64 == 63)
			pool_expect(&pool, filter);
		most = generations_in(filter) > most ? generations_in(filter) : most;
	}
	pool_expect(&pool, filter);
	expect(most >= 3);
	drain(&pool, filter);
	expect_ok(nidus_shrink(filter, 0));
	expect_equal(generations_in(filter), 1);
	nidus_free(filter);
}

static void no_key_is_lost_in_random_histories(void **state)
{
	(void)state;
	each_family(live);
	nidus_options options = unlimited(NIDUS_WINDOWED, 7, 12);
	options.value_bits = 7;
	live(&options);
	options.family = NIDUS_BREADCRUMB;
	live(&options);
	options.family = NIDUS_BUCKETED;
	options.features = NIDUS_CONCURRENT;
	live(&options);
	options = unlimited(NIDUS_BREADCRUMB, 5, 12);
	options.features = NIDUS_CONCURRENT;
	live(&options);
}

/* Batches leave the same bytes, and so does a filter that was saved and loaded on the way. */
static void leave_the_same_bytes(const nidus_options *options)
{
	nidus_filter *singly = filter_create(options), *batch = filter_create(options);
	nidus_filter *loaded = filter_create(options), *read;
	struct chance chance = { 5 };
	uint64_t hashes[700];
	for (unsigned round = 0; round < 30; round++) {
		size_t n = 1 + chance_below(&chance, 700);
		for (size_t i = 0; i < n; i++) {
			hashes[i] = chance_next(&chance);
			expect_ok(nidus_insert_hash(singly, hashes[i]));
		}
		expect_ok(nidus_insert_batch(batch, hashes, n, NULL));
		expect_ok(nidus_insert_batch(loaded, hashes, n, NULL));
		struct bytes bytes = bytes_save(loaded);
		expect_ok(nidus_load_buffer(bytes.data, bytes.size, NULL, &read));
		nidus_free(loaded);
		loaded = read;
		bytes_free(&bytes);
		for (size_t i = 0; i < n / 3 && removes(options); i++) {
			expect_ok(nidus_remove_hash(singly, hashes[i]));
			expect_ok(nidus_remove_hash(batch, hashes[i]));
			expect_ok(nidus_remove_hash(loaded, hashes[i]));
		}
	}
	expect(generations_in(singly) >= 3);
	expect(filters_equal(singly, batch) && filters_equal(singly, loaded));
	nidus_free(singly);
	nidus_free(batch);
	nidus_free(loaded);
}

static void leave_the_same_bytes_shared(const nidus_options *options)
{
	nidus_options shared = *options;
	shared.features |= NIDUS_CONCURRENT;
	leave_the_same_bytes(&shared);
}

static void the_same_calls_leave_the_same_bytes(void **state)
{
	(void)state;
	each_family(leave_the_same_bytes);
	each_family(leave_the_same_bytes_shared);
}

/* Copies that a list only counts take places when it becomes leaves: there is less room than was thought. */
static void count_in_a_list(const nidus_options *options)
{
	nidus_filter *filter = filter_create(options);
	int64_t room = filter_generations(filter)->room;
	for (uint64_t key = 0; key < 20; key++) {
		for (int64_t i = 0; i < room / 10; i++)
			expect_ok(nidus_insert_u64(filter, key));
	}
	for (uint64_t key = 100; key < 800; key++) {
		expect_ok(nidus_insert_u64(filter, key));
		if (key % 16 == 0)
			through_a_file(&filter, key % 32 == 0);
	}
	expect_keys(filter, 100, 800);
	nidus_free(filter);
}

static void copies_in_a_list_make_no_room(void **state)
{
	(void)state;
	each_family(count_in_a_list);
}

/* ------------------------------------------------------------------------- values -- */

#define VALUED 3000

static void keep_values(const nidus_options *options)
{
	nidus_options valued = *options;
	uint64_t found[64], first[VALUED], hashes[VALUED];
	uint32_t many[VALUED];
	if (!removes(options))
		return;
	valued.value_bits = 10;
	valued.fpr = 0x1p-14;
	nidus_filter *filter = filter_create(&valued);
	for (uint64_t key = 0; key < VALUED; key++) {
		expect_ok(nidus_insert_value_u64(filter, key, key % 1000));
		hashes[key] = nidus_hash_u64(filter, key);
	}
	expect(generations_in(filter) >= 3);
	/* Once more, all in the youngest generations. */
	for (uint64_t key = 0; key < VALUED; key += 2)
		expect_ok(nidus_insert_value_u64(filter, key, 1001));
	nidus_find_batch(filter, hashes, VALUED, first, many);
	for (uint64_t key = 0; key < VALUED; key++) {
		size_t n = nidus_find_u64(filter, key, found, 64);
		bool one = false, other = key % 2 == 1;
		expect(n == many[key] && n >= 1 + (key % 2 == 0) && n <= 64);
		for (size_t i = 0; i < n; i++) {
			one = one || found[i] == key % 1000;
			other = other || found[i] == 1001;
		}
		expect(one && other);
		expect_equal(nidus_find_u64(filter, key, found, 0), n);
	}
	for (uint64_t key = 0; key < VALUED; key += 2) {
		expect_ok(nidus_replace_value_u64(filter, key, key % 1000, 1002));
		expect_ok(nidus_remove_value_u64(filter, key, 1001));
	}
	for (uint64_t key = 0; key < VALUED; key++)
		expect_ok(nidus_remove_value_u64(filter, key, key % 2 == 0 ? 1002 : key % 1000));
	expect_equal(nidus_size(filter), 0);
	nidus_free(filter);
}

static void values_are_found_in_all_generations(void **state)
{
	(void)state;
	each_family(keep_values);
}

static void keep_counts(const nidus_options *options)
{
	nidus_options counting = *options;
	if (!removes(options))
		return;
	counting.value_bits = 12;
	nidus_filter *filter = filter_create(&counting);
	for (unsigned round = 0; round < 3; round++) {
		for (uint64_t key = 0; key < VALUED; key++)
			expect_ok(nidus_add_count_u64(filter, key, key % 5 + 1));
	}
	expect(generations_in(filter) >= 3 && nidus_size(filter) <= VALUED);
	for (uint64_t key = 0; key < VALUED; key++)
		expect(nidus_get_count_u64(filter, key) >= 3 * (key % 5 + 1));
	nidus_free(filter);
}

static void counts_are_never_too_low(void **state)
{
	(void)state;
	each_family(keep_counts);
}

/* ------------------------------------------------------------------ merges and builds -- */

static void merge_different(const nidus_options *options)
{
	nidus_filter *parts[3], *merged;
	static const uint64_t until[] = { 100, 2000, 30000 };
	for (unsigned i = 0; i < 3; i++) {
		parts[i] = filter_create(options);
		insert_keys(parts[i], 100000 * (uint64_t)i, 100000 * (uint64_t)i + until[i]);
	}
	expect(generations_in(parts[0]) < generations_in(parts[1]));
	expect(generations_in(parts[1]) < generations_in(parts[2]));
	for (unsigned how = NIDUS_MERGE_COPIES; how <= NIDUS_MERGE_UNIQUE; how++) {
		expect_ok(nidus_merge_many((const nidus_filter *const *)parts, 3,
		                           (nidus_merge_how)how, &merged));
		expect_ok(nidus_verify(merged, NULL));
		for (unsigned i = 0; i < 3; i++)
			expect_keys(merged, 100000 * (uint64_t)i, 100000 * (uint64_t)i + until[i]);
		nidus_info info = info_of(merged);
		expect(how == NIDUS_MERGE_COPIES ? info.count == 32100 : info.count <= 32100);
		expect(info.fpr_target <= 3 * options->fpr && info.fpr_now <= info.fpr_target);
		uint64_t found = false_positives(merged, 50000);
		expect(found <= chance_most(50000, info.fpr_target, 1e-9));
		/* It goes on. */
		insert_keys(merged, 1000000, 1030000);
		expect_keys(merged, 1000000, 1030000);
		through_a_file(&merged, false);
		if (how == NIDUS_MERGE_COPIES && removes(options)) {
			remove_keys(merged, 100000, 102000);
			remove_keys(merged, 0, 100);
			expect_keys(merged, 200000, 230000);
		} else {
			expect_status(nidus_remove_u64(merged, 1), NIDUS_E_UNSUPPORTED);
		}
		nidus_free(merged);
	}
	/* The union of a filter with itself is the filter. */
	expect_ok(nidus_merge_many((const nidus_filter *const[]){ parts[2], parts[2] }, 2,
	                           NIDUS_MERGE_UNIQUE, &merged));
	expect(nidus_size(merged) <= 30000);
	expect_keys(merged, 200000, 230000);
	nidus_free(merged);
	for (unsigned i = 0; i < 3; i++)
		nidus_free(parts[i]);
}

static void filters_of_different_generations_merge(void **state)
{
	(void)state;
	each_family(merge_different);
}

static void counts_of_different_generations_add_up(void **state)
{
	(void)state;
	nidus_options options = unlimited(NIDUS_WINDOWED, 12, 4);
	options.value_bits = 16;
	nidus_filter *parts[2], *merged;
	for (unsigned i = 0; i < 2; i++) {
		parts[i] = filter_create(&options);
		/* The second has the same keys, in younger generations. */
		if (i == 1)
			insert_keys(parts[i], 1000000, 1005000);
		for (uint64_t key = 0; key < 3000; key++)
			expect_ok(nidus_add_count_u64(parts[i], key, 1 + key % 7));
	}
	expect_ok(
		nidus_merge_many((const nidus_filter *const *)parts, 2, NIDUS_MERGE_SUM, &merged));
	for (uint64_t key = 0; key < 3000; key++)
		expect(nidus_get_count_u64(merged, key) >= 2 * (1 + key % 7));
	expect(nidus_size(merged) <= nidus_size(parts[1]));
	nidus_free(merged);
	options.max_capacity = 1 << 20;
	options.capacity = 100;
	nidus_filter *sized = filter_create(&options);
	expect_status(nidus_merge(parts[0], sized, &merged), NIDUS_E_MISMATCH);
	expect_status(nidus_merge(sized, parts[0], &merged), NIDUS_E_MISMATCH);
	nidus_free(sized);
	nidus_free(parts[0]);
	nidus_free(parts[1]);
}

static void build(const nidus_options *options)
{
	uint64_t keys[5000], n = 5000;
	nidus_filter *filter, *like, *merged;
	for (uint64_t i = 0; i < n; i++)
		keys[i] = i;
	expect_ok(nidus_build_u64(options, keys, n, 2, &filter));
	expect_equal(nidus_size(filter), n);
	expect_equal(generations_in(filter), 1);
	expect_keys(filter, 0, n);
	insert_keys(filter, n, 4 * n);
	expect_keys(filter, 0, 4 * n);
	expect(info_of(filter).fpr_now <= options->fpr);
	nidus_free(filter);
	/* Like one of few keys: all are in one generation, and both can be merged. */
	filter = filter_create(options);
	insert_keys(filter, 100000, 102000);
	for (uint64_t i = 0; i < n; i++)
		keys[i] = nidus_hash_u64(filter, i);
	expect_ok(nidus_build_like(filter, keys, NULL, n, false, 1, NULL, &like));
	expect_equal(nidus_size(like), n);
	expect_keys(like, 0, n);
	expect_ok(nidus_verify(like, NULL));
	expect_ok(nidus_merge(filter, like, &merged));
	expect_keys(merged, 0, n);
	expect_keys(merged, 100000, 102000);
	nidus_free(merged);
	nidus_free(like);
	nidus_free(filter);
}

static void builds_need_no_size(void **state)
{
	(void)state;
	each_family(build);
}

/* --------------------------------------------------------------------- what is refused -- */

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	nidus_filter *filter;
	for (const struct family *const *family = families; *family != NULL; family++) {
		nidus_options options = unlimited((*family)->id, 8, 1);
		options.features = (*family)->features & NIDUS_STATIC;
		nidus_status wanted = NIDUS_OK;
		if (!((*family)->features & NIDUS_GROW) || !generations_nest(*family))
			wanted = NIDUS_E_UNSUPPORTED;
		expect_status(nidus_create(&options, &filter), wanted);
		nidus_free(filter);
		if (!((*family)->features & NIDUS_GROW) || generations_nest(*family))
			continue;
		expect(strstr(nidus_reason(), "NIDUS_NO_DELETE") != NULL);
		options.features = NIDUS_NO_DELETE;
		options.value_bits = 4;
		expect_status(nidus_create(&options, &filter), NIDUS_E_UNSUPPORTED);
	}
	nidus_options options = unlimited(NIDUS_AUTO, 8, 1);
	filter = filter_create(&options);
	expect(generations_nest(family_find(info_of(filter).family)));
	expect_status(nidus_pack(filter), NIDUS_E_UNSUPPORTED);
	nidus_free(filter);
	options.max_capacity = 0;
	expect_status(nidus_create(&options, &filter), NIDUS_E_ARG);
	options.max_capacity = NIDUS_UNLIMITED - 1;
	options.capacity = 1;
	expect_status(nidus_create(&options, &filter), NIDUS_E_RANGE);
}

static void a_plan_needs_no_size(void **state)
{
	(void)state;
	nidus_plan_row rows[FAMILIES];
	nidus_options options = unlimited(NIDUS_AUTO, 8, 1);
	size_t n;
	unsigned chosen = 0;
	expect_ok(nidus_plan(&options, rows, FAMILIES, &n));
	for (size_t i = 0; i < n; i++) {
		chosen += rows[i].chosen;
		if (rows[i].status != NIDUS_OK)
			continue;
		expect(rows[i].bytes <= 1024 && rows[i].bytes_growing > 1 << 20);
		expect(rows[i].fpr > 0 && rows[i].fpr <= options.fpr);
	}
	expect_equal(chosen, 1);
}

/* Without memory an insert fails and changes nothing, whichever request it was. */
static void fail_at_each_request(const nidus_options *options)
{
	struct ledger ledger = { 0 };
	nidus_options failing = *options;
	failing.allocator = ledger_allocator(&ledger);
	nidus_filter *filter = filter_create(&failing);
	uint64_t most = generations_most(filter_generations(filter)), key = 0, failures = 0;
	while (generations_in(filter) < 2 || key < 2 * most) {
		ledger.requests = 0;
		ledger.fail_at = 1 + key % 4;
		uint64_t count = nidus_size(filter);
		unsigned before = generations_in(filter);
		nidus_status status = nidus_insert_u64(filter, key);
		ledger.fail_at = 0;
		if (status == NIDUS_E_NOMEM) {
			failures++;
			expect_equal(nidus_size(filter), count);
			expect_equal(generations_in(filter), before);
			expect_ok(nidus_insert_u64(filter, key));
		} else {
			expect_ok(status);
		}
		key++;
	}
	expect(failures > 0);
	expect_keys(filter, 0, key);
	expect_ok(nidus_verify(filter, NULL));
	nidus_free(filter);
	expect_equal(ledger.blocks, 0);
}

static void want_of_memory_changes_nothing(void **state)
{
	(void)state;
	each_family(fail_at_each_request);
}

/* Any byte of the head, the records or the header may be wrong: never a crash. */
static void read_damaged(const nidus_options *options)
{
	if (options->family != NIDUS_WINDOWED && options->family != NIDUS_BREADCRUMB)
		return; /* the others are no different to files */
	nidus_filter *filter = filter_create(options), *read;
	insert_keys(filter, 0, 3000);
	for (unsigned i = 0; i < 300; i++)
		expect_ok(nidus_insert_u64(filter, 7));
	struct bytes good = bytes_save(filter);
	size_t head = 256 + 64 * (1 + generations_in(filter)) + 256;
	for (size_t i = 0; i < head; i++) {
		static const unsigned char flips[] = { 1, 0xff };
		for (unsigned k = 0; k < sizeof flips; k++) {
			struct bytes bad = { check_alloc(good.size), good.size };
			memcpy(bad.data, good.data, good.size);
			bad.data[i] ^= flips[k];
			bytes_seal(&bad);
			nidus_status status = nidus_load_buffer(bad.data, bad.size, NULL, &read);
			if (status == NIDUS_OK) {
				expect_ok(nidus_verify(read, NULL));
				expect(bytes_match(&bad, read));
				nidus_free(read);
			}
			status = nidus_open_buffer(bad.data, bad.size, 0, &read);
			if (status == NIDUS_OK) {
				(void)nidus_contains_u64(read, i);
				(void)nidus_verify(read, NULL);
				nidus_free(read);
			}
			bytes_free(&bad);
		}
	}
	for (size_t size = 0; size < good.size; size += 1 + size / 16)
		expect(nidus_load_buffer(good.data, size, NULL, &read) != NIDUS_OK);
	bytes_free(&good);
	nidus_free(filter);
}

static void damaged_files_are_refused(void **state)
{
	(void)state;
	each_family(read_damaged);
}

int main(void)
{
	take_small_segments(64);
	generation_bits_first = generation_bits = 2;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filter_need_not_be_sized),
		cmocka_unit_test(the_rate_is_kept_at_every_size),
		cmocka_unit_test(shares_add_up_to_the_target),
		cmocka_unit_test(old_generations_are_full),
		cmocka_unit_test(a_capacity_sizes_the_first_generation),
		cmocka_unit_test(copies_are_counted),
		cmocka_unit_test(identities_nest),
		cmocka_unit_test(twins_of_all_generations_go_in_any_order),
		cmocka_unit_test(no_key_is_lost_in_random_histories),
		cmocka_unit_test(the_same_calls_leave_the_same_bytes),
		cmocka_unit_test(copies_in_a_list_make_no_room),
		cmocka_unit_test(values_are_found_in_all_generations),
		cmocka_unit_test(counts_are_never_too_low),
		cmocka_unit_test(filters_of_different_generations_merge),
		cmocka_unit_test(counts_of_different_generations_add_up),
		cmocka_unit_test(builds_need_no_size),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(a_plan_needs_no_size),
		cmocka_unit_test(want_of_memory_changes_nothing),
		cmocka_unit_test(damaged_files_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

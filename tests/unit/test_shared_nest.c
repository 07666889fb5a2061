/* SPDX-License-Identifier: MIT
 *
 * A nest that threads share: what one thread does alone, and what several do to
 * each other.
 */
#include "base/hash.h"
#include "nest/shared.h"
#include "support/check.h"
#include "support/nests.h"

#include <pthread.h>
#include <stdatomic.h>

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= UINT64_C(0x7fb5d329728ea185);
	x ^= x >> 27;
	x *= UINT64_C(0x81dadef4bc2dd44d);
	return x ^ x >> 33;
}

struct layout {
	enum nest_kind kind;
	unsigned slots, core_bits, tag_bits;
	uint64_t chunks, groups;
	unsigned stash;
};

static const struct layout layouts[] = {
	{ NEST_XOR, 2, 9, 0, 1, 256, 32 },
	{ NEST_XOR, 4, 12, 0, 1, 128, 32 },
	{ NEST_XOR, 8, 7, 3, 1, 64, 32 },
	{ NEST_DIRECT, 4, 10, 0, 3, 32, 16 },
	{ NEST_DIRECT, 8, 11, 2, 1, 64, 16 },
	{ NEST_CODED_XOR, 4, 6, 0, 1, 128, 64 },
	{ NEST_CODED_XOR, 4, 13, 2, 1, 64, 64 },
	{ NEST_BUCKETS, 2, 9, 0, 2, 101, 24 },
	{ NEST_CODED_BUCKETS, 4, 10, 0, 2, 77, 48 },
	{ NEST_CODED_BUCKETS, 4, 13, 6, 1, 101, 48 },
	{ NEST_BUCKETS, 4, 13, 4, 1, 77, 24 },
	{ NEST_WINDOWS, 2, 9, 0, 2, 203, 24 },
	{ NEST_WINDOWS, 4, 15, 1, 1, 299, 24 },
	{ NEST_WINDOWS, 2, 30, 10, 1, 2, 8 },
	/* Whose groups take a word, or more than one. */
	{ NEST_XOR, 4, 13, 0, 1, 256, 32 },
	{ NEST_XOR, 8, 14, 0, 1, 64, 32 },
	{ NEST_CODED_XOR, 4, 13, 0, 1, 128, 64 },
	{ NEST_BUCKETS, 4, 13, 0, 2, 150, 24 },
	{ NEST_WINDOWS, 2, 14, 0, 2, 203, 24 },
	{ NEST_WINDOWS, 4, 13, 0, 1, 299, 24 },
};

static void make_with(struct nest *nest, const struct layout *layout, uint32_t features)
{
	struct blueprint plan = nest_plan(layout->slots, layout->core_bits, layout->tag_bits,
	                                  layout->chunks, layout->groups);
	plan.features = features;
	plan.stash_limit = layout->stash;
	plan.max_steps = layout->tag_bits > 0 ? 256 : 2048; /* short searches and long ones */
	check_note("%s, %u slots, %u + %u bits", nest_kind_name(layout->kind), layout->slots,
	           layout->core_bits, layout->tag_bits);
	nest_make(nest, &plan, layout->kind);
	expect((nest->shared != NULL) == (features != 0));
}

static void make(struct nest *nest, const struct layout *layout)
{
	make_with(nest, layout, NIDUS_CONCURRENT);
}

/* ------------------------------------------------------------------ one thread -- */

static void expect_unchanged(const struct nest *nest, const nidus_entry *before, uint64_t n)
{
	uint64_t now;
	nidus_entry *entries = nest_entries(nest, &now);
	expect_equal(now, n);
	expect(memcmp(entries, before, n * sizeof *entries) == 0);
	free(entries);
}

/* Fills beyond the last slot: stash, FULL without a change, and home again. */
static void one_thread_fills_and_empties_it(void **state)
{
	(void)state;
	for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
		struct nest nest;
		make(&nest, &layouts[l]);
		const struct body_ops *ops = nest_ops(&nest);
		uint64_t slots = nest.layout->chunks * nest_chunk_slots(nest.layout), in = 0,
			 refused = 0;
		uint64_t *mine = check_alloc((4 * slots + 64) * sizeof *mine);
		for (uint64_t i = 0; i < 3 * slots + 64; i++) {
			uint64_t n, hash = mix(i + 1);
			nidus_entry *before = nest_entries(&nest, &n);
			nidus_status status = ops->insert(&nest, hash);
			if (status == NIDUS_OK) {
				mine[in++] = hash;
			} else {
				expect(status == NIDUS_FULL || status == NIDUS_COPIES);
				expect_unchanged(&nest, before, n);
				refused++;
			}
			free(before);
			expect_equal(nest_count(&nest), in);
		}
		expect(refused > 0);
		expect(nest.stashed > 0);
		expect_ok(nest_verify(&nest));
		for (uint64_t i = 0; i < in; i++)
			expect(ops->contains(&nest, mine[i]));
		for (uint64_t i = 0; i < in; i++) {
			expect_ok(ops->remove(&nest, mine[i]));
			expect_ok(nest_verify(&nest));
		}
		expect_equal(nest_count(&nest), 0);
		expect_equal(nest.stashed, 0);
		free(mine);
		nest_free(&nest);
	}
}

/* One thread leaves the same bytes with and without locks, and with insert_new. */
static void locks_do_not_change_the_bytes(void **state)
{
	(void)state;
	for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
		struct nest plain, shared, fresh;
		make_with(&plain, &layouts[l], 0);
		make(&shared, &layouts[l]);
		make(&fresh, &layouts[l]);
		uint64_t slots = plain.layout->chunks * nest_chunk_slots(plain.layout);
		for (uint64_t i = 0; i < slots + 64; i++) {
			uint64_t hash = mix(i + 700);
			if (nest_ops(&plain)->contains(&plain, hash))
				continue;
			nidus_status status = nest_ops(&plain)->insert(&plain, hash);
			expect_equal(nest_ops(&shared)->insert(&shared, hash), status);
			expect_equal(nest_ops(&fresh)->insert_new(&fresh, hash), status);
		}
		expect(plain.stashed > 0);
		expect_equal(shared.stashed, plain.stashed);
		expect_equal(fresh.stashed, plain.stashed);
		uint64_t size = plain.layout->chunks * plain.layout->stride;
		expect(memcmp(shared.bits, plain.bits, size) == 0);
		expect(memcmp(fresh.bits, plain.bits, size) == 0);
		nest_free(&plain);
		nest_free(&shared);
		nest_free(&fresh);
	}
}

/* One key again and again is counted; insert_new takes it only once. */
static void a_key_again_and_again_is_counted(void **state)
{
	(void)state;
	for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
		struct nest nest;
		make(&nest, &layouts[l]);
		const struct body_ops *ops = nest_ops(&nest);
		uint64_t hash = mix(l + 77), copies;
		expect_ok(ops->insert_new(&nest, hash));
		expect_status(ops->insert_new(&nest, hash), NIDUS_PRESENT);
		for (copies = 1; copies < 1000; copies++)
			expect_ok(ops->insert(&nest, hash));
		expect_equal(ops->count(&nest, hash), copies);
		expect_equal(nest_count(&nest), copies);
		expect_equal(nest.stashed, 1);
		expect_status(ops->insert_new(&nest, hash), NIDUS_PRESENT);
		expect_ok(nest_verify(&nest));
		for (; copies > 0; copies--)
			expect_ok(ops->remove(&nest, hash));
		expect_status(ops->remove(&nest, hash), NIDUS_NOT_FOUND);
		expect_equal(nest_count(&nest), 0);
		expect_ok(nest_verify(&nest));
		nest_free(&nest);
	}
}

static void batches_put_in_find_and_take_out(void **state)
{
	(void)state;
	for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
		struct nest nest;
		make(&nest, &layouts[l]);
		const struct body_ops *ops = nest_ops(&nest);
		uint64_t n = nest.layout->chunks * nest_chunk_slots(nest.layout) * 2 / 3;
		uint64_t *hashes = check_alloc(n * sizeof *hashes + 8);
		uint8_t *yes = check_alloc(n + 1);
		for (uint64_t i = 0; i < n; i++)
			hashes[i] = mix(i + 5000);
		size_t done;
		expect_ok(ops->insert_batch(&nest, hashes, NULL, n, &done));
		expect_equal(done, n);
		memset(yes, 0, n + 1);
		ops->contains_batch(&nest, hashes, n, yes);
		for (uint64_t i = 0; i < n; i++)
			expect_equal(yes[i], 1);
		expect_ok(ops->remove_batch(&nest, hashes, n, &done));
		expect_equal(nest_count(&nest), 0);
		if (n > 0)
			expect_status(ops->remove_batch(&nest, hashes, n, &done), NIDUS_NOT_FOUND);
		free(hashes);
		free(yes);
		nest_free(&nest);
	}
}

/* Lookups of a nest that is large enough for hops say what count does. */
static void expect_lookups(enum nest_kind kind, unsigned slots, unsigned core_bits)
{
	unsigned hop_bits = core_bits < NEST_HOP_BITS ? core_bits : NEST_HOP_BITS;
	uint64_t bytes = (UINT64_C(1024) << hop_bits) + 4096, n = 2000;
	struct layout layout = { kind, slots, core_bits, 0, 2, 0, 16 };
	layout.groups = power_of_two_from(bytes * 8 / (slots * (core_bits - 1)) / 2);
	if (kind == NEST_DIRECT)
		layout.groups = 32;
	if (kind == NEST_WINDOWS)
		layout.groups *= slots;
	struct nest nest;
	make(&nest, &layout);
	const struct body_ops *ops = nest_ops(&nest);
	expect(nest.layout->hops != NULL || kind == NEST_DIRECT);
	if (n > nest_chunk_slots(nest.layout))
		n = nest_chunk_slots(nest.layout);
	uint64_t *hashes = check_alloc(2 * n * sizeof *hashes);
	uint8_t *yes = check_alloc(2 * n);
	for (uint64_t i = 0; i < 2 * n; i++)
		hashes[i] = mix(i + 9000 * core_bits);
	for (uint64_t i = 0; i < n; i++)
		expect_ok(ops->insert(&nest, hashes[i]));
	ops->contains_batch(&nest, hashes, 2 * n, yes);
	for (uint64_t i = 0; i < 2 * n; i++) {
		expect_equal(yes[i], ops->count(&nest, hashes[i]) > 0);
		expect_equal(yes[i], ops->contains(&nest, hashes[i]));
		expect(i >= n || yes[i]);
	}
	free(hashes);
	free(yes);
	nest_free(&nest);
}

static void lookups_say_what_count_does(void **state)
{
	(void)state;
	unsigned most = check_small() ? 12 : 14;
	for (unsigned core_bits = 5; core_bits <= most; core_bits++) {
		expect_lookups(NEST_CODED_XOR, 4, core_bits);
		expect_lookups(NEST_CODED_BUCKETS, 4, core_bits);
		for (unsigned slots = 2; slots <= 8; slots *= 2) {
			expect_lookups(NEST_XOR, slots, core_bits);
			if (slots <= 4)
				expect_lookups(NEST_BUCKETS, slots, core_bits);
			if (slots <= 4)
				expect_lookups(NEST_WINDOWS, slots, core_bits);
		}
	}
	for (unsigned core_bits = 6; core_bits <= 33; core_bits++) {
		for (unsigned slots = 2; slots <= 8; slots *= 2)
			expect_lookups(NEST_DIRECT, slots, core_bits);
	}
}

/* -------------------------------------------------------------- several threads -- */

#define THREADS 4
#define FIXED 40 /* keys that stay in all the time */

struct worker {
	struct nest *nest;
	const struct body_ops *ops;
	unsigned number, rounds;
	uint64_t share;       /* keys that it tries to have in */
	uint64_t *keys, held; /* what it has in */
	atomic_uint *misses;
	atomic_bool *stop;
};

static uint64_t fixed_key(unsigned i)
{
	return mix(i + (UINT64_C(1) << 40));
}

/* Fills its share, looks for all of it, takes a random half out; again and again. */
static void *churn(void *context)
{
	struct worker *me = context;
	uint64_t next = (uint64_t)(me->number + 1) << 32;
	for (unsigned round = 0; round < me->rounds; round++) {
		for (unsigned tries = 0; me->held < me->share && tries < 2 * me->share; tries++) {
			uint64_t hash = mix(next++);
			nidus_status status = tries % 8 == 0 ? me->ops->insert_new(me->nest, hash)
			                                     : me->ops->insert(me->nest, hash);
			if (status == NIDUS_OK)
				me->keys[me->held++] = hash;
		}
		for (uint64_t i = 0; i < me->held; i++)
			*me->misses += !me->ops->contains(me->nest, me->keys[i]);
		uint64_t keep = round + 1 < me->rounds ? me->held / 2 : me->held;
		while (me->held > keep) {
			uint64_t at = mix(next++) % me->held, hash = me->keys[at];
			*me->misses += me->ops->count(me->nest, hash) == 0;
			*me->misses += me->ops->remove(me->nest, hash) != NIDUS_OK;
			me->keys[at] = me->keys[--me->held];
		}
	}
	return NULL;
}

/* Looks for the fixed keys until told to stop. */
static void *watch(void *context)
{
	struct worker *me = context;
	uint64_t hashes[FIXED];
	for (unsigned i = 0; i < FIXED; i++)
		hashes[i] = fixed_key(i);
	while (!atomic_load(me->stop)) {
		uint8_t yes[FIXED];
		me->ops->contains_batch(me->nest, hashes, FIXED, yes);
		for (unsigned i = 0; i < FIXED; i++)
			*me->misses += !yes[i] + !me->ops->contains(me->nest, hashes[i]);
	}
	return NULL;
}

static void expect_exactly(const struct nest *nest, const struct worker *workers)
{
	uint64_t n, all = FIXED;
	for (unsigned t = 0; t < THREADS; t++)
		all += workers[t].held;
	nidus_entry *entries = nest_entries(nest, &n);
	nidus_entry *wanted = check_alloc((all + 1) * sizeof *wanted);
	uint64_t at = 0;
	for (unsigned i = 0; i < FIXED; i++)
		wanted[at++] = nest_entry_of(nest, fixed_key(i));
	for (unsigned t = 0; t < THREADS; t++) {
		for (uint64_t i = 0; i < workers[t].held; i++)
			wanted[at++] = nest_entry_of(nest, workers[t].keys[i]);
	}
	entries_sort(wanted, all);
	expect_equal(n, all);
	expect(memcmp(entries, wanted, n * sizeof *wanted) == 0);
	free(entries);
	free(wanted);
}

/* All threads in the same chunks, which they overfill, so that every path is walked. */
static void threads_together_lose_no_key(void **state)
{
	(void)state;
	for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
		struct nest nest;
		make(&nest, &layouts[l]);
		uint64_t slots = nest.layout->chunks * nest_chunk_slots(nest.layout);
		if (slots < 4 * FIXED) {
			nest_free(&nest);
			continue;
		}
		atomic_uint misses = 0;
		atomic_bool stop = false;
		struct worker workers[THREADS + 1];
		pthread_t threads[THREADS + 1];
		const struct body_ops *ops = nest_ops(&nest);
		for (unsigned i = 0; i < FIXED; i++)
			expect_ok(ops->insert(&nest, fixed_key(i)));
		for (unsigned t = 0; t <= THREADS; t++) {
			workers[t] = (struct worker){ &nest,
				                      ops,
				                      t,
				                      check_small() ? 20 : 200,
				                      slots / THREADS,
				                      NULL,
				                      0,
				                      &misses,
				                      &stop };
			workers[t].keys = check_alloc(slots * sizeof(uint64_t));
			expect_equal(pthread_create(&threads[t], NULL, t < THREADS ? churn : watch,
			                            &workers[t]),
			             0);
		}
		for (unsigned t = 0; t < THREADS; t++)
			pthread_join(threads[t], NULL);
		atomic_store(&stop, true);
		pthread_join(threads[THREADS], NULL);
		expect_equal(misses, 0);
		expect_ok(nest_verify(&nest));
		expect_exactly(&nest, workers);
		for (unsigned t = 0; t <= THREADS; t++)
			free(workers[t].keys);
		nest_free(&nest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_fills_and_empties_it),
		cmocka_unit_test(locks_do_not_change_the_bytes),
		cmocka_unit_test(a_key_again_and_again_is_counted),
		cmocka_unit_test(batches_put_in_find_and_take_out),
		cmocka_unit_test(lookups_say_what_count_does),
		cmocka_unit_test(threads_together_lose_no_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

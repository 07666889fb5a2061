/* SPDX-License-Identifier: MIT
 *
 * Yards that threads share: what one thread does alone, to the byte, and what
 * several do to each other where every line is full.
 */
#include "support/chance.h"
#include "support/check.h"
#include "support/yards.h"
#include "yard/list.h"

#include <pthread.h>

static void make_shared(struct yard *yard, unsigned slots, uint64_t fronts, uint64_t capacity)
{
	const nidus_allocator system = { 0 };
	yard_make(yard, slots, fronts);
	yard->capacity = capacity;
	expect_ok(stripes_make(&yard->stripes, 1, yard->memory.size, &system));
}

static nidus_status insert_new_alone(struct yard *yard, uint64_t hash)
{
	const struct body_ops *ops = yard_body_ops(yard);
	return ops->contains(yard, hash) ? NIDUS_PRESENT : ops->insert(yard, hash);
}

/* ------------------------------------------------------------------- one thread -- */

#define KEYS 4000

/* The same call on both; the answers must be the same. */
static nidus_status change_both(struct yard *alone, struct yard *shared, unsigned what,
                                uint64_t hash)
{
	const struct body_ops *one = yard_body_ops(alone), *other = yard_body_ops(shared);
	nidus_status status, same;
	if (what == 0) {
		status = one->insert(alone, hash);
		same = other->insert(shared, hash);
	} else if (what == 1) {
		status = insert_new_alone(alone, hash);
		same = other->insert_new(shared, hash);
	} else {
		status = one->remove(alone, hash);
		same = other->remove(shared, hash);
	}
	expect_equal(status, same);
	return status;
}

static void expect_same_lists(const struct yard *alone, const struct yard *shared)
{
	size_t size = OVERFLOW_ENTRY * alone->list.nodes;
	expect_equal(alone->list.nodes, shared->list.nodes);
	unsigned char *one = check_alloc(size + 1), *other = check_alloc(size + 1);
	yard_list_export(alone, one);
	yard_list_export(shared, other);
	expect(memcmp(one, other, size) == 0);
	free(one);
	free(other);
}

static void expect_same(const struct yard *alone, const struct yard *shared,
                        const uint64_t hashes[KEYS])
{
	static uint8_t yes[KEYS];
	expect_equal(yard_count(alone), yard_count(shared));
	expect(memcmp(alone->memory.bytes, shared->memory.bytes, alone->memory.size) == 0);
	expect_same_lists(alone, shared);
	const struct body_ops *one = yard_body_ops(alone), *other = yard_body_ops(shared);
	other->contains_batch(shared, hashes, KEYS, yes);
	for (unsigned i = 0; i < KEYS; i++) {
		bool there = one->contains(alone, hashes[i]);
		expect_equal(there, other->contains(shared, hashes[i]));
		expect_equal(there, yes[i]);
		expect_equal(one->count(alone, hashes[i]), other->count(shared, hashes[i]));
	}
}

/* Fills both to the brim, half with batches, takes some out, and so on. */
static void churn_both(struct yard *alone, struct yard *shared, struct chance *chance,
                       const uint64_t hashes[KEYS])
{
	unsigned refused = 0;
	for (unsigned round = 0; round < 3; round++) {
		size_t from = chance_below(chance, KEYS / 2), done, same;
		nidus_status status =
			yard_body_ops(alone)->insert_batch(alone, hashes + from, NULL, 500, &done);
		expect_equal(yard_body_ops(shared)->insert_batch(shared, hashes + from, NULL, 500,
		                                                 &same),
		             status);
		expect_equal(done, same);
		for (unsigned full = 0; full < 30;) {
			uint64_t hash = hashes[chance_below(chance, KEYS)];
			unsigned what = (unsigned)chance_below(chance, 8);
			bool none = change_both(alone, shared, what == 7 ? 2 : what % 2, hash) ==
			            NIDUS_FULL;
			full += none;
			refused += none;
		}
		expect_same(alone, shared, hashes);
		for (unsigned i = 0; i < KEYS; i++) {
			uint64_t hash = hashes[chance_below(chance, KEYS)];
			(void)change_both(alone, shared, 2, hash);
		}
		status = yard_body_ops(alone)->remove_batch(alone, hashes + from, 500, &done);
		expect_equal(yard_body_ops(shared)->remove_batch(shared, hashes + from, 500, &same),
		             status);
		expect_equal(done, same);
		expect_same(alone, shared, hashes);
	}
	expect(refused > 0);
}

static void same_bytes_in_tier(const char *tier)
{
	struct chance chance = { chance_seed() };
	static uint64_t hashes[KEYS];
	for (unsigned i = 0; i < KEYS; i++)
		hashes[i] = chance_next(&chance);
	for (unsigned i = 0; i < 2 * YARD_SHAPES; i++) {
		struct yard alone, shared;
		unsigned slots = yard_shapes[i % YARD_SHAPES];
		/* A capacity beyond the lines: what they have no place for is listed. */
		uint64_t capacity = i < YARD_SHAPES ? 1 : 2000;
		check_note("%s, %u slots, capacity %u", tier, slots, (unsigned)capacity);
		yard_make(&alone, slots, 23);
		alone.capacity = capacity;
		make_shared(&shared, slots, 23, capacity);
		expect(yard_body_ops(&alone) != yard_body_ops(&shared));
		churn_both(&alone, &shared, &chance, hashes);
		expect_prefixes(&shared);
		yard_free(&alone);
		yard_free(&shared);
	}
}

static void one_thread_leaves_the_bytes_of_a_yard_of_its_own(void **state)
{
	(void)state;
	each_tier(same_bytes_in_tier);
}

/* --------------------------------------------------------------- several threads -- */

#define WORKERS 4
#define OWN 600 /* keys of a worker: together far more than there is room for */

struct worker {
	struct yard *yard;
	struct chance chance;
	uint64_t hash[OWN];
	unsigned held[OWN];
	unsigned rounds;
	uint64_t in, lost, refused, wrong;
};

static void change_one(struct worker *me, unsigned i)
{
	const struct body_ops *ops = yard_body_ops(me->yard);
	if (chance_percent(&me->chance, 10))
		i = 0; /* again and again */
	if (chance_percent(&me->chance, 60)) {
		nidus_status status = ops->insert(me->yard, me->hash[i]);
		me->held[i] += status == NIDUS_OK;
		me->in += status == NIDUS_OK;
		me->refused += status == NIDUS_FULL;
		me->wrong += status != NIDUS_OK && status != NIDUS_FULL && status != NIDUS_COPIES;
	} else if (me->held[i] > 0) {
		me->lost += ops->remove(me->yard, me->hash[i]) != NIDUS_OK;
		me->held[i]--;
		me->in--;
	}
}

static void *work(void *context)
{
	struct worker *me = context;
	const struct body_ops *ops = yard_body_ops(me->yard);
	for (unsigned round = 0; round < me->rounds; round++) {
		for (unsigned step = 0; step < OWN / 4; step++)
			change_one(me, (unsigned)chance_below(&me->chance, OWN));
		for (unsigned i = 0; i < OWN; i++) {
			me->lost += ops->count(me->yard, me->hash[i]) < me->held[i];
			me->lost += me->held[i] > 0 && !ops->contains(me->yard, me->hash[i]);
		}
	}
	return NULL;
}

static void crowd_in_tier(const char *tier)
{
	const uint64_t hot = UINT64_C(0x123456789abcdef0);
	static struct worker workers[WORKERS];
	for (unsigned w = 0; w < 2 * YARD_SHAPES; w++) {
		struct yard yard;
		pthread_t threads[WORKERS];
		uint64_t count, in = 0, refused = 0;
		bool lists = w >= YARD_SHAPES;
		unsigned slots = yard_shapes[w % YARD_SHAPES];
		check_note("%s, %u slots, lists %d", tier, slots, lists);
		make_shared(&yard, slots, 20, lists ? UINT64_MAX : 1);
		for (unsigned i = 0; i < WORKERS; i++) {
			workers[i] =
				(struct worker){ .yard = &yard, .chance = { chance_seed() + i } };
			workers[i].rounds = check_small() ? 10 : 60;
			for (unsigned key = 0; key < OWN; key++)
				workers[i].hash[key] = chance_next(&workers[i].chance);
			workers[i].hash[0] = hot; /* everybody's */
			expect_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
		}
		for (unsigned i = 0; i < WORKERS; i++) {
			expect_equal(pthread_join(threads[i], NULL), 0);
			expect_equal(workers[i].lost, 0);
			expect_equal(workers[i].wrong, 0);
			in += workers[i].in;
			refused += workers[i].refused;
		}
		/* Entries had to move aside before. */
		expect(lists ? refused == 0 && yard.list.nodes > 0 : refused > 0);
		expect_equal(yard_count(&yard), in);
		expect_ok(yard_verify(&yard, &count));
		expect_equal(count, in);
		expect_prefixes(&yard);
		yard_free(&yard);
	}
}

static void threads_lose_nothing_where_every_line_is_full(void **state)
{
	(void)state;
	each_tier(crowd_in_tier);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_leaves_the_bytes_of_a_yard_of_its_own),
		cmocka_unit_test(threads_lose_nothing_where_every_line_is_full),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

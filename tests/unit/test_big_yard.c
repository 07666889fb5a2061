/* SPDX-License-Identifier: MIT
 *
 * Yards beyond 2^32 slots and lines, in memory that is nearly all hole: only the
 * lines that some keys need are ever touched.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <sys/mman.h>

#include "support/chance.h"
#include "support/check.h"
#include "support/yards.h"

#define PLACES 40
#define KEYS_MOST 80

/* Keys of one front bucket: more than its line has room for. */
static unsigned crowd_of(const struct yard *yard)
{
	return yard->ops->shape.front.slots + 4;
}

/* A yard over a hole, or false where address space is limited. */
static bool make_sparse(struct yard *yard, unsigned slots, uint64_t fronts)
{
	const struct yard_ops *ops = yard_find(slots);
	const nidus_allocator system = { 0 };
	struct blueprint plan = {
		.slots = ops->shape.front.slots,
		.core_bits = ops->shape.front.width,
		.chunks = 1,
		.groups = fronts,
	};
	size_t size = (size_t)(yard_lines(fronts) * mini_line(ops->shape.front));
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	expect_ok(yard_check(&plan));
	expect_ok(yard_create(yard, &plan, NULL, &system, memory));
	expect(yard_slots(yard) > UINT32_MAX && crowd_of(yard) <= KEYS_MOST);
	expect_equal(yard->memory.size, size);
	return true;
}

/* Makes the lines empty that keys of a front bucket can come to. */
static void clear_lines(const struct yard *yard, uint64_t bucket)
{
	struct mini_shape front = yard->ops->shape.front, back = yard->ops->shape.back;
	mini_clear(front, yard->front + bucket * mini_line(front));
	for (unsigned half = 0; half < 2; half++) {
		unsigned char *line = yard_back_line(yard, bucket, half);
		expect(line >= yard->back &&
		       line + mini_line(back) <= yard->front + yard->memory.size);
		expect_equal(yard_front_of(yard, yard_line_number(yard, bucket, half),
		                           yard_crumb(bucket)),
		             bucket);
		mini_clear(back, line);
	}
}

/* Hashes that share the front bucket of the first one. */
static void find_neighbours(const struct yard *yard, struct chance *chance, uint64_t *hashes)
{
	uint64_t bucket = yard_locate(yard, hashes[0]).bucket;
	for (unsigned n = 1; n < crowd_of(yard);) {
		uint64_t other = hashes[0] ^ chance_next(chance) >> (64 - 30);
		if (yard_locate(yard, other).bucket == bucket)
			hashes[n++] = other;
	}
}

static void fill_one_place(struct yard *yard, struct chance *chance, uint64_t hash,
                           uint64_t *hashes)
{
	hashes[0] = hash;
	find_neighbours(yard, chance, hashes);
	clear_lines(yard, yard_locate(yard, hash).bucket);
	for (unsigned i = 0; i < crowd_of(yard); i++)
		expect_ok(yard->ops->body.insert(yard, hashes[i]));
}

/* The walk of one front bucket yields its keys, from both yards. */
static void expect_walk(const struct yard *yard, uint64_t bucket)
{
	struct yard_key key;
	uint64_t at = 0;
	unsigned seen = 0;
	while (yard_next_in(yard, bucket, &at, &key)) {
		expect_equal(key.bucket, bucket);
		seen++;
	}
	expect_equal(seen, crowd_of(yard));
}

static void use_sparse(struct yard *yard, struct chance *chance)
{
	static uint64_t hashes[PLACES][KEYS_MOST];
	const struct body_ops *ops = &yard->ops->body;
	uint64_t beyond = 0;
	/* One place in each stretch of the table, so that no two share a line; the ends too. */
	for (uint64_t i = 0; i < PLACES; i++) {
		uint64_t stretch = UINT64_MAX / PLACES;
		uint64_t hash = i * stretch + stretch / 4 + chance_below(chance, stretch / 2);
		hash = i == 0 ? 0 : i == PLACES - 1 ? UINT64_MAX : hash;
		fill_one_place(yard, chance, hash, hashes[i]);
		beyond +=
			yard_locate(yard, hash).bucket * yard->ops->shape.front.slots > UINT32_MAX;
	}
	expect(beyond > 0);
	expect_equal(yard->count, PLACES * crowd_of(yard));
	for (unsigned i = 0; i < PLACES; i++) {
		expect_walk(yard, yard_locate(yard, hashes[i][0]).bucket);
		for (unsigned j = 0; j < crowd_of(yard); j++) {
			expect(ops->contains(yard, hashes[i][j]));
			expect_ok(ops->remove(yard, hashes[i][j]));
		}
	}
	expect_equal(yard->count, 0);
	for (unsigned i = 0; i < PLACES; i++)
		expect(!ops->contains(yard, hashes[i][0]));
}

static void yards_may_have_more_than_2_32_slots_and_lines(void **state)
{
	(void)state;
	static const uint64_t fronts[] = { (UINT64_C(1) << 28) + 5, (UINT64_C(1) << 33) + 7 };
	struct chance chance = { chance_seed() };
	for (unsigned i = 0; i < YARD_SHAPES; i++) {
		for (unsigned j = 0; j < 2; j++) {
			struct yard yard;
			check_note("%u slots, %llu fronts", yard_shapes[i],
			           (unsigned long long)fronts[j]);
			if (!make_sparse(&yard, yard_shapes[i], fronts[j])) {
				skip();
				return;
			}
			use_sparse(&yard, &chance);
			munmap(yard.front, yard.memory.size);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yards_may_have_more_than_2_32_slots_and_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

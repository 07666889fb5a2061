/* SPDX-License-Identifier: MIT
 *
 * Tests of base/slabs: blocks lie without holes, wherever one goes, and all memory comes back.
 */
#include "base/slabs.h"

#include <string.h>

#include "support/check.h"
#include "support/faults.h"

#define MOST 500
#define EACH 192

/* A block as the test knows it: where it is, and the number that it is full of. */
struct known {
	unsigned char *at;
	unsigned char number;
};

struct bench {
	struct slabs slabs;
	struct ledger ledger;
	nidus_allocator allocator;
	struct known block[MOST];
	unsigned n;
};

static void begin(struct bench *bench)
{
	memset(bench, 0, sizeof *bench);
	bench->slabs.each = EACH;
	bench->allocator = ledger_allocator(&bench->ledger);
}

static void expect_full_of(const unsigned char *block, unsigned char number)
{
	for (unsigned i = 0; i < EACH; i++)
		expect_equal(block[i], number);
}

static nidus_status take(struct bench *bench, uint64_t whole)
{
	unsigned char *block;
	nidus_status status = slabs_take(&bench->slabs, &bench->allocator, whole, &block);
	if (status != NIDUS_OK)
		return status;
	expect_equal((uintptr_t)block % MEMORY_LINE, 0);
	expect_full_of(block, 0);
	bench->block[bench->n] = (struct known){ block, (unsigned char)(1 + bench->n % 255) };
	memset(block, bench->block[bench->n].number, EACH);
	bench->n++;
	return NIDUS_OK;
}

static void give(struct bench *bench, unsigned which)
{
	unsigned char *block = bench->block[which].at;
	const unsigned char *last = slabs_give(&bench->slabs, &bench->allocator, block);
	bench->block[which] = bench->block[--bench->n];
	for (unsigned i = 0; last != NULL && i < bench->n; i++) {
		if (bench->block[i].at == last)
			bench->block[i].at = block;
	}
	expect_equal(bench->slabs.blocks, bench->n);
	for (unsigned i = 0; i < bench->n; i++)
		expect_full_of(bench->block[i].at, bench->block[i].number);
}

/* Takes blocks and gives them back in some order, while the filter is said to take so much. */
static void take_and_give(uint64_t whole)
{
	struct bench bench;
	uint64_t random = 1;
	begin(&bench);
	for (unsigned step = 0; step < 1200; step++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		bool more = step < 600 ? random >> 62 != 0 : random >> 62 == 0;
		if (more && bench.n < MOST)
			expect_ok(take(&bench, whole));
		else if (bench.n > 0)
			give(&bench, (unsigned)((random >> 32) % bench.n));
		expect(bench.ledger.bytes >= bench.slabs.bytes);
		/* Not in use: part of a slab, and perhaps one that will soon be needed. */
		expect(bench.slabs.bytes <= bench.n * EACH + 2 * (whole / 128 + EACH));
	}
	while (bench.n > 0)
		give(&bench, bench.n / 2);
	expect_equal(bench.slabs.bytes, 0);
	expect_equal(bench.ledger.blocks, 0);
}

static void blocks_stay_side_by_side(void **state)
{
	(void)state;
	take_and_give(0);                /* a slab for each block */
	take_and_give(128 * 3 * EACH);   /* three */
	take_and_give(128 * 100 * EACH); /* and one that may stay when it is empty */
}

static void slabs_follow_the_size_of_the_filter(void **state)
{
	(void)state;
	struct bench bench;
	begin(&bench);
	expect_ok(take(&bench, 1000));
	expect_equal(bench.slabs.bytes, EACH);
	expect_ok(take(&bench, 128 * 10 * EACH));
	expect_equal(bench.slabs.bytes, 11 * EACH);
	while (bench.slabs.full < bench.slabs.slabs)
		expect_ok(take(&bench, 0));
	expect_ok(take(&bench, 32 * MEMORY_HUGE_PAGE));
	expect_equal(bench.slabs.slab[bench.slabs.full].size, MEMORY_HUGE_PAGE);
	slabs_free(&bench.slabs, &bench.allocator);
	expect_equal(bench.ledger.blocks, 0);
}

static void without_memory_nothing_changes(void **state)
{
	(void)state;
	for (unsigned fails = 0; fails < 30; fails++) {
		struct bench bench;
		begin(&bench);
		bench.ledger.fail_at = fails + 1;
		while (bench.n < 20) {
			uint64_t blocks = bench.slabs.blocks, bytes = bench.slabs.bytes;
			if (take(&bench, 0) == NIDUS_OK)
				continue;
			expect_equal(bench.slabs.blocks, blocks);
			expect_equal(bench.slabs.bytes, bytes);
			expect_ok(take(&bench, 0));
		}
		slabs_free(&bench.slabs, &bench.allocator);
		expect_equal(bench.ledger.blocks, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_stay_side_by_side),
		cmocka_unit_test(slabs_follow_the_size_of_the_filter),
		cmocka_unit_test(without_memory_nothing_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

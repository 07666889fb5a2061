/* SPDX-License-Identifier: MIT
 *
 * Tests of base/memory: whose memory it is, where it lies, what is in it.
 */
#include "base/memory.h"

#include "base/bits.h"
#include "base/os.h"
#include "support/check.h"
#include "support/faults.h"

static const nidus_allocator system_memory;

static const uint64_t sizes[] = {
	1, 7, 63, 64, 65, 4096, 100001, (2 << 20) - 1, 2 << 20, (4 << 20) + 5
};

#define SIZES (sizeof sizes / sizeof *sizes)

static void expect_zeroed(const struct block *block)
{
	for (size_t i = 0; i < block->size; i++) {
		if (block->bytes[i] != 0)
			expect_equal(block->bytes[i], 0);
	}
}

static void blocks_are_zeroed_and_at_a_cache_line(void **state)
{
	(void)state;
	struct ledger ledger = { 0 };
	const nidus_allocator allocators[] = { system_memory, ledger_allocator(&ledger) };
	for (unsigned a = 0; a < 2; a++) {
		for (size_t i = 0; i < SIZES; i++) {
			struct block block;
			check_note("allocator %u, %llu bytes", a, (unsigned long long)sizes[i]);
			expect_ok(memory_take(&allocators[a], sizes[i], &block));
			expect_equal(block.size, sizes[i]);
			expect_equal((uintptr_t)block.bytes % MEMORY_LINE, 0);
			expect_zeroed(&block);
			memset(block.bytes, 0xff, block.size); /* all of it is ours */
			memory_give(&allocators[a], &block);
			expect(block.bytes == NULL && block.size == 0 && block.whole == NULL);
		}
	}
	expect_equal(ledger.blocks, 0);
	expect_equal(ledger.bytes, 0);
}

static void the_callers_allocator_is_the_only_one_asked(void **state)
{
	(void)state;
	struct ledger ours = { 0 }, system = { 0 };
	nidus_allocator allocator = ledger_allocator(&ours);
	struct block block;
	ledger_watch_system(&system);
	for (size_t i = 0; i < SIZES; i++) {
		expect_ok(memory_take(&allocator, sizes[i], &block));
		expect_equal(ours.blocks, 1);
		memory_give(&allocator, &block);
	}
	faults_restore();
	expect_equal(ours.blocks, 0);
	expect_equal(system.requests, 0);
}

static void the_systems_memory_goes_back_to_the_system(void **state)
{
	(void)state;
	struct ledger system = { 0 };
	ledger_watch_system(&system);
	for (size_t i = 0; i < SIZES; i++) {
		struct block block;
		expect_ok(memory_take(&system_memory, sizes[i], &block));
		expect_equal(system.blocks, 1);
		memory_give(&system_memory, &block);
		expect_equal(system.blocks, 0);
	}
	faults_restore();
}

static void a_block_of_nothing_asks_nobody(void **state)
{
	(void)state;
	struct ledger ledger = { .fail_at = 1 };
	nidus_allocator allocator = ledger_allocator(&ledger);
	struct block block;
	expect_ok(memory_take(&allocator, 0, &block));
	expect(block.bytes == NULL && block.size == 0);
	expect_equal(ledger.requests, 0);
	memory_give(&allocator, &block);
	memory_give(&allocator, &block);
}

static void absurd_sizes_answer_nomem_without_asking(void **state)
{
	(void)state;
	static const uint64_t absurd[] = { UINT64_MAX, UINT64_MAX - 63, UINT64_MAX - (2 << 20),
		                           UINT64_C(1) << 63, (UINT64_C(1) << 63) - 1 };
	struct ledger ours = { 0 }, system = { 0 };
	const nidus_allocator allocators[] = { system_memory, ledger_allocator(&ours) };
	ledger_watch_system(&system);
	for (unsigned a = 0; a < 2; a++) {
		for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
			struct block block;
			expect_status(memory_take(&allocators[a], absurd[i], &block),
			              NIDUS_E_NOMEM);
			expect(block.bytes == NULL && block.whole == NULL && block.size == 0);
		}
	}
	faults_restore();
	expect_equal(ours.requests, 0);
	expect_equal(system.requests, 0);
}

static void a_refused_request_answers_nomem(void **state)
{
	(void)state;
	struct ledger ours = { 0 }, system = { 0 };
	const nidus_allocator allocators[] = { system_memory, ledger_allocator(&ours) };
	ledger_watch_system(&system);
	for (unsigned a = 0; a < 2; a++) {
		for (size_t i = 0; i < SIZES; i++) {
			struct block block;
			ours.fail_at = ours.requests + 1;
			system.fail_at = system.requests + 1;
			expect_status(memory_take(&allocators[a], sizes[i], &block), NIDUS_E_NOMEM);
			expect(block.bytes == NULL && block.whole == NULL && block.size == 0);
			memory_give(&allocators[a], &block);
		}
	}
	faults_restore();
	expect_equal(ours.blocks, 0);
	expect_equal(system.blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_zeroed_and_at_a_cache_line),
		cmocka_unit_test(the_callers_allocator_is_the_only_one_asked),
		cmocka_unit_test(the_systems_memory_goes_back_to_the_system),
		cmocka_unit_test(a_block_of_nothing_asks_nobody),
		cmocka_unit_test(absurd_sizes_answer_nomem_without_asking),
		cmocka_unit_test(a_refused_request_answers_nomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT
 *
 * Tests of nest/stash against a counting array.
 */
#include "nest/stash.h"

#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"

#define HOMES 5
#define FINGERPRINTS 4

static struct stash_entry entry_of(unsigned number)
{
	/* Both halves large: a comparison of 32 bits would mix them up. */
	return (struct stash_entry){ (uint64_t)(number % HOMES) << 40,
		                     1 + ((uint64_t)(number / HOMES) << 50) };
}

static void entries_come_and_go_like_in_a_multiset(void **state)
{
	(void)state;
	struct ledger ledger = { 0 };
	nidus_allocator allocator = ledger_allocator(&ledger);
	struct stash stash = { 0 };
	uint32_t model[HOMES * FINGERPRINTS] = { 0 }, total = 0;
	struct chance chance = { chance_seed() };
	for (unsigned step = 0; step < 20000; step++) {
		unsigned number = (unsigned)chance_below(&chance, HOMES * FINGERPRINTS);
		bool fill = step / 100 % 2 == 0;
		if (chance_percent(&chance, fill ? 70 : 30)) {
			expect_ok(stash_insert(&stash, entry_of(number), &allocator));
			model[number]++;
			total++;
		} else {
			expect_equal(stash_remove(&stash, entry_of(number), UINT64_MAX),
			             model[number] > 0);
			total -= model[number] > 0;
			model[number] -= model[number] > 0;
		}
		expect(stash_sorted(&stash));
		expect_equal(stash.count, total);
		for (unsigned i = 0; i < HOMES * FINGERPRINTS; i++)
			expect_equal(stash_count(&stash, entry_of(i), UINT64_MAX), model[i]);
	}
	memory_give(&allocator, &stash.memory);
	expect_equal(ledger.blocks, 0);
}

static void the_order_of_inserts_leaves_no_trace(void **state)
{
	(void)state;
	nidus_allocator allocator = { 0 };
	struct stash up = { 0 }, down = { 0 };
	for (unsigned i = 0; i < 20; i++) {
		expect_ok(stash_insert(&up, entry_of(i), &allocator));
		expect_ok(stash_insert(&down, entry_of(19 - i), &allocator));
	}
	expect_equal(up.count, down.count);
	expect(memcmp(stash_entries(&up), stash_entries(&down), up.count * STASH_ENTRY) == 0);
	memory_give(&allocator, &up.memory);
	memory_give(&allocator, &down.memory);
}

static void disorder_is_noticed(void **state)
{
	(void)state;
	nidus_allocator allocator = { 0 };
	struct stash stash = { 0 };
	for (unsigned i = 0; i < 10; i++)
		expect_ok(stash_insert(&stash, entry_of(i), &allocator));
	expect(stash_sorted(&stash));
	struct stash_entry *entries = stash_entries(&stash), kept = entries[8];
	entries[8] = entries[9];
	entries[9] = kept;
	expect(!stash_sorted(&stash));
	memory_give(&allocator, &stash.memory);
}

static void an_insert_without_memory_changes_nothing(void **state)
{
	(void)state;
	struct ledger ledger = { 0 };
	nidus_allocator allocator = ledger_allocator(&ledger);
	struct stash stash = { 0 };
	unsigned refusals = 0;
	for (unsigned i = 0; i < 100; i++) {
		ledger.fail_at = ledger.requests + 1;
		struct stash before = stash;
		nidus_status status = stash_insert(&stash, entry_of(i % 20), &allocator);
		if (status != NIDUS_OK) {
			expect_status(status, NIDUS_E_NOMEM);
			expect(memcmp(&before, &stash, sizeof stash) == 0);
			refusals++;
			ledger.fail_at = 0;
			expect_ok(stash_insert(&stash, entry_of(i % 20), &allocator));
		}
		expect_equal(stash.count, i + 1);
	}
	expect(refusals > 1);
	memory_give(&allocator, &stash.memory);
	expect_equal(ledger.blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_and_go_like_in_a_multiset),
		cmocka_unit_test(the_order_of_inserts_leaves_no_trace),
		cmocka_unit_test(disorder_is_noticed),
		cmocka_unit_test(an_insert_without_memory_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

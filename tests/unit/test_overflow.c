/* SPDX-License-Identifier: MIT
 *
 * Tests of base/overflow against a counting array.
 */
#include "base/overflow.h"

#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"

#define HOMES 5
#define FINGERPRINTS 4
#define VALUES 3
#define ENTRIES (HOMES * FINGERPRINTS * VALUES)

/* In the order of a list. All parts large: a comparison of 32 bits would mix them up. */
static nidus_entry entry_of(unsigned number)
{
	return (nidus_entry){ (uint64_t)(number / (FINGERPRINTS * VALUES)) << 40,
		              1 + ((uint64_t)(number / VALUES % FINGERPRINTS) << 50),
		              number % VALUES };
}

static void expect_as_modelled(const struct overflow *list, const uint64_t *model)
{
	uint64_t index = 0, nodes = 0;
	const struct overflow_node *node = overflow_next(list, NULL);
	expect(overflow_valid(list));
	for (unsigned i = 0; i < ENTRIES; i++) {
		nidus_entry entry = entry_of(i);
		expect_equal(overflow_count(list, &entry), model[i]);
		if (model[i] == 0)
			continue;
		expect(node != NULL && memcmp(&node->entry, &entry, sizeof entry) == 0);
		expect(overflow_at(list, index) == node);
		expect(overflow_at(list, index + model[i] - 1) == node);
		expect(overflow_from(list, &entry) == node);
		index += model[i];
		nodes++;
		node = overflow_next(list, &node->entry);
	}
	expect(node == NULL && overflow_at(list, index) == NULL);
	expect_equal(list->nodes, nodes);
	expect_equal(list->entries, index);
}

/* The values of one identity, as overflow_values and overflow_seen tell them. */
static void expect_values(const struct overflow *list, const uint64_t *model, unsigned identity)
{
	uint64_t values[8], seen[8], all = 0;
	nidus_entry entry = entry_of(identity * VALUES + 1);
	const uint32_t version = 4;
	size_t found = overflow_values(list, &entry, values, 8, 0), also;
	expect(overflow_seen(list, &entry, &version, 4, seen, 8, &also));
	expect(!overflow_seen(list, &entry, &version, 2, seen, 8, &also) || list->nodes == 0);
	expect(overflow_seen(list, &entry, &version, 4, seen, 8, &also));
	expect_equal(found, also);
	for (unsigned value = 0; value < VALUES; value++) {
		uint64_t copies = model[identity * VALUES + value];
		for (uint64_t i = 0; i < copies && all + i < 8; i++) {
			expect_equal(values[all + i], value);
			expect_equal(seen[all + i], value);
		}
		all += copies;
	}
	expect_equal(found, all);
	expect_equal(overflow_count_all(list, &entry), all);
}

static void entries_come_and_go_like_in_a_multiset(void **state)
{
	(void)state;
	struct ledger ledger = { 0 };
	nidus_allocator allocator = ledger_allocator(&ledger);
	struct overflow list = { 0 };
	uint64_t model[ENTRIES] = { 0 };
	struct chance chance = { chance_seed() };
	for (unsigned step = 0; step < 20000; step++) {
		unsigned number = (unsigned)chance_below(&chance, ENTRIES);
		unsigned other = number / VALUES * VALUES + (unsigned)chance_below(&chance, VALUES);
		nidus_entry entry = entry_of(number);
		uint64_t copies = 1 + chance_below(&chance, 3);
		switch (chance_below(&chance, 4)) {
		case 0:
			expect_ok(overflow_add(&list, &allocator, &entry, copies));
			model[number] += copies;
			break;
		case 1:
			if (copies <= model[number]) {
				overflow_take(&list, &entry, copies);
				model[number] -= copies;
			}
			break;
		case 2:
			expect_equal(overflow_remove(&list, &entry), model[number] > 0);
			model[number] -= model[number] > 0;
			break;
		default:
			if (model[number] == 0)
				break;
			expect_ok(overflow_change(&list, &allocator, &entry, other % VALUES));
			model[number]--;
			model[other]++;
		}
		expect_values(&list, model, number / VALUES);
		if (step % 16 == 0)
			expect_as_modelled(&list, model);
	}
	overflow_free(&list, &allocator);
	expect_equal(ledger.blocks, 0);
}

static void the_order_of_inserts_does_not_matter(void **state)
{
	(void)state;
	const nidus_allocator allocator = { 0 };
	struct overflow up = { 0 }, down = { 0 }, copy = { 0 };
	unsigned char first[ENTRIES * OVERFLOW_ENTRY], second[ENTRIES * OVERFLOW_ENTRY];
	for (unsigned i = 0; i < ENTRIES; i++) {
		nidus_entry low = entry_of(i), high = entry_of(ENTRIES - 1 - i);
		expect_ok(overflow_add(&up, &allocator, &low, i + 1));
		expect_ok(overflow_add(&down, &allocator, &high, ENTRIES - i));
	}
	expect(overflow_export(&up, 7, first) == first + sizeof first);
	expect(overflow_export(&down, 7, second) == second + sizeof second);
	expect(memcmp(first, second, sizeof first) == 0);
	expect_ok(overflow_copy(&copy, &up, &allocator));
	expect(overflow_valid(&copy));
	(void)overflow_export(&copy, 7, second);
	expect(memcmp(first, second, sizeof first) == 0);
	for (unsigned i = 0; i < ENTRIES; i++) {
		uint64_t copies;
		nidus_entry entry = overflow_decode(first + i * OVERFLOW_ENTRY, &copies);
		entry.home -= 7;
		expect_equal(copies, i + 1);
		nidus_entry expected = entry_of(i);
		expect(memcmp(&entry, &expected, sizeof entry) == 0);
	}
	overflow_free(&up, &allocator);
	overflow_free(&down, &allocator);
	overflow_free(&copy, &allocator);
}

static void the_last_copy_that_can_be_counted_is_the_last(void **state)
{
	(void)state;
	const nidus_allocator allocator = { 0 };
	struct overflow list = { 0 };
	nidus_entry entry = entry_of(7), other = entry_of(8);
	expect_ok(overflow_add(&list, &allocator, &entry, UINT32_MAX - 1));
	expect_ok(overflow_add(&list, &allocator, &entry, 1));
	expect_equal(overflow_add(&list, &allocator, &entry, 1), NIDUS_COPIES);
	expect_ok(overflow_add(&list, &allocator, &other, 1));
	expect_equal(overflow_change(&list, &allocator, &other, entry.value), NIDUS_COPIES);
	expect_equal(overflow_count(&list, &entry), UINT32_MAX);
	expect_equal(overflow_count_all(&list, &entry), (uint64_t)UINT32_MAX + 1);
	expect(overflow_at(&list, UINT32_MAX)->entry.value == other.value);
	expect(overflow_valid(&list));
	overflow_free(&list, &allocator);
}

static void a_list_of_one_is_small_and_a_long_one_not_deep(void **state)
{
	(void)state;
	const nidus_allocator allocator = { 0 };
	struct overflow list = { 0 };
	nidus_entry entry = { 0 };
	expect_ok(overflow_add(&list, &allocator, &entry, 1000000));
	expect(list.bytes <= 320);
	for (entry.home = 1; entry.home < 100000; entry.home++)
		expect_ok(overflow_add(&list, &allocator, &entry, 1));
	expect(list.bytes <= 100000 * 64);
	/* Sorted entries: a tree without balance would be 100,000 deep. A path this long has odds
	   far below one in a million. */
	unsigned deepest = 0;
	for (entry.home = 0; entry.home < 100000; entry.home += 7) {
		unsigned depth = 0;
		const struct overflow_node *node = list.root;
		for (; node->entry.home != entry.home; depth++)
			node = entry.home < node->entry.home ? node->left : node->right;
		deepest = depth > deepest ? depth : deepest;
	}
	expect(deepest < 100);
	overflow_free(&list, &allocator);
}

static void without_memory_nothing_changes(void **state)
{
	(void)state;
	struct ledger ledger = { 0 };
	nidus_allocator allocator = ledger_allocator(&ledger);
	struct overflow list = { 0 };
	uint64_t model[ENTRIES] = { 0 };
	for (unsigned i = 0; i < 4 * ENTRIES; i++) {
		nidus_entry entry = entry_of(i % ENTRIES);
		ledger.fail_at = ledger.requests + 1;
		nidus_status status = overflow_add(&list, &allocator, &entry, 1);
		ledger.fail_at = 0;
		model[i % ENTRIES] += status == NIDUS_OK;
		expect(status == NIDUS_OK || status == NIDUS_E_NOMEM);
		expect_as_modelled(&list, model);
		if (i % 3 == 0 && status != NIDUS_OK) {
			expect_ok(overflow_add(&list, &allocator, &entry, 1));
			model[i % ENTRIES]++;
		}
	}
	overflow_free(&list, &allocator);
	expect_equal(ledger.blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_and_go_like_in_a_multiset),
		cmocka_unit_test(the_order_of_inserts_does_not_matter),
		cmocka_unit_test(the_last_copy_that_can_be_counted_is_the_last),
		cmocka_unit_test(a_list_of_one_is_small_and_a_long_one_not_deep),
		cmocka_unit_test(without_memory_nothing_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

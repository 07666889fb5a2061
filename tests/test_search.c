/* SPDX-License-Identifier: MIT
 *
 * Tests of table/search and of filling nests: no move loses an entry, at any
 * width, and the entries of one level rebuild every other.
 */
#include "table/search.h"

#include "support/chance.h"
#include "support/check.h"
#include "support/nests.h"

/* ------------------------------------------------------------------ whole fills -- */

static void expect_entries(const struct nest *nest, const uint64_t *hashes, uint64_t n)
{
	uint64_t stored;
	nidus_entry *entries = nest_entries(nest, &stored);
	nidus_entry *wanted = check_alloc((n + 1) * sizeof *wanted);
	for (uint64_t i = 0; i < n; i++)
		wanted[i] = nest_entry_of(nest, hashes[i]);
	entries_sort(wanted, n);
	expect_equal(stored, n);
	for (uint64_t i = 0; i < n; i++) {
		expect_equal(entries[i].home, wanted[i].home);
		expect_equal(entries[i].fingerprint, wanted[i].fingerprint);
	}
	free(entries);
	free(wanted);
}

/* Inserts random hashes until `failures` of them failed; gives how many went in. */
static uint64_t fill(struct nest *nest, uint64_t *hashes, uint64_t room, unsigned failures,
                     struct chance *chance)
{
	const struct body_ops *ops = nest_ops(nest);
	unsigned char *before = check_alloc(nest->bits_memory.size);
	uint64_t n = 0;
	while (failures > 0 && n < room) {
		hashes[n] = chance_next(chance);
		memcpy(before, nest->bits, nest->bits_memory.size);
		uint64_t count = nest_count(nest), stashed = nest->stashed;
		nidus_status status = ops->insert(nest, hashes[n]);
		if (status == NIDUS_OK) {
			n++;
			expect_equal(nest_count(nest), count + 1);
		} else {
			expect(status == NIDUS_FULL || status == NIDUS_COPIES);
			expect(memcmp(before, nest->bits, nest->bits_memory.size) == 0);
			expect_equal(nest_count(nest), count);
			expect_equal(nest->stashed, stashed);
			failures--;
		}
		if (n % 61 == 0)
			expect_entries(nest, hashes, n);
	}
	free(before);
	return n;
}

static void expect_found(const struct nest *nest, const uint64_t *hashes, uint64_t n)
{
	const struct body_ops *ops = nest_ops(nest);
	for (uint64_t i = 0; i < n; i++)
		expect(ops->contains(nest, hashes[i]) && ops->count(nest, hashes[i]) > 0);
}

/* Takes the entries of one nest into an empty one of another level. */
static void expect_rebuilt(const struct nest *from, struct blueprint plan, unsigned level,
                           const uint64_t *hashes, uint64_t n)
{
	struct nest to;
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	plan.level = level;
	nest_make(&to, &plan, from->kind);
	while (nest_next(from, &cursor, &entry))
		expect_ok(nest_insert_entry(&to, &entry));
	expect_ok(nest_verify(&to));
	expect_found(&to, hashes, n);
	expect_entries(&to, hashes, n);
	nest_free(&to);
}

static void expect_fill(struct blueprint plan, enum nest_kind kind, struct chance *chance)
{
	struct nest nest;
	nest_make(&nest, &plan, kind);
	uint64_t room = 2 * nest_total_slots(&plan, kind) + 100;
	uint64_t *hashes = check_alloc(room * sizeof *hashes);
	check_note("%s, %u slots, width %u, %u core bits, level %u of %u, %llu groups, %u steps",
	           nest_kind_name(kind), plan.slots, nest.width, plan.core_bits, plan.level,
	           plan.growth_bits, (unsigned long long)plan.groups, plan.max_steps);
	uint64_t n = fill(&nest, hashes, room, 20, chance);
	expect_ok(nest_verify(&nest));
	expect_found(&nest, hashes, n);
	expect_entries(&nest, hashes, n);
	/* A larger table surely has room for all; so has this one when nothing is stashed. */
	if (plan.level < plan.growth_bits && plan.core_bits > 4)
		expect_rebuilt(&nest, plan, plan.level + 1, hashes, n);
	const struct body_ops *ops = nest_ops(&nest);
	for (uint64_t i = 0; i < n; i++) {
		expect_ok(ops->remove(&nest, hashes[i]));
		if (i % 64 == 0) {
			expect_ok(nest_verify(&nest));
			expect_found(&nest, hashes + i + 1, n - i - 1);
		}
	}
	expect_equal(nest_count(&nest), 0);
	expect_equal(nest.stashed, 0);
	free(hashes);
	nest_free(&nest);
}

static void no_width_loses_an_entry(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		for (unsigned slots = 2; slots <= 8; slots *= 2) {
			for (unsigned core = 2; core <= 56; core += core < 32 ? 1 : 3) {
				unsigned growth =
					core <= 40 ? (unsigned)chance_below(&chance, 4) : 0;
				unsigned level = (unsigned)chance_below(&chance, growth + 1);
				uint64_t groups =
					nest_symmetric(kind) ? 16 : 11 + chance_below(&chance, 20);
				struct blueprint plan =
					nest_plan(slots, core, growth, level, 2, groups);
				if (nest_plan_possible(&plan, kind))
					expect_fill(plan, kind, &chance);
			}
		}
	}
}

/* Two to nine groups: windows overlap, and both groups of a key may too. */
static void tiny_tables_lose_no_entry(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		for (unsigned slots = 2; slots <= 8; slots *= 2) {
			for (uint64_t groups = 2; groups < 10; groups++) {
				struct blueprint plan = nest_plan(slots, 6, 0, 0, 1, groups);
				plan.stash_limit = (uint32_t)chance_below(&chance, 6);
				if (nest_plan_possible(&plan, kind))
					expect_fill(plan, kind, &chance);
			}
		}
	}
}

static void any_search_limit_keeps_all_entries(void **state)
{
	(void)state;
	static const unsigned limits[] = { 1, 2, 3, 7, 63, 64, 65, 500, SEARCH_STEPS_MAX };
	struct chance chance = { chance_seed() };
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
			struct blueprint plan =
				nest_plan(kind == NEST_CODED ? 4 : 2, 9, 0, 0, 1, 128);
			plan.max_steps = limits[i];
			plan.stash_limit = 0;
			expect_fill(plan, kind, &chance);
		}
	}
}

/* ------------------------------------------------------------------- one search -- */

static bool groups_full(const struct nest *nest, const struct nest_key *key)
{
	const unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	for (unsigned choice = 0; choice < 2; choice++) {
		uint64_t first = nest_first_slot(nest, nest->kind, key->group[choice]);
		for (unsigned at = 0; at < nest->slots; at++) {
			if (nest_get(nest, nest->kind, bits, first + at) == 0)
				return false;
		}
	}
	return true;
}

/* The freed slot is the key's, holds an entry twice now, and only that one. */
static void expect_room(struct nest *nest, const struct nest_key *key, const nidus_entry *before,
                        uint64_t n)
{
	uint64_t slot, value;
	if (!search_room(nest, nest->kind, key, &slot))
		return;
	expect(nest_encode_at(nest, nest->kind, key, slot, &value));
	unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	expect(nest_get(nest, nest->kind, bits, slot) != 0);
	nest_set(nest, nest->kind, bits, slot, 0); /* the copy; now all is as before, but moved */
	uint64_t left;
	nidus_entry *after = nest_entries(nest, &left);
	expect_equal(left, n);
	expect(memcmp(before, after, n * sizeof *after) == 0);
	free(after);
}

static void a_search_moves_and_keeps_everything(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		struct blueprint plan = nest_plan(4, 10, 0, 0, 1, 64);
		struct nest nest;
		unsigned searches = 0;
		nest_make(&nest, &plan, kind);
		const struct body_ops *ops = nest_ops(&nest);
		while (nest_count(&nest) < nest_chunk_slots(&nest) * 9 / 10) {
			if (ops->insert(&nest, chance_next(&chance)) != NIDUS_OK)
				break;
		}
		check_note("%s", nest_kind_name(kind));
		for (unsigned i = 0; i < 5000; i++) {
			uint64_t n;
			struct nest_key key = nest_locate(&nest, kind, chance_next(&chance));
			if (!groups_full(&nest, &key))
				continue;
			nidus_entry *before = nest_entries(&nest, &n);
			expect_room(&nest, &key, before, n);
			free(before);
			searches++;
		}
		expect(searches > 10);
		nest_free(&nest);
	}
}

/*
 * Three nests of one plan: by the code of its width, by the code for any nest, and as
 * bulk builds do. The same slots must be taken, however full it gets.
 */
static void expect_equal_searches(struct blueprint plan, enum nest_kind kind, struct chance *chance)
{
	enum { SPECIAL, GENERAL, BULK, WAYS };
	struct nest nests[WAYS];
	for (unsigned i = 0; i < WAYS; i++)
		nest_make(&nests[i], &plan, kind);
	check_note("%s, %u slots, %u core bits", nest_kind_name(kind), plan.slots, plan.core_bits);
	nests[GENERAL].way = NEST_GROWN;
	const struct body_ops *ops = nest_ops(&nests[SPECIAL]);
	for (uint64_t i = 0; i < nest_chunk_slots(&nests[SPECIAL]) + 20; i++) {
		uint64_t hash = chance_next(chance);
		nidus_status status = ops->insert(&nests[SPECIAL], hash);
		expect_equal(ops->insert(&nests[GENERAL], hash), status);
		expect_equal(ops->insert_near(&nests[BULK], &hash, 1, 1), status);
	}
	for (unsigned i = GENERAL; i < WAYS; i++) {
		expect(memcmp(nests[i].bits, nests[SPECIAL].bits, nests[i].bits_memory.size) == 0);
		expect_equal(nest_count(&nests[i]), nest_count(&nests[SPECIAL]));
		expect_equal(nests[i].effort.checks, nests[SPECIAL].effort.checks);
		expect_equal(nests[i].effort.moves, nests[SPECIAL].effort.moves);
	}
	expect(nests[SPECIAL].effort.moves > 0);
	for (unsigned i = 0; i < WAYS; i++)
		nest_free(&nests[i]);
}

static void searches_of_a_width_are_those_of_any_nest(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		for (unsigned slots = 2; slots <= 8; slots *= 2) {
			for (unsigned core = 6; core <= 40; core++) {
				uint64_t groups = nest_symmetric(kind) ? 64 : 201;
				struct blueprint plan = nest_plan(slots, core, 0, 0, 1, groups);
				if (nest_plan_possible(&plan, kind))
					expect_equal_searches(plan, kind, &chance);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_width_loses_an_entry),
		cmocka_unit_test(tiny_tables_lose_no_entry),
		cmocka_unit_test(any_search_limit_keeps_all_entries),
		cmocka_unit_test(a_search_moves_and_keeps_everything),
		cmocka_unit_test(searches_of_a_width_are_those_of_any_nest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

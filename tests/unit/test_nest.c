/* SPDX-License-Identifier: MIT
 *
 * Tests of nest/nest's codec: hash to key to slot to identity and back, for
 * every kind and width, also far beyond 2^32 slots.
 */
#include <sys/mman.h>

#include "base/os.h"
#include "nest/change.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/nests.h"

#define TAG_BITS_MOST 4

static void expect_same_identity(nidus_entry a, nidus_entry b)
{
	expect_equal(a.home, b.home);
	expect_equal(a.fingerprint, b.fingerprint);
}

static void expect_key_in_range(const struct nest *nest, const struct nest_key *key)
{
	expect(key->chunk < nest->layout->chunks);
	expect(key->group[0] < nest->layout->groups && key->group[1] < nest->layout->groups);
	expect(key->group[0] != key->group[1]);
	expect((key->value & nest->layout->core_values) != 0);
	expect(key->value >> nest->layout->width == 0);
}

/* Whether two keys stand for the same slots; XOR does not know which group is the first. */
static void expect_same_places(const struct nest *nest, const struct nest_key *a,
                               const struct nest_key *b)
{
	bool swapped = nest_symmetric(nest->layout->kind) && a->group[0] == b->group[1];
	expect_equal(a->chunk, b->chunk);
	expect_equal(a->value, b->value);
	expect_equal(a->group[0], b->group[swapped ? 1 : 0]);
	expect_equal(a->group[1], b->group[swapped ? 0 : 1]);
}

/* Every slot that may hold the key tells its identity; gives it. */
static nidus_entry expect_round_trip(const struct nest *nest, uint64_t hash)
{
	enum nest_kind kind = nest->layout->kind;
	struct nest_key key = nest_locate(nest, kind, hash);
	expect_key_in_range(nest, &key);
	nidus_entry identity = nest_identity(nest, kind, &key);
	expect(identity.home < nest->layout->groups);
	expect(identity.fingerprint >> (nest->layout->core_bits + nest->layout->tag_bits) == 0);
	for (unsigned choice = 0; choice < 2; choice++) {
		for (unsigned at = 0; at < nest->layout->slots; at++) {
			uint64_t slot = nest_first_slot(nest, kind, key.group[choice]) + at, again;
			uint64_t value = nest_encode(nest, kind, key.value, choice, at);
			expect(slot < nest_chunk_slots(nest->layout));
			expect(value >> nest->layout->width == 0);
			struct nest_key back = nest_key_in(nest, kind, key.chunk, slot, value);
			expect_same_places(nest, &key, &back);
			expect_same_identity(nest_identity(nest, kind, &back), identity);
			expect(nest_encode_at(nest, kind, &key, slot, &again));
			back = nest_key_in(nest, kind, key.chunk, slot, again);
			expect_same_identity(nest_identity(nest, kind, &back), identity);
		}
	}
	struct nest_key rebuilt = nest_key_of_identity(nest, kind, key.chunk, identity);
	expect_same_places(nest, &rebuilt, &key);
	return identity;
}

/* Some hashes in a nest of a possible plan. */
static void expect_identities(struct blueprint plan, enum nest_kind kind, struct chance *chance)
{
	struct nest nest;
	nest_make(&nest, &plan, kind);
	for (unsigned i = 0; i < 200; i++) {
		uint64_t hash = i < 2 ? 0 - (uint64_t)i : chance_next(chance);
		check_note(
			"%s, %u slots, %u core, %u tag bits, %llu chunks, %llu groups, hash %#llx",
			nest_kind_name(kind), plan.slots, plan.core_bits, plan.growth_bits,
			(unsigned long long)plan.chunks, (unsigned long long)plan.groups,
			(unsigned long long)hash);
		(void)expect_round_trip(&nest, hash);
	}
	nest_free(&nest);
}

static const uint64_t small_groups[] = { 2, 3, 4, 5, 7, 8, 64, 100, 1024, 1031 };

#define GROUPS (sizeof small_groups / sizeof *small_groups)

static void every_slot_tells_its_identity(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	unsigned tried = 0;
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		for (unsigned slots = 2; slots <= 8; slots *= 2) {
			for (unsigned width = 2; width <= 56; width++) {
				unsigned tag = (unsigned)chance_below(&chance, TAG_BITS_MOST + 1);
				uint64_t groups = small_groups[chance_below(&chance, GROUPS)];
				uint64_t chunks = 1 + chance_below(&chance, 4);
				unsigned extra = nest_extra_bits(kind, slots);
				if (width < extra + tag + 1)
					tag = 0;
				if (width < extra + 1)
					continue;
				struct blueprint plan =
					nest_plan(slots, width - extra - tag, tag, chunks, groups);
				if (!nest_plan_possible(&plan, kind))
					continue;
				expect_equal(nest_slot_width(&plan, kind), width);
				expect_identities(plan, kind, &chance);
				tried++;
			}
		}
	}
	expect(tried > 100);
}

static void every_number_of_groups_works(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		for (uint64_t groups = 2; groups <= 130; groups++) {
			struct blueprint plan = nest_plan(4, 8, 2, 1, groups);
			if (nest_plan_possible(&plan, kind))
				expect_identities(plan, kind, &chance);
			else
				expect(nest_symmetric(kind) && !is_power_of_two(groups));
		}
	}
}

/* ----------------------------------------------------------------- definitions -- */

static void expect_same_tables(const struct nest *a, const struct nest *b)
{
	expect_equal(nest_slots_bytes(a->layout), nest_slots_bytes(b->layout));
	expect(memcmp(a->bits, b->bits, nest_slots_bytes(a->layout)) == 0);
	expect_equal(nest_count(a), nest_count(b));
}

/* insert_value of a nest by the words of its own shape, group by group. */
static nidus_status insert_by_definition(struct nest *nest, uint64_t hash, uint64_t value)
{
	struct nest_shape shape = nest_shape_of(nest);
	struct nest_spot spot;
	struct nest_site site;
	struct nest_key key = nest_find_to_put(nest, shape, hash, value, &spot);
	bool room = !nest_near(nest, shape, &spot) &&
	            (nest_coded(shape.kind) ? nest_choose_coded(nest, shape, &spot, &site)
	                                    : nest_choose(nest, shape, &spot, &site));
	if (!room)
		return nest_insert_full(nest, shape, hash, value, NULL);
	(void)nest_fill(nest, shape, &site);
	nest->chunk[key.chunk].used++;
	return NIDUS_OK;
}

/* Keys with copies in a small nest: every change is of the slot that the definition says. */
static void expect_changes_by_definition(const struct blueprint *plan, enum nest_kind kind,
                                         struct chance *chance)
{
	enum { SOME = 24 };
	struct nest nest, defined;
	uint64_t hashes[SOME];
	nest_make(&nest, plan, kind);
	nest_make(&defined, plan, kind);
	const struct body_ops *ops = nest_ops(&nest);
	for (unsigned i = 0; i < SOME; i++) {
		hashes[i] = i % 3 == 2 ? hashes[i - 1] : chance_next(chance);
		uint64_t value = chance_next(chance) & bits_low(plan->value_bits);
		nidus_status status = plan->value_bits > 0
		                              ? ops->insert_value(&nest, hashes[i], value)
		                              : ops->insert(&nest, hashes[i]);
		expect_equal(insert_by_definition(&defined, hashes[i], value), status);
		expect_same_tables(&nest, &defined);
	}
	for (unsigned i = 0; i < SOME; i++) {
		uint64_t hash = hashes[i % 4 == 3 ? i : chance_below(chance, SOME)];
		nidus_status status = nest_remove_slow(&defined, hash);
		size_t done;
		if (i % 2 == 0)
			expect_equal(ops->remove(&nest, hash), status);
		else
			expect_equal(ops->remove_batch(&nest, &hash, 1, &done), status);
		expect_same_tables(&nest, &defined);
	}
	nest_free(&nest);
	nest_free(&defined);
}

static void changes_are_of_the_slot_of_their_definition(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		for (unsigned slots = 2; slots <= 8; slots *= 2) {
			for (unsigned core = 1; core <= 24; core++) {
				uint64_t groups = small_groups[chance_below(&chance, GROUPS)];
				struct blueprint plan = nest_plan(slots, core, 0, 2, groups);
				plan.value_bits = core % 3 == 0 ? core % 5 : 0;
				check_note("%s, %u slots, %u core and %u value bits, %llu groups",
				           nest_kind_name(kind), slots, core, plan.value_bits,
				           (unsigned long long)groups);
				if (nest_plan_possible(&plan, kind))
					expect_changes_by_definition(&plan, kind, &chance);
			}
		}
	}
}

/* ------------------------------------------------------------------ beyond 2^32 -- */

static void *map_sparse(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* A few keys in a huge table: inserted, found, walked by hand, removed. */
static void expect_operations(struct nest *nest, struct chance *chance)
{
	enum { SOME = 500 };
	uint64_t hashes[SOME];
	const struct body_ops *ops = nest_ops(nest);
	uint64_t beyond = 0;
	for (unsigned i = 0; i < SOME; i++) {
		hashes[i] = chance_next(chance);
		struct nest_key key = nest_locate(nest, nest->layout->kind, hashes[i]);
		beyond += nest_first_slot(nest, nest->layout->kind, key.group[0]) > UINT32_MAX;
		expect_ok(ops->insert(nest, hashes[i]));
	}
	expect(beyond > SOME / 10); /* or the test tests nothing */
	expect_equal(nest_count(nest), SOME);
	unsigned absent = 0;
	for (unsigned i = 0; i < SOME; i++) {
		expect(ops->contains(nest, hashes[i]));
		absent += ops->contains(nest, chance_next(chance));
	}
	/* 500 keys in 2^33 places: an absent key meets one once in a million runs at most. */
	expect_equal(absent, 0);
	for (unsigned i = 0; i < SOME; i++)
		expect_ok(ops->remove(nest, hashes[i]));
	expect_equal(nest_count(nest), 0);
	expect(!ops->contains(nest, hashes[0]));
}

static void tables_may_have_more_than_2_32_slots(void **state)
{
	(void)state;
	const struct {
		enum nest_kind kind;
		unsigned slots, core;
		uint64_t chunks, groups;
	} tables[] = {
		{ NEST_XOR, 4, 12, 1, UINT64_C(1) << 31 },
		{ NEST_CODED_XOR, 4, 13, 1, UINT64_C(1) << 31 },
		{ NEST_DIRECT, 8, 32, 1, UINT64_C(1) << 30 },
		{ NEST_BUCKETS, 4, 13, 1, (UINT64_C(1) << 31) + 11 },
		{ NEST_CODED_BUCKETS, 4, 13, 1, (UINT64_C(1) << 31) + 11 },
		{ NEST_BUCKETS, 2, 12, 1, (UINT64_C(1) << 32) + 7 },
		{ NEST_WINDOWS, 2, 14, 1, (UINT64_C(1) << 33) + 5 },
		{ NEST_WINDOWS, 4, 12, 1, (UINT64_C(1) << 33) + 3 },
	};
	struct chance chance = { chance_seed() };
	struct os_calls real = os;
	os.map_zeroed = map_sparse;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		struct blueprint plan = nest_plan(tables[i].slots, tables[i].core, 0,
		                                  tables[i].chunks, tables[i].groups);
		const nidus_allocator system = { 0 };
		struct nest nest;
		check_note("table %zu", i);
		expect_ok(nest_check(&plan, tables[i].kind));
		expect(nest_total_slots(&plan, tables[i].kind) > UINT32_MAX);
		if (nest_create(&nest, &plan, tables[i].kind, NULL, &system, NULL) != NIDUS_OK) {
			os = real;
			skip(); /* a machine that limits address space */
		}
		for (unsigned j = 0; j < 2000; j++)
			(void)expect_round_trip(&nest, chance_next(&chance));
		expect_operations(&nest, &chance);
		nest_free(&nest);
	}
	os = real;
}

/* -------------------------------------------------------------------- bad plans -- */

static void impossible_plans_are_refused(void **state)
{
	(void)state;
	const struct blueprint good = nest_plan(4, 12, 2, 1, 64);
	struct blueprint bad[] = { good, good, good, good, good, good, good, good, good, good,
		                   good, good, good, good, good, good, good, good, good, good };
	unsigned n = 0;
	bad[n++].slots = 0;
	bad[n++].slots = 3;
	bad[n++].slots = 16;
	bad[n++].slots = UINT8_MAX;
	bad[n++].core_bits = 0;
	bad[n++].core_bits = 57;
	bad[n++].core_bits = UINT8_MAX;
	bad[n++].growth_bits = 57;
	bad[n++].growth_bits = UINT8_MAX - 10;
	bad[n++].chunks = 0;
	bad[n++].chunks = UINT64_MAX;
	bad[n++].groups = 0;
	bad[n++].groups = 1;
	bad[n++].groups = UINT64_MAX;
	bad[n++].groups = UINT64_C(1) << 63;
	bad[n++].groups = UINT64_C(1) << 47;
	bad[n++].max_steps = 0;
	bad[n++].max_steps = SEARCH_STEPS_MAX + 1;
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		expect_ok(nest_check(&good, kind));
		for (unsigned i = 0; i < n; i++) {
			check_note("%s, bad plan %u", nest_kind_name(kind), i);
			expect_status(nest_check(&bad[i], kind), NIDUS_E_RANGE);
		}
	}
}

/* Plans at random, most of them absurd: what passes the check must be sane. */
static void what_passes_the_check_does_not_overflow(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	unsigned passed = 0;
	for (unsigned i = 0; i < 200000; i++) {
		struct blueprint plan =
			nest_plan(2u << chance_below(&chance, 3),
		                  (unsigned)chance_below(&chance, 60),
		                  (unsigned)chance_below(&chance, 60),
		                  chance_next(&chance) >> chance_below(&chance, 64),
		                  chance_next(&chance) >> chance_below(&chance, 64));
		enum nest_kind kind = (enum nest_kind)chance_below(&chance, NEST_KIND_LAST + 1);
		if (nest_symmetric(kind))
			plan.groups = power_of_two_from(plan.groups >> 1);
		if (!nest_plan_possible(&plan, kind))
			continue;
		double slots = (double)plan.chunks * (double)plan.groups;
		slots *= kind == NEST_WINDOWS ? 1 : plan.slots;
		double width = nest_slot_width(&plan, kind) - (nest_coded(kind));
		double bytes = slots * width / 8;
		expect((double)nest_total_slots(&plan, kind) >= slots * 0.999);
		expect((double)nest_table_bytes(&plan, kind) >= bytes * 0.999);
		expect(nest_table_bytes(&plan, kind) <= INT64_MAX);
		passed++;
	}
	expect(passed > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slot_tells_its_identity),
		cmocka_unit_test(every_number_of_groups_works),
		cmocka_unit_test(changes_are_of_the_slot_of_their_definition),
		cmocka_unit_test(tables_may_have_more_than_2_32_slots),
		cmocka_unit_test(impossible_plans_are_refused),
		cmocka_unit_test(what_passes_the_check_does_not_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

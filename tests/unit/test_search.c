/* SPDX-License-Identifier: MIT
 *
 * Tests of nest/search and of filling nests: no move loses an entry, at any
 * width, and the entries of one nest rebuild another.
 */
#include "nest/search.h"

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
	unsigned char *before = check_alloc(nest_slots_bytes(nest->layout));
	uint64_t n = 0;
	while (failures > 0 && n < room) {
		hashes[n] = chance_next(chance);
		memcpy(before, nest->bits, nest_slots_bytes(nest->layout));
		uint64_t count = nest_count(nest), stashed = nest->stashed;
		nidus_status status = ops->insert(nest, hashes[n]);
		if (status == NIDUS_OK) {
			n++;
			expect_equal(nest_count(nest), count + 1);
		} else {
			expect(status == NIDUS_FULL || status == NIDUS_COPIES);
			expect(memcmp(before, nest->bits, nest_slots_bytes(nest->layout)) == 0);
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

/* Takes the entries of one nest into an empty one that surely has room for them. */
static void expect_rebuilt(const struct nest *from, struct blueprint plan, const uint64_t *hashes,
                           uint64_t n)
{
	struct nest to;
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	plan.stash_limit = (uint32_t)n;
	nest_make(&to, &plan, from->layout->kind);
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
	check_note("%s, %u slots, width %u, %u core bits, %u tag bits, %llu groups, %u steps",
	           nest_kind_name(kind), plan.slots, nest.layout->width, plan.core_bits,
	           plan.growth_bits, (unsigned long long)plan.groups, plan.max_steps);
	uint64_t n = fill(&nest, hashes, room, 20, chance);
	expect_ok(nest_verify(&nest));
	expect_found(&nest, hashes, n);
	expect_entries(&nest, hashes, n);
	expect_rebuilt(&nest, plan, hashes, n);
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
				unsigned tag = core <= 40 ? (unsigned)chance_below(&chance, 4) : 0;
				uint64_t groups =
					nest_symmetric(kind) ? 16 : 11 + chance_below(&chance, 20);
				struct blueprint plan = nest_plan(slots, core, tag, 2, groups);
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
				struct blueprint plan = nest_plan(slots, 6, 0, 1, groups);
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
			struct blueprint plan = nest_plan(nest_coded(kind) ? 4 : 2, 9, 0, 1, 128);
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
		uint64_t first = nest_first_slot(nest, nest->layout->kind, key->group[choice]);
		for (unsigned at = 0; at < nest->layout->slots; at++) {
			if (nest_get(nest, nest->layout->kind, bits, first + at) == 0)
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
	if (!search_room(nest, nest->layout->kind, key, &slot))
		return;
	expect(nest_encode_at(nest, nest->layout->kind, key, slot, &value));
	unsigned char *bits = nest_chunk_bits(nest, key->chunk);
	expect(nest_get(nest, nest->layout->kind, bits, slot) != 0);
	nest_set(nest, nest->layout->kind, bits, slot,
	         0); /* the copy; now all is as before, but moved */
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
		struct blueprint plan = nest_plan(4, 10, 0, 1, 64);
		struct nest nest;
		unsigned searches = 0;
		nest_make(&nest, &plan, kind);
		const struct body_ops *ops = nest_ops(&nest);
		while (nest_count(&nest) < nest_chunk_slots(nest.layout) * 9 / 10) {
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

/* ---------------------------------------------------------------------- a model -- */

/*
 * Inserts as plainly as possible: slot by slot, one node after the other. It says which
 * slots an insert looks at, in which order, and what it moves; instances for shapes are
 * to do the same.
 */
#define MODEL_NODES (SEARCH_STEPS_MAX + 4 * NEST_SLOTS_MAX)

struct model_node {
	uint64_t slot, met_in; /* and the first slot of the group in which it was met */
	unsigned parent;
};

struct model {
	struct nest *nest;
	unsigned char *bits;
	unsigned nodes;
	bool remembers;                      /* a long search, */
	uint64_t record[SEARCH_RECORD_BITS]; /* and where it was, plus 1 */
	struct model_node node[MODEL_NODES];
	uint64_t checks, moves, long_searches, full_lists;
};

static uint64_t model_get(const struct model *model, uint64_t slot)
{
	return nest_get(model->nest, model->nest->layout->kind, model->bits, slot);
}

static void model_set(struct model *model, uint64_t slot, uint64_t value)
{
	nest_set(model->nest, model->nest->layout->kind, model->bits, slot, value);
}

/*
 * The first empty slot among some of a group; nest->layout->slots if there is none. Coded buckets are
 * sorted, empty slots first: how many are taken.
 */
static unsigned model_vacancy(const struct model *model, uint64_t group, unsigned slots)
{
	uint64_t first = nest_first_slot(model->nest, model->nest->layout->kind, group);
	if (nest_coded(model->nest->layout->kind)) {
		unsigned taken = 0;
		for (unsigned at = 0; at < model->nest->layout->slots; at++)
			taken += model_get(model, first + at) != 0;
		return taken;
	}
	for (unsigned at = 0; at < slots; at++) {
		if (model_get(model, first + at) == 0)
			return at;
	}
	return model->nest->layout->slots;
}

/* Puts a key into the emptier group or, where that is not how a kind does it, the first. */
static bool model_put(struct model *model, const struct nest_key *key)
{
	const struct nest *nest = model->nest;
	unsigned slots = nest->layout->slots, choice;
	unsigned at[2] = { model_vacancy(model, key->group[0], slots - nest->layout->reserve),
		           model_vacancy(model, key->group[1], slots) };
	uint64_t apart = key->group[1] > key->group[0] ? key->group[1] - key->group[0]
	                                               : key->group[0] - key->group[1];
	choice = at[0] == slots;
	if (nest_choosing(nest->layout->kind) ||
	    (nest->layout->kind == NEST_WINDOWS && apart > slots))
		choice = at[1] < at[0];
	if (at[choice] == slots) {
		choice = 0;
		at[0] = model_vacancy(model, key->group[0], slots);
	}
	if (at[choice] == slots)
		return false;
	uint64_t first = nest_first_slot(nest, nest->layout->kind, key->group[choice]);
	model_set(model, nest_coded(nest->layout->kind) ? first : first + at[choice],
	          nest_encode(nest, nest->layout->kind, key->value, choice, at[choice]));
	return true;
}

/* Whether the search remembers a slot; from now on it does. */
static bool model_knows(struct model *model, uint64_t slot)
{
	bool exact = nest_chunk_slots(model->nest->layout) <= SEARCH_RECORD_BITS;
	uint64_t *place = &model->record[exact ? slot : slot % SEARCH_RECORD_SIZE];
	bool known = model->remembers && *place == slot + 1;
	*place = slot + 1;
	return known;
}

static void model_push(struct model *model, uint64_t group, uint64_t but_from, unsigned parent)
{
	const struct nest *nest = model->nest;
	uint64_t first = nest_first_slot(nest, nest->layout->kind, group);
	if (nest->layout->kind != NEST_WINDOWS && model_knows(model, first) && parent != UINT32_MAX)
		return; /* buckets are remembered whole */
	for (unsigned at = nest->layout->slots; at-- > 0;) {
		uint64_t slot = first + at;
		if (slot >= but_from && slot < but_from + nest->layout->slots)
			continue;
		if (nest->layout->kind == NEST_WINDOWS && model_knows(model, slot) &&
		    parent != UINT32_MAX)
			continue;
		model->node[model->nodes++] = (struct model_node){ slot, first, parent };
	}
}

static bool model_last_gap(struct model *model, uint64_t group, uint64_t *empty)
{
	uint64_t first = nest_first_slot(model->nest, model->nest->layout->kind, group);
	for (unsigned at = model->nest->layout->slots; at-- > 0;) {
		model->checks++;
		*empty = first + at;
		if (model_get(model, first + at) == 0)
			return true;
	}
	return false;
}

/* The groups of the entry of a node: its own one first. */
static void model_groups(const struct model *model, uint64_t slot, uint64_t group[2])
{
	const struct nest *nest = model->nest;
	uint64_t value = model_get(model, slot);
	struct nest_key key = nest_key_in(nest, nest->layout->kind, 0, slot, value);
	bool second = !nest_symmetric(nest->layout->kind) && (value >> nest->layout->core_bits & 1);
	group[0] = key.group[second];
	group[1] = key.group[!second];
}

#define NOWHERE (UINT64_MAX / 2)

/*
 * The node whose entry can go to *empty, or UINT32_MAX if there is none within `steps`. A
 * search that is to be followed by a longer one ends there, with nodes left.
 */
static unsigned model_walk(struct model *model, const struct nest_key *key, unsigned steps,
                           bool last, uint64_t *empty)
{
	const struct nest *nest = model->nest;
	model->nodes = 0;
	memset(model->record, 0, sizeof model->record);
	model_push(model, key->group[0], NOWHERE, UINT32_MAX);
	model_push(model, key->group[1], NOWHERE, UINT32_MAX);
	for (unsigned i = 0; i < model->nodes && (last || model->nodes < steps); i++) {
		struct model_node node = model->node[i];
		bool more = model->nodes < steps && i < SEARCH_STEPS_MAX / 2;
		uint64_t group[2];
		model_groups(model, node.slot, group);
		if (nest->layout->kind == NEST_WINDOWS && model_last_gap(model, group[0], empty))
			return i;
		if (model_last_gap(model, group[1], empty))
			return i;
		if (nest->layout->kind == NEST_WINDOWS && more)
			model_push(model, group[0], node.met_in, i);
		if (model->remembers && model->nodes >= steps)
			more = false;
		if (more)
			model_push(model, group[1], NOWHERE, i);
	}
	return UINT32_MAX;
}

static unsigned model_search(struct model *model, const struct nest_key *key, uint64_t *empty)
{
	unsigned steps = model->nest->layout->max_steps;
	model->remembers = false;
	unsigned found = model_walk(model, key, model->nest->layout->short_steps, false, empty);
	if (found != UINT32_MAX)
		return found;
	model->remembers = true;
	model->long_searches++;
	bool large = nest_chunk_slots(model->nest->layout) > SEARCH_RECORD_BITS;
	if (steps <= SEARCH_SHORT || large)
		return model_walk(model, key, steps, true, empty);
	found = model_walk(model, key, SEARCH_SHORT, false, empty);
	if (found != UINT32_MAX || model->nodes < SEARCH_SHORT)
		return found;
	model->full_lists++;
	return model_walk(model, key, steps, true, empty);
}

/* False if the key finds no place. */
static bool model_insert(struct model *model, uint64_t hash)
{
	const struct nest *nest = model->nest;
	struct nest_key key = nest_locate(nest, nest->layout->kind, hash);
	uint64_t to, value;
	model->bits = nest_chunk_bits(nest, key.chunk);
	if (model_put(model, &key))
		return true;
	unsigned i = model_search(model, &key, &to);
	if (i == UINT32_MAX)
		return false;
	for (; i != UINT32_MAX; i = model->node[i].parent) {
		uint64_t from = model->node[i].slot;
		struct nest_key moved = nest_key_in(nest, nest->layout->kind, key.chunk, from,
		                                    model_get(model, from));
		if (nest_symmetric(nest->layout->kind))
			value = moved.value;
		else
			expect(nest_encode_at(nest, nest->layout->kind, &moved, to, &value));
		model_set(model, to, value);
		model->moves++;
		to = from;
	}
	expect(nest_encode_at(nest, nest->layout->kind, &key, to, &value));
	model_set(model, to, value);
	return true;
}

/*
 * Four nests of one plan: by the code of its shape, as bulk builds do, as threads do, and
 * by the model. The same slots must be taken until one is refused.
 */
static void expect_equal_searches(struct blueprint plan, enum nest_kind kind, struct chance *chance,
                                  uint64_t *long_searches, uint64_t *full_lists)
{
	enum { SPECIAL, BULK, SHARED, MODEL, WAYS };
	struct nest nests[WAYS];
	static struct model model;
	plan.stash_limit = 0;
	for (unsigned i = 0; i < WAYS; i++) {
		plan.features = i == SHARED ? NIDUS_CONCURRENT : 0;
		nest_make(&nests[i], &plan, kind);
	}
	model = (struct model){ .nest = &nests[MODEL] };
	check_note("%s, %u slots, %u core bits", nest_kind_name(kind), plan.slots, plan.core_bits);
	const struct body_ops *ops = nest_ops(&nests[SPECIAL]);
	for (bool refused = false; !refused;) {
		uint64_t hash = chance_next(chance);
		nidus_status status = ops->insert(&nests[SPECIAL], hash);
		expect_equal(ops->insert_near(&nests[BULK], &hash, NULL, 1, 1), status);
		expect_equal(nest_ops(&nests[SHARED])->insert(&nests[SHARED], hash), status);
		refused = status != NIDUS_OK;
		if (!refused)
			expect(model_insert(&model, hash));
		else if (status == NIDUS_FULL)
			expect(!model_insert(&model, hash));
	}
	for (unsigned i = BULK; i < WAYS; i++)
		expect(memcmp(nests[i].bits, nests[SPECIAL].bits,
		              nest_slots_bytes(nests[i].layout)) == 0);
	expect_equal(nests[BULK].effort.checks, nests[SPECIAL].effort.checks);
	expect_equal(nests[BULK].effort.moves, nests[SPECIAL].effort.moves);
	expect_equal(model.checks, nests[SPECIAL].effort.checks);
	expect_equal(model.moves, nests[SPECIAL].effort.moves);
	expect(model.moves > 0);
	for (unsigned i = 0; i < WAYS; i++)
		nest_free(&nests[i]);
	*long_searches += model.long_searches;
	*full_lists += model.full_lists;
}

static void searches_look_and_move_as_the_model_does(void **state)
{
	(void)state;
	struct chance chance = { chance_seed() };
	uint64_t full_lists = 0; /* coded kinds have only one size of buckets, and few of these */
	for (enum nest_kind kind = NEST_KIND_FIRST; kind <= NEST_KIND_LAST; kind++) {
		uint64_t long_searches = 0;
		for (unsigned slots = 2; slots <= 8; slots *= 2) {
			for (unsigned core = 6; core <= 40; core++) {
				unsigned tag = (unsigned)chance_below(&chance, 3);
				uint64_t groups = nest_symmetric(kind) ? 64 : 201;
				if (core == 13) /* more slots than a list holds, or a record */
					groups = nest_symmetric(kind) ? 1024 : 3001;
				if (core == 14)
					groups = nest_symmetric(kind) ? 4096 : 8193;
				struct blueprint plan = nest_plan(slots, core, tag, 1, groups);
				plan.reserve = nest_symmetric(kind) ? core % 2 : 0;
				plan.max_steps = core % 3 == 0 ? 300 : SEARCH_STEPS_MAX;
				if (nest_plan_possible(&plan, kind))
					expect_equal_searches(plan, kind, &chance, &long_searches,
					                      &full_lists);
			}
		}
		expect(long_searches > 0);
	}
	expect(full_lists > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_width_loses_an_entry),
		cmocka_unit_test(tiny_tables_lose_no_entry),
		cmocka_unit_test(any_search_limit_keeps_all_entries),
		cmocka_unit_test(a_search_moves_and_keeps_everything),
		cmocka_unit_test(searches_look_and_move_as_the_model_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

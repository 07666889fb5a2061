/* SPDX-License-Identifier: MIT
 *
 * Filters that grow, while memory cannot be had: in one body, in the middle of a
 * move, crowded with copies, emptied again, and shared by threads. In each of these
 * states every call is tried with its first request for memory refused, then with
 * its second, until none is left: each time the filter is what it was, nothing is
 * kept, and no key is lost.
 */
#include "api/filter.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/filters.h"
#include "support/nests.h"

#define BASE UINT64_C(400)
#define MOST (4 * BASE)
#define FOREIGN (UINT64_C(1) << 40) /* keys of nobody else */
#define FOREIGN_KEYS 60
#define TURN 16

static struct ledger ledger;

/* -------------------------------------------------------------------------- states -- */

/* Each takes a new filter there and answers that keys 0 up to this one are in it. */

/* The next insert makes it grow. */
static uint64_t be_full(nidus_filter *filter)
{
	uint64_t keys = info_of(filter).capacity;
	insert_keys(filter, 0, keys);
	for (;; keys++) {
		ledger.fail_at = ledger.requests + 1;
		nidus_status status = nidus_insert_u64(filter, keys);
		ledger.fail_at = 0;
		if (status != NIDUS_OK) {
			expect_status(status, NIDUS_E_NOMEM);
			return keys;
		}
	}
}

static uint64_t begin_to_move(nidus_filter *filter)
{
	uint64_t keys = 0;
	while (!has_segments(filter) || keys < BASE / 2)
		expect_ok(nidus_insert_u64(filter, keys++));
	return keys;
}

static uint64_t be_amid_a_move(nidus_filter *filter)
{
	uint64_t keys = begin_to_move(filter);
	insert_keys(filter, keys, keys + 3 * TURN);
	expect(has_segments(filter));
	return keys + 3 * TURN;
}

static uint64_t be_crowded_amid_a_move(nidus_filter *filter)
{
	uint64_t keys = be_amid_a_move(filter);
	for (uint64_t key = 0; key < 4; key++) {
		for (unsigned i = 0; i < 6; i++)
			(void)nidus_insert_u64(filter, key * (keys / 4)); /* COPIES in the end */
	}
	expect(info_of(filter).count > keys);
	return keys;
}

static uint64_t be_emptied(nidus_filter *filter)
{
	insert_keys(filter, 0, MOST);
	remove_keys(filter, BASE / 2, MOST);
	return BASE / 2;
}

static uint64_t be_emptied_amid_a_move(nidus_filter *filter)
{
	uint64_t keys = be_amid_a_move(filter);
	remove_keys(filter, BASE / 2, keys);
	expect(has_segments(filter));
	return BASE / 2;
}

static const struct state {
	const char *name;
	uint64_t (*enter)(nidus_filter *filter);
} states[] = {
	{ "full", be_full },
	{ "beginning to move", begin_to_move },
	{ "amid a move", be_amid_a_move },
	{ "crowded amid a move", be_crowded_amid_a_move },
	{ "emptied", be_emptied },
	{ "emptied amid a move", be_emptied_amid_a_move },
};

/* --------------------------------------------------------------------------- calls -- */

static nidus_filter *partner; /* to merge with */

static nidus_status try_insert(nidus_filter *filter)
{
	return nidus_insert_u64(filter, FOREIGN + 1);
}

static bool some_were_put_in; /* by a batch that failed: a leaf may have been split for them */

static nidus_status try_insert_batch(nidus_filter *filter)
{
	uint64_t hashes[2 * TURN];
	size_t done;
	for (unsigned i = 0; i < 2 * TURN; i++)
		hashes[i] = nidus_hash_u64(filter, FOREIGN + i);
	nidus_status status = nidus_insert_batch(filter, hashes, 2 * TURN, &done);
	for (size_t i = 0; status != NIDUS_OK && i < done; i++)
		expect_ok(nidus_remove_hash(filter, hashes[i]));
	some_were_put_in = done > 0;
	return status;
}

static nidus_status try_insert_entry(nidus_filter *filter)
{
	nidus_cursor cursor = { 0 };
	nidus_entry entry;
	expect(nidus_next(filter, &cursor, &entry));
	return nidus_insert_entry(filter, &entry);
}

static nidus_status try_grow(nidus_filter *filter)
{
	return nidus_grow(filter, MOST);
}

static nidus_status try_grow_relaxed(nidus_filter *filter)
{
	return nidus_grow_relaxed(filter, 4 * MOST);
}

static nidus_status try_shrink(nidus_filter *filter)
{
	return nidus_shrink(filter, 0);
}

static nidus_status try_pack(nidus_filter *filter)
{
	nidus_status status = nidus_pack(filter);
	return status == NIDUS_E_UNSUPPORTED ? NIDUS_OK : status;
}

/* A call that makes another filter; it must hold so many entries. */
static nidus_status made(nidus_status status, nidus_filter *other, uint64_t count)
{
	expect((status == NIDUS_OK) == (other != NULL));
	if (status == NIDUS_OK) {
		expect_ok(nidus_verify(other, NULL));
		expect_equal(info_of(other).count, count);
	}
	nidus_free(other);
	return status;
}

static nidus_status try_clone(nidus_filter *filter)
{
	nidus_filter *copy;
	nidus_status status = nidus_clone(filter, &copy);
	return made(status, copy, info_of(filter).count);
}

static nidus_status try_merge(nidus_filter *filter)
{
	nidus_filter *merged;
	nidus_status status = nidus_merge(filter, partner, &merged);
	return made(status, merged, info_of(filter).count + FOREIGN_KEYS);
}

static nidus_status try_merge_into_partner(nidus_filter *filter)
{
	nidus_filter *merged;
	nidus_status status = nidus_merge(partner, filter, &merged);
	return made(status, merged, info_of(filter).count + FOREIGN_KEYS);
}

static int swallow(void *context, const void *data, size_t size)
{
	(void)context;
	(void)data;
	(void)size;
	return 0;
}

static nidus_status try_write(nidus_filter *filter)
{
	return nidus_write(filter, swallow, NULL);
}

static nidus_status try_build_like(nidus_filter *filter)
{
	uint64_t hashes[FOREIGN_KEYS];
	nidus_filter *built;
	for (unsigned i = 0; i < FOREIGN_KEYS; i++)
		hashes[i] = nidus_hash_u64(filter, FOREIGN + i);
	nidus_status status =
		nidus_build_like(filter, hashes, NULL, FOREIGN_KEYS, false, 2, NULL, &built);
	return made(status, built, FOREIGN_KEYS);
}

static const struct call {
	const char *name;
	nidus_status (*run)(nidus_filter *filter);
} calls[] = {
	{ "insert", try_insert },
	{ "insert_batch", try_insert_batch },
	{ "insert_entry", try_insert_entry },
	{ "grow", try_grow },
	{ "grow_relaxed", try_grow_relaxed },
	{ "shrink", try_shrink },
	{ "pack", try_pack },
	{ "clone", try_clone },
	{ "merge", try_merge },
	{ "merge into a partner", try_merge_into_partner },
	{ "write", try_write },
	{ "build_like", try_build_like },
};

#define CALLS (sizeof calls / sizeof *calls)
#define STATES (sizeof states / sizeof *states)

/* --------------------------------------------------------------------- each request -- */

static void expect_unchanged(const nidus_filter *filter, const nidus_filter *as, uint64_t keys)
{
	nidus_info is = info_of(filter), was = info_of(as);
	expect_equal(is.count, was.count);
	expect(is.capacity == was.capacity || some_were_put_in);
	expect_equal(is.max_capacity, was.max_capacity);
	expect(is.fpr_target == was.fpr_target);
	expect(entries_equal(filter, as));
	expect_ok(nidus_verify(filter, NULL));
	expect_keys(filter, 0, keys);
}

/* Answers how many requests of the call were refused, each at its turn. */
static uint64_t refuse_each(const struct call *call, nidus_filter *filter, const nidus_filter *as,
                            uint64_t keys)
{
	uint64_t blocks = ledger.blocks, bytes = ledger.bytes, size = info_of(filter).bytes;
	for (uint64_t at = 1;; at++) {
		ledger.fail_at = ledger.requests + at;
		some_were_put_in = false;
		nidus_status status = call->run(filter);
		bool refused = ledger.requests >= ledger.fail_at;
		ledger.fail_at = 0;
		/* A split that can be done without is put off. */
		if (!refused || status == NIDUS_OK) {
			expect_ok(status);
			return at - !refused;
		}
		expect_status(status, NIDUS_E_NOMEM);
		expect_unchanged(filter, as, keys);
		if (some_were_put_in)
			continue;
		expect_equal(ledger.blocks, blocks);
		expect_equal(ledger.bytes, bytes);
		expect_equal(info_of(filter).bytes, size);
	}
}

static void try_state(const nidus_options *options, const struct state *state,
                      uint64_t refusals[CALLS])
{
	for (size_t i = 0; i < CALLS; i++) {
		nidus_filter *filter = filter_create(options), *as;
		check_note("%s, features %#x, %s, %s", nidus_family_name(options->family),
		           (unsigned)options->features, state->name, calls[i].name);
		uint64_t keys = state->enter(filter);
		expect_ok(nidus_clone(filter, &as));
		refusals[i] += refuse_each(&calls[i], filter, as, keys);
		nidus_free(as);
		/* It is a filter like any other: what is in it can be taken out. */
		expect_ok(nidus_verify(filter, NULL));
		expect_keys(filter, 0, keys);
		remove_keys(filter, 0, keys);
		expect_ok(nidus_verify(filter, NULL));
		nidus_free(filter);
	}
}

static void try_states(nidus_options options, uint64_t refusals[CALLS])
{
	ledger = (struct ledger){ 0 };
	options.allocator = ledger_allocator(&ledger);
	partner = filter_create(&options);
	insert_keys(partner, FOREIGN, FOREIGN + FOREIGN_KEYS);
	for (size_t i = 0; i < STATES; i++)
		try_state(&options, &states[i], refusals);
	nidus_free(partner);
	expect_equal(ledger.blocks, 0);
	expect_equal(ledger.bytes, 0);
}

static void try_features(uint32_t features)
{
	uint32_t needed = NIDUS_GROW | NIDUS_DELETE | NIDUS_ENUMERATE | NIDUS_MERGE | features;
	unsigned visited = 0;
	for (const struct family *const *family = families; *family != NULL; family++) {
		uint64_t refusals[CALLS] = { 0 };
		if (needed & ~(*family)->features)
			continue;
		nidus_options options = filter_options(BASE, 0x1p-8, 4711);
		options.family = (*family)->id;
		options.max_capacity = MOST;
		options.features = features;
		try_states(options, refusals);
		for (size_t i = 0; i < CALLS; i++) {
			check_note("%s, %s", (*family)->name, calls[i].name);
			/* A split is put off without memory; whether a list needs some is chance. */
			bool chance = strncmp(calls[i].name, "insert", 6) == 0;
			/* A body is written from where it lies. */
			chance |= strcmp(calls[i].name, "write") == 0;
			chance |= calls[i].run == try_pack && (*family)->pack == NULL;
			expect(refusals[i] > 0 || chance);
		}
		visited++;
	}
	expect(visited >= 5);
}

static void no_memory_changes_nothing_in_any_state(void **state)
{
	(void)state;
	try_features(0);
}

static void nor_in_filters_that_threads_share(void **state)
{
	(void)state;
	try_features(NIDUS_CONCURRENT);
}

int main(void)
{
	take_small_segments(128);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_memory_changes_nothing_in_any_state),
		cmocka_unit_test(nor_in_filters_that_threads_share),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

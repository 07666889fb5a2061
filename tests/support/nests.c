/* SPDX-License-Identifier: MIT
 *
 * nests: plans by hand.
 */
#include "support/nests.h"

#include "nest/search.h"
#include "support/check.h"
#include "support/filters.h"

struct blueprint nest_plan(unsigned slots, unsigned core_bits, unsigned tag_bits, uint64_t chunks,
                           uint64_t groups)
{
	return (struct blueprint){
		.seed = 42,
		.capacity = 1,
		.max_capacity = 1,
		.fpr = 0.01,
		.slots = slots,
		.core_bits = core_bits,
		.growth_bits = tag_bits,
		.chunks = tag_bits > 0 ? 1 : chunks,
		.groups = groups,
		.max_steps = 2048,
		.stash_limit = 32,
	};
}

bool nest_plan_possible(const struct blueprint *plan, enum nest_kind kind)
{
	nidus_status status = nest_check(plan, kind);
	if (status != NIDUS_E_RANGE)
		expect_ok(status);
	return status == NIDUS_OK;
}

void nest_make(struct nest *nest, const struct blueprint *plan, enum nest_kind kind)
{
	const nidus_allocator system = { 0 };
	expect_ok(nest_check(plan, kind));
	const struct segment all = { .parts = UINT64_C(1) << plan->growth_bits,
		                     .tag_bits = plan->growth_bits,
		                     .most_bits = plan->growth_bits };
	expect_ok(
		nest_create(nest, plan, kind, plan->growth_bits > 0 ? &all : NULL, &system, NULL));
}

static int compare(const void *a, const void *b)
{
	const nidus_entry *x = a, *y = b;
	if (x->home != y->home)
		return x->home < y->home ? -1 : 1;
	return (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

void entries_sort(nidus_entry *entries, uint64_t n)
{
	qsort(entries, n, sizeof *entries, compare);
}

nidus_entry *nest_entries(const struct nest *nest, uint64_t *n)
{
	nidus_entry *entries = check_alloc((nest_count(nest) + 1) * sizeof *entries);
	nidus_cursor cursor = { 0 };
	*n = 0;
	while (nest_next(nest, &cursor, &entries[*n])) {
		++*n;
		expect(*n <= nest_count(nest));
	}
	expect_equal(*n, nest_count(nest));
	entries_sort(entries, *n);
	return entries;
}

static nidus_entry *entries_of(const nidus_filter *filter, uint64_t *n)
{
	nidus_cursor cursor = { 0 };
	uint64_t count = info_of(filter).count;
	nidus_entry *entries = check_alloc((count + 1) * sizeof *entries);
	for (*n = 0; nidus_next(filter, &cursor, &entries[*n]);)
		expect(++*n <= count);
	expect_equal(*n, count);
	entries_sort(entries, *n);
	return entries;
}

bool entries_equal(const nidus_filter *a, const nidus_filter *b)
{
	uint64_t n, m;
	nidus_entry *x = entries_of(a, &n), *y = entries_of(b, &m);
	bool same = n == m && memcmp(x, y, n * sizeof *x) == 0;
	free(x);
	free(y);
	return same;
}

nidus_entry nest_entry_of(const struct nest *nest, uint64_t hash)
{
	struct nest_key key = nest_locate(nest, nest->layout->kind, hash);
	nidus_entry identity = nest_identity(nest, nest->layout->kind, &key);
	return (nidus_entry){ key.chunk * nest->layout->groups + identity.home,
		              identity.fingerprint, 0 };
}

const char *nest_kind_name(enum nest_kind kind)
{
	static const char *const names[] = {
		[NEST_XOR] = "xor",
		[NEST_DIRECT] = "direct",
		[NEST_CODED_XOR] = "coded xor",
		[NEST_BUCKETS] = "buckets",
		[NEST_CODED_BUCKETS] = "coded buckets",
		[NEST_WINDOWS] = "windows",
	};
	return names[kind];
}
